"""Other users and groups, for a daemon that must distinguish them. Needs root."""
from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import unittest

from support.control_client import ControlClient
from support.daemon import Beekond
from support.programs import program
from support.system_test import SystemTest

BEEKON_GID, ADMIN_GID, DAEMON_ID = 64_711, 64_712, 64_713
# Added to the machine's own groups, for the daemon and beekonctl.
GROUPS = f"beekon:x:{BEEKON_GID}:\nbeekon-admin:x:{ADMIN_GID}:\nbeekond:x:{DAEMON_ID}:\n"
# uid, primary group, other groups.
USERS = {
    "a stranger": (65_534, 65_534, []),
    "a member of beekon": (64_721, 64_721, [BEEKON_GID]),
    "one whose own group is beekon": (64_722, BEEKON_GID, []),
    "an administrator": (64_723, 64_723, [BEEKON_GID, ADMIN_GID]),
    "an administrator by own group": (64_724, ADMIN_GID, [BEEKON_GID]),
    "one of beekon-admin alone": (64_725, 64_725, [ADMIN_GID]),
    "the daemon's own user": (DAEMON_ID, DAEMON_ID, []),
    "root": (0, 0, []),
}
PRIVATE = shutil.which("unshare") and os.geteuid() == 0 and not subprocess.run(
    ["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode


@contextlib.contextmanager
def as_user(name: str):
    """Takes on the effective ids of a user; peers of connections made meanwhile see that user for as long as they last."""
    uid, gid, groups = USERS[name]
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


class UnprivilegedDaemon(Beekond):
    """Runs as its own user, on a machine that has the groups of beekond."""

    memberships = f"--groups {BEEKON_GID}"

    def command(self) -> list:
        script = (f'mount --bind {self.groups} /etc/group && exec setpriv --reuid {DAEMON_ID} --regid {DAEMON_ID} '
                  f'{self.memberships} "$@"')
        return ["unshare", "--mount", "sh", "-c", script, "sh", *super().command()]

    @property
    def groups(self) -> str:
        return os.path.join(self.directory, "group")

    def prepare(self) -> UnprivilegedDaemon:
        """Hands the daemon its directory, and writes the file of groups."""
        with open("/etc/group", encoding="utf-8") as file:
            theirs = "".join(line for line in file if not line.startswith("beeko"))
        with open(self.groups, "w", encoding="utf-8") as file:
            file.write(theirs + GROUPS)
        for folder in (self.directory, os.path.dirname(self.directory)):
            os.chmod(folder, 0o755)
        os.chown(self.directory, DAEMON_ID, DAEMON_ID)
        for path in (self.state, self.config):
            os.chown(path, DAEMON_ID, DAEMON_ID)
        return self


@unittest.skipUnless(PRIVATE, "needs root and a mount namespace, to make users and groups")
class UsersTest(SystemTest):
    """A test with a daemon of its own user, and clients of other users."""

    def unprivileged_daemon(self, gpsd_port: int, **sections) -> UnprivilegedDaemon:
        ordinary = self.daemon(gpsd_port, **sections)
        daemon = UnprivilegedDaemon(self.folder(), **ordinary.sections).prepare()
        self.addCleanup(daemon.kill)
        return daemon

    def client_as(self, daemon: Beekond, name: str) -> ControlClient:
        with as_user(name):
            client = ControlClient(daemon.socket)
        self.addCleanup(client.close)
        return client

    def beekonctl_as(self, daemon: UnprivilegedDaemon, name: str, *words: str):
        """Runs beekonctl as this user, where the groups of the daemon exist."""
        uid, gid, groups = USERS[name]
        others = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
        script = f'mount --bind {daemon.groups} /etc/group && exec "$@"'
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, "sh", "setpriv", "--reuid", str(uid), "--regid", str(gid), *others,
             program("beekonctl"), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
            env={**os.environ, "BEEKOND_SOCKET": daemon.socket, "TZ": "UTC"})
