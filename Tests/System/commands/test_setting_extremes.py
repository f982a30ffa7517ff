"""For every setting that a server may set, the extremes of its range, set by a server: the vehicle still answers with a heartbeat
in time, and takes the next command from its answer.

The daemon's clocks are moved, so that hours pass at once.
"""
import json
import re
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.clocks import ClockTest
from support.command_server import CommandServer
from support.control_client import Refusal
from support.post_server import PostServer
from support.waiting import wait_for

HOUR, DAY = 3600, 86_400
OWN = {"sync.interval_seconds": [60, HOUR], "sync.batch_size": [1, 100], "sync.sync_threshold": [0, 100_000_000]}
# What has no range in words: lists, texts and tables, by hand.
SPECIAL = {
    "tracking.schedule": [[], ["mon-sun 00:00-24:00"], [f"mon {hour:02}:{minute:02}-{hour:02}:{minute + 5:02}"
                                                        for hour in range(16) for minute in (0, 10, 20, 30)]],
    "tracking.time_zone": ["", "Pacific/Kiritimati", "Etc/GMT+12"],
    "extras.a": ["", "\u00e9" * 512],
}


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


class Template(PostServer):
    """Takes what it is sent, and answers with commands once."""

    def __init__(self):
        self.taken: list = []
        self.commands: list = []
        super().__init__()

    def take(self, query, body):
        self.taken.append(json.loads(body))
        commands, self.commands = self.commands, []
        return 200, json.dumps({"commands": commands}).encode()


class WithoutHeartbeatTests(ClockTest):
    """The format template has none whose answer could take a setting back."""

    def vehicle(self) -> tuple:
        server = Template()
        self.addCleanup(server.stop)
        gps = self.fake()
        commands: dict[str, Any] = {"sync.commands": {
            "enabled": True, "allow": ["set_config", "unset_config"],
            "settings": ["tracking.interval_seconds", "tracking.stationary_after_seconds"]}}
        daemon, clocks = self.clocked(
            gps.port, sync={"url": server.url, "format": "template", "interval_seconds": HOUR},
            tracking={"distance_meters": 0}, **commands)
        daemon.start()
        daemon.call("Start")
        self.settle(gps, daemon)
        return server, gps, daemon, clocks

    def settle(self, gps, daemon):
        """Fixes that settle the time, all of which the daemon has decided: the clocks must not be moved before."""
        gps.settle()
        daemon.wait_status(lambda status: self.decided(daemon, status) >= 3, "the first fixes")

    def let_pass(self, gps, clocks, seconds: int):
        clocks.suspend(seconds)
        gps.next_ms += seconds * 1000

    def seen(self, gps, daemon):
        """A fix, of which the daemon has decided."""
        before = self.decided(daemon)
        gps.drive(1)
        daemon.wait_status(lambda status: self.decided(daemon, status) > before, "the fix")

    @staticmethod
    def decided(daemon, status=None) -> int:
        gate = (status or daemon.status())["gate"]
        return gate["admitted"] + gate["too_soon"] + gate["too_near"] + gate["paused"]

    def test_a_location_a_day_whatever_the_server_sets(self):
        server, gps, daemon, clocks = self.vehicle()
        server.commands = [{"id": "c", "command": "set_config", "arguments": {"settings": {
            "tracking.interval_seconds": 31_536_000, "tracking.stationary_after_seconds": 31_536_000}}}]
        daemon.sync()
        wait_for(lambda: daemon.setting("tracking.interval_seconds") == 31_536_000, "it is set")
        for day in range(3):
            stored = daemon.status()["gate"]["admitted"]
            self.let_pass(gps, clocks, DAY - 10)
            self.seen(gps, daemon)
            self.assertEqual(daemon.status()["gate"]["admitted"], stored)
            self.let_pass(gps, clocks, 20)
            self.seen(gps, daemon)
            self.assertEqual(daemon.status()["gate"]["admitted"], stored + 1)
            self.assertEqual(daemon.status()["last_location"]["trigger"], "check_in")
            if day == 1:
                # Counted from the last one that was admitted, also after a restart.
                daemon.kill()
                daemon.start()
                self.settle(gps, daemon)
        daemon.sync_until(lambda answer: answer["pending"] == 0, "all is sent")
        # Taken back, nothing of the server's is in force: what the files say is the operator's own affair.
        # The row of that day brings it, by whichever drain.
        server.commands = [{"id": "d", "command": "unset_config", "arguments": {
            "keys": ["tracking.interval_seconds", "tracking.stationary_after_seconds"]}}]
        self.let_pass(gps, clocks, DAY)
        self.seen(gps, daemon)
        daemon.sync_until(lambda answer: daemon.setting("tracking.interval_seconds") != 31_536_000, "it is taken back")
        daemon.call("Configure", settings={"tracking.interval_seconds": 31_536_000})
        stored = daemon.status()["gate"]["admitted"]
        self.let_pass(gps, clocks, 2 * DAY)
        self.seen(gps, daemon)
        self.assertEqual(daemon.status()["gate"]["admitted"], stored)

    def test_nobody_may_leave_uploads_to_the_user(self):
        _, _, daemon, _ = self.vehicle()
        with self.assertRaises(Refusal) as refused:
            daemon.call("Configure", settings={"sync.mode": "manual"})
        self.assertIn("no answer that could bring a command", refused.exception.parameters["reason"])


if __name__ == "__main__":
    unittest.main()
