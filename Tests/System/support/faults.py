"""What can go wrong below the daemon: system calls that fail or stall, small disks, disks that vanish."""
from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
from typing import Protocol

from support.child import Child
from support.programs import installed
from support.virtual_waits import RealWaits
from support.waiting import wait_for

STRACE = shutil.which("strace")
# What one call of the C library is in the kernel, here and on machines (arm64) that lack the older call.
KERNEL = {"rename": ("rename", "renameat", "renameat2"), "unlink": ("unlink", "unlinkat"), "chown": ("chown", "fchownat"),
          "newfstatat": ("newfstatat", "fstatat64"), "mkdir": ("mkdir", "mkdirat"), "link": ("link", "linkat")}


def no_strace():
    """Why faults cannot be injected here; None if they can."""
    if STRACE is None:
        return "strace is not installed"
    probe = subprocess.run([STRACE, "-qq", "-o", os.devnull, "-e", "inject=getppid:retval=1", "true"],
                           capture_output=True, text=True)
    return None if probe.returncode == 0 else "strace may not trace here: " + probe.stderr.strip()


def syscalls(*names: str) -> str:
    """The calls as strace wants them: it ignores those that the machine does not have."""
    return ",".join("?" + call for name in names for call in KERNEL.get(name, (name,)))


def no_mounts():
    """Why nothing can be mounted here; None if it can."""
    if os.geteuid() != 0:
        return "only root may mount"
    with tempfile.TemporaryDirectory(prefix="beekond-mount-") as place:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "beekond-test", place],
                              capture_output=True, text=True)
        if done.returncode == 0:
            subprocess.run(["umount", place], check=True)
        return None if done.returncode == 0 else "nothing may be mounted here: " + done.stderr.strip()


def no_loops():
    """Why no file can be mounted here; None if one can."""
    if no_mounts():
        return no_mounts()
    done = subprocess.run(["losetup", "--find"], capture_output=True, text=True)
    return None if done.returncode == 0 else "there are no loop devices here: " + done.stderr.strip()


def run(*command: str, codes=(0,)) -> str:
    """Runs an administrator's tool, which may not be on the PATH; returns its output."""
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
    if done.returncode not in codes:
        raise AssertionError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def thread(daemon, name: str) -> str:
    """The id of the daemon's thread with this name."""
    folder = f"/proc/{daemon.child.process.pid}/task"
    for task in os.listdir(folder):
        with open(f"{folder}/{task}/comm", encoding="ascii") as file:
            if file.read().strip() == name:
                return task
    raise AssertionError(f"no thread {name}")


def is_traced(daemon, name: str, tracer) -> bool:
    """Whether the tracer has attached to that thread, or the daemon has ended."""
    with contextlib.suppress(OSError, AssertionError):
        path = f"/proc/{daemon.child.process.pid}/task/{thread(daemon, name)}/status"
        with open(path, encoding="ascii") as file:
            if f"TracerPid:\t{tracer.pid}\n" in file.read():
                return True
    # It may have been killed at its first call.
    return not daemon.child.running


def numbered(lines: list) -> list:
    """The calls that strace saw, each with its number among the calls of the same name."""
    calls: list = []
    for line in lines:
        name = re.match(r"\w+(?=\()", line)
        if name:
            calls.append((name[0], 1 + sum(call[0] == name[0] for call in calls)))
    return calls


class Victim(Protocol):
    """What a fault needs to know of a daemon."""

    @property
    def directory(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def pid(self) -> int: ...


class Fault:
    """A fault in certain system calls of a running daemon, on certain files, for the duration of the `with`.

    A fault that has hit no call by then fails the test: it would have tested nothing.

    calls: names of the C library, by commas. what: as strace's inject wants it, `error=EIO` or `delay_enter=5000000`.
    may_miss: the test itself looks at what `injected` says
    """

    def __init__(self, daemon: Victim, calls: str, what: str, files: list | None = None, may_miss: bool = False):
        self._told = f"{what} at {calls}"
        self._may_miss, self._is_over = may_miss, False
        calls = syscalls(*calls.split(","))
        self.log = tempfile.NamedTemporaryFile("r", prefix="beekond-strace-", dir=daemon.directory)
        command = [installed(STRACE), "-f", "-qq", "-o", self.log.name, "-e", "trace=" + calls, "-e", "signal=none",
                   "-e", f"inject={calls}:{what}", "-p", str(daemon.pid)]
        for file in files or []:
            command += ["-P", os.path.join(daemon.state, file)]
        self._pid = daemon.pid
        # It detaches when terminated.
        self._strace = Child(command, os.path.join(daemon.directory, "strace.log"), virtual=False)

    def __enter__(self) -> Fault:
        with RealWaits():
            wait_for(self._is_attached, lambda: "strace has attached; it said: " + self._strace.text())
        return self

    def __exit__(self, kind, *error):
        if self._is_over:
            return
        self._stop(signal.SIGTERM)
        seen = self.injected()
        self.log.close()
        if not seen and not self._may_miss and kind is None:
            raise AssertionError(f"{self._told}: no call was hit")

    def end(self, by=signal.SIGTERM):
        """From now on, calls work again; one that is being delayed continues. A process killed during such a
        delay dies only when strace does: end it `by` SIGKILL."""
        self._stop(by)
        self.log.close()

    def _stop(self, by):
        self._strace.signal(by)
        self._strace.wait()
        self._is_over = True

    def injected(self) -> int:
        """How many calls the fault has hit so far."""
        self.log.seek(0)
        # A call that is still held up when strace lets go of it.
        return sum("(INJECTED)" in line or "(DELAYED)" in line or "<detached" in line for line in self.log)

    def _is_attached(self) -> bool:
        if not self._strace.running:
            raise AssertionError("strace ended: " + self._strace.text())
        tracers: set = set()
        for path in glob.glob(f"/proc/{self._pid}/task/*/status"):
            with open(path, encoding="ascii", errors="replace") as status:
                tracers.update(line.split()[1] for line in status if line.startswith("TracerPid:"))
        return bool(tracers) and "0" not in tracers


class Disk:
    """A separate file system for a state directory: ext4 in the file `image`, or else in memory."""

    def __init__(self, place: str, megabytes: int, image: str | None = None):
        self.place, self.image = place, image
        self.filler = os.path.join(place, "filler")
        self._is_removed = False
        os.makedirs(place, mode=0o700, exist_ok=True)
        if image and not os.path.exists(image):
            with open(image, "wb") as file:
                file.truncate(megabytes << 20)
            run("mke2fs", "-q", "-t", "ext4", "-m", "0", image)
        self._device = run("losetup", "--find", "--show", image).strip() if image else None
        if image:
            run("e2fsck", "-p", image, codes=(0, 1))
            run("mount", str(self._device), place)
        else:
            run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "beekond-test", place)
        os.chmod(place, 0o700)

    def fill(self):
        """Uses up all free space."""
        with open(self.filler, "wb", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while True:
                        file.write(b"\0" * size)
                        os.fsync(file.fileno())
                except OSError:
                    pass

    def release(self):
        os.unlink(self.filler)

    def protect(self, against_writes: bool):
        run("mount", "-o", "remount," + ("ro" if against_writes else "rw"), self.place)

    def break_down(self):
        """What the kernel does to an ext4 it no longer trusts: makes it read-only, even for open files."""
        run("mount", "-o", "remount,abort", self.place)

    def remove(self):
        """Works even while files on it are open."""
        if self._is_removed:
            return
        self._is_removed = True
        run("umount", "-l", self.place)
        if self._device:
            # Released as soon as no file on it is open.
            run("losetup", "--detach", self._device)
