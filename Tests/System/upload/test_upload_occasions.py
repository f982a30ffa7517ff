"""When the real daemon uploads, and where to."""
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.daemon import NEVER
from support.fake_gpsd import from_iso
from support.upload_test import UploadTest
from support.waiting import never


class OccasionTests(UploadTest):
    def test_threshold(self):
        receiver, fake, daemon = self.uploading(sync={"sync_threshold": 4})
        fake.drive(2)
        daemon.wait_stored(3)
        never(lambda: receiver.requests, "an upload below the threshold")
        fake.drive(1)
        self.assertEqual(len(receiver.wait_requests(1)[0].ids), 4)

    def test_stop_flushes(self):
        receiver, fake, daemon = self.uploading()
        fake.drive(2)
        daemon.wait_stored(3)
        self.assertEqual(receiver.requests, [])
        daemon.call("Stop")
        self.assertEqual(len(receiver.wait_requests(1, 0)[0].ids), 3)

    def test_fixes_are_stored_while_an_upload_hangs(self):
        receiver, fake, daemon = self.uploading()
        receiver.hold()
        daemon.ask_for_sync()
        receiver.wait_requests(1)
        fake.drive(200)
        daemon.wait_stored(201)
        daemon.wait_status(lambda status: status["sync"]["state"] == "uploading", "it still hangs")

    def test_sync_during_a_request_gets_an_attempt_of_its_own(self):
        receiver, fake, daemon = self.uploading(delay=0.3)
        daemon.ask_for_sync()
        receiver.wait_requests(1)
        fake.drive(2)
        daemon.wait_stored(3)
        began = time.monotonic()
        answer = daemon.sync()
        self.assertAlmostEqual(time.monotonic() - began, 0.6, 3)
        self.assertIn(answer["outcome"], ("drained", "nothing_pending"))
        self.assertEqual((answer["pending"], len(receiver.ids)), (0, 3))

    def test_sync_without_waiting_answers_at_once(self):
        receiver, fake, daemon = self.uploading()
        receiver.hold()
        began = time.monotonic()
        answer = daemon.call("Sync", wait=False)
        self.assertEqual(time.monotonic(), began)
        self.assertEqual(answer["pending"], 1)
        receiver.wait_requests(1)

    def test_a_restart_uploads_by_itself(self):
        """After a random delay of up to half a minute; this checks only that it is scheduled so."""
        receiver, fake, daemon = self.uploading()
        daemon.terminate()
        daemon.start()
        sync = daemon.wait_status(
            lambda status: status["sync"].get("next_attempt") or status["sync"]["uploaded"], "an attempt")["sync"]
        if not sync["uploaded"]:
            self.assertLess(from_iso(sync["next_attempt"]) / 1000 - time.time(), 30)

    # Where to

    def test_disabled_without_url(self):
        fake, daemon = self.tracking()
        self.assertEqual(daemon.sync(), {"outcome": "disabled", "uploaded": 0, "pending": 1})
        sync = daemon.status()["sync"]
        self.assertEqual((sync["state"], sync["pending"]), ("disabled", 1))
        # Rows from before there was a url become pending once there is one.
        receiver = self.backend()
        daemon.terminate()
        daemon.configure(sync={"url": receiver.url, "interval_seconds": NEVER})
        daemon.start()
        self.assertEqual(daemon.first_outcome(), "drained")
        self.assertEqual(len(receiver.ids), 1)

    def test_http_to_another_host_is_refused(self):
        daemon = self.daemon(sync={"url": "http://example.com/locations"}).launch()
        self.assertEqual(daemon.child.wait(), 78)
        self.assertIn("allow_insecure_http", daemon.text())

    def test_headers_and_url_verbatim(self):
        server = self.raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        target = "/a%20b/../c?x=1&y=%2F"
        headers: dict = {"sync.headers": {"X-Api-Key": "k 1", "X-E": ""}}
        fake, daemon = self.tracking(sync={"url": f"http://127.0.0.1:{server.port}{target}"}, **headers)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        head = server.requests[0].split(b"\r\n\r\n")[0].decode().split("\r\n")
        self.assertEqual(head[0], f"POST {target} HTTP/1.1")
        headers = dict(line.split(": ", 1) if ": " in line else (line.rstrip(": "), "") for line in head[1:])
        self.assertEqual(headers["X-Api-Key"], "k 1")
        self.assertEqual(headers["X-E"], "")
        self.assertEqual(headers["Content-Encoding"], "gzip")
        self.assertRegex(headers["User-Agent"], r"^beekond/\d")
        self.assertNotIn("Expect", headers)


if __name__ == "__main__":
    unittest.main()
