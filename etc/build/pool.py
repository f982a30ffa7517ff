"""Runs parts of a run beside each other, as many as keep the processors busy, and knows what each has cost."""
from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import signal
import subprocess
import threading
import time
import traceback

_screen = threading.Lock()
# Lines of Swift Testing that the log has, and the screen need not: what begins, and what a test is called with.
_DULL = re.compile(r"^◇ .* started\.$|^◇ Test case passing |\" to \".*\" started\.$")


def show(text: str):
    with _screen:
        print(text, flush=True)


@dataclasses.dataclass
class Part:
    """A command that runs by itself, beside others."""

    name: str
    command: list
    folder: str
    environment: dict
    # Seconds after which it hangs.
    patience: float
    # What it takes as a rule, in seconds, from which the order follows.
    usual: float
    # How many processors it keeps busy meanwhile: one that waits for real time leaves room for others.
    load: float = 1.0
    # Whether its output is of interest while it runs.
    live: bool = False
    # Names of parts without whose success it cannot begin.
    needs: tuple = ()


@dataclasses.dataclass
class Run:
    """What has come of a part."""

    part: Part
    code: int
    text: str
    # Of the wall, and of all its processes that somebody has waited for.
    seconds: float
    cpu: float


class Pool:
    """Runs the longest first, so that no long one is left alone at the end."""

    def __init__(self, parts: list, logs: str, cores: int):
        self._logs = logs
        self._cores = cores
        # However little they do: what memory bears.
        self._workers = 3 * cores
        self._running: list = []
        self._waiting = sorted(parts, key=lambda part: self._rank(part, parts), reverse=True)
        self._changed = threading.Condition()
        self._processes: set = set()
        self._succeeded: set = set()
        self._failed: set = set()
        self._stopped = False
        self._troubles: list = []
        self.runs: list = []

    @staticmethod
    def _rank(part: Part, parts: list) -> float:
        """With what can only follow it: a build comes before all that it builds."""
        return part.usual + sum(other.usual for other in parts if part.name in other.needs)

    def run(self, done) -> bool:
        """Calls `done` with each Run, one at a time, as soon as it has ended, and raises what that has raised. False if it was
        interrupted."""
        threads = [threading.Thread(target=self._work, args=(done,)) for _ in range(self._workers)]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            with self._changed:
                self._stopped = True
                self._changed.notify_all()
            for process in list(self._processes):
                end(process)
            for thread in threads:
                thread.join()
            return False
        if self._troubles:
            raise self._troubles[0]
        return True

    def _work(self, done):
        while part := self._next():
            try:
                run = self._execute(part)
            except Exception:
                # Such as a program that is not there: a thread that ended here would take the part with it, unseen.
                run = Run(part, 70, traceback.format_exc(), 0.0, 0.0)
            with self._changed:
                self.runs.append(run)
                (self._failed if run.code else self._succeeded).add(part.name)
                self._running.remove(part)
                try:
                    if not self._stopped:
                        done(run)
                except Exception as trouble:
                    self._troubles.append(trouble)
                self._changed.notify_all()

    def _next(self) -> Part | None:
        with self._changed:
            while not self._stopped:
                self._waiting = [part for part in self._waiting if not self._failed & set(part.needs)]
                ready = next((part for part in self._waiting if self._succeeded >= set(part.needs) and self._fits(part)), None)
                if ready:
                    self._waiting.remove(ready)
                    self._running.append(ready)
                    # There may be room for another.
                    self._changed.notify_all()
                    return ready
                if not self._waiting:
                    return None
                self._changed.wait()
            return None

    def _fits(self, part: Part) -> bool:
        # Loads are means: a little more than there are processors leaves none idle.
        return not self._running or len(self._running) < self._workers and (
            sum(one.load for one in self._running) + part.load <= self._cores + 0.25)

    def _execute(self, part: Part) -> Run:
        """Its output goes to a log, and if that is live to the screen as well."""
        started = time.monotonic()
        if part.live:
            show(f"== {part.name}")
        path = os.path.join(self._logs, part.name.replace("/", "-").replace(" ", "-") + ".log")
        with open(path, "w", encoding="utf-8", errors="replace") as log:
            process = subprocess.Popen(
                part.command, cwd=part.folder, env=part.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
            self._processes.add(process)
            watchdog = threading.Timer(part.patience, end, [process])
            watchdog.start()
            lines = []
            assert process.stdout
            for line in process.stdout:
                # An argument that contains a NUL ends a line of Swift Testing early, and the next one is glued to it.
                line = re.sub(r"(?<=.)(?=[◇✔✘➜] {1,2}(Test|Suite) )", "\n", line)
                log.write(line)
                log.flush()
                lines.append(line)
                if part.live:
                    show(line.rstrip("\n"))
            # Not `wait`, which would not tell what it has cost.
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            process.stdout.close()
            watchdog.cancel()
            self._processes.discard(process)
            seconds = time.monotonic() - started
            if seconds >= part.patience:
                lines.append(f"\nended after {part.patience:.0f} s: it hangs.\n")
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
        return Run(part, process.returncode, "".join(lines), seconds, used.ru_utime + used.ru_stime)


def brief(text: str) -> str:
    """Output without the lines that only the log need have."""
    return "\n".join(line for line in text.splitlines() if not _DULL.search(line)).rstrip()


def end(process):
    """Ends a part with everything in its session, which may end first what it has started in other sessions."""
    for number, seconds in ((signal.SIGINT, 20.0), (signal.SIGKILL, 0.0)):
        if process.returncode is not None:
            return
        with contextlib.suppress(OSError):
            os.killpg(process.pid, number)
        limit = time.monotonic() + seconds
        while process.returncode is None and time.monotonic() < limit:
            time.sleep(0.05)
