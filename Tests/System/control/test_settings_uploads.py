"""Run-time settings of the upload, while it goes on; what happens to secrets and tokens."""
import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.auth_test import AuthTest
from support.daemon import NEVER
from support.settings_test import INTERVAL, SettingsTest
from support.token_endpoint import Endpoint
from support.waiting import never


class UploadTests(SettingsTest):
    def test_where_to_upload(self):
        fake, daemon = self.tracking()
        self.assertEqual(daemon.sync()["outcome"], "disabled")
        receiver = self.backend()
        self.set(daemon, sync__url=receiver.url, sync__interval_seconds=NEVER)
        # Any change in [sync] triggers one attempt at once.
        self.assertEqual(len(receiver.wait_requests(1)[0].ids), 1)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        daemon.call("ResetConfig", keys=["sync.url"])
        fake.drive(1)
        daemon.wait_stored(2)
        self.assertEqual(daemon.sync()["outcome"], "disabled")
        self.assertEqual(daemon.status()["sync"]["state"], "disabled")

    def test_another_url_while_a_request_is_under_way(self):
        first, second = self.backend(), self.backend()
        first.hold()
        fake, daemon = self.tracking(sync={"url": first.url})
        fake.drive(4)
        daemon.wait_stored(5)
        daemon.ask_for_sync()
        request = first.wait_requests(1)[0]
        self.set(daemon, sync__url=second.url)
        # The same bytes, at once, to the new address.
        again = second.wait_requests(1)[0]
        self.assertEqual((again.batch_id, again.sha256), (request.batch_id, request.sha256))
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual(len(first.requests), 1)
        self.receivers.remove(first)

    def test_a_schedule_change_does_not_interrupt_a_request(self):
        receiver = self.backend()
        receiver.hold()
        fake, daemon = self.tracking(sync={"url": receiver.url})
        daemon.ask_for_sync()
        receiver.wait_requests(1)
        batch = daemon.wait_status(lambda status: status["sync"].get("in_flight_batch"), "a request")["sync"]["in_flight_batch"]
        for threshold in range(1, 6):
            self.set(daemon, sync__sync_threshold=threshold + 100, sync__interval_seconds=3600 + threshold)
        never(lambda: len(receiver.moments) > 1, "the request is sent again", 40)
        self.assertEqual(daemon.status()["sync"]["in_flight_batch"], batch)
        # A change of the request, or of whether its batch may continue, does.
        receiver.go_on()
        self.set(daemon, sync__batch_size=7)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual(receiver.requests[-1].batch_id, batch)

    def test_a_threshold_takes_effect_at_once(self):
        receiver = self.backend()
        fake, daemon = self.tracking(sync={"url": receiver.url})
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.set(daemon, sync__sync_threshold=2)
        fake.drive(2)
        daemon.wait_status(lambda status: status["sync"]["uploaded"] == 3, "everything uploaded")

    def test_a_permanent_answer_and_another_batch_size(self):
        receiver = self.backend(answers=[413])
        fake, daemon = self.tracking(sync={"url": receiver.url})
        fake.drive(3)
        daemon.wait_stored(4)
        self.assertEqual(daemon.sync()["outcome"], "permanent")
        self.set(daemon, sync__batch_size=2)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual([len(request.ids) for request in receiver.requests], [4, 2, 2])

    def test_secrets_stay_out(self):
        receiver = self.backend()
        fake, daemon = self.tracking(sync={"url": receiver.url})
        for key, value in (
            ("sync.headers.X-Api-Key", "hunter2"), ("sync.headers.X-Api-Key", {"file": "/etc/hunter"}),
            ("sync.auth.access_token", "hunter2"), ("sync.auth.refresh_token", "hunter2"),
            ("sync.auth.access_token_file", "/etc/hunter"), ("sync.auth.refresh_payload.password", "hunter2"),
            ("sync.auth.refresh_headers.Authorization", "hunter2"), ("sync.ca_file", "/etc/hunter"),
            ("sync.client_key", "/etc/hunter"), ("sync.url", "https://u:hunter2@a.example/"),
            ("sync.url", "https://a.example/?key=hunter2"), ("sync.proxy", "http://u:hunter2@a.example/"),
            ("sync.auth.refresh_url", "https://a.example/#hunter2"), ("sync.url", "hunter2"),
        ):
            with self.subTest(key):
                parameters = self.refused(daemon, "InvalidConfiguration", "Configure", settings={key: value, INTERVAL: 5})
                self.assertEqual(parameters["key"], key)
                self.assertNotIn("hunter", json.dumps(parameters))
        self.assertEqual(daemon.setting(INTERVAL), 0)
        self.assertNotIn("hunter", daemon.text() + json.dumps(daemon.call("GetConfig")))
        self.assertFalse(os.path.exists(self.file(daemon)))


class TokenTests(AuthTest):
    def test_another_host_gets_no_tokens(self):
        for key in ("sync.url", "sync.auth.refresh_url"):
            with self.subTest(key):
                endpoint, receiver, fake, daemon = self.guarded()
                self.assertEqual(daemon.sync()["outcome"], "drained")
                seen = len(receiver.authorizations)
                fake.drive(1)
                daemon.wait_stored(2)
                # Another name for the same machine is another host.
                url = (receiver.url if key == "sync.url" else endpoint.url).replace("127.0.0.1", "localhost")
                daemon.call("Configure", settings={key: url})
                daemon.wait_status(lambda status: status["auth"]["state"] == "dead", "no tokens left")
                self.assertEqual(self.auth(daemon)["reason"], "host_changed")
                self.assertEqual(daemon.sync()["outcome"], "auth")
                self.assertEqual([text for text in receiver.authorizations[seen:] if text], [])
                # Not even for the previous host: they are gone.
                daemon.call("ResetConfig", keys=[key])
                self.restart(daemon)
                self.assertEqual(daemon.sync()["outcome"], "auth")
                self.assertEqual([text for text in receiver.authorizations[seen:] if text], [])
                endpoint.valid.add(Endpoint.MARK + "new")
                daemon.call("SeedAuth", access_token=Endpoint.MARK + "new")
                daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")


if __name__ == "__main__":
    unittest.main()
