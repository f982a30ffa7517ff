"""Options that all verbs share, before the verb and after it."""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.programs import program


class OptionTests(CtlTest):
    def run_plain(self, *words: str, code: int = 0):
        """Without BEEKOND_SOCKET, so that only the option says which socket it is."""
        environment = {name: value for name, value in os.environ.items() if name != "BEEKOND_SOCKET"}
        done = subprocess.run([program("beekonctl"), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, env={**environment, "TZ": "UTC"})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_before_the_verb_and_after_it(self):
        daemon = self.fake_daemon(GetExtras={"extras": {"driver": "7"}})
        path = daemon.path
        answers = [json.loads(self.run_plain(*words).stdout) for words in (
            ("status", "--socket", path, "--json"), ("--socket", path, "status", "--json"),
            ("--socket", path, "--json", "status"), ("--json", "status", "--socket", path),
            (f"--socket={path}", "--json", "status"))]
        self.assertEqual([answer["version"] for answer in answers], [answers[0]["version"]] * len(answers))
        # Also before a group of verbs, and between the group and its verb.
        for words in (("--socket", path, "--json", "extras", "show"), ("extras", "--json", "--socket", path, "show")):
            self.assertEqual(json.loads(self.run_plain(*words).stdout), {"extras": {"driver": "7"}})
        # The one after the verb comes last, and wins.
        self.run_plain("--socket", "/nowhere", "status", "--socket", path)
        self.assertIn("/nowhere", self.run_plain("--socket", path, "status", "--socket", "/nowhere", code=69).stderr)

    def test_without_a_verb_it_shows_help(self):
        for words in ((), ("--socket", "/nowhere"), ("--json",)):
            self.assertIn("SUBCOMMANDS:", self.run_plain(*words).stdout)
        self.assertNotEqual(self.run_plain("--no-such-option", "status", code=64).stderr, "")
        self.assertNotEqual(self.run_plain("--socket", code=64).stderr, "")
        text = self.run_plain("--help").stdout
        self.assertIn("--socket", text)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines() if not line.startswith("USAGE")))


if __name__ == "__main__":
    unittest.main()
