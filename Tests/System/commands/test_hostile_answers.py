"""Answers that ask for what they may not, or in a way they may not: none has an effect, every batch is acknowledged as it
would be without them, and each refusal is counted and told."""
from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.command_server import CommandServer
from support.programs import program
from support.system_test import SystemTest
from support.waiting import wait_for

STOP = {"id": "x", "command": "stop"}
# Each of these would stop the vehicle if it were heard.
GOOD = [json.dumps({"commands": [STOP]}), '{"background_geolocation":[["stop"]]}', '{"background_geolocation":["stop"]}']
# What no interval can be.
ODD: list = [-1, 1e12, "7", [], {}, None, True]
ALLOWED = ["start", "stop", "set_config", "add_geofences", "locate"]


def plain(*commands) -> str:
    return json.dumps({"commands": list(commands)})


def command(name, number: int, **arguments) -> str:
    return plain({"id": f"n-{number}", "command": name, **({"arguments": arguments} if arguments else {})})


def one_by_one() -> list:
    """Commands that are heard, and refused each for itself: fewer than may come in an hour."""
    names = ["delete_locations", "erase", "seed_auth", "reload", "exec", "Start", " stop", "stop\u0000", "ѕtop", "",
             "destroy_log", "purge_rejected", "forget_destination", "reboot", "s" * 50_000,
             # What this vehicle's files do not allow.
             "sync", "upload_log", "remove_all_geofences"]
    found = [command(name, number) for number, name in enumerate(names)]
    settings = ["sync.url", "store.max_rows", "gpsd.host", "sync.auth.refresh_url", "sync.commands.allow", "log.level",
                "sync.heartbeat_seconds", "tracking.schedule", "tracking.colour", "", "extras.a"]
    found += [command("set_config", 100 + number, settings={name: 5}) for number, name in enumerate(settings)]
    found += [command("set_config", 200 + number, settings={"tracking.interval_seconds": value})
              for number, value in enumerate(ODD)]
    found += [command("add_geofences", 300, geofences=[{"id": "a", "latitude": 91, "longitude": 1, "radius_meters": 9}]),
              command("add_geofences", 301, geofences=[]), command("start", 302, force=True),
              command("locate", 303, timeout=1), command("set_motion", 304, motion="unknown")]
    found += [json.dumps({"background_geolocation": each}) for each in (
        ["destroyLog"], ["destroyLocations"], ["setConfig", {"url": "https://evil.example"}],
        ["setConfig", {"http": {"url": "x"}}], ["setConfig", {}], ["changePace", 1], ["start", 1, 2], ["removeGeofences"])]
    return found


def refused_whole() -> list:
    """Lists of which nothing is heard: the body, and what else its answer has."""
    found: list[str] = []
    for levels in range(17, 57):
        deep = json.loads("[" * levels + "]" * levels)
        found.append(json.dumps({"commands": [STOP], "x": deep}))
        found.append('{"background_geolocation":[["stop",' + "[" * levels + "]" * levels + "]]}")
        found.append('{"commands":[{"id":"d","command":"stop","arguments":' + '{"a":' * levels + "1" + "}" * levels + "}]}")
    for count in range(17, 77):
        found.append(plain(*({"id": f"m-{index}", "command": "stop"} for index in range(count))))
    for body in GOOD:
        start = max(body.find('s"'), body.find('n"')) + 3
        found += [body[:length] for length in range(25, len(body)) if length >= start]
        found += [body + "}", body + body, "\u0001" + body, body[:-1] + ",}", body.replace("[", "[,", 1)]
    value: Any
    for value in (True, 0, 1.5, "stop", {}, {"0": STOP}):
        found += [json.dumps({"commands": value}), json.dumps({"background_geolocation": value})]
    for value in (True, 0, 1.5, "stop", {}, ["stop"], None, [], {"id": "a"}, {"command": "stop"}):
        found += [plain(value), plain(STOP, value)]
    identity: Any
    for identity in (True, 17, 1.5, {}, [], None, "", "a b", "ä", "\n", "i" * 129):
        found += [plain({"id": identity, "command": "stop"}), plain(STOP, {"id": identity, "command": "stop"})]
    for code in [*range(33), 127, 160, 173, 0xE4, 0x200B, 0x202E, 0x2028, 0xFEFF, 0x1F600]:
        found.append(plain({"id": f"a{chr(code)}b", "command": "stop"}))
        found.append(plain(STOP, {"id": chr(code), "command": "stop"}))
    name: Any
    for name in (True, 17, {}, [], None):
        found += [plain({"id": "a", "command": name}), json.dumps({"background_geolocation": [["stop"], [name]]})]
    found += ['{"commands":[{"id":"1","id":"2","command":"stop"}]}',
              '{"commands":[{"id":"1","command":"start","command":"stop"}]}',
              '{"batch_id":"a","batch_id":"b","commands":[{"id":"1","command":"stop"}]}',
              '{"commands":[{"id":"1","command":"stop"}],"background_geolocation":["stop"]}',
              '{"commands":[{"id":"1","command":"st\\ud800op"}]}']
    # What has more bytes than are read.
    found += [body + " " * (70_000 + extra) for body in GOOD for extra in range(10)]
    answers: list = [(200, body) for body in found]
    answers += [(200, body[:-2].encode() + b"\xff" + body[-2:].encode()) for body in GOOD]
    answers += [(200, body, {"Content-Encoding": coding}) for body in GOOD for coding in ("gzip", "br", "deflate")]
    answers += [(status, body) for status in (201, 202, 207, 226) for body in found[:3]]
    return answers


def unheard() -> list:
    """Commands where none is looked for: a page in place of the backend, and every answer that is no 2xx."""
    return [(200, "<!doctype html>" + GOOD[0])] + [
        (status, body) for status in (301, 302, 307, 308, 304, 404, 409, 410, 413, 418, 429, 500, 502, 503) for body in GOOD[:1]]


class HostileTest(SystemTest):
    def server(self) -> CommandServer:
        server = CommandServer()
        server.ask = lambda envelope: []
        self.addCleanup(server.stop)
        self.receivers.append(server)
        return server

    def vehicle(self, server: CommandServer, **sections) -> tuple:
        fake = self.fake()
        sections["sync"] = {"url": server.url, "batch_size": 1, **sections.get("sync", {})}
        sections["sync.commands"] = {"enabled": True, "allow": ALLOWED, "settings": ["tracking.interval_seconds"],
                                     **sections.get("sync.commands", {})}
        daemon = self.daemon(fake.port, **sections).start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        return fake, daemon

    def effects(self, daemon) -> tuple:
        """All that a command could change."""
        status = daemon.status()
        settings = [(found["key"], found["value"]) for found in daemon.call("GetConfig")["settings"]]
        return (status["state"], status["session_id"], settings, daemon.call("ListGeofences"),
                [session["id"] for session in daemon.call("GetSessions")["sessions"]])

    def refused(self, daemon) -> int:
        return daemon.status()["sync"].get("refused_commands", 0)

    def told(self, daemon) -> int:
        return daemon.text().count("commands of the server of main refused: ")

    def check_none_was_done(self, daemon):
        commands = daemon.call("GetCommands")["commands"]
        self.assertEqual([command for command in commands if command.get("ok")], [])


class TableTests(HostileTest):
    def test_five_hundred(self):
        server = self.server()
        fake, daemon = self.vehicle(server)
        daemon.sync()
        before = self.effects(daemon)
        single, lists, others = one_by_one(), refused_whole(), unheard()
        self.assertGreaterEqual(len(single) + len(lists) + len(others) + 2 * len(GOOD), 500)
        self.assertLess(len(single), 60)
        rejections = [(status, body) for status in (400, 422) for body in GOOD]
        planned: list = [(200, body) for body in single] + lists
        # Not one after the other, of which the uploader would think something else.
        for number, rejection in enumerate(rejections):
            planned.insert(60 + 50 * number, rejection)
        given = []

        def answer(envelope):
            if not envelope.has_rows or not planned:
                return None
            given.append(envelope.ids)
            return planned.pop(0)

        server.answer = answer
        count = len(planned)
        fake.drive(count)
        daemon.wait_stored(1 + count)
        daemon.sync_until(lambda reply: not planned and daemon.status()["sync"]["pending"] == 0, "all have been answered")
        # As without them: each batch was sent once, and is either accepted or, of a 400 and a 422, a dead letter.
        self.assertEqual(len(given), len({identity for ids in given for identity in ids}))
        self.assertEqual(daemon.status()["sync"]["rejected"], len(rejections))
        self.assertEqual(self.refused(daemon), len(lists))
        self.assertEqual(self.told(daemon), len(lists))
        daemon.sync_until(lambda reply: len(server.results) == len(single), "every refusal has reached the server")
        listed = daemon.call("GetCommands")["commands"]
        self.assertEqual(len(listed), len(single))
        self.check_none_was_done(daemon)
        self.assertTrue(all(not result["ok"] and result["error"] for found in server.results.values() for result in found))
        self.assertEqual(daemon.text().count(" not done: "), len(single))
        # Where nobody listens there is nothing to refuse; the batch is kept, and goes once the server means it.
        fake.drive(1)
        daemon.wait_stored(2 + count)
        for status, *rest in others:
            planned.append((status, *rest))
            daemon.sync_until(lambda reply: not planned, f"the answer {status}")
            self.assertEqual(daemon.status()["sync"]["pending"], 1, status)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(self.refused(daemon), len(lists))
        self.assertEqual(self.effects(daemon), before)
        print(f"hostile answers to a real daemon: {len(single) + len(lists) + len(rejections) + len(others)}")
        # The way was open all the time.
        server.answer = lambda envelope: None
        server.ask = lambda envelope: [{"id": "last", "command": "stop"}]
        fake.drive(1)
        daemon.wait_stored(3 + count)
        daemon.sync_until(lambda reply: "last" in server.results, "the stop")
        self.assertEqual(daemon.status()["state"], "stopped")

    def test_more_than_sixty_an_hour(self):
        server = self.server()
        fake, daemon = self.vehicle(server, **{"sync.commands": {"max": 64}})
        before = self.effects(daemon)
        lists = [[{"id": f"{size}-{index}", "command": "erase"} for index in range(size)] for size in (61, 50, 11, 10, 1)]
        asked = []

        def ask(envelope) -> list:
            if not envelope.has_rows or not lists:
                return []
            asked.append(lists.pop(0))
            return asked[-1]

        server.ask = ask
        fake.drive(5)
        daemon.wait_stored(6)
        daemon.sync_until(lambda reply: not lists, "all lists")
        # 61 at once are too many; of the rest 50 and 10 fit.
        daemon.wait_status(lambda status: status["sync"].get("refused_commands") == 3, "the refusals")
        self.assertEqual(len(daemon.call("GetCommands")["commands"]), 60)
        # A repeated one is answered, however many there were.
        server.ask = lambda envelope: asked[3]
        fake.drive(1)
        daemon.wait_stored(7)
        daemon.sync_until(lambda reply: len(server.results.get("10-0", [])) >= 2, "the result once more")
        self.assertEqual((self.refused(daemon), self.told(daemon)), (3, 3))
        self.assertEqual(self.effects(daemon), before)


class LimitTests(HostileTest):
    def asking(self, lists: list, **sections) -> tuple:
        """A vehicle whose server answers each batch with the next of these lists."""
        server = self.server()
        fake, daemon = self.vehicle(server, **{"sync.commands": {"max": 64}}, **sections)
        server.ask = lambda envelope: lists.pop(0) if envelope.has_rows and lists else []
        return server, fake, daemon

    def ask(self, fake, daemon, lists: list):
        """Until all of them have been given."""
        stored = daemon.status()["gate"]["admitted"]
        fake.drive(len(lists))
        daemon.wait_status(lambda status: status["gate"]["admitted"] >= stored + len(lists), "the fixes")
        daemon.sync_until(lambda reply: not lists, "all lists")

    def rows(self, daemon) -> int:
        return daemon.query("SELECT COUNT(*) FROM commands")[0][0]

    def test_refusals_of_one_id_take_one_row(self):
        """However often its content changes: else the journal forgets what has been done."""
        honest = {"id": "honest", "command": "set_config", "arguments": {"settings": {"tracking.interval_seconds": 0}}}
        erase = {"id": "k", "command": "erase"}
        lists = [[honest, erase]] + [[{**erase, "arguments": {"n": 64 * number + each}} for each in range(64)]
                                     for number in range(17)]
        server, fake, daemon = self.asking(lists)
        self.ask(fake, daemon, lists)
        self.assertEqual(self.rows(daemon), 3, "the honest one, the first of its id, and the refusal of the others")
        # Asked for again before that, it would be told once.
        wait_for(lambda: server.results.get("honest"), "its result")
        # What was done is still known as done, and each of the others was told why it is not.
        lists = [[honest]]
        server.ask = lambda envelope: lists.pop(0) if envelope.has_rows and lists else []
        self.ask(fake, daemon, lists)
        wait_for(lambda: len(server.results.get("honest", [])) >= 2, "its result once more")
        self.assertEqual([result["ok"] for result in server.results["honest"]], [True] * len(server.results["honest"]))
        wait_for(lambda: any(result["error"] == "id_reused" for result in server.results.get("k", [])), "the refusal")

    def test_other_contents_of_known_ids_count(self):
        """What takes a row counts for the hour, whether or not its id is known."""
        lists = [[{"id": f"a-{index}", "command": name} for index in range(30)] for name in ("erase", "wipe")]
        lists.append([{"id": "new", "command": "erase"}])
        _, fake, daemon = self.asking(lists)
        self.ask(fake, daemon, lists)
        daemon.wait_status(lambda status: status["sync"].get("refused_commands") == 1, "the refusal")
        self.assertIn("too_often", daemon.text())
        self.assertEqual(self.rows(daemon), 60)

    def test_a_restart_does_not_begin_the_hour_anew(self):
        lists = [[{"id": f"a-{index}", "command": "erase"} for index in range(50)]]
        server, fake, daemon = self.asking(lists)
        self.ask(fake, daemon, lists)
        daemon.kill()
        daemon.start()
        fake.settle()
        more = [[{"id": f"b-{index}", "command": "erase"} for index in range(11)],
                [{"id": f"c-{index}", "command": "erase"} for index in range(10)], [{"id": "d", "command": "erase"}]]
        server.ask = lambda envelope: more.pop(0) if envelope.has_rows and more else []
        self.ask(fake, daemon, more)
        # 50 and 11 are too many; 50 and 10 are not; one more is.
        daemon.wait_status(lambda status: status["sync"].get("refused_commands") == 2, "the refusals")
        self.assertEqual(self.rows(daemon), 60)


class WayTests(HostileTest):
    def test_a_token_answer_and_a_live_lane_are_not_listened_to(self):
        server, lane = self.server(), self.server()
        refreshed = []
        take = server.take

        def tokens(body: bytes) -> tuple:
            if body[:2] == b"\x1f\x8b":
                return take(body)
            refreshed.append(body)
            return 200, {"access_token": f"t{len(refreshed)}", "expires_in": 3600, "commands": [STOP],
                         "background_geolocation": ["stop"]}

        server.take = tokens  # type: ignore[method-assign]
        lane.ask = lambda envelope: [STOP]
        fake, daemon = self.vehicle(server, **{
            "sync.auth": {"refresh_url": server.url + "/token", "refresh_token": "r"},
            "destination.lane": {"url": lane.url, "deliver": "latest", "interval_seconds": 5}})
        before = self.effects(daemon)
        daemon.sync()
        fake.drive(1)
        wait_for(lambda: refreshed and lane.envelopes and server.envelopes, "all of them have answered")
        daemon.sync()
        self.assertEqual(daemon.call("GetCommands")["commands"], [])
        self.assertEqual((self.refused(daemon), self.effects(daemon)), (0, before))

    def test_doctors_probe_is_not_listened_to(self):
        server = self.server()
        _, daemon = self.vehicle(server)
        daemon.sync()
        before = self.effects(daemon)
        server.ask = lambda envelope: [STOP]
        count = len(server.envelopes)
        subprocess.run([program("beekonctl"), "doctor", "--config", daemon.config, "--state-dir", daemon.state],
                       env={**os.environ, "BEEKOND_SOCKET": daemon.socket}, capture_output=True, timeout=120, check=False)
        self.assertGreater(len(server.envelopes), count, "it has asked")
        server.ask = lambda envelope: []
        self.assertEqual(daemon.call("GetCommands")["commands"], [])
        self.assertEqual(self.effects(daemon), before)

    def test_where_commands_cannot_be_had(self):
        for sync, words in (({"url": "http://192.0.2.1/", "allow_insecure_http": True}, "use https"),
                            ({"url": "https://a.example/", "deliver": "latest"}, "not read for commands"),
                            ({"url": "mqtts://a.example", "format": "owntracks", "device_id": "a"}, "format")):
            daemon = self.daemon(sync=sync, **{"sync.commands": {"enabled": True, "allow": ["stop"]}})
            done = subprocess.run([program("beekond"), "--check", "--config", daemon.config], capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("sync.commands.enabled", done.stderr + done.stdout)
            self.assertIn(words, done.stderr + done.stdout)


@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
class SignatureTests(HostileTest):
    FUTURE, PAST = 4_102_444_800, 1_000_000_000

    def key(self, name: str) -> tuple:
        private, public = self.path(name + ".pem"), self.path(name + ".pub")
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
        return private, public

    def signed(self, private: str, content: dict) -> dict:
        message = json.dumps(content).encode()
        path = self.path("message")
        Path(path).write_bytes(message)
        done = subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", private, "-in", path], check=True,
                              capture_output=True)
        return {"signed": base64.b64encode(message).decode(), "signature": base64.b64encode(done.stdout).decode()}

    def test_only_what_was_signed_for_this_vehicle_and_only_once(self):
        server = self.server()
        (ours, public), (theirs, _) = self.key("ours"), self.key("theirs")
        fake, daemon = self.vehicle(server, **{"sync.commands": {"verify_keys": [public]}})
        daemon.sync()
        vehicle = server.envelopes[0].root["device"]["install_id"]
        stored = 1
        planned: list = []
        server.answer = lambda envelope: (200, planned.pop(0)) if planned and envelope.has_rows else None

        def content(number: int, name: str = "stop", **changes) -> dict:
            return {"install_id": vehicle, "counter": 1000 + number, "expires_at": self.FUTURE,
                    "commands": [{"id": f"s-{number}", "command": name}], **changes}

        def send(body):
            nonlocal stored
            planned.append(body)
            fake.drive(1)
            stored += 1
            daemon.wait_stored(stored)
            daemon.sync_until(lambda reply: not planned, "the answer")

        before = self.effects(daemon)
        good = self.signed(ours, content(1))
        changed = good["signed"][:-8] + ("A" if good["signed"][-8] != "A" else "B") + good["signed"][-7:]
        refusals = [
            {"commands": [STOP]}, {"background_geolocation": ["stop"]}, self.signed(theirs, content(2)),
            {**good, "signed": changed}, {**good, "signature": good["signature"][::-1]}, {"signed": good["signed"]},
            self.signed(ours, content(3, install_id="0190d4e2-0000-7000-8000-000000000000")),
            self.signed(ours, content(4, expires_at=self.PAST)), self.signed(ours, content(5, counter=0)),
            self.signed(ours, content(6, counter="7")), self.signed(ours, content(7, expires_at=self.FUTURE * 1000)),
            self.signed(ours, [content(8)]),  # type: ignore[arg-type]
        ]
        for number, body in enumerate(refusals, 1):
            send(body)
            daemon.wait_status(lambda status, number=number: status["sync"].get("refused_commands") == number,
                               f"refusal {number}")
        self.assertEqual(daemon.call("GetCommands")["commands"], [])
        self.assertEqual(self.effects(daemon), before)
        # One that is signed is done, and answered when it comes again.
        first = self.signed(ours, content(20, "add_geofences", commands=[{
            "id": "s-20", "command": "add_geofences",
            "arguments": {"geofences": [{"id": "a", "latitude": 1, "longitude": 2, "radius_meters": 50}]}}]))
        send(first)
        wait_for(lambda: "s-20" in server.results, "the result")
        self.assertTrue(server.results["s-20"][0]["ok"], server.results)
        daemon.call("RemoveGeofences", ids=["a"])
        send(first)
        self.assertEqual(self.refused(daemon), len(refusals))
        # An older counter, the same, and after a power cut without the database: never again.
        for number in (19, 20):
            send(self.signed(ours, content(number, commands=[{"id": f"r-{number}", "command": "stop"}])))
        daemon.wait_status(lambda status: status["sync"].get("refused_commands") == len(refusals) + 2, "replays are refused")
        self.assertEqual(daemon.call("ListGeofences")["geofences"], [])
        daemon.kill()
        for path in Path(daemon.state).glob("beekon.db*"):
            path.unlink()
        daemon.start()
        fake.settle()
        stored = daemon.wait_status(lambda status: status["store"]["locations"] >= 1, "a fix")["store"]["locations"]
        planned.append(first)
        daemon.sync_until(lambda reply: not planned, "the answer")
        daemon.wait_status(lambda status: status["sync"].get("refused_commands") == 1, "the small file remembers")
        self.assertEqual(daemon.call("ListGeofences")["geofences"], [])
        self.assertEqual(daemon.status()["state"], "tracking")
        print(f"signatures refused by a real daemon: {len(refusals) + 3}")


if __name__ == "__main__":
    unittest.main()
