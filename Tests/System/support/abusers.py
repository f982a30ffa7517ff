"""Clients that nobody wants, in a process of their own: abusers.py SOCKET KIND; ends with its standard input."""
from __future__ import annotations

import os
import select
import socket
import sys
import threading
import time

from support.tracker import INTERFACE, frame

MEGABYTE = 1 << 20


def connect(path: str):
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.settimeout(5)
    try:
        link.connect(path)
    except OSError:
        link.close()
        return None
    return link


def for_ever(act):
    """Again and again, whatever the daemon thinks of it."""
    def run():
        while True:
            link = connect(PATH)
            if link is None:
                time.sleep(0.01)
                continue
            try:
                act(link)
            except OSError:
                pass
            link.close()

    return run


def dribble(link):
    for byte in frame("GetStatus") * 100:
        link.sendall(bytes([byte]))
        time.sleep(1)


def without_end(link):
    """Almost as much as a request may have, and then nothing."""
    link.sendall(b'{"method":"' + b"x" * 65_000)
    link.recv(1)


def flood_of_bytes(link):
    link.sendall(b"x" * (16 * MEGABYTE))


def flood_of_fences(link):
    """More than any request may have, in the name of the one that may have more."""
    link.sendall(f'{{"method":"{INTERFACE}.AddGeofences","parameters":"'.encode() + b"x" * (16 * MEGABYTE))


def chatter(link):
    while True:
        link.sendall(frame("GetStatus"))
        while not link.recv(1 << 16).endswith(b"\0"):
            pass


def subscriber_that_sleeps(link):
    link.sendall(frame("Subscribe", more=True))
    while True:
        # The other end has gone: the next one takes its place.
        if select.select([], [], [link], 1)[2] or not alive(link):
            return


def alive(link) -> bool:
    poll = select.poll()
    poll.register(link, 0)
    return not poll.poll(0)


def asks_and_never_reads(link):
    link.settimeout(None)
    while True:
        link.sendall(frame("GetLocations") * 100)


def exporter(link):
    link.settimeout(60)
    link.sendall(frame("GetLocations", more=True))
    last = b""
    while b'"continues":true' in last or not last.endswith(b"\0"):
        piece = link.recv(1 << 16)
        if not piece:
            return
        last = (last + piece)[-400_000:] if not last.endswith(b"\0") else piece


def comes_and_goes(link):
    pass


def turns_its_back(link):
    link.sendall(frame("GetStatus"))
    link.shutdown(socket.SHUT_WR)


# How many of each at a time.
KINDS = {
    "1 byte a second": (dribble, 100), "no NUL": (without_end, 60), "16 MB": (flood_of_bytes, 4),
    "16 MB of fences": (flood_of_fences, 4), "100 clients": (chatter, 100), "subscribers asleep": (subscriber_that_sleeps, 60),
    "asks and never reads": (asks_and_never_reads, 10), "30 exports": (exporter, 30), "comes and goes": (comes_and_goes, 4),
    "half-closed": (turns_its_back, 10),
}

if __name__ == "__main__":
    PATH = sys.argv[1]
    act, count = KINDS[sys.argv[2]]
    for _ in range(count):
        threading.Thread(target=for_ever(act), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)
