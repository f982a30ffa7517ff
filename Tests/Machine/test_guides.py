"""docs/home-assistant.md and docs/traccar.md: each of their commands, verbatim and in its order, on a box with the package. The
servers are simulated ones, which read requests as the real ones do."""
from __future__ import annotations

import json
import os
import re
import tempfile
import textwrap
import unittest

import debian
from service import Service, need_machines
from support import foreign_servers as servers
from support.foreign_servers import ForeignServer
from support.mosquitto import Mosquitto, Subscriber
from support.ports import new_port
from support.programs import ROOT
from support.waiting import wait_for

PASSWORD = "hidden"


def setUpModule():
    need_machines()


def commands(name: str) -> list:
    """Those of a document, without comments."""
    with open(os.path.join(ROOT, "docs", name), encoding="utf-8") as file:
        blocks = re.findall(r"^ *```\n(.*?)^ *```$", file.read(), re.S | re.M)
    return [re.sub(r"\s+# .*$", "", line) for block in blocks for line in textwrap.dedent(block).splitlines()]


@debian.takes_minutes
class GuidesTest(Service):
    def follow(self, name: str, **places: str) -> str:
        """Carries out a document's commands, with what stands in place of what an operator would put there; a password is typed.

        Returns what the last of them says."""
        self.machine.run("systemctl", "start", "receiver")
        lines = commands(name)
        self.assertGreaterEqual(len(lines), 2, lines)
        said = ""
        for line in lines:
            for word, place in places.items():
                line = line.replace(word, place)
            if "--user" in line:
                code, said, errors = self.machine.answer("Password: ", PASSWORD, "sh", "-c", line, seconds=120)
            else:
                code, said, errors = self.machine.run("sh", "-c", line, check=False, seconds=120)
            print(f"\n$ {line}\n{said}{errors}", flush=True)
            self.assertEqual(code, 0, f"{line}\n{said}{errors}")
            if line.endswith("beekonctl start"):
                wait_for(lambda: json.loads(self.machine.output("beekonctl", "status", "--json"))["store"]["locations"],
                         "a location is stored", 60)
        return said

    def test_home_assistant(self):
        broker = Mosquitto(tempfile.mkdtemp(dir=self.folder), new_port(), "allow_anonymous false", "password_file {}/passwords")
        broker.password("van", PASSWORD)
        broker.start()
        self.addCleanup(broker.kill)
        subscriber = Subscriber(broker.port, ("van", PASSWORD))
        self.addCleanup(subscriber.close)
        self.follow("home-assistant.md", **{"192.168.1.5": f"127.0.0.1:{broker.port}"})
        wait_for(lambda: any(topic.endswith("/position") for topic in subscriber.told), "Home Assistant is told where it is", 60)
        self.assertTrue(any(topic.startswith("homeassistant/device_tracker/") for topic in subscriber.told), subscriber.told)

    def test_traccar(self):
        server = ForeignServer(servers.traccar("van1"))
        self.addCleanup(server.stop)
        said = self.follow("traccar.md", **{"https://traccar.example.com": server.origin, "IDENTIFIER": "van1"})
        self.assertIn("traccar", said)
        self.assertTrue(server.points, f"a location has come to the server; it was asked {server.asked}")


if __name__ == "__main__":
    unittest.main()
