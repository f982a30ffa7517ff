"""beekonctl as a person or a script runs it, against a daemon that answers what the test chooses."""
from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
import unittest

from support.fake_daemon import FakeDaemon, location, status
from support.programs import program
from support.system_test import SystemTest

SEED = int(os.environ.get("BEEKOND_SEED", "1"))


def needs(tool: str):
    return unittest.skipUnless(shutil.which(tool), f"{tool} is not installed")


class CtlTest(SystemTest):
    def fake_daemon(self, **answers) -> FakeDaemon:
        found = {"GetStatus": status(), "GetConfig": {"settings": []}, **answers}
        daemon = FakeDaemon(os.path.join(self.folder(), "s"), **found)
        self.addCleanup(daemon.stop)
        return daemon

    def environment(self, daemon, **variables) -> dict:
        found = {**os.environ, "BEEKOND_SOCKET": getattr(daemon, "socket", None) or daemon.path, "TZ": "UTC"}
        for name in ("NO_COLOR", "COLUMNS", "LINES"):
            found.pop(name, None)
        return {**found, **variables}

    def run_ctl(self, daemon, *words: str, code: int = 0, by: tuple = (), **options):
        """`by`: the command that runs it."""
        done = subprocess.run(
            [*by, program("beekonctl"), *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120,
            env=self.environment(daemon), **{"stdout": subprocess.PIPE, **options})
        self.assertEqual(done.returncode, code, (done.stdout or "")[-2000:] + done.stderr)
        return done


def drive(count: int, seed: int = SEED, sessions: int = 1, end_ms: int | None = None) -> list:
    """A random walk on the map, across the antimeridian, with a value missing here and there."""
    dice = random.Random(seed)
    time_ms = (end_ms or int(time.time() * 1000)) - count * 1000
    latitude, longitude, found = dice.uniform(-60, 60), 179.9, []
    for index in range(count):
        latitude += dice.uniform(-1e-4, 2e-4)
        longitude += dice.uniform(0, 3e-4)
        if longitude >= 180:
            longitude -= 360
        optional = {name: round(dice.uniform(0, 90), dice.randrange(4)) if dice.random() < 0.9 else None
                    for name in ("accuracy", "speed", "bearing", "altitude")}
        session = f"0190d4e0-1234-7000-8000-{index * sessions // count:012d}"
        found.append(location(index, time_ms + index * 1000, round(latitude, 7), round(longitude, 7), session, **optional))
    return found
