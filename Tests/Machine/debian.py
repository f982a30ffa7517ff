"""A folder with a Debian with systemd, made once; machines boot copies of it.

Needs root, mmdebstrap and systemd-nspawn, and the first time a Debian mirror. BEEKOND_MACHINES names the folder
where roots are kept (default: .build/machines); BEEKOND_TARGET another architecture and suite than this machine's, as in
`arm64 trixie`. What a root of another architecture runs while it is made is emulated.
"""
from __future__ import annotations

import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

from support.programs import ROOT, program

CROSS = os.path.join(ROOT, "etc", "build", "cross")
# This machine's architecture and suite, and those of the machines under test.
HERE = [*subprocess.run([CROSS, "--here"], capture_output=True, text=True, check=True).stdout.split(), "bookworm"][:2]
ARCHITECTURE, SUITE = TARGET = (os.environ.get("BEEKOND_TARGET") or " ".join(HERE)).split()
IS_FOREIGN = HERE[0] != ARCHITECTURE
KEPT = os.path.abspath(os.environ.get("BEEKOND_MACHINES", os.path.join(ROOT, ".build", "machines")))
PACKAGE_FOLDER = os.path.abspath(os.environ.get("BEEKOND_PACKAGES", os.path.join(ROOT, ".build", "deb")))
BUILD = os.path.dirname(PACKAGE_FOLDER)
# What was compiled for another machine than this.
OTHER_BUILD = os.path.join(BUILD, "cross", f"{SUITE}-{ARCHITECTURE}")
# The brief form, for every change: nothing that takes minutes.
BRIEF = os.environ.get("BEEKOND_BRIEF") == "1"

# A small Debian box and the dependencies of the package; the tests install the package itself.
PACKAGES = ["systemd", "systemd-sysv", "dbus", "udev", "sudo", "procps", "gpsd", "chrony", "ca-certificates",
            *{"bookworm": ("libcurl4", "libgps28"), "trixie": ("libcurl4t64", "libgps30t64")}[SUITE],
            "libsqlite3-0", "libsystemd0", "zlib1g"]
# The kernel for plain virtual hardware, and the one with drivers for every cable; containers need none. Of arm64, Debian 13
# has one with pages of 16 KiB, which a Raspberry Pi 5 has as well.
KERNELS = {"amd64": {"small": "linux-image-cloud-amd64", "whole": "linux-image-amd64"},
           "arm64": {"small": "linux-image-arm64-16k" if SUITE == "trixie" else "linux-image-cloud-arm64"}}[ARCHITECTURE]

# What else may look after the network, with its packages; networkd is there.
NETWORKS = {"ifupdown": ("ifupdown", "isc-dhcp-client"), "NetworkManager": ("network-manager",)}
# What lays an overlay over the root, as raspi-config has it (by a script that wants grep), and what speaks to modems.
# Debian 12 has e2fsprogs anyway.
OVERLAY = ("overlayroot", "busybox", "modemmanager", *{"bookworm": (), "trixie": ("e2fsprogs",)}[SUITE])
# What etc/ansible is carried out with, on the vehicle itself: nobody there has a network.
ANSIBLE = ("ansible-core", "python3-apt")
# What beekon-server needs besides, and what stands in front of it.
OWN_SERVER = ("nginx-light", "libpq5", "libjs-leaflet")
# What building modules of the kernel takes, in a root of its own with the kernel that will load them.
MODULES = ("linux-headers-amd64", "linux-source-6.1", "gcc-12", "make", "xz-utils")
HAS_MODULES = TARGET == ["amd64", "bookworm"]
# What building a kernel for ARM takes, on this machine.
WIDE = ["linux-source-6.1", "gcc-aarch64-linux-gnu", "gcc", "libc6-dev", "make", "flex", "bison", "bc", "xz-utils"]
HAS_WIDE = [*HERE, *TARGET] == ["amd64", "bookworm", "arm64", "bookworm"]

# gpsd that reads datagrams as its receiver, and a simulator that sends them.
FILES = {
    "etc/default/gpsd": 'DEVICES="udp://127.0.0.1:5000"\nGPSD_OPTIONS="-n"\nUSBAUTO="false"\n',
    "etc/systemd/system/receiver.service":
        "[Unit]\nDescription=Simulated receiver\n"
        "[Service]\nExecStart=/usr/local/bin/beekon-sim --udp 127.0.0.1:5000\nRestart=always\n",
    "etc/hostname": "van\n",
    # The journal survives a reboot, as an operator would have it.
    "etc/systemd/journald.conf.d/keep.conf": "[Journal]\nStorage=persistent\nRateLimitIntervalSec=0\n",
}
# Alice may control, Carol may administer, Bob may neither.
USERS = {"alice": "beekon", "bob": None, "carol": "beekon,beekon-admin"}


def takes_minutes(test):
    """A test, or a class of them, that is not there in the brief form."""
    if not BRIEF:
        return test
    return type(test.__name__, (), {}) if isinstance(test, type) else None


def missing() -> str | None:
    """Why no machine can run here; None if one can."""
    if os.geteuid() != 0:
        return "needs root, to boot containers"
    for tool, home in (("mmdebstrap", "mmdebstrap"), ("systemd-nspawn", "systemd-container")):
        if not shutil.which(tool):
            return f"{tool} is not installed (Debian's package {home})"
    if not packages():
        return f"no package for {' '.join(TARGET)} in {PACKAGE_FOLDER}: run 'make deb'"
    return None


def packages() -> list:
    """The package under test; empty if none was built."""
    suffix = subprocess.run([CROSS, "--suffix", SUITE], capture_output=True, text=True, check=True).stdout.strip()
    return glob.glob(os.path.join(PACKAGE_FOLDER, f"beekond_*{suffix}_{ARCHITECTURE}.deb"))


def package() -> str:
    """The package under test; `missing` checks that there is one."""
    return packages()[0]


def root(kernel: str = "small", extra: tuple = ()) -> str:
    """The folder of a Debian with systemd, which is made if there is none yet."""
    return made([*PACKAGES, KERNELS[kernel], *extra])


def made(packages: list, target: list = TARGET) -> str:
    """The folder of a Debian with these packages, which is made if there is none yet."""
    architecture, suite = target
    included = ",".join(packages)
    name = included if target == ["amd64", "bookworm"] else " ".join([*target, included])
    path = os.path.join(KEPT, "root-" + hashlib.sha256(name.encode()).hexdigest()[:12])
    if not os.path.isdir(path):
        os.makedirs(KEPT, exist_ok=True)
        fresh = tempfile.mkdtemp(dir=KEPT)
        # This machine's own mirror.
        told = subprocess.run([CROSS, "--sources", suite], capture_output=True, text=True, check=True).stdout
        is_foreign = HERE[0] != architecture
        try:
            with tempfile.NamedTemporaryFile("w", suffix=".sources" if "URIs:" in told else ".list") as sources:
                sources.write(told)
                sources.flush()
                subprocess.run(
                    [*emulated(target), "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase",
                     '--aptopt=Apt::Install-Recommends "false"', f"--architectures={architecture}",
                     *(["--skip=check/qemu"] if is_foreign else []), f"--include={included}", suite, fresh, sources.name],
                    check=True, timeout=3600 if is_foreign else 900)
        except (OSError, subprocess.SubprocessError):
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        os.rename(fresh, path)
    return path


def overlay(below: str, folder: str) -> str:
    """A cheap copy of a root, to be unmounted: what is written to it goes into `folder`."""
    path, upper, work = (os.path.join(folder, name) for name in ("root", "upper", "work"))
    for directory in (path, upper, work):
        os.makedirs(directory)
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", f"lowerdir={below},upperdir={upper},workdir={work}", path],
                   check=True)
    return path


def emulated(target: list = TARGET) -> list:
    """The words before a command that runs programs of the machine's architecture."""
    return [CROSS, *target, "--emulated", "--"] if HERE[0] != target[0] else []


def own(name: str) -> str:
    """One of our programs as the machine has it."""
    return program(name) if TARGET == HERE else os.path.join(OTHER_BUILD, "release", name)


class Layer:
    """A cheap copy of a root, with what all machines have in common."""

    def __init__(self, folder: str, kernel: str = "small", extra: tuple = ()):
        self.path = overlay(root(kernel, extra), folder)
        for name, text in FILES.items():
            self.write(name, text)
        shutil.copy(own("beekon-sim"), self.path + "/usr/local/bin")

    def write(self, name: str, text: str, mode: int = 0o644):
        path = os.path.join(self.path, name.lstrip("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def read(self, name: str) -> str:
        with open(os.path.join(self.path, name.lstrip("/")), encoding="utf-8") as file:
            return file.read()

    def remove(self):
        subprocess.run(["umount", "--lazy", self.path], check=False)


def prepare():
    """Makes the roots for this run's machines while there is a network. Exits with the reason if it cannot."""
    reason = missing()
    if reason:
        sys.exit(f"machines: {reason}")
    for kernel in ["small"] if BRIEF else KERNELS:
        root(kernel)
    if not BRIEF and not IS_FOREIGN:
        for more in (*NETWORKS.values(), OVERLAY, ANSIBLE, OWN_SERVER):
            root("small", more)
    if not BRIEF and HAS_MODULES:
        root("whole", MODULES)
    if not BRIEF and HAS_WIDE:
        made(WIDE, HERE)


if __name__ == "__main__":
    try:
        prepare()
    except (OSError, subprocess.SubprocessError) as error:
        sys.exit(f"machines: {error}")
