"""The commands of docs/raspberry-pi.md, and which test carries out which."""
from __future__ import annotations

import os
import re
from typing import NamedTuple

from support.programs import ROOT

PATH = os.path.join(ROOT, "docs", "raspberry-pi.md")
# Who carries out a command: test_raspberry in a container, there with ModemManager, and test_overlay in virtual machines
# with a disk, and with an adapter for USB.
CONTAINER, MODEM, DISK, USB = "container", "modem", "disk", "usb"

# Each command, by what it begins with, and who carries it out; one command may be carried out by several.
KNOWN = (
    (r"sudo apt install \./beekond_\*_arm64\.deb", CONTAINER),
    (r'sudo usermod -aG beekon "\$USER"', CONTAINER),
    (r"ls -l /dev/serial/by-id/", CONTAINER, USB),
    (r"printf 'DEVICES=\"%s\"", CONTAINER, USB),
    (r"printf 'DEVICES=\"/dev/serial0\"", CONTAINER),
    (r"printf 'DEVICES=\"/dev/gnss-modem\"", USB),
    (r"sudo systemctl restart gpsd", CONTAINER, USB),
    (r"echo enable_uart=1 \|", CONTAINER),
    (r"sudo sed -i 's/console=", CONTAINER),
    (r"sudo systemctl mask serial-getty@", CONTAINER),
    (r"sudo reboot", CONTAINER),
    (r"sudo tee /etc/systemd/system/modem-gnss\.service ", MODEM),
    (r"sudo systemctl enable --now modem-gnss\.service", MODEM),
    (r"sudo tee /etc/udev/rules\.d/61-gnss\.rules ", USB),
    (r"sudo udevadm control --reload", USB),
    (r"sudo udevadm trigger --subsystem-match=tty", USB),
    (r"sudo beekonctl (doctor|start|status)", CONTAINER),
    (r"printf 'refclock SHM 0 ", CONTAINER),
    (r"sudo systemctl restart chrony", CONTAINER),
    (r"sudo mkdir -p /etc/systemd/journald\.conf\.d", CONTAINER),
    (r"printf '\[Journal\]", CONTAINER),
    (r"sudo systemctl restart systemd-journald", CONTAINER),
    (r"sudo mkfs\.ext4 -L state /dev/sda1", CONTAINER, DISK),
    (r"sudo mount /dev/sda1 /mnt", CONTAINER, DISK),
    (r"sudo cp -a /var/lib/beekond/\. /mnt/", CONTAINER, DISK),
    (r"sudo umount /mnt", CONTAINER, DISK),
    (r"sudo systemctl (stop|start) beekond", CONTAINER, DISK),
    (r"sudo tee /etc/systemd/system/var-lib-beekond\.mount ", CONTAINER, DISK),
    (r"sudo mkdir -p /etc/systemd/system/beekond\.service\.d", CONTAINER, DISK),
    (r"sudo tee /etc/systemd/system/beekond\.service\.d/state\.conf ", CONTAINER, DISK),
    (r"sudo systemctl daemon-reload", CONTAINER, DISK, MODEM),
    (r"sudo systemctl enable --now var-lib-beekond\.mount", CONTAINER, DISK),
    (r"findmnt --noheadings --output FSTYPE /var/lib/beekond", CONTAINER, DISK),
)
# What is carried out nowhere, and why. The document's last section has to name it.
UNTRIED = {
    "make deb ARCH=arm64 SUITE=trixie": "builds the package, which the tests are given",
    "mmcli -m any --location-enable-gps-unmanaged": "needs a modem",
    "sudo raspi-config": "is of Raspberry Pi OS, and changes what only a Raspberry Pi reads",
}


class Block(NamedTuple):
    heading: str
    text: str

    def commands(self) -> list:
        """Without comments; what a here-document says belongs to its command."""
        found: list = []
        end = None
        for line in self.text.splitlines():
            if end is None:
                line = re.sub(r"(^|\s+)# .*$", "", line)
                if not line:
                    continue
                found.append(line)
                begin = re.search(r"<<'(\w+)'$", line)
                end = begin[1] if begin else None
            else:
                found[-1] += "\n" + line
                end = None if line == end else end
        return found


def text() -> str:
    with open(PATH, encoding="utf-8") as file:
        return file.read()


def blocks() -> list:
    """Every block of commands, in the document's order."""
    found = []
    for section in re.split(r"^## ", text(), flags=re.M)[1:]:
        heading = section.split("\n", 1)[0]
        found += [Block(heading, block) for block in re.findall(r"^```sh\n(.*?)^```$", section, re.S | re.M)]
    return found


def block(beginning: str) -> str:
    """The text of the only block with a command that begins so."""
    found = [each.text for each in blocks() if any(re.match(beginning, command) for command in each.commands())]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} blocks have a command like {beginning}")
    return found[0]


def tried_by(command: str) -> set:
    return {who for beginning, *whos in KNOWN for who in whos if re.match(beginning, command)}


def problems() -> list:
    """Where document and tests have parted."""
    page = text()
    found = [f"a block of {fence}: no test for such" for fence in re.findall(r"^```(\w+)$", page, re.M) if fence != "sh"]
    commands = [command for each in blocks() for command in each.commands()]
    for command in commands:
        if not tried_by(command) and command not in UNTRIED:
            found.append(f"no test for this command: {command}")
    for beginning, *_ in KNOWN:
        if not any(re.match(beginning, command) for command in commands):
            found.append(f"the document no longer has a command like {beginning}")
    last = page.split("\n## What was tried\n")[1]
    spans = set(re.findall(r"`(sudo [^`]+)`", page))
    for command in sorted(spans - UNTRIED.keys()):
        if not tried_by(command):
            found.append(f"no test for this command: {command}")
    for command in UNTRIED:
        if command not in commands and command not in spans:
            found.append(f"the document no longer has {command}")
        # By its name: what it does with it is told there.
        if re.sub(r"^sudo ", "", command).split()[0] not in last:
            found.append(f"{command} is tried by nobody, and the last section does not say so")
    return found
