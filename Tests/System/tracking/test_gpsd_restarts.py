"""gpsd comes late, leaves and returns: the session continues, and the status says what is missing."""
import os
import signal
import socket
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.fake_gpsd import DEVICE, tpv
from support.ports import new_port
from support.programs import needs_gpsd
from support.system_test import SystemTest
from support.waiting import never, wait_for


@needs_gpsd
class RealGPSDTests(SystemTest):
    def test_absent_then_killed_three_times(self):
        port, feed = new_port(), new_port()
        self.simulator(feed, "--rate", "1", "--speed-up", "10")
        daemon = self.daemon(port).start()
        self.assertEqual(daemon.health(), "released")
        session = daemon.call("Start")["session_id"]
        daemon.wait_health("disconnected")
        for life in range(4):
            before = daemon.status()["gate"]["admitted"]
            gpsd = self.gpsd(port, f"udp://127.0.0.1:{feed}")
            daemon.wait_health("ok", 40)
            status = daemon.wait_stored(before + 3)
            self.assertEqual((status["state"], status["session_id"]), ("tracking", session))
            self.assertEqual(status["source"]["reconnects"], life)
            gpsd.signal(signal.SIGKILL if life % 2 else signal.SIGTERM)
            gpsd.wait()
            daemon.wait_health("disconnected")
        self.assertEqual(daemon.status()["state"], "tracking")
        sessions = daemon.call("GetSessions")["sessions"]
        self.assertEqual([found["id"] for found in sessions], [session])
        self.assertEqual(sessions[0]["locations"], len(daemon.stored_ids()))
        daemon.call("Stop")
        self.assertEqual(daemon.health(), "released")

    def test_the_device_comes_and_goes(self):
        port, feed = new_port(), new_port()
        self.simulator(feed, "--rate", "1", "--speed-up", "10")
        control = self.path("gpsd.sock")
        self.gpsd(port, "-F", control)
        daemon = self.daemon(port).start()
        session = daemon.call("Start")["session_id"]
        daemon.wait_health("no_device")
        for word, health in (("+", "ok"), ("-", "no_device"), ("+", "ok")):
            self.tell_gpsd(control, f"{word}udp://127.0.0.1:{feed}")
            daemon.wait_health(health)
        before = daemon.status()["gate"]["admitted"]
        status = daemon.wait_stored(before + 3)
        self.assertEqual(status["session_id"], session)
        self.assertEqual(status["source"]["reconnects"], 0)

    def tell_gpsd(self, control: str, command: str):
        wait_for(lambda: os.path.exists(control), "gpsd has a control socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(10)
            link.connect(control)
            link.sendall(command.encode() + b"\r\n")
            # gpsd 3.22, and 3.25.
            self.assertRegex(link.recv(100), rb'^OK|^{"class":"ACK"}')


class FakeGPSDTests(SystemTest):
    def test_words_for_what_is_heard(self):
        fake = self.fake()
        daemon = self.daemon(fake.port).start()
        daemon.call("Start")
        fake.wait_watched()
        daemon.wait_health("no_fix")
        fake.drive(2)
        daemon.wait_health("unsettled")
        fake.drive(2)
        self.assertTrue(daemon.wait_health("ok")["source"]["time_settled"])
        fake.report(tpv(fake.next_ms, mode=1), tpv(fake.next_ms + 1000, mode=1))
        fake.next_ms += 2000
        daemon.wait_health("no_fix")
        fake.drive(2)
        daemon.wait_health("ok")
        fake.report({"class": "DEVICE", "path": DEVICE, "activated": 0})
        daemon.wait_health("no_device")

    def test_stale_when_no_fix_or_only_the_same_one_comes(self):
        frozen, silent = self.tracking(), self.tracking()
        for _, daemon in (frozen, silent):
            daemon.wait_health("ok")
        frozen_fake, frozen_daemon = frozen
        same = tpv(frozen_fake.next_ms)

        def repeat():
            frozen_fake.report(same)
            return frozen_daemon.health() == "stale"

        wait_for(repeat, "a receiver whose time stands still counts as stale", 15)
        silent[1].wait_health("stale", 5)
        # The same instant repeated is a single fix.
        self.assertLessEqual(frozen_daemon.status()["gate"]["admitted"], 2)
        frozen_fake.drive(3)
        frozen_daemon.wait_health("ok")

    def test_time_must_settle_again_after_a_reconnect(self):
        fake, daemon = self.tracking()
        fake.drop()
        daemon.wait_health("disconnected")
        fake.wait_watched()
        fake.drive(2)
        daemon.wait_health("unsettled")
        self.assertEqual(daemon.status()["gate"]["admitted"], 1)
        fake.drive(2)
        daemon.wait_health("ok")
        # Those that settled the time count, too.
        self.assertEqual(daemon.status()["gate"]["admitted"], 5)

    def test_nothing_is_read_before_start_and_after_stop(self):
        fake = self.fake()
        daemon = self.daemon(fake.port).start()
        never(lambda: fake.connections, "a connection to gpsd while idle")
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        daemon.call("Stop")
        wait_for(lambda: fake.watchers == 0, "the connection to gpsd ends with tracking")
        self.assertEqual(daemon.health(), "released")

    def test_the_gate_remembers_the_last_fix_after_a_reconnect_and_a_restart(self):
        fake, daemon = self.tracking(tracking={"interval_seconds": 10})
        fake.drop()
        daemon.wait_health("disconnected")
        fake.settle()
        daemon.wait_health("ok")
        self.assertEqual(daemon.status()["gate"]["admitted"], 1)
        daemon.kill()
        wait_for(lambda: fake.watchers == 0, "the dead daemon's connection is gone")
        daemon.start()
        fake.settle()
        daemon.wait_health("ok")
        self.assertEqual(daemon.status()["gate"]["admitted"], 0)
        # Fix times so far: admitted at 2 s, then up to 8 s. The next ten go up to 18 s.
        times = fake.drive(10)
        daemon.wait_status(lambda status: status["source"]["fixes"] >= 12, "all fixes read")
        first = daemon.query("SELECT min(ts) FROM locations")[0][0]
        stored = [row[0] for row in daemon.query("SELECT ts FROM locations ORDER BY ts")]
        self.assertEqual(stored, [first, first + 10_000])
        self.assertIn(first + 10_000, times)

    def test_garbage_from_gpsd_harms_nothing(self):
        fake, daemon = self.tracking()
        for line in (b"\xff\xfe\x00garbage\r\n", b"{" * 5000 + b"\r\n", b'{"class":"TPV","mode":"x"\r\n',
                     b'{"class":"TPV","lat":1e999,"lon":"nan"}\r\n', b"x" * 300_000 + b"\r\n"):
            for client in list(fake._clients):
                client.sendall(line)
        before = daemon.status()["gate"]["admitted"]

        def goes_on():
            if fake.watchers:
                fake.drive(1)
            return daemon.status()["gate"]["admitted"] >= before + 3

        wait_for(goes_on, "fixes are stored after garbage", 30)
        self.assertTrue(daemon.child.running)


if __name__ == "__main__":
    unittest.main()
