"""A page in headless Chromium, driven through its debugging pipe: it waits for each result, however slow the machine is."""
from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time

from support.programs import installed
from support.waiting import wait_for

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-headless-shell") or shutil.which("chromium-browser")
PATIENCE = 180.0


class BrowserFault(Exception):
    """The browser refused a command, or a script on the page threw."""


class Browser:
    """One page, in a browser that can reach only files. `profile` is its private folder."""

    def __init__(self, profile: str):
        self._number, self._buffer = 0, b""
        self._session: str | None = None
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        # The browser reads commands from descriptor 3 and answers on 4; a NUL ends each message.
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash", installed(CHROMIUM), "--headless", "--no-sandbox",
             "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={profile}", "--lang=en-US",
             "--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1200,1000", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(commands, answers), env={**os.environ, "TZ": "UTC"})
        os.close(commands)
        os.close(answers)

    def __enter__(self) -> Browser:
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return self

    def __exit__(self, *_):
        os.close(self._write)
        self._process.kill()
        self._process.wait()
        os.close(self._read)

    def command(self, method: str, **parameters) -> dict:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data):]
        while (answer := self._message()).get("id") != self._number:
            pass
        if "error" in answer:
            raise BrowserFault(f"{method}: {answer['error']}")
        return answer["result"]

    def _message(self) -> dict:
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], max(0, deadline - time.monotonic()))[0]:
                raise BrowserFault("the browser does not answer")
            if not (data := os.read(self._read, 1 << 20)):
                raise BrowserFault("the browser has ended")
            self._buffer += data
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def run(self, script: str):
        """Runs the body of an async function, and returns its result."""
        answer = self.command(
            "Runtime.evaluate", expression=f"(async () => {{ {script} }})()", awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise BrowserFault(answer["exceptionDetails"])
        return answer["result"].get("value")

    def open(self, path: str, dark: bool = False):
        """Returns once the page has drawn itself, which it marks on its root element."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])
        self.command("Page.navigate", url="file://" + path)
        wait_for(lambda: self.run("return document.documentElement?.dataset.drawn"), f"{path} draws itself", PATIENCE)

    def document(self) -> str:
        return self.run("return document.documentElement.outerHTML")

    def screenshot(self) -> bytes:
        return base64.b64decode(self.command("Page.captureScreenshot")["data"])
