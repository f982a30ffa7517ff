"""Run-time settings: in force from the next fix on, all or none, and lasting; closed to secrets and strangers."""
import json
import os
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import ConnectionClosed, Refusal
from support.faults import Fault, no_strace
from support.settings_test import INTERVAL, SettingsTest
from support.waiting import wait_for


class TrackingTests(SettingsTest):
    def test_from_the_next_fix_on(self):
        fake, daemon = self.tracking(tracking={"interval_seconds": 100})
        session = daemon.status()["session_id"]
        fake.drive(5)
        daemon.wait_status(lambda status: status["gate"]["too_soon"] == 7, "seven fixes that came too soon")
        for seconds, stored in ((0, 3), (50, 3), (0, 5)):
            self.set(daemon, tracking__interval_seconds=seconds)
            fake.drive(2)
            status = daemon.wait_status(
                lambda status: status["source"]["fixes"] >= fake.sent, "all fixes")
            self.assertEqual(status["gate"]["admitted"], stored, seconds)
        daemon.call("ResetConfig", keys=[INTERVAL])
        fake.drive(2)
        status = daemon.wait_status(lambda status: status["source"]["fixes"] >= fake.sent, "all fixes")
        self.assertEqual(status["gate"]["admitted"], 5)
        # That took no restart.
        self.assertEqual((status["session_id"], status["source"]["reconnects"], fake.connections), (session, 0, 1))

    def test_they_last(self):
        fake, daemon = self.tracking(tracking={"interval_seconds": 7})
        self.set(daemon, tracking__interval_seconds=9, tracking__stationary_mode="pause", store__durability="normal",
                 tracking__detect_activity=True, extras__driver="é\"7")
        wanted = {INTERVAL: 9, "tracking.stationary_mode": "pause", "store.durability": "normal",
                  "tracking.detect_activity": True, "extras.driver": "é\"7"}

        def check():
            for key, value in wanted.items():
                self.assertEqual(daemon.setting(key), value)
                self.assertEqual(self.origin(daemon, key), "runtime")
            self.assertEqual(daemon.call("GetExtras")["extras"].get("driver"), "é\"7")
            self.assertEqual(daemon.status()["degraded"], ["source"] if daemon.health() != "ok" else [])

        check()
        self.assertEqual(os.stat(self.file(daemon)).st_mode & 0o777, 0o600)
        daemon.kill()
        daemon.start()
        fake.settle()
        daemon.wait_health("ok")
        check()
        self.assertIn("5 settings made while running are in force: extras.driver, store.durability, ", daemon.text())
        # The file's values have no effect until these are reset.
        daemon.configure(tracking={"interval_seconds": 8})
        self.assertEqual(daemon.call("Reload"), {})
        check()
        daemon.terminate()
        daemon.start()
        fake.settle()
        daemon.wait_health("ok")
        check()
        self.assertEqual(daemon.call("ResetConfig", keys=[INTERVAL, "extras.driver", "gpsd.port"]), {})
        self.assertEqual((daemon.setting(INTERVAL), self.origin(daemon, INTERVAL)[:1]), (8, "/"))
        self.assertNotIn("driver", daemon.call("GetExtras")["extras"])
        self.assertEqual(daemon.call("ResetConfig", keys=[]), {})
        self.assertEqual(len(self.stored(daemon)), 3)

    def test_gpsd_is_reconnected(self):
        first = self.fake()
        # Of the other gpsd, what comes is later, and elsewhere.
        second = self.fake(start_ms=first.next_ms + 10_000)
        second.sent = 10
        daemon = self.daemon(first.port).start()
        daemon.call("Start")
        first.settle()
        daemon.wait_stored(1)
        session = daemon.status()["session_id"]
        self.set(daemon, gpsd__port=second.port)
        wait_for(lambda: second.watchers == 1 and first.watchers == 0, "the other gpsd is asked")
        second.settle()
        self.assertEqual(daemon.wait_stored(2)["session_id"], session)
        self.set(daemon, gpsd__replay=True)
        wait_for(lambda: second.connections == 2, "a new connection")
        second.settle()
        daemon.wait_stored(3)

    def test_durability_counts_from_the_next_commit(self):
        reason = no_strace()
        if reason:
            self.skipTest(reason)
        fake, daemon = self.tracking()
        for durability, synced in (("normal", False), ("full", True), ("normal", False)):
            self.set(daemon, store__durability=durability)
            stored = daemon.status()["gate"]["admitted"]
            # The call is not delayed, only counted.
            with Fault(daemon, "fdatasync,fsync", "delay_enter=1", files=["beekon.db-wal"], may_miss=True) as fault:
                fake.drive(3)
                daemon.wait_stored(stored + 3)
                self.assertEqual(fault.injected() >= 3, synced, durability)

    def test_bounds(self):
        fake, daemon = self.tracking()
        self.set(daemon, tracking__distance_meters=3)
        before = daemon.call("GetConfig")
        for settings, culprit, word in (
            ({INTERVAL: 5, "tracking.interval_second": 5}, "tracking.interval_second", "did you mean " + INTERVAL),
            ({INTERVAL: 5, "gpsd.port": 70000}, "gpsd.port", "1 to 65535"),
            ({INTERVAL: 5, "gpsd.port": True}, "gpsd.port", "true or false"),
            ({INTERVAL: True}, INTERVAL, "true or false"), ({INTERVAL: "5"}, INTERVAL, "without quotes"),
            ({INTERVAL: None}, INTERVAL, "null"), ({INTERVAL: {"a": [1]}}, INTERVAL, "an object"),
            ({INTERVAL: [5]}, INTERVAL, "a list"), ({INTERVAL: 1e308}, INTERVAL, "31536000"),
            ({INTERVAL: -0.001}, INTERVAL, "0 to"), ({"gpsd.replay": 1}, "gpsd.replay", "true or false"),
            ({"tracking": {"interval_seconds": 5}}, "tracking", "is a table"), ({"": 1}, "", "not a setting"),
            ({"extras.a": 5}, "extras.a", "text"), ({"extras." + "a" * 101: "x"}, None, "1 to 100"),
            ({"extras.a": "x" * 1025}, "extras.a", "1024"),
            ({f"extras.{number}": "x" for number in range(65)}, None, "at most 64"),
            ({"gpsd.device": "a\nb"}, "gpsd.device", "device"), ({"x" * 60_000: 1}, None, "not a setting"),
        ):
            with self.subTest(str(settings)[:60]):
                parameters = self.refused(daemon, "InvalidConfiguration", "Configure", settings=settings)
                self.assertIn(word, parameters["reason"])
                if culprit is not None:
                    self.assertEqual(parameters["key"], culprit)
                self.assertLess(len(json.dumps(parameters)), 2000)
        wrong: object
        for wrong in (None, [], "x", 5):
            self.assertEqual(self.refused(daemon, "InvalidParameter", "Configure", settings=wrong), {"parameter": "settings"})
        self.refused(daemon, "InvalidParameter", "Configure")
        self.refused(daemon, "InvalidParameter", "ResetConfig", keys={"a": 1})
        self.refused(daemon, "InvalidParameter", "ResetConfig", key=[INTERVAL])
        parameters = self.refused(daemon, "InvalidConfiguration", "ResetConfig", keys=["tracking.distance_meters", "gpsd.prot"])
        self.assertEqual(parameters, {"key": "gpsd.prot", "reason": "is not a setting; did you mean gpsd.port?"})
        # More than a request may contain, and numbers that no JSON library here can represent.
        with daemon.connect() as client, self.assertRaises(ConnectionClosed):
            try:
                client.call("Configure", settings={"extras.a": "x" * 70_000})
            except (BrokenPipeError, ConnectionResetError):
                raise ConnectionClosed from None
        with daemon.connect() as client:
            client.link.sendall(b'{"method":"org.beekond.Tracker.Configure","parameters":{"settings":{"%s":1e999}}}\0'
                                 % INTERVAL.encode())
            with self.assertRaises(Refusal):
                client.receive()
        self.assertEqual(daemon.call("GetConfig"), before)
        self.assertEqual(self.stored(daemon), {"tracking.distance_meters": 3})
        # A huge list of unknown keys does not delay anybody else.
        self.refused(daemon, "InvalidConfiguration", "ResetConfig", keys=[f"a{number}" for number in range(5000)])

    def test_what_is_clamped(self):
        daemon = self.daemon().start()
        self.set(daemon, sync__batch_size=5000, tracking__stationary_radius_meters=1)
        self.assertEqual((daemon.setting("sync.batch_size"), daemon.setting("tracking.stationary_radius_meters")), (1000, 5))
        self.assertEqual(self.stored(daemon), {"sync.batch_size": 1000, "tracking.stationary_radius_meters": 5})
        self.assertIn("warning: sync.batch_size: 5000 is out of range, the nearest is taken", daemon.text())

    def test_reload_reports_what_is_wrong(self):
        daemon = self.daemon(tracking={"interval_seconds": 7}).start()
        self.set(daemon, gpsd__device="/dev/x")
        daemon.configure(tracking={"interval_seconds": -7, "distance_meters": -1})
        parameters = self.refused(daemon, "InvalidConfiguration", "Reload")
        self.assertEqual(parameters["key"], INTERVAL)
        self.assertRegex(parameters["reason"], rf"^{daemon.config}:\d+: -7 is out of range.*; 1 more in the log$")
        self.assertEqual((daemon.setting(INTERVAL), daemon.status()["degraded"]), (7, ["config"]))
        with open(daemon.config, "w", encoding="utf-8") as file:
            file.write("nonsense")
        self.assertEqual(self.refused(daemon, "InvalidConfiguration", "Reload")["key"], daemon.config + ":1")
        # New settings override those in force.
        self.set(daemon, tracking__distance_meters=4)
        self.assertEqual((daemon.setting(INTERVAL), daemon.status()["degraded"]), (7, ["config"]))
        daemon.configure(tracking={"interval_seconds": 8, "distance_meters": 1})
        daemon.call("Reload")
        self.assertEqual([daemon.setting(key) for key in (INTERVAL, "tracking.distance_meters", "gpsd.device")],
                         [8, 4, "/dev/x"])
        self.assertEqual(daemon.status()["degraded"], [])

    def test_over_the_last_good_configuration(self):
        daemon = self.daemon(tracking={"interval_seconds": 7}).start()
        self.set(daemon, tracking__distance_meters=4)
        daemon.terminate()
        daemon.configure(tracking={"interval_seconds": -7})
        daemon.start()
        self.assertEqual((daemon.setting(INTERVAL), daemon.setting("tracking.distance_meters")), (7, 4))
        self.set(daemon, tracking__distance_meters=5)
        daemon.kill()
        daemon.start()
        self.assertEqual((daemon.setting(INTERVAL), daemon.setting("tracking.distance_meters")), (7, 5))

    def test_many_at_once(self):
        """Each change is atomic, even with concurrent ones."""
        fake, daemon = self.tracking()
        failures = []

        def change(number: int):
            with daemon.connect(timeout=60) as client:
                for turn in range(1, 21):
                    value = number * 100 + turn
                    client.call("Configure", settings={INTERVAL: value, "tracking.distance_meters": value,
                                                        f"extras.t{number}": str(turn)})
                    found = {row["key"]: row["value"] for row in client.call("GetConfig")["settings"]}
                    if found[INTERVAL] != found["tracking.distance_meters"] or found[f"extras.t{number}"] != str(turn):
                        failures.append(found)

        threads = [threading.Thread(target=change, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        stored = self.stored(daemon)
        self.assertEqual(stored[INTERVAL], stored["tracking.distance_meters"])
        self.assertEqual({key: stored[key] for key in stored if key.startswith("extras")},
                         {f"extras.t{number}": "20" for number in range(8)})
        self.assertEqual(daemon.setting(INTERVAL), stored[INTERVAL])

    def test_a_client_that_does_not_wait(self):
        daemon = self.daemon().start()
        with daemon.connect() as client:
            client.send("Configure", {"settings": {INTERVAL: 11}}, oneway=True)
            self.assertEqual(client.call("GetPendingUploadCount"), {"count": 0})
        with daemon.connect() as client:
            client.send("Configure", {"settings": {"tracking.distance_meters": 12}})
        daemon.wait_status(lambda _: (daemon.setting(INTERVAL), daemon.setting("tracking.distance_meters")) == (11, 12),
                           "both")


class DamageTests(SettingsTest):
    def test_a_damaged_file_does_no_harm(self):
        fake, daemon = self.tracking(tracking={"interval_seconds": 0})
        self.set(daemon, tracking__interval_seconds=50)
        for count, content in enumerate((b"", b"{", b"\xff\xfe", b"[]", b'{"version":9,"settings":{}}', b"\0" * 3_000_000), 1):
            daemon.kill()
            for name in (self.file(daemon), self.file(daemon) + ".copy"):
                with open(name, "wb") as file:
                    file.write(content)
            daemon.start()
            fake.settle()
            daemon.wait_health("ok")
            fake.drive(2)
            daemon.wait_stored(2)
            self.assertEqual((daemon.setting(INTERVAL), daemon.status()["degraded"]), (0, ["config"]))
            self.assertIn(f"settings.json.aside-{count}", daemon.text())
            self.assertFalse(os.path.exists(self.file(daemon)))
            with open(self.file(daemon) + f".aside-{count}", "rb") as file:
                self.assertEqual(file.read(), content)
        self.set(daemon, tracking__distance_meters=0)
        self.assertEqual(daemon.status()["degraded"], [])

    def test_a_lost_cap_deletes_nothing(self):
        """Raised while running and lost since: what is stored stays, until somebody makes a setting again."""
        fake, daemon = self.tracking(store={"max_rows": 5}, sync={"url": "http://127.0.0.1:9/"})
        self.set(daemon, store__max_rows=1000)
        fake.drive(19)
        daemon.wait_stored(20)
        for content, copy, reason in ((bytes(100), False, "copy"), (bytes(100), True, "aside-2"), (None, True, "are lost")):
            daemon.kill()
            before = len(daemon.text())
            for name in ("settings.json", "settings.json.copy") if copy else ("settings.json",):
                path = os.path.join(daemon.state, name)
                if content is not None:
                    with open(path, "wb") as file:
                        file.write(content)
            daemon.start()
            self.assertIn(reason, daemon.text()[before:])
            # The reader has been through its work when it has answered twice.
            for driver in ("anna", "ben"):
                daemon.call("SetExtras", extras={"driver": driver})
            self.assertEqual(daemon.status()["store"]["locations"], 20)
            self.assertEqual(daemon.setting("store.max_rows"), 5 if copy else 1000)
            self.assertIn("config", daemon.status()["degraded"])
        self.set(daemon, store__max_rows=1000)
        self.assertNotIn("config", daemon.status()["degraded"])

    def test_links_and_folders(self):
        daemon = self.daemon()
        os.symlink("/etc/passwd", self.file(daemon))
        daemon.start()
        self.assertEqual(daemon.status()["degraded"], ["config"])
        daemon.terminate()
        os.mkdir(self.file(daemon))
        daemon.start()
        self.assertEqual(daemon.status()["degraded"], ["config"])
        self.set(daemon, gpsd__device="x")
        self.assertEqual(self.stored(daemon), {"gpsd.device": "x"})
        self.assertTrue(os.path.islink(self.file(daemon) + ".aside-1") and os.path.isdir(self.file(daemon) + ".aside-2"))

    def test_a_setting_from_another_version_is_ignored_and_kept(self):
        daemon = self.daemon(tracking={"interval_seconds": 7}).start()
        self.set(daemon, tracking__distance_meters=4)
        daemon.terminate()
        with open(self.file(daemon), "w", encoding="utf-8") as file:
            json.dump({"version": 1, "settings": {
                INTERVAL: -5, "tracking.of_the_future": True, "tracking.distance_meters": 5,
                "sync.headers.X-Key": "hunter2", "sync.ca_file": "/etc/shadow"}}, file)
        daemon.start()
        self.assertEqual((daemon.setting(INTERVAL), daemon.setting("tracking.distance_meters")), (7, 5))
        self.assertEqual(daemon.status()["degraded"], ["config"])
        for key in (INTERVAL, "tracking.of_the_future", "sync.headers.X-Key", "sync.ca_file"):
            self.assertIn(f"{key}, set while running, is left out: ", daemon.text())
        self.assertIn("1 setting made while running is in force: tracking.distance_meters", daemon.text())
        self.assertNotIn("hunter", daemon.text() + json.dumps(daemon.call("GetConfig")))
        self.set(daemon, gpsd__device="x")
        self.assertIn("tracking.of_the_future", self.stored(daemon))
        daemon.call("ResetConfig", keys=[INTERVAL, "tracking.of_the_future", "sync.headers.X-Key", "sync.ca_file"])
        self.assertEqual(daemon.status()["degraded"], [])
        self.assertEqual(self.stored(daemon), {"tracking.distance_meters": 5, "gpsd.device": "x"})

    def test_a_file_that_does_not_go_with_them(self):
        """The setting is dropped, at a reload as at a start."""
        daemon = self.daemon(sync={"url": "https://a.example/", "allow_insecure_http": True}).start()
        self.set(daemon, sync__url="http://b.example/", sync__batch_size=5)
        daemon.configure(sync={"allow_insecure_http": False})
        daemon.call("Reload")
        for _ in range(2):
            self.assertEqual((daemon.setting("sync.url"), daemon.setting("sync.batch_size")), ("https://a.example/", 5))
            self.assertEqual([word for word in daemon.status()["degraded"] if word == "config"], ["config"])
            self.assertIn("sync.url, set while running, is left out: ", daemon.text())
            daemon.terminate()
            daemon.start()
        daemon.configure(sync={"allow_insecure_http": True})
        daemon.call("Reload")
        self.assertEqual(daemon.setting("sync.url"), "http://b.example/")

    def test_a_disk_that_fails(self):
        reason = no_strace()
        if reason:
            self.skipTest(reason)
        fake, daemon = self.tracking()
        self.set(daemon, tracking__distance_meters=4)
        before = daemon.call("GetConfig")
        for calls, files in (("fsync", ["settings.json.tmp"]), ("rename", None), ("fsync", ["."]),
                             ("openat", ["settings.json.tmp"])):
            with self.subTest(calls=calls, files=files), Fault(daemon, calls, "error=EIO", files=files) as fault:
                parameters = self.refused(daemon, "StorageFailure", "Configure", settings={INTERVAL: 50, "gpsd.device": "x"})
                self.assertIn("nothing was changed", parameters["reason"])
                self.assertGreater(fault.injected(), 0)
                self.assertEqual(daemon.call("GetConfig"), before)
            daemon.kill()
            daemon.start()
            self.assertEqual(daemon.call("GetConfig"), before)
        self.set(daemon, tracking__interval_seconds=50)
        self.assertEqual(daemon.setting(INTERVAL), 50)


if __name__ == "__main__":
    unittest.main()
