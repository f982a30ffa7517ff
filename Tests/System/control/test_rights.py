"""Who may do what: real users, real groups, and the kernel's identification of the peer."""
import os
import stat
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import ConnectionClosed, ControlClient, Refusal
from support.interface import ADMINISTRATORS, ANYBODY, CALLS, methods
from support.users import ADMIN_GID, BEEKON_GID, DAEMON_ID, USERS, UsersTest, as_user
from support.waiting import wait_for

MAY = {
    "a stranger": (), "one of beekon-admin alone": (),
    "a member of beekon": (ANYBODY,), "one whose own group is beekon": (ANYBODY,),
    "an administrator": (ANYBODY, ADMINISTRATORS), "an administrator by own group": (ANYBODY, ADMINISTRATORS),
    "the daemon's own user": (ANYBODY, ADMINISTRATORS), "root": (ANYBODY, ADMINISTRATORS),
}
DENIED = "org.varlink.service.PermissionDenied"


class RightsTests(UsersTest):
    def served(self):
        backend = self.backend()
        fake = self.fake()
        daemon = self.unprivileged_daemon(fake.port, sync={"url": backend.url}, **{"sync.auth": {"access_token": "abc"}}).start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        return daemon

    def test_the_table_has_every_method(self):
        self.assertEqual({row.method for row in CALLS}, set(methods()))
        self.assertEqual(set(MAY), set(USERS))
        # What only reads is recognised by its name; everything else is logged.
        harmless = {name for name in methods() if name.startswith(("Get", "List", "Subscribe"))}
        self.assertEqual({row.method for row in CALLS if not row.is_logged}, harmless)
        self.assertEqual({row.method for row in CALLS if row.is_logged}, set(methods()) - harmless)

    def test_the_socket_admits_only_its_group(self):
        daemon = self.served()
        status = os.stat(daemon.socket)
        self.assertEqual((stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid), (0o660, DAEMON_ID, BEEKON_GID))
        for name, rights in MAY.items():
            with self.subTest(name), as_user(name):
                if rights:
                    ControlClient(daemon.socket).close()
                else:
                    self.assertRaises(PermissionError, ControlClient, daemon.socket)

    def test_a_socket_that_cannot_be_given_to_its_group_is_told(self):
        daemon = self.unprivileged_daemon(self.fake().port)
        daemon.memberships = "--clear-groups"
        daemon.start()
        self.assertEqual(os.stat(daemon.socket).st_gid, DAEMON_ID)
        self.assertIn("members of group beekon cannot use the control socket: ", daemon.text())

    def test_every_method_for_everybody(self):
        daemon = self.served()
        # Even for those the socket keeps out: rights do not depend on its mode alone.
        os.chmod(daemon.socket, 0o666)
        for name in USERS:
            rights = MAY[name] or (ANYBODY,)
            # beekon-admin is meant for those who may connect; anyone who gets in has its rights.
            rights += (ADMINISTRATORS,) if ADMIN_GID in USERS[name][2] else ()
            for row in CALLS:
                with self.subTest(person=name, method=row.method, more=row.more):
                    self.assertEqual(self.answer(daemon, name, row), row.answer if row.who in rights else DENIED)

    def answer(self, daemon, name: str, row) -> str:
        with self.client_as(daemon, name) as client:
            client.send(row.method, row.parameters, **({"more": True} if row.more else {}))
            try:
                client.receive()
                return "done"
            except Refusal as refusal:
                return refusal.full_name

    def test_a_call_that_is_denied_changes_nothing(self):
        daemon = self.served()
        before = daemon.stored_ids()
        self.assertEqual(len(before), 1)
        with self.client_as(daemon, "a member of beekon") as client:
            for method, parameters in (("DeleteLocations", {}), ("SeedAuth", {"access_token": "other"}), ("PurgeRejected", {}),
                                       ("Resend", {"from": "2026-06-15T12:34:56.789Z"}), ("Rebatch", {})):
                # Who may not call does not learn what else is wrong.
                for sent in (parameters, {**parameters, "nonsense": 1}):
                    with self.assertRaises(Refusal) as caught:
                        client.call(method, **sent)
                    self.assertEqual(caught.exception.full_name, DENIED)
                # A call without a reply is denied all the same.
                client.send(method, parameters, oneway=True)
            client.call("GetStatus")
        self.assertEqual(daemon.stored_ids(), before)
        wait_for(lambda: f"DeleteLocations denied to uid {USERS['a member of beekon'][0]}, pid {os.getpid()}" in daemon.text(),
                 "a line in the log")

    def test_every_change_is_logged_with_who_made_it(self):
        daemon = self.served()
        for name in ("a member of beekon", "an administrator"):
            for row in CALLS:
                if row.is_logged and row.who in MAY[name]:
                    with self.subTest(person=name, method=row.method):
                        self.assertEqual(self.answer(daemon, name, row), row.answer)
                        line = f"{row.method} by uid {USERS[name][0]}, pid {os.getpid()}"
                        wait_for(lambda: line in daemon.text(), line)
                elif not row.is_logged:
                    self.answer(daemon, name, row)
                    self.assertNotIn(row.method + " by uid", daemon.text())

    def test_rights_are_fixed_when_connecting(self):
        daemon = self.served()
        # The same process, now root, continues on a connection that was made as another user.
        client = self.client_as(daemon, "a member of beekon")
        with self.assertRaises(Refusal) as caught:
            client.call("DeleteLocations")
        self.assertEqual(caught.exception.full_name, DENIED)

    def test_root_gets_in_when_it_is_full(self):
        daemon = self.served()
        daemon.disconnect()
        # Subscribers are not disconnected to make room.
        for _ in range(32):
            client = self.client_as(daemon, "a member of beekon")
            client.send("Subscribe", {"kinds": ["state"]}, more=True)
            client.reply()
        with self.client_as(daemon, "a member of beekon") as late, self.assertRaises((ConnectionClosed, OSError)):
            late.call("GetPendingUploadCount")
        for _ in range(2):
            client = self.client_as(daemon, "root")
            client.send("Subscribe", {"kinds": ["state"]}, more=True)
            client.reply()
        with self.client_as(daemon, "root") as late, self.assertRaises((ConnectionClosed, OSError)):
            late.call("GetPendingUploadCount")

    def test_what_the_tool_says_to_each(self):
        daemon = self.served()
        for name, words, code, text in (
            ("a stranger", ("status",), 77, "sudo usermod -aG beekon "),
            ("one of beekon-admin alone", ("status",), 77, "group beekon "),
            ("a member of beekon", ("status", "--json"), 0, ""),
            ("a member of beekon", ("delete", "--yes"), 77, "group beekon-admin"),
            ("an administrator", ("delete", "--yes"), 0, ""), ("root", ("rejected", "purge", "--yes"), 0, ""),
        ):
            with self.subTest(person=name, words=words):
                done = self.beekonctl_as(daemon, name, *words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1 if code else 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
