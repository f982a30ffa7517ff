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
from typing import Any, cast

from support.programs import BIN
from support.virtual_time import VirtualTime, current, is_main

POLLIN, POLLOUT = select.POLLIN, select.POLLOUT
A_YEAR = 31_536_000.0
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

def await_ready(sock: socket.socket, events: int):
    """Until it is ready, or its timeout is over."""
    time_now = virtual()
    if time_now and sock.fileno() >= 0 and sock.gettimeout() != 0 \
            and not wait_ready(time_now, [(sock.fileno(), events)], sock.gettimeout()):
        raise TimeoutError("timed out")


def before(receive: Callable) -> Callable:
    """A method that reads, called once there is something to read."""
    def waiting(self, *arguments, **options):
        await_ready(self, POLLIN)
        return receive(self, *arguments, **options)

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
        if not virtual() or self.gettimeout() == 0:
            return original(self, data, flags)
        left = memoryview(data).cast("B")
        while left:
            await_ready(self, POLLOUT)
            left = left[self.send(left, flags | socket.MSG_DONTWAIT):]
        return None

    return sending


def tls_read(original: Callable) -> Callable:
    def reading(self, *arguments):
        if virtual() and self._sslobj is not None and not self.pending():
            await_ready(self, POLLIN)
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


def clock(name: str, in_seconds: bool) -> Callable:
    """One of the clocks, in seconds or in nanoseconds."""
    def wrap(original: Callable) -> Callable:
        def reading():
            time_now = virtual()
            if not time_now:
                return original()
            return getattr(time_now, name) / 1e9 if in_seconds else getattr(time_now, name)

        return reading

    return wrap


def clock_of_kernel(original: Callable) -> Callable:
    names = {time.CLOCK_MONOTONIC: "monotonic", time.CLOCK_BOOTTIME: "boot", time.CLOCK_REALTIME: "system"}

    def reading(number):
        time_now = virtual()
        return getattr(time_now, names[number]) / 1e9 if time_now and number in names else original(number)

    return reading


# Threads.

class Condition(threading.Condition):
    """One whose waiters rest."""

    def wait(self, timeout=None):
        time_now = virtual()
        if not time_now:
            return super().wait(timeout)
        waiter, condition = _Waiter(), cast(Any, self)
        condition._waiters.append(waiter)
        saved = condition._release_save()
        try:
            return bool(wait_ready(time_now, [(waiter.file, POLLIN)], timeout))
        finally:
            condition._acquire_restore(saved)
            if waiter in condition._waiters:
                condition._waiters.remove(waiter)
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
        slot = time_now.claim_for_program()
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
    def communicating(self, input=None, timeout=None):
        if virtual() and (not self._is_virtual or not is_main()):
            with RealWaits():
                return original(self, input, timeout)
        # Without a limit it would read from a single pipe where nobody sees that it waits.
        return original(self, input, A_YEAR if virtual() and timeout is None else timeout)

    return communicating


def replace(owner: Any, name: str, wrap: Callable):
    setattr(owner, name, wrap(getattr(owner, name)))


def install():
    """Replaces them all."""
    for name in ("accept", "recv", "recv_into", "recvfrom", "recvmsg"):
        replace(socket.socket, name, before)
    for name, wrap in (("accept", accept), ("connect", connect), ("sendall", sendall)):
        replace(socket.socket, name, wrap)
    replace(ssl.SSLSocket, "read", tls_read)
    for kind in (selectors.PollSelector, selectors.EpollSelector, selectors.SelectSelector):
        replace(kind, "select", selector_select)
    replace(select, "select", kernel_select)
    for name, wrap in (("time", clock("system", True)), ("time_ns", clock("system", False)),
                       ("monotonic", clock("monotonic", True)), ("monotonic_ns", clock("monotonic", False)),
                       ("clock_gettime", clock_of_kernel), ("sleep", sleep)):
        replace(time, name, wrap)
    # The queue in C waits where nothing sees it.
    replace(queue, "SimpleQueue", lambda in_c: vars(queue)["_PySimpleQueue"])
    replace(threading, "Condition", lambda usual: Condition)
    for name, wrap in (("start", thread_start), ("_bootstrap_inner", thread_begin), ("join", thread_join)):
        replace(threading.Thread, name, wrap)
    for name, wrap in (("__init__", popen), ("wait", child_wait), ("communicate", child_communicate)):
        replace(subprocess.Popen, name, wrap)
