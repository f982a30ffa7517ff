"""Every screen in terminals of 40, 80 and 200 columns, compared with the stored text in cli/screens.

BEEKOND_SCREENS=write writes them anew: look at what has changed before it is committed.
"""
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.clocks import standing_still
from support.fake_daemon import location, status
from support.fake_gpsd import iso
from support.programs import program
from support.screens import WIDTHS, difference, plain, show
from support.terminal import columns

NOW = 1_781_526_850_000  # 2026-06-15 12:34:10 UTC
SESSION = "0190d4e0-1234-7000-8000-aabbccddeeff"
BATCH = "0190d4e1-1111-7222-8333-444455556666"
REASON = 'Unknown vehicle: vehicle "truck-12" is not registered for tenant acme (/locations/0, index 0)'
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000


def ago(milliseconds: int) -> str:
    return iso(NOW - milliseconds)


def place(index: int, back: int, **fields) -> dict:
    return location(index, NOW - back, 52.52 + index / 1000, 13.405 - index / 700, SESSION,
                    **{"speed": 13.9, "accuracy": 4.5, **fields})


def sync(**fields) -> dict:
    return {"state": "idle", "pending": 0, "uploaded": 41_300, "rejected": 0, "retries": 2, "bytes_sent": 2_345_678,
            "last_attempt": ago(4 * MINUTE), "last_success": ago(4 * MINUTE), "last_http_status": 200, **fields}


def destination(name: str, form: str, deliver: str = "all", **fields) -> dict:
    return {"name": name, "format": form, "deliver": deliver, "orphaned": False, "dropped": 0, "sync": sync(**fields),
            "auth": {"state": "none", "failures": 0}}


def told(**parts) -> dict:
    found = status(
        session_id=SESSION, session_started_at=ago(4 * HOUR), uptime_seconds=273_600, last_location=place(3, 3 * SECOND),
        odometer_meters=123_456_789, sync=sync(), geofences=2)
    for name, value in parts.items():
        before = found["status"].get(name)
        found["status"][name] = {**before, **value} if isinstance(value, dict) and isinstance(before, dict) else value
    return found


GOOD = told(vehicle={"source": "gpio", "ignition": "on", "external_power": True},
            gate={"admitted": 412, "too_soon": 6000, "too_near": 580, "paused": 0, "unsettled": 8, "not_tracked": 0})
SEVERAL = told(
    sync={"state": "failed", "failure": "permanent", "pending": 1234, "oldest_pending": ago(3 * HOUR), "last_http_status": 404,
          "last_error": "the server answers 404: no such tenant", "last_reason": "no such tenant", "last_success": ago(3 * HOUR),
          "next_attempt": iso(NOW + 2 * MINUTE)},
    degraded=["sync"], destinations=[
        destination("main", "beekon", state="failed", failure="permanent", pending=1234, oldest_pending=ago(3 * HOUR),
                    last_http_status=404),
        destination("home-assistant", "owntracks", deliver="latest"),
        destination("traccar", "osmand", state="pending", pending=17, oldest_pending=ago(12 * MINUTE),
                    last_error="Couldn't connect to server"),
        destination("a-very-long-destination-name-032", "template", rejected=20, rejection={
            "rejected_at": ago(2 * HOUR), "http_status": 422, "reason": REASON})])
BROKEN = told(
    state="tracking", source={"health": "no_device", "device": None, "mode": 0},
    store={"degraded": True, "last_error": "database or disk is full: make room on the disk that holds the state directory",
           "waiting_in_memory": 12, "dropped_unsent": 5, "directory": "/var/lib/beekond"},
    sync={"state": "failed", "failure": "auth", "pending": 120, "oldest_pending": ago(33 * MINUTE), "last_http_status": 401,
          "last_error": "the server answers 401: token expired", "last_reason": "token expired"},
    auth={"state": "dead", "reason": "rotation_interrupted", "expires_at": ago(34 * MINUTE), "failures": 3},
    degraded=["storage", "loss", "config", "clock", "source", "sync", "auth"])
LETTERS = {"rejected": [
    {"location": place(1, 2 * HOUR), "batch_id": BATCH, "http_status": 422, "rejected_at": ago(HOUR), "reason": REASON},
    {"location": place(2, 2 * HOUR), "batch_id": BATCH, "http_status": 422, "rejected_at": ago(HOUR), "reason": REASON},
    {"geofence_event": {"id": BATCH, "session_id": SESSION, "geofence_id": "depot", "type": "enter",
                        "timestamp": ago(3 * HOUR)}, "batch_id": BATCH, "http_status": 400, "rejected_at": ago(2 * HOUR)}]}
TRIPS = {"trips": [
    {"started_at": ago(DAY), "ended_at": ago(DAY - HOUR), "distance_meters": 48_200.0, "duration_seconds": 3600.0,
     "top_speed": 31.4, "idle_seconds": 240.0},
    {"started_at": ago(20 * MINUTE), "distance_meters": 9_300.0, "duration_seconds": 1200.0, "idle_seconds": 30.0}]}
EVENTS = {"events": [
    {"id": BATCH, "session_id": SESSION, "kind": "geofence", "type": "enter", "subject": "depot-north-gate-7",
     "timestamp": ago(HOUR)},
    {"id": BATCH, "session_id": SESSION, "kind": "ignition", "type": "off", "timestamp": ago(50 * MINUTE),
     "time_estimated": True},
    {"id": BATCH, "session_id": SESSION, "kind": "odometer", "type": "set", "data": {"odometer_meters": 123456789}}]}
SESSIONS = {"sessions": [
    {"id": SESSION, "started_at": ago(DAY), "stopped_at": ago(20 * HOUR), "locations": 412, "distance_meters": 48_200.0},
    {"id": SESSION, "started_at": ago(4 * HOUR), "locations": 1_234_567, "distance_meters": 812.0}]}
SETTINGS = {"settings": [
    {"key": "display.units", "value": "metric", "origin": "default"},
    {"key": "gpsd.host", "value": "127.0.0.1", "origin": "default"},
    {"key": "sync.headers.X-Api-Key", "value": "(set)", "origin": "/etc/beekond/beekond.toml:7"},
    {"key": "sync.url", "value": "https://api.example.com/v1/tenants/acme/vehicles/locations",
     "origin": "/etc/beekond/beekond.d/50-server.toml:2"},
    {"key": "tracking.interval_seconds", "value": 30, "origin": "runtime", "overrides_server": True},
    {"key": "tracking.schedule", "value": ["mon-fri 07:00-18:30", "sat 22:00-06:00"], "origin": "/etc/beekond/beekond.toml:12"}]}
FENCES = {"geofences": [
    {"id": "depot", "latitude": 52.52, "longitude": 13.405, "radius_meters": 200.0, "inside": True, "dwell_seconds": 300.0},
    {"id": "yard with a long name, north", "latitude": 52.5, "longitude": 13.3, "radius_meters": 812.5,
     "polygon": [[13.2, 52.4], [13.4, 52.4], [13.4, 52.6]], "inside": False}]}
COMMANDS = {"commands": [
    {"id": "c-17", "command": "set_config", "origin": "main", "batch": BATCH, "state": "done", "received_at": ago(HOUR),
     "done_at": ago(HOUR), "ok": True, "delivered": True},
    {"id": "c-18", "command": "start", "origin": "main", "batch": BATCH, "state": "done", "received_at": ago(MINUTE),
     "done_at": ago(MINUTE), "ok": False, "error": "stopped_by_person: a person has stopped tracking", "delivered": False}]}
LIVE = [
    {"event": {"kind": "state", "state": "tracking", "reason": "resumed", "session_id": SESSION}},
    {"event": {"kind": "source", "source": GOOD["status"]["source"]}},
    {"event": {"kind": "sync", "destination": "main", "sync": SEVERAL["status"]["sync"]}},
    {"event": {"kind": "location", "location": place(1, 5 * SECOND)}},
    {"event": {"kind": "http", "destination": "main", "http": {
        "batch": BATCH, "attempt": 2, "status": 422, "milliseconds": 35, "bytes": 1200, "outcome": "rejected",
        "reason": REASON}}},
    {"event": {"kind": "vehicle_event", "vehicle_event": EVENTS["events"][0]}},
    {"event": {"kind": "command", "destination": "main", "command": COMMANDS["commands"][1]}}]

# Of each: the words of the command, the answers, and the exit code.
SCREENS: dict[str, tuple] = {
    "help": (["--help"], {}, 0),
    "help-sync": (["sync", "--help"], {}, 0),
    "help-history": (["history", "--help"], {}, 0),
    "misspelt": (["statsu"], {}, 64),
    "status": (["status"], {"GetStatus": GOOD}, 0),
    "status-several": (["status"], {"GetStatus": SEVERAL}, 0),
    "status-broken": (["status"], {"GetStatus": BROKEN}, 0),
    "status-check": (["status", "--check"], {"GetStatus": SEVERAL}, 2),
    "destinations": (["destinations"], {"GetStatus": SEVERAL}, 0),
    "watch": (["watch"], {"Subscribe": LIVE}, 0),
    "rejected": (["rejected", "list"], {"GetRejected": LETTERS}, 0),
    "trips": (["trips"], {"GetTrips": TRIPS}, 0),
    "events": (["events"], {"GetEvents": EVENTS}, 0),
    "sessions": (["sessions"], {"GetSessions": SESSIONS}, 0),
    "history": (["history"], {}, 0),
    "plot": (["plot"], {}, 0),
    "config": (["config", "show"], {"GetConfig": SETTINGS}, 0),
    "config-origin": (["config", "show", "--origin"], {"GetConfig": SETTINGS}, 0),
    "geofences": (["geofence", "list"], {"ListGeofences": FENCES}, 0),
    "commands": (["commands"], {"GetCommands": COMMANDS}, 0),
    "auth": (["auth", "show"], {"GetStatus": BROKEN}, 0),
    "locate": (["locate"], {"GetCurrentLocation": {"location": place(1, SECOND)}}, 0),
    "start": (["start"], {"Start": {"state": "tracking", "session_id": SESSION},
                          "GetStatus": told(source={"health": "no_device"})}, 0),
    "sync-drained": (["sync"], {"Sync": {"outcome": "drained", "uploaded": 1234, "pending": 0}}, 0),
    "sync-rejected": (["sync"], {"Sync": {"outcome": "rejected", "uploaded": 80, "pending": 0, "rejected": 20, "http_status": 422,
                                          "reason": REASON}}, 65),
    "sync-busy": (["sync"], {"Sync": {"outcome": "transient", "uploaded": 0, "pending": 120, "http_status": 503,
                                      "error": "the server answers 503: back at noon", "reason": "back at noon"}}, 75),
    "sync-unreachable": (["sync"], {"Sync": {"outcome": "transient", "uploaded": 0, "pending": 120,
                                             "error": "Couldn't connect to server"}}, 75),
    "sync-permanent": (["sync"], {"Sync": {"outcome": "permanent", "uploaded": 0, "pending": 120, "http_status": 404,
                                           "reason": "no such tenant"}, "GetConfig": SETTINGS}, 76),
    "sync-auth": (["sync"], {"Sync": {"outcome": "auth", "uploaded": 0, "pending": 120, "http_status": 401,
                                      "reason": "token expired"}}, 77),
    "sync-disabled": (["sync"], {"Sync": {"outcome": "disabled", "uploaded": 0, "pending": 0}}, 78),
    "resend": (["resend", "--from", "2h"], {"Resend": {"requeued": 99_958}}, 0),
    "retry": (["rejected", "retry"], {"RetryRejected": {"requeued": 20}}, 0),
    "backfill": (["destination", "backfill", "traccar"], {
        "BackfillDestination": {"added": 1234}, "GetStatus": SEVERAL}, 0),
    "odometer": (["odometer"], {}, 0),
    "ignition": (["ignition", "show"], {}, 0),
    "delete": (["delete", "--before", "yesterday"], {"GetLocationCount": {"locations": 100_000, "unsent": 20}}, 1),
}
# Tables are cut, and drawings have no words.
CUT = {"watch", "rejected", "trips", "events", "sessions", "history", "plot", "geofences", "commands", "destinations",
       "config-origin", "config"}


class StoredScreenTests(CtlTest):
    def shown(self, name: str, width: int, *more: str, until: bytes | None = None) -> str:
        words, answers, code = SCREENS[name]
        folder = self.folder()
        # A path of one length, because it is shown.
        daemon = self.fake_daemon(**{"GetConfig": {"settings": []}, "GetStatus": GOOD, **answers})
        daemon.locations = [place(index, (60 - index) * SECOND) for index in range(40)]
        environment = self.environment(
            daemon, NO_COLOR="1", TERM="xterm", LC_ALL="C.UTF-8", **standing_still(os.path.join(folder, "clock"), NOW))
        text, ended = show([program("beekonctl"), *words, *more], environment, width, until=until,
                           answer=b"n" if name == "delete" else None)
        self.assertEqual(ended, 130 if until else code, text)
        return plain(text)

    def test_each_screen_is_as_it_is_stored(self):
        for name in SCREENS:
            for width in WIDTHS:
                with self.subTest(name=name, width=width):
                    text = self.shown(name, width)
                    for line in text.splitlines():
                        self.assertLessEqual(columns(line), width, line)
                    found = difference(f"{name}-{width}", text)
                    self.assertEqual(found, "", found)

    def test_the_screen_that_is_redrawn(self):
        for width in WIDTHS:
            with self.subTest(width=width):
                text = self.shown("status-several", width, "--watch", until=b"\x1b[J")
                self.assertLessEqual(len(text.splitlines()), 24)
                found = difference(f"status-watch-{width}", text)
                self.assertEqual(found, "", found)

    def test_no_word_breaks_at_forty_columns(self):
        for name in sorted(set(SCREENS) - CUT):
            with self.subTest(name):
                wide, narrow = ({word.strip("! ") for word in self.shown(name, width).split()} for width in (200, 40))
                broken = {word for word in narrow - wide if "…" not in word}
                # Longer than a line they cannot stay whole.
                self.assertEqual({word for word in broken if not any(word in long and len(long) > 36 for long in wide)}, set())


if __name__ == "__main__":
    unittest.main()
