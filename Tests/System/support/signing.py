"""Keys of a server, and lists of commands that are signed with them."""
from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path

OPENSSL = shutil.which("openssl")


class Signer:
    """A pair of keys in a folder. `public` is the file that a vehicle is given."""

    def __init__(self, folder: str, name: str = "key"):
        self._private, self.public = f"{folder}/{name}.pem", f"{folder}/{name}.pub"
        self._message = f"{folder}/{name}.message"
        self._run("genpkey", "-algorithm", "ed25519", "-out", self._private)
        self._run("pkey", "-in", self._private, "-pubout", "-out", self.public)

    def sign(self, content: dict) -> dict:
        """What stands in an answer for this list."""
        message = json.dumps(content).encode()
        Path(self._message).write_bytes(message)
        signature = self._run("pkeyutl", "-sign", "-rawin", "-inkey", self._private, "-in", self._message)
        return {"signed": base64.b64encode(message).decode(), "signature": base64.b64encode(signature).decode()}

    def _run(self, *arguments: str) -> bytes:
        return subprocess.run(["openssl", *arguments], check=True, capture_output=True).stdout
