"""Small packages with the names, versions and files that releases need, and keys that live as long as a test."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import tempfile

from support.programs import ROOT

RELEASE = os.path.join(ROOT, "etc", "build", "release")
SUITES = {"bookworm": 12, "trixie": 13}
ARCHITECTURES = ("amd64", "arm64")
NAMES = ("beekond", "beekon-sim", "beekon-server")
# Where the machines under test find the repository.
PLACE = "/srv/beekond"


def make_package(folder: str, name: str, version: str, architecture: str):
    with tempfile.TemporaryDirectory() as place:
        tree = pathlib.Path(place)
        tree.chmod(0o755)
        (tree / "DEBIAN").mkdir()
        (tree / "usr/share" / name).mkdir(parents=True)
        (tree / "usr/share" / name / "version").write_text(version + "\n", encoding="ascii")
        (tree / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: {version}\nArchitecture: {architecture}\nDepends: libc6 (>= 2.36)\n"
            "Maintainer: The beekond developers <maintainers@beekond.org>\nSection: net\nPriority: optional\n"
            "Description: stand-in of a test\n", encoding="ascii")
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree,
                        os.path.join(folder, f"{name}_{version}_{architecture}.deb")], check=True, stdout=subprocess.DEVNULL)


def make_packages(folder: str, version: str):
    """As `make deb` and `make server-deb` leave them, for every machine."""
    os.makedirs(folder)
    for name in NAMES:
        for number in SUITES.values():
            for architecture in ARCHITECTURES:
                make_package(folder, name, f"{version}+deb{number}", architecture)


class Keys:
    """Private keys of this test alone."""

    def __init__(self):
        # The path of a socket in it must be short.
        self.home = tempfile.mkdtemp(prefix="keys-", dir="/tmp")
        self.environment = {**os.environ, "GNUPGHOME": self.home}

    def make(self, name: str) -> str:
        """The fingerprint of a new key."""
        self.gpg("--passphrase", "", "--quick-generate-key", f"{name} <{name}@example.org>", "ed25519", "sign", "never")
        lines = self.gpg("--with-colons", "--list-keys", f"{name}@example.org").splitlines()
        return next(line.split(":")[9] for line in lines if line.startswith("fpr:"))

    def gpg(self, *arguments: str) -> str:
        return subprocess.run(["gpg", "--batch", "--quiet", *arguments], env=self.environment, capture_output=True, text=True,
                              check=True).stdout

    def remove(self):
        subprocess.run(["gpgconf", "--kill", "all"], env=self.environment, check=False)
        shutil.rmtree(self.home, ignore_errors=True)


class Releases:
    """Releases of stand-ins in a folder, each made by the program that makes the real ones."""

    def __init__(self, folder: str, keys: Keys):
        self.folder = folder
        self.keys = keys

    def make(self, name: str, version: str, key: str, *options: str, check: bool = True) -> subprocess.CompletedProcess:
        packages = os.path.join(self.folder, f"packages-{version}")
        if not os.path.isdir(packages):
            make_packages(packages, version)
        done = subprocess.run(
            [RELEASE, version, "--rehearsal", "--url", f"file:{PLACE}", "--key", key, "--packages", packages,
             "--out", self.path(name), *options], env=self.keys.environment, capture_output=True, text=True)
        assert not check or done.returncode == 0, done.stderr
        return done

    def path(self, name: str, *below: str) -> str:
        return os.path.join(self.folder, name, *below)
