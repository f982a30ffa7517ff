"""The base of the tests that look at the page through Chromium."""
from __future__ import annotations

import os
import shutil
import tempfile
import unittest
from typing import Any
from urllib.parse import urlsplit

from server_support import fleet
from server_support.browser import LONG, Browser
from server_support.server import PROGRAM, Server


@unittest.skipUnless(os.access(PROGRAM, os.X_OK), f"no {PROGRAM}: 'make server' builds it, or set BEEKON_SERVER_BIN")
class PageTest(unittest.TestCase):
    """One fleet and one browser for all tests of a class; each test has a browser without a past."""

    folder: str
    server: Server
    devices: dict
    browser: Browser
    options: tuple = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="beekon-page-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.server = Server(cls.folder, options=cls.options)
        cls.addClassCleanup(cls.server.kill)
        cls.devices = fleet.make(cls.server)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.foreign: list = []
        self.errors: list = []

    def page(self, user: str | None = "ada", screen: str = "", script: str = "", **options) -> Any:
        """A page of its own, signed in; what it asks of others, and what fails in it, is noted."""
        context = self.browser.context(**options)
        self.addCleanup(context.close)
        page = context.new_page()
        page.set_default_timeout(1000 * LONG)
        home = urlsplit(self.server.url).netloc
        page.on("request", lambda request: self.foreign.extend(
            [request.url] if urlsplit(request.url).netloc not in (home, "") else []))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        # What the server refuses, Chromium calls an error, too.
        page.on("console", lambda said: self.errors.extend(
            [said.text] if said.type == "error" and not said.text.startswith("Failed to load resource") else []))
        if script:
            page.add_init_script(script)
        page.goto(self.server.url + "/" + screen)
        if user:
            page.get_by_label("Name").fill(user)
            page.get_by_label("Password").fill(fleet.PASSWORD)
            page.get_by_role("button", name="Sign in").click()
            page.get_by_text("Live", exact=True).wait_for()
        return page

    @staticmethod
    def address(page) -> str:
        """As the browser has it by now: of what `page.url` says Playwright hears while it is asked something else."""
        return page.evaluate("location.href")

    def tearDown(self):
        self.assertEqual((self.foreign, self.errors), ([], []))

    def truck(self) -> int:
        return self.devices["Truck 1"]["id"]
