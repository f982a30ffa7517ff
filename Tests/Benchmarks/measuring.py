"""What a process costs, as counted by the kernel, and the evaluation of several runs."""
from __future__ import annotations

import os
import re
import statistics
import time
from dataclasses import dataclass, field

from support.text import match


class Meter:
    """One process. A figure that the kernel does not reveal (of another user's process) is None."""

    def __init__(self, pid: int):
        self.pid = pid
        # The CPU clock of the whole process, in nanoseconds, including threads that have ended.
        self._clock = (~pid) << 3 | 2

    def cpu(self) -> int:
        """Nanoseconds."""
        return time.clock_gettime_ns(self._clock)

    def wakeups(self) -> int:
        """Voluntary context switches of all threads: each ends a sleep."""
        count = 0
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{thread}/status", encoding="ascii", errors="replace") as file:
                count += int(match(r"^voluntary_ctxt_switches:\s+(\d+)", file.read(), re.M)[1])
        return count

    def written(self) -> int | None:
        """Bytes written to the disk."""
        try:
            with open(f"/proc/{self.pid}/io", encoding="ascii") as file:
                return int(match(r"^write_bytes: (\d+)", file.read(), re.M)[1])
        except OSError:
            return None

    def memory(self) -> dict:
        """Resident and anonymous memory, in MB."""
        try:
            with open(f"/proc/{self.pid}/smaps_rollup", encoding="ascii") as file:
                text, names = file.read(), ("Rss", "Anonymous")
        except OSError:
            with open(f"/proc/{self.pid}/status", encoding="ascii", errors="replace") as file:
                text, names = file.read(), ("VmRSS", "RssAnon")
        return {key: int(match(rf"^{name}:\s+(\d+)", text, re.M)[1]) * 1024 / 1e6
                for key, name in zip(("resident", "anonymous"), names, strict=True)}

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def wait_quiet(self, quiet: float = 0.3, seconds: float = 120.0):
        """Waits until it has used no CPU for a while: it has processed everything it was sent."""
        deadline = time.monotonic() + seconds
        last, since = self.cpu(), time.monotonic()
        while time.monotonic() - since < quiet:
            with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    raise RuntimeError(f"process {self.pid} has ended")
            if time.monotonic() > deadline:
                raise TimeoutError(f"process {self.pid} is busy after {seconds:.0f} s")
            time.sleep(0.02)
            # More than a timer costs.
            if self.cpu() - last > 200_000:
                last, since = self.cpu(), time.monotonic()


@dataclass
class Row:
    """A figure and what it is compared with, with a value for each run."""

    figure: str
    unit: str
    ours: list
    beside: str = ""
    peer: list = field(default_factory=list)
    # The limits for the median of the ratios, and for that of our values.
    ratio_target: float | None = None
    target: float | None = None
    # Why there is no value.
    note: str = ""

    @property
    def ratios(self) -> list:
        return [ours / peer for ours, peer in zip(self.ours, self.peer, strict=False) if peer]

    @property
    def is_met(self) -> bool | None:
        held = []
        if self.ratio_target is not None and self.ratios:
            held.append(statistics.median(self.ratios) <= self.ratio_target)
        if self.target is not None and self.ours:
            held.append(statistics.median(self.ours) <= self.target)
        return all(held) if held else None

    def cells(self) -> list:
        ratios = sorted(self.ratios)
        spread = [ratios[0], statistics.median(ratios), ratios[-1]] if ratios else []
        targets = [f"{self.ratio_target:g} ×"] if self.ratio_target is not None else []
        targets += [f"{self.target:g} {self.unit}".strip()] if self.target is not None else []
        met = {True: "met", False: "MISSED", None: self.note}[self.is_met]
        return [
            self.figure, self._text(self.ours), self.beside, self._text(self.peer),
            " / ".join(f"{value:.2f}" for value in spread), "≤ " + ", ".join(targets) if targets else "", met]

    def _text(self, values: list) -> str:
        if not values:
            return ""
        return f"{number(statistics.median(values))} {self.unit}".strip()

    def record(self) -> dict:
        return {
            "figure": self.figure, "unit": self.unit, "ours": self.ours, "beside": self.beside, "peer": self.peer,
            "ratios": self.ratios, "ratio_target": self.ratio_target, "target": self.target, "met": self.is_met,
            "note": self.note}


HEADINGS = ["figure", "beekond", "beside", "is", "ratio min / med / max", "target", ""]


def number(value: float) -> str:
    """Three significant digits."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def percentile(values: list, part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def interleaved(runs: int, ours, peer) -> tuple:
    """Alternates both, so that other load on this machine affects both alike."""
    pairs = [(ours(), peer()) for _ in range(runs)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
