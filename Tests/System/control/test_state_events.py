"""The reason for the present state, as subscribers and the tool see it."""
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.programs import program
from support.system_test import SystemTest
from support.waiting import wait_for


class StateEventTests(SystemTest):
    def first(self, daemon) -> tuple:
        """The first event of a new subscriber."""
        listener = self.listener(daemon, ["state"])
        wait_for(lambda: listener.events, "the present state")
        return self.seen(listener)[0]

    def seen(self, listener) -> list:
        """State, reason and session of each event so far."""
        for event in list(listener.events):
            # Of a stop the reason is whose it was, too; nobody but persons has said anything here.
            self.assertEqual(event.get("stop_reason"), event["reason"] if event["state"] == "stopped" else None)
            self.assertEqual(event.get("decided_by"), None if event["state"] == "idle" else "person")
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
        self.assertEqual(self.first(daemon), ("tracking", "resumed", other))
        listener = self.listener(daemon, ["state"])
        daemon.call("Stop")
        wait_for(lambda: self.seen(listener)[-1:] == [("stopped", "user", other)], lambda: f"the end; {listener.events}")
        daemon.terminate()
        daemon.start()
        self.assertEqual(self.first(daemon), ("stopped", "user", other))

    def test_autostart_in_events_and_in_the_tool(self):
        daemon = self.daemon(tracking={"autostart": True}).start()
        session = daemon.wait_status(lambda status: status["session_id"], "a session")["session_id"]
        self.assertEqual(self.first(daemon), ("tracking", "autostart", session))
        with subprocess.Popen([program("beekonctl"), "watch", "--kinds", "state", "--socket", daemon.socket],
                              stdout=subprocess.PIPE, text=True) as tool:
            try:
                assert tool.stdout
                self.assertEqual(tool.stdout.readline().split()[1:], ["state", "tracking", "(autostart)", session])
            finally:
                tool.kill()
        daemon.kill()
        daemon.start()
        self.assertEqual(self.first(daemon), ("tracking", "resumed", session))


if __name__ == "__main__":
    unittest.main()
