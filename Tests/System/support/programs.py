"""Where the programs under test and their companions are. BEEKOND_BIN names the folder of the binaries."""
from __future__ import annotations

import os
import shutil
import unittest

import support

ROOT = str(support.ROOT)
BIN = os.path.abspath(os.environ.get("BEEKOND_BIN", os.path.join(ROOT, ".build", "debug")))
GPSD = shutil.which("gpsd") or shutil.which("gpsd", path="/usr/sbin:/usr/local/sbin")
needs_gpsd = unittest.skipUnless(GPSD, "gpsd is not installed")


def program(name: str) -> str:
    """The path of a binary of this project. The folder may change after the import: benchmarks set it then."""
    return os.path.join(os.path.abspath(os.environ.get("BEEKOND_BIN", BIN)), name)


def installed(tool: str | None) -> str:
    """A tool that a test has already been skipped without."""
    assert tool is not None
    return tool
