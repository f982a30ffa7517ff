"""One vehicle, or one reader, against a server, and another vehicle beside it that only wants to upload."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from server_support import hostile_vehicle, load
from server_support.bound import Bound, high_water
from server_support.server import FIRST_MS, Server, envelope

# Uploads a second of the other vehicle, and the connections over which it sends them.
RATE = 8
CONNECTIONS = 8
# Of the weeks of its uploads, which have been there before.
WEEK = 7 * 86_400_000
WEEKS = 10


@dataclass
class Outcome:
    """What became of the other vehicle, and of the server."""

    scene: str
    # Uploads that were refused before anybody did anything: by a machine that is too busy.
    refused_before: int
    # Answers to the other vehicle, and to the hostile one, by status.
    statuses: dict
    attack: dict
    # Seconds, of those that were accepted.
    spans: list
    running: bool
    kills: int
    peak: int
    resident: int
    bound: str
    unanswered: int

    @property
    def sent(self) -> int:
        return sum(self.statuses.values()) + self.unanswered

    @property
    def accepted(self) -> int:
        return self.statuses.get("200", 0)

    def span(self, share: float) -> float:
        spans = sorted(self.spans)
        return spans[min(len(spans) - 1, int(len(spans) * share))] if spans else float("inf")

    def __str__(self):
        return (f"{self.scene}: {self.accepted} of {self.sent} accepted, p50 {self.span(0.5):.3f} s, "
                f"p99 {self.span(0.99):.3f} s, at most {self.resident / 1e6:.0f} MB resident, "
                f"{self.peak / 1e6:.0f} MB by {self.bound}, the attack was answered {self.attack}")


def uploads(server: Server, tokens: str, seconds: float) -> dict:
    """What became of the other vehicle's uploads of so long."""
    return json.loads(subprocess.run(
        [sys.executable, load.__file__, str(server.port), tokens, str(CONNECTIONS), str(RATE), str(seconds)],
        stdout=subprocess.PIPE, check=True).stdout)


def play(scene: str, server: Server, seconds: float, connections: int | None = None,
         afterwards: Callable[[Server, str], None] | None = None) -> Outcome:
    """Runs a scene beside uploads.

    :param server: it runs; is bounded from now on.
    :param afterwards: is called with the token of the other vehicle when the scene is over and the server runs still.
    """
    assert server.child
    bound = Bound(server.child.process.pid)
    hostile, other = server.add_device(f"hostile {scene}"), server.add_device(f"van {scene}")
    reader = server.add_user(f"reader {scene}", "reader")
    for week in range(WEEKS):
        assert server.post(other["access_token"], envelope(1, FIRST_MS + week * WEEK)).status == 200
    # Wrong tokens are shown in the other's name.
    device = other["id"] if scene == "tokens" else hostile["id"]
    tokens = os.path.join(server.folder, f"tokens-{scene}")
    with open(tokens, "w", encoding="ascii") as file:
        file.write(other["access_token"])
    calm = uploads(server, tokens, seconds / 2)
    attack = subprocess.Popen(
        [sys.executable, hostile_vehicle.__file__, scene, str(server.port), str(device), hostile["access_token"], reader,
         str(seconds + 2), str(connections or hostile_vehicle.SCENES[scene])], stdout=subprocess.PIPE, text=True)
    try:
        assert attack.stdout and attack.stdout.readline() == "ready\n"
        said = uploads(server, tokens, seconds)
        pid = server.child.process.pid
        resident, running = high_water(pid), server.running
        rest = attack.stdout.read()
        if afterwards and running:
            afterwards(server, other["access_token"])
    finally:
        attack.kill()
        attack.wait()
        if attack.stdout:
            attack.stdout.close()
    outcome = Outcome(
        scene, calm["sent"] - calm["statuses"].get("200", 0), said["statuses"], json.loads(rest or "{}"), said["spans"],
        running, bound.kills, bound.peak, resident, bound.kind, said["unanswered"] + said["broken"])
    server.kill()
    bound.remove()
    return outcome
