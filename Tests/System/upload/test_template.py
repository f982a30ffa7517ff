"""Requests in a shape of the backend's own: what goes out, what is frozen with a batch, and what a change of settings does.

BEEKOND_SEED chooses other places; BEEKOND_KILLS sets the number of kills.
"""
import json
import os
import random
import re
import subprocess
import sys
import unittest
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.daemon import NEVER
from support.fake_gpsd import METERS_PER_DEGREE, tpv
from support.places import killed_at, places_of
from support.ports import NOBODY
from support.programs import program
from support.seeds import sampled
from support.shape_server import identity, records
from support.template_test import TemplateTest
from support.waiting import let_pass

KILLS = int(os.environ.get("BEEKOND_KILLS", "8"))
OWN = '{"uuid": "<%= uuid %>", "lat": <%= latitude %>, "at": "<%= timestamp %>"}'
OWN_EVENT = '{"uuid": "<%= uuid %>", "geofence": "<%= geofence.identifier %>", "at": "<%= timestamp %>"}'
HOME = {"id": 'a "quoted" 😀 dock', "latitude": 50.0, "longitude": 8.0, "radius_meters": 100.0}


class RequestTests(TemplateTest):
    def test_the_guides_record_in_an_array(self):
        server, fake, daemon = self.sending(3, params={"token": "hunter2", "live": True, "v": 1.5})
        daemon.call("SetExtras", extras={"driver": '"Zoë" 😀'})
        fake.drive(1, eph=None, speed=None, track=None, altHAE=None)
        daemon.wait_stored(4)
        stored = daemon.stored_ids()
        self.drain(daemon)
        self.assertEqual([request.method for request in server.requests], ["POST", "POST"])
        plain, other = server.requests
        self.assertEqual(plain.path, "/up?v=1")
        self.assertEqual(plain.headers["Content-Type"], "application/json")
        self.assertNotIn("Content-Encoding", plain.headers)
        self.assertEqual(set(plain.headers), {"Host", "User-Agent", "Content-Type", "Content-Length", "Idempotency-Key"})
        self.assertEqual(list(plain.root), ["location", "live", "token", "v"])
        self.assertEqual((plain.root["live"], plain.root["token"], plain.root["v"]), (True, "hunter2", 1.5))
        self.assertEqual([len(request.root["location"]) for request in server.requests], [3, 1])
        self.assertEqual(plain.root["location"][0]["extras"], {})
        bare = other.root["location"][0]
        self.assertEqual(bare["extras"], {"driver": '"Zoë" 😀'})
        self.assertEqual([bare["coords"][name] for name in ("accuracy", "speed", "heading", "altitude")], [-1, -1, -1, 0])
        self.assertEqual(set(server.ids), stored)
        self.assertEqual(daemon.stored_ids(), set())
        shown = json.dumps(daemon.call("GetConfig")) + json.dumps(daemon.status()) + daemon.text()
        self.assertNotIn("hunter2", shown)

    def test_methods_and_a_record_that_is_the_body(self):
        for method in ("PUT", "PATCH"):
            with self.subTest(method):
                server, fake, daemon = self.sending(
                    3, method=method, root_property=".", batch_size=1, location_template=OWN, compress=method == "PATCH",
                    params={"tenant": "north"})
                self.drain(daemon)
                self.assertEqual([request.method for request in server.requests], [method] * 3)
                self.assertEqual({request.headers.get("Content-Encoding") for request in server.requests},
                                 {"gzip" if method == "PATCH" else None})
                for request in server.requests:
                    self.assertEqual(list(request.root), ["uuid", "lat", "at", "tenant"])
                times = [request.root["at"] for request in server.requests]
                self.assertEqual(times, sorted(times))
                self.assertEqual(len({request.key for request in server.requests}), 3)
                daemon.kill()

    def test_an_array_that_is_the_body(self):
        server, fake, daemon = self.sending(5, root_property=".", batch_size=2, location_template=OWN)
        self.drain(daemon)
        self.assertEqual([len(request.root) for request in server.requests], [2, 2, 1])
        self.assertTrue(all(isinstance(request.root, list) for request in server.requests))

    def test_events_and_locations_one_by_one_by_time(self):
        for size in (1, 100):
            with self.subTest(batch_size=size):
                server = self.server()
                fake = self.fake()
                daemon = self.daemon(fake.port, tracking={"implausible_speed_mps": 1_000_000, "distance_meters": 0}).start()
                daemon.call("AddGeofences", geofences=[HOME])
                fake.wait_watched()

                def stay(north, count, fake=fake):
                    times = [fake.next_ms + 1000 * index for index in range(count)]
                    fake.report(*(tpv(at, 50 + north / METERS_PER_DEGREE, 8) for at in times))
                    fake.next_ms += 1000 * count

                daemon.call("Start")
                stay(400, 4)
                stay(20, 4)
                stay(400, 14)
                stay(20, 3)
                daemon.wait_status(lambda status: status["gate"]["admitted"] >= 23, "the drive")
                events = daemon.call("GetGeofenceEvents")["events"]
                self.assertGreaterEqual(len(events), 2)
                stored = daemon.stored_ids()
                daemon.configure(sync={"url": server.url, "format": "template", "batch_size": size,
                                       "interval_seconds": NEVER, "geofence_template": OWN_EVENT, "location_template": OWN})
                daemon.call("Reload")
                self.drain(daemon)
                sent = [record for request in server.requests for record in records(request.root)]
                self.assertEqual({identity(record) for record in sent}, stored | {event["id"] for event in events})
                times = [record["at"] for record in sent]
                self.assertEqual(times, sorted(times), "by time, whatever it is")
                if size == 1:
                    self.assertTrue(all(isinstance(request.root["location"], dict) for request in server.requests))
                    self.assertEqual(len(server.requests), len(sent))
                else:
                    self.assertEqual(len(server.requests), 1)
                self.assertEqual({record["geofence"] for record in sent if "geofence" in record}, {HOME["id"]})
                daemon.kill()

    def test_a_destination_beside_main_has_a_shape_and_fields_of_its_own(self):
        main, fleet = self.backend(), self.server()
        tables: dict = {
            "sync": {"url": main.url}, "destination.fleet": {
                "url": fleet.url, "format": "template", "interval_seconds": NEVER, "device_id": "van-7",
                "location_template": '{"uuid": "<%= uuid %>", "van": "<%= device_id %>/<%= install_id %>"}'},
            "destination.fleet.params": {"tenant": "north"}}
        fake, daemon = self.tracking(**tables)
        fake.drive(4)
        daemon.wait_stored(5)
        stored = daemon.stored_ids()
        self.drain(daemon, "main")
        self.drain(daemon, "fleet")
        self.assertEqual((set(main.ids), set(fleet.ids)), (stored, stored))
        root = fleet.requests[0].root
        self.assertEqual(root["tenant"], "north")
        self.assertEqual({record["van"] for record in root["location"]}, {f"van-7/{daemon.installation}"})
        self.assertNotIn("tenant", main.requests[0].root)

    def test_large_extras_in_every_record_make_smaller_requests(self):
        server, fake, daemon = self.sending(1, batch_size=1000, location_template=OWN)
        daemon.call("SetExtras", extras={f"k{index}": "x" * 1000 for index in range(60)})
        fake.drive(150)
        daemon.wait_stored(151)
        stored = daemon.stored_ids()
        self.drain(daemon)
        self.assertEqual(set(server.ids), stored)
        counts = [len(request.root["location"]) for request in server.requests]
        self.assertEqual((counts[0], sum(counts)), (1, 151))
        self.assertGreater(len(counts), 3)
        self.assertLess(max(len(request.raw) for request in server.requests), 8 << 20)

    def test_fields_for_the_format_beekon(self):
        receiver = self.backend()
        tables: dict = {"sync": {"url": receiver.url}, "sync.params": {"tenant": "north", "v": 2}}
        fake, daemon = self.tracking(**tables)
        self.drain(daemon)
        root = receiver.requests[0].root
        self.assertEqual(list(root)[-3:], ["geofence_events", "tenant", "v"])
        self.assertEqual((root["tenant"], root["v"]), ("north", 2))
        # The receiver of the demo is strict; a backend ignores what it does not know.
        self.assertTrue(all(problem.endswith("is not a field of the format") for problem in receiver.problems))


class FrozenTests(TemplateTest):
    def test_a_retry_repeats_all_of_it_over_kills_and_changes(self):
        server, fake, daemon = self.sending(
            4, ["hold", 503, "drop", 500, 503], method="PUT", location_template=OWN, params={"tenant": "north"})
        daemon.ask_for_sync()
        server.wait_requests(1)
        daemon.kill()
        # As if root had changed the files meanwhile.
        daemon.configure(sync={"method": "PATCH", "compress": True, "extras_in": "none"})
        daemon.start()
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.change(daemon, location_template='{"uuid": "<%= uuid %>", "v": 2}', root_property="rows")
        server.wait_requests(3)
        daemon.kill()
        daemon.configure(**{"sync.params": {"tenant": "south"}})
        daemon.start()
        self.change(daemon, batch_size=1)
        server.wait_requests(4)
        daemon.sync_until(lambda answer: answer["pending"] == 0, "it is accepted as it was frozen")
        first = server.requests[0]
        self.assertEqual({request.frozen for request in server.requests}, {first.frozen})
        self.assertEqual((first.method, list(first.root)), ("PUT", ["location", "tenant"]))
        self.assertRegex(first.headers["Idempotency-Key"], r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}$")
        # The next goes by the settings.
        sent = len(server.requests)
        fake.wait_watched()
        fake.settle()
        daemon.wait_stored(1)
        self.drain(daemon)
        latest = server.requests[sent]
        self.assertEqual((latest.method, latest.headers.get("Content-Encoding")), ("PATCH", "gzip"))
        self.assertEqual((list(latest.root), list(latest.root["rows"])), (["rows", "tenant"], ["uuid", "v"]))
        self.assertEqual(latest.root["tenant"], "south")

    def test_keys_that_decide_bytes_dissolve_what_was_refused_for_good(self):
        for changed in ({"location_template": OWN}, {"method": "PUT"}, {"compress": True}, {"root_property": "rows"},
                        {"extras_in": "root"}, {"batch_size": 1}):
            with self.subTest(changed):
                server, fake, daemon = self.sending(3, [404])
                stored = daemon.stored_ids()
                self.assertEqual(daemon.sync()["outcome"], "permanent")
                self.change(daemon, **changed)
                self.drain(daemon)
                refused, *accepted = server.requests
                self.assertNotIn(refused.key, {request.key for request in accepted})
                self.assertEqual(set(server.ids), stored)
                daemon.kill()

    def test_what_was_refused_for_good_stays_frozen_without_such_a_change(self):
        server, fake, daemon = self.sending(3, [404, 404, 404])
        daemon.sync()
        self.change(daemon, timeout_seconds=30, on_reject="isolate", sync_threshold=1000)
        daemon.sync()
        self.drain(daemon)
        self.assertEqual(len({request.frozen for request in server.requests}), 1)

    def test_params_of_beekon_decide_bytes_as_well(self):
        receiver = self.backend(answers=[404])
        fake, daemon = self.tracking(sync={"url": receiver.url})
        self.assertEqual(daemon.sync()["outcome"], "permanent")
        daemon.configure(**{"sync.params": {"tenant": "north"}})
        daemon.call("Reload")
        self.drain(daemon)
        refused, accepted = receiver.requests
        self.assertNotEqual(refused.batch_id, accepted.batch_id)
        self.assertEqual(accepted.root["tenant"], "north")

    def test_another_format_and_back_with_a_batch_in_flight(self):
        server, fake, daemon = self.sending(3, ["hold", 503, "hold", 503], location_template=OWN, method="PUT")
        stored = daemon.stored_ids()
        daemon.ask_for_sync()
        server.wait_requests(1)
        template = {name: daemon.sections["sync"].pop(name) for name in ("location_template", "method")}
        self.change(daemon, format="beekon")
        server.wait_requests(2)
        self.assertIn("batch_id", server.requests[1].root)
        daemon.ask_for_sync()
        server.wait_requests(3)
        self.change(daemon, format="template", **template)
        server.wait_requests(4)
        self.drain(daemon)
        shapes = [(request.method, "schema_version" in request.root) for request in server.requests]
        self.assertEqual(shapes, [("PUT", False), ("POST", True), ("POST", True), ("PUT", False), ("PUT", False)])
        self.assertEqual(len({request.key for request in server.requests}), 3)
        self.assertEqual(sorted(server.ids), sorted(stored), "each once")
        self.assertEqual(len(re.findall("dissolved because their format has changed", daemon.text())), 2)

    def test_another_device_dissolves_as_another_format_does(self):
        server, fake, daemon = self.sending(
            2, [503], device_id="van-1", location_template='{"uuid": "<%= uuid %>", "van": "<%= device_id %>"}')
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.change(daemon, device_id="van-2")
        self.drain(daemon)
        self.assertEqual([request.root["location"][0]["van"] for request in server.requests], ["van-1", "van-2"])


class LoadTests(TemplateTest):
    BROKEN = '{\n  "lat": <%= lattitude %>\n}'
    MESSAGE = "line 2, column 10 of the template: there is no tag lattitude; write <%= latitude %>"

    def test_a_broken_template_is_told_with_its_place_wherever_it_is_read(self):
        table = {"url": f"http://127.0.0.1:{NOBODY}/", "format": "template"}
        daemon = self.daemon(sync={**table, "location_template": self.BROKEN})
        line = 1 + next(number for number, text in enumerate(Path(daemon.config).read_text().splitlines())
                        if text.startswith("location_template"))
        expected = f"{daemon.config}:{line}: sync.location_template: {self.MESSAGE}"
        done = subprocess.run(daemon.command(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 78)
        self.assertIn(expected, done.stderr)
        for words in (["beekond", "--check", "--config", daemon.config],
                      ["beekonctl", "config", "check", daemon.config, "--socket", daemon.socket]):
            done = subprocess.run([program(words[0]), *words[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=60)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(expected, done.stderr + done.stdout)
        del daemon.sections["sync"]["location_template"]
        daemon.configure()
        daemon.start()
        # Neither a reload nor `config set` brings one in; the running configuration stays.
        before = daemon.call("GetConfig")
        with self.assertRaises(Refusal) as refusal:
            daemon.call("Configure", settings={"sync.location_template": self.BROKEN})
        self.assertIn(self.MESSAGE, str(refusal.exception.parameters))
        daemon.configure(sync={"geofence_template": self.BROKEN})
        with self.assertRaises(Refusal) as refusal:
            daemon.call("Reload")
        self.assertIn(self.MESSAGE, str(refusal.exception.parameters))
        self.assertIn("sync.geofence_template", str(refusal.exception.parameters))
        self.assertEqual(daemon.call("GetConfig"), before)

    def test_a_template_is_changed_while_running(self):
        server, fake, daemon = self.sending(1)
        daemon.call("Configure", settings={"sync.location_template": OWN})
        daemon.kill()
        daemon.start()
        self.drain(daemon)
        self.assertEqual(list(server.requests[0].root["location"][0]), ["uuid", "lat", "at"])


class CrashTests(TemplateTest):
    def test_kills_lose_nothing_and_double_nothing(self):
        dice = random.Random(sampled("kills with templates"))
        for size in (1, 7):
            with self.subTest(batch_size=size):
                server, fake, daemon = self.sending(
                    3, batch_size=size, location_template=OWN, geofence_template=OWN_EVENT, method="PUT", timeout_seconds=2)
                server.drop_ack_every = 3
                known = daemon.stored_ids()

                def work(fake=fake, daemon=daemon):
                    fake.drive(4)
                    daemon.connect().send("Sync", {"wait": False})
                    let_pass(1)

                places = places_of(daemon, work)
                for _ in range(KILLS):
                    known |= daemon.stored_ids()
                    with killed_at(daemon, dice.randint(1, places)):
                        while daemon.is_running:
                            work()
                    known |= daemon.stored_ids()
                    daemon.start()
                    fake.settle()
                daemon.call("Stop")
                known |= daemon.stored_ids()
                self.drain(daemon)
                self.assertEqual(daemon.stored_ids(), set())
                self.assertEqual(known - set(server.ids), set(), "lost")
                self.assertEqual(server.faults(), [])
                moments = [datetime.fromisoformat(request.root["location"]["at"]) for request in server.requests
                           if size == 1 and request.stored]
                self.assertEqual(moments, sorted(moments))
                daemon.kill()


if __name__ == "__main__":
    unittest.main()
