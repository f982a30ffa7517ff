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
from support.seeds import sample

# `make test-server` installs it there.
VENV = str(server_support.ROOT / "server" / ".build" / "venv" / "bin" / "schemathesis")
SCHEMATHESIS = VENV if os.access(VENV, os.X_OK) else shutil.which("schemathesis")
EXAMPLES = os.environ.get("BEEKOND_EXAMPLES", "10")
# A stream does not end; backups are for the local socket alone. RFC 6749 wants a 400 for a token that is none, and an upload has
# a schema of its own.
OTHERS = {"/v1/live", "/v1/backup", "/v1/token", "/v1/batches", "/v1/logs"}


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
        document = json.loads(self.under_test.ask("GET", "/v1/openapi.json").body)
        paths = sorted(set(document["paths"]) - OTHERS)
        fences = [path for path in paths if path.startswith("/v1/fences")]
        rest = [path for path in paths if path not in fences]
        self.run_schemathesis(self.under_test.add_user("root", "admin"), *self.some("paths", rest, len(rest) // 5))
        # The first run has put out whom it found. No schema says whether a polygon's edges meet.
        self.run_schemathesis(
            self.under_test.add_user("eve", "admin"), *self.some("paths of fences", fences, 1), "--exclude-checks",
            "positive_data_acceptance")
        # One of its own: the first run has revoked whom it found.
        device = self.under_test.add_device("van of the second run")
        self.run_schemathesis(
            device["access_token"], "--include-path", "/v1/token", "--include-path", "/v1/batches", "--include-path",
            "/v1/logs", "--exclude-checks", "positive_data_acceptance,unsupported_method")
        self.assertEqual(self.under_test.ask("GET", "/health/ready").status, 200)

    @staticmethod
    def some(what: str, paths: list[str], few: int) -> list[str]:
        """Options that choose so many of the paths, other ones with each commit."""
        return [word for place in sample(what, len(paths), few) for word in ("--include-path", paths[place - 1])]

    def run_schemathesis(self, token: str, *options: str):
        assert SCHEMATHESIS
        done = subprocess.run(
            [SCHEMATHESIS, "run", self.under_test.url + "/v1/openapi.json", "-H", f"Authorization: Bearer {token}",
             "--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES, "--seed", "1", "--no-color",
             # Of an answer, on a machine that may be busy.
             "--request-timeout", "60", *options],
            cwd=self.folder, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": os.path.dirname(server_support.__file__), "SCHEMATHESIS_HOOKS": "periods"})
        print("schemathesis: " + next((line.strip() for line in done.stdout.splitlines() if "generated" in line), ""))
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()
