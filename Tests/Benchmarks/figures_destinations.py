"""What further destinations cost: in time to the one that works, in commits that wait, in bytes on the disk."""
from __future__ import annotations

import contextlib
import socket
import threading
import time

from figures_store import bench_store, count_syncs, measured
from measuring import Row, interleaved, percentile
from support.daemon import NEVER
from world import EVERY_FIX, World, wait_for

# Seconds between two fixes, each of which is uploaded at once; and the pause of a server that is slow.
PACE = 0.025
SLOWNESS = 0.5
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


def delays(world: World) -> list:
    """The time from a report to the acceptance of its location: alone, and beside others that take nothing, or little."""
    count = world.scaled(200, 20)
    alone, dead, slow = [], [], []
    for _ in range(world.runs):
        alone.append(latencies(world, count))
        with Server() as other:
            # Nobody listens there any more.
            port = other.port
        dead.append(latencies(world, count, f"http://127.0.0.1:{port}/"))
        with Server(SLOWNESS) as other:
            slow.append(latencies(world, count, other.url))
    rows = []
    for what, found in (("a dead destination", dead), (f"one that answers after {SLOWNESS:g} s", slow)):
        for name, part, target in (("p50", 0.5, 1.2), ("p99", 0.99, 1.5)):
            rows.append(Row(
                f"from a report to its acceptance, beside {what}, {name}", "ms", [percentile(run, part) for run in found],
                "alone", [percentile(run, part) for run in alone], target))
    return rows


def latencies(world: World, count: int, *others: str) -> list:
    """Milliseconds for each of so many fixes, with these other destinations."""
    with Server() as good:
        fake = world.fake()
        sections: dict = {f"destination.d{index}": {"url": url, "interval_seconds": NEVER, "sync_threshold": 1}
                          for index, url in enumerate(others)}
        daemon = world.daemon(
            fake.port, tracking={"autostart": True, **EVERY_FIX}, sync={"url": good.url, "sync_threshold": 1},
            **sections).start()
        # The first to count, and some for which pages have yet to be mapped.
        fake.settle()
        wait_for(lambda: good.moments, 60, "the first upload")
        found: list = []
        for index in range(10 + count):
            seen = len(good.moments)
            began = time.monotonic()
            fake.drive(1)
            wait_for(lambda seen=seen: len(good.moments) > seen, 60, "an upload")
            if index >= 10:
                found.append((good.moments[seen] - began) * 1000)
            time.sleep(max(0.0, PACE - (time.monotonic() - began)))
        daemon.kill()
        fake.stop()
    return found


class Server:
    """Accepts whatever is posted, after a pause, and notes when it has answered."""

    def __init__(self, pause: float = 0.0):
        self.moments: list = []
        self._pause = pause
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/locations"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *reason):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError, ValueError, IndexError), client:
            kept = b""
            while True:
                while b"\r\n\r\n" not in kept:
                    kept = received(client, kept)
                head, kept = kept.split(b"\r\n\r\n", 1)
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                while len(kept) < length:
                    kept = received(client, kept)
                kept = kept[length:]
                time.sleep(self._pause)
                client.sendall(ANSWER)
                self.moments.append(time.monotonic())


def received(client: socket.socket, kept: bytes) -> bytes:
    """These bytes and more."""
    more = client.recv(65536)
    if not more:
        raise ConnectionError("the client has gone")
    return kept + more


def drains(world: World) -> list:
    """Commits at FULL, 50 per second, while three destinations get what is stored, and while none does."""
    fixes = world.scaled(50_000, 5000)
    count = world.scaled(150, 30)

    def three():
        sinks = [world.sink() for _ in range(3)]
        found = measured(world, 0, fixes, "drain", "100", *(sink.url for sink in sinks))
        for sink in sinks:
            sink.stop()
        return found

    mine, none = interleaved(world.runs, three, lambda: measured(world, count, fixes, "paced"))
    return [Row(f"commit at FULL while three drains run, {name}", "µs", [run[key] for run in mine], "while none does",
                [run[key] for run in none], target)
            for name, key, target in (("p50", "p50_us", None), ("p99", "p99_us", 3.0))]


def costs(world: World) -> list:
    """Bytes and syncs: of a second destination, and of formats with one location in a request."""
    rows: list = []
    count = str(world.scaled(2000, 200))
    for batch in ("10", "100"):
        mine, one = interleaved(world.runs, lambda batch=batch: bench_store(world, "cycles", count, batch, "2"),
                                lambda batch=batch: bench_store(world, "cycles", count, batch, "1"))
        rows += written(f"written for a fix, stored and delivered to two, batches of {batch}", mine, "to one", one, 1.25)
    found = [count_syncs(world, lambda fixes, number=number: ["cycles", fixes, "10", number]) for number in ("2", "1")]
    if found[0] is not None:
        rows.append(Row("fdatasyncs for a fix, stored and delivered to two, batches of 10", "", found[:1], "to one", found[1:]))
    mine, batches = interleaved(world.runs, lambda: bench_store(world, "deliveries", count, "0"),
                                lambda: bench_store(world, "deliveries", count, "100"))
    rows += written("written for a fix, delivered alone in its request", mine, "in batches of 100", batches, None, 7.0)
    syncs = count_syncs(world, lambda fixes: ["deliveries", fixes, "0"])
    if syncs is not None:
        rows.append(Row("fdatasyncs for a fix, delivered alone in its request", "", [syncs], "one", [1.0], target=1.02))
    return rows


def written(figure: str, mine: list, beside: str, others: list, ratio: float | None, target: float | None = None) -> list:
    """KB for each fix, where the kernel tells."""
    if not all(run["kib_per_fix"] for run in mine + others):
        return []
    return [Row(figure, "KB", [run["kib_per_fix"] * 1.024 for run in mine], beside,
                [run["kib_per_fix"] * 1.024 for run in others], ratio, target)]
