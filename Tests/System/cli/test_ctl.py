"""The real beekonctl with the real daemon: what a person or a script gets in the shell."""
import csv
import io
import json
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.child import Child
from support.fake_gpsd import iso
from support.programs import program
from support.system_test import SystemTest
from support.waiting import PATIENCE, wait_for


class ControlToolTests(SystemTest):
    def run_tool(self, daemon, *words: str, code: int = 0):
        done = subprocess.run(
            [program("beekonctl"), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
            env={**os.environ, "BEEKOND_SOCKET": daemon.socket, "TZ": "UTC"})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def text(self, daemon, *words: str, code: int = 0) -> str:
        return self.run_tool(daemon, *words, code=code).stdout

    def value(self, daemon, *words: str, code: int = 0):
        return json.loads(self.text(daemon, *words, "--json", code=code))

    def test_start_stop_status(self):
        fake = self.fake()
        daemon = self.daemon(fake.port).start()
        self.assertEqual(self.value(daemon, "status")["state"], "idle")
        started = self.value(daemon, "start")
        self.assertEqual(started["state"], "tracking")
        self.assertEqual(self.text(daemon, "start"), f"tracking, session {started['session_id']}\n")
        fake.settle()
        daemon.wait_stored(1)
        told = self.value(daemon, "status")
        self.assertEqual(told, {**daemon.status(), "uptime_seconds": told["uptime_seconds"]})
        screen = self.text(daemon, "status")
        for word in ("tracking", started["session_id"], "/dev/ttyFAKE0", "1"):
            self.assertIn(word, screen)
        self.assertNotIn("\033", screen)
        self.assertEqual(self.value(daemon, "stop"), {"state": "stopped"})
        self.assertEqual(self.text(daemon, "stop"), "stopped\n")

    def test_absent_daemon(self):
        daemon = self.daemon()
        for verb in (["status"], ["start"], ["stop"], ["sync"], ["watch"], ["history"], ["sessions"], ["delete", "--yes"]):
            for json_flag in ([], ["--json"]):
                with self.subTest(verb + json_flag):
                    done = self.run_tool(daemon, *verb, *json_flag, code=69)
                    self.assertEqual(done.stdout, "")
                    self.assertEqual(len(done.stderr.splitlines()), 1)
                    self.assertIn(daemon.socket, done.stderr)

    def test_geofences(self):
        fake = self.fake()
        daemon = self.daemon(fake.port).start()
        self.assertIn("no geofences", self.run_tool(daemon, "geofence", "list").stderr)
        self.assertEqual(self.text(daemon, "geofence", "add", "pier", "-33.8523", "-151.21", "80.5", "--no-exit"), "1 added\n")
        path = self.path("fences.geojson")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"type": "FeatureCollection", "features": [
                {"type": "Feature", "geometry": {"type": "Point", "coordinates": [8.0, 50.0]},
                 "properties": {"id": "home", "radius": 100}}]}, file)
        self.text(daemon, "geofence", "add", "--file", path)
        fences = self.value(daemon, "geofence", "list")["geofences"]
        self.assertEqual([(fence["id"], fence["latitude"], fence["longitude"], fence["radius_meters"], fence["notify_on_exit"])
                          for fence in fences],
                         [("home", 50, 8, 100, True), ("pier", -33.8523, -151.21, 80.5, False)])
        fake.settle()
        wait_for(lambda: self.text(daemon, "geofence", "events"), "an event")
        self.assertIn("enter home", self.text(daemon, "geofence", "events", "--last", "1h").splitlines()[1])
        self.assertEqual(self.value(daemon, "geofence", "events")["geofence_id"], "home")
        self.assertRegex(self.text(daemon, "geofence", "list"), "inside +enter,exit home")
        # Its list can be added again.
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text(daemon, "geofence", "list", "--json"))
        self.assertEqual(self.text(daemon, "geofence", "add", "--file", path), "2 added\n")
        self.assertEqual(self.text(daemon, "geofence", "remove", "pier", "nobody"), "1 removed\n")
        self.assertEqual(self.text(daemon, "geofence", "remove", "--all"), "1 removed\n")

    def test_polygons(self):
        fake = self.fake()
        daemon = self.daemon(fake.port).start()
        path = self.path("yard.geojson")
        ring = [[7.99, 49.99], [8.01, 49.99], [8.01, 50.01], [7.99, 50.01]]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [[*ring, ring[0]]]},
                       "properties": {"id": "yard"}}, file)
        self.text(daemon, "geofence", "add", "pier", "50", "9", "80")
        self.text(daemon, "geofence", "add", "--file", path)
        fake.settle()
        wait_for(lambda: "yard" in self.text(daemon, "geofence", "events"), "an event")
        self.assertRegex(self.text(daemon, "geofence", "list"),
                         r"(?m)^.* CORNERS .*\n.* circle (outside|undecided) .*pier\n.* 4 inside .*yard$")
        exported = json.loads(self.text(daemon, "geofence", "list", "--geojson"))
        self.assertEqual([(feature["geometry"]["type"], feature["properties"].get("radius"))
                          for feature in exported["features"]], [("Point", 80), ("Polygon", None)])
        self.assertEqual(exported["features"][1]["geometry"]["coordinates"], [[*ring, ring[0]]])
        # Either list can be added again, and the state stays.
        for form in ("--json", "--geojson"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.text(daemon, "geofence", "list", form))
            self.text(daemon, "geofence", "add", "--file", path)
            fences = self.value(daemon, "geofence", "list")["geofences"]
            self.assertEqual([fence["id"] for fence in fences if fence.get("inside")], ["yard"])

    def test_geofences_that_are_refused(self):
        daemon = self.daemon(self.fake().port).start()
        for words, code in (
            (["a", "1", "2"], 64), (["a", "north", "2", "3"], 64), (["--file"], 64), (["a", "1", "2", "3", "--fiel"], 64),
            (["a", "1", "2", "3", "--file", "x"], 64), (["a", "91", "2", "3"], 65), (["a\033[2J", "1", "2", "3"], 65),
            (["--file", self.path("none")], 66),
        ):
            with self.subTest(words):
                done = self.run_tool(daemon, "geofence", "add", *words, code=code)
                self.assertNotIn("\033", done.stderr)
        path = self.path("polygon.json")
        square = [[8.0, 50.0], [8.01, 50.0], [8.01, 50.01], [8.0, 50.01], [8.0, 50.0]]
        hole = [[8.004, 50.004], [8.006, 50.004], [8.006, 50.006]]
        for geometry, reason in (
            ({"type": "LineString", "coordinates": square}, "LineString"), ({"type": "Polygon", "coordinates": []}, "rings"),
            ({"type": "Polygon", "coordinates": [square, hole]}, "holes"),
            ({"type": "Polygon", "coordinates": [[square[0], square[2], square[1], square[3]]]}, "must not meet"),
            ({"type": "Polygon", "coordinates": [square[:2]]}, "3 to 500"),
        ):
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"type": "Feature", "geometry": geometry, "properties": {"id": "a"}}, file)
            self.assertIn(reason, self.run_tool(daemon, "geofence", "add", "--file", path, code=65).stderr)
        self.assertEqual(self.value(daemon, "geofence", "list"), {"geofences": []})

    def test_locate(self):
        fake = self.fake()
        daemon = self.daemon(fake.port).start()
        done = self.run_tool(daemon, "locate", "--timeout", "0.2", code=1)
        self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("", 1))
        with open(self.path("located"), "w+", encoding="utf-8") as output:
            tool = subprocess.Popen([program("beekonctl"), "locate", "--timeout", "60", "--json"], stdout=output,
                                    env={**os.environ, "BEEKOND_SOCKET": daemon.socket})
            # Again and again: the connection of the first call may not be gone yet, and take them.
            wait_for(lambda: fake.drive(3) and tool.poll() is not None, "an answer", 70)
            self.assertEqual(tool.returncode, 0)
            output.seek(0)
            self.assertEqual(json.load(output)["location"]["trigger"], "manual")
        wait_for(lambda: fake.watchers == 0, "gpsd is released")
        self.run_tool(daemon, "locate", "--timeout", "-1", code=64)
        nowhere = self.daemon().start()
        done = self.run_tool(nowhere, "locate", code=69)
        self.assertIn("gpsd at 127.0.0.1", done.stderr)

    def test_usage(self):
        daemon = self.daemon().start()
        self.run_tool(daemon, "fly", code=64)
        self.run_tool(daemon, "history", "--from", "whenever", code=64)
        self.run_tool(daemon, "delete", code=64)
        self.run_tool(daemon, "--help")

    def test_history(self):
        fake, daemon = self.tracking(start_ms=(int(time.time()) - 3 * 3600) * 1000)
        times = fake.drive(3)
        daemon.wait_stored(4)
        locations = daemon.call("GetLocations")["locations"]
        lines = self.text(daemon, "history", "--format", "jsonl").splitlines()
        self.assertEqual([json.loads(line) for line in lines], locations)
        self.assertEqual(self.text(daemon, "history", "--json").splitlines(), lines)
        rows = list(csv.DictReader(io.StringIO(self.text(daemon, "history", "--format", "csv"))))
        self.assertEqual([row["id"] for row in rows], [location["id"] for location in locations])
        for row, location in zip(rows, locations, strict=True):
            for name in ("latitude", "longitude", "accuracy", "speed", "bearing", "altitude"):
                self.assertEqual(float(row[name]), location[name])
        table = self.text(daemon, "history").splitlines()
        self.assertEqual(len(table), 5)
        self.assertTrue(all(len(line) <= 120 for line in table))
        # An inclusive range, into a file.
        path = os.path.join(daemon.directory, "out.csv")
        self.text(daemon, "history", "--from", iso(times[0]), "--to", iso(times[1]), "--format", "csv", "-o", path)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(len(file.read().splitlines()), 3)
        # The drive began three hours ago.
        self.assertEqual(self.text(daemon, "history", "--last", "4h", "--json").splitlines(), lines)
        self.assertEqual(self.text(daemon, "history", "--last", "5m", "--json"), "")
        self.assertIn("no stored locations in this range; 4 are stored in all",
                      self.run_tool(daemon, "history", "--last", "5m").stderr)
        self.assertIn("beekonctl sessions", self.run_tool(daemon, "history", "--session", "nope", code=64).stderr)

    def test_history_of_many(self):
        fake, daemon = self.tracking(store={"durability": "normal"})
        fake.drive(2400)
        daemon.wait_stored(2401)
        lines = self.text(daemon, "history", "--json").splitlines()
        self.assertEqual(len({json.loads(line)["id"] for line in lines}), 2401)
        self.assertEqual(len(self.text(daemon, "history", "--format", "csv").splitlines()), 2402)

    def test_sessions(self):
        fake, daemon = self.tracking()
        session = daemon.status()["session_id"]
        self.assertEqual(self.value(daemon, "sessions"), daemon.call("GetSessions"))
        self.assertIn(session, self.text(daemon, "sessions"))
        lines = self.text(daemon, "history", "--session", session, "--json").splitlines()
        self.assertEqual(len(lines), 1)

    def test_delete(self):
        fake, daemon = self.tracking()
        times = fake.drive(3)
        daemon.wait_stored(4)
        self.assertEqual(self.value(daemon, "delete", "--yes", "--before", iso(times[0])), {"removed": 3}, "and the trip's start")
        self.assertEqual(self.text(daemon, "delete", "--yes"), "2 removed\n")
        self.assertEqual(daemon.stored_ids(), set())

    def test_sync(self):
        receiver = self.backend(answers=[503, 401, 404, 200, 400, 400, 400])
        fake, daemon = self.tracking(sync={"url": receiver.url, "batch_size": 1})
        self.assertEqual(self.value(daemon, "sync", code=75)["outcome"], "transient")
        self.assertEqual(self.value(daemon, "sync", code=77)["outcome"], "auth")
        done = self.run_tool(daemon, "sync", code=76)
        self.assertEqual(done.stdout, "")
        self.assertIn("1 pending", done.stderr)
        self.assertEqual(self.value(daemon, "sync"), {"outcome": "drained", "uploaded": 1, "pending": 0})
        self.assertIn("nothing pending", self.text(daemon, "sync"))
        fake.drive(4)
        daemon.wait_stored(5)
        self.assertEqual(self.value(daemon, "sync", code=65)["outcome"], "rejected")
        self.assertIn("asked for", self.text(daemon, "sync", "--no-wait"))
        wait_for(lambda: daemon.status()["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual(self.value(self.tracking()[1], "sync", code=78)["outcome"], "disabled")

    def test_watch(self):
        fake, daemon = self.tracking()
        log = os.path.join(daemon.directory, "watch")
        child = Child([program("beekonctl"), "watch", "--json", "--count", "4"], log,
                      env={**os.environ, "BEEKOND_SOCKET": daemon.socket})
        self.addCleanup(child.kill)
        wait_for(lambda: '"location"' in child.text(), "the latest location")
        fake.drive(3)
        self.assertEqual(child.wait(), 0, child.text())
        events = [json.loads(line) for line in child.text().splitlines()]
        ids = [event["location"]["id"] for event in events if event.get("location")]
        self.assertEqual(ids, [row["id"] for row in daemon.call("GetLocations")["locations"]])
        plain = self.text(daemon, "watch", "--kinds", "location", "--count", "1")
        self.assertEqual(len(plain.splitlines()), 1)

    def test_watch_ends_with_the_daemon(self):
        fake, daemon = self.tracking()
        child = Child([program("beekonctl"), "watch"], os.path.join(daemon.directory, "watch"),
                      env={**os.environ, "BEEKOND_SOCKET": daemon.socket})
        self.addCleanup(child.kill)
        wait_for(lambda: child.text(), "a line")
        daemon.kill()
        self.assertEqual(child.wait(PATIENCE), 69, child.text())


if __name__ == "__main__":
    unittest.main()
