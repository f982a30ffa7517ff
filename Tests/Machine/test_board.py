"""The package in a virtual machine of its kind (BEEKOND_TARGET): what an operator would see of it, SIGKILL, and a power cut."""
from __future__ import annotations

import os
import re
import unittest

import debian
import virtual
from support.waiting import wait_for
from test_power import MachineTest

UNIT = ("[Unit]\nAfter=beekond.service tell.service\n"
        f"[Service]\nType=oneshot\nStandardOutput=tty\nTTYPath=/dev/{virtual.CONSOLE}\n"
        "ExecStart=/bin/sh /root/board.sh\n[Install]\nWantedBy=multi-user.target\n")
# systemd's measure: 0 for none, 10 for everything.
MOST_EXPOSED = 1.5


def setUpModule():
    reason = virtual.missing()
    if reason:
        raise unittest.SkipTest(reason)


@unittest.skipIf(debian.BRIEF, "takes minutes: not in the brief form")
class BoardTest(MachineTest):
    vehicle: virtual.Machine

    def said(self) -> dict:
        """What the script has said so far."""
        return dict(re.findall(r"^board ([\w-]+): (.*)$", self.vehicle.console().replace("\r", ""), re.M))

    def test_it_does_what_it_does_elsewhere(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "board.sh"), encoding="utf-8") as file:
            files = {"root/board.sh": file.read(), "etc/systemd/system/board.service": UNIT,
                     # Empty is masked: a login that begins there drops what others have written.
                     f"etc/systemd/system/serial-getty@{virtual.CONSOLE}.service": ""}
        self.vehicle = machine = self.machine(self.url(), {"allow_insecure_http": True}, files=files, units=("board",))
        machine.start()
        wait_for(lambda: "end" in self.said() or not machine.qemu.running,
                 lambda: f"all steps; so far {self.said()}; {machine.console()[-1500:]}", 1800)
        said = self.said()
        print("\n" + "\n".join(f"{name}: {value}" for name, value in said.items()), flush=True)
        for step in ("stored", "comes-back", "same-session"):
            with self.subTest(step):
                self.assertEqual(said.get(step), "yes")
        self.assertEqual(said["socket"].split()[1:], ["beekon", "660"])
        self.assertEqual(said["member"], "0", "a member of group beekon commands it")
        self.assertNotEqual(said["stranger"], "0", "and nobody else")
        self.assertLessEqual(float(said["exposure"]), MOST_EXPOSED)
        self.assertIn(debian.ARCHITECTURE, said["package"])
        machine.cut()
        self.assert_sound(machine)
        reported = set(machine.stored(1))
        self.assertTrue(reported)
        machine.start()
        machine.wait_status(lambda status: status["gate"]["admitted"] >= 1 and status["state"] == "tracking",
                            "tracking goes on after the cut", 900)
        wait_for(lambda: reported <= self.received(), lambda: f"{len(reported - self.received())} are missing", 600)
        machine.cut()
        self.assert_sound(machine)
        self.assertEqual(self.backend.faults(), [])
        print(f"power cut: the database is sound; {len(reported)} reported stored before it, all of them received")


if __name__ == "__main__":
    unittest.main()
