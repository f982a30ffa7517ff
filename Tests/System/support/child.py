"""Child processes that never outlive the test run."""
from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys

from processes import GUARD
from support.virtual_time import current
from support.waiting import PATIENCE


class _Guard:
    """Ends what a killed test run would leave behind."""

    def __init__(self):
        self._process: subprocess.Popen | None = None

    def tell(self, sign: str, pid: int):
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-c", GUARD], stdin=subprocess.PIPE, start_new_session=True, text=True)
            atexit.register(self._end, self._process)
        assert self._process.stdin
        self._process.stdin.write(f"{sign}{pid}\n")
        self._process.stdin.flush()

    @staticmethod
    def _end(process: subprocess.Popen):
        assert process.stdin
        process.stdin.close()
        process.wait()


_guard = _Guard()


class Child:
    """A program in its own session, with its output in a file."""

    def __init__(self, command: list, log: str, virtual: bool = True, **options):
        """It lives in the time of the test; not so if `virtual` is false, as for who only looks at others."""
        self.log = log
        time_now = current()
        if time_now and virtual:
            options["env"] = {**time_now.environment(), **options.get("env", os.environ)}
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, **options)
        _guard.tell("+", self.process.pid)

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def signal(self, number: int):
        if self.running:
            self.process.send_signal(number)

    def wait(self, seconds: float = PATIENCE) -> int:
        code = self.process.wait(seconds)
        _guard.tell("-", self.process.pid)
        return code

    def kill(self):
        if self.process.returncode is None:
            self.signal(signal.SIGKILL)
            self.wait()

    def text(self) -> str:
        with open(self.log, encoding="utf-8", errors="replace") as lines:
            return lines.read()


def descriptors(pid: int) -> list:
    """What a process has open, as /proc names it."""
    folder, found = f"/proc/{pid}/fd", []
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            found.append(os.readlink(f"{folder}/{name}"))
    return found


def waited_for_processors(pid: int, name: str) -> float:
    """For how many seconds the threads of this name of a process have been ready to run and had no processor."""
    folder, nanoseconds = f"/proc/{pid}/task", 0
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # ended meanwhile
        for thread in os.listdir(folder):
            with open(f"{folder}/{thread}/comm", encoding="ascii") as file:
                if file.read().strip() != name:
                    continue
            with open(f"{folder}/{thread}/schedstat", encoding="ascii") as file:
                nanoseconds += int(file.read().split()[1])
    return nanoseconds / 1e9
