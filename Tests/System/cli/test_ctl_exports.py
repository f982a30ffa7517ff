"""Exports, read back by independent programs; and what becomes of them when the disk is full."""
import csv
import io
import json
import os
import pty
import resource
import select
import signal
import subprocess
import sys
import threading
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest, drive, needs
from support.fake_daemon import status
from support.fake_gpsd import from_iso
from support.nightly import nightly
from support.programs import ROOT, program
from support.seeds import sample
from support.waiting import let_pass, wait_for

GPX = "{http://www.topografix.com/GPX/1/1}"
TPX = "{http://www.garmin.com/xmlschemas/TrackPointExtension/v2}"
KML = "{http://www.opengis.net/kml/2.2}"
GX = "{http://www.google.com/kml/ext/2.2}"


def formats() -> list:
    """What the program offers: a new format is tested by what is here for all."""
    done = subprocess.run([program("beekonctl"), "--experimental-dump-help"], capture_output=True, text=True, check=True)
    verbs = {verb["commandName"]: verb for verb in json.loads(done.stdout)["command"]["subcommands"]}
    return next(option["allValues"] for option in verbs["history"]["arguments"] if option.get("valueName") == "format")


class ExportTests(CtlTest):
    def export(self, daemon, format_name: str) -> str:
        path = self.path("out." + format_name)
        self.run_ctl(daemon, "history", "--format", format_name, "-o", path)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        return path

    def driven(self, count: int = 2500, sessions: int = 3):
        daemon = self.fake_daemon()
        daemon.locations = drive(count, sessions=sessions)
        return daemon

    def assert_same_places(self, found: list, locations: list, tolerance: float = 1e-6):
        self.assertEqual(len(found), len(locations))
        for (latitude, longitude), expected in zip(found, locations, strict=True):
            self.assertAlmostEqual(latitude, expected["latitude"], delta=tolerance)
            turn = (longitude - expected["longitude"] + 180) % 360 - 180
            self.assertAlmostEqual(turn, 0, delta=tolerance)

    def test_gpx(self):
        daemon = self.driven()
        root = ElementTree.parse(self.export(daemon, "gpx")).getroot()
        tracks = root.findall(GPX + "trk")
        self.assertEqual([track.findtext(GPX + "name") for track in tracks],
                         sorted({found["session_id"] for found in daemon.locations}))
        points = root.findall(f".//{GPX}trkpt")
        self.assert_same_places([(float(p.attrib["lat"]), float(p.attrib["lon"])) for p in points], daemon.locations, 0)
        for point, expected in zip(points, daemon.locations, strict=True):
            self.assertEqual(point.findtext(GPX + "time"), expected["timestamp"])
            for path, name in ((GPX + "ele", "altitude"), (f".//{TPX}speed", "speed"), (f".//{TPX}course", "bearing")):
                text = point.findtext(path)
                self.assertEqual(None if text is None else float(text), expected.get(name), name)

    @needs("xmllint")
    def test_gpx_schema(self):
        schema = os.path.join(ROOT, "Tests", "System", "support", "gpx11.xsd")
        for daemon in (self.driven(), self.fake_daemon()):
            path = self.export(daemon, "gpx")
            done = subprocess.run(["xmllint", "--noout", "--schema", schema, path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        # The schema must be able to reject something.
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("</gpx>", "<trk><trkseg><trkpt lat='91' lon='0'/></trkseg></trk></gpx>"))
        self.assertNotEqual(subprocess.run(["xmllint", "--noout", "--schema", schema, path], capture_output=True).returncode, 0)

    @needs("gpsbabel")
    def test_gpsbabel_reads_them(self):
        daemon = self.driven()
        for name, options in (("gpx", ["-t"]), ("kml", ["-t"]), ("geojson", [])):
            with self.subTest(name):
                done = subprocess.run(
                    ["gpsbabel", *options, "-i", name, "-f", self.export(daemon, name), "-o", "unicsv,utc=0", "-F", "-"],
                    capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                rows = list(csv.DictReader(io.StringIO(done.stdout)))
                self.assert_same_places([(float(row["Latitude"]), float(row["Longitude"])) for row in rows],
                                        daemon.locations, 1.5e-6)
                if name != "geojson":
                    times = [row["Date"].replace("/", "-") + "T" + row["Time"].split(".")[0] for row in rows]
                    self.assertEqual(times, [found["timestamp"][:19] for found in daemon.locations])

    @nightly
    @needs("ogrinfo")
    def test_ogr_reads_them(self):
        daemon = self.driven()
        for name, layer in (("gpx", "track_points"), ("geojson", "out"), ("kml", "beekond")):
            with self.subTest(name):
                path = self.export(daemon, name)
                done = subprocess.run(["ogrinfo", "-so", path, layer], capture_output=True, text=True, timeout=60)
                expected = 3 if name == "kml" else len(daemon.locations)
                self.assertIn(f"Feature Count: {expected}", done.stdout, done.stderr)

    def test_geojson(self):
        daemon = self.driven()
        with open(self.export(daemon, "geojson"), encoding="utf-8") as file:
            document = json.load(file)
        self.assertEqual(document["type"], "FeatureCollection")
        for feature, expected in zip(document["features"], daemon.locations, strict=True):
            self.assertEqual(feature["type"], "Feature")
            self.assertEqual(feature["id"], expected["id"])
            place = [expected["longitude"], expected["latitude"]]
            place += [expected["altitude"]] if "altitude" in expected else []
            self.assertEqual(feature["geometry"], {"type": "Point", "coordinates": place})
            rest = {name: value for name, value in expected.items()
                    if name not in ("id", "latitude", "longitude", "altitude")}
            self.assertEqual(feature["properties"], rest)

    def test_kml(self):
        daemon = self.driven()
        root = ElementTree.parse(self.export(daemon, "kml")).getroot()
        self.assertEqual(len(root.findall(f".//{KML}Placemark")), 3)
        places, times = [], []
        for track in root.findall(f".//{GX}Track"):
            coordinates = [(node.text or "").split() for node in track.findall(GX + "coord")]
            moments = [node.text or "" for node in track.findall(KML + "when")]
            self.assertEqual(len(coordinates), len(moments))
            for data in track.findall(f".//{GX}SimpleArrayData"):
                self.assertEqual(len(data.findall(GX + "value")), len(moments), data.get("name"))
            places += [(float(latitude), float(longitude)) for longitude, latitude, _ in coordinates]
            times += moments
        self.assert_same_places(places, daemon.locations, 0)
        self.assertEqual([from_iso(text) for text in times], [from_iso(found["timestamp"]) for found in daemon.locations])

    def test_an_empty_history_is_a_valid_file_and_says_why(self):
        waiting = self.fake_daemon(GetStatus=status(sync={"state": "idle"}))
        for name in formats():
            done = self.run_ctl(waiting, "history", "--format", name)
            self.assertIn("store.keep_uploaded", done.stderr)
            if name in ("gpx", "kml"):
                ElementTree.fromstring(done.stdout)
            if name == "geojson":
                self.assertEqual(json.loads(done.stdout)["features"], [])
        keeping = self.fake_daemon(
            GetStatus=status(sync={"state": "idle"}),
            GetConfig={"settings": [{"key": "store.keep_uploaded", "value": True, "origin": "default"}]})
        for daemon in (keeping, self.fake_daemon()):
            self.assertNotIn("keep_uploaded", self.run_ctl(daemon, "history").stderr)

    def test_many_rows_are_not_kept(self):
        """What has come is written while more is to come."""
        daemon = self.fake_daemon()
        daemon.locations = drive(20_000)
        every = [("history", "--format", name) for name in formats()] + [("plot", "--html", "-")]
        for words in [every[number - 1] for number in sample(self.id(), len(every), 2)]:
            with self.subTest(words):
                daemon.hold_after = None
                whole = len(self.run_ctl(daemon, *words).stdout)
                daemon.hold_after = 10
                path = self.path("held")
                with open(path, "wb") as file:
                    process = subprocess.Popen([program("beekonctl"), *words], stdin=subprocess.DEVNULL, stdout=file,
                                               stderr=subprocess.DEVNULL, env=self.environment(daemon))
                let_pass(1)
                # Half of the rows have come.
                self.assertGreater(os.path.getsize(path), whole * 0.45)
                process.kill()
                process.wait()


class DiskTests(CtlTest):
    """An output file is either complete or untouched."""

    def driven(self, count: int = 5000):
        daemon = self.fake_daemon()
        daemon.locations = drive(count)
        return daemon

    def assert_untouched(self, path: str):
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")
        self.assertEqual(os.listdir(os.path.dirname(path)), [os.path.basename(path)])

    def precious(self) -> str:
        path = os.path.join(self.folder(), "track.gpx")
        with open(path, "w", encoding="utf-8") as file:
            file.write("precious")
        return path

    def small_disk(self, size: str) -> str:
        path = self.folder()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path], capture_output=True)
        if done.returncode:
            self.skipTest("mounting a small file system needs root")
        self.addCleanup(subprocess.run, ["umount", path], check=True)
        return path

    def test_a_full_device(self):
        daemon = self.driven()
        for words in (("history", "--format", "gpx", "-o", "/dev/full"), ("plot", "--html", "/dev/full")):
            done = self.run_ctl(daemon, *words, code=74)
            self.assertIn("No space left on device", done.stderr)
        with open("/dev/full", "wb") as full:
            done = self.run_ctl(daemon, "history", "--format", "csv", code=74, stdout=full)
            self.assertIn("incomplete", done.stderr)
        self.assertTrue(os.path.exists("/dev/full"))

    def test_a_full_disk(self):
        disk = self.small_disk("256k")
        path = os.path.join(disk, "track.gpx")
        with open(path, "w", encoding="utf-8") as file:
            file.write("precious")
        done = self.run_ctl(self.driven(), "history", "--format", "gpx", "-o", path, code=74)
        self.assertIn("No space left on device; nothing was changed there", done.stderr)
        self.assert_untouched(path)

    def test_a_limit_on_file_sizes(self):
        path = self.precious()

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

        done = self.run_ctl(self.driven(), "history", "--format", "kml", "-o", path, code=74, preexec_fn=limit)
        self.assertIn("File too large", done.stderr)
        self.assert_untouched(path)

    def test_a_daemon_that_dies(self):
        daemon, path = self.driven(), self.precious()
        daemon.cut_after = 3
        for words in (("history", "--format", "gpx", "-o", path), ("plot", "--html", path)):
            self.run_ctl(daemon, *words, code=69)
            self.assert_untouched(path)

    def test_ctrl_c(self):
        """When some of it is in the temporary file."""
        daemon, path = self.driven(20_000), self.precious()
        daemon.hold_after = 10
        process = subprocess.Popen(
            [program("beekonctl"), "history", "--format", "gpx", "-o", path], stdin=subprocess.DEVNULL,
            env=self.environment(daemon))
        wait_for(lambda: len(os.listdir(os.path.dirname(path))) == 2, "the temporary file")
        let_pass(1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
        self.assert_untouched(path)

    def test_no_folder(self):
        self.run_ctl(self.driven(10), "history", "-o", self.path("none/here"), code=73)

    def test_a_link_stays_a_link(self):
        path, link = self.precious(), self.path("link")
        os.symlink(path, link)
        self.run_ctl(self.driven(10), "history", "--json", "-o", link)
        self.assertTrue(os.path.islink(link))
        with open(path, encoding="utf-8") as file:
            self.assertEqual(len(file.read().splitlines()), 10)


class ProgressTests(CtlTest):
    def on_terminal(self, daemon, words: list, see) -> bytes:
        """What the command shows when its stderr is a terminal; `see` gets all of it whenever there is more."""
        terminal, other = pty.openpty()
        process = subprocess.Popen([program("beekonctl"), *words], stdin=subprocess.DEVNULL, stderr=other,
                                   stdout=subprocess.DEVNULL, env=self.environment(daemon))
        os.close(other)
        shown = b""
        while select.select([terminal], [], [], 60)[0]:
            try:
                shown += os.read(terminal, 4096)
            except OSError:
                break
            see(shown)
        self.assertEqual(process.wait(60), 0)
        os.close(terminal)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-40:])
        return shown

    def test_exports_show_progress_on_terminals(self):
        daemon = self.fake_daemon()
        daemon.locations = drive(3000)
        words = ["history", "--json", "-o", self.path("out")]
        self.assertEqual(self.run_ctl(daemon, *words).stderr, "")
        self.assertIn(b"\r2,000 locations", self.on_terminal(daemon, words, lambda shown: None))

    def test_a_long_deletion_shows_what_is_left(self):
        end = threading.Event()
        self.addCleanup(end.set)

        def delete(_) -> dict:
            end.wait()
            return {"removed": 7}

        daemon = self.fake_daemon(DeleteLocations=delete, GetStatus=status(store={"locations": 4321}))

        def see(shown: bytes):
            if b"4,321 stored now" in shown:
                end.set()

        shown = self.on_terminal(daemon, ["delete", "--yes"], see)
        self.assertIn("deleting… 4,321 stored now".encode(), shown)
        self.assertEqual(self.run_ctl(daemon, "delete", "--yes").stderr, "")


if __name__ == "__main__":
    unittest.main()
