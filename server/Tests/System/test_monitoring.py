"""Alerts and dashboards of etc/monitoring ask for metrics that there are; where promtool is, it checks and tests the alerts."""
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.server import envelope
from server_support.server_test import ServerTest
from support.monitoring import DASHBOARDS, FOLDER, RULES, asked, dashboard, missing, names, queries
from support.nightly import nightly
from support.programs import ROOT

PROMTOOL = shutil.which("promtool")
# Of those whom Prometheus' own exporters make.
OTHERS = {"node_textfile_mtime_seconds"}
STATUS = {"state": "tracking", "receiver": "ok", "pending": 3, "oldest_pending": "2024-06-15T12:00:00.000Z",
          "odometer_meters": 5, "ignition": True, "uptime_seconds": 7}


def daemon_names() -> set:
    """Those of the daemon, which its own test holds."""
    with open(os.path.join(ROOT, "Tests", "System", "control", "test_metrics.py"), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    return next({"beekond_" + name for name in ast.literal_eval(node.value)} for node in tree.body
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "NAMES")


class MonitoringTests(ServerTest):
    def metrics(self) -> str:
        """Those of a server with a vehicle that has said all that it can say, and with a target that nothing reaches."""
        path = os.path.join(self.folder, "forward.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write('[[forward]]\nname = "warehouse"\nurl = "http://127.0.0.1:9/"\n')
        server = self.server("--config", path).start()
        device = server.add_device("van")
        self.assertEqual(server.post(device["access_token"], envelope(1, status=STATUS)).status, 200)
        return server.ask("GET", "/metrics", server.add_user("ada", "reader")).body.decode()

    def test_they_ask_for_what_there_is(self):
        metrics = self.metrics()
        there = daemon_names() | set(re.findall(r"^# TYPE (\w+) ", metrics, re.M)) | OTHERS
        # In place of those of a vehicle, for users who see many.
        there |= {re.sub("^beekon_device_(.*?)(_timestamp_seconds)?$", r"beekon_devices_\1", name) for name in there}
        self.assertGreater(len(asked()), 40)
        for text, _ in asked():
            with self.subTest(text):
                self.assertTrue(names(text), "it asks for something of ours")
                self.assertEqual(names(text) - there, set())
        # The daemon's are held by its own test.
        self.assertEqual(missing(metrics), [])

    def test_dashboards_can_be_imported(self):
        for name in DASHBOARDS:
            board = dashboard(name)
            self.assertEqual(board["templating"]["list"][0]["type"], "datasource", "whoever imports it chooses Prometheus")
            self.assertNotIn("__inputs", board)
            ids = [panel["id"] for panel in board["panels"]]
            self.assertEqual(len(ids), len(set(ids)))
            taken: set = set()
            for panel in board["panels"]:
                place = panel["gridPos"]
                cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                         for y in range(place["y"], place["y"] + place["h"])}
                self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
                self.assertFalse(cells & taken, f"{panel['title']} lies on another panel")
                taken |= cells

    @nightly
    def test_promtool_finds_nothing_and_the_alerts_fire(self):
        assert PROMTOOL, "promtool is not installed: etc/build/deps nightly"
        for arguments in (("check", "rules", RULES), ("test", "rules", "beekon.tests.yml")):
            done = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, cwd=FOLDER, timeout=120)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @nightly
    def test_what_dashboards_ask_is_promql(self):
        assert PROMTOOL, "promtool is not installed: etc/build/deps nightly"
        found = [query.text.replace("$instance", "x") for name in DASHBOARDS for query in queries(name)
                 if not query.text.startswith("label_values")]
        path = os.path.join(self.folder, "asked.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"groups": [{"name": "asked", "rules": [
                {"record": f"asked:{index}", "expr": text} for index, text in enumerate(found)]}]}, file)
        done = subprocess.run([PROMTOOL, "check", "rules", path], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
