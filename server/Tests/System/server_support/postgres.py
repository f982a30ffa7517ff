"""A PostgreSQL server of the tests' own, in a private folder. Started as a program: on a socket, without a network."""
from __future__ import annotations

import atexit
import functools
import glob
import os
import pwd
import shutil
import subprocess
import sys
import tempfile

# Debian keeps the server's programs out of PATH.
BIN = next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)), "")


def run(folder: str, program: str, *arguments: str):
    """Runs it in that folder, of which `postgres` is the owner where we are root: PostgreSQL refuses to run as root."""
    owner: dict = {}
    if os.getuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        owner = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    done = subprocess.run(
        [program, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        **owner)
    if done.returncode:
        raise AssertionError(f"{program}: {done.stdout}")


@functools.cache
def fresh() -> str:
    """A cluster as `initdb` makes it, once for all tests of a file: a copy is there in a tenth of the time."""
    folder = tempfile.mkdtemp(prefix="beekon-pg-", dir="/tmp")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    data = os.path.join(folder, "data")
    # Its log begins with one megabyte, not sixteen, which every copy would have.
    run(folder, os.path.join(BIN, "initdb"), "-D", data, "-U", "beekon", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync",
        "--wal-segsize=1")
    return data


class Postgres:
    """One cluster."""

    def __init__(self):
        # Short, because the path of a socket may have 107 bytes at most.
        self.folder = tempfile.mkdtemp(prefix="beekon-pg-", dir="/tmp")
        self.data = os.path.join(self.folder, "data")
        run(self.folder, "cp", "-a", fresh(), self.data)
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="utf-8") as file:
            file.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nmax_connections = 200\n"
                       # No power fails here: what a killed PostgreSQL has written, the kernel has.
                       "shared_buffers = 64MB\nlog_min_messages = fatal\nfsync = off\n")

    def _run(self, program: str, *arguments: str):
        run(self.folder, os.path.join(BIN, program), *arguments)

    def address(self, database: str = "postgres") -> str:
        return f"postgresql:///{database}?host={self.folder}&user=beekon"

    def start(self) -> Postgres:
        self._run("pg_ctl", "-D", self.data, "-w", "-t", "60", "-l", os.path.join(self.folder, "log"), "start")
        return self

    def stop(self, mode: str = "fast"):
        """`immediate` is what a power cut leaves, but for the disk's own cache."""
        self._run("pg_ctl", "-D", self.data, "-w", "-t", "60", "-m", mode, "stop")

    def query(self, sql: str, database: str = "postgres") -> list:
        done = subprocess.run(
            ["psql", self.address(database), "-XAtq", "-c", sql], capture_output=True, text=True, check=True)
        return [line.split("|") for line in done.stdout.splitlines()]

    def spreads(self, table: str) -> bool:
        """Whether its rows lie on several PostgreSQL."""
        return False

    def remove(self):
        try:
            self.stop("immediate")
        except AssertionError:
            # It does not run.
            pass
        shutil.rmtree(self.folder, ignore_errors=True)


class Kept(Postgres):
    """One that is not removed after a test but emptied, and goes on to the next test of the file: a copy has a thousand files,
    which take more of the processor than most tests do."""

    free: list[Kept] = []

    def __init__(self):
        super().__init__()
        self._runs = False
        atexit.register(super().remove)

    def start(self) -> Kept:
        if not self._runs:
            super().start()
            self._runs = True
        return self

    def stop(self, mode: str = "fast"):
        self._runs = False
        super().stop(mode)

    def remove(self):
        """Ends all connections. A database has its settings with it."""
        if not self._runs:
            super().remove()
            return
        words = [word for statement in ("DROP DATABASE postgres WITH (FORCE)", "CREATE DATABASE postgres TEMPLATE template0")
                 for word in ("-c", statement)]
        subprocess.run(["psql", self.address("template1"), "-Xq", "-v", "ON_ERROR_STOP=1", *words], check=True)
        self.free.append(self)


def cluster() -> Postgres:
    """What the tests of this machine take for PostgreSQL: with BEEKON_TEST_CITUS it is Citus."""
    if os.environ.get("BEEKON_TEST_CITUS"):
        from server_support.citus import Citus
        return Citus()
    return Kept.free.pop() if Kept.free else Kept()


def main() -> int:
    """Runs a command with the address of such a server in BEEKON_TEST_POSTGRES."""
    cluster = Postgres()
    try:
        cluster.start()
        return subprocess.run(sys.argv[1:], env={**os.environ, "BEEKON_TEST_POSTGRES": cluster.address()}).returncode
    finally:
        cluster.remove()


if __name__ == "__main__":
    sys.exit(main())
