"""Two builds of the server, which take turns: what uploads and reads cost with one, by what they cost with the other."""
from __future__ import annotations

import datetime
import os
import statistics
import sys

from figures import PostgresBench, Sheet, SQLiteBench, Tools, Workload
from server_support.postgres import BIN
from server_support.server import PROGRAM

# What is judged. The others are of the machine, or say how it was measured.
FIGURES = [
    "rows/s", "CPU of the server, µs/row", "CPU of the database, µs/row", "CPU of a batch that was seen, µs",
    "CPU of a request without work, µs", "CPU of the server at half load, µs/row", "p50 at half load, ms", "p99 at half load, ms",
    "RSS at most, MB", "CPU of a list of devices, µs/device", "CPU of reading as json, µs/row",
    "CPU of reading as packed, µs/row", "herd, all stored, s", "herd, half had their answer after, s", "herd, RSS at most, MB"]
MORE_IS_BETTER = "rows/s"


def compare(tools: Tools, load: Workload, herd: Workload, names: list[str], runs: int, before: str) -> str:
    """Plays each scene with both, the one that was second first next time.

    Returns the table."""
    sheets = {before: Sheet(runs), PROGRAM: Sheet(runs)}
    for run in range(runs):
        turns = list(sheets.items()) if run % 2 == 0 else list(reversed(sheets.items()))
        for kind, name in ((PostgresBench, "postgres"), (SQLiteBench, "sqlite")):
            if kind is PostgresBench and not BIN:
                continue
            # Both get as much to do.
            rate: float | None = None
            for program, sheet in turns if name in names else []:
                bench = kind(tools, sheet, program, rate)
                bench.serve(load)
                rate = bench.rate
            for program, sheet in turns if "herd" in names else []:
                kind(tools, sheet, program).herd(herd)
        print(f"pair {run + 1} of {runs}", file=sys.stderr)
    return table(sheets[before], sheets[PROGRAM], load, herd)


def table(before: Sheet, after: Sheet, load: Workload, herd: Workload) -> str:
    scene = (
        f"{datetime.date.today()}: {before.runs} pairs of {load.batches} batches of {load.rows} locations of {load.fleet.size} "
        f"vehicles, and of herds of {herd.batches} with {herd.rows} each; {os.cpu_count()} cores, load average "
        f"{os.getloadavg()[0]:.1f}.")
    lines = [
        scene, "",
        "| figure | before | after | of each pair: after / before, median | middle half |", "|---|---|---|---|---|"]
    for name, values in before.figures.items():
        if name.partition(": ")[2] not in FIGURES:
            continue
        ratios = sorted(own / other for own, other in zip(after.figures[name], values, strict=True))
        quarters = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        middle = statistics.median(ratios)
        worse = 1 - middle if name.endswith(MORE_IS_BETTER) else middle - 1
        lines.append(
            f"| {name} | {statistics.median(values):,.4g} | {after.middle(name):,.4g} | {middle:.3f}"
            f"{f' ({100 * worse:.0f} % worse)' if worse > 0.03 else ''} | {quarters[0]:.3f} … {quarters[2]:.3f} |")
    return "\n".join(lines)
