"""The seeds of tests that throw dice."""
from __future__ import annotations

import os

from support.nightly import IS_LONG

# Always the same: what depends on the moment of a kill cannot be repeated by its seed alone, so a new seed each time
# would fail runs of people who changed nothing.
USUAL = 1


def sample() -> int:
    """Which part of all that there is a test tries: `make test` makes BEEKOND_SAMPLE of the commit. So a run that is repeated
    tries the same, and over time all of it is tried."""
    return int(os.environ.get("BEEKOND_SEED") or os.environ.get("BEEKOND_SAMPLE") or USUAL)


def sampled(what: str) -> int:
    """Of a test that kills at moments of which there are many, and that holds whichever they are."""
    print(f"\n{what}: BEEKOND_SEED={sample()}")
    return sample()


def every(step: int, limit: int):
    """The first, and from some on every so many, below the limit; with BEEKOND_LONG=1 all of them."""
    if IS_LONG:
        return range(1, limit)
    start = 1 + sample() % step
    return [1, *range(start, limit, step)] if start > 1 else range(1, limit, step)


def kills(few: int, many: int) -> int:
    """How often to kill: BEEKOND_KILLS, or few times, or many with BEEKOND_LONG=1."""
    return int(os.environ.get("BEEKOND_KILLS") or (many if IS_LONG else few))


def seed(what: str) -> int:
    """BEEKOND_SEED, or the usual one; printed, because it is part of every report of a failure."""
    found = int(os.environ.get("BEEKOND_SEED") or USUAL)
    print(f"\n{what}: BEEKOND_SEED={found}")
    return found
