"""`make simulate`: what it makes of children that crash, of laws that are broken, and of what never happens."""
from __future__ import annotations

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# In place of the tests: crashes at the seed 7, breaks a law at 9.
CHILD = """#!/bin/bash
IFS=- read first last <<< "$BEEKOND_WORLD_SEEDS"
for seed in $(seq "$first" "$last"); do
    echo "seed $seed"
    [ "$seed" = 7 ] && kill -ABRT $$
    [ "$seed" = 9 ] && echo "seed 9 broke a law: 3 rows are lost"
    # No two processes live the seed 11 alike.
    [ "$seed" = 11 ] && digest=$$ || digest=5
    echo "seed $seed ended: 700.5 s, happenings 10,21, digest $digest, requests 6"
done
echo "world: $((last - first + 1)) seeds, 1.5 hours, 10 rows, 1 kills, in 2.0 s of a processor, digest 5," \
    "1000 to ${GROWN:-1100} kB; taken 3, lost 0, EIO 1"
"""
# Breaks a law at second 500.5 when, with at least two destinations, of its 40 happenings those with the numbers 7 and 30 happen.
NEEDY = """#!/usr/bin/env python3
import os
life = dict(word.split("=") for word in os.environ["BEEKOND_WORLD"].split())
seconds = float(life.get("seconds", 9000))
only = [int(number) for number in life["only"].split(",") if number] if "only" in life else range(1, 41)
print("seed 3")
broken = seconds >= 500.5 and int(life.get("destinations", 3)) >= 2 and 7 in only and 30 in only
if broken:
    print(f"seed 3 broke a law: {len(only)} rows are lost, among them 01a44842-c640-7085-953c-3a009bc851db")
# What is left out makes another law be broken.
elif seconds > 600 and 12 not in only:
    print("seed 3 broke a law: the threads do not come to rest")
print(f"seed 3 ended: {500.5 if broken else seconds} s, happenings {','.join(map(str, only))}, digest 1, requests 2")
"""


class SimulateTests(unittest.TestCase):
    def run_simulate(self, child: str, *options: str, **more: str) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "debug", "beekondPackageTests.xctest")
            program.parent.mkdir()
            program.write_text(child, encoding="utf-8")
            program.chmod(0o755)
            return subprocess.run([ROOT / "etc" / "build" / "simulate", "--build", folder, *options], check=False,
                                  capture_output=True, text=True, env=dict(os.environ, BEEKOND_WORLD_SEED="1", **more))

    def simulate(self, seeds: str, **more: str) -> subprocess.CompletedProcess:
        return self.run_simulate(CHILD, "--seeds", seeds, **more)

    def test_a_crash_costs_its_seed(self):
        done = self.simulate("250")
        self.assertEqual(done.returncode, 1)
        self.assertIn("seed 7: the child ended with -6", done.stdout)
        self.assertIn("seed 9: 3 rows are lost", done.stderr)
        # Those behind the crash, and those of the other two children.
        self.assertIn("\n243 seeds, 4 hours, 30 rows, 3 kills", done.stdout)
        self.assertNotIn("never happened", done.stderr)

    def test_what_never_happens_fails(self):
        done = self.simulate("1001-2000")
        self.assertEqual(done.returncode, 1)
        self.assertIn("never happened: lost", done.stderr)
        self.assertEqual(self.simulate("1001-1999").returncode, 0)

    def test_a_child_that_grows_fails(self):
        done = self.simulate("2001-3999", GROWN="1101")
        self.assertIn("more than 1.1 times as much memory", done.stderr)
        self.assertNotIn("as much memory", self.simulate("2001-3999").stderr)

    def test_two_processes_live_a_seed_alike(self):
        again = self.run_simulate(CHILD, "--seeds", "10-20", "--again")
        self.assertEqual(again.returncode, 1)
        self.assertRegex(again.stderr, "seed 11: another process lived it otherwise")
        self.assertNotIn("seed 12", again.stderr)

    def test_a_seed_is_shrunk_to_what_it_needs(self):
        done = self.run_simulate(NEEDY, "--shrink", "3")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = re.search(r"Life\(3, seconds: (\d+), destinations: 2, only: \[7, 30\]\)", done.stdout)
        assert found, done.stdout
        self.assertTrue(501 <= int(found[1]) <= 561, done.stdout)
        self.assertIn(f'SEED=3 LIFE="seconds={found[1]} destinations=2 only=7,30"', done.stdout)
        # A law that holds.
        whole = self.run_simulate(NEEDY, "--shrink", "3", "--life", "seconds=400")
        self.assertEqual((whole.returncode, whole.stderr), (1, "simulate: seed 3 breaks no law\n"))


if __name__ == "__main__":
    unittest.main()
