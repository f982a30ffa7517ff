"""A PostgreSQL server of the tests' own, in a private folder. Started as a program: on a socket, without a network."""
from __future__ import annotations

import atexit
import ctypes
import functools
import glob
import os
import pwd
import shutil
import subprocess
import sys
import tempfile

import server_support

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


def place() -> str:
    """In memory where there is room: ext4 looks long for the inodes of a cluster's files when others have just been removed. It
    is short, because the path of a socket may have 107 bytes at most."""
    is_roomy = os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 4 << 30
    return "/dev/shm" if is_roomy and not server_support.IS_MEASURED else "/tmp"


def initdb(folder: str) -> str:
    """Makes a cluster there."""
    data = os.path.join(folder, "data")
    # Its log begins with one megabyte, not sixteen, which every copy would have.
    size = [] if server_support.IS_MEASURED else ["--wal-segsize=1"]
    run(folder, os.path.join(BIN, "initdb"), "-D", data, "-U", "beekon", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync",
        *size)
    return data


@functools.cache
def fresh() -> str:
    """A cluster as `initdb` makes it, once for all tests of a file: a copy is there in a tenth of the time."""
    folder = tempfile.mkdtemp(prefix="beekon-pg-", dir=place())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return initdb(folder)


@functools.cache
def library() -> ctypes.CDLL:
    """That of PostgreSQL's clients, which beekon-server has, too."""
    found = ctypes.CDLL("libpq.so.5")
    for name in ("PQconnectdb", "PQexec"):
        getattr(found, name).restype = ctypes.c_void_p
    for name in ("PQerrorMessage", "PQgetvalue"):
        getattr(found, name).restype = ctypes.c_char_p
    return found


def query(address: str, sql: str) -> list[list[str]]:
    """Rows, as psql would print their values, and without starting a psql each time that a test looks whether something has
    happened."""
    pq = library()
    connection = ctypes.c_void_p(pq.PQconnectdb(address.encode()))
    try:
        result = ctypes.c_void_p(pq.PQexec(connection, sql.encode()))
        try:
            # Nothing to be told, or rows.
            if pq.PQresultStatus(result) not in (1, 2):
                raise AssertionError(f"{sql}: {pq.PQerrorMessage(connection).decode()}")
            columns = range(pq.PQnfields(result))
            return [[pq.PQgetvalue(result, row, column).decode() for column in columns] for row in range(pq.PQntuples(result))]
        finally:
            pq.PQclear(result)
    finally:
        pq.PQfinish(connection)


class Postgres:
    """One cluster."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="beekon-pg-", dir=place())
        self.data = self._make()
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="utf-8") as file:
            file.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nmax_connections = 200\n"
                       "shared_buffers = 64MB\nlog_min_messages = fatal\n")
            if not server_support.IS_MEASURED:
                # No power fails here: what a killed PostgreSQL has written, the kernel has.
                file.write("fsync = off\n")

    def _make(self) -> str:
        data = os.path.join(self.folder, "data")
        run(self.folder, "cp", "-a", fresh(), data)
        return data

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
        return query(self.address(database), sql)

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

    def _make(self) -> str:
        # There is no second one as a rule, so none is made to be copied.
        return initdb(self.folder)

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
        for statement in ("DROP DATABASE postgres WITH (FORCE)", "CREATE DATABASE postgres TEMPLATE template0"):
            self.query(statement, "template1")
        self.free.append(self)


def cluster() -> Postgres:
    """What the tests of this machine take for PostgreSQL: with BEEKON_TEST_CITUS it is Citus."""
    if os.environ.get("BEEKON_TEST_CITUS"):
        from server_support.citus import Citus
        return Citus()
    if server_support.IS_MEASURED:
        return Postgres()
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
