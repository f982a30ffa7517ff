"""PostgreSQL with standbys on loopback, which are killed, promoted and set up anew; and vehicles that go on uploading."""
from __future__ import annotations

import contextlib
import glob
import http.client
import os
import shutil
import signal
import subprocess
import threading
from collections import Counter

from server_support.postgres import BIN, Postgres, run
from server_support.server import FIRST_MS, Server, envelope, uuid7
from support.ports import new_port
from support.waiting import wait_for


class Node(Postgres):
    """One PostgreSQL among others, at a port of its own."""

    def __init__(self, name: str):
        super().__init__()
        self.name, self.port = name, new_port()
        self._configure()

    def _configure(self):
        """The last setting of a name counts: a copy of another has its settings, too."""
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="utf-8") as file:
            file.write(f"listen_addresses = '127.0.0.1'\nport = {self.port}\nunix_socket_directories = ''\n"
                       f"cluster_name = '{self.name}'\nwal_keep_size = 256MB\nwal_retrieve_retry_interval = 100ms\n"
                       "synchronous_standby_names = ''\n")

    def address(self, database: str = "postgres") -> str:
        return f"postgresql://beekon@127.0.0.1:{self.port}/{database}"

    def follow(self, primary: Node) -> Node:
        """Becomes a standby of it, from nothing, and starts."""
        shutil.rmtree(self.data)
        run(self.folder, os.path.join(BIN, "pg_basebackup"), "-D", self.data, "-d", primary.address(), "-X", "stream",
            "-c", "fast", "-R", "--no-sync")
        os.chmod(self.data, 0o700)
        self._configure()
        self.start()
        wait_for(lambda: primary.query(f"SELECT 1 FROM pg_stat_replication WHERE application_name = '{self.name}' "
                                       "AND state = 'streaming'"), f"{self.name} follows {primary.name}")
        return self

    def wait_for_standby(self, names: str):
        """COMMIT returns when one of these has it; '' for none."""
        path = os.path.join(self.data, "postgresql.conf")
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"synchronous_standby_names = '{f'ANY 1 ({names})' if names else ''}'\n")
        self._run("pg_ctl", "-D", self.data, "reload")
        if names:
            wait_for(lambda: self.query("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'quorum'"), "it is synchronous")

    def promote(self):
        self._run("pg_ctl", "-D", self.data, "-w", "promote")

    def has(self) -> set:
        return {row[0] for row in self.query("SELECT id FROM locations")}

    def timeline(self) -> int:
        return int(self.query("SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)")[0][0], 16)

    def kill(self):
        """SIGKILL of all its processes, as when the machine loses power."""
        end_all(self.data, self.name)


def end_all(data: str, name: str):
    """SIGKILL of all processes of the PostgreSQL with this data."""
    with open(os.path.join(data, "postmaster.pid"), encoding="ascii") as file:
        postmaster = int(file.readline())
    family = [postmaster, *children(postmaster)]
    for pid in family:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not any(is_alive(pid) for pid in family), f"{name} has gone")
    # Its number may be another's by now.
    os.remove(os.path.join(data, "postmaster.pid"))


def status(pid: int) -> list:
    """Fields of /proc/PID/stat from the state on; none when it has gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()
    except OSError:
        return []


def is_alive(pid: int) -> bool:
    found = status(pid)
    return bool(found) and found[0] != "Z"


def children(pid: int) -> list:
    numbers = [int(os.path.basename(path)) for path in glob.glob("/proc/[0-9]*")]
    return [number for number in numbers if (found := status(number)) and found[1] == str(pid)]


class Vehicle:
    """Uploads until it is told to end, each batch until it is acknowledged, as beekond does."""

    def __init__(self, servers: list, device: dict, number: int, rows: int):
        self.servers, self.token, self.number, self.rows = servers, device["access_token"], number, rows
        self.installation = uuid7(FIRST_MS + number)
        self.acknowledged: list = []
        self.statuses: Counter = Counter()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        count = 0
        while not self._end.is_set():
            count += 1
            root = envelope(self.rows, first_ms=FIRST_MS + count * self.rows * 1000, device={
                "install_id": self.installation, "platform": "linux", "sdk_version": "1.0.0", "model": "test"})
            ids = [row["id"] for row in root["locations"]]
            tries = 0
            while not self._end.is_set():
                tries += 1
                # The next server, as nginx would choose it.
                if self._upload(self.servers[(self.number + tries) % len(self.servers)], root) == 200:
                    self.acknowledged += ids
                    break
                # A pause between tries; the test waits for what comes of them.
                self._end.wait(0.02)

    def _upload(self, server: Server, root: dict) -> int:
        try:
            status = server.post(self.token, root).status
        except (OSError, http.client.HTTPException):
            status = 0
        self.statuses[status] += 1
        return status

    def end(self):
        self._end.set()
        self._thread.join(90)
        assert not self._thread.is_alive()


class Fleet:
    """Some vehicles, which send so many rows in a batch."""

    def __init__(self, servers: list, devices: list, rows: int = 5):
        self.vehicles = [Vehicle(servers, device, number, rows) for number, device in enumerate(devices)]

    @property
    def acknowledged(self) -> list:
        return [name for vehicle in self.vehicles for name in list(vehicle.acknowledged)]

    @property
    def statuses(self) -> Counter:
        return sum((vehicle.statuses for vehicle in self.vehicles), Counter())

    def go_on(self, count: int):
        """Until so many more rows are acknowledged."""
        target = len(self.acknowledged) + count
        wait_for(lambda: len(self.acknowledged) >= target, lambda: f"{count} more rows are acknowledged: {self.statuses}")

    def end(self):
        for vehicle in self.vehicles:
            vehicle.end()


class Pooler:
    """pgbouncer in front of one PostgreSQL."""

    PROGRAM = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin")

    def __init__(self, folder: str, node: Node, mode: str, *settings: str):
        self.port = new_port()
        self.folder = os.path.join(folder, f"pool-{mode}-{self.port}")
        os.mkdir(self.folder)
        path = os.path.join(self.folder, "pgbouncer.ini")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"[databases]\npostgres = host=127.0.0.1 port={node.port} user=beekon\n[pgbouncer]\n"
                       f"listen_addr = 127.0.0.1\nlisten_port = {self.port}\nauth_type = any\npool_mode = {mode}\n"
                       f"unix_socket_dir =\nlogfile = {self.folder}/log\n" + "".join(f"{line}\n" for line in settings))
        os.chmod(folder, 0o711)
        os.chmod(self.folder, 0o777)
        user = ["--user", "postgres"] if os.getuid() == 0 else []
        with open(os.path.join(self.folder, "said"), "ab") as said:
            self.process = subprocess.Popen([self.PROGRAM or "", *user, path], stdout=said, stderr=said, stdin=subprocess.DEVNULL)

    @property
    def address(self) -> str:
        return f"postgresql://beekon@127.0.0.1:{self.port}/postgres"

    def kill(self):
        self.process.kill()
        self.process.wait()
