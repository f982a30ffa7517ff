"""What the interface does with vehicles beside taking their rows: commands, heartbeats, events, trips, logs, changes as they
come; and what the operator's verbs do."""
import base64
import gzip
import http.client
import json
import os
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.postgres import BIN, cluster
from server_support.server import FIRST_MS, PROGRAM, Server, envelope, iso, uuid7
from server_support.server_test import ServerTest
from support.nightly import check_with_promtool
from support.waiting import wait_for

OPENSSL = shutil.which("openssl")
STATUS = {"state": "tracking", "motion": "moving", "receiver": "ok", "pending": 7, "oldest_pending": iso(FIRST_MS),
          "odometer_meters": 1234.5, "ignition": True, "version": "1.0.0", "uptime_seconds": 60}


class Stream:
    """Listens to /v1/live in a thread of its own."""

    def __init__(self, server: Server, token: str):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        self.connection.connect()
        self.socket = self.connection.sock
        self.connection.request("GET", "/v1/live", headers={"Authorization": f"Bearer {token}"})
        self.answer = self.connection.getresponse()
        self.events: list = []
        self.ended = False
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        kind = ""
        try:
            while line := self.answer.readline():
                text = line.decode().rstrip("\n")
                if text.startswith("event: "):
                    kind = text[7:]
                elif text.startswith("data: "):
                    self.events.append((kind, json.loads(text[6:])))
        except (OSError, http.client.HTTPException, AttributeError, ValueError):
            # The connection was closed under it.
            pass
        self.ended = True

    def close(self):
        # What the thread reads from must not be closed under it.
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.thread.join(60)
        self.connection.close()


class FleetInterfaceTests(ServerTest):
    options: tuple = ()

    def setUp(self):
        super().setUp()
        self.key = os.path.join(self.folder, "key.pem")
        self.under_test = self.server(*self.options).start()
        self.ask = self.under_test.ask
        self.device = self.under_test.add_device("van")
        self.token = self.device["access_token"]
        self.admin = self.under_test.add_user("root", "admin")
        self.path = f"/v1/devices/{self.device['id']}"
        # It is one installation throughout.
        self.of_vehicle = {"install_id": uuid7(FIRST_MS), "platform": "linux", "sdk_version": "1.0.0"}

    def order(self, command: str, **fields):
        return self.ask(
            "POST", self.path + "/commands", self.admin, json.dumps({"command": command, **fields}).encode())

    def heartbeat(self, **fields):
        """An envelope without rows."""
        answer = self.under_test.post(self.token, envelope(0, **{"device": self.of_vehicle, **fields}))
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    # MARK: Commands

    def test_a_command_goes_with_every_answer_until_its_result_is_there(self):
        made = self.order("set_config", arguments={"tracking.interval_seconds": 5})
        self.assertEqual(made.status, 201, made)
        id_ = made.json["id"]
        wanted = [{"id": id_, "command": "set_config", "arguments": {"tracking.interval_seconds": 5}}]
        root = envelope(3, device=self.of_vehicle)
        for _ in range(2):
            self.assertEqual(self.under_test.post(self.token, root).json["commands"], wanted)
        self.assertEqual(self.heartbeat()["commands"], wanted)
        self.assertEqual(self.state(id_), "offered")
        result = {"id": id_, "command": "set_config", "ok": True, "result": {"overridden": ["a"]}}
        self.assertNotIn("commands", self.heartbeat(command_results=[result]))
        self.assertEqual(self.state(id_), "finished")
        listed = self.ask("GET", self.path + "/commands", self.admin).json["commands"][0]
        self.assertEqual((listed["result"], listed["author"]), (result, "root"))
        # The same result again, and results that nobody asked for.
        self.heartbeat(command_results=[result, {"id": "c-1", "ok": False, "error": "x"}, {"id": "z", "ok": True}])

    def state(self, id_: str) -> str:
        commands = self.ask("GET", self.path + "/commands", self.admin).json["commands"]
        return next(command["state"] for command in commands if command["id"] == id_)

    def test_orders_that_are_none(self):
        for body in (b"", b"[]", b"{}", b'{"command":"format_disk"}', b'{"command":"start","arguments":5}',
                     b'{"command":"start","expires_in":5}', b'{"command":"start","more":1}',
                     b'{"command":"start","arguments":' + b'{"a":' * 20 + b"1" + b"}" * 20 + b"}"):
            answer = self.ask("POST", self.path + "/commands", self.admin, body)
            self.assertIn(answer.status, (400, 413), body)
        self.assertEqual(self.ask("POST", "/v1/devices/99/commands", self.admin, b'{"command":"start"}').status, 404)
        for _ in range(16):
            self.assertEqual(self.order("locate").status, 201)
        self.assertEqual(self.order("locate").status, 409)
        self.assertEqual(len(self.heartbeat()["commands"]), 16)

    def test_verbs_for_commands(self):
        id_ = self.under_test.verb("command", "add", str(self.device["id"]), "locate").stdout.strip()
        self.assertEqual([command["id"] for command in self.heartbeat()["commands"]], [id_])
        self.assertIn(f"{id_}\t", self.under_test.verb("command", "list", str(self.device["id"])).stdout)
        self.assertEqual(self.under_test.verb("command", "withdraw", str(self.device["id"]), id_).returncode, 0)
        self.assertNotIn("commands", self.heartbeat())
        self.assertEqual(self.state(id_), "withdrawn")
        bad = self.under_test.verb("command", "add", str(self.device["id"]), "explode")
        self.assertIn("/command is none of", bad.stderr)

    @unittest.skipUnless(OPENSSL, "openssl is not installed")
    def test_signed(self):
        public = subprocess.run([PROGRAM, "key", "new", self.key], capture_output=True, text=True, check=True).stdout
        self.assertEqual(stat.S_IMODE(os.stat(self.key).st_mode), 0o600)
        self.assertNotEqual(subprocess.run([PROGRAM, "key", "new", self.key], capture_output=True).returncode, 0)
        self.under_test.stop()
        self.under_test.options = ("--signing-key", self.key)
        self.under_test.start()
        self.assertEqual(self.ask("GET", "/v1/key", self.admin).body.decode(), public)
        id_ = self.order("stop").json["id"]
        device, install = self.of_vehicle, self.of_vehicle["install_id"]
        self.assertNotIn("signed", self.heartbeat(), "nothing has said which installation it is")
        self.heartbeat(status={"state": "tracking"})
        first, second = self.heartbeat(device=device), self.heartbeat(device=device)
        self.assertEqual([command["id"] for command in first["commands"]], [id_], "for vehicles that have no key")
        lists = []
        for answer in (first, second):
            signed, signature = (base64.b64decode(answer[name], validate=True) for name in ("signed", "signature"))
            self.verify(public, signed, signature)
            lists.append(json.loads(signed))
        self.assertEqual(lists[0]["install_id"], install)
        self.assertEqual([command["id"] for command in lists[0]["commands"]], [id_])
        self.assertLess(lists[0]["counter"], lists[1]["counter"])
        self.assertGreater(lists[0]["expires_at"], iso(int(time.time() * 1000)))
        # As much as may wait fits into what a vehicle reads of an answer, in both forms.
        for _ in range(15):
            self.assertEqual(self.order("set_config", arguments={"x": "y" * 1500}).status, 201)
        answer = self.under_test.post(self.token, envelope(0, device=device))
        self.assertEqual(len(answer.json["commands"]), 16)
        self.assertLess(len(answer.body), 64 << 10)
        self.assertEqual(json.loads(base64.b64decode(answer.json["signed"]))["commands"], answer.json["commands"])

    def verify(self, public: str, signed: bytes, signature: bytes):
        names = {"public.pem": public.encode(), "signed": signed, "signature": signature}
        for name, content in names.items():
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(content)
        assert OPENSSL
        done = subprocess.run(
            [OPENSSL, "pkeyutl", "-verify", "-pubin", "-inkey", "public.pem", "-rawin", "-in", "signed", "-sigfile",
             "signature"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    # MARK: Heartbeats, events, trips, logs

    def test_heartbeats_and_metrics(self):
        self.heartbeat(status=STATUS)
        state = self.ask("GET", self.path, self.admin).json
        self.assertEqual(state["status"], STATUS)
        self.assertIn("status_received", state)
        self.under_test.post(self.token, envelope(3))
        self.assertEqual(self.ask("GET", self.path, self.admin).json["status"], STATUS)
        text = self.ask("GET", "/metrics", self.admin).body.decode()
        number = self.device["id"]
        for line in (f'beekon_device_pending_locations{{device="{number}"}} 7', 'beekon_server_rows_total{result="stored"} 3',
                     f'beekon_device_odometer_meters{{device="{number}"}} 1234.5', "beekon_devices 1",
                     f'beekon_device_ignition{{device="{number}"}} 1', f'beekon_device_tracking{{device="{number}"}} 1',
                     "beekon_server_batch_seconds_count 2"):
            self.assertIn(line + "\n", text)
        self.assertIn('beekon_server_requests_total{route="/v1/batches",code="200"} 2', text)
        check_with_promtool(self, text)

    def test_events(self):
        first = FIRST_MS
        events = [{"id": uuid7(first + n), "kind": "ignition_on", "timestamp": iso(first + n), "data": {"n": n, "s": "a\u2028b"}}
                  for n in range(1500)]
        for half in (events[:800], events[700:]):
            answer = self.under_test.post(self.token, envelope(0, first_ms=first + len(half), events=half))
            self.assertEqual(answer.status, 200, answer)
        self.under_test.post(self.token, envelope(1, geofence_events=[
            {"id": uuid7(first), "geofence_id": "depot", "type": "enter", "timestamp": iso(first + 20)}]))
        found = self.ask("GET", self.path + "/events", self.admin).json["events"]
        self.assertEqual([event for event in found if event["kind"] == "ignition_on"], events)
        self.assertEqual([event["geofence_id"] for event in found if event["kind"] == "geofence_enter"], ["depot"])
        self.assertEqual([event["timestamp"] for event in found], sorted(event["timestamp"] for event in found))
        part = self.ask("GET", f"{self.path}/events?from={iso(first + 10)}&to={iso(first + 12)}", self.admin).json["events"]
        self.assertEqual(len(part), 3)
        self.assertEqual(self.ask("GET", self.path + "/events?format=csv", self.admin).status, 400)

    def test_trips(self):
        self.under_test.post(self.token, envelope(60))
        self.under_test.post(self.token, envelope(60, first_ms=FIRST_MS + 3_600_000))
        trips = self.ask("GET", self.path + "/trips", self.admin).json["trips"]
        self.assertEqual([trip["duration"] for trip in trips], [59, 59])
        self.assertAlmostEqual(trips[0]["distance"], 59 * 11.12, delta=2)
        self.assertEqual(trips[0]["top_speed"], 12.25)

    def test_a_log(self):
        self.assertEqual(self.ask("GET", self.path + "/log", self.admin).status, 404)
        for text in ("first\n", "second é\n"):
            answer = self.ask("POST", "/v1/logs", self.token, gzip.compress(text.encode()), Content_Encoding="gzip")
            self.assertEqual(answer.status, 204, answer)
        answer = self.ask("GET", self.path + "/log", self.admin)
        self.assertEqual((answer.body.decode(), answer.headers["content-type"]), ("second é\n", "text/plain; charset=utf-8"))
        bomb = gzip.compress(b"x" * (64 << 20))
        self.assertEqual(self.ask("POST", "/v1/logs", self.token, bomb, Content_Encoding="gzip").status, 413)

    # MARK: Changes as they come

    def test_live(self):
        stream = Stream(self.under_test, self.admin)
        self.addCleanup(stream.close)
        self.assertEqual(stream.answer.getheader("content-type"), "text/event-stream")
        wait_for(lambda: stream.events, "the stream begins")
        self.under_test.post(self.token, envelope(5, status=STATUS))
        wait_for(lambda: self.told(stream, self.device["id"]), "the location is told")
        self.assertEqual(self.told(stream, self.device["id"])[-1]["status"], STATUS)
        # It ends with the server, which does not wait for it.
        self.assertEqual(self.under_test.stop(), 0)
        wait_for(lambda: stream.ended, "the stream ends")

    @staticmethod
    def told(stream: Stream, device: int) -> list:
        return [data for kind, data in stream.events if kind == "device" and data["id"] == device]

    def test_too_many_listeners(self):
        streams = [Stream(self.under_test, self.admin) for _ in range(100)]
        for stream in streams:
            self.addCleanup(stream.close)
        wait_for(lambda: all(stream.events for stream in streams), "all are listening")
        answer = self.ask("GET", "/v1/live", self.admin)
        self.assertEqual(answer.status, 503)
        self.assertIn("retry-after", answer.headers)
        self.under_test.post(self.token, envelope(1))
        wait_for(lambda: all(self.told(stream, self.device["id"]) for stream in streams), "all are told")

    @unittest.skipUnless(BIN, "PostgreSQL's server is not installed")
    def test_live_across_servers(self):
        postgres = cluster()
        self.addCleanup(postgres.remove)
        postgres.start()
        servers = []
        for _ in range(2):
            server = Server(self.folder, postgres.address())
            self.addCleanup(server.kill)
            servers.append(server.start())
        device, admin = servers[0].add_device("van"), servers[0].add_user("root", "admin")
        stream = Stream(servers[0], admin)
        self.addCleanup(stream.close)
        wait_for(lambda: stream.events, "the stream begins")
        self.assertEqual(servers[1].deliver(device["access_token"], envelope(2)).status, 200)
        wait_for(lambda: self.told(stream, device["id"]), "what the other server took is told")

    # MARK: The operator

    def test_a_backup_while_it_runs(self):
        self.under_test.post(self.token, envelope(100))
        copy = os.path.join(self.folder, "copy.db")
        stop = threading.Event()
        taken: list = []

        def upload():
            while not stop.is_set():
                taken.append(self.under_test.post(self.token, envelope(10, first_ms=FIRST_MS + len(taken) * 20_000)).status)

        thread = threading.Thread(target=upload)
        thread.start()
        try:
            done = self.under_test.verb("backup", copy)
        finally:
            stop.set()
            thread.join()
        # `verb` takes two words of verbs; here the second is the file.
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(set(taken), {200})
        self.assertEqual(stat.S_IMODE(os.stat(copy).st_mode) & 0o077, 0)
        with sqlite3.connect(copy) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchone(), ("ok",))
            self.assertGreaterEqual(database.execute("SELECT count(*) FROM locations").fetchone()[0], 100)
        self.assertIn("exists already", self.under_test.verb("backup", copy).stderr)
        # It is a database like the other.
        restored = Server(self.folder, copy)
        self.addCleanup(restored.kill)
        restored.start()
        self.assertEqual(restored.deliver(self.token, envelope(1, first_ms=FIRST_MS - 100_000)).status, 200)

    def test_doctor(self):
        done = subprocess.run(
            [PROGRAM, "doctor", "--database", self.under_test.database], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for word in ("SQLite", "schema 7", "devices: 1", "users: 1", "rights: the file is for its owner alone"):
            self.assertIn(word, done.stdout)
        os.chmod(self.under_test.database, 0o644)
        done = subprocess.run(
            [PROGRAM, "doctor", "--database", self.under_test.database], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 1)
        self.assertIn("BAD   rights", done.stdout)


if __name__ == "__main__":
    unittest.main()
