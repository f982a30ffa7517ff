"""Manual pages, help and completions are complete, and the programs that read them accept them."""
import glob
import json
import os
import pty
import re
import select
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest, needs
from support.programs import BIN, ROOT, program
from support.virtual_waits import RealWaits
from support.waiting import wait_for

PAGES = sorted(glob.glob(os.path.join(ROOT, "etc", "man", "*.[1-8]")))


def tree(name: str) -> dict:
    done = subprocess.run([program(name), "--experimental-dump-help"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["command"]


def verbs(command: dict, path: tuple = ()) -> list:
    """Every verb with its arguments and options; a group of verbs is not a verb."""
    found: list = []
    for sub in command.get("subcommands", []):
        if sub["commandName"] == "help":
            continue
        here = (*path, sub["commandName"])
        found += verbs(sub, here) if sub.get("subcommands") else [(here, sub)]
    return found


def page(name: str) -> str:
    with open(os.path.join(ROOT, "etc", "man", name), encoding="utf-8") as file:
        return file.read()


class ManualTests(CtlTest):
    def test_they_are_up_to_date(self):
        command = [sys.executable, os.path.join(ROOT, "etc", "build", "manuals"), "--check", "--build", os.path.dirname(BIN)]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_verb_and_option_is_in_them(self):
        text = page("beekonctl.1")
        sections = dict(re.findall(r"^\.Ss (.*)\n((?:(?!\.S[sh] ).*\n)*)", text, re.M))
        found = verbs(tree("beekonctl"))
        self.assertGreaterEqual(len(found), 10)
        for path, verb in found:
            self.assertIn(" ".join(path), sections)
            for argument in verb.get("arguments", []):
                for name in argument.get("names") or []:
                    flag = ("Fl -" if name["kind"] == "long" else "Fl ") + name["name"]
                    self.assertTrue(flag in sections[" ".join(path)] or flag in text.split(".Sh VERBS")[0] or
                                    name["name"] in ("h", "help", "version"), f"{path} {flag}")
        self.assertEqual(set(sections), {" ".join(path) for path, _ in found})

    def test_every_option_of_the_others_is_in_them(self):
        done = subprocess.run([program("beekond"), "--help"], capture_output=True, text=True, check=True)
        for name, text in (("beekond.8", done.stdout), ("beekon-sim.1", json.dumps(tree("beekon-sim")))):
            options = set(re.findall(r"--([a-z-]+)", text)) | set(re.findall(r'"long", "name": "([a-z-]+)"', text))
            options -= {"generate-completion-script"}
            self.assertTrue(options)
            for option in options:
                self.assertIn(f"Fl -{option}", page(name), option)

    def test_every_method_and_error_is_in_them(self):
        with open(os.path.join(ROOT, "Sources/ControlProtocol/org.beekond.Tracker.varlink"), encoding="utf-8") as file:
            names = re.findall(r"^(?:method|error) (\w+)", file.read(), re.M)
        self.assertGreaterEqual(len(names), 30)
        for name in names:
            self.assertIn(f".It Ic {name}\n", page("org.beekond.Tracker.7"))

    @needs("groff")
    def test_groff_does_not_complain(self):
        self.assertEqual(len(PAGES), 6)
        for path in PAGES:
            done = subprocess.run(["groff", "-mandoc", "-ww", "-Tutf8", path], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), path)
            self.assertGreater(len(done.stdout.splitlines()), 40, path)

    @needs("mandoc")
    def test_mandoc_does_not_complain(self):
        for path in PAGES:
            done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", path], capture_output=True, text=True)
            self.assertEqual(done.stdout, "", path)


class HelpTests(CtlTest):
    def test_every_verb_has_an_example(self):
        for path, _ in verbs(tree("beekonctl")):
            text = subprocess.run([program("beekonctl"), *path, "--help"], capture_output=True, text=True, check=True).stdout
            self.assertRegex(text, rf"EXAMPLES?:\n( .*\n)* +(sudo )?.*beekonctl {' '.join(path)}", path)
            self.assertTrue(all(len(line) <= 80 for line in text.splitlines() if not line.startswith("USAGE")), path)

    def test_usage_is_64(self):
        daemon = self.fake_daemon()
        for words in (("fly",), ("history", "--format", "odt"), ("status", "--no-such-option"), ("watch", "--count", "0"),
                      ("history", "--last", "1h", "--from", "now"), ("plot", "--last", "soon")):
            self.assertNotEqual(self.run_ctl(daemon, *words, code=64).stderr, "")

    def completions(self, shell: str) -> str:
        path = self.path("completions." + shell)
        done = subprocess.run([program("beekonctl"), "--generate-completion-script", shell], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, "w", encoding="utf-8") as file:
            file.write(done.stdout)
        for verb, _ in verbs(tree("beekonctl")):
            self.assertIn(verb[-1], done.stdout)
        return path

    # What is typed, and what completion offers.
    COMPLETED = (
        ("hist", ["history"]), ("st", ["status", "start", "stop"]), ("geofence ", ["add", "remove", "list", "events"]),
        ("geofence a", ["add"]), ("history --fo", ["--format"]), ("history --format g", ["gpx", "geojson"]),
        ("rejected export --format c", ["csv"]), ("auth s", ["show", "seed"]), ("plot --h", ["--html", "--help"]),
    )

    @needs("bash")
    def test_bash_completes(self):
        path = self.completions("bash")
        for typed, offered in self.COMPLETED:
            words = ["beekonctl", *typed.split(" ")]
            line = " ".join(words)
            script = f"""source {path}
                COMP_WORDS=({line}{" ''" if typed.endswith(" ") else ""}) COMP_CWORD={len(words) - 1}
                COMP_LINE='{line}' COMP_POINT={len(line)} COMP_TYPE=9
                $(complete -p beekonctl | sed 's/.*-F \\([^ ]*\\).*/\\1/') beekonctl '{words[-1]}' '{words[-2]}'
                printf '%s\\n' "${{COMPREPLY[@]}}" """
            done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True)
            with self.subTest(typed):
                found = done.stdout.split()
                self.assertLessEqual(set(offered), set(found), done.stderr)
                self.assertTrue(all(word.startswith(words[-1]) for word in found), found)

    @needs("zsh")
    def test_zsh_takes_them(self):
        done = subprocess.run(["zsh", "-n", self.completions("zsh")], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @needs("zsh")
    def test_zsh_completes(self):
        """In a real zsh on a terminal, Tab completes a word."""
        folder = self.path("functions")
        os.mkdir(folder)
        os.rename(self.completions("zsh"), os.path.join(folder, "_beekonctl"))
        for typed, expected in (("beekonctl hist", "beekonctl history "), ("beekonctl geofence ad", "beekonctl geofence add "),
                                ("beekonctl history --format cs", "beekonctl history --format csv ")):
            with self.subTest(typed), RealWaits():
                self.assertIn(expected, self.zsh(folder, typed, expected))

    def zsh(self, folder: str, typed: str, expected: str) -> str:
        master, slave = pty.openpty()
        process = subprocess.Popen(
            ["zsh", "-f"], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env={**os.environ, "PATH": BIN + ":" + os.environ["PATH"], "TERM": "dumb", "PS1": "ready> ", "HOME": self.directory})
        os.close(slave)
        self.addCleanup(os.close, master)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.shown = ""

        def shows(text: str):
            if select.select([master], [], [], 0.05)[0]:
                self.shown += os.read(master, 4096).decode(errors="replace")
            return text in self.shown

        wait_for(lambda: shows("ready>"), lambda: f"a prompt: {self.shown!r}")
        # zsh disables zle on a dumb terminal.
        setup = f"fpath=({folder} $fpath); autoload -U compinit; compinit -u -D; setopt zle; echo set; echo up\n"
        os.write(master, setup.encode())
        wait_for(lambda: shows("\nup"), lambda: f"compinit: {self.shown!r}")
        self.shown = ""
        os.write(master, typed.encode() + b"\t")
        wait_for(lambda: shows(expected), lambda: f"{expected!r}: {self.shown!r}")
        return self.shown

    @needs("fish")
    def test_fish_completes(self):
        path = self.completions("fish")
        for typed, offered in self.COMPLETED:
            done = subprocess.run(["fish", "--no-config", "-c", f"source {path}; complete -C 'beekonctl {typed}'"],
                                  capture_output=True, text=True, env={**os.environ, "HOME": self.directory,
                                                                       "PATH": BIN + ":" + os.environ["PATH"]})
            with self.subTest(typed):
                self.assertLessEqual(set(offered), {line.split("\t")[0] for line in done.stdout.splitlines()}, done.stderr)


if __name__ == "__main__":
    unittest.main()
