"""The files of Tests/System that go by the clock of this machine, each with its reason: at most 15, as etc/build/lint counts.
A test that asks for real time in any other file fails."""
from __future__ import annotations

import inspect
import os

from support import ROOT

FILES = {
    "cli/test_ctl_destinations.py": "two of it: tmux and its shell",
    "cli/test_ctl_page.py": "a browser",
    "cli/test_ctl_screens.py": "tmux and its shell",
    "cli/test_ctl_worst.py": "tmux and its shell",
    "control/test_metrics.py": "one of it: what commits take, of which none is counted while time stands still",
    "control/nightly_prometheus.py": "Prometheus, which calls the kernel itself",
    "fleet/test_enroll.py": "beekon-server, and strace, which starts beekonctl",
    "fleet/test_fleet.py": "beekon-server, and programs that make their own time faster",
    "hostile/nightly_abuse.py": "clients that are at work all the time: nothing ever rests",
    "storage/test_faults_store.py": "strace, which delays a call of the disk",
    "storage/test_long_start.py": "a disk that takes real time",
    "storage/nightly_slow_disk.py": "a disk that takes real time",
    "upload/nightly_home_assistant.py": "Home Assistant, whose loop is not ours",
    "upload/test_local_only.py": "strace, which starts the daemon",
    "upload/test_stray_answers.py": "one class of it: a path that delays each packet in the kernel",
}
_FOLDER = os.path.join(str(ROOT), "Tests", "System")


def asks_for_real_time(test) -> bool:
    """Whether this test of a class, or its class, does."""
    marked = bool(test.real_time or getattr(getattr(test, test._testMethodName), "real_time", False))
    file = os.path.relpath(inspect.getfile(type(test)), _FOLDER)
    if marked and not file.startswith("..") and file not in FILES:
        raise AssertionError(f"{file} keeps real time, and is not among the files that may: support/real_time.py")
    return marked
