"""Python's own waits in virtual time: sockets, selectors, sleeping, conditions, threads and child processes. In the main thread a
wait moves time on; in any other it rests.

To be installed once, before what is to wait by it is made; while no test is in virtual time, everything is as it was."""
from __future__ import annotations

import errno
import os
import queue
import select
import selectors
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable

from support.programs import BIN
from support.virtual_time import VirtualTime, current, is_main

POLLIN, POLLOUT = select.POLLIN, select.POLLOUT
real_poll = select.poll
_real = threading.local()


def virtual() -> VirtualTime | None:
    """The virtual time that this thread is to wait by, if it is."""
    return None if getattr(_real, "waits", False) else current()


class RealWaits:
    """Within this, what the thread waits for is no part of virtual time: a program that does not live in it."""

    def __enter__(self):
        self._before = getattr(_real, "waits", False)
        _real.waits = True

    def __exit__(self, *error):
        _real.waits = self._before


def ready(entries: list) -> list:
    """What is ready now, of pairs of descriptor and events."""
    poller = real_poll()
    for file, events in entries:
        poller.register(file, events)
    return poller.poll(0)


def wait_ready(time_now: VirtualTime, entries: list, seconds: float | None) -> list:
    """What is ready, before so much time has passed."""
    found = ready(entries)
    if found or seconds == 0:
        return found
    if not is_main():
        return time_now.rest(entries, seconds)
    time_now.until(lambda: ready(entries), seconds, at_once=True)
    return ready(entries)


# Sockets.

def before(method: Callable, events: int) -> Callable:
    """The method, called once the socket is ready for it."""
    def waiting(self, *arguments, **options):
        time_now = virtual()
        if time_now and self.fileno() >= 0 and self.gettimeout() != 0:
            if not wait_ready(time_now, [(self.fileno(), events)], self.gettimeout()):
                raise TimeoutError("timed out")
        return method(self, *arguments, **options)

    return waiting


def at_once(sock: socket.socket):
    """No small write waits for an acknowledgement of the one before, for 40 ms of real time."""
    if sock.family in (socket.AF_INET, socket.AF_INET6) and sock.type == socket.SOCK_STREAM:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def accept(original: Callable) -> Callable:
    def accepting(self):
        client, address = original(self)
        if current():
            at_once(client)
        return client, address

    return accepting


def connect(original: Callable) -> Callable:
    def connecting(self, address):
        if current():
            at_once(self)
        return original(self, address)

    return connecting


def sendall(original: Callable) -> Callable:
    def sending(self, data, flags=0):
        time_now = virtual()
        if not time_now or self.gettimeout() == 0:
            return original(self, data, flags)
        left = memoryview(data).cast("B")
        while left:
            if not wait_ready(time_now, [(self.fileno(), POLLOUT)], self.gettimeout()):
                raise TimeoutError("timed out")
            left = left[self.send(left, flags | socket.MSG_DONTWAIT):]
        return None

    return sending


def tls_read(original: Callable) -> Callable:
    def reading(self, *arguments):
        time_now = virtual()
        if time_now and self.gettimeout() != 0 and self._sslobj is not None and not self.pending():
            if not wait_ready(time_now, [(self.fileno(), POLLIN)], self.gettimeout()):
                raise TimeoutError("The read operation timed out")
            if self._sslobj is None:
                raise OSError(errno.EBADF, "closed meanwhile")
        return original(self, *arguments)

    return reading


# Selectors.

def selector_select(original: Callable) -> Callable:
    def selecting(self, timeout=None):
        time_now = virtual()
        if not time_now or (timeout is not None and timeout <= 0):
            return original(self, timeout)
        entries = [(key.fd, (POLLIN if key.events & selectors.EVENT_READ else 0)
                    | (POLLOUT if key.events & selectors.EVENT_WRITE else 0)) for key in self.get_map().values()]
        wait_ready(time_now, entries, timeout)
        return original(self, 0)

    return selecting


def kernel_select(original: Callable) -> Callable:
    def selecting(readers, writers, others, timeout=None):
        time_now = virtual()
        if time_now and (timeout is None or timeout > 0):
            files = [(reader, POLLIN) for reader in readers] + [(writer, POLLOUT) for writer in writers]
            wait_ready(time_now, [(file if isinstance(file, int) else file.fileno(), events) for file, events in files], timeout)
            timeout = 0
        return original(readers, writers, others, timeout)

    return selecting


# Time.

def sleep(original: Callable) -> Callable:
    def sleeping(seconds):
        time_now = virtual()
        if not time_now:
            original(seconds)
        elif is_main():
            time_now.advance(seconds)
        else:
            time_now.rest([], seconds)

    return sleeping


def clock(original: Callable, read: Callable[[VirtualTime], float]) -> Callable:
    def reading():
        time_now = virtual()
        return read(time_now) if time_now else original()

    return reading


def clock_of_kernel(original: Callable, unit: float) -> Callable:
    def reading(number):
        time_now = virtual()
        found = {time.CLOCK_MONOTONIC: "monotonic", time.CLOCK_BOOTTIME: "boot", time.CLOCK_REALTIME: "system"}.get(number)
        return getattr(time_now, found) / unit if time_now and found else original(number)

    return reading


# Threads.

class Condition(threading.Condition):
    """One whose waiters rest."""

    def wait(self, timeout=None):
        time_now = virtual()
        if not time_now:
            return super().wait(timeout)
        waiter = _Waiter()
        self._waiters.append(waiter)
        saved = self._release_save()
        try:
            found = wait_ready(time_now, [(waiter.file, POLLIN)], timeout)
            return bool(found)
        finally:
            self._acquire_restore(saved)
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            waiter.close()


class _Waiter:
    """Stands among the waiters of a condition, which notifies by releasing it."""

    def __init__(self):
        self.file = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def release(self):
        if self.file >= 0:
            os.eventfd_write(self.file, 1)

    def close(self):
        os.close(self.file)
        self.file = -1


def thread_start(original: Callable) -> Callable:
    def starting(self):
        time_now = current()
        # Before it exists, so that nothing rests meanwhile.
        self._virtual_slot = time_now.claim() if time_now else None
        try:
            original(self)
        except RuntimeError:
            if time_now:
                time_now.free(self._virtual_slot)
            raise

    return starting


def thread_begin(original: Callable) -> Callable:
    def beginning(self):
        time_now, slot = current(), getattr(self, "_virtual_slot", None)
        if time_now and slot is not None:
            time_now.adopt(slot)
        original(self)

    return beginning


def thread_join(original: Callable) -> Callable:
    def joining(self, timeout=None):
        time_now = virtual()
        if not time_now or not is_main():
            return original(self, timeout)
        time_now.until(lambda: not self.is_alive(), timeout)
        return original(self, 0)

    return joining


# Child processes.

def popen(original: Callable) -> Callable:
    """The programs of this project live in the time of the test, and others that are given its environment."""
    def opening(self, *arguments, **options):
        time_now, environment = current(), options.get("env") or os.environ
        command = options.get("args") or arguments[0]
        if time_now and not isinstance(command, str) and os.path.dirname(str(command[0])) == BIN:
            environment = {**time_now.environment(), **environment}
        self._is_virtual = time_now is not None and "BEEKOND_VIRTUAL_TIME" in environment
        if not time_now or not self._is_virtual:
            original(self, *arguments, **options)
            return
        slot = time_now.claim()
        options["env"] = {**environment, "BEEKOND_VIRTUAL_SLOT": str(slot)}
        try:
            original(self, *arguments, **options)
        except OSError:
            time_now.free(slot)
            raise
        time_now.belongs(slot, self.pid)

    return opening


def child_wait(original: Callable) -> Callable:
    def waiting(self, timeout=None):
        time_now = virtual()
        if not time_now:
            return original(self, timeout)
        if not self._is_virtual or not is_main():
            with RealWaits():
                return original(self, timeout)
        if not time_now.until(lambda: self.poll() is not None, timeout):
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    return waiting


def child_communicate(original: Callable) -> Callable:
    def communicating(self, input=None, timeout=None):  # noqa: A002
        if virtual() and (not self._is_virtual or not is_main()):
            with RealWaits():
                return original(self, input, timeout)
        return original(self, input, timeout)

    return communicating


def install():
    """Replaces them all."""
    for name, events in (("accept", POLLIN), ("recv", POLLIN), ("recv_into", POLLIN), ("recvfrom", POLLIN), ("recvmsg", POLLIN)):
        setattr(socket.socket, name, before(getattr(socket.socket, name), events))
    socket.socket.accept = accept(socket.socket.accept)
    socket.socket.connect = connect(socket.socket.connect)
    socket.socket.sendall = sendall(socket.socket.sendall)
    ssl.SSLSocket.read = tls_read(ssl.SSLSocket.read)
    for kind in (selectors.PollSelector, selectors.EpollSelector, selectors.SelectSelector):
        kind.select = selector_select(kind.select)
    select.select = kernel_select(select.select)
    for name, read in (("time", lambda now: now.system / 1e9), ("time_ns", lambda now: now.system),
                       ("monotonic", lambda now: now.monotonic / 1e9), ("monotonic_ns", lambda now: now.monotonic)):
        setattr(time, name, clock(getattr(time, name), read))
    time.clock_gettime = clock_of_kernel(time.clock_gettime, 1e9)
    time.sleep = sleep(time.sleep)
    threading.Condition = Condition
    queue.SimpleQueue = queue._PySimpleQueue
    threading.Thread.start = thread_start(threading.Thread.start)
    threading.Thread._bootstrap_inner = thread_begin(threading.Thread._bootstrap_inner)
    threading.Thread.join = thread_join(threading.Thread.join)
    subprocess.Popen.__init__ = popen(subprocess.Popen.__init__)
    subprocess.Popen.wait = child_wait(subprocess.Popen.wait)
    subprocess.Popen.communicate = child_communicate(subprocess.Popen.communicate)
