"""A thousand alerts over fifty kills of the server, on both databases: test_alert_delivery.py has a sample of it."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.databases import OnPostgres, OnSQLite
from server_support.delivery_kills import Kills


class OnSQLiteKills(Kills, OnSQLite):
    def test_each_arrives_and_each_time_alike(self):
        self.survive(alerts=1000, kills=50)


class OnPostgresKills(Kills, OnPostgres):
    def test_each_arrives_and_each_time_alike(self):
        self.survive(alerts=1000, kills=50)


if __name__ == "__main__":
    unittest.main()
