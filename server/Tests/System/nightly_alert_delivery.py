"""A thousand alerts over fifty kills of the server, on both databases (test_alert_delivery.py has a sample of it), and mail to
OpenSMTPD."""
from __future__ import annotations

import contextlib
import email
import email.policy
import os
import shutil
import socket
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.databases import OnPostgres, OnSQLite
from server_support.delivering import DeliveryTest
from server_support.delivery_kills import Kills
from support.child import Child
from support.ports import new_port
from support.waiting import wait_for

SMTPD = shutil.which("smtpd", path="/usr/sbin")
# Debian has this user.
GAMES = "games@localhost"


class OnSQLiteKills(Kills, OnSQLite):
    def test_each_arrives_and_each_time_alike(self):
        self.survive(alerts=1000, kills=50)


class OnPostgresKills(Kills, OnPostgres):
    def test_each_arrives_and_each_time_alike(self):
        self.survive(alerts=1000, kills=50)


@unittest.skipUnless(SMTPD and os.getuid() == 0, "no OpenSMTPD, or not root: apt-get install opensmtpd")
class OpenSMTPD(DeliveryTest, OnSQLite):
    def test_it_takes_each_alert(self):
        """Over kills of the server; it is there from the third alert on."""
        port = new_port()
        os.chmod(self.folder, 0o777)
        configuration = os.path.join(self.folder, "smtpd.conf")
        Path(configuration).write_text(
            f'listen on 127.0.0.1 port {port} hostname localhost\naction "keep" maildir "{self.folder}/%{{dest.user}}"\n'
            'match from any for domain "localhost" action "keep"\n', encoding="ascii")
        # Nobody but smtpd itself may change it.
        os.chmod(configuration, 0o644)
        server = self.begin("--smtp", f"smtp://127.0.0.1:{port}", "--smtp-from", "Flotte Köln <fleet@example.org>")
        self.rule(name="Hof Süd", mail=[GAMES])
        self.write("UPDATE alert_rules SET mail_interval = 0")
        for number in range(10):
            if number == 2:
                child = Child([SMTPD, "-d", "-f", configuration], os.path.join(self.folder, "smtpd.log"), virtual=False)
                self.addCleanup(child.kill)
                wait_for(lambda: not child.running or self.answers(port), "OpenSMTPD")
            self.happen(fence=f"fence {number}.")
            server.kill()
            server.start()
            self.hurry()
        self.settle()
        wait_for(lambda: all(f"fence {number}." in "".join(self.texts()) for number in range(10)), "each alert")
        by_id: dict = {}
        for mail in self.mails():
            self.assertEqual(mail["From"], "Flotte Köln <fleet@example.org>")
            by_id.setdefault(mail["Message-ID"], set()).add((mail["Subject"], mail.get_content()))
        self.assertTrue(all(len(found) == 1 for found in by_id.values()), by_id)
        print(f"\nOpenSMTPD has taken {len(self.mails())} mails, {len(by_id)} of them different")

    def answers(self, port: int) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    def mails(self) -> list:
        paths = Path(self.folder, "games", "new").glob("*")
        return [email.message_from_bytes(path.read_bytes(), policy=email.policy.default) for path in paths]

    def texts(self) -> list:
        return [mail.get_content() for mail in self.mails()]


if __name__ == "__main__":
    unittest.main()
