"""Connections to a broker: kept ones, those that answer and are none, silent ones, and what the configuration says against it."""
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.daemon import NEVER
from support.mosquitto import packet
from support.mqtt_test import PLACE, MQTTTest
from support.ports import NOBODY
from support.raw_server import Link
from support.waiting import wait_for


class ConnectionTests(MQTTTest):
    def test_a_connection_that_is_kept_carries_the_next_drains_and_leaves_a_will(self):
        broker = self.broker().start()
        subscriber = self.subscriber(broker)
        fake, daemon = self.vehicle(broker.port, keep_connection=True)
        for stored in (1, 2, 3):
            daemon.wait_stored(stored)
            self.drain(daemon)
            fake.drive(1)
        wait_for(lambda: broker.log().count("New client connected from") == 2, "subscriber and daemon")
        daemon.wait_stored(4)
        self.assertEqual(subscriber.of("lwt"), [])
        daemon.kill()
        wait_for(lambda: subscriber.of("lwt"), "the last will")
        will = subscriber.of("lwt")[0]
        self.assertEqual(set(will), {"_type", "tst"})
        self.assertEqual([topic for topic, one in subscriber.messages if one["_type"] == "lwt"], [PLACE])
        # An orderly end takes leave.
        daemon.start()
        self.drain(daemon)
        self.assertEqual(daemon.terminate(), 0)
        wait_for(lambda: "Received DISCONNECT from" in broker.log(), "the daemon takes leave")
        self.assertEqual(len(subscriber.of("lwt")), 1)

    def test_a_kept_connection_whose_broker_is_restarted_is_made_anew(self):
        broker = self.broker().start()
        first = self.subscriber(broker)
        fake, daemon = self.vehicle(broker.port, keep_connection=True)
        self.drain(daemon)
        broker.kill()
        first.wait_over()
        broker.start()
        second = self.subscriber(broker)
        fake.drive(1)
        daemon.wait_stored(2)
        self.assertEqual(daemon.sync()["outcome"], "drained", "at once, not after a failure")
        wait_for(lambda: len(second.ids) == 1, "the next row")

    def test_a_connection_is_no_longer_kept_once_the_setting_or_the_url_is_gone(self):
        broker = self.broker().start()
        self.subscriber(broker)
        fake, daemon = self.vehicle(broker.port, keep_connection=True)
        for change, what in (({"keep_connection": False}, "off"), ({"url": ""}, "no url")):
            self.drain(daemon)
            partings = broker.log().count("Received DISCONNECT from")
            daemon.configure(sync=change)
            daemon.reload()
            wait_for(lambda: broker.log().count("Received DISCONNECT from") > partings, what)
            daemon.configure(sync={"keep_connection": True})
            daemon.reload()
            wait_for(lambda: daemon.setting("sync.keep_connection"), "kept again")
            fake.drive(1)
            daemon.wait_stored(2)

    def test_what_answers_and_is_no_broker(self):
        welcome = b"\x20\x03\0\0\0"

        def garbage(link):
            link.raw.recv(65536)
            link.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            link.drain()

        def endless(link):
            link.raw.recv(65536)
            # A PUBLISH of 200 MB.
            link.send(welcome + b"\x30\x80\x80\x80\x60" + bytes(100_000))
            link.drain()

        def early(link):
            link.raw.recv(65536)
            # An answer to what was never sent.
            link.send(welcome + packet(0x40, b"\0\x09\0"))
            link.drain()

        def deaf(link):
            link.raw.recv(65536)
            link.send(welcome)
            link.drain()

        fake, daemon = self.vehicle(NOBODY, 2)
        known = daemon.stored_ids()
        for serve, words in ((garbage, "does not speak MQTT"), (endless, "longer than 65536"), (early, "was not sent"),
                             (lambda link: None, None), (Link.drain, "in time"), (deaf, "in time")):
            server = self.raw_server(serve)
            self.receivers.remove(server)
            url = f"mqtt://127.0.0.1:{server.port}"
            daemon.configure(sync={"url": url, "timeout_seconds": 2 if words == "in time" else 60})
            daemon.reload()
            daemon.wait_status(lambda _, url=url: daemon.setting("sync.url") == url, "the url in force")
            self.assertEqual(daemon.sync()["outcome"], "transient", words)
            sync = daemon.status()["sync"]
            self.assertEqual((sync["pending"], sync.get("last_mqtt_code")), (2, None), words)
            if words:
                self.assertIn(words, sync["last_error"])
        self.assertEqual(daemon.stored_ids(), known)

    def test_a_silent_broker_holds_up_nobody(self):
        asked = threading.Event()

        def serve(link):
            link.raw.recv(65536)
            link.send(b"\x20\x03\0\0\0")
            link.raw.recv(65536)
            asked.set()
            link.drain()

        server = self.raw_server(serve)
        self.receivers.remove(server)
        fake, daemon = self.vehicle(server.port, 2)
        daemon.ask_for_sync()
        self.assertTrue(asked.wait(60))
        batch = daemon.wait_status(lambda status: status["sync"]["in_flight_batch"], "a batch under way")
        self.assertEqual(batch["sync"]["state"], "uploading")
        # Its rows are deleted: the request is broken off.
        self.assertEqual(daemon.call("DeleteLocations")["removed"], 3, "and the trip's start")
        daemon.wait_status(lambda status: status["sync"]["state"] == "idle", "the request is broken off")
        asked.clear()
        fake.drive(1)
        daemon.wait_stored(3)
        daemon.ask_for_sync()
        self.assertTrue(asked.wait(60))
        self.assertEqual(daemon.terminate(), 0)

    def test_what_the_configuration_says_against_it(self):
        broker = self.broker().start()
        _, daemon = self.vehicle(broker.port)
        for change, words in (({"url": "mqtt://broker.example"}, "allow_insecure_http"),
                              ({"format": "beekon", "url": "mqtts://broker.example"}, "only format owntracks speaks MQTT")):
            before = dict(daemon.sections["sync"])
            daemon.configure(sync=change)
            with self.assertRaises(Refusal) as refusal:
                daemon.call("Reload")
            self.assertIn(words, str(refusal.exception.parameters))
            daemon.sections["sync"] = before
            daemon.configure()

    def test_beside_a_main_that_is_none_of_it(self):
        """A destination of its own: with its own name at the broker, and its own rows."""
        broker = self.broker().start()
        subscriber = self.subscriber(broker)
        main, fake = self.backend(), self.fake()
        daemon = self.daemon(fake.port, sync={"url": main.url}, **{"destination.home": {
            "url": f"mqtt://127.0.0.1:{broker.port}", "format": "owntracks", "device_id": "van", "interval_seconds": NEVER}})
        daemon.start().call("Start")
        fake.settle()
        fake.drive(4)
        daemon.wait_stored(5)
        known = daemon.stored_ids()
        wait_for(lambda: daemon.call("Sync", destination="home")["pending"] == 0, "the broker has everything")
        self.check_delivered(known, subscriber)
        self.assertEqual(daemon.stored_ids(), known, "they are owed to main")
        self.assertEqual(daemon.call("Sync")["outcome"], "drained")
        self.assertEqual((set(main.ids), daemon.stored_ids()), (known, set()))
        name = f"beekond-{daemon.status()['install_id']}-home"
        wait_for(lambda: name in broker.log(), "its name at the broker")


if __name__ == "__main__":
    unittest.main()
