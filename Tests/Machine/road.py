"""A receiver on a road without end: NMEA of a vehicle whose way is known exactly, several times as fast as life.

Usage: road.py HOST:PORT START SPEED-UP, where START is Unix time; each epoch is one datagram.
"""
from __future__ import annotations

import functools
import math
import operator
import socket
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

METERS_PER_DEGREE = 111_195.0
# Seconds, and metres per second: drives, and stands that are trips' ends.
STRETCHES = ((40, 0.0), (900, 22.0), (45, 0.0), (700, 31.0), (420, 0.0))


class Moment(NamedTuple):
    """`second` since the start; `north`, `east` and `metres` in metres."""
    second: int
    north: float
    east: float
    speed: float
    metres: float


def moments() -> Iterator[Moment]:
    """Where the vehicle is at each second."""
    last = Moment(0, 0.0, 0.0, 0.0, 0.0)
    while True:
        for seconds, wanted in STRETCHES:
            for _ in range(seconds):
                speed = last.speed + min(max(wanted - last.speed, -1.8), 1.8)
                way = (last.speed + speed) / 2
                heading = 0.08 * math.sin(last.metres / 1500)
                last = Moment(last.second + 1, last.north + way * math.cos(heading), last.east + way * math.sin(heading),
                              speed, last.metres + way)
                yield last


def sentences(moment: Moment, start: int) -> bytes:
    now = time.gmtime(start + moment.second)
    place = []
    for degrees, width, signs in ((45 + moment.north / METERS_PER_DEGREE, 2, "NS"),
                                  (8 + moment.east / METERS_PER_DEGREE / math.cos(math.radians(45)), 3, "EW")):
        place += [f"{int(degrees):0{width}d}{degrees % 1 * 60:08.5f}", signs[degrees < 0]]
    clock, date = time.strftime("%H%M%S.00", now), time.strftime("%d%m%y", now)
    texts = (f"GPRMC,{clock},A,{','.join(place)},{moment.speed * 3600 / 1852:.3f},0.0,{date},,,A",
             f"GPGGA,{clock},{','.join(place)},1,10,0.3,100.0,M,45.0,M,,")
    return b"".join(b"$%s*%02X\r\n" % (text.encode(), functools.reduce(operator.xor, text.encode())) for text in texts)


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    start, speed_up = int(sys.argv[2]), float(sys.argv[3])
    began = time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        for moment in moments():
            time.sleep(max(0.0, began + moment.second / speed_up - time.monotonic()))
            link.sendto(sentences(moment, start), (host, int(port)))


if __name__ == "__main__":
    main()
