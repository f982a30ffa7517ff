"""A disk that was copied to another machine: the copy gets its own identity, and sends nothing that the original stored."""
import itertools
import json
import os
import shutil
import subprocess
import sys
import unittest
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.daemon import Beekond, rows
from support.faults import no_mounts
from support.namespaces import in_namespace
from support.places import places_of_start, start_killed_at
from support.seeds import sample
from support.system_test import SystemTest
from support.waiting import wait_for

ONE, TWO = "1" * 31 + "a", "2" * 31 + "b"
UUID = "sys/class/dmi/id/product_uuid"
SERIAL = "sys/firmware/devicetree/base/serial-number"


class CloneTest(SystemTest):
    def machine(self, identity: str | None = ONE, **files) -> dict:
        """The environment of a daemon on a machine with these files. `identity` is the text of /etc/machine-id."""
        root = self.folder()
        for path, text in {"etc/machine-id": identity, **files}.items():
            if text is not None:
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="ascii") as file:
                    file.write(text)
        return {"BEEKOND_MACHINE_ROOT": root}

    def original(self, machine: dict, state="tracking") -> Beekond:
        """A daemon that was killed with three fixes not yet uploaded, and with settings, extras, a fence and tokens."""
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={"url": "http://127.0.0.1:9/", "interval_seconds": 3600},
                             **{"sync.auth": {"access_token": "first"}})
        daemon.environment = machine
        daemon.start()
        self.installation = daemon.status()["install_id"]
        daemon.call("Start")
        fake.settle()
        fake.drive(2)
        daemon.wait_stored(3)
        self.session = daemon.status()["session_id"]
        self.ids = daemon.stored_ids()
        daemon.call("Configure", settings={"tracking.angle_degrees": 30})
        daemon.call("SetExtras", extras={"driver": "anna"})
        daemon.call("AddGeofences", geofences=[{"id": "home", "latitude": 10, "longitude": 10, "radius_meters": 100}])
        wait_for(lambda: os.path.exists(os.path.join(daemon.state, "tokens")), "the tokens are kept")
        if state == "stopped":
            daemon.call("Stop")
        daemon.kill()
        self.assertEqual(len(self.ids), 3)
        # Whoever has it can enrol in its place.
        with open(os.path.join(daemon.state, "enrolment-nonce"), "w", encoding="ascii") as file:
            file.write("0123456789abcdef" * 2 + "\n")
        return daemon

    def clone(self, daemon: Beekond, machine: dict, **sections) -> Beekond:
        copy = Beekond(self.folder(), **{**daemon.sections, **sections})
        self.addCleanup(copy.kill)
        shutil.rmtree(copy.state)
        shutil.copytree(daemon.state, copy.state)
        copy.environment = machine
        return copy

    def identity(self, daemon) -> dict:
        with open(os.path.join(daemon.state, "identity.json"), encoding="utf-8") as file:
            return json.load(file)

    def foreign(self, daemon) -> list:
        return [name for name in os.listdir(daemon.state)
                if name.startswith("beekon.db.foreign-") and not name.endswith(("-wal", "-shm"))]

    def check_separated(self, copy, state="tracking"):
        """It has its own identity, and exactly the rows of the original have been moved aside."""
        status = copy.status()
        self.assertNotEqual(status["install_id"], self.installation)
        self.assertFalse(os.path.exists(os.path.join(copy.state, "enrolment-nonce")))
        self.assertEqual((status["state"], set(status["degraded"]) - {"source", "sync"}, status["auth"].get("reason")),
                         (state, set(), None), copy.text())
        self.assertNotEqual(status.get("session_id"), self.session)
        self.assertNotIn("separation", self.identity(copy))
        self.assertEqual(self.identity(copy)["installID"], status["install_id"])
        self.assertFalse(copy.stored_ids() & self.ids)
        names = self.foreign(copy)
        self.assertEqual(len(names), 1, os.listdir(copy.state))
        with open(os.path.join(copy.state, names[0].replace("beekon.db", "identity.json")), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["installID"], self.installation)
        path = os.path.join(copy.state, names[0])
        # A copy is opened, so that nothing changes here.
        with_log = self.folder()
        for suffix in ("", "-wal"):
            if os.path.exists(path + suffix):
                shutil.copy(path + suffix, os.path.join(with_log, "db" + suffix))
        found = rows(os.path.join(with_log, "db"), "SELECT id FROM locations")
        self.assertEqual({str(uuid.UUID(bytes=row[0])) for row in found}, self.ids)
        return status


class CloneTests(CloneTest):
    def test_another_machine_id(self):
        first = self.machine(ONE)
        daemon = self.original(first)
        receiver = self.backend()
        copy = self.clone(daemon, self.machine(TWO), sync={"url": receiver.url, "interval_seconds": 3600})
        with open(os.path.join(daemon.state, "beekond.key"), "rb") as file:
            key = file.read()
        fake = self.fake()
        copy.configure(gpsd={"port": fake.port})
        copy.start()
        status = self.check_separated(copy)
        path = os.path.join(copy.state, self.foreign(copy)[0])
        for word in ("another machine", "/etc/machine-id", path, status["session_id"], self.installation,
                     "it holds 3 locations, 3 of them not uploaded, and nothing of it is uploaded from here",
                     f"move {path} and {path}-wal to {os.path.join(copy.state, 'beekon.db')}", f"remove {path}*"):
            self.assertIn(word, copy.text())
        # The configuration stays.
        self.assertEqual(copy.setting("tracking.angle_degrees"), 30)
        self.assertEqual(copy.call("GetExtras")["extras"], {"driver": "anna"})
        fences = copy.call("ListGeofences")["geofences"]
        self.assertEqual([(fence["id"], fence.get("inside")) for fence in fences], [("home", None)])
        fake.settle()
        copy.wait_stored(1)
        copy.sync_until(lambda answer: answer["pending"] == 0, "everything is uploaded")
        self.assertEqual({request.root["device"]["install_id"] for request in receiver.requests}, {status["install_id"]})
        self.assertEqual({request.root["session_id"] for request in receiver.requests}, {status["session_id"]})
        self.assertFalse(set(receiver.ids) & self.ids)
        with open(os.path.join(copy.state, "beekond.key"), "rb") as file:
            self.assertNotEqual(file.read(), key)
        # It happens only once.
        copy.terminate()
        copy.start()
        again = copy.status()
        self.assertEqual((again["install_id"], again["session_id"]), (status["install_id"], status["session_id"]))
        self.assertEqual(len(self.foreign(copy)), 1)
        # The original has not changed.
        daemon.start()
        self.assertTrue(os.path.exists(os.path.join(daemon.state, "enrolment-nonce")))
        self.assertEqual((daemon.status()["install_id"], daemon.status()["session_id"]), (self.installation, self.session))
        self.assertEqual(daemon.stored_ids(), self.ids)

    def test_the_same_machine_after_all(self):
        """What the log says brings the rows back."""
        daemon = self.original(self.machine(ONE))
        daemon.environment = self.machine(TWO)
        daemon.start()
        installation = daemon.status()["install_id"]
        path = os.path.join(daemon.state, "beekon.db")
        foreign = os.path.join(daemon.state, self.foreign(daemon)[0])
        daemon.terminate()
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(path + suffix):
                os.unlink(path + suffix)
            if os.path.exists(foreign + suffix):
                os.rename(foreign + suffix, path + suffix)
        receiver = self.backend()
        daemon.configure(sync={"url": receiver.url})
        daemon.start()
        self.assertEqual((daemon.status()["install_id"], daemon.stored_ids()), (installation, self.ids))
        daemon.call("SeedAuth", access_token="second")
        daemon.sync_until(lambda answer: answer["pending"] == 0, "everything is uploaded")
        self.assertEqual(set(receiver.ids), self.ids)

    def test_a_damaged_intent(self):
        daemon = self.original(self.machine(ONE))
        for name in ("intent.json", "intent.json.copy"):
            with open(os.path.join(daemon.state, name), "wb") as file:
                file.write(bytes(180))
        daemon.environment = self.machine(TWO)
        daemon.start()
        status = daemon.status()
        self.assertEqual((status["state"], "files" in status["degraded"]), ("tracking", True), daemon.text())
        self.assertNotEqual(status["install_id"], self.installation)

    def test_a_refused_start_changes_nothing(self):
        daemon = self.original(self.machine(ONE))
        other = self.daemon().start()
        copy = self.clone(daemon, self.machine(TWO))
        copy.configure(tracking={"interval_seconds": 77})
        with open(os.path.join(copy.state, "settings.json"), "wb") as file:
            file.write(b"{")
        copy.socket = other.socket
        before = self.contents(copy)
        self.assertEqual(copy.launch().child.wait(), 75, copy.text())
        self.assertEqual(self.contents(copy), before)

    def contents(self, daemon) -> dict:
        paths = [path for path in Path(daemon.state).rglob("*") if path.is_file() and path.name != "lock"]
        return {str(path): path.read_bytes() for path in paths}

    def test_the_same_machine_id_on_other_hardware(self):
        for path in (UUID, SERIAL):
            with self.subTest(path):
                daemon = self.original(self.machine(ONE, **{path: "c0ffee-1\n"}))
                copy = self.clone(daemon, self.machine(ONE, **{path: "c0ffee-2\n"}))
                copy.start()
                self.check_separated(copy)
                self.assertIn("serial number", copy.text())
                with open(os.path.join(copy.state, "identity.json"), encoding="utf-8") as file:
                    text = file.read()
                self.assertNotIn("c0ffee", text)
                self.assertNotIn(ONE, text)

    def test_a_missing_or_meaningless_identity_separates_nothing(self):
        """Even over several starts: what was known once is not forgotten."""
        daemon = self.original(self.machine(ONE, **{UUID: "c0ffee-1\n"}))
        for identity, serial in ((None, None), ("", "To Be Filled By O.E.M.\n"), ("uninitialized\n", "0\n"), (ONE, None),
                                 (None, "c0ffee-1\n")):
            daemon.environment = self.machine(identity, **{UUID: serial})
            daemon.start()
            status = daemon.status()
            self.assertEqual((status["install_id"], status["session_id"]), (self.installation, self.session), daemon.text())
            self.assertEqual(self.foreign(daemon), [])
            daemon.kill()
        daemon.environment = self.machine(TWO)
        daemon.start()
        self.check_separated(daemon)

    @unittest.skipIf(no_mounts(), no_mounts())
    @in_namespace
    def test_a_machine_id_that_is_mounted_lasts_until_the_next_boot(self):
        daemon = self.daemon()
        seen = set()
        for identity in (ONE, TWO):
            daemon.environment = self.machine(identity)
            path = os.path.join(daemon.environment["BEEKOND_MACHINE_ROOT"], "etc/machine-id")
            subprocess.run(["mount", "--bind", path, path], check=True)
            daemon.start()
            seen.add(daemon.status()["install_id"])
            daemon.terminate()
            subprocess.run(["umount", path], check=True)
        self.assertEqual(len(seen), 1)
        self.assertEqual(self.identity(daemon)["signs"], {})

    def test_a_machine_id_in_run_lasts_until_the_next_boot(self):
        """A link to it, or, where its mount cannot be seen, the same text."""
        for make in (self.in_run, lambda identity: self.machine(identity, **{"run/machine-id": identity + "\n"})):
            daemon = self.original(make(ONE))
            daemon.environment = make(TWO)
            daemon.start()
            self.assertEqual((daemon.status()["install_id"], self.foreign(daemon)), (self.installation, []), daemon.text())
            self.assertEqual(self.identity(daemon)["signs"], {})

    def in_run(self, identity: str) -> dict:
        machine = self.machine(None, **{"run/machine-id": identity, "etc/empty": ""})
        os.symlink("../run/machine-id", os.path.join(machine["BEEKOND_MACHINE_ROOT"], "etc/machine-id"))
        return machine

    def test_another_machine_id_on_the_same_hardware(self):
        daemon = self.original(self.machine(ONE, **{SERIAL: "c0ffee-1\n"}))
        for identity in (TWO, TWO, ONE):
            daemon.environment = self.machine(identity, **{SERIAL: "c0ffee-1\n"})
            daemon.start()
            self.assertEqual((daemon.status()["install_id"], self.foreign(daemon)), (self.installation, []), daemon.text())
            daemon.kill()
        self.assertEqual(daemon.text().count("/etc/machine-id has changed"), 2)

    def test_the_file_of_an_earlier_version(self):
        daemon = self.original(self.machine(ONE))
        for name in ("identity.json", "identity.json.copy"):
            with open(os.path.join(daemon.state, name), "w", encoding="utf-8") as file:
                json.dump({"installID": self.installation, "machineID": ONE}, file)
        copy = self.clone(daemon, self.machine(TWO))
        daemon.start()
        self.assertEqual(daemon.status()["install_id"], self.installation)
        self.assertNotIn("machineID", self.identity(daemon))
        copy.start()
        self.check_separated(copy)

    def test_stopped_stays_stopped(self):
        daemon = self.original(self.machine(ONE), "stopped")
        copy = self.clone(daemon, self.machine(TWO))
        copy.start()
        self.check_separated(copy, "stopped")

    def test_both_files_gone(self):
        daemon = self.original(self.machine(ONE))
        os.unlink(os.path.join(daemon.state, "identity.json"))
        daemon.start()
        self.assertEqual(daemon.status()["install_id"], self.installation)
        daemon.kill()
        for name in ("identity.json", "identity.json.copy"):
            os.unlink(os.path.join(daemon.state, name))
        before = len(daemon.text().splitlines())
        daemon.start()
        found = daemon.status()["install_id"]
        self.assertNotEqual(found, self.installation)
        lines = [line for line in daemon.text().splitlines()[before:] if "install_id" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(found, lines[0])


class CutTests(CloneTest):
    """SIGKILL at the places of the first start of a copy: the next start completes the separation, however far it had come."""

    # Places of each test, unless it is all of them.
    FEW = 9

    def test_a_cut_at_every_place(self):
        daemon = self.original(self.machine(ONE))
        first, second = self.machine(TWO), self.machine(TWO[::-1])
        places = self.places(daemon, first)
        outcomes = []
        for number, place in enumerate(sorted({1, places, *sample("separation", places, self.FEW)})):
            with self.subTest(place=place):
                copy = self.clone(daemon, first)
                start_killed_at(copy, place)
                is_done = self.identity(copy)["installID"] != self.installation
                outcomes.append(is_done)
                # Every fourth time, the disk is copied to a third machine in the middle of it.
                copy.environment = second if number % 4 == 0 and not is_done else first
                copy.start()
                self.check_separated(copy)
                copy.kill()
                shutil.rmtree(copy.directory)
        print(f"\n  {len(outcomes)} cuts at {places} places, {sum(outcomes)} of them once it was done")
        self.assertEqual([done for done, _ in itertools.groupby(outcomes)], [False, True])

    def places(self, daemon, machine: dict) -> int:
        copy = self.clone(daemon, machine)
        found = places_of_start(copy)
        copy.kill()
        self.assertGreater(found, 50)
        return found

    def test_the_disk_comes_back_before_it_is_done(self):
        """Then nothing has happened, except that the tokens may be gone."""
        first = self.machine(ONE)
        daemon = self.original(first)
        last = self.last_before_done(daemon)
        marks = set()
        for place in sorted({1, last, *sample("return", last, self.FEW)}):
            with self.subTest(place=place):
                copy = self.clone(daemon, self.machine(TWO))
                start_killed_at(copy, place)
                identity = self.identity(copy)
                self.assertEqual(identity["installID"], self.installation)
                marks.add("separation" in identity)
                copy.environment = first
                copy.start()
                status = copy.status()
                self.assertEqual((status["install_id"], status["session_id"], status["state"]),
                                 (self.installation, self.session, "tracking"), copy.text())
                self.assertEqual(copy.stored_ids(), self.ids)
                self.assertEqual([name for name in os.listdir(copy.state) if ".foreign-" in name], [])
                self.assertNotIn("separation", self.identity(copy))
                self.assertEqual("is the machine again" in copy.text(), "separation" in identity)
                copy.kill()
                shutil.rmtree(copy.directory)
        self.assertEqual(marks, {False, True}, "before the separation has begun, and in the middle of it")

    def last_before_done(self, daemon) -> int:
        """The last place of a start at which the copy still is the original."""
        machine = self.machine(TWO)
        least, most = 0, self.places(daemon, machine)
        while least + 1 < most:
            middle = (least + most) // 2
            copy = self.clone(daemon, machine)
            start_killed_at(copy, middle)
            if self.identity(copy)["installID"] == self.installation:
                least = middle
            else:
                most = middle
            shutil.rmtree(copy.directory)
        return least


if __name__ == "__main__":
    unittest.main()
