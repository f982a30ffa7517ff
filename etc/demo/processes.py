"""Starting programs, and never leaving one behind."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

# Waits for its input to end, which happens however its parent dies, and then ends what is still registered.
# PR_SET_PDEATHSIG is not enough: the kernel forgets it when gpsd gives up root.
GUARD = """
import os, signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
alive = set()
for line in sys.stdin:
    (alive.add if line[0] == '+' else alive.discard)(int(line[1:]))
for number in (signal.SIGTERM, signal.SIGKILL):
    for pid in alive:
        try:
            os.kill(pid, number)
        except OSError:
            pass
    if alive and number == signal.SIGTERM:
        time.sleep(3)
"""


class Failure(Exception):
    """What went wrong and what to do about it, for the person at the terminal."""


class Stopped(Exception):
    """Someone asked the run to stop."""


class Interruptions:
    """Turns signals into `Stopped`, except between starting a program and registering it."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self):
        self._held = False
        self._pending = False

    def install(self):
        for number in self.SIGNALS:
            signal.signal(number, self._arrived)

    def ignore(self):
        for number in self.SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def _arrived(self, number, frame):
        if self._held:
            self._pending = True
        else:
            raise Stopped

    def __enter__(self):
        self._held = True

    def __exit__(self, *error):
        self._held = False
        if self._pending:
            self._pending = False
            raise Stopped


interruptions = Interruptions()


class Processes:
    """The programs of one run, each with its own log."""

    def __init__(self, directory: str):
        self.directory = directory
        self.running: list = []
        self._guard = subprocess.Popen(
            [sys.executable, "-c", GUARD], stdin=subprocess.PIPE, start_new_session=True, text=True)
        assert self._guard.stdin
        self._guarded = self._guard.stdin

    def start(self, name: str, command: list, **options) -> subprocess.Popen:
        """Starts a program in its own session, so that Ctrl-C reaches it only through us, in order."""
        with interruptions, open(self.log(name), "ab") as log:
            options.setdefault("stdout", log)
            try:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stderr=log, start_new_session=True, **options)
            except OSError as error:
                raise Failure(f"cannot start {command[0]}: {error.strerror}.\nBuild it with `make build`.") from error
            self._tell("+", process)
            self.running.append((name, process))
        return process

    def log(self, name: str) -> str:
        return os.path.join(self.directory, f"{name}.log")

    def check(self):
        """Raises if a program has ended that should be running."""
        for name, process in self.running:
            if process.poll() is not None:
                raise Failure(self.obituary(name, f"{name} ended by itself ({exit_text(process.returncode)})"))

    def obituary(self, name: str, headline: str) -> str:
        """A headline, the program's last lines, and where to find the rest."""
        try:
            with open(self.log(name), encoding="utf-8", errors="replace") as log:
                lines = log.read().splitlines()[-10:]
        except OSError:
            lines = []
        last = "\n".join(f"    {line}" for line in lines) or "    (it said nothing)"
        return f"{headline}. Its last lines:\n{last}\nThe whole log is {self.log(name)}. Fix that and try again."

    def stop(self, process: subprocess.Popen, patience: float = 5.0) -> bool:
        """Sends SIGTERM, and SIGKILL if that takes too long. True if SIGTERM sufficed."""
        self.running = [(name, other) for name, other in self.running if other is not process]
        gentle = True
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(patience)
            except subprocess.TimeoutExpired:
                gentle = False
                process.kill()
                process.wait()
        self._tell("-", process)
        return gentle

    def stop_all(self):
        """Stops newest first: readers before their sources. A failure must not keep the rest from being stopped."""
        for name, process in reversed(list(self.running)):
            if not self.stop(process):
                print(f"{name} did not end when asked and was killed.", file=sys.stderr)
        self._guarded.close()
        self._guard.wait()

    def _tell(self, sign: str, process: subprocess.Popen):
        try:
            self._guarded.write(f"{sign}{process.pid}\n")
            self._guarded.flush()
        except OSError:
            pass  # someone killed the guard; we still stop everything we know of


def exit_text(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def wait_for(condition, seconds: float, check=lambda: None) -> bool:
    """Whether the condition came true in time. `check` may raise in between."""
    deadline = time.monotonic() + seconds
    while not condition():
        check()
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
