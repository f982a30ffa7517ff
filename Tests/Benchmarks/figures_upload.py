"""The cost of uploading a long backlog, and the bytes on the wire."""
from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import struct
import subprocess
import time
import zlib

from measuring import Meter, Row, interleaved
from support.ports import NOBODY
from world import World, wait_for


def drain(world: World) -> list:
    """A backlog of 100,000 fixes, compared with the least time that reading, compressing and posting them can take."""
    backlog = world.backlog()
    rows = []
    for batch in (1000, 100):
        bodies = os.path.join(world.path(), "bodies")
        drained(world, batch, bodies)
        mine, limits = interleaved(
            world.runs, lambda: drained(world, batch), lambda: limit(world, backlog.database, bodies))
        walls = [sum(part[0] for part in run[:3]) for run in limits]
        cpus = [sum(part[1] for part in run[:3]) for run in limits]
        settled = [sum(part[0] for part in run) for run in limits]
        name = f"drain of {backlog.count:,} fixes in batches of {batch:,}"
        rows += [
            Row(name, "s", [run["wall"] for run in mine], "SQLite + zlib 6 + curl in C", walls, 1.5),
            Row(name, "s", [run["wall"] for run in mine], "that, and a commit at FULL for each batch", settled),
            Row(name + ", CPU", "s", [run["cpu"] for run in mine], "the same", cpus),
            Row(f"the receiver itself: CPU of those {backlog.count // batch:,} requests", "s",
                [run["sink"] for run in mine], "the POSTs of ready bodies, wall", [run[2][0] for run in limits]),
        ]
        if batch == 100:
            rows.append(wire(bodies))
    return rows


def drained(world: World, batch: int, bodies: str | None = None) -> dict:
    """Seconds from the command until the backlog is uploaded."""
    sink = world.sink(bodies)
    daemon = world.daemon(
        NOBODY, world.backlog().copy(), tracking={"autostart": False}, store={"durability": "full"},
        sync={"url": sink.url, "batch_size": batch}).start()
    meter, sink_meter = Meter(daemon.child.process.pid), Meter(sink.pid)
    meter.wait_quiet()
    before, sink_before, began = meter.cpu(), sink_meter.cpu(), time.monotonic()
    with daemon.connect(timeout=600) as client:
        answer = client.call("Sync", wait=True)
    wall = time.monotonic() - began
    cost = {"wall": wall, "cpu": (meter.cpu() - before) / 1e9, "sink": (sink_meter.cpu() - sink_before) / 1e9}
    wait_for(lambda: sink.connections, 10, "the sink has not reported what it received")
    daemon.kill()
    sink.stop()
    shutil.rmtree(os.path.dirname(daemon.state))
    if answer["uploaded"] == world.backlog().count:
        return cost
    # A daemon that starts with a backlog uploads it after a random delay, which may happen to be short.
    return drained(world, batch, bodies)


def limit(world: World, database: str, bodies: str) -> list:
    """Seconds, wall and CPU, for reading, compressing, posting and committing."""
    copy = os.path.join(world.path(), "copy.db")
    shutil.copy(database, copy)
    sink = world.sink()
    text = world.peer("drain", copy, bodies, sink.url).output()
    sink.stop()
    os.remove(copy)
    return [[float(word) for word in line.split()] for line in text.splitlines()]


def wire(bodies: str) -> Row:
    """Body bytes per fix, compared with gzip -9 of the same JSON."""
    ours, theirs, fixes = 0, 0, 0
    with open(bodies, "rb") as file:
        while head := file.read(4):
            body = file.read(struct.unpack("=I", head)[0])
            plain = zlib.decompress(body, wbits=31)
            ours += len(body)
            theirs += len(gzip.compress(plain, 9))
            fixes += plain.count(b'"latitude"')
    return Row("on the wire for a fix, batches of 100", "bytes", [ours / fixes], "the same JSON through gzip -9",
               [theirs / fixes], 1.05, 52)


def history(world: World) -> list:
    """100,000 rows through the control socket into a file, compared with sqlite3 -json on a copy."""
    if shutil.which("sqlite3") is None:
        return []
    backlog = world.backlog()
    daemon = world.daemon(NOBODY, backlog.copy(), tracking={"autostart": False}).start()
    copy = os.path.join(world.path(), "copy.db")
    source = sqlite3.connect(backlog.database)
    target = sqlite3.connect(copy)
    source.backup(target)
    target.close()
    source.close()
    exported = os.path.join(world.path(), "history.jsonl")

    def ours():
        began = time.monotonic()
        subprocess.run([os.path.join(world.bin, "beekonctl"), "history", "--socket", daemon.socket, "--format", "jsonl",
                        "-o", exported], check=True, stderr=subprocess.DEVNULL)
        seconds = time.monotonic() - began
        with open(exported, "rb") as file:
            lines = sum(1 for _ in file)
        if lines != backlog.count:
            raise RuntimeError(f"{lines} lines were exported")
        os.remove(exported)
        return seconds

    def theirs():
        began = time.monotonic()
        with open(exported, "wb") as file:
            subprocess.run(["sqlite3", "-json", copy, "SELECT * FROM locations"], check=True, stdout=file)
        return time.monotonic() - began

    mine, others = interleaved(world.runs, ours, theirs)
    daemon.kill()
    return [Row(f"history of {backlog.count:,} rows to jsonl", "s", mine, "sqlite3 -json on a copy", others, 1.5)]
