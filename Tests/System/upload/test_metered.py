"""Uploads wait while the route is metered: by the interface, or because NetworkManager says so; a person does not wait."""
import socket
import struct
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.auth_test import AuthTest
from support.links import Links, ip
from support.namespaces import in_namespace
from support.network_manager import DBUS_DAEMON, GUESS_NO, GUESS_YES, NO, UNKNOWN, YES, NetworkManager, SystemBus, text, variant
from support.waiting import let_pass, never, wait_for


class MeteredTest(Links):
    def avoiding(self, rows: int = 4, environment: dict | None = None, store: dict | None = None, **sync) -> tuple:
        """A receiver, a gpsd, and a daemon with so many rows that wants to upload each at once and avoids metered routes."""
        receiver, fake = self.backend(), self.fake()
        daemon = self.daemon(fake.port, store=store or {},
                             sync={"url": receiver.url, "metered": "avoid", "sync_threshold": 1, **sync})
        daemon.environment.update({"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus"}, **(environment or {}))
        daemon.start()
        daemon.keep_account()
        self.addCleanup(self.check_conserved, daemon)
        daemon.call("Start")
        fake.settle()
        fake.drive(rows - 1)
        daemon.wait_stored(rows)
        return receiver, fake, daemon

    def change(self, daemon, **sync):
        """These settings are in force."""
        daemon.configure(sync=sync)
        daemon.reload()
        wait_for(lambda: all(daemon.setting("sync." + key) == value for key, value in sync.items()), "the settings are in force")

    def wait_deferred(self, daemon, count: int = 1):
        daemon.wait_status(
            lambda status: status["sync"]["state"] == "deferred" and status["sync"]["pending"] >= count, "the upload is deferred")

    def defer(self, fake, daemon):
        """What is stored waits, once the daemon has heard of it: rows that come before that are delivered."""
        def waits() -> bool:
            state = daemon.status()["sync"]["state"]
            if state == "idle":
                fake.drive(1)
            return state == "deferred"
        wait_for(waits, "the upload is deferred")

    def wait_delivered(self, daemon):
        daemon.wait_status(lambda status: status["sync"]["state"] == "idle", "everything is delivered")


class InterfaceTests(MeteredTest):
    @in_namespace
    def test_it_waits_on_wwan_goes_at_once_on_another_and_a_person_does_not_wait(self):
        self.links("wwan0", "eth7")
        self.route(0, "wwan0")
        receiver, fake, daemon = self.avoiding()
        self.wait_deferred(daemon, 4)
        never(lambda: receiver.moments, "an upload over a metered route")
        self.assertEqual(daemon.status()["destinations"][0]["sync"]["state"], "deferred")
        # The receiver has said nothing for a minute.
        self.assertEqual(daemon.status()["degraded"], ["source"])
        self.assertEqual(daemon.sync()["outcome"], "drained")
        fake.drive(3)
        daemon.wait_stored(7)
        self.wait_deferred(daemon, 3)
        self.route(1, "eth7")
        self.wait_delivered(daemon)
        self.assertEqual(len(set(receiver.ids)), 7)
        self.assertEqual(daemon.text().count("the upload waits"), 2, daemon.text())

    @in_namespace
    def test_the_end_of_the_metered_route_is_followed_at_once(self):
        """The other one has been there all the time, so no route appears: the change alone is told."""
        self.links("wwan0", "eth7")
        self.route(0, "wwan0")
        self.route(1, "eth7", metric=100)
        receiver, fake, daemon = self.avoiding()
        self.wait_deferred(daemon, 4)
        # A moment at which nobody looks at the route unasked.
        let_pass(7)
        gone = time.monotonic()
        self.assertTrue(ip("route", "delete", "default", "dev", "wwan0"))
        self.wait_delivered(daemon)
        self.assertAlmostEqual(time.monotonic(), gone, 2)

    @in_namespace
    def test_patience_has_an_end_and_outlives_a_restart(self):
        self.links("wwan0")
        self.route(0, "wwan0")
        receiver, fake, daemon = self.avoiding(metered_max_wait_seconds=2, interval_seconds=60)
        self.wait_delivered(daemon)
        self.assertEqual(set(receiver.ids), daemon.account().stored)
        self.change(daemon, metered_max_wait_seconds=0)
        fake.drive(2)
        self.wait_deferred(daemon, 2)
        daemon.kill()
        daemon.ledger.is_complete = False
        # Older than the interval and these two seconds, by a gpsd that is behind the clock of this machine.
        daemon.configure(sync={"metered_max_wait_seconds": 2})
        daemon.start()
        self.wait_delivered(daemon)

    @in_namespace
    def test_patterns_of_interfaces_and_settings_that_change(self):
        self.links("usb5")
        self.route(0, "usb5")
        receiver, fake, daemon = self.avoiding(metered_interfaces=["ppp*", "usb?"])
        self.wait_deferred(daemon, 4)
        # Another setting is no person who asks.
        self.change(daemon, metered_interfaces=["usb?"], timeout_seconds=30)
        never(lambda: receiver.moments, "an upload over a metered route")
        self.change(daemon, metered_interfaces=["usb"])
        self.wait_delivered(daemon)
        self.change(daemon, metered_interfaces=["*"])
        fake.drive(1)
        self.wait_deferred(daemon)
        self.change(daemon, metered="allow")
        self.wait_delivered(daemon)

    @in_namespace
    def test_a_backlog_that_nears_the_cap_is_told_of(self):
        self.links("wwan0")
        self.route(0, "wwan0")
        receiver, fake, daemon = self.avoiding(7, store={"max_rows": 10})
        self.wait_deferred(daemon, 7)
        self.assertNotIn("last_error", daemon.status()["sync"])
        fake.drive(1)
        daemon.wait_status(lambda status: "store.max_rows" in (status["sync"].get("last_error") or ""), "the status warns")
        self.assertEqual(daemon.status()["degraded"], ["sync"])
        wait_for(lambda: "8 rows are pending of 10" in daemon.text(), "the journal warns")
        fake.drive(1)
        daemon.wait_stored(9)
        self.wait_deferred(daemon, 9)
        self.assertEqual(daemon.text().count("rows are pending of 10"), 1, "once an hour")
        daemon.sync()
        daemon.wait_status(lambda status: not status["degraded"] and status["sync"]["state"] == "idle", "all is well")

    @in_namespace
    def test_a_destination_of_its_own_waits_alone(self):
        self.links("wwan0")
        self.route(0, "wwan0")
        other, main, fake = self.backend(), self.backend(), self.fake()
        daemon = self.daemon(fake.port, sync={"url": main.url, "sync_threshold": 1}, **{"destination.other": {
            "url": other.url, "metered": "avoid", "sync_threshold": 1, "interval_seconds": 3600}})
        daemon.environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=/nonexistent/bus"
        daemon.start()
        daemon.call("Start")
        fake.settle()
        fake.drive(3)
        wait_for(lambda: len(set(main.ids)) == 4, "main does not wait")

        def states():
            return [found["sync"]["state"] for found in daemon.status()["destinations"]]
        wait_for(lambda: states() == ["idle", "deferred"], "the other one does")
        self.assertEqual(other.moments, [])
        self.assertEqual(daemon.call("Sync", destination="other")["outcome"], "drained")

    @unittest.skipUnless(DBUS_DAEMON, "dbus-daemon is not installed")
    def test_without_it_nothing_is_opened(self):
        receiver, fake = self.backend(), self.fake()
        bus = SystemBus(self).start()
        daemon = self.daemon(fake.port, sync={"url": receiver.url})
        daemon.environment.update(bus.environment)
        daemon.start()
        self.assertEqual(bus.connections(), 0)
        self.change(daemon, metered="avoid")
        wait_for(lambda: bus.connections() == 1, "the bus, once it is wanted")
        self.change(daemon, metered="allow")
        wait_for(lambda: bus.connections() == 0, "and not any more")


class TokenTests(Links, AuthTest):
    @in_namespace
    def test_a_token_is_not_refreshed_meanwhile(self):
        self.links("wwan0", "eth7")
        self.route(0, "wwan0")
        endpoint, receiver, fake, daemon = self.guarded(sync={"metered": "avoid"})
        self.assertEqual(daemon.sync()["outcome"], "drained")
        daemon.terminate()
        # There is nothing to upload, and the token is about to expire.
        daemon.configure(**{"sync.auth": {"expires_at": int(time.time()) + 5, "skew_margin_seconds": 60}})
        daemon.start()
        daemon.listeners.append(self.listener(daemon))
        fake.settle()
        never(lambda: endpoint.requests, "a refresh over a metered route")
        self.route(1, "eth7")
        endpoint.wait_requests(1)


@unittest.skipUnless(DBUS_DAEMON, "dbus-daemon is not installed")
class NetworkManagerTests(MeteredTest):
    def begin(self, metered: int = UNKNOWN, manner=None, **sync) -> tuple:
        self.links("eth7", "eth8")
        self.route(0, "eth7")
        bus = SystemBus(self).start()
        manager = NetworkManager(self, bus, metered, manner)
        receiver, fake, daemon = self.avoiding(environment=bus.environment, **sync)
        return bus, manager, receiver, fake, daemon

    @in_namespace
    def test_every_answer_and_its_changes(self):
        bus, manager, receiver, fake, daemon = self.begin(YES)
        self.wait_deferred(daemon, 4)
        for metered in (NO, GUESS_YES, GUESS_NO, YES, UNKNOWN):
            manager.change(metered)
            if metered in (YES, GUESS_YES):
                self.defer(fake, daemon)
            else:
                self.wait_delivered(daemon)

    @in_namespace
    def test_it_restarts_and_ends_and_the_bus_does(self):
        bus, manager, receiver, fake, daemon = self.begin(YES)
        self.wait_deferred(daemon, 4)
        manager.stop()
        # Its word is believed until it is back.
        manager = NetworkManager(self, bus, YES)
        wait_for(lambda: manager.asked, "it is asked again")
        never(lambda: receiver.moments, "an upload while it restarts")
        manager.stop()
        self.wait_delivered(daemon)
        manager = NetworkManager(self, bus, YES)
        self.defer(fake, daemon)
        manager.stop()
        bus.stop()
        self.wait_delivered(daemon)

    @in_namespace
    def test_answers_of_other_shapes_are_none(self):
        shapes = [
            ("v", variant("s", "yes")), ("s", text("yes")), ("v", variant("o", "/metered")), ("u", struct.pack("<I", 1)),
            ("v", variant("u", 77))]
        bus, manager, receiver, fake, daemon = self.begin(manner=lambda manager: shapes[manager.asked % len(shapes)])
        self.wait_delivered(daemon)
        for number in range(len(shapes)):
            before, count = manager.asked, daemon.status()["gate"]["admitted"]
            manager.change(YES)
            wait_for(lambda: manager.asked > before, f"it is asked again, {number}")
            fake.drive(1)
            daemon.wait_stored(count + 1)
            self.wait_delivered(daemon)
        # A flood of signals that mean nothing holds nobody up.
        manager.signal(b"", "", 5000)
        manager.manner = None
        manager.change(YES)
        self.defer(fake, daemon)
        self.assertEqual(daemon.sync()["outcome"], "drained")

    @in_namespace
    def test_one_that_never_answers_delays_for_ten_seconds_at_most(self):
        bus, manager, receiver, fake, daemon = self.begin(manner="silent")
        self.wait_delivered(daemon)
        self.assertEqual(manager.asked, 1)
        self.assertEqual(daemon.sync()["outcome"], "nothing_pending")

    @in_namespace
    def test_a_bus_that_says_nothing(self):
        self.links("eth7")
        self.route(0, "eth7")
        path = self.path("mute")
        mute = socket.socket(socket.AF_UNIX)
        self.addCleanup(mute.close)
        mute.bind(path)
        mute.listen(1)
        receiver, fake, daemon = self.avoiding(environment={"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=" + path})
        self.assertEqual(daemon.sync()["outcome"], "drained")
        fake.drive(1)
        daemon.wait_stored(5)
        # However long the bus itself lets a client wait, which is more than this waits with Debian 13's libsystemd.
        self.wait_delivered(daemon)


if __name__ == "__main__":
    unittest.main()
