"""What is said of a broker that refuses us, or that makes another name of ours."""
import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.daemon import NEVER
from support.made_broker import MadeBroker
from support.post_server import PostServer
from support.programs import program
from support.waiting import wait_for


class BrokerTest(CtlTest):
    def told(self, device: str = "van.1", **sync) -> tuple:
        """A broker of ours, and a daemon that has a location for it."""
        broker = MadeBroker()
        self.addCleanup(broker.stop)
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={
            "url": f"mqtt://127.0.0.1:{broker.port}", "format": "owntracks", "device_id": device,
            "interval_seconds": NEVER, "timeout_seconds": 5, **sync}).start()
        daemon.call("Start")
        fake.settle()
        wait_for(lambda: daemon.status().get("last_location"), "a location")
        return broker, daemon


class NameTests(BrokerTest):
    def test_a_topic_that_comes_back_as_another(self):
        """So RabbitMQ does."""
        broker, daemon = self.told()
        broker.renames = lambda topic: topic.replace(".", "/")
        done = self.run_ctl(daemon, "destination", "test", "main", "--yes", code=1)
        self.assertIn("owntracks/beekon/van/1", done.stdout)
        self.assertIn("let device_id and username have", done.stdout)
        broker.renames = lambda topic: topic
        done = self.run_ctl(daemon, "destination", "test", "main", "--yes")
        self.assertIn("it came back", done.stdout)

    def test_the_probes_have_the_will_of_the_real_connection(self):
        broker, daemon = self.told("van")
        for words in (["destination", "test", "main", "--yes"], ["doctor", "--config", daemon.config]):
            broker.wills.clear()
            subprocess.run([program("beekonctl"), *words], check=False, capture_output=True, timeout=120,
                           env=self.environment(daemon))
            self.assertTrue(broker.wills, words)
            for topic, payload in broker.wills:
                self.assertEqual((topic, json.loads(payload)["_type"]), ("owntracks/beekon/van", "lwt"), words)

    def test_a_broker_that_closes_on_such_a_name(self):
        """So NATS does, because the will has it."""
        broker, daemon = self.told()
        broker.refuses_will = lambda topic: "." in topic
        done = self.run_ctl(daemon, "destination", "test", "main", "--yes", code=1)
        self.assertIn("'.'", done.stdout)
        found = subprocess.run([program("beekonctl"), "doctor", "--config", daemon.config], check=False, capture_output=True,
                               text=True, timeout=120, env=self.environment(daemon))
        self.assertNotIn("the broker accepts the connection", found.stdout)
        self.assertIn("'.'", found.stdout)

    def test_the_check_notes_such_names_once(self):
        for settings, count in (({"device_id": "van.1", "username": "the.fleet"}, 1), ({"device_id": "van.1"}, 1),
                                ({"device_id": "van-1", "username": "a.b", "password": "x"}, 1), ({"device_id": "van-1"}, 0),
                                ({"device_id": "van.1", "url": "https://example.com/pub"}, 0)):
            with self.subTest(settings):
                daemon = self.daemon(sync={"url": "mqtts://broker.example.com", "format": "owntracks", **settings})
                daemon.configure()
                done = subprocess.run([program("beekond"), "--config", daemon.config, "--check"], check=True,
                                      capture_output=True, text=True, timeout=60)
                lines = [line for line in (done.stdout + done.stderr).splitlines() if "'.'" in line]
                self.assertEqual(len(lines), count, done.stdout + done.stderr)


class LoginTests(BrokerTest):
    def test_a_refused_login_names_what_there_is(self):
        for level, answer, version in ((5, b"\x20\x03\0\x87\0", "auto"), (4, b"\x20\x02\0\x05", "3.1.1")):
            broker, daemon = self.told("van", username="fleet", password="x", mqtt_version=version)
            # In time: nothing is sent before the command, and a Reload would send.
            broker.answers[level] = answer
            done = self.run_ctl(daemon, "sync", code=77)
            status = self.run_ctl(daemon, "status").stdout
            for text in (done.stderr, status):
                for word in ("username", "password", "client_certificate", "access list"):
                    self.assertIn(word, text)
                for word in ("headers", "sync.auth]"):
                    self.assertNotIn(word, text)

    def test_so_does_one_over_http(self):
        """The format has a username and a password of its own there, too."""

        class Recorder(PostServer):
            def take(self, query, body):
                return 401, b""

        recorder = Recorder()
        self.addCleanup(recorder.stop)
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={"url": recorder.url, "format": "owntracks", "device_id": "van",
                                              "username": "fleet", "password": "x", "interval_seconds": NEVER}).start()
        daemon.call("Start")
        fake.settle()
        wait_for(lambda: daemon.status().get("last_location"), "a location")
        self.run_ctl(daemon, "sync", code=77)
        probe = self.run_ctl(daemon, "destination", "test", "main", "--yes", code=1)
        wait_for(lambda: "401" in daemon.text(), "a word in the log")
        for text in (probe.stdout, daemon.text()):
            for word in ("username", "password"):
                self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main()
