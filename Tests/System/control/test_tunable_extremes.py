"""Whatever a member of group beekon sets, and so whatever a server may: the extremes of every range leave a daemon that answers,
follows the receiver and uploads when asked."""
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.system_test import SystemTest
from support.waiting import wait_for

# What has no range in words: a list and two texts, by hand.
SPECIAL = {
    "tracking.schedule": [[], ["mon-sun 00:00-24:00"], [f"mon {hour:02}:{minute:02}-{hour:02}:{minute + 1:02}"
                                                for hour in range(16) for minute in (0, 10, 20, 30)]],
    "tracking.time_zone": ["", "Pacific/Kiritimati", "Etc/GMT+12"],
}


class ExtremesTests(SystemTest):
    def tunable(self, daemon) -> dict:
        """Every setting that needs no administrator, with the extremes of what it may be: as the refusals say it."""
        found = {}
        for row in daemon.call("GetConfig")["settings"]:
            key = row["key"]
            is_own = key in ("sync.interval_seconds", "sync.batch_size", "sync.sync_threshold")
            if key.startswith("tracking.") or is_own:
                found[key] = SPECIAL.get(key) or self.extremes(daemon, key, row["value"])
        return found

    def extremes(self, daemon, key: str, value) -> list:
        if isinstance(value, bool):
            return [True, False]
        try:
            daemon.call("Configure", settings={key: "no such thing"})
        except Refusal as refusal:
            reason = refusal.parameters["reason"]
            if numbers := re.search(r"number from (\S+) to (\d\S*)", reason):
                return [float(number) if "." in number else int(number) for number in numbers.groups()]
            return re.findall(r'"(\w+)"', reason.partition("use one of")[2])
        raise AssertionError(f"{key} takes anything")

    def test_the_daemon_answers_tracks_and_uploads(self):
        backend = self.backend()
        gps, daemon = self.tracking(sync={"url": backend.url})
        settings = self.tunable(daemon)
        self.assertGreater(len(settings), 14, settings)
        tried = 0
        for key, values in settings.items():
            self.assertGreaterEqual(len(values), 2, key)
            for value in values:
                with self.subTest(key=key, value=str(value)[:40]):
                    daemon.call("Configure", settings={key: value})
                    self.assertEqual(daemon.setting(key), value)
                    before = daemon.status()["source"]["fixes"]
                    gps.drive(3)
                    wait_for(lambda: daemon.status()["source"]["fixes"] >= before + 2,
                             lambda: f"fixes are read; {daemon.status()}")
                    # Whatever the gate does with them, and whatever the schedule says, a person has tracking and an upload.
                    daemon.call("Start")
                    self.assertIn(daemon.sync()["outcome"], ("drained", "nothing_pending"))
                    self.assertEqual(daemon.status()["degraded"], [])
                    daemon.call("ResetConfig", keys=[key])
                    tried += 1
        print(f"\n  {tried} extremes of {len(settings)} settings")


if __name__ == "__main__":
    unittest.main()
