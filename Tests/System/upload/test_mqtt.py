"""OwnTracks over MQTT, to a real mosquitto: what it acknowledges a subscriber has, and everything else stays pending."""
import contextlib
import os
import random
import socket
import sys
import threading
import tomllib
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.daemon import NEVER
from support.fake_gpsd import METERS_PER_DEGREE, tpv
from support.mosquitto import Mosquitto, Subscriber, needs_mosquitto, packet
from support.ports import free_port
from support.programs import ROOT
from support.raw_server import Link
from support.seeds import seed
from support.system_test import SystemTest
from support.tls import Authority, needs_openssl, pump
from support.waiting import wait_for

DEATHS = 20
PLACE = "owntracks/beekon/van"


@needs_mosquitto
class MQTTTest(SystemTest):
    def broker(self, *settings: str) -> Mosquitto:
        broker = Mosquitto(self.folder(), free_port(), *settings)
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


class DeliveryTests(MQTTTest):
    def test_every_row_once_in_order_and_nothing_is_left_open(self):
        broker = self.broker().start()
        subscriber = self.subscriber(broker)
        _, daemon = self.vehicle(broker.port, 12)
        known = daemon.stored_ids()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.check_delivered(known, subscriber)
        self.assertEqual(len(subscriber.ids), 12)
        self.assertEqual({topic for topic, _ in subscriber.messages}, {PLACE})
        times = [message["tst"] for message in subscriber.of("location")]
        self.assertEqual(times, sorted(times))
        self.assertEqual(daemon.stored_ids(), set())
        sync = daemon.status()["sync"]
        self.assertEqual((sync["state"], sync["last_mqtt_code"], sync.get("last_http_status")), ("idle", 0, None))
        # The whole drain went over one connection, which was left with a good-bye: nobody has seen a last will.
        wait_for(lambda: broker.log().count("New client connected from") == 2, "subscriber and daemon")
        wait_for(lambda: broker.log().count("Received DISCONNECT from") == 1, "the broker is taken leave of")
        self.assertEqual(subscriber.of("lwt"), [])

    @needs_openssl
    def test_tls_with_password_and_certificate_resumes_its_session(self):
        authority = Authority(self.folder())
        certificate, key = authority.certificate("broker")
        own, own_key = authority.certificate("van", names="DNS:van")
        broker = self.broker("password_file {}/passwords", f"cafile {authority.ca}", f"certfile {certificate}",
                             f"keyfile {key}", "require_certificate true")
        broker.password("fleet", "it's secret")
        broker.start()
        relay = Relay(self, broker.port)
        fake, daemon = self.vehicle(
            broker.port, url=f"mqtts://127.0.0.1:{relay.port}", ca_file=authority.ca, client_certificate=own,
            client_key=own_key, username="fleet", password="it's secret", accept_unsubscribed=True)
        self.drain(daemon)
        full = relay.passed()
        for stored in (2, 3, 4):
            fake.drive(1)
            daemon.wait_stored(stored)
            self.drain(daemon)
            # The same row, without the certificates.
            self.assertLess(relay.passed(), full - 100)
        self.assertNotIn("it's secret", daemon.text())
        self.assertNotIn("it's secret", str(daemon.call("GetConfig")))

    @needs_openssl
    def test_the_example_works_with_the_lines_that_it_has_for_mosquitto(self):
        with open(os.path.join(ROOT, "etc", "examples", "mosquitto.toml"), encoding="utf-8") as file:
            text = file.read()
        own = tomllib.loads(text)["destination"]["broker"]
        authority = Authority(self.folder())
        certificate, key = authority.certificate("broker")
        lines = [line[12:].partition("#")[0].strip() for line in text.splitlines() if line.startswith("#" + " " * 11)]
        self.assertEqual(lines.pop(0), "listener 8883")
        for there, here in (("/etc/mosquitto/certs/fullchain.pem", certificate), ("/etc/mosquitto/certs/privkey.pem", key),
                            ("/etc/mosquitto/", "{}/")):
            lines = [line.replace(there, here) for line in lines]
        broker = self.broker(*lines, "persistence_location {}/")
        for user in ("fleet", "recorder"):
            broker.password(user, user)
        broker.write("acl", "pattern write owntracks/%u/#\nuser recorder\ntopic read owntracks/#\n")
        broker.start()
        subscriber = self.subscriber(broker, ("recorder", "recorder"), tls=authority.ca)
        fake = self.fake()
        daemon = self.daemon(fake.port, **{"destination.broker": {
            **own, "password": "fleet", "url": f"mqtts://127.0.0.1:{broker.port}", "ca_file": authority.ca}})
        daemon.start().call("Start")
        fake.settle()
        daemon.wait_stored(1)
        known = daemon.stored_ids()
        wait_for(lambda: daemon.call("Sync", destination="broker")["pending"] == 0, "the broker has it")
        self.check_delivered(known, subscriber)
        self.assertEqual({topic for topic, _ in subscriber.messages}, {"owntracks/fleet/van1"})

    def test_through_a_proxy_that_alone_knows_the_broker(self):
        broker = self.broker().start()
        subscriber = self.subscriber(broker)

        def serve(link):
            self.assertTrue(link.head().startswith(b"CONNECT broker.invalid:1883 "))
            link.send(b"HTTP/1.1 200 Connected\r\n\r\n")
            with socket.create_connection(("127.0.0.1", broker.port), 20) as back:
                there = threading.Thread(target=pump, args=(link.raw, back), daemon=True)
                there.start()
                pump(back, link.raw)
                there.join()

        proxy = self.raw_server(serve)
        self.receivers.remove(proxy)
        _, daemon = self.vehicle(broker.port, 3, url="mqtt://broker.invalid", allow_insecure_http=True,
                                 proxy=f"http://127.0.0.1:{proxy.port}")
        known = daemon.stored_ids()
        self.drain(daemon)
        self.check_delivered(known, subscriber)
        self.assertEqual(len(proxy.links), 1)

    def test_a_password_that_is_wrong_and_a_topic_that_is_denied(self):
        broker = self.broker("password_file {}/passwords", "acl_file {}/access")
        broker.password("fleet", "right")
        broker.password("boss", "right")
        broker.write("access", "user boss\ntopic read #\npattern write owntracks/%u/van\n")
        broker.start()
        subscriber = self.subscriber(broker, ("boss", "right"))
        _, daemon = self.vehicle(broker.port, 3, username="fleet", password="wrong")
        known = daemon.stored_ids()
        self.assertEqual(daemon.sync()["outcome"], "auth")
        sync = daemon.status()["sync"]
        self.assertEqual((sync["state"], sync["failure"], sync["last_mqtt_code"], sync["pending"]), ("failed", "auth", 135, 3))
        wait_for(lambda: "check username and password" in daemon.text(), "the advice in the log")
        # Right, and another vehicle's topic.
        daemon.configure(sync={"password": "right", "device_id": "other"})
        daemon.reload()
        wait_for(lambda: "check acl_file, username and device_id" in daemon.text(), "the advice in the log")
        self.assertEqual(daemon.status()["sync"]["failure"], "auth")
        self.assertEqual(daemon.stored_ids(), known)
        daemon.configure(sync={"device_id": "van"})
        daemon.reload()
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything is delivered")
        self.check_delivered(known, subscriber)
        self.assertEqual(daemon.status()["sync"]["state"], "idle")

    def test_rows_that_were_frozen_for_another_user_do_not_wait_for_ever(self):
        """The topic is frozen with them, and the access list allows each user his own alone."""
        broker = self.broker("password_file {}/passwords", "acl_file {}/access")
        for user in ("fleet", "van7"):
            broker.password(user, "right")
        broker.write("access", "user fleet\npattern write owntracks/%u/van\nuser van7\npattern write owntracks/%u/van\n")
        # Nobody listens yet, so the row is frozen and no answer has come.
        _, daemon = self.vehicle(
            broker.port, 2, username="fleet", password="right", accept_unsubscribed=True)
        self.assertEqual(daemon.sync()["outcome"], "transient")
        broker.start()
        daemon.configure(sync={"username": "van7"})
        daemon.reload()
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything is delivered")
        wait_for(lambda: "'owntracks/van7/van'" in broker.log(), "the topic of the new user")

    def test_what_nobody_subscribes_to_stays(self):
        broker = self.broker().start()
        fake, daemon = self.vehicle(broker.port, 3)
        known = daemon.stored_ids()
        self.assertEqual(daemon.sync()["outcome"], "transient")
        sync = daemon.status()["sync"]
        self.assertEqual((sync["pending"], sync["last_mqtt_code"]), (3, 16))
        wait_for(lambda: "--clientid" in daemon.text(), "the advice in the log")
        subscriber = self.subscriber(broker)
        self.drain(daemon)
        self.check_delivered(known, subscriber)
        subscriber.close()
        wait_for(lambda: "disconnected" in broker.log(), "nobody subscribes any more")
        fake.drive(1)
        daemon.wait_stored(4)
        self.assertEqual(daemon.sync()["outcome"], "transient")
        daemon.configure(sync={"accept_unsubscribed": True})
        daemon.reload()
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "believed")

    def test_transitions_go_to_the_topic_of_events(self):
        broker = self.broker().start()
        subscriber = self.subscriber(broker)
        fake, daemon = self.vehicle(broker.port)
        daemon.call("AddGeofences", geofences=[
            {"id": "home", "latitude": 50.0, "longitude": 8.0, "radius_meters": 100.0}])
        for north in (0, 0, 400, 400):
            fake.report(tpv(fake.next_ms, 50 + north / METERS_PER_DEGREE, 8))
            fake.next_ms += 60_000
        wait_for(lambda: [(one["event"], one["desc"]) for one in subscriber.of("transition")]
                 == [("enter", "home"), ("leave", "home")], "the crossings, which are sent at once")
        self.assertEqual({topic for topic, message in subscriber.messages if message["_type"] == "transition"},
                         {PLACE + "/event"})


class Relay:
    """Counts the bytes between daemon and broker."""

    def __init__(self, test: SystemTest, port: int):
        self._count = 0
        self._open = 0
        self._port = port
        self.server = test.raw_server(self._serve)
        test.receivers.remove(self.server)
        self.port = self.server.port

    def _serve(self, link):
        self._open += 1
        with socket.create_connection(("127.0.0.1", self._port), 20) as back:
            back_ways = [(link.raw, back), (back, link.raw)]
            threads = [threading.Thread(target=self._pump, args=way, daemon=True) for way in back_ways]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self._open -= 1

    def _pump(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._count += len(data)
                target.sendall(data)
        for link in (source, target):
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    def passed(self) -> int:
        """Since the last time, on connections that are over."""
        wait_for(lambda: self._open == 0, "the connection is closed")
        count, self._count = self._count, 0
        return count


class KillTests(MQTTTest):
    def test_a_broker_that_is_killed_and_restarted_twenty_times(self):
        dice = random.Random(seed("deaths of the broker"))
        broker = self.broker().start()
        subscribers = [self.subscriber(broker)]
        stored = 100
        fake, daemon = self.vehicle(broker.port, stored)
        known = daemon.stored_ids()
        for _ in range(DEATHS):
            if len(daemon.stored_ids()) < 40:
                fake.drive(60)
                stored += 60
                daemon.wait_stored(stored)
                known |= daemon.stored_ids()
            heard = len(subscribers[-1].ids) + dice.randrange(1, 7)
            daemon.ask_for_sync()
            self.wait_heard(subscribers[-1], heard)
            broker.kill()
            subscribers[-1].wait_over()
            delivered = {found for one in subscribers for found in one.ids}
            self.assertEqual(daemon.stored_ids() | delivered, known, "acknowledged or pending")
            broker.start()
            subscribers.append(self.subscriber(broker))
            daemon.wait_status(lambda status: status["sync"]["state"] != "uploading", "the drain has ended")
        self.drain(daemon)
        self.check_delivered(known, *subscribers)
        self.assertEqual(daemon.stored_ids(), set())
        came = [found for one in subscribers for found in one.ids]
        self.assertLessEqual(len(came) - len(known), DEATHS, "a row comes twice at most where its answer was lost")

    def test_a_daemon_that_is_killed_in_the_middle(self):
        dice = random.Random(seed("deaths of the daemon"))
        broker = self.broker().start()
        subscriber = self.subscriber(broker)
        fake, daemon = self.vehicle(broker.port, 120)
        known = daemon.stored_ids()
        for _ in range(8):
            # On a busy machine a drain may get far before its death.
            if not daemon.stored_ids():
                break
            heard = len(subscriber.ids) + min(dice.randrange(1, 6), len(daemon.stored_ids()))
            daemon.ask_for_sync()
            self.wait_heard(subscriber, heard)
            daemon.kill()
            daemon.start()
            wait_for(lambda: daemon.stored_ids() | set(subscriber.ids) == known, "each row is stored or has come")
        self.drain(daemon)
        self.check_delivered(known, subscriber)
        self.assertLessEqual(len(subscriber.ids) - len(known), 8)
        # Nobody took leave: each death within a connection was told.
        self.assertLessEqual(len(subscriber.of("lwt")), 8)


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
        self.assertLess(daemon.terminate(), 2.5)
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

        fake, daemon = self.vehicle(free_port(), 2)
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
        self.assertLess(daemon.terminate(), 2.5)

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
