"""For every setting that a server may set, the extremes of its range, set by a server: the vehicle still answers with a heartbeat
in time, and takes the next command from its answer.

The daemon's clocks are moved, so that hours pass at once.
"""
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.clocks import ClockTest, no_shim
from support.command_server import CommandServer
from support.control_client import Refusal
from support.waiting import wait_for

HOUR = 3600
OWN = {"sync.interval_seconds": [60, HOUR], "sync.batch_size": [1, 100], "sync.sync_threshold": [0, 100_000_000]}
# What has no range in words: lists, texts and tables, by hand.
SPECIAL = {
    "tracking.schedule": [[], ["mon-sun 00:00-24:00"], [f"mon {hour:02}:{minute:02}-{hour:02}:{minute + 5:02}"
                                                        for hour in range(16) for minute in (0, 10, 20, 30)]],
    "tracking.time_zone": ["", "Pacific/Kiritimati", "Etc/GMT+12"],
    "extras.a": ["", "\u00e9" * 512],
}


@unittest.skipIf(no_shim(), no_shim())
class ExtremesTests(ClockTest):
    def tunable(self, daemon) -> dict:
        """Every setting that a server may set, with the extremes of what it may be: as the refusals say it."""
        keys = [row["key"] for row in daemon.call("GetConfig")["settings"] if self.may_set(daemon, row["key"])]
        found = {key: SPECIAL.get(key) or OWN.get(key) or self.extremes(daemon, key) for key in keys}
        return {**found, "extras.a": SPECIAL["extras.a"]}

    def may_set(self, daemon, key: str) -> bool:
        """A file that lets a server set anything else is refused, and says so."""
        daemon.configure(**{"sync.commands": {"settings": [key]}})
        try:
            daemon.call("Reload")
            return True
        except Refusal:
            return False

    def extremes(self, daemon, key: str) -> list:
        try:
            daemon.call("Configure", settings={key: "no such thing"})
        except Refusal as refusal:
            reason = refusal.parameters["reason"]
            if "true or false" in reason:
                return [True, False]
            if numbers := re.search(r"number from (\S+) to (\d[\d.]*)", reason):
                return [float(number) if "." in number else int(number) for number in numbers.groups()]
            return re.findall(r'"(\w+)"', reason.partition("use one of")[2])
        raise AssertionError(f"{key} takes anything")

    def test_it_still_answers(self):
        server = CommandServer()
        self.addCleanup(server.stop)
        gps = self.fake()
        daemon, clocks = self.clocked(gps.port, sync={"url": server.url, "heartbeat_seconds": HOUR})
        daemon.configure(**{"sync.commands": {
            "enabled": True, "allow": ["set_config", "unset_config"], "settings": ["extras"]}})
        daemon.start()
        settings = self.tunable(daemon)
        self.assertGreater(len(settings), 14, settings)
        daemon.configure(**{"sync.commands": {"settings": [*(key for key in settings if key != "extras.a"), "extras"]}})
        daemon.call("Reload")
        tried = 0

        def heartbeat() -> dict:
            """An hour passes, and with it comes one."""
            before = len(server.without_rows)
            clocks.suspend(HOUR)
            # A change of settings makes the uploader look at its clock.
            daemon.call("Configure", settings={"extras.poke": str(before)})
            wait_for(lambda: len(server.without_rows) > before, lambda: f"a heartbeat; {daemon.status()['sync']}")
            daemon.wait_status(lambda status: status["sync"]["state"] != "uploading", "it is answered")
            return server.without_rows[-1].root

        def resulted(identity: str) -> dict:
            """The result comes with the heartbeat after the one that was answered with the command, or sooner."""
            for _ in range(6):
                if identity not in server.results:
                    heartbeat()
            self.assertIn(identity, server.results, daemon.text()[-1500:])
            return server.results[identity][0]

        previous = None
        for key, values in settings.items():
            self.assertGreaterEqual(len(values), 2, key)
            for value in values:
                with self.subTest(key=key, value=str(value)[:40]):
                    if previous and previous != key:
                        server.command("unset_config", keys=[previous])
                    previous = key
                    identity = server.command("set_config", settings={key: value})
                    result = resulted(identity)
                    self.assertTrue(result["ok"], result)
                    row = next(row for row in daemon.call("GetConfig")["settings"] if row["key"] == key)
                    self.assertEqual((row["value"], row["origin"]), (value, "server"))
                    # With that in force it still answers in time.
                    self.assertIn("status", heartbeat())
                    self.assertEqual(daemon.status()["degraded"], [])
                    tried += 1
        print(f"\n  {tried} extremes of {len(settings)} settings, {len(server.without_rows)} heartbeats")


if __name__ == "__main__":
    unittest.main()
