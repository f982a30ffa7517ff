"""Every screen on its worst day, in 80 columns: nothing wraps, nothing is truncated without a mark, tables stay tables."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest, drive, needs
from support.fake_daemon import location, status
from support.programs import program
from support.terminal import WIDTH, TerminalTest, columns

HUGE = 9_223_372_036_854_775_807
# A fleet's own names at full length: wide characters, joined ones, and some that control terminals.
IDS = ["depot-" + "x" * 94, "到着地点の名前がとても長い場合" * 6, "🚚🚛👩‍🔧" * 20, "a\x1b[31mb\u202ec\u200f" * 8, "e\u0301" * 50,
       "home"]
LONG = "the reason is that " + "something or other went wrong and " * 20 + "/a/path/without/any/space" * 12
EVER, NEVER_AGAIN = "0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"
WORST = {"accuracy": 2e7, "speed": 123456.789, "bearing": 359.96, "altitude": -123456.789, "trigger": "check_in",
         "motion": "stationary", "quality": "implausible_speed"}


def worst_location(index: int = 0, **fields) -> dict:
    return location(index, 1_781_500_000_000 + index, -89.1234567, -179.1234567, "0190d4e0-1234-7000-8000-aabbccddeeff",
                    **{**WORST, **fields})


def worst_status() -> dict:
    return status(
        version="0.1.0-" + "x" * 200, uptime_seconds=HUGE, session_started_at=EVER, geofences=HUGE,
        reason=LONG, last_location=worst_location(),
        source={"health": "unsettled", "device": "udp://" + "receiver.example.com" * 10, "satellites_used": HUGE,
                "satellites_visible": HUGE, "fixes": HUGE},
        gate={"admitted": HUGE, "too_soon": HUGE, "too_near": HUGE, "paused": HUGE, "motion": "stationary"},
        store={"degraded": True, "locations": HUGE, "bytes": HUGE, "waiting_in_memory": HUGE, "dropped_unsent": HUGE,
               "refused": HUGE, "last_error": LONG},
        sync={"state": "failed", "failure": "permanent", "pending": HUGE, "oldest_pending": EVER, "last_attempt": EVER,
              "last_success": NEVER_AGAIN, "last_http_status": 599, "last_error": LONG, "next_attempt": NEVER_AGAIN,
              "uploaded": HUGE, "rejected": HUGE, "retries": HUGE, "bytes_sent": HUGE},
        auth={"state": "dead", "reason": "rotation_interrupted", "expires_at": EVER, "last_refresh": NEVER_AGAIN,
              "failures": HUGE},
        degraded=["storage", "config", "clock", "source", "sync", "auth", LONG])


def worst_events() -> list:
    full = worst_status()["status"]
    events = [{"kind": "state", "state": "stopped"}, {"kind": "source", "source": full["source"]},
              {"kind": "source", "source": {**full["source"], "health": "released"}},
              {"kind": "sync", "sync": full["sync"]}, {"kind": "sync", "sync": {**full["sync"], "state": "pending"}},
              {"kind": "auth", "auth": full["auth"]}, {"kind": "auth", "auth": {**full["auth"], "reason": LONG}},
              {"kind": "location", "location": worst_location(), "missed": HUGE}]
    events += [{"kind": "location", "location": worst_location(trigger=trigger, motion=motion, accuracy=accuracy, speed=speed)}
               for trigger in ("interval", "motion", "check_in", "geofence", "t" * 50)
            for motion in ("moving", "stationary", "m" * 50)
               for accuracy in (5.0, 999.0, 2e7) for speed in (9.9, 123.4, 1e12)]
    events += [{"kind": "geofence_event", "geofence_event": crossing(identity)} for identity in IDS]
    return [{"event": event} for event in events]


def crossing(identity: str, time: str = "2026-06-15T12:34:05.000Z") -> dict:
    return {"id": "e", "session_id": "s", "geofence_id": identity, "type": "enter", "timestamp": time}


@needs("tmux")
class WorstScreenTests(TerminalTest):
    def worst(self):
        daemon = self.fake_daemon(
            GetStatus=worst_status(), Subscribe=worst_events(),
            GetExtras={"extras": {**{identity[:100]: "v" for identity in IDS}, "note": LONG}},
            ListGeofences={"geofences": [
                {"id": identity, "latitude": -89.1234567, "longitude": -179.1234567, "radius_meters": radius}
                for identity, radius in zip(IDS, (0.123456789, 12345678.9, 20000000, 1e-9, 150, 1e300), strict=True)]},
            GetGeofenceEvents={"events": [crossing(identity, time) for identity in IDS for time in (EVER, NEVER_AGAIN)]},
            GetSessions={"sessions": [
                {"id": "0190d4e0-1234-7000-8000-aabbccddeeff", "started_at": EVER, "stopped_at": end, "locations": count,
                 "distance_meters": distance}
                for end, count, distance in ((NEVER_AGAIN, HUGE, 1e300), (None, 1_234_567, 1.2345678e9), (EVER, 0, 0.4))]},
            GetRejected={"rejected": [
                *({"location": worst_location(index), "batch_id": "0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e1f", "http_status": 422,
                   "rejected_at": NEVER_AGAIN} for index in range(3)),
                *({"geofence_event": crossing(identity), "batch_id": "b", "http_status": 400, "rejected_at": EVER}
                  for identity in IDS)]})
        changes: tuple[dict, ...] = (
            {}, {"accuracy": None, "speed": None, "bearing": None, "altitude": None}, {"trigger": "t" * 50},
            {"accuracy": 1e300, "altitude": 1e300})
        daemon.locations = [worst_location(index, **change) for index, change in enumerate(changes)]
        return daemon

    def check(self, words: str, *expected: str) -> list:
        lines = self.lines_of(words)
        self.assertTrue(lines)
        for line in lines:
            self.assertLessEqual(columns(line), WIDTH, f"{words}: {line}")
        text = "\n".join(lines)
        for word in expected:
            self.assertIn(word, text)
        return lines

    def assert_table(self, lines: list, *starts: int):
        """Each column begins at the same place in every line."""
        for line in lines:
            for start in starts:
                self.assertEqual(line[start - 1:start], " ", line)

    def test_every_screen(self):
        self.terminal(self.worst())
        self.check("status", "What is wrong", "failed (permanent)", "implausible leap")
        watched = self.check("watch", "events lost", "released", "km/h, 0° (check_in)", "now stationary", "…")
        self.assertGreater(len(watched), 100)
        self.assertTrue(all(line[8] == " " and line[17] == " " for line in watched if "events lost" not in line))
        self.assert_table(self.check("history", "1e+300"), 20, 31, 43, 50, 57, 62, 70)
        self.assert_table(self.check("sessions", "1.2M", "under way", "1234568"), 37, 54, 66, 73)
        self.assert_table(self.check("geofence list", "home", "x…"), 11, 23, 33, 43, 54)
        self.assert_table(self.check("geofence events", "home"), 20, 26)
        self.assert_table(self.check("rejected list", "422", "-179.123457"), 20, 25, 38, 58)
        self.check("auth show", "dead (rotation_interrupted)", "was cut off")
        self.check("extras show", "note = the reason")
        self.check("plot", "A 2026", "north is up")

    def test_the_doctor(self):
        self.terminal(self.worst())
        self.check(f"doctor --config {self.path('none.toml')} --state-dir {self.directory}", "things are wrong.")

    def test_watching_the_status(self):
        self.terminal(self.worst())
        self.type(f"clear; {program('beekonctl')} status --watch")
        text = self.wait_screen(lambda text: "State" in text, "the status")
        # It does not fit on the screen, and the screen says so.
        self.assertIn("more lines", text.rstrip().splitlines()[-1])
        self.tmux("send-keys", "C-c")


class PipeTests(CtlTest):
    """A script gets everything, without colour."""

    def test_nothing_is_cut_and_nothing_is_coloured(self):
        fences = [{"id": identity, "latitude": 1.0, "longitude": 2.0, "radius_meters": 3.0} for identity in IDS]
        daemon = self.fake_daemon(
            ListGeofences={"geofences": fences}, GetExtras={"extras": {"note": LONG}}, GetStatus=worst_status(),
            GetGeofenceEvents={"events": [crossing(IDS[0])]}, GetSessions={"sessions": []}, Subscribe=worst_events())
        daemon.locations = drive(3)
        self.assertIn(IDS[0], self.run_ctl(daemon, "geofence", "list").stdout)
        self.assertIn(IDS[1], self.run_ctl(daemon, "geofence", "list").stdout)
        self.assertIn(IDS[0], self.run_ctl(daemon, "geofence", "events").stdout)
        self.assertEqual(self.run_ctl(daemon, "extras", "show").stdout, f"note = {LONG}\n")
        for words in (("status",), ("watch",), ("plot",), ("history",), ("auth", "show"), ("geofence", "list")):
            self.assertNotIn("\033", self.run_ctl(daemon, *words).stdout, words)

    def test_events_that_csv_cannot_hold_are_reported(self):
        rows = [{"geofence_event": crossing("home"), "batch_id": "b", "http_status": 400, "rejected_at": EVER},
                {"location": worst_location(), "batch_id": "b", "http_status": 400, "rejected_at": EVER}]
        daemon = self.fake_daemon(GetRejected={"rejected": rows})
        done = self.run_ctl(daemon, "rejected", "export", "--format", "csv")
        self.assertEqual(len(done.stdout.splitlines()), 2)
        self.assertIn("1 geofence event left out", done.stderr)
        self.assertIn("--format jsonl", done.stderr)
        done = self.run_ctl(daemon, "rejected", "export", "--format", "jsonl")
        self.assertEqual((len(done.stdout.splitlines()), done.stderr), (2, ""))


if __name__ == "__main__":
    unittest.main()
