"""Screens as they appear in a real terminal of 80 columns and 24 lines, captured with tmux."""
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest, drive, needs
from support.fake_daemon import status
from support.fake_gpsd import iso
from support.programs import program
from support.terminal import TerminalTest


@needs("tmux")
class ScreenTests(TerminalTest):
    def busy(self):
        now = iso(1_781_500_003_000)
        daemon = self.fake_daemon()
        daemon.locations = drive(2000)
        daemon.answers["GetStatus"] = status(
            last_location={**daemon.locations[-1], "timestamp": now},
            sync={"state": "failed", "failure": "auth", "pending": 120, "oldest_pending": now, "last_http_status": 401,
                  "last_error": "HTTP 401"},
            degraded=["auth"], geofences=2)
        return daemon

    def test_status(self):
        daemon = self.busy()
        self.terminal(daemon)
        text = self.run_there("status")
        for word in ("tracking since", "±", "120 pending", "What is wrong", "correct [sync.headers]"):
            self.assertIn(word, text)
        self.assertRegex(self.screen("-e"), r"\033\[32m(\033\[49m)?tracking")

    def test_no_colour_when_asked_for_none(self):
        self.terminal(self.busy(), NO_COLOR="1")
        self.run_there("status")
        self.assertNotRegex(self.screen("-e"), r"\033\[[0-9;]*[123]")

    def test_watching_redraws_in_place_and_gives_the_terminal_back(self):
        daemon = self.busy()
        self.terminal(daemon)
        self.type(f"clear; echo before; {program('beekonctl')} status --watch; echo code $?")
        self.wait_screen(lambda text: "120 pending" in text, "the status")
        self.assertNotIn("before", self.screen())
        daemon.answers["GetStatus"]["status"]["sync"]["pending"] = 119
        text = self.wait_screen(lambda text: "119 pending" in text, "the next status")
        self.assertEqual(text.count("Receiver"), 1)
        # It survives a resize and the daemon's absence.
        self.tmux("resize-window", "-x", "80", "-y", "10")
        self.wait_screen(lambda text: len(text.splitlines()) == 10 and "State" in text, "a smaller screen")
        self.tmux("resize-window", "-x", "80", "-y", "24")
        daemon.stop()
        self.wait_screen(lambda text: "No answer from beekond" in text, "a word of the daemon's absence")
        self.tmux("send-keys", "C-c")
        text = self.wait_screen(lambda text: "code " in text, "its end")
        self.assertEqual(text.split()[:1], ["before"])
        self.assertIn("code 130", text)
        self.assertEqual(self.tmux("display", "-p", "#{alternate_on} #{cursor_flag}").strip(), "0 1")

    def test_ctrl_z(self):
        self.terminal(self.busy())
        self.type(f"clear; {program('beekonctl')} status --watch")
        self.wait_screen(lambda text: "120 pending" in text, "the status")
        self.tmux("send-keys", "C-z")
        self.wait_screen(lambda text: "Stopped" in text and "120 pending" not in text, "the shell")
        self.type("fg")
        self.wait_screen(lambda text: "120 pending" in text, "the status again")
        self.tmux("send-keys", "C-c")
        self.wait_screen(lambda text: "120 pending" not in text, "its end")

    def test_plot(self):
        self.terminal(self.busy())
        self.run_there("plot")
        # Including the line that scrolled off to make room for "code 0".
        text = self.screen("-S", "-1")
        lines = text.splitlines()
        self.assertIn("2,000 locations", lines[0])
        self.assertTrue(any("┤" in line for line in lines))
        self.assertTrue(re.search("[\u2801-\u28ff]", text))

    def test_watch(self):
        event = {"event": {"kind": "location", "location": drive(1)[0]}}
        self.terminal(self.fake_daemon(Subscribe=event))
        self.assertRegex(self.run_there("watch"), r"location +-?\d+\.\d+, -?\d+\.\d+ ")

    def test_doctor(self):
        daemon = self.busy()
        self.terminal(daemon)
        text = self.run_there(f"doctor --config {self.path('none.toml')} --state-dir {self.directory}")
        self.assertIn("code 1", text)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()))
        self.assertRegex(text, r"\d things? (is|are) wrong\.")


class JSONStreamTests(CtlTest):
    def test_watching_without_a_terminal(self):
        daemon = self.fake_daemon()
        process = subprocess.Popen([program("beekonctl"), "status", "--watch", "--json"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, text=True, env=self.environment(daemon))
        assert process.stdout
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for _ in range(2):
            self.assertEqual(json.loads(process.stdout.readline())["state"], "tracking")
        process.terminate()
        self.assertEqual(process.wait(60), 143)


if __name__ == "__main__":
    unittest.main()
