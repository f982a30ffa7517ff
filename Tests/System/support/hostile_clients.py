"""Clients that misbehave, in their own process: `python3 -m support.hostile_clients SOCKET KIND`; ends with its stdin."""
from __future__ import annotations

import contextlib
import os
import select
import socket
import sys
import threading
import time

from support.control_client import INTERFACE, frame

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


def forever(act):
    """Repeats the act, whatever the daemon does about it."""
    def run():
        while True:
            link = connect(PATH)
            if link is None:
                time.sleep(0.01)
                continue
            with contextlib.suppress(OSError):
                act(link)
            link.close()

    return run


def dribble(link):
    for byte in frame("GetStatus") * 100:
        link.sendall(bytes([byte]))
        time.sleep(1)


def unterminated(link):
    """Almost the largest request allowed, then silence."""
    link.sendall(b'{"method":"' + b"x" * 65_000)
    link.recv(1)


def flood_of_bytes(link):
    link.sendall(b"x" * (16 * MEGABYTE))


def flood_of_fences(link):
    """More than any request may hold, sent as the one method with a larger limit."""
    link.sendall(f'{{"method":"{INTERFACE}.AddGeofences","parameters":"'.encode() + b"x" * (16 * MEGABYTE))


def chatter(link):
    while True:
        link.sendall(frame("GetStatus"))
        while not link.recv(1 << 16).endswith(b"\0"):
            pass


def sleeping_subscriber(link):
    link.sendall(frame("Subscribe", more=True))
    while True:
        # The daemon hung up: the next subscriber takes its place.
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


def connects_and_leaves(link):
    pass


def half_closes(link):
    link.sendall(frame("GetStatus"))
    link.shutdown(socket.SHUT_WR)


# Each kind of client, and how many of them run at a time.
KINDS = {
    "1 byte a second": (dribble, 100), "no NUL": (unterminated, 60), "16 MB": (flood_of_bytes, 4),
    "16 MB of fences": (flood_of_fences, 4), "100 clients": (chatter, 100), "subscribers asleep": (sleeping_subscriber, 60),
    "asks and never reads": (asks_and_never_reads, 10), "30 exports": (exporter, 30), "comes and goes": (connects_and_leaves, 4),
    "half-closed": (half_closes, 10),
}

if __name__ == "__main__":
    PATH = sys.argv[1]
    act, count = KINDS[sys.argv[2]]
    for _ in range(count):
        threading.Thread(target=forever(act), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)
