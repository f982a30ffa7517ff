"""The page, in Chromium, of a real server: each screen does its job, and links bring a view back."""
import contextlib
import csv
import datetime
import io
import json
import math
import os
import re
import sqlite3
import sys
import time
import unittest
from pathlib import Path
from zoneinfo import ZoneInfo

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support import fleet
from server_support.page_test import PageTest
from server_support.server import envelope, iso, uuid7
from support.waiting import wait_for

# The marks are on the map.
DRAWN = """() => {
    const marks = document.querySelector("canvas[data-layer=marks]");
    const pixels = marks?.width && marks.getContext("2d").getImageData(0, 0, marks.width, marks.height).data;
    return pixels && pixels.some(value => value);
}"""


class ScreenTests(PageTest):
    program = ""
    step = 3

    # MARK: Sign in

    def test_signing_in_and_out(self):
        page = self.page(None)
        page.get_by_label("Name").fill("ada")
        page.get_by_label("Password").fill("wrong password")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("alert").get_by_text("The name or the password is wrong").wait_for()
        page.get_by_label("Password").fill(fleet.PASSWORD)
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Fleet").wait_for()
        page.reload()
        page.get_by_role("heading", name="Fleet").wait_for()
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="Sign in").wait_for()
        page.reload()
        page.get_by_role("heading", name="Sign in").wait_for()

    # MARK: Clock

    def test_a_clock_that_is_ahead_is_told_with_both_times_until_an_admin_confirms_it(self):
        with sqlite3.connect(self.server.database, timeout=30) as database:
            database.execute("UPDATE clock SET guarded = ?", (int(datetime.datetime(2026, 11, 1).timestamp() * 1000),))
        reader, admin = self.page("rita"), self.page("ada")
        for page in (reader, admin):
            page.get_by_text("The server's clock shows").wait_for()
            self.assertIn("confirmed is ", page.locator("#clock").inner_text())
            self.assertIn("2026", page.locator("#clock").inner_text())
        self.assertEqual(reader.get_by_role("button", name="The clock is right").count(), 0)
        admin.get_by_role("button", name="The clock is right").click()
        admin.locator("#clock").wait_for(state="hidden")
        reader.reload()
        reader.get_by_role("heading", name="Fleet").wait_for()
        reader.locator("#clock").wait_for(state="hidden")

    # MARK: Database

    def test_a_database_that_is_gone_is_told(self):
        page = self.page("rita")
        self.assertTrue(page.locator("#database").is_hidden())
        away = self.server.database + ".away"
        os.rename(self.server.database, away)
        try:
            page.reload()
            page.get_by_role("alert").get_by_text("has gone or was replaced").wait_for()
        finally:
            os.rename(away, self.server.database)
        page.reload()
        page.get_by_text("Live", exact=True).wait_for()
        page.locator("#database").wait_for(state="hidden")

    # MARK: Fleet

    def names(self, page) -> list:
        return page.locator("tbody th").all_inner_texts()

    def test_the_fleet_list_says_what_is_wrong_first(self):
        page = self.page(screen="#/fleet")
        page.get_by_role("link", name="Trailer 3").wait_for()
        wait_for(lambda: set(self.devices) <= set(self.names(page)), "all are listed")
        wait_for(lambda: set(self.names(page)[:2]) == {"Trailer 3", "Van Tempelhof"}, "what fails comes first")
        rows = page.locator("tbody tr").all_inner_texts()
        self.assertTrue(any("Trailer 3" in row and "silent for 3 days" in row for row in rows[:2]), rows[:2])
        self.assertTrue(any("the receiver has no fix" in row for row in rows[:2]), rows[:2])
        self.assertIn("Courier 7", rows[2])
        self.assertIn("unsent data for 4 h", rows[2])
        self.assertIn("4,210", rows[2])
        self.assertIn("0.1.0", rows[2])
        # Only some of them, and in another order; the address says so.
        page.get_by_role("button", name="2 failing").click()
        wait_for(lambda: len(self.names(page)) == 2, "those that fail, alone")
        page.get_by_role("button", name="2 failing").click()
        page.get_by_label("Search vehicles").fill("bus")
        wait_for(lambda: self.names(page) == ["Bus 100", "Bus 200"], "those that are searched for")
        page.get_by_role("button", name="Vehicle", exact=True).click()
        page.get_by_role("button", name="Vehicle", exact=True).click()
        wait_for(lambda: self.names(page) == ["Bus 200", "Bus 100"], "the other way round")
        other = self.page(screen=self.address(page).split("/", 3)[3])
        wait_for(lambda: self.names(other) == ["Bus 200", "Bus 100"], "the link shows the same")

    def test_a_vehicle_of_which_no_position_is_kept_says_so(self):
        """It was heard of; retention has taken its position, or it never had one."""
        device = self.server.add_device("Archive 1")
        self.addCleanup(self.server.verb, "device", "revoke", str(device["id"]))
        fleet.upload(self.server, device["access_token"], [], status=fleet.status())
        page = self.page(screen="#/fleet")
        row = page.get_by_role("row", name=re.compile("Archive 1.*no position kept"))
        row.wait_for()
        self.assertEqual(row.get_by_text("no position kept").count(), 1)
        page.goto(f"{self.server.url}/#/vehicle/{device['id']}")
        page.get_by_role("definition").get_by_text("no position kept").wait_for()
        page.goto(f"{self.server.url}/#/map?vehicle={device['id']}")
        page.get_by_label("The vehicle that is selected").get_by_text("no position kept").wait_for()

    def test_a_vehicle_that_has_just_enrolled_is_new(self):
        """It has sent an empty batch, and nothing of itself yet: it is not parked."""
        device = self.server.add_device("Newcomer")
        self.addCleanup(self.server.verb, "device", "revoke", str(device["id"]))
        fleet.upload(self.server, device["access_token"], [])
        page = self.page(screen="#/fleet")
        page.get_by_role("row", name=re.compile("New .*Newcomer.*no location yet")).wait_for()

    # MARK: Map

    def test_the_map_follows_what_is_uploaded(self):
        page = self.page(screen="#/map?at=52.52000,13.40500,11")
        item = page.get_by_role("button", name=re.compile("Courier 8"))
        item.click()
        plate = page.get_by_label("The vehicle that is selected")
        plate.get_by_role("heading", name="Courier 8").wait_for()
        wait_for(lambda: "vehicle=" in self.address(page), "the address says it")
        drawn = self.pixels(page)
        now = page.evaluate("Date.now()")
        fleet.upload(self.server, self.devices["Courier 8"]["access_token"], [
            fleet.location(now - 1000 + n, 52.515, 13.39, speed=33.0, bearing=10) for n in range(2)])
        plate.get_by_text("119 km/h, N").wait_for()
        plate.get_by_text("52.51500, 13.39000").wait_for()
        wait_for(lambda: self.pixels(page) != drawn, "it is drawn elsewhere")
        # Found by pressing on it, too.
        plate.get_by_role("button", name="Close").click()
        plate.wait_for(state="hidden")
        page.goto(self.server.url + "/#/map?at=52.51500,13.39000,14")
        page.reload()
        page.get_by_role("button", name=re.compile("Courier 8")).wait_for()
        # Who presses sees something there.
        page.wait_for_function(DRAWN)
        box = page.locator(".map").bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        plate.get_by_role("heading", name="Courier 8").wait_for()
        plate.get_by_role("link", name="Show the day").click()
        page.get_by_role("heading", name="Courier 8").wait_for()

    @staticmethod
    def pixels(page) -> str:
        return page.evaluate("document.querySelector('canvas[data-layer=marks]').toDataURL()")

    # MARK: One vehicle

    def stretch(self) -> str:
        """The last six hours, whatever the time of the day is."""
        rows = json.loads(self.server.ask(
            "GET", f"/v1/devices/{self.truck()}/locations?limit=1", self.reader()).body)["locations"]
        first = rows[0]["timestamp"]
        return f"from={first[:19]}Z&to={self.later(first, 6 * 3600)}"

    @classmethod
    def reader(cls) -> str:
        """The token of a program that reads."""
        if not cls.program:
            cls.program = cls.server.add_user("program", "reader")
        return cls.program

    @staticmethod
    def later(stamp: str, seconds: int) -> str:
        moment = datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")) + datetime.timedelta(seconds=seconds)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def test_a_day_of_a_vehicle(self):
        page = self.page(screen=f"#/vehicle/{self.truck()}?{self.stretch()}")
        page.get_by_role("heading", name="Truck 1").wait_for()
        trips = page.get_by_role("tabpanel", name="Trips").get_by_role("button")
        wait_for(lambda: trips.count() == 8, "all trips are listed")
        # The trips may be there before the track is.
        page.locator("dl.sums").get_by_text("101 km/h").wait_for()
        # The slider, by keys; the link takes the moment along.
        slider = page.get_by_role("slider", name="Time")
        before = slider.input_value()
        for _ in range(5):
            slider.press("PageDown")
        self.assertLess(int(slider.input_value()), int(before) - 2 * 3_600_000, "it began at the last location")
        self.assertIn("t=", self.address(page))
        said = page.locator(".readout").inner_text()
        self.assertRegex(said, r"Time (\d+ \w+, )?\d\d:\d\d:\d\d\nSpeed \d+ km/h\nAltitude \d+ m")
        other = self.page(screen=self.address(page).split("/", 3)[3])
        wait_for(lambda: other.locator(".readout").inner_text() == said, "the link shows the same moment")
        # Playback moves it on, and stops.
        page.get_by_label("Speed of the playback").select_option("300")
        page.get_by_role("button", name="Play").click()
        moved = int(slider.input_value())
        wait_for(lambda: int(slider.input_value()) > moved + 60_000, "it plays")
        page.get_by_role("button", name="Pause").click()
        # A trip.
        trips.nth(2).click()
        self.assertEqual(trips.nth(2).get_attribute("aria-pressed"), "true")
        # Events lead to their moment.
        page.get_by_role("tab", name="Events").click()
        events = page.get_by_role("tabpanel", name="Events")
        wait_for(lambda: events.get_by_role("listitem").count() == 4, "all events are listed")
        events.get_by_text("by a GPIO line").wait_for()
        self.assertNotIn("{", events.inner_text())
        events.get_by_role("button", name=re.compile("Entered Depot north")).click()
        stored = json.loads(self.server.ask("GET", f"/v1/devices/{self.truck()}/events", self.reader()).body)["events"]
        entered = [event["timestamp"][:19] for event in stored if event["kind"] == "geofence_enter"]
        wait_for(lambda: page.evaluate("new URLSearchParams(location.hash.split('?')[1]).get('t')")[:19] in entered,
                 "the moment of the event")

    def test_times_of_more_than_a_day_have_their_dates(self):
        now = int(time.time() * 1000)
        drawn = """window.drawn = new Set();
            const write = CanvasRenderingContext2D.prototype.fillText;
            CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
                window.drawn.add(String(text));
                write.call(this, text, ...rest);
            };"""
        dated = r"\d+ \w{3,4},? \d\d:\d\d"
        page = self.page(screen=f"#/vehicle/{self.truck()}?from={iso(now - 3 * 86_400_000)}&to={iso(now)}", script=drawn)
        page.locator("dl.sums").get_by_text("101 km/h").wait_for()
        trips = page.get_by_role("tabpanel", name="Trips").get_by_role("button")
        trips.first.wait_for()
        for trip in trips.all_inner_texts():
            self.assertRegex(trip, f"^{dated} – ")
        self.assertRegex(page.locator(".readout").inner_text(), rf"^Time {dated}:\d\d\n")
        self.assertRegex(page.get_by_role("slider", name="Time").get_attribute("aria-valuetext"), f"^{dated}")
        page.get_by_role("tab", name="Events").click()
        for event in page.get_by_role("tabpanel", name="Events").get_by_role("button").all_inner_texts():
            self.assertRegex(event, dated)
        # Of a month, the axis has dates alone; of what is nearer, hours, and where a day begins its date.
        page.goto(f"{self.server.url}/#/vehicle/{self.truck()}?from={iso(now - 30 * 86_400_000)}&to={iso(now)}")
        page.reload()
        page.locator("dl.sums").get_by_text("101 km/h").wait_for()
        labels = "[...window.drawn].filter(text => /:|^\\d+ [A-Z]/.test(text))"
        wait_for(lambda: len(page.evaluate(labels)) > 4, "the axis is drawn")
        self.assertEqual([text for text in page.evaluate(labels) if ":" in text], [])
        for _ in range(4):
            page.get_by_role("button", name="Zoom into the chart").click()
        wait_for(lambda: [text for text in page.evaluate(labels) if re.fullmatch(r"\d\d:\d\d", text)], "hours are drawn")

    def where(self, page) -> list:
        """The middle of the map, as the address has it."""
        said = page.evaluate("new URLSearchParams(location.hash.split('?')[1]).get('at')")
        return [float(part) for part in said.split(",")[:2]]

    def test_an_event_leads_to_its_place_and_ends_the_selection_of_a_trip(self):
        page = self.page(screen=f"#/vehicle/{self.truck()}?{self.stretch()}")
        page.locator("dl.sums").get_by_text("101 km/h").wait_for()
        trips = page.get_by_role("tabpanel", name="Trips").get_by_role("button")
        trips.nth(7).click()
        self.assertEqual(trips.nth(7).get_attribute("aria-pressed"), "true")
        page.get_by_role("tab", name="Events").click()
        page.get_by_role("tabpanel", name="Events").get_by_role("button", name=re.compile("Ignition on")).click()
        stored = json.loads(self.server.ask("GET", f"/v1/devices/{self.truck()}/events", self.reader()).body)["events"]
        moment = next(event["timestamp"] for event in stored if event["kind"] == "ignition")
        at = json.loads(self.server.ask("GET", f"/v1/devices/{self.truck()}/locations?limit=1&from={self.later(moment, -4)}",
                                        self.reader()).body)["locations"][0]
        wait_for(lambda: math.dist(self.where(page), (at["latitude"], at["longitude"])) < 0.002, "the map is where it was")
        page.get_by_role("tab", name="Trips").click()
        self.assertEqual(page.locator("[role=tabpanel] button[aria-pressed=true]").count(), 0)
        # By its own place, where no location is.
        device = self.server.add_device("Placed")
        self.addCleanup(self.server.verb, "device", "revoke", str(device["id"]))
        now = int(time.time() * 1000)
        fleet.upload(self.server, device["access_token"], [], events=[
            {"id": uuid7(now), "kind": "power", "type": "lost", "timestamp": iso(now), "latitude": 47.1, "longitude": 9.5}])
        page.goto(f"{self.server.url}/#/vehicle/{device['id']}?tab=events")
        page.get_by_role("button", name=re.compile("External power lost")).click()
        wait_for(lambda: math.dist(self.where(page), (47.1, 9.5)) < 0.002, "the map is where it told")

    def test_a_status_that_is_older_than_the_uploads_says_so(self):
        device = self.server.add_device("Quiet of itself")
        self.addCleanup(self.server.verb, "device", "revoke", str(device["id"]))
        fleet.upload(self.server, device["access_token"], [], status=fleet.status(battery_level=0.83))
        page = self.page(screen=f"#/vehicle/{device['id']}")
        facts = page.locator("dl.facts")
        facts.get_by_text("83 %", exact=True).wait_for()
        self.assertNotIn("as of", facts.inner_text())
        with contextlib.closing(sqlite3.connect(self.server.database, timeout=30)) as database, database:
            database.execute("UPDATE presence SET status_time = status_time - 3600000 WHERE device = ?", (device["id"],))
        page.reload()
        for value in ("83 %", "48,212 km", "on", "ok", "0", "tracking"):
            facts.get_by_text(re.compile(rf"^{value} \(as of (\d+ \w+,? )?\d\d:\d\d\)$")).first.wait_for()
        page.goto(f"{self.server.url}/#/map?vehicle={device['id']}")
        page.get_by_label("The vehicle that is selected").get_by_text(re.compile(r"on \(as of")).wait_for()

    def test_plates_and_notes_are_shown_and_found(self):
        device = self.server.add_device("Box 9")
        self.addCleanup(self.server.verb, "device", "revoke", str(device["id"]))
        admin = self.server.add_user("for plates", "admin")
        self.assertEqual(self.server.ask("POST", "/v1/groups", admin, b'{"name": "North"}').status, 201)
        self.assertEqual(self.server.ask("PATCH", f"/v1/devices/{device['id']}", admin, json.dumps(
            {"plate": "B-XY 123", "note": "for <b>glass</b>", "group": "North"}).encode()).status, 204)
        now = int(time.time() * 1000)
        fleet.upload(self.server, device["access_token"], [fleet.location(now, 52.5, 13.4)], events=[
            {"id": uuid7(now), "kind": "trip", "type": "ended", "timestamp": iso(now), "data": {
                "started_at": iso(now - 600_000), "distance_meters": 900, "duration_seconds": 600}}])
        page = self.page("rita", f"#/vehicle/{device['id']}")
        page.locator(".head").get_by_text("B-XY 123, group North").wait_for()
        page.locator("dl.facts").get_by_text("for <b>glass</b>").wait_for()
        for words in ("b-xy", "GLASS"):
            page.goto(f"{self.server.url}/#/fleet")
            page.get_by_label("Search vehicles").fill(words)
            wait_for(lambda: self.names(page) == ["Box 9 B-XY 123"], f"{words} in the fleet")
            page.goto(f"{self.server.url}/#/map")
            page.get_by_label("Find a vehicle").fill(words)
            items = page.get_by_role("list", name="Vehicles, urgent ones first").get_by_role("listitem")
            wait_for(lambda: items.count() == 1, f"{words} on the map")
            self.assertIn("Box 9 B-XY 123", items.first.inner_text())
            page.goto(f"{self.server.url}/#/reports")
            page.get_by_label("Find vehicles in the report").fill(words)
            wait_for(lambda: [name for name in self.names(page) if name] == ["Box 9"], f"{words} in the report")

    def test_days_without_anything_and_the_one_before(self):
        page = self.page(screen=f"#/vehicle/{self.truck()}?from=2020-01-01T00:00:00Z&to=2020-01-01T23:59:59Z")
        page.get_by_text("No locations in this time.").wait_for()
        page.get_by_text("No trips in this time.").wait_for()
        page.get_by_role("button", name="The day before").click()
        wait_for(lambda: "from=2019-12-30T23:00:00Z" in self.address(page), "the local day before")
        page.goto(self.server.url + "/#/vehicle/99999")
        page.get_by_text("There is no vehicle 99999.").wait_for()
        self.assertFalse(page.get_by_role("slider", name="Time").is_visible())
        page.get_by_role("link", name="All vehicles").click()
        page.get_by_role("heading", name="Fleet").wait_for()

    def test_units_are_those_of_whoever_looks(self):
        screen = f"#/vehicle/{self.truck()}?{self.stretch()}"
        page = self.page(screen=screen, locale="en-US")
        page.locator("dl.sums").get_by_text(re.compile("6[23] mph")).wait_for()
        self.assertRegex(page.locator("dl.sums dd").first.inner_text(), r"^[\d.]+ mi$")
        page.get_by_role("definition").get_by_text("29,957 mi").wait_for()
        units = page.get_by_role("combobox", name="Units")
        units.select_option("kn")
        page.locator("dl.sums").get_by_text(re.compile("5[45] kn")).wait_for()
        units.select_option("km/h")
        page.locator("dl.sums").get_by_text("101 km/h").wait_for()
        self.assertIn(self.stretch().split("&")[0].replace(":", "%3A"), self.address(page).replace(":", "%3A"))
        # The browser keeps what was chosen.
        page.reload()
        page.locator("dl.sums").get_by_text("101 km/h").wait_for()
        page.goto(f"{self.server.url}/#/fleet")
        page.get_by_role("row", name=re.compile("Truck 1")).get_by_text("48,212 km").wait_for()

    def test_fences_axes_and_scales_are_in_these_units_too(self):
        drawn = """window.drawn = new Set();
            const write = CanvasRenderingContext2D.prototype.fillText;
            CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
                window.drawn.add(String(text));
                write.call(this, text, ...rest);
            };"""
        page = self.page(screen=f"#/vehicle/{self.truck()}?{self.stretch()}", script=drawn, locale="en-US")
        page.wait_for_function("() => [...window.drawn].some(text => /^\\d+ ft$/.test(text)) && window.drawn.has('mph')")
        self.assertEqual(page.evaluate("[...window.drawn].filter(text => /^\\d+ m$/.test(text))"), [])
        page.wait_for_function("() => /^\\d+ (mi|ft)$/.test(document.querySelector('.leaflet-control-scale').innerText)")
        page.get_by_role("combobox", name="Units").select_option("kn")
        page.wait_for_function("() => [...window.drawn].some(text => /^\\d+ m$/.test(text)) && window.drawn.has('kn')")
        page.wait_for_function("() => /^\\d+ nmi$/.test(document.querySelector('.leaflet-control-scale').innerText)")
        # As long as it says: the scale of 2 ** 15 pixels a turn, at this latitude.
        page.get_by_role("combobox", name="Units").select_option("mph")
        page.goto(f"{self.server.url}/#/fences?at=52.52000,13.40500,13")
        page.get_by_role("heading", name="Fences", exact=True).wait_for()
        # Not that of the screen before, which goes at this moment.
        page.locator("dl.sums").wait_for(state="detached")
        line = page.locator(".leaflet-control-scale-line")
        number, unit = line.inner_text().split()
        wide = line.evaluate("element => parseFloat(element.style.width)")
        dot = 40_075_017 / 256 / 2 ** 13 * math.cos(math.radians(52.52))
        self.assertAlmostEqual(wide * dot, int(number) * {"mi": 1609.344, "ft": 0.3048}[unit], delta=2 * dot)
        page.get_by_role("button", name="Draw a fence").click()
        page.get_by_text("In numbers", exact=True).click()
        page.get_by_text("latitude, longitude and radius in ft").wait_for()
        page.locator("textarea[name=shape]").fill("52.5163 13.3777 500")
        page.keyboard.press("Tab")
        page.get_by_text("A circle of 500 ft around 52.51630, 13.37770.").wait_for()
        self.assertEqual(page.locator("textarea[name=shape]").input_value(), "52.5163 13.3777 500")
        page.get_by_label("Name of the fence").fill("Stand")
        page.keyboard.press("Enter")
        page.get_by_label("The fence that is selected").get_by_role("heading", name="Stand").wait_for()
        self.assertEqual(self.fences()["Stand"]["radius_meters"], 152.4)
        # A limit is kept in km/h.
        page.goto(f"{self.server.url}/#/alerts")
        page.get_by_role("button", name="Add a rule").click()
        page.locator("dialog input[name=name]").fill("Fast")
        page.locator("dialog select[name=kind]").select_option("speed")
        limit = page.get_by_label("Above mph")
        self.assertEqual(limit.input_value(), "81")
        limit.fill("80")
        page.keyboard.press("Enter")
        page.get_by_role("row", name=re.compile("Fast.*Faster than 80 mph")).wait_for()
        rules = page.evaluate("fetch('/v1/rules').then(answer => answer.json())")["rules"]
        self.assertEqual([rule["kilometers_per_hour"] for rule in rules if rule["name"] == "Fast"], [129])

    def test_reports(self):
        """Trips that a vehicle told, over two days of its viewer, with a stop between those of one day."""
        name = '=1+<b>"Reporter"'
        device = self.server.add_device(name)
        # Days of Berlin, where the browser is: the second trip begins on the second of them, and ends on the third.
        day = datetime.datetime.now(ZoneInfo("Europe/Berlin")).replace(hour=0, minute=0, second=0, microsecond=0)
        first, second = day - datetime.timedelta(days=3), day - datetime.timedelta(days=2)

        def told(start: datetime.datetime, minutes: int, metres: int) -> dict:
            begin = int(start.timestamp() * 1000)
            end = begin + minutes * 60_000
            return {"id": uuid7(end), "kind": "trip", "type": "ended", "timestamp": iso(end), "latitude": 52.5, "longitude": 13.4,
                    "data": {"started_at": iso(begin), "distance_meters": metres, "duration_seconds": minutes * 60,
                             "idle_seconds": 60, "top_speed": 25}}

        fleet.upload(self.server, device["access_token"], [], events=[
            told(first + datetime.timedelta(hours=8), 30, 10_000), told(first + datetime.timedelta(hours=9), 20, 5_000),
            told(second + datetime.timedelta(hours=23, minutes=50), 25, 20_000)])
        page = self.page("rita", "#/reports")
        rows = page.locator("tbody tr").filter(has_text="Reporter")
        page.get_by_label("Find vehicles in the report").fill("reporter")
        rows.nth(1).wait_for()
        page.wait_for_function("document.querySelectorAll('tbody tr').length === 2")
        cells = [row.locator("th, td").all_inner_texts() for row in rows.all()]
        date = "day => new Intl.DateTimeFormat('en-IE', { dateStyle: 'medium' }).format(new Date(`${day}T12:00`))"
        shown = [page.evaluate(date, f"{day:%Y-%m-%d}") for day in (first, second)]
        self.assertEqual(cells, [
            [name, shown[0], "2", "15.0 km", "48 min", "2 min", "1", "30 min", "08:00", "09:20", "90 km/h"],
            [name, shown[1], "1", "20.0 km", "24 min", "1 min", "0", "0 s", "23:50", "00:15", "90 km/h"]])
        self.assertEqual(page.locator("tfoot th, tfoot td").all_inner_texts()[2:5], ["3", "35.0 km", "1 h 12 min"])
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save as CSV").click()
        lines = list(csv.DictReader(io.StringIO(Path(saved.value.path()).read_text(encoding="utf-8"), newline="")))
        self.assertEqual([(line["name"], line["day"], line["distance_meters"], line["stopped_seconds"]) for line in lines],
                         [("'" + name, f"{first:%Y-%m-%d}", "15000", "1800"), ("'" + name, f"{second:%Y-%m-%d}", "20000", "0")])
        self.assertEqual(datetime.datetime.fromisoformat(lines[0]["first_start"]), first + datetime.timedelta(hours=8))
        self.assertEqual(lines[0]["top_speed_meters_per_second"], "25.0")
        # Each trip, of those that are looked for, and of all.
        for words, others in (("reporter", False), ("", True)):
            page.get_by_label("Find vehicles in the report").fill(words)
            with page.expect_download() as saved:
                page.get_by_role("link", name="Each trip as CSV").click()
            text = Path(saved.value.path()).read_text(encoding="utf-8")
            self.assertEqual((text.count("Reporter"), "Truck 1" in text), (3, others))
            if others:
                continue
            told_trips = list(csv.DictReader(io.StringIO(text, newline="")))
            columns = ("name", "distance_meters", "idle_seconds", "top_speed")
            self.assertEqual([tuple(trip[column] for column in columns) for trip in told_trips],
                             [("'" + name, metres, "60", "25.0") for metres in ("10000", "5000", "20000")])
            self.assertEqual(datetime.datetime.fromisoformat(told_trips[0]["start"]), first + datetime.timedelta(hours=8))
        page.get_by_label("Find vehicles in the report").fill("reporter")
        # A trip is of the day on which it began, whichever days are asked for.
        third = second + datetime.timedelta(days=1)
        for asked, count in ((first, 1), (second, 1), (third, 0)):
            page.goto(f"{self.server.url}/#/reports?from={asked:%Y-%m-%d}&to={asked:%Y-%m-%d}")
            page.get_by_label("Find vehicles in the report").fill("reporter")
            wait_for(lambda: page.locator("[aria-busy]").count() == 0, "the report is there")
            self.assertEqual(rows.count(), count, asked)
        page.goto(f"{self.server.url}/#/reports")
        page.get_by_label("Find vehicles in the report").fill("reporter")
        wait_for(lambda: rows.count() == 2, "both days")
        heads = page.locator("thead th").all_inner_texts()
        self.assertEqual(heads[4:8], ["Driving", "Standing in trips", "Stops", "Between trips"])
        page.get_by_label("Rows").select_option("vehicle")
        page.wait_for_function("document.querySelectorAll('tbody tr').length === 1")
        self.assertEqual(rows.locator("th, td").all_inner_texts()[2:4], ["3", "35.0 km"])
        page.get_by_label("Rows").select_option("fleet")
        page.wait_for_function("document.querySelectorAll('tbody tr').length === 2")
        # Each trip by itself, and how long the vehicle stood before it.
        page.get_by_label("Rows").select_option("trip")
        page.wait_for_function("document.querySelectorAll('tbody tr').length === 3")
        cells = [row.locator("th, td").all_inner_texts() for row in rows.all()]
        self.assertEqual([cell[1:2] + cell[6:10] for cell in cells], [
            [shown[0], "0", "0 s", "08:00", "08:30"], [shown[0], "1", "30 min", "09:00", "09:20"],
            [shown[1], "0", "0 s", "23:50", "00:15"]])
        place = rows.nth(1).get_by_role("link").get_attribute("href") or ""
        self.assertIn(f"from={first + datetime.timedelta(hours=9):%Y-%m-%d}", place)
        # A row leads to the day.
        page.get_by_label("Rows").select_option("day")
        rows.first.get_by_role("link").click()
        page.get_by_role("heading", name="Reporter").wait_for()
        self.assertEqual(page.get_by_label("Day", exact=True).input_value(), f"{first:%Y-%m-%d}")
        # What no browser bears is not begun.
        page.goto(f"{self.server.url}/#/reports?from=2010-01-01&to=2026-01-01")
        page.get_by_role("alert").get_by_text("too much for a page").wait_for()

    def test_what_is_shown_is_saved_as_a_file(self):
        page = self.page(screen=f"#/vehicle/{self.truck()}?{self.stretch()}")
        page.locator("dl.sums").get_by_text("101 km/h").wait_for()
        wanted = json.loads(self.server.ask(
            "GET", f"/v1/devices/{self.truck()}/locations?{self.stretch()}", self.reader()).body)["locations"]
        self.assertGreater(len(wanted), 7000)
        for word, ending, mark in (("GPX", "gpx", "<trkpt "), ("GeoJSON", "geojson", '"Point"'), ("CSV", "csv", "\n")):
            with self.subTest(word):
                with page.expect_download() as told:
                    page.get_by_role("link", name=word, exact=True).click()
                self.assertRegex(told.value.suggested_filename, rf"^Truck 1 \d{{4}}-\d\d-\d\d\.{ending}$")
                text = Path(told.value.path()).read_text(encoding="utf-8")
                # A table has a line with its heads.
                self.assertEqual(text.count(mark), len(wanted) + (word == "CSV"))
        # Where there is nothing, there is nothing to save.
        page.goto(f"{self.server.url}/#/vehicle/{self.truck()}?from=2020-01-01T00:00:00Z&to=2020-01-01T23:59:59Z")
        page.get_by_text("No locations in this time.").wait_for()
        self.assertFalse(page.get_by_role("link", name="GPX", exact=True).is_visible())
        page.get_by_text("Times are those of Europe/Berlin.").wait_for()

    def test_the_chart_is_zoomed_and_the_slider_with_it(self):
        page = self.page(screen=f"#/vehicle/{self.truck()}?{self.stretch()}")
        trips = page.get_by_role("tabpanel", name="Trips").get_by_role("button")
        trips.first.wait_for()
        page.locator("dl.sums").get_by_text("101 km/h").wait_for()
        slider, plot = page.get_by_role("slider", name="Time"), page.locator(".plot")

        def span() -> int:
            return int(slider.get_attribute("max")) - int(slider.get_attribute("min"))

        # The middle of the knob at either end is beneath the first and the last moment of the chart.
        slider_box, plot_box = slider.bounding_box(), plot.bounding_box()
        self.assertAlmostEqual(slider_box["x"] + 8, plot_box["x"] + 34, delta=1)
        self.assertAlmostEqual(slider_box["x"] + slider_box["width"] - 8, plot_box["x"] + plot_box["width"] - 40, delta=1)
        whole = span()
        moment = slider.input_value()
        page.get_by_role("button", name="Zoom into the chart").click()
        self.assertAlmostEqual(span(), whole / 2, delta=2000)
        self.assertAlmostEqual(int(slider.input_value()), int(moment), delta=1000, msg="what is looked at stays")
        page.mouse.move(plot_box["x"] + plot_box["width"] / 2, plot_box["y"] + 20)
        page.mouse.wheel(0, -100)
        wait_for(lambda: span() < whole / 2 - 2000, "the wheel zooms, too")
        page.get_by_role("button", name="All of it").click()
        self.assertAlmostEqual(span(), whole, delta=2000)
        trips.nth(2).click()
        self.assertLess(span(), whole / 4, "a trip fills the chart")
        trips.nth(2).click()
        self.assertAlmostEqual(span(), whole, delta=2000)
        page.get_by_role("button", name="Zoom out of the chart").click()
        self.assertAlmostEqual(span(), whole, delta=2000)

    def test_playback_skips_what_is_before_the_first_location(self):
        first = self.stretch().removeprefix("from=").split("&")[0]
        hours = f"from={self.later(first, -10 * 3600)}&to={self.later(first, 6 * 3600)}"
        page = self.page(screen=f"#/vehicle/{self.truck()}?{hours}")
        page.locator("dl.sums").get_by_text("101 km/h").wait_for()
        slider = page.get_by_role("slider", name="Time")
        slider.press("Home")
        page.get_by_label("Speed of the playback").select_option("1")
        page.get_by_role("button", name="Play").click()
        start = datetime.datetime.fromisoformat(first.replace("Z", "+00:00")).timestamp() * 1000
        wait_for(lambda: int(slider.input_value()) >= start, "it begins where something is")

    def test_placeholders_are_shown_whole(self):
        wide = """() => [...document.querySelectorAll("input[placeholder]")].filter((field) => {
            const style = getComputedStyle(field), context = document.createElement("canvas").getContext("2d");
            context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
            // The sign that clears the field takes room before there is something to clear.
            const sides = [style.paddingLeft, style.paddingRight, style.fontSize].map(parseFloat);
            const room = sides.reduce((rest, side) => rest - side, field.clientWidth);
            return context.measureText(field.placeholder).width > room;
        }).map((field) => field.placeholder)"""
        for locale in ("en-IE", "de-DE"):
            page = self.page(locale=locale, viewport={"width": 1280, "height": 800})
            for screen in ("fleet", "map", "reports", "fences", "devices"):
                page.goto(f"{self.server.url}/#/{screen}")
                page.locator("main input[type=search]").first.wait_for()
                with self.subTest(f"{screen} {locale}"):
                    self.assertEqual(page.evaluate(wide), [])

    def test_a_day_that_is_not_over_grows(self):
        now = int(time.time() * 1000)
        token = self.devices["Bus 200"]["access_token"]
        hours = f"from={iso(now - 3_600_000)}&to={iso(now + 3_600_000)}"
        page = self.page(screen=f"#/vehicle/{self.devices['Bus 200']['id']}?{hours}")
        page.get_by_role("heading", name="Bus 200").wait_for()
        page.locator(".readout").get_by_text("Time").wait_for()
        slider = page.get_by_role("slider", name="Time")
        before, distance = int(slider.input_value()), page.locator("dl.sums dd").first.inner_text()
        fleet.upload(self.server, token, fleet.day(now + 1000, 60, step=5), status=fleet.status())
        wait_for(lambda: int(slider.input_value()) > before, "whoever looks at the newest place sees the next")
        wait_for(lambda: page.locator("dl.sums dd").first.inner_text() != distance, "the distance grows")
        # Whoever looks at another moment goes on looking at it.
        slider.press("Home")
        moment = slider.input_value()
        most = int(slider.get_attribute("max"))
        fleet.upload(self.server, token, fleet.day(now + 70_000, 60, step=5), status=fleet.status())
        wait_for(lambda: int(slider.get_attribute("max")) > most, "the day has grown")
        self.assertEqual(slider.input_value(), moment)

    def test_silence_is_judged_by_what_was_promised(self):
        page = self.page()
        judge = """async ([status, hours]) => {
            const { judge } = await import(new URL("health.js", document.querySelector("script[type=module]").src));
            return judge({ seen: 1e12 - hours * 3_600_000, status, latest: { time: 0, motion: "stationary" } }, 1e12).level;
        }"""
        parked = {"state": "tracking", "receiver": "ok"}
        for status, hours, level in (
                (None, 100, "parked"), ({**parked, "heartbeat": 0}, 100, "parked"), (parked, 2, "parked"), (parked, 4, "warn"),
                (parked, 25, "bad"), ({**parked, "heartbeat": 300}, 0.2, "parked"), ({**parked, "heartbeat": 300}, 1, "warn"),
                ({**parked, "heartbeat": 86_400}, 70, "parked"), ({**parked, "heartbeat": 86_400}, 73, "bad")):
            self.assertEqual(page.evaluate(judge, [status, hours]), level, (status, hours))

    def test_commands(self):
        page = self.page(screen=f"#/vehicle/{self.truck()}?tab=commands")
        panel = page.get_by_role("tabpanel", name="Commands")
        panel.get_by_text("tracking.interval_seconds must be within 0…86400").first.wait_for()
        panel.get_by_text("done").first.wait_for()
        number = panel.get_by_role("listitem").count()
        panel.get_by_label("Command").select_option("set_config")
        panel.get_by_label("Settings (JSON)").fill("not JSON")
        panel.get_by_role("button", name="Send").click()
        panel.get_by_text("Settings are not JSON.").wait_for()
        panel.get_by_label("Settings (JSON)").fill('{"tracking.interval_seconds": 7}')
        panel.get_by_role("button", name="Send").click()
        wait_for(lambda: panel.get_by_role("listitem").count() == number + 1, "it is listed")
        sent = json.loads(self.server.ask("GET", f"/v1/devices/{self.truck()}/commands", self.reader()).body)["commands"][0]
        self.assertEqual((sent["command"], sent["arguments"], sent["author"]),
                         ("set_config", {"settings": {"tracking.interval_seconds": 7}}, "ada"))
        # What was chosen stays, for the next one.
        self.assertEqual(panel.get_by_label("Command").input_value(), "set_config")
        self.assertEqual(panel.get_by_label("Settings (JSON)").input_value(), '{"tracking.interval_seconds": 7}')
        panel.get_by_role("listitem").first.get_by_role("button", name="Take back").click()
        panel.get_by_role("listitem").first.get_by_text("taken back").wait_for()

    def test_what_a_vehicle_takes_and_the_line_for_what_it_refused(self):
        device = self.server.add_device("Picky van")
        self.addCleanup(self.server.verb, "device", "delete", str(device["id"]), "--yes")
        admin = self.server.add_user("for commands", "admin")

        def refused(command: str, error: str, **arguments):
            answer = self.server.ask("POST", f"/v1/devices/{device['id']}/commands", admin,
                                     json.dumps({"command": command, **arguments}).encode())
            fleet.upload(self.server, device["access_token"], [], status=fleet.status(), command_results=[
                {"id": answer.json["id"], "command": command, "ok": False, "error": error}])

        refused("stop", "not_allowed")
        refused("set_config", "setting_not_allowed: sync.url", arguments={"settings": {"sync.url": "https://a.example"}})
        # Of a vehicle that does not say what it takes, only the name is known.
        panel = self.page(screen=f"#/vehicle/{device['id']}?tab=commands").get_by_role("tabpanel", name="Commands")
        for words, line in (("add to allow = […]:", '"stop"'), ("add to settings = […]:", '"sync.url"')):
            panel.get_by_text(words).wait_for()
            # On a line of its own.
            panel.get_by_text(line, exact=True).wait_for()
        panel.get_by_text("The vehicle's configuration does not allow this command.").wait_for()
        self.assertNotIn("not_allowed", panel.inner_text())
        self.assertEqual(panel.get_by_text("(not taken)").count(), 0)
        for takes, words, marked in (
                (["locate", "set_config"], 'allow = ["locate", "set_config", "stop"]', 8),
                (["stop"], "takes this command by now", 9), ([], "This vehicle takes no commands", 10),
                ([{}], "add to allow = […]:", 0)):
            with self.subTest(takes):
                fleet.upload(self.server, device["access_token"], [], status=fleet.status(commands=takes))
                panel = self.page(screen=f"#/vehicle/{device['id']}?tab=commands").get_by_role("tabpanel", name="Commands")
                panel.get_by_text(words).wait_for()
                self.assertEqual(panel.get_by_role("option").get_by_text("(not taken)").count(), marked)
                if takes == ["locate", "set_config"]:
                    panel.get_by_text("This vehicle takes: Report its position, Change settings.").wait_for()

    def test_when_a_command_arrives_is_said_and_a_retired_vehicle_is_sent_none(self):
        device = self.server.add_device("Far away")
        for said, words in (({}, "with its next upload."), ({"heartbeat_seconds": 3600}, "every 1 h 0 min at the latest"),
                            ({"heartbeat_seconds": 0}, "parked, it uploads nothing until it moves")):
            fleet.upload(self.server, device["access_token"], [], status=fleet.status(**said))
            panel = self.page(screen=f"#/vehicle/{device['id']}?tab=commands").get_by_role("tabpanel", name="Commands")
            panel.get_by_text(re.compile(words)).wait_for()
            self.assertNotIn(" now", panel.inner_text())
            self.assertEqual(panel.get_by_text("Parked, the vehicle uploads").count(), int(said.get("heartbeat_seconds", 0) > 0))
        self.assertEqual(self.server.verb("device", "revoke", str(device["id"])).returncode, 0)
        panel = self.page(screen=f"#/vehicle/{device['id']}?tab=commands").get_by_role("tabpanel", name="Commands")
        panel.get_by_text("This vehicle is retired: it takes no commands.").wait_for()
        self.assertEqual(panel.get_by_role("button", name="Send").count(), 0)

    def test_a_log_that_was_sent_is_shown_as_text(self):
        device = self.server.add_device("Logger")
        self.addCleanup(self.server.verb, "device", "revoke", str(device["id"]))
        admin = self.server.add_user("for logs", "admin")
        path = f"/v1/devices/{device['id']}/commands"
        for _ in range(2):
            sent = self.server.ask("POST", path, admin, b'{"command": "upload_log"}').json["id"]
            fleet.upload(self.server, device["access_token"], [], status=fleet.status(), command_results=[
                {"id": sent, "command": "upload_log", "ok": True, "result": {}}])
        page = self.page(screen=f"#/vehicle/{device['id']}?tab=commands")
        show = page.get_by_role("button", name="Show its log")
        show.click()
        page.get_by_role("alert").get_by_text("has sent no log").wait_for()
        text = "info: started\n<b>bold</b> & more\n"
        self.assertEqual(self.server.ask("POST", "/v1/logs", device["access_token"], text.encode()).status, 204)
        # The newest of both has the button: there is one log. It is for admins.
        self.assertEqual(show.count(), 1)
        show.click()
        self.assertEqual(page.get_by_label("The log", exact=True).text_content(), text)
        with page.expect_download() as saved:
            page.get_by_role("link", name="Save as a file").click()
        self.assertEqual(Path(saved.value.path()).read_text(encoding="utf-8"), text)
        reader = self.page("rita", f"#/vehicle/{device['id']}?tab=commands").get_by_role("tabpanel", name="Commands")
        reader.get_by_text("done").first.wait_for()
        self.assertEqual(reader.get_by_role("button", name="Show its log").count(), 0)

    # MARK: Fences

    def fences(self) -> dict:
        """Those of the fleet, by name."""
        answer = self.server.ask("GET", "/v1/fences", self.reader())
        return {fence["name"]: fence for fence in json.loads(answer.body)["fences"]}

    def test_fences_are_drawn_changed_and_removed(self):
        page = self.page(screen="#/fences?at=52.52000,13.40500,13")
        box = page.locator(".map").bounding_box()
        middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        chosen = page.get_by_label("The fence that is selected")
        page.get_by_role("button", name="Draw a fence").click()
        page.get_by_role("button", name="Draw a circle").click()
        page.mouse.click(*middle)
        page.mouse.click(middle[0] + 100, middle[1])
        page.get_by_text("A circle of").wait_for()
        page.get_by_label("Name of the fence").fill("Yard")
        page.get_by_label("Report when it is left").uncheck()
        page.get_by_label("Report a stay after so many minutes").fill("10")
        page.get_by_role("button", name="Save the fence").click()
        chosen.get_by_role("heading", name="Yard").wait_for()
        chosen.get_by_text(re.compile("^0 of .* vehicles have it")).wait_for()
        page.get_by_role("button", name="Draw a fence").click()
        page.get_by_role("button", name="Draw a polygon").click()
        for dx, dy in ((-150, -100), (150, -100), (150, 100), (0, 0), (0, 150)):
            page.mouse.click(middle[0] + dx, middle[1] + dy)
        page.get_by_role("button", name="Corner back").click()
        page.get_by_role("button", name="Polygon is done").click()
        page.get_by_label("Name of the fence").fill("Field")
        page.get_by_label("These vehicles").check()
        page.get_by_role("button", name="Save the fence").click()
        page.get_by_text("Choose at least one vehicle.").wait_for()
        page.get_by_label("Bus 100").check()
        page.get_by_role("button", name="Save the fence").click()
        chosen.get_by_text("0 of 1 vehicle has it.").wait_for()
        # By keyboard alone: in numbers.
        page.get_by_role("button", name="Draw a fence").click()
        page.get_by_text("In numbers", exact=True).click()
        page.locator("textarea[name=shape]").fill("nonsense")
        page.keyboard.press("Tab")
        page.get_by_text("This is neither a circle nor a polygon.").wait_for()
        page.locator("textarea[name=shape]").fill("52.5163 13.3777 150")
        page.keyboard.press("Tab")
        page.get_by_text("A circle of 150 m around 52.51630, 13.37770.").wait_for()
        page.get_by_label("Name of the fence").fill("Gate")
        page.keyboard.press("Enter")
        chosen.get_by_role("heading", name="Gate").wait_for()
        drawn = self.fences()
        gate, field, yard = drawn["Gate"], drawn["Field"], drawn["Yard"]
        self.assertEqual((gate["latitude"], gate["longitude"], gate["radius_meters"], gate["all"]), (52.5163, 13.3777, 150, True))
        self.assertNotIn("dwell_seconds", gate)
        self.assertAlmostEqual(yard["latitude"], 52.52, places=3)
        self.assertAlmostEqual(yard["longitude"], 13.405, places=3)
        # 100 dots at zoom 13 and this latitude.
        self.assertAlmostEqual(yard["radius_meters"], 100 * 156543.034 * 0.6085 / 2 ** 13, delta=15)
        self.assertEqual((yard["notify_on_entry"], yard["notify_on_exit"], yard["dwell_seconds"]), (True, False, 600))
        self.assertEqual(len(field["polygon"]), 4)
        self.assertGreater(field["polygon"][0][1], field["polygon"][2][1])
        self.assertEqual(field["devices"], [self.devices["Bus 100"]["id"]])
        # Another shape for whom it was for, and gone.
        page.get_by_label("Fences of the fleet").get_by_text("Field").click()
        chosen.get_by_role("button", name="Change").click()
        self.assertEqual(page.get_by_label("Name of the fence").input_value(), "Field")
        page.get_by_label("Name of the fence").fill("Meadow")
        page.get_by_role("button", name="Save the fence").click()
        chosen.get_by_role("heading", name="Meadow").wait_for()
        self.assertEqual(self.fences()["Meadow"], {**field, "name": "Meadow", "changed": self.fences()["Meadow"]["changed"]})
        chosen.get_by_role("button", name="Remove").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        page.get_by_label("Fences of the fleet").get_by_text("Meadow").wait_for(state="detached")
        self.assertEqual(set(self.fences()), {"Gate", "Yard"})
        # What a vehicle has is solid on its own map, and what it has not is not.
        page.goto(f"{self.server.url}/#/vehicle/{self.truck()}?{self.stretch()}")
        page.locator("path.fence.is-new").first.wait_for()
        page.goto(f"{self.server.url}/#/map?at=52.52000,13.40500,13")
        # Not one of the screen before, which goes at this moment.
        page.locator("dl.sums").wait_for(state="detached")
        page.locator("path.fence").first.wait_for()
        page.locator("path.fence").first.hover(force=True)
        page.locator(".leaflet-tooltip").wait_for()
        # Another one, which somebody adds, does not take the name away that is being read.
        self.server.ask("POST", "/v1/fences", self.server.add_user("for more", "admin"), json.dumps(
            {"name": "Ramp", "latitude": 52.522, "longitude": 13.41, "radius_meters": 80, "all": True}).encode())
        page.locator("path.fence").nth(2).wait_for()
        self.assertTrue(page.locator(".leaflet-tooltip").is_visible())

    def test_rules_that_wait_for_the_name_of_a_fence_are_named_before_it_goes(self):
        admin = self.server.add_user("for rules", "admin")
        made = [self.server.ask("POST", "/v1/fences", admin, json.dumps(
            {"name": name, "latitude": 52.5, "longitude": 13.4, "radius_meters": 300, "all": True}).encode()).json["id"]
            for name in ("Barn", "Shed")]
        rule = self.server.ask("POST", "/v1/rules", admin, json.dumps(
            {"name": "Cows <i>", "kind": "geofence", "type": "exit", "fence": "Barn"}).encode())
        self.addCleanup(self.server.ask, "DELETE", f"/v1/rules/{rule.json['id']}", admin)
        for fence in made:
            self.addCleanup(self.server.ask, "DELETE", f"/v1/fences/{fence}", admin)
        waits = "A rule waits for the name “Barn”, and finds nothing any more: Cows <i>."
        page = self.page(screen=f"#/fences?fence={made[0]}")
        page.get_by_role("button", name="Change").click()
        field = page.get_by_label("Name of the fence")
        self.assertEqual(page.get_by_text(waits).count(), 0)
        field.fill("Byre")
        page.get_by_text(waits).wait_for()
        field.fill("Barn")
        page.get_by_text(waits).wait_for(state="hidden")
        page.get_by_role("button", name="Cancel").click()
        page.get_by_label("The fence that is selected").get_by_role("button", name="Remove").click()
        page.get_by_role("dialog").get_by_text(waits).wait_for()
        page.keyboard.press("Escape")
        page.get_by_label("Fences of the fleet").get_by_text("Shed").click()
        page.get_by_label("The fence that is selected").get_by_role("heading", name="Shed").wait_for()
        page.get_by_label("The fence that is selected").get_by_role("button", name="Remove").click()
        page.get_by_role("dialog").get_by_text("Vehicles forget it").wait_for()
        self.assertEqual(page.get_by_role("dialog").get_by_text("waits for the name").count(), 0)

    # MARK: Devices and users

    def test_devices(self):
        page = self.page(screen="#/devices")
        page.get_by_role("button", name="Add a device").click()
        page.get_by_label("Name", exact=True).fill("New van")
        page.get_by_role("button", name="Add", exact=True).click()
        text = page.get_by_label("The secret").inner_text()
        first = re.search(r'access_token = "(\S+)"', text)
        assert first
        self.assertIn(f'url = "{self.server.url}/v1/batches"', text)
        page.get_by_role("button", name="Done").click()
        page.get_by_label("The secret").wait_for(state="detached")
        self.assertEqual(self.server.post(first[1], {}).status, 400, "the token is good")
        # Rotated.
        page.get_by_role("button", name="New tokens for New van").click()
        page.get_by_role("button", name="Make new tokens").click()
        second = re.search(r'access_token = "(\S+)"', page.get_by_label("The secret").inner_text())
        assert second
        self.assertEqual((self.server.post(first[1], {}).status, self.server.post(second[1], {}).status), (401, 400))
        page.get_by_role("button", name="Done").click()
        # Retired; Escape does nothing.
        page.get_by_role("button", name="Retire New van").click()
        page.keyboard.press("Escape")
        self.assertEqual(self.server.post(second[1], {}).status, 400)
        page.get_by_role("button", name="Retire New van").click()
        page.get_by_role("button", name="Retire", exact=True).click()
        wait_for(lambda: page.get_by_role("button", name="Retire New van").count() == 0, "it is retired")
        self.assertEqual(self.server.post(second[1], {}).status, 401)
        # Claim codes.
        page.get_by_role("button", name="Make a claim code").click()
        page.get_by_label("Devices that may use it").fill("3")
        page.get_by_role("button", name="Make it").click()
        words = page.get_by_label("The secret").inner_text().split()
        code = words[4]
        self.assertEqual(words, ["sudo", "beekonctl", "enroll", self.server.url, code, "--name", "NAME"])
        page.get_by_text("The address is one of this machine alone").wait_for()
        page.get_by_role("button", name="Done").click()
        answer = self.server.ask("POST", "/v1/enroll", None, json.dumps({"code": code, "name": "Enrolled"}).encode(),
                                 Content_Type="application/json")
        self.assertEqual(answer.status, 201, answer)
        page.get_by_role("button", name="End code 1").click()
        page.get_by_role("button", name="End it").click()
        page.get_by_text("There are none.").wait_for()
        # A name that is taken is said where it was asked.
        page.get_by_role("button", name="Add a device").click()
        page.get_by_label("Name", exact=True).fill("Bus 100")
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_role("alert").get_by_text("there is already a device 'Bus 100'").wait_for()

    def test_tokens_that_were_stolen_are_told_while_somebody_looks(self):
        """That an old token was used again, and that another installation uploads: both."""
        device = self.server.add_device("Stolen van")

        def exchange(token: str):
            body = json.dumps({"grant_type": "refresh_token", "refresh_token": token}).encode()
            return self.server.ask("POST", "/v1/token", None, body, Content_Type="application/json")

        pair = exchange(device["refresh_token"]).json
        for _ in range(2):
            # Each is of an installation of its own.
            self.assertEqual(self.server.deliver(pair["access_token"], envelope(1)).status, 200)
        page = self.page(screen="#/devices")
        row = page.get_by_role("row").filter(has_text="Stolen van")
        row.get_by_text("another installation uploads with them").wait_for()
        with contextlib.closing(sqlite3.connect(self.server.database, timeout=30)) as database, database:
            database.execute("UPDATE ended_tokens SET ended = ended - 61000")
        self.assertEqual(exchange(device["refresh_token"]).status, 400)
        # It is told as it happens.
        row.get_by_text("an old token was used again").wait_for()
        row.get_by_text("another installation uploads with them").wait_for()
        page.get_by_role("button", name="New tokens for Stolen van").click()
        page.get_by_role("button", name="Make new tokens").click()
        page.get_by_role("button", name="Done").click()
        row.get_by_text("good").wait_for()

    def test_users(self):
        page = self.page(screen="#/users")
        page.get_by_role("button", name="Add a user").click()
        page.get_by_label("Name", exact=True).fill("nora")
        field = page.get_by_label("Password (10 characters or more)")
        page.get_by_role("button", name="Suggest one").click()
        self.assertRegex(field.input_value(), r"^([a-z2-9]{4}-){3}[a-z2-9]{4}$")
        self.assertEqual(field.get_attribute("type"), "text", "it can be read")
        page.get_by_role("button", name="Show it").click()
        self.assertEqual(field.get_attribute("type"), "password")
        field.fill("a long password")
        page.get_by_role("button", name="Add", exact=True).click()
        token = page.get_by_label("The secret").inner_text()
        page.get_by_role("button", name="Done").click()
        self.assertEqual(self.server.ask("GET", "/v1/devices", token).status, 200)
        page.get_by_role("button", name="Set the password of nora").click()
        page.get_by_label("Password (10 characters or more)").fill(fleet.PASSWORD)
        page.get_by_role("button", name="Set it").click()
        page.get_by_text("The password of nora is set").wait_for()
        self.page("nora").get_by_role("heading", name="Fleet").wait_for()
        page.get_by_role("button", name="Remove nora").click()
        page.get_by_role("button", name="Remove", exact=True).click()
        wait_for(lambda: page.get_by_role("button", name="Remove nora").count() == 0, "nora is removed")
        self.assertEqual(self.server.ask("GET", "/v1/devices", token).status, 401)
        self.assertTrue(page.get_by_role("button", name="Remove ada").is_disabled())

    def test_a_reader_changes_the_own_password(self):
        fleet.add_user(self.server, "pia", "reader")
        page = self.page("pia")
        page.get_by_role("button", name="pia").click()
        page.get_by_label("Current password").fill("wrong password")
        field = page.get_by_label("Password (10 characters or more)")
        page.get_by_role("button", name="Suggest one").click()
        chosen = field.input_value()
        page.get_by_role("button", name="Change it").click()
        page.get_by_role("alert").get_by_text("The current password is wrong").wait_for()
        page.get_by_label("Current password").fill(fleet.PASSWORD)
        page.get_by_role("button", name="Change it").click()
        page.get_by_text("Your password is changed").wait_for()
        # The page goes on, with the new session.
        page.goto(self.server.url + "/#/map")
        page.get_by_text("Live", exact=True).wait_for()
        page.get_by_role("button", name="Sign out").click()
        page.get_by_label("Name").fill("pia")
        page.get_by_label("Password").fill(chosen)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("Live", exact=True).wait_for()

    def test_readers_see_nothing_that_only_admins_may(self):
        page = self.page("rita", f"#/vehicle/{self.truck()}?tab=commands")
        page.get_by_role("heading", name="Truck 1").wait_for()
        page.get_by_role("tabpanel", name="Commands").get_by_text("done").first.wait_for()
        self.assertEqual(page.get_by_role("navigation").get_by_role("link").all_inner_texts(),
                         ["Fleet", "Map", "Events", "Alerts", "Reports"])
        self.assertEqual(page.get_by_role("button", name="Send").count(), 0)
        self.assertEqual(page.get_by_role("button", name="Take back").count(), 0)
        for screen in ("fences", "devices", "users"):
            page.goto(f"{self.server.url}/#/{screen}")
            page.get_by_text("Only admins can see this.").wait_for()
        # And if the page did show it: the server refuses, with the session's own companion.
        refused = page.evaluate("""async (path) => {
            const { csrf } = await (await fetch("/v1/session")).json();
            const headers = { "Content-Type": "application/json", "X-CSRF-Token": csrf };
            const asked = [["POST", path + "/commands"], ["POST", path + "/tokens"], ["DELETE", path], ["POST", "/v1/users"],
                ["POST", "/v1/claims"]];
            return Promise.all(asked.map(
                async ([method, path]) => (await fetch(path, { method, headers, body: "{}" })).status));
        }""", f"/v1/devices/{self.truck()}")
        self.assertEqual(refused, [403] * 5)

    def test_a_server_that_goes_and_comes_back(self):
        page = self.page(screen="#/fleet")
        page.get_by_role("link", name="Trailer 3").wait_for()
        self.server.stop()
        page.get_by_text("Reconnecting").wait_for()
        self.server.start()
        page.get_by_text("Live", exact=True).wait_for()


if __name__ == "__main__":
    unittest.main()
