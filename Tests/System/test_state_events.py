"""Why the state is what it is, as subscribers are told; and what a one-shot has in common with its stored twin."""
import subprocess
import unittest

from harness import SystemTest, program, wait_for


class StateEventTests(SystemTest):
    def told(self, daemon) -> tuple:
        """What a subscriber is told first."""
        listener = self.listener(daemon, ["state"])
        wait_for(lambda: listener.events, "the present state")
        return self.seen(listener)[0]

    def seen(self, listener) -> list:
        return [tuple(event.get(name) for name in ("state", "reason", "session_id")) for event in list(listener.events)]

    def test_reason_and_session(self):
        fake = self.fake()
        daemon = self.daemon(fake.port).start()
        listener = self.listener(daemon, ["state"])
        wait_for(lambda: listener.events, "the present state")
        session = daemon.call("Start")["session_id"]
        daemon.call("Start")
        daemon.call("Stop")
        daemon.call("Stop")
        other = daemon.call("Start")["session_id"]
        wait_for(lambda: len(listener.events) >= 4, "four states")
        self.assertEqual(self.seen(listener), [
            ("idle", None, None), ("tracking", "user", session), ("stopped", "user", session), ("tracking", "user", other)])
        daemon.kill()
        daemon.start()
        self.assertEqual(self.told(daemon), ("tracking", "resumed", other))
        listener = self.listener(daemon, ["state"])
        daemon.call("Stop")
        wait_for(lambda: self.seen(listener)[-1:] == [("stopped", "user", other)], lambda: f"the end; {listener.events}")
        daemon.terminate()
        daemon.start()
        self.assertEqual(self.told(daemon), ("stopped", "user", other))

    def test_autostart_and_what_the_tool_shows(self):
        daemon = self.daemon(tracking={"autostart": True}).start()
        session = daemon.status()["session_id"]
        self.assertEqual(self.told(daemon), ("tracking", "autostart", session))
        with subprocess.Popen([program("beekonctl"), "watch", "--kinds", "state", "--socket", daemon.socket],
                              stdout=subprocess.PIPE, text=True) as tool:
            try:
                self.assertEqual(tool.stdout.readline().split()[1:], ["state", "tracking", "(autostart)", session])
            finally:
                tool.kill()
        daemon.kill()
        daemon.start()
        self.assertEqual(self.told(daemon), ("tracking", "resumed", session))


class TwinTests(SystemTest):
    def ask(self, daemon, fake, marks: tuple, **fields) -> dict:
        """One that is so. An answer may still be of a fix that came before these."""
        def attempt():
            attempt.last = self.ask_once(daemon, fake, **fields)
            return tuple(attempt.last.get(name) for name in ("motion", "activity", "quality")) == marks

        wait_for(attempt, lambda: f"a position that is {marks}; the last was {attempt.last}")
        return attempt.last

    def ask_once(self, daemon, fake, **fields) -> dict:
        """A one-shot for one of these fixes; when it is heard is not told, so fixes come until one is the answer."""
        tracker = daemon.connect(timeout=60)
        tracker.send("GetCurrentLocation", {"timeout_seconds": 50.0})
        wait_for(lambda: (fake.drive(1, **fields), tracker.has_answer(0.2))[1], "an answer")
        return tracker.receive()["location"]

    def test_it_carries_what_its_stored_twin_carries(self):
        fake, daemon = self.tracking(tracking={"detect_activity": True, "low_accuracy_meters": 50})
        fake.drive(60, speed=10.0)
        for fields, marks in (({"speed": 10.0}, ("moving", "automotive", None)),
                              ({"speed": 10.0, "eph": 80.0}, ("moving", "automotive", "low_accuracy"))):
            found = self.ask(daemon, fake, marks, **fields)
            # The last epoch may still be open.
            fake.drive(2, speed=10.0)
            twin = wait_for(lambda at=found["timestamp"]: daemon.call("GetLocations", **{"from": at, "to": at})["locations"],
                            "the stored twin")[0]
            different = {name for name in {*twin, *found} if twin.get(name) != found.get(name)}
            self.assertEqual(different, {"id", "session_id", "trigger"})
        known = daemon.call("GetCurrentLocation", max_age_seconds=3600.0)["location"]
        self.assertEqual((known["motion"], known["activity"]), ("moving", "automotive"))
        shown = subprocess.run([program("beekonctl"), "locate", "--max-age", "3600", "--socket", daemon.socket],
                               capture_output=True, text=True, timeout=60, check=True).stdout
        self.assertTrue(shown.endswith(", moving, automotive\n"), shown)

    def test_while_idle_it_knows_what_the_fixes_tell(self):
        fake = self.fake()
        daemon = self.daemon(fake.port, tracking={"low_accuracy_meters": 50}).start()
        tracker = daemon.connect(timeout=60)
        tracker.send("GetCurrentLocation", {"timeout_seconds": 50.0})
        fake.wait_watched()
        fake.drive(3, eph=80.0)
        found = tracker.receive()["location"]
        self.assertEqual((found["motion"], found.get("activity"), found["quality"]), ("unknown", None, "low_accuracy"))


if __name__ == "__main__":
    unittest.main()
