"""`beekon-server health`, as a container's health check runs it: what it says, and its exit code, in every state of a server."""
import os
import socket
import subprocess
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.server import PROGRAM, Server
from server_support.server_test import ServerTest
from support.child import Child
from support.ports import new_port, reachable
from support.waiting import wait_for


class HealthTests(ServerTest):
    def health(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        # Longer than it waits by itself, where the test does not say how long: a machine may be busy.
        patience = () if "--timeout" in arguments else ("--timeout", "60")
        return subprocess.run([PROGRAM, "health", *arguments, *patience], capture_output=True, text=True, timeout=120,
                              cwd=self.folder, env={**os.environ, **environment})

    def refuse(self, reason: str, *arguments: str):
        done = self.health(*arguments)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertRegex(done.stderr, f"^Error: not ready: .*{reason}")
        self.assertEqual(done.stderr.count("\n"), 1, "one line, for whoever shows the last one")

    def listener(self, answer: bytes | None) -> str:
        """Something that listens, reads a request, and answers with these bytes and the end; None: never."""
        server = socket.create_server(("127.0.0.1", 0))
        held = []

        def serve():
            try:
                connection = server.accept()[0]
            except OSError:
                return
            held.append(connection)
            if answer is not None:
                connection.recv(4096)
                connection.sendall(answer)
                connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()

        def close():
            for thing in (*held, server):
                thing.close()

        self.addCleanup(close)
        return f"127.0.0.1:{server.getsockname()[1]}"

    def test_a_server_that_runs_is_ready_until_it_ends(self):
        server = Server(self.folder)
        self.addCleanup(server.kill)
        server.start()
        place = f"127.0.0.1:{server.port}"
        done = self.health("--listen", place)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"ready: {place}\n", ""))
        server.stop()
        self.refuse("Connection refused.*Does the server run", "--listen", place)

    def test_it_asks_where_the_server_listens(self):
        port = new_port()
        path = os.path.join(self.folder, "beekon-server.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'database = "{self.folder}/there.db"\nlisten = "0.0.0.0:{port}"\n')
        child = Child([PROGRAM, "--config", path], os.path.join(self.folder, "log"))
        self.addCleanup(child.kill)
        wait_for(lambda: reachable(port), lambda: f"it listens; it said:\n{child.text()}")
        said = f"ready: 127.0.0.1:{port}\n"
        self.assertEqual(self.health("--config", path).stdout, said, "by the file, on loopback")
        self.assertEqual(self.health(BEEKON_SERVER_CONFIG=path).stdout, said)
        self.assertEqual(self.health(BEEKON_SERVER_LISTEN=f"127.0.0.1:{port}").stdout, said)
        nobody = f"127.0.0.1:{new_port()}"
        done = self.health("--config", path, BEEKON_SERVER_LISTEN=nobody)
        self.assertIn(nobody, done.stderr, "the environment goes before the file")

    def test_a_database_that_is_gone_is_told(self):
        server = Server(self.folder)
        self.addCleanup(server.kill)
        server.start()
        os.rename(server.database, server.database + ".away")
        self.refuse(".", "--listen", f"127.0.0.1:{server.port}")

    def test_what_is_no_server_is_not_ready(self):
        self.refuse("no answer from .* within 1 s", "--timeout", "1", "--listen", self.listener(None))
        self.refuse("is no beekon-server", "--listen", self.listener(b""))
        self.refuse("is no beekon-server", "--listen", self.listener(b"SSH-2.0-OpenSSH_9.2\r\n"))
        self.refuse("is no beekon-server", "--listen", self.listener(b"x" * 1_000_000))
        self.refuse("it answers 404", "--listen", self.listener(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
        self.refuse("Name or service not known|failure in name resolution", "--listen", "no-such-host.invalid:80")

    def test_mistakes_of_whoever_calls(self):
        for arguments in (("--timeout", "0"), ("--timeout", "61"), ("--listen", "8080")):
            self.assertEqual(self.health(*arguments).returncode, 64, arguments)


if __name__ == "__main__":
    unittest.main(verbosity=2)
