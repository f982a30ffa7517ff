"""Checks an upload of beekond against the wire format, strictly.

Written only from the description of the format, so that it can disagree with the daemon.
`check` does not raise: it returns a list of sentences that say what is wrong.
"""
from __future__ import annotations

import json
import re
from datetime import datetime, timezone

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

TRIGGERS = {"interval", "motion", "check_in", "geofence", "manual"}
MOTIONS = {"moving", "stationary", "unknown"}
ACTIVITIES = {"stationary", "walking", "running", "cycling", "automotive", "unknown"}
STATES = {"idle", "tracking", "stopped"}
HEALTH = {"released", "disconnected", "no_device", "no_fix", "unsettled", "stale", "ok"}
QUALITIES = {"low_accuracy", "implausible_speed"}
# The daemon sends linux; the other two are for backends that know only those of the SDK.
PLATFORMS = {"linux", "ios", "android"}
COMMANDS = {"start", "stop", "set_config", "unset_config", "add_geofences", "remove_geofences", "remove_all_geofences",
            "set_motion", "sync", "locate", "upload_log"}

# (field, required, kind, what else must hold); the order is the order on the wire.
ROOT = [
    ("schema_version", True, "int", lambda v: v == 1),
    ("batch_id", True, "uuid", None),
    ("session_id", True, "uuid", None),
    ("sent_at", True, "time", None),
    ("device", True, "object", None),
    ("extras", False, "object", None),
    ("locations", True, "array", None),
    ("geofence_events", True, "array", None),
    ("status", False, "object", None),
    ("command_results", False, "array", None),
]
# Only in an envelope without rows.
STATUS = [
    ("state", True, "text", STATES.__contains__),
    ("motion", True, "text", MOTIONS.__contains__),
    ("receiver", True, "text", HEALTH.__contains__),
    ("pending", True, "int", lambda v: v >= 0),
    ("oldest_pending", False, "time", None),
    ("odometer_meters", False, "number", lambda v: v >= 0),
    ("ignition", False, "bool", None),
    ("battery_level", False, "number", lambda v: 0 <= v <= 1),
    ("battery_state", False, "text", {"unknown", "unplugged", "charging", "full"}.__contains__),
    ("version", True, "text", None),
    ("uptime_seconds", True, "int", lambda v: v >= 0),
    ("heartbeat_seconds", True, "int", lambda v: 0 <= v <= 86_400),
    ("commands", True, "array",
     lambda v: all(isinstance(name, str) for name in v) and COMMANDS.issuperset(v) and len(set(v)) == len(v)),
]
DEVICE = [
    ("install_id", False, "uuid", None),
    ("platform", True, "text", PLATFORMS.__contains__),
    ("sdk_version", True, "text", None),
    ("model", False, "text", None),
]
LOCATION = [
    ("id", True, "uuid", None),
    ("timestamp", True, "time", None),
    ("trigger", True, "text", TRIGGERS.__contains__),
    ("motion", True, "text", MOTIONS.__contains__),
    ("is_mock", True, "bool", None),
    ("latitude", True, "number", lambda v: -90 <= v <= 90),
    ("longitude", True, "number", lambda v: -180 <= v <= 180),
    ("accuracy", False, "number", lambda v: v >= 0),
    ("speed", False, "number", lambda v: v >= 0),
    ("bearing", False, "number", lambda v: 0 <= v < 360),
    ("altitude", False, "number", None),
    ("activity", False, "text", ACTIVITIES.__contains__),
    ("quality", False, "text", QUALITIES.__contains__),
    ("ignition", False, "bool", None),
]
EVENT = [
    ("id", True, "uuid", None),
    ("geofence_id", True, "text", lambda v: 1 <= len(v) <= 100),
    ("type", True, "text", {"enter", "exit"}.__contains__),
    ("timestamp", True, "time", None),
    ("reason", False, "text", lambda v: len(v) >= 1),
]


class Number(float):
    """A number that remembers how it was written."""

    raw = ""

    @classmethod
    def read(cls, raw):
        number = cls(raw)
        number.raw = raw
        return number


class Fields(dict):
    """An object that remembers the order of its fields, and duplicates."""

    names: list = []

    @classmethod
    def read(cls, pairs):
        fields = cls(pairs)
        fields.names = [name for name, _ in pairs]
        return fields


def parse(text: bytes):
    """The JSON value, with numbers as `Number` and objects as `Fields`. Raises ValueError."""

    def constant(name):
        raise ValueError(f"{name} is not JSON")

    return json.loads(
        text.decode("utf-8"), object_pairs_hook=Fields.read, parse_int=Number.read, parse_float=Number.read,
        parse_constant=constant)


def milliseconds(time: str) -> int:
    moment = datetime.strptime(time, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    return int(moment.timestamp()) * 1000 + moment.microsecond // 1000


def number_problem(number: Number):
    """An integral number has no decimal point, and any number is the shortest text that reads back the same."""
    if number != number or number in (float("inf"), float("-inf")):
        return "is not finite"
    if float(number) == int(number) and abs(number) < 2**53 and number.raw != str(int(number)):
        return f"is written {number.raw} where {int(number)} is meant"
    if significant(number.raw) != significant(repr(float(number))):
        return f"is written {number.raw} where {float(number)!r} is the shortest text"
    return None


def significant(text: str) -> str:
    """The significant digits. A trailing zero of a fraction counts, because it is superfluous."""
    mantissa = re.split("[eE]", text.lstrip("-"))[0]
    whole = "." not in mantissa or mantissa.endswith(".0")
    digits = mantissa.replace(".", "").lstrip("0")
    return digits.rstrip("0") if whole else digits


def kind_problem(value, kind: str):
    if value is None:
        return "is null, where an absent field is meant"
    if kind in ("int", "number"):
        if not isinstance(value, Number):
            return "is no number"
        if kind == "int" and not re.fullmatch(r"-?\d+", value.raw):
            return f"is {value.raw}, not an integer"
        return number_problem(value)
    if kind == "bool":
        return None if isinstance(value, bool) else "is neither true nor false"
    if kind == "object":
        return None if isinstance(value, Fields) else "is no object"
    if kind == "array":
        return None if isinstance(value, list) else "is no array"
    if not isinstance(value, str):
        return "is no text"
    if kind == "uuid" and not UUID7.fullmatch(value):
        return f"is {value!r}, not a UUIDv7 in lowercase"
    if kind == "time":
        return time_problem(value)
    return None


def time_problem(value: str):
    if not TIME.fullmatch(value):
        return f"is {value!r}, not UTC with three fractional digits and Z"
    try:
        milliseconds(value)
    except ValueError:
        return f"is {value!r}, which is no date"
    return None


def object_problems(value, shape, where: str) -> list:
    """Everything wrong with one object: fields that are unknown, missing, duplicate, out of order, of the wrong kind or value."""
    if not isinstance(value, Fields):
        return [f"{where} is no object"]
    problems = []
    known = [field for field, _, _, _ in shape]
    if len(value.names) != len(value):
        problems.append(f"{where} has a field twice: {value.names}")
    for name in value.names:
        if name not in known:
            problems.append(f"{where}.{name} is not a field of the format")
    present = [name for name in value.names if name in known]
    if present != [name for name in known if name in present]:
        problems.append(f"{where} has its fields in the order {present}")
    for name, required, kind, holds in shape:
        if name not in value:
            if required:
                problems.append(f"{where}.{name} is missing")
            continue
        problem = kind_problem(value[name], kind)
        if problem:
            problems.append(f"{where}.{name} {problem}")
        elif holds and not holds(value[name]):
            problems.append(f"{where}.{name} is {value[name]!r}, out of its range")
    return problems


def check(root) -> list:
    """Every way a parsed request differs from the format."""
    problems = object_problems(root, ROOT, "root")
    if not isinstance(root, Fields):
        return problems
    if isinstance(root.get("device"), Fields):
        problems += object_problems(root["device"], DEVICE, "device")
    problems += extras_problems(root)
    rows, events = (found if isinstance(found, list) else [] for found in (root.get("locations"), root.get("geofence_events")))
    if isinstance(root.get("device"), Fields) and "install_id" not in root["device"] and (
            rows or events or any(name in root for name in ("status", "command_results", "events"))):
        problems.append("device.install_id is missing")
    for index, row in enumerate(rows):
        found = object_problems(row, LOCATION, f"locations[{index}]")
        problems += found or identity_problems(row, f"locations[{index}]")
    for index, event in enumerate(events):
        problems += object_problems(event, EVENT, f"geofence_events[{index}]")
    if "status" in root:
        problems += object_problems(root["status"], STATUS, "status")
        if rows or events:
            problems.append("a status comes with rows")
    elif not rows and not events:
        problems.append("the batch is empty")
    if "command_results" in root and "status" not in root:
        problems.append("results of commands come without a status")
    ids = ids_of(rows) + ids_of(events)
    if len(ids) != len(set(ids)):
        problems.append("an id is in the batch twice")
    return problems


def extras_problems(root: Fields) -> list:
    extras = root.get("extras")
    if not isinstance(extras, Fields):
        return []
    if not extras:
        return ["extras is empty, where it should be omitted"]
    return [f"extras.{key} is no text" for key, value in extras.items() if not isinstance(value, str)]


def identity_problems(row: Fields, where: str) -> list:
    """The timestamp within a location's id must be that of its fix."""
    minted = int(row["id"].replace("-", "")[:12], 16)
    fix = milliseconds(row["timestamp"])
    return [] if minted == fix else [f"{where}.id was minted {minted - fix} ms beside its timestamp"]


def ids_of(rows) -> list:
    return [row["id"] for row in rows if isinstance(row, Fields) and isinstance(row.get("id"), str)]
