"""Which fixes must have been stored, computed from gpsd's reports and the written rules alone.

This looks at a whole recording at once, while the daemon decides as reports arrive: two ways to the same answer.
"""
from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from support.fake_gpsd import from_iso

# Number of preceding epochs that predict how many reports an epoch has.
MEMORY = 5
PATIENCE = 1.5
# What is told at most this long after a later instant is told again; what is further back is told by another clock.
AGAIN_MS = 60_000
# Fixes that are kept until the time has settled.
KEPT = 64
STEP_TOLERANCE = 1.5
SETTLING_SPAN_MS = 2000
JITTER_MS = 50
EARTH_RADIUS = 6_371_008.8


@dataclass
class TimedReport:
    """A TPV and its time of arrival (CLOCK_BOOTTIME, seconds)."""

    now: float
    report: dict


@dataclass
class Epoch:
    now: float
    fields: dict
    # In which run of ascending instants; None while that is not known.
    run: int | None = None

    @property
    def time(self) -> int:
        return from_iso(self.fields["time"])

    @property
    def has_fix(self) -> bool:
        latitude, longitude = self.fields.get("lat"), self.fields.get("lon")
        return (self.fields["mode"] >= 2 and latitude is not None and longitude is not None
                and abs(latitude) <= 90 and abs(longitude) <= 180)

    @property
    def row(self) -> tuple:
        """ts, lat, lng, accuracy, speed, bearing, altitude"""
        fields = self.fields
        accuracy = fields.get("eph")
        if accuracy is None and "epx" in fields and "epy" in fields:
            accuracy = math.sqrt(fields["epx"] ** 2 + fields["epy"] ** 2)
        bearing, speed = fields.get("track"), fields.get("speed")
        return (self.time, fields["lat"], fields["lon"], accuracy, speed if speed is not None and speed >= 0 else None,
                bearing if bearing is not None and 0 <= bearing < 360 else None,
                fields.get("altHAE") if fields["mode"] == 3 else None)


def told_in_turn(heard: list) -> tuple:
    """The reports of each instant, and how many they were, those included that came when the next instant had begun."""
    instants: list = []
    counts: list = []
    for item in heard:
        if "time" not in item.report:
            continue
        time = from_iso(item.report["time"])
        times = [from_iso(reports[0].report["time"]) for reports in instants[-2:]]
        if times and times[-1] == time:
            instants[-1].append(item)
            counts[-1] += 1
            continue
        before = counts[-1 - MEMORY:-1]
        is_open = before and counts[-1] < max(before) and item.now - instants[-1][-1].now < PATIENCE
        if len(times) > 1 and times[-2] == time < times[-1] and is_open:
            counts[-2] += 1
        else:
            instants.append([item])
            counts.append(1)
    return instants, counts


def epochs(heard: list) -> list:
    """One epoch for each instant: its first reports, as many as the fullest of the five preceding instants had."""
    instants, counts = told_in_turn(heard)
    found = []
    for index, reports in enumerate(instants):
        before = counts[max(0, index - MEMORY):index]
        taken = reports[:max(before)] if before else reports
        for position in range(1, len(taken)):
            if taken[position].now - taken[position - 1].now >= PATIENCE:
                taken = taken[:position]
                break
        fields: dict = {}
        for item in taken:
            fields.update(item.report)
        if before and len(taken) == max(before):
            closed = taken[-1].now
        else:
            following = instants[index + 1][0].now if index + 1 < len(instants) else math.inf
            closed = min(following, taken[-1].now + PATIENCE)
        found.append(Epoch(closed, fields))
    return found


def settled(found: list) -> list:
    """The fixes that are used, in order: those of the run that settles the receiver's time, and what follows it."""
    return used_and_repeated(found)[0]


def used_and_repeated(found: list) -> tuple:
    """The fixes that are used, each with the number of its run, and how many told an instant again."""
    used: list = []
    repeated = 0
    # The epochs since the time has last become doubtful; None: it is settled.
    doubtful: list | None = []
    for epoch in found:
        if not epoch.has_fix:
            doubtful = doubtful and []
            continue
        if used and told_again(epoch, used[-1]):
            repeated += 1
            continue
        if doubtful is None:
            step = epoch.time - used[-1].time
            if step > 0 and step / 1000 - (epoch.now - used[-1].now) <= 3600:
                used.append(Epoch(epoch.now, epoch.fields, used[-1].run))
                continue
            doubtful = []
        doubtful.append(epoch)
        line = proof(doubtful)
        if not line:
            continue
        doubtful = None
        run = used[-1].run if used else 0
        if used and line[0].time < used[-1].time:
            run += 1
        used += [Epoch(one.now, one.fields, run) for one in line[-KEPT:]]
    return used, repeated


def told_again(epoch: Epoch, newest: Epoch) -> bool:
    return 0 <= newest.time - epoch.time <= AGAIN_MS


def proof(doubtful: list) -> list:
    """The epochs up to the last one that show together that the time is right; none if they do not yet.

    Those a little earlier than one before them do not count, unless they show it by themselves."""
    main: list = []
    beside: list = []
    for epoch in doubtful:
        if main and told_again(epoch, main[-1]):
            beside = continued(beside, epoch)
        else:
            main, beside = continued(main, epoch), []
    return next((line for line in (main, beside) if proves(line) and line[-1] is doubtful[-1]), [])


def continued(line: list, epoch: Epoch) -> list:
    if line:
        step = (epoch.time - line[-1].time) / 1000
        if step > 0 and abs(step - (epoch.now - line[-1].now)) <= STEP_TOLERANCE:
            return [*line, epoch]
    return [epoch]


def proves(run: list) -> bool:
    whole: list = []
    for epoch in run:
        whole = [*whole, epoch] if epoch.fields["mode"] == 3 else []
    return spans(whole, 3) or spans(run, 5)


def spans(run: list, count: int) -> bool:
    return len(run) >= count and run[-1].time - run[0].time >= SETTLING_SPAN_MS


def distance(first: Epoch, second: Epoch) -> float:
    """Metres on the mean sphere, by the chord between the two points."""
    one, two = vector(first), vector(second)
    chord = math.sqrt(sum((a - b) ** 2 for a, b in zip(one, two, strict=True)))
    return 2 * EARTH_RADIUS * math.asin(min(1.0, chord / 2))


def vector(epoch: Epoch) -> tuple:
    latitude, longitude = math.radians(epoch.fields["lat"]), math.radians(epoch.fields["lon"])
    return (math.cos(latitude) * math.cos(longitude), math.cos(latitude) * math.sin(longitude), math.sin(latitude))


def admitted(fixes: list, interval: float, meters: float) -> tuple:
    """The fixes that pass the gate, and how many came too soon and too near."""
    passed: list = []
    too_soon = too_near = 0
    for fix in fixes:
        if passed and fix.run == passed[-1].run:
            if interval and fix.time - passed[-1].time < interval * 1000 - JITTER_MS:
                too_soon += 1
                continue
            if meters and distance(passed[-1], fix) < meters:
                too_near += 1
                continue
        passed.append(fix)
    return passed, too_soon, too_near


# Motion, computed from the written rules alone, over the whole recording at once.

def pace(epoch: Epoch):
    """Metres per second; None if the receiver did not report it."""
    return epoch.row[4]


def radius(epoch: Epoch, least: float) -> float:
    accuracy = epoch.row[3]
    return max(least, 2 * (15 if accuracy is None else accuracy))


def middle(epochs_: list) -> Epoch:
    total = [sum(values) for values in zip(*(vector(epoch) for epoch in epochs_), strict=True)]
    return Epoch(0, {"lat": math.degrees(math.atan2(total[2], math.hypot(total[0], total[1]))),
                     "lon": math.degrees(math.atan2(total[1], total[0]))})


def motions(fixes: list, least: float, duration: float) -> list:
    """For each fix: moving, stationary or unknown, with this fix taken into account."""
    states: list = []
    state = "unknown"
    spot: Epoch | None = None
    standing_from = moving_from = 0
    for index, fix in enumerate(fixes):
        if index:
            step = fix.time - fixes[index - 1].time
            if step < 0:
                standing_from = moving_from = index
            if step > 30_000 and step > 3 * usual_step(fixes[:index]):
                standing_from = index

        def beginning(holds, last: int) -> int | None:
            """The first fix since which the predicate has held without interruption, up to that one."""
            first = None
            for earlier in range(last, moving_from - 1, -1):
                if not holds(earlier):
                    break
                first = earlier
            return first

        def lasts(holds) -> float:
            """How many seconds the predicate has held without interruption; -1 if it does not hold."""
            first = beginning(lambda at: holds(fixes[at]), index)
            return -1 if first is None else (fix.time - fixes[first].time) / 1000

        def goes_on(at: int, seconds: float, is_out) -> bool:
            """Without speeds: so long out of the place of the first fix, and further than where that began."""
            origin = fixes[moving_from]
            first = beginning(lambda one: pace(fixes[one]) is None and is_out(distance(origin, fixes[one]),
                                                                              radius(fixes[one], least)), at)
            return (first is not None and fixes[at].time - fixes[first].time >= seconds * 1000
                    and distance(fixes[first], fixes[at]) > 2 * radius(fixes[at], least))

        def leaves() -> bool:
            first = beginning(lambda at: goes_on(at, 30, lambda far, around: far > around)
                              or goes_on(at, 1, lambda far, around: far > max(4 * around, 50)), index)
            return first is not None and fix.time - fixes[first].time >= 1000

        def outside(one: Epoch) -> bool:
            return away(one) > radius(one, least)

        def away(one: Epoch) -> float:
            assert spot is not None, "only a stationary vehicle has a spot"
            return distance(spot, one)

        sets_off = False
        if state == "unknown":
            sets_off = lasts(lambda one: (pace(one) or 0) >= 1) >= 1 or leaves()
        elif state == "stationary":
            sets_off = (lasts(lambda one: (pace(one) or 0) >= 3) >= 1
                        or lasts(lambda one: outside(one) and (pace(one) or 0) >= 1) >= 1
                        or lasts(lambda one: outside(one) and (pace(one) is None or pace(one) >= 1)) >= 30
                        or lasts(lambda one: away(one) > max(4 * radius(one, least), 50)) >= 1)
        if sets_off:
            state, spot, standing_from, moving_from = "moving", None, index, index + 1
        elif state != "stationary":
            old = [at for at in range(standing_from, index + 1) if fix.time - fixes[at].time >= duration * 1000]
            window = fixes[old[-1]:index + 1] if old else []
            if window and stands(window, least):
                state, spot, moving_from = "stationary", middle(window), index + 1
        states.append(state)
    return states


def stands(window: list, least: float) -> bool:
    slow = [one for one in window if (pace(one) or 0) < 1]
    if len(slow) < 0.95 * len(window) or any((pace(one) or 0) >= 3 for one in window):
        return False
    centre = middle(window)
    return sum(distance(centre, one) <= radius(one, least) for one in window) >= 0.95 * len(window)


def usual_step(before: list) -> float:
    steps = [later.time - one.time for one, later in itertools.pairwise(before[-60:])]
    last = sorted([step for step in steps if step > 0][-5:])
    return last[(len(last) - 1) // 2] if last else 0


def admitted_in_motion(fixes: list, states: list, interval: float, meters: float, mode: str = "pause",
                       check_in: float = 900) -> tuple:
    """The fixes that become locations, each with its trigger; and how many were too soon, too near, or while parked."""
    passed: list = []
    too_soon = too_near = paused = 0
    since = None
    before = "unknown"
    for fix, state in zip(fixes, states, strict=True):
        turning = state != before and "stationary" in (state, before)
        parking = turning and state == "stationary"
        before = state
        if turning:
            trigger = "motion"
        elif passed and state == "stationary" and mode != "keep_tracking":
            is_due = since is None or since.run != fix.run or fix.time - since.time >= check_in * 1000
            if mode == "pause" or not is_due:
                paused += 1
                continue
            trigger = "check_in"
        else:
            found, soon, near = admitted([one for one, _ in passed[-1:]] + [fix], interval, meters)
            too_soon, too_near = too_soon + soon, too_near + near
            if found[-1] is not fix:
                continue
            trigger = "interval"
        if parking or trigger == "check_in":
            since = fix
        passed.append((fix, trigger))
    return passed, too_soon, too_near, paused
