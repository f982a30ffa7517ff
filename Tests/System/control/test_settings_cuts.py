"""A change of two settings, killed at each place where it changes a file or sends: afterwards both are old, or both are new."""
import json
import os
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.cuts import renamed, trace
from support.daemon import NEVER
from support.faults import no_strace
from support.places import killed_at, places_of
from support.system_test import SystemTest

KEYS = ("tracking.interval_seconds", "tracking.distance_meters")


class CutTests(SystemTest):
    def values(self, daemon) -> tuple:
        return tuple(daemon.setting(key) for key in KEYS)

    def change(self, daemon, value: int) -> bool:
        daemon.call("Configure", settings=dict.fromkeys(KEYS, value))
        return True

    def check_cuts(self, begin, act, old: tuple, new: tuple):
        """`begin` starts a daemon that has the old values, `act` gives it the new ones, and is killed at each place."""
        daemon = begin()
        places = places_of(daemon, lambda: act(daemon))
        self.assertGreater(places, 8)
        outcomes = {old: 0, new: 0}
        for place in range(1, places + 1):
            with self.subTest(place=place):
                daemon.kill()
                daemon = begin()
                answered = []
                with killed_at(daemon, place):
                    answered.append(act(daemon))
                daemon.start()
                found = self.values(daemon)
                self.assertIn(found, [old, new] if not answered else [new])
                self.assertEqual(daemon.status()["degraded"], [])
                self.assertFalse([name for name in os.listdir(daemon.state) if "aside" in name])
                outcomes[found] += 1
        print(f"\n  {places} cuts: {outcomes}")
        # Both outcomes occurred, or the test does not test what it claims.
        self.assertTrue(all(outcomes.values()), outcomes)

    def test_a_cut_at_every_place(self):
        daemon = self.daemon()

        def begin():
            daemon.start()
            self.change(daemon, 1)
            return daemon

        self.check_cuts(begin, lambda daemon: self.change(daemon, 2), (1, 1), (2, 2))

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
            return daemon

        self.check_cuts(begin, lambda daemon: daemon.call("ResetServerConfig", keys=list(KEYS)), (5, 5), (30, 100))

    @unittest.skipIf(no_strace(), no_strace())
    def test_the_order_of_a_change(self):
        """The change is durable before it takes effect, and before the answer."""
        daemon = self.daemon().start()
        self.change(daemon, 1)
        steps = []
        for line in trace(daemon, "reader", lambda: self.change(daemon, 2)).lines:
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
