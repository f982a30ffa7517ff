"""A vehicle of a test of fences, and what it says of those that it has."""
from __future__ import annotations

import hashlib
import json
import struct

from server_support.server import FIRST_MS, Server, envelope, uuid7

# What `enroll` has a vehicle allow.
ALLOWED = ["locate", "sync", "add_geofences", "remove_geofences", "remove_all_geofences"]


def fingerprint(fence: dict) -> int:
    """As docs/upload.md says it, without a line of the program's. For polygons that go counterclockwise."""
    data = fence["id"].encode() + b"\0" + bytes([fence["notify_on_entry"] | 2 * fence["notify_on_exit"]])
    numbers = [fence.get("dwell_seconds", 0)]
    if "polygon" in fence:
        numbers += [value for longitude, latitude in fence["polygon"] for value in (latitude, longitude)]
    else:
        numbers += [fence["latitude"], fence["longitude"], fence["radius_meters"]]
    for number in numbers:
        data += struct.pack(">d", number)
    hash_ = 0xCBF29CE484222325
    for byte in data:
        hash_ = (hash_ ^ byte) * 0x100000001B3 % 2**64
    return hash_


class Vehicle:
    """A vehicle as beekond is one, as far as fences go. Its answers may get lost, and so may what it is told."""

    def __init__(self, server: Server, name: str, group: str = "", device: dict | None = None, **says):
        self.server = server
        self.device = device or server.add_device(name)
        self.id = self.device["id"]
        self.install_id = uuid7(FIRST_MS + self.id)
        if group:
            self.move(group)
        self.fences: dict[str, dict] = {}
        # Of a person at the vehicle.
        self.own: dict[str, dict] = {}
        self.is_stopped = False
        self.allowed = ALLOWED
        # An older one says nothing of its fences.
        self.is_old = False
        self.seen: dict[str, str] = {}
        self.results: list[dict] = []
        self.commands = 0
        self.answer: dict = {}
        for key, value in says.items():
            setattr(self, key, value)

    def move(self, group: str):
        assert self.server.verb("device", "edit", str(self.id), "--group", group).returncode == 0

    def digest(self) -> int:
        return sum(map(fingerprint, self.fences.values())) % 2 ** 64

    def upload(self, loses_answer: bool = False) -> list:
        status: dict = {"state": "stopped" if self.is_stopped else "tracking", "commands": self.allowed}
        if not self.is_old:
            status["fences"] = {"count": len(self.fences), "digest": f"{self.digest():016x}"}
        answer = self.server.deliver(self.device["access_token"], envelope(
            0, status=status, command_results=self.results,
            device={"install_id": self.install_id, "platform": "linux", "sdk_version": "1.0.0"}))
        assert answer.status == 200, answer
        self.answer = answer.json
        if loses_answer:
            return []
        self.results = []
        commands = answer.json.get("commands", [])
        assert len(commands) <= 16 and len(answer.body) < 64 << 10
        for command in commands:
            self.obey(command)
        return commands

    def obey(self, command: dict):
        text = json.dumps(command["arguments"], sort_keys=True)
        content = hashlib.sha256(f"{command['command']} {text}".encode()).hexdigest()
        if command["id"] in self.seen:
            assert self.seen[command["id"]] == content, "an id of which the content has changed"
        else:
            self.commands += 1
        self.seen[command["id"]] = content
        error = self.run(command["command"], text)
        result = {"id": command["id"], "command": command["command"], "ok": not error}
        self.results.append({**result, "error": error} if error else result)

    def run(self, name: str, text: str) -> str:
        arguments = json.loads(text)
        if name not in self.allowed:
            return "not_allowed"
        if name == "remove_geofences":
            for id_ in arguments["ids"]:
                self.fences.pop(id_, None)
        elif name == "add_geofences":
            if self.is_stopped:
                return "stopped_by_person"
            for fence in arguments["geofences"]:
                if fence["id"] in self.own:
                    return f"exists: {fence['id']}"
            for fence in arguments["geofences"]:
                self.fences[fence["id"]] = fence
        return ""

    def settle(self, most: int = 40) -> int:
        """Uploads until it is told nothing more, and has nothing more to tell."""
        for count in range(1, most + 1):
            has_told = bool(self.results)
            if not self.upload() and not has_told:
                return count
        raise AssertionError("it is told more and more")
