"""A beekond with the gpsd that drives it, and an account of its fixes over all its lives."""
from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass, field

from support.daemon import Beekond
from support.fake_gpsd import FakeGPSD, from_iso
from support.listener import Listener
from support.waiting import PATIENCE, wait_for

# A fix's time in Unix milliseconds, which no two fixes of a vehicle have in common, and the id that beekond gave it.
Row = tuple[int, str]


@dataclass
class Life:
    """From a start to the SIGKILL that ended it."""
    listener: Listener
    # Times of the fixes that gpsd was told to report.
    sent: set[int] = field(default_factory=set)
    reported: set[Row] = field(default_factory=set)
    # Rows of the database that the kill left behind.
    left: set[Row] = field(default_factory=set)
    is_over: bool = False

    def hear(self):
        self.reported = {(from_iso(location["timestamp"]), location["id"]) for location in self.listener.locations}

    @property
    def silent(self) -> set[int]:
        """Times of fixes that may have been committed, and reported by nobody, because the kill came in between: those that
        are newer than the last one that was reported. beekond reports in the order in which it commits."""
        last = max((time for time, _ in self.reported), default=0)
        return {time for time in self.sent if time > last} if self.is_over else set()


class Vehicle:
    def __init__(self, device: int, fake: FakeGPSD, daemon: Beekond):
        self.device, self.fake, self.daemon = device, fake, daemon
        self.lives: list[Life] = []

    def start(self) -> Vehicle:
        self.daemon.start()
        listener = Listener(self.daemon, ["location", "state"])
        # The subscription is in force once the present state has arrived.
        wait_for(lambda: listener.events, "the subscription")
        self.lives.append(Life(listener))
        return self

    def settle(self) -> Vehicle:
        """Makes beekond trust the receiver's time."""
        self.fake.wait_watched()
        self.drive(3)
        return self

    def drive(self, count: int):
        self.lives[-1].sent |= set(self.fake.drive(count))

    def kill(self):
        """SIGKILL. What it has reported before is still read; what it has committed is looked up in what it left behind."""
        life = self.lives[-1]
        self.daemon.child.kill()
        life.listener.join(PATIENCE)
        life.hear()
        life.left = {(time, str(uuid.UUID(bytes=name))) for time, name in self.daemon.query("SELECT ts, id FROM locations")}
        life.is_over = True
        self.daemon.kill()

    def account(self, stored: list[Row]) -> Account:
        """Compares what the server has of this vehicle with what it said."""
        self.lives[-1].hear()
        account = Account(self.device)
        reported: set[Row] = set().union(*(life.reported for life in self.lives))
        account.reported, account.stored = len(reported), len(stored)
        account.missed = sum(life.listener.missed for life in self.lives)
        times, names = Counter(time for time, _ in stored), Counter(name for _, name in stored)
        account.twice = [row for row in stored if times[row[0]] > 1 or names[row[1]] > 1]
        account.lost = sorted(reported - set(stored))
        extra = set(stored) - reported
        for number, life in enumerate(self.lives):
            # All of it was committed: reported or not, it must arrive.
            account.lost += sorted(life.left - set(stored) - reported)
            silent = {row for row in extra if row[0] in life.silent}
            if silent:
                account.silent[number] = (len(silent), len(silent & life.left))
            extra -= silent
        account.unexplained = sorted(extra)
        return account


@dataclass
class Account:
    """Of one vehicle: every row reported is stored once, and what is stored was reported, or its kill explains why not."""
    device: int
    reported: int = 0
    stored: int = 0
    # Events that beekond did not deliver, because nobody read them.
    missed: int = 0
    lost: list[Row] = field(default_factory=list)
    # Rows that have their time or their id in common with another one.
    twice: list[Row] = field(default_factory=list)
    # By life, rows that are stored and that the kill kept from being reported; and those of them that the vehicle still had in
    # its own database then. The others had been uploaded and removed before.
    silent: dict[int, tuple[int, int]] = field(default_factory=dict)
    unexplained: list[Row] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        found = [f"{word} of device {self.device}: {rows[:5]}, {len(rows)} in all"
                 for word, rows in (("lost", self.lost), ("twice", self.twice), ("stored, and never said", self.unexplained))
                 if rows]
        return found + ([f"{self.missed} events missed of device {self.device}"] if self.missed else [])
