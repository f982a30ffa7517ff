"""OwnTracks over MQTT, to a real mosquitto: what it acknowledges a subscriber has, and everything else stays pending."""
import contextlib
import os
import random
import re
import socket
import sys
import threading
import tomllib
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.fake_gpsd import METERS_PER_DEGREE, tpv
from support.mosquitto import Recorder
from support.mqtt_test import PLACE, MQTTTest
from support.places import killed_at
from support.programs import ROOT
from support.seeds import seed
from support.system_test import SystemTest
from support.tls import Authority, needs_openssl, pump
from support.waiting import wait_for

DEATHS = 20


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
        # The access list stands behind the configuration, and has wildcards.
        access = re.findall(r"(?m)^#           ((?:pattern|user|topic) .*)$", text)
        del lines[-len(access):]
        for there, here in (("/etc/mosquitto/certs/fullchain.pem", certificate), ("/etc/mosquitto/certs/privkey.pem", key),
                            ("/etc/mosquitto/", "{}/")):
            lines = [line.replace(there, here) for line in lines]
        broker = self.broker(*lines, "persistence_location {}/")
        for user in ("fleet", "recorder"):
            broker.password(user, user)
        broker.write("acl", "\n".join(access) + "\nuser recorder\ntopic read owntracks/#\n")
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
        # As many as a drain of six rows has, of which more follow.
        for _ in range(8):
            with killed_at(daemon, dice.randint(1, 40)):
                daemon.ask_for_sync()
            daemon.start()
            wait_for(lambda: daemon.stored_ids() | set(subscriber.ids) == known, "each row is stored or has come")
        self.drain(daemon)
        self.check_delivered(known, subscriber)
        self.assertLessEqual(len(subscriber.ids) - len(known), 8)
        # Nobody took leave: each death within a connection was told.
        self.assertLessEqual(len(subscriber.of("lwt")), 8)


class AutosaveTests(MQTTTest):
    """What mosquitto keeps of that which it has acknowledged, for a reader who is away, when it is killed."""

    def kept(self, *lines: str) -> tuple[set, set]:
        """Rows that are acknowledged, and those of them that the reader gets after the kill."""
        broker = self.broker("allow_anonymous true", "persistence true", "persistence_location {}/", *lines).start()
        recorder = Recorder(broker.port)
        _, daemon = self.vehicle(broker.port, 12)
        known = daemon.stored_ids()
        self.drain(daemon)
        self.assertEqual(daemon.stored_ids(), set(), "all of it is acknowledged")
        broker.kill()
        broker.start()
        recorder.fetch()
        self.assertEqual(len(recorder.ids), len(set(recorder.ids)), "each once")
        return known, set(recorder.ids)

    def test_the_two_lines_of_the_example_keep_all_but_the_newest(self):
        with open(os.path.join(ROOT, "etc", "examples", "mosquitto.toml"), encoding="utf-8") as file:
            lines = re.findall(r"^# {11}(autosave\S+ \S+)", file.read(), re.MULTILINE)
        self.assertEqual(lines, ["autosave_on_changes true", "autosave_interval 1"])
        known, found = self.kept(*lines)
        self.assertLessEqual(known - found, {max(known)})

    def test_the_first_alone_keeps_nothing(self):
        """Its unit is 1800 changes then."""
        known, found = self.kept("autosave_on_changes true")
        self.assertEqual((len(known), found), (12, set()))


if __name__ == "__main__":
    unittest.main()
