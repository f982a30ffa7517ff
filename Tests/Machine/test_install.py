"""`make install` as other distributions use it: staged, copied to a box without the package, and removed again."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import container
import debian
from service import need_machines
from support.programs import ROOT
from support.text import match
from support.waiting import wait_for

INSTALL = os.path.join(ROOT, "etc", "build", "install")
PROGRAMS = os.path.dirname(debian.own("beekond"))
# What they are run with here while their files for shells are made.
RUN = {} if debian.TARGET == debian.HERE else {"RUN": " ".join([
    debian.CROSS, *debian.TARGET, "--build", debian.BUILD, "--run"])}


def setUpModule():
    need_machines()


class InstallTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="beekond-machine-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def install(self, what: str, prefix: str):
        """Runs what `make install` or `make uninstall` runs, into a folder."""
        places = {"PREFIX": prefix, "BINDIR": "/bin", "DATADIR": "/share", "UNITDIR": "/lib/systemd/system",
                  "SYSUSERSDIR": "/lib/sysusers.d", "CATALOGDIR": "/lib/systemd/catalog"}
        environment = {name: prefix + value if name != "PREFIX" else value for name, value in places.items()}
        subprocess.run([INSTALL, what], check=True, env={
            **os.environ, **RUN, **environment, "SYSCONFDIR": "/etc", "DESTDIR": os.path.join(self.folder, "stage")})

    def staged(self) -> list:
        stage = os.path.join(self.folder, "stage")
        return sorted(os.path.relpath(os.path.join(parent, name), stage)
                      for parent, _, names in os.walk(stage) for name in names)

    def test_what_is_staged_runs_and_can_be_removed(self):
        for prefix in ("/usr", "/usr/local"):
            with self.subTest(prefix):
                self.install(PROGRAMS, prefix)
                files = self.staged()
                print(f"\n{prefix}: {len(files)} files")
                outside = [name for name in files if not ("/" + name).startswith((prefix + "/", "/etc/beekond/"))]
                self.assertEqual(outside, [])
                self.run_in_a_box()
                with open(os.path.join(self.folder, "stage", "etc/beekond/beekond.toml"), "a", encoding="utf-8") as file:
                    file.write("# mine\n")
                self.install(PROGRAMS, prefix)
                self.install("--remove", prefix)
                self.assertEqual(self.staged(), ["etc/beekond/beekond.toml"], "what the operator has written stays")
                shutil.rmtree(os.path.join(self.folder, "stage"))

    def run_in_a_box(self):
        """Follows the remaining instructions that `make install` prints."""
        with open(INSTALL, encoding="utf-8") as file:
            told = match(r"^installed\..*\n((?: {4}.*\n)+)", file.read(), re.M)[1].replace("$SYSCONFDIR", "/etc")
        place = tempfile.mkdtemp(dir=self.folder)
        machine = container.Container(place)
        try:
            stage = os.path.join(self.folder, "stage")
            subprocess.run(["cp", "-a", "--no-preserve=ownership", stage + "/.", machine.path], check=True)
            machine.boot()
            machine.run("sh", "-e", "-c", told)
            wait_for(lambda: machine.run("beekonctl", "start", check=False)[0] == 0, "it answers", 60)
            self.assertEqual(machine.output("systemctl", "is-active", "beekond").strip(), "active")
            self.assertIn("tracking in session", machine.output("journalctl", "-x", "-u", "beekond", "--no-pager"))
        finally:
            machine.stop()


if __name__ == "__main__":
    unittest.main()
