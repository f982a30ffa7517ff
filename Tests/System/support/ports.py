"""The network of a test file, which is its own: nothing listens in it but what the file has started. And ports of it."""
from __future__ import annotations

import ctypes
import fcntl
import itertools
import os
import socket
import struct
import sys
import tempfile

# A port at which nobody ever listens.
NOBODY = 9000
# Of this and more on, the kernel hands out what it likes.
_OF_THE_KERNEL = 32_768
_numbers = itertools.count(NOBODY + 1)

# Set within the network of a file: what is started there stays in it.
NETWORK = "BEEKOND_TEST_NETWORK"
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000


def new_port() -> int:
    """One that nothing of this file has used, for TCP and UDP: the same in each run, because it is the next of a sequence."""
    number = next(_numbers)
    assert number < _OF_THE_KERNEL, "more ports than there are"
    return number


def reachable(port: int) -> bool:
    """Whether something accepts connections on this port."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def _enter() -> bool:
    """This process, which has one thread as yet, and all that it starts get a network of their own. Where the machine allows
    none, they have the machine's, in which one file runs at a time."""
    library = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if library.unshare(_NEW_NETWORK) == 0:
        _raise_loopback()
    elif library.unshare(_NEW_USER | _NEW_NETWORK) == 0:
        # Who one was outside, and once this is done with no more rights than that.
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
        _raise_loopback()
        library.capset(struct.pack("Ii", 0x20080522, 0), bytes(24))
    else:
        reason = os.strerror(ctypes.get_errno())
        print(f"no network of its own can be made here ({reason}): this file has the machine's", file=sys.stderr)
        # Held until the process ends.
        turn = os.open(os.path.join(tempfile.gettempdir(), "beekond-tests.turn"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
        fcntl.flock(turn, fcntl.LOCK_EX)
        return False
    os.environ[NETWORK] = "own"
    return True


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        fcntl.ioctl(link, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: IFF_UP | IFF_RUNNING


# Whether the network is not the machine's.
IS_OWN = NETWORK in os.environ or _enter()
