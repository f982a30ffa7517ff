"""What takes too long for every change, or judges how long something takes: `make nightly` has it."""
from __future__ import annotations

import os
import shutil
import subprocess
import unittest

IS_LONG = os.environ.get("BEEKOND_LONG") == "1"


def check_with_promtool(test: unittest.TestCase, text: str):
    """Prometheus finds nothing in these metrics; in `make nightly`, as it is large."""
    if IS_LONG:
        promtool = shutil.which("promtool")
        assert promtool, "promtool is not installed: etc/build/deps nightly"
        done = subprocess.run([promtool, "check", "metrics"], input=text, text=True, capture_output=True, timeout=60)
        test.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


def nightly(test):
    """A test or class that is there with BEEKOND_LONG=1 alone. Elsewhere it is none, rather than one that is skipped."""
    if IS_LONG:
        return test
    return type(test.__name__, (), {}) if isinstance(test, type) else None
