"""Tests that need a network or mounts that no other test of their file has: each one reruns itself in namespaces of its own."""
import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile

from support.ports import IS_OWN, NETWORK

INSIDE = "BEEKOND_TEST_NAMESPACE"
# Seconds. Only a test that hangs takes so long.
LIMIT = 3600 if os.environ.get("BEEKOND_LONG") else 600
UNSHARE = shutil.which("unshare")


def in_namespace(test):
    """Runs the test in a new network and mount namespace; skips it where none can be created."""
    return _alone(test, "no network namespace", "--map-root-user")


def with_groups(test):
    """Runs the test where the groups beekon (64001) and beekon-admin (64002) exist, and any user id can be assumed."""
    def run(self):
        with tempfile.NamedTemporaryFile("w", suffix=".group") as file, open("/etc/group", encoding="utf-8") as system:
            others = [line for line in system if not line.startswith(("beekon:", "beekon-admin:"))]
            file.write("".join(others) + "beekon:x:64001:\nbeekon-admin:x:64002:\n")
            file.flush()
            os.chmod(file.name, 0o644)
            subprocess.run(["mount", "--bind", file.name, "/etc/group"], check=True)
            test(self)

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return _alone(run, "no mount namespace")


def _alone(test, what: str, *options: str):
    def run(self):
        if os.environ.get(INSIDE):
            test(self)
            return
        alone = [UNSHARE, "--mount", *options] if UNSHARE and IS_OWN else ["false"]
        if subprocess.run([*alone, "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest(f"{what} can be made here")
        name = f"{type(self).__name__}.{test.__name__}"
        folder, file = os.path.split(inspect.getfile(type(self)))
        module = os.path.splitext(file)[0]
        # Which enters a network of its own.
        environment = {**{key: value for key, value in os.environ.items() if key != NETWORK}, INSIDE: "1"}
        result = subprocess.run(
            [*alone, sys.executable, "-m", "unittest", "-v", f"{module}.{name}"], cwd=folder, env=environment,
            capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        reason = re.search(r"skipped ['\"](.*)['\"]", result.stderr)
        if reason:
            self.skipTest(reason[1])

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    run.__dict__.update(test.__dict__)
    return run
