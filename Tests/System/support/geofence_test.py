"""What tests of geofences share: a vehicle that jumps, and what the daemon says of its fences."""
import os

from support.fake_gpsd import METERS_PER_DEGREE, tpv
from support.system_test import SystemTest
from support.waiting import wait_for

HOME = {"id": "home", "latitude": 50.0, "longitude": 8.0, "radius_meters": 100.0}
# Metres north of the centre of HOME.
INSIDE, OUTSIDE = 20, 400


class Vehicle:
    """Sends fixes a second apart, all at once."""

    def __init__(self, fake):
        self.fake = fake

    def stay(self, north: float, count: int = 1, **fields) -> list:
        times = [self.fake.next_ms + 1000 * index for index in range(count)]
        self.fake.report(*(tpv(at, 50 + north / METERS_PER_DEGREE, 8, **fields) for at in times))
        self.fake.next_ms += 1000 * count
        return times

    def settle(self, north: float) -> int:
        """Three fixes, after which the time of a new connection is settled. Returns the first of their times."""
        self.fake.wait_watched()
        return self.stay(north, 3)[0]


class GeofenceTest(SystemTest):
    def daemon(self, *arguments, **sections):
        # Vehicles jump in these tests, and a fix that implies an implausible speed decides nothing about fences.
        tracking = {"implausible_speed_mps": 1_000_000, **sections.pop("tracking", {})}
        return super().daemon(*arguments, tracking=tracking, **sections)

    def fenced(self, fences=(HOME,), **sections) -> tuple:
        """A daemon that is idle except for its fences."""
        fake = self.fake()
        daemon = self.daemon(fake.port, **sections).start()
        daemon.call("AddGeofences", geofences=list(fences))
        return Vehicle(fake), daemon

    def events(self, daemon, count: int) -> list:
        """All events, once there are at least this many."""
        def found() -> list:
            events = daemon.call("GetGeofenceEvents")["events"]
            return events if len(events) >= count else []

        return wait_for(found, lambda: f"{count} events; there are {daemon.call('GetGeofenceEvents')}")

    def kept_states(self, daemon) -> str:
        """The contents of the file with the states of the fences, once it exists."""
        path = os.path.join(daemon.state, "geofences-inside.json")
        wait_for(lambda: os.path.exists(path), "the states are kept beside the database")
        return path

    def kinds(self, events: list) -> list:
        return [event["type"] for event in events]

    def inside(self, daemon) -> list:
        return [fence.get("inside") for fence in daemon.call("ListGeofences")["geofences"]]
