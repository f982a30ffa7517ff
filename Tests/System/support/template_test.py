"""What tests of templates share."""

from support.shape_server import ShapeServer, read_json
from support.system_test import SystemTest
from support.waiting import wait_for


class TemplateTest(SystemTest):
    def server(self, answers=(), reads=read_json) -> ShapeServer:
        server = ShapeServer(answers, reads)
        self.addCleanup(server.stop)
        self.addCleanup(lambda: self.assertEqual(server.faults(), []))
        self.receivers.append(server)
        return server

    def sending(self, rows: int, answers=(), params=None, reads=read_json, **sync) -> tuple:
        """A daemon with this many rows pending for a server of its own."""
        server = self.server(answers, reads)
        tables = {"sync": {"url": server.url, "format": "template", **sync}, **({"sync.params": params} if params else {})}
        fake, daemon = self.tracking(**tables)
        fake.drive(rows - 1)
        daemon.wait_stored(rows)
        return server, fake, daemon

    def change(self, daemon, **sync):
        """Other settings, in force at once."""
        daemon.configure(sync=sync)
        daemon.call("Reload")

    def drain(self, daemon, name: str | None = None):
        if name:
            wait_for(lambda: daemon.call("Sync", destination=name)["pending"] == 0, f"{name} has everything")
        else:
            daemon.sync_until(lambda answer: answer["pending"] == 0, "everything has been sent")
