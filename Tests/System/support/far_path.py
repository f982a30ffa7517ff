"""A path that takes time, where the kernel has no netem: a TUN device whose other end sends every packet back, later, with
source and target swapped. Who connects to `THERE` reaches whoever listens at `HERE`.

Run as a program, in a network namespace: far_path.py ONE_WAY_MS [LOSS], which says "up" when it is.
"""
from __future__ import annotations

import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import time
import unittest

HERE, THERE = "10.9.0.1", "10.9.0.2"


def far_path(test: unittest.TestCase, milliseconds: float, loss: float = 0):
    """A path with this round trip, for the rest of the test; skips it where none can be made."""
    child = subprocess.Popen([sys.executable, __file__, str(milliseconds / 2), str(loss)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    assert child.stdout and child.stderr
    test.addCleanup(child.stdout.close)
    test.addCleanup(child.stderr.close)
    test.addCleanup(child.wait)
    test.addCleanup(child.kill)
    if child.stdout.readline() != "up\n":
        test.skipTest(f"no TUN device can be made here: {child.stderr.read().strip()[-200:]}")


def main(delay: float, loss: float):
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH", b"tun0", 0x1001))  # TUNSETIFF: IFF_TUN | IFF_NO_PI
    for words in (f"addr add {HERE}/24 dev tun0", "link set tun0 up", "link set lo up"):
        subprocess.run(["ip", *words.split()], check=True)
    print("up", flush=True)
    waiting: list = []
    count = 0
    while True:
        ready, _, _ = select.select([tun], [], [], max(0, waiting[0][0] - time.monotonic()) if waiting else None)
        while ready:
            try:
                packet = os.read(tun, 70_000)
            except BlockingIOError:
                break
            count += 1
            if packet[0] >> 4 == 4 and random.random() >= loss:
                turned = packet[:12] + packet[16:20] + packet[12:16] + packet[20:]
                heapq.heappush(waiting, (time.monotonic() + delay, count, turned))
        while waiting and waiting[0][0] <= time.monotonic():
            os.write(tun, heapq.heappop(waiting)[2])


if __name__ == "__main__":
    main(float(sys.argv[1]) / 1000, float(sys.argv[2]))
