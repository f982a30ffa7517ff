"""A server that forwards what it stores."""
from __future__ import annotations

import gzip
import json
import os
import random
import re
import time
from typing import Any

from server_support.receivers import Call, Hook
from server_support.server import Answer, Server, envelope, uuid7
from server_support.server_test import ServerTest
from support.waiting import wait_for


def clock() -> int:
    return int(time.time() * 1000)


class ForwardTest(ServerTest):
    """One server with a van, and targets."""

    make: Any
    rows: Any
    write: Any

    def hook(self, port: int = 0) -> Hook:
        hook = Hook(port)
        self.addCleanup(hook.close)
        return hook

    def configuration(self, *targets: dict) -> str:
        """Path of a file with them."""
        lines = []
        for target in targets:
            lines.append("[[forward]]")
            lines += [f"{name} = {json.dumps(value)}" for name, value in target.items()]
        path = os.path.join(self.folder, "server.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        return path

    def begin(self, *targets: dict, **environment: str) -> Server:
        self.path = self.configuration(*targets)
        self.under_test: Server = self.make("--config", self.path)
        self.under_test.environment = environment
        # Nothing is dropped for its age before the time is known.
        self.assertEqual(self.under_test.verb("clock", "confirm").returncode, 0)
        self.under_test.start()
        self.admin = self.under_test.add_user("root", "admin")
        self.van = self.ask("POST", "/v1/devices", json.dumps({"name": "van"}).encode()).json
        self.install = uuid7(clock())
        return self.under_test

    def batch(self, count: int = 2, **more) -> dict:
        return envelope(count, clock() - 60_000, **{"batch_id": uuid7(clock()), "device": {
            "install_id": self.install, "platform": "linux", "sdk_version": "1.0.0", "model": "test"}, **more})

    def upload(self, count: int = 2, device: dict | None = None, server: Server | None = None, **more) -> dict:
        root = self.batch(count, **more)
        answer = (server or self.under_test).deliver((device or self.van)["access_token"], root)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json["stored"], count)
        return root

    def waiting(self, target: str | None = None) -> int:
        condition = f" WHERE target = '{target}'" if target else ""
        return int(self.rows(f"SELECT count(*) FROM outbox{condition}")[0][0])

    def settle(self, seconds: float = 60):
        """Nothing waits any more."""
        wait_for(lambda: self.waiting() == 0, lambda: f"all is forwarded; {self.waiting()} wait; {self.log()[-2000:]}", seconds)

    def hurry(self):
        """What was refused is due at once."""
        self.write("UPDATE outbox SET due = 0")

    def log(self) -> str:
        if not os.path.exists(self.under_test.log):
            return ""
        with open(self.under_test.log, encoding="utf-8") as file:
            return file.read()

    def doctor(self) -> str:
        return self.under_test.verb("doctor", f"--config={self.path}").stdout

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        return self.under_test.ask(method, path, self.admin, body)

    def metrics(self) -> dict[str, float]:
        text = self.ask("GET", "/metrics").body.decode()
        found = re.findall(r"^beekon_server_forward_(\S+) (\S+)$", text, re.M)
        return {name: float(value) for name, value in found}

    def count(self, target: str, result: str, what: str = "batches") -> int:
        found = self.rows(f"SELECT {what} FROM outbox_counts WHERE target = '{target}' AND result = '{result}'")
        return int(found[0][0]) if found else 0

    def account(self, target: str, batches: int, rows: int):
        """stored = forwarded + waiting + dropped, as the database has it."""
        results = ("forwarded", "too_old", "too_many", "deleted")
        for what, expected in (("batches", batches), ("rows", rows)):
            waiting = self.rows(f"SELECT {'count(*)' if what == 'batches' else 'coalesce(sum(rows), 0)'} FROM outbox "
                                f"WHERE target = '{target}'")[0][0]
            counts = {result: self.count(target, result, what) for result in results}
            self.assertEqual(sum(counts.values()) + int(waiting), expected, (target, what, counts, waiting))

    def survive(self, batches: int, kills: int, kill: Any) -> list[dict]:
        """Uploads while something is killed again and again; nothing waits at the end.

        - `kill`: called with the number of each kill.
        """
        chance = random.Random(1)
        roots: list[dict] = []
        for number in range(kills):
            share = batches * (number + 1) // kills - len(roots)
            roots += [self.upload(1) for _ in range(share)]
            # Somewhere in what is under way.
            before, wanted = self.waiting(), chance.randint(0, share)
            wait_for(lambda: self.waiting() <= max(0, before - wanted), "some are forwarded")
            kill(number)
        self.settle(120)
        return roots


def key(call: Call) -> str:
    return call.headers["idempotency-key"]


def unpacked(body: bytes, headers: dict) -> dict:
    encoding = headers.get("content-encoding", headers.get("Content-Encoding"))
    return json.loads(gzip.decompress(body) if encoding == "gzip" else body)


def ids(root: dict) -> list[str]:
    return [location["id"] for location in root["locations"]]
