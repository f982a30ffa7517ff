"""Waiting for conditions, never for time to pass."""
from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from support.virtual_time import is_main
from support.virtual_waits import virtual

# How long to wait for something that must happen. Only a failing test waits this long.
PATIENCE = 60.0
# In real time it is so many times as long, since the machine may be busy.
BUSY = 3
# How long to watch for something that must not happen, unless it is another time: in virtual time that takes little.
QUIET = 60.0
# In real time, which every passing test takes.
QUIET_REALLY = 1.5

Found = TypeVar("Found")


def wait_for(condition: Callable[[], Found | None], what: str | Callable[[], str], seconds: float = PATIENCE) -> Found:
    """Returns the first true value of the condition."""
    time_now = virtual()
    if time_now and is_main():
        last: list[Found | None] = []

        def holds() -> object:
            last[:] = [condition()]
            return last[0]

        time_now.until(holds, seconds)
        if last[0]:
            return last[0]
        raise AssertionError(f"not within {seconds:g} s: {what() if callable(what) else what}")
    seconds *= BUSY
    begun = time.monotonic()
    deadline = begun + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what() if callable(what) else what}")
        # What has lasted for a while is asked for less often: each look takes of what is waited for.
        time.sleep(min(0.05, 0.01 + (time.monotonic() - begun) / 10))


def never(condition: Callable[[], object], what: str | Callable[[], str], seconds: float = QUIET) -> None:
    """So much time passes, and the condition is not true at any moment of it; in real time, not for a moment or two."""
    time_now = virtual()
    if time_now and is_main():
        if time_now.until(condition, seconds, only_looks=True):
            raise AssertionError(f"this must not happen: {what() if callable(what) else what}")
        return
    deadline = time.monotonic() + min(seconds, QUIET_REALLY)
    while time.monotonic() < deadline:
        if condition():
            raise AssertionError(f"this must not happen: {what() if callable(what) else what}")
        time.sleep(0.02)


def let_pass(seconds: float) -> None:
    """So much time passes; in real time as much as it takes to tell two moments apart."""
    time_now = virtual()
    if time_now and is_main():
        time_now.advance(seconds)
    else:
        time.sleep(min(seconds, 0.01))
