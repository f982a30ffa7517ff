"""Where the state directory is: behind symbolic links, and behind links that later lead elsewhere, or nowhere."""
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.daemon import Beekond
from support.waiting import PATIENCE, wait_for


class StateDirectoryTests(CtlTest):
    def linked(self, state: str) -> tuple:
        """A fake gpsd and a daemon, not started yet, that reaches its state directory by the path `state`."""
        fake = self.fake()
        daemon = self.daemon(fake.port)
        daemon.state = state
        return fake, daemon

    def tracks(self, fake, daemon, place: str):
        daemon.start()
        daemon.call("Start")
        fake.settle()
        status = daemon.wait_stored(1)
        self.assertEqual((status["store"]["degraded"], status["degraded"]), (False, []))
        self.assertEqual(status["store"]["directory"], place)
        daemon.state = place
        self.assertEqual(len(daemon.stored_ids()), 1)

    def test_behind_a_link(self):
        for absolute in (True, False):
            with self.subTest(absolute=absolute):
                folder = self.folder()
                place = os.path.join(folder, "data")
                os.mkdir(place, 0o700)
                os.symlink(place if absolute else "data", os.path.join(folder, "beekond"))
                fake, daemon = self.linked(os.path.join(folder, "beekond"))
                self.tracks(fake, daemon, place)
                # The tool shows where that is, and a second daemon is refused by the lock there.
                self.assertIn(f"in {place}", " ".join(self.run_ctl(daemon, "status").stdout.split()))
                self.assertIn(place, self.run_ctl(daemon, "doctor", "--config", daemon.config, code=1).stdout)
                other = Beekond(self.folder(), **daemon.sections)
                other.state = os.path.join(folder, "beekond")
                self.addCleanup(other.kill)
                self.assertEqual(other.launch().child.wait(PATIENCE), 75, other.text())
                self.assertIn(place, other.text())

    def test_behind_a_linked_parent(self):
        folder = self.folder()
        os.mkdir(os.path.join(folder, "data"), 0o700)
        os.symlink("data", os.path.join(folder, "lib"))
        fake, daemon = self.linked(os.path.join(folder, "lib", "beekond"))
        self.tracks(fake, daemon, os.path.join(folder, "data", "beekond"))

    def test_a_link_to_nowhere(self):
        folder = self.folder()
        os.symlink(os.path.join(folder, "data"), os.path.join(folder, "lib"))
        for path in ("lib", "lib/beekond"):
            fake, daemon = self.linked(os.path.join(folder, path))
            self.assertEqual(daemon.launch().child.wait(PATIENCE), 71, daemon.text())
            self.assertIn(f"{folder}/lib is a link to {folder}/data, which is not there", daemon.text())

    def test_a_link_that_later_leads_elsewhere(self):
        """The daemon stays with the directory that it found when it started."""
        folder = self.folder()
        for name in ("data", "other"):
            os.mkdir(os.path.join(folder, name), 0o700)
        link = os.path.join(folder, "beekond")
        os.symlink("data", link)
        fake, daemon = self.linked(link)
        self.tracks(fake, daemon, os.path.join(folder, "data"))
        os.symlink("other", link + ".new")
        os.rename(link + ".new", link)
        fake.drive(2)
        daemon.wait_stored(3)
        daemon.call("Stop")
        daemon.terminate()
        self.assertEqual(os.listdir(os.path.join(folder, "other")), [])
        self.assertEqual(len(daemon.stored_ids()), 3)

    def test_the_target_of_the_link_is_checked(self):
        folder = self.folder()
        place = os.path.join(folder, "data")
        os.mkdir(place)
        os.chmod(place, 0o770)
        os.symlink("data", os.path.join(folder, "beekond"))
        fake, daemon = self.linked(os.path.join(folder, "beekond"))
        self.assertEqual(daemon.launch().child.wait(PATIENCE), 71)
        self.assertIn(place, daemon.text())

    def test_the_cause_of_a_failure_is_named(self):
        """A link that appears in the path while the daemon runs, and a directory that has gone."""
        fake, daemon = self.tracking()
        aside = daemon.state + ".aside"
        os.rename(daemon.state, aside)
        os.symlink(self.folder(), daemon.state)
        for cause, mend in (("a symbolic link has come into the way", lambda: os.unlink(daemon.state)),
                            ("the state directory is not there any more", lambda: os.rename(aside, daemon.state))):
            # Each write checks what has its name.
            fake.drive(1)
            daemon.wait_status(lambda status: cause in status["store"]["last_error"] and "storage" in status["degraded"], cause)
            advice = " ".join(self.run_ctl(daemon, "status").stdout.split())
            self.assertIn(cause, advice)
            self.assertNotIn("make room", advice)
            mend()
        daemon.wait_status(lambda status: not status["store"]["degraded"] and not status["store"]["waiting_in_memory"],
                           "storage works again")
        wait_for(lambda: len(daemon.stored_ids()) == 3, "nothing is lost")


if __name__ == "__main__":
    unittest.main()
