"""What tests of etc/examples share."""
from __future__ import annotations

import functools
import os
import re
import subprocess
import tempfile
from pathlib import Path

import support
from support.daemon import NEVER
from support.programs import program
from support.system_test import SystemTest


@functools.cache
def knows_acceptance() -> bool:
    """Whether this beekond has accept_member and accept_value, by which µlogger's answers are read."""
    with tempfile.TemporaryDirectory(prefix="beekond-", dir="/tmp") as folder:
        path = Path(folder, "beekond.toml")
        path.write_text('[sync]\nurl = "https://a.example/"\nformat = "template"\naccept_member = "a"\naccept_value = "b"\n',
                        encoding="utf-8")
        path.chmod(0o600)
        done = subprocess.run([program("beekond"), "--config", str(path), "--check"], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=60, check=False)
    if done.returncode != 0:
        print("left out: accept_member and accept_value, which this beekond does not know yet", flush=True)
    return done.returncode == 0


class ExampleTest(SystemTest):
    def example(self, name: str) -> str:
        text = Path(support.ROOT, "etc", "examples", f"{name}.toml").read_text(encoding="utf-8")
        if "\naccept_" in text and not knows_acceptance():
            text = re.sub(r"(?m)^accept_(member|value) = .*\n", "", text)
        return text

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
