"""What the server has set: a layer above the files and below what is set here, as the tool and the interface show it."""
import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.command_server import CommandServer
from support.control_client import Refusal
from support.daemon import NEVER
from support.waiting import wait_for

INTERVAL, DISTANCE, ANGLE = "tracking.interval_seconds", "tracking.distance_meters", "tracking.angle_degrees"
RIGHTS = {"enabled": True, "allow": ["set_config", "unset_config"], "settings": [INTERVAL, DISTANCE, "extras"]}


def served(daemon, **settings):
    """Leaves these as if the server had set them."""
    path = os.path.join(daemon.state, "server-settings.json")
    content = {"version": 1, "settings": {key.replace("__", "."): value for key, value in settings.items()}}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)
    os.chmod(path, 0o600)


class ServerSettingsTests(CtlTest):
    def with_server(self, rights: dict | None = None, **settings):
        backend = self.backend()
        daemon = self.daemon(tracking={"interval_seconds": 7}, sync={"url": backend.url, "interval_seconds": NEVER},
                             **{"sync.commands": RIGHTS if rights is None else rights})
        served(daemon, **settings)
        return daemon.start()

    def found(self, daemon, key: str) -> tuple:
        row = next(row for row in daemon.call("GetConfig")["settings"] if row["key"] == key)
        return row["value"], row["origin"], row.get("overrides_server", False)

    def test_layers(self):
        daemon = self.with_server(tracking__interval_seconds=9, tracking__distance_meters=50, extras__depot="7")
        self.assertEqual(self.found(daemon, INTERVAL), (9, "server", False))
        self.assertEqual(self.found(daemon, "extras.depot"), ("7", "server", False))
        self.assertIn("3 settings of the server are in force: extras.depot, tracking.distance_meters", daemon.text())
        self.assertEqual(daemon.status()["degraded"], [])
        daemon.call("Configure", settings={INTERVAL: 11})
        self.assertEqual(self.found(daemon, INTERVAL), (11, "runtime", True))
        daemon.kill()
        daemon.start()
        self.assertEqual(self.found(daemon, INTERVAL), (11, "runtime", True))
        text = self.run_ctl(daemon, "config", "show", "--origin").stdout
        self.assertRegex(text, rf"(?m)^{INTERVAL} +11 +runtime > server$")
        self.assertRegex(text, rf"(?m)^{DISTANCE} +50 +server$")
        self.assertRegex(text, rf"(?m)^{ANGLE} +0 +default$")
        self.assertRegex(text, r"(?m)^sync\.url +\S+ +\S*beekond\.toml:\d+$")
        done = self.run_ctl(daemon, "config", "unset", INTERVAL)
        self.assertEqual(done.stdout, f"{INTERVAL} = 9  (server)\n")

    def test_they_are_taken_back(self):
        daemon = self.with_server(tracking__interval_seconds=9, tracking__distance_meters=50, tracking__angle_degrees=5)
        # The last is not in force, and goes with --all.
        self.assertEqual(self.found(daemon, ANGLE), (0, "default", False))
        done = self.run_ctl(daemon, "config", "unset", "--server", DISTANCE)
        self.assertEqual((done.stdout, done.stderr), (f"{DISTANCE} = 0.01  ({daemon.config}:5)\n", ""))
        done = self.run_ctl(daemon, "config", "unset", "--server", "--all", "--json")
        self.assertEqual([(row["key"], row["value"]) for row in json.loads(done.stdout)["settings"]], [(INTERVAL, 7)])
        done = self.run_ctl(daemon, "config", "unset", "--server", "--all")
        self.assertIn("the server has set none of that", done.stderr)
        self.assertEqual(daemon.call("ResetServerConfig"), {"removed": 0})
        with self.assertRaises(Refusal) as caught:
            daemon.call("ResetServerConfig", keys=["tracking.intervall"])
        self.assertEqual((caught.exception.name, caught.exception.parameters["key"]),
                         ("InvalidConfiguration", "tracking.intervall"))
        self.assertIn("no longer set by the server: tracking.angle_degrees, tracking.interval_seconds", daemon.text())
        daemon.kill()
        daemon.start()
        self.assertEqual(self.found(daemon, INTERVAL)[:1], (7,))

    def test_the_files_decide_what_counts(self):
        daemon = self.with_server(tracking__interval_seconds=9, tracking__distance_meters=50)
        for rights, expected in (({"enabled": False}, 7), ({"enabled": True, "settings": [DISTANCE]}, 7),
                                 ({"settings": [DISTANCE, INTERVAL]}, 9)):
            daemon.configure(**{"sync.commands": rights})
            daemon.call("Reload")
            self.assertEqual(self.found(daemon, INTERVAL)[0], expected, rights)
            # Nothing is wrong: it is what the operator wants.
            self.assertEqual(daemon.status()["degraded"], [])
        self.assertIn(f"not in force, because the files do not let the server set them: {INTERVAL}", daemon.text())

    def test_what_does_not_go_with_the_files_gives_way(self):
        rights = {**RIGHTS, "settings": [INTERVAL, "sync.batch_size"]}
        daemon = self.with_server(rights, tracking__interval_seconds=9, sync__batch_size=80)
        self.assertEqual(self.found(daemon, "sync.batch_size"), (80, "server", False))
        daemon.configure(sync={"batch_size": 60})
        daemon.call("Reload")
        self.assertEqual(self.found(daemon, "sync.batch_size")[0], 60)
        self.assertEqual(self.found(daemon, INTERVAL), (9, "server", False))
        self.assertEqual(daemon.status()["degraded"], ["config"])
        self.assertIn("sync.batch_size, set by the server, is left out: is more than the files' 60", daemon.text())
        self.run_ctl(daemon, "config", "unset", "--server", "sync.batch_size")
        self.assertEqual(daemon.status()["degraded"], [])

    def test_a_damaged_file(self):
        daemon = self.with_server(tracking__interval_seconds=9)
        daemon.call("Configure", settings={DISTANCE: 5})
        daemon.kill()
        for name in ("server-settings.json", "server-settings.json.copy"):
            Path(daemon.state, name).write_bytes(b"\0\0")
        daemon.start()
        self.assertEqual(daemon.status()["degraded"], ["config"])
        self.assertEqual((self.found(daemon, INTERVAL)[0], self.found(daemon, DISTANCE)[0]), (7, 5))
        self.assertIn("the settings of the server are invalid (damaged): they are kept as "
                      + os.path.join(daemon.state, "server-settings.json.aside-1"), daemon.text())
        self.run_ctl(daemon, "config", "unset", "--server", "--all")
        self.assertEqual(daemon.status()["degraded"], [])

    def test_the_copy_takes_its_place(self):
        daemon = self.with_server(tracking__interval_seconds=9)
        daemon.kill()
        wait_for(lambda: os.path.exists(os.path.join(daemon.state, "server-settings.json.copy")), "a copy")
        Path(daemon.state, "server-settings.json").write_bytes(b"\0\0")
        daemon.start()
        self.assertEqual(self.found(daemon, INTERVAL), (9, "server", False))

    def test_what_the_server_asks_for(self):
        """All or nothing for each command; what is set here stays, and is named; ranges are those of everywhere."""
        server = CommandServer()
        self.addCleanup(server.stop)
        fake = self.fake()
        rights = {**RIGHTS, "settings": [INTERVAL, DISTANCE, "sync.interval_seconds", "sync.batch_size"]}
        daemon = self.daemon(fake.port, tracking={"interval_seconds": 7}, **{"sync.commands": rights},
                             sync={"url": server.url, "batch_size": 50, "heartbeat_seconds": 1800}).start()
        daemon.call("Configure", settings={DISTANCE: 5})
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)

        def set_config(**settings) -> str:
            return server.command("set_config", settings={key.replace("__", "."): value for key, value in settings.items()})

        ids = {
            set_config(tracking__interval_seconds=9, tracking__distance_meters=50): None,
            set_config(tracking__interval_seconds=10, tracking__angle_degrees=5): "setting_not_allowed",
            set_config(tracking__interval_seconds=11, gpsd__host="192.0.2.1"): "setting_not_allowed",
            set_config(tracking__interval_seconds=12, sync__url="https://b.example/"): "setting_not_allowed",
            set_config(tracking__interval_seconds=-1): "invalid_setting",
            set_config(tracking__interval_seconds=14, tracking__distance_meters="far"): "invalid_setting",
            set_config(tracking__interval_second=15): "unknown_setting",
            set_config(sync__interval_seconds=1801): "invalid_setting",
            set_config(sync__batch_size=51): "invalid_setting",
            set_config(sync__interval_seconds=1800, sync__batch_size=50): None,
        }
        daemon.sync_until(lambda answer: set(ids) <= set(server.results), "all results")
        for identity, error in ids.items():
            result = server.results[identity][0]
            self.assertEqual(result.get("error", "").split(":")[0] or None, error, result)
        self.assertEqual(server.results[next(iter(ids))][0]["result"], {"overridden": [DISTANCE]})
        for attempt in range(2):
            self.assertEqual(self.found(daemon, INTERVAL), (9, "server", False))
            self.assertEqual(self.found(daemon, DISTANCE), (5, "runtime", True))
            self.assertEqual(self.found(daemon, "sync.interval_seconds"), (1800, "server", False))
            self.assertNotIn("config", daemon.status()["degraded"])
            if attempt == 0:
                daemon.kill()
                daemon.start()
        back = server.command("unset_config", keys=[INTERVAL, "sync.batch_size"])
        # A row to send: without one there is no request, and so no answer with the command.
        fake.settle()
        fake.drive(10)
        daemon.sync_until(lambda answer: back in server.results, "its result")
        self.assertTrue(server.results[back][0]["ok"])
        self.assertEqual(self.found(daemon, INTERVAL)[:1], (7,))
        self.assertEqual(self.found(daemon, "sync.batch_size")[:1], (50,))


if __name__ == "__main__":
    unittest.main()
