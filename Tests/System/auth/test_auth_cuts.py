"""A rotation killed at every system call it makes leaves a pair that works, or the one attempt that remains.

strace kills the uploader's thread, and with it the daemon, at each system call of a rotation and the upload after it,
one run per call. BEEKOND_LONG=1 takes every call; otherwise every few.
"""
import os
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.auth_test import AuthTest
from support.control_client import ConnectionClosed
from support.cuts import renamed, trace
from support.faults import STRACE, syscalls
from support.token_endpoint import Endpoint

LONG = os.environ.get("BEEKOND_LONG") == "1"
STEP = 1 if LONG else 5


@unittest.skipUnless(STRACE and os.geteuid() == 0, "needs strace, and root to look into the daemon")
class CutTests(AuthTest):
    def prepared(self) -> tuple:
        """A daemon whose next sync begins with a rotation: its batch is already frozen, and its token has expired."""
        endpoint, receiver, fake, daemon = self.guarded(script=[503] * 9, retry_after=3600, seed=False,
                                                        auth={"refresh_token": Endpoint.MARK + "first"})
        endpoint.refresh = Endpoint.MARK + "first"
        self.assertEqual(daemon.sync()["outcome"], "transient")
        endpoint.script.clear()
        return endpoint, receiver, fake, daemon

    def sync(self, daemon) -> bool:
        """One sync, to its end. Returns whether the daemon lived to see it."""
        try:
            daemon.ask_for_sync()
            daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "the sync has ended")
            return True
        except (ConnectionClosed, OSError):
            return False

    def test_the_order_of_a_rotation(self):
        """The marker is durable before the exchange, the new pair before its first use."""
        endpoint, receiver, fake, daemon = self.prepared()
        seen = trace(daemon, "uploader", lambda: self.sync(daemon),
                     only=syscalls("fsync", "fdatasync", "rename", "sendto", "sendmsg", "write", "writev"))
        steps = []
        for line in seen.lines:
            if re.match(r"fsync\(\d+<.*/tokens\.tmp>\)", line):
                steps.append("file")
            elif renamed(line, "/tokens.tmp", "/tokens"):
                steps.append("rename")
            elif re.match(rf"fsync\(\d+<{daemon.state}>\)", line):
                steps.append("folder")
            elif "POST /token" in line:
                steps.append("exchange")
            elif "POST /locations" in line:
                steps.append("upload")
        write = ["file", "rename", "folder"]
        self.assertEqual(steps, [*write, "exchange", *write, "upload"])

    def test_a_cut_at_every_call(self):
        calls = self.one(None)[0].calls
        self.assertGreater(len(calls), 40)
        outcomes: dict = {}
        cuts = 0
        for call in calls[::STEP]:
            with self.subTest(call=call):
                seen, outcome = self.one(call)
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
                cuts += seen.was_cut
        print(f"\n  {len(calls)} calls, a cut at every {STEP}.: {outcomes}")
        self.assertGreater(cuts, len(calls) // STEP // 4, "the faults were injected")
        # Each of them occurred, or the test does not test what it claims.
        self.assertEqual(set(outcomes) - {"complete"}, {"before", "inside", "durable"})

    def one(self, call) -> tuple:
        endpoint, receiver, fake, daemon = self.prepared()
        seen = trace(daemon, "uploader", lambda: self.sync(daemon), call)
        if daemon.child.running:
            self.finish(daemon, fake)
            return seen, "complete"
        endpoint.settle()
        renames = [line for line in seen.lines if re.match(r'rename.*/tokens\.tmp"', line)]
        # A call that began and did not return may or may not have taken effect.
        done = [line for line in renames if renamed(line, "/tokens.tmp", "/tokens")]
        asked, rotations = len(endpoint.requests), endpoint.rotations
        self.assertLessEqual(rotations, 1)
        daemon.kill()
        daemon.start()
        daemon.listeners.append(self.listener(daemon))
        fake.settle()
        # Earlier rows are pending, or were acknowledged by the last call.
        daemon.wait_stored(1)
        result = daemon.first_outcome()
        state = self.auth(daemon)
        if rotations == 0:
            outcome = "before"
            self.assertEqual((result, state["state"]), ("drained", "valid"))
            self.assertEqual(len(endpoint.requests), asked + 1)
        elif len(done) == 2:
            outcome = "durable"
            self.assertEqual((result, state["state"], len(endpoint.requests)), ("drained", "valid", asked), seen.lines[-3:])
        elif result == "drained":
            self.assertEqual(len(renames), 2, "drained with a pair that was never written")
            outcome = "durable"
        else:
            outcome = "inside"
            self.assertEqual((result, state["state"], state["reason"]), ("auth", "dead", "rotation_interrupted"))
            # The one attempt, no more.
            self.assertEqual(len(endpoint.requests), asked + 1)
            self.assertEqual(daemon.sync()["outcome"], "auth")
            self.assertEqual(len(endpoint.requests), asked + 1)
        self.finish(daemon, fake)
        return seen, outcome

    def finish(self, daemon, fake):
        self.check_conservation(daemon)
        self.check_secrecy(daemon)
        self.daemons.remove(daemon)
        daemon.kill()
        fake.stop()
        self.receivers.pop().stop()


if __name__ == "__main__":
    unittest.main()
