#!/usr/bin/env python3
"""Which source files beekond executes for one fix, and for one batch: how long the two paths are that matter.

Usage: executed-files.py [--tree DIR] [--skip-build]; DIR is a checkout, which may be an earlier one. Needs gdb.

Builds beekond with counters in DIR/.build-executed, and lets a debugger set them to zero before, and write them after: a fix that
is stored; a batch that is sent on schedule and acknowledged. In each window the daemon's idle turns happen as well.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for folder in ("Tests/System", "etc/demo"):
    sys.path.insert(0, str(ROOT / folder))
sys.dont_write_bytecode = True
# Those of another LLVM cannot read what Swift's wrote.
TOOLS = Path(shutil.which("swift") or "swift").resolve().parent
PROFILE = ["-Xswiftc", "-profile-generate", "-Xswiftc", "-profile-coverage-mapping"]


class Counters:
    """Those of a running process."""

    def __init__(self, program: Path, pid: int, folder: str):
        self.program, self.pid, self.folder = program, pid, folder

    def reset(self):
        self._call("__llvm_profile_reset_counters()")

    def files(self, name: str) -> list:
        """The files of which a function was executed since the reset."""
        raw, merged = os.path.join(self.folder, "now.profraw"), os.path.join(self.folder, name + ".profdata")
        self._call("__llvm_profile_write_file()")
        subprocess.run([TOOLS / "llvm-profdata", "merge", "-o", merged, raw], check=True)
        os.unlink(raw)
        report = subprocess.run(
            [TOOLS / "llvm-cov", "export", "-summary-only", f"-instr-profile={merged}", str(self.program)],
            check=True, capture_output=True, text=True)
        files = json.loads(report.stdout)["data"][0]["files"]
        return sorted(file["filename"].split("/Sources/", 1)[1] for file in files
                      if file["summary"]["functions"]["covered"] and "/Sources/" in file["filename"]
                      and "/checkouts/" not in file["filename"])

    def _call(self, function: str):
        subprocess.run(["gdb", "-p", str(self.pid), "-batch", "-nx", "-ex", f"call (int){function}"], check=True,
                       capture_output=True)


def measure(program: Path) -> dict:
    from support.backend import Backend
    from support.daemon import Beekond
    from support.fake_gpsd import FakeGPSD
    from support.waiting import wait_for

    with tempfile.TemporaryDirectory() as folder:
        gpsd, backend = FakeGPSD(), Backend()
        backend.start()
        daemon = Beekond(
            folder, gpsd={"port": gpsd.port}, tracking={"interval_seconds": 1, "distance_meters": 0},
            store={"keep_uploaded": True}, sync={"url": backend.url, "interval_seconds": 60, "batch_size": 10})
        daemon.environment = {"LLVM_PROFILE_FILE": os.path.join(folder, "now.profraw")}
        daemon.start()
        try:
            counters = Counters(program, daemon.pid, folder)
            daemon.call("Start")
            gpsd.settle()
            gpsd.drive(2)

            def stored() -> int:
                return daemon.status()["store"]["locations"]

            def reports() -> int:
                return len(backend.requests)

            wait_for(lambda: stored() >= 3, "the first fixes are stored")
            wait_for(reports, "the first round", 150)
            time.sleep(3)
            counters.reset()
            time.sleep(5)
            idle = counters.files("idle")
            counters.reset()
            gpsd.drive(1)
            time.sleep(2)
            fix = counters.files("fix")
            before = reports()
            counters.reset()
            wait_for(lambda: reports() > before, "the next round", 150)
            time.sleep(2)
            batch = counters.files("batch")
            assert stored() >= 4, "no fix was stored"
        finally:
            daemon.child.process.kill()
            backend.stop()
            gpsd.stop()
    return {"idle": idle, "fix": fix, "batch": batch}


def main():
    parser = argparse.ArgumentParser(description="Which files beekond executes for one fix, and for one batch.")
    parser.add_argument("--tree", default=str(ROOT), metavar="DIR")
    parser.add_argument("--skip-build", action="store_true")
    chosen = parser.parse_args()
    build = Path(chosen.tree) / ".build-executed"
    if not chosen.skip_build:
        subprocess.run(["swift", "build", "--scratch-path", str(build), "--product", "beekond", *PROFILE], cwd=chosen.tree,
                       check=True, stdout=sys.stderr)
    os.environ["BEEKOND_BIN"] = str(build / "debug")
    found = measure(build / "debug" / "beekond")
    for name, files in found.items():
        print(f"{name}: {len(files)} files")
        for file in files:
            print(f"    {file}")


if __name__ == "__main__":
    main()
