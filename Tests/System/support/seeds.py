"""The seeds of tests that throw dice."""
from __future__ import annotations

import os

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
