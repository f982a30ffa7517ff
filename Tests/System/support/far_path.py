"""A path that takes time, where the kernel has no netem: a TUN device whose other end sends every packet back, later, with
source and target swapped. Who connects to `THERE` reaches whoever listens at `HERE`.

Packets arrive in the order in which they were sent, and one millisecond apart at least: a path whose process is late must not
let two of them arrive at once, since who receives them could not tell which came first.

Run as a program, in a network namespace: far_path.py ONE_WAY_MS [LOSS], which says "up" when it is.
"""
from __future__ import annotations

import collections
import fcntl
import os
import random
import select
import struct
import subprocess
import sys
import time
import unittest

HERE, THERE = "10.9.0.1", "10.9.0.2"
# Seconds.
APART = 0.001


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
    waiting: collections.deque = collections.deque()
    next_arrival = 0.0
    while True:
        due = max(waiting[0][0], next_arrival) if waiting else None
        ready, _, _ = select.select([tun], [], [], None if due is None else max(0, due - time.monotonic()))
        while ready:
            try:
                packet = os.read(tun, 70_000)
            except BlockingIOError:
                break
            if packet[0] >> 4 == 4 and random.random() >= loss:
                turned = packet[:12] + packet[16:20] + packet[12:16] + packet[20:]
                waiting.append((time.monotonic() + delay, turned))
        if waiting and max(waiting[0][0], next_arrival) <= time.monotonic():
            os.write(tun, waiting.popleft()[1])
            next_arrival = time.monotonic() + APART


if __name__ == "__main__":
    main(float(sys.argv[1]) / 1000, float(sys.argv[2]))
