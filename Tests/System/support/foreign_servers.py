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

from support import line_protocol
from support.ports import new_port

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

    def form(self) -> dict:
        """As PHP has it in $_POST."""
        if self.headers.get("content-encoding") or self.headers.get("content-type") != "application/x-www-form-urlencoded":
            return {}
        return dict(urllib.parse.parse_qsl(self.body.decode(), keep_blank_values=True))


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

        self._server = ThreadingHTTPServer(("127.0.0.1", new_port()), Handler)
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


def traccar_json(known: str) -> Callable[[Asked], Answer]:
    """Port 5055 with JSON, for which the type decides. An exception closes the connection."""
    def answer(asked: Asked) -> Answer:
        try:
            root = asked.json()
            if root["device_id"] != known:
                return Answer(404, "", [])
            location = root["location"]
            time = datetime.fromisoformat(location["timestamp"]).timestamp()
            if "coords" not in location:
                # It becomes the last known place once more.
                return Answer(200, "", [])
            names = ("latitude", "longitude", "speed", "heading", "accuracy", "altitude")
            coordinates = {name: float(location["coords"][name]) for name in names}
            str(location.get("event", ""))
            int(location.get("odometer", 0))
        except (KeyError, TypeError, ValueError):
            raise ClosedError from None
        speed = coordinates["speed"] if coordinates["speed"] >= 0 else None
        return Answer(200, "", [Point(known, time, coordinates["latitude"], coordinates["longitude"], speed)])

    return answer


def ulogger(path: str, cookie: str) -> Callable[[Asked], Answer]:
    """200 with the error in the body, but for a session that has ended."""
    def answer(asked: Asked) -> Answer:
        form = asked.form()
        if asked.path != path:
            return Answer(404, "", [])
        if asked.headers.get("cookie") != f"ulogger={cookie}":
            return Answer(401, '{"error":true,"message":"Unauthorized"}', [])
        if form.get("action") != "addpos":
            return Answer(200, '{"error":true,"message":"Unknown command"}', [])
        try:
            speed = form.get("speed")
            point = Point(str(int(form["trackid"])), int(form["time"]), float(form["lat"]), float(form["lon"]),
                          None if speed is None else float(speed))
        except (KeyError, ValueError):
            return Answer(200, '{"error":true,"message":"Missing required parameter"}', [])
        return Answer(200, '{"error":false}', [point])

    return answer


def hauk(path: str, session: str) -> Callable[[Asked], Answer]:
    """200 for everything; what is wrong stands in the text."""
    def answer(asked: Asked) -> Answer:
        form = asked.form()
        if asked.path != path or {"lat", "lon", "time", "sid"} - form.keys():
            return Answer(200, "Missing data!\n", [])
        if form["sid"] != session:
            return Answer(200, "Session expired!\n", [])
        speed = form.get("spd")
        point = Point("hauk", float(form["time"]), float(form["lat"]), float(form["lon"]),
                      None if speed is None else float(speed))
        return Answer(200, f"OK\nhttps://hauk.example.com/?%s\n{session[:4]}\n", [point])

    return answer


def influxdb(path: str, query: dict, token: str) -> Callable[[Asked], Answer]:
    """Version 2: a point for each series and time."""
    stored: set = set()

    def answer(asked: Asked) -> Answer:
        if asked.headers.get("authorization") != f"Token {token}":
            return Answer(401, '{"code":"unauthorized","message":"unauthorized access"}', [])
        if (asked.path, asked.query) != (path, query):
            return Answer(404, '{"code":"not found","message":"bucket not found"}', [])
        try:
            lines = line_protocol.read(asked.body)
        except (line_protocol.MalformedError, UnicodeDecodeError) as error:
            return Answer(400, json.dumps({"code": "invalid", "message": str(error)}), [])
        points = [Point(line.tags["vehicle"], line.time / 1000, line.fields["lat"], line.fields["lon"], line.fields.get("speed"))
                  for line in lines if line.measurement == "location"]
        new = [point for point in points if point not in stored]
        stored.update(new)
        return Answer(204, "", new)

    return answer
