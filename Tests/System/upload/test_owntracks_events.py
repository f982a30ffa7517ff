"""Geofence events in OwnTracks' words: where they were, when their fence was added, and those of earlier versions."""
import json
import os
import sqlite3
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.daemon import NEVER
from support.post_server import PostServer
from support.system_test import SystemTest
from support.waiting import wait_for


class Recorder(PostServer):
    """OwnTracks' recorder; `status` is what it answers, and `messages` what it has taken."""

    path = "/pub"

    def __init__(self):
        self.messages: list = []
        self.status = 503
        super().__init__()

    def take(self, query, body):
        if self.status == 200:
            self.messages.append(json.loads(body))
        return self.status, b""


class OwnTracksEventTests(SystemTest):
    def entered(self) -> tuple:
        """A daemon that owes a recorder the entry into two fences."""
        recorder = Recorder()
        self.addCleanup(recorder.stop)
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={
            "url": recorder.url, "format": "owntracks", "device_id": "van-7", "interval_seconds": NEVER}).start()
        daemon.call("AddGeofences", geofences=[
            {"id": name, "latitude": 50.0, "longitude": 8.25, "radius_meters": 100000} for name in ("here", "gone")])
        fake.settle()
        fake.drive(3)
        wait_for(lambda: len(daemon.call("GetGeofenceEvents")["events"]) == 2, "two events")
        return recorder, daemon

    def test_they_say_where_and_when_the_fence_was_added(self):
        before = int(time.time())
        recorder, daemon = self.entered()
        recorder.status = 200
        wait_for(lambda: daemon.call("Sync")["pending"] == 0, "they have gone")
        self.assertEqual({message["desc"] for message in recorder.messages}, {"here", "gone"})
        for message in recorder.messages:
            self.assertEqual((message["_type"], message["event"], message["lon"], message["acc"]), ("transition", "enter", 8, 5))
            self.assertGreaterEqual(message["wtst"], before)
            self.assertLessEqual(message["wtst"], int(time.time()))

    def test_those_without_a_position_are_placed_by_their_fence_or_dropped_with_a_word(self):
        recorder, daemon = self.entered()
        daemon.terminate()
        with sqlite3.connect(os.path.join(daemon.state, "beekon.db")) as database:
            # As an earlier schema leaves them.
            database.execute("DELETE FROM batches")
            database.execute("UPDATE events SET lat = NULL, lng = NULL, accuracy = NULL, fence_added_at = NULL")
        database.close()
        daemon.start()
        daemon.call("RemoveGeofences", ids=["gone"])
        recorder.status = 200
        wait_for(lambda: daemon.call("Sync")["pending"] == 0, "nothing is stuck")
        # The vehicle was inside when that fence was removed.
        [message, leave] = recorder.messages
        self.assertEqual((leave["event"], leave["desc"]), ("leave", "gone"))
        self.assertEqual((message["desc"], message["lat"], message["lon"], message["acc"], message["wtst"]),
                         ("here", 50, 8.25, 0, 0))
        self.assertIn("their fence is gone", daemon.text())
        self.assertNotIn("store.max_rows", daemon.text())
        self.assertEqual(daemon.status()["store"]["dropped_unsent"], 1)


if __name__ == "__main__":
    unittest.main()
