"""The seeds of tests that throw dice."""
from __future__ import annotations

import functools
import os
import random
import subprocess

# Always the same: what depends on the moment of a kill cannot be repeated by its seed alone, so a new seed each time
# would fail runs of people who changed nothing.
USUAL = 1


def usual_seed() -> int:
    """BEEKOND_SEED, or the usual one."""
    return int(os.environ.get("BEEKOND_SEED") or USUAL)


def seed(what: str) -> int:
    """The same, printed, because it is part of every report of a failure."""
    found = usual_seed()
    print(f"\n{what}: BEEKOND_SEED={found}")
    return found


@functools.cache
def commit() -> str:
    """What the sources are of, as far as that is known; BEEKOND_SAMPLE says otherwise."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=os.path.dirname(__file__), capture_output=True, text=True)
    return os.environ.get("BEEKOND_SAMPLE") or done.stdout.strip()


def sample(what: str, count: int, few: int) -> list[int]:
    """Numbers from 1 to `count`: so few of them, other ones with each commit; all with BEEKOND_LONG=1."""
    everything = range(1, count + 1)
    if os.environ.get("BEEKOND_LONG") == "1" or few >= count:
        return list(everything)
    return sorted(random.Random(f"{commit()} {usual_seed()} {what}").sample(everything, few))
