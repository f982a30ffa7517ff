"""A deletion leaves no position of the vehicle behind in any file, even if it is interrupted."""
import glob
import os
import signal
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.fake_gpsd import iso, tpv
from support.system_test import SystemTest
from support.waiting import wait_for

NEVER_AGAIN = (51.23456789, 7.98765432)
LATER = (48.13571357, 11.24682468)
MANY = 6000


def traces(folder: str, place: tuple) -> list:
    """The files that contain a latitude or longitude: as SQLite stores it, or as text."""
    found = []
    for path in glob.glob(os.path.join(folder, "**"), recursive=True):
        if not os.path.isfile(path):
            continue
        with open(path, "rb") as file:
            data = file.read()
        for value in place:
            for mark in (struct.pack(">d", value), struct.pack("<d", value), str(value)[:9].encode()):
                if mark in data:
                    found.append(f"{os.path.basename(path)} holds {value} as {mark!r}")
    return found


class ErasureTests(SystemTest):
    def at(self, gps, daemon, place: tuple, count: int) -> list:
        """Sends this many fixes at this place, and returns their times once all are stored."""
        before = daemon.status()["gate"]["admitted"]
        times = [gps.next_ms + 1000 * index for index in range(count)]
        gps.next_ms += 1000 * count
        for start in range(0, count, 500):
            gps.report(*[tpv(time, *place) for time in times[start:start + 500]])
        # The last epoch closes a moment later.
        daemon.wait_status(lambda status: status["gate"]["admitted"] >= before + count
                           and not status["store"]["waiting_in_memory"], f"{count} fixes stored", 120)
        return times

    def begun(self, count: int, **sections) -> tuple:
        gps = self.fake()
        # Many fixes of one place.
        sections["tracking"] = {"distance_meters": 0, **sections.get("tracking", {})}
        daemon = self.daemon(gps.port, **sections).start()
        daemon.call("Start")
        gps.settle()
        daemon.wait_stored(3)
        return gps, daemon, self.at(gps, daemon, NEVER_AGAIN, count)

    def check_gone(self, daemon, place: tuple = NEVER_AGAIN):
        self.assertEqual(traces(daemon.state, place), [])

    def test_everything(self):
        """Stored, uploaded, rejected, frozen, parked there, and in a database that was moved aside."""
        receiver = self.backend(answers=[200, 422])
        gps, daemon, _ = self.begun(60, sync={"url": receiver.url, "batch_size": 20},
                                    tracking={"stationary_mode": "keep_tracking", "stationary_after_seconds": 30})
        daemon.sync()
        read = daemon.status()["source"]["fixes"]
        gps.report(*[tpv(gps.next_ms + 1000 * second, *NEVER_AGAIN, speed=0.0) for second in range(60)])
        gps.next_ms += 60_000
        # All of them, so that none is stored after the deletion.
        daemon.wait_status(lambda status: status["source"]["fixes"] >= read + 60 and not status["store"]["waiting_in_memory"]
                           and status["gate"]["motion"] == "stationary", "parked")
        receiver.answers = [200, 422, 503]
        daemon.sync()
        aside = os.path.join(daemon.state, "beekon.db.corrupt-1800000000")
        for suffix in ("", "-wal"):
            with open(aside + suffix, "wb") as file:
                file.write(b"damaged " + struct.pack(">d", NEVER_AGAIN[0]))
        self.assertTrue(daemon.query("SELECT 1 FROM rejected"))
        self.assertTrue(daemon.query("SELECT 1 FROM batches"))
        self.assertTrue(daemon.query("SELECT 1 FROM sessions WHERE parked_lat IS NOT NULL"))
        answer = daemon.call("DeleteLocations")
        self.assertGreater(answer["removed"], 0)
        self.assertNotIn("kept", answer)
        self.check_gone(daemon)
        self.assertEqual(glob.glob(aside + "*"), [])
        daemon.wait_status(lambda status: not status.get("last_location"), "the last location is forgotten")
        listener = self.listening(daemon)
        self.assertEqual(listener.locations, [])
        # Tracking continues, and new fixes are stored.
        self.at(gps, daemon, LATER, 5)
        daemon.wait_status(lambda status: status["store"]["locations"] == 5, "five more")
        self.check_gone(daemon)
        session = daemon.status()["session_id"]
        daemon.terminate()
        self.check_gone(daemon)
        self.assertNotEqual(traces(daemon.state, LATER), [], "this test can find positions")
        daemon.start()
        self.assertEqual(daemon.status()["session_id"], session)
        self.check_gone(daemon)

    def test_after_the_stop(self):
        gps, daemon, _ = self.begun(30)
        daemon.call("Stop")
        daemon.call("DeleteLocations")
        self.check_gone(daemon)
        self.assertEqual(len(daemon.call("GetSessions")["sessions"]), 1)
        daemon.terminate()
        self.check_gone(daemon)

    def test_up_to_a_time(self):
        """Their bytes vanish from the database and its log; the answer names what was moved aside."""
        gps, daemon, times = self.begun(30)
        kept = self.at(gps, daemon, LATER, 10)
        aside = os.path.join(daemon.state, "beekon.db.corrupt-1800000000.salvaged")
        with open(aside, "wb") as file:
            file.write(b"damaged")
        # That a trip has begun is an event.
        [(events,)] = daemon.query(f"SELECT COUNT(*) FROM events WHERE ts <= {times[-1]}")
        self.assertEqual(daemon.call("DeleteLocations", before=iso(times[-1])),
                         {"removed": 33 + events, "kept": ["beekon.db.corrupt-1800000000.salvaged"]})
        self.assertIn("beekon.db.corrupt-1800000000.salvaged", daemon.text())
        self.check_gone(daemon)
        self.assertEqual([row[0] for row in daemon.query("SELECT ts FROM locations ORDER BY seq")], kept)
        daemon.terminate()
        self.check_gone(daemon)

    def test_an_interrupted_deletion_is_completed(self):
        for before in (False, True):
            with self.subTest("up to a time" if before else "everything"):
                gps, daemon, times = self.begun(MANY, store={"durability": "normal"})
                if before:
                    self.at(gps, daemon, LATER, 10)
                parameters = {"before": iso(times[-1])} if before else {}
                daemon.connect().send("DeleteLocations", parameters)
                # It takes steps of a thousand rows. It does not matter where it is interrupted.
                wait_for(lambda: daemon.query("SELECT COUNT(*) FROM locations")[0][0] < MANY, "it has begun", 60)
                daemon.child.signal(signal.SIGKILL)
                daemon.kill()
                daemon.start()
                left = 10 if before else 0
                daemon.wait_status(lambda status: status["store"]["locations"] == left, "it is completed", 60)
                self.assertFalse(daemon.query("SELECT 1 FROM locations WHERE lat < 52 AND lat > 50"))
                wait_for(lambda: not traces(daemon.state, NEVER_AGAIN), "nothing is left", 60)
                wait_for(lambda: not daemon.query("SELECT 1 FROM counters WHERE name = 'erasing' AND value <> 0"),
                         "it is completed in the database", 60)
                self.assertEqual(daemon.call("DeleteLocations", **parameters), {"removed": 0})
                daemon.terminate()
                self.check_gone(daemon)


if __name__ == "__main__":
    unittest.main()
