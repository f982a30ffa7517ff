"""The base of the tests that run beekon-server."""
from __future__ import annotations

import os
import shutil
import tempfile
import unittest

from server_support.server import PROGRAM, Server


@unittest.skipUnless(os.access(PROGRAM, os.X_OK), f"no {PROGRAM}: 'make test-server' builds it, or set BEEKON_SERVER_BIN")
class ServerTest(unittest.TestCase):
    """A test with its own folder; whatever it starts ends with the test."""

    def setUp(self):
        # Short, because the path of a socket may have 107 bytes at most.
        self.folder = tempfile.mkdtemp(prefix="beekon-server-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def server(self, *options: str) -> Server:
        """A server, not started yet."""
        server = Server(self.folder, options=options)
        self.addCleanup(server.kill)
        return server
