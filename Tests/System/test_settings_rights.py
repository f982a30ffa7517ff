"""Who may change which settings, as the kernel tells the daemon who calls."""
import json
import os
import subprocess
import sys
import unittest

from harness import SystemTest
from namespace import with_groups

BEEKON, ADMIN = 64001, 64002
# Becomes somebody in the groups that it is given, reads calls, a line each, and prints what came of each.
CLIENT = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from tracker import Refusal, Tracker
groups = json.loads(sys.argv[3])
if groups is not None:
    os.setgroups(groups)
    os.setgid(65534)
    os.setuid(65534)
try:
    tracker = Tracker(sys.argv[2])
except OSError as error:
    sys.exit(type(error).__name__)
for line in sys.stdin:
    method, parameters = json.loads(line)
    try:
        tracker.call(method, **parameters)
        print("done")
    except Refusal as refusal:
        print(refusal.name)
"""
INTERVAL = "tracking.interval_seconds"


def configure(**settings) -> tuple:
    return ("Configure", {"settings": {name.replace("__", "."): value for name, value in settings.items()}})


def reset(*keys: str) -> tuple:
    return ("ResetConfig", {"keys": list(keys)})


@unittest.skipUnless(os.geteuid() == 0, "needs root, to become others")
class RightsTests(SystemTest):
    def open(self, **sections):
        daemon = self.daemon(**sections).start()
        # The way to the socket; the socket itself is as the daemon has made it.
        for path in (self.directory, daemon.directory):
            os.chmod(path, 0o755)
        return daemon

    def calls(self, daemon, calls: list, groups: list | None) -> list:
        """What comes of these calls by somebody in these groups; None: by root."""
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, os.path.dirname(os.path.abspath(__file__)), daemon.socket, json.dumps(groups)],
            input="".join(json.dumps(call) + "\n" for call in calls), capture_output=True, text=True, timeout=60, cwd="/")
        return done.stdout.split() or [done.stderr.strip()]

    @with_groups
    def test_who_may_set_what(self):
        daemon = self.open(sync={"url": "https://a.example/"})
        tunable = [
            configure(tracking__interval_seconds=5, store__max_rows=5000, gpsd__port=2000, gpsd__device="/dev/x"),
            configure(sync__interval_seconds=600, sync__batch_size=5, sync__sync_threshold=7),
            configure(extras__driver="7"), configure(store__durability="normal"), reset(INTERVAL, "sync.batch_size"), reset(),
            ("Reload", {}), ("GetConfig", {}), configure(),
        ]
        guarded = [
            configure(gpsd__host="192.0.2.1"), configure(sync__url="https://b.example/"), configure(sync__url=""),
            configure(sync__timeout_seconds=1), configure(sync__on_reject="isolate"), configure(sync__platform="x"),
            configure(sync__allow_insecure_http=True), configure(sync__proxy="http://p.example"),
            configure(sync__auth__skew_margin_seconds=5), configure(sync__auth__refresh_url="https://b.example/"),
            configure(sync__headers__X="x"), configure(sync__ca_file="/etc/passwd"), reset("gpsd.host"), reset("sync.url"),
            reset("sync.of_the_future"), configure(tracking__interval_seconds=6, gpsd__host="192.0.2.1"),
            reset(INTERVAL, "sync.url"), ("SeedAuth", {"access_token": "a"}), ("DeleteLocations", {}), ("PurgeRejected", {}),
        ]
        self.assertEqual(self.calls(daemon, tunable, []), ["PermissionError"])
        self.assertEqual(self.calls(daemon, tunable, [ADMIN]), ["PermissionError"])
        before = daemon.call("GetConfig")
        self.assertEqual(self.calls(daemon, guarded, [BEEKON]), ["PermissionDenied"] * len(guarded))
        self.assertEqual(daemon.call("GetConfig"), before)
        for groups in ([BEEKON], [BEEKON, ADMIN], None):
            self.assertEqual(self.calls(daemon, tunable, groups), ["done"] * len(tunable), groups)
        # Mistakes are told to everybody, whatever they would be about.
        self.assertEqual(self.calls(daemon, [configure(sync__ulr="x"), configure(nonsense=1)], [BEEKON]),
                         ["InvalidConfiguration"] * 2)
        for groups in ([BEEKON, ADMIN], None):
            found = self.calls(daemon, guarded, groups)
            self.assertNotIn("PermissionDenied", found)
            # A secret, a path, and what nobody has set.
            self.assertEqual([guarded[index] for index, word in enumerate(found) if word == "InvalidConfiguration"],
                             [guarded[10], guarded[11], guarded[14]])
            daemon.call("ResetConfig", keys=["gpsd.host", "sync.url", INTERVAL])
        self.assertIn("Configure by uid 65534, pid ", daemon.text())
        self.assertIn("Reload by uid 65534, pid ", daemon.text())
        self.assertIn("set while running: gpsd.host, tracking.interval_seconds", daemon.text())

    @with_groups
    def test_what_another_version_has_set_keeps_its_rights(self):
        daemon = self.open()
        daemon.terminate()
        with open(os.path.join(daemon.state, "settings.json"), "w", encoding="utf-8") as file:
            json.dump({"version": 1, "settings": {"sync.of_the_future": 1, "tracking.of_the_future": 1}}, file)
        daemon.start()
        calls = [reset("sync.of_the_future"), reset("tracking.of_the_future")]
        self.assertEqual(self.calls(daemon, calls, [BEEKON]), ["PermissionDenied", "done"])
        self.assertEqual(self.calls(daemon, calls[:1], [BEEKON, ADMIN]), ["done"])
        self.assertEqual(daemon.status()["degraded"], [])


if __name__ == "__main__":
    unittest.main()
