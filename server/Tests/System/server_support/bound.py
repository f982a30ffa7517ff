"""A bound of memory for a process, like that of a unit with MemoryMax=512M: who passes it is killed."""
from __future__ import annotations

import os
from pathlib import Path

# Of systemd/beekon-server.service.
MOST = 512 << 20
ROOT = Path("/sys/fs/cgroup")


class Bound:
    """A cgroup of its own, of either version; without one (no root, or nobody may make any) what the process held at most is
    looked up instead, and `kind` says so."""

    def __init__(self, pid: int, most: int = MOST):
        self.pid, self.most = pid, most
        self.folder: Path | None = None
        self.kind = "VmHWM, since no cgroup of memory can be made here"
        for kind, parent, limit in (("cgroup v1", ROOT / "memory", "memory.limit_in_bytes"), ("cgroup v2", ROOT, "memory.max")):
            folder = parent / f"beekon-test-{os.getpid()}-{pid}"
            try:
                folder.mkdir()
                (folder / limit).write_text(str(most))
                (folder / "cgroup.procs").write_text(str(pid))
            except OSError:
                if folder.is_dir():
                    folder.rmdir()
                continue
            self.folder, self.kind = folder, kind
            break

    def _number(self, *names: str) -> int | None:
        for name in names:
            try:
                assert self.folder
                return int((self.folder / name).read_text())
            except (OSError, ValueError):
                continue
        return None

    @property
    def peak(self) -> int:
        """Bytes that were held at most, with the caches of files in a cgroup."""
        if self.folder:
            return self._number("memory.max_usage_in_bytes", "memory.peak", "memory.current") or 0
        return high_water(self.pid)

    @property
    def kills(self) -> int:
        """How often the kernel ended a process of it."""
        if not self.folder:
            return int(high_water(self.pid) > self.most)
        for name in ("memory.oom_control", "memory.events"):
            try:
                lines = (self.folder / name).read_text().splitlines()
            except OSError:
                continue
            for line in lines:
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
        return 0

    def remove(self):
        """After the process has ended."""
        if self.folder:
            self.folder.rmdir()


def high_water(pid: int) -> int:
    """Bytes of resident memory that a process has held at most; 0: it has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM")), 0)
    except OSError:
        return 0
