"""Five thousand vehicles and a thousand fences: each is drawn with one request, and each vehicle has its own after kills of the
server, lost answers, refusals and stops by a person. test_fences.py has a sample of it."""
from __future__ import annotations

import base64
import hashlib
import http.client
import json
import random
import sys
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.databases import OnPostgres, OnSQLite
from server_support.fence_vehicle import Vehicle, fingerprint
from server_support.server import FIRST_MS, Answer, Server
from server_support.server_test import ServerTest
from support.seeds import seed
from support.waiting import wait_for

VEHICLES = 5000
FENCES = 1000
KILLS = 20
# Of vehicles: stopped by a person, with a fence of a person's of the same name, that lose the answer to an upload.
STOPPED, REFUSING, LOSING = 0.02, 0.02, 0.05
YEAR_MS = 365 * 86_400_000


class KnownFences:
    """One copy of each fence that vehicles have, instead of one for each of them, and its fingerprint."""

    def __init__(self):
        self._known: dict[str, dict] = {}
        self._fingerprints: dict[int, int] = {}

    def one(self, fence: dict) -> dict:
        if id(fence) in self._fingerprints:
            return fence
        found = self._known.setdefault(repr(fence), fence)
        self._fingerprints.setdefault(id(found), fingerprint(found))
        return found

    def digest(self, fences: dict[str, dict]) -> int:
        """Of what `one` has given."""
        return sum(self._fingerprints[id(fence)] for fence in fences.values()) % 2 ** 64


class OneOfMany(Vehicle):
    def __init__(self, server: Server, known: KnownFences, device: dict, **says):
        super().__init__(server, "", device=device, **says)
        self._known = known

    def digest(self) -> int:
        return self._known.digest(self.fences)

    def run(self, name: str, text: str) -> str:
        error = super().run(name, text)
        if not error:
            self.fences = {one["id"]: one for one in map(self._known.one, self.fences.values())}
        return error


class ManyFences(ServerTest):
    make: Any
    rows: Any
    write: Any

    def setUp(self):
        super().setUp()
        self.under_test: Server = self.make().start()
        self.admin = self.under_test.add_user("root", "admin")
        self.chance = random.Random(seed("many fences"))

    def enter(self) -> list:
        """Vehicles with a token each, half of them in a group."""
        self.assertEqual(self.under_test.verb("group", "add", "north").returncode, 0)
        north = self.rows("SELECT id FROM fleet_groups")[0][0]
        self.under_test.kill()
        tokens = [f"bka.{number}.{base64.urlsafe_b64encode(self.chance.randbytes(32)).decode().rstrip('=')}"
                  for number in range(1, VEHICLES + 1)]
        # In steps: a command line is only so long.
        for first in range(0, VEHICLES, 500):
            numbers = range(first + 1, min(first + 500, VEHICLES) + 1)
            devices = ", ".join(f"({number}, 'vehicle {number}', {FIRST_MS}, {north if number % 2 else 'NULL'})"
                                for number in numbers)
            hashes = ", ".join(
                f"({number}, {self.blob(hashlib.sha256(tokens[number - 1].encode()).digest())}, 1, {FIRST_MS}, "
                f"{FIRST_MS + 100 * YEAR_MS}, {FIRST_MS}, 1)" for number in numbers)
            self.write(f"INSERT INTO devices(id, name, created, fleet_group) VALUES {devices}; "
                       f"INSERT INTO tokens(device, hash, kind, created, expires, used, pair) VALUES {hashes};")
        self.under_test.start()
        known = KnownFences()
        return [OneOfMany(self.under_test, known, {"id": number, "access_token": token})
                for number, token in enumerate(tokens, 1)]

    def blob(self, data: bytes) -> str:
        raise NotImplementedError

    def send(self, method: str, path: str, value: dict) -> Answer:
        answer = self.under_test.ask(method, path, self.admin, json.dumps(value).encode())
        self.assertLess(answer.status, 300, answer)
        return answer

    def draw(self, number: int) -> dict:
        """The first hundred are for the group alone."""
        whom = {"groups": ["north"]} if number < FENCES // 10 else {"all": True}
        return {"name": f"customer {number:04}", "latitude": 48 + number / 1e4, "longitude": 11.5, "radius_meters": 150, **whom}

    def upload(self, vehicle: Vehicle, loses_answer: bool = False) -> list:
        """As often as it takes while the server is killed."""

        def is_heard() -> bool:
            try:
                told[:] = [vehicle.upload(loses_answer)]
            except (OSError, http.client.HTTPException):
                return False
            return True

        told: list[list] = []
        wait_for(is_heard, "a server that answers", 120)
        return told[0]

    def settle(self, vehicle: Vehicle) -> int:
        for count in range(1, 40):
            has_told = bool(vehicle.results)
            if not self.upload(vehicle) and not has_told:
                return count
        raise AssertionError(f"vehicle {vehicle.id} is told more and more")

    def all_settle(self, vehicles: list, kills: int = 0) -> int:
        """Each of them, eight at a time. Returns the uploads of all; the server is killed so often meanwhile, evenly."""
        places = {len(vehicles) * (number + 1) // (kills + 1) for number in range(kills)}
        lock, begun = threading.Lock(), 0

        def one(vehicle: Vehicle, loses: bool) -> int:
            nonlocal begun
            with lock:
                begun += 1
                if begun in places:
                    self.under_test.kill()
                    self.under_test.start()
            if loses:
                self.upload(vehicle, loses_answer=True)
            return self.settle(vehicle)

        losing = [self.chance.random() < LOSING for _ in vehicles]
        with ThreadPoolExecutor(8) as pool:
            return sum(pool.map(one, vehicles, losing))

    def assert_all_have(self, vehicles: list, fences: list):
        for vehicle in vehicles:
            wanted = {fence["name"] for fence in fences if fence.get("all") or vehicle.id % 2}
            self.assertEqual(set(vehicle.fences), wanted - set(vehicle.own), vehicle.id)

    def test_each_vehicle_has_its_set(self):
        vehicles = self.enter()
        for vehicle in vehicles:
            if self.chance.random() < STOPPED:
                vehicle.is_stopped = True
            elif self.chance.random() < REFUSING:
                vehicle.own = {f"customer {self.chance.randrange(FENCES // 10, FENCES):04}": {}}
        fences = [self.draw(number) for number in range(FENCES)]
        began = time.monotonic()
        numbers = [self.send("POST", "/v1/fences", fence).json["id"] for fence in fences]
        drawn = time.monotonic() - began
        # A row a fence, and none a vehicle.
        self.assertEqual(self.rows("SELECT (SELECT count(*) FROM fences), (SELECT count(*) FROM commands), "
                                   "(SELECT count(*) FROM device_fences)"), [[str(FENCES), "0", "0"]])
        began = time.monotonic()
        uploads = self.all_settle(vehicles, KILLS)
        spread = time.monotonic() - began
        for vehicle in vehicles:
            if vehicle.is_stopped:
                self.assertEqual(vehicle.fences, {})
                vehicle.is_stopped = False
        self.all_settle([vehicle for vehicle in vehicles if not vehicle.fences])
        self.assert_all_have(vehicles, fences)
        most = max(vehicle.commands for vehicle in vehicles)
        # One request changes a fence of the group into one of all, and its shape.
        fences[0] = {**{key: value for key, value in fences[0].items() if key != "groups"}, "radius_meters": 99, "all": True}
        before = [vehicle.commands for vehicle in vehicles]
        began = time.monotonic()
        self.send("PUT", f"/v1/fences/{numbers[0]}", fences[0])
        changed = time.monotonic() - began
        self.all_settle(vehicles, 2)
        self.assert_all_have(vehicles, fences)
        for vehicle, commands in zip(vehicles, before, strict=True):
            self.assertEqual(vehicle.fences["customer 0000"]["radius_meters"], 99)
            self.assertEqual(vehicle.commands, commands + 1)
        refusing = next(vehicle for vehicle in vehicles if vehicle.own)
        place = int(next(iter(refusing.own)).removeprefix("customer "))
        states = self.under_test.ask("GET", f"/v1/fences/{numbers[place]}/devices", self.admin).json["devices"]
        told = {state["device"]: (state["state"], state.get("reason")) for state in states}
        self.assertEqual(told[refusing.id], ("refused", f"exists: customer {place:04}"))
        print(f"\n{VEHICLES:,} vehicles, {FENCES:,} fences: drawn in {drawn:.1f} s, taken in {spread:.0f} s by "
              f"{uploads:,} uploads over {KILLS} kills, at most {most} commands a vehicle; one request changed one of "
              f"them in all in {changed * 1000:.0f} ms")


class OnSQLiteFences(ManyFences, OnSQLite):
    def blob(self, data: bytes) -> str:
        return f"x'{data.hex()}'"


class OnPostgresFences(ManyFences, OnPostgres):
    def blob(self, data: bytes) -> str:
        return f"'\\x{data.hex()}'"


del ManyFences


if __name__ == "__main__":
    unittest.main()
