"""Metrics: every promised name is there, the text is what Prometheus takes, and the counters count."""
import json
import os
import re
import stat
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.daemon import NEVER
from support.fake_gpsd import DEVICE, tpv
from support.monitoring import missing
from support.nightly import check_with_promtool
from support.ports import NOBODY
from support.system_test import in_real_time
from support.waiting import wait_for

# What dashboards and alerts are built on: a name that is missing is a broken promise. promtool passes empty input.
NAMES = {
    "up", "build_info", "uptime_seconds", "tracking_state", "degraded", "geofences", "fixes_total", "waiting_fixes",
    "last_fix_timestamp_seconds", "receiver_satellites_used", "receiver_satellites_visible", "receiver_health",
    "receiver_reconnects_total", "store_rows", "store_bytes", "dropped_rows_total", "commit_seconds", "pending_locations",
    "oldest_pending_timestamp_seconds", "last_success_timestamp_seconds", "rejected_locations", "uploaded_rows_total",
    "sent_bytes_total", "unmatched_answers_total", "upload_failed", "destination_orphaned", "token_failures",
    "token_expiry_timestamp_seconds", "requests_total",
}
BOUNDS = ["0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf"]


def samples(text: str) -> dict:
    """Maps `name{labels}` to its value."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def families(text: str) -> dict:
    return dict(re.findall(r"^# TYPE beekond_(\w+) (\w+)$", text, re.M))


class MetricsTests(CtlTest):
    def metrics(self, daemon) -> dict:
        return samples(self.run_ctl(daemon, "metrics").stdout)

    def check(self, text: str):
        helps = re.findall(r"^# HELP beekond_(\w+) \S.*\.$", text, re.M)
        self.assertEqual(helps, list(families(text)), "each has its help")
        self.assertEqual(len(samples(text)), len([line for line in text.splitlines() if not line.startswith("#")]),
                         "no sample comes twice")
        check_with_promtool(self, text)

    def busy(self) -> tuple:
        """A daemon with a token and several destinations: one that has accepted, one that refuses, and one that is not
        there."""
        main, refusing = self.backend(), self.backend(answers=[503] * 9)
        fake = self.fake()
        daemon = self.daemon(
            fake.port, sync={"url": main.url}, **{
                "sync.auth": {"access_token": "abc", "expires_at": 4_102_444_800},
                "destination.refusing": {"url": refusing.url, "interval_seconds": NEVER},
                "destination.nobody": {"url": f"http://127.0.0.1:{NOBODY}/", "interval_seconds": NEVER}}).start()
        daemon.call("Start")
        fake.wait_watched()
        # A time that nothing confirms, and at the end one that has passed.
        fake.report(tpv(fake.next_ms - 86_400_000))
        fake.settle()
        fake.report({"class": "SKY", "device": DEVICE,
                     "satellites": [{"PRN": number, "used": number <= 7} for number in range(1, 13)]})
        fake.drive(4)
        daemon.wait_stored(5)
        fake.report(tpv(fake.next_ms - 3000))
        daemon.wait_status(lambda status: status["source"]["repeated"] == 1, "told again")
        daemon.call("Sync")
        for name in ("refusing", "nobody"):
            daemon.call("Sync", destination=name)
        return fake, daemon

    def test_every_name_is_there_and_the_counters_count(self):
        _, daemon = self.busy()
        text = self.run_ctl(daemon, "metrics").stdout
        self.check(text)
        self.assertEqual(set(families(text)), NAMES)
        self.assertEqual(missing(text), [], "alerts and dashboards ask for nothing else")
        found = samples(text)
        self.assertEqual(found["beekond_up"], 1)
        self.assertEqual(found['beekond_fixes_total{result="admitted"}'], 5)
        self.assertEqual([found[f'beekond_fixes_total{{result="{result}"}}'] for result in ("unsettled", "repeated")], [1, 1])
        self.assertEqual(found["beekond_store_rows"], 5)
        self.assertEqual(found['beekond_pending_locations{destination="main"}'], 0)
        self.assertEqual(found['beekond_pending_locations{destination="refusing"}'], 5)
        self.assertNotIn('beekond_oldest_pending_timestamp_seconds{destination="main"}', found)
        oldest = found['beekond_oldest_pending_timestamp_seconds{destination="nobody"}']
        first = daemon.query("SELECT min(ts) FROM locations")[0][0]
        self.assertEqual(round(oldest * 1000), first)
        self.assertEqual(found['beekond_requests_total{destination="main",code="200"}'], 1)
        self.assertGreaterEqual(found['beekond_requests_total{destination="refusing",code="503"}'], 1)
        self.assertGreaterEqual(found['beekond_requests_total{destination="nobody",code="network"}'], 1)
        self.assertEqual(found['beekond_requests_total{destination="nobody",code="200"}'], 0)
        self.assertGreater(found['beekond_sent_bytes_total{destination="main"}'], 100)
        self.assertEqual(found['beekond_sent_bytes_total{destination="nobody"}'], 0)
        self.assertEqual(found["beekond_receiver_satellites_used"], 7)
        self.assertEqual(found['beekond_receiver_health{state="ok"}'], 1)
        self.assertEqual(sum(value for name, value in found.items() if name.startswith("beekond_receiver_health{")), 1)
        self.assertEqual(found['beekond_degraded{subsystem="storage"}'], 0)

    def test_why_there_was_no_answer(self):
        silent, plain = self.raw_server(lambda link: link.drain()), self.backend()
        self.receivers.remove(silent)
        fake = self.fake()
        daemon = self.daemon(
            fake.port, sync={"url": f"http://127.0.0.1:{NOBODY}/"}, **{
                "destination.silent": {"url": silent.url, "timeout_seconds": 1, "interval_seconds": NEVER},
                # It does not speak TLS.
                "destination.plain": {"url": plain.url.replace("http:", "https:"), "interval_seconds": NEVER}}).start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        for name, code in (("main", "network"), ("silent", "timeout"), ("plain", "tls")):
            daemon.call("Sync", destination=name)
            found = {key: value for key, value in self.metrics(daemon).items()
                     if key.startswith(f'beekond_requests_total{{destination="{name}"') and value}
            self.assertEqual(list(found), [f'beekond_requests_total{{destination="{name}",code="{code}"}}'])

    @in_real_time
    def test_the_histogram_has_every_commit(self):
        fake, daemon = self.tracking()
        before = self.metrics(daemon)
        fake.drive(20)
        daemon.wait_stored(21)
        found = self.metrics(daemon)
        buckets = [found[f'beekond_commit_seconds_bucket{{le="{bound}"}}'] for bound in BOUNDS]
        self.assertEqual(buckets, sorted(buckets), "they are cumulative")
        self.assertEqual(buckets[-1], found["beekond_commit_seconds_count"])
        self.assertGreaterEqual(found["beekond_commit_seconds_count"] - before["beekond_commit_seconds_count"], 20)
        self.assertGreater(found["beekond_commit_seconds_sum"], before["beekond_commit_seconds_sum"])

    def test_who_only_asks_writes_nothing(self):
        _, daemon = self.tracking()
        state = {name: os.stat(os.path.join(daemon.state, name)).st_mtime_ns for name in os.listdir(daemon.state)}
        for _ in range(20):
            self.metrics(daemon)
        self.assertEqual(
            {name: os.stat(os.path.join(daemon.state, name)).st_mtime_ns for name in os.listdir(daemon.state)}, state)

    def test_a_destination_that_is_gone_vanishes(self):
        _, daemon = self.busy()
        for name in ("refusing", "nobody"):
            del daemon.sections["destination." + name]
        daemon.configure()
        daemon.call("Reload")
        found = wait_for(
            lambda: None if any("code=" in name and "nobody" in name and value for name, value in self.metrics(daemon).items())
            else self.metrics(daemon), "its requests are forgotten with it")
        self.assertEqual(found['beekond_destination_orphaned{destination="nobody"}'], 1)
        self.assertEqual(found['beekond_pending_locations{destination="nobody"}'], 5, "what it is owed is not")
        daemon.call("ForgetDestination", destination="nobody")
        wait_for(lambda: not any("nobody" in name for name in self.metrics(daemon)), "nothing is left of it")
        self.assertTrue(any("refusing" in name for name in self.metrics(daemon)))

    def test_a_file_for_node_exporter_says_when_beekond_is_gone(self):
        _, daemon = self.tracking()
        path = self.path("beekond.prom")
        self.run_ctl(daemon, "metrics", "--textfile", path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.check(text)
        self.assertEqual(samples(text)["beekond_up"], 1)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o644, "another user reads it")
        daemon.kill()
        done = self.run_ctl(daemon, "metrics", "--textfile", path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(samples(text), {"beekond_up": 0})
        self.check(text)
        self.assertIn("beekonctl:", done.stderr, "it says why")
        self.assertEqual([name for name in os.listdir(self.directory) if name.startswith(".beekonctl")], [])
        self.run_ctl(daemon, "metrics", code=69)

    def test_labels_are_escaped(self):
        _, daemon = self.tracking()
        answer = daemon.call("GetMetrics")
        answer["status"]["version"] = 'a"b\\c\nd\x1b'
        text = self.run_ctl(self.fake_daemon(GetMetrics=answer), "metrics").stdout
        self.check(text)
        self.assertIn(r'beekond_build_info{version="a\"b\\c\\u{a}d\\u{1b}"} 1', text)

    def test_json_is_the_answer_of_the_daemon(self):
        _, daemon = self.tracking()
        answer = json.loads(self.run_ctl(daemon, "metrics", "--json").stdout)
        self.assertEqual(set(answer), {"status", "counters"})
        self.assertEqual(len(answer["counters"]["commits"]["counts"]), len(answer["counters"]["commits"]["bounds"]) + 1)


if __name__ == "__main__":
    unittest.main()
