"""A server's commands, with the daemon killed at each place from the request whose answer brings them to the acknowledgement of
their results: none is lost, none has a second effect, and each result arrives.

BEEKOND_LONG=1 takes every place; otherwise some, other ones with each commit.
"""
from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.command_test import FENCE, CommandTest
from support.places import killed_at, places_of
from support.seeds import sample
from support.waiting import wait_for

# Places, unless it is all of them.
FEW = 10


class CutTests(CommandTest):
    def setUp(self):
        super().setUp()
        self.ids: list = []

    def prepared(self) -> tuple:
        """A daemon with a fix pending, whose server has four commands for it."""
        server = self.server()
        fake, daemon = self.vehicle(server)
        self.ids = [server.command("stop"), server.command("set_config", settings={"tracking.interval_seconds": 0}),
                    server.command("add_geofences", geofences=[FENCE]), server.command("start")]
        return server, fake, daemon

    def is_over(self, daemon) -> bool:
        """Whether the daemon knows that the server has all results. Reads the database: the daemon is not disturbed."""
        return daemon.query("SELECT COUNT(*), SUM(is_sent) FROM commands") == [(4, 4)]

    def act(self, daemon):
        daemon.ask_for_sync()
        wait_for(lambda: not daemon.is_running or self.is_over(daemon), "the end of the daemon, or of the commands")

    def one(self, place: int | None) -> int:
        """A run that is killed there, or how many places one has."""
        server, fake, daemon = self.prepared()
        places = 0
        if place is None:
            places = places_of(daemon, lambda: self.act(daemon))
        else:
            with killed_at(daemon, place):
                self.act(daemon)
            daemon.start()
        daemon.sync_until(lambda answer: self.is_over(daemon), "the end of the commands")
        self.check(server, fake, daemon)
        fake.stop()
        daemon.kill()
        server.stop()
        self.receivers.clear()
        return places

    def check(self, server, fake, daemon):
        status = daemon.status()
        self.assertEqual((status["state"], daemon.setting("tracking.interval_seconds")), ("tracking", 0))
        self.assertEqual([fence["id"] for fence in daemon.call("ListGeofences")["geofences"]], ["depot"])
        # A second stop would have ended the new session, and a second start begun another.
        fake.settle()
        daemon.wait_status(lambda status: status["last_location"]["session_id"] == status["session_id"], "a fix of it")
        sessions = daemon.call("GetSessions")["sessions"]
        self.assertEqual(["stopped_at" in session for session in sessions], [True, False], sessions)
        for identity in self.ids:
            found = server.results[identity]
            self.assertEqual([result for result in found if result != found[0] or not result["ok"]], [], found)
        self.assertEqual({command["id"] for command in daemon.call("GetCommands")["commands"]}, set(self.ids))
        # The receiver may have nothing to say; all else is well.
        self.assertEqual([word for word in status["degraded"] if word != "source"], [])
        # Each location is in one place.
        daemon.sync_until(lambda answer: True, "an attempt")
        self.assertTrue(all(len(batches) == 1 for batches in server.homes.values()), server.homes)

    def test_a_cut_at_every_place(self):
        places = self.one(None)
        self.assertGreater(places, 50)
        chosen = sample("commands", places, FEW)
        for place in chosen:
            with self.subTest(place=place):
                self.one(place)
        print(f"\n  {len(chosen)} cuts at {places} places; each of four commands done once, each result delivered")


if __name__ == "__main__":
    unittest.main()
