"""Lives of the simulated world: children of the test program, each with some seeds of its own."""
from __future__ import annotations

import os
import re
import subprocess
import threading

ARGUMENTS = ["--testing-library", "swift-testing", "--filter", r"^WorldTests\.WorldTests/laws"]
# Seconds for a seed; the longest takes a tenth of it on a busy machine.
PATIENCE = 300.0
# The same, and bytes of memory, where the code is changed: it may go round for ever.
PATIENCE_WITH_CHANGES = 120.0
ROOM_WITH_CHANGES = 4 << 30
SEED = re.compile(r"^seed (\d+)$", re.M)
LAW = re.compile(r"^seed (\d+) broke a law: (.*)$", re.M)
# Of a seed: simulated seconds, numbers of happenings, digests of all and of the requests.
ENDED_SEED = re.compile(r"^seed (\d+) ended: ([\d.]+) s, happenings ([\d,]*), digest (\d+), requests (\d+)$", re.M)
SUMMARY = re.compile(
    r"^world: (\d+) seeds, ([\d.]+) hours, (\d+) rows, (\d+) kills, in ([\d.]+) s of a processor, digest (\d+), "
    r"(\d+) to (\d+) kB; (.*)$", re.M)


def run(program: str, seeds: str, is_changed: bool = False, life: str = "") -> tuple[str, int]:
    """Has a child live these seeds, such as 1-100, with these words of a `Life` (Tests/WorldTests/Life.swift).

    One whose code is changed is ended once a seed has broken a law. Returns what it has said, and its exit code; one that hangs
    is killed, which is seen at that code.
    """
    patience = PATIENCE_WITH_CHANGES if is_changed else PATIENCE
    bounds = ["prlimit", f"--as={ROOM_WITH_CHANGES}", "--core=0"] if is_changed else []
    environment = {name: value for name, value in os.environ.items() if name != "BEEKOND_WORLD_SEED"}
    environment |= {"BEEKOND_WORLD_SEEDS": seeds, "BEEKOND_WORLD": life, "SWIFT_DETERMINISTIC_HASHING": "1"}
    with subprocess.Popen(
            [*bounds, program, *ARGUMENTS], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace") as child:
        assert child.stdout is not None
        lines = []
        timer = threading.Timer(patience, child.kill)
        timer.start()
        for line in child.stdout:
            lines.append(line)
            if SEED.match(line):
                timer.cancel()
                timer = threading.Timer(patience, child.kill)
                timer.start()
            if is_changed and LAW.match(line):
                child.kill()
                break
        code = child.wait()
        timer.cancel()
    return "".join(lines), code


def law(words: str) -> str:
    """Which law was broken, without names and numbers."""
    return re.sub(r"\b[0-9a-f]+(-[0-9a-f]+)+\b|\d[\d.:TZ-]*", "N", words)


# How a child ends that breaks no law.
ENDED = "the child "


def end(text: str, code: int) -> str:
    """In words, how a child has ended that did not come to its end."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it said nothing"]
    telling = [line for line in lines if re.search(r"Fatal error|Caught error", line)]
    how = "hangs" if code == -9 else f"ended with {code}"
    return f"{ENDED}{how}: {(telling or lines)[-1]}"
