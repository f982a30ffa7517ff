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
    """One fleet and one browser for all tests of a class; each test has a browser without a past, but for files of the page,
    which it may have kept."""

    folder: str
    server: Server
    devices: dict
    browser: Browser
    options: tuple = ()
    # Seconds between locations of the first vehicle.
    step = 15
    # What a page has asked of others, and what has failed in it.
    foreign: list
    errors: list
    # By user, cookies of a session.
    sessions: dict[str, list]
    # By options of their browser, pages that no test uses.
    free: dict[str, list]

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="beekon-page-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.server = Server(cls.folder, options=cls.options)
        cls.addClassCleanup(cls.server.kill)
        cls.devices = fleet.make(cls.server, cls.step)
        cls.sessions, cls.free, cls.foreign, cls.errors = {}, {}, [], []
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.foreign.clear()
        self.errors.clear()

    def page(self, user: str | None = "ada", screen: str = "", script: str = "", routes: dict | None = None, is_kept: bool = True,
             **options) -> Any:
        """A page of its own, signed in; what it asks of others, and what fails in it, is noted.

        - `routes`: by pattern of an address, what is done instead of asking.
        - `is_kept`: another test may have it when this one is over.
        """
        # A script stays with its page, and a worker of a page with its browser.
        is_kept = is_kept and not script and "permissions" not in options
        free = self.free.setdefault(repr(options), []) if is_kept else None
        page = free.pop() if free else self.new_page(options)
        if free is None:
            self.addCleanup(page.context.close)
        else:
            self.addCleanup(self.empty, page, free)
        if user:
            self.sign_in(page.context, user)
        if script:
            page.add_init_script(script)
        for pattern, handler in (routes or {}).items():
            page.route(pattern, handler)
        page.goto(self.server.url + "/" + screen)
        if user:
            page.locator(".stream.is-live").wait_for()
        return page

    def new_page(self, options: dict) -> Any:
        page = self.browser.context(**options).new_page()
        page.set_default_timeout(1000 * LONG)
        home = urlsplit(self.server.url).netloc
        page.on("request", lambda request: self.foreign.extend(
            [request.url] if urlsplit(request.url).netloc not in (home, "") else []))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        # What the server refuses, Chromium calls an error, too.
        page.on("console", lambda said: self.errors.extend(
            [said.text] if said.type == "error" and not said.text.startswith("Failed to load resource") else []))
        return page

    def sign_in(self, context: Any, user: str):
        """By a session that was made before, unless it has ended: by its form, it takes as long as all else that a page does
        first."""
        context.add_cookies(self.sessions.get(user, []))
        if not context.request.get(self.server.url + "/v1/session").ok:
            answer = context.request.post(self.server.url + "/v1/login", data={"name": user, "password": fleet.PASSWORD})
            self.assertEqual(answer.status, 200, f"{user} signs in")
            self.sessions[user] = context.cookies()

    def empty(self, page: Any, free: list):
        """Nothing of what was done there is left for the next test."""
        page.unroute_all()
        page.goto("about:blank")
        page.context.new_cdp_session(page).send(
            "Storage.clearDataForOrigin", {"origin": self.server.url, "storageTypes": "all"})
        page.context.clear_cookies()
        for other in page.context.pages:
            if other != page:
                other.close()
        free.append(page)

    @staticmethod
    def address(page) -> str:
        """As the browser has it by now: of what `page.url` says Playwright hears while it is asked something else."""
        return page.evaluate("location.href")

    def tearDown(self):
        self.assertEqual((self.foreign, self.errors), ([], []))

    def truck(self) -> int:
        return self.devices["Truck 1"]["id"]
