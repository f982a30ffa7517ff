"""The cost of a gpsd report: dropped by the gate, stored, with geofences, and once a second."""
from __future__ import annotations

import math
import os
import shutil
import socket
import threading
import time

from drive import SKY, driven, hours_ago, parked, tpv
from measuring import Meter, Row, interleaved
from support.ports import NOBODY
from world import EVERY_FIX, World


def dropped(world: World) -> list:
    """CPU per TPV dropped by the gate, at the full speed of the connection."""
    count = world.scaled(200_000, 5000)
    reports = b"".join(parked(count, hours_ago(28), 500))

    def ours():
        fake, daemon = world.tracking()
        cost = feed(fake, daemon.child.process.pid, reports) / count
        gate = daemon.status()["gate"]
        passed = gate["too_soon"] + gate["too_near"] + gate["admitted"]
        # The receiver's time settles during the first reports.
        if not count - 20 <= passed <= count:
            raise RuntimeError(f"{passed} of {count} reports came to the gate")
        end(fake, daemon)
        return cost

    rows = []
    for name, command, target in (
            ("gpxlogger", lambda port: ["gpxlogger", "-f", "/dev/null", f"127.0.0.1:{port}"], 1.0),
            ("libgps alone", lambda port: [os.path.join(world.peers, "parse"), str(port)], None)):
        if not (shutil.which(command(0)[0]) or os.path.exists(command(0)[0])):
            continue
        mine, theirs = interleaved(world.runs, ours, lambda: client(world, command, reports) / count)
        rows.append(Row("CPU of a TPV that the gate drops", "µs", mine, name, theirs, target))
    rows.append(pace(world, reports, count))
    return rows


def pace(world: World, reports: bytes, count: int) -> Row:
    """The speed of the fake gpsd with a client that only receives, compared with one that parses."""
    def discarding():
        fake = world.fake()
        link = socket.create_connection(("127.0.0.1", fake.port))
        link.sendall(b"?WATCH={\"enable\":true};\n")
        fake.wait_watched()
        room, left = memoryview(bytearray(1 << 20)), len(reports)
        began = time.monotonic()
        threading.Thread(target=fake.send, args=(reports,), daemon=True).start()
        while left > 0:
            left -= link.recv_into(room)
        seconds = time.monotonic() - began
        link.close()
        fake.stop()
        return seconds / count * 1e6

    def parsing():
        fake = world.fake()
        peer = world.peer("parse", str(fake.port))
        fake.wait_watched()
        began = time.monotonic()
        fake.send(reports)
        seconds = time.monotonic() - began
        fake.stop()
        peer.kill()
        return seconds / count * 1e6

    mine, theirs = interleaved(world.runs, discarding, parsing)
    return Row("the fake gpsd itself: time to hand over a TPV", "µs", mine, "to libgps alone", theirs)


def feed(fake, pid: int, data: bytes) -> float:
    """Microseconds of CPU that the process spends on these bytes."""
    meter = Meter(pid)
    meter.wait_quiet()
    before = meter.cpu()
    fake.send(data)
    meter.wait_quiet()
    return (meter.cpu() - before) / 1000


def client(world: World, command, data: bytes) -> float:
    """The same for another gpsd client."""
    fake = world.fake()
    peer = world.run(command(fake.port))
    fake.wait_watched()
    cost = feed(fake, peer.pid, data)
    fake.stop()
    peer.kill()
    return cost


def end(fake, daemon):
    """Kills it: an orderly end would take its time."""
    daemon.kill()
    fake.stop()


def stored(world: World) -> list:
    """CPU per stored fix, not waiting for the disk."""
    count = world.scaled(20_000, 1000)
    reports = b"".join(driven(os.path.join(world.bin, "beekon-sim"), count, hours_ago(10)))

    def ours():
        fake, daemon = world.tracking(tracking=EVERY_FIX, store={"durability": "normal"})
        cost = feed(fake, daemon.child.process.pid, reports) / count
        kept = daemon.status()["store"]["locations"]
        if not count - 20 <= kept <= count:
            raise RuntimeError(f"{kept} of {count} fixes were stored")
        end(fake, daemon)
        return cost

    def theirs():
        database = world.empty_database()
        return client(world, lambda port: [os.path.join(world.peers, "insert"), str(port), database, "normal"],
                      reports) / count

    mine, others = interleaved(world.runs, ours, theirs)
    return [Row("CPU of a fix that is stored, durability normal", "µs", mine, "libgps and the same INSERT in C", others,
                1.3)]


def geofences(world: World) -> list:
    """What 1,000 geofences around the vehicle add per fix: circles, polygons of their size, and large polygons of which
    hundreds overlap wherever it is. Those are crossed so often that fewer fixes have to do: each crossing is a commit."""
    count, few = world.scaled(100_000, 5000), 5000
    reports = list(driven(os.path.join(world.bin, "beekon-sim"), count, hours_ago(HOURS_OF_FENCES)))

    # A grid over the city the drive goes through.
    centers = [(13.20 + index % 32 * 0.012, 52.40 + index // 32 * 0.008) for index in range(1000)]
    shapes = {
        "1,000 geofences": (count, [{"longitude": longitude, "latitude": latitude, "radius_meters": 100}
                                    for longitude, latitude in centers]),
        "1,000 geofences that ask for stays": (count, [
            {"longitude": longitude, "latitude": latitude, "radius_meters": 100, "dwell_seconds": 30}
            for longitude, latitude in centers]),
        "1,000 polygons of 100 corners": (count, [{"polygon": star(center, 100)} for center in centers]),
        "the same, 10 km across": (few, [{"polygon": star(center, 5000)} for center in centers])}

    def cost(reports: list, number: int, fences: list):
        fake, daemon = world.tracking()
        if fences:
            daemon.call("AddGeofences", geofences=[
                {"id": f"fence-{index}", "notify_on_entry": True, "notify_on_exit": True, **fence}
                for index, fence in enumerate(fences)])
        spent = feed(fake, daemon.child.process.pid, b"".join(reports[:number])) / number
        end(fake, daemon)
        return spent

    # Their edges run beside the road, within ten metres of each other; and 1,000 outlines of one yard, as jagged as they are.
    rings = [{"polygon": ring(RING, 5000 + index / 100)} for index in range(1000)]
    yard = [{"polygon": star(beside(RING, 5 * math.sqrt(index / 1000), index * 2.4), 100)} for index in range(1000)]
    along = [("1,000 polygons of 100 corners, 10 km across, along all of their edges", circling(few, 5000, 14), rings),
             ("1,000 jagged polygons of one yard, circling in it", circling(few, 75, 5), yard),
             ("the same, across some 500 of their edges each second", circling(few, 90, 5), yard),
             ("the same, to and fro over all of their edges", crossing(few), yard)]
    rows = []
    for name, way, (number, fences) in [(name, reports, shape) for name, shape in shapes.items()] + [
            (name, way, (few, fences)) for name, way, fences in along]:
        mine, theirs = interleaved(
            world.runs, lambda way=way, number=number, fences=fences: cost(way, number, fences),
            lambda way=way, number=number: cost(way, number, []))
        extra = [with_fences - without for with_fences, without in zip(mine, theirs, strict=True)]
        rows.append(Row(f"{name}: CPU that they add to a fix", "µs", extra, "a fix without geofences", theirs, target=50))
    return rows


def star(center: tuple, radius: float) -> list:
    """A jagged polygon of 100 corners, with the digits that people write."""
    corners = []
    for index in range(100):
        far, angle = radius * (1 if index % 2 else 0.8), index / 50 * math.pi
        corners.append([round(center[0] + far * math.cos(angle) / 67_800, 6),
                        round(center[1] + far * math.sin(angle) / 111_200, 6)])
    return corners


HOURS_OF_FENCES = 29
RING = (13.4, 52.5)


def ring(center: tuple, radius: float) -> list:
    """A round polygon of 100 corners, to the millimetre."""
    return [[round(center[0] + radius * math.cos(index / 50 * math.pi) / 67_800, 8),
             round(center[1] + radius * math.sin(index / 50 * math.pi) / 111_200, 8)] for index in range(100)]


def beside(center: tuple, metres: float, angle: float) -> tuple:
    """A place so far from another."""
    return center[0] + metres * math.cos(angle) / 67_800, center[1] + metres * math.sin(angle) / 111_200


def circling(count: int, radius: float, speed: float) -> list:
    """Reports of a vehicle that drives around RING, so far from it."""
    return driving((radius, speed * second / radius, speed) for second in range(count))


def crossing(count: int) -> list:
    """Of one that drives over the edges of a yard and back, 70 to 130 m from RING, ever a bit further around it."""
    return driving((130 - abs(14 * second % 120 - 60), second / 50, 14) for second in range(count))


def driving(places) -> list:
    """Reports of these distances from RING, angles and speeds, one a second."""
    start, reports = hours_ago(HOURS_OF_FENCES), []
    for second, (radius, angle, speed) in enumerate(places):
        longitude, latitude = beside(RING, radius, angle)
        reports.append(tpv(start + second * 1000, latitude, longitude, speed, (360 - math.degrees(angle)) % 360, 35, 0.3))
    return reports


def steady(world: World) -> list:
    """One TPV and one SKY per second, in one write; and nothing at all."""
    seconds = world.scaled(60, 10)
    rows = []
    logger = ["gpxlogger", "-f", "/dev/null"] if shutil.which("gpxlogger") else None
    insert = [os.path.join(world.peers, "insert")]
    for name, tracking, peer_name, command, limits in (
            ("1 Hz, the gate at 30 s and 100 m", {"interval_seconds": 30}, "gpxlogger", logger, (2.5, 0.1)),
            ("1 Hz, every fix stored at FULL", EVERY_FIX, "libgps and the same INSERT in C", insert, (None, 0.1))):
        mine = observed(world, seconds, tracking)
        theirs = observed_peer(world, seconds, command) if command else ()
        for kind, unit, index in (("wake-ups", "/s", 0), ("CPU", "% of a core", 1)):
            rows.append(Row(f"{kind}, {name}", unit, [mine[index]], peer_name if theirs else "",
                            [theirs[index]] if theirs else [], target=limits[index]))
    for name, sections in (("", {}), (", sync configured", {"sync": {"url": "http://127.0.0.1:9/", "interval_seconds": 300}})):
        rows.append(Row(f"wake-ups with nothing to do{name}", "/s", [resting(world, seconds, sections)], target=0.2))
    return rows


def resting(world: World, seconds: int, sections: dict) -> float:
    """Wake-ups per second of an idle daemon."""
    daemon = world.daemon(NOBODY, tracking={"autostart": False}, **sections).start()
    daemon.disconnect()
    meter = Meter(daemon.child.process.pid)
    meter.wait_quiet(3)
    wakeups, _ = spent(meter, seconds)
    daemon.kill()
    return wakeups


def observed(world: World, seconds: int, tracking: dict) -> tuple:
    fake, daemon = world.tracking(tracking=tracking)
    daemon.disconnect()
    result = over(world, fake, daemon.child.process.pid, seconds)
    end(fake, daemon)
    return result


def observed_peer(world: World, seconds: int, command: list) -> tuple:
    fake = world.fake()
    if command[0] == "gpxlogger":
        peer = world.run(command + [f"127.0.0.1:{fake.port}"])
    else:
        peer = world.run(command + [str(fake.port), world.empty_database(), "full"])
    fake.wait_watched()
    result = over(world, fake, peer.pid, seconds)
    fake.stop()
    peer.kill()
    return result


def over(world: World, fake, pid: int, seconds: int) -> tuple:
    reports = driven(os.path.join(world.bin, "beekon-sim"), seconds + 10, int(time.time()) * 1000)
    stop = ticking(fake, reports)
    time.sleep(5)
    result = spent(Meter(pid), seconds)
    stop.set()
    return result


def ticking(fake, reports: list, period: float = 1.0) -> threading.Event:
    """Sends a report and a sky view in one write every second, until told to stop."""
    stop = threading.Event()

    def send():
        due = time.monotonic()
        for report in reports:
            fake.send(report + SKY)
            due += period
            if stop.wait(max(due - time.monotonic(), 0)):
                return

    threading.Thread(target=send, daemon=True).start()
    return stop


def spent(meter: Meter, seconds: float) -> tuple:
    """Wake-ups per second, and per cent of a core."""
    wakeups, cpu, began = meter.wakeups(), meter.cpu(), time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - began
    return (meter.wakeups() - wakeups) / passed, (meter.cpu() - cpu) / 1e7 / passed
