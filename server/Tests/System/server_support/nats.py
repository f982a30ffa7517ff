"""A real nats-server with JetStream, and a client that makes streams and reads what they hold."""
from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import unittest

from support.child import Child
from support.ports import new_port, reachable
from support.waiting import PATIENCE, wait_for

NATS = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/local/sbin:/usr/sbin")
needs_nats = unittest.skipUnless(NATS, "no nats-server: 'make deps' installs it")


class NatsServer:
    """One process, which can be killed and started again on its port, in a folder of its own."""

    def __init__(self, folder: str, *lines: str):
        self.port = new_port()
        self.folder = folder
        self.child: Child | None = None
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/nats.conf", "w", encoding="ascii") as file:
            # A power cut is not what the tests make: what was written is there after SIGKILL.
            usual = [f'listen: "127.0.0.1:{self.port}"', f'jetstream {{ store_dir: "{folder}/js" }}']
            file.write("\n".join([*usual, *lines]) + "\n")

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> NatsServer:
        self.child = Child([NATS, "-c", f"{self.folder}/nats.conf"], f"{self.folder}/log", virtual=False)
        wait_for(lambda: reachable(self.port), lambda: f"nats-server listens; it said:\n{self.child and self.child.text()}")
        return self

    def kill(self):
        if self.child:
            self.child.kill()


class Nats:
    """A client, which asks one thing after the other."""

    def __init__(self, port: int, login: dict | None = None):
        self.link = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.reader = self.link.makefile("rb")
        assert self.reader.readline().startswith(b"INFO ")
        how = {"verbose": False, "headers": True, "no_responders": True, "lang": "test", **(login or {})}
        self.link.sendall(b"CONNECT " + json.dumps(how).encode() + b"\r\nSUB _INBOX.t 1\r\nPING\r\n")
        while (line := self.reader.readline()) != b"PONG\r\n":
            assert line, "the server is gone"
            assert not line.startswith(b"-ERR"), line

    def close(self):
        self.link.close()

    def ask(self, subject: str, value: dict | None = None) -> dict:
        body = b"" if value is None else json.dumps(value).encode()
        self.link.sendall(f"PUB {subject} _INBOX.t {len(body)}\r\n".encode() + body + b"\r\n")
        while True:
            line = self.reader.readline()
            assert line, "the server is gone"
            if line == b"PING\r\n":
                self.link.sendall(b"PONG\r\n")
            words = line.split()
            if words[0] == b"HMSG":
                head, size = int(words[-2]), int(words[-1])
                text = self.reader.read(size + 2)
                raise AssertionError(f"{subject}: {text[:head]!r}")
            if words[0] == b"MSG":
                return json.loads(self.reader.read(int(words[-1]) + 2))

    def stream(self, name: str = "FLEET", **more):
        answer = self.ask(f"$JS.API.STREAM.CREATE.{name}", {
            "name": name, "subjects": ["beekon.>"], "retention": "limits", "storage": "file", "num_replicas": 1,
            "max_msgs": -1, "max_bytes": -1, "max_age": 0, "duplicate_window": 120_000_000_000, **more})
        assert "error" not in answer, answer

    def change(self, name: str = "FLEET", **more):
        config = self.ask(f"$JS.API.STREAM.INFO.{name}")["config"]
        answer = self.ask(f"$JS.API.STREAM.UPDATE.{name}", {**config, **more})
        assert "error" not in answer, answer

    def count(self, name: str = "FLEET") -> int:
        return self.ask(f"$JS.API.STREAM.INFO.{name}")["state"]["messages"]

    def messages(self, name: str = "FLEET") -> list[tuple[str, dict, bytes]]:
        """Subject, headers and body of each."""
        state = self.ask(f"$JS.API.STREAM.INFO.{name}")["state"]
        found = []
        for number in range(state["first_seq"], state["last_seq"] + 1):
            message = self.ask(f"$JS.API.STREAM.MSG.GET.{name}", {"seq": number})["message"]
            lines = base64.b64decode(message.get("hdrs", "")).decode().split("\r\n")[1:]
            headers = dict(line.split(": ", 1) for line in lines if ": " in line)
            found.append((message["subject"], headers, base64.b64decode(message.get("data", ""))))
        return found
