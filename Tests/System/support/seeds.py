"""The seeds of tests that throw dice, and which part of all that there is they try."""
from __future__ import annotations

import os
import random

from support.nightly import IS_LONG

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


def part() -> int:
    """Which part of all that there is a test tries: `make test` makes BEEKOND_SAMPLE of the commit. So a run that is repeated
    tries the same, and over time all of it is tried."""
    return int(os.environ.get("BEEKOND_SEED") or os.environ.get("BEEKOND_SAMPLE") or USUAL)


def sampled(what: str) -> int:
    """Of a test that kills at places of which there are many, and that holds whichever they are."""
    print(f"\n{what}: BEEKOND_SEED={part()}")
    return part()


def sample(what: str, count: int, few: int) -> list[int]:
    """Numbers from 1 to `count`: so few of them, other ones with each commit; all with BEEKOND_LONG=1."""
    everything = range(1, count + 1)
    if IS_LONG or few >= count:
        return list(everything)
    return sorted(random.Random(f"{part()} {what}").sample(everything, few))


def every(step: int, limit: int):
    """The first, and from some on every so many, below the limit; with BEEKOND_LONG=1 all of them."""
    if IS_LONG:
        return range(1, limit)
    start = 1 + part() % step
    return [1, *range(start, limit, step)] if start > 1 else range(1, limit, step)


def kills(few: int, many: int) -> int:
    """How often to kill: BEEKOND_KILLS, or few times, or many with BEEKOND_LONG=1."""
    return int(os.environ.get("BEEKOND_KILLS") or (many if IS_LONG else few))
