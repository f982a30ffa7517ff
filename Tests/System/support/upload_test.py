"""What tests of an upload share."""
from support.system_test import SystemTest


class UploadTest(SystemTest):
    def uploading(self, answers=(), sync=None, **options) -> tuple:
        """A backend with these answers, a fake gpsd, and a daemon that is tracking with one fix pending."""
        receiver = self.backend(answers=answers, **options)
        fake, daemon = self.tracking(sync={"url": receiver.url, **(sync or {})})
        return receiver, fake, daemon

    def check_clean(self, receiver):
        self.assertEqual(receiver.faults(), [])
        self.assertEqual(receiver.problems, [])

    def check_failed(self, daemon, failure: str, code: int):
        sync = daemon.status()["sync"]
        self.assertEqual((sync["state"], sync.get("failure"), sync.get("last_http_status")), ("failed", failure, code))
        self.assertEqual(daemon.status()["degraded"], ["auth" if failure == "auth" else "sync"])
