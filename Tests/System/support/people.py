"""Other users and groups, for a daemon that must tell them apart. Needs root."""
from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import unittest

from support.harness import Beekond, SystemTest, program
from support.tracker import Tracker

BEEKON, ADMIN, DAEMON = 64_711, 64_712, 64_713
# Added to the machine's own groups, as the daemon and its tool see them.
GROUPS = f"beekon:x:{BEEKON}:\nbeekon-admin:x:{ADMIN}:\nbeekond:x:{DAEMON}:\n"
# uid, primary group, other groups.
PEOPLE = {
    "a stranger": (65_534, 65_534, []),
    "a member of beekon": (64_721, 64_721, [BEEKON]),
    "one whose own group is beekon": (64_722, BEEKON, []),
    "an administrator": (64_723, 64_723, [BEEKON, ADMIN]),
    "an administrator by own group": (64_724, ADMIN, [BEEKON]),
    "one of beekon-admin alone": (64_725, 64_725, [ADMIN]),
    "the daemon's own user": (DAEMON, DAEMON, []),
    "root": (0, 0, []),
}
PRIVATE = shutil.which("unshare") and os.geteuid() == 0 and not subprocess.run(
    ["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode


@contextlib.contextmanager
def as_person(name: str):
    """This process is somebody else meanwhile: what it connects to sees that, and goes on seeing it."""
    uid, gid, groups = PEOPLE[name]
    before = os.getgroups()
    os.setgroups(groups)
    os.setegid(gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(before)


class TownDaemon(Beekond):
    """Runs as a user of its own, on a machine that has the groups of beekond."""

    def command(self) -> list:
        script = f'mount --bind {self.groups} /etc/group && exec setpriv --reuid {DAEMON} --regid {DAEMON} ' \
            f'--groups {BEEKON} "$@"'
        return ["unshare", "--mount", "sh", "-c", script, "sh", *super().command()]

    @property
    def groups(self) -> str:
        return os.path.join(self.directory, "group")

    def prepare(self):
        with open("/etc/group", encoding="utf-8") as file:
            theirs = "".join(line for line in file if not line.startswith("beeko"))
        with open(self.groups, "w", encoding="utf-8") as file:
            file.write(theirs + GROUPS)
        for folder in (self.directory, os.path.dirname(self.directory)):
            os.chmod(folder, 0o755)
        os.chown(self.directory, DAEMON, DAEMON)
        for path in (self.state, self.config):
            os.chown(path, DAEMON, DAEMON)
        return self


@unittest.skipUnless(PRIVATE, "needs root and a mount namespace, to make users and groups")
class TownTest(SystemTest):
    def town(self, gpsd_port: int, **sections) -> TownDaemon:
        ordinary = self.daemon(gpsd_port, **sections)
        daemon = TownDaemon(self.folder(), **ordinary.sections).prepare()
        self.addCleanup(daemon.kill)
        return daemon

    def visit(self, daemon: Beekond, name: str) -> Tracker:
        with as_person(name):
            tracker = Tracker(daemon.socket)
        self.addCleanup(tracker.close)
        return tracker

    def tool(self, daemon: TownDaemon, name: str, *words: str):
        """beekonctl, run by this person on this machine."""
        uid, gid, groups = PEOPLE[name]
        others = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
        script = f'mount --bind {daemon.groups} /etc/group && exec "$@"'
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, "sh", "setpriv", "--reuid", str(uid), "--regid", str(gid), *others,
             program("beekonctl"), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
            env={**os.environ, "BEEKOND_SOCKET": daemon.socket, "TZ": "UTC"})
