"""The description of the interface, and whether the server keeps to it: thousands of requests that schemathesis makes of it."""
import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import server_support
from server_support.server_test import ServerTest

# `make test-server` installs it there.
VENV = str(server_support.ROOT / "server" / ".build" / "venv" / "bin" / "schemathesis")
SCHEMATHESIS = VENV if os.access(VENV, os.X_OK) else shutil.which("schemathesis")
EXAMPLES = os.environ.get("BEEKOND_EXAMPLES", "10")


class DescriptionTests(ServerTest):
    def setUp(self):
        super().setUp()
        self.under_test = self.server().start()

    def test_references_lead_somewhere(self):
        document = json.loads(self.under_test.ask("GET", "/v1/openapi.json").body)
        self.assertEqual(document["openapi"], "3.1.0")

        def check(value):
            if isinstance(value, dict):
                if "$ref" in value:
                    place = document
                    for name in value["$ref"].split("/")[1:]:
                        place = place[name]
                for item in value.values():
                    check(item)
            elif isinstance(value, list):
                for item in value:
                    check(item)

        check(document)
        names = [operation["operationId"] for item in document["paths"].values() for method, operation in item.items()
                 if method != "parameters"]
        self.assertEqual(len(names), len(set(names)))

    @unittest.skipUnless(SCHEMATHESIS, "schemathesis is not installed ('make test-server' installs it from PyPI)")
    def test_schemathesis(self):
        admin = self.under_test.add_user("root", "admin")
        # A stream does not end; backups are for the local socket alone. RFC 6749 wants a 400 for a token that is none, and
        # an upload has a schema of its own.
        self.run_schemathesis(
            admin, "--exclude-path", "/v1/live", "--exclude-path", "/v1/backup", "--exclude-path", "/v1/token",
            "--exclude-path", "/v1/batches", "--exclude-path", "/v1/logs", "--exclude-path-regex", "^/v1/fences")
        # The first run has put out whom it found. No schema says whether a polygon's edges meet.
        self.run_schemathesis(
            self.under_test.add_user("eve", "admin"), "--include-path-regex", "^/v1/fences", "--exclude-checks",
            "positive_data_acceptance")
        # One of its own: the first run has revoked whom it found.
        device = self.under_test.add_device("van of the second run")
        self.run_schemathesis(
            device["access_token"], "--include-path", "/v1/token", "--include-path", "/v1/batches", "--include-path",
            "/v1/logs", "--exclude-checks", "positive_data_acceptance,unsupported_method")
        self.assertEqual(self.under_test.ask("GET", "/health/ready").status, 200)

    def run_schemathesis(self, token: str, *options: str):
        assert SCHEMATHESIS
        done = subprocess.run(
            [SCHEMATHESIS, "run", self.under_test.url + "/v1/openapi.json", "-H", f"Authorization: Bearer {token}",
             "--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES, "--seed", "1", "--no-color",
             # Of an answer, on a machine that may be busy.
             "--request-timeout", "60", *options],
            cwd=self.folder, capture_output=True, text=True)
        print("schemathesis: " + next((line.strip() for line in done.stdout.splitlines() if "generated" in line), ""))
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()
