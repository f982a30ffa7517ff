"""docs/own-server.md: each command of its list, verbatim and in its order, with the block for nginx of docs/server.md, on one box
that is the server and the first van."""
from __future__ import annotations

import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import textwrap
import unittest

import container
import debian
from service import need_machines
from support import tls
from support.programs import ROOT
from support.text import match
from support.waiting import wait_for

DOCS = os.path.join(ROOT, "docs")
SITE = "fleet.example.org"
PASSWORD = "a long passphrase"
CERTIFICATE = f"/etc/letsencrypt/live/{SITE}"


def server_package() -> str | None:
    suffix = subprocess.run([debian.CROSS, "--suffix", debian.SUITE], capture_output=True, text=True, check=True).stdout.strip()
    found = glob.glob(os.path.join(ROOT, "server", ".build", "deb", f"beekon-server_*{suffix}_{debian.ARCHITECTURE}.deb"))
    return found[0] if found else None


def setUpModule():
    need_machines()
    if not server_package():
        raise AssertionError(f"no package of beekon-server for {' '.join(debian.TARGET)}: run 'make server-deb'")


def load_tests(_loader, tests, _pattern):
    """In the brief form there are none: the server's release takes long to build."""
    return unittest.TestSuite() if debian.BRIEF else tests


def read(name: str) -> str:
    with open(os.path.join(DOCS, name), encoding="utf-8") as file:
        return file.read()


def commands() -> list:
    """Those of the list, without comments."""
    blocks = re.findall(r"^ {3}```\n(.*?)^ {3}```$", read("own-server.md").split("\n## ")[0], re.S | re.M)
    return [re.sub(r"\s+# .*$", "", line) for block in blocks for line in textwrap.dedent(block).splitlines()]


@debian.takes_minutes
@tls.needs_openssl
class DocumentTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="beekond-machine-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.machine = container.Container(self.folder, debian.OWN_SERVER)
        self.addCleanup(self.machine.stop)
        self.machine.write("/etc/hosts", f"127.0.0.1 localhost van {SITE}\n")
        self.machine.boot()
        self.machine.install(debian.package())
        self.machine.install(server_package() or "")
        self.machine.run("systemctl", "start", "receiver")
        self.serve()

    def serve(self):
        """nginx with the block of the document, and a certificate that the box trusts."""
        authority = tls.Authority(os.path.join(self.folder, "ca"))
        for made, name in zip(authority.certificate("fleet", names=f"DNS:{SITE}"), ("fullchain.pem", "privkey.pem"), strict=True):
            with open(made, encoding="ascii") as file:
                self.machine.write(f"{CERTIFICATE}/{name}", file.read())
        with open(authority.ca, encoding="ascii") as file:
            self.machine.write("/usr/local/share/ca-certificates/test.crt", file.read())
        self.machine.run("update-ca-certificates")
        self.machine.write("/etc/nginx/conf.d/fleet.conf", match(r"```\n(upstream fleet .*?)```", read("server.md"), re.S)[1])
        self.machine.run("systemctl", "restart", "nginx")

    def carry_out(self, line: str) -> str:
        # doctor says what is left to do, and exits with 1 for it.
        allowed = {0, 1} if "doctor" in line else {0}
        code, said, errors = self.machine.run("sh", "-c", line, check=False, seconds=120, stdin=PASSWORD + "\n")
        print(f"\n$ {line}\n{said}{errors}", flush=True)
        self.assertIn(code, allowed, f"{line}: exit {code}\n{said}{errors}")
        return said

    def test_every_command_of_the_list(self):
        lines = commands()
        self.assertGreater(len(lines), 7)
        wait_for(lambda: self.machine.run("beekon-server", "health", check=False)[0] == 0, "the package starts the server", 60)
        said: dict = {}
        for line in lines:
            code = next((said[earlier].strip() for earlier in said if "claim add" in earlier), "CODE")
            said[line] = self.carry_out(line.replace(" CODE ", f" {code} "))
        self.assertEqual(said["sudo -u beekon-server beekon-server health"], "ready: 127.0.0.1:8080\n")
        token = said["sudo -u beekon-server beekon-server user add ada --role admin"].strip()
        wait_for(lambda: json.loads(self.machine.output("beekonctl", "status", "--json"))["store"]["locations"],
                 "a location is stored", 60)
        self.machine.run("beekonctl", "sync", seconds=60)
        van = json.loads(self.ask("/v1/devices", token))["devices"][0]
        self.assertEqual(van["name"], "van-1")
        self.assertTrue(json.loads(self.ask(f"/v1/devices/{van['id']}/locations", token))["locations"], "it is on the map")
        # What the text asks for besides.
        self.assertRegex(self.carry_out("sudo -u beekon-server beekon-server claim add --uses 49 --days 7"), r"\w{5}-\w{5}")
        self.carry_out("sudo -u beekon-server beekon-server backup /var/lib/beekon-server/backup.db")

    def ask(self, path: str, token: str) -> str:
        """Through nginx, whose certificate is checked."""
        trust = ["--cacert", os.path.join(self.folder, "ca", "ca.pem"), "--resolve", f"{SITE}:443:127.0.0.1"]
        done = subprocess.run(
            ["curl", "--silent", "--show-error", "--fail", "--max-time", "20", *trust, "--header",
             f"Authorization: Bearer {token}", f"https://{SITE}{path}"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout


if __name__ == "__main__":
    unittest.main()
