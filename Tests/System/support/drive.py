"""A drive of days that a test chooses, fed through a fake gpsd, and what an independent reading makes of it."""
from __future__ import annotations

import dataclasses
import random

from support.fake_gpsd import METERS_PER_DEGREE, FakeGPSD, tpv

# Below this speed, in metres per second, a vehicle stands.
STILL = 0.5


@dataclasses.dataclass
class Moment:
    """Where the vehicle truly is. `ms` is Unix time; `north` and `metres` are metres, `speed` metres per second."""
    ms: int
    north: float
    speed: float
    metres: float


@dataclasses.dataclass
class ReadTrip:
    """A trip as it is read from the whole record; times in seconds of Unix time."""
    start: float
    end: float
    metres: float
    top_speed: float
    standing: float


class Drive:
    """Makes the moments of a drive northward: a fix a second while driving, and one every `parked` seconds of a long stay."""

    def __init__(self, start_ms: int, parked: int = 10):
        self.parked = parked
        self.moments = [Moment(start_ms, 0.0, 0.0, 0.0)]

    def go(self, seconds: int, speed: float):
        for _ in range(seconds):
            last = self.moments[-1]
            now = last.speed + min(max(speed - last.speed, -2.0), 2.0)
            way = (last.speed + now) / 2
            self.moments.append(Moment(last.ms + 1000, last.north + way, now, last.metres + way))

    def halt(self):
        while self.moments[-1].speed > 0:
            self.go(1, 0.0)

    def stand(self, seconds: int):
        self.halt()
        # Once it is known to stand, fixes may be rare.
        first = min(seconds, 200)
        self.go(first, 0.0)
        for _ in range((seconds - first) // self.parked):
            last = self.moments[-1]
            self.moments.append(dataclasses.replace(last, ms=last.ms + 1000 * self.parked))

    def days(self, count: int, number: int, trips: int = 4):
        """Drives with lights and short stops, and long stays between them."""
        chance = random.Random(number)
        self.stand(900)
        for _ in range(count):
            for _ in range(chance.randint(trips - 1, trips + 1)):
                for leg in range(chance.randint(2, 6)):
                    if leg:
                        self.stand(chance.randint(100, 250) if chance.random() < 0.2 else chance.randint(5, 80))
                    self.go(chance.randint(60, 240), chance.uniform(8, 32))
                self.stand(chance.randint(400, 6000))
            self.stand(chance.randint(20_000, 36_000))

    def read(self, gap: float = 300.0) -> list[ReadTrip]:
        """What lies between two stands of at least `gap` seconds, from the record as a whole: all that moves is put into
        runs, and runs are joined over short stands."""
        runs: list[list[int]] = []
        for index, moment in enumerate(self.moments):
            if moment.speed < STILL:
                continue
            if runs and index == runs[-1][1] + 1:
                runs[-1][1] = index
            else:
                runs.append([index, index])
        joined: list[list[list[int]]] = []
        for run in runs:
            if joined and self.moments[run[0]].ms - self.moments[joined[-1][-1][1]].ms < gap * 1000:
                joined[-1].append(run)
            else:
                joined.append([run])
        trips = []
        for parts in joined:
            first, last = self.moments[parts[0][0]], self.moments[parts[-1][1]]
            standing = sum(self.moments[after[0]].ms - self.moments[before[1]].ms
                           for before, after in zip(parts, parts[1:], strict=False)) / 1000
            top = max(moment.speed for moment in self.moments[parts[0][0]:parts[-1][1] + 1])
            trips.append(ReadTrip(first.ms / 1000, last.ms / 1000, last.metres - first.metres, top, standing))
        return trips


def report(moment: Moment, noise: random.Random | None = None) -> dict:
    """The TPV of a moment; with noise, as a receiver in a suburb has it."""
    north, east, speed = moment.north, 0.0, moment.speed
    if noise:
        north, east = north + noise.gauss(0, 2.5), noise.gauss(0, 2.5)
        speed = max(speed + noise.gauss(0, 0.08), 0.0)
    return tpv(moment.ms, 30 + north / METERS_PER_DEGREE, 8 + east / METERS_PER_DEGREE / 0.866,
               speed=round(speed, 3), eph=6.0)


def feed(gps: FakeGPSD, daemon, moments: list[Moment], noise: random.Random | None = None, portion: int = 500):
    """Sends the moments as fixes, and returns once all but the last, whose epoch may be open, have been processed."""
    for start in range(0, len(moments), portion):
        part = moments[start:start + portion]
        wanted = daemon.status()["source"]["fixes"] + len(part) - 1
        gps.report(*(report(moment, noise) for moment in part))
        daemon.wait_status(
            lambda status, wanted=wanted: status["source"]["fixes"] >= wanted, f"{len(part)} fixes read")
