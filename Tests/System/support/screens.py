"""Screens as stored texts: what a program shows in a terminal of a certain width, at a certain time."""
from __future__ import annotations

import contextlib
import difflib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

from support.waiting import PATIENCE

# Writes what is shown now instead of comparing it.
REWRITES = os.environ.get("BEEKOND_SCREENS") == "write"
FOLDER = Path(__file__).resolve().parent.parent / "cli" / "screens"
WIDTHS = (40, 80, 200)
ROWS = 24


def show(command: list, environment: dict, columns: int, until: bytes | None = None, answer: bytes | None = None) -> tuple:
    """Runs it in a terminal of that width. Returns what is shown, and its exit code.

    until: it runs until told to end: Ctrl-C once this has appeared
    answer: is typed once it asks
    """
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=environment,
                               start_new_session=True)
    os.close(follower)
    seen = b""
    try:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if not select.select([leader], [], [], 0.1)[0]:
                continue
            try:
                more = os.read(leader, 65536)
            except OSError:
                break  # the program has ended
            if not more:
                break
            seen += more
            if until is not None and until in seen:
                process.send_signal(signal.SIGINT)
                until = None
            if answer is not None and seen.rstrip().endswith(b"[y/N]"):
                os.write(leader, answer + b"\n")
                answer = None
        return seen.decode(), process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()
        with contextlib.suppress(OSError):
            os.close(leader)


def plain(text: str) -> str:
    """The first frame of a screen that is redrawn, or all that was printed, without what moves the cursor."""
    if "\x1b[H" in text:
        text = text.split("\x1b[H", 1)[1].split("\x1b[J", 1)[0]
    # A line of progress is erased again.
    text = re.sub(r"\r[^\r\n]*\x1b\[K", "", text.replace("\r\n", "\n"))
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def difference(name: str, shown: str) -> str:
    """What differs from the stored text; empty if nothing does."""
    path = FOLDER / f"{name}.txt"
    if REWRITES:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8")
        return ""
    stored = path.read_text(encoding="utf-8") if path.exists() else ""
    return "".join(difflib.unified_diff(stored.splitlines(True), shown.splitlines(True), str(path), "as it is shown now"))
