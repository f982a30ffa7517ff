"""SIGKILL at single system calls of a daemon, by strace, and the proof that it came."""
from __future__ import annotations

import os
import re
from collections.abc import Callable

from support.child import Child
from support.faults import STRACE, is_traced, numbered, syscalls, thread
from support.programs import installed
from support.virtual_waits import RealWaits
from support.waiting import wait_for

KILLED = "+++ killed by SIGKILL +++"


def killing(call: str, number: int) -> str:
    """The option of strace that kills at the so-manieth call."""
    return f"inject={syscalls(call)}:signal=KILL:when={number}"


def renamed(line: str, old: str, new: str) -> bool:
    """Whether this is a rename that took effect, from a name with this end to another."""
    return re.match(rf'rename\w*\([^"]*"[^"]*{re.escape(old)}",[^"]*"[^"]*{re.escape(new)}"[^)]*\) += 0$', line) is not None


class Trace:
    """What strace saw of one thread, and whether that thread was killed as wanted."""

    def __init__(self, lines: list, at: tuple | None):
        # A call in which strace let go of the thread was not killed any more.
        lines = [line for line in lines if "<detached" not in line]
        self.lines = lines
        self.calls = numbered(lines)
        # strace may be gone before it can say so: the last call is then the one to be killed at, without a result.
        self.was_cut = any(KILLED in line for line in lines) or (
            at is not None and self.calls[-1:] == [at] and lines[-1].endswith(" = ?"))
        # The fault has been injected, or its call never came: in another run there may be fewer calls.
        if at and not self.was_cut and at in self.calls:
            raise AssertionError(f"{at[0]} number {at[1]} was not the last: {lines[-5:]}")


def trace(daemon, name: str, act: Callable[[], bool], at: tuple | None = None, only: str | None = None) -> Trace:
    """Runs `act`, which returns whether it came to its end, while strace looks at the thread of this name.

    at: (call, number): kills the daemon there. only: the calls to look at, if not all
    """
    log = os.path.join(daemon.directory, "cuts")
    options = (["-e", "trace=" + only] if only else []) + (["-e", killing(*at)] if at else [])
    tracer = Child([installed(STRACE), "-qq", "-y", "-s", "80", "-o", log, *options, "-p", thread(daemon, name)],
                   os.path.join(daemon.directory, "strace.log"), virtual=False)
    try:
        with RealWaits():
            wait_for(lambda: is_traced(daemon, name, tracer.process),
                     lambda: "strace is attached; it said: " + tracer.text())
        if act():
            # It detaches, unless the daemon is killed after all.
            tracer.signal(15)
        else:
            wait_for(lambda: not daemon.child.running, "the daemon has ended")
        tracer.wait()
    finally:
        tracer.kill()
    with open(log, encoding="utf-8", errors="replace") as file:
        found = Trace(file.read().splitlines(), at)
    if found.was_cut:
        # The kernel may take a moment for it, in which it still answers.
        wait_for(lambda: not daemon.child.running, "the daemon that was killed has ended")
    if not daemon.child.running and not found.was_cut:
        raise AssertionError(f"the daemon ended by itself: {daemon.text()[-1000:]}")
    return found
