"""The pictures of the page and of the terminal in the documents (`make pictures`): of a server with vehicles in every state, on
the streets of the map of `make fleet`. Written into docs, as they are to be shown.

Usage: pictures.py [--sim .build/debug/beekon-sim]; BEEKON_SERVER_BIN names the folder of beekon-server.
"""
from __future__ import annotations

import argparse
import datetime
import html
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "etc/demo"))

from places import PLACES
from server_support import fleet
from server_support.browser import Browser
from server_support.server import Server

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
    # The pictures of the map are there, and nothing moves.
    page.wait_for_function("[...document.querySelectorAll('img.leaflet-tile')].every(tile => tile.complete)")
    page.wait_for_function("document.getAnimations().every(one => one.playState !== 'running')")
    page.screenshot(path=str(DOCS / f"page-{name}.jpg"), type="jpeg", quality=82)


def screens(browser: Browser, server: Server, devices: dict) -> None:
    truck = devices["Truck 1"]["id"]
    day = f"#/vehicle/{truck}"
    for name, screen, options in (
            ("sign-in", None, DESK), ("fleet", "#/fleet", DESK), ("map", "#/map", DESK), ("map-dark", "#/map", {**DESK, **DARK}),
            ("day", day, DESK), ("day-phone", day, PHONE), ("fleet-phone", "#/fleet", PHONE),
            ("commands", f"{day}?tab=commands", DESK),
            ("reports", "#/reports", DESK), ("fences", "#/fences", DESK), ("devices", "#/devices", DESK),
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
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, options=("--map", str(TOWN)))
        browser = Browser()
        try:
            devices = fleet.make(server)
            screens(browser, server, devices)
            terminal(browser)
        finally:
            browser.close()
            server.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
