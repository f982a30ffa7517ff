"""A link between two network namespaces with the delay, rate and loss of a mobile network, on which every byte counts.

Packets pass through this process (TUN devices), so that neither a kernel module (netem) nor segmentation offload decides
what is seen: what is counted is what a modem would send.
"""
from __future__ import annotations

import contextlib
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

NEAR, FAR = "10.77.0.1", "10.77.0.2"
_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_TUNSETIFF, _TUN_WITHOUT_HEADER = 0x400454CA, 0x1001  # IFF_TUN | IFF_NO_PI
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class Traffic:
    """What one end has sent."""

    packets: int = 0
    # With the headers of IP and TCP, and what was lost on the way.
    link: int = 0
    # The same, without what was lost, and without packets that only acknowledge.
    useful: int = 0
    # Within TCP, whatever was sent twice included.
    tcp: int = 0


@dataclass
class Shape:
    """The same in both directions."""

    # Seconds, one way.
    delay: float = 0.0
    # Bits per second; None for any.
    rate: float | None = None
    # The probability that a packet is lost.
    loss: float = 0.0


class Wire:
    """What becomes of each packet. Pure: no clock, no device."""

    def __init__(self, shape: Shape, seed: int = 1):
        self.up, self.down = Traffic(), Traffic()
        self._shape = shape
        self._dice = random.Random(seed)
        # When each transmitter is free again.
        self._free = [0.0, 0.0]

    def send(self, packet: bytes, is_down: bool, now: float) -> float | None:
        """Counts it; when it arrives, None if never."""
        traffic, shape = self.down if is_down else self.up, self._shape
        header = (packet[0] & 15) * 4
        is_tcp = packet[9] == 6
        payload = len(packet) - header - (packet[header + 12] >> 4) * 4 if is_tcp else 0
        traffic.packets += 1
        traffic.link += len(packet)
        traffic.tcp += payload
        if shape.rate:
            self._free[is_down] = now = max(now, self._free[is_down]) + len(packet) * 8 / shape.rate
        if self._dice.random() < shape.loss:
            return None
        traffic.useful += len(packet) if payload else 0
        return now + shape.delay


class Link:
    """The namespace of this process is one end. Needs a namespace of its own, with the rights to configure it."""

    def __init__(self, shape: Shape):
        self._shape, self._wire = shape, Wire(shape)
        self._last = time.monotonic()
        self._home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        near = _end(NEAR, FAR)
        _check(_libc.unshare(_NEW_NETWORK))
        self._away = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self._tuns = (near, _end(FAR, NEAR))
        _check(_libc.setns(self._home, 0))
        self._ending, self._end = os.pipe2(os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @contextlib.contextmanager
    def far(self) -> Iterator[None]:
        """What is started meanwhile runs at the other end."""
        _check(_libc.setns(self._away, 0))
        try:
            yield
        finally:
            _check(_libc.setns(self._home, 0))

    def change(self, shape: Shape, seed: int = 1):
        """While nothing is under way."""
        self._shape, self._wire = shape, Wire(shape, seed)

    def count(self) -> tuple[Traffic, Traffic]:
        """What has crossed since the last call, up and down, once nothing has for a while."""
        quiet = 0.5 + 4 * self._shape.delay
        while time.monotonic() - self._last < quiet:
            time.sleep(0.02)
        wire = self._wire
        found = wire.up, wire.down
        wire.up, wire.down = Traffic(), Traffic()
        return found

    def close(self):
        os.close(self._end)
        self._thread.join()
        for file in (*self._tuns, self._ending, self._home, self._away):
            os.close(file)

    def _run(self):
        waiting: list = []
        order = 0
        while True:
            now = time.monotonic()
            while waiting and waiting[0][0] <= now:
                _, _, target, packet = heapq.heappop(waiting)
                os.write(target, packet)
            patience = max(waiting[0][0] - now, 0) if waiting else None
            readable = select.select([*self._tuns, self._ending], [], [], patience)[0]
            if self._ending in readable:
                return
            now = time.monotonic()
            for source, target in (self._tuns, self._tuns[::-1]):
                for packet in _packets(source) if source in readable else ():
                    self._last = now
                    due = self._wire.send(packet, source == self._tuns[1], now)
                    if due is not None:
                        order += 1
                        heapq.heappush(waiting, (due, order, target, packet))


def _packets(tun: int) -> Iterator[bytes]:
    while True:
        try:
            yield os.read(tun, 2048)
        except BlockingIOError:
            return


def _end(own: str, peer: str) -> int:
    """The device of one end, in the namespace that is current."""
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(file, _TUNSETIFF, struct.pack("16sH14x", b"link0", _TUN_WITHOUT_HEADER))
    # Debian's congestion control, or where a namespace may not choose that, the plain one. No neighbour discovery.
    for name, value in (("ipv4/tcp_congestion_control", "reno"), ("ipv4/tcp_congestion_control", "cubic"),
                        ("ipv6/conf/link0/disable_ipv6", "1")):
        with contextlib.suppress(OSError), open("/proc/sys/net/" + name, "w", encoding="ascii") as setting:
            setting.write(value)
    for words in (f"addr add {own} peer {peer} dev link0", "link set link0 up", "link set lo up"):
        subprocess.run(["ip", *words.split()], check=True)
    return file


def _check(result: int):
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
