"""What the page's map is made of: the operator's own file, the tiles of others, and the built-in map beneath them."""
from __future__ import annotations

import os
import sqlite3
import struct
import sys
import tempfile
import unittest
import zlib
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.page_test import PageTest
from server_support.server_test import ServerTest
from support.ports import new_port
from support.waiting import wait_for

# Around Berlin, where the vehicles of these tests are.
BOUNDS = (13.0, 52.3, 13.8, 52.7)
ZOOMS = range(9, 13)

# Vehicles beside each other, as if the server had told of them.
CROWD = """async (count) => {
    const fleet = await import(new URL("fleet.js", document.querySelector("script[type=module]").src));
    const pattern = fleet.vehicles.values().find(({ name }) => name === "Bus 100");
    for (let number = 0; number < count; number++) {
        fleet.vehicles.set(90_000 + number, { ...pattern, id: 90_000 + number, name: `Van ${number}`, trail: [] });
    }
}"""


def picture(red: int, green: int, blue: int) -> bytes:
    """A PNG of 256 × 256 dots of one colour."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes((red, green, blue)) * 256) * 256
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 256, 256, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_map(path: str, **replaced):
    """An MBTiles file with every tile of zooms 9 to 12 but one."""
    metadata = {"name": "test", "format": "png", "minzoom": str(ZOOMS[0]), "maxzoom": str(ZOOMS[-1]),
                "bounds": ",".join(map(str, BOUNDS)), "attribution": '© <a href="x">Mapmakers</a> https://example.org/map'}
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE metadata (name TEXT, value TEXT)")
        database.executemany("INSERT INTO metadata VALUES (?, ?)", {**metadata, **replaced}.items())
        database.execute("CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB,"
                         " PRIMARY KEY (zoom_level, tile_column, tile_row))")
        for zoom in ZOOMS:
            scale = 2 ** zoom
            columns = range(int((BOUNDS[0] + 180) / 360 * scale), int((BOUNDS[2] + 180) / 360 * scale) + 1)
            # Rows from the south; those of latitudes 52.3 to 52.7 lie between these parts of the world.
            rows = range(int(scale * 0.669), int(scale * 0.676) + 1)
            database.executemany("INSERT INTO tiles VALUES (?, ?, ?, ?)", (
                (zoom, column, row, picture(200, 20 * (column % 10), 20 * (row % 10))) for column in columns for row in rows
                if (column, row) != (columns[0], rows[0])))
    database.close()


class OwnMapTests(PageTest):
    path: str

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="beekon-map-", dir="/tmp")
        cls.addClassCleanup(folder.cleanup)
        cls.path = os.path.join(folder.name, "town.mbtiles")
        write_map(cls.path)
        cls.options = ("--map", cls.path)
        super().setUpClass()

    def asked(self, page) -> list:
        """Answers to what the page asks of the map from now on."""
        answers: list = []
        page.on("response", lambda answer: answers.append(answer) if "/v1/map/" in answer.url else None)
        return answers

    @staticmethod
    def wait_all_loaded(page):
        """Nothing that was asked for is under way."""
        page.wait_for_function("""() => document.querySelector("img.leaflet-tile-loaded")
            && !document.querySelector("img.leaflet-tile:not(.leaflet-tile-loaded)")""")

    def test_tiles_of_the_file(self):
        page = self.page(screen="#/devices")
        answers: Any = self.asked(page)
        page.goto(self.server.url + "/#/map?at=52.52,13.405,11")
        page.locator("img.leaflet-tile-loaded").first.wait_for()
        wait_for(lambda: page.evaluate("document.querySelectorAll('img.leaflet-tile-loaded').length") >= 12, "the map is full")
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual({answer.url.split("/map/")[1].split("/")[0] for answer in answers}, {"11"})
        self.assertIn("Mapmakers", page.locator(".leaflet-control-attribution").inner_text())
        self.assertEqual(page.locator(".leaflet-control-attribution a[href='https://example.org/map']").count(), 1)
        self.assertEqual(page.locator("canvas[data-layer=ground]").count(), 1, "the built-in map is beneath")
        # Finer than the file has: its finest, enlarged. Coarser, and elsewhere: nothing is asked for.
        self.wait_all_loaded(page)
        answers.clear()
        page.goto(self.server.url + "/#/map?at=52.52,13.405,16")
        # Playwright tells of answers while it is asked something.
        wait_for(lambda: page.evaluate("1") and answers, "tiles are asked for")
        self.assertEqual({answer.url.split("/map/")[1].split("/")[0] for answer in answers}, {"12"})
        self.wait_all_loaded(page)
        answers.clear()
        for view in ("52.52,13.405,6", "40.7,-74,11"):
            page.evaluate("view => { location.hash = `#/map?at=${view}`; }", view)
            page.locator("canvas[data-layer=marks]").wait_for(state="attached")
        page.goto(self.server.url + "/#/devices")
        page.get_by_role("heading", name="Devices").wait_for()
        self.assertEqual([answer.url for answer in answers], [])

    def test_who_is_answered_what(self):
        row = 2 ** 11 - 1 - int(2 ** 11 * 0.672)
        place = f"/v1/map/11/{int((13.4 + 180) / 360 * 2 ** 11)}/{row}"
        token = self.server.add_user("eve", "reader")
        self.assertEqual(self.server.ask("GET", place).status, 401)
        self.assertEqual(self.server.ask("GET", place, self.devices["Truck 1"]["access_token"]).status, 403)
        found = self.server.ask("GET", place, token)
        self.assertEqual((found.status, found.headers["content-type"]), (200, "image/png"))
        self.assertEqual(found.headers["x-content-type-options"], "nosniff")
        tag = found.headers["etag"]
        self.assertEqual(self.server.ask("GET", place, token, If_None_Match=tag).status, 304)
        self.assertEqual(self.server.ask("GET", place, token, If_None_Match='"other"').status, 200)
        for path, status in (("/v1/map/11/0/0", 204), ("/v1/map/13/0/0", 204), ("/v1/map/99/0/0", 204), ("/v1/map/-1/0/0", 204),
                             ("/v1/map/11/0", 404), ("/v1/map/11/0/x", 404)):
            self.assertEqual(self.server.ask("GET", path, token).status, status, path)
        done = self.server.verb("doctor")
        self.assertIn("map: the file can be read", done.stdout)

    def test_vehicles_that_lie_on_each_other(self):
        page = self.page(screen="#/map?at=52.52,13.405,9")
        page.locator("canvas[data-layer=marks]").wait_for(state="attached")
        before = page.evaluate("document.querySelector('canvas[data-layer=marks]').toDataURL().length")
        page.evaluate(CROWD, 100)
        page.goto(self.server.url + "/#/map?at=52.52,13.405,9.5")
        wait_for(lambda: page.evaluate("document.querySelector('canvas[data-layer=marks]').toDataURL().length") != before,
                 "they are drawn")
        place = page.evaluate("""async () => {
            const fleet = await import(new URL("fleet.js", document.querySelector("script[type=module]").src));
            const { latest } = fleet.vehicles.get(90_000);
            return [latest.x, latest.y];
        }""")
        box = page.locator(".leaflet-container").bounding_box()
        scale = 256 * 2 ** 9.5
        centre = page.evaluate("""async () => {
            const { project } = await import(new URL("map/canvas-layer.js", document.querySelector("script[type=module]").src));
            return project(52.52, 13.405);
        }""")
        # A crowd of a hundred is where they are, or next to it, where others pull its middle.
        page.mouse.click(box["x"] + box["width"] / 2 + (place[0] - centre[0]) * scale,
                         box["y"] + box["height"] / 2 + (place[1] - centre[1]) * scale)
        page.wait_for_function("/at=[^,]*,[^,]*,(1[0-9])/.test(location.hash)")


class NoMapTests(ServerTest):
    def test_a_file_that_is_of_no_use_is_told_and_the_server_serves(self):
        path = os.path.join(self.folder, "vectors.mbtiles")
        write_map(path, format="pbf")
        for value, words in ((path, "vector tiles"), (os.path.join(self.folder, "none.mbtiles"), "No such file")):
            with self.subTest(words):
                server = self.server("--map", value).start()
                with open(server.log, encoding="utf-8") as log:
                    self.assertIn(words, log.read())
                done = server.verb("doctor")
                self.assertEqual(done.returncode, 1)
                self.assertIn(words, done.stdout)
                self.assertEqual(server.ask("GET", "/v1/map/1/1/1", server.add_user("rita", "reader")).status, 404)
                self.assertEqual(server.stop(), 0)
                os.remove(server.database)


class DeadTilesTests(PageTest):
    """The tiles of others cannot be had."""

    @classmethod
    def setUpClass(cls):
        # Nobody listens there.
        cls.options = ("--tiles", f"http://127.0.0.1:{new_port()}/{{z}}/{{x}}/{{y}}.png")
        super().setUpClass()

    def test_somebody_is_told(self):
        page = self.page(screen="#/map?at=52.52,13.405,11")
        page.get_by_text("The map's tiles cannot be loaded").wait_for()
        self.assertEqual(page.locator("canvas[data-layer=ground]").count(), 1)
        self.foreign.clear()


if __name__ == "__main__":
    unittest.main()
