"""Extras: the configured ones merged with those set at run time, kept across restarts; each row has those of its time."""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.programs import program
from support.system_test import SystemTest


class ExtrasTests(SystemTest):
    def extras(self, daemon) -> dict:
        return daemon.call("GetExtras")["extras"]

    def test_runtime_wins_over_the_configuration(self):
        daemon = self.daemon(extras={"vehicle": "7", "depot": "north"}).start()
        self.assertEqual(self.extras(daemon), {"vehicle": "7", "depot": "north"})
        self.assertEqual(daemon.call("SetExtras", extras={"vehicle": "7", "driver": "é\"\n"}), {})
        self.assertEqual(self.extras(daemon), {"vehicle": "7", "driver": "é\"\n"})
        # Durable before the answer.
        daemon.kill()
        daemon.start()
        self.assertEqual(self.extras(daemon), {"vehicle": "7", "driver": "é\"\n"})
        self.assertEqual(os.stat(os.path.join(daemon.state, "extras.json")).st_mode & 0o077, 0)
        # Only differences are kept: the file still decides about other names.
        daemon.configure(extras={"vehicle": "8", "depot": "south", "region": "x"})
        daemon.reload()
        daemon.wait_status(lambda status: self.extras(daemon).get("region") == "x", "the new configuration")
        self.assertEqual(self.extras(daemon), {"vehicle": "8", "driver": "é\"\n", "region": "x"})
        # A value equal to the file's is not a difference.
        daemon.call("SetExtras", extras={"vehicle": "8", "depot": "south", "region": "x"})
        daemon.configure(extras={"vehicle": "9"})
        daemon.reload()
        daemon.wait_status(lambda status: self.extras(daemon).get("vehicle") == "9", "the newer configuration")
        self.assertIn("SetExtras by uid", daemon.text())
        self.assertNotIn("driver", daemon.text())

    def test_each_row_carries_the_extras_of_its_time(self):
        receiver = self.backend()
        fake, daemon = self.tracking(sync={"url": receiver.url}, extras={"driver": "1"})
        wanted = [{"driver": "1"}]
        for extras in ({"driver": "2"}, {}, {"driver": "2", "a": "b"}):
            daemon.call("SetExtras", extras=extras)
            fake.drive(2)
            daemon.wait_stored(1 + 2 * len(wanted))
            wanted.append(extras)
        # A change now affects neither stored rows nor a frozen batch.
        receiver.answers = [503]
        self.assertEqual(daemon.sync()["outcome"], "transient")
        daemon.call("SetExtras", extras={"driver": "9"})
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual([request.root.get("extras", {}) for request in receiver.requests], wanted[:1] + wanted)
        self.assertEqual([len(request.ids) for request in receiver.requests], [1, 1, 2, 2, 2])
        self.assertEqual(receiver.requests[0].sha256, receiver.requests[1].sha256)
        self.assertNotIn("extras", receiver.requests[3].root, "none are left out, not empty")
        self.assertEqual(receiver.problems, [])

    def test_bounds(self):
        daemon = self.daemon().start()
        daemon.call("SetExtras", extras={"a" * 100: "b" * 1024, **{str(index): "" for index in range(63)}})
        before = self.extras(daemon)
        for extras, word in (
            ({"": "x"}, "1 to 100"), ({"a" * 101: "x"}, "1 to 100"), ({"a": "b" * 1025}, "1024"),
            ({str(index): "" for index in range(65)}, "at most 64"),
        ):
            with self.assertRaises(Refusal) as caught:
                daemon.call("SetExtras", extras=extras)
            self.assertIn(word, str(caught.exception.parameters))
        for wrong in ({"a": 1}, {"a": None}, ["a"], "a"):
            with self.assertRaises(Refusal):
                daemon.call("SetExtras", extras=wrong)
        self.assertEqual(self.extras(daemon), before)

    def test_a_damaged_file_does_not_prevent_starting(self):
        daemon = self.daemon(extras={"a": "1"}).start()
        daemon.call("SetExtras", extras={"a": "2"})
        daemon.kill()
        for content in (b"", b"{", b"\xff", b'{"set": 5, "unset": []}', b"[]"):
            for name in ("extras.json", "extras.json.copy"):
                with open(os.path.join(daemon.state, name), "wb") as file:
                    file.write(content)
            daemon.start()
            self.assertEqual(self.extras(daemon), {"a": "1"})
            daemon.kill()

    def test_beekonctl(self):
        daemon = self.daemon(extras={"vehicle": "7"}).start()

        def run(*arguments: str) -> subprocess.CompletedProcess:
            return subprocess.run([program("beekonctl"), "extras", *arguments, "--socket", daemon.socket],
                                  capture_output=True, text=True, timeout=60)

        self.assertEqual(run("show").stdout, "vehicle = 7\n")
        self.assertEqual(run("set", "driver=12", "note=a=b c").stdout, "driver = 12\nnote = a=b c\nvehicle = 7\n")
        self.assertEqual(json.loads(run("unset", "vehicle", "note", "--json").stdout), {"extras": {"driver": "12"}})
        self.assertEqual(self.extras(daemon), {"driver": "12"})
        failed = run("unset", "vehicle")
        self.assertEqual((failed.returncode, "vehicle" in failed.stderr), (65, True))
        self.assertEqual(run("set", "driver").returncode, 64)
        self.assertEqual(run("set", "=x").returncode, 64)
        self.assertEqual(run("set", "x=" + "y" * 2000).returncode, 78)


if __name__ == "__main__":
    unittest.main()
