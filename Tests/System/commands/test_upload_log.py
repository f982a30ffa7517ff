"""upload_log: a server asks for the daemon's own log, and gets it after the rows, without a position."""
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from support.command_server import CommandServer
from support.system_test import SystemTest
from support.waiting import never, wait_for


class UploadLogTests(SystemTest):
    def vehicle(self, allow: list, **sync) -> tuple:
        server = CommandServer()
        self.addCleanup(server.stop)
        fake = self.fake()
        daemon = self.daemon(
            fake.port, sync={"url": server.url, "interval_seconds": 3600, **sync},
            **{"sync.headers": {"X-Key": "k"}, "sync.commands": {"enabled": True, "allow": allow}}).start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        return server, fake, daemon

    def test_the_log_after_the_rows(self):
        server, fake, daemon = self.vehicle(["upload_log", "stop"])
        fake.drive(5)
        daemon.wait_stored(6)
        identity = server.command("upload_log")
        daemon.sync()
        wait_for(lambda: server.logs, "the log")
        path, headers, text = server.logs[0]
        self.assertEqual(path, "/v1/logs")
        self.assertEqual((headers["Content-Type"], headers["Content-Encoding"], headers["X-Key"]),
                         ("text/plain; charset=utf-8", "gzip", "k"))
        head, *lines = text.splitlines()
        self.assertRegex(head, rf"^beekond \d+\.\d+\.\d+, installation {daemon.status()['install_id']}, up \d+ s$")
        self.assertTrue(all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ", line) for line in lines), lines)
        self.assertTrue(any("is running" in line for line in lines), lines)
        # What was written elsewhere is what is sent.
        written = daemon.text()
        for line in lines:
            self.assertIn(line[25:], written)
        # The fake receiver drives north from 50, 8.
        for row in (row for envelope in server.envelopes for row in envelope.root["locations"]):
            self.assertNotIn(str(row["latitude"])[:8], text)
        self.assertTrue(server.wait_result(identity)["ok"])
        # Once an hour.
        again = server.command("upload_log")
        fake.drive(1)
        daemon.wait_stored(7)
        daemon.sync()
        result = server.wait_result(again)
        self.assertFalse(result["ok"])
        self.assertIn("within the last hour", result["error"])
        self.assertEqual(len(server.logs), 1)

    def test_another_place_of_the_same_server(self):
        server, fake, daemon = self.vehicle(["upload_log"])
        server.log_status = 404
        origin = server.url.removesuffix("/locations")
        elsewhere = server.command("upload_log", url="http://127.0.0.1:1/logs")
        here = server.command("upload_log", url=origin + "/ingest/logs?device=1")
        daemon.sync()
        wait_for(lambda: server.logs, "the log")
        self.assertEqual(server.logs[0][0], "/ingest/logs?device=1")
        self.assertFalse(server.wait_result(elsewhere)["ok"])
        # Refused for good it is not tried again.
        result = server.wait_result(here)
        self.assertEqual((result["ok"], result["error"].partition(":")[0]), (False, "failed"), result)
        # Whatever it was answered with, rows go on.
        fake.drive(3)
        daemon.wait_stored(4)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        daemon.wait_status(lambda status: status["sync"]["state"] == "idle", "all is well")
        self.assertEqual(len(server.logs), 1)
        self.assertIn("answers 404 to it at /ingest/logs", daemon.text())

    def test_its_result_comes_when_it_is_there(self):
        """Commands behind it do not wait for it. Given up after three tries, it has not been done."""
        server, fake, daemon = self.vehicle(["upload_log", "stop"])
        server.log_status = 503
        log, stop = server.command("upload_log"), server.command("stop")
        daemon.ask_for_sync()
        wait_for(lambda: server.logs, "the first try")
        self.assertTrue(server.wait_result(stop)["ok"])
        self.assertEqual((daemon.status()["state"], self.state(daemon, log)), ("stopped", "received"))
        daemon.sync_until(lambda reply: log in server.results, "its result")
        result = server.results[log][0]
        self.assertEqual((result["ok"], result["error"].partition(":")[0]), (False, "failed"), result)
        self.assertEqual(len(server.logs), 3)
        # Rows go on.
        daemon.call("Start")
        fake.wait_watched()
        self.assertTrue(all(found["ok"] for found in server.results[stop]))

    def test_a_second_try_that_arrives(self):
        server, _, daemon = self.vehicle(["upload_log"])
        server.log_status = 503
        identity = server.command("upload_log")
        daemon.ask_for_sync()
        wait_for(lambda: server.logs, "the first try")
        server.log_status = 200
        daemon.sync_until(lambda reply: identity in server.results, "its result")
        self.assertEqual((server.results[identity][0]["ok"], len(server.logs)), (True, 2))

    def test_a_kill_before_it_is_there_repeats_it(self):
        server, _, daemon = self.vehicle(["upload_log"])
        server.log_status = 503
        identity = server.command("upload_log")
        daemon.ask_for_sync()
        wait_for(lambda: server.logs, "the first try")
        daemon.kill()
        self.assertNotIn(identity, server.results)
        server.log_status = 200
        daemon.start()
        daemon.sync_until(lambda reply: identity in server.results, "its result")
        self.assertTrue(server.results[identity][0]["ok"])
        self.assertEqual(len(server.logs), 2)

    def test_taken_back_it_does_not_go(self):
        """The server may not ask for it any more when it would."""
        server, fake, daemon = self.vehicle(["upload_log"])
        server.log_status = 503
        identity = server.command("upload_log")
        daemon.ask_for_sync()
        wait_for(lambda: server.logs, "the first try")
        daemon.configure(**{"sync.commands": {"enabled": False}})
        daemon.call("Reload")
        wait_for(lambda: self.state(daemon, identity) == "done", "its end")
        fake.drive(3)
        daemon.wait_stored(4)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(len(server.logs), 1)

    def state(self, daemon, identity: str) -> str | None:
        listed = {command["id"]: command["state"] for command in daemon.call("GetCommands")["commands"]}
        return listed.get(identity)

    def test_not_allowed_there_is_none(self):
        server, _, daemon = self.vehicle(["stop"])
        identity = server.command("upload_log")
        daemon.sync()
        self.assertIn("not_allowed", server.wait_result(identity)["error"])
        never(lambda: server.logs, "a log")


if __name__ == "__main__":
    unittest.main()
