"""Several destinations: each gets every row once, whatever the others do, and a name that is lost by mistake loses nothing.

BEEKOND_SEED chooses other places; BEEKOND_KILLS sets the number of kills.
"""
import os
import random
import socket
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.daemon import NEVER
from support.places import killed_at, places_of
from support.ports import NOBODY, new_port
from support.post_server import PostServer
from support.programs import program
from support.seeds import seed
from support.system_test import SystemTest
from support.waiting import let_pass, wait_for

KILLS = int(os.environ.get("BEEKOND_KILLS", "20"))


class OsmAndServer(PostServer):
    """Takes one position a request, as Traccar does; `status` is what it answers."""

    def __init__(self):
        self.seen: list = []
        self.status = 200
        super().__init__()

    def take(self, query, body):
        if self.status == 200:
            self.seen.append(query)
        return self.status, b""


class DestinationTests(SystemTest):
    def several(self, count: int = 1, **others) -> tuple:
        """A daemon that tracks, with `main` and these others, and so many rows."""
        main = self.backend()
        sections = {f"destination.{name}": {"interval_seconds": NEVER, **values} for name, values in others.items()}
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={"url": main.url, "batch_size": 5}, **sections).start()
        daemon.keep_account()
        self.addCleanup(self.check_conserved, daemon)
        daemon.call("Start")
        fake.settle()
        fake.drive(count - 1)
        daemon.wait_stored(count)
        return main, fake, daemon

    def destination(self, daemon, name: str) -> dict:
        return {found["name"]: found for found in daemon.status()["destinations"]}[name]

    def drain(self, daemon, name: str):
        wait_for(lambda: daemon.call("Sync", destination=name)["pending"] == 0, f"everything has reached {name}")

    def test_each_gets_every_row_once_and_a_dead_one_holds_up_nobody(self):
        other = self.backend()
        main, fake, daemon = self.several(
            12, other={"url": other.url, "batch_size": 4},
            dead={"url": f"http://127.0.0.1:{NOBODY}/", "timeout_seconds": 1})
        stored = daemon.stored_ids()
        self.assertEqual(daemon.call("Sync")["outcome"], "drained")
        self.drain(daemon, "other")
        self.assertEqual((set(main.ids), set(other.ids)), (stored, stored))
        self.assertEqual(daemon.stored_ids(), stored, "they are owed to the dead one")
        self.assertEqual([self.destination(daemon, name)["sync"]["pending"] for name in ("main", "other", "dead")],
                         [0, 0, 12])
        self.assertEqual(daemon.status()["sync"]["pending"], 0)
        fake.drive(3)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 3, "three more")
        self.drain(daemon, "main")
        self.drain(daemon, "other")
        self.assertEqual(set(main.ids), set(other.ids))
        self.assertEqual(len(main.ids), 15)
        for receiver in (main, other):
            self.assertEqual(receiver.faults(), [])

    def test_all_are_asked_and_the_worst_answers(self):
        other, broken = self.backend(), self.backend(answers=[403] * 9)
        main, fake, daemon = self.several(12, other={"url": other.url}, broken={"url": broken.url})
        done = daemon.call("Sync", all=True)
        # Everybody has had its turn when it answers.
        self.assertEqual(set(main.ids), set(other.ids))
        self.assertEqual(len(set(main.ids)), 12)
        self.assertEqual(done, {"outcome": "auth", "uploaded": 24, "pending": 12, "destination": "broken", "http_status": 403,
                                "error": "the server answers 403"})
        broken.answers.clear()
        self.assertEqual(daemon.call("Sync", all=True),
                         {"outcome": "drained", "uploaded": 12, "pending": 0, "destination": "broken"})
        fake.drive(2)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 2, "two more")
        self.assertEqual(daemon.call("Sync", all=True, wait=False), {"outcome": "transient", "uploaded": 0, "pending": 6})
        for receiver in (main, other, broken):
            self.arrived(receiver, 14)

    def arrived(self, receiver, count: int):
        wait_for(lambda: len(receiver.ids) == count, "all of them")

    def test_all_where_main_has_no_url_or_nobody_has(self):
        other = self.backend()
        fake = self.fake()
        daemon = self.daemon(fake.port, **{"destination.other": {"url": other.url, "interval_seconds": NEVER}}).start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        self.assertEqual(daemon.call("Sync", all=True),
                         {"outcome": "drained", "uploaded": 1, "pending": 0, "destination": "other"})
        daemon.kill()
        daemon = self.daemon().start()
        self.assertEqual(daemon.call("Sync", all=True), {"outcome": "disabled", "uploaded": 0, "pending": 0})
        with self.assertRaises(Refusal) as caught:
            daemon.call("Sync", all=True, destination="main")
        self.assertEqual(caught.exception.parameters, {"parameter": "all"})

    def test_beekonctl_sync_all_within_the_seconds_of_the_last_flush(self):
        """Every destination has its turn at once: those that never answer do not keep the others from sending."""
        hole = socket.create_server(("127.0.0.1", new_port()), backlog=16)
        self.addCleanup(hole.close)
        other = self.backend()
        main, _, daemon = self.several(
            12, dead={"url": f"http://127.0.0.1:{hole.getsockname()[1]}/"}, other={"url": other.url})
        path = Path(__file__).resolve().parents[3] / "systemd" / "last-flush.conf"
        line = next(line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("ExecStop="))
        words = line.split("=-", 1)[1].replace("/usr/bin/beekonctl", program("beekonctl")).split()
        done = subprocess.run(words, env={**os.environ, "BEEKOND_SOCKET": daemon.socket}, capture_output=True, text=True)
        # timeout(1) has ended it.
        self.assertEqual(done.returncode, 124, done.stdout + done.stderr)
        self.assertEqual((len(set(main.ids)), len(set(other.ids))), (12, 12))
        self.assertIn("sync --all", line)
        hole.close()
        broken = subprocess.run([program("beekonctl"), "sync", "--all"], capture_output=True, text=True,
                                env={**os.environ, "BEEKOND_SOCKET": daemon.socket})
        self.assertEqual(broken.returncode, 75, broken.stdout + broken.stderr)
        self.assertIn("dead", broken.stderr)

    def test_kills_between_three_destinations_lose_nothing(self):
        dice = random.Random(seed(f"{KILLS} kills among destinations"))
        flaky = self.backend(drop_ack_every=3)
        main, fake, daemon = self.several(
            3, flaky={"url": flaky.url, "batch_size": 3, "timeout_seconds": 2},
            dead={"url": f"http://127.0.0.1:{NOBODY}/", "timeout_seconds": 1})
        known: set = set()

        def work(names):
            fake.drive(2)
            for name in names:
                daemon.connect().send("Sync", {"wait": False, "destination": name})
            let_pass(1)

        places = places_of(daemon, lambda: work(("main", "flaky", "dead")))
        for _ in range(KILLS):
            fake.drive(2)
            daemon.wait_stored(3)
            known |= daemon.stored_ids()
            # A drain that has ended: what it acknowledged must not be sent again. And then one that is cut off.
            if dice.random() < 0.5:
                daemon.call("Sync", destination=dice.choice(("main", "flaky")))
            with killed_at(daemon, dice.randint(1, places)):
                while daemon.is_running:
                    work(dice.sample(["main", "flaky", "dead"], 2))
            known |= daemon.stored_ids()
            daemon.start()
            self.check_owed(daemon, known, {"main": main, "flaky": flaky, "dead": None})
            daemon.call("Start")
            fake.settle()
        daemon.call("Stop")
        known |= daemon.stored_ids()
        self.assertGreater(len(known), KILLS)
        self.assertEqual(daemon.stored_ids(), known, "nothing has left: the dead one has none")
        self.assertEqual(self.destination(daemon, "dead")["sync"]["pending"], len(known))
        self.drain(daemon, "main")
        self.drain(daemon, "flaky")
        self.assertEqual((set(main.ids), set(flaky.ids)), (known, known))
        for receiver in (main, flaky):
            self.assertEqual(receiver.faults(), [])
        dropped = sum("withheld" in request.outcome for request in flaky.requests)
        print(f"{KILLS} kills at {places} places: {len(known)} locations, {len(main.requests)} requests to the good one, "
              f"{len(flaky.requests)} to the one that lost {dropped} of its answers")

    def check_owed(self, daemon, known: set, receivers: dict):
        """Each is owed at least what has not arrived there, of what is all still stored."""
        self.assertEqual(daemon.stored_ids(), known)
        for name, receiver in receivers.items():
            pending = self.destination(daemon, name)["sync"]["pending"]
            # Asked for later: a drain may have begun.
            missing = known - set(receiver.ids if receiver else ())
            self.assertIn(pending, range(len(missing), len(known) + 1), name)

    def test_a_name_that_is_lost_by_mistake_is_an_orphan_and_loses_nothing(self):
        other = self.backend()
        main, fake, daemon = self.several(6, other={"url": other.url})
        self.drain(daemon, "main")
        section = daemon.sections.pop("destination.other")
        daemon.configure()
        daemon.call("Reload")
        orphan = self.destination(daemon, "other")
        self.assertEqual((orphan["orphaned"], orphan["sync"]["pending"]), (True, 6))
        fake.drive(2)
        wait_for(lambda: self.destination(daemon, "other")["sync"]["pending"] == 8, "it is owed those as well")
        with self.assertRaises(Refusal):
            daemon.call("Sync", destination="other")
        daemon.kill()
        daemon.configure(**{"destination.other": section})
        daemon.start()
        self.drain(daemon, "other")
        self.drain(daemon, "main")
        self.assertEqual(len(other.ids), 8)
        self.assertEqual(set(other.ids), set(main.ids))
        self.assertEqual(daemon.stored_ids(), set())

    def test_backfill_owes_what_was_stored_before_and_forget_gives_up(self):
        main, fake, daemon = self.several(5)
        other = self.backend()
        daemon.configure(**{"destination.other": {"url": other.url, "interval_seconds": NEVER}})
        daemon.call("Reload")
        fake.drive(2)
        wait_for(lambda: self.destination(daemon, "other")["sync"]["pending"] == 2, "only what came since")
        self.assertEqual(daemon.call("BackfillDestination", destination="other"), {"added": 5})
        self.assertEqual(daemon.call("BackfillDestination", destination="other"), {"added": 0})
        self.drain(daemon, "other")
        self.assertEqual(len(other.ids), 7)
        self.assertEqual(daemon.call("BackfillDestination", destination="other"), {"added": 0})
        other.answers = [503] * 1000
        fake.drive(3)
        wait_for(lambda: self.destination(daemon, "other")["sync"]["pending"] == 3, "three more")
        with self.assertRaises(Refusal):
            daemon.call("ForgetDestination", destination="other")
        self.drain(daemon, "main")
        self.assertEqual(len(daemon.stored_ids()), 3)
        del daemon.sections["destination.other"]
        daemon.configure()
        daemon.call("Reload")
        self.assertEqual(wait_for(lambda: self.forget(daemon, "other"), "its thread has ended"), {"removed": 3})
        self.assertEqual(daemon.stored_ids(), set())
        self.assertEqual([found["name"] for found in daemon.status()["destinations"]], ["main"])

    def test_dead_letters_are_kept_for_each(self):
        other = self.backend(answers=[422])
        main, fake, daemon = self.several(3, other={"url": other.url})
        self.drain(daemon, "other")
        rejected = daemon.call("GetRejected", destination="other")["rejected"]
        self.assertEqual((len(rejected), daemon.call("GetRejected")["rejected"]), (3, []))
        self.assertEqual(len(daemon.stored_ids()), 3, "main is owed them")
        self.assertEqual(daemon.call("RetryRejected", destination="other"), {"requeued": 3})
        daemon.kill()
        daemon.start()
        self.drain(daemon, "other")
        self.drain(daemon, "main")
        self.assertEqual(set(other.ids), set(main.ids))
        self.assertEqual(daemon.stored_ids(), set())

    def test_a_server_of_another_kind_gets_one_row_a_request_in_order(self):
        traccar = OsmAndServer()
        self.addCleanup(traccar.stop)
        main, fake, daemon = self.several(
            5, traccar={"url": traccar.url, "format": "osmand", "device_id": "van-7"})
        self.drain(daemon, "traccar")
        self.assertEqual(len(traccar.seen), 5)
        self.assertEqual({seen["id"] for seen in traccar.seen}, {"van-7"})
        times = [int(seen["timestamp"]) for seen in traccar.seen]
        self.assertEqual(times, sorted(times))
        # An unknown device: nothing becomes a dead letter, and nothing is lost.
        traccar.status = 400
        fake.drive(2)
        wait_for(lambda: self.destination(daemon, "traccar")["sync"]["pending"] == 2, "two more")
        self.assertEqual(daemon.call("Sync", destination="traccar")["outcome"], "permanent")
        self.assertEqual(self.destination(daemon, "traccar")["sync"]["rejected"], 0)
        traccar.status = 200
        self.drain(daemon, "traccar")
        self.assertEqual(len(traccar.seen), 7)

    def test_an_orphan_gets_nothing_more_and_takes_its_tokens_with_it(self):
        other = self.backend()
        main, fake, daemon = self.several(2, other={"url": other.url})
        daemon.configure(**{"destination.other.auth": {"access_token": "secret-a", "refresh_token": "secret-r"},
                            "destination.late": {"url": other.url, "interval_seconds": NEVER},
                            "destination.late.auth": {"access_token": "secret-b"}})
        daemon.call("Reload")
        state = Path(daemon.state)
        wait_for(lambda: (state / "tokens-other").exists() and (state / "tokens-late").exists(), "their tokens")
        (state / "tokens-other.aside-1").write_bytes(b"old")
        for name in ("destination.other", "destination.other.auth"):
            del daemon.sections[name]
        daemon.configure()
        daemon.call("Reload")
        for method, values in (("BackfillDestination", {}), ("Resend", {"from": "2020-01-01T00:00:00.000Z"})):
            with self.assertRaises(Refusal) as refusal:
                daemon.call(method, destination="other", **values)
            self.assertIn("is not configured any more", str(refusal.exception.parameters))
        self.assertEqual(daemon.call("GetRejected", destination="other"), {"rejected": []})
        wait_for(lambda: self.forget(daemon, "other") is not None, "its thread has ended")
        self.assertEqual(sorted(path.name for path in state.iterdir() if path.name.startswith("tokens")), ["tokens-late"])
        with self.assertRaises(Refusal) as refusal:
            daemon.call("GetRejected", destination="other")
        self.assertEqual(refusal.exception.parameters, {"parameter": "destination"})

    def forget(self, daemon, name: str):
        try:
            return daemon.call("ForgetDestination", destination=name)
        except Refusal as refusal:
            self.assertEqual(refusal.name, "RateLimited")
            return None

    def test_events_that_a_new_format_cannot_carry_are_in_the_log(self):
        other = self.backend(answers=[503] * 1000)
        main, fake, daemon = self.several(2, other={"url": other.url})
        daemon.call("AddGeofences", geofences=[{"id": "here", "latitude": 50, "longitude": 8, "radius_meters": 100000}])
        fake.drive(3)
        wait_for(lambda: daemon.call("GetGeofenceEvents")["events"], "an event")
        daemon.configure(**{"destination.other": {"format": "overland"}})
        daemon.call("Reload")
        wait_for(lambda: "events are not sent to other: its format cannot carry them" in daemon.text(), "a line of the log")
        self.assertEqual(self.destination(daemon, "other")["dropped"], 1)


if __name__ == "__main__":
    unittest.main()
