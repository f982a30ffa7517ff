"""A server's commands, with the daemon killed at every system call between the arrival of the answer that brings them and
the acknowledgement of their results: none is lost, none has a second effect, and each result arrives.

strace kills one of the three threads that have a part in it, and with it the daemon, one run per call. BEEKOND_LONG=1 takes
every call; otherwise every few.
"""
from __future__ import annotations

import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.command_test import FENCE, CommandTest
from support.control_client import ConnectionClosed
from support.cuts import trace
from support.faults import STRACE
from support.waiting import wait_for

LONG = os.environ.get("BEEKOND_LONG") == "1"
# Runs for each thread, unless it is every call.
RUNS = 10
# Its threads, as the kernel names them: who hears of the commands and writes their results, who carries them out, and who
# hands them over.
THREADS = ("uploader", "reader", "beekond")


@unittest.skipUnless(STRACE and os.geteuid() == 0, "needs strace, and root to look into the daemon")
class CutTests(CommandTest):
    def setUp(self):
        super().setUp()
        self.ids: list = []

    def prepared(self) -> tuple:
        """A daemon with a fix pending, whose server has four commands for it."""
        server = self.server()
        fake, daemon = self.vehicle(server)
        self.ids = [server.command("stop"), server.command("set_config", settings={"tracking.interval_seconds": 0}),
                    server.command("add_geofences", geofences=[FENCE]), server.command("start")]
        return server, fake, daemon

    def is_over(self, daemon) -> bool:
        """Whether the daemon knows that the server has all results. Reads the database: the daemon is not disturbed."""
        return daemon.query("SELECT COUNT(*), SUM(is_sent) FROM commands") == [(4, 4)]

    def act(self, daemon) -> bool:
        """Whether the daemon lived to see the end."""
        try:
            daemon.ask_for_sync()
        except (ConnectionClosed, OSError):
            return False
        wait_for(lambda: not daemon.child.running or self.is_over(daemon), "the end of the daemon, or of the commands")
        return daemon.child.running

    def one(self, thread: str, call) -> tuple:
        """Returns what strace saw, and the calls from the answer's arrival on."""
        server, fake, daemon = self.prepared()
        seen = trace(daemon, thread, lambda: self.act(daemon), call)
        # It may have been killed as late as when strace let go of it.
        if seen.was_cut or not daemon.child.running:
            daemon.kill()
            daemon.start()
        daemon.sync_until(lambda answer: self.is_over(daemon), "the end of the commands")
        self.check(server, fake, daemon)
        fake.stop()
        daemon.kill()
        server.stop()
        self.receivers.clear()
        # In another run fewer calls may come before the answer, and the cut with them.
        return seen, self.since_answer(seen) if call is None and thread == "uploader" else seen.calls

    def check(self, server, fake, daemon):
        status = daemon.status()
        self.assertEqual((status["state"], daemon.setting("tracking.interval_seconds")), ("tracking", 0))
        self.assertEqual([fence["id"] for fence in daemon.call("ListGeofences")["geofences"]], ["depot"])
        # A second stop would have ended the new session, and a second start begun another.
        fake.settle()
        daemon.wait_status(lambda status: status["last_location"]["session_id"] == status["session_id"], "a fix of it")
        sessions = daemon.call("GetSessions")["sessions"]
        self.assertEqual(["stopped_at" in session for session in sessions], [True, False], sessions)
        for identity in self.ids:
            found = server.results[identity]
            self.assertEqual([result for result in found if result != found[0] or not result["ok"]], [], found)
        self.assertEqual({command["id"] for command in daemon.call("GetCommands")["commands"]}, set(self.ids))
        # The receiver may have nothing to say; all else is well.
        self.assertEqual([word for word in status["degraded"] if word != "source"], [])
        # Each location is in one place.
        daemon.sync_until(lambda answer: True, "an attempt")
        self.assertTrue(all(len(batches) == 1 for batches in server.homes.values()), server.homes)

    def since_answer(self, seen) -> list:
        """The calls that begin after the first answer has come."""
        for number, line in enumerate(seen.lines):
            if "HTTP/1.1 200" in line:
                early = sum(1 for one in seen.lines[:number + 1] if one[:1].isalpha())
                return seen.calls[early:]
        raise AssertionError("no answer was seen")

    def cut(self, thread: str):
        # The one that strace interrupts when it comes cannot be chosen: then there would be nothing to look at.
        calls = [call for call in self.one(thread, None)[1] if call[0] != "restart_syscall"]
        self.assertGreater(len(calls), 5)
        step = 1 if LONG else max(len(calls) // RUNS, 1)
        cuts = 0
        for call in calls[::step]:
            with self.subTest(call=call):
                cuts += self.one(thread, call)[0].was_cut
        print(f"\n  {thread}: {cuts} cuts at every {step}. of {len(calls)} calls; each of four commands done once, "
              "each result delivered")
        self.assertGreater(cuts, len(calls) // step // 4, "the faults were injected")

    def test_who_hears(self):
        self.cut(THREADS[0])

    def test_who_carries_out(self):
        self.cut(THREADS[1])

    def test_who_hands_over(self):
        self.cut(THREADS[2])


if __name__ == "__main__":
    unittest.main()
