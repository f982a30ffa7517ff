"""What `make release` makes: complete, the same each time, and what apt of both suites installs, upgrades and refuses."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import debian
from standins import ARCHITECTURES, NAMES, PLACE, RELEASE, SUITES, Keys, Releases
from support.programs import ROOT
from support.text import match

KEYRING = "beekond-archive-keyring"
# What the machines under test begin as. They run programs of this machine's architecture.
BASE = ["ca-certificates", "curl"]
DOCUMENT = os.path.join(ROOT, "docs", "installing.md")

keys: Keys
releases: Releases
first: str
second: str
stranger: str


def setUpModule():
    """Two releases, of which the second announces the key of the third, and one of somebody else."""
    global keys, releases, first, second, stranger
    folder = tempfile.mkdtemp(prefix="beekond-release-")
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    keys = Keys()
    unittest.addModuleCleanup(keys.remove)
    releases = Releases(folder, keys)
    first, second, stranger = (keys.make(name) for name in ("first", "second", "stranger"))
    releases.make("1", "0.1.0", first)
    releases.make("2", "0.2.0", first, "--also-key", second)
    releases.make("3", "0.3.0", second)
    releases.make("foreign", "0.9.0", stranger)


class FilesTest(unittest.TestCase):
    def test_everything_is_there_and_the_sums_hold(self):
        packages = {f"{name}_0.1.0+deb{number}_{architecture}.deb"
                    for name in NAMES for number in SUITES.values() for architecture in ARCHITECTURES}
        files = {*packages, f"{KEYRING}_0.1.0_all.deb", "beekond-0.1.0.tar.xz", "beekond-0.1.0.spdx.json", "RELEASE-NOTES.md"}
        self.assertEqual(set(os.listdir(releases.path("1"))), {*files, "repository", "SHA256SUMS", "SHA256SUMS.asc"})
        with open(releases.path("1", "SHA256SUMS"), encoding="ascii") as file:
            self.assertEqual({line.split()[1] for line in file}, files)
        subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=releases.path("1"), check=True)
        keys.gpg("--verify", releases.path("1", "SHA256SUMS.asc"), releases.path("1", "SHA256SUMS"))

    def test_the_source_is_what_was_committed(self):
        tracked = subprocess.run(["git", "ls-tree", "-r", "--name-only", "HEAD"], cwd=ROOT, capture_output=True, text=True,
                                 check=True).stdout.split("\n")
        with tarfile.open(releases.path("1", "beekond-0.1.0.tar.xz")) as archive:
            held = {member.name.removeprefix("beekond-0.1.0/") for member in archive if not member.isdir()}
        self.assertEqual(set(filter(None, tracked)) - held, set())
        self.assertLessEqual(held - set(tracked), {"Package.resolved", "server/Package.resolved"})

    def test_what_it_is_made_of(self):
        with open(releases.path("1", "beekond-0.1.0.spdx.json"), encoding="utf-8") as file:
            bill = json.load(file)
        named = {package["SPDXID"]: package for package in bill["packages"]}
        described = {relation["relatedSpdxElement"] for relation in bill["relationships"]
                     if relation["relationshipType"] == "DESCRIBES"}
        self.assertEqual(len(described), 14, "twelve packages, the keyring and the source")
        for spdx in described:
            path = releases.path("1", named[spdx]["packageFileName"])
            told = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout.split()[0]
            self.assertEqual(named[spdx]["checksums"], [{"algorithm": "SHA256", "checksumValue": told}])
        with open(os.path.join(ROOT, "server", "Package.resolved"), encoding="utf-8") as resolved:
            swift = {(pin["identity"], pin["state"]["version"]) for pin in json.load(resolved)["pins"]}
        held = {(package["name"], package.get("versionInfo")) for package in bill["packages"]}
        self.assertLessEqual(swift, held)
        self.assertIn(("libc6", None), held, "what the packages depend on")

    def test_the_same_sources_make_the_same_files(self):
        releases.make("again", "0.1.0", first)
        for name in os.listdir(releases.path("1")):
            if name in ("repository", "SHA256SUMS.asc"):
                continue
            with open(releases.path("1", name), "rb") as one, open(releases.path("again", name), "rb") as other:
                self.assertEqual(one.read(), other.read(), name)

    def test_an_index_has_no_end(self):
        for suite in SUITES:
            with open(releases.path("1", "repository", "dists", suite, "Release"), encoding="utf-8") as file:
                text = file.read()
            self.assertNotIn("Valid-Until", text)
            self.assertIn("Architectures: amd64 arm64\n", text)
            for architecture in ARCHITECTURES:
                index = releases.path("1", "repository", "dists", suite, "main", f"binary-{architecture}", "Packages")
                with open(index, encoding="utf-8") as file:
                    held = re.findall(r"^Package: (\S+)\n(?:.*\n)*?Version: (\S+)", file.read(), re.M)
                self.assertEqual(set(held), {*((name, f"0.1.0+deb{SUITES[suite]}") for name in NAMES), (KEYRING, "0.1.0")})

    def test_the_next_suite_upgrades(self):
        order = ["0.1.0+deb12", "0.1.0+deb13", "0.2.0+deb12", "0.2.0+deb13"]
        for older, newer in zip(order, order[1:], strict=False):
            subprocess.run(["dpkg", "--compare-versions", older, "lt", newer], check=True)

    def test_what_is_no_release_is_refused(self):
        cases: dict = {
            "no key here signs like that": (("0.1.0", "0" * 40), ()),
            "0.1 is no version": (("0.1", first), ()),
            "no address": (("0.1.0", first), ("--url", "ftp://x")),
            "lacks": (("0.1.0", first), ("--packages", releases.folder)),
        }
        for what, ((version, key), options) in cases.items():
            with self.subTest(what):
                done = releases.make("refused", version, key, *options, check=False)
                self.assertEqual(done.returncode, 69)
                if what != "no key here signs like that":
                    self.assertIn(what, done.stderr)
                self.assertFalse(os.path.exists(releases.path("refused")))
        done = releases.make("1", "0.1.0", first, check=False)
        self.assertEqual(done.returncode, 69, "a release is made once")
        self.assertIn("is there already", done.stderr)
        left = [name for name in os.listdir(releases.folder) if name.startswith(".release-")]
        self.assertEqual(left, [], "nothing half made is left")

    def test_only_a_rehearsal_takes_what_is_not_released(self):
        done = subprocess.run([RELEASE, "99.0.0", "--url", f"file:{PLACE}", "--key", first, "--packages", releases.folder,
                               "--out", releases.path("refused")], env=keys.environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 69)
        self.assertIn("not 99.0.0", done.stderr)


class Machine:
    """A Debian of a suite, whose apt knows the repository and nothing else."""

    def __init__(self, suite: str, folder: str):
        self.suite = suite
        self.path = debian.overlay(debian.made(BASE, [debian.HERE[0], suite]), folder)
        self.repository = os.path.join(folder, "repository")
        for name in ("etc/apt/sources.list", "etc/apt/sources.list.d"):
            path = os.path.join(self.path, name)
            if os.path.isdir(path):
                shutil.rmtree(path)
                os.mkdir(path)
            elif os.path.exists(path):
                os.remove(path)
        os.makedirs(self.path + PLACE)

    def publish(self, name: str):
        """Puts a release where apt looks."""
        shutil.rmtree(self.repository, ignore_errors=True)
        shutil.copytree(releases.path(name, "repository"), self.repository)

    def trust(self):
        """The key and the .sources, which the operator puts there once."""
        for name, place in ((f"{KEYRING}.gpg", "usr/share/keyrings"),
                            (f"beekond-{self.suite}.sources", "etc/apt/sources.list.d")):
            os.makedirs(os.path.join(self.path, place), exist_ok=True)
            shutil.copy(os.path.join(self.repository, name), os.path.join(self.path, place))

    def run(self, *command: str) -> tuple:
        done = subprocess.run(
            ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--pipe", "--resolv-conf=off", "--timezone=off",
             f"--bind-ro={self.repository}:{PLACE}", "--setenv=DEBIAN_FRONTEND=noninteractive", "-D", self.path, *command],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
        return done.returncode, done.stdout, done.stderr

    def apt(self, *arguments: str) -> tuple:
        """The exit code, and all that it says."""
        status, said, errors = self.run("apt-get", "-y", "-o", "Dpkg::Use-Pty=0", *arguments)
        return status, said + errors

    def installed(self, name: str) -> str:
        return self.run("dpkg-query", "--show", "--showformat=${Version}", name)[1]

    def remove(self):
        subprocess.run(["umount", "--lazy", self.path], check=False)


class AptTest(unittest.TestCase):
    def machine(self, suite: str, is_trusted: bool = True) -> Machine:
        folder = tempfile.mkdtemp(dir=releases.folder)
        machine = Machine(suite, folder)
        self.addCleanup(machine.remove)
        machine.publish("1")
        if is_trusted:
            machine.trust()
        return machine

    def succeed(self, answer: tuple):
        self.assertEqual(answer[0], 0, answer[1])

    def refuse(self, machine: Machine, *reasons: str):
        """apt tells why, and installs nothing of it."""
        status, said = machine.apt("--error-on=any", "update")
        self.assertNotEqual(status, 0, said)
        self.assertRegex(said, "|".join(reasons))
        self.assertNotEqual(machine.apt("install", "beekond")[0], 0)
        self.assertNotIn("+deb", machine.installed("beekond"))

    def test_the_commands_of_the_document(self):
        """Word for word, but for the address, and without sudo, as root."""
        with open(DOCUMENT, encoding="utf-8") as file:
            block = match(r"## From a repository\n.*?```sh\n(.*?)```", file.read(), re.S)[1]
        commands = re.sub(r"^url=.*$", f"url=file://{PLACE}", block, flags=re.M)
        commands = commands.replace("sudo ", "").replace("apt ", "apt-get -y ")
        for suite, number in SUITES.items():
            with self.subTest(suite):
                machine = self.machine(suite, is_trusted=False)
                status, said, errors = machine.run("sh", "-e", "-c", commands)
                self.assertEqual(status, 0, said + errors)
                self.assertEqual(machine.installed("beekond"), f"0.1.0+deb{number}")
                self.assertEqual(machine.installed(KEYRING), "0.1.0")

    def test_install_and_upgrade(self):
        for suite, number in SUITES.items():
            with self.subTest(suite):
                machine = self.machine(suite)
                self.succeed(machine.apt("--error-on=any", "update"))
                self.succeed(machine.apt("install", KEYRING, *NAMES))
                for name in NAMES:
                    self.assertEqual(machine.installed(name), f"0.1.0+deb{number}")
                machine.publish("2")
                self.succeed(machine.apt("--error-on=any", "update"))
                self.succeed(machine.apt("upgrade"))
                for name in NAMES:
                    self.assertEqual(machine.installed(name), f"0.2.0+deb{number}")
                # The key of the third release came with the second.
                machine.publish("3")
                self.succeed(machine.apt("--error-on=any", "update"))
                self.succeed(machine.apt("upgrade"))
                self.assertEqual(machine.installed("beekond"), f"0.3.0+deb{number}")
                self.assertEqual(machine.run("dpkg", "--verify", *NAMES, KEYRING)[:2], (0, ""))

    def test_whoever_missed_the_new_key_is_told(self):
        for suite in SUITES:
            with self.subTest(suite):
                machine = self.machine(suite)
                machine.publish("3")
                self.refuse(machine, "NO_PUBKEY", "Missing key", "not signed")

    def test_an_index_without_a_signature_is_refused(self):
        for suite in SUITES:
            with self.subTest(suite):
                machine = self.machine(suite)
                for name in ("InRelease", "Release.gpg"):
                    os.remove(os.path.join(machine.repository, "dists", suite, name))
                self.refuse(machine, "is not signed")

    def test_an_index_that_somebody_has_changed_is_refused(self):
        for suite in SUITES:
            with self.subTest(suite):
                machine = self.machine(suite)
                self.change(machine, f"dists/{suite}/InRelease", b"Codename: ", b"Codename:  ")
                os.remove(os.path.join(machine.repository, "dists", suite, "Release.gpg"))
                self.refuse(machine, "BADSIG", "Signature.*(invalid|incorrect)", "not signed", "Message has been manipulated",
                            "bad signature", "invalid signature")

    def test_a_list_that_somebody_has_changed_is_refused(self):
        for suite in SUITES:
            with self.subTest(suite):
                machine = self.machine(suite)
                folder = f"dists/{suite}/main/binary-{debian.HERE[0]}"
                self.change(machine, f"{folder}/Packages", b"stand-in", b"standing")
                os.remove(os.path.join(machine.repository, folder, "Packages.gz"))
                self.refuse(machine, "Hash Sum mismatch", "unexpected size")

    def test_a_package_that_somebody_has_changed_is_refused(self):
        for suite, number in SUITES.items():
            with self.subTest(suite):
                machine = self.machine(suite)
                self.succeed(machine.apt("--error-on=any", "update"))
                name = f"pool/main/b/beekond/beekond_0.1.0+deb{number}_{debian.HERE[0]}.deb"
                path = os.path.join(machine.repository, name)
                with open(path, "r+b") as file:
                    file.seek(-1, os.SEEK_END)
                    last = file.read(1)[0]
                    file.seek(-1, os.SEEK_END)
                    file.write(bytes([last ^ 1]))
                status, said = machine.apt("install", "beekond")
                self.assertNotEqual(status, 0)
                self.assertRegex(said, "Hash Sum mismatch")
                self.assertNotIn("+deb", machine.installed("beekond"))

    def test_the_repository_of_somebody_else_is_refused(self):
        for suite in SUITES:
            with self.subTest(suite):
                machine = self.machine(suite)
                machine.publish("foreign")
                self.refuse(machine, "NO_PUBKEY", "Missing key", "not signed")

    def change(self, machine: Machine, name: str, old: bytes, new: bytes):
        path = os.path.join(machine.repository, name)
        with open(path, "rb") as file:
            content = file.read()
        self.assertIn(old, content)
        with open(path, "wb") as file:
            file.write(content.replace(old, new))


if __name__ == "__main__":
    unittest.main(verbosity=2)
