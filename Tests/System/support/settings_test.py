"""What tests of run-time settings share."""
import json
import os

from support.control_client import Refusal
from support.system_test import SystemTest

INTERVAL = "tracking.interval_seconds"


class SettingsTest(SystemTest):
    def refused(self, daemon, name: str, method: str, **parameters) -> dict:
        with self.assertRaises(Refusal) as caught:
            daemon.call(method, **parameters)
        self.assertEqual(caught.exception.name, name, caught.exception)
        return caught.exception.parameters

    def set(self, daemon, **settings):
        self.assertEqual(daemon.call("Configure", settings={k.replace("__", "."): v for k, v in settings.items()}), {})

    def origin(self, daemon, key: str) -> str:
        return {found["key"]: found["origin"] for found in daemon.call("GetConfig")["settings"]}[key]

    def file(self, daemon) -> str:
        return os.path.join(daemon.state, "settings.json")

    def stored(self, daemon) -> dict:
        with open(self.file(daemon), encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual(found["version"], 1)
        return found["settings"]
