"""Fences of the fleet: drawn once, and in every vehicle that they are for, whatever is killed, refused or lost meanwhile."""
import base64
import json
import os
import random
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.databases import OnPostgres, OnSQLite
from server_support.fence_vehicle import ALLOWED, Vehicle
from server_support.server import PROGRAM, Server
from server_support.server_test import ServerTest
from support.seeds import seed
from support.waiting import wait_for

CIRCLE = {"latitude": 48.1, "longitude": 11.5, "radius_meters": 150}
SQUARE = {"polygon": [[11.5, 48.1], [11.51, 48.1], [11.51, 48.11], [11.5, 48.11]]}
class Fences(ServerTest):
    make: Any
    rows: Any
    write: Any

    def setUp(self):
        super().setUp()
        self.under_test: Server = self.make().start()
        self.admin = self.under_test.add_user("root", "admin")
        for group in ("north", "south"):
            self.assertEqual(self.under_test.verb("group", "add", group).returncode, 0)

    def send(self, method: str, path: str, value: dict | None = None, token: str | None = None):
        return self.under_test.ask(
            method, path, token or self.admin, json.dumps(value).encode() if value is not None else b"")

    def draw(self, name: str, shape: dict | None = None, **whom) -> dict:
        answer = self.send("POST", "/v1/fences", {"name": name, **(shape or CIRCLE), **(whom or {"all": True})})
        self.assertEqual(answer.status, 201, answer)
        return answer.json

    def states(self, fence: dict, token: str | None = None) -> dict:
        answer = self.send("GET", f"/v1/fences/{fence['id']}/devices", token=token)
        self.assertEqual(answer.status, 200, answer)
        return {state["device"]: state["state"] for state in answer.json["devices"]}

    def assert_has(self, vehicle: Vehicle, *names: str):
        self.assertEqual(sorted(vehicle.fences), sorted(names))

    def wait_has(self, vehicle: Vehicle, *names: str):
        """What one server, or a verb, has changed, another one learns within seconds."""

        def has() -> bool:
            vehicle.settle()
            return sorted(vehicle.fences) == sorted(names)

        wait_for(has, lambda: f"fences {sorted(names)}, not {sorted(vehicle.fences)}")

    def test_a_fence_reaches_whom_it_is_for_and_goes_again(self):
        van, bus, tram = (Vehicle(self.under_test, "van", "north"), Vehicle(self.under_test, "bus", "south"),
                          Vehicle(self.under_test, "tram"))
        # Where there are no fences, nothing of them is kept.
        self.assertEqual(van.upload(), [])
        self.assertEqual(self.rows("SELECT count(*) FROM device_fences")[0][0], "0")
        depot = self.draw("depot", {**CIRCLE, "dwell_seconds": 600, "notify_on_exit": False})
        yard = self.draw("yard", SQUARE, groups=["north"])
        stop = self.draw("stop", devices=[tram.id, bus.id])
        self.assertEqual(self.states(depot), {van.id: "waiting", bus.id: "waiting", tram.id: "waiting"})
        self.assertEqual(self.rows("SELECT count(*) FROM commands")[0][0], "0")
        for vehicle in (van, bus, tram):
            self.assertLessEqual(vehicle.settle(), 3)
        self.assert_has(van, "depot", "yard")
        self.assert_has(bus, "depot", "stop")
        self.assert_has(tram, "depot", "stop")
        self.assertEqual(van.fences["depot"], {"id": "depot", **CIRCLE, "dwell_seconds": 600, "notify_on_entry": True,
                                              "notify_on_exit": False})
        self.assertEqual(van.fences["yard"]["polygon"], SQUARE["polygon"])
        self.assertEqual(self.states(depot), {van.id: "taken", bus.id: "taken", tram.id: "taken"})
        self.assertEqual(self.states(yard), {van.id: "taken"})
        spare = Vehicle(self.under_test, "spare")
        for_three = {"name": "depot", **CIRCLE, "dwell_seconds": 600, "notify_on_exit": False,
                     "devices": [van.id, bus.id, tram.id]}
        self.assertEqual(self.send("PUT", f"/v1/fences/{depot['id']}", for_three).status, 200)
        self.assertEqual(spare.upload(), [])
        # Of a vehicle without fences, nothing is kept.
        self.assertEqual(self.rows(f"SELECT 1 FROM device_fences WHERE device = {spare.id}"), [])
        # What is done leaves no commands behind, and costs no more.
        self.assertEqual(self.rows("SELECT count(*) FROM commands")[0][0], "0")
        before = [vehicle.commands for vehicle in (van, bus, tram)]
        for vehicle in (van, bus, tram):
            self.assertEqual(vehicle.upload(), [])
        # Another shape, other vehicles, another name.
        changed = self.send("PUT", f"/v1/fences/{stop['id']}", {
            "name": "halt", **CIRCLE, "radius_meters": 99, "groups": ["south"]})
        self.assertEqual(changed.status, 200, changed)
        self.assertEqual(self.states(stop), {bus.id: "waiting"})
        for vehicle in (van, bus, tram):
            vehicle.settle()
        self.assert_has(bus, "depot", "halt")
        self.assertEqual(bus.fences["halt"]["radius_meters"], 99)
        self.assert_has(tram, "depot")
        self.assertEqual(van.commands, before[0])
        # A vehicle that changes its group, a group and a fence that are no more.
        tram.move("north")
        self.wait_has(tram, "depot", "yard")
        self.assertEqual(self.under_test.verb("group", "remove", "north").returncode, 0)
        self.assertEqual(self.send("DELETE", f"/v1/fences/{depot['id']}").status, 204)
        self.wait_has(van)
        self.wait_has(tram)
        self.wait_has(bus, "halt")
        self.assertEqual(self.send("GET", f"/v1/fences/{depot['id']}").status, 404)
        self.assertEqual(self.rows("SELECT device FROM device_fences WHERE digest <> 0"), [[str(bus.id)]])

    def test_who_may_know_what(self):
        van, bus = Vehicle(self.under_test, "van", "north"), Vehicle(self.under_test, "bus", "south")
        everywhere, north = self.draw("everywhere"), self.draw("north yard", groups=["north"])
        both, south = self.draw("both", groups=["north", "south"]), self.draw("bus stop", devices=[bus.id])
        sam = self.under_test.add_user("sam", "reader", "south")
        ada = self.under_test.add_user("ada", "reader")
        listed = self.send("GET", "/v1/fences", token=sam).json["fences"]
        self.assertEqual([fence["name"] for fence in listed], ["everywhere", "both", "bus stop"])
        self.assertEqual(listed[1]["groups"], ["south"])
        self.assertEqual(len(self.send("GET", "/v1/fences", token=ada).json["fences"]), 4)
        # A fence of vehicles that somebody does not see is like one that is not there.
        for path in ("", "/devices"):
            gone = self.send("GET", f"/v1/fences/{north['id']}{path}", token=sam)
            self.assertEqual((gone.status, gone.body.replace(b"%d" % north["id"], b"N")), (
                404, self.send("GET", f"/v1/fences/999{path}", token=sam).body.replace(b"999", b"N")))
        self.assertEqual(self.states(everywhere, sam), {bus.id: "waiting"})
        self.assertEqual(self.states(both, sam), {bus.id: "waiting"})
        self.assertEqual(self.states(both), {van.id: "waiting", bus.id: "waiting"})
        for token in (sam, ada, van.device["access_token"]):
            for method, path in (("POST", "/v1/fences"), ("PUT", f"/v1/fences/{south['id']}"),
                                 ("DELETE", f"/v1/fences/{south['id']}")):
                self.assertEqual(self.send(method, path, {"name": "x", **CIRCLE, "all": True}, token).status, 403)
        # The vehicle and what names it go together.
        self.assertEqual(self.send("DELETE", f"/v1/devices/{bus.id}/data").status, 204)
        shown = self.send("GET", f"/v1/fences/{south['id']}").json
        self.assertNotIn("devices", shown)

    def test_what_is_no_fence_is_refused_and_changes_nothing(self):
        first = self.draw("depot")
        long_ring = [[11 + index / 1e4, 48 + (index % 2) / 1e3] for index in range(501)]
        for body, pointer, said in (
                ({"all": True, **CIRCLE}, "/name", "missing"), ({"name": "x", "all": True}, None, "give latitude"),
                ({"name": "x", **CIRCLE, "all": 1}, "/all", "type"), ({"name": "", **CIRCLE}, None, "1 to 100 characters"),
                ({"name": "a\nb", **CIRCLE}, None, "printable"), ({"name": "x", **CIRCLE, "latitude": 91}, None, "latitude"),
                ({"name": "x", **CIRCLE, "radius_meters": 0}, None, "radius_meters"),
                ({"name": "x", "polygon": [[1, 1], [2, 2]]}, None, "3 to 500"),
                ({"name": "x", "polygon": [[0, 0], [1, 1], [1, 0], [0, 1]]}, None, "must not meet"),
                ({"name": "x", "polygon": long_ring}, None, "3 to 500"),
                ({"name": "x", "polygon": [[1, "a"]]}, "/polygon/0/1", "type"),
                ({"name": "x", **CIRCLE, "dwell_seconds": -1}, None, "dwell_seconds"),
                ({"name": "x", **CIRCLE, "all": True, "groups": ["north"]}, "/all", "names no groups"),
                ({"name": "x", **CIRCLE, "devices": list(range(1, 5002))}, "/devices", "5000")):
            with self.subTest(str(body)[:80]):
                answer = self.send("POST", "/v1/fences", body)
                self.assertEqual((answer.status, answer.json.get("pointer")), (400, pointer), answer)
                self.assertIn(said, answer.json["detail"])
        for body, said in (({"name": "depot", **CIRCLE}, "already a fence 'depot'"),
                           ({"name": "x", **CIRCLE, "groups": ["east"]}, "no group 'east'"),
                           ({"name": "x", **CIRCLE, "devices": [999]}, "no device 999")):
            answer = self.send("POST", "/v1/fences", body)
            self.assertEqual(answer.status, 409, answer)
            self.assertIn(said, answer.json["detail"])
        self.assertEqual(self.send("PUT", "/v1/fences/999", {"name": "x", **CIRCLE, "all": True}).status, 404)
        for method in ("GET", "DELETE"):
            self.assertEqual(self.send(method, "/v1/fences/999").status, 404)
        self.assertEqual(self.send("POST", "/v1/fences", None).status, 400)
        self.assertEqual([fence["id"] for fence in self.send("GET", "/v1/fences").json["fences"]], [first["id"]])

    def test_a_person_s_stop_holds_until_the_vehicle_says_that_it_is_over(self):
        van = Vehicle(self.under_test, "van")
        old = self.draw("old")
        van.settle()
        van.is_stopped = True
        depot = self.draw("depot")
        van.settle()
        self.assert_has(van, "old")
        asked = van.commands
        for _ in range(5):
            self.assertEqual(van.upload(), [])
        self.assertEqual(van.commands, asked)
        self.assertEqual(self.states(depot), {van.id: "waiting"})
        # What is taken away tells nothing of anybody.
        self.assertEqual(self.send("DELETE", f"/v1/fences/{old['id']}").status, 204)
        van.settle()
        self.assert_has(van)
        van.is_stopped = False
        van.settle()
        self.assert_has(van, "depot")
        self.assertEqual(self.states(depot), {van.id: "taken"})

    def test_a_fence_that_a_person_has_keeps_none_of_the_others_away(self):
        van = Vehicle(self.under_test, "van", own={"home": {}})
        fences = [self.draw(name) for name in ("depot", "home", "yard")]
        van.settle()
        self.assert_has(van, "depot", "yard")
        self.assertEqual([self.states(fence)[van.id] for fence in fences], ["taken", "refused", "taken"])
        told = self.send("GET", f"/v1/fences/{fences[1]['id']}/devices").json["devices"][0]
        self.assertEqual(told["reason"], "exists: home")
        asked = van.commands
        self.assertEqual((van.upload(), van.upload(), van.commands), ([], [], asked))
        # Drawn anew it is tried again.
        van.own = {}
        changed = {"name": "home", **CIRCLE, "radius_meters": 77, "all": True}
        self.assertEqual(self.send("PUT", f"/v1/fences/{fences[1]['id']}", changed).status, 200)
        van.settle()
        self.assert_has(van, "depot", "home", "yard")

    def test_a_vehicle_that_takes_none_is_asked_for_nothing(self):
        van = Vehicle(self.under_test, "van", allowed=["locate"])
        depot = self.draw("depot")
        for _ in range(3):
            self.assertEqual(van.upload(), [])
        shown = self.send("GET", f"/v1/fences/{depot['id']}/devices").json["devices"]
        self.assertEqual(shown, [{"device": van.id, "state": "waiting", "reason": "not_allowed"}])
        van.allowed = ALLOWED
        van.settle()
        self.assert_has(van, "depot")
        self.assertEqual(self.states(depot), {van.id: "taken"})

    def test_what_somebody_else_has_changed_in_the_vehicle_is_mended(self):
        van = Vehicle(self.under_test, "van")
        self.draw("depot")
        self.draw("yard", SQUARE)
        van.settle()
        # Somebody removes one, its card is lost, a fence is altered.
        for damage in (lambda: van.fences.pop("yard"), van.fences.clear,
                       lambda: van.fences["depot"].update(radius_meters=3)):
            damage()
            van.settle()
            self.assert_has(van, "depot", "yard")
            self.assertEqual(van.fences["depot"]["radius_meters"], CIRCLE["radius_meters"])
        # Another server's fence stays, and is no reason to tell it everything for ever.
        van.fences["theirs"] = {"id": "theirs", **CIRCLE, "notify_on_entry": True, "notify_on_exit": True}
        van.settle()
        asked = van.commands
        for _ in range(5):
            self.assertEqual(van.upload(), [])
        self.assertEqual(van.commands, asked)
        self.assert_has(van, "depot", "theirs", "yard")
        # And then one of ours goes beside it.
        van.fences.pop("depot")
        van.settle()
        self.assert_has(van, "depot", "theirs", "yard")
        # One that says nothing of its fences is believed its results.
        old = Vehicle(self.under_test, "old", is_old=True)
        old.settle()
        self.assert_has(old, "depot", "yard")
        self.assertEqual(old.upload(), [])

    def test_a_database_of_yesterday(self):
        van = Vehicle(self.under_test, "van")
        self.draw("depot")
        van.settle()
        saved = {table: self.rows(f"SELECT * FROM {table}") for table in ("device_fences",)}
        self.draw("yard")
        van.settle()
        # What the vehicle has taken since is not in the copy, and is not asked for twice with an id that it knows.
        row = saved["device_fences"][0]
        self.write(f"UPDATE device_fences SET digest = {row[1]}, progress = '{row[2]}' WHERE device = {row[0]}")
        self.under_test.kill()
        self.under_test.start()
        van.settle()
        self.assert_has(van, "depot", "yard")

    def test_kills_refusals_stops_and_lost_answers(self):
        chance = random.Random(seed("fences"))
        vehicles = [Vehicle(self.under_test, f"van {index}", chance.choice(("", "north", "south"))) for index in range(4)]
        groups = {vehicle.id: "" for vehicle in vehicles}
        for vehicle in vehicles:
            shown = self.send("GET", f"/v1/devices/{vehicle.id}").json
            groups[vehicle.id] = shown.get("group", "")
        drawn: dict[int, dict] = {}
        kills = 0
        for _ in range(120):
            act = chance.random()
            if act < 0.2 and len(drawn) < 12:
                whom: dict = chance.choice(({"all": True}, {"groups": [chance.choice(("north", "south"))]},
                                            {"devices": [chance.choice(vehicles).id]}))
                fence = {"name": f"f{chance.randrange(10**9)}", **chance.choice((CIRCLE, SQUARE)), **whom}
                drawn[self.send("POST", "/v1/fences", fence).json["id"]] = fence
            elif act < 0.3 and drawn:
                id_ = chance.choice(list(drawn))
                drawn[id_] = {**drawn[id_], "dwell_seconds": chance.randrange(1, 1000)}
                self.assertEqual(self.send("PUT", f"/v1/fences/{id_}", drawn[id_]).status, 200)
            elif act < 0.37 and drawn:
                id_ = chance.choice(list(drawn))
                del drawn[id_]
                self.assertEqual(self.send("DELETE", f"/v1/fences/{id_}").status, 204)
            elif act < 0.42:
                vehicle = chance.choice(vehicles)
                groups[vehicle.id] = chance.choice(("north", "south"))
                vehicle.move(groups[vehicle.id])
            elif act < 0.5:
                chance.choice(vehicles).is_stopped ^= True
            elif act < 0.55:
                chance.choice(vehicles).fences.clear()
            elif act < 0.62:
                self.under_test.kill()
                self.under_test.start()
                kills += 1
            else:
                chance.choice(vehicles).upload(loses_answer=chance.random() < 0.3)
        # The hour of the orders is over, and the server has forgotten what it knew of that.
        self.under_test.kill()
        for device, progress in self.rows("SELECT device, progress FROM device_fences"):
            text = json.dumps({**json.loads(progress), "hour_began": 0, "due": None})
            self.write(f"UPDATE device_fences SET progress = '{text}' WHERE device = {device}")
        self.under_test.start()
        for vehicle in vehicles:
            vehicle.is_stopped = False
            wanted = {fence["name"]: fence for fence in drawn.values()
                      if fence.get("all") or groups[vehicle.id] in fence.get("groups", [])
                      or vehicle.id in fence.get("devices", [])}
            vehicle.settle()
            self.assert_has(vehicle, *wanted)
            for name, fence in wanted.items():
                self.assertEqual(vehicle.fences[name].get("dwell_seconds"), fence.get("dwell_seconds"))
        self.assertGreater(kills, 0)

    def test_an_answer_that_was_lost_comes_again_as_it_was(self):
        van = Vehicle(self.under_test, "van")
        self.draw("depot")
        for _ in range(3):
            van.upload(loses_answer=True)
            self.assertEqual(self.rows("SELECT count(*) FROM commands")[0][0], "1")
        van.settle()
        self.assertEqual(van.commands, 1)
        self.assert_has(van, "depot")

    def test_where_the_server_signs_fences_are_signed(self):
        key = os.path.join(self.folder, "key.pem")
        self.assertEqual(subprocess.run([PROGRAM, "key", "new", key], capture_output=True, check=False).returncode, 0)
        self.under_test.kill()
        self.under_test = self.make("--signing-key", key).start()
        van = Vehicle(self.under_test, "van")
        self.draw("depot")
        counters = []
        for name in ("yard", "ramp"):
            wait_for(van.upload, "it is told")
            signed = json.loads(base64.b64decode(self.answer_of(van)["signed"]))
            self.assertEqual(signed["commands"], van.answer["commands"])
            self.assertEqual(signed["install_id"], van.install_id)
            counters.append(signed["counter"])
            van.settle()
            self.draw(name)
        self.assertLess(*counters)

    def answer_of(self, vehicle: Vehicle) -> dict:
        self.assertIn("signature", vehicle.answer)
        return vehicle.answer

    def test_a_thousand_fences_come_in_lists_that_a_vehicle_takes(self):
        van = Vehicle(self.under_test, "van")
        self.draw("longest", {"polygon": big_ring()})
        body = json.dumps({**CIRCLE, "notify_on_entry": True, "notify_on_exit": True})[1:-1].replace(" ", "")
        for first in range(1, 1000, 111):
            numbers = range(first, first + 111)
            fences = ", ".join(f"({1000 + index}, 'customer {index:04}', '{body}', 'root', 1, 1)" for index in numbers)
            self.write(f"INSERT INTO fences(number, name, shape, author, created, changed) VALUES {fences}; "
                       f"INSERT INTO fence_targets VALUES {', '.join(f'({1000 + index}, 0, 0)' for index in numbers)};")
        refused = self.send("POST", "/v1/fences", {"name": "too many", **CIRCLE, "all": True})
        self.assertEqual(refused.status, 409, refused)
        self.assertIn("more than 1000 fences", refused.json["detail"])
        self.write("UPDATE numbers SET next = next + 1 WHERE kind = 'fleet'")
        wait_for(van.upload, "the server knows what was written beside it")
        rounds = 1 + van.settle()
        self.assertEqual(len(van.fences), 1000)
        print(f"1,000 fences: {rounds} uploads, {van.commands} commands")
        self.assertLessEqual(van.commands, 20)


def big_ring() -> list:
    """500 corners around a place, as far apart as they may be, with all their digits."""
    import math
    return [[11 + math.cos(index * math.tau / 500) * 0.9123456, 48 + math.sin(index * math.tau / 500) * 0.5123456]
            for index in range(500)]


class SQLiteFences(Fences, OnSQLite):
    pass


class PostgresFences(Fences, OnPostgres):
    pass


del Fences


if __name__ == "__main__":
    unittest.main()
