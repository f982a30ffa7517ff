"""The package in a virtual machine of its kind (BEEKOND_TARGET): what an operator would see of it, SIGKILL, and a power cut;
and on a kernel with such pages, the Swift tests of what counts them.
"""
from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import unittest

import debian
import virtual
import wide
from support.waiting import wait_for
from test_power import MachineTest

UNIT = ("[Unit]\nAfter=beekond.service tell.service\n"
        f"[Service]\nType=oneshot\nStandardOutput=tty\nTTYPath=/dev/{virtual.CONSOLE}\n"
        "ExecStart=/bin/sh /root/board.sh\n[Install]\nWantedBy=multi-user.target\n")
# systemd's measure: 0 for none, 10 for everything.
MOST_EXPOSED = 1.5
# The debug build of `make test-arm64`, and the libraries that it runs with.
PROGRAM = os.path.join(debian.OTHER_BUILD, "debug", "beekondPackageTests.xctest")
SYSROOT = os.path.join(debian.BUILD, "cross", f"sysroot-{debian.SUITE}-{debian.ARCHITECTURE}")
RUNTIME = os.path.join(debian.BUILD, "cross", f"runtime-{debian.ARCHITECTURE}", "usr/libexec/swift/lib/swift/linux")
# The tests alone, from a disk of their own that is mounted where they were compiled. They write to the disk of the machine:
# Debian 13 has /tmp in memory.
TESTS_UNIT = (
    "[Unit]\nRequires=dev-vdb.device dev-ttyS3.device\nAfter=dev-vdb.device dev-ttyS3.device\n"
    "SuccessAction=poweroff\nFailureAction=poweroff\n"
    "[Service]\nType=oneshot\nTTYPath=/dev/ttyS3\nStandardOutput=tty\nStandardError=tty\n"
    "Environment=TMPDIR=/var/tmp LD_LIBRARY_PATH=/src/lib NO_COLOR=1\n"
    "ExecStartPre=mkdir /src\nExecStartPre=mount -o ro /dev/vdb /src\nExecStartPre=getconf PAGESIZE\n"
    # But for random operations by the ten thousand, which take an hour here.
    "ExecStart=/src/tests --testing-library swift-testing --filter ^(BaseTests|LinuxTests|StorageTests) --skip ModelTests\n"
    "ExecStopPost=/bin/sh -c 'echo; echo ended: $SERVICE_RESULT'\n")


def setUpModule():
    reason = virtual.missing()
    if reason:
        raise unittest.SkipTest(reason)


@debian.takes_minutes
class BoardTest(MachineTest):
    vehicle: virtual.Machine
    # A kernel that is not the suite's.
    image: str | None = None

    def said(self) -> dict:
        """What the script has said so far."""
        return dict(re.findall(r"^board ([\w-]+): (.*)$", self.vehicle.console().replace("\r", ""), re.M))

    def test_it_does_what_it_does_elsewhere(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "board.sh"), encoding="utf-8") as file:
            files = {"root/board.sh": file.read(), "etc/systemd/system/board.service": UNIT,
                     # Empty is masked: a login that begins there drops what others have written.
                     f"etc/systemd/system/serial-getty@{virtual.CONSOLE}.service": ""}
        self.vehicle = machine = self.machine(self.url(), {"allow_insecure_http": True}, files=files, units=("board",))
        machine.start(image=self.image)
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
        machine.start(image=self.image)
        machine.wait_status(lambda status: status["gate"]["admitted"] >= 1 and status["state"] == "tracking",
                            "tracking goes on after the cut", 900)
        wait_for(lambda: reported <= self.received(), lambda: f"{len(reported - self.received())} are missing", 600)
        machine.cut()
        self.assert_sound(machine)
        self.assertEqual(self.backend.faults(), [])
        print(f"power cut: the database is sound; {len(reported)} reported stored before it, all of them received")

    @unittest.skipUnless(debian.IS_FOREIGN, "for machines whose pages may be others than these")
    def test_what_counts_pages_counts_these(self):
        if not os.path.exists(PROGRAM):
            self.skipTest(f"there are no tests for {' '.join(debian.TARGET)}: etc/build/cross {' '.join(debian.TARGET)} --tests")
        self.vehicle = machine = self.machine(self.url(), files={"etc/systemd/system/tests.service": TESTS_UNIT})
        machine.start("-drive", f"file={self.tests()},if=virtio,format=raw,readonly=on", "-m", "2048", "-smp", "2",
                      append="systemd.unit=tests.service", image=self.image)
        wait_for(lambda: not machine.qemu.running,
                 lambda: f"all tests; {machine.text('tell')[-3000:]}; {machine.console()[-1000:]}", 10_800)
        pages, _, said = machine.text("tell").replace("\r", "").partition("\n")
        summary = re.findall(r"^\S+ +(Test run with .*)$", said, re.M)
        failed = re.findall(r"^\S+ +(Test (?!run with|case )[^\n]* failed after.*)$", said, re.M)
        print(f"\npages of {pages} bytes: {summary}", flush=True)
        self.assertEqual(failed, [])
        self.assertIn("\nended: success", said, said[-3000:] + machine.console()[-1000:])
        self.assertRegex(" ".join(summary), r"with [1-9]\d* tests .*passed")

    def tests(self) -> str:
        """An image with the Swift tests and what they read."""
        folder, image = os.path.join(self.folder, "src"), os.path.join(self.folder, "tests.disk")
        shutil.copytree(os.path.join(debian.ROOT, "Tests"), os.path.join(folder, "Tests"))
        shutil.copytree(RUNTIME, os.path.join(folder, "lib"), ignore=lambda _, names: [
            name for name in names if not name.endswith(".so")])
        for name in ("libstdc++.so.6", "libgcc_s.so.1"):
            shutil.copy(glob.glob(os.path.join(SYSROOT, "usr/lib/*-linux-gnu", name))[0], os.path.join(folder, "lib"))
        shutil.copy(PROGRAM, os.path.join(folder, "tests"))
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", folder, image, "800M"], check=True, stdout=subprocess.DEVNULL)
        return image


@unittest.skipUnless(debian.HAS_WIDE, "such a kernel is built for arm64 with Debian 12, on amd64 with Debian 12")
class WidePagesTest(BoardTest):
    """The same with pages of 64 KiB."""

    @classmethod
    def setUpClass(cls):
        cls.image = wide.built()


if __name__ == "__main__":
    unittest.main()
