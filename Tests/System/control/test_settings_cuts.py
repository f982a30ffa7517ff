"""A change of two settings, killed at every system call it makes: afterwards both are old, or both are new.

strace kills the reader's thread, and with it the daemon, at each system call of the change, one run per call.
"""
import json
import os
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import ConnectionClosed
from support.cuts import renamed, trace
from support.daemon import NEVER
from support.faults import no_strace
from support.system_test import SystemTest

KEYS = ("tracking.interval_seconds", "tracking.distance_meters")


@unittest.skipIf(no_strace(), no_strace())
class CutTests(SystemTest):
    def values(self, daemon) -> tuple:
        return tuple(daemon.setting(key) for key in KEYS)

    def change(self, daemon, value: int):
        daemon.call("Configure", settings=dict.fromkeys(KEYS, value))

    def one(self, daemon, value: int, call) -> tuple:
        """Changes both to `value` under strace. Returns what strace saw, and whether there was an answer."""
        answered = False

        def act() -> bool:
            nonlocal answered
            try:
                self.change(daemon, value)
                answered = True
            except (ConnectionClosed, OSError):
                pass
            return answered

        return trace(daemon, "reader", act, call), answered

    def test_a_cut_at_every_call(self):
        daemon = self.daemon().start()
        self.change(daemon, 1)
        seen, answered = self.one(daemon, 2, None)
        self.assertTrue(answered)
        calls = seen.calls
        self.assertGreater(len(calls), 8, seen.lines)
        outcomes = {"old": 0, "new": 0}
        cuts = 0
        for call in calls:
            with self.subTest(call=call):
                daemon.kill()
                daemon.start()
                self.change(daemon, 1)
                seen, answered = self.one(daemon, 2, call)
                cuts += seen.was_cut
                daemon.kill()
                daemon.start()
                found = self.values(daemon)
                self.assertIn(found, [(1, 1), (2, 2)] if not answered else [(2, 2)])
                self.assertEqual(daemon.status()["degraded"], [])
                self.assertFalse([name for name in os.listdir(daemon.state) if "aside" in name])
                outcomes["new" if found == (2, 2) else "old"] += 1
        print(f"\n  {cuts} cuts at {len(calls)} calls: {outcomes}")
        self.assertGreater(cuts, len(calls) // 4, "the faults were injected")
        # Both outcomes occurred, or the test does not test what it claims.
        self.assertTrue(all(outcomes.values()), outcomes)

    def test_a_cut_while_the_servers_are_taken_back(self):
        """The server's settings have a file of their own, which changes in the same way."""
        rights = {"enabled": True, "allow": ["set_config"], "settings": list(KEYS)}
        daemon = self.daemon(tracking={"interval_seconds": 30, "distance_meters": 100},
                             sync={"url": self.backend().url, "interval_seconds": NEVER}, **{"sync.commands": rights})

        def begin():
            for name in ("server-settings.json", "server-settings.json.copy"):
                Path(daemon.state, name).write_text(
                    json.dumps({"version": 1, "settings": dict.fromkeys(KEYS, 5)}), encoding="utf-8")
            daemon.start()
            self.assertEqual(self.values(daemon), (5, 5))

        def reset(call) -> tuple:
            answered = False

            def act() -> bool:
                nonlocal answered
                try:
                    daemon.call("ResetServerConfig", keys=list(KEYS))
                    answered = True
                except (ConnectionClosed, OSError):
                    pass
                return answered

            return trace(daemon, "reader", act, call), answered

        begin()
        seen, answered = reset(None)
        self.assertTrue(answered)
        self.assertTrue([line for line in seen.lines if renamed(line, "/server-settings.json.tmp", "/server-settings.json")],
                        seen.lines)
        outcomes = {"old": 0, "new": 0}
        cuts = 0
        for call in seen.calls:
            with self.subTest(call=call):
                daemon.kill()
                begin()
                seen, answered = reset(call)
                cuts += seen.was_cut
                daemon.kill()
                daemon.start()
                found = self.values(daemon)
                self.assertIn(found, [(5, 5), (30, 100)] if not answered else [(30, 100)])
                self.assertEqual(daemon.status()["degraded"], [])
                outcomes["new" if found == (30, 100) else "old"] += 1
        print(f"\n  {cuts} cuts: {outcomes}")
        self.assertGreater(cuts, 0, "the faults were injected")
        self.assertTrue(all(outcomes.values()), outcomes)

    def test_the_order_of_a_change(self):
        """The change is durable before it takes effect, and before the answer."""
        daemon = self.daemon().start()
        self.change(daemon, 1)
        steps = []
        for line in self.one(daemon, 2, None)[0].lines:
            if re.match(r"fsync\(\d+<.*/settings\.json\.tmp>\)", line):
                steps.append("file")
            elif renamed(line, "/settings.json.tmp", "/settings.json"):
                steps.append("rename")
            elif renamed(line, "/settings.json.copy.tmp", "/settings.json.copy"):
                steps.append("copy")
            elif re.match(rf"fsync\(\d+<{daemon.state}>\)", line):
                steps.append("folder")
        self.assertEqual(steps, ["file", "rename", "folder", "copy", "folder"])


if __name__ == "__main__":
    unittest.main()
