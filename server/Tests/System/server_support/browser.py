"""Chromium, driven over its DevTools protocol by Playwright, which `make test-server` installs from PyPI."""
from __future__ import annotations

import importlib
import os
import shutil
from typing import Any

CHROMIUM = shutil.which("chromium") or ""
# Seconds for whatever a browser does: on a machine that is busy it may take minutes to start.
LONG = 180


def playwright() -> Any:
    """The module of Playwright. Without it, or without Chromium, the tests of the page fail: CI must not pass without them."""
    if not CHROMIUM:
        raise AssertionError("chromium is not installed: 'etc/build/server deps' installs it")
    return importlib.import_module("playwright.sync_api")


def axe_script() -> str:
    """axe-core, as the package axe-playwright-python brings it."""
    package = importlib.import_module("axe_playwright_python")
    assert package.__file__
    with open(os.path.join(os.path.dirname(package.__file__), "axe.min.js"), encoding="utf-8") as file:
        return file.read()


class Browser:
    """One browser for the tests of a file."""

    def __init__(self):
        self._driver = playwright().sync_playwright().start()
        # As root, Chromium has no sandbox; what it shows here is our own page alone.
        self.chromium = self._driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=1000 * LONG)

    def close(self):
        self.chromium.close()
        self._driver.stop()

    def context(self, **options):
        """A browser without a past: no cookies, no storage."""
        defaults = {"viewport": {"width": 1440, "height": 900}, "locale": "en-IE", "timezone_id": "Europe/Berlin"}
        return self.chromium.new_context(**{**defaults, **options})
