"""The base of every test that runs the daemon: its own directory, and nothing left behind."""
from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import unittest
import zlib

from support.backend import Backend
from support.child import Child
from support.conservation import shape_faults
from support.daemon import NEVER, Beekond
from support.fake_gpsd import FakeGPSD
from support.listener import Listener
from support.ports import NOBODY, reachable
from support.programs import BIN, GPSD, installed, program
from support.raw_server import RawServer
from support.real_time import asks_for_real_time
from support.seeds import usual_seed
from support.virtual_time import COMPILER, VirtualTime, virtual_time
from support.virtual_waits import install
from support.waiting import wait_for


def in_real_time(test):
    """A test that goes by the clock of this machine; real_time.py has the reasons."""
    test.real_time = True
    return test


@unittest.skipUnless(os.access(program("beekond"), os.X_OK), f"no beekond in {BIN}: build it, or set BEEKOND_BIN")
class SystemTest(unittest.TestCase):
    """A test with its own directory; whatever it starts ends with the test."""

    # Whether these tests go by the clock of this machine; real_time.py has the reasons.
    real_time = False
    _time: VirtualTime | None = None

    def setUp(self):
        if not asks_for_real_time(self):
            self._begin_virtual_time()
        # Short, because the path of a socket may have 107 bytes at most.
        self.directory = tempfile.mkdtemp(prefix="beekond-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self._count = 0
        # Everything that accepts uploads in this test.
        self.receivers: list = []

    def _begin_virtual_time(self):
        self.assertTrue(COMPILER, "without a C compiler there is no virtual time")
        if SystemTest._time is None:
            folder = tempfile.mkdtemp(prefix="beekond-time-", dir="/tmp")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            install()
            SystemTest._time = VirtualTime(folder)
        # Each test throws dice of its own, the same in each run.
        time_now = virtual_time(SystemTest._time, usual_seed() * (zlib.crc32(self.id().encode()) | 1))
        time_now.__enter__()
        self.addCleanup(time_now.__exit__, None, None, None)

    def path(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def folder(self) -> str:
        self._count += 1
        path = self.path(f"d{self._count}")
        os.mkdir(path)
        return path

    def daemon(self, gpsd_port: int | None = None, /, **sections) -> Beekond:
        """A beekond, not started yet, that admits and stores every settled fix that is not where the one before it was,
        unless told otherwise."""
        chosen: dict = {"gpsd": {"port": gpsd_port or NOBODY}, "tracking": {
            "interval_seconds": 0, "distance_meters": 0.01, "stationary_mode": "keep_tracking"}}
        for name, values in sections.items():
            chosen[name] = {**chosen.get(name, {}), **values}
        if "url" in chosen.get("sync", {}):
            chosen["sync"].setdefault("interval_seconds", NEVER)
        daemon = Beekond(self.folder(), **chosen)
        self.addCleanup(daemon.kill)
        return daemon

    def fake(self, **options) -> FakeGPSD:
        fake = FakeGPSD(**options)
        self.addCleanup(fake.stop)
        return fake

    def backend(self, **options) -> Backend:
        backend = Backend(**options)
        backend.start()
        self.addCleanup(backend.stop)
        self.receivers.append(backend)
        self.addCleanup(self.check_shape, backend)
        return backend

    def raw_server(self, serve, closes: bool = True) -> RawServer:
        """A server that treats each connection as the test says, or answers every request with the same bytes."""
        server = RawServer(serve, closes)
        self.addCleanup(server.stop)
        self.receivers.append(server)
        return server

    def check_shape(self, receiver):
        """Every batch conforms to the schema."""
        for request in receiver.requests:
            self.assertEqual(shape_faults(request.root), [])

    def check_conserved(self, daemon: Beekond):
        """Every location ever stored is in exactly one place."""
        faults: list = []

        def settled():
            faults[:] = daemon.account().faults(daemon, self.receivers)
            return not faults

        # While a request is under way, the first look may see only half of what it changes.
        wait_for(settled, lambda: "\n".join(faults[:10]))

    def listener(self, daemon: Beekond, kinds: list | None = None) -> Listener:
        listener = Listener(daemon, kinds)
        self.addCleanup(listener.close)
        return listener

    def listening(self, daemon: Beekond) -> Listener:
        """A listener that misses no location from now on."""
        listener = self.listener(daemon, ["location", "state"])
        wait_for(lambda: listener.events, "the present state, which comes first")
        return listener

    def child(self, command: list, name: str) -> Child:
        child = Child(command, self.path(name + ".log"))
        self.addCleanup(child.kill)
        return child

    def gpsd(self, port: int, *arguments: str) -> Child:
        """A real gpsd that already answers."""
        child = self.child([installed(GPSD), "-N", "-n", "-S", str(port), *arguments], "gpsd")
        wait_for(lambda: reachable(port), lambda: f"gpsd answers; it said:\n{child.text()}")
        return child

    def simulator(self, feed: int, *arguments: str) -> Child:
        return self.child([program("beekon-sim"), "--udp", f"127.0.0.1:{feed}", *arguments], "beekon-sim")

    def tracking(self, start_ms: int | None = None, **sections) -> tuple:
        """A fake gpsd, and a daemon that is tracking with it and has stored one fix."""
        fake = self.fake(start_ms=start_ms)
        daemon = self.daemon(fake.port, **sections).start()
        if "sync" in sections:
            daemon.keep_account()
            self.addCleanup(self.check_conserved, daemon)
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        return fake, daemon
