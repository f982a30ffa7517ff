"""A rotation killed at each of its places leaves a pair that works, or the one attempt that remains.

A place is a call that changes a file or sends, of a rotation and the upload after it; one run for each.
"""
import itertools
import os
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.auth_test import AuthTest
from support.cuts import renamed, trace
from support.faults import STRACE, syscalls
from support.places import killed_at, places_of
from support.token_endpoint import Endpoint
from support.waiting import wait_for

# In the order in which they come.
OUTCOMES = ("before", "inside", "durable")


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
        """One sync, to its end."""
        daemon.ask_for_sync()
        wait_for(lambda: not daemon.is_running or daemon.status()["sync"]["pending"] == 0, "the sync has ended")
        return True

    @unittest.skipUnless(STRACE and os.geteuid() == 0, "needs strace, and root to look into the daemon")
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

    def test_a_cut_at_every_place(self):
        endpoint, receiver, fake, daemon = self.prepared()
        places = places_of(daemon, lambda: self.sync(daemon))
        self.finish(daemon, fake)
        self.assertGreater(places, 15)
        outcomes = []
        for place in range(1, places + 1):
            with self.subTest(place=place):
                outcomes.append(self.one(place))
        print(f"\n  {places} places: { {name: outcomes.count(name) for name in OUTCOMES} }")
        # Each of them occurred, or the test does not test what it claims; and nothing that was is undone by a later place.
        self.assertEqual([name for name, _ in itertools.groupby(outcomes)], list(OUTCOMES))

    def one(self, place: int) -> str:
        endpoint, receiver, fake, daemon = self.prepared()
        with killed_at(daemon, place):
            self.sync(daemon)
        asked, rotations = len(endpoint.requests), endpoint.rotations
        self.assertLessEqual(rotations, 1)
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
        elif result == "drained":
            outcome = "durable"
            self.assertEqual((state["state"], len(endpoint.requests)), ("valid", asked))
        else:
            outcome = "inside"
            self.assertEqual((result, state["state"], state["reason"]), ("auth", "dead", "rotation_interrupted"))
            # The one attempt, no more.
            self.assertEqual(len(endpoint.requests), asked + 1)
            self.assertEqual(daemon.sync()["outcome"], "auth")
            self.assertEqual(len(endpoint.requests), asked + 1)
        self.finish(daemon, fake)
        return outcome

    def finish(self, daemon, fake):
        self.check_conservation(daemon)
        self.check_secrecy(daemon)
        self.daemons.remove(daemon)
        daemon.kill()
        fake.stop()
        self.receivers.pop().stop()


if __name__ == "__main__":
    unittest.main()
