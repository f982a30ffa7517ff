"""The time and writes of a commit, for any number of rows, and during a drain."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

from measuring import Row, interleaved, percentile
from world import World


def commits(world: World) -> list:
    """Latency and bytes of a commit at FULL: with no rows, with 99,000, at the cap; while history is being read."""
    count = world.scaled(2000, 100)
    rows = []
    empty, full, capped, peers = [], [], [], []
    for _ in range(world.runs):
        empty.append(measured(world, count, 0))
        # A thousand more are written before the measured ones.
        full.append(measured(world, count, 97_000))
        capped.append(measured(world, count, 100_000))
        peers.append(alone(world, count, 0))

    def part(runs: list, key: str) -> list:
        return [run[key] for run in runs]

    peer_p50 = [percentile(run, 0.5) / 1000 for run in peers]
    peer_p99 = [percentile(run, 0.99) / 1000 for run in peers]
    rows += [
        Row("commit at FULL, p50", "µs", part(empty, "p50_us"), "the same INSERT in C", peer_p50),
        Row("commit at FULL, p99", "µs", part(empty, "p99_us"), "the same INSERT in C", peer_p99),
        Row("commit with 99,000 rows, p50", "µs", part(full, "p50_us"), "with none", part(empty, "p50_us"), 1.1),
        Row("commit with 99,000 rows, p99", "µs", part(full, "p99_us"), "with none", part(empty, "p99_us"), 1.1),
        Row("commit at the cap of 100,000, p50", "µs", part(capped, "p50_us"), "with none", part(empty, "p50_us"), 1.5),
        Row("commit at the cap of 100,000, p99", "µs", part(capped, "p99_us"), "with none", part(empty, "p99_us"), 1.5),
        Row("CPU of a commit with 99,000 rows", "µs", part(full, "cpu_us"), "with none", part(empty, "cpu_us"), 1.1),
        Row("CPU of a commit at the cap", "µs", part(capped, "cpu_us"), "with none", part(empty, "cpu_us")),
    ]
    if all(run["kib_per_fix"] for run in empty + full + capped):
        rows += [
            Row("written for a fix at FULL", "KB", [kib * 1.024 for kib in part(empty, "kib_per_fix")],
                "the frame of one page", [1048 / 1000] * world.runs, target=7.5),
            Row("written for a fix with 99,000 rows", "KB", [kib * 1.024 for kib in part(full, "kib_per_fix")],
                "with none", [kib * 1.024 for kib in part(empty, "kib_per_fix")], 1.1),
            Row("written for a fix at the cap", "KB", [kib * 1.024 for kib in part(capped, "kib_per_fix")],
                "with none", [kib * 1.024 for kib in part(empty, "kib_per_fix")], target=11),
        ]
    return rows + syncs(world)


def measured(world: World, count: int, stored: int, *more: str) -> dict:
    return bench_store(world, "commits", str(count), str(stored), *more)


def bench_store(world: World, *arguments: str) -> dict:
    """What it prints."""
    done = subprocess.run([os.path.join(world.bin, "bench-store"), world.path(), *arguments],
                          stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def alone(world: World, count: int, per_second: float) -> list:
    """Nanoseconds of each commit of the C program, after as many warm-up commits as `bench-store` makes."""
    warm_up = "1" if per_second else "1000"
    text = world.peer("commits", world.empty_database(), "full", warm_up, str(count), str(per_second)).output()
    return [int(line) for line in text.split()]


def syncs(world: World) -> list:
    """fdatasync and fsync calls per fix, as a row for the table; none without strace."""
    # A checkpoint, about every 600 fixes, syncs WAL and database once more.
    found = count_syncs(world, lambda fixes: ["commits", fixes, "0"])
    return [] if found is None else [
        Row("fdatasyncs for a fix at FULL, those of checkpoints included", "", [found], "one", [1.0], target=1.02)]


def count_syncs(world: World, arguments) -> float | None:
    """fdatasync and fsync calls per fix: the difference between runs of two lengths; None without strace.

    arguments: what `bench-store` is to do, for a number of fixes as text.
    """
    if shutil.which("strace") is None:
        return None
    counts = []
    for fixes in (100, 300):
        log = os.path.join(world.path(), "strace")
        subprocess.run(
            ["strace", "-f", "-qq", "-e", "trace=fdatasync,fsync", "-o", log, os.path.join(world.bin, "bench-store"),
             world.path(), *arguments(str(fixes))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        with open(log, encoding="utf-8") as file:
            counts.append(len(re.findall(r"f(?:data)?sync\(", file.read())))
    return (counts[1] - counts[0]) / 200


def draining(world: World) -> list:
    """Commits at FULL, 50 per second, while 100,000 fixes are uploaded in batches of 100."""
    sink = world.sink()
    fixes = world.scaled(100_000, 5000)

    def ours():
        return measured(world, 0, fixes, "drain", "100", sink.url)

    def theirs():
        return alone(world, world.scaled(250, 50), 50)

    mine, others = interleaved(world.runs, ours, theirs)
    sink.stop()
    rows = []
    for name, key, part, target in (("p50", "p50_us", 0.5, 1.2), ("p99", "p99_us", 0.99, 3.0)):
        rows.append(Row(f"commit at FULL while a drain runs, {name}", "µs", [run[key] for run in mine],
                        "the same INSERT in C, alone", [percentile(run, part) / 1000 for run in others], target))
    return rows


def history_read(world: World) -> list:
    """Commits while another thread keeps reading the history."""
    count = world.scaled(300, 50)
    mine, theirs = interleaved(world.runs, lambda: measured(world, count, 97_000, "history"),
                               lambda: measured(world, count, 97_000))
    return [Row("commit at FULL while history is read, p50", "µs", [run["p50_us"] for run in mine], "alone",
                [run["p50_us"] for run in theirs])]
