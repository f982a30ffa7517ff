"""SIGKILL by place: before one of the calls by which a daemon changes a file or sends something. The shim of virtual time counts
them, from a moment at which everything rests, so that a place is the same in each run; and a place that is not reached fails."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from support.control_client import ConnectionClosed
from support.daemon import Beekond
from support.virtual_time import VirtualTime, current

FATAL = "BEEKOND_VIRTUAL_FATAL"


class NeverCame(AssertionError):
    """The call has not been made: the daemon is not killed."""

    def __init__(self, number: int, calls: int):
        super().__init__(f"call {number} was never made: there were {calls}")
        self.calls = calls


def _time() -> VirtualTime:
    time_now = current()
    assert time_now, "places are counted in virtual time only"
    return time_now


def places_of(daemon: Beekond, act: Callable[[], object]) -> int:
    """How many such calls the daemon makes for what `act` does, until everything rests."""
    time_now = _time()
    time_now.settle()
    time_now.count_calls(daemon.pid)
    act()
    time_now.settle()
    found = time_now.calls
    time_now.count_calls(0)
    return found


def places_of_start(daemon: Beekond) -> int:
    """The same, of a start; then it runs."""
    daemon.environment[FATAL] = "0"
    daemon.launch()
    del daemon.environment[FATAL]
    _time().settle()
    found = _time().calls
    _time().count_calls(0)
    return found


@contextlib.contextmanager
def killed_at(daemon: Beekond, number: int, within: float = 0.0) -> Iterator[None]:
    """While this lasts, the daemon is killed before its call of that number; what it was asked for meanwhile fails, and may.

    within: seconds that may pass then, until it comes to that call
    """
    time_now = _time()
    time_now.settle()
    time_now.count_calls(daemon.pid, number)
    with contextlib.suppress(OSError, ConnectionClosed):
        yield
    _expect(daemon, number, within)


def start_killed_at(daemon: Beekond, number: int):
    """A start that is killed before its call of that number."""
    daemon.environment[FATAL] = str(number)
    daemon.launch()
    del daemon.environment[FATAL]
    _expect(daemon, number, 0)


def _expect(daemon: Beekond, number: int, within: float):
    time_now = _time()
    time_now.until(lambda: not daemon.is_running, within)
    calls = time_now.calls
    time_now.count_calls(0)
    if daemon.is_running:
        raise NeverCame(number, calls)
    daemon.kill()
