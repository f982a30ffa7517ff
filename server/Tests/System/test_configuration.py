"""The configuration file: what it says holds, what goes before it, and that each mistake is told with its line."""
import os
import socket
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.server import PROGRAM
from server_support.server_test import ServerTest
from support.child import Child
from support.ports import new_port, reachable
from support.waiting import wait_for


class ConfigurationTests(ServerTest):
    def write(self, text: str) -> str:
        path = os.path.join(self.folder, "beekon-server.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_program(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [PROGRAM, *arguments], capture_output=True, text=True, timeout=60, cwd=self.folder,
            env={**os.environ, **environment})

    def test_what_it_says_holds(self):
        port, database = new_port(), os.path.join(self.folder, "there.db")
        path = self.write(
            f'# of a test\ndatabase = "{database}"\nlisten = "127.0.0.1:{port}"\nretention_days = 30\nconnections = 7\n')
        child = Child([PROGRAM, "--config", path], os.path.join(self.folder, "log"))
        self.addCleanup(child.kill)
        wait_for(lambda: reachable(port), lambda: f"it listens; it said:\n{child.text()}")
        done = self.run_program("doctor", "--config", path)
        self.assertIn("retention: 30 days", done.stdout)
        self.assertEqual(self.run_program("device", "add", "--json", "van", BEEKON_SERVER_CONFIG=path).returncode, 0)
        # More than one answer's worth, of a server that runs.
        self.assertEqual(self.run_program("device", "list", "--config", path).stdout, "1\tvan\tnever seen\n")
        self.assertTrue(os.path.exists(database))

    def test_what_goes_before_it(self):
        path = self.write('database = "file.db"\nretention_days = 30\n')
        self.assertEqual(self.run_program("device", "add", "--json", "van", "--config", path).returncode, 0)
        for arguments, environment in (
                (("--config", path, "--database", "option.db"), {"BEEKON_SERVER_DATABASE": "environment.db"}),
                (("--config", path), {"BEEKON_SERVER_DATABASE": "environment.db"})):
            self.assertEqual(self.run_program("device", "list", *arguments, **environment).stdout, "")
        self.assertEqual(
            {name for name in os.listdir(self.folder) if name.endswith(".db")}, {"file.db", "option.db", "environment.db"})

    def test_every_mistake_is_told_with_its_line(self):
        cases: list = [
            ('listen = 5\nretention_days = 0\nretentoin = 5\ndatabase = ""\n', [
                ":1: listen is a text in quotes, found a whole number", ":2: retention_days is a whole number within 1…36500",
                ":3: there is no setting retentoin; there are database, read_database, listen, retention_days",
                ":4: database is empty"]),
            ('\n\nlisten = "8080"\nconnections = 1e3\n', [
                ":3: listen is host:port, such as 127.0.0.1:8080 or [::]:8080",
                ":4: connections is a whole number within 1…100000"]),
            ('database = "a"\ndatabase = "b"\n', [":2: database is set already, in line 1; remove one of the two"]),
            ("database = fleet.db\n", [":1: this is neither a number nor true or false; texts go in quotes"]),
            ("[server]\nlisten = 1\n", [":1: there is no setting server; there are "]),
        ]
        for text, expected in cases:
            path = self.write(text)
            for verb in (("serve",), ("device", "list")):
                with self.subTest(text=text, verb=verb):
                    done = self.run_program(*verb, "--config", path)
                    self.assertEqual(done.returncode, 1, done)
                    lines = done.stderr.removeprefix("Error: ").splitlines()
                    self.assertEqual(len(lines), len(expected), done.stderr)
                    for line, wanted in zip(lines, expected, strict=True):
                        self.assertTrue(line.startswith(path + wanted), line)
            done = self.run_program("doctor", "--config", path)
            self.assertEqual(done.returncode, 1)
            self.assertIn("BAD   configuration: " + path, done.stdout)

    def test_an_address_that_is_taken(self):
        with socket.create_server(("127.0.0.1", new_port())) as other:
            place = f"127.0.0.1:{other.getsockname()[1]}"
            done = self.run_program("--database", "x.db", "--listen", place)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"Error: cannot listen on {place}: Address already in use", done.stderr)

    def test_a_file_that_is_none(self):
        for path, said in ((self.folder + "/none.toml", "cannot open"), (self.folder, "cannot read"),
                           ("/dev/zero", "has more than 65536 bytes")):
            done = self.run_program("device", "list", "--config", path)
            self.assertEqual(done.returncode, 1)
            self.assertIn(said, done.stderr)
        with open(self.write(""), "wb") as file:
            file.write(b'database = "\xff"\n')
        self.assertIn("is not UTF-8", self.run_program("serve", "--config", file.name).stderr)


if __name__ == "__main__":
    unittest.main()
