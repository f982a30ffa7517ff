"""Interfaces that lead nowhere, and default routes by them."""
import subprocess

from .system_test import SystemTest

KINDS = ("dummy", "veth", "bridge")


def ip(*words: str) -> bool:
    return subprocess.run(["ip", *words], stderr=subprocess.DEVNULL).returncode == 0


class Links(SystemTest):
    def links(self, *names: str):
        """Interfaces of these names; each can have a default route."""
        for number, name in enumerate(names):
            try:
                made = any(ip("link", "add", name, "type", kind) for kind in KINDS)
            except FileNotFoundError:
                self.skipTest("ip (iproute2) is not installed")
            if not made:
                self.skipTest("the kernel here has no interfaces that lead nowhere")
            self.assertTrue(ip("addr", "add", f"10.77.{number}.1/24", "dev", name))
            self.assertTrue(ip("link", "set", name, "up"))

    def route(self, number: int, name: str, metric: int = 0):
        """The default route is by this interface from now on; with a metric, once there is none that has a lower one."""
        self.assertTrue(ip("route", "replace", "default", "via", f"10.77.{number}.2", "dev", name, "metric", str(metric)))
