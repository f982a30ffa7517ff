"""docs/home-assistant.md and docs/traccar.md: each of their commands, verbatim and in its order, on a box with the package. The
servers are simulated ones, which read requests as the real ones do."""
from __future__ import annotations

import json
import os
import re
import textwrap
import unittest

import debian
from service import Service, need_machines
from support import foreign_servers as servers
from support.foreign_servers import ForeignServer
from support.programs import ROOT
from support.waiting import wait_for

WEBHOOK = "/api/webhook/0123456789abcdef"


def setUpModule():
    need_machines()


def commands(name: str) -> list:
    """Those of a document, without comments."""
    with open(os.path.join(ROOT, "docs", name), encoding="utf-8") as file:
        blocks = re.findall(r"^ *```\n(.*?)^ *```$", file.read(), re.S | re.M)
    return [re.sub(r"\s+# .*$", "", line) for block in blocks for line in textwrap.dedent(block).splitlines()]


@debian.takes_minutes
class GuidesTest(Service):
    def follow(self, name: str, server: ForeignServer) -> str:
        """What the last command says."""
        self.addCleanup(server.stop)
        self.machine.run("systemctl", "start", "receiver")
        lines = commands(name)
        self.assertGreaterEqual(len(lines), 5, lines)
        said = ""
        for line in lines:
            if line.startswith("sudo editor "):
                path = line.split()[2]
                self.machine.run("sed", "-i", rf's,^url = "https://[^/]*,url = "{server.origin},', path)
                self.assertIn(server.origin, self.machine.read(path))
                continue
            code, said, errors = self.machine.run("sh", "-c", line, check=False, seconds=120)
            print(f"\n$ {line}\n{said}{errors}", flush=True)
            self.assertEqual(code, 0, f"{line}\n{said}{errors}")
            if line.endswith("beekonctl start"):
                wait_for(lambda: json.loads(self.machine.output("beekonctl", "status", "--json"))["store"]["locations"],
                         "a location is stored", 60)
        self.assertTrue(server.points, f"a location has come to the server; it was asked {server.asked}")
        return said

    def test_home_assistant(self):
        server = ForeignServer(servers.home_assistant_owntracks(WEBHOOK))
        self.follow("home-assistant.md", server)
        self.assertEqual({point.device for point in server.points}, {"fleet_van1"})

    def test_traccar(self):
        said = self.follow("traccar.md", ForeignServer(servers.traccar("van1")))
        self.assertIn("traccar", said)


if __name__ == "__main__":
    unittest.main()
