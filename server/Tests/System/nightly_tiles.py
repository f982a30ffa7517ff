"""make-tiles draws a map of data that is ours, beekon-server shows it, and whoever interrupts it keeps the map of before. With
Debian's osmium, GDAL and Mapnik (`etc/build/deps nightly`)."""
import json
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.server_test import ServerTest
from support.child import Child
from support.waiting import wait_for

MAKE_TILES = Path(__file__).resolve().parents[2] / "tiles/make-tiles"
# A coast from south to north with the sea in the east, a street along it, a house, a park with a pond, and an island.
BOX = (2.0, 54.0, 2.2, 54.1)
LAND, SEA, PARK, HOUSE, STREET = (244, 242, 236), (181, 211, 228), (219, 232, 207), (220, 215, 205), (255, 255, 255)
# Decodes a picture, as nothing of ours does.
LOOK = """
import json, mapnik, sys
asked = json.load(sys.stdin)
image = mapnik.Image.fromstring(bytes.fromhex(asked["picture"]))
print(json.dumps([image.get_pixel(x, y) for x, y in asked["places"]]))
"""


def osm() -> str:
    nodes: list = []
    ways: list = []

    def way(places: list, **tags: str):
        numbers = []
        for longitude, latitude in places:
            if (longitude, latitude) not in nodes:
                nodes.append((longitude, latitude))
            numbers.append(nodes.index((longitude, latitude)) + 1)
        ways.append("".join(f'<nd ref="{number}"/>' for number in numbers)
                    + "".join(f'<tag k="{key}" v="{value}"/>' for key, value in tags.items()))

    def around(longitude: float, latitude: float, east: float, north: float, is_left: bool = True) -> list:
        corners = [(longitude - east, latitude - north), (longitude + east, latitude - north),
                   (longitude + east, latitude + north), (longitude - east, latitude + north)]
        return [*(corners if is_left else reversed(corners)), corners[0] if is_left else corners[3]]

    way([(2.1, 53.9), (2.1, 54.0), (2.1, 54.2)], natural="coastline")
    way(around(2.17, 54.05, 0.01, 0.006), natural="coastline")
    way([(2.049, 53.95), (2.05, 54.031), (2.06, 54.15)], highway="residential", name="Long Street")
    way(around(2.02, 54.05, 0.008, 0.005), leisure="park")
    way(around(2.02, 54.05, 0.002, 0.0012), natural="water", name="Pond")
    way(around(2.07, 54.05, 0.003, 0.0018), building="yes")
    head = "".join(f'<node id="{number}" version="1" lon="{longitude}" lat="{latitude}"/>'
                   for number, (longitude, latitude) in enumerate(nodes, 1))
    rest = "".join(f'<way id="{number}" version="1">{text}</way>' for number, text in enumerate(ways, 1))
    return f'<osm version="0.6">{head}{rest}</osm>'


def place(longitude: float, latitude: float, zoom: int) -> tuple:
    """Column, row from the north, and the dot within."""
    scale = 256 * 2 ** zoom
    x = (longitude + 180) / 360 * scale
    y = (1 - math.asinh(math.tan(math.radians(latitude))) / math.pi) / 2 * scale
    return int(x) // 256, int(y) // 256, int(x) % 256, int(y) % 256


MAPNIK = "/usr/lib/python3/dist-packages/mapnik"


@unittest.skipUnless(shutil.which("osmium") and shutil.which("ogr2ogr") and os.path.isdir(MAPNIK),
                     "no osmium, GDAL or Mapnik: 'etc/build/deps nightly' installs them")
class TilesTests(ServerTest):
    def setUp(self):
        super().setUp()
        self.source, self.file = os.path.join(self.folder, "town.osm"), os.path.join(self.folder, "town.mbtiles")
        self.work = self.file + ".work"
        Path(self.source).write_text(osm(), encoding="utf-8")

    def words(self, zoom: str) -> list:
        return [self.source, self.file, "--box", ",".join(map(str, BOX)), "--zoom", zoom]

    def make(self, *options: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["/usr/bin/python3", str(MAKE_TILES), *(options or self.words("9-15"))],
            capture_output=True, text=True, timeout=300)

    def seen(self, picture: bytes, *dots: tuple) -> list:
        done = subprocess.run(["/usr/bin/python3", "-c", LOOK], input=json.dumps({"picture": picture.hex(), "places": dots}),
                              capture_output=True, text=True, check=True)
        return [(number & 255, number >> 8 & 255, number >> 16 & 255, number >> 24 & 255) for number in json.loads(done.stdout)]

    def test_what_is_drawn_is_shown(self):
        done = self.make()
        self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 2), done.stderr)
        server = self.server("--map", self.file).start()
        token = server.add_user("ada", "reader")
        for longitude, latitude, wanted in (
                (2.08, 54.07, LAND), (2.13, 54.07, SEA), (2.17, 54.05, LAND), (2.016, 54.046, PARK), (2.0185, 54.0508, SEA),
                (2.07, 54.05, HOUSE), (2.05, 54.031, STREET)):
            column, row, x, y = place(longitude, latitude, 15)
            answer = server.ask("GET", f"/v1/map/15/{column}/{row}", token)
            self.assertEqual((answer.status, answer.headers["content-type"]), (200, "image/png"))
            self.assertEqual(self.seen(answer.body, (x, y)), [(*wanted, 255)], (longitude, latitude))
        # Beyond the box a picture has nothing: the page's own map is beneath.
        column, row, _, _ = place(2.05, 54.05, 9)
        answer = server.ask("GET", f"/v1/map/9/{column}/{row}", token)
        self.assertEqual(answer.status, 200)
        _, other, x, y = place(2.05, 53.95, 9)
        self.assertEqual(other, row)
        self.assertEqual(self.seen(answer.body, (x, y))[0][3], 0)

    def test_what_is_alike_is_stored_once(self):
        self.assertEqual(self.make().returncode, 0)
        with sqlite3.connect(self.file) as database:
            tiles, = database.execute("SELECT count(*) FROM tiles").fetchone()
            pictures, = database.execute("SELECT count(*) FROM images").fetchone()
            metadata = dict(database.execute("SELECT name, value FROM metadata"))
        self.assertLess(pictures, tiles / 2)
        self.assertEqual((metadata["minzoom"], metadata["maxzoom"], metadata["format"]), ("9", "15", "png"))
        self.assertEqual(metadata["attribution"], "© OpenStreetMap contributors")

    def test_what_cannot_be_drawn_is_said(self):
        box = ",".join(map(str, BOX))
        for words, said in (((self.source + "x", self.file, "--box", box), "there is no such file"),
                            ((self.source, self.file, "--box", "-180,-80,180,80", "--zoom", "0-19"), "take a smaller --box"),
                            ((self.source, self.file, "--box", "2,54,1,55"), "invalid box value"),
                            ((self.source, self.file, "--box", box, "--zoom", "9-30"), "invalid zooms value"),
                            ((__file__, self.file, "--box", box), "osmium:")):
            done = self.make(*words)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(said, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            self.assertEqual(os.listdir(self.folder), ["town.osm"])

    def test_killed_it_leaves_the_map_of_before(self):
        Path(self.file).write_bytes(b"the map of before")
        maker = Child(["/usr/bin/python3", str(MAKE_TILES), *self.words("9-17")], os.path.join(self.folder, "log"))
        wait_for(lambda: os.path.exists(os.path.join(self.work, "map.mbtiles")), "it draws")
        maker.kill()
        self.assertEqual(Path(self.file).read_bytes(), b"the map of before")
        self.assertTrue(os.path.exists(self.work))
        # The next one takes away what it left.
        self.assertEqual(self.make().returncode, 0)
        self.assertFalse(os.path.exists(self.work))

    def test_interrupted_it_leaves_nothing(self):
        maker = Child(["/usr/bin/python3", str(MAKE_TILES), *self.words("9-17")], os.path.join(self.folder, "log"))
        wait_for(lambda: os.path.exists(os.path.join(self.work, "map.mbtiles")), "it draws")
        maker.signal(signal.SIGINT)
        maker.wait()
        self.assertEqual(sorted(os.listdir(self.folder)), ["log", "town.osm"])


if __name__ == "__main__":
    unittest.main()
