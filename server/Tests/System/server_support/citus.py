"""Citus on loopback: a coordinator and two workers, each of which may be killed. BEEKON_TEST_CITUS names the folder that Citus
was installed into (DESTDIR), or that of its source, built."""
from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import subprocess
import tempfile

from server_support import postgres
from server_support.postgres import BIN, Postgres
from server_support.server import PROGRAM, Server
from server_support.standbys import end_all
from support.ports import new_port
from support.waiting import wait_for

PLACE = os.environ.get("BEEKON_TEST_CITUS") or ""
WORKERS = 2
# Distributed by device; all others are at the coordinator.
TABLES = ("locations", "events", "vehicle_events", "batches")


@functools.cache
def programs() -> str:
    """Folder of a PostgreSQL's programs that finds Citus: copies of those of this machine, and links to all else. A PostgreSQL
    looks for its files from where its program is."""
    folder = tempfile.mkdtemp(prefix="beekon-citus-", dir="/tmp")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.chmod(folder, 0o755)
    library = os.path.dirname(BIN)
    share = os.path.join("/usr/share/postgresql", os.path.basename(library))
    places = {library: os.path.join(folder, "lib", "postgresql", os.path.basename(library)),
              share: os.path.join(folder, "share", "postgresql", os.path.basename(library))}
    for source, target in places.items():
        os.makedirs(os.path.dirname(target), exist_ok=True)
        subprocess.run(["cp", "-as", source, target], check=True)
    programs = os.path.join(places[library], "bin")
    shutil.rmtree(programs)
    shutil.copytree(BIN, programs)
    installed = PLACE
    if os.path.exists(os.path.join(PLACE, "configure")):
        installed = os.path.join(folder, "installed")
        subprocess.run(["make", "-C", PLACE, "with_llvm=no", f"DESTDIR={installed}", "install-extension"],
                       check=True, stdout=subprocess.DEVNULL)
    for source, target in places.items():
        shutil.copytree(installed + source, target, dirs_exist_ok=True)
    return programs


class Node(Postgres):
    """One PostgreSQL of them."""

    def __init__(self, name: str, port: int, source: str):
        self.name, self.port, self.bin = name, port, programs()
        self.folder = tempfile.mkdtemp(prefix="beekon-pg-", dir="/tmp")
        self.data = os.path.join(self.folder, "data")
        postgres.run(self.folder, "cp", "-a", source, self.data)

    def _run(self, program: str, *arguments: str):
        postgres.run(self.folder, os.path.join(self.bin, program), *arguments)

    def configure(self):
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="utf-8") as file:
            file.write("shared_preload_libraries = 'citus'\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n"
                       f"port = {self.port}\nmax_connections = 200\nshared_buffers = 64MB\n"
                       "log_min_messages = fatal\n")

    def address(self, database: str = "postgres") -> str:
        return f"postgresql://beekon@127.0.0.1:{self.port}/{database}"

    def kill(self):
        """SIGKILL of all its processes, as when the machine loses power."""
        end_all(self.data, self.name)


@functools.cache
def distributed() -> list[tuple[str, int, str]]:
    """Name, port and data of each node of a cluster with the tables of this version, distributed; made once for all tests of a
    file. Copies have the same ports: one of them runs at a time."""
    nodes = [Node(name, new_port(), postgres.fresh()) for name in ("coordinator", *(f"worker {n + 1}" for n in range(WORKERS)))]
    for node in nodes:
        atexit.register(shutil.rmtree, node.folder, ignore_errors=True)
        node.configure()
        node.start()
        node.query("CREATE EXTENSION citus")
    coordinator, *workers = nodes
    coordinator.query(f"SELECT citus_set_coordinator_host('127.0.0.1', {coordinator.port})")
    for worker in workers:
        coordinator.query(f"SELECT citus_add_node('127.0.0.1', {worker.port})")
    done = distribute(coordinator)
    if done.returncode:
        raise AssertionError(f"beekon-server distribute: {done.stdout}{done.stderr}")
    # It makes the weeks that come.
    server = Server(coordinator.folder, coordinator.address()).start()
    server.stop()
    for node in nodes:
        node.stop()
    return [(node.name, node.port, node.data) for node in nodes]


def distribute(node: Postgres, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, "distribute", "--database", node.address(), *options], capture_output=True, text=True,
                          timeout=300)


class Citus(Node):
    """The coordinator, which its workers start and stop with: for tests it is one PostgreSQL."""

    def __init__(self):
        coordinator, *workers = distributed()
        super().__init__(*coordinator)
        self.workers = [Node(*worker) for worker in workers]

    @property
    def nodes(self) -> list[Node]:
        return [self, *self.workers]

    def revive(self, node: Node):
        """Starts one that was killed."""
        Postgres.start(node)

    def start(self) -> Citus:
        for worker in self.workers:
            worker.start()
        super().start()
        return self

    def stop(self, mode: str = "fast"):
        super().stop(mode)
        for worker in self.workers:
            worker.stop(mode)

    def remove(self):
        for node in self.nodes:
            with contextlib.suppress(AssertionError):
                # Or it does not run.
                Postgres.stop(node, "immediate")
            shutil.rmtree(node.folder, ignore_errors=True)

    def spreads(self, table: str) -> bool:
        return table in TABLES

    def settle(self):
        """Until no transaction is left that a kill has cut in two."""
        def is_settled() -> bool:
            self.query("SELECT recover_prepared_transactions()")
            return all(node.query("SELECT count(*) FROM pg_prepared_xacts") == [["0"]] for node in self.nodes)

        wait_for(is_settled, "no transaction is left in two")
