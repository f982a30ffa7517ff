"""Virtual machines with a disk, a serial receiver and a network, whose power can be cut. KVM is not needed."""
from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading

import debian
from support.child import Child
from support.faults import no_loops
from support.programs import program
from support.waiting import wait_for

# What emulates the machine, the options for its kind, the name of its first serial port, and the device that is the second
# to fourth: a board with ARM has a single port by itself, and the first on a card stays unused, so that names are the same.
PLATFORM = {
    "amd64": ("qemu-system-x86_64", "qemu-system-x86", (), "ttyS0"),
    "arm64": ("qemu-system-aarch64", "qemu-system-arm",
              ("-M", "virt", "-cpu", "cortex-a76", "-device", "pci-serial,chardev=unused", "-chardev", "null,id=unused"),
              "ttyAMA0"),
}
QEMU, QEMU_PACKAGE, BOARD, CONSOLE = PLATFORM[debian.ARCHITECTURE]
# The host, as the machine's network sees it.
HOST = "10.0.2.2"

FILES = {
    "etc/default/gpsd": 'DEVICES="/dev/ttyS1"\nGPSD_OPTIONS="-n"\nUSBAUTO="false"\n',
    "etc/fstab": "/dev/vda / ext4 defaults 0 1\n",
    "etc/systemd/network/10-all.network": "[Match]\nName=e*\n[Network]\nDHCP=ipv4\n",
    # Prints the time when the daemon starts.
    "etc/systemd/system/clock.service":
        f"[Unit]\nBefore=beekond.service\n[Service]\nType=oneshot\nStandardOutput=tty\nTTYPath=/dev/{CONSOLE}\n"
        "ExecStart=/bin/date --utc '+clock at the start: %%F'\n[Install]\nWantedBy=multi-user.target\n",
    # Streams the daemon's events to the outside.
    "etc/systemd/system/watch.service":
        "[Unit]\nAfter=beekond.service\n[Service]\nExecStart=/bin/sh -c 'exec beekonctl watch --json >/dev/ttyS2'\n"
        "Restart=always\nRestartSec=1\nStartLimitIntervalSec=0\n[Install]\nWantedBy=multi-user.target\n",
    "etc/systemd/system/tell.service":
        "[Unit]\nAfter=beekond.service\n"
        "[Service]\nExecStart=/bin/sh -c 'while sleep 1; do beekonctl status --json; done >/dev/ttyS3'\n"
        "Restart=always\n[Install]\nWantedBy=multi-user.target\n",
}
# The interface of these machines, for ifupdown.
INTERFACES = {"etc/network/interfaces": "auto lo\niface lo inet loopback\nauto /e*=lan\niface lan inet dhcp\n"}
# A box without network time takes its time from gpsd, through shared memory.
CHRONY = {"etc/chrony/conf.d/gpsd.conf": "refclock SHM 0 refid GPS precision 1e-1 delay 0.2\nmakestep 1 -1\n"}
# A receiver on a common USB adapter, which Debian's gpsd does not pick up by itself.
USB = {
    "etc/default/gpsd": 'DEVICES=""\nGPSD_OPTIONS="-n"\nUSBAUTO="true"\n',
    "etc/udev/rules.d/61-gps.rules":
        'SUBSYSTEM=="tty", ATTRS{idVendor}=="0403", ATTRS{idProduct}=="6001", TAG+="systemd", '
        'ENV{SYSTEMD_WANTS}="gpsdctl@%k.service"\n',
}


def port(character_device: str) -> tuple:
    """qemu's options for the next serial port."""
    return ("-device", f"pci-serial,chardev={character_device}") if BOARD else ("-serial", "chardev:" + character_device)


def missing() -> str | None:
    for tool, home in ((QEMU, QEMU_PACKAGE), ("mke2fs", "e2fsprogs")):
        if not shutil.which(tool):
            return f"{tool} is not installed (Debian's package {home})"
    return no_loops() or debian.missing()


class Machine:
    """A disk, and the machine that runs on it between power cuts."""

    def __init__(self, folder: str, config: str, files: dict | None = None, kernel: str = "small", units: tuple = (),
                 network: str | None = None, receiver: tuple = (), extra: tuple = ()):
        self.folder = folder
        self.disk = self.path("disk")
        self._qemu: Child | None = None
        self.boots = 0
        self.receiver = Receiver(self.path("serial"), *receiver)
        layer = debian.Layer(folder, kernel, (*(debian.NETWORKS[network] if network else ()), *extra))
        try:
            own = {**FILES, **(files or {})}
            if network:
                # Nobody else looks after it.
                del own["etc/systemd/network/10-all.network"]
                own.update(INTERFACES if network == "ifupdown" else {})
            self._furnish(layer, config, own, (*units, *(() if network else ("systemd-networkd",))))
        finally:
            layer.remove()

    @property
    def qemu(self) -> Child:
        assert self._qemu is not None, "this machine was never started"
        return self._qemu

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def _furnish(self, layer: debian.Layer, config: str, files: dict, units: tuple):
        for name, text in files.items():
            layer.write(name, text)
        shutil.copy(debian.package(), layer.path + "/root/beekond.deb")
        inside = [*debian.emulated(), "chroot", layer.path, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
        quiet: dict = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([*inside, "dpkg", "-i", "/root/beekond.deb"], **quiet)
        os.remove(layer.path + "/root/beekond.deb")
        layer.write("/etc/beekond/beekond.d/test.toml", config)
        subprocess.run([*inside, "systemctl", "enable", "clock", "watch", "tell", *units], **quiet)
        for name in ("vmlinuz", "initrd.img"):
            shutil.copy(os.path.realpath(os.path.join(layer.path, name)), self.path(name))
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", layer.path, self.disk, "2500M"], check=True,
                       stdout=subprocess.DEVNULL)

    def start(self, *options: str, receiver: tuple | None = None, append: str = "", image: str | None = None):
        """Powers on. The receiver is on the second serial port unless the options say otherwise; `append` is for the
        kernel and what starts before the root is there; `image` is a kernel that needs nothing before that."""
        self.boots += 1
        self._qemu = Child(
            [QEMU, *BOARD, "-accel", "tcg", "-m", "512", "-nodefaults", "-no-reboot", "-display", "none",
             *(("-kernel", image) if image else ("-kernel", self.path("vmlinuz"), "-initrd", self.path("initrd.img"))),
             # On a busy host the kernel takes its timer for broken, and panics: not what is tested. Any other panic ends it.
             "-append", f"root=/dev/vda rw console={CONSOLE} quiet systemd.show_status=false no_timer_check panic=-1 {append}",
             "-drive", f"file={self.disk},if=virtio,format=raw",
             "-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net",
             "-serial", f"file:{self.path(f'console-{self.boots}')}",
             "-chardev", f"socket,id=receiver,path={self.receiver.path},reconnect=1",
             *(port("receiver") if receiver is None else receiver),
             *(option for name in ("watch", "tell") for option in (
                 "-chardev", f"file,id={name},path={self.path(f'{name}-{self.boots}')}", *port(name))),
             "-monitor", f"unix:{self.path('monitor')},server=on,wait=off", *options],
            self.path(f"qemu-{self.boots}"))

    def tell(self, command: str):
        """Sends a command to qemu's monitor."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(60)
            monitor.connect(self.path("monitor"))
            text = b""
            for line in ("", command + "\n"):
                monitor.sendall(line.encode())
                while not text.endswith(b"(qemu) "):
                    text += monitor.recv(4096)
                if line and b"rror" in text:
                    raise AssertionError(f"{command}: {text.decode()}")
                text = b""

    def cut(self):
        """Cuts the power."""
        self.qemu.kill()

    def stop(self):
        if self._qemu:
            self._qemu.kill()
        self.receiver.stop()

    def lines(self, name: str, boot: int | None = None) -> list:
        """The JSON lines from a serial port during one boot; the cut may have truncated the last."""
        found = []
        for line in self.text(name, boot).replace("\r", "\n").split("\n"):
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return [line for line in found if isinstance(line, dict)]

    def status(self) -> dict | None:
        found = self.lines("tell")
        return found[-1] if found else None

    def wait_status(self, condition, what: str, seconds: float = 400) -> dict:
        def look():
            if not self.qemu.running:
                raise AssertionError(f"the machine ended: {self.qemu.text()}")
            status = self.status()
            return status if status and condition(status) else None

        return wait_for(look, lambda: f"{what}; the status is {json.dumps(self.status())}; {self.console()[-2000:]}", seconds)

    def text(self, name: str, boot: int | None = None) -> str:
        """What a serial port has said so far; nothing, while the emulator is yet to begin."""
        path = self.path(f"{name}-{boot or self.boots}")
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def console(self) -> str:
        """What the machine has said on its console in this boot."""
        return self.text("console")

    def stored(self, boot: int) -> list:
        """The ids of the locations that the daemon reported as stored during one boot."""
        return [line["location"]["id"] for line in self.lines("watch", boot) if line.get("location")]


class Receiver:
    """A simulated drive on a serial line, which continues whether or not a machine listens. `command` makes the
    epochs, and sends each as a datagram to what stands for "{}" in it."""

    def __init__(self, path: str, *command: str):
        self.path = path
        self._line: socket.socket | None = None
        self._feed = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._feed.bind(("127.0.0.1", 0))
        self._feed.settimeout(0.2)
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(path)
        self._server.listen(1)
        self._server.setblocking(False)
        feed = f"127.0.0.1:{self._feed.getsockname()[1]}"
        self._simulator = Child(
            [word.replace("{}", feed) for word in command or (program("beekon-sim"), "--udp", "{}")], path + ".log")
        self._running = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while self._running:
            try:
                epoch = self._feed.recv(4096)
            except TimeoutError:
                epoch = b""
            try:
                line, _ = self._server.accept()
                self._line, old = line, self._line
                line.setblocking(False)
                if old:
                    old.close()
            except BlockingIOError:
                pass
            if self._line:
                self._exchange(self._line, epoch)

    def _exchange(self, line: socket.socket, epoch: bytes):
        """A receiver does not wait for listeners, and swallows what gpsd sends."""
        try:
            line.send(epoch)
            while line.recv(4096):
                pass
        except BlockingIOError:
            pass
        except OSError:
            line.close()
            self._line = None

    def stop(self):
        self._running = False
        self._thread.join()
        if self._line:
            self._line.close()
        self._simulator.kill()
        self._server.close()
        self._feed.close()
