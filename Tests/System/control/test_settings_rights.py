"""Who may change which settings; the kernel tells the daemon who calls."""
import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.users import DAEMON_ID, UsersTest

TUNER, ADMINISTRATOR = "a member of beekon", "an administrator"
INTERVAL = "tracking.interval_seconds"


def configure(**settings) -> tuple:
    return ("Configure", {"settings": {name.replace("__", "."): value for name, value in settings.items()}})


def reset(*keys: str) -> tuple:
    return ("ResetConfig", {"keys": list(keys)})


class SettingsRightsTests(UsersTest):
    def calls(self, daemon, calls: list, name: str) -> list:
        """The outcomes of these calls by this user."""
        found = []
        with self.client_as(daemon, name) as client:
            for method, parameters in calls:
                try:
                    client.call(method, **parameters)
                    found.append("done")
                except Refusal as refusal:
                    found.append(refusal.name)
        return found

    def test_who_may_set_what(self):
        daemon = self.unprivileged_daemon(1, sync={"url": "https://a.example/"}).start()
        tunable = [
            configure(tracking__interval_seconds=5, tracking__distance_meters=1_000_000),
            configure(sync__interval_seconds=600, sync__batch_size=5, sync__sync_threshold=7),
            configure(extras__driver="7"), reset(INTERVAL, "sync.batch_size"), reset(),
            ("Reload", {}), ("GetConfig", {}), configure(),
        ]
        # A secret, a path, and settings that nobody has made: these are mistakes as well, once the rights suffice.
        mistaken = [configure(sync__headers__X="x"), configure(sync__ca_file="/etc/passwd"), reset("sync.of_the_future"),
                    reset("store.of_the_future")]
        guarded = [
            *mistaken, configure(gpsd__host="192.0.2.1"), configure(sync__url="https://b.example/"), configure(sync__url=""),
            configure(sync__timeout_seconds=1), configure(sync__on_reject="isolate"), configure(sync__platform="x"),
            configure(sync__require_ack=True), configure(sync__accept_member="status", sync__accept_value=["stored"]),
            configure(sync__allow_insecure_http=True), configure(sync__proxy="http://p.example"),
            configure(sync__auth__skew_margin_seconds=5), configure(sync__auth__refresh_url="https://b.example/"),
            reset("gpsd.host"), reset("sync.url"), configure(tracking__interval_seconds=6, gpsd__host="192.0.2.1"),
            reset(INTERVAL, "sync.url"), configure(store__max_rows=1), configure(store__durability="normal"),
            configure(store__retention_days=0.01), configure(store__keep_uploaded=False), configure(gpsd__port=2000),
            configure(gpsd__replay=True), configure(gpsd__device="/dev/x"), reset("store.max_rows"),
            ("SeedAuth", {"access_token": "a"}), ("DeleteLocations", {}), ("PurgeRejected", {}),
        ]
        before = daemon.call("GetConfig")
        self.assertEqual(self.calls(daemon, guarded, TUNER), ["PermissionDenied"] * len(guarded))
        self.assertEqual(daemon.call("GetConfig"), before)
        for name in (TUNER, ADMINISTRATOR, "root"):
            self.assertEqual(self.calls(daemon, tunable, name), ["done"] * len(tunable), name)
        # Everybody learns of mistakes, whichever setting they concern.
        self.assertEqual(self.calls(daemon, [configure(sync__ulr="x"), configure(nonsense=1)], TUNER),
                         ["InvalidConfiguration"] * 2)
        for name in (ADMINISTRATOR, "root"):
            found = self.calls(daemon, guarded, name)
            self.assertNotIn("PermissionDenied", found)
            self.assertEqual([guarded[index] for index, word in enumerate(found) if word == "InvalidConfiguration"], mistaken)
            daemon.call("ResetConfig", keys=[found["key"] for found in daemon.call("GetConfig")["settings"]
                                             if found["origin"] == "runtime"])
        self.assertIn("Configure by uid 64721, pid ", daemon.text())
        self.assertIn("Reload by uid 64721, pid ", daemon.text())
        self.assertIn("set while running: gpsd.host, tracking.interval_seconds", daemon.text())

    def test_every_setting(self):
        """Each is set to the value it already has, so that only the rights decide."""
        daemon = self.unprivileged_daemon(1, sync={"url": "https://a.example/"}).start()
        found = {row["key"]: row["value"] for row in daemon.call("GetConfig")["settings"]}
        found = {key: value for key, value in found.items() if value != "(set)"}
        tunable = {key for key in found if key.startswith(("tracking.", "extras.", "display."))}
        tunable |= {"sync.interval_seconds", "sync.batch_size", "sync.sync_threshold"}
        tunable |= {"vehicle.ignition_debounce_seconds", "vehicle.ignition_off_delay_seconds", "vehicle.trip_gap_seconds"}
        self.assertLess({"store.max_rows", "gpsd.replay", "sync.proxy", *tunable}, set(found))
        for key, value in found.items():
            calls = [("Configure", {"settings": {key: value}}), reset(key)]
            expected = "done" if key in tunable else "PermissionDenied"
            self.assertEqual(self.calls(daemon, calls, TUNER), [expected] * 2, key)

    def test_destinations(self):
        """Those of the files can be tuned by all and changed by administrators; nobody can make one."""
        home = {"destination.home": {"url": "https://a.example/"}, "destination.home.headers": {"X-Key": "hunter2"}}
        daemon = self.unprivileged_daemon(1, **home).start()
        tunable = [configure(destination__home__interval_seconds=70, destination__home__batch_size=5,
                             destination__home__sync_threshold=7), reset("destination.home.batch_size")]
        guarded = [configure(destination__home__timeout_seconds=5),
                   configure(destination__home__metered_interfaces=["wwan*"]), reset("destination.home.timeout_seconds"),
                   configure(destination__home__url="https://a.example/elsewhere")]
        elsewhere = [configure(destination__home__url="https://b.example/")]
        unknown = [configure(destination__away__interval_seconds=70), configure(destination__home__auth="main")]
        self.assertEqual(self.calls(daemon, guarded, TUNER), ["PermissionDenied"] * len(guarded))
        self.assertEqual(self.calls(daemon, tunable, TUNER), ["done"] * len(tunable))
        # A threshold starts uploads, which are left to a person then.
        manual = [configure(destination__home__mode="manual")]
        self.assertEqual(self.calls(daemon, manual, TUNER), ["PermissionDenied"])
        self.assertEqual(self.calls(daemon, manual, ADMINISTRATOR), ["InvalidConfiguration"])
        self.assertEqual(self.calls(daemon, guarded, ADMINISTRATOR), ["done"] * len(guarded))
        self.assertEqual(self.calls(daemon, elsewhere + unknown, ADMINISTRATOR),
                         ["PermissionDenied", "InvalidConfiguration", "InvalidConfiguration"])
        self.assertEqual(self.calls(daemon, elsewhere, "root"), ["done"])
        found = {row["key"]: row["value"] for row in daemon.call("GetConfig")["settings"]}
        self.assertEqual(found["destination.home.url"], "https://b.example/")
        self.assertEqual(found["destination.home.metered_interfaces"], ["wwan*"])
        self.assertEqual(found["destination.home.headers.X-Key"], "(set)")
        self.assertNotIn("hunter2", daemon.text())

    def test_settings_from_another_version_keep_their_rights(self):
        daemon = self.unprivileged_daemon(1)
        path = os.path.join(daemon.state, "settings.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "settings": {"sync.of_the_future": 1, "tracking.of_the_future": 1}}, file)
        os.chown(path, DAEMON_ID, DAEMON_ID)
        daemon.start()
        calls = [reset("sync.of_the_future"), reset("tracking.of_the_future")]
        self.assertEqual(self.calls(daemon, calls, TUNER), ["PermissionDenied", "done"])
        self.assertEqual(self.calls(daemon, calls[:1], ADMINISTRATOR), ["done"])
        self.assertEqual(daemon.status()["degraded"], [])


if __name__ == "__main__":
    unittest.main()
