"""The network returns: a new default route triggers the upload of pending rows; without an upload nobody watches routes."""
import os
import socket
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.child import descriptors
from support.namespaces import in_namespace
from support.system_test import SystemTest
from support.waiting import never, wait_for

LOOPBACK = 1
NETLINK_ROUTE, RTM_NEWROUTE = 0, 24
REQUEST_ACK_CREATE = 0x1 | 0x4 | 0x400


def add_default_route():
    """Adds a default route, which may lead nowhere."""
    route = struct.pack("BBBBBBBBI", socket.AF_INET, 0, 0, 0, 254, 3, 253, 1, 0)  # table main, static, scope link, unicast
    route += struct.pack("HHI", 8, 4, LOOPBACK)  # RTA_OIF
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_ROUTE) as link:
        link.send(struct.pack("IHHII", 16 + len(route), RTM_NEWROUTE, REQUEST_ACK_CREATE, 1, 0) + route)
        answer = link.recv(4096)
    code = struct.unpack_from("i", answer, 16)[0]
    if code:
        raise OSError(-code, os.strerror(-code))


class NetworkTests(SystemTest):
    @in_namespace
    def test_a_route_that_appears_starts_an_upload(self):
        receiver = self.backend()
        fake, daemon = self.tracking(sync={"url": receiver.url})
        fake.drive(3)
        daemon.wait_stored(4)
        never(lambda: receiver.moments, "an upload without a reason", 60)
        add_default_route()
        # At a random moment within half the time that there was none, so that a fleet does not return in step.
        receiver.wait_requests(1, seconds=30)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "nothing is pending")

    @in_namespace
    def test_without_an_upload_there_is_no_netlink_socket(self):
        fake, daemon = self.tracking()
        fake.drive(3)
        daemon.wait_stored(4)
        self.assertEqual(netlink_sockets(daemon.child.process.pid), 0)
        daemon.configure(sync={"url": "http://127.0.0.1:9/"})
        daemon.reload()
        wait_for(lambda: netlink_sockets(daemon.child.process.pid) == 1, "routes are watched once a url is set")


def netlink_sockets(pid: int) -> int:
    """The number of open sockets of this kind."""
    with open(f"/proc/{pid}/net/netlink", encoding="ascii") as table:
        inodes = {line.split()[-1] for line in table}
    return sum(target.startswith("socket:[") and target[8:-1] in inodes for target in descriptors(pid))


if __name__ == "__main__":
    unittest.main()
