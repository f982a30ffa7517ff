"""Start, and size."""
from __future__ import annotations

import glob
import os
import shutil
import signal
import socket
import subprocess
import time

from drive import driven, hours_ago
from measuring import Row
from world import EVERY_FIX, ROOT, World, wait_for


def start(world: World) -> list:
    """From process start to READY=1, after a SIGKILL with 100,000 rows stored."""
    backlog = world.backlog()
    times: list = []
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
            # So that there is a WAL to recover.
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
    """The daemon, and its package, which is built here if possible."""
    # Everything linked without pruning; it lacks our own code.
    linked = os.path.join(world.peers, "linked")
    rows = [Row("beekond, stripped", "MB", [megabytes(os.path.join(world.bin, "beekond"))],
                "everything linked, in Swift", [megabytes(linked)], target=18)]
    reason = package_fault(world)
    # There may be older ones, and some for other machines.
    packages = sorted(glob.glob(os.path.join(world.build, "deb", "beekond_*.deb")), key=os.path.getmtime, reverse=True)
    if reason or not packages:
        return rows + [Row(".deb", "MB", [], target=6.5, note=f"left out: {reason or 'none was built'}")]
    packed = subprocess.run(["xz", "-9e", "--stdout", linked], stdout=subprocess.PIPE, check=True).stdout
    return rows + [Row(".deb", "MB", [megabytes(packages[0])], "everything linked, through xz", [len(packed) / 1e6],
                       target=6.5)]


def package_fault(world: World) -> str:
    """Builds the packages; returns why that is impossible, if it is."""
    for tool in ("dpkg-deb", "dpkg-shlibdeps", "xz"):
        if shutil.which(tool) is None:
            return f"there is no {tool}"
    done = subprocess.run([os.path.join(ROOT, "etc", "build", "deb"), world.build], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, "BEEKOND_UNCHECKED": "1"})
    return "" if done.returncode == 0 else (done.stdout.strip().splitlines() or ["make deb failed"])[-1]


def megabytes(path: str) -> float:
    return os.path.getsize(path) / 1e6
