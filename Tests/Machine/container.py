"""Containers with systemd as process 1."""
from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import debian
from support.child import Child
from support.waiting import wait_for


def missing() -> str | None:
    if debian.IS_FOREIGN:
        return f"no container runs the programs of {debian.ARCHITECTURE} here; 'board' and 'power' have virtual machines"
    return None


class Container(debian.Layer):
    """One machine. What is written to it lasts until the test ends, across reboots and crashes."""

    def __init__(self, folder: str, extra: tuple = (), options: tuple = ()):
        """With more packages; with more options of systemd-nspawn."""
        super().__init__(folder, extra=extra)
        self.folder = folder
        self.options = options
        self.boots = 0
        self._nspawn: Child | None = None

    @property
    def nspawn(self) -> Child:
        assert self._nspawn is not None, "this container was never booted"
        return self._nspawn

    def boot(self) -> Container:
        self.boots += 1
        log = os.path.join(self.folder, f"boot-{self.boots}.log")
        self._nspawn = Child(
            ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--machine=van", "--console=pipe",
             "--resolv-conf=off", "--timezone=off", *self.options, "-D", self.path, "-b"], log)
        wait_for(self._leader, lambda: f"the machine boots; it said:\n{self.nspawn.text()}", 60)
        wait_for(lambda: self.run("systemctl", "is-system-running", check=False)[1].strip() in ("running", "degraded"),
                 lambda: f"the machine is up; {self.run('systemctl', 'list-jobs', check=False)}", 120)
        return self

    def _leader(self) -> int | None:
        """The outer id of the process that is number 1 inside."""
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
        """Runs a command in the machine: (exit code, output, errors)."""
        if user:
            command = ("runuser", "-u", user, "--", *command)
        inside = self.inside(*command)
        if not inside:
            return (-1, "", "the machine is not up")
        done = subprocess.run(inside, input=stdin, capture_output=True, text=True, timeout=seconds)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.returncode, done.stdout, done.stderr

    def inside(self, *command: str) -> list[str]:
        """What runs it in the machine; nothing while that is not up."""
        leader = self._leader()
        return [] if leader is None else [
            "nsenter", f"--target={leader}", "--mount", "--uts", "--ipc", "--pid", "--cgroup", "--root", "--wd",
            "env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", *command]

    def answer(self, question: str, answer: str, *command: str, seconds: float = 60) -> tuple:
        """Runs a command at a terminal, and types an answer when it asks: (exit code, output, errors)."""
        mine, its = pty.openpty()
        with os.fdopen(mine, "r+b", buffering=0) as terminal:
            child = subprocess.Popen(self.inside(*command), stdin=its, stdout=subprocess.PIPE, stderr=its, text=True)
            os.close(its)
            shown = b""
            while not shown.endswith(question.encode()):
                shown += terminal.read(1)
            terminal.write(answer.encode() + b"\n")
            said, _ = child.communicate(timeout=seconds)
        return child.returncode, said, shown.decode()

    def output(self, *command: str, **options) -> str:
        return self.run(*command, **options)[1]

    def seen(self, name: str) -> str:
        """The outer path of a file in the running machine, including its mounts."""
        return f"/proc/{self._leader()}/root{name}"

    def install(self, path: str, *options: str):
        """Installs a package from a file; its dependencies are already there."""
        target = "/root/" + os.path.basename(path)
        shutil.copy(path, self.path + target)
        self.run("apt-get", "-qq", "-o", "Dpkg::Use-Pty=0", "install", "--no-install-recommends", "-y", *options, target,
                 seconds=180)

    def reboot(self):
        """Reboots as an operator would; the power stays on."""
        self.run("systemctl", "reboot", check=False)
        self.nspawn.wait(60)
        self.boot()

    def cut(self):
        """Kills it without warning anything inside."""
        leader = self._leader()
        assert leader is not None, "the container has no process 1"
        os.kill(leader, signal.SIGKILL)
        self.nspawn.wait(60)

    def stop(self):
        if self._nspawn and self._nspawn.running:
            self.cut()
        self.remove()


if __name__ == "__main__" and not missing():
    # Finds out whether a container starts here and answers.
    with tempfile.TemporaryDirectory() as place:
        try:
            machine = Container(place)
            machine.boot().stop()
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            sys.exit(f"container: {error}")
