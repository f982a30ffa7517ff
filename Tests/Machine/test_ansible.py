"""etc/ansible on a box that has never seen beekond: it installs, enrols and tracks; the second time nothing is left to do."""
from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import container
import debian
from service import need_machines
from support.post_server import PostServer
from support.programs import ROOT
from support.text import match
from support.waiting import wait_for

FOLDER = os.path.join(ROOT, "etc", "ansible")
CODE = "H0QM0-WV8DT-X0A5K-WBSQM"
SETTINGS = {"tracking": {"interval_seconds": 1, "distance_meters": 0.01, "stationary_mode": "keep_tracking"},
            "display": {"units": "nautical"}}


def setUpModule():
    need_machines()


class Fleet(PostServer):
    """A beekon-server, as far as enrolment and uploads go."""

    def __init__(self):
        self.names: list = []
        self.stored = 0
        super().__init__()

    def take(self, query: dict, body: bytes) -> tuple[int, bytes]:
        root = json.loads(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
        if "code" in root:
            if root["code"] != CODE:
                return 403, b'{"detail":"The code does not exist, has expired, or is used up."}'
            self.names.append(root["name"])
            return 201, json.dumps({"id": 1, "access_token": "bka.1.first", "refresh_token": "bkr.1.first",
                                    "expires_at": "2099-01-01T00:00:00Z"}).encode()
        self.stored += len(root["locations"])
        return 200, json.dumps({"batch_id": root["batch_id"], "stored": len(root["locations"])}).encode()


class Repository:
    """A signed one, as far as apt looks at it; what `make release` makes is tested by `make release-test`."""

    KEYRING = "beekond-archive-keyring"

    def __init__(self, path: str, folder: str):
        self.path = path
        # The path of a socket in it must be short.
        self.home = tempfile.mkdtemp(prefix="keys-", dir="/tmp")
        self.gpg("--passphrase", "", "--quick-generate-key", "test <test@example.org>", "ed25519", "sign", "never")
        self.key = os.path.join(path, self.KEYRING + ".gpg")
        pool = os.path.join(path, "pool")
        os.makedirs(pool)
        self.gpg("--output", self.key, "--export")
        shutil.copy(debian.package(), pool)
        self.pack(os.path.join(folder, "keyring"), pool)
        index = f"main/binary-{debian.ARCHITECTURE}/Packages"
        listed = subprocess.run(["dpkg-scanpackages", "--multiversion", "pool"], cwd=path, capture_output=True, check=True).stdout
        place = os.path.join(path, "dists", debian.SUITE)
        os.makedirs(os.path.join(place, os.path.dirname(index)))
        with open(os.path.join(place, index), "wb") as file:
            file.write(listed)
        text = (f"Suite: {debian.SUITE}\nCodename: {debian.SUITE}\nComponents: main\nArchitectures: {debian.ARCHITECTURE}\n"
                "Date: Sat, 28 Nov 2026 00:00:00 UTC\n"
                f"SHA256:\n {hashlib.sha256(listed).hexdigest()} {len(listed)} {index}\n")
        self.gpg("--output", os.path.join(place, "InRelease"), "--clearsign", text=text)

    def pack(self, tree: str, pool: str):
        """The package with the key."""
        for name in ("DEBIAN", "usr/share/keyrings"):
            os.makedirs(os.path.join(tree, name))
        with open(os.path.join(tree, "DEBIAN/control"), "w", encoding="ascii") as file:
            file.write(f"Package: {self.KEYRING}\nVersion: 1\nArchitecture: all\nMaintainer: test\nDescription: key\n")
        shutil.copy(self.key, os.path.join(tree, "usr/share/keyrings"))
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, pool], check=True, stdout=subprocess.DEVNULL)

    def gpg(self, *arguments: str, text: str = ""):
        subprocess.run(["gpg", "--batch", "--quiet", *arguments], env={**os.environ, "GNUPGHOME": self.home}, input=text,
                       text=True, check=True)

    def forget(self):
        subprocess.run(["gpgconf", "--kill", "all"], env={**os.environ, "GNUPGHOME": self.home}, check=False)
        shutil.rmtree(self.home, ignore_errors=True)


@debian.takes_minutes
class RoleTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="beekond-machine-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.fleet = Fleet()
        self.addCleanup(self.fleet.stop)
        self.machine = container.Container(self.folder, debian.ANSIBLE)
        self.addCleanup(self.machine.stop)
        self.machine.write("/etc/default/gpsd", 'DEVICES=""\nGPSD_OPTIONS="-n"\nUSBAUTO="false"\n')
        shutil.copytree(FOLDER, self.machine.path + "/root/ansible")
        self.machine.boot()

    def play(self, check: bool = True, **variables: object) -> tuple:
        """How many tasks did what, by kind, and all that was said."""
        package = debian.package()
        shutil.copy(package, self.machine.path + "/root")
        settings = {
            "ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3",
            "beekond_package": "/root/" + os.path.basename(package), "beekond_gpsd_devices": ["udp://127.0.0.1:5000"],
            "beekond_settings": SETTINGS, "beekond_enroll_url": self.fleet.url.rstrip("/"), "beekond_enroll_code": CODE,
            **variables}
        self.machine.write("/root/ansible/test.ini", "[vehicles]\nvan-7\n")
        _, said, errors = self.machine.run(
            "env", "HOME=/root", "ANSIBLE_LOCALHOST_WARNING=false", "ANSIBLE_ROLES_PATH=/root/ansible/roles", "ansible-playbook",
            "-i", "/root/ansible/test.ini", "--extra-vars", json.dumps(settings), "/root/ansible/vehicles.yml",
            check=False, seconds=300)
        print(f"\n{said}{errors}", flush=True)
        counts = dict(re.findall(r"(\w+)=(\d+)", match(r"van-7 +: (.*)", said)[1]))
        if check:
            self.assertEqual((counts["failed"], counts["unreachable"]), ("0", "0"), said + errors)
        return {name: int(count) for name, count in counts.items()}, said + errors

    def state(self) -> dict:
        return json.loads(self.machine.output("beekonctl", "status", "--json"))

    def test_the_first_time_all_is_done_and_the_second_time_nothing(self):
        counts, said = self.play()
        self.assertGreater(counts["changed"], 5)
        self.assertNotIn(CODE, said)
        self.assertEqual(self.fleet.names, ["van-7"])
        self.assertEqual(self.state()["state"], "tracking")
        self.assertEqual(self.machine.output("systemctl", "is-enabled", "beekond").strip(), "enabled")
        self.assertEqual(self.machine.output("stat", "-c", "%U:%G %a", "/etc/beekond/beekond.d/10-ansible.toml").strip(),
                         "root:beekond 640")
        self.assertIn("nautical", self.machine.output("beekonctl", "config", "show"))
        self.assertNotIn(CODE, self.machine.output("journalctl", "--no-pager"), "whoever reads the log cannot enrol with it")
        # gpsd listens where the role has told it to.
        self.machine.run("systemctl", "start", "receiver")
        wait_for(lambda: self.state()["store"]["locations"], lambda: f"a location is stored; {self.state()}", 60)
        self.machine.run("beekonctl", "sync", seconds=120)
        self.assertGreater(self.fleet.stored, 0)

        counts, said = self.play()
        self.assertEqual(counts["changed"], 0, said)
        self.assertEqual(self.fleet.names, ["van-7"], "it did not enrol again")

        # What somebody has stopped stays so; a setting that is changed takes effect at once.
        self.machine.run("beekonctl", "stop")
        counts, said = self.play(beekond_settings={**SETTINGS, "display": {"units": "metric"}})
        self.assertEqual(counts["changed"], 2, said)
        self.assertEqual(self.state()["state"], "stopped")
        self.assertNotIn("nautical", self.machine.output("beekonctl", "config", "show"))

        # A mistake is told, and what was there before stays.
        counts, said = self.play(check=False, beekond_settings={"tracking": {"intervall_seconds": 3}})
        self.assertEqual(counts["failed"], 1)
        self.assertIn("intervall_seconds", said)
        self.assertIn("units", self.machine.read("/etc/beekond/beekond.d/10-ansible.toml"))

    def test_a_code_that_is_refused_is_told(self):
        counts, said = self.play(check=False, beekond_enroll_code="XXXXX-XXXXX-XXXXX-XXXXX")
        self.assertEqual(counts["failed"], 1)
        self.assertIn("the server does not take this code", said)
        self.assertNotIn("XXXXX-XXXXX", said)
        counts, _ = self.play()
        self.assertEqual(self.fleet.names, ["van-7"], "then it goes on with a good one")

    def test_from_a_repository(self):
        repository = Repository(self.machine.path + "/srv/repository", self.folder)
        self.addCleanup(repository.forget)
        # Debian's own cannot be reached from here.
        self.machine.run("sh", "-c", "rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*")
        variables: dict = {"beekond_package": "", "beekond_repository": "file:///srv/repository"}
        # A key that is not the one which signs: apt has nothing to do with it.
        key = "/usr/share/keyrings/beekond-archive-keyring.gpg"
        shutil.copy("/usr/share/keyrings/debian-archive-keyring.gpg", self.machine.path + key)
        counts, said = self.play(check=False, **variables)
        self.assertEqual(counts["failed"], 1)
        self.assertNotIn("beekonctl", self.machine.output("ls", "/usr/bin"))
        self.machine.run("rm", key)

        counts, _ = self.play(**variables)
        self.assertEqual(self.fleet.names, ["van-7"])
        self.assertIn("beekond.sources", self.machine.output("ls", "/etc/apt/sources.list.d"))
        self.assertEqual(self.machine.output("stat", "-c", "%s", key).strip(), str(os.path.getsize(repository.key)))
        self.assertEqual(self.state()["state"], "tracking")
        counts, said = self.play(**variables)
        self.assertEqual(counts["changed"], 0, said)


if __name__ == "__main__":
    unittest.main()
