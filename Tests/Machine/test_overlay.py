"""docs/raspberry-pi.md in virtual machines: a root whose writes are lost with the power, and an adapter for USB.

The commands of the document are carried out in the machine, by a user with sudo, verbatim.
"""
from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import subprocess
import unittest
import uuid

import debian
import document
import virtual
from support.waiting import wait_for
from test_power import MachineTest

# Carries out the blocks in /root/blocks, each in a login of its own, and tells how they end and what there is to be seen.
SCRIPT = r"""#!/bin/sh
tell() { cat >/dev/CONSOLE; }
say() { echo "block $1: $2" | tell; }
if ! id pi >/dev/null 2>&1; then
    useradd --create-home --shell /bin/bash pi
    printf 'pi ALL=(ALL) NOPASSWD: ALL\n' >/etc/sudoers.d/pi
    for block in /root/blocks/*; do
        cp "$block" /tmp/block
        chmod 644 /tmp/block
        said=$(runuser -l pi -c "sh -e /tmp/block" 2>&1)
        say "$(basename "$block")" "exit $?"
        echo "$said" | tell
    done
fi
# Whatever becomes of the state, there is an end to waiting for it.
timeout 300 sh -c 'while systemctl list-jobs beekond.service | grep -q beekond; do sleep 1; done'
say root "$(findmnt -no FSTYPE /)"
say state "$(findmnt -no FSTYPE,SOURCE /var/lib/beekond | tr -s ' ')"
say active "$(systemctl is-active beekond)"
say started "$(systemctl show --value -p ExecMainStartTimestampMonotonic beekond)"
systemctl status --no-pager --full beekond | sed 's/^/status: /' | tell
for port in /dev/ttyUSB*; do
    [ ! -e "$port" ] || say port "$(udevadm info --query=property "$port" | grep -E 'MM_PORT_IGNORE|DEVLINKS' | tr '\n' ' ')"
done
# The reboot that the document asks for would do so.
sync
say end end
"""
UNIT = ("[Unit]\nAfter=gpsd.socket systemd-udev-settle.service\nWants=systemd-udev-settle.service\n"
        "[Service]\nType=simple\nExecStart=/bin/sh /root/blocks.sh\n"
        "[Install]\nWantedBy=multi-user.target\n")
PARTITION = 1 << 20
DISK_BYTES = 200 << 20


def setUpModule():
    reason = virtual.missing()
    if reason:
        raise unittest.SkipTest(reason)


class BlocksTest(MachineTest):
    def files(self, *blocks: str) -> dict:
        return {"root/blocks.sh": SCRIPT.replace("CONSOLE", virtual.CONSOLE), "etc/systemd/system/blocks.service": UNIT,
                "etc/hosts": "127.0.0.1 localhost van\n",
                # Empty is masked: a login that begins there drops what others have written.
                f"etc/systemd/system/serial-getty@{virtual.CONSOLE}.service": "",
                **{f"root/blocks/{number}": text for number, text in enumerate(blocks, 1)}}

    def answers(self, machine: virtual.Machine) -> dict:
        text = machine.console() if os.path.exists(machine.path(f"console-{machine.boots}")) else ""
        return dict(re.findall(r"^block (\w+): (.*)$", text.replace("\r", ""), re.M))

    def ended(self, machine: virtual.Machine) -> dict:
        """What the script told, when it has come to its end."""
        wait_for(lambda: "end" in self.answers(machine) or not machine.qemu.running,
                 lambda: f"the script ends; so far {self.answers(machine)}; {machine.console()[-2000:]}", 1500)
        told = self.answers(machine)
        print(f"\nboot {machine.boots}: {told}", flush=True)
        return told


@debian.takes_minutes
@unittest.skipIf(debian.IS_FOREIGN, "four boots of a machine, each instruction emulated")
class OverlayTest(BlocksTest):
    """The overlay is that of Debian's package overlayroot, which raspi-config switches on in the same words."""

    # As raspi-config writes it, without recurse=0: what stands in fstab is covered, too.
    LOST = "overlayroot=tmpfs"

    def state_disk(self) -> tuple:
        """qemu's options for an empty disk with one partition, which will be /dev/sda1."""
        path = os.path.join(self.folder, "state")
        with open(path, "wb") as disk:
            disk.truncate(DISK_BYTES)
            # A table with one partition of Linux, from the first MiB to the end.
            first, sectors = PARTITION // 512, (DISK_BYTES - PARTITION) // 512
            disk.seek(446)
            disk.write(bytes([0, 0, 0, 0, 0x83, 0, 0, 0]) + first.to_bytes(4, "little") + sectors.to_bytes(4, "little"))
            disk.seek(510)
            disk.write(b"\x55\xaa")
        return ("-device", "virtio-scsi-pci", "-drive", f"if=none,id=state,file={path},format=raw",
                "-device", "scsi-hd,drive=state")

    def assert_sound_disk(self) -> set:
        """The ids in what the cut left of the state, read by another SQLite; on a copy, as its journal has to be replayed."""
        mounted, copy = os.path.join(self.folder, "mounted"), os.path.join(self.folder, "copy")
        os.makedirs(mounted, exist_ok=True)
        subprocess.run(["cp", "--sparse=always", os.path.join(self.folder, "state"), copy], check=True)
        subprocess.run(["mount", "-o", f"loop,offset={PARTITION}", copy, mounted], check=True)
        try:
            self.assert_sound_state(mounted)
            with contextlib.closing(sqlite3.connect(os.path.join(mounted, "beekon.db"))) as link:
                return {str(uuid.UUID(bytes=row[0])) for row in link.execute("SELECT id FROM locations")}
        finally:
            subprocess.run(["umount", mounted], check=True)
            os.remove(copy)

    def test_what_is_stored_survives_a_root_that_forgets(self):
        self.backend.refuse(lambda request: True, 503)
        blocks = (document.block(r"sudo mkfs\.ext4"), document.block("findmnt"))
        machine = self.machine(self.url(), {"allow_insecure_http": True}, files=self.files(*blocks), units=("blocks",),
                               extra=debian.OVERLAY)
        disk = self.state_disk()
        sessions: set = set()
        # The document's commands, on a root that can still be written to; then the power goes.
        machine.start(*disk)
        told = self.ended(machine)
        self.assertEqual((told["1"], told["2"]), ("exit 0", "exit 0"))
        self.assertEqual((told["root"], told["state"], told["active"]), ("ext4", "ext4 /dev/sda1", "active"))
        self.drive(machine, sessions)
        # Twice with the overlay.
        for number in (2, 3):
            machine.start(*disk, append=self.LOST)
            told = self.ended(machine)
            self.assertEqual((told["root"], told["state"]), ("overlay", "ext4 /dev/sda1"))
            if number == 3:
                self.backend.accept_all()
            self.drive(machine, sessions, cut=number == 2)
        reported = {each for boot in (1, 2, 3) for each in machine.stored(boot)}
        wait_for(lambda: reported <= self.received(), lambda: f"{len(reported - self.received())} are missing", 600)
        machine.cut()
        self.assert_sound_disk()
        self.assertEqual(len(sessions), 1, "one session, of one installation")
        self.assertEqual(self.backend.faults(), [])
        print(f"{len(reported)} reported stored in three boots, two of them with an overlay, and three cuts: all received")
        # The disk is gone.
        machine.start(append=self.LOST)
        told = self.ended(machine)
        self.assertEqual((told["root"], told["state"]), ("overlay", ""))
        self.assertNotIn(told["active"], ("active", "activating"))
        self.assertEqual(told["started"], "0", "it has never run")
        status = re.findall(r"^status: (.*)$", machine.console().replace("\r", ""), re.M)
        print("\n".join(status))
        self.assertIn("Dependency failed for", "\n".join(status))
        machine.cut()

    def drive(self, machine: virtual.Machine, sessions: set, cut: bool = True):
        machine.wait_status(lambda status: status["gate"]["admitted"] >= 5 and status["state"] == "tracking", "it tracks", 600)
        status = machine.status()
        assert status is not None
        sessions.add((status["install_id"], status["session_id"]))
        if not cut:
            return
        machine.cut()
        reported = {each for boot in range(1, machine.boots + 1) for each in machine.stored(boot)}
        self.assertTrue(machine.stored(machine.boots))
        self.assertLessEqual(reported, self.assert_sound_disk(), "what was reported stored is there")
        print(f"cut {machine.boots}: the database is sound, with all {len(reported)} that were reported stored", flush=True)


@debian.takes_minutes
@unittest.skipUnless("whole" in debian.KERNELS, "the adapter is tested on amd64")
class UsbTest(BlocksTest):
    def test_receivers_are_known_by_names_that_stay(self):
        rule = document.block("sudo tee /etc/udev/rules.d/61-gnss.rules")
        # The numbers of the adapter here.
        for theirs, ours in (('"1e0e"', '"0403"'), ('=="01"', '=="00"')):
            self.assertEqual(rule.count(theirs), 1)
            rule = rule.replace(theirs, ours)
        blocks = (document.block("ls -l /dev/serial"), document.block("printf 'DEVICES=\"%s\""), rule,
                  "sudo udevadm settle\n" + document.block("printf 'DEVICES=\"/dev/gnss-modem\""))
        machine = self.machine(self.url(), {"allow_insecure_http": True}, files=self.files(*blocks), units=("blocks",),
                               kernel="whole")
        machine.start("-device", "qemu-xhci", "-device", "usb-serial,chardev=receiver,id=cable", receiver=("-serial", "none"))
        told = self.ended(machine)
        self.assertEqual([told[str(number)] for number in (1, 2, 3, 4)], ["exit 0"] * 4)
        self.assertRegex(machine.console(), r"usb-\S+-port0 -> ../../ttyUSB0")
        self.assertIn("ID_MM_PORT_IGNORE=1", told["port"])
        self.assertIn("/dev/gnss-modem", told["port"])
        # gpsd reads it by that name alone.
        before = (machine.status() or {"gate": {"admitted": 0}})["gate"]["admitted"]
        machine.wait_status(lambda status: status["gate"]["admitted"] >= before + 3, "fixes are stored", 600)
        machine.cut()


if __name__ == "__main__":
    unittest.main()
