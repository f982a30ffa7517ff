"""Where the programs under test and their companions are. BEEKOND_BIN names the folder of the binaries, BEEKOND_GPSD
another gpsd than the one that is installed."""
from __future__ import annotations

import os
import shutil
import unittest

import support

ROOT = str(support.ROOT)
BIN = os.path.abspath(os.environ.get("BEEKOND_BIN", os.path.join(ROOT, ".build", "debug")))
GPSD = os.environ.get("BEEKOND_GPSD") or shutil.which("gpsd") or shutil.which("gpsd", path="/usr/sbin:/usr/local/sbin")
needs_gpsd = unittest.skipUnless(GPSD, "gpsd is not installed")


def program(name: str) -> str:
    """The path of one of this project's binaries. Benchmarks set BEEKOND_BIN after importing this."""
    return os.path.join(os.path.abspath(os.environ.get("BEEKOND_BIN", BIN)), name)


def installed(tool: str | None) -> str:
    """The path of a tool without which the test would have been skipped."""
    assert tool is not None
    return tool
