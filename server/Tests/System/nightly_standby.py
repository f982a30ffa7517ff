"""Five fail-overs of each kind (test_standby.py has one), and an old primary that comes back five times."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.fail_over import FailOverTest
from server_support.postgres import BIN

ROUNDS = 5


@unittest.skipUnless(BIN, "no PostgreSQL: 'make deps' installs it")
class StandbyNights(FailOverTest):
    def test_synchronous(self):
        self.fail_over(ROUNDS, is_synchronous=True)

    def test_asynchronous(self):
        self.fail_over(ROUNDS, is_synchronous=False)

    def test_split(self):
        self.split(ROUNDS)


if __name__ == "__main__":
    unittest.main()
