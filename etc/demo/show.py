"""What the demo prints: a line per fix, a line per batch, and a table at the end."""
from __future__ import annotations

import os
import sys
import threading
import time

from receiver import Style, describe


class Screen:
    """Prints one line at a time, from any thread. Plain in a pipe, coloured on a terminal."""

    def __init__(self):
        self.style = Style()
        self._lock = threading.Lock()
        # What is not worth showing.
        self._last: dict = {"sync": "works again"}

    def line(self, colour: str, word: str, text: str):
        clock = self.style("dim", time.strftime("%H:%M:%S"))
        with self._lock:
            try:
                print(f"{clock}  {self.style(colour, word.ljust(9))} {text}", flush=True)
            except BrokenPipeError:
                # Nobody reads the output any more (`make run | head`). The run itself continues to its orderly end.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def note(self, word: str, text: str):
        self.line("bold", word, text)

    def batch(self, request):
        self.line("cyan", "batch", describe(request, self.style)[len("batch "):])

    def failure(self, text: str):
        with self._lock:
            print(f"{Style(sys.stderr)('red', 'run:')} {text}", file=sys.stderr, flush=True)

    def event(self, event: dict):
        if event.get("missed"):
            self.note("watch", f"{event['missed']} events missed")
        if event.get("location"):
            self.line("green", "fix", location(event["location"]))
        elif event.get("geofence_event"):
            crossing = event["geofence_event"]
            self.note("geofence", f"{crossing['type']} {crossing['geofence_id']}")
        elif event.get("state"):
            self.changed("state", event["state"])
        elif event.get("source"):
            source = event["source"]
            self.changed("gpsd", f"{source['health']} {source.get('device') or ''}".rstrip())
        elif event.get("sync"):
            # Each batch that arrives already has its own line.
            trouble = " ".join(filter(None, [event["sync"].get("failure"), event["sync"].get("last_error")]))
            self.changed("sync", trouble or "works again")

    def changed(self, word: str, text: str):
        """Counters change with every event; only a change of words is worth a line."""
        if self._last.get(word) != text:
            self._last[word] = text
            self.line("blue", word, text)

    def summary(self, status: dict, stored: set, backend, faults: list):
        gate, sync = status["gate"], status["sync"]
        dropped = f"too soon {gate['too_soon']}, too near {gate['too_near']}, while parked {gate['paused']}"
        batches = sum(1 for batch in backend.batches.values() if acknowledged(batch))
        rows = [
            ("fixes seen", status["source"]["fixes"], ""),
            ("admitted", gate["admitted"], dropped),
            ("stored", len(stored), f"{status['store']['bytes'] / 1024:.0f} KiB on disk"),
            ("uploaded", sync["uploaded"], f"{sync['bytes_sent']} bytes, {sync['retries']} retries"),
            ("acknowledged", len(backend.ids), f"in {batches} batch{'' if batches == 1 else 'es'}"),
            ("pending", sync["pending"], ""),
        ]
        with self._lock:
            print()
            for name, count, remark in rows:
                print(f"  {self.style('bold', name.ljust(13))} {count:>7}   {self.style('dim', remark)}".rstrip())
            for fault in faults:
                print(f"  {self.style('red', fault)}")
            if not faults:
                print(f"  {self.style('green', 'every stored fix was acknowledged')}")
            print(flush=True)


def location(row: dict) -> str:
    parts = [f"{row['latitude']:.5f} {row['longitude']:.5f}"]
    for name, pattern in (("accuracy", "±{:.0f} m"), ("speed", "{:.1f} m/s"), ("bearing", "{:.0f}°"),
                          ("altitude", "{:.0f} m up")):
        if row.get(name) is not None:
            parts.append(pattern.format(row[name]))
    parts.append(f"{row['trigger']}, {row['motion']}")
    return "  ".join(parts)


def acknowledged(batch) -> bool:
    return batch.last_status is not None and 200 <= batch.last_status < 300


def faults(status: dict, stored: set, live: set, backend) -> list:
    """Everything that keeps this run from being a success, one sentence each."""
    found = []
    received = set(backend.ids)
    if not any(acknowledged(batch) for batch in backend.batches.values()):
        found.append("No batch was acknowledged: run longer, or look at the log of beekond.")
    if status["sync"]["pending"]:
        found.append(f"{status['sync']['pending']} stored fixes are still pending: {status['sync'].get('last_error')}.")
    for ids, text in (
        (stored - received, "stored but never received"),
        (received - stored, "received but not stored"),
        (live - stored, "shown live but not stored"),
    ):
        if ids:
            found.append(f"{len(ids)} fixes {text}: {', '.join(sorted(ids)[:3])}.")
    if status["gate"]["admitted"] != len(stored):
        found.append(f"{status['gate']['admitted']} fixes were admitted, {len(stored)} are stored.")
    return found + [f"Wrong on the wire: {problem}." for problem in backend.problems]
