"""Control over the daemon's clocks: a system clock in 1970, a machine that was suspended."""
from __future__ import annotations

import os
import struct
import subprocess
import tempfile

from support.daemon import Beekond
from support.programs import installed
from support.system_test import SystemTest
from support.virtual_time import COMPILER, current

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clock_shim.c")
_shim: list = []
# Bytes of the shared file.
SIZE = 40


def shim() -> str:
    """The library, built once per run of a test file."""
    if not _shim:
        folder = tempfile.TemporaryDirectory(prefix="beekond-shim-")
        path = os.path.join(folder.name, "clock.so")
        subprocess.run([installed(COMPILER), "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", path, SOURCE],
                       check=True)
        _shim.extend([path, folder])
    return _shim[0]


def standing_still(path: str, milliseconds: int) -> dict:
    """The environment of a program for which it is always this time; `path` is where its clocks are kept."""
    with open(path, "wb") as file:
        file.write(struct.pack("=5q", 0, 0, 0, 0, milliseconds * 1_000_000))
    return {"LD_PRELOAD": shim(), "BEEKOND_TEST_CLOCK": path}


class Clocks:
    """The daemon's clocks; create this before starting it. Other programs keep their own."""

    def __init__(self, daemon: Beekond, synchronised: bool = False):
        time_now = current()
        assert time_now, "clocks are moved in virtual time only"
        self._machine = time_now.machine()
        daemon.environment.update(self._machine.environment)
        self.synchronised = synchronised

    @property
    def synchronised(self) -> bool:
        """Whether the kernel reports the system clock as synchronised."""
        return self._machine.is_synchronised

    @synchronised.setter
    def synchronised(self, value: bool):
        self._machine.is_synchronised = value

    def set_system(self, milliseconds: int):
        """Sets the system clock, which goes on from there."""
        self._machine.system = milliseconds * 1_000_000

    def system(self) -> int:
        """The system clock, in milliseconds."""
        return self._machine.system // 1_000_000

    def suspend(self, seconds: float):
        """Advances the system clock and that of the time since boot, as a process sees it after its machine slept."""
        self._machine.suspend(seconds)


class ClockTest(SystemTest):
    """A test that controls its daemon's clocks."""

    def clocked(self, gpsd_port: int, at: int | None = None, synchronised: bool = False, **sections) -> tuple:
        """A daemon, not started yet, whose system clock shows `at`; and its clocks."""
        daemon = self.daemon(gpsd_port, **sections)
        clocks = Clocks(daemon, synchronised)
        if at is not None:
            clocks.set_system(at)
        return daemon, clocks
