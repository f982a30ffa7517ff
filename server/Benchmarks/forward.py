"""What a row costs the server and its database where batches are forwarded, beside the same without a target."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

from figures import CONNECTIONS, PostgresBench, Sheet, SQLiteBench, Tools, Workload, alone, processor
from server_support.nats import NATS, Nats, NatsServer
from server_support.postgres import BIN
from support.waiting import wait_for

AWAY = "http://127.0.0.1:9/"


def play(tools: Tools, sheet: Sheet, load: Workload):
    """One run of each."""
    for kind in (PostgresBench, SQLiteBench) if BIN else (SQLiteBench,):
        plain = _cost(kind, tools, load)
        name = "PostgreSQL" if kind is PostgresBench else "SQLite"
        sheet.note(f"forward: {name}: CPU without a target, µs/row", plain)
        sheet.note(f"forward: {name}: more for a target that is away, µs/row", _cost(kind, tools, load, AWAY) - plain)
        if not NATS:
            continue
        with _stream(tools) as (url, stream):
            more = _cost(kind, tools, load, url, lambda: stream.count() == load.batches) - plain
        sheet.note(f"forward: {name}: more until JetStream has it, µs/row", more)


def _cost(kind: type, tools: Tools, load: Workload, target: str = "", is_done: Callable[[], bool] | None = None) -> float:
    """Microseconds of server and database for a row, until `is_done`, which must cost neither of them anything."""
    bench = kind(tools, Sheet(1))
    if target:
        path = os.path.join(tools.folder, "forward.toml")
        with open(path, "w", encoding="ascii") as file:
            file.write(f'[[forward]]\nname = "target"\nurl = "{target}"\n')
            if target != AWAY:
                file.write('subject = "beekon.{device_id}"\n')
        bench.options = ("--config", path)
    with alone():
        bench.begin(load.fleet)
        try:
            bench.reader = bench.server.add_user("bench", "reader")
            before = processor(bench.pid) + bench.database_cpu()
            bench.send("closed", load.requests(), CONNECTIONS, stored=load.size)
            if is_done:
                wait_for(is_done, "all is forwarded", 120)
            used = processor(bench.pid) + bench.database_cpu() - before
            if target and bench.count('beekon_server_forward_stored_batches_total{target="target"}') != load.batches:
                raise SystemExit("bench: not every batch was stored for the target")
            return used * 1e6 / load.size
        finally:
            bench.end()


@contextlib.contextmanager
def _stream(tools: Tools) -> Iterator[tuple[str, Nats]]:
    """The address of a nats-server, and a client that has made a stream there."""
    broker = NatsServer(os.path.join(tools.folder, f"nats-{os.urandom(4).hex()}")).start()
    try:
        client = Nats(broker.port)
        client.stream()
        yield broker.url, client
        client.close()
    finally:
        broker.kill()
