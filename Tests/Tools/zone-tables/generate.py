#!/usr/bin/env python3
"""Writes Tests/Support/ZoneTables.swift: what Python's zoneinfo says of three zones, and of schedules in them, read
minute by minute. Run it from the root of the repository when a case is added.
"""
from __future__ import annotations

import datetime
import struct
import zoneinfo

ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]
FIRST, LAST = 1990, 2060
# Their windows as (days, start, end), days from Monday = 0, times in minutes.
SCHEDULES: dict[str, list] = {
    "mon-fri 07:00-18:30": [(range(5), 420, 1110)],
    "sun 02:15-02:45": [([6], 135, 165)],
    "sat 22:00-06:00": [([5], 1320, 360)],
    "sun 01:45-02:15; sun 02:30-03:30": [([6], 105, 135), ([6], 150, 210)],
    "fri-mon 00:00-24:00": [([4, 5, 6, 0], 0, 1440)],
    "sat,sun 01:30-01:30": [([5, 6], 90, 90)],
    "sun 23:30-00:15; mon 00:15-00:30": [([6], 1410, 15), ([0], 15, 30)],
    "mon-sun 00:00-24:00": [(range(7), 0, 1440)],
}
SPAN = 8 * 86_400


def offset(zone: zoneinfo.ZoneInfo, second: int) -> int:
    delta = datetime.datetime.fromtimestamp(second, zone).utcoffset()
    assert delta is not None
    return int(delta.total_seconds())


def unix(year: int) -> int:
    return int(datetime.datetime(year, 1, 1, tzinfo=datetime.UTC).timestamp())


def changes(zone: zoneinfo.ZoneInfo, first: int, last: int) -> list[tuple[int, int]]:
    """All (second, offset from then on) between two moments, found by bisection within each day."""
    found = []
    for day in range(first, last, 86_400):
        low, high = day, day + 86_400
        if offset(zone, low) == offset(zone, high):
            continue
        before = offset(zone, low)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(zone, middle) == before else (low, middle)
        found.append((high, offset(zone, high)))
    return found


def cut(name: str) -> bytes:
    """The zone's file with nothing but its transitions from 1990 to 2012 and its rule: small, yet with both parts."""
    zone = zoneinfo.ZoneInfo(name)
    with open("/usr/share/zoneinfo/" + name, "rb") as file:
        rule = file.read().rsplit(b"\n", 2)[1]
    table = changes(zone, unix(FIRST), unix(2012))
    offsets = [offset(zone, unix(FIRST))]
    offsets += sorted({value for _, value in table} - set(offsets))

    def header(times: int, types: int, characters: int) -> bytes:
        return b"TZif2" + bytes(15) + struct.pack(">6l", 0, 0, 0, times, types, characters)

    old = header(0, 1, 4) + bytes(6) + b"UTC\0"
    new = header(len(table), len(offsets), 4)
    new += b"".join(struct.pack(">q", second) for second, _ in table)
    new += bytes(offsets.index(value) for _, value in table)
    new += b"".join(struct.pack(">lBB", value, 0, 0) for value in offsets) + b"LMT\0"
    return old + new + b"\n" + rule + b"\n"


def is_open(windows: list, zone: zoneinfo.ZoneInfo, second: int) -> bool:
    local = datetime.datetime.fromtimestamp(second, zone)
    minute, today = local.hour * 60 + local.minute, local.weekday()
    for days, start, end in windows:
        for day in days:
            # Minutes since the start of the window's day, by the clock on the wall.
            since = (today - day) % 7 * 1440 + minute
            if start <= since < (end if end > start else end + 1440):
                return True
    return False


def edges(windows: list, zone: zoneinfo.ZoneInfo, first: int, last: int) -> list[str]:
    found = []
    before = is_open(windows, zone, first)
    for second in range(first + 60, last, 60):
        now = is_open(windows, zone, second)
        if now != before:
            found.append(("+" if now else "-") + str(second))
        before = now
    return found


def wrapped(words: list[str]) -> str:
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) > 100:
            lines.append(line)
            line = ""
        line += (" " if line else "") + word
    return "\n".join("        " + text for text in [*lines, line])


def main() -> None:
    text = "// Written by Tests/Tools/zone-tables/generate.py from Python's zoneinfo.\n\n"
    text += "package enum ZoneTables {\n"
    text += "    /// TZif files cut to their transitions from 1990 to 2012 and their rule, in hexadecimal digits.\n"
    text += "    package static let files = [\n"
    for name in ZONES:
        digits = cut(name).hex()
        words = [digits[at:at + 100] for at in range(0, len(digits), 100)]
        text += f'        "{name}": """\n{wrapped(words)}\n        """,\n'
    text += "    ]\n\n    /// Transitions from 1990 to 2060: Unix seconds, and the offset from then on.\n"
    text += "    package static let transitions = [\n"
    for name in ZONES:
        found = changes(zoneinfo.ZoneInfo(name), unix(FIRST), unix(LAST))
        words = [f"{second}:{value}" for second, value in found]
        text += f'        "{name}": """\n{wrapped(words)}\n        """,\n'
    text += "    ]\n\n    /// Edges of schedules from eight days before a change of the clocks in 2026 to eight days after it.\n"
    text += "    package static let edges: [(zone: String, schedule: String, change: Int64, edges: String)] = [\n"
    for name in ZONES:
        zone = zoneinfo.ZoneInfo(name)
        for change, _ in changes(zone, unix(2026), unix(2027)):
            for schedule, windows in SCHEDULES.items():
                words = edges(windows, zone, change - SPAN, change + SPAN)
                text += f'        (\n            "{name}", "{schedule}", {change},\n'
                lines = "".join(f"    {line}\n" for line in wrapped(words).splitlines() if line.strip())
                text += f'            """\n{lines}            """\n        ),\n'
    text += "    ]\n}\n"
    with open("Tests/Support/ZoneTables.swift", "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
