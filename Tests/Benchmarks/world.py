"""Everything a benchmark needs: the release build of beekond, its peers, a gpsd and a backend that are never the
bottleneck, and databases with a history."""
from __future__ import annotations

import glob
import os
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import time

from support.daemon import NEVER, Beekond
from support.fake_gpsd import FakeGPSD
from support.ports import NOBODY

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
PEERS = ("parse", "insert", "commits", "sink", "drain", "resident")
SHIMS = ("CCrypto", "CCurl", "CGPS", "CSQLite", "CSystemd", "CZlib")
# How far before now fixes begin: a time more than a day ahead of the clock is refused.
HOURS = 30
EVERY_FIX = {"interval_seconds": 0, "distance_meters": 0, "stationary_mode": "keep_tracking"}
NO_FIX = {"interval_seconds": 86_400, "distance_meters": 100, "stationary_mode": "keep_tracking"}


class World:
    """What all benchmarks share. Created once, ended once."""

    def __init__(self, build: str, runs: int, scale: float):
        self.build = build
        self.runs = runs
        # The fraction of a full run's fixes and seconds.
        self.scale = scale
        self.bin = os.path.join(build, "release")
        os.environ["BEEKOND_BIN"] = self.bin
        # On the disk under test. Sockets are in /tmp: their paths must be short.
        self.folder = tempfile.mkdtemp(prefix="bench-", dir=os.environ.get("BENCH_DIR", build))
        self.sockets = tempfile.mkdtemp(prefix="beekond-bench-", dir="/tmp")
        self._ending: list = []
        self._count = 0
        self._backlog: Backlog | None = None
        self.peers = os.path.join(build, "peers")
        unpacked = os.path.join(self.peers, "gpsd-clients", "usr", "bin")
        os.environ["PATH"] += os.pathsep + unpacked
        self._build_peers()

    def end(self):
        while self._ending:
            self._ending.pop()()
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self.sockets, ignore_errors=True)

    def scaled(self, count: int, least: int = 1) -> int:
        return max(int(count * self.scale), least)

    def path(self) -> str:
        """A new folder on the disk under test."""
        self._count += 1
        path = os.path.join(self.folder, f"d{self._count}")
        os.mkdir(path)
        return path

    def _build_peers(self):
        os.makedirs(self.peers, exist_ok=True)
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libgps", "sqlite3", "libcurl", "zlib"],
                               stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        for name in PEERS:
            # The last one links everything that beekond links, used or not.
            self._compile(name, ["-Wl,--no-as-needed"] + self.libraries() if name == "resident" else flags)
        if libraries := self.mosquitto():
            header = os.path.join(self.peers, "mosquitto", "usr", "include")
            self._compile("mqtt", [f"-I{header}", f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-l:libmosquitto.so.1", "-lgps",
                                   "-lssl", "-lcrypto"])
        # With the flags of the release build.
        subprocess.run(
            ["swiftc", "-O", "-static-stdlib", "-use-ld=lld", "-Xlinker", "-s", "-Xlinker", "--no-export-dynamic",
             *(f"-I{os.path.join(ROOT, 'Sources', shim)}" for shim in SHIMS), "-o", os.path.join(self.peers, "linked"),
             os.path.join(HERE, "peers", "linked.swift")], check=True)

    def _compile(self, name: str, flags: list):
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-o",
                        os.path.join(self.peers, name), os.path.join(HERE, "peers", name + ".c"), *flags], check=True)

    def mosquitto(self) -> str | None:
        """The folder of libmosquitto, unpacked next to the peers; None if it could not be fetched."""
        found = glob.glob(os.path.join(self.peers, "mosquitto", "usr", "lib", "*", "libmosquitto.so.1"))
        return os.path.dirname(found[0]) if found else None

    def libraries(self) -> list:
        """-l flags for the libraries that the daemon needs."""
        done = subprocess.run(["readelf", "-dW", os.path.join(self.bin, "beekond")], stdout=subprocess.PIPE, text=True,
                              check=True)
        names = [line.split("[")[1].split("]")[0] for line in done.stdout.splitlines() if "(NEEDED)" in line]
        return ["-l:" + name for name in names]

    # Processes, which end with the world at the latest.

    def run(self, command: list, **options) -> Peer:
        peer = Peer(command, **options)
        self._ending.append(peer.kill)
        return peer

    def peer(self, name: str, *arguments: str, **options) -> Peer:
        return self.run([os.path.join(self.peers, name), *arguments], **options)

    def has_peer(self, name: str) -> bool:
        return os.access(os.path.join(self.peers, name), os.X_OK)

    def fake(self, **options):
        fake = FakeGPSD(**options)
        self._ending.append(fake.stop)
        return fake

    def daemon(self, port: int, state: str | None = None, **sections):
        """A release build of beekond, not started yet, with its state on the disk under test or in an existing folder."""
        folder = tempfile.mkdtemp(dir=self.sockets)
        chosen: dict = {"gpsd": {"port": port}, "tracking": {"autostart": True, **NO_FIX}}
        for name, values in sections.items():
            chosen[name] = {**chosen.get(name, {}), **values}
        if "sync" in chosen:
            chosen["sync"].setdefault("interval_seconds", NEVER)
        daemon = Beekond(folder, **chosen)
        daemon.state = state or os.path.join(self.path(), "state")
        os.makedirs(daemon.state, mode=0o700, exist_ok=True)
        self._ending.append(daemon.kill)
        return daemon

    def tracking(self, **sections) -> tuple:
        """A fake gpsd, and a daemon connected to it."""
        fake = self.fake()
        daemon = self.daemon(fake.port, **sections).start()
        fake.wait_watched()
        return fake, daemon

    def sink(self, bodies: str | None = None) -> Sink:
        return Sink(self, bodies)

    # Databases

    def backlog(self) -> Backlog:
        """A simulated drive, stored by beekond and not uploaded: the same for every benchmark."""
        if self._backlog is None:
            self._backlog = Backlog(self, self.scaled(100_000, 2000))
        return self._backlog

    def empty_database(self) -> str:
        """For a peer: beekond's tables, empty."""
        path = os.path.join(self.path(), "peer.db")
        link = sqlite3.connect(path, isolation_level=None)
        link.execute("PRAGMA page_size = 1024")
        link.execute("PRAGMA journal_mode = WAL")
        for statement in self.schema():
            link.execute(statement)
        link.close()
        return path

    def schema(self) -> list:
        if not hasattr(self, "_schema"):
            daemon = self.daemon(NOBODY, tracking={"autostart": False}).start()
            daemon.terminate()
            self._schema = [row[0] for row in daemon.query(
                "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND type = 'table'")]
        return self._schema


class Peer:
    """A program whose output is read."""

    def __init__(self, command: list, **options):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, **options)
        self.name = command[0]
        assert self.process.stdout
        self.stdout = self.process.stdout
        self.pid = self.process.pid

    def line(self) -> str:
        return self.stdout.readline().strip()

    def output(self) -> str:
        """Its output until it ends."""
        text = self.process.communicate()[0]
        if self.process.returncode:
            raise RuntimeError(f"{self.name} failed with {self.process.returncode}")
        return text

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.stdout.close()


class Sink:
    """A backend in C that only answers."""

    def __init__(self, world: World, bodies: str | None):
        self._peer = world.peer("sink", *([bodies] if bodies else []))
        self.pid = self._peer.pid
        self.url = f"http://127.0.0.1:{int(self._peer.line())}/locations"
        # (requests, body bytes) of each connection that has ended.
        self.connections: list = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._peer.stdout:
            self.connections.append(tuple(int(word) for word in line.split()))

    def stop(self):
        self._peer.process.kill()


class Backlog:
    """A state directory with many fixes, none of them uploaded, as a template for copies."""

    def __init__(self, world: World, count: int):
        from drive import driven, hours_ago
        self.world = world
        self.count = count
        # Two more, for the time to settle.
        reports = driven(os.path.join(world.bin, "beekon-sim"), count + 2, hours_ago(HOURS))
        fake, daemon = world.tracking(tracking=EVERY_FIX, store={"durability": "normal"})
        for index in range(0, len(reports), 2000):
            fake.send(b"".join(reports[index:index + 2000]))
        daemon.wait_status(lambda status: status["store"]["locations"] >= count, f"{count} fixes stored", 600)
        # Otherwise each copy would continue tracking, or upload when it stops.
        daemon.call("Stop")
        daemon.terminate()
        fake.stop()
        self.state = daemon.state
        self.database = os.path.join(self.state, "beekon.db")

    def copy(self) -> str:
        """A private copy of the state directory, already synced, so that no measurement pays for that."""
        target = os.path.join(self.world.path(), "state")
        shutil.copytree(self.state, target)
        os.sync()
        return target


def wait_for(condition, seconds: float, what: str):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.002)
