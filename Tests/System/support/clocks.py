"""Control over the daemon's clocks: a system clock in 1970, a machine that was suspended."""
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
# Bytes of the shared file.
SIZE = 40


def no_shim():
    """Why the clocks cannot be moved here; None if they can."""
    return None if COMPILER else "there is no C compiler for the clock shim"


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
    """The daemon's clocks; create this before starting it. Other processes keep their own."""

    def __init__(self, daemon: Beekond, synchronised: bool = False):
        path = os.path.join(daemon.directory, "clocks")
        with open(path, "wb") as file:
            file.write(bytes(SIZE))
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), SIZE)
        daemon.environment.update(LD_PRELOAD=shim(), BEEKOND_TEST_CLOCK=path)
        self.synchronised = synchronised

    @property
    def synchronised(self) -> bool:
        """Whether the kernel reports the system clock as synchronised."""
        return bool(self._get(2))

    @synchronised.setter
    def synchronised(self, value: bool):
        self._put(2, int(value))

    def set_system(self, milliseconds: int):
        """Sets the daemon's system clock, which runs on from there."""
        self._put(0, milliseconds * 1_000_000 - time.time_ns())

    def system(self) -> int:
        """The daemon's system clock, in milliseconds."""
        return (time.time_ns() + self._get(0)) // 1_000_000

    def suspend(self, seconds: float):
        """Advances both clocks at once, as a process sees it after its machine slept."""
        self._put(0, self._get(0) + int(seconds * 1e9))
        self._put(1, self._get(1) + int(seconds * 1e9))

    def freeze(self):
        """Stops CLOCK_BOOTTIME: however slow this machine is, no time passes between two reports."""
        self._put(3, time.clock_gettime_ns(time.CLOCK_BOOTTIME) + self._get(1))

    def _get(self, index: int) -> int:
        return struct.unpack_from("=q", self._map, index * 8)[0]

    def _put(self, index: int, value: int):
        struct.pack_into("=q", self._map, index * 8, value)


class ClockTest(SystemTest):
    """A test that controls its daemon's clocks."""

    def clocked(self, gpsd_port: int, at: int | None = None, synchronised: bool = False, **sections) -> tuple:
        """A daemon, not started yet, whose system clock shows `at`; and its clocks."""
        daemon = self.daemon(gpsd_port, **sections)
        clocks = Clocks(daemon, synchronised)
        if at is not None:
            clocks.set_system(at)
        return daemon, clocks
