"""podman in a folder of its own, for whom no service of the system works."""
from __future__ import annotations

import os
import subprocess

# Where containers are run inside others, limits cannot be raised, and cgroups cannot be made.
CONFIGURATION = """[containers]
cgroups = "disabled"
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "crun"
[network]
network_backend = "netavark"
network_config_dir = "{folder}/networks"
"""
STORAGE = '[storage]\ndriver = "vfs"\nrunroot = "{folder}/run"\ngraphroot = "{folder}/storage"\n'


class Podman:
    def __init__(self, folder: str):
        files = {"CONTAINERS_CONF": CONFIGURATION, "CONTAINERS_STORAGE_CONF": STORAGE}
        # The tests carry out health checks themselves: nobody here has timers.
        self.environment = dict(os.environ, HOME=folder, DISABLE_HC_SYSTEMD="true")
        for name, text in files.items():
            self.environment[name] = os.path.join(folder, name.lower())
            with open(self.environment[name], "w", encoding="utf-8") as file:
                file.write(text.format(folder=folder))

    def run(self, *words: str, check: bool = True, seconds: float = 120, program: str = "podman", **options) -> tuple:
        """Runs podman: (exit code, output, errors)."""
        done = subprocess.run([program, *words], env=self.environment, text=True, timeout=seconds, capture_output=True, **options)
        if check and done.returncode:
            raise AssertionError(f"{program} {' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.returncode, done.stdout, done.stderr

    def output(self, *words: str, **options) -> str:
        return self.run(*words, **options)[1].strip()

    def load(self, root: str, name: str, *changes: str):
        """Makes an image of a folder."""
        words = [word for change in changes for word in ("--change", change)]
        with subprocess.Popen(["tar", "-C", root, "-c", "--exclude=./var/cache/apt", "--exclude=./var/lib/apt/lists", "."],
                              stdout=subprocess.PIPE) as packing:
            subprocess.run(["podman", "import", "--quiet", *words, "-", name], env=self.environment, stdin=packing.stdout,
                           check=True, stdout=subprocess.DEVNULL, timeout=300)

    def why_not(self, name: str) -> str | None:
        """Why containers of an image that has true(1) cannot run here; None if they can."""
        code, _, errors = self.run("run", "--rm", "--network", "podman", name, "true", check=False)
        return errors.strip().splitlines()[-1] if code else None
