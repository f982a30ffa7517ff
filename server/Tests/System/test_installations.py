"""A device is one installation: commands are for it alone, whoever else shows its tokens."""
from __future__ import annotations

import base64
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.postgres import BIN, cluster
from server_support.server import PROGRAM, Answer, Server, envelope, uuid7
from server_support.server_test import ServerTest


class Installations(ServerTest):
    """On one database."""

    start: Any

    def begin(self) -> tuple[Server, dict, str]:
        """A server that signs, and a device for which a command waits."""
        key = os.path.join(self.folder, "key.pem")
        subprocess.run([PROGRAM, "key", "new", key], check=True, capture_output=True, timeout=60)
        server = self.start("--signing-key", key)
        self.admin = server.add_user("root", "admin")
        device = server.add_device("van")
        path = f"/v1/devices/{device['id']}"
        answer = server.ask(
            "POST", path + "/commands", self.admin, b'{"command":"start"}', Content_Type="application/json")
        self.assertEqual(answer.status, 201, answer)
        return server, device, path

    def upload(self, server: Server, token: str, install: str | None, count: int = 1, **more) -> Answer:
        root = envelope(count, **more)
        root["device"]["install_id"] = install
        if install is None:
            del root["device"]["install_id"]
        answer = server.post(token, root)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json["stored"], count)
        return answer

    def signed_for(self, answer: Answer) -> str | None:
        if "signed" not in answer.json:
            return None
        return json.loads(base64.b64decode(answer.json["signed"]))["install_id"]

    def told(self, server: Server, path: str) -> list:
        answer = server.ask("GET", path + "/installations", self.admin)
        self.assertEqual(answer.status, 200, answer)
        return [(row["install_id"], row["state"]) for row in answer.json["installations"]]

    def test_commands_are_signed_for_the_installation_of_the_device_alone(self):
        server, device, path = self.begin()
        token = device["access_token"]
        mine, victim = uuid7(1), uuid7(2)
        answer = self.upload(server, token, mine)
        self.assertEqual((self.signed_for(answer), len(answer.json["commands"])), (mine, 1))
        # Its rows are stored; it is told nothing.
        for _ in range(2):
            answer = self.upload(server, token, victim)
            self.assertNotIn("commands", answer.json)
            self.assertNotIn("signed", answer.json)
        self.assertEqual(sorted(self.told(server, path)), sorted([(mine, "bound"), (victim, "other")]))
        self.assertEqual(server.ask("GET", path, self.admin).json["other_installation"], victim)
        with open(server.log, encoding="utf-8") as log:
            self.assertEqual(log.read().count(victim), 1, "it is told once")
        answer = self.upload(server, token, mine)
        self.assertEqual(self.signed_for(answer), mine)

    def test_another_installation_finishes_no_command(self):
        """It was not told the command, and cannot have done it: the vehicle still gets it."""
        server, device, path = self.begin()
        token = device["access_token"]
        mine, other = uuid7(1), uuid7(2)
        answer = self.upload(server, token, mine)
        results = [{"id": answer.json["commands"][0]["id"], "command": "start", "ok": True}]
        # With rows, and with none.
        self.upload(server, token, other, command_results=results)
        self.upload(server, token, other, 0, command_results=results)
        self.assertEqual(server.ask("GET", path + "/commands", self.admin).json["commands"][0]["state"], "offered")
        self.assertEqual(len(self.upload(server, token, mine).json["commands"]), 1)
        self.assertNotIn("commands", self.upload(server, token, mine, command_results=results).json)
        self.assertEqual(server.ask("GET", path + "/commands", self.admin).json["commands"][0]["state"], "finished")

    def test_one_that_changes_its_id_at_each_upload_fills_no_log(self):
        server, device, path = self.begin()
        token = device["access_token"]
        self.upload(server, token, uuid7(1))
        for number in range(50):
            self.upload(server, token, uuid7(number + 2))
        with open(server.log, encoding="utf-8") as log:
            lines = [line for line in log if "uploads with its tokens" in line]
        self.assertTrue(1 <= len(lines) <= 9, lines)
        metrics = server.ask("GET", "/metrics", self.admin).body.decode()
        self.assertIn("beekon_server_other_installations_total 50\n", metrics)
        self.assertEqual(sum(state == "other" for _, state in self.told(server, path)), 8)

    def test_an_admin_confirms_another_installation(self):
        server, device, path = self.begin()
        token = device["access_token"]
        first, second = uuid7(1), uuid7(2)
        self.upload(server, token, first)
        self.upload(server, token, second)
        reader = server.add_user("rita", "reader")
        body = json.dumps({"install_id": second}).encode()
        for shown, status in ((reader, 403), (token, 403), (None, 401), (self.admin, 204)):
            answer = server.ask("POST", path + "/installations", shown, body, Content_Type="application/json")
            self.assertEqual(answer.status, status, answer)
        self.assertEqual(self.signed_for(self.upload(server, token, second)), second)
        # Who was bound before gets nothing any more, and is not told.
        self.assertNotIn("commands", self.upload(server, token, first).json)
        self.assertEqual(sorted(self.told(server, path)), sorted([(first, "earlier"), (second, "bound")]))
        self.assertNotIn("other_installation", server.ask("GET", path, self.admin).json)
        for wrong in (uuid7(3), "x"):
            answer = server.ask("POST", path + "/installations", self.admin, json.dumps({"install_id": wrong}).encode())
            self.assertIn(answer.status, (400, 404))

    def test_an_empty_envelope_neither_binds_nor_is_told(self):
        server, device, path = self.begin()
        token = device["access_token"]
        answer = self.upload(server, token, uuid7(1), 0)
        self.assertIsNone(self.signed_for(answer))
        self.upload(server, token, None, 0)
        self.assertEqual(self.told(server, path), [])
        mine = uuid7(2)
        # A status is something of its own.
        self.assertEqual(self.signed_for(self.upload(server, token, mine, 0, status={"state": "tracking"})), mine)
        self.assertNotIn("commands", self.upload(server, token, uuid7(3), 0).json)
        self.assertEqual(self.told(server, path), [(mine, "bound")])
        root = envelope(1)
        del root["device"]["install_id"]
        answer = server.post(token, root)
        self.assertEqual((answer.status, answer.json["pointer"]), (400, "/device/install_id"))

    def test_new_tokens_unbind(self):
        server, device, path = self.begin()
        first, second, third = uuid7(1), uuid7(2), uuid7(3)
        self.upload(server, device["access_token"], first)
        self.upload(server, device["access_token"], third)
        pair = server.ask("POST", path + "/tokens", self.admin, b"").json
        self.assertEqual(self.signed_for(self.upload(server, pair["access_token"], second)), second)
        self.assertEqual(sorted(self.told(server, path)), sorted([(first, "earlier"), (second, "bound")]))

    def test_an_upload_that_began_with_the_old_tokens_binds_nothing(self):
        """Its body comes when the new ones have been given: whoever had the old ones would be the vehicle."""
        server, device, path = self.begin()
        thief, mine = uuid7(1), uuid7(2)
        root = envelope(1)
        root["device"]["install_id"] = thief
        body = json.dumps(root).encode()
        link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.addCleanup(link.close)
        link.putrequest("POST", "/v1/batches")
        link.putheader("Authorization", f"Bearer {device['access_token']}")
        link.putheader("Content-Length", str(len(body)))
        link.endheaders(body[:1])
        # What is asked next comes later.
        self.assertEqual(self.upload(server, device["access_token"], uuid7(3)).status, 200)
        pair = server.ask("POST", path + "/tokens", self.admin, b"").json
        link.send(body[1:])
        answer = link.getresponse()
        self.assertNotIn(b"commands", answer.read())
        self.assertEqual(answer.status, 401, "its tokens have ended before it was stored")
        self.assertEqual(self.signed_for(self.upload(server, pair["access_token"], mine)), mine)
        self.assertIn((mine, "bound"), self.told(server, path))

    def test_the_newest_eight_are_kept(self):
        server, device, path = self.begin()
        self.upload(server, device["access_token"], uuid7(1))
        for number in range(12):
            self.upload(server, device["access_token"], uuid7(int(time.time() * 1000) + number))
        states = [state for _, state in self.told(server, path)]
        self.assertEqual((states.count("bound"), states.count("other")), (1, 8))


class SQLiteInstallationTests(Installations, ServerTest):
    def start(self, *options: str) -> Server:
        return self.server(*options).start()


@unittest.skipUnless(BIN, "no PostgreSQL: 'make deps' installs it")
class PostgresInstallationTests(Installations, ServerTest):
    def setUp(self):
        super().setUp()
        self.postgres = cluster()
        self.addCleanup(self.postgres.remove)
        self.postgres.start()

    def start(self, *options: str) -> Server:
        server = Server(tempfile.mkdtemp(dir=self.folder), self.postgres.address(), options).start()
        self.addCleanup(server.kill)
        return server


# It has no database.
del Installations


if __name__ == "__main__":
    unittest.main()
