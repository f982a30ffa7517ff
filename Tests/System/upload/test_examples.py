"""The configurations of etc/examples: each is one that beekond takes, and delivers a drive to a server of that kind."""
import glob
import os
import re
import subprocess
import sys
import tomllib
import unittest
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import support
from support import foreign_servers as servers
from support.example_test import ExampleTest
from support.foreign_servers import Answer, Asked, ForeignServer
from support.programs import program

EXAMPLES = sorted(glob.glob(os.path.join(support.ROOT, "etc", "examples", "*.toml")))
SECRET = "0123456789abcdef"


@dataclass
class Server:
    """What the example is for: how that server answers, what it calls the vehicle, and how exact its speeds are."""

    answer: Callable[[Asked], Answer]
    device: str
    # Metres a second; None: it does not use them.
    exactness: float | None
    # Without, it shows the present only, and is to get nothing but the newest location.
    has_history: bool = True


WEBHOOK = f"/api/webhook/{SECRET}"
SERVERS = {
    "traccar": Server(servers.traccar("van1"), "van1", 1e-4),
    "owntracks-recorder": Server(servers.recorder("/owntracks/pub", "fleet", "change me"), "fleet/van1", 0.5 / 3.6),
    "home-assistant-owntracks": Server(servers.home_assistant_owntracks(WEBHOOK), "fleet_van1", 0.5 / 3.6, False),
    "home-assistant-traccar": Server(servers.home_assistant_traccar(WEBHOOK), "van1", None, False),
    "dawarich": Server(servers.overland("/api/v1/overland/batches", SECRET, 201), "van1", 1e-9),
    "geopulse": Server(servers.overland("/api/overland", SECRET, 200), "van1", 1e-9),
    "phonetrack": Server(servers.phonetrack(f"/index.php/apps/phonetrack/log/traccar/{SECRET}"), "van1", 1e-4),
    "traccar-json": Server(servers.traccar_json("van1"), "van1", 1e-9),
    "ulogger": Server(servers.ulogger("/client/index.php", SECRET), "1", 1e-9),
    "hauk": Server(servers.hauk("/api/post.php", SECRET), "hauk", 1e-9, False),
    "influxdb": Server(servers.influxdb("/api/v2/write", {"org": "fleet", "bucket": "vehicles", "precision": "ms"}, SECRET),
                       "van1", 1e-9),
}


class ExampleTests(ExampleTest):
    def check(self, daemon):
        done = subprocess.run([program("beekond"), "--config", daemon.config, "--check"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("warning", done.stdout)

    def test_each_is_taken_as_it_is_and_with_what_it_offers(self):
        self.assertLessEqual(set(SERVERS), {Path(path).stem for path in EXAMPLES})
        for path in EXAMPLES:
            with self.subTest(Path(path).name):
                text = self.example(Path(path).stem)
                daemon = self.daemon()
                self.install(daemon, text)
                self.check(daemon)
                # What is offered in comments is not misspelt either.
                for line in re.findall(r"(?m)^#(\w+ = [^{\n]*)$", text):
                    tomllib.loads(line)

    def test_each_delivers_a_drive(self):
        for name, server in SERVERS.items():
            with self.subTest(name):
                self.deliver(name, server)

    def deliver(self, name: str, server: Server):
        receiver = ForeignServer(server.answer)
        self.addCleanup(receiver.stop)
        text = self.example(name)
        text = re.sub(r'(?m)^url = "https://[^/"]+', f'url = "{receiver.origin}', text)
        text = self.without_schedule(text)
        ((destination, table),) = tomllib.loads(text)["destination"].items()
        is_latest = table.get("deliver") == "latest"
        self.assertEqual(is_latest, not server.has_history)
        fake = self.fake()
        daemon = self.daemon(fake.port)
        self.install(daemon, text)
        daemon.start()
        daemon.call("Start")
        fake.wait_watched()
        speeds = [0.0, 0.4, 1.0, 2.5, 8.0, 13.9, None, 22.2, 36.1, 27.8, 12.3]
        fake.settle()
        daemon.wait_stored(1)
        times = []
        for stored, speed in enumerate(speeds, start=1):
            times += fake.drive(1, speed=speed)
            # What is not sent before the next one is stored is never sent.
            if is_latest or stored == len(speeds):
                daemon.wait_stored(stored + 1)
                done = daemon.call("Sync", destination=destination)
                self.assertEqual(done["pending"], 0, f"{done}: {daemon.text()}")
        # Before them the fix that has settled the time has arrived, or is past.
        del receiver.points[:-len(times)]
        self.assertEqual([point.time for point in receiver.points], [time / 1000 for time in times])
        self.assertEqual({point.device for point in receiver.points}, {server.device})
        # A destination that gets the newest location takes nothing out of the store.
        self.assertEqual(len(daemon.stored_ids()), len(speeds) + 1 if is_latest else 0)
        # Metres, a second each.
        if server.exactness is None:
            return
        for point, speed in zip(receiver.points, speeds, strict=True):
            if speed is None:
                self.assertIsNone(point.speed)
            else:
                self.assertAlmostEqual(point.speed, speed, delta=server.exactness)
        driven = sum(point.speed or 0 for point in receiver.points)
        truth = sum(speed or 0 for speed in speeds)
        self.assertAlmostEqual(driven, truth, delta=0.01 * truth)


if __name__ == "__main__":
    unittest.main()
