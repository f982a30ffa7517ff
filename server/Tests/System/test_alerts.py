"""Events of the fleet in one list, rules, and what they find: each thing once, whatever is repeated, restarted or killed; who
sees it; silence, which is never the server's own."""
from __future__ import annotations

import json
import os
import struct
import sys
import threading
import time
import unittest
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.databases import OnPostgres, OnSQLite
from server_support.server import Answer, Server, envelope, iso, uuid7
from server_support.server_test import ServerTest
from support.clocks import shim
from support.waiting import wait_for

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def clock() -> int:
    return int(time.time() * 1000)


def crossing(moment: int, kind: str, fence: str = "depot") -> dict:
    return {"id": uuid7(moment), "geofence_id": fence, "type": kind, "timestamp": iso(moment)}


def event(moment: int, kind: str, type_: str, **more) -> dict:
    return {"id": uuid7(moment), "kind": kind, "type": type_, "timestamp": iso(moment), **more}


def drive(first: int, *speeds: float | None) -> list:
    """A location each second, at so many km/h."""
    return [{"id": uuid7(first + index * 1000), "timestamp": iso(first + index * 1000), "trigger": "interval", "motion": "moving",
             "is_mock": False, "latitude": 48.5, "longitude": 11.5, **({} if speed is None else {"speed": speed / 3.6})}
            for index, speed in enumerate(speeds)]


class Alerts(ServerTest):
    make: Any
    rows: Any
    write: Any

    def setUp(self):
        super().setUp()
        self.under_test: Server = self.make().start()
        self.assertEqual(self.under_test.verb("clock", "confirm").returncode, 0)
        self.admin = self.under_test.add_user("root", "admin")
        # By requests: a verb takes as much of the processor as many of them.
        for group in ("north", "south"):
            self.made("groups", name=group)
        self.van, self.bus, self.tram = (self.made("devices", name=name) for name in ("van", "bus", "tram"))
        for device, group in ((self.van, "north"), (self.bus, "south")):
            self.assertEqual(self.ask("PATCH", f"/v1/devices/{device['id']}", self.admin, {"group": group}).status, 204)
        self.reader = self.made("users", name="ada", role="reader")["token"]
        self.sam = self.made("users", name="sam", role="reader", groups=["south"])["token"]
        self.start = clock()

    def ask(self, method: str, path: str, token: str, value: dict | None = None) -> Answer:
        return self.under_test.ask(method, path, token, None if value is None else json.dumps(value).encode())

    def made(self, what: str, **value) -> dict:
        answer = self.ask("POST", f"/v1/{what}", self.admin, value)
        self.assertEqual(answer.status, 201, answer)
        return answer.json if answer.body else {}

    def rule(self, name: str, kind: str, **more) -> dict:
        return self.made("rules", name=name, kind=kind, **more)

    def upload(self, device: dict, **replaced) -> dict:
        moment = replaced.pop("at", clock())
        root = envelope(0, moment, **{
            "device": {"install_id": uuid7(self.start + device["id"]), "platform": "linux", "sdk_version": "1.0.0",
                       "model": "test"},
            **replaced})
        answer = self.under_test.deliver(device["access_token"], root)
        self.assertEqual(answer.status, 200, answer)
        return root

    def listed(self, path: str, token: str = "") -> list:
        answer = self.ask("GET", f"/v1/{path}", token or self.reader)
        self.assertEqual(answer.status, 200, answer)
        return answer.json[path.split("?")[0]]

    def alerts(self, query: str = "", token: str = "") -> list:
        """Rule, vehicle and type, the oldest first."""
        return [(alert["rule"]["name"], alert["name"], alert["data"].get("type", ""))
                for alert in self.listed(f"alerts{query}", token)[::-1]]

    def states(self) -> list:
        return [(alert["rule"]["name"], alert.get("webhook"), alert.get("mail")) for alert in self.listed("alerts")]


class FleetEvents(Alerts):
    def test_one_list_of_all_vehicles(self):
        now = self.start
        self.upload(self.van, geofence_events=[crossing(now - 5000, "enter"), crossing(now - 1000, "exit")])
        self.upload(self.bus, events=[event(now - 4000, "ignition", "on"), event(now - 2000, "trip", "started")])
        self.upload(self.tram, events=[event(now - 3000, "power", "lost")])
        whole = [("van", "geofence_exit"), ("bus", "trip"), ("tram", "power"), ("bus", "ignition"), ("van", "geofence_enter")]

        def found(query: str = "", token: str = "") -> list:
            return [(one["name"], one["event"]["kind"]) for one in self.listed(f"events{query}", token)]

        self.assertEqual(found(), whole)
        self.assertEqual(self.listed("events")[0]["event"]["geofence_id"], "depot")
        for query, wanted in (("?kind=ignition", whole[3:4]), ("?kind=geofence_enter", whole[4:]), ("?kind=none", []),
                              (f"?device={self.bus['id']}", [whole[1], whole[3]]), ("?group=north", [whole[0], whole[4]]),
                              ("?group=none", []), (f"?from={iso(now - 4000)}&to={iso(now - 2000)}", whole[1:4]),
                              (f"?device={self.bus['id']}&kind=trip&group=south", whole[1:2])):
            with self.subTest(query):
                self.assertEqual(found(query), wanted)
        # Page by page, each once.
        pages, query = [], "?limit=2"
        while page := self.listed("events" + query):
            pages += [(one["name"], one["event"]["kind"]) for one in page]
            query = f"?limit=2&before={page[-1]['cursor']}"
        self.assertEqual(pages, whole)
        # Of another group, nothing; a vehicle in none is seen by who sees all.
        self.assertEqual(found(token=self.sam), [whole[1], whole[3]])
        for query in (f"?device={self.van['id']}", "?group=north"):
            self.assertEqual(found(query, self.sam), [])
        self.assertEqual(found(f"?from={iso(now)}&to={iso(now - 9000)}"), [])
        for query in ("?limit=0", "?before=x", "?rule=1", "?from=x", "?device=0"):
            self.assertEqual(self.ask("GET", "/v1/events" + query, self.reader).status, 400, query)

    def test_a_reader_finds_their_own_behind_many_of_others(self):
        """More than are looked at together, of one moment, too."""
        now = self.start
        self.upload(self.bus, geofence_events=[crossing(now - HOUR, "enter", "first")])
        for part in range(2):
            self.upload(self.van, geofence_events=[crossing(now - 30 * MINUTE - index // 100, "enter") for index in range(900)],
                        events=[event(now - 30 * MINUTE - index // 100, "ignition", "on") for index in range(300)], at=now + part)
        self.upload(self.bus, events=[event(now - 40 * MINUTE, "ignition", "off")], at=now + 9)
        self.assertEqual([one["event"]["kind"] for one in self.listed("events", self.sam)], ["ignition", "geofence_enter"])
        self.assertEqual([one["name"] for one in self.listed("events?kind=ignition&group=south")], ["bus"])
        ids: list = []
        query = "?limit=1000"
        while page := self.listed("events" + query):
            ids += [one["event"]["id"] for one in page]
            query = f"?limit=1000&before={page[-1]['cursor']}"
        self.assertEqual((len(ids), len(set(ids))), (2402, 2402))


class Findings(Alerts):
    def test_each_kind_is_found_once_and_nothing_else(self):
        now = self.start
        self.rule("out", "geofence", type="exit", fence="depot")
        self.rule("any fence", "geofence")
        self.rule("off", "ignition", type="off")
        self.rule("theft", "power", type="lost")
        self.rule("began", "trip", type="started")
        # Nothing of this is waited for but by "any fence".
        self.upload(self.van, geofence_events=[crossing(now - 9000, "enter"), crossing(now - 8000, "exit", "home")], events=[
            event(now - 7000, "ignition", "on"), event(now - 6000, "power", "back"), event(now - 5000, "trip", "ended"),
            event(now - 4000, "odometer", "set"), event(now - 3000, "ignition", "unheard of"), {
                "id": uuid7(now), "kind": "power", "timestamp": iso(now)}])
        self.assertEqual(self.alerts(), [("any fence", "van", "enter"), ("any fence", "van", "exit")])
        root = self.upload(self.bus, geofence_events=[crossing(now - 5000, "exit")], events=[
            event(now - 4000, "ignition", "off"), event(now - 3000, "power", "lost"), event(now - 2000, "trip", "started"),
            event(now - 1000, "dwell", "dwell", subject="depot", data={"dwell_seconds": 60})])
        wanted = [("any fence", "bus", "dwell"), ("any fence", "bus", "exit"), ("began", "bus", "started"), ("off", "bus", "off"),
                  ("out", "bus", "exit"), ("theft", "bus", "lost")]
        self.assertEqual(sorted(self.alerts(f"?device={self.bus['id']}")), wanted)
        alert = self.listed("alerts?kind=power")[0]
        data = alert["data"]
        self.assertEqual((data["device"], data["rule"], data["event"]["id"]),
                         ({"id": self.bus["id"], "name": "bus"}, "theft", root["events"][1]["id"]))
        self.assertEqual((alert["timestamp"], alert["text"]), (iso(now - 3000), "bus has lost its external power"))
        # The same again, in a batch of its own and beside something new.
        self.assertEqual(self.under_test.deliver(self.bus["access_token"], root).status, 200)
        self.upload(self.bus, geofence_events=root["geofence_events"],
                    events=[*root["events"], event(now - 500, "ignition", "off")])
        self.assertEqual(sorted(self.alerts(f"?device={self.bus['id']}")), sorted([*wanted, ("off", "bus", "off")]))
        for query, count in (("?group=south", 7), ("?group=north", 2), ("?kind=trip", 1), ("?limit=3", 3)):
            self.assertEqual(len(self.listed("alerts" + query)), count, query)
        first = self.listed("alerts?limit=4")
        self.assertEqual(first + self.listed(f"alerts?before={first[-1]['cursor']}"), self.listed("alerts"))

    def test_whose_vehicles(self):
        self.rule("north's", "ignition", group="north")
        self.rule("the tram's", "ignition", device=self.tram["id"])
        for device in (self.van, self.bus, self.tram):
            self.upload(device, events=[event(clock(), "ignition", "on")])
        self.assertEqual(self.alerts(), [("north's", "van", "on"), ("the tram's", "tram", "on")])
        # A reader of another group sees none of them; one of the group does once the vehicle is there.
        self.assertEqual(self.alerts(token=self.sam), [])
        self.assertEqual(self.alerts(f"?device={self.van['id']}", self.sam), [])
        self.assertEqual(self.under_test.verb("device", "edit", str(self.van["id"]), "--group", "south").returncode, 0)
        self.assertEqual(self.alerts(token=self.sam), [("north's", "van", "on")])
        self.upload(self.van, events=[event(clock(), "ignition", "off")])
        self.assertEqual(len(self.alerts()), 2, "it is in the group no more")
        # With the vehicle goes all of it.
        self.assertEqual(self.ask("DELETE", f"/v1/devices/{self.tram['id']}/data", self.admin, {}).status, 204)
        self.assertEqual(self.alerts(), [("north's", "van", "on")])
        wait_for(lambda: self.rows("SELECT count(*) FROM alerts") == [["1"]], "its alerts have gone")
        wait_for(lambda: [rule["name"] for rule in self.ask("GET", "/v1/rules", self.admin).json["rules"]] == ["north's"],
                 "its rule has gone")

    def test_speed_once_for_each_exceeding(self):
        self.rule("fast", "speed", kilometers_per_hour=100)
        now = self.start - 10 * MINUTE
        self.upload(self.van, locations=drive(now, 90, 100, None, 99))
        self.assertEqual(self.alerts(), [])
        self.upload(self.van, locations=drive(now + 10_000, 95, 120, 130, None, 140))
        self.upload(self.van, locations=drive(now + 20_000, 120, 110))
        self.assertEqual(self.alerts(), [("fast", "van", "")])
        alert = self.listed("alerts")[0]
        self.assertEqual((alert["data"]["kilometers_per_hour"], alert["timestamp"]), (140, iso(now + 11_000)))
        # What was late is of the same exceeding; then it was below, and is above again.
        late = drive(now + 15_000, 125)
        self.upload(self.van, locations=late)
        self.assertEqual(len(self.alerts()), 1)
        self.upload(self.van, locations=drive(now + 30_000, 80, 120, 80, 120, 80))
        self.assertEqual(len(self.alerts()), 3)
        self.upload(self.van, locations=[*late, *drive(now + 40_000, 80)])
        self.assertEqual(len(self.alerts()), 3)
        # Backwards, as a vehicle uploads that sends its newest first.
        self.upload(self.bus, locations=drive(now + 10_000, 120, 120))
        self.upload(self.bus, locations=drive(now, 80, 120, 120))
        self.assertEqual(self.alerts("?group=south"), [("fast", "bus", "")])

    def test_a_low_battery_once_until_it_has_recovered(self):
        self.rule("low", "battery", percent=20)

        def tell(level: float | None, count: int):
            battery = {} if level is None else {"battery_level": level}
            self.upload(self.van, status={"state": "tracking", "pending": 0, **battery})
            self.assertEqual(len(self.alerts()), count, level)

        for level, count in ((0.5, 0), (0.2, 0), (0.19, 1), (0.1, 1), (None, 1), (0.21, 1), (0.19, 1), (0.25, 1), (0.19, 2)):
            tell(level, count)
        self.assertEqual(self.listed("alerts")[0]["data"]["percent"], 19)
        # Durable: nothing is repeated by who starts anew.
        self.under_test.kill()
        self.under_test.start()
        tell(0.1, 2)
        tell(0.9, 2)
        tell(0.1, 3)
        self.upload(self.van, status={"state": 7, "battery_level": "full"})
        self.assertEqual(len(self.alerts()), 3)

    def test_a_failing_vehicle(self):
        self.rule("failing", "failing")
        for status, count in (({"state": "tracking", "receiver": "ok"}, 0), ({"state": "stopped", "receiver": "no_fix"}, 0),
                              ({"state": "tracking", "receiver": "something new"}, 0),
                              ({"state": "tracking", "receiver": "no_device"}, 1),
                              ({"state": "tracking", "receiver": "no_fix"}, 1), ({"receiver": "no_fix"}, 1),
                              ({"state": "tracking", "receiver": "ok"}, 1), ({"state": "tracking", "receiver": "stale"}, 2)):
            self.upload(self.van, status=status)
            self.assertEqual(len(self.alerts()), count, status)
        self.assertEqual(self.listed("alerts")[0]["text"], "van fails: the receiver has gone silent")

    def test_what_is_old_is_listed_and_not_sent(self):
        self.rule("hook", "ignition", webhook="http://127.0.0.1:9/x", mail=["ada@example.org"])
        self.upload(self.van, events=[event(clock() - HOUR - MINUTE, "ignition", "on")])
        self.assertEqual(self.states(), [("hook", None, None)])
        self.upload(self.van, events=[event(clock() - HOUR + MINUTE, "ignition", "off")])
        hook = self.states()[0]
        self.assertEqual((hook[0], hook[2]), ("hook", "waiting"))
        self.assertIn(hook[1], ("waiting", "sent"))

    def test_of_one_upload_the_newest_hundred(self):
        self.rule("on", "ignition")
        now = self.start - 10 * MINUTE
        self.upload(self.van, events=[event(now + index * 100, "ignition", "on") for index in range(300)])
        found = self.listed("alerts?limit=1000")
        self.assertEqual((len(found), min(alert["timestamp"] for alert in found)), (100, iso(now + 20_000)))
        self.assertEqual(len(self.listed("events?limit=1000")), 300)

    def test_no_word_of_a_vehicle_keeps_its_upload_from_being_stored(self):
        """A text of a database has no NUL, and JSON may say one."""
        self.rule("any", "geofence", type="dwell")
        self.upload(self.van, events=[event(self.start, "dwell", "dwell", subject="de\0pot")])
        self.upload(self.bus, events=[event(self.start, "dwell", "dwell", subject="depot")])
        self.assertEqual(self.alerts(), [("any", "van", "dwell"), ("any", "bus", "dwell")])
        said = {alert["name"]: (alert["data"]["text"], alert["data"]["fence"]) for alert in self.listed("alerts")}
        self.assertEqual(said, {"van": ("van stays in depot", "de\0pot"), "bus": ("bus stays in depot", "depot")})

    def test_killed_again_and_again(self):
        """Each event that was acknowledged has its alert, and none has two."""
        self.rule("on", "ignition")
        sent: list = []
        isAtEnd = threading.Event()

        def send(device: dict):
            number = 0
            while not isAtEnd.is_set() or number < 40:
                number += 1
                one = event(self.start - number, "ignition", "on")
                root = envelope(0, clock(), batch_id=uuid7(clock()), events=[one])
                while True:
                    try:
                        if self.under_test.post(device["access_token"], root).status == 200:
                            break
                    except (OSError, EOFError):
                        pass
                    except Exception as error:  # A connection that ended within an answer.
                        if "http" not in type(error).__module__:
                            raise
                sent.append(one["id"])

        def are_stored(many: int) -> bool:
            return len(sent) >= many

        threads = [threading.Thread(target=send, args=(device,)) for device in (self.van, self.bus)]
        for thread in threads:
            thread.start()
        for round_ in range(1, 5):
            wait_for(partial(are_stored, round_ * 10), "some are stored")
            self.under_test.kill()
            self.under_test.start()
        isAtEnd.set()
        for thread in threads:
            thread.join()
        told = [alert["data"]["event"]["id"] for page in self.pages("alerts") for alert in page]
        self.assertEqual(sorted(told), sorted(sent))

    def test_what_is_behind_hundreds_of_others_is_found(self):
        """By who sees few of the vehicles, and by a device, page by page."""
        self.rule("starts", "trip", type="started")
        self.upload(self.bus, events=[event(self.start - 3000, "trip", "started"), event(self.start - 2999, "trip", "started")])
        for part in range(9):
            self.upload(self.van, events=[
                event(self.start - 2000 + 100 * part + number, "trip", "started") for number in range(100)])
        ours = [("starts", "bus", "started")]
        self.assertEqual(self.alerts("?limit=100", self.sam), ours * 2)
        self.assertEqual(self.alerts("?limit=1", self.sam), ours)
        last = self.listed("alerts?limit=1", self.sam)[0]["cursor"]
        self.assertEqual(self.alerts(f"?limit=1&before={last}", self.sam), ours)
        self.assertEqual(self.alerts(f"?device={self.bus['id']}"), ours * 2)
        self.assertEqual([len(page) for page in self.pages("alerts")], [902])

    def pages(self, name: str):
        query = "?limit=1000"
        while page := self.listed(name + query):
            yield page
            query = f"?limit=1000&before={page[-1]['cursor']}"


class RuleTexts(Alerts):
    def test_rules_are_an_admins(self):
        rule = self.rule("hook", "geofence", type="exit", fence="depot", group="north", webhook="https://example.org/T0/secret",
                         mail=["ada@example.org", "ops@example.org"], mail_interval_seconds=600)
        self.assertRegex(rule["secret"], r"^whsec_[A-Za-z0-9+/]{43}=$")
        path = f"/v1/rules/{rule['id']}"
        listed = self.ask("GET", "/v1/rules", self.admin).json["rules"]
        self.assertEqual(listed, [{key: value for key, value in rule.items() if key != "secret"}])
        self.assertEqual(listed[0]["webhook"], "https://example.org/…")
        self.assertIs(self.ask("GET", "/v1/rules", self.admin).json["mail_server"], False)
        self.assertNotIn("secret", self.ask("GET", "/v1/rules", self.admin).body.decode())
        for token in (self.reader, self.sam):
            for method, where in (("GET", "/v1/rules"), ("POST", "/v1/rules"), ("PUT", path), ("DELETE", path)):
                self.assertEqual(self.ask(method, where, token, {}).status, 403)
        # Without a word of it the webhook stays, and so does its secret.
        other = {"name": "hook", "kind": "silence", "minutes": 30}
        changed = self.ask("PUT", path, self.admin, other)
        self.assertEqual((changed.status, changed.json["webhook"], changed.json["mail"]), (200, "https://example.org/…", []))
        self.assertNotIn("secret", changed.json)
        self.assertEqual(self.rows("SELECT webhook, secret FROM alert_rules"),
                         [["https://example.org/T0/secret", rule["secret"]]])
        renewed = self.ask("PUT", path, self.admin, {**other, "secret": "new"}).json["secret"]
        self.assertNotEqual(renewed, rule["secret"])
        none = self.ask("PUT", path, self.admin, {**other, "webhook": ""})
        self.assertNotIn("webhook", none.json)
        self.assertEqual(self.rows("SELECT webhook, secret FROM alert_rules"), [[None, None]])
        self.assertIn("secret", self.ask("PUT", path, self.admin, {**other, "webhook": "http://10.0.0.7:8080/x"}).json)
        # What has changed counts at once.
        self.upload(self.van, geofence_events=[crossing(clock(), "exit")])
        self.assertEqual(self.alerts(), [])
        self.assertEqual(self.ask("PUT", path, self.admin, {"name": "trips", "kind": "geofence"}).status, 200)
        self.upload(self.van, geofence_events=[crossing(clock(), "enter")])
        self.assertEqual(self.alerts(), [("trips", "van", "enter")])
        self.assertEqual(self.ask("DELETE", path, self.admin, {}).status, 204)
        self.assertEqual(self.ask("DELETE", path, self.admin, {}).status, 404)
        self.assertEqual(self.ask("PUT", path, self.admin, other).status, 404)
        self.upload(self.van, geofence_events=[crossing(clock(), "exit")])
        self.assertEqual([alert["rule"] for alert in self.listed("alerts")], [{"id": rule["id"]}])

    def test_what_is_refused(self):
        good = {"name": "a", "kind": "speed", "kilometers_per_hour": 100}
        for wrong in ({"name": ""}, {"name": "x" * 101}, {"name": "a\nb"}, {"kind": "spee"}, {"kilometers_per_hour": 0},
                      {"kilometers_per_hour": 1001}, {"kilometers_per_hour": 1.5}, {"minutes": 5}, {"type": "on"}, {"fence": "x"},
                      {"kind": "silence"}, {"kind": "silence", "kilometers_per_hour": None, "minutes": 4}, {"device": 0},
                      {"device": 1, "group": "north"}, {"webhook": "ftp://example.org"},
                      {"webhook": "http://example.org/\r\nX: y"},
                      {"webhook": "http://ada:x@example.org"}, {"webhook": "http://example.org/" + "x" * 2000},
                      {"mail": "ada@example.org"},
                      {"mail": ["ada@example.org\r\nBcc: eve@example.org"]}, {"mail": ["ada"]}, {"mail": ["a@example.org"] * 11},
                      {"mail": "all"}, {"mail_interval_seconds": 59}, {"mail_interval_seconds": 86_401}, {"secret": "mine"}):
            with self.subTest(wrong):
                body = {key: value for key, value in {**good, **wrong}.items() if value is not None}
                answer = self.ask("POST", "/v1/rules", self.admin, body)
                self.assertEqual(answer.status, 400, answer)
                self.assertIn("detail", answer.json)
        for wrong in ({"group": "west"}, {"device": 999}):
            self.assertEqual(self.ask("POST", "/v1/rules", self.admin, {**good, **wrong}).status, 409)
        self.assertEqual(self.ask("GET", "/v1/rules", self.admin).json["rules"], [])
        self.rule("a", "failing", group="north")
        self.assertEqual(self.ask("POST", "/v1/rules", self.admin, good).status, 409, "the name is taken")
        # A group stays as long as a rule is for it, and is not found empty by it.
        removed = self.ask("DELETE", "/v1/groups/north", self.admin, {})
        self.assertEqual(removed.status, 409)
        self.assertIn("'a'", removed.json["detail"])
        for number in range(99):
            self.rule(f"rule {number}", "failing")
        self.assertEqual(self.ask("POST", "/v1/rules", self.admin, {**good, "name": "one more"}).status, 409)


class Silence(Alerts):
    def rounds(self, **behind: int):
        """The next round, begun by a start: vehicles were heard of so many minutes before; the server was there all the time."""
        self.under_test.kill()
        for name, minutes in behind.items():
            device = {"van": self.van, "bus": self.bus, "tram": self.tram}[name]["id"]
            self.write(f"UPDATE presence SET seen = {clock() - minutes * MINUTE} WHERE device = {device}")
        self.write(f"UPDATE alert_watches SET since = {clock() - 600 * MINUTE}, round = {clock() - 20_000}")
        self.look()

    def look(self):
        before = self.rows("SELECT max(round) FROM alert_watches")
        self.under_test.start()
        wait_for(lambda: self.rows("SELECT max(round) FROM alert_watches") != before, "a round")

    def begin(self, **more):
        for device in (self.van, self.bus, self.tram):
            self.upload(device)
        self.rule("silent", "silence", minutes=30, **more)
        self.under_test.kill()
        self.look()
        self.assertEqual(self.alerts(), [])

    def test_once_until_it_is_heard_of(self):
        self.begin()
        self.rounds(van=29, bus=1, tram=0)
        self.assertEqual(self.alerts(), [])
        self.rounds(van=32, bus=1, tram=0)
        self.assertEqual(self.alerts(), [("silent", "van", "")])
        self.assertRegex(self.listed("alerts")[0]["text"], "^van has not been heard of since 20")
        # It lasts, through rounds and restarts.
        self.rounds(bus=1, tram=0)
        self.rounds(bus=1, tram=0)
        self.assertEqual(len(self.alerts()), 1)
        self.upload(self.van)
        self.rounds(bus=1, tram=0)
        self.assertEqual(len(self.alerts()), 1)
        self.assertEqual(self.rows("SELECT count(*) FROM alert_conditions"), [["0"]])
        self.rounds(van=40, bus=1, tram=0)
        self.assertEqual(len(self.alerts()), 2)

    def test_of_a_group_and_not_of_who_is_retired(self):
        self.begin(group="south")
        self.rounds(van=40, bus=40, tram=0)
        self.assertEqual(self.alerts(), [("silent", "bus", "")])
        self.assertEqual(self.ask("DELETE", f"/v1/devices/{self.bus['id']}", self.admin, {}).status, 204)
        self.rule("all", "silence", minutes=30)
        self.under_test.kill()
        self.look()
        self.rounds(van=40, bus=41, tram=0)
        self.assertEqual(self.alerts(), [("silent", "bus", ""), ("all", "van", "")])

    def test_if_nobody_is_heard_of_one_alert_tells_it(self):
        """The way to the server may be interrupted: the last that was heard of is told of, and when it is there again, the others
        have the rule's time."""
        self.begin()
        self.rounds(van=200, bus=190, tram=185)
        self.write_heard(185)
        self.assertEqual(self.alerts(), [("silent", "tram", "")])
        self.rounds(van=210, bus=200, tram=0)
        self.assertEqual(self.alerts(), [("silent", "tram", "")], "they are given time")
        self.assertGreater(int(self.rows("SELECT max(since) FROM alert_watches")[0][0]), clock() - 10 * MINUTE)

    def write_heard(self, minutes: int):
        """That it was so for as long as that."""
        self.write(f"UPDATE alert_watches SET heard = {clock() - minutes * MINUTE}")

    def test_the_servers_own_outage_alarms_nobody(self):
        self.begin()
        self.under_test.kill()
        self.write(f"UPDATE presence SET seen = {clock() - DAY}")
        self.write(f"UPDATE alert_watches SET since = {clock() - 2 * DAY}, round = {clock() - DAY}, heard = {clock() - DAY}")
        self.look()
        self.assertEqual(self.alerts(), [])
        self.upload(self.bus)
        self.under_test.kill()
        self.look()
        self.assertEqual(self.alerts(), [])


class SQLiteFleetEventTests(FleetEvents, OnSQLite):
    pass


class PostgresFleetEventTests(FleetEvents, OnPostgres):
    pass


class SQLiteFindingTests(Findings, OnSQLite):
    pass


class PostgresFindingTests(Findings, OnPostgres):
    def test_another_server_learns_of_a_rule(self):
        other = self.make().start()
        self.rule("on", "ignition")
        first, self.under_test = self.under_test, other

        def is_found() -> bool:
            self.upload(self.van, events=[event(clock(), "ignition", "on")])
            return bool(self.alerts())

        wait_for(is_found, "the other server knows the rule")
        self.under_test = first


class SQLiteRuleTests(RuleTexts, OnSQLite):
    pass


class PostgresRuleTests(RuleTexts, OnPostgres):
    pass


class SQLiteSilenceTests(Silence, OnSQLite):
    def at(self, ahead: int):
        """Starts it with a clock that is ahead by so many milliseconds."""
        if self.under_test.running:
            self.under_test.kill()
        path = os.path.join(self.folder, "clocks")
        with open(path, "wb") as file:
            file.write(struct.pack("=5q", ahead * 1_000_000, 0, 0, 0, 0))
        self.under_test.environment = {"LD_PRELOAD": shim(), "BEEKOND_TEST_CLOCK": path}
        self.look()

    def test_a_day_without_a_server(self):
        """By the clock alone: nobody is silent for it; then each that does not come back, once."""
        for device in (self.van, self.bus, self.tram):
            self.upload(device)
        self.rule("silent", "silence", minutes=5)
        self.at(0)
        self.at(DAY)
        self.assertEqual(self.alerts(), [])
        # From the first upload on, five minutes, in steps that do not look as if the server had been away.
        for step in range(40_000, 9 * MINUTE, 40_000):
            self.at(DAY + step)
            self.upload(self.bus, at=clock() + DAY + step)
        self.at(DAY + 9 * MINUTE)
        self.assertEqual(sorted(self.alerts()), [("silent", "tram", ""), ("silent", "van", "")])
        self.at(DAY + 10 * MINUTE)
        self.upload(self.bus, at=clock() + DAY + 10 * MINUTE)
        self.at(3 * DAY)
        self.assertEqual(len(self.alerts()), 2)


class PostgresSilenceTests(Silence, OnPostgres):
    pass


# They have no servers.
del Alerts, FleetEvents, Findings, RuleTexts, Silence

if __name__ == "__main__":
    unittest.main()
