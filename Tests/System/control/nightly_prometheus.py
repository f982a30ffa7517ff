"""Debian's Prometheus and node_exporter read the metrics for a minute, as the shipped timer writes them, and answer what an
operator asks."""
import json
import os
import shutil
import subprocess
import sys
import threading
import unittest
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.daemon import NEVER
from support.ports import NOBODY, new_port, reachable
from support.programs import program
from support.waiting import wait_for

PROMETHEUS, EXPORTER = shutil.which("prometheus"), shutil.which("prometheus-node-exporter")
# Scrapes, one a second.
SCRAPES = 60


@unittest.skipUnless(PROMETHEUS and EXPORTER, "prometheus and prometheus-node-exporter are not installed")
class PrometheusTests(CtlTest):
    real_time = True

    def query(self, text: str) -> list:
        """The values that Prometheus has for it now."""
        url = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": text})
        with urllib.request.urlopen(url, timeout=10) as answer:
            found = json.load(answer)
        self.assertEqual(found["status"], "success", text)
        return [float(sample["value"][1]) for sample in found["data"]["result"]]

    def collect(self, daemon, folder: str):
        """What the timer does, more often."""
        stop = threading.Event()
        command = [program("beekonctl"), "metrics", "--textfile", os.path.join(folder, "beekond.prom")]

        def work():
            while not stop.wait(0.5):
                subprocess.run(command, env=self.environment(daemon), stderr=subprocess.DEVNULL, timeout=60)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)

    def observe(self, folder: str):
        exporter, self.port = new_port(), new_port()
        self.child([EXPORTER, "--collector.disable-defaults", "--collector.textfile",
                    "--collector.textfile.directory", folder, "--web.listen-address", f"127.0.0.1:{exporter}"], "exporter")
        with open(self.path("prometheus.yml"), "w", encoding="utf-8") as file:
            file.write("global: {scrape_interval: 1s}\nscrape_configs:\n  - job_name: vehicle\n    static_configs:\n"
                       f'      - targets: ["127.0.0.1:{exporter}"]\n')
        child = self.child([PROMETHEUS, "--config.file", self.path("prometheus.yml"), "--storage.tsdb.path", self.path("tsdb"),
                            "--web.listen-address", f"127.0.0.1:{self.port}"], "prometheus")
        wait_for(lambda: reachable(self.port), lambda: f"Prometheus answers; it said:\n{child.text()}")

    def test_five_questions(self):
        backend = self.backend()
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={"url": backend.url}, **{"destination.dead": {
            "url": f"http://127.0.0.1:{NOBODY}/", "interval_seconds": NEVER}}).start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        folder = self.folder()
        self.collect(daemon, folder)
        self.observe(folder)

        def scraped():
            fake.drive(1)
            return (self.query("count_over_time(beekond_up[5m])") or [0])[0] >= SCRAPES

        daemon.call("Sync")
        daemon.call("Sync", destination="dead")
        wait_for(scraped, f"{SCRAPES} scrapes", 600)
        self.assertEqual(self.query("min_over_time(beekond_up[1m])"), [1])
        self.assertGreater(self.query('increase(beekond_fixes_total{result="admitted"}[1m])')[0], 0)
        p99 = self.query("histogram_quantile(0.99, rate(beekond_commit_seconds_bucket[1m]))")[0]
        self.assertTrue(0 < p99 <= 10, p99)
        self.assertGreater(self.query('beekond_pending_locations{destination="dead"}')[0], 1)
        age = self.query('time() - beekond_oldest_pending_timestamp_seconds{destination="dead"}')[0]
        self.assertGreater(age, 0)
        self.assertEqual(self.query('sum by (code) (beekond_requests_total{destination="main",code="200"})')[0], 1)
        self.assertEqual(self.query("node_textfile_scrape_error"), [0])
        daemon.kill()
        wait_for(lambda: self.query("beekond_up") == [0], "the file says that it is gone")
        self.assertEqual(self.query("beekond_store_rows"), [], "and nothing else")


if __name__ == "__main__":
    unittest.main()
