"""gpsd's reports of a drive simulated by beekon-sim, formatted as by gpsd 3.22."""
from __future__ import annotations

import subprocess
import time
from datetime import UTC, datetime

KNOT = 1852 / 3600
DEVICE = "/dev/ttyFAKE0"

# One sky view of that simulator, as gpsd writes it: parsing it is part of the cost of a second.
SKY = ('{"class":"SKY","device":"' + DEVICE + '","xdop":0.59,"ydop":0.56,"vdop":1.12,"tdop":0.76,"hdop":0.80,"gdop":1.57,'
       '"pdop":1.38,"nSat":14,"uSat":12,"satellites":['
       + ",".join(f'{{"PRN":{number},"el":{elevation}.0,"az":{azimuth}.0,"ss":{signal}.0,"used":{used},"gnssid":0,'
                  f'"svid":{number}}}' for number, elevation, azimuth, signal, used in (
                      (3, 64, 95, 37, "true"), (9, 11, 96, 31, "true"), (11, 51, 245, 36, "true"),
                      (1, 69, 261, 40, "true"), (26, 47, 346, 37, "true"), (18, 33, 289, 35, "true"),
                      (23, 54, 232, 39, "true"), (32, 20, 359, 30, "true"), (5, 72, 107, 40, "true"),
                      (20, 8, 140, 28, "false"), (2, 51, 122, 37, "true"), (24, 28, 197, 34, "true"),
                      (10, 12, 193, 30, "true"), (28, 34, 324, 30, "false")))
       + "]}\r\n").encode()


def tpv(milliseconds: int, latitude: float, longitude: float, speed: float, track: float, altitude: float,
        hdop: float = 0.8) -> bytes:
    """One report, with the length and digits that gpsd would write."""
    moment = datetime.fromtimestamp(milliseconds // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return (f'{{"class":"TPV","device":"{DEVICE}","mode":3,"time":"{moment}.{milliseconds % 1000:03d}Z","ept":0.005,'
            f'"lat":{latitude:.9f},"lon":{longitude:.9f},"altHAE":{altitude + 39.7:.4f},"altMSL":{altitude:.4f},'
            f'"alt":{altitude:.4f},"epx":8.864,"epy":8.375,"epv":25.760,"track":{track:.4f},'
            f'"magtrack":{track + 4.0878:.4f},"magvar":4.1,"speed":{speed:.3f},"climb":-0.210,"eps":17.73,"epc":51.52,'
            f'"geoidSep":39.700,"eph":{19 * hdop:.3f},"sep":26.220}}\r\n').encode()


def driven(simulator: str, seconds: int, start_ms: int, seed: int = 1) -> list:
    """The reports of a simulated drive, one per second."""
    start = datetime.fromtimestamp(start_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    done = subprocess.run(
        [simulator, "--file", "-", "--start", start, "--duration", str(seconds), "--seed", str(seed)],
        stdout=subprocess.PIPE, text=True, check=True)
    reports: list = []
    speed, track = 0.0, 0.0
    for line in done.stdout.splitlines():
        fields = line.split(",")
        if fields[0] == "$GPRMC":
            speed, track = float(fields[7]) * KNOT, float(fields[8] or track)
        elif fields[0] == "$GPGGA":
            time_ms = start_ms // 1000 * 1000 + 1000 * len(reports)
            reports.append(tpv(
                time_ms, degrees(fields[2], fields[3]), degrees(fields[4], fields[5]), speed, track, float(fields[9]),
                float(fields[8])))
    return reports


def parked(count: int, start_ms: int, step_ms: int) -> list:
    """Reports of a creeping vehicle: each differs from the previous one, and a gate of 100 m admits none."""
    return [tpv(start_ms + index * step_ms, 52.5162 + index % 97 * 1e-7, 13.3776 + index % 89 * 1e-7, 0.25,
                204.05 + index % 83 * 1e-2, 46.9) for index in range(count)]


def degrees(text: str, hemisphere: str) -> float:
    whole, minutes = text.split(".")[0][:-2], text[len(text.split(".")[0]) - 2:]
    value = int(whole) + float(minutes) / 60
    return -value if hemisphere in "SW" else value


def hours_ago(hours: float) -> int:
    return int(time.time() - hours * 3600) * 1000
