"""Brokers that acknowledge what they do not have, or that take less today than tomorrow."""
import struct
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.made_broker import WELCOME, MadeBroker, welcome
from support.mqtt_test import MQTTTest
from support.waiting import PATIENCE, wait_for


class FaultTest(MQTTTest):
    def made_broker(self) -> MadeBroker:
        broker = MadeBroker()
        self.addCleanup(broker.stop)
        return broker


class StrayTests(FaultTest):
    """A PUBACK for the message to come, which is not kept then: each row is at the broker or still here."""

    def check(self, seconds: float, **sync):
        broker = self.made_broker()
        guesses: dict[object, int] = {}

        def guess(link, level, publish):
            if guesses.get(link) == publish.id:
                # It has been acknowledged before it came.
                return
            broker.keep(link, level, publish)
            if len(broker.kept) % 2:
                time.sleep(seconds)
                guesses[link] = publish.id % 65_535 + 1
                broker.acknowledge(link, guesses[link])

        broker.on_publish = guess
        _, daemon = self.vehicle(broker.port, 24, **sync)
        known = daemon.stored_ids()
        self.drain(daemon)
        self.assertEqual(broker.rows, known, f"{len(known - broker.rows)} lost")
        self.assertGreater(len(broker.levels), 1, "nothing is believed of such a connection")

    def test_at_once(self):
        self.check(0)

    def test_after_half_a_millisecond(self):
        self.check(0.0005)

    def test_after_two_milliseconds(self):
        self.check(0.002)

    def test_after_twenty_milliseconds(self):
        self.check(0.02)

    def test_on_a_connection_that_is_kept(self):
        self.check(0.002, keep_connection=True)

    def test_between_two_messages_it_is_counted(self):
        broker = self.made_broker()
        fake, daemon = self.vehicle(broker.port, keep_connection=True)
        self.drain(daemon)
        daemon.wait_status(lambda status: status["sync"]["state"] == "idle", "at rest")
        broker.acknowledge(broker.server.links[-1], broker.ids[-1][-1])
        daemon.wait_status(lambda status: status["sync"].get("unmatched_answers") == 1, "what nobody asked for is counted")
        fake.drive(1)
        daemon.wait_stored(2)
        self.drain(daemon)
        self.assertEqual((len(broker.levels), len(broker.rows)), (2, 2))
        self.assertEqual(daemon.status()["sync"]["unmatched_answers"], 1)

    def test_ids_begin_anywhere_and_none_is_guessed_from_the_last(self):
        broker = self.made_broker()
        fake, daemon = self.vehicle(broker.port, 30)
        for stored in (30, 31, 32, 33):
            daemon.wait_stored(stored)
            self.drain(daemon)
            fake.drive(1)
        firsts = {ids[0] for ids in broker.ids}
        self.assertGreater(len(firsts), 1)
        self.assertNotIn(0, [number for ids in broker.ids for number in ids])
        steps = {(after - before) % 65_535 for before, after in zip(broker.ids[0], broker.ids[0][1:], strict=False)}
        self.assertGreater(len(steps), 1)


class LimitTests(FaultTest):
    """What a broker cannot take is asked of it again at the next attempt, on a connection of its own."""

    def check(self, limit: bytes, words: str, is_asked: bool):
        broker = self.made_broker()
        broker.answers[5] = welcome(limit)
        _, daemon = self.vehicle(broker.port, 6, keep_connection=True, interval_seconds=60)
        known = daemon.stored_ids()
        status = daemon.wait_status(lambda status: status["sync"].get("failure") == "permanent", "it cannot take them")
        self.assertEqual((status["sync"]["state"], status["sync"]["pending"]), ("failed", 6))
        self.assertEqual(broker.kept, [])
        wait_for(lambda: words in daemon.text(), "the reason in the log")
        broker.answers[5] = WELCOME
        if is_asked:
            self.assertEqual(daemon.sync()["outcome"], "drained")
        # Otherwise the schedule brings it.
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything is delivered", 2 * PATIENCE)
        self.assertEqual(broker.rows, known)
        connections = len(broker.levels)
        daemon.wait_status(lambda status: status["sync"]["state"] == "idle", "at rest")
        self.assertEqual(len(broker.levels), connections, "the one that served is kept")

    def test_the_longest_packet(self):
        self.check(b"\x27" + struct.pack(">I", 20), "packet too large", is_asked=False)

    def test_the_best_quality_of_service(self):
        self.check(b"\x24\0", "QoS not supported", is_asked=True)


class BlameTests(FaultTest):
    """A row that is refused on three runs of its own is followed by the one behind it, and to blame if that is taken."""

    def refused(self, broker: MadeBroker, lets_in) -> tuple:
        """Three lives, in each of which the oldest row is refused; in the last `lets_in` is called after that."""
        _, daemon = self.vehicle(broker.port, 3)
        known = daemon.stored_ids()
        for life in range(3):
            daemon.kill()
            broker.levels.clear()
            if life == 2:
                lets_in()
            daemon.start()
            wait_for(lambda: broker.levels, "the attempt after a start", 90)
            daemon.wait_status(lambda status: status["sync"]["state"] in ("failed", "idle"), "its end")
        return daemon, known

    def test_a_refused_connection_is_no_row_s_fault(self):
        for refusal in (b"\x20\x03\0\x8a\0", welcome(b"\x24\0")):
            with self.subTest(refusal):
                broker = self.made_broker()
                broker.answers[5] = refusal

                class Once(dict):
                    """The next connection is refused; all others are taken."""

                    def __getitem__(self, level, refusal=refusal):
                        return self.pop(level, WELCOME)

                def lets_in(broker=broker, refusal=refusal, answers=Once):
                    broker.answers = answers({5: refusal})

                daemon, known = self.refused(broker, lets_in)
                self.drain(daemon)
                self.assertEqual(daemon.rejected_ids(), set())
                self.assertEqual(broker.rows, known)

    def test_a_dead_letter_says_what_the_broker_said(self):
        broker = self.made_broker()
        refused: set = set()

        def judge(link, level, publish):
            row = publish.message(level)["_id"]
            if not refused or row in refused or not can_take:
                refused.add(row)
                return broker.acknowledge(link, publish.id, 0x83)
            return broker.keep(link, level, publish)

        can_take: list = []
        broker.on_publish = judge
        daemon, known = self.refused(broker, lambda: can_take.append(True))
        self.drain(daemon)
        self.assertEqual(broker.rows, known - daemon.rejected_ids())
        found = daemon.call("GetRejected")["rejected"]
        self.assertEqual(len(found), 1)
        self.assertIn("implementation-specific error (131)", found[0]["reason"])
        self.assertNotIn("closed without an answer", daemon.text())


class VersionTests(FaultTest):
    """A broker that is silent when it is spoken to in MQTT 5."""

    def silent(self, *levels: int) -> MadeBroker:
        broker = self.made_broker()
        for level in levels:
            broker.answers[level] = b""
        return broker

    def attempts(self, daemon, count: int):
        for _ in range(count):
            self.assertEqual(daemon.sync()["outcome"], "transient")

    def test_is_asked_in_the_old_one_after_two_silences_and_remembered(self):
        broker = self.silent(5)
        fake, daemon = self.vehicle(broker.port, 3, timeout_seconds=1)
        known = daemon.stored_ids()
        self.attempts(daemon, 2)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual((broker.levels, broker.rows), ([5, 5, 4], known))
        self.assertIn("MQTT 3.1.1", daemon.text())
        fake.drive(1)
        daemon.wait_stored(4)
        self.drain(daemon)
        self.assertEqual(broker.levels, [5, 5, 4, 4])

    def test_silences_with_a_word_between_them_are_not_in_a_row(self):
        broker = self.silent(5)
        _, daemon = self.vehicle(broker.port, timeout_seconds=1)
        for said in (b"", b"\x20\x03\0", b"", b""):
            broker.answers[5] = said
            self.attempts(daemon, 1)
        self.assertEqual(broker.levels, [5, 5, 5, 5])
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(broker.levels[-1], 4)

    def test_and_if_it_is_silent_then_too_nothing_is_concluded(self):
        broker = self.silent(5, 4)
        _, daemon = self.vehicle(broker.port, timeout_seconds=1)
        self.attempts(daemon, 6)
        self.assertEqual(broker.levels, [5, 5, 4, 5, 5, 4])

    def test_not_where_the_new_one_was_ever_accepted_over_restarts_until_the_url_changes(self):
        broker = self.made_broker()
        fake, daemon = self.vehicle(broker.port, timeout_seconds=1)
        self.drain(daemon)
        daemon.kill()
        broker.answers[5] = b""
        daemon.start()
        fake.settle()
        daemon.wait_status(lambda status: status["sync"]["pending"] > 0, "something is pending")
        self.attempts(daemon, 4)
        self.assertEqual(set(broker.levels), {5})
        daemon.configure(sync={"url": f"mqtt://localhost:{broker.port}"})
        daemon.reload()
        daemon.wait_status(lambda _: "localhost" in daemon.setting("sync.url"), "the url in force")
        daemon.sync_until(lambda answer: answer["pending"] == 0, "the old one is tried")
        self.assertEqual(broker.levels[-1], 4)

    def test_not_where_only_the_new_one_is_wanted(self):
        for refusal in (b"", b"\x20\x02\0\x01", b"\x20\x03\0\x84\0"):
            broker = self.silent(5)
            broker.answers[5] = refusal
            _, daemon = self.vehicle(broker.port, timeout_seconds=1, mqtt_version="5")
            for _ in range(3):
                self.assertNotEqual(daemon.sync()["outcome"], "drained")
            self.assertEqual(set(broker.levels), {5})
            self.assertEqual(broker.kept, [])

    def test_the_old_one_is_spoken_at_once_where_it_is_wanted(self):
        broker = self.made_broker()
        _, daemon = self.vehicle(broker.port, 3, mqtt_version="3.1.1")
        known = daemon.stored_ids()
        self.drain(daemon)
        self.assertEqual((broker.levels, broker.rows), ([4], known))


if __name__ == "__main__":
    unittest.main()
