"""The pictures of the page and of the terminal in the documents (`make pictures`): of a server with vehicles in every state, on
the streets of the map of `make fleet`. Written into docs, as they are to be shown.

Usage: pictures.py [--sim .build/debug/beekon-sim]; BEEKON_SERVER_BIN names the folder of beekon-server.
"""
from __future__ import annotations

import argparse
import contextlib
import datetime
import html
import http.server
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "etc/demo"))

from places import PLACES
from server_support import fleet
from server_support.browser import Browser
from server_support.server import Server, iso, uuid7
from support.waiting import wait_for

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
TOWN = ROOT / "etc/demo/town.mbtiles"
SCREENS = ROOT / "Tests/System/cli/screens"
DESK = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}
DARK = {"color_scheme": "dark"}
# Seconds of a drive that are on streets.
LONGEST = 7200
TERMINAL = """<style>
    body { margin: 0; background: #1a2128; }
    pre { margin: 0; padding: 20px 24px; width: max-content; font: 15px/1.4 "DejaVu Sans Mono", monospace; color: #dfe6ea; }
    b { color: #5fc3c9; font-weight: normal; }
</style>"""


class Drives:
    """Takes the place of the tests' own drives: the simulated vehicles', each with a seed of its own."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.number = 0

    def day(self, first_ms: int, seconds: int, home: tuple = (), step: int = 1) -> list:
        self.number += 1
        seed = (self.number - 1) % len(PLACES) + 1
        latitude, longitude = PLACES[seed % len(PLACES)]
        length = min(seconds, LONGEST)
        last = first_ms // 1000 + seconds
        start = datetime.datetime.fromtimestamp(last - length, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        said = subprocess.run(
            [self.program, "--file", "-", "--seed", str(seed), "--at", f"{latitude},{longitude}", "--noise", "0.5",
             "--start", start, "--duration", str(length)], capture_output=True, text=True, check=True).stdout
        found = []
        altitude = 0.0
        moment = (last - length) * 1000
        for line in said.splitlines():
            part = line.split(",")
            if line.startswith("$GPGGA"):
                altitude = float(part[9] or 0)
            if not line.startswith("$GPRMC"):
                continue
            moment += 1000
            if moment // 1000 % step or not part[3]:
                continue
            north, east = (int(value[:-8]) + float(value[-8:]) / 60 for value in (part[3], part[5]))
            speed = float(part[7]) * 1852 / 3600
            found.append(fleet.location(
                moment, north, east, speed=round(speed, 2), altitude=altitude,
                motion="moving" if speed > 0.5 else "stationary", **({"bearing": float(part[8])} if part[8] else {})))
        return found


class Gateway(http.server.BaseHTTPRequestHandler):
    """Accepts each webhook."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def gateway() -> Iterator[str]:
    """The address of a receiver of webhooks."""
    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield f"http://gateway.localhost:{listener.server_port}/hooks/fleet"
    finally:
        listener.shutdown()
        listener.server_close()


def square(place: tuple, meters: float) -> list:
    north, east = meters / 111_320, meters / 64_000
    return [[place[1] + east * x, place[0] + north * y] for x, y in ((-1, -1), (1, -0.8), (1.2, 0.9), (-0.9, 1))]


def fill(server: Server, devices: dict, webhook: str) -> None:
    """Fences that most of the vehicles have taken, rules, and what they found."""
    admin = server.add_user("painter", "admin")

    def make(path: str, **fields: Any) -> None:
        answer = server.ask("POST", path, admin, json.dumps(fields).encode())
        assert answer.status == 201, answer

    for group, names in (("Couriers", ("Courier 7", "Courier 8")), ("Trucks", ("Truck 1", "Truck 2"))):
        assert server.verb("group", "add", group).returncode == 0
        for name in names:
            assert server.verb("device", "edit", str(devices[name]["id"]), "--group", group).returncode == 0
    make("/v1/fences", name="Depot", latitude=PLACES[6][0], longitude=PLACES[6][1], radius_meters=450, all=True)
    make("/v1/fences", name="Harbour", polygon=square(PLACES[1], 700), all=True, dwell_seconds=600)
    make("/v1/fences", name="Old town", polygon=square(PLACES[9], 500), groups=["Couriers"])
    make("/v1/rules", name="Theft", kind="power", type="lost", webhook=webhook)
    make("/v1/rules", name="Arrivals", kind="geofence", type="enter", fence="Depot", group="Trucks", webhook=webhook)
    make("/v1/rules", name="Receivers", kind="failing", webhook=webhook)
    make("/v1/rules", name="Night", kind="trip", type="started", group="Couriers")
    for name in ("Truck 1", "Truck 2", "Courier 8", "Bus 100", "Bus 200"):
        token = devices[name]["access_token"]
        told = fleet.upload(server, token, [])["commands"]
        fleet.upload(server, token, [], command_results=[
            {"id": command["id"], "command": command["command"], "ok": True} for command in told])
    now = int(time.time() * 1000)

    def happen(name: str, ago: int, kind: str, type_: str, subject: str | None = None) -> None:
        moment = now - ago * 1000
        event = {"id": uuid7(moment), "type": type_, "timestamp": iso(moment)}
        if kind == "geofence":
            fleet.upload(server, devices[name]["access_token"], [], geofence_events=[{**event, "geofence_id": subject}])
        else:
            fleet.upload(server, devices[name]["access_token"], [],
                         events=[{**event, "kind": kind, **({"subject": subject} if subject else {})}])

    for step in ((2900, "trip", "started"), (1800, "trip", "ended"), (1790, "ignition", "off")):
        happen("Courier 8", *step)
    happen("Truck 2", 2400, "geofence", "enter", "Depot")
    happen("Truck 2", 1500, "dwell", "dwell", "Depot")
    happen("Truck 2", 900, "geofence", "exit", "Depot")
    happen("Van Alexanderplatz", 620, "power", "lost")
    happen("Courier 7", 300, "trip", "started")
    happen("Courier 7", 302, "ignition", "on")
    fleet.upload(server, devices["Van Tempelhof"]["access_token"], [], status=fleet.status(receiver="no_fix"))
    wait_for(lambda: not any(alert.get("webhook") == "waiting" for alert in
                             server.ask("GET", "/v1/alerts", admin).json["alerts"]), "the webhooks")


def signed_in(browser: Browser, server: Server, screen: str, options: dict) -> Any:
    page = browser.context(**options).new_page()
    page.goto(f"{server.url}/{screen}")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(fleet.PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("navigation").wait_for()
    page.wait_for_load_state("networkidle") if "vehicle" in screen else page.get_by_text("Live", exact=True).wait_for()
    return page


def take(page: Any, name: str) -> None:
    # The page's policy forbids what `wait_for_function` does.
    wait_for(lambda: page.evaluate(
        "[...document.querySelectorAll('img.leaflet-tile')].every(tile => tile.complete && tile.style.opacity === '1')"),
        "the pictures of the map, none of them still fading in")
    wait_for(lambda: page.evaluate("document.getAnimations().every(one => one.playState !== 'running')"), "an end of all motion")
    page.screenshot(path=str(DOCS / f"page-{name}.jpg"), type="jpeg", quality=82)


def screens(browser: Browser, server: Server, devices: dict) -> None:
    truck = devices["Truck 1"]["id"]
    day = f"#/vehicle/{truck}"
    for name, screen, options in (
            ("sign-in", None, DESK), ("fleet", "#/fleet", DESK), ("map", "#/map", DESK), ("map-dark", "#/map", {**DESK, **DARK}),
            ("day", day, DESK), ("day-phone", day, PHONE), ("fleet-phone", "#/fleet", PHONE),
            ("commands", f"{day}?tab=commands", DESK),
            ("events", "#/events", DESK), ("alerts", "#/alerts", DESK), ("reports", "#/reports", DESK),
            ("fences", "#/fences", DESK), ("devices", "#/devices", DESK),
            ("users", "#/users", DESK)):
        if screen is None:
            page = browser.context(**options).new_page()
            page.goto(server.url)
            page.get_by_role("heading", name="Sign in").wait_for()
        else:
            page = signed_in(browser, server, screen, options)
        if screen == day:
            page.get_by_role("tabpanel", name="Trips").get_by_role("button").last.click()
            page.get_by_role("slider", name="Time").press("PageUp")
            page.evaluate("() => { document.activeElement.blur(); document.getElementById('main').scrollTop = 0; }")
        if name == "fences":
            page.get_by_text("Depot", exact=True).click()
            page.get_by_text(re.compile(r"\d vehicles? ha")).wait_for()
        take(page, name)
        page.context.close()


def terminal(browser: Browser) -> None:
    """`beekonctl status`, as the tests hold it."""
    text = "$ beekonctl status\n" + (SCREENS / "status-80.txt").read_text(encoding="utf-8")
    lines = [f"<b>{html.escape(line)}</b>" if line.startswith("$") else html.escape(line) for line in text.splitlines()]
    page = browser.context(device_scale_factor=2).new_page()
    page.set_content(f"{TERMINAL}<pre>" + "\n".join(lines) + "</pre>")
    page.locator("pre").screenshot(path=str(DOCS / "terminal.png"))


def main() -> int:
    parser = argparse.ArgumentParser(description="The pictures of the page and of the terminal in the documents.")
    parser.add_argument("--sim", default=str(ROOT / ".build/debug/beekon-sim"), metavar="FILE", help="beekon-sim")
    chosen = parser.parse_args()
    fleet.day = Drives(chosen.sim).day
    with tempfile.TemporaryDirectory() as folder, gateway() as webhook:
        server = Server(folder, options=("--map", str(TOWN)))
        browser = Browser()
        try:
            devices = fleet.make(server)
            fill(server, devices, webhook)
            screens(browser, server, devices)
            terminal(browser)
        finally:
            browser.close()
            server.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
