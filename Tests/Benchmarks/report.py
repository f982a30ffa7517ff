"""The rows as a table, as JSON, and as the generated part of BENCH.md."""
from __future__ import annotations

import json
import os
import platform
import re
import time

from measuring import HEADINGS, Row
from support.text import match

BEGIN, END = "<!-- the last run -->", "<!-- end of the last run -->"


def table(rows: list) -> str:
    """For a terminal."""
    lines = [HEADINGS] + [row.cells() for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    left = (0, 2, 5, 6)
    return "\n".join("  ".join(
        cell.ljust(width) if column in left else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=True))).rstrip() for line in lines)


def markdown(rows: list, facts: dict) -> str:
    lines = [
        f"{facts['date']}, version {facts['version']}. {facts['machine']}. {facts['system']}. Disk: {facts['disk']}.",
        f"{facts['runs']} interleaved runs of each ratio; load average at the end {facts['load']:.1f}.", "",
        "| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row.cells()) + " |" for row in rows]
    return "\n".join(lines)


def record(rows: list, facts: dict) -> str:
    return json.dumps({**facts, "rows": [row.record() for row in rows]}, indent=1)


def read(path: str) -> tuple:
    """The rows and facts that `record` wrote."""
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    rows = [Row(row["figure"], row["unit"], row["ours"], row["beside"], row["peer"], row["ratio_target"], row["target"],
                row["note"])
            for row in found.pop("rows")]
    return rows, found


def write_into(path: str, text: str):
    """Puts the text between the marks in BENCH.md."""
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN)
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n" + text + "\n" + END + rest.split(END)[1])


def facts(build: str, folder: str, runs: int, scale: float) -> dict:
    """The relevant facts about the machine."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        text = file.read()
    name = re.search(r"^model name\s*: (.*)$", text, re.M)
    with open("/proc/meminfo", encoding="ascii") as file:
        memory = int(match(r"^MemTotal:\s+(\d+)", file.read(), re.M)[1]) // 1024 // 1024
    with open("/etc/os-release", encoding="utf-8") as file:
        system = match(r'^PRETTY_NAME="(.*)"', file.read(), re.M)[1]
    version = os.popen(os.path.join(build, "release", "beekond") + " --version").read().split()[-1]
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()), "version": version, "runs": runs, "scale": scale,
        "machine": f"{os.cpu_count()} × {name[1] if name else platform.machine()}, {memory} GiB",
        "system": f"{system}, Linux {platform.release().split('-')[0]}",
        "disk": disk(folder), "load": os.getloadavg()[0]}


def disk(folder: str) -> str:
    """The file system and the device of a folder."""
    number = os.stat(folder).st_dev
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            fields = line.split()
            if fields[2] == f"{os.major(number)}:{os.minor(number)}":
                rest = fields[fields.index("-") + 1:]
                return f"{rest[0]} on {rest[1]}"
    return "unknown"
