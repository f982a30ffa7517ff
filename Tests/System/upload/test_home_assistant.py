"""What Home Assistant is told at a broker: documents, position, state, availability, and the removal of all of them."""
import json
import os
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.control_client import Refusal
from support.example_test import ExampleTest
from support.fake_gpsd import METERS_PER_DEGREE
from support.made_broker import MadeBroker
from support.mosquitto import Subscriber
from support.mqtt_test import MQTTTest
from support.ports import NOBODY
from support.waiting import wait_for

BIRTH = "homeassistant/status"
DATA = {"position", "state", "availability"}
ENTITIES = {"position": "device_tracker", "ignition": "binary_sensor", "connectivity": "binary_sensor",
            **dict.fromkeys(("speed", "altitude", "odometer", "pending", "last_fix"), "sensor")}
HOME = {"keep_connection": True, "home_assistant": True, "accept_unsubscribed": True}


class HomeAssistantTest(MQTTTest):
    def place(self, daemon, name: str) -> str:
        return f"beekond/{daemon.status()['install_id']}/{name}"

    def topics(self, daemon) -> set[str]:
        """Those of a vehicle without a battery."""
        me = daemon.status()["install_id"]
        return {self.place(daemon, name) for name in DATA} | {
            f"homeassistant/{kind}/beekond_{me}/{name}/config" for name, kind in ENTITIES.items()}

    def retained(self, broker) -> dict[str, bytes]:
        """What the broker hands to a new subscriber, as far as Home Assistant would read it."""
        late = self.subscriber(broker)
        late.say("homeassistant/end", b"")
        wait_for(lambda: "homeassistant/end" in late.told, "all that is retained has come")
        late.close()
        return {topic: payload for topic, payload in late.told.items() if topic != "homeassistant/end"}

    def data(self, subscriber: Subscriber, daemon, name: str):
        payload = subscriber.told.get(self.place(daemon, name))
        return payload and (payload.decode() if name == "availability" else json.loads(payload))

    def wait_online(self, subscriber: Subscriber, daemon):
        wait_for(lambda: self.data(subscriber, daemon, "availability") == "online", lambda: f"online: {daemon.text()}")

    def wait_told(self, subscriber: Subscriber, daemon, name: str, condition, what: str):
        wait_for(lambda: (said := self.data(subscriber, daemon, name)) and condition(said),
                 lambda: f"{what}; {self.data(subscriber, daemon, name)}; {daemon.text()}")

    def wait_removed(self, broker):
        wait_for(lambda: self.retained(broker) == {}, "nothing is retained any more")


class AnnouncementTests(HomeAssistantTest, CtlTest):
    def test_the_vehicle_is_announced_and_where_it_is(self):
        broker = self.broker().start()
        subscriber = self.subscriber(broker)
        fake, daemon = self.vehicle(broker.port, 3, **HOME)
        self.drain(daemon)
        self.wait_online(subscriber, daemon)
        me = daemon.status()["install_id"]
        kept = self.retained(broker)
        self.assertEqual(set(kept), self.topics(daemon))
        for topic, payload in kept.items():
            if not topic.startswith("homeassistant/"):
                continue
            said = json.loads(payload)
            name = topic.split("/")[3]
            self.assertEqual(said["unique_id"], f"{me}_{name}")
            self.assertEqual((said["device"]["identifiers"], said["device"]["name"]), ([f"beekond_{me}"], "van"))
            self.assertEqual("availability_topic" in said, name in ("speed", "ignition", "pending"))
            self.assertEqual("state_topic" in said, name != "position")
            self.assertEqual(said["qos"], 1)
        self.wait_told(subscriber, daemon, "position", lambda said: said["latitude"] > 50.00015, "the third location")
        position = self.data(subscriber, daemon, "position")
        self.assertEqual(set(position), {"latitude", "longitude", "gps_accuracy", "altitude", "speed", "course", "timestamp"})
        self.assertEqual(position["gps_accuracy"], 5)
        state = self.data(subscriber, daemon, "state")
        self.assertEqual(set(state), {"odometer", "ignition", "battery", "pending"})
        self.assertEqual((state["ignition"], state["battery"], state["pending"]), (None, None, 0))
        # The orderly end, too, says that it is away.
        self.assertEqual(daemon.terminate(), 0)
        wait_for(lambda: subscriber.told[f"beekond/{me}/availability"] == b"offline", "offline")
        self.assertEqual(subscriber.of("lwt"), [])

    def test_in_the_older_version_an_orderly_end_says_that_it_is_away_too(self):
        broker = self.broker().start()
        subscriber = self.subscriber(broker)
        _, daemon = self.vehicle(broker.port, mqtt_version="3.1.1", **HOME)
        self.wait_online(subscriber, daemon)
        topic = self.place(daemon, "availability")
        self.assertEqual(daemon.terminate(), 0)
        wait_for(lambda: subscriber.told[topic] == b"offline", "offline")

    def test_a_connection_that_breaks_says_so_and_each_new_one_announces_it_again(self):
        broker = self.broker().start()
        subscriber = self.subscriber(broker)
        fake, daemon = self.vehicle(broker.port, **HOME)
        self.wait_online(subscriber, daemon)
        topic = self.place(daemon, "availability")
        daemon.kill()
        wait_for(lambda: subscriber.told[topic] == b"offline", "the last will")
        self.assertEqual(subscriber.of("lwt"), [])
        daemon.start()
        wait_for(lambda: subscriber.told[topic] == b"online", "online again")
        # A broker that has forgotten everything is told everything, though there is nothing to upload.
        self.drain(daemon)
        broker.kill()
        subscriber.wait_over()
        broker.start()
        second = self.subscriber(broker)
        self.wait_online(second, daemon)
        self.assertEqual(len(self.retained(broker)), len(ENTITIES) + len(DATA))

    def test_home_assistant_has_started_and_a_drain_moves_the_vehicle_only_to_where_it_is(self):
        broker = self.broker().start()
        subscriber = self.subscriber(broker)
        fake, daemon = self.vehicle(broker.port, **HOME)
        self.drain(daemon)
        self.wait_online(subscriber, daemon)
        self.wait_told(subscriber, daemon, "position", bool, "the first location")
        before = len(subscriber.tellings)
        fake.drive(6)
        daemon.wait_stored(7 - 1)
        self.drain(daemon)
        self.wait_told(subscriber, daemon, "position", lambda said: said["latitude"] > 50.0005, "the last location")
        places = [json.loads(payload)["latitude"] for topic, payload in subscriber.tellings[before:]
                  if topic == self.place(daemon, "position")]
        self.assertEqual(len(places), 1, "a backlog drives nobody backwards")
        # What has not changed is not said again, unless Home Assistant asks.
        self.drain(daemon)
        heard = len(subscriber.tellings)
        subscriber.say(BIRTH, b"online")
        wait_for(lambda: len(subscriber.tellings) >= heard + 1 + len(ENTITIES) + 1 + len(DATA), "everything once more")
        self.assertEqual(len(self.retained(broker)), len(ENTITIES) + len(DATA))

    def wait_rows(self, rows: list, count: int):
        wait_for(lambda: len(rows) >= count, f"row {count} is sent")

    def wait_uptime(self, daemon, seconds: int):
        wait_for(lambda: daemon.status()["uptime_seconds"] > seconds, "an interval has passed", 120)

    def test_a_drain_that_lasts_tells_every_interval_where_the_vehicle_is_by_then(self):
        broker = MadeBroker()
        self.addCleanup(broker.stop)
        heard: list[tuple[str, bytes]] = []
        rows: list = []

        def hold(link, level, publish):
            heard.append((publish.topic, publish.payload(level)))
            if publish.topic.startswith("owntracks/"):
                rows.append((link, publish))
            else:
                broker.acknowledge(link, publish.id)

        broker.on_publish = hold
        fake, daemon = self.vehicle(broker.port, 3, **HOME, timeout_seconds=300)
        daemon.configure(sync={"interval_seconds": 60})
        daemon.reload()
        daemon.ask_for_sync()
        places = []
        for number in (1, 2, 3):
            self.wait_rows(rows, number)
            fake.drive(1)
            daemon.wait_stored(3 + number)
            self.wait_uptime(daemon, daemon.status()["uptime_seconds"] + 61)
            broker.acknowledge(rows[-1][0], rows[-1][1].id)
            self.wait_rows(rows, number + 1)
            told = [payload for topic, payload in heard if topic == self.place(daemon, "position")]
            places.append(round((json.loads(told[-1])["latitude"] - 50) * METERS_PER_DEGREE))
        # Rows are sent oldest first; the position is that of the newest stored one.
        self.assertEqual([place - places[0] for place in places], [0, 10, 20])
        self.assertEqual(places[0], 20 + 10 * 3)

    def test_what_is_new_is_told_every_interval_though_nothing_is_to_be_uploaded(self):
        broker = self.broker().start()
        subscriber = self.subscriber(broker)
        fake = self.fake()
        daemon = self.daemon(fake.port, vehicle={"ignition": "manual"}, sync={
            "url": f"mqtt://127.0.0.1:{broker.port}", "format": "owntracks", "device_id": "van", "deliver": "latest",
            "interval_seconds": 30, **HOME})
        daemon.start()
        self.wait_online(subscriber, daemon)
        self.assertIsNone(self.data(subscriber, daemon, "position"), "nobody knows where it is")
        for on, word in ((True, "on"), (False, "off")):
            daemon.call("SetIgnition", on=on)
            self.wait_told(subscriber, daemon, "state", lambda said, word=word: said["ignition"] == word, word)
        states = [payload for topic, payload in subscriber.tellings if topic == self.place(daemon, "state")]
        self.assertEqual(len(states), len(set(states)), "the same is not told twice")

    def test_what_the_broker_does_not_allow_holds_up_no_row(self):
        broker = self.broker("acl_file {}/acl", "allow_anonymous true")
        broker.write("acl", "topic readwrite owntracks/#\n")
        broker.start()
        subscriber = self.subscriber(broker)
        fake, daemon = self.vehicle(broker.port, 3, **HOME)
        self.drain(daemon)
        wait_for(lambda: len(subscriber.ids) == 3, "every row")
        said = daemon.wait_status(lambda status: status["sync"].get("home_assistant"), "why it was not told")
        self.assertIn("access list", said["sync"]["home_assistant"])
        self.assertEqual((said["sync"]["state"], said["degraded"]), ("idle", []))
        self.assertEqual(daemon.text().count("could not be told"), 1)
        done = self.run_ctl(daemon, "doctor", "--json", "--config", daemon.config, "--state-dir", daemon.state, code=1)
        found = {one["check"]: one for one in json.loads(done.stdout)["findings"]}
        self.assertEqual((found["endpoint"]["result"], found["Home Assistant"]["result"]), ("ok", "failed"))
        self.assertIn("access list", found["Home Assistant"]["remedy"])

    def test_what_the_configuration_says_against_it(self):
        broker = self.broker().start()
        _, daemon = self.vehicle(broker.port)
        other = {"url": f"mqtt://127.0.0.1:{broker.port}", "format": "owntracks", "device_id": "van", **HOME}
        for change, words in (({"sync": {"home_assistant": True}}, "keep_connection = true"),
                              ({"sync": HOME, "destination.twin": other}, "at the same broker already")):
            before = {name: dict(values) for name, values in daemon.sections.items()}
            daemon.configure(**change)
            with self.assertRaises(Refusal) as refusal:
                daemon.call("Reload")
            self.assertIn(words, str(refusal.exception.parameters))
            daemon.sections = before
            daemon.configure()


class RemovalTests(HomeAssistantTest):
    def announced(self, **sync) -> tuple:
        broker = self.broker().start()
        subscriber = self.subscriber(broker)
        _, daemon = self.vehicle(broker.port, **HOME, **sync)
        self.drain(daemon)
        self.wait_online(subscriber, daemon)
        return broker, subscriber, daemon

    def has_notes(self, daemon) -> bool:
        return any(name.startswith("announcements.json") for name in os.listdir(daemon.state))

    def test_switched_off_it_vanishes_and_the_destination_goes_on(self):
        broker, subscriber, daemon = self.announced()
        self.assertTrue(self.has_notes(daemon))
        daemon.configure(sync={"home_assistant": False})
        daemon.reload()
        self.wait_removed(broker)
        wait_for(lambda: not self.has_notes(daemon), "nothing is noted any more")
        # And comes again.
        daemon.configure(sync={"home_assistant": True})
        daemon.reload()
        self.wait_online(subscriber, daemon)
        self.assertEqual(len(self.retained(broker)), len(ENTITIES) + len(DATA))

    def test_a_destination_that_is_gone_and_one_with_another_name(self):
        broker = self.broker().start()
        subscriber = self.subscriber(broker)
        fake = self.fake()
        home = {"url": f"mqtt://127.0.0.1:{broker.port}", "format": "owntracks", "device_id": "van", **HOME}
        daemon = self.daemon(fake.port, **{"destination.home": home})
        daemon.start().call("Start")
        fake.settle()
        self.wait_online(subscriber, daemon)
        # The same broker and vehicle under another name: nothing is to be removed.
        del daemon.sections["destination.home"]
        daemon.configure(**{"destination.house": home})
        daemon.reload()
        wait_for(lambda: f"beekond-{daemon.status()['install_id']}-house" in broker.log(), "the other name")
        self.wait_online(subscriber, daemon)
        daemon.sync()
        self.assertEqual(len(self.retained(broker)), len(ENTITIES) + len(DATA))
        del daemon.sections["destination.house"]
        daemon.configure()
        daemon.reload()
        self.wait_removed(broker)
        wait_for(lambda: not self.has_notes(daemon), "nothing is noted any more")

    def test_an_address_that_was_a_mistake_stands_in_nobodys_way(self):
        """What may be retained there stays to be removed, and the others are not kept waiting."""
        broker = self.broker().start()
        subscriber = self.subscriber(broker)
        _, daemon = self.vehicle(NOBODY, **HOME)
        wait_for(lambda: self.has_notes(daemon), "it is noted before anything is told")
        daemon.configure(sync={"url": f"mqtt://127.0.0.1:{broker.port}"})
        daemon.reload()
        self.wait_online(subscriber, daemon)
        daemon.configure(sync={"home_assistant": False})
        daemon.reload()
        self.wait_removed(broker)
        said = daemon.wait_status(lambda status: "could not be removed" in status["sync"].get("home_assistant", ""), "the other")
        self.assertIn(str(NOBODY), said["sync"]["home_assistant"])
        self.assertTrue(self.has_notes(daemon))

    def test_a_login_that_never_worked_takes_no_place(self):
        """What was told with one that did is removed with that."""
        broker = self.broker("allow_anonymous false", "password_file {}/passwords")
        broker.password("van", "right")
        broker.start()
        subscriber = self.subscriber(broker, ("van", "right"))
        _, daemon = self.vehicle(broker.port, username="van", password="right", **HOME)
        self.drain(daemon)
        self.wait_online(subscriber, daemon)
        daemon.kill()
        daemon.configure(sync={"password": "wrong"})
        daemon.start()
        daemon.wait_status(lambda status: status["sync"].get("home_assistant"), "the broker refuses the login")
        daemon.configure(sync={"home_assistant": False})
        daemon.reload()
        wait_for(lambda: not self.has_notes(daemon), lambda: f"it is removed: {daemon.text()}")
        # The subscriber has been told the end of each.
        left = {topic for topic, payload in subscriber.told.items() if payload and re.search("^(beekond|homeassistant)/", topic)}
        self.assertEqual(left, set())

    def test_a_new_url_while_the_old_broker_is_away(self):
        old, subscriber, daemon = self.announced()
        new = self.broker().start()
        old.configure("allow_anonymous true", "persistence true", "persistence_location {}/")
        self.assertEqual(len(self.retained(old)), len(ENTITIES) + len(DATA))
        listener = self.subscriber(new)
        daemon.configure(sync={"url": f"mqtt://127.0.0.1:{new.port}"})
        daemon.reload()
        self.wait_online(listener, daemon)
        self.wait_removed(old)
        self.assertEqual(len(self.retained(new)), len(ENTITIES) + len(DATA))

    def test_the_removal_outlives_a_kill(self):
        """Between the change and the acknowledgement: the broker is away, the daemon is killed, and both come back."""
        broker, subscriber, daemon = self.announced()
        broker.configure("allow_anonymous true", "persistence true", "persistence_location {}/", "autosave_interval 1",
                         "autosave_on_changes true")
        broker.kill()
        broker.start()
        second = self.subscriber(broker)
        self.wait_online(second, daemon)
        wait_for(lambda: os.path.exists(f"{broker.directory}/mosquitto.db"), "the broker has saved")
        broker.kill()
        second.wait_over()
        daemon.configure(sync={"home_assistant": False, "url": f"mqtt://127.0.0.1:{NOBODY}"})
        daemon.reload()
        said = daemon.wait_status(lambda status: "could not be removed" in status["sync"].get("home_assistant", ""), "a try")
        self.assertIn(str(broker.port), said["sync"]["home_assistant"])
        daemon.kill()
        broker.start()
        self.assertNotEqual(self.retained(broker), {})
        daemon.start()
        self.wait_removed(broker)
        wait_for(lambda: not self.has_notes(daemon), "nothing is noted any more")

    def test_a_kill_in_the_middle_of_the_removal_repeats_it(self):
        broker = MadeBroker()
        self.addCleanup(broker.stop)
        heard: list[tuple[str, bytes]] = []
        held: list[str] = []

        def hold(link, level, publish):
            heard.append((publish.topic, publish.payload(level)))
            if publish.topic in held:
                held.remove(publish.topic)
            else:
                broker.acknowledge(link, publish.id)

        broker.on_publish = hold
        _, daemon = self.vehicle(broker.port, **HOME)
        topics = self.topics(daemon)
        wait_for(lambda: (self.place(daemon, "availability"), b"online") in heard, "it is announced")
        last = self.place(daemon, "availability")
        held.append(last)
        daemon.configure(sync={"home_assistant": False})
        daemon.reload()
        wait_for(lambda: (last, b"") in heard, "all but the last are acknowledged")
        daemon.kill()
        self.assertTrue(self.has_notes(daemon))
        del heard[:]
        daemon.start()
        wait_for(lambda: not self.has_notes(daemon), "nothing is noted any more")
        self.assertLessEqual(topics, {topic for topic, payload in heard if not payload})

    def test_a_destination_that_is_forgotten_while_its_broker_is_away(self):
        broker, subscriber, daemon = self.announced()
        home = {**daemon.sections["sync"], "device_id": "caravan"}
        other = self.broker("persistence true", "persistence_location {}/", "autosave_interval 1", "autosave_on_changes true",
                            "allow_anonymous true").start()
        listener = self.subscriber(other)
        daemon.configure(**{"destination.home": {**home, "url": f"mqtt://127.0.0.1:{other.port}"}})
        daemon.reload()
        self.wait_online(listener, daemon)
        wait_for(lambda: os.path.exists(f"{other.directory}/mosquitto.db"), "the broker has saved")
        other.kill()
        listener.wait_over()
        del daemon.sections["destination.home"]
        daemon.configure()
        daemon.reload()
        daemon.wait_status(lambda status: [one for one in status["destinations"] if one["orphaned"]], "an orphan")
        daemon.call("ForgetDestination", destination="home")
        other.start()
        self.wait_removed(other)
        # The other broker has kept what is still configured.
        self.assertEqual(set(self.retained(broker)), self.topics(daemon))

    def test_another_installation_removes_what_the_one_before_has_announced(self):
        broker, _, daemon = self.announced()
        before = self.topics(daemon)
        daemon.kill()
        for name in ("identity.json", "identity.json.copy"):
            path = Path(daemon.state, name)
            said = json.loads(path.read_text(encoding="utf-8"))
            said["installID"] = said["installID"][:-4] + "beef"
            path.write_text(json.dumps(said), encoding="utf-8")
        daemon.start()
        after = self.topics(daemon)
        self.assertFalse(before & after)
        # What was delivered is deleted: where it is shows with the next location.
        wait_for(lambda: set(self.retained(broker)) == after - {self.place(daemon, "position")}, "the new one alone")

    def test_switched_off_while_it_does_not_run(self):
        broker, _, daemon = self.announced()
        daemon.kill()
        daemon.configure(sync={"home_assistant": False, "keep_connection": False})
        daemon.start()
        self.wait_removed(broker)


class ExampleTests(HomeAssistantTest, ExampleTest):
    def test_the_example_with_the_access_list_of_the_example_for_mosquitto(self):
        broker = self.broker("password_file {}/passwords", "acl_file {}/acl")
        text = self.example("home-assistant-mqtt").replace("mqtts://home.example.com", f"mqtt://127.0.0.1:{broker.port}")
        fake = self.fake()
        daemon = self.daemon(fake.port)
        self.install(daemon, self.without_schedule(text))
        # Before there is a broker: the access list names the installation.
        daemon.start().call("Start")
        lines = re.findall(r"(?m)^#           ((?:pattern|user|topic) .*)$", self.example("mosquitto"))
        self.assertEqual(len(lines), 9)
        listener = "user reader\ntopic readwrite #\n"
        access = "\n".join(lines).replace("ID", daemon.status()["install_id"])
        broker.write("acl", f"{access}\n{listener}")
        broker.password("fleet", "change me")
        broker.password("reader", "reader")
        broker.start()
        subscriber = self.subscriber(broker, ("reader", "reader"))
        fake.settle()
        daemon.wait_stored(1)
        wait_for(lambda: daemon.call("Sync", destination="home")["pending"] == 0, "the location is delivered")
        self.wait_told(subscriber, daemon, "position", bool, "where it is")
        self.wait_online(subscriber, daemon)
        self.assertEqual({topic for topic, payload in subscriber.told.items() if payload}, self.topics(daemon))
        home = daemon.status()["destinations"][-1]["sync"]
        self.assertEqual((home["state"], home.get("home_assistant")), ("idle", None))
        heard = len(subscriber.tellings)
        subscriber.say(BIRTH, b"online")
        wait_for(lambda: len(subscriber.tellings) > heard + len(ENTITIES) + 1, "it may hear that Home Assistant has started")


if __name__ == "__main__":
    unittest.main()
