"""The page in bad hands, and for everybody: hostile names, the policy, other hosts, keyboard, screen readers, themes."""
import http.server
import json
import sqlite3
import sys
import threading
import time
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support import fleet
from server_support.browser import axe_script
from server_support.page_test import PageTest
from server_support.server import iso, uuid7
from support.nightly import IS_LONG
from support.ports import new_port
from support.seeds import part, sample
from support.waiting import wait_for

# Each would say so in `window.hacked`, if a browser took it for more than text.
HOSTILE = ['<img src=x onerror="window.hacked=1">', '"><script>window.hacked=2</script>', "'-(window.hacked=3)-'",
           "<svg onload=window.hacked=4>", "{{version}}${window.hacked=5}"]
SHOWS = "text => document.body.innerText.includes(text) || document.querySelector('h1').textContent === text"
SCREENS = ("#/fleet", "#/map", "#/vehicle/{truck}", "#/vehicle/{truck}?tab=events", "#/vehicle/{truck}?tab=commands",
           "#/fences", "#/devices", "#/users", "#/reports")

# Maps that are zoomed, turned by the wheel or moved, each of which goes some frames later than the one before.
MAPS_THAT_GO = """async (moments) => {
    const { L, makeMap, removeMap, viewText } = await import(
        new URL("map/base.js", document.querySelector("script[type=module]").src));
    const acts = [
        (map) => map.setZoom(6),
        (map) => map.panBy([90, 40]),
        (map) => { map.setView([31, 11], 5); L.Util.requestAnimFrame(() => map.panBy([50, 0])); },
        (map) => map.getContainer().dispatchEvent(new WheelEvent("wheel", { deltaY: -300, bubbles: true, cancelable: true })),
    ];
    let late = 0;
    const live = async (act, frames) => {
        const element = document.createElement("div");
        element.style.cssText = "position: fixed; width: 300px; height: 200px";
        document.body.append(element);
        const map = makeMap(element, "A map");
        let gone = false;
        map.on("moveend", () => { late += gone; viewText(map); });
        act(map);
        for (let frame = 0; frame < frames; frame += 1) await new Promise(requestAnimationFrame);
        removeMap(map);
        gone = true;
        element.remove();
    };
    await Promise.all(acts.flatMap((act) => moments.map((frames) => live(act, frames))));
    await new Promise((done) => setTimeout(done, 600));
    return late;
}"""


class SafetyTests(PageTest):
    def screens(self) -> list:
        return [screen.format(truck=self.truck()) for screen in SCREENS]

    def test_hostile_texts_are_texts(self):
        now = int(time.time() * 1000)
        admin = self.server.add_user('<img src=x onerror="window.hacked=6">', "admin")
        for number in (place - 1 for place in sample("hostile texts", len(HOSTILE), 2)):
            text = HOSTILE[number]
            device = self.server.add_device(f"plain {number}")
            # There may be names of before a slash was refused.
            with sqlite3.connect(self.server.database, timeout=30) as database:
                database.execute("UPDATE devices SET name = ? WHERE id = ?", (text, device["id"]))
            rows = fleet.day(now - 60_000, 60, fleet.HOME)
            fleet.upload(
                self.server, device["access_token"], rows, extras={text: text},
                status=fleet.status(receiver="no_fix", version=text, state=text),
                events=[{"id": uuid7(now), "kind": text[:60], "timestamp": iso(now - 1000), "data": {text: text}}],
                geofence_events=[{"id": uuid7(now), "geofence_id": text, "type": "enter", "timestamp": iso(now - 900)}])
            fence = {"id": text, "latitude": 52.52, "longitude": 13.405, "radius_meters": 500}
            drawn = self.server.ask("POST", "/v1/fences", admin, json.dumps(
                {**{key: value for key, value in fence.items() if key != "id"}, "name": text, "all": True}).encode())
            self.assertIn(drawn.status, (201, 400), drawn)
            made = self.server.ask("POST", f"/v1/devices/{device['id']}/commands", admin, json.dumps(
                {"command": "add_geofences", "arguments": {"geofences": [fence]}}).encode())
            self.assertEqual(made.status, 201, made)
            fleet.upload(self.server, device["access_token"], [], command_results=[
                {"id": made.json["id"], "command": text, "ok": number < 2, "error": text}])
            page = self.page(screen="#/fleet")
            for screen in ("#/fleet", "#/map?at=52.52,13.405,15", f"#/map?vehicle={device['id']}", f"#/vehicle/{device['id']}",
                           f"#/vehicle/{device['id']}?tab=events", f"#/vehicle/{device['id']}?tab=commands",
                           "#/fences", "#/devices", "#/users"):
                with self.subTest(f"{number} {screen}"):
                    page.goto(self.server.url + "/" + screen)
                    where = {"#/users": '<img src=x onerror="window.hacked=6">'}.get(screen, text)
                    wait_for(lambda: page.evaluate(SHOWS, where), f"{screen} shows {where}")
                    # Fences tell their names where somebody points at them.
                    if number < 2 and "fences" in screen:
                        page.locator("path.fence").first.hover(force=True)
                        page.locator(".leaflet-tooltip").get_by_text(text).wait_for()
                    self.assertIsNone(page.evaluate("window.hacked ?? null"))
            # In the address, too.
            page.goto(f"{self.server.url}/#/fleet?q={text}&health={text}&sort={text}")
            page.goto(f"{self.server.url}/#/{text}/{text}?at={text}&t={text}&from={text}&tab={text}")
            self.assertIsNone(page.evaluate("window.hacked ?? null"))

    def test_headers_and_the_policy(self):
        answer = self.server.ask("GET", "/")
        policy = answer.headers["content-security-policy"]
        self.assertEqual(policy, (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
            "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"))
        self.assertEqual(answer.headers["content-type"], "text/html; charset=utf-8")
        self.assertNotIn(b"onclick", answer.body)
        script = answer.body.decode().split('type="module" src="')[1].split('"')[0]
        kept = self.server.ask("GET", script)
        self.assertEqual((kept.headers["content-type"], kept.headers["cache-control"]),
                         ("text/javascript; charset=utf-8", "public, max-age=31536000, immutable"))
        self.assertEqual(self.server.ask("GET", "/", None, None, If_None_Match=answer.headers["etag"]).status, 304)
        for path in ("/page/../../../etc/passwd", "/page/x/../../Package.swift", "/page/x/%2e%2e/index.html",
                     "/page/x/js/none.js"):
            self.assertEqual(self.server.ask("GET", path).status, 404, path)
        self.assertEqual(self.server.ask("POST", "/").status, 405)
        # What would be run in spite of all: the browser refuses.
        page = self.page()
        page.evaluate("""() => { const script = document.createElement("script"); script.textContent = "window.hacked = 7";
            document.body.append(script); const image = document.createElement("div");
            image.innerHTML = "<img src=x onerror='window.hacked=8'>"; document.body.append(image); }""")
        refused = page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')")
        self.assertEqual((page.evaluate("window.hacked ?? null"), refused), (None, "refused"))
        # Playwright tells of errors while it is asked something.
        wait_for(lambda: page.evaluate("1") and any("Content Security Policy" in error for error in self.errors), "it is told")
        self.errors.clear()

    # MARK: For everybody

    def test_by_keyboard_alone(self):
        page = self.page(None)
        # The name has the focus as soon as it is there.
        page.locator("input:focus").wait_for()
        page.keyboard.type("ada")
        page.keyboard.press("Tab")
        page.keyboard.type(fleet.PASSWORD)
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Fleet").wait_for()
        page.get_by_role("link", name="Truck 1").wait_for()
        self.tab_to(page, "Map")
        page.keyboard.press("Enter")
        self.tab_to(page, "Courier 7")
        page.keyboard.press("Enter")
        page.get_by_label("The vehicle that is selected").get_by_role("heading", name="Courier 7").wait_for()
        self.tab_to(page, "Show the day", back=True)
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Courier 7").wait_for()
        self.tab_to(page, "Trips")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        wait_for(lambda: page.get_by_role("tab", name="Commands").get_attribute("aria-selected") == "true", "arrows change tabs")
        # What has the focus is to be seen.
        self.assertNotIn(page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), ("none", ""))

    def test_a_map_may_go_at_any_moment(self):
        """Leaflet puts things off to a later frame, when the map may be no more."""
        page = self.page()
        moments = sample("frames until a map goes", 40, 12)
        self.assertEqual(page.evaluate(MAPS_THAT_GO, moments), 0, "moves that were heard of when the map had gone")

    @staticmethod
    def tab_to(page, text: str, back: bool = False):
        for _ in range(80):
            page.keyboard.press("Shift+Tab" if back else "Tab")
            if page.evaluate("(document.activeElement.innerText || '')").strip().startswith(text):
                return
            if text in page.evaluate("(document.activeElement.innerText || '')") and text == "Courier 7":
                return
        raise AssertionError(f"no way to {text!r} by keyboard")

    def test_screen_readers(self):
        """axe-core finds nothing: names, roles, contrasts, in both themes, wide and narrow. What it takes is nearly all of this
        test, so each screen has one of the four of these, and another one with another commit."""
        script = axe_script()
        checks = 0
        ways = [("light", 390), ("dark", 1440), ("light", 1440), ("dark", 390)]
        if not IS_LONG:
            ways = ways[:2] if part() % 2 else ways[2:]
        for number, (theme, width) in enumerate(ways):
            page = self.page(None, color_scheme=theme, bypass_csp=True, viewport={"width": width, "height": 900})
            screens = [screen for place, screen in enumerate(self.screens()) if IS_LONG or (place + part() // 2) % 2 == number]
            if IS_LONG or number == part() // 2 % 2:
                self.check(page, script, f"sign in {theme} {width}")
                screens.append("#/devices dialog")
            self.sign_in(page.context, "ada")
            page.reload()
            page.get_by_role("heading", name="Fleet").wait_for()
            for screen in screens:
                page.goto(self.server.url + "/" + screen.split(" ")[0])
                page.get_by_text("Live", exact=True).wait_for()
                wait_for(lambda: page.evaluate("!document.querySelector('[aria-busy]')"), "it is there")
                if screen.endswith("dialog"):
                    page.get_by_role("button", name="Add a device").click()
                self.check(page, script, f"{screen} {theme} {width}")
                checks += 1
                wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                self.assertLessEqual(wide, 0, f"{screen} at {width} scrolls sideways")
        print(f"axe: {checks} views, no violation")

    def check(self, page, script: str, what: str):
        if not page.evaluate("Boolean(window.axe)"):
            page.evaluate(script)
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
        said = [f"{one['id']}: {one['help']}: {[node['html'][:120] for node in one['nodes'][:3]]}" for one in found]
        with self.subTest(what):
            self.assertEqual(said, [])

    def test_themes_and_stillness(self):
        page = self.page(color_scheme="dark")
        ground = "getComputedStyle(document.body).backgroundColor"
        dark = page.evaluate(ground)
        page.get_by_role("button", name="Light theme").click()
        light = page.evaluate(ground)
        self.assertNotEqual(dark, light)
        page.reload()
        page.get_by_role("button", name="Dark theme").wait_for()
        self.assertEqual(page.evaluate(ground), light, "it is remembered")
        self.assertEqual(self.page(color_scheme="light").evaluate(ground), light)
        still = self.page(screen="#/map", reduced_motion="reduce")
        still.locator(".leaflet-container").wait_for()
        self.assertEqual(still.locator(".leaflet-fade-anim, .leaflet-zoom-anim").count(), 0)


class Tiles(http.server.BaseHTTPRequestHandler):
    """A tile server: a picture of one dot."""

    asked: list = []
    DOT = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c020000000b4944415478da6364f80f00010501"
                        "012718e3660000000049454e44ae426082")

    def do_GET(self):
        self.asked.append((self.path, self.headers.get("Referer"), self.headers.get("Cookie")))
        self.send_response(200)
        self.send_header("Content-Type", "image/png")
        self.end_headers()
        self.wfile.write(self.DOT)

    def log_message(self, format: str, *args: Any):
        pass


class TileTests(PageTest):
    """With tiles of the operator: from there, and from nowhere else."""

    tiles: http.server.ThreadingHTTPServer
    host: str

    @classmethod
    def setUpClass(cls):
        cls.tiles = http.server.ThreadingHTTPServer(("127.0.0.1", new_port()), Tiles)
        threading.Thread(target=cls.tiles.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.tiles.server_close)
        cls.addClassCleanup(cls.tiles.shutdown)
        cls.host = f"127.0.0.1:{cls.tiles.server_port}"
        cls.options = ("--tiles", f"http://{cls.host}/{{z}}/{{x}}/{{y}}.png", "--tiles-attribution",
                       '© <script>window.hacked=9</script> https://example.org/copyright')
        super().setUpClass()

    def test_tiles(self):
        page = self.page(screen="#/map?at=52.52,13.405,12")
        wait_for(lambda: Tiles.asked, "tiles are asked for")
        self.assertTrue(all(url.startswith(f"http://{self.host}/12/") for url in self.foreign), self.foreign[:3])
        credit = page.locator(".leaflet-control-attribution a")
        self.assertEqual(credit.get_attribute("href"), "https://example.org/copyright")
        self.assertEqual(credit.inner_text(), "© <script>window.hacked=9</script>")
        self.assertIsNone(page.evaluate("window.hacked ?? null"))
        # Which site asks, as tile servers want it, but not what is looked at.
        self.assertEqual({referer for _, referer, _ in Tiles.asked}, {self.server.url + "/"})
        self.foreign.clear()


if __name__ == "__main__":
    unittest.main()
