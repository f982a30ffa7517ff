"""A fleet as a page shows it: vehicles in every state, with days behind them."""
from __future__ import annotations

import json
import math
import sqlite3
import subprocess
import time

from server_support.server import PROGRAM, Answer, Server, iso, uuid7

PASSWORD = "correct horse battery"
# Berlin, where the vehicles are.
HOME = (52.52, 13.405)


def add_user(server: Server, name: str, role: str) -> str:
    """A user who can sign in; returns the token."""
    token = server.add_user(name, role)
    done = subprocess.run([PROGRAM, "user", "password", name, "--database", server.database], input=PASSWORD + "\n",
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return token


def location(milliseconds: int, latitude: float, longitude: float, **replaced) -> dict:
    return {"id": uuid7(milliseconds), "timestamp": iso(milliseconds), "trigger": "interval", "motion": "moving",
            "is_mock": False, "latitude": round(latitude, 7), "longitude": round(longitude, 7), "accuracy": 4.5, **replaced}


def status(**replaced) -> dict:
    return {"state": "tracking", "motion": "moving", "receiver": "ok", "pending": 0, "odometer_meters": 48_211_500.0,
            "ignition": True, "version": "0.1.0", "uptime_seconds": 86_400, **replaced}


# By the token that it shows, each vehicle's.
INSTALLATIONS: dict[str, str] = {}


def upload(server: Server, token: str, locations: list, by_a_copy: bool = False, **replaced) -> dict:
    """In batches, as a vehicle does, or another installation that has its tokens. Returns the last answer."""
    answer = None
    for start in range(0, max(1, len(locations)), 1000):
        part = locations[start:start + 1000]
        moment = int(time.time() * 1000)
        answer = server.deliver(token, {
            "schema_version": 1, "batch_id": uuid7(moment), "session_id": uuid7(moment), "sent_at": iso(moment),
            "device": {"install_id": uuid7(moment) if by_a_copy else INSTALLATIONS.setdefault(token, uuid7(moment)),
                       "platform": "linux", "sdk_version": "0.1.0", "model": "Raspberry Pi 4"},
            "locations": part, "geofence_events": [], **(replaced if start + 1000 >= len(locations) else {})})
        assert answer.status == 200, answer
    assert answer
    return answer.json


def day(first_ms: int, seconds: int, home: tuple = HOME, step: int = 1) -> list:
    """Drives with stays of ten minutes between them, at a location each `step` seconds."""
    latitude, longitude = home
    found, heading = [], 0.7
    for second in range(0, seconds, step):
        part = second % 3000
        is_parked = part >= 2400
        speed = 0.0 if is_parked else max(0.0, 14 + 9 * math.sin(second / 67) + 5 * math.sin(second / 19))
        heading += 0.012 * math.sin(second / 211) * step
        latitude += speed * step * math.cos(heading) / 111_320
        longitude += speed * step * math.sin(heading) / (111_320 * math.cos(math.radians(latitude)))
        found.append(location(
            first_ms + second * 1000, latitude, longitude, motion="stationary" if is_parked else "moving",
            speed=round(speed, 2), bearing=round(math.degrees(heading) % 360, 1),
            altitude=round(60 + 40 * math.sin(second / 1700) + 8 * math.sin(second / 130), 1)))
    return found


def make(server: Server, step: int = 3) -> dict:
    """Twelve vehicles and two users; the server is started, with the page. Returns tokens of devices by name.

    - `step`: seconds between the locations of the first, of which there are six hours.
    """
    server.has_page = True
    server.start()
    assert server.verb("clock", "confirm").returncode == 0
    admin = add_user(server, "ada", "admin")

    # By requests: a verb takes as much of the processor as many of them.
    def made(method: str, path: str, **value: str) -> Answer:
        answer = server.ask(method, path, admin, json.dumps(value).encode())
        assert answer.status in (201, 204), answer
        return answer

    made("POST", "/v1/users", name="rita", role="reader")
    made("PUT", "/v1/users/rita/password", password=PASSWORD)
    now = int(time.time() * 1000)
    devices = {}
    plan = {
        "Truck 1": status(), "Truck 2": status(pending=12), "Van Alexanderplatz": status(motion="stationary", ignition=False),
        "Van Tempelhof": status(receiver="no_fix"), "Courier 7": status(pending=4210, oldest_pending=iso(now - 4 * 3_600_000)),
        "Courier 8": status(), "Bus 100": status(), "Bus 200": status(motion="stationary"),
        "Crane": status(state="stopped", motion="unknown", receiver="released", ignition=False),
        "Trailer 3": status(motion="stationary"), "Spare unit": None, "Old van": None}
    for number, (name, said) in enumerate(plan.items()):
        device = made("POST", "/v1/devices", name=name).json
        devices[name] = device
        if said is None:
            continue
        angle = number * 2.4
        home = (HOME[0] + 0.05 * math.sin(angle) * (1 + number / 8), HOME[1] + 0.08 * math.cos(angle) * (1 + number / 8))
        length = 6 * 3600 if number == 0 else 600
        rows = day(now - length * 1000, length, home, step=step if number == 0 else 5)
        if said["motion"] == "stationary":
            rows[-1].update(motion="stationary", speed=0)
        events = []
        if number == 0:
            events = [{"id": uuid7(now - 9_000_000), "kind": "ignition", "type": "on", "timestamp": iso(now - 9_000_000),
                       "data": {"source": "gpio"}},
                      {"id": uuid7(now - 5_000_000), "kind": "power", "type": "lost", "timestamp": iso(now - 5_000_000)}]
        upload(server, device["access_token"], rows, status=said, events=events, geofence_events=[
            {"id": uuid7(now - 7_000_000), "geofence_id": "Depot north", "type": "enter", "timestamp": iso(now - 7_000_000)},
            {"id": uuid7(now - 6_000_000), "geofence_id": "Depot north", "type": "exit", "timestamp": iso(now - 6_000_000)}]
            if number == 0 else [])
    assert server.verb("device", "revoke", str(devices["Old van"]["id"])).returncode == 0
    silence(server, devices["Trailer 3"]["id"], 3 * 86_400)
    orders(server, devices["Truck 1"], now)
    return devices


def orders(server: Server, device: dict, now: int):
    """Commands in each state."""
    admin = server.add_user("console", "admin")
    path = f"/v1/devices/{device['id']}/commands"

    def order(**fields) -> str:
        answer = server.ask("POST", path, admin, json.dumps(fields).encode())
        assert answer.status == 201, answer
        return answer.json["id"]

    fence = order(command="add_geofences", arguments={"geofences": [{
        "id": "Depot north", "latitude": HOME[0] + 0.02, "longitude": HOME[1] + 0.05, "radius_meters": 600}]})
    bad = order(command="set_config", arguments={"settings": {"tracking.interval_seconds": -5}})
    upload(server, device["access_token"], [], command_results=[
        {"id": fence, "command": "add_geofences", "ok": True, "result": {"count": 1}},
        {"id": bad, "command": "set_config", "ok": False, "error": "tracking.interval_seconds must be within 0…86400"}])
    order(command="locate")


def silence(server: Server, device: int, seconds: float):
    """As if nothing had been heard of it for so long."""
    with sqlite3.connect(server.database, timeout=30) as database:
        database.execute("UPDATE presence SET seen = seen - ?, status_time = status_time - ? WHERE device = ?",
                         (int(seconds * 1000), int(seconds * 1000), device))
        database.execute("UPDATE latest SET time = time - ? WHERE device = ?", (int(seconds * 1000), device))
