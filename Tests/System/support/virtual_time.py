"""Virtual time: the clocks of a test, and of the programs and threads that it starts, stand still while anything is at work. Once
everything rests they go on, at once, to the nearest moment that somebody waits for. So hours pass in no time, and how busy this
machine is decides nothing.

A thread rests where it waits: for a descriptor, for time, for another thread. virtual_time.c says how that is known. The main
thread of the test is the one that moves time: what it waits for comes about, or time goes on until it does."""
from __future__ import annotations

import _socket
import contextlib
import ctypes
import hashlib
import mmap
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator

from support.programs import ROOT, installed

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "virtual_time.c")
BUILD = os.path.join(ROOT, ".build")
COMPILER = shutil.which("cc") or shutil.which("clang") or shutil.which("gcc")
SLOTS, MACHINES = 256, 64
# Words of the page: its head, the machines, the slots.
HEAD_WORDS, MACHINE_WORDS, SLOT_WORDS = 16, 4, 8
# What a slot says of its thread.
FREE, WAITING = 0, 2
NEVER = (1 << 63) - 1
# How long a machine has been up, in nanoseconds, whose clocks begin at a certain moment.
UP = 3_600_000_000_000
# Real seconds after which a thread that neither rests nor ends is one that hangs: of its processor's time, or without any of it.
# Beside others, work of a few seconds takes longer.
HANGS = 20.0
# The same of the test's own threads, of which the time is not known one by one.
HANGS_HERE = 120.0

# The clock of this machine, for what is not to be virtual.
real_monotonic = time.monotonic


class Hanging(AssertionError):
    """A thread has not come to rest, or nobody waits for time any more."""


class PollEntry(ctypes.Structure):
    """A `struct pollfd`."""

    _fields_ = (("file", ctypes.c_int), ("events", ctypes.c_short), ("found", ctypes.c_short))


class Machine:
    """The clocks of a machine, as far as they are not those of all: how wrong its system clock is, whether it says that it is
    synchronised, and how long the machine has been suspended."""

    def __init__(self, shared: VirtualTime, number: int):
        self._shared = shared
        self.environment = {"BEEKOND_VIRTUAL_MACHINE": str(number)}
        start = HEAD_WORDS + MACHINE_WORDS * number
        self._words = shared.words[start:start + MACHINE_WORDS]

    def reset(self):
        for word in range(MACHINE_WORDS):
            self._words[word] = 0

    @property
    def system(self) -> int:
        """Nanoseconds."""
        return self._shared.system + self._words[0]

    @system.setter
    def system(self, nanoseconds: int):
        self._words[0] = nanoseconds - self._shared.system

    @property
    def is_synchronised(self) -> bool:
        return bool(self._words[2])

    @is_synchronised.setter
    def is_synchronised(self, value: bool):
        self._words[2] = int(value)

    def suspend(self, seconds: float):
        """It sleeps: the system clock and the time since boot go on; nobody wakes for it."""
        self._words[0] += int(seconds * 1e9)
        self._words[1] += int(seconds * 1e9)


class Loopback:
    """What has been sent over loopback may still be on its way: where this machine is busy, a processor hands on later what its
    queue holds. What is sent last from a processor arrives last."""

    # In a line of /proc/net/softnet_stat, in hexadecimal: packets that a processor has begun to hand on, those in its queue, and
    # which processor it is.
    HANDED_ON, QUEUED, PROCESSOR = 0, 11, 12

    def __init__(self):
        self._raw = _socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._raw.settimeout(HANGS)
        self._address: tuple | None = None
        # Of each processor, what it had handed on when all had arrived.
        self._known: dict[int, int] = {}
        try:
            self._counts = os.open("/proc/net/softnet_stat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._counts = -1

    def flush(self):
        """Returns when all has arrived."""
        processors = os.sched_getaffinity(0)
        counts = self._read()
        moved = False
        try:
            if not self._address:
                self._raw.bind(("127.0.0.1", 0))
                self._address = self._raw.getsockname()
            for processor in processors:
                handed_on, queued = counts.get(processor, (-1, 1))
                if not queued and self._known.get(processor) == handed_on:
                    continue
                os.sched_setaffinity(0, {processor})
                moved = True
                self._raw.sendto(b"", self._address)
                self._raw.recv(1)
                # With that packet.
                self._known[processor] = (handed_on + 1) & 0xFFFFFFFF
        except OSError:
            # A network of its own, without loopback as yet: nothing is on its way.
            pass
        finally:
            if moved:
                os.sched_setaffinity(0, processors)

    def _read(self) -> dict[int, tuple[int, int]]:
        """By processor; empty: this machine does not tell."""
        try:
            lines = [line.split() for line in os.pread(self._counts, 1 << 16, 0).splitlines()]
            return {int(fields[self.PROCESSOR], 16): (int(fields[self.HANDED_ON], 16), int(fields[self.QUEUED], 16))
                    for fields in lines}
        except (OSError, IndexError, ValueError):
            return {}


def compiled() -> str:
    """virtual_time.c as a library, compiled once for each content of it, and for each C library: containers share the folder."""
    with open(SOURCE, "rb") as file:
        content = file.read() + f"{os.uname().machine} {os.confstr('CS_GNU_LIBC_VERSION')}".encode()
    path = os.path.join(BUILD, f"virtual_time-{hashlib.sha256(content).hexdigest()[:16]}.so")
    if not os.path.exists(path):
        os.makedirs(BUILD, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=BUILD) as folder:
            fresh = os.path.join(folder, "virtual_time.so")
            subprocess.run([installed(COMPILER), "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", fresh, SOURCE],
                           check=True)
            # Several files of tests begin at once.
            os.replace(fresh, path)
    return path


class VirtualTime:
    """The clocks, in nanoseconds, and the slots of all threads."""

    def __init__(self, folder: str):
        self._folder = folder
        self._loopback = Loopback()
        self._shim = os.path.join(folder, "virtual_time.so")
        # A copy, for programs that run as other users: they may not see where the build is.
        shutil.copyfile(compiled(), self._shim)
        self._library = ctypes.CDLL(self._shim, use_errno=True)
        self._library.virtual_poll.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int64]
        self._library.virtual_rest.argtypes = [ctypes.c_int64, ctypes.c_char_p, ctypes.c_int]
        for function in ("virtual_ring", "virtual_returns", "virtual_next_deadline"):
            getattr(self._library, function).restype = ctypes.c_int64
        size = 8 * (HEAD_WORDS + MACHINE_WORDS * MACHINES + SLOT_WORDS * SLOTS)
        path = os.path.join(folder, "page")
        with open(path, "w+b") as file:
            file.truncate(size)
            self._map = mmap.mmap(file.fileno(), size)
        self.words = self._words = memoryview(self._map).cast("q")
        self._halves = memoryview(self._map).cast("i")
        resting = os.path.join(folder, "resting")
        for fifo in (*(os.path.join(folder, f"bell{index}") for index in range(SLOTS)), resting):
            os.mkfifo(fifo)
        # For programs that run as other users.
        os.chmod(folder, 0o755)
        for name in os.listdir(folder):
            os.chmod(os.path.join(folder, name), 0o755 if name.endswith(".so") else 0o666)
        self._library.virtual_join(folder.encode())
        self.reset(1)

    def reset(self, seed: int, moment: int | None = None):
        """Everything begins: random numbers from this seed; the clocks show what those of this machine do now, or this moment, in
        nanoseconds, as far into its life as it always is then."""
        for word, clock in enumerate((time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME, time.CLOCK_REALTIME)):
            self._words[word] = time.clock_gettime_ns(clock) if moment is None else (UP, UP, moment)[word]
        self._words[4] = seed
        self.count_calls(0)
        self.names_are_answered(True)
        for number in range(MACHINES):
            Machine(self, number).reset()
        self._machines = 1
        self._programs = 0
        # How often the main thread has begun to wait.
        self._questions = 0

    # The clocks.

    @property
    def monotonic(self) -> int:
        return self._words[0]

    @property
    def boot(self) -> int:
        return self._words[1]

    @property
    def system(self) -> int:
        return self._words[2]

    def machine(self) -> Machine:
        """One with clocks of its own."""
        number = self._machines
        self._machines += 1
        assert number < MACHINES, "more machines than there is room for"
        return Machine(self, number)

    # Slots.

    def environment(self) -> dict:
        """What makes a program live in this time."""
        return {"LD_PRELOAD": self._shim, "BEEKOND_VIRTUAL_TIME": self._folder, "SWIFT_DETERMINISTIC_HASHING": "1"}

    def claim(self) -> int:
        """A slot that counts as running."""
        return self._library.virtual_claim()

    def adopt(self, slot: int):
        """The slot is this thread's, and free once that ends."""
        self._library.virtual_adopt(slot)

    def free(self, slot: int):
        self._library.virtual_free(slot)

    def claim_for_program(self) -> int:
        """That of the first thread of the next program: the random numbers of each depend on how many there were before it."""
        slot = self.claim()
        self._programs += 1
        self._words[self._word(slot) + 5] = self._programs
        return slot

    def belongs(self, slot: int, process: int):
        """It is that of a program which has been started with it, and free once that has ended."""
        self._halves[self._half(slot) + 1] = process

    def rest(self, entries: list, seconds: float | None) -> list:
        """For any thread but the main one: poll(2), in virtual time, of pairs of descriptor and events."""
        table = (PollEntry * len(entries))(*[PollEntry(file, events, 0) for file, events in entries])
        nanoseconds = -1 if seconds is None else max(0, int(seconds * 1e9))
        found = self._library.virtual_poll(ctypes.byref(table), len(entries), nanoseconds)
        if found < 0:
            raise OSError(-found, os.strerror(-found))
        return [(entry.file, entry.found) for entry in table if entry.found]

    def _half(self, slot: int) -> int:
        return 2 * self._word(slot)

    def _word(self, slot: int) -> int:
        return HEAD_WORDS + MACHINE_WORDS * MACHINES + SLOT_WORDS * slot

    def _busy(self, generation: int) -> list:
        """Slots of threads that do not wait, or have not looked at this generation yet."""
        first = self._word(0)
        states, seen = self._halves[2 * first::2 * SLOT_WORDS].tolist(), self._words[first + 2::SLOT_WORDS].tolist()
        return [slot for slot in range(SLOTS) if states[slot] != FREE and (states[slot], seen[slot]) != (WAITING, generation)]

    # Kills by place.

    def count_calls(self, process: int, fatal: int = 0):
        """From now on counts what this process does to files and sends; before the call of that number it is killed."""
        self._words[6], self._words[7], self._words[8] = 0, 0, fatal
        self._words[6] = process

    @property
    def calls(self) -> int:
        """How many it has made."""
        return self._words[7]

    # Names.

    def names_are_answered(self, value: bool):
        """Whether a name that this machine does not know is unknown at once, or nobody answers who is asked for it."""
        self._words[9] = int(not value)

    # Rest.

    def settle(self, unless: Callable[[], object] | None = None):
        """Until everything rests: each thread has looked, and waits; and looked again, and none had been at work. Or until what
        the main thread waits for is there: who writes to it may be held up until it reads."""
        library = self._library
        while not (unless and unless()):
            if not self._look(unless):
                return
            returns = library.virtual_returns()
            if not library.virtual_all_wait() or library.virtual_returns() != returns:
                continue
            if not self._look(unless) or library.virtual_returns() == returns:
                return

    def _look(self, unless: Callable[[], object] | None) -> bool:
        """Each thread looks at its descriptors after this has begun, and waits."""
        generation = self._library.virtual_ring()
        # Slots of programs that have been stopped (SIGSTOP).
        stopped = None
        patience = None
        while True:
            found = self._library.virtual_rest(generation, stopped, unless is not None)
            if found > 0:
                return True
            if unless and unless():
                return False
            if found < 0:
                continue
            patience = patience or Patience()
            marks = bytearray(stopped or SLOTS)
            busy = [slot for slot in self._busy(generation) if not marks[slot]]
            for slot in busy:
                process = self._halves[self._half(slot) + 1]
                if process in (0, os.getpid()):
                    continue
                if has_ended(process):
                    self.free(slot)
                elif state_of(process) == "T":
                    marks[slot] = 1
            stopped = bytes(marks)
            if patience.is_over({self._halves[self._half(slot) + 1] for slot in busy} - {0}):
                raise Hanging("".join(self._told(slot) for slot in busy))

    def _told(self, slot: int) -> str:
        process = self._halves[self._half(slot) + 1]
        return f"a thread of process {process} does not come to rest\n{stacks(process)}"

    # Time.

    def next_deadline(self) -> int:
        """The nearest; NEVER: nobody waits for time."""
        return self._library.virtual_next_deadline()

    def step_to(self, monotonic: int):
        """Moves the clocks; everything must rest."""
        step = monotonic - self._words[0]
        if step > 0:
            for clock in range(3):
                self._words[clock] += step

    def until(self, holds: Callable[[], object], seconds: float | None, at_once: bool = False, only_looks: bool = False) -> bool:
        """Whether it holds before so much time has passed. Time goes on only while it does not; without a limit, until
        nobody waits for time any more.

        `at_once`: also while others are at work. `only_looks`: the question sets nothing going but what it waits for itself."""
        self._questions += 1
        limit = NEVER if seconds is None else self._words[0] + int(seconds * 1e9)
        unless = holds if at_once else None
        while True:
            self._loopback.flush()
            self.settle(unless)
            before = self._questions
            if holds():
                return True
            if not only_looks or self._questions != before:
                # The question may have set something going.
                self._loopback.flush()
                self.settle(unless)
            due = self.next_deadline()
            if due > limit or due == NEVER:
                if limit == NEVER:
                    raise Hanging("everything rests, and nothing is waited for but what never comes")
                self.step_to(limit)
                self.settle()
                return bool(holds())
            self.step_to(due)

    def advance(self, seconds: float):
        """So much time passes."""
        end = self._words[0] + int(seconds * 1e9)
        while self._words[0] < end:
            self._loopback.flush()
            self.settle()
            self.step_to(min(self.next_deadline(), end))
        self._loopback.flush()
        self.settle()


class Patience:
    """How long processes may be at work."""

    def __init__(self):
        self._began = self._looked = real_monotonic()
        self._used: dict = {}
        self._last: dict = {}

    def is_over(self, processes: set) -> bool:
        """Whether one of them has used its time, or has done nothing since the last look, HANGS before this one."""
        now = real_monotonic()
        if now - self._looked < HANGS:
            return False
        self._looked = now
        used = {process: seconds_used(process) for process in processes}
        first = {process: self._used.setdefault(process, seconds) for process, seconds in used.items()}
        last, self._last = self._last, used
        if os.getpid() in processes and now - self._began > HANGS_HERE:
            return True
        return any(used[process] - first[process] > HANGS or (last.get(process) == used[process] and not is_ready(process))
                   for process in processes - {os.getpid()})


def seconds_used(process: int) -> float:
    """Of a processor's time, by all its threads."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


def state_of(process: int | str) -> str:
    """One letter, as ps has it; X when it is gone. Of a thread, with `PROCESS/task/THREAD`."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def is_ready(process: int) -> bool:
    """Whether one of its threads runs, waits for a processor, which on a busy machine may take long, or for a disk."""
    with contextlib.suppress(OSError):
        return any(state_of(f"{process}/task/{thread}") in "RD" for thread in os.listdir(f"/proc/{process}/task"))
    return False


def has_ended(process: int) -> bool:
    """Whether it can be waited for, or has been: the first thread may have ended before the others."""
    if not os.path.exists("/proc/self"):
        # A test of a machine without it.
        return is_zombie(process) or is_gone(process)
    if state_of(process) not in "ZX":
        return False
    with contextlib.suppress(OSError):
        return len(os.listdir(f"/proc/{process}/task")) == 1
    return True


def is_zombie(process: int) -> bool:
    """Whether it is a child that can be waited for."""
    with contextlib.suppress(ChildProcessError):
        return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return False


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


def stacks(process: int) -> str:
    """Where the threads of a process are, as far as this machine can tell."""
    debugger = shutil.which("gdb")
    if debugger and process != os.getpid():
        done = subprocess.run([debugger, "-p", str(process), "-batch", "-ex", "thread apply all bt 12"],
                              capture_output=True, text=True, timeout=60)
        return done.stdout
    found = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/wchan", encoding="ascii") as place, \
                    open(f"/proc/{process}/task/{thread}/comm", encoding="ascii") as name:
                found.append(f"  {thread} {name.read().strip()}: {place.read()}\n")
    return "".join(found)


_current: list = []


def current() -> VirtualTime | None:
    """The time of the test that runs; None: it is the machine's."""
    return _current[0] if _current else None


def is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def virtual_time(time_of_file: VirtualTime, seed: int, moment: int | None = None) -> Iterator[VirtualTime]:
    """Within this, time is virtual: VirtualTime.reset."""
    time_of_file.reset(seed, moment)
    _current.append(time_of_file)
    try:
        yield time_of_file
    finally:
        _current.clear()
