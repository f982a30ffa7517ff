"""What tests of a server's commands share: a vehicle that obeys one."""
from __future__ import annotations

from support.command_server import CommandServer
from support.system_test import SystemTest

ALL = ["start", "stop", "set_config", "unset_config", "add_geofences", "remove_geofences", "remove_all_geofences",
       "set_motion", "sync", "locate"]
FENCE = {"id": "depot", "latitude": 50.0, "longitude": 8.0, "radius_meters": 200.0}


class CommandTest(SystemTest):
    """A vehicle that a server may ask for something."""

    def server(self) -> CommandServer:
        server = CommandServer()
        self.addCleanup(server.stop)
        self.receivers.append(server)
        return server

    def vehicle(self, server: CommandServer, tracks: bool = True, commands: dict | None = None, **sync) -> tuple:
        """A fake gpsd and a daemon that has stored one fix."""
        chosen = {"enabled": True, "allow": ALL, "settings": ["tracking.interval_seconds", "tracking.schedule"],
                  **(commands or {})}
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={"url": server.url, "interval_seconds": 3600, **sync},
                             **{"sync.commands": chosen}).start()
        if tracks:
            daemon.call("Start")
            fake.settle()
            daemon.wait_stored(1)
        return fake, daemon

    def drain(self, daemon):
        """Sends what is pending, as often as it takes until nothing is left to be done for the server."""
        daemon.sync()
        self.wait_quiet(daemon)

    def wait_quiet(self, daemon):
        daemon.wait_status(
            lambda status: "commands" not in status["sync"] and "results" not in status["sync"]
            and status["sync"]["state"] == "idle", "nothing is left to be done for the server")

    def listed(self, daemon) -> dict:
        return {command["id"]: command for command in daemon.call("GetCommands")["commands"]}
