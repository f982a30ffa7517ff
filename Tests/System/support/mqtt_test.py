"""What tests with a broker share."""

from support.mosquitto import Mosquitto, Subscriber, needs_mosquitto
from support.ports import new_port
from support.system_test import SystemTest
from support.waiting import wait_for

# The topic that locations of the vehicle go to.
PLACE = "owntracks/beekon/van"


@needs_mosquitto
class MQTTTest(SystemTest):
    def broker(self, *settings: str) -> Mosquitto:
        broker = Mosquitto(self.folder(), new_port(), *settings)
        self.addCleanup(broker.kill)
        return broker

    def subscriber(self, broker: Mosquitto, login: tuple[str, str] | None = None, tls: str | None = None) -> Subscriber:
        subscriber = Subscriber(broker.port, login, tls)
        self.addCleanup(subscriber.close)
        return subscriber

    def vehicle(self, port: int, count: int = 1, **sync) -> tuple:
        """A daemon that tracks and has so many rows, for a broker on this port."""
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={
            "url": f"mqtt://127.0.0.1:{port}", "format": "owntracks", "device_id": "van", **sync})
        daemon.start().call("Start")
        fake.settle()
        if count > 1:
            fake.drive(count - 1)
        daemon.wait_stored(count)
        return fake, daemon

    def drain(self, daemon):
        daemon.sync_until(lambda answer: answer["pending"] == 0, "everything is delivered")

    def wait_heard(self, subscriber: Subscriber, count: int):
        wait_for(lambda: len(subscriber.ids) >= count, "the drain is under way")

    def check_delivered(self, known: set, *subscribers: Subscriber):
        wait_for(lambda: {found for one in subscribers for found in one.ids} == known, "the subscriber has every row")
