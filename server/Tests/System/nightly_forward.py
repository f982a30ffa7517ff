"""200 SIGKILLs of servers that forward and of nats-server, on both databases: each batch is in the stream once, and nothing waits
(test_forward_brokers.py has a sample of it)."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.databases import OnPostgres, OnSQLite
from server_support.forward_kills import Kills
from server_support.nats import needs_nats


@needs_nats
class OnSQLiteKills(Kills, OnSQLite):
    def test_each_batch_is_in_the_stream_once(self):
        self.each_once(batches=2000, kills=100)


@needs_nats
class OnPostgresKills(Kills, OnPostgres):
    def test_each_batch_is_in_the_stream_once(self):
        self.each_once(batches=2000, kills=100)


if __name__ == "__main__":
    unittest.main()
