"""What `make server` ends its start with: an address, a name and a password that work."""
from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import server_support
from server_support.server import PROGRAM
from server_support.server_test import ServerTest
from support.child import Child
from support.ports import new_port
from support.waiting import wait_for


class DemoTests(ServerTest):
    def setUp(self):
        super().setUp()
        self.port = new_port()
        self.command = [sys.executable, str(server_support.ROOT / "etc" / "demo" / "server"), "--program", PROGRAM, "--dir",
                        self.folder, "--listen", f"127.0.0.1:{self.port}"]

    def start(self, name: str) -> Child:
        """Waits until it has said all."""
        child = Child(self.command, os.path.join(self.folder, name + ".log"))
        # It ends its server only when it is asked.
        self.addCleanup(lambda: child.running and self.stop(child, signal.SIGTERM))
        wait_for(lambda: "beekonctl enroll" in child.text(), lambda: f"it is ready; it said:\n{child.text()}")
        return child

    def log_in(self, name: str, password: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(
                "POST", "/v1/login", json.dumps({"name": name, "password": password}), {"Content-Type": "application/json"})
            return connection.getresponse().status
        finally:
            connection.close()

    def stop(self, child: Child, sign: signal.Signals):
        child.signal(sign)
        self.assertEqual(child.wait(), 0, child.text())

    def test_address_name_and_password_work_and_are_kept(self):
        first = self.start("first")
        address, name, password = (self.found(pattern, first) for pattern in (
            r"Open (\S+) in", r"User: (\S+)", r"Password: (\S+)"))
        self.assertEqual(address, f"http://127.0.0.1:{self.port}/")
        self.assertEqual((self.log_in(name, password), self.log_in(name, password + "x")), (200, 401))
        # Another one is told so, instead of an address that is not its own.
        other = subprocess.run(self.command, capture_output=True, text=True, timeout=60)
        self.assertEqual((other.returncode, other.stdout), (1, ""))
        self.assertIn("LISTEN=", other.stderr)
        self.stop(first, signal.SIGINT)
        second = self.start("second")
        self.assertIn("as before", second.text())
        self.assertNotIn("Password: ", second.text())
        self.assertEqual(self.log_in(name, password), 200)
        self.stop(second, signal.SIGTERM)

    def found(self, pattern: str, child: Child) -> str:
        match = re.search(pattern, child.text())
        assert match, child.text()
        return match[1]


if __name__ == "__main__":
    unittest.main()
