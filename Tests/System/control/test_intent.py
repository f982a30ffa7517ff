"""What the user last asked for survives however the daemon ends, and ending takes no time."""
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import ControlClient
from support.places import killed_at, places_of
from support.ports import new_port
from support.seeds import sample
from support.system_test import SystemTest
from support.waiting import PATIENCE, never, wait_for


class IntentTests(SystemTest):
    def test_tracking_goes_on_after_sigkill_and_sigterm(self):
        fake, daemon = self.tracking()
        status = daemon.status()
        session, started = status["session_id"], status["session_started_at"]
        count = 1
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
            daemon.disconnect()
            daemon.child.signal(number)
            code = daemon.child.wait()
            self.assertEqual(code, 0 if number == signal.SIGTERM else -number, daemon.text())
            wait_for(lambda: fake.watchers == 0, "the dead daemon's connection is gone")
            daemon.start()
            status = daemon.status()
            self.assertEqual((status["state"], status["session_id"], status["session_started_at"]),
                             ("tracking", session, started))
            fake.settle()
            daemon.wait_stored(1)
            count += 1
        sessions = daemon.call("GetSessions")["sessions"]
        self.assertEqual([(found["id"], found["locations"], found.get("stopped_at")) for found in sessions],
                         [(session, count, None)])

    def test_stopped_stays_stopped(self):
        fake, daemon = self.tracking()
        session = daemon.status()["session_id"]
        daemon.call("Stop")
        for end in (daemon.kill, daemon.terminate):
            end()
            connections = fake.connections
            daemon.start()
            status = daemon.status()
            self.assertEqual((status["state"], status.get("reason"), status["source"]["health"]),
                             ("stopped", "user", "released"))
            self.assertIsNone(status.get("session_id"))
            never(lambda: fake.connections > connections, "a connection to gpsd while stopped")
        self.assertNotEqual(daemon.call("Start")["session_id"], session)

    def test_intent_is_durable_before_the_answer(self):
        daemon = self.daemon().start()
        session = daemon.call("Start")["session_id"]
        daemon.kill()
        daemon.start()
        self.assertEqual(daemon.status()["session_id"], session)
        daemon.call("Stop")
        daemon.kill()
        daemon.start()
        self.assertEqual(daemon.status()["state"], "stopped")

    def test_a_kill_at_every_place_of_a_start_and_a_stop(self):
        """Afterwards it is as it was, or as it was asked for; the latter, once there was an answer."""
        daemon = self.daemon()
        for method, opposite, before, after in (("Start", "Stop", "stopped", "tracking"),
                                                ("Stop", "Start", "tracking", "stopped")):
            def act(method=method):
                return daemon.call(method)

            def begin(act=act, opposite=opposite):
                """As after the other one, whatever was before."""
                daemon.kill()
                daemon.start()
                act()
                daemon.call(opposite)

            begin()
            places = places_of(daemon, act)
            self.assertGreater(places, 5)
            found = []
            for place in sorted({1, places, *sample(method, places, 6)}):
                begin()
                answered = []
                with self.subTest(method, place=place), killed_at(daemon, place):
                    answered.append(act())
                daemon.start()
                found.append(daemon.status()["state"])
                self.assertIn(found[-1], [after] if answered else [before, after])
                open_sessions = [session for session in daemon.call("GetSessions")["sessions"] if "stopped_at" not in session]
                self.assertEqual(len(open_sessions), int(found[-1] == "tracking"))
            self.assertEqual([state for state, _ in itertools.groupby(found)], [before, after], method)

    def test_sigterm_while_the_server_hangs(self):
        """With a server that took the request and says nothing, and with one that does not even read it."""
        receiver = self.backend()
        receiver.hold()
        hole = socket.create_server(("127.0.0.1", new_port()))
        self.addCleanup(hole.close)
        for url, arrived in ((receiver.url, lambda: receiver.requests),
                             (f"http://127.0.0.1:{hole.getsockname()[1]}/locations", lambda: True)):
            with self.subTest(url):
                fake, daemon = self.tracking(sync={"url": url})
                daemon.ask_for_sync()
                daemon.wait_status(lambda status: status["sync"]["state"] == "uploading", "an upload in progress")
                wait_for(arrived, "the request has arrived")
                self.assertEqual(daemon.terminate(), 0)
                self.assertEqual(daemon.child.process.returncode, 0, daemon.text())
                self.assertEqual(len(daemon.stored_ids()), 1)

    def test_sigterm_with_clients_and_without_gpsd(self):
        daemon = self.daemon().start()
        daemon.call("Start")
        listener = self.listener(daemon)
        half = daemon.connect()
        half.link.sendall(b'{"method":')
        daemon.wait_health("disconnected")
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(daemon.child.process.returncode, 0, daemon.text())
        listener.join(PATIENCE)
        self.assertFalse(listener.is_alive(), "the subscription ends with the daemon")
        self.assertFalse(os.path.exists(daemon.socket), "no socket is left behind")

    def test_sigterm_stores_the_open_epoch(self):
        fake, daemon = self.tracking()
        fake.drive(1)
        daemon.wait_stored(2)
        # Two epochs with one more report than before, so the daemon waits for more of the second.
        from support.fake_gpsd import tpv
        second = tpv(fake.next_ms, 50.5)
        fake.report(second, second, tpv(fake.next_ms + 1000, 50.6))
        daemon.wait_status(lambda status: status["source"]["fixes"] >= 5, "the epoch before the last")
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(daemon.query("SELECT max(lat) FROM locations"), [(50.6,)])

    def test_second_instance(self):
        fake, daemon = self.tracking()
        other = os.path.join(daemon.directory, "other.sock")
        for path in (daemon.socket, other):
            command = daemon.command()
            command[command.index("--socket") + 1] = path
            began = time.monotonic()
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(time.monotonic(), began)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(daemon.state, done.stderr)
            self.assertRegex(done.stderr, "another|already|in use")
        self.assertFalse(os.path.exists(other))
        # The first daemon did not notice.
        with ControlClient(daemon.socket) as client:
            self.assertEqual(client.call("GetStatus")["status"]["state"], "tracking")
        fake.drive(1)
        daemon.wait_stored(2)

    def test_socket_left_by_a_killed_daemon_is_replaced(self):
        daemon = self.daemon().start()
        daemon.kill()
        self.assertTrue(os.path.exists(daemon.socket))
        daemon.start()
        self.assertEqual(daemon.status()["state"], "idle")

    def test_autostart(self):
        fake = self.fake()
        daemon = self.daemon(fake.port, tracking={"autostart": True}).start()
        fake.settle()
        daemon.wait_stored(1)
        session = daemon.status()["session_id"]
        daemon.kill()
        daemon.start()
        self.assertEqual(daemon.status()["session_id"], session)
        # The user's wish overrides the file.
        daemon.call("Stop")
        daemon.terminate()
        daemon.start()
        self.assertEqual(daemon.status()["state"], "stopped")

    def test_without_autostart_it_waits(self):
        daemon = self.daemon().start()
        status = daemon.status()
        self.assertEqual((status["state"], status["source"]["health"]), ("idle", "released"))
        self.assertIsNone(status.get("session_id"))


if __name__ == "__main__":
    unittest.main()
