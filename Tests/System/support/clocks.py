"""The clocks of a daemon, in the hands of a test: a system clock in 1970, a machine that was suspended."""
from __future__ import annotations

import mmap
import os
import shutil
import struct
import subprocess
import tempfile
import time

from support.daemon import Beekond
from support.programs import installed
from support.system_test import SystemTest

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clock_shim.c")
COMPILER = shutil.which("cc") or shutil.which("clang") or shutil.which("gcc")
_shim: list = []


def no_shim():
    """Why the clocks cannot be moved here; None when they can."""
    return None if COMPILER else "there is no C compiler for the clock shim"


def shim() -> str:
    """The library, built once for each run of a test file."""
    if not _shim:
        folder = tempfile.TemporaryDirectory(prefix="beekond-shim-")
        path = os.path.join(folder.name, "clock.so")
        subprocess.run([installed(COMPILER), "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", path, SOURCE],
                       check=True)
        _shim.extend([path, folder])
    return _shim[0]


class Clocks:
    """The daemon's clocks; to be made before it is started. Other processes keep theirs."""

    def __init__(self, daemon: Beekond, synchronised: bool = False):
        path = os.path.join(daemon.directory, "clocks")
        with open(path, "wb") as file:
            file.write(bytes(32))
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), 32)
        daemon.environment.update(LD_PRELOAD=shim(), BEEKOND_TEST_CLOCK=path)
        self.synchronised = synchronised

    @property
    def synchronised(self) -> bool:
        """What the kernel says of the system clock."""
        return bool(self._get(2))

    @synchronised.setter
    def synchronised(self, value: bool):
        self._put(2, int(value))

    def set_system(self, milliseconds: int):
        """The system clock shows this now, and goes on from there."""
        self._put(0, milliseconds * 1_000_000 - time.time_ns())

    def system(self) -> int:
        """What the daemon's system clock shows, in milliseconds."""
        return (time.time_ns() + self._get(0)) // 1_000_000

    def suspend(self, seconds: float):
        """Both clocks go on while nothing else does: what a process sees of a machine that slept."""
        self._put(0, self._get(0) + int(seconds * 1e9))
        self._put(1, self._get(1) + int(seconds * 1e9))

    def freeze(self):
        """CLOCK_BOOTTIME stands still from now on: however slow this machine is, no time passes between two reports."""
        self._put(3, time.clock_gettime_ns(time.CLOCK_BOOTTIME) + self._get(1))

    def _get(self, index: int) -> int:
        return struct.unpack_from("=q", self._map, index * 8)[0]

    def _put(self, index: int, value: int):
        struct.pack_into("=q", self._map, index * 8, value)


class ClockTest(SystemTest):
    """A test with a daemon whose clocks it moves."""

    def clocked(self, gpsd_port: int, at: int | None = None, synchronised: bool = False, **sections) -> tuple:
        """A daemon that is not started yet, whose system clock shows `at`, and its clocks."""
        daemon = self.daemon(gpsd_port, **sections)
        clocks = Clocks(daemon, synchronised)
        if at is not None:
            clocks.set_system(at)
        return daemon, clocks
