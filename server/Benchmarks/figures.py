"""What is measured, and the table of it."""
from __future__ import annotations

import contextlib
import datetime
import http.client
import json
import os
import re
import shlex
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import server_support
from server_support.postgres import Postgres
from server_support.server import PROGRAM, Server
from vehicles import Fleet

server_support.IS_MEASURED = True
HERE = Path(__file__).resolve().parent
# Of the closed and the open loop: more than a group needs, far fewer than the server allows.
CONNECTIONS = 64
# Requests that only ask whether the server lives.
EMPTY = 20_000
# Vehicles whose locations are read.
READS = 300
TICKS = os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def alone() -> Iterator:
    """With BENCH_ALONE, whatever else the machine does waits: who has the processor all the time measures the same on a busy
    machine and on a quiet one. It needs root."""
    if not os.environ.get("BENCH_ALONE"):
        yield
        return
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        raise SystemExit("bench: BENCH_ALONE needs root; without it, measure when the machine is quiet") from None
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


class Disk:
    """How long the disk takes for a page meanwhile, every 20 ms: what no COMMIT can be faster than. Others may use it, too."""

    def __init__(self, folder: str):
        self._path = os.path.join(folder, "page")
        self._end = threading.Event()
        self._times: list[float] = []
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        file = os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600)
        while not self._end.wait(0.02):
            began = time.monotonic()
            os.pwrite(file, bytes(4096), 0)
            os.fdatasync(file)
            self._times.append((time.monotonic() - began) * 1000)
        os.close(file)

    def __enter__(self) -> Disk:
        self._thread.start()
        return self

    def __exit__(self, *_: object):
        self._end.set()
        self._thread.join()

    @property
    def late(self) -> float:
        """The 99th percentile, in milliseconds."""
        return sorted(self._times)[len(self._times) * 99 // 100] if self._times else 0


class Tools:
    """The programs in C."""

    def __init__(self, folder: str):
        self.folder = folder
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "libpq", "sqlite3"], capture_output=True, text=True, check=True).stdout
        for name, libraries in (("generator", []), ("bare", shlex.split(flags))):
            subprocess.run(["cc", "-O2", "-o", self._path(name), str(HERE / f"{name}.c"), *libraries], check=True)

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def run(self, name: str, *arguments: object) -> dict:
        done = subprocess.run([self._path(name), *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"bench: {name} {arguments[0]}: {done.stderr}")
        return {**json.loads(done.stdout), "said": done.stderr}


class Workload:
    """Requests that were made before, and the locations in them."""

    def __init__(self, folder: str, batches: int, rows: int, vehicles: int | None = 1000):
        self.batches, self.rows = batches, rows
        self.fleet = Fleet(min(batches, vehicles or batches))
        self._folder = tempfile.mkdtemp(dir=folder)
        self._records: bytes = b""

    @property
    def size(self) -> int:
        return self.batches * self.rows

    def requests(self, round_: int = 0) -> str:
        path = os.path.join(self._folder, f"requests-{round_}")
        if not os.path.exists(path):
            records = self.fleet.uploads(path, self.batches, self.rows, round_)
            self._records = self._records or records
        return path

    def bare(self, group: int) -> str:
        """The same locations; those of each transaction in the order of their key, as is best for the database."""
        rows: list[bytes] = [self._records[start:start + 98] for start in range(0, len(self._records), 98)]
        path = os.path.join(self._folder, f"bare-{group}")
        if os.path.exists(path):
            return path
        with open(path, "wb") as file:
            for start in range(0, len(rows), group):
                some = rows[start:start + group]
                some.sort(key=_key)
                file.write(b"".join(some))
        return path


def _key(row: bytes) -> tuple:
    return int.from_bytes(row[:8], "little"), int.from_bytes(row[8:16], "little"), row[16:32]


class Sheet:
    """Figures, each as often as there were runs."""

    def __init__(self, runs: int):
        self.runs = runs
        self.figures: dict = {}

    def note(self, name: str, value: float):
        self.figures.setdefault(name, []).append(value)

    def middle(self, name: str) -> float:
        return statistics.median(self.figures[name])

    def ratio(self, ours: str, theirs: str) -> float:
        """The median of the ratios: whatever else the machine did was beside both of one run."""
        return statistics.median(
            own / other for own, other in zip(self.figures[ours], self.figures[theirs], strict=True))

    def table(self, load: Workload, herd: Workload) -> str:
        scene = (
            f"{datetime.date.today()}: {self.runs} runs of {load.batches} batches of {load.rows} locations of "
            f"{load.fleet.size} vehicles, {CONNECTIONS} connections; herd of {herd.batches} vehicles with {herd.rows} each; "
            f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}"
            f"{', which waited (BENCH_ALONE)' if os.environ.get('BENCH_ALONE') else ''}.")
        lines = [
            scene, "",
            "| figure | median | least … most | limit | |", "|---|---|---|---|---|"]
        for name, values in self.figures.items():
            limit = next((limit for limit in LIMITS if limit.figure == name), None)
            value = statistics.median(values)
            lines.append(
                f"| {name} | {_number(value)} | {_number(min(values))} … {_number(max(values))} | "
                f"{limit.text if limit else ''} | {('met' if limit.holds(value) else 'missed') if limit else ''} |")
        return "\n".join(lines)

    @staticmethod
    def insert(table: str, path: str, name: str = "figures"):
        """Between two marks of a document."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text[:text.index(begin) + len(begin)] + f"\n{table}\n" + text[text.index(end):])


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


@dataclass
class Limit:
    figure: str
    text: str
    holds: Callable


LIMITS = [
    Limit("PostgreSQL: × COPY", "≥ 0.7", lambda value: value >= 0.7),
    Limit("SQLite: × bare INSERT", "≥ 0.5", lambda value: value >= 0.5),
    *[Limit(f"{name}: p99 at half load, ms", "≤ 100", lambda value: value <= 100) for name in ("PostgreSQL", "SQLite")],
    *[Limit(f"{name}: herd, all stored, s", "≤ 15", lambda value: value <= 15) for name in ("PostgreSQL", "SQLite")],
    Limit("lists: a look of which 1,000 have moved, ms", "≤ 50", lambda value: value <= 50),
    Limit("lists: a piece of /v1/devices, p99, ms", "≤ 20", lambda value: value <= 20),
    Limit("lists: /metrics, most, ms", "≤ 1000", lambda value: value <= 1000),
    *[Limit(f"forward: {name}: more for a target that is away, µs/row", "≤ 0.5", lambda value: value <= 0.5)
      for name in ("PostgreSQL", "SQLite")],
    *[Limit(f"{name}: herd, RSS at most, MB", "≤ 80", lambda value: value <= 80) for name in ("PostgreSQL", "SQLite")],
]


def processor(pid: int) -> float:
    """Seconds of CPU of a process, by a clock of nanoseconds, and of its children that have ended, in ticks."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    # clock_getcpuclockid(3), which Python has not: the clock of all threads of that process.
    return time.clock_gettime(~pid << 3 | 2) + sum(map(int, fields[13:15])) / TICKS


def resident(pid: int) -> float:
    """Megabytes, at most so far."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1000 for line in file if line.startswith("VmHWM"))


@dataclass
class Bench:
    """One database that is new, and a server on it."""

    tools: Tools
    sheet: Sheet
    program: str = PROGRAM
    # Batches a second of the open loop; none: half of what the closed one came to.
    rate: float | None = None
    name: str = ""
    folder: str = ""
    options: tuple = ()
    server: Server = field(init=False)

    def note(self, figure: str, value: float):
        self.sheet.note(f"{self.name}: {figure}", value)

    # What differs between the databases.

    def begin(self, fleet: Fleet):
        raise NotImplementedError

    def end(self):
        raise NotImplementedError

    def stored(self) -> int:
        raise NotImplementedError

    def bare(self, load: Workload, group: int):
        raise NotImplementedError

    def database_cpu(self) -> float:
        return 0

    # What does not.

    @property
    def pid(self) -> int:
        assert self.server.child
        return self.server.child.process.pid

    def count(self, metric: str) -> float:
        text = self.server.ask("GET", "/metrics", self.reader).body.decode()
        found = re.search(rf"^{re.escape(metric)} (\S+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0

    def send(self, *arguments: object, stored: int) -> dict:
        before = self.stored()
        answer = self.tools.run("generator", arguments[0], self.server.port, *arguments[1:])
        # A disk that stands still for half a second makes the server refuse some; what it accepts must be there.
        accepted = stored * answer["good"] // (answer["good"] + answer["busy"])
        if answer["other"] or self.stored() - before != accepted:
            raise SystemExit(f"bench: {self.stored() - before} of {accepted} rows were stored; {answer}")
        if answer["busy"]:
            print(f"{self.name}: {answer['busy']} batches were refused (503)", file=sys.stderr)
        return answer

    def compare(self, load: Workload):
        """Server and bare database, one after the other, and what the server costs without rows."""
        path, later = load.requests(0), load.requests(1)
        with alone():
            self.begin(load.fleet)
            try:
                group = self._serve(load, path, later)
                self.server.kill()
                self.bare(load, group)
            finally:
                self.end()

    def serve(self, load: Workload):
        """The server alone."""
        path, later = load.requests(0), load.requests(1)
        with alone():
            self.begin(load.fleet)
            try:
                self._serve(load, path, later)
            finally:
                self.end()

    def _serve(self, load: Workload, path: str, later: str) -> int:
        """Uploads and reads.

        Returns the rows of a transaction."""
        self.reader = self.server.add_user("bench", "reader")
        groups = self.count("beekon_server_groups_total")
        before, database = processor(self.pid), self.database_cpu()
        closed = self.send("closed", path, CONNECTIONS, stored=load.size)
        self.note("rows/s", closed["good"] * load.rows / closed["seconds"])
        used = processor(self.pid) - before
        self.note("CPU of the server, µs/row", used * 1e6 / load.size)
        self.note("CPU of the generator, µs/row", closed["cpu"] * 1e6 / load.size)
        if self.database_cpu():
            self.note("CPU of the database, µs/row", (self.database_cpu() - database) * 1e6 / load.size)
        groups = self.count("beekon_server_groups_total") - groups
        group = max(1, round(load.size / groups))
        self.note("rows of a transaction", group)
        before = processor(self.pid)
        self.send("closed", path, CONNECTIONS, stored=0)
        self.note("CPU of a batch that was seen, µs", (processor(self.pid) - before) * 1e6 / load.batches)
        self._ask_only()
        self._read(load)
        self.rate = self.rate or load.batches / closed["seconds"] / 2
        before = processor(self.pid)
        with Disk(self.tools.folder) as disk:
            answer = self.send("open", later, CONNECTIONS, self.rate, stored=load.size)
        self.note("half load, batches/s", self.rate)
        self.note("CPU of the server at half load, µs/row", (processor(self.pid) - before) * 1e6 / load.size)
        self.note("p50 at half load, ms", answer["p50"])
        self.note("p99 at half load, ms", answer["p99"])
        self.note("p99 of a page on the disk meanwhile, ms", disk.late)
        self.note("RSS at most, MB", resident(self.pid))
        return group

    def _read(self, load: Workload):
        """What lists cost, over one connection, one after the other."""
        link = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        rows, devices = load.size // load.fleet.size, range(1, min(load.fleet.size, READS) + 1)
        for name, paths, unit in (
                ("CPU of a list of devices, µs/device", ["/v1/devices"] * 20, load.fleet.size),
                *((f"CPU of reading as {form}, µs/row",
                   [f"/v1/devices/{number}/locations?format={form}" for number in devices], rows)
                  for form in ("json", "packed"))):
            before = processor(self.pid)
            for path in paths:
                link.request("GET", path, headers={"Authorization": f"Bearer {self.reader}"})
                answer = link.getresponse()
                if answer.status != 200 or not answer.read():
                    raise SystemExit(f"bench: {path}: {answer.status}")
            self.note(name, (processor(self.pid) - before) * 1e6 / len(paths) / unit)
        link.close()

    def _ask_only(self):
        """What HTTP alone costs."""
        path = os.path.join(self.tools.folder, "empty")
        request = b"GET /health/live HTTP/1.1\r\nHost: bench\r\nUser-Agent: beekond/0.1.0\r\nAccept: */*\r\n\r\n"
        with open(path, "wb") as file:
            file.write((len(request).to_bytes(4, "little") + request) * EMPTY)
        before = processor(self.pid)
        self.send("closed", path, CONNECTIONS, stored=0)
        self.note("CPU of a request without work, µs", (processor(self.pid) - before) * 1e6 / EMPTY)

    def herd(self, load: Workload):
        path = load.requests()
        with alone():
            self.begin(load.fleet)
            try:
                answer = self.send("herd", path, stored=load.size)
                if answer["good"] != load.batches:
                    raise SystemExit(f"bench: {answer}")
                self.note("herd, all stored, s", answer["seconds"])
                self.note("herd, half had their answer after, s", answer["p50"] / 1000)
                self.note("herd, 503", answer["busy"])
                self.note("herd, connections cut", answer["broken"])
                self.note("herd, RSS at most, MB", resident(self.pid))
            finally:
                self.end()


class SQLiteBench(Bench):
    def begin(self, fleet: Fleet):
        self.name = "SQLite"
        self.folder = tempfile.mkdtemp(dir=self.tools.folder)
        self.server = Server(self.folder, options=self.options, program=self.program).start()
        self.server.stop()
        fleet.enter_sqlite(self.server.database)
        self.server.start()

    def end(self):
        self.server.kill()

    def stored(self) -> int:
        with sqlite3.connect(f"file:{self.server.database}?mode=ro", uri=True) as database:
            return database.execute("SELECT count(*) FROM locations").fetchone()[0]

    def bare(self, load: Workload, group: int):
        answer = self.tools.run("bare", "insert", os.path.join(self.folder, "bare.db"), group, load.bare(group))
        self.note("bare INSERT, rows/s", load.size / answer["seconds"])
        self.note("CPU of bare INSERT, µs/row", answer["cpu"] * 1e6 / load.size)
        self.note("× bare INSERT", self.sheet.figures["SQLite: rows/s"][-1] * answer["seconds"] / load.size)


class PostgresBench(Bench):
    def begin(self, fleet: Fleet):
        self.name = "PostgreSQL"
        self.folder = tempfile.mkdtemp(dir=self.tools.folder)
        self.postgres = Postgres().start()
        with open(os.path.join(self.postgres.data, "postmaster.pid"), encoding="ascii") as file:
            self.postmaster = int(file.readline())
        self.server = Server(self.folder, self.postgres.address(), self.options, self.program).start()
        fleet.enter_postgres(self.postgres.address())

    def end(self):
        self.server.kill()
        self.postgres.remove()

    def stored(self) -> int:
        return int(self.postgres.query("SELECT count(*) FROM locations")[0][0])

    def database_cpu(self) -> float:
        while True:
            with open(f"/proc/{self.postmaster}/task/{self.postmaster}/children", encoding="ascii") as file:
                children = [int(child) for child in file.read().split()]
            # One that ends meanwhile counts with the postmaster, once that has waited for it.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                return processor(self.postmaster) + sum(processor(child) for child in children)

    def bare(self, load: Workload, group: int):
        """COPY into a table of its own, and into the server's, with its partitions."""
        self.postgres.query("CREATE TABLE bare (LIKE locations INCLUDING ALL); TRUNCATE locations")
        path = load.bare(group)
        for table, word in (("bare", "COPY"), ("locations", "COPY into its partitions")):
            self.postgres.query("CHECKPOINT")
            before = self.database_cpu()
            answer = self.tools.run("bare", "copy", self.postgres.address(), table, group, path)
            # By its end the process of that connection has been waited for, and counts.
            self.postgres.query("SELECT 1")
            self.note(f"{word}, rows/s", load.size / answer["seconds"])
            self.note(f"CPU of {word}, µs/row", (self.database_cpu() - before + answer["cpu"]) * 1e6 / load.size)
        for word in ("COPY", "COPY into its partitions"):
            self.note(f"× {word}", self.sheet.figures["PostgreSQL: rows/s"][-1] / self.sheet.figures[
                f"PostgreSQL: {word}, rows/s"][-1])
