"""The interface as shipped: every method with the types of its parameters, parsed from the file."""
from __future__ import annotations

import os
import re

from support.control_client import INTERFACE
from support.programs import ROOT

DESCRIPTION = os.path.join(ROOT, "Sources", "ControlProtocol", INTERFACE + ".varlink")
SERVICE = "org.varlink.service"
# Who may call a method: any peer in group beekon, or only administrators.
ANYBODY, ADMINISTRATORS = "anybody who may connect", "administrators"


def description() -> str:
    with open(DESCRIPTION, encoding="utf-8") as file:
        return file.read()


def _fields(text: str) -> dict:
    return dict(re.findall(r"(\w+): *([^,\s]+)", text))


def methods() -> dict:
    """Maps methods to parameters to types, such as {"Sync": {"wait": "?bool"}, …}."""
    found = re.findall(r"^method (\w+)\(([^)]*)\) *->", description(), re.M)
    assert len(found) > 20
    return {name: _fields(text) for name, text in found}


def errors() -> list:
    return re.findall(r"^error (\w+)", description(), re.M)


FENCE = {"id": "depot", "latitude": 52.5, "longitude": 13.4, "radius_meters": 100.0}
LONG_AGO = "2001-01-01T00:00:00.000Z"


class Row:
    """A valid call of a method, and who may make it."""

    def __init__(self, method: str, parameters: dict | None = None, who: str = ANYBODY, more: bool = False,
                 is_logged: bool = False, answer: str = "done"):
        self.method, self.parameters, self.who, self.more = method, parameters or {}, who, more
        # It changes something, so uid, pid and method are logged.
        self.is_logged = is_logged
        # The outcome in a daemon that has just stored its first fix: "done", or the name of an error.
        self.answer = answer


# A new method of the interface gets a row here.
CALLS = (
    Row("GetStatus"), Row("GetMetrics"), Row("GetSessions"), Row("GetPendingUploadCount"), Row("ListGeofences"), Row("GetExtras"),
    Row("GetConfig"), Row("GetRejected"), Row("GetRejected", more=True), Row("GetCommands"),
    Row("GetGeofenceEvents", {"from": LONG_AGO}), Row("GetEvents", {"kinds": ["geofence", "ignition"]}),
    Row("GetLocationCount"), Row("GetLocationCount", {"before": LONG_AGO}, more=True),
    Row("GetLocations", {"to": LONG_AGO}), Row("GetLocations", {"from": LONG_AGO}, more=True),
    Row("GetCurrentLocation", {"timeout_seconds": 0.01}), Row("Subscribe", {"kinds": ["state"]}, more=True),
    Row("Stop", is_logged=True), Row("Start", is_logged=True), Row("SetMotion", {"motion": "moving"}, is_logged=True),
    Row("SetIgnition", {"on": True}, is_logged=True, answer="org.beekond.Tracker.InvalidConfiguration"),
    Row("Sync", {"wait": False}, is_logged=True),
    Row("AddGeofences", {"geofences": [FENCE]}, is_logged=True), Row("RemoveGeofences", {"ids": ["depot"]}, is_logged=True),
    Row("SetExtras", {"extras": {"driver": "7"}}, is_logged=True), Row("RetryRejected", is_logged=True),
    Row("GetTrips", {"from": LONG_AGO}), Row("SetOdometer", {"odometer_meters": 1_000}, ADMINISTRATORS, is_logged=True),
    Row("DeleteLocations", {"before": LONG_AGO}, ADMINISTRATORS, is_logged=True),
    Row("PurgeRejected", who=ADMINISTRATORS, is_logged=True),
    Row("Resend", {"from": LONG_AGO, "to": LONG_AGO}, ADMINISTRATORS, is_logged=True),
    Row("Rebatch", who=ADMINISTRATORS, is_logged=True, answer="org.beekond.Tracker.RebatchRefused"),
    Row("BackfillDestination", {"destination": "main"}, ADMINISTRATORS, is_logged=True),
    Row("ForgetDestination", {"destination": "gone"}, ADMINISTRATORS, is_logged=True, answer=SERVICE + ".InvalidParameter"),
    Row("Configure", {"settings": {"tracking.angle_degrees": 30}}, is_logged=True),
    Row("Configure", {"settings": {"gpsd.host": "127.0.0.1"}}, ADMINISTRATORS, is_logged=True),
    Row("ResetConfig", {"keys": ["tracking.angle_degrees"]}, is_logged=True),
    Row("ResetConfig", {"keys": ["gpsd.host"]}, ADMINISTRATORS, is_logged=True), Row("Reload", is_logged=True),
    Row("ResetServerConfig", is_logged=True), Row("ResetServerConfig", {"keys": ["tracking.angle_degrees"]}, is_logged=True),
    Row("SeedAuth", {"access_token": "abc", "refresh_token": "def"}, ADMINISTRATORS, is_logged=True),
)
