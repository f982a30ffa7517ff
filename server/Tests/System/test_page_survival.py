"""The page with vehicles that say what nobody expects, with links that somebody has changed, and on a path that dies: what can be
shown is shown, and what cannot is named."""
from __future__ import annotations

import datetime
import json
import sys
import time
import types
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support import fleet
from server_support.dead_path import DeadPath
from server_support.page_test import PageTest
from server_support.server import iso
from support.seeds import sample
from support.waiting import wait_for

# What a heartbeat of a vehicle may be, as far as the server is concerned.
NO_TEXT: dict = {"toString": 0}
ODD: dict[str, Any] = {
    "pending object": {"pending": NO_TEXT}, "pending text": {"pending": "5"}, "pending list": {"pending": [7]},
    "pending null": {"pending": None}, "pending below": {"pending": -5}, "pending huge": {"pending": 1e308},
    "oldest object": {"oldest_pending": NO_TEXT}, "oldest number": {"oldest_pending": 5},
    "oldest words": {"oldest_pending": "yesterday"}, "version object": {"version": NO_TEXT}, "version number": {"version": 5},
    "version list": {"version": [NO_TEXT]}, "odometer object": {"odometer_meters": NO_TEXT},
    "odometer text": {"odometer_meters": "7000"}, "odometer huge": {"odometer_meters": 1e308},
    "receiver number": {"receiver": 5}, "receiver object": {"receiver": NO_TEXT},
    "receiver constructor": {"receiver": "constructor"}, "receiver proto": {"receiver": "__proto__"},
    "state object": {"state": NO_TEXT}, "state list": {"state": ["tracking"]}, "motion object": {"motion": NO_TEXT},
    "uptime object": {"uptime_seconds": NO_TEXT}, "uptime text": {"uptime_seconds": "long"},
    "ignition object": {"ignition": NO_TEXT}, "ignition text": {"ignition": "off"},
    "commands text": {"commands": "locate"}, "commands list": {"commands": [NO_TEXT, 5]}, "nothing odd": {},
    "proto": {"__proto__": {"pending": 3}, "constructor": 5},
}

# As if a rule of the page did not know what to make of one vehicle.
BREAKING = """async ([id, member]) => {
    const fleet = await import(new URL("fleet.js", document.querySelector("script[type=module]").src));
    const vehicle = fleet.vehicles.get(id);
    vehicle.health = null;
    Object.defineProperty(vehicle, member, { get() { throw new TypeError("odd"); }, set() {} });
}"""


class OddVehicleTests(PageTest):
    odd: dict

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.odd = {}
        now = int(time.time() * 1000)
        for number, (name, members) in enumerate(ODD.items()):
            device = cls.server.add_device(name)
            cls.odd[name] = device["id"]
            angle = number / 4
            home = (fleet.HOME[0] + 0.002 * angle, fleet.HOME[1] + 0.002 * angle)
            status = {key: value for key, value in fleet.status().items() if key not in members} | members
            fleet.upload(cls.server, device["access_token"], fleet.day(now - 60_000, 60, home), status=status)
        device = cls.server.add_device("fastest")
        cls.odd["fastest"] = device["id"]
        # Four hours ago it went, for half an hour.
        rows = fleet.day(now - 4 * 3_600_000, 1800, fleet.HOME)
        for row in rows:
            row["speed"] = 1e308
        fleet.upload(cls.server, device["access_token"], rows, status=fleet.status())

    def text(self, page) -> str:
        return page.locator("body").inner_text()

    @staticmethod
    def list_vehicles(page, screen: str):
        """Those that a fence may be for are listed where one is drawn."""
        if screen == "#/fences":
            page.get_by_role("button", name="Draw a fence").click()
            page.get_by_role("radio", name="These vehicles").check()

    def look(self, page, screen: str, name: str):
        page.goto(f"{self.server.url}/{screen}")
        self.list_vehicles(page, screen)
        page.locator("main").get_by_text(name, exact=True).first.wait_for()
        self.judge(page, screen)

    def judge(self, page, screen: str):
        text = self.text(page)
        for word in ("failed", "undefined", "NaN", "[object", "function", "∞", "Infinity", "cannot be shown"):
            self.assertNotIn(word, text, screen)

    def test_every_status_on_every_screen(self):
        page = self.page(screen="#/fleet")
        page.get_by_role("link", name="Truck 1").wait_for()
        wait_for(lambda: page.locator("tbody tr").count() == len(self.devices) + len(self.odd), "all are listed")
        self.judge(page, "the list")
        for name in ODD:
            row = page.locator("tbody tr", has=page.get_by_role("link", name=name, exact=True))
            pending, odometer = (row.locator("td").nth(place).inner_text() for place in (3, 4))
            self.assertEqual(pending, "" if name.startswith("pending") else "0", name)
            self.assertEqual(odometer, "" if name.startswith("odometer") else "48,212 km", name)
        for column in ("State", "Last seen", "Speed", "Pending", "Odometer", "Version"):
            page.get_by_role("button", name=column, exact=True).click()
            self.judge(page, column)
            self.assertEqual(page.locator("tbody tr").count(), len(self.devices) + len(self.odd))
        names = list(self.odd)
        for name in (names[place - 1] for place in sample("odd vehicles on screens of their own", len(names), 4)):
            number = self.odd[name]
            with self.subTest(name):
                self.look(page, f"#/vehicle/{number}", name)
                page.locator("dl.facts").get_by_text(str(number), exact=True).wait_for()
                self.look(page, f"#/map?at=52.52,13.405,12&vehicle={number}", name)
        self.look(page, "#/devices", "pending object")
        page.get_by_role("button", name="New tokens for pending object").wait_for()
        fleet.upload(self.server, self.devices["Truck 1"]["access_token"], [], by_a_copy=True, status=fleet.status())
        page.get_by_role("button", name="Confirm the installation of Truck 1").wait_for()
        self.look(page, "#/fences", "pending object")

    def test_a_speed_that_no_vehicle_has(self):
        # Whatever hours of that were yesterday's.
        now = int(time.time() * 1000)
        page = self.page(screen=f"#/vehicle/{self.odd['fastest']}?from={iso(now - 5 * 3_600_000)}&to={iso(now)}")
        page.get_by_role("heading", name="fastest").wait_for()
        trips = page.get_by_role("tabpanel", name="Trips").get_by_role("button")
        trips.first.wait_for()
        self.judge(page, "the vehicle")
        self.assertNotRegex(self.text(page), r"\d{6,} km/h|\d{1,3}(,\d{3}){3,}")
        page.get_by_role("slider", name="Time").press("PageDown")
        self.judge(page, "the vehicle, later")
        self.look(page, f"#/map?at=52.52,13.405,12&vehicle={self.odd['fastest']}", "fastest")

    def test_links_that_somebody_has_changed(self):
        page = self.page()
        screens = [screen for value in ("__proto__", "constructor", "toString", "hasOwnProperty") for screen in (
            f"#/fleet?sort={value}", f"#/fleet?health={value}", f"#/{value}", f"#/vehicle/{self.truck()}?tab={value}")]
        for screen in (screens[place - 1] for place in sample("changed links", len(screens), 4)):
            page.goto(self.server.url + "/#/users")
            page.get_by_role("heading", name="Users").wait_for()
            with self.subTest(screen):
                page.goto(f"{self.server.url}/{screen}")
                page.locator("main h1").get_by_text("Truck 1" if "vehicle" in screen else "Fleet", exact=True).wait_for()
                self.judge(page, screen)

    def test_a_vehicle_that_breaks_a_screen_is_named_and_the_others_are_shown(self):
        number = self.devices["Courier 8"]["id"]
        members = ("status", "latest", "version", "seen", "trail")
        for member in (members[place - 1] for place in sample("members that break", len(members), 2)):
            with self.subTest(member):
                page = self.page(screen="#/users")
                page.get_by_role("heading", name="Users").wait_for()
                page.wait_for_function("""async (id) => (await import(
                    new URL("fleet.js", document.querySelector("script[type=module]").src))).vehicles.has(id)""", arg=number)
                page.evaluate(BREAKING, [number, member])
                for screen, others in (
                        ("#/fleet", ("Bus 100", "Truck 2")), ("#/map?at=52.52,13.405,11", ("Bus 100", "Truck 2")),
                        (f"#/map?at=52.52,13.405,11&vehicle={number}", ("Bus 100",)), ("#/devices", ("Bus 100", "Truck 2")),
                        ("#/fences", ("Bus 100",)), (f"#/vehicle/{number}", ("Courier 8",))):
                    page.evaluate("screen => { location.hash = screen; }", screen)
                    self.list_vehicles(page, screen)
                    for name in others:
                        page.locator("main").get_by_text(name, exact=True).first.wait_for()
                    self.assertNotIn("This screen failed", self.text(page), screen)
                    # What it is, and that it is it that cannot be read, is said wherever it is shown; nothing is left empty.
                    self.assertEqual(page.locator(".plate:not([hidden]):empty, .health:not([class*=' '])").count(), 0, screen)
                page.get_by_text("Courier 8 cannot be shown in full").wait_for()
                # What comes of it anew is taken as it is.
                fleet.upload(self.server, self.devices["Courier 8"]["access_token"], [], status=fleet.status(pending=3))
                self.assertEqual(self.errors, [])

    def test_the_last_word_of_a_list_is_not_the_first_that_breaks(self):
        """What the server's own stream says of one vehicle, and nobody understands, is left out and named."""
        page = self.page(screen="#/users")
        page.route("**/v1/devices", lambda route: self.broken(route))
        page.evaluate("location.hash = '#/fleet'")
        page.reload()
        page.get_by_role("link", name="Truck 1").wait_for()
        page.get_by_role("link", name="Courier 8").wait_for()
        text = self.text(page)
        self.assertNotIn("This screen failed", text)
        for screen in ("#/map", "#/devices", "#/fences", "#/fleet"):
            self.look_on(page, screen)

    def look_on(self, page, screen: str):
        page.evaluate("screen => { location.hash = screen; }", screen)
        self.list_vehicles(page, screen)
        page.locator("main").get_by_text("Bus 100", exact=True).first.wait_for()
        self.assertNotIn("This screen failed", self.text(page), screen)

    def broken(self, route):
        answer = route.fetch()
        document = answer.json()
        for device in document["devices"]:
            if device["name"] == "Courier 8":
                device.update(latest={"timestamp": 5, "latitude": "x", "longitude": None, "speed": {}}, model={"toString": 0},
                              platform=[1], sdk_version={}, seen={"toString": 0}, created=None, status=[3], other_installation=7)
            if device["name"] == "Bus 200":
                device["name"] = None
        route.fulfill(response=answer, body=json.dumps(document))


# Of the stream, when there is nothing to tell.
ALIVE = b"event: alive\ndata: "


class DeadPathTests(PageTest):
    def setUp(self):
        super().setUp()
        self.path = DeadPath(self.server.port)
        self.addCleanup(self.path.close)
        # The page goes through it.
        self.server: Any = types.SimpleNamespace(url=self.path.url)

    def open_with_a_clock(self):
        """Signed in, with a clock that stands still unless it is put forward."""
        # Its clock would stand still for whoever has it next.
        page = self.page(None, is_kept=False)
        page.clock.install()
        page.reload()
        page.get_by_label("Name").fill("ada")
        page.get_by_label("Password").fill(fleet.PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("Live", exact=True).wait_for()
        wait_for(lambda: self.path.streams and b"event: hello" in self.path.streams[-1], "the stream has begun")
        page.clock.pause_at(datetime.datetime.fromtimestamp(page.evaluate("Date.now()") / 1000 + 5, datetime.UTC))
        # What has passed by then is over with the next sign of life, however long it was.
        self.live_on(page, self.path.streams[-1].count(ALIVE) + 1)
        return page

    def live_on(self, page, count: int):
        """Until the page has read that many signs of life."""
        wait_for(lambda: self.path.streams[-1].count(ALIVE) >= count, "a sign of life")
        # It has when it has read what was asked for behind it.
        page.evaluate("fetch('/v1/session').then((answer) => answer.json())")

    def test_a_path_that_dies_is_noticed(self):
        page = self.open_with_a_clock()
        self.path.die()
        page.clock.run_for(30_000)
        page.get_by_text("Live", exact=True).wait_for()
        page.clock.run_for(12_000)
        page.get_by_text("Reconnecting").wait_for()
        # Nor does the next one get anywhere, nor the one behind it.
        page.clock.run_for(60_000)
        page.get_by_text("Reconnecting").wait_for()
        self.path.revive()
        page.clock.run_for(60_000)
        wait_for(lambda: page.clock.run_for(1000) or page.get_by_text("Live", exact=True).count(), "it is live again")
        self.assertFalse(page.get_by_text("Reconnecting").count())

    def test_a_path_that_only_has_nothing_to_tell_is_kept(self):
        page = self.open_with_a_clock()
        # With what passes until each of them, more than the page waits for.
        for _ in range(3):
            page.clock.run_for(12_000)
            self.live_on(page, self.path.streams[-1].count(ALIVE) + 1)
        page.clock.run_for(12_000)
        page.get_by_text("Live", exact=True).wait_for()
        self.assertEqual(len(self.path.streams), 1)


if __name__ == "__main__":
    unittest.main()
