"""Memory, start, and size."""
from __future__ import annotations

import glob
import os
import shutil
import signal
import socket
import threading
import time

from drive import SKY, driven, hours_ago
from figures_reader import ticking
from measuring import Meter, Row
from world import EVERY_FIX, World, wait_for


def memory(world: World) -> list:
    """Resident and anonymous memory: idle, tracking, draining."""
    peers = {"a C program with the same libraries": resident(world)}
    if shutil.which("gpxlogger"):
        peers["gpxlogger"] = listening(world, ["gpxlogger", "-f", "/dev/null"])
    same, alone = next(iter(peers.values())), peers.get("gpxlogger")
    rows = []
    for name, measure, limit, anonymous in (
            ("idle", idle, 22, 4), ("idle, sync configured", idle_with_sync, 22, 4),
            ("tracking at 1 Hz for an hour", hour, 22, 4),
            ("tracking for an hour, uploading every 5 minutes", hour_with_sync, 22, 4),
            ("draining 100,000 fixes, at its most", draining, 26, 8)):
        found = measure(world)
        rows += [Row(f"memory, {name}", "MB", [found["resident"]], "a C program with the same libraries",
                     [same["resident"]], target=limit),
                 Row(f"… of it anonymous, {name}", "MB", [found["anonymous"]], "the same", [same["anonymous"]],
                     target=anonymous)]
        if "growth" in found:
            # SQLite's cache of 512 KB fills meanwhile; the soak tells what a week adds.
            rows.append(Row(f"… growth of that in the last 3/4, {name}", "MB", [found["growth"]]))
    if alone:
        rows.append(Row("memory of gpxlogger", "MB", [], "", [alone["resident"]]))
    return rows


def resident(world: World) -> dict:
    peer = world.peer("resident")
    time.sleep(1)
    found = Meter(peer.pid).memory()
    peer.kill()
    return found


def listening(world: World, command: list) -> dict:
    fake = world.fake()
    peer = world.run(command + [f"127.0.0.1:{fake.port}"])
    fake.wait_watched()
    fake.send(b"".join(report + SKY for report in driven(os.path.join(world.bin, "beekon-sim"), 60, hours_ago(1))))
    Meter(peer.pid).wait_quiet()
    found = Meter(peer.pid).memory()
    fake.stop()
    peer.kill()
    return found


def idle(world: World, **sections) -> dict:
    daemon = world.daemon(world.harness.free_port(), tracking={"autostart": False}, **sections).start()
    daemon.disconnect()
    meter = Meter(daemon.child.process.pid)
    # What only the start needs is given back after two seconds.
    meter.wait_quiet(3)
    found = meter.memory()
    daemon.kill()
    return found


def idle_with_sync(world: World) -> dict:
    return idle(world, sync={"url": "http://127.0.0.1:9/"})


def hour(world: World, **sections) -> dict:
    """3,600 fixes a second apart, all stored, sent 50 times as fast."""
    seconds = world.scaled(3600, 120)
    fake, daemon = world.tracking(tracking=EVERY_FIX, **sections)
    meter = Meter(daemon.child.process.pid)
    reports = driven(os.path.join(world.bin, "beekon-sim"), seconds, hours_ago(2))
    daemon.disconnect()
    quarter = None
    stop = ticking(fake, reports, 0.02)
    deadline = time.monotonic() + seconds * 0.02 + 2
    while time.monotonic() < deadline:
        if quarter is None and time.monotonic() > deadline - seconds * 0.015 - 2:
            quarter = meter.memory()["anonymous"]
        time.sleep(0.1)
    stop.set()
    meter.wait_quiet()
    found = meter.memory()
    found["growth"] = found["anonymous"] - (quarter or found["anonymous"])
    daemon.kill()
    fake.stop()
    return found


def hour_with_sync(world: World) -> dict:
    sink = world.sink()
    found = hour(world, sync={"url": sink.url, "sync_threshold": 300})
    sink.stop()
    return found


def draining(world: World) -> dict:
    """The most that is seen while the backlog is uploaded."""
    sink = world.sink()
    daemon = world.daemon(world.harness.free_port(), world.backlog().copy(), tracking={"autostart": False},
                          sync={"url": sink.url, "batch_size": 100}).start()
    meter = Meter(daemon.child.process.pid)
    # What only the start needs is given back after two seconds.
    meter.wait_quiet(3)
    done = threading.Event()

    def sync():
        with daemon.connect(timeout=600) as tracker:
            tracker.call("Sync", wait=True)
        done.set()

    threading.Thread(target=sync, daemon=True).start()
    most = meter.memory()
    while not done.wait(0.02):
        now = meter.memory()
        most = {key: max(most[key], now[key]) for key in most}
    daemon.kill()
    sink.stop()
    return most


def start(world: World) -> list:
    """From the start of the process to READY=1, after a SIGKILL with 100,000 rows stored."""
    backlog = world.backlog()
    times = []
    for _ in range(world.runs):
        state = backlog.copy()
        path = os.path.join(world.sockets, f"notify{len(times)}")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(30)
            fake = world.fake()
            daemon = world.daemon(fake.port, state, tracking=EVERY_FIX, sync={"url": "http://127.0.0.1:9/"}).start()
            daemon.call("Start")
            fake.wait_watched()
            # So that there is a WAL to be recovered.
            stored = daemon.status()["store"]["locations"]
            fake.send(b"".join(driven(os.path.join(world.bin, "beekon-sim"), 300, hours_ago(1))))
            wait_for(lambda: daemon.status()["store"]["locations"] >= min(stored + 290, 100_000), 30, "fixes stored")
            daemon.disconnect()
            daemon.kill()
            daemon.environment["NOTIFY_SOCKET"] = path
            began = time.monotonic()
            daemon.launch()
            while b"READY=1" not in manager.recv(4096):
                pass
            times.append((time.monotonic() - began) * 1000)
            daemon.child.signal(signal.SIGTERM)
            daemon.child.wait()
            fake.stop()
    return [Row(f"start to READY after SIGKILL with {backlog.count:,} rows", "ms", times, target=300)]


def sizes(world: World) -> list:
    rows = [Row("beekond, stripped", "MB", [os.path.getsize(os.path.join(world.bin, "beekond")) / 1e6], target=18)]
    packages = sorted(glob.glob(os.path.join(world.build, "deb", "beekond_*.deb")), key=os.path.getmtime)
    if packages:
        rows.append(Row(".deb", "MB", [os.path.getsize(packages[-1]) / 1e6], target=6))
    return rows
