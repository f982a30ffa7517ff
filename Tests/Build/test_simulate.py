"""`make simulate`: what it makes of children that crash, of laws that are broken, and of what never happens."""
from __future__ import annotations

import os
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
done
echo "world: $((last - first + 1)) seeds, 1.5 hours, 10 rows, 1 kills, in 2.0 s of a processor, digest 5; taken 3, lost 0; EIO 1"
"""


class SimulateTests(unittest.TestCase):
    def simulate(self, seeds: str) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "debug", "beekondPackageTests.xctest")
            program.parent.mkdir()
            program.write_text(CHILD, encoding="utf-8")
            program.chmod(0o755)
            return subprocess.run([ROOT / "etc" / "build" / "simulate", "--build", folder, "--seeds", seeds], check=False,
                                  capture_output=True, text=True, env=dict(os.environ, BEEKOND_WORLD_SEED="1"))

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


if __name__ == "__main__":
    unittest.main()
