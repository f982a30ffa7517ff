"""A backend that requires tokens, and an OAuth 2 token endpoint whose refresh tokens work once."""
from __future__ import annotations

import json
import threading
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from support.backend import Backend
from support.ports import new_port
from support.waiting import wait_for


class Endpoint:
    """POST /token rotates. `script` holds what to do instead, one entry per request:

    a status · ("raw", bytes) a 200 with this body · ("then", function) the function before the ordinary answer ·
    "lose" rotates and closes without an answer · "close" closes and does nothing · "hold" waits for `release`
    """

    # Begins every token and nothing else, so it must not be found anywhere.
    MARK = "s3cr3t-"

    def __init__(self, access: str | None = None, refresh: str | None = None, script=(), lifetime: int | None = 3600):
        self.script = list(script)
        self.lifetime = lifetime
        self.refresh = refresh
        self.valid = {access} if access else set()
        self.requests: list = []
        self.rotations = 0
        self.extra: dict = {}
        self.retry_after: int | None = None
        self.shape = lambda answer: answer
        self.released = threading.Event()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", new_port()), _Handler)
        self._server.endpoint = self
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/token"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    def seed(self) -> dict:
        """A valid pair, for a configuration."""
        self.refresh = self.MARK + "refresh-seed"
        access = self.MARK + "access-seed"
        self.valid.add(access)
        return {"access_token": access, "refresh_token": self.refresh}

    def expire(self):
        """Invalidates every access token handed out so far."""
        self.valid = set()

    def accepts(self, authorization: str | None) -> bool:
        return authorization is not None and authorization.split(" ")[-1] in self.valid

    def rotate(self, keep_old: bool = True) -> dict:
        with self._lock:
            self.rotations += 1
            access = f"{self.MARK}access-{self.rotations}"
            self.refresh = f"{self.MARK}refresh-{self.rotations}"
            if not keep_old:
                self.valid = set()
            self.valid.add(access)
        answer: dict = {"access_token": access, "refresh_token": self.refresh, "token_type": "Bearer"}
        if self.lifetime is not None:
            answer["expires_in"] = self.lifetime
        return self.shape({**answer, **self.extra})

    def settle(self):
        """Waits until all earlier requests have been handled."""
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=20)
        except urllib.error.HTTPError:
            pass  # connections are accepted in order, so all earlier ones are being handled now, or done
        wait_for(lambda: self._server.active == 0, "the endpoint is at rest")

    def wait_requests(self, count: int):
        wait_for(lambda: len(self.requests) >= count,
                 lambda: f"{count} refreshes; there were {len(self.requests)}")
        return self.requests[:count]


class Call:
    """One request as it came."""

    def __init__(self, headers, body: bytes):
        self.headers, self.body = headers, body
        self.fields = {}
        kind = headers.get("Content-Type", "")
        if kind == "application/json":
            self.fields = json.loads(body)
        elif kind == "application/x-www-form-urlencoded":
            self.fields = dict(urllib.parse.parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body)))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    endpoint: Endpoint

    def __init__(self, *arguments):
        self.active = 0
        self._lock = threading.Lock()
        super().__init__(*arguments)

    def process_request(self, request, address):
        with self._lock:
            self.active += 1
        super().process_request(request, address)

    def process_request_thread(self, request, address):
        super().process_request_thread(request, address)
        with self._lock:
            self.active -= 1

    def handle_error(self, request, address):
        """Killed clients disconnect in the middle of a request."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_POST(self):
        endpoint = self.server.endpoint
        call = Call(self.headers, self.rfile.read(int(self.headers.get("Content-Length", "0"))))
        endpoint.requests.append(call)
        step = endpoint.script.pop(0) if endpoint.script else None
        if step == "hold":
            endpoint.released.wait(60)
            step = None
        if isinstance(step, tuple) and step[0] == "then":
            step[1]()
            step = None
        if step == "close":
            return self.cut()
        if isinstance(step, int):
            return self.answer(step, {"error": "scripted"})
        if isinstance(step, tuple):
            return self.answer(200, step[1])
        if call.fields.get("refresh_token") != endpoint.refresh:
            return self.answer(400, {"error": "invalid_grant"})
        answer = endpoint.rotate()
        return self.cut() if step == "lose" else self.answer(200, answer)

    def cut(self):
        self.close_connection = True

    def answer(self, status: int, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if self.server.endpoint.retry_after is not None and status in (429, 503):
            self.send_header("Retry-After", str(self.server.endpoint.retry_after))
        if 300 <= status < 400:
            self.send_header("Location", self.server.endpoint.url + "2")
        self.end_headers()
        try:
            self.wfile.write(data)
        except ConnectionError:
            pass  # the daemon was killed meanwhile

    def log_message(self, *arguments):
        pass


class Guarded(Backend):
    """A backend that answers 401 to requests without a valid token of the endpoint."""

    def __init__(self, endpoint: Endpoint, refusal: int = 401, **options):
        self.endpoint = endpoint
        self.refusal = refusal
        self.authorizations: list = []
        super().__init__(**options)

    def take(self, body: bytes, headers):
        self.authorizations.append(headers.get("Authorization"))
        if not self.endpoint.accepts(headers.get("Authorization")):
            self.answers.insert(0, self.refusal)
        return super().take(body, headers)
