"""What hostile clients, servers and receivers cost, and what is given back: memory, and how long others wait."""
from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import time

from figures_memory import SETTLED
from measuring import Meter, Row
from support.control_client import ConnectionClosed, ControlClient, frame
from support.daemon import Beekond
from support.hostile_clients import KINDS, connect
from support.ports import NOBODY
from support.raw_server import RawServer
from support.waiting import wait_for
from world import EVERY_FIX, World

SYSTEM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "System")
FENCES, CLIENTS = 10_000, 30
MEGABYTE = 1 << 20


def hostile(world: World) -> list:
    """Each in MB of anonymous memory that it adds, at its end; and what others wait meanwhile, in milliseconds."""
    def row(name: str, found: float, target: float, unit: str = "MB") -> Row:
        return Row(name, unit, [found], target=target)

    return [
        row(f"memory, {CLIENTS} lists of {FENCES:,} geofences that nobody reads", unread(world), 40),
        row("memory, 100 MB of garbage from gpsd", flooded(world), 6),
        row("memory, an answer of 10 GB", answered(world, endless_body), 4),
        row("memory, an answer whose trailers do not end", answered(world, endless_trailers), 16),
        row("memory that stays after a drain of 6,000 in batches of 1,000", drained(world), 1),
        row("memory that stays after new settings", reloaded(world), 0.5),
        row("a call beside hostile clients, median beside the worst", served(world), 50, "ms"),
    ]


def started(world: World, port: int = NOBODY, **sections) -> tuple:
    daemon = world.daemon(port, **sections).start()
    daemon.disconnect()
    meter = Meter(daemon.pid)
    meter.wait_quiet(SETTLED)
    return daemon, meter


def added(daemon: Beekond, meter: Meter, before: float) -> float:
    daemon.disconnect()
    meter.wait_quiet(SETTLED)
    found = meter.memory()["anonymous"] - before
    daemon.kill()
    return found


def unread(world: World) -> float:
    daemon, meter = started(world, tracking={"autostart": False})
    before = meter.memory()["anonymous"]
    for first in range(0, FENCES, FENCES // 2):
        daemon.call("AddGeofences", geofences=[
            {"id": f"{number:05}-" + "x" * 90, "latitude": 50 + number / 1000, "longitude": 8.0, "radius_meters": 100.0}
            for number in range(first, first + FENCES // 2)])
    links = []
    for more in (True, False):
        for _ in range(CLIENTS // 2):
            links.append(connect(daemon.socket))
            links[-1].sendall(frame("ListGeofences", more=more))
            links[-1].recv(1, socket.MSG_PEEK)
    found = added(daemon, meter, before)
    for link in links:
        link.close()
    return found


def flooded(world: World) -> float:
    fake, daemon = world.tracking()
    daemon.disconnect()
    meter = Meter(daemon.pid)
    meter.wait_quiet(SETTLED)
    before = meter.memory()["anonymous"]
    for _ in range(world.scaled(100, 10)):
        fake.send(b"x" * MEGABYTE + b"\r\n")
    found = added(daemon, meter, before)
    fake.stop()
    return found


def endless_body(link):
    link.request()
    link.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n")
    while True:
        link.send(bytes(MEGABYTE))


def endless_trailers(link):
    link.request()
    link.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
    while True:
        link.send(b"X-Trailer: abcdefghijklmnopqrstuvwxyz\r\n" * 1000)


def answered(world: World, serve) -> float:
    server, fake = RawServer(serve), world.fake()
    daemon, meter = started(world, fake.port, tracking={"autostart": True, **EVERY_FIX}, sync={"url": server.url})
    fake.settle()
    daemon.wait_stored(1)
    before = meter.memory()["anonymous"]
    daemon.sync()
    found = added(daemon, meter, before)
    server.stop()
    fake.stop()
    return found


def drained(world: World) -> float:
    sink, fake = world.sink(), world.fake()
    daemon, meter = started(world, fake.port, tracking={"autostart": True, **EVERY_FIX}, store={"durability": "normal"},
                            sync={"url": sink.url, "batch_size": 1000})
    fake.settle()
    daemon.wait_stored(1)
    before = meter.memory()["anonymous"]
    for _ in range(12):
        fake.drive(500)
    daemon.wait_status(lambda status: status["sync"]["pending"] >= 6000, "the backlog", 120)
    daemon.sync()
    found = added(daemon, meter, before)
    sink.stop()
    fake.stop()
    return found


def reloaded(world: World) -> float:
    daemon, meter = started(world, tracking={"autostart": False})
    before = meter.memory()["anonymous"]
    daemon.configure(tracking={"interval_seconds": 5})
    daemon.reload()
    wait_for(lambda: daemon.setting("tracking.interval_seconds") == 5, "the reload")
    return added(daemon, meter, before)


def served(world: World) -> float:
    """The median time of a call, connection included, beside the kind of client that costs others most."""
    daemon, _ = started(world, tracking={"autostart": False})
    medians = {}
    # Subscribers that sleep have to be filled first, and then keep everybody out for ten seconds, as is meant.
    for kind in set(KINDS) - {"subscribers asleep"}:
        with subprocess.Popen([sys.executable, "-m", "support.hostile_clients", daemon.socket, kind], cwd=SYSTEM,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            process.stdout.readline()
            medians[kind] = statistics.median(called(daemon) for _ in range(world.scaled(150, 20)))
            process.kill()
    daemon.kill()
    return max(medians.values())


def called(daemon: Beekond) -> float:
    """Milliseconds until a client has its answer; one that was disconnected to make room connects again."""
    began = time.monotonic()
    while True:
        try:
            with ControlClient(daemon.socket) as tracker:
                tracker.call("GetPendingUploadCount")
                return (time.monotonic() - began) * 1000
        except (ConnectionClosed, OSError):
            if time.monotonic() - began > 60:
                raise
