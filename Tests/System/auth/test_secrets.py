"""With secrets everywhere they can be, every method called and every screen shown, none of them is seen anywhere."""
import json
import os
import stat
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.interface import CALLS
from support.programs import program
from support.system_test import SystemTest
from support.token_endpoint import Endpoint
from support.waiting import wait_for

# A different word for each place, so that a leak names its source.
SECRETS = {
    "user": "uSeRnAmE-1", "password": "pAsSwOrD-2", "query": "qUeRyKeY-3", "header": "hEaDeR-4", "access": "aCcEsS-5",
    "refresh": "rEfReSh-6", "payload": "pAyLoAd-7", "refresh header": "rEfReShHeAdEr-8", "refresh query": "rEfReShQuErY-9",
    "seeded access": "sEeDeD-10", "seeded refresh": "sEeDeD-11", "rotated": Endpoint.MARK,
    "refresh user": "rEfReShUsEr-13", "refresh password": "rEfReShPaSs-14",
}
# The configured secrets other than tokens: the copy of the last good one holds them, readable only by beekond.
KEPT = {"user", "password", "query", "header", "payload", "refresh header", "refresh query", "refresh user", "refresh password"}


class SecretTests(SystemTest):
    def guarded(self):
        backend = self.backend(answers=[401] * 3)
        endpoint = Endpoint()
        self.addCleanup(endpoint.stop)
        fake = self.fake()
        refresh_url = endpoint.url.replace("http://", "http://{refresh user}:{refresh password}@") + "?k={refresh query}"
        daemon = self.daemon(
            fake.port, sync={"url": backend.url.replace("http://", "http://{user}:{password}@").format(**SECRETS)
                             + "?key=" + SECRETS["query"]},
            **{"sync.headers": {"X-Api-Key": SECRETS["header"]},
               "sync.auth": {"access_token": SECRETS["access"], "refresh_token": SECRETS["refresh"],
                             "refresh_url": refresh_url.format(**SECRETS)},
               "sync.auth.refresh_payload": {"client_secret": SECRETS["payload"], "token": "{refreshToken}"},
               "sync.auth.refresh_headers": {"X-Client": SECRETS["refresh header"]}})
        daemon.environment["BEEKOND_LOG"] = "debug"
        return fake, daemon.start()

    def search(self, name: str, text, spared=()):
        data = text if isinstance(text, bytes) else text.encode()
        for place, secret in SECRETS.items():
            if place not in spared:
                self.assertNotIn(secret.encode(), data, f"the {place} is in {name}")

    def test_none_is_seen(self):
        fake, daemon = self.guarded()
        listener = self.listener(daemon)
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        daemon.sync()
        seed = {"access_token": SECRETS["seeded access"], "refresh_token": SECRETS["seeded refresh"]}
        calls = [(row.method, {**row.parameters, **(seed if row.method == "SeedAuth" else {})}, row.more) for row in CALLS]
        calls += [("org.varlink.service.GetInfo", {}, False)]
        # A refused value must not come back in the error either.
        calls += [("SeedAuth", {"access_token": SECRETS["access"] + "\n"}, False),
                  ("SeedAuth", {"access_token": SECRETS["access"], "expires_at": -1}, False),
                  ("Configure", {"settings": {"sync.headers.X-Api-Key": SECRETS["header"]}}, False),
                  ("Configure", {"settings": {"sync.auth.access_token": SECRETS["access"], "no.such": SECRETS["payload"]}},
                   False)]
        for method, parameters, more in calls:
            with self.subTest(method), daemon.connect() as client:
                client.send(method, parameters, **({"more": True} if more else {}))
                self.search(method, json.dumps(client.reply()))
        daemon.sync()
        wait_for(lambda: [event for event in listener.events if event["kind"] == "auth"], "an event of the token")
        self.search("the events", json.dumps(listener.events))
        self.search("what the tool shows", self.screens(daemon))
        # Reloading a broken file is reported without quoting the file.
        with open(daemon.config, "a", encoding="utf-8") as file:
            file.write(f'\n[sync.auth.refresh_headers]\nX-Other = "{SECRETS["refresh header"]}\n')
        daemon.reload()
        daemon.wait_status(lambda status: "config" in status["degraded"], "a bad configuration")
        self.search("the status after it", json.dumps(daemon.status()))
        self.search("the command line and the environment", self.process(daemon))
        self.search("the log", daemon.text())
        self.assertIn("(set)", json.dumps(daemon.call("GetConfig")))
        daemon.terminate()
        self.search("the log after the end", daemon.text())
        self.files(daemon)

    def screens(self, daemon) -> bytes:
        shown = b""
        for words in (["status"], ["status", "--json"], ["auth", "show"], ["history"], ["watch", "--count", "1"],
                      ["rejected", "list"],
                      ["doctor", "--config", daemon.config, "--state-dir", daemon.state], ["sync"]):
            done = subprocess.run([program("beekonctl"), *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                                  env={**os.environ, "BEEKOND_SOCKET": daemon.socket})
            shown += done.stdout + done.stderr
        done = subprocess.run([program("beekond"), "--config", daemon.config, "--check"], capture_output=True, timeout=60)
        return shown + done.stdout + done.stderr

    def process(self, daemon) -> bytes:
        found = b""
        for name in ("cmdline", "environ", "status", "comm"):
            with open(f"/proc/{daemon.child.process.pid}/{name}", "rb") as file:
                found += file.read()
        return found

    def files(self, daemon):
        """No file holds a token in the clear; the copy of the configuration, which has the other secrets, is private."""
        for parent, _, names in os.walk(daemon.state):
            self.assertEqual(stat.S_IMODE(os.stat(parent).st_mode) & 0o077, 0, parent)
            for name in names:
                path = os.path.join(parent, name)
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode) & 0o077, 0, path)
                with open(path, "rb") as file:
                    self.search(name, file.read(), KEPT if name == "last-good.toml" else ())


if __name__ == "__main__":
    unittest.main()
