"""Tests that do with the network what they like: each runs itself again in a namespace of its own."""
import fcntl
import os
import re
import shutil
import socket
import struct
import subprocess
import sys

INSIDE = "BEEKOND_TEST_NAMESPACE"
UNSHARE = shutil.which("unshare")


def in_namespace(test):
    """Runs the test in a new network (and mount) namespace; skips it where the kernel gives none."""
    def run(self):
        if os.environ.get(INSIDE):
            return test(self)
        alone = [UNSHARE, "--net", "--mount", "--map-root-user"] if UNSHARE else ["false"]
        if subprocess.run([*alone, "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no network namespace can be made here")
        name = f"{type(self).__name__}.{test.__name__}"
        module = os.path.splitext(os.path.basename(sys.modules[type(self).__module__].__file__))[0]
        result = subprocess.run(
            [*alone, sys.executable, "-m", "unittest", "-v", f"{module}.{name}"], env={**os.environ, INSIDE: "1"},
            cwd=os.path.dirname(os.path.abspath(__file__)), capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        reason = re.search(r"skipped ['\"](.*)['\"]", result.stderr)
        if reason:
            self.skipTest(reason[1])

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        fcntl.ioctl(link, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: IFF_UP | IFF_RUNNING
