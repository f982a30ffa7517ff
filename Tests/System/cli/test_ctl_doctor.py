"""The doctor with a real gpsd, a real daemon and a backend: what it finds, and what it sends."""
import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support import conservation
from support.beekonctl import CtlTest
from support.conservation import shape_faults
from support.fake_daemon import status
from support.mosquitto import Mosquitto, Subscriber, needs_mosquitto
from support.ports import NOBODY, new_port
from support.programs import needs_gpsd
from support.shape_server import ShapeServer
from support.tls import Authority, needs_openssl

LOCATION = {"id": "0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e1f", "timestamp": "2026-06-15T12:34:10.000Z", "trigger": "interval",
            "motion": "moving", "is_mock": False, "latitude": 1, "longitude": 2}


class ExaminationTest(CtlTest):
    def examine(self, daemon, *words: str, code: int = 1) -> dict:
        """Findings by check. The clock of the machine that runs the test is left out: it may be anything."""
        done = self.run_ctl(daemon, "doctor", "--json", *words, code=code)
        return {found["check"]: found for found in json.loads(done.stdout)["findings"]}

    def doctored(self, gpsd_port: int, **sections):
        daemon = self.daemon(gpsd_port, **sections).start()
        return daemon, ("--config", daemon.config, "--state-dir", daemon.state)


class DoctorTests(ExaminationTest):
    def check_shape(self, receiver):
        """Apart from being empty, what the doctor sends is a batch like the uploader's."""
        for request in receiver.requests:
            self.assertEqual((request.root["locations"], request.root["geofence_events"]), ([], []))
            # Before there is an installation it names none, which no batch with rows may.
            device = {"install_id": LOCATION["id"], **request.root["device"]}
            self.assertEqual(shape_faults({**request.root, "device": device, "locations": [LOCATION]}), [])
            # A backend that validates against the schema accepts it.
            self.assertEqual(shape_faults(request.root), ["root: it is empty"] if conservation.jsonschema else [])

    @needs_gpsd
    def test_a_simulated_drive(self):
        port, feed = new_port(), new_port()
        self.gpsd(port, f"udp://127.0.0.1:{feed}")
        self.simulator(feed)
        backend = self.backend()
        daemon, words = self.doctored(port, sync={"url": backend.url})
        # Idle: beekond has no connection to gpsd, so the doctor listens for itself.
        found = self.examine(daemon, *words)
        for check in ("beekond", "configuration", "gpsd", "receiver", "fix", "satellites", "storage", "DNS", "TCP", "endpoint"):
            self.assertEqual(found[check]["result"], "ok", found[check])
        self.assertEqual(found["receiver time"]["result"], "skipped")
        daemon.call("Start")
        daemon.wait_health("ok")
        self.assertEqual(self.examine(daemon, *words)["receiver time"]["result"], "ok")
        self.assertEqual(len(backend.requests), 2)
        for request in backend.requests:
            self.assertEqual((request.status, request.ids), (200, []))

    def test_the_way_to_each_destination(self):
        main, home, foreign = self.backend(), self.backend(), self.backend()
        gone, shape = ShapeServer([404]), ShapeServer()
        for server in (gone, shape):
            self.addCleanup(server.stop)
        daemon, words = self.doctored(NOBODY, sync={"url": main.url}, **{
            "destination.home": {"url": home.url}, "destination.dead": {"url": f"http://127.0.0.1:{NOBODY}/"},
            "destination.foreign": {"url": foreign.url, "format": "osmand", "device_id": "van"},
            "destination.gone": {"url": gone.url, "format": "overland"}, "destination.record": {
                "url": shape.url, "format": "template", "batch_size": 1},
            "destination.shape": {"url": shape.url, "format": "template"}})
        found = self.examine(daemon, *words)
        self.assertEqual([found[f"to {name}"]["result"] for name in ("home", "dead", "foreign")], ["ok", "failed", "ok"], found)
        self.assertIn("TCP: 127.0.0.1:", found["to dead"]["text"])
        self.assertIn("answers 200 to an empty batch", found["to home"]["text"])
        self.assertIn("beekonctl destination test foreign", found["to foreign"]["text"])
        self.assertEqual((found["to gone"]["result"], found["to shape"]["result"]), ("failed", "ok"))
        self.assertIn("/api/v1/overland/batches", found["to gone"]["remedy"])
        self.assertIn("[destination.gone]", found["to gone"]["remedy"])
        self.assertEqual([request.root for request in gone.requests], [{"locations": []}])
        # The record would be the newest location.
        self.assertIn("beekonctl destination test record", found["to record"]["text"])
        self.assertEqual([request.root for request in shape.requests], [{"location": []}])
        # A request with one location is never sent unasked.
        self.assertEqual([len(receiver.requests) for receiver in (main, home, foreign)], [1, 1, 0])

    @needs_mosquitto
    def test_a_broker_is_only_logged_in_at(self):
        broker = Mosquitto(self.folder(), new_port(), "password_file {}/passwords")
        broker.password("fleet", "right")
        broker.start()
        self.addCleanup(broker.kill)
        listener = Subscriber(broker.port, ("fleet", "right"))
        self.addCleanup(listener.close)
        common = {"url": f"mqtt://127.0.0.1:{broker.port}", "format": "owntracks", "device_id": "van", "username": "fleet"}
        daemon, words = self.doctored(NOBODY, **{
            "destination.right": {**common, "password": "right"}, "destination.wrong": {**common, "password": "wrong"}})
        found = self.examine(daemon, *words)
        self.assertEqual([found[f"to {name}"]["result"] for name in ("right", "wrong")], ["ok", "failed"], found)
        self.assertIn("the broker accepts the connection", found["to right"]["text"])
        self.assertIn("check username and password", found["to wrong"]["remedy"])
        self.assertIn("[destination.wrong]", found["to wrong"]["remedy"])
        self.assertEqual(broker.log().count("Received PUBLISH"), 0)
        self.assertEqual(listener.messages, [])

    @needs_mosquitto
    @needs_openssl
    def test_the_certificate_of_a_broker(self):
        authority = Authority(self.folder())
        certificate, key = authority.certificate("broker")
        broker = Mosquitto(self.folder(), new_port(), "allow_anonymous true", f"certfile {certificate}", f"keyfile {key}")
        broker.start()
        self.addCleanup(broker.kill)
        common = {"url": f"mqtts://127.0.0.1:{broker.port}", "format": "owntracks", "device_id": "van"}
        daemon, words = self.doctored(NOBODY, **{
            "destination.good": {**common, "ca_file": authority.ca}, "destination.bad": common})
        found = self.examine(daemon, *words)
        self.assertIn("the certificate is valid, the broker accepts the connection", found["to good"]["text"])
        self.assertEqual((found["to bad"]["result"], found["to bad"]["text"][:4]), ("failed", "TLS:"), found["to bad"])
        self.assertIn("destination.bad.ca_file", found["to bad"]["remedy"])

    def test_what_the_daemon_would_refuse(self):
        daemon, words = self.doctored(NOBODY)
        daemon.configure(store={"unsent_days": 0.001})
        found = self.examine(daemon, *words)["configuration"]
        self.assertEqual(found["result"], "failed")
        self.assertIn("store.unsent_days", found["text"] + (found.get("remedy") or ""))

    def test_every_answer_of_the_endpoint(self):
        # A receiver that rejects everything is found before the first fix is lost.
        answers = {400: "failed", 401: "failed", 404: "failed", 503: "failed", 200: "ok"}
        backend = self.backend(answers=list(answers))
        daemon, words = self.doctored(NOBODY, sync={"url": backend.url})
        for code, expected in answers.items():
            found = self.examine(daemon, *words)["endpoint"]
            self.assertEqual(found["result"], expected, found)
            self.assertIn(str(code), found["text"])
        self.assertEqual(daemon.status()["sync"]["pending"], 0)

    @unittest.skipUnless(os.geteuid() == 0, "what is asked is what root is told")
    def test_root_is_not_told_that_a_right_is_missing(self):
        backend = self.backend()
        daemon, words = self.doctored(NOBODY, sync={"url": backend.url})
        with open(daemon.config, "a", encoding="utf-8") as file:
            file.write("[store]\nmax_row = 3\n")
        found = self.examine(daemon, *words)
        self.assertEqual(found["configuration"]["result"], "failed")
        said = json.dumps(found["endpoint"])
        self.assertIn("mistake", said)
        for word in ("permission", "sudo"):
            self.assertNotIn(word, said)

    def test_nothing_is_sent_without_a_url(self):
        backend = self.backend()
        daemon, words = self.doctored(NOBODY)
        self.assertEqual(self.examine(daemon, *words)["backend"]["result"], "skipped")
        self.assertEqual(backend.requests, [])

    def test_faults_on_the_way(self):
        daemon, words = self.doctored(NOBODY, sync={"url": f"http://127.0.0.1:{NOBODY}/"})
        found = self.examine(daemon, *words)
        self.assertEqual((found["gpsd"]["result"], found["TCP"]["result"]), ("failed", "failed"))
        self.assertIn("refused", found["TCP"]["text"])
        self.assertEqual(found["endpoint"]["result"], "skipped")
        plain = self.backend()
        daemon.configure(sync={"url": plain.url.replace("http:", "https:")})
        self.assertEqual(self.examine(daemon, *words)["TLS"]["result"], "failed")
        daemon.configure(sync={"url": "https://no-such-host.invalid/"})
        found = self.examine(daemon, *words)
        self.assertEqual((found["DNS"]["result"], found["TCP"]["result"]), ("failed", "skipped"))

    def test_a_broken_configuration_and_no_daemon(self):
        daemon = self.daemon(NOBODY)
        with open(daemon.config, "w", encoding="utf-8") as file:
            file.write("[sync]\nbatchsize = 3\n")
        found = self.examine(daemon, "--config", daemon.config, "--state-dir", daemon.state)
        self.assertEqual(found["beekond"]["result"], "failed")
        self.assertIn("batch_size", found["configuration"]["text"])

    def test_the_empty_batch_names_the_installation_that_there_is_or_none(self):
        """A server takes whoever names another for another installation."""
        backend = self.backend()
        daemon, words = self.doctored(NOBODY, sync={"url": backend.url})
        install = daemon.status()["install_id"]
        daemon.terminate()
        self.examine(daemon, *words)
        self.assertEqual(backend.requests[-1].root["device"]["install_id"], install)
        # Before the first start there is none.
        os.remove(os.path.join(daemon.state, "identity.json"))
        self.examine(daemon, *words)
        self.assertNotIn("install_id", backend.requests[-1].root["device"])
        self.assertEqual(len(backend.requests), 2)

    def test_secrets_stay_where_they_are(self):
        backend = self.backend(answers=[500] * 10)
        daemon, words = self.doctored(NOBODY, sync={"url": backend.url + "?key=hunter2"})
        for options in ((), ("--json",)):
            done = self.run_ctl(daemon, "doctor", *words, *options, code=1)
            self.assertNotIn("hunter2", done.stdout + done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
    def test_a_user_who_may_not_read_the_configuration(self):
        daemon, words = self.doctored(NOBODY)
        os.chmod(self.directory, 0o755)
        os.chmod(daemon.directory, 0o755)
        os.chmod(daemon.socket, 0o666)
        # Not by `user=`: a checkout may be in somebody's home, which setpriv still gets through.
        nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
        done = self.run_ctl(daemon, "doctor", "--json", *words, code=1, by=nobody)
        found = {item["check"]: item for item in json.loads(done.stdout)["findings"]}
        self.assertEqual(found["configuration"]["result"], "skipped")
        self.assertEqual(found["rights"]["result"], "ok")
        os.chmod(daemon.socket, 0o600)
        done = self.run_ctl(daemon, "doctor", "--json", *words, code=1, by=nobody)
        found = {item["check"]: item for item in json.loads(done.stdout)["findings"]}
        self.assertEqual((found["beekond"]["result"], found["rights"]["result"]), ("skipped", "failed"))

    def test_what_the_last_answer_says(self):
        daemon = self.fake_daemon(
            GetStatus=status(sync={"state": "failed", "failure": "auth", "last_http_status": 401, "pending": 3}),
            GetConfig={"settings": [
                {"key": "sync.url", "value": f"http://127.0.0.1:{NOBODY}/", "origin": "b.toml:1"}]})
        found = self.examine(daemon, "--config", self.path("none.toml"))
        self.assertEqual(found["configuration"]["result"], "skipped")
        self.assertEqual(found["TCP"]["result"], "failed")


class RefusingServerTests(ExaminationTest):
    def check_shape(self, receiver):
        """The doctor's own batches are empty."""

    def test_the_url_that_is_configured_now_is_judged(self):
        """What another server has accepted says nothing of this one, which refuses everything."""
        kind, strict = self.backend(), self.backend()
        strict.refuse(lambda request: True)
        fake, daemon = self.tracking(sync={"url": kind.url, "mode": "manual"})
        self.assertEqual(daemon.sync()["outcome"], "drained")
        words = ("--config", daemon.config, "--state-dir", daemon.state)
        self.assertEqual(self.examine(daemon, *words)["endpoint"]["result"], "ok")
        daemon.call("Configure", settings={"sync.url": strict.url})
        found = self.examine(daemon, *words)["endpoint"]
        self.assertEqual(found["result"], "failed", found)
        # One that has accepted, and refuses real rows now, as well.
        daemon.call("Configure", settings={"sync.url": kind.url})
        fake.drive(1)
        daemon.wait_stored(2)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        kind.refuse(lambda request: True)
        fake.drive(1)
        daemon.wait_stored(3)
        daemon.sync()
        self.assertEqual(self.examine(daemon, *words)["endpoint"]["result"], "failed")

    def test_dead_letters_of_the_last_day_are_a_finding(self):
        backend = self.backend()
        backend.refuse(lambda request: bool(request.ids))
        fake, daemon = self.tracking(sync={"url": backend.url, "mode": "manual"})
        words = ("--config", daemon.config, "--state-dir", daemon.state)
        self.assertNotIn("dead letters", self.examine(daemon, *words))
        daemon.sync()
        found = self.examine(daemon, *words)["dead letters"]
        self.assertEqual(found["result"], "failed", found)
        self.assertIn("1 rejected location", found["text"])
        self.assertIn("422", found["text"])
        self.assertIn("beekonctl rejected list", found["remedy"])


if __name__ == "__main__":
    unittest.main()
