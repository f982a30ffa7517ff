"""A Debian with systemd as a folder, made once, and containers that boot copies of it.

Needs root, mmdebstrap and systemd-nspawn, and a mirror of Debian at the first time. BEEKOND_MACHINES names the folder
where roots are kept (default: .build/machines).
"""
from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile

from harness import ROOT, Child, wait_for

KEPT = os.path.abspath(os.environ.get("BEEKOND_MACHINES", os.path.join(ROOT, ".build", "machines")))
PACKAGE_FOLDER = os.path.abspath(os.environ.get("BEEKOND_PACKAGES", os.path.join(ROOT, ".build", "deb")))

# What a small Debian box has, and what the package wants; the package itself is installed by the tests.
PACKAGES = "systemd systemd-sysv dbus gpsd libcurl4 libgps28 libsqlite3-0 libsystemd0 zlib1g procps".split()

# gpsd with datagrams for its receiver, and somebody who sends some.
FILES = {
    "etc/default/gpsd": 'DEVICES="udp://127.0.0.1:5000"\nGPSD_OPTIONS="-n"\nUSBAUTO="false"\n',
    "etc/systemd/system/receiver.service":
        "[Unit]\nDescription=Simulated receiver\n[Service]\nExecStart=/usr/bin/beekon-sim --udp 127.0.0.1:5000\nRestart=always\n",
    "etc/hostname": "van\n",
    # The journal as an operator finds it, also after a boot.
    "etc/systemd/journald.conf.d/keep.conf": "[Journal]\nStorage=persistent\nRateLimitIntervalSec=0\n",
}
# Alice may control, Carol may administer, Bob may neither.
USERS = {"alice": "beekon", "bob": None, "carol": "beekon,beekon-admin"}


def missing() -> str | None:
    """Why no machine can be had here; None when one can."""
    if os.geteuid() != 0:
        return "needs root, to boot containers"
    for tool, home in (("mmdebstrap", "mmdebstrap"), ("systemd-nspawn", "systemd-container")):
        if not shutil.which(tool):
            return f"{tool} is not installed (Debian's package {home})"
    if not package():
        return f"no package in {PACKAGE_FOLDER}: run 'make deb'"
    return None


def package() -> str | None:
    """The package under test."""
    found = [name for name in os.listdir(PACKAGE_FOLDER) if name.endswith(".deb")] if os.path.isdir(PACKAGE_FOLDER) else []
    return os.path.join(PACKAGE_FOLDER, found[0]) if found else None


def root(more: tuple = ()) -> str:
    """A Debian with these packages; made if there is none yet."""
    packages = ",".join([*PACKAGES, *more])
    path = os.path.join(KEPT, "root-" + hashlib.sha256(packages.encode()).hexdigest()[:12])
    if not os.path.isdir(path):
        os.makedirs(KEPT, exist_ok=True)
        fresh = tempfile.mkdtemp(dir=KEPT)
        # The mirror is the one of this machine.
        sources = [name for name in ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
                   if os.path.exists(name) and os.path.getsize(name)][:1]
        subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase", '--aptopt=Apt::Install-Recommends "false"',
             f"--include={packages}", "bookworm", fresh, *sources], check=True, timeout=900)
        os.rename(fresh, path)
    return path


class Container:
    """One machine: it keeps what is written to it until the test ends, over reboots and crashes."""

    def __init__(self, folder: str, more: tuple = ()):
        self.folder = folder
        self.path = os.path.join(folder, "root")
        upper, work = os.path.join(folder, "upper"), os.path.join(folder, "work")
        for directory in (self.path, upper, work):
            os.makedirs(directory)
        self._mount(["-t", "overlay", "overlay", "-o", f"lowerdir={root(more)},upperdir={upper},workdir={work}", self.path])
        for name, text in FILES.items():
            self.write(name, text)
        self.boots = 0
        self.nspawn = None

    @staticmethod
    def _mount(arguments: list):
        subprocess.run(["mount", *arguments], check=True)

    def write(self, name: str, text: str, mode: int = 0o644):
        path = os.path.join(self.path, name.lstrip("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def read(self, name: str) -> str:
        with open(os.path.join(self.path, name.lstrip("/")), encoding="utf-8") as file:
            return file.read()

    def boot(self) -> "Container":
        self.boots += 1
        log = os.path.join(self.folder, f"boot-{self.boots}.log")
        self.nspawn = Child(
            ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--machine=van", "--console=pipe",
             "--resolv-conf=off", "--timezone=off", "-D", self.path, "-b"], log)
        wait_for(self._leader, lambda: f"the machine boots; it said:\n{self.nspawn.text()}", 60)
        wait_for(lambda: self.run("systemctl", "is-system-running", check=False)[1].strip() in ("running", "degraded"),
                 lambda: f"the machine is up; {self.run('systemctl', 'list-jobs', check=False)}", 120)
        return self

    def _leader(self) -> int | None:
        """The process that is number 1 inside, seen from outside."""
        if not self.nspawn.running:
            raise AssertionError(f"systemd-nspawn ended:\n{self.nspawn.text()}")
        found = subprocess.run(
            ["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout.split("\n")
        parents = [line.split() for line in found if line.strip()]
        family = {str(self.nspawn.process.pid)}
        for _ in range(3):
            family |= {pid for pid, parent in parents if parent in family}
        for pid in sorted(family, key=int):
            try:
                with open(f"/proc/{pid}/status", encoding="ascii") as status:
                    match = re.search(r"^NSpid:\t\d+\t1$", status.read(), re.M)
            except OSError:
                continue
            if match:
                return int(pid)
        return None

    def run(self, *command: str, user: str | None = None, check: bool = True, seconds: float = 60, stdin: str = "") -> tuple:
        """A command in the machine: (exit code, output, errors)."""
        leader = self._leader()
        if leader is None:
            return (-1, "", "the machine is not up")
        if user:
            command = ("runuser", "-u", user, "--", *command)
        done = subprocess.run(
            ["nsenter", f"--target={leader}", "--mount", "--uts", "--ipc", "--pid", "--cgroup", "--root", "--wd=/",
             "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", *command],
            input=stdin, capture_output=True, text=True, timeout=seconds)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.returncode, done.stdout, done.stderr

    def output(self, *command: str, **options) -> str:
        return self.run(*command, **options)[1]

    def seen(self, name: str) -> str:
        """The path of something in the running machine, also in what it has mounted, seen from outside."""
        return f"/proc/{self._leader()}/root{name}"

    def install(self, path: str, *options: str):
        """A package by its file, with what it needs already there."""
        target = "/root/" + os.path.basename(path)
        shutil.copy(path, self.path + target)
        self.run("apt-get", "-qq", "-o", "Dpkg::Use-Pty=0", "install", "--no-install-recommends", "-y", *options, target,
                 seconds=180)

    def reboot(self):
        """As an operator does it; the power stays on."""
        self.run("systemctl", "reboot", check=False)
        self.nspawn.wait(60)
        self.boot()

    def cut(self):
        """Ends it without a word to anything in it."""
        os.kill(self._leader(), signal.SIGKILL)
        self.nspawn.wait(60)

    def stop(self):
        if self.nspawn and self.nspawn.running:
            self.cut()
        subprocess.run(["umount", "--lazy", self.path], check=False)


if __name__ == "__main__":
    reason = missing()
    print(f"machines: {reason}" if reason else f"machines: {root()}")
