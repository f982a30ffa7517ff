"""What another vehicle, and the server's memory, feel of one that does what it can."""
from __future__ import annotations

import contextlib
import http.client
import random
import tempfile

from figures import LIMITS, Limit, Sheet
from server_support import hostile, scenes
from server_support.bound import high_water
from server_support.hostile_vehicle import SCENES
from server_support.postgres import BIN, Postgres
from server_support.server import Server

LIMITS += [limit for name in ("PostgreSQL", "SQLite") for scene in SCENES for limit in (
    Limit(f"{name}: {scene}: of the other's uploads accepted, %", "≥ 99", lambda value: value >= 99),
    Limit(f"{name}: {scene}: their p99, ms", "≤ 1,000", lambda value: value <= 1000))]
LIMITS += [Limit(f"{name}: slow: RSS at most, MB", "≤ 80", lambda value: value <= 80) for name in ("PostgreSQL", "SQLite")]
LIMITS += [Limit("SQLite: hostile bodies: RSS at most, MB", "≤ 80", lambda value: value <= 80)]
BODIES = 2000


def play(sheet: Sheet, folder: str, seconds: float):
    """Each scene on each database, beside a vehicle that uploads eight times a second."""
    for name in ("PostgreSQL", "SQLite"):
        if name == "PostgreSQL" and not BIN:
            continue
        for scene in SCENES:
            postgres = Postgres().start() if name == "PostgreSQL" else None
            server = Server(tempfile.mkdtemp(dir=folder), postgres.address() if postgres else None).start()
            try:
                outcome = scenes.play(scene, server, seconds)
            finally:
                server.kill()
                if postgres:
                    postgres.remove()
            if outcome.kills or not outcome.running:
                raise SystemExit(f"bench: the server was killed: {name}: {outcome}")
            title = f"{name}: {scene}: "
            sheet.note(title + "of the other's uploads accepted, %", 100 * outcome.accepted / outcome.sent)
            sheet.note(title + "their p99, ms", 1000 * outcome.span(0.99))
            sheet.note(title + "RSS at most, MB", outcome.resident / 1e6)
            sheet.note(title + f"memory at most, MB ({outcome.bound})", outcome.peak / 1e6)
    bodies(sheet, folder)


def bodies(sheet: Sheet, folder: str):
    """Bodies that are cut, damaged, too deep, too long, or unpack to 40 MB."""
    server = Server(tempfile.mkdtemp(dir=folder)).start()
    try:
        token = server.add_device("van")["access_token"]
        made = hostile.by_chance(random.Random(1))
        for _ in range(BODIES):
            _, body, packed = next(made)
            # What is too long to be read at all may lose its answer with the rest of the body.
            with contextlib.suppress(OSError, http.client.HTTPException):
                server.ask("POST", "/v1/batches", token, body, **({"Content_Encoding": "gzip"} if packed else {}))
        assert server.child
        sheet.note("SQLite: hostile bodies: RSS at most, MB", high_water(server.child.process.pid) / 1e6)
    finally:
        server.kill()
