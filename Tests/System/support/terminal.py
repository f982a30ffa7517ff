"""A real terminal of 80 columns and 24 lines: tmux, whose screen can be captured."""
from __future__ import annotations

import os
import re
import subprocess
import unicodedata

from support.beekonctl import CtlTest
from support.programs import program
from support.waiting import wait_for

WIDTH = 80


class TerminalTest(CtlTest):
    real_time = True

    def setUp(self):
        super().setUp()
        self.commands = 0
        self.tmux_socket = self.path("tmux")
        self.addCleanup(subprocess.run, ["tmux", "-S", self.tmux_socket, "kill-server"], capture_output=True)

    def tmux(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-S", self.tmux_socket, *words], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "LC_ALL": "C.UTF-8"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def terminal(self, daemon, **variables):
        """Starts a shell in a terminal, and waits for its prompt."""
        settings = [f"{name}={value}" for name, value in {
            "BEEKOND_SOCKET": daemon.path, "TZ": "UTC", "PS1": "ready> ", "LC_ALL": "C.UTF-8", **variables}.items()]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(WIDTH), "-y", "24", "env", "-u", "NO_COLOR", *settings,
                  "bash", "--norc", "--noprofile")
        self.wait_screen(lambda text: "ready>" in text, "a prompt")

    def type(self, text: str):
        self.tmux("send-keys", "-l", text)
        self.tmux("send-keys", "Enter")

    def screen(self, *options: str) -> str:
        return self.tmux("capture-pane", "-p", *options)

    def wait_screen(self, condition, what: str) -> str:
        last = ""

        def screen() -> str | None:
            nonlocal last
            last = self.screen()
            return last if condition(last) else None

        wait_for(screen, lambda: f"{what}; the screen is\n{last}")
        return last

    def run_there(self, words: str) -> str:
        """The screen after a command has ended, from its first line."""
        # The end of the previous one may still be on the screen.
        self.commands += 1
        self.type(f'clear; {program("beekonctl")} {words}; echo "code $? ({self.commands})"')
        return self.wait_screen(lambda text: re.search(rf"^code \d+ \({self.commands}\)$", text, re.M), words)

    def lines_of(self, words: str) -> list:
        """A command's output, including what scrolled off the top; lines that the terminal wrapped are joined."""
        self.tmux("clear-history")
        self.run_there(words)
        text = self.screen("-J", "-S", "-2000")
        return [line.rstrip() for line in re.split(r"^code \d+ ", text, flags=re.M)[0].splitlines()
                if not line.startswith("ready> ")]


def columns(text: str) -> int:
    """The number of columns that a text takes on a terminal."""
    return sum(0 if unicodedata.combining(sign) or sign in "\u200d\ufe0f" else
               2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)
