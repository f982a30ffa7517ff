"""Servers that people already run, as far as they can be told apart from outside: what they demand of a request, what they
answer, and what they then know. After their sources."""
from __future__ import annotations

import base64
import contextlib
import json
import threading
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Traccar's, and PhoneTrack's: knots in a metre a second.
TRACCAR_KNOTS, PHONETRACK_KNOTS = 1.94384, 1.943844


@dataclass(frozen=True)
class Point:
    """A location as the server understands it, in seconds, degrees and metres a second."""

    device: str
    time: float
    latitude: float
    longitude: float
    speed: float | None


class ClosedError(Exception):
    """The server closes the connection without an answer."""


@dataclass
class Asked:
    """One request."""

    path: str
    query: dict
    headers: dict
    body: bytes

    def json(self) -> dict:
        if self.headers.get("content-encoding") or self.headers.get("content-type") != "application/json":
            raise ValueError("not plain JSON")
        return json.loads(self.body)


@dataclass
class Answer:
    """What the server says, and what it has stored."""

    status: int
    body: str
    points: list


class ForeignServer:
    """On loopback. `points`: what it has stored, in order."""

    def __init__(self, answer: Callable[[Asked], Answer]):
        self.points: list = []
        self.asked: list = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                parts = urllib.parse.urlsplit(self.path)
                asked = Asked(parts.path, dict(urllib.parse.parse_qsl(parts.query)),
                              {name.lower(): value for name, value in self.headers.items()}, body)
                owner.asked.append(asked)
                try:
                    said = answer(asked)
                except ClosedError:
                    self.close_connection = True
                    return
                owner.points += said.points
                data = said.body.encode()
                self.send_response(said.status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments):
                """Silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


def traccar(known: str) -> Callable[[Asked], Answer]:
    """Port 5055, with one device."""
    def answer(asked: Asked) -> Answer:
        try:
            point = parameters(asked.query, TRACCAR_KNOTS)
            if asked.body or asked.query["valid"] != "true":
                raise ValueError("not understood")
        except (KeyError, ValueError):
            raise ClosedError from None
        return Answer(200, "", [point]) if point.device == known else Answer(400, "", [])

    return answer


def phonetrack(path: str) -> Callable[[Asked], Answer]:
    """Its address for Traccar's clients, with the token of a session."""
    def answer(asked: Asked) -> Answer:
        if asked.path.rpartition("/")[0] != path:
            return Answer(403, '{"error":"wrong token"}', [])
        try:
            point = parameters({**asked.query, "id": asked.path.rpartition("/")[2]}, PHONETRACK_KNOTS)
        except (KeyError, ValueError):
            return Answer(400, '{"error":"Latitude or longitude missing"}', [])
        return Answer(200, '{"status":"success"}', [point])

    return answer


def home_assistant_traccar(path: str) -> Callable[[Asked], Answer]:
    """The unit of its speed is nobody's concern; any webhook is answered with 200."""
    def answer(asked: Asked) -> Answer:
        if asked.path != path:
            return Answer(200, "", [])
        try:
            point = parameters(asked.query, 1)
        except (KeyError, ValueError):
            return Answer(422, "required key not provided", [])
        return Answer(200, f"Setting location for {point.device}", [
            Point(point.device.replace("-", ""), point.time, point.latitude, point.longitude, None)])

    return answer


def parameters(query: dict, knots: float) -> Point:
    for name in ("bearing", "altitude", "accuracy"):
        float(query.get(name, "0"))
    speed = query.get("speed")
    return Point(query["id"], int(query["timestamp"]), float(query["lat"]), float(query["lon"]),
                 None if speed is None else float(speed) / knots)


def recorder(path: str, user: str, password: str) -> Callable[[Asked], Answer]:
    """Behind a web server that asks for a login. The recorder itself answers 200 whatever comes."""
    login = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    def answer(asked: Asked) -> Answer:
        if asked.headers.get("authorization") != login:
            return Answer(401, "", [])
        if asked.path != path:
            return Answer(404, "", [])
        with contextlib.suppress(KeyError, ValueError):
            name = f"{asked.headers['x-limit-u']}/{asked.headers['x-limit-d']}"
            return Answer(200, "[]", [owntracks(asked.json(), name)])
        return Answer(200, "[]", [])

    return answer


def home_assistant_owntracks(path: str) -> Callable[[Asked], Answer]:
    """Drops what has no accuracy, or 0, and answers 200 whatever comes."""
    def answer(asked: Asked) -> Answer:
        with contextlib.suppress(KeyError, ValueError):
            message = asked.json()
            _, user, device = message["topic"].split("/")
            if asked.path == path and message.get("acc"):
                return Answer(200, "[]", [owntracks(message, f"{user}_{device}")])
        return Answer(200, "[]", [])

    return answer


def owntracks(message: dict, device: str) -> Point:
    if message["_type"] != "location" or any(not isinstance(message.get(name, 0), int) for name in ("vel", "acc", "cog", "alt")):
        raise ValueError("no location")
    speed = message.get("vel")
    return Point(device, message["tst"], message["lat"], message["lon"], None if speed is None else speed / 3.6)


def overland(path: str, key: str, status: int) -> Callable[[Asked], Answer]:
    """Dawarich and GeoPulse: an API key; a location that comes again is not stored again."""
    stored: set = set()

    def answer(asked: Asked) -> Answer:
        if asked.headers.get("authorization") != f"Bearer {key}":
            return Answer(401, '{"error":"unauthorized"}', [])
        if asked.path != path:
            return Answer(404, "", [])
        try:
            points = [feature(one) for one in asked.json()["locations"]]
        except (KeyError, ValueError):
            # One that cannot be read fails them all.
            return Answer(500, "", [])
        new = [point for point in points if point not in stored]
        stored.update(new)
        return Answer(status, '{"result":"ok"}', new)

    return answer


def feature(one: dict) -> Point:
    known = one["properties"]
    longitude, latitude = one["geometry"]["coordinates"]
    if one["type"] != "Feature" or one["geometry"]["type"] != "Point" or not isinstance(known["motion"], list):
        raise ValueError("no point")
    return Point(known["device_id"], datetime.fromisoformat(known["timestamp"]).timestamp(), latitude, longitude,
                 None if known["speed"] < 0 else known["speed"])
