"""Records as parameters of a form or of the url, and as lines: what goes out, what is frozen, and what is refused at load.

BEEKOND_SEED chooses other places; BEEKOND_KILLS sets the number of kills.
"""
import os
import random
import subprocess
import sys
import unittest
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.daemon import NEVER
from support.fake_gpsd import METERS_PER_DEGREE, from_iso, tpv
from support.places import killed_at, places_of
from support.ports import NOBODY
from support.programs import program
from support.seeds import sampled
from support.shape_server import read_form, read_json, read_lines
from support.template_test import TemplateTest
from support.waiting import let_pass

KILLS = int(os.environ.get("BEEKOND_KILLS", "8"))
FORM = ('{"uuid": "<%= uuid %>", "lat": <%= latitude %>, "time": <%= timestamp.seconds %>, "ms": <%= timestamp.milliseconds %>, '
        '"at": "<%= timestamp %>", "kmh": <%= speed.kmh %>, "kn": <%= speed.knots %>, "mph": <%= speed.mph %>, '
        '"alt": <%= altitude %>, "acc": <%= accuracy %>, "none": null, "fixed": "a b&c=d+é%"}')
FORM_EVENT = '{"uuid": "<%= uuid %>", "fence": "<%= geofence.identifier %>", "action": "<%= geofence.action %>"}'
LINE = ('location,device=<%= device_id %>,fixed=a\\ b lat=<%= latitude %>,ms=<%= timestamp.milliseconds %>i,'
        'kmh=<%= speed.kmh %>,alt=<%= altitude %>,uuid="<%= uuid %>" <%= timestamp.milliseconds %>')
LINE_EVENT = ('fence,device=<%= device_id %>,name=<%= geofence.identifier %> '
              'said="<%= geofence.identifier %>",uuid="<%= uuid %>" <%= timestamp.milliseconds %>')
FENCE = 'a "quoted", é=\\ dock'
DOCK = {"id": FENCE, "latitude": 50.0, "longitude": 8.0, "radius_meters": 100.0}


def reads_any(method, path, text):
    return (read_json if text[:1] == b"{" else read_form)(method, path, text)


class BodyTests(TemplateTest):
    def test_a_form_has_a_parameter_for_each_member(self):
        server, fake, daemon = self.sending(
            1, body="form", location_template=FORM, reads=read_form, params={"action": "addpos", "track": 7, "on": True})
        (slow,) = fake.drive(1, speed=2.5, altHAE=None, eph=None)
        (unknown,) = fake.drive(1, speed=None)
        daemon.wait_stored(3)
        daemon.call("SetExtras", extras={"driver": "Zoë & co", "kmh": "1"})
        (last,) = fake.drive(1, speed=10.0)
        daemon.wait_stored(4)
        stored = daemon.stored_ids()
        self.drain(daemon)
        self.assertEqual(set(server.ids), stored)
        for request in server.requests:
            self.assertEqual((request.method, request.path), ("POST", "/up?v=1"))
            self.assertEqual(request.headers["Content-Type"], "application/x-www-form-urlencoded")
            self.assertNotIn("Content-Encoding", request.headers)
            self.assertEqual(request.root["at"][:20], request.root["at"][:19] + ".")
            self.assertEqual(from_iso(request.root["at"]), int(request.root["ms"]))
            self.assertEqual({name: request.root.get(name) for name in ("fixed", "none", "action", "track", "on")},
                             {"fixed": "a b&c=d+é%", "none": None, "action": "addpos", "track": "7", "on": "true"})
        first = server.requests[1].root
        self.assertEqual((first["kmh"], first["kn"], first["mph"]), ("9", "4.859611", "5.592341"))
        self.assertEqual((int(first["time"]), int(first["ms"])), (slow // 1000, slow))
        self.assertNotIn("alt", first)
        self.assertNotIn("acc", first)
        other = server.requests[2].root
        self.assertEqual(int(other["ms"]), unknown)
        self.assertEqual({"kmh", "kn", "mph"} & other.keys(), set())
        self.assertEqual((other["alt"], other["acc"]), ("123.4", "4.5"))
        latest = server.requests[3].root
        self.assertEqual(int(latest["ms"]), last)
        self.assertEqual((latest["driver"], latest["kmh"]), ("Zoë & co", "36"))

    def test_a_get_has_the_record_behind_what_the_url_has(self):
        server, fake, daemon = self.sending(3, method="GET", location_template=FORM, reads=read_form)
        stored = daemon.stored_ids()
        self.drain(daemon)
        self.assertEqual(set(server.ids), stored)
        self.assertEqual(len(server.requests), 3)
        for request in server.requests:
            self.assertEqual((request.method, request.raw), ("GET", b""))
            self.assertTrue(request.path.startswith("/up?v=1&uuid="), request.path)
            self.assertEqual(set(request.headers), {"Host", "User-Agent", "Idempotency-Key"})
        times = [int(request.root["ms"]) for request in server.requests]
        self.assertEqual(times, sorted(times))

    def test_extras_that_would_make_a_query_too_long_are_left_out(self):
        server, fake, daemon = self.sending(1, method="GET", location_template=FORM, reads=read_form)
        daemon.call("SetExtras", extras={f"k{index}": "é" * 300 for index in range(4)} | {"last": "x"})
        fake.drive(1)
        daemon.wait_stored(2)
        self.drain(daemon)
        latest = server.requests[1]
        self.assertEqual([name for name in latest.root if name.startswith(("k0", "k1", "k2", "k3", "last"))], ["k0", "last"])
        self.assertLessEqual(len(urlsplit(latest.path).query), 3072 + len("v=1&"))

    def test_text_is_a_line_for_each_record(self):
        server, fake, daemon = self.sending(1, body="text", location_template=LINE, device_id="van-1", reads=read_lines)
        (unknown,) = fake.drive(1, speed=None, altHAE=None)
        daemon.wait_stored(2)
        daemon.call("SetExtras", extras={"driver name": 'Zoë "the\\ cat"', "alt": "no", "device": "no", "time": "no"})
        (last,) = fake.drive(1, speed=2.5)
        daemon.wait_stored(3)
        stored = daemon.stored_ids()
        self.drain(daemon)
        self.assertEqual(set(server.ids), stored)
        plain, other = server.requests
        self.assertEqual(plain.headers["Content-Type"], "text/plain; charset=utf-8")
        lines = [one["line"] for one in plain.root + other.root]
        self.assertEqual({line.measurement for line in lines}, {"location"})
        self.assertEqual([line.tags for line in lines], [{"device": "van-1", "fixed": "a b"}] * 3)
        self.assertEqual([line.time for line in lines], [line.fields["ms"] for line in lines])
        self.assertEqual([line.time for line in lines][1:], [unknown, last])
        self.assertEqual(set(lines[1].fields), {"lat", "ms", "uuid"})
        self.assertEqual((lines[2].fields["kmh"], lines[2].fields["alt"]), (9.0, 123.4))
        self.assertEqual(lines[2].fields["driver name"], 'Zoë "the\\ cat"')
        self.assertEqual(set(lines[2].fields), {"lat", "ms", "kmh", "alt", "uuid", "driver name"})

    def test_a_header_of_the_configuration_says_another_type(self):
        server, fake, daemon = self.sending(2, [503], body="text", batch_size=1, location_template=LINE, device_id="van-1",
                                            reads=read_lines)
        self.assertEqual(daemon.sync()["outcome"], "transient")
        daemon.configure(**{"sync.headers": {"content-Type": "text/x-lines", "X-Own": "1"}})
        daemon.call("Reload")
        self.drain(daemon)
        # What was frozen keeps its own.
        self.assertEqual([request.headers["Content-Type"] for request in server.requests],
                         ["text/plain; charset=utf-8"] * 2 + ["text/x-lines"])
        self.assertEqual([request.headers.get("X-Own") for request in server.requests][1:], ["1", "1"])

    def test_a_type_that_was_refused_can_be_corrected(self):
        server, fake, daemon = self.sending(2, [415], body="form", location_template=FORM, reads=read_form)
        self.assertEqual(daemon.sync()["outcome"], "permanent")
        daemon.configure(**{"sync.headers": {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}})
        daemon.call("Reload")
        self.drain(daemon)
        refused, *accepted = server.requests
        self.assertNotIn(refused.key, {request.key for request in accepted})
        self.assertEqual({request.headers["Content-Type"] for request in accepted},
                         {"application/x-www-form-urlencoded; charset=utf-8"})


class EventTests(TemplateTest):
    def with_events(self, **sync) -> tuple:
        """A drive into a geofence and out of it, stored before there was a destination."""
        fake = self.fake()
        server = self.server(sync.pop("answers", ()), sync.pop("reads"))
        daemon = self.daemon(fake.port, tracking={"implausible_speed_mps": 1_000_000, "distance_meters": 0}).start()
        daemon.call("AddGeofences", geofences=[DOCK])
        fake.wait_watched()
        daemon.call("Start")
        for north, count in ((400, 4), (20, 4), (400, 14)):
            times = [fake.next_ms + 1000 * index for index in range(count)]
            fake.report(*(tpv(at, 50 + north / METERS_PER_DEGREE, 8) for at in times))
            fake.next_ms += 1000 * count
        daemon.wait_status(lambda status: status["gate"]["admitted"] >= 20, "the drive")
        events = {event["id"] for event in daemon.call("GetGeofenceEvents")["events"]}
        self.assertGreaterEqual(len(events), 2)
        stored = daemon.stored_ids()
        self.change(daemon, url=server.url, format="template", interval_seconds=NEVER, **sync)
        return server, daemon, stored, events

    def test_events_of_geofences_go_where_they_have_a_template(self):
        for sync in ({"body": "form", "location_template": FORM, "geofence_template": FORM_EVENT, "reads": read_form},
                     {"body": "text", "location_template": LINE, "geofence_template": LINE_EVENT, "device_id": "van-1",
                      "reads": read_lines}):
            with self.subTest(sync["body"]):
                server, daemon, stored, events = self.with_events(**sync)
                self.drain(daemon)
                self.assertEqual(set(server.ids), stored | events)
                if sync["body"] == "form":
                    found = {request.root["fence"] for request in server.requests if "fence" in request.root}
                    self.assertEqual(found, {FENCE})
                else:
                    lines = [one["line"] for request in server.requests for one in request.root]
                    fences = [line for line in lines if line.measurement == "fence"]
                    self.assertEqual({line.fields["said"] for line in fences}, {FENCE})
                    # Readers differ in what a backslash means in a tag, so there is none.
                    self.assertEqual({line.tags["name"] for line in fences}, {FENCE.replace("\\", "/")})
                daemon.kill()

    def test_without_one_there_are_none(self):
        for sync in ({"body": "form", "location_template": FORM, "reads": read_form},
                     {"method": "GET", "location_template": FORM, "reads": read_form},
                     {"body": "text", "location_template": LINE, "device_id": "van-1", "reads": read_lines}):
            with self.subTest(sync.get("body", "GET")):
                server, daemon, stored, _ = self.with_events(**sync)
                self.drain(daemon)
                self.assertEqual(set(server.ids), stored)
                self.assertEqual(daemon.status()["sync"]["pending"], 0)
                daemon.kill()

    def test_a_frozen_array_with_events_goes_out_as_it_is_when_they_are_carried_no_more(self):
        server, daemon, stored, events = self.with_events(reads=reads_any, answers=["hold"])
        daemon.ask_for_sync()
        server.wait_requests(1)
        daemon.kill()
        daemon.configure(sync={"body": "form", "location_template": FORM})
        daemon.start()
        self.drain(daemon)
        self.assertEqual(set(server.ids), stored | events)
        self.assertEqual(len({request.frozen for request in server.requests}), 1)


class FrozenTests(TemplateTest):
    def test_a_get_is_repeated_with_all_of_it_over_kills_and_changes(self):
        server, fake, daemon = self.sending(1, ["hold", 503, "drop", 500], method="GET", location_template=FORM, reads=read_form)
        daemon.ask_for_sync()
        server.wait_requests(1)
        daemon.kill()
        daemon.configure(sync={"method": "POST", "body": "form", "location_template": '{"uuid": "<%= uuid %>", "v": 2}'})
        daemon.start()
        self.assertEqual(daemon.sync()["outcome"], "transient")
        daemon.ask_for_sync()
        server.wait_requests(3)
        daemon.kill()
        daemon.start()
        daemon.sync_until(lambda answer: answer["pending"] == 0, "it is accepted as it was frozen")
        self.assertEqual({request.frozen for request in server.requests}, {server.requests[0].frozen})
        self.assertEqual((server.requests[0].method, len(server.ids)), ("GET", 1))
        sent = len(server.requests)
        fake.wait_watched()
        fake.settle()
        daemon.wait_stored(1)
        self.drain(daemon)
        self.assertEqual((server.requests[sent].method, set(server.requests[sent].root)), ("POST", {"uuid", "v"}))

    def test_keys_that_decide_bytes_dissolve_what_was_refused_for_good(self):
        own = '{"uuid": "<%= uuid %>"}'
        for before, changed in (({"body": "form"}, {"method": "GET"}), ({}, {"body": "form"}),
                                ({"method": "GET"}, {"method": "POST"})):
            with self.subTest(changed):
                server, fake, daemon = self.sending(2, [404], location_template=own, reads=reads_any, **before)
                stored = daemon.stored_ids()
                self.assertEqual(daemon.sync()["outcome"], "permanent")
                self.change(daemon, **changed)
                self.drain(daemon)
                refused, *accepted = server.requests
                self.assertNotIn(refused.key, {request.key for request in accepted})
                self.assertEqual(set(server.ids), stored)
                daemon.kill()

    def test_kills_lose_nothing_and_double_nothing(self):
        dice = random.Random(sampled("kills with forms, queries and lines"))
        for sync in ({"body": "form", "location_template": FORM, "reads": read_form},
                     {"method": "GET", "location_template": FORM, "reads": read_form},
                     {"body": "text", "location_template": LINE, "device_id": "van-1", "batch_size": 3, "reads": read_lines}):
            with self.subTest(sync.get("body", "GET")):
                server, fake, daemon = self.sending(3, timeout_seconds=2, **sync)
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
                daemon.kill()


class LoadTests(TemplateTest):
    ROWS: tuple = (
        ({"body": "form"}, "sync.body: a form needs location_template"),
        ({"method": "GET"}, "sync.method: a query needs location_template"),
        ({"body": "text"}, "sync.body: lines need location_template"),
        ({"body": "form", "location_template": '{"a": {"b": 1}}'},
         "sync.location_template: line 1, column 7 of the template: a form has no objects or arrays"),
        ({"body": "form", "location_template": '{"a": 1,\n "b": [1]}'},
         "sync.location_template: line 2, column 7 of the template: a form has no objects or arrays"),
        ({"body": "form", "location_template": "[1]"}, "line 1, column 1 of the template: a form has named fields"),
        ({"body": "form", "location_template": FORM, "batch_size": 2}, "sync.batch_size: a form holds one record"),
        ({"method": "GET", "location_template": FORM, "batch_size": 2}, "sync.batch_size: a query holds one record"),
        ({"body": "form", "location_template": FORM, "root_property": "x"}, "sync.root_property: a form has no root"),
        ({"method": "GET", "location_template": FORM, "compress": True}, "sync.compress: a GET has no body"),
        ({"method": "GET", "location_template": FORM, "body": "json"}, "sync.body: the record of a GET is in the query"),
        ({"method": "GET", "location_template": FORM, "body": "text"}, "sync.body: the record of a GET is in the query"),
        ({"method": "GET", "location_template": '{"a": "' + "x" * 3100 + '"}'}, "at most 3072"),
        ({"body": "text", "location_template": FORM}, "sync.location_template: line 1, column 1 of the template: this is JSON"),
        ({"location_template": LINE}, "sync.location_template: line 1, column 1 of the template: l stands where { or [ belongs"),
        ({"body": "text", "location_template": LINE, "device_id": "v", "extras_in": "root"}, "sync.extras_in: there is no root"),
        ({"body": "text", "location_template": "a b=1"}, "a line ends with its time"),
    )

    def check(self, expected: str, **sections):
        daemon = self.daemon(**sections)
        done = subprocess.run([program("beekond"), "--check", "--config", daemon.config], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(expected, done.stderr + done.stdout)

    def test_what_cannot_be_is_said_where_it_stands(self):
        table = {"url": f"http://127.0.0.1:{NOBODY}/", "format": "template"}
        for settings, expected in self.ROWS:
            with self.subTest(expected):
                self.check(expected, sync={**table, **settings})

    def test_params_and_headers_that_have_no_place(self):
        table = {"url": f"http://127.0.0.1:{NOBODY}/", "format": "template", "location_template": FORM}
        line = {**table, "body": "text", "location_template": LINE, "device_id": "v"}
        for sections, expected in (
                ({"sync": line, "sync.params": {"a": 1}}, "sync.params.a: has no place beside lines"),
                ({"sync": {**table, "method": "GET"}, "sync.headers": {"Content-Type": "x/y"}}, "a GET has no body"),
                ({"sync": {"url": table["url"]}, "sync.headers": {"Content-Type": "x/y"}}, "the format decides it"),
                ({"sync": {**table, "url": table["url"] + "#x", "method": "GET"}}, "“#” would hide")):
            with self.subTest(expected):
                self.check(expected, **sections)


if __name__ == "__main__":
    unittest.main()
