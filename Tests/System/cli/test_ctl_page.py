"""The page of `plot --html`, opened in a real browser without a network; and the track in the terminal."""
import html
import json
import os
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import SEED, CtlTest, drive
from support.browser import CHROMIUM, Browser
from support.fake_daemon import location, status
from support.text import match

EVIL = "</script><script>document.title='owned'</script>"
FENCES = {"geofences": [
    {"id": "home", "latitude": 52.5163, "longitude": 13.3777, "radius_meters": 300.0, "inside": True},
    {"id": EVIL, "latitude": 52.53, "longitude": 13.40, "radius_meters": 1500.0},
    {"id": "yard", "latitude": 52.56, "longitude": 13.43, "radius_meters": 2500.0,
     "polygon": [[13.40, 52.54], [13.46, 52.54], [13.46, 52.58], [13.43, 52.55], [13.40, 52.58]]}]}
# The paint in the middle of the polygon, in the bay between its two upper corners, and outside; the track is elsewhere.
POLYGON = """
  const frame = () => new Promise(requestAnimationFrame);
  document.querySelector("[data-act=fit]").click();
  await frame();
  await frame();
  const box = map.getBoundingClientRect(), ratio = map.width / box.width, pen = map.getContext("2d");
  const paint = (lat, lon) => pen.getImageData(Math.round(screenX(toX(lon), box.width) * ratio),
    Math.round(screenY(toY(lat), box.height) * ratio), 1, 1).data[3];
  return [[52.545, 13.453], [52.5737, 13.4233], [52.535, 13.453]].map(place => paint(...place) > 0);"""
# The paint of the chosen trip: before the choice, after it, and whether the map has come closer.
TRIP = """
  const frame = () => new Promise(requestAnimationFrame);
  const has = () => {
    const wanted = colours.trip.match(/\\w\\w/g).map(part => parseInt(part, 16));
    const data = map.getContext("2d").getImageData(0, 0, map.width, map.height).data;
    for (let i = 0; i < data.length; i += 4) if (wanted.every((value, at) => data[i + at] === value)) return true;
    return false;
  };
  const before = has(), scale = view.scale;
  document.querySelector("#trips tbody tr").click();
  await frame();
  await frame();
  return [before, has(), view.scale > scale];"""
# Moves the mouse over the middle of the track, zooms, and counts the pixels that are then not empty.
HOVER = """
  const frame = () => new Promise(requestAnimationFrame);
  const box = map.getBoundingClientRect(), half = count >> 1;
  const x = screenX(xs[half], box.width), y = screenY(ys[half], box.height);
  map.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + x, clientY: box.top + y, bubbles: true}));
  const before = view.scale;
  document.querySelector("[data-act=in]").click();
  await frame();
  await frame();
  const data = map.getContext("2d").getImageData(0, 0, map.width, map.height).data;
  let painted = 0;
  for (let i = 3; i < data.length; i += 4) if (data[i]) painted++;
  return {zoom: view.scale / before, painted, tip: document.getElementById("tip").textContent};"""


def parked_drive() -> list:
    """Twenty minutes of driving, with a fifteen-minute stop in the middle."""
    found, time_ms = [], 1_781_500_000_000
    for index in range(1200):
        time_ms += 900_000 if index == 600 else 1000
        found.append(location(index, time_ms, 52.5 + index * 1e-4, 13.4 + index * 5e-5, "s1", speed=15.0 + index % 5,
                              motion="stationary" if index == 599 else "moving"))
    return found


@unittest.skipUnless(CHROMIUM, "chromium is not installed")
class PageTests(CtlTest):
    real_time = True

    def page(self, locations: list, **answers) -> str:
        daemon = self.fake_daemon(ListGeofences=FENCES, **answers)
        daemon.locations = locations
        path = self.path("track.html")
        self.run_ctl(daemon, "plot", "--html", path)
        return path

    def browser(self) -> Browser:
        return self.enterContext(Browser(self.path("profile")))

    def test_what_it_shows(self):
        browser = self.browser()
        browser.open(self.page(parked_drive()))
        document = browser.document()
        self.assertIn('data-drawn="1200"', document)
        self.assertNotIn("<title>owned", document)
        self.assertIn("<title>Track of June 15, 2026</title>", document)
        summary = html.unescape(match(r'id="summary">([^<]*)<', document)[1])
        for part in ("1,200 locations", "at most 68.4 km/h", "35 min", "times in UTC", "13.9 km"):
            self.assertIn(part, summary)
        stops, fences = (match(rf'id="{name}".*?<tbody>(.*?)</tbody>', document, re.S)[1] for name in ("stops", "fences"))
        self.assertEqual(stops.count("<tr"), 1)
        self.assertIn(">15 min<", stops)
        self.assertEqual(fences.count("<tr"), 3)
        self.assertIn(f">{html.escape(EVIL, quote=False)}<", fences)
        self.assertIn(">1.5 km<", fences)
        # The location in the middle shows its time and speed.
        seen = browser.run(HOVER)
        self.assertIn("km/h", seen["tip"])
        self.assertIn("52.5", seen["tip"])
        self.assertRegex(seen["tip"], r"\d:\d\d:\d\d")
        self.assertAlmostEqual(seen["zoom"], 1.5)
        self.assertGreater(seen["painted"], 2000)

    def test_polygons(self):
        browser = self.browser()
        browser.open(self.page(parked_drive()))
        self.assertEqual(browser.run(POLYGON), [True, False, False])

    def test_trips(self):
        locations = parked_drive()
        trips = [{"started_at": locations[first]["timestamp"], "ended_at": locations[last]["timestamp"],
                  "distance_meters": 6900.0, "duration_seconds": 599.0, "top_speed": 19.0, "idle_seconds": 0.0}
                 for first, last in ((0, 599), (600, 1199))]
        del trips[1]["ended_at"]
        browser = self.browser()
        browser.open(self.page(locations, GetTrips={"trips": trips}))
        rows = match(r'id="trips".*?<tbody>(.*?)</tbody>', browser.document(), re.S)[1]
        self.assertEqual(rows.count("<tr"), 2)
        for part in (">6.9 km<", ">10 min<", ">68 km/h<", ">under way<"):
            self.assertIn(part, rows)
        self.assertEqual(browser.run(TRIP), [False, True, True])
        # Times are not broken into letters for want of room.
        self.assertLess(browser.run("return document.querySelector('#trips tbody tr').offsetHeight;"), 100)

    def test_a_hundred_thousand_locations(self):
        path = self.page(drive(100_000))
        self.assertLess(os.path.getsize(path), 12_000_000)
        browser = self.browser()
        browser.open(path)
        self.assertIn('data-drawn="100000"', browser.document())

    def test_charts_of_nothing_are_not_shown(self):
        bare = [location(index, 1_781_500_000_000 + index * 1000, 52 + index * 1e-4, 13, "s", speed=None, altitude=None,
                         bearing=None, accuracy=None) for index in range(10)]
        browser = self.browser()
        browser.open(self.page(bare))
        document = browser.document()
        self.assertEqual(len(re.findall(r'<section class="card chart" hidden', document)), 2)
        self.assertIn("speed unknown", document)

    def test_light_and_dark(self):
        browser, path, shades = self.browser(), self.page(parked_drive()), []
        for dark in (False, True):
            browser.open(path, dark=dark)
            shades.append(browser.screenshot())
        self.assertNotEqual(shades[0], shades[1])


class TerminalPlotTests(CtlTest):
    def test_it_fits_and_has_a_scale(self):
        daemon = self.fake_daemon()
        daemon.locations = parked_drive()
        lines = self.run_ctl(daemon, "plot").stdout.splitlines()
        self.assertLessEqual(len(lines), 24)
        self.assertTrue(all(len(line) <= 80 for line in lines))
        self.assertIn("1,200 locations, 13.9 km", lines[0])
        self.assertRegex(lines[-3], r"^├─+┤ \d+ k?m, north is up$")
        self.assertIn("P 1 stop", lines[-1])
        self.assertNotIn("\033", "".join(lines))

    def test_json(self):
        daemon = self.fake_daemon()
        daemon.locations = parked_drive()
        found = json.loads(self.run_ctl(daemon, "plot", "--json").stdout)
        self.assertEqual((found["locations"], found["sessions"], len(found["stops"])), (1200, 1, 1))
        # Fifteen minutes, and the last fifty metres before it.
        self.assertEqual(found["stops"][0]["seconds"], 904)
        self.assertEqual(found["start"], daemon.locations[0]["timestamp"])

    def test_nothing_to_draw(self):
        daemon = self.fake_daemon(GetStatus=status(sync={"state": "idle"}))
        path = self.path("none.html")
        for words in (("plot",), ("plot", "--html", path)):
            done = self.run_ctl(daemon, *words)
            self.assertEqual(done.stdout, "")
            self.assertIn("keep_uploaded", done.stderr)
        self.assertFalse(os.path.exists(path))


if __name__ == "__main__":
    print(f"BEEKOND_SEED={SEED}")
    unittest.main()
