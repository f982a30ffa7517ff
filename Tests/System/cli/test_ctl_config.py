"""beekonctl config and reload: what a person or a script gets in the shell."""
import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest


class ConfigTests(CtlTest):
    def test_show(self):
        daemon = self.daemon(tracking={"interval_seconds": 7}, sync={"url": "https://u:hunter2@a.example/?k=hunter3"},
                             **{"sync.headers": {"X-Api-Key": "hunter4"}, "extras": {"note": "n" * 300}}).start()
        daemon.call("Configure", settings={"gpsd.device": "/dev/x"})
        for words in ([], ["--origin"], ["sync", "--origin"]):
            done = self.run_ctl(daemon, "config", "show", *words)
            self.assertNotIn("hunter", done.stdout)
            # In a pipe nothing is cut, and what is long moves nothing else.
            self.assertNotIn("…", done.stdout)
            self.assertLess(sorted(len(line) for line in done.stdout.splitlines())[-2], 140, done.stdout)
        self.assertIn("n" * 300, self.run_ctl(daemon, "config", "show").stdout)
        text = self.run_ctl(daemon, "config", "show", "--origin").stdout
        self.assertRegex(text, r"(?m)^KEY +VALUE +ORIGIN$")
        self.assertRegex(text, r'(?m)^gpsd\.device +"/dev/x" +runtime$')
        self.assertRegex(text, r"(?m)^tracking\.interval_seconds +7 +beekond\.toml:\d+$")
        self.assertRegex(text, r"(?m)^store\.max_rows +100000 +default$")
        self.assertRegex(text, r"(?m)^sync\.headers\.(x-api-key|X-Api-Key) +\(set\) ")
        self.assertIn(f"Files are in {daemon.directory}/", text)
        found = json.loads(self.run_ctl(daemon, "config", "show", "--json").stdout)
        self.assertEqual(found, daemon.call("GetConfig"))
        self.assertEqual(self.run_ctl(daemon, "config", "show", "gpsd.port").stdout.splitlines()[1].split(),
                         ["gpsd.port", str(daemon.setting("gpsd.port"))])
        self.assertIn("no setting", self.run_ctl(daemon, "config", "show", "gpsd.prot", code=65).stderr)

    def test_set_and_unset(self):
        daemon = self.daemon(tracking={"interval_seconds": 7}).start()
        done = self.run_ctl(daemon, "config", "set", "tracking.interval_seconds=10", "gpsd.device=/dev/x y",
                            "gpsd.replay=true", "extras.driver=7", "tracking.distance_meters=0.5")
        self.assertIn("tracking.interval_seconds = 10  (runtime)\n", done.stdout)
        self.assertEqual(len(done.stdout.splitlines()), 5)
        self.assertEqual([daemon.setting(key) for key in ("gpsd.device", "gpsd.replay", "extras.driver",
                                                          "tracking.distance_meters")], ["/dev/x y", True, "7", 0.5])
        done = self.run_ctl(daemon, "config", "set", "sync.batch_size=5000")
        self.assertEqual(done.stdout, "sync.batch_size = 1000  (runtime)\n")
        self.assertEqual(done.stderr, "beekonctl: sync.batch_size is 1000, the nearest to 5000 that is allowed\n")
        done = self.run_ctl(daemon, "config", "unset", "tracking.interval_seconds", "gpsd.replay")
        self.assertRegex(done.stdout, rf"tracking\.interval_seconds = 7  \({daemon.config}:\d+\)\n")
        self.assertIn("gpsd.replay = false  (default)\n", done.stdout)
        found = json.loads(self.run_ctl(daemon, "config", "unset", "--all", "--json").stdout)["settings"]
        self.assertEqual([row["origin"] == "runtime" for row in found], [False] * 3)
        self.assertIn("nothing was set", self.run_ctl(daemon, "config", "unset", "--all").stderr)

    def test_what_is_refused(self):
        daemon = self.daemon().start()
        before = daemon.call("GetConfig")
        for words, code, word in (
            (["tracking.interval_seconds"], 64, "key=value"), (["=5"], 64, "key=value"),
            (["gpsd.port=1", "gpsd.port=2"], 64, "twice"), (["gpsd.port=x"], 65, "number"), (["gpsd.replay=1"], 65, "true"),
            (["gpsd.port=70000"], 78, "1 to 65535"), (["gpsd.prot=5"], 78, "did you mean gpsd.port"),
            (["tracking.distance_meters=5", "gpsd.port=0"], 78, "gpsd.port is refused"),
            (["sync.headers.X-Key=hunter2"], 78, "is a secret"), (["sync.auth.access_token=hunter2"], 78, "auth seed"),
            (["gpsd.device=a\033[2Jb"], 78, "device"), (["x\033[2J=1"], 78, "not a setting"),
        ):
            with self.subTest(words):
                done = self.run_ctl(daemon, "config", "set", *words, code=code)
                self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("", 1))
                self.assertIn(word, done.stderr)
                self.assertNotIn("hunter", done.stderr)
                self.assertNotIn("\033", done.stderr)
        self.run_ctl(daemon, "config", "unset", code=64)
        self.run_ctl(daemon, "config", "unset", "--all", "gpsd.port", code=64)
        self.assertIn("gpsd.port", self.run_ctl(daemon, "config", "unset", "gpsd.prot", code=78).stderr)
        self.assertEqual(daemon.call("GetConfig"), before)
        daemon.kill()
        for words in (["show"], ["set", "gpsd.port=1"], ["unset", "gpsd.port"]):
            self.run_ctl(daemon, "config", *words, code=69)
        self.run_ctl(daemon, "reload", code=69)

    def test_reload(self):
        daemon = self.daemon(tracking={"interval_seconds": 7}).start()
        self.assertIn("configuration reloaded; no setting has changed", self.run_ctl(daemon, "reload").stdout)
        daemon.configure(tracking={"interval_seconds": 8}, extras={"a": "b"})
        self.assertEqual(self.run_ctl(daemon, "reload").stdout,
                         'tracking.interval_seconds = 8  (was 7)\nextras.a = "b"  (new)\n')
        daemon.configure(tracking={"interval_seconds": -8})
        done = self.run_ctl(daemon, "reload", code=78)
        self.assertRegex(done.stderr, rf"^beekonctl: tracking\.interval_seconds is refused: {daemon.config}:\d+: -8 is out "
                                      r"of range; .*; nothing was changed\n$")
        self.assertEqual(daemon.setting("tracking.interval_seconds"), 8)
        daemon.configure(tracking={"interval_seconds": 8})
        self.assertEqual(json.loads(self.run_ctl(daemon, "reload", "--json").stdout), {"changes": []})

    def test_check(self):
        nowhere = self.daemon()
        good = nowhere.config
        done = self.run_ctl(nowhere, "config", "check", good)
        self.assertEqual(done.stdout, f"{good}: no errors\n")
        self.assertEqual(json.loads(self.run_ctl(nowhere, "config", "check", good, "--json").stdout),
                         {"file": good, "ok": True, "problems": [], "warnings": []})
        bad = self.path("bad.toml")
        with open(bad, "w", encoding="utf-8") as file:
            file.write("[tracking]\nintervall_seconds = 5\n\n[gpsd]\nport = 0\n")
        done = self.run_ctl(nowhere, "config", "check", bad, code=78)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, rf"(?m)^beekonctl: {bad}:2: tracking\.intervall_seconds: .*did you mean")
        self.assertRegex(done.stderr, rf"(?m)^beekonctl: {bad}:5: gpsd\.port: 0 is out of range")
        found = json.loads(self.run_ctl(nowhere, "config", "check", bad, "--json", code=78).stdout)
        self.assertEqual([(row["file"], row["line"], row["key"]) for row in found["problems"]],
                         [(bad, 2, "tracking.intervall_seconds"), (bad, 5, "gpsd.port")])
        self.run_ctl(nowhere, "config", "check", self.path("none.toml"), code=78)
        if not os.path.exists("/etc/beekond/beekond.toml"):
            self.assertIn("every setting has its default", self.run_ctl(nowhere, "config", "check").stdout)
        # It reports the same as beekond --check.
        with open(bad, "w", encoding="utf-8") as file:
            file.write("nonsense\n")
        self.assertIn(f"{bad}:1:", self.run_ctl(nowhere, "config", "check", bad, code=78).stderr)

    def test_check_of_what_runs(self):
        daemon = self.daemon(tracking={"interval_seconds": 7}).start()
        self.assertEqual(self.run_ctl(daemon, "config", "check").stdout, f"{daemon.config}: no errors\n")
        daemon.call("Configure", settings={"sync.url": "http://127.0.0.1:1/"})
        daemon.configure(sync={"batch_size": 5000})
        done = self.run_ctl(daemon, "config", "check")
        self.assertRegex(done.stdout, r"^warning: .*sync\.batch_size: 5000 is out of range")
        daemon.configure(gpsd={"port": 0})
        self.assertIn("gpsd.port", self.run_ctl(daemon, "config", "check", code=78).stderr)
        os.unlink(daemon.config)
        self.run_ctl(daemon, "config", "check", code=78)


if __name__ == "__main__":
    unittest.main()
