"""Who may read a file with a secret, as root is told of it who checks what beekond will read."""
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.programs import program
from support.users import BEEKON_GID, DAEMON_ID, UsersTest


class SecretFilesTests(UsersTest):
    def check(self, group: int, mode: int = 0o640) -> str:
        """What `beekond --check` tells root of a configuration with a token."""
        daemon = self.unprivileged_daemon(1, sync={"url": "https://a.example/"}, **{"sync.auth": {"access_token": "abc"}})
        os.chown(daemon.config, 0, group)
        os.chmod(daemon.config, mode)
        script = f'mount --bind {daemon.groups} /etc/group && exec "$@"'
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, "sh", program("beekond"), "--config", daemon.config, "--check"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_the_group_of_the_service_may(self):
        self.assertNotIn("can read this file", self.check(DAEMON_ID))

    def test_others_are_told(self):
        self.assertIn(f"group {BEEKON_GID}, which beekond is not in, can read this file", self.check(BEEKON_GID))
        self.assertIn("everybody can read this file", self.check(DAEMON_ID, 0o644))


if __name__ == "__main__":
    unittest.main()
