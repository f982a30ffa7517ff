"""What lists cost at a million vehicles, most of which stand still: beside PostgreSQL's own time for the same statements, as its
log has it. The rows are made by SQL."""
from __future__ import annotations

import contextlib
import http.client
import os
import re
import statistics
import sys
import threading
import time

from figures import PostgresBench, Sheet, Tools, processor
from server_support.server import FIRST_MS
from support.waiting import wait_for
from vehicles import Fleet

VEHICLES = int(os.environ.get("BENCH_VEHICLES") or "1000000")
# Vehicles that have moved between two looks.
MOVED = 1000
LOOKS = 10
# Bytes of a piece of a list.
PIECE = 64 << 10
STATUS = (
    '{"state":"tracking","receiver":"ok","pending":3,"odometer_meters":51234.5,"ignition":true,"uptime_seconds":86400,'
    '"heartbeat_seconds":300,"commands":["locate","sync","upload_log","add_geofences","remove_geofences"],'
    '"battery":{"percent":81,"charging":true},"fences":{"count":0,"digest":"0000000000000000"}}')
FILL = """
    INSERT INTO devices(id, name, created) SELECT n, 'vehicle ' || n, {first} FROM generate_series(2, {count}) n;
    INSERT INTO presence(device, seen, install_id, platform, version, status, status_time, writer)
        SELECT n, {first} + n, gen_random_uuid(), 'linux', '0.1.0', '{status}', {first} + n, 3
        FROM generate_series(1, {count}) n;
    INSERT INTO latest SELECT n, {first} + n, gen_random_uuid(), 48 + random(), 11 + random(), 5, 12, 180, 500, 0
        FROM generate_series(1, {count}) n;
    INSERT INTO installations SELECT n, gen_random_uuid(), 1, {first} FROM generate_series(1, {count}) n;
    VACUUM ANALYZE"""
# As an upload of each leaves it, in one transaction.
MOVE = """
    BEGIN;
    CREATE TEMP TABLE moved ON COMMIT DROP AS SELECT DISTINCT 1 + (random() * ({count} - 1))::bigint AS device
        FROM generate_series(1, {moved});
    UPDATE presence SET seen = seen + 1000 WHERE device IN (SELECT device FROM moved);
    UPDATE latest SET time = time + 1000, latitude = latitude + 0.001 WHERE device IN (SELECT device FROM moved);
    INSERT INTO changes(devices) SELECT string_agg(device::text, ',') FROM moved;
    COMMIT"""


class Log:
    """What PostgreSQL says of its statements, from now on."""

    def __init__(self, path: str):
        self._path = path
        self._start = os.path.getsize(path)

    def times(self, word: str) -> list[float]:
        """Milliseconds of the statements that have this in their text."""
        with open(self._path, encoding="utf-8") as file:
            file.seek(self._start)
            text = file.read()
        entries = re.split(r"\n(?=\d{4}-\d\d-\d\d )", text)
        found = ((re.search(r"duration: ([\d.]+) ms  execute", entry), entry) for entry in entries)
        return [float(match[1]) for match, entry in found if match and word in entry]


class ListsBench(PostgresBench):
    """A server on a million vehicles."""

    def begin(self, fleet: Fleet):
        super().begin(fleet)
        self.name = "lists"
        for setting in ("shared_buffers = '1GB'", "max_wal_size = '8GB'", "log_min_messages = 'log'",
                        "log_min_duration_statement = 0", "log_line_prefix = '%m '"):
            self.postgres.query(f"ALTER SYSTEM SET {setting}")
        self.server.stop()
        self.postgres.stop()
        self.postgres.start()
        with open(os.path.join(self.postgres.data, "postmaster.pid"), encoding="ascii") as file:
            self.postmaster = int(file.readline())
        for statement in FILL.format(count=VEHICLES, first=FIRST_MS, status=STATUS).split(";"):
            self.postgres.query(statement)
        self.server.start()
        self.reader = self.server.add_user("bench", "reader")

    def note(self, figure: str, value: float):
        # It takes minutes, and each of them is worth seeing.
        print(f"{figure}: {value:,.1f}", file=sys.stderr)
        super().note(figure, value)

    def log(self) -> Log:
        return Log(os.path.join(self.postgres.folder, "log"))

    def measure(self):
        try:
            self.begin(Fleet(1))
            self.devices()
            self.live()
            self.metrics()
            self.look_up()
        finally:
            self.end()

    def get(self, path: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        link = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=600)
        link.request("GET", path, headers={"Authorization": f"Bearer {self.reader}"})
        answer = link.getresponse()
        if answer.status != 200:
            raise SystemExit(f"bench: {path}: {answer.status}")
        return link, answer

    def devices(self):
        """The whole list, piece by piece."""
        log, began = self.log(), time.monotonic()
        link, answer = self.get("/v1/devices")
        pieces = [time.monotonic() - began]
        total = 0
        while True:
            start = time.monotonic()
            part = answer.read(PIECE)
            if not part:
                break
            total += len(part)
            pieces.append(time.monotonic() - start)
        link.close()
        self.note("all devices, s", time.monotonic() - began)
        pieces.sort()
        self.note("a piece of /v1/devices, p50, ms", pieces[len(pieces) // 2] * 1000)
        self.note("a piece of /v1/devices, p99, ms", pieces[len(pieces) * 99 // 100] * 1000)
        self.note_own("a page of /v1/devices", log.times("d.id <= $3"))

    def note_own(self, figure: str, times: list[float]):
        if not times:
            raise SystemExit(f"bench: PostgreSQL's log has nothing of {figure}")
        self.note(f"{figure}, PostgreSQL's own, p50, ms", statistics.median(times))
        self.note(f"{figure}, PostgreSQL's own, most, ms", max(times))

    def live(self):
        """Looks of which each finds a thousand."""
        link, answer = self.get("/v1/live?form=compact")
        arrivals: list[tuple[float, int]] = []
        heard = threading.Event()

        def listen():
            # Until it is closed.
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException, AttributeError):
                while line := answer.readline():
                    heard.set()
                    if line.startswith(b"data: {\"at\""):
                        arrivals.append((time.monotonic(), line.count(b"],") + 1))
                    elif line.startswith(b"event: device"):
                        arrivals.append((time.monotonic(), 1))

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        wait_for(heard.is_set, "the greeting")
        spans, busy = [], []
        log = self.log()
        for _ in range(LOOKS):
            arrivals.clear()
            self.postgres.query(MOVE.format(count=VEHICLES, moved=MOVED))
            mine, theirs = self.cpu()
            wait_for(lambda: sum(count for _, count in arrivals) >= MOVED * 0.99, "all that have moved")
            after = self.cpu()
            busy.append(after[0] - mine + after[1] - theirs)
            # The first page has been read before its event.
            pages = MOVED / 100
            spans.append((arrivals[-1][0] - arrivals[0][0]) * pages / (pages - 1))
        self.note(f"a look of which {MOVED:,} have moved, ms", statistics.median(spans) * 1000)
        self.note(f"CPU of a look of which {MOVED:,} have moved, ms", statistics.median(busy) * 1000)
        self.note_own("what has changed", log.times("FROM changes"))
        self.note_own("a hundred by number", log.times("d.id IN ("))
        if link.sock:
            link.sock.shutdown(2)
        link.close()
        thread.join(10)

    def cpu(self) -> tuple[float, float]:
        return processor(self.pid), self.database_cpu()

    def metrics(self):
        """Sums, once they have been counted."""
        began = time.monotonic()
        wait_for(self.is_counted, "the sums", 600)
        self.note("until the first sums of /metrics, s", time.monotonic() - began)
        times = []
        for _ in range(5):
            start = time.monotonic()
            link, answer = self.get("/metrics")
            size = len(answer.read())
            link.close()
            times.append(time.monotonic() - start)
        self.note("/metrics, most, ms", max(times) * 1000)
        self.note("/metrics, KB", size / 1000)

    def is_counted(self) -> bool:
        link, answer = self.get("/metrics")
        text = answer.read().decode()
        link.close()
        return f"beekon_devices {VEHICLES}" in text

    def look_up(self):
        """Who asks is known while lists are read."""
        ends = threading.Event()

        def read():
            link, answer = self.get("/v1/devices")
            while not ends.is_set() and answer.read(PIECE):
                pass
            link.close()

        readers = [threading.Thread(target=read, daemon=True) for _ in range(8)]
        for thread in readers:
            thread.start()
        times = []
        for _ in range(200):
            start = time.monotonic()
            link, answer = self.get("/v1/session")
            answer.read()
            link.close()
            times.append(time.monotonic() - start)
        ends.set()
        for thread in readers:
            thread.join(60)
        times.sort()
        self.note("a look-up while 8 read all devices, p50, ms", times[len(times) // 2] * 1000)
        self.note("a look-up while 8 read all devices, p99, ms", times[len(times) * 99 // 100] * 1000)


def play(tools: Tools, sheet: Sheet):
    """Notes the figures of one run."""
    ListsBench(tools, sheet).measure()


