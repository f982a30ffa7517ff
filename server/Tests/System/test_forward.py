"""What is stored is forwarded: as it came, in order, to each target by itself, whatever the targets answer and whoever is
killed; what waits is bounded, counted and told."""
from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.databases import OnPostgres, OnSQLite
from server_support.forwarding import ForwardTest, clock, ids, key, unpacked
from server_support.server import Server, envelope
from support.ports import new_port
from support.waiting import never, wait_for

DAY = 86_400_000


class Webhooks(ForwardTest):
    # While it is refused, nothing can be written into the outbox.
    refuse: Any
    refuse_no_more: Any

    def test_the_envelope_as_it_came_and_who_sent_it(self):
        hook = self.hook()
        token = os.path.join(self.folder, "token")
        with open(token, "w", encoding="ascii") as file:
            file.write("secret\n")
        server = self.begin({"name": "plain", "url": hook.url("/{device}/in"), "token_file": token})
        root = self.batch(3)
        for packed in (True, False):
            body = json.dumps(root).encode()
            body = gzip.compress(body, mtime=1) if packed else body
            answer = server.ask("POST", "/v1/batches", self.van["access_token"], body, Content_Type="application/json",
                                **({"Content_Encoding": "gzip"} if packed else {}))
            self.assertEqual((answer.status, answer.json["stored"]), (200, 3))
            wait_for(lambda: hook.calls, "a call")
            call = hook.calls.pop()
            self.assertEqual(call.body, body)
            self.assertEqual(call.path, "/van/in")
            self.assertEqual(call.headers.get("content-encoding"), "gzip" if packed else None)
            expected = {"idempotency-key": root["batch_id"], "beekon-device": str(self.van["id"]), "beekon-device-name": "van",
                        "authorization": "Bearer secret", "content-type": "application/json"}
            self.assertEqual({name: call.headers.get(name) for name in expected}, expected)
            self.assertRegex(call.headers["user-agent"], r"^beekon-server/\d")
            root = self.batch(3)
        self.settle()
        # What has no rows, or none that are new, is not forwarded.
        self.assertEqual(server.deliver(self.van["access_token"], self.batch(0, status={})).status, 200)
        self.account("plain", 2, 6)
        wait_for(lambda: self.metrics()['batches_total{target="plain",result="forwarded"}'] == 2, "the metrics")
        metrics = self.metrics()
        self.assertEqual(metrics['rows_total{target="plain",result="forwarded"}'], 6)
        self.assertEqual(metrics['stored_batches_total{target="plain"}'], 2)
        self.assertEqual(metrics['stored_rows_total{target="plain"}'], 6)
        self.assertEqual(metrics['waiting_batches{target="plain"}'], 0)
        self.assertEqual(metrics['is_failing{target="plain"}'], 0)
        self.assertIn("ok    forward 'plain': 2 batches forwarded, 0 wait, 0 dropped", self.doctor())

    def test_without_targets_nothing_is_written(self):
        server = self.make().start()
        van = server.add_device("van")
        self.assertEqual(server.deliver(van["access_token"], envelope(2)).json["stored"], 2)
        self.assertEqual(self.rows("SELECT count(*) FROM outbox")[0][0], "0")

    def test_another_server_is_a_receiver(self):
        other = Server(tempfile.mkdtemp(dir=self.folder))
        self.addCleanup(other.kill)
        other.start()
        tokens = os.path.join(self.folder, "tokens")
        os.mkdir(tokens)
        devices = {}
        for name in ("van", "Hof Süd"):
            devices[name] = other.add_device(name)
            with open(f"{tokens}/{name}", "w", encoding="ascii") as file:
                file.write(devices[name]["access_token"])
        self.begin({"name": "copy", "url": f"{other.url}/v1/batches", "token_file": tokens + "/{device}"})
        sender = {"van": self.van, "Hof Süd": self.under_test.add_device("Hof Süd")}
        sent: dict = {name: [] for name in sender}
        for _ in range(5):
            for name, device in sender.items():
                sent[name] += ids(self.upload(2, device))
        self.settle()
        reader = other.add_user("rita", "reader")
        for name, device in devices.items():
            self.assertEqual(sorted(other.ids(reader, device["id"])), sorted(sent[name]))
        # A vehicle without a token there waits, and holds up nobody.
        stranger = self.under_test.add_device("stranger")
        self.upload(1, stranger)
        sent["van"] += ids(self.upload(1))
        wait_for(lambda: sorted(other.ids(reader, devices["van"]["id"])) == sorted(sent["van"]), "the van's")
        wait_for(lambda: "a batch is not accepted: token_file: cannot open" in self.log(), "a line in the log")
        wait_for(lambda: self.waiting() == 1, "what is accepted is gone")

    def test_of_rows_that_were_seen_only_new_ones_go(self):
        hook = self.hook()
        server = self.begin({"name": "plain", "url": hook.url()})
        for packed in (True, False):
            hook.calls.clear()
            first = self.batch(2)
            others = {**first, "locations": envelope(2, clock() - 900_000)["locations"] + first["locations"][:1]}
            mixed = self.batch(1, locations=envelope(1, clock() - 500_000)["locations"] + first["locations"])
            for root, stored in ((first, 2), (first, 0), (others, 2), (others, 0), (mixed, 1)):
                answer = server.post(self.van["access_token"], root, packed)
                self.assertEqual((answer.status, answer.json["stored"]), (200, stored))
            self.settle()
            calls = {key(call): unpacked(call.body, call.headers) for call in hook.calls}
            self.assertEqual(len(calls), len(hook.calls))
            second = next(name for name in calls if "." in name)
            self.assertEqual(set(calls), {first["batch_id"], second, mixed["batch_id"]})
            self.assertRegex(second, "^" + first["batch_id"] + r"\.[0-9a-f]{16}$")
            self.assertEqual(calls[first["batch_id"]], first)
            self.assertEqual(calls[second], {**others, "locations": others["locations"][:2]})
            self.assertEqual(calls[mixed["batch_id"]], {**mixed, "locations": mixed["locations"][:1]})

    def test_a_target_that_is_away_holds_up_nobody(self):
        good, port = self.hook(), new_port()
        self.begin({"name": "good", "url": good.url()}, {"name": "away", "url": f"http://127.0.0.1:{port}/"})
        sent = [self.upload(1)["batch_id"] for _ in range(20)]
        wait_for(lambda: len(good.calls) == 20, "all of the good one")
        self.assertEqual([key(call) for call in good.calls], sent)
        wait_for(lambda: self.waiting() == 20, "what is acknowledged is gone")
        self.assertEqual(self.waiting("away"), 20)
        wait_for(lambda: "forward 'away': nothing is accepted: " in self.log(), "a line in the log")
        wait_for(lambda: self.metrics()['is_failing{target="away"}'] == 1, "the metric")
        wait_for(lambda: "BAD   forward 'away': it takes nothing since " in self.doctor(), "the doctor")
        self.assertRegex(self.doctor(), r"\n\S+ +forward 'away': 0 batches forwarded, 20 wait, 0 dropped\n")
        self.account("away", 20, 20)
        there = self.hook(port)
        self.settle()
        self.assertEqual([key(call) for call in there.calls], sent)
        wait_for(lambda: "forward 'away': it accepts again" in self.log(), "a line in the log")
        self.assertEqual(self.log().count("forward 'away': nothing is accepted"), 1)
        self.account("away", 20, 20)
        wait_for(lambda: "ok    forward 'away': 20 batches forwarded, 0 wait, 0 dropped" in self.doctor(), "the doctor")

    def test_wrong_answers(self):
        """Nothing counts but a 2xx; what is wrong with one envelope holds up no other."""
        hook = self.hook()
        self.begin({"name": "plain", "url": hook.url("/{device}")}, {"name": "other", "url": hook.url("/other")})
        bus = self.under_test.add_device("bus")
        for way in (500, 401, 302, "lost"):
            hook.ways = {"/van": way, "/bus": way}
            vans, others = hook.paths("/van"), hook.paths("/other")
            self.upload(1)
            wait_for(lambda: hook.paths("/van") > vans, "an attempt")
            wait_for(lambda: hook.paths("/other") == others + 1, "the other's")
            wait_for(lambda: self.waiting("other") == 0, "the other's acknowledgement")
            self.assertEqual(self.waiting("plain"), 1, way)
            hook.ways = {}
            self.settle()
        self.assertIn("answered 401", self.log())
        for way in (413, 400):
            hook.ways = {"/van": way}
            self.upload(1)
            self.upload(1, bus)
            wait_for(lambda: self.rows("SELECT reason FROM outbox WHERE due > 0"), "a refusal")
            wait_for(lambda: self.waiting() == 1, "the bus goes past it")
            self.assertEqual(self.rows("SELECT reason FROM outbox"), [[f"answered {way}"]])
            self.assertIn(f"BAD   forward 'plain': 1 batches are not accepted, and others are: answered {way}", self.doctor())
            hook.ways = {}
            self.hurry()
            self.settle()
        self.assertEqual(self.log().count("forward 'plain': a batch is not accepted: answered 413"), 1)
        # Who is silent holds up himself.
        hook.ways = {"/van": "slow"}
        self.upload(1)
        wait_for(lambda: self.waiting("other") == 0 and +hook.under_way, "the other's acknowledgement")
        self.assertEqual(self.waiting("plain"), 1)
        hook.release.set()
        self.settle()
        self.account("plain", 9, 9)

    def test_what_waits_is_bounded_and_told_before(self):
        hook = self.hook()
        hook.ways = {"/": 500}
        self.begin({"name": "plain", "url": hook.url("/"), "max_bytes": 1_000_000, "max_age_days": 2})
        noise = {f"key {index}": "x" * 1000 for index in range(60)}
        stored = 0

        def fill(share: float):
            nonlocal stored
            while int(self.rows("SELECT coalesce(sum(size), 0) FROM outbox")[0][0]) < share * 1_000_000:
                answer = self.under_test.post(self.van["access_token"], self.batch(1, extras=noise), packed=False)
                self.assertEqual(answer.status, 200)
                stored += 1

        fill(0.5)
        wait_for(lambda: "forward 'plain': half of what may wait does" in self.log(), "half is told")
        self.assertRegex(self.doctor(), r"BAD   forward 'plain': 5\d % of what may wait does")
        fill(0.9)
        wait_for(lambda: "forward 'plain': nine tenths of what may wait does" in self.log(), "nine tenths are told")
        self.assertNotIn("dropped:", self.log())
        fill(1.2)
        wait_for(lambda: "forward 'plain': dropped: 0 batches that were older" in self.log(), "a line in the log")
        # The line may be of what was dropped while it was filled.
        wait_for(lambda: int(self.rows("SELECT sum(size) FROM outbox")[0][0]) <= 1_000_000, "what is too much is dropped")
        dropped = self.count("plain", "too_many")
        self.assertGreaterEqual(dropped, 3)
        self.account("plain", stored, stored)
        wait_for(lambda: self.metrics()['batches_total{target="plain",result="too_many"}'] == dropped, "the metric")
        self.assertIn("note  forward 'plain': 0 batches forwarded", self.doctor())
        # By age: all but one.
        self.write(f"UPDATE outbox SET received = received - {3 * DAY} WHERE number < (SELECT max(number) FROM outbox)")
        wait_for(lambda: self.waiting() == 1, "the old ones go")
        self.assertEqual(self.count("plain", "too_old"), stored - dropped - 1)
        self.account("plain", stored, stored)
        hook.ways = {}
        self.settle()
        self.account("plain", stored, stored)

    def test_a_vehicle_that_is_deleted_leaves_nothing(self):
        hook = self.hook()
        hook.ways = {"/": 500}
        self.begin({"name": "plain", "url": hook.url("/")})
        bus = self.under_test.add_device("bus")
        self.upload(2)
        kept = self.upload(1, bus)["batch_id"]
        self.assertEqual(self.ask("DELETE", f"/v1/devices/{self.van['id']}/data", b"").status, 204)
        wait_for(lambda: self.waiting() == 1, "its rows go")
        self.assertEqual((self.count("plain", "deleted"), self.count("plain", "deleted", "rows")), (1, 2))
        # One that was under way may still come, until the attempt behind it is over.
        hook.calls.clear()
        wait_for(lambda: [key(call) for call in hook.calls].count(kept) >= 2, "the other one is tried again")
        hook.calls.clear()
        hook.ways = {}
        self.settle()
        self.assertEqual({key(call) for call in hook.calls}, {kept})
        self.account("plain", 2, 3)

    def test_it_is_written_with_the_rows_or_they_are_not(self):
        """Whatever fails between the two: the batch comes again, and is forwarded."""
        hook = self.hook()
        server = self.begin({"name": "plain", "url": hook.url()})
        self.refuse()
        root = self.batch(2)
        self.assertNotEqual(server.post(self.van["access_token"], root).status, 200)
        self.assertEqual(self.rows("SELECT count(*) FROM locations")[0][0], "0")
        self.refuse_no_more()
        answer = server.deliver(self.van["access_token"], root)
        self.assertEqual((answer.status, answer.json["stored"]), (200, 2))
        self.settle()
        self.assertEqual([key(call) for call in hook.calls], [root["batch_id"]])

    def test_each_arrives_whoever_is_killed(self):
        hook = self.hook()
        hook.ways = {"/": "late"}
        server = self.begin({"name": "plain", "url": hook.url("/")})

        def kill(number: int):
            server.kill()
            server.start()

        roots = self.survive(batches=40, kills=6, kill=kill)
        hook.ways = {}
        self.assertEqual({key(call) for call in hook.calls}, {root["batch_id"] for root in roots})
        bodies: dict = {}
        for call in hook.calls:
            bodies.setdefault(key(call), set()).add(call.body)
        self.assertTrue(all(len(found) == 1 for found in bodies.values()))
        self.account("plain", 40, 40)


class OnSQLiteWebhooks(Webhooks, OnSQLite):
    def refuse(self):
        self.write("CREATE TRIGGER refuse BEFORE INSERT ON outbox BEGIN SELECT raise(ABORT, 'refused'); END")

    def refuse_no_more(self):
        self.write("DROP TRIGGER refuse")


class OnPostgresWebhooks(Webhooks, OnPostgres):
    def refuse(self):
        self.write("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;"
                   "CREATE TRIGGER refuse BEFORE INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION refuse()")

    def refuse_no_more(self):
        self.write("DROP TRIGGER refuse ON outbox")

    def test_what_is_committed_late_is_not_passed_over(self):
        """A transaction that began before, and ends behind one that began later."""
        hook = self.hook()
        self.begin({"name": "plain", "url": hook.url()})
        first = self.upload(1)["batch_id"]
        self.settle()
        other = subprocess.Popen(
            ["psql", self.postgres.address(), "-XAtq"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(other.kill)
        assert other.stdin and other.stdout
        other.stdin.write(
            "BEGIN; INSERT INTO outbox(device, target, id, received, rows, size, packed, body) "
            f"VALUES ({self.van['id']}, 'plain', 'late', {clock()}, 1, 2, 0, '{{}}'); SELECT 'there';\n")
        other.stdin.flush()
        self.assertEqual(other.stdout.readline(), "there\n")
        later = [self.upload(1)["batch_id"] for _ in range(3)]
        never(lambda: len(hook.calls) > 1, "what would come before is not committed yet")
        other.stdin.write("COMMIT;\n")
        other.stdin.close()
        other.wait(60)
        self.settle()
        self.assertEqual([key(call) for call in hook.calls], [first, "late", *later])

    def test_one_of_two_servers_forwards_and_then_the_other(self):
        hook = self.hook()
        hook.ways = {"/": "late"}
        first = self.begin({"name": "plain", "url": hook.url("/")})
        second = self.make("--config", self.path).start()
        sent = [self.upload(1, server=(first, second)[index % 2])["batch_id"] for index in range(20)]
        self.settle()
        owners = self.rows(
            "SELECT count(DISTINCT pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted")
        self.assertEqual(owners, [["1"]])
        self.assertEqual(len(hook.calls), 20, "each once")
        sent += [self.upload(1, server=second)["batch_id"] for _ in range(10)]
        first.kill()
        self.settle()
        self.assertEqual({key(call) for call in hook.calls}, set(sent))
        second.kill()
        first.start()
        sent.append(self.upload(1)["batch_id"])
        self.settle()
        self.assertEqual({key(call) for call in hook.calls}, set(sent))
        self.account("plain", 31, 31)


# They are run on a database each.
del Webhooks


if __name__ == "__main__":
    unittest.main()
