"""Daemons that are given the same socket: the second neither takes it over nor removes it."""
import os
import signal
import socket
import stat
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import ControlClient
from support.daemon import Beekond
from support.system_test import SystemTest
from support.waiting import PATIENCE, wait_for


class SecondDaemonTests(SystemTest):
    def rival(self, daemon) -> Beekond:
        """A daemon with the same socket and a different state directory."""
        rival = Beekond(self.folder(), **daemon.sections)
        rival.socket = daemon.socket
        self.addCleanup(rival.kill)
        return rival

    def refused(self, rival, code=75):
        self.assertEqual(rival.launch().child.wait(PATIENCE), code, rival.text())
        self.assertIn(rival.socket, rival.text())

    def answers(self, daemon, installation):
        with ControlClient(daemon.socket) as client:
            self.assertEqual(client.call("GetStatus")["status"]["install_id"], installation)

    def test_the_second_is_refused(self):
        daemon = self.daemon().start()
        installation = daemon.status()["install_id"]
        inode = os.stat(daemon.socket).st_ino
        for prepare in (lambda: None, lambda: os.unlink(daemon.socket + ".lock")):
            prepare()
            rival = self.rival(daemon)
            self.refused(rival)
            self.assertIn("another beekond", rival.text())
            self.assertEqual(os.stat(daemon.socket).st_ino, inode)
            self.answers(daemon, installation)
        daemon.terminate()
        self.assertFalse(os.path.exists(daemon.socket))

    def test_a_hung_daemon_keeps_its_socket(self):
        """Its backlog accepts the connection."""
        daemon = self.daemon().start()
        installation = daemon.status()["install_id"]
        daemon.child.signal(signal.SIGSTOP)
        self.addCleanup(daemon.child.signal, signal.SIGCONT)
        self.refused(self.rival(daemon))
        daemon.child.signal(signal.SIGCONT)
        self.answers(daemon, installation)

    def test_of_several_at_once_one_serves(self):
        daemon = self.daemon()
        rivals = [daemon, *(self.rival(daemon) for _ in range(3))]
        for rival in rivals:
            rival.launch()
        wait_for(lambda: sum(rival.child.running for rival in rivals) == 1, "all but one have ended")
        last = next(rival for rival in rivals if rival.child.running)
        wait_for(last._answers, "it serves")
        self.assertEqual([rival.child.wait() for rival in rivals if rival is not last], [75] * 3)

    def test_at_its_end_it_removes_only_its_own_socket(self):
        daemon = self.daemon().start()
        os.unlink(daemon.socket)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(daemon.socket)
            daemon.terminate()
            self.assertTrue(stat.S_ISSOCK(os.lstat(daemon.socket).st_mode))

    def test_what_is_not_a_socket_stays(self):
        victim = self.path("victim")
        for plant in (lambda path: os.symlink(victim, path), lambda path: os.link(victim, path)):
            with open(victim, "w", encoding="ascii") as file:
                file.write("precious")
            os.chmod(victim, 0o600)
            daemon = self.daemon()
            plant(daemon.socket)
            self.refused(daemon, 71)
            self.assertIn("no socket", daemon.text())
            self.assertEqual(stat.S_IMODE(os.stat(victim).st_mode), 0o600)
            with open(victim, encoding="ascii") as file:
                self.assertEqual(file.read(), "precious")

    @unittest.skipUnless(os.geteuid() == 0, "only root checks that")
    def test_root_does_not_serve_where_others_could_replace_the_socket(self):
        for mode, owner in ((0o777, 0), (0o775, 0), (0o755, 12345)):
            daemon = self.daemon()
            os.chown(daemon.directory, owner, 0)
            os.chmod(daemon.directory, mode)
            self.refused(daemon, 71)
            self.assertIn("others could replace it", daemon.text())
            self.assertFalse(os.path.exists(daemon.socket))

    def test_mode(self):
        daemon = self.daemon().start()
        self.assertEqual(stat.S_IMODE(os.stat(daemon.socket).st_mode), 0o660)


if __name__ == "__main__":
    unittest.main()
