"""Several destinations from the shell: which there are, and the verbs that concern one of them."""
import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest, needs
from support.daemon import NEVER
from support.fake_daemon import status
from support.fake_gpsd import iso
from support.mosquitto import Mosquitto, Subscriber, needs_mosquitto
from support.one_row_server import OneRowServer
from support.ports import NOBODY, new_port
from support.programs import program
from support.shape_server import ShapeServer, records
from support.terminal import TerminalTest
from support.waiting import wait_for


class DestinationTest(CtlTest):
    def two(self, **other) -> tuple:
        """A daemon that tracks, with `main`, `home` and three rows that both are owed."""
        main, home = self.backend(), self.backend(**other)
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={"url": main.url}, **{
            "destination.home": {"url": home.url, "interval_seconds": NEVER}}).start()
        daemon.call("Start")
        fake.settle()
        fake.drive(2)
        daemon.wait_stored(3)
        return main, home, fake, daemon

    def value(self, daemon, *words: str, code: int = 0):
        return json.loads(self.run_ctl(daemon, *words, "--json", code=code).stdout)


class DestinationVerbTests(DestinationTest):
    def test_they_are_listed(self):
        _, _, _, daemon = self.two()
        found = self.value(daemon, "destinations")["destinations"]
        self.assertEqual([(one["name"], one["format"], one["sync"]["pending"]) for one in found],
                         [("main", "beekon", 3), ("home", "beekon", 3)])
        lines = self.run_ctl(daemon, "destinations").stdout.splitlines()
        self.assertEqual([line.split()[:2] for line in lines], [["NAME", "FORMAT"], ["main", "beekon"], ["home", "beekon"]])
        self.assertIn("Also to   home (beekon): ", self.run_ctl(daemon, "status").stdout)

    def test_one_is_synced(self):
        main, home, _, daemon = self.two(answers=[401])
        done = self.run_ctl(daemon, "sync", "home", code=77)
        self.assertIn("correct [destination.home.headers]", done.stderr)
        self.assertEqual(self.run_ctl(daemon, "sync", "--destination", "home").stdout, "3 uploaded, nothing pending\n")
        self.assertEqual((len(home.ids), len(main.ids)), (3, 0))
        self.run_ctl(daemon, "sync", "home", "--destination", "main", code=64)

    def test_dead_letters_of_one(self):
        _, _, _, daemon = self.two(answers=[422])
        self.run_ctl(daemon, "sync", "home", code=65)
        self.assertEqual(len(self.run_ctl(daemon, "rejected", "list", "--destination", "home", "--json").stdout.splitlines()), 3)
        self.assertIn("nothing has been rejected", self.run_ctl(daemon, "rejected", "list").stderr)
        self.assertEqual(self.value(daemon, "rejected", "retry", "--destination", "home"), {"requeued": 3})
        self.assertEqual(self.value(daemon, "rejected", "purge", "--yes", "--destination", "home"), {"removed": 0})

    def test_one_that_does_not_exist(self):
        _, _, _, daemon = self.two()
        tokens = self.path("tokens")
        with open(tokens, "w", encoding="utf-8") as file:
            file.write("secret\n")
        for words in (("sync", "hom"), ("sync", "--rebatch", "hom"), ("rejected", "list", "--destination", "hom"),
                      ("rejected", "retry", "--destination", "hom"), ("rejected", "purge", "--yes", "--destination", "hom"),
                      ("resend", "--from", "-1h", "--destination", "hom"), ("auth", "show", "--destination", "hom"),
                      ("auth", "seed", tokens, "--destination", "hom"), ("destination", "backfill", "hom"),
                      ("destination", "forget", "hom", "--yes"), ("sync", "Not A Name")):
            with self.subTest(words):
                done = self.run_ctl(daemon, *words, code=64)
                self.assertIn("beekonctl destinations lists them", done.stderr)
                self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("", 1))

    def test_a_new_one_is_owed_what_was_before_and_an_old_one_is_forgotten(self):
        main, home, fake, daemon = self.two()
        late = self.backend()
        daemon.configure(**{"destination.late": {"url": late.url, "interval_seconds": NEVER}})
        self.run_ctl(daemon, "reload")
        self.assertEqual(self.run_ctl(daemon, "destination", "backfill", "late").stdout,
                         "3 more pending for late: the upload has begun\n")
        self.assertIn("nothing to add", self.run_ctl(daemon, "destination", "backfill", "late", "--from", "-1h").stdout)
        self.run_ctl(daemon, "sync", "late")
        wait_for(lambda: len(late.ids) == 3, "the rows from before")
        self.assertIn("take [destination.home] out", self.run_ctl(daemon, "destination", "forget", "home", code=65).stderr)
        del daemon.sections["destination.home"]
        daemon.configure()
        self.run_ctl(daemon, "reload")
        self.assertIn("home is not configured any more", " ".join(self.run_ctl(daemon, "status").stdout.split()))
        self.assertRegex(self.run_ctl(daemon, "destinations").stdout, r"(?m)^home +- +- +orphaned +3 ")
        # Without a terminal it cannot ask, and forgets nothing.
        self.run_ctl(daemon, "destination", "forget", "home", code=64)
        self.run_ctl(daemon, "sync", "main")
        self.assertEqual(self.run_ctl(daemon, "destination", "forget", "home", "--yes").stdout, "home forgotten, 3 removed\n")
        self.assertNotIn("home", self.run_ctl(daemon, "destinations").stdout)

    def test_an_orphan_gets_nothing_more(self):
        _, _, _, daemon = self.two()
        del daemon.sections["destination.home"]
        daemon.configure()
        self.run_ctl(daemon, "reload")
        for words in (("destination", "backfill", "home"), ("resend", "--from", "-1h", "--destination", "home")):
            done = self.run_ctl(daemon, *words, code=78)
            self.assertIn("destination.home is not configured any more", done.stderr)

    def test_completion_offers_their_names(self):
        _, _, _, daemon = self.two()
        words = ["---completion", "sync", "--", "positional@0", "2", "0", "beekonctl", "sync", ""]
        done = subprocess.run([program("beekonctl"), *words], capture_output=True, text=True, timeout=60,
                              env=self.environment(daemon, SAP_SHELL="bash", SAP_SHELL_VERSION="5.2"))
        self.assertEqual((done.stdout.split(), done.returncode), (["main", "home"], 0), done.stderr)


class TrialTests(DestinationTest):
    def check_shape(self, receiver):
        """An empty batch is none that the uploader would send."""
        for request in receiver.requests:
            self.assertEqual((request.root["locations"], request.root["geofence_events"]), ([], []))

    def test_one_is_tested(self):
        _, home, fake, daemon = self.two(answers=[404, 401, 200])
        server = OneRowServer()
        self.addCleanup(server.stop)
        daemon.configure(**{"destination.traccar": {
            "url": server.url, "format": "osmand", "device_id": "van-7", "interval_seconds": NEVER}})
        self.run_ctl(daemon, "reload")
        for code, words in ((1, "correct url"), (1, "refuses the credentials (401)"), (0, "home accepts an empty batch (200)")):
            self.assertIn(words, self.run_ctl(daemon, "destination", "test", "home", code=code).stdout)
        self.assertEqual([request.ids for request in home.requests], [[]] * 3)
        # A row is sent only to those who say yes, and without a terminal nobody can be asked.
        done = self.run_ctl(daemon, "destination", "test", "traccar", code=64)
        self.assertIn("add --yes to send it", done.stderr)
        self.assertEqual(server.requests, [])
        server.decide = lambda row: {"van-7": 400}.get(row["id"], 500)
        done = self.run_ctl(daemon, "destination", "test", "traccar", "--yes", code=1)
        self.assertIn("does not know this vehicle (400)", done.stdout)
        server.decide = lambda row: None
        done = self.run_ctl(daemon, "destination", "test", "traccar", "--yes", code=1)
        self.assertIn("closes the connection without an answer", done.stdout)
        server.decide = lambda row: 200
        found = json.loads(self.run_ctl(daemon, "destination", "test", "traccar", "--yes", "--json").stdout)
        self.assertEqual((found["destination"], found["sent"], found["http_status"], found["accepted"]),
                         ("traccar", "newest_location", 200, True))
        newest = daemon.status()["last_location"]["timestamp"]
        self.assertIn(iso(server.requests[-1][0] * 1000), newest)
        # Nothing was taken from what is owed.
        self.assertEqual(self.value(daemon, "destinations")["destinations"][1]["sync"]["pending"], 3)
        self.assertIn("beekonctl destinations lists them", self.run_ctl(daemon, "destination", "test", "hom", code=64).stderr)

    def test_a_shape_of_ones_own_is_tested_with_an_array_or_a_record(self):
        _, _, _, daemon = self.two()
        server = ShapeServer([404, 422])
        self.addCleanup(server.stop)
        common = {"url": server.url, "format": "template", "interval_seconds": NEVER}
        daemon.configure(**{"destination.many": {**common, "compress": True}, "destination.one": {**common, "batch_size": 1}})
        self.run_ctl(daemon, "reload")
        self.assertIn("correct url", self.run_ctl(daemon, "destination", "test", "many", code=1).stdout)
        self.assertIn("location_template", self.run_ctl(daemon, "destination", "test", "many", code=1).stdout)
        self.assertIn("many accepts an empty batch (200)", self.run_ctl(daemon, "destination", "test", "many").stdout)
        self.assertEqual([request.root for request in server.requests], [{"location": []}] * 3)
        # A record is sent to those alone who say yes.
        self.assertIn("add --yes", self.run_ctl(daemon, "destination", "test", "one", code=64).stderr)
        self.assertEqual(len(server.requests), 3)
        found = self.value(daemon, "destination", "test", "one", "--yes")
        self.assertEqual((found["sent"], found["http_status"], found["accepted"]), ("newest_location", 200, True))
        self.assertEqual(len(records(server.requests[-1].root)), 1)
        self.assertEqual(server.requests[-1].method, "POST")
        # Each has a key, as the uploader's have.
        self.assertEqual(server.faults(), [])

    @needs_mosquitto
    def test_a_broker_must_give_the_message_back(self):
        _, _, _, daemon = self.two()
        broker = Mosquitto(self.folder(), new_port(), "password_file {}/passwords", "acl_file {}/access")
        for user in ("fleet", "writer", "reader"):
            broker.password(user, user)
        broker.write("access", "user fleet\ntopic owntracks/fleet/#\nuser writer\ntopic write owntracks/writer/#\n"
                               "user reader\ntopic read #\n")
        broker.start()
        self.addCleanup(broker.kill)
        listener = Subscriber(broker.port, ("reader", "reader"))
        self.addCleanup(listener.close)
        common = {"url": f"mqtt://127.0.0.1:{broker.port}", "format": "owntracks", "device_id": "van", "interval_seconds": NEVER}
        daemon.configure(**{f"destination.{user}": {**common, "username": user, "password": user}
                            for user in ("fleet", "writer", "reader")}, **{
                                "destination.wrong": {**common, "username": "fleet", "password": "x"},
                                "destination.dead": {**common, "url": f"mqtt://127.0.0.1:{NOBODY}"}})
        self.run_ctl(daemon, "reload")
        self.assertIn("add --yes", self.run_ctl(daemon, "destination", "test", "fleet", code=64).stderr)
        self.assertEqual(listener.messages, [])
        found = self.value(daemon, "destination", "test", "fleet", "--yes")
        self.assertEqual((found["sent"], found.get("http_status"), found["accepted"]), ("newest_location", None, True), found)
        self.assertEqual(found["text"], "fleet accepts the newest location, and it came back.")
        wait_for(lambda: listener.ids == [daemon.status()["last_location"]["id"]], "the subscriber has it, too")
        self.assertEqual(listener.messages[0][0], "owntracks/fleet/van")
        for name, words in (("writer", "does not return it"), ("reader", "check acl_file"),
                            ("wrong", "check username and password"), ("dead", "There is no answer")):
            with self.subTest(name):
                self.assertIn(words, self.run_ctl(daemon, "destination", "test", name, "--yes", code=1).stdout)
        # No last will, and nothing is taken from what is owed.
        self.assertEqual(listener.of("lwt"), [])
        pending = {one["name"]: one["sync"]["pending"] for one in self.value(daemon, "destinations")["destinations"]}
        self.assertEqual((pending["home"], pending["fleet"]), (3, 0))

    def test_one_with_tokens_is_tested_without(self):
        backend = self.backend(answers=[401])
        daemon = self.daemon(self.fake().port, sync={"url": backend.url},
                             **{"sync.auth": {"access_token": "a"}}).start()
        done = self.run_ctl(daemon, "destination", "test", "main", code=1)
        self.assertIn("without a token (401), which only beekond has", done.stdout)


@needs("tmux")
class DestinationScreenTests(TerminalTest):
    def several(self) -> dict:
        time = iso(1_781_500_003_000)
        sync = {"state": "idle", "pending": 0, "last_success": time, "uploaded": 9, "rejected": 0, "retries": 0, "bytes_sent": 0}
        auth = {"state": "none", "failures": 0}
        failing = {**sync, "state": "failed", "failure": "auth", "pending": 120, "oldest_pending": time, "last_http_status": 401}
        return status(degraded=["sync"], sync=sync, destinations=[
            {"name": "main", "format": "beekon", "deliver": "all", "orphaned": False, "dropped": 0, "sync": sync, "auth": auth},
            {"name": "h" * 32, "format": "owntracks", "deliver": "all", "orphaned": False, "dropped": 0, "sync": failing,
             "auth": auth},
            {"name": "old", "orphaned": True, "dropped": 0, "sync": {**sync, "pending": 7}, "auth": auth}])

    def test_they_fit_the_terminal(self):
        self.terminal(self.fake_daemon(GetStatus=self.several()))
        lines = self.run_there("destinations").splitlines()
        self.assertEqual([line.split()[0][:4] for line in lines[:5]], ["NAME", "main", "hhhh", "old", "code"])
        text = self.run_there("status")
        self.assertIn("Also to   hhhh", text)
        self.assertIn("old is not configured any more", text)

    def test_forgetting_asks(self):
        daemon = self.fake_daemon(GetStatus=self.several(), ForgetDestination={"removed": 7})
        self.terminal(daemon)
        self.type(f'{program("beekonctl")} destination forget old')
        self.wait_screen(lambda text: "Forget old, and with it 7 pending and 0 rejected locations? [y/N]" in text, "the question")
        self.type("n")
        self.wait_screen(lambda text: "nothing deleted" in text, "its answer")
        self.assertNotIn("ForgetDestination", [name for name, _ in daemon.calls])
        self.type(f'{program("beekonctl")} destination forget old')
        self.wait_screen(lambda text: text.count("[y/N]") == 2, "the question again")
        self.type("y")
        self.wait_screen(lambda text: "old forgotten, 7 removed" in text, "its answer")



if __name__ == "__main__":
    unittest.main()
