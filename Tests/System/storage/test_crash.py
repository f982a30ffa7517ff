"""SIGKILL at random places, of a start or of some work, while fixes arrive and a backend loses every third acknowledgement.

The oracle for "COMMIT was reported" is a subscription: an event is sent only after COMMIT returned.
BEEKOND_SEED chooses other places; BEEKOND_KILLS sets the number of kills.
"""
import os
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.places import killed_at, places_of, places_of_start, start_killed_at
from support.ports import new_port
from support.programs import needs_gpsd
from support.seeds import kills, sampled
from support.system_test import SystemTest
from support.waiting import let_pass, wait_for

KILLS = kills(10, 200)


@needs_gpsd
class CrashTests(SystemTest):
    def test_nothing_is_lost_and_no_batch_changes(self):
        number = sampled(f"{KILLS} kills")
        self.random = random.Random(number)
        self.reported = set()
        port, feed = new_port(), new_port()
        self.gpsd(port, f"udp://127.0.0.1:{feed}")
        # Twenty epochs a second, each a second later than the previous one, so that the time settles quickly.
        self.simulator(feed, "--rate", "1", "--speed-up", "20", "--seed", str(number))
        # A short delay before each answer, so that the kill often falls between request and acknowledgement.
        self.receiver = self.backend(drop_ack_every=3, delay=0.02)
        self.victim = self.daemon(port, sync={"url": self.receiver.url, "batch_size": 8, "sync_threshold": 4})
        self.victim.start()
        session = self.victim.call("Start")["session_id"]
        self.work = places_of(self.victim, lambda: let_pass(2))
        self.victim.kill()
        self.start = places_of_start(self.victim)
        lives = 0
        for _ in range(KILLS):
            lives += self.live_and_die(session)
            self.check_nothing_lost()
        print(f"  {KILLS - lives} kills at {self.start} places of a start, {lives} at {self.work} of its work")
        self.victim.start()
        self.drain(session)
        self.check_the_whole(session, lives)

    def live_and_die(self, session) -> bool:
        """One life of the daemon, up to a place of its start, or of its work; which of them."""
        self.victim.kill()
        if self.random.random() < 0.2:
            start_killed_at(self.victim, self.random.randint(1, self.start))
            return False
        self.victim.start()
        listener = self.listener(self.victim, ["location"])
        self.assertEqual(self.victim.status()["session_id"], session)
        known = len(self.reported)
        wait_for(lambda: len(self.reported.union(listener.ids)) > known, "a fix is stored after the restart")
        with killed_at(self.victim, self.random.randint(1, self.work), within=60):
            if self.random.random() < 0.3:
                self.victim.connect().send("Sync", {"wait": False}, oneway=True)
        listener.close()
        self.reported.update(listener.ids)
        return True

    def check_nothing_lost(self):
        # The database first: whatever leaves it meanwhile has reached the receiver by then.
        stored = self.victim.stored_ids()
        lost = self.reported - stored - set(self.receiver.ids)
        self.assertEqual(lost, set(), "reported as stored, and now neither in the database nor at the receiver")
        damaged = [name for name in os.listdir(self.victim.state) if "corrupt" in name]
        self.assertEqual(damaged, [], "a kill damages nothing")

    def drain(self, session):
        """Stops, and syncs until nothing is pending."""
        listener = self.listener(self.victim, ["location"])
        wait_for(lambda: len(listener.ids) >= 10, "fixes are stored after the last kill")
        self.victim.call("Stop")
        self.reported.update(listener.ids)
        self.victim.sync_until(lambda answer: answer["pending"] == 0, "everything is uploaded")

    def check_the_whole(self, session, lives: int):
        receiver = self.receiver
        self.assertEqual(self.victim.stored_ids(), set(), "acknowledged rows leave the database")
        self.assertEqual(self.reported - set(receiver.ids), set())
        sessions = self.victim.call("GetSessions")["sessions"]
        self.assertEqual([found["id"] for found in sessions], [session])
        # What was stored but never reported, because of a kill, has arrived as well; and nothing else has.
        self.assertEqual(sessions[0]["locations"], len(receiver.ids))
        self.assertEqual(receiver.faults(), [])
        self.assertEqual(receiver.problems, [])
        self.assertEqual({request.root["session_id"] for request in receiver.requests}, {session})
        repeated = len(receiver.requests) - len(receiver.batches)
        print(f"crash test: {len(receiver.ids)} fixes, {len(self.reported)} reported, {len(receiver.requests)} requests, "
              f"{repeated} of them repeated")
        # Without repeated batches, and rows of each life, this would have tested little.
        self.assertGreater(repeated, 0)
        self.assertGreaterEqual(len(self.reported), lives)


if __name__ == "__main__":
    unittest.main()
