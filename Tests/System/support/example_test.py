"""What tests of etc/examples share."""
from __future__ import annotations

import os
import re
from pathlib import Path

import support
from support.daemon import NEVER
from support.system_test import SystemTest


class ExampleTest(SystemTest):
    def example(self, name: str) -> str:
        return Path(support.ROOT, "etc", "examples", f"{name}.toml").read_text(encoding="utf-8")

    def without_schedule(self, text: str) -> str:
        """No upload comes of itself in the middle."""
        return re.sub(r"(?m)^interval_seconds = \d+$", f"interval_seconds = {NEVER}", text)

    def install(self, daemon, text: str):
        """Copies an example beside the configuration, as its comments say."""
        folder = os.path.join(daemon.directory, "beekond.d")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "50-example.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o600)
