"""Who is told of alerts: a receiver of webhooks and one of mail, which can be as bad as any."""
from __future__ import annotations

import asyncio
import base64
import contextlib
import email
import email.message
import email.policy
import hashlib
import hmac
import http.server
import importlib.util
import json
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from support.ports import new_port

HAS_AIOSMTPD = importlib.util.find_spec("aiosmtpd") is not None


@dataclass
class Call:
    """One request of a webhook."""

    path: str
    headers: dict
    body: bytes
    # By a clock of no beginning, in seconds.
    came: float = field(default_factory=time.monotonic)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def json(self) -> dict:
        return json.loads(self.body)

    def is_signed(self, secret: str) -> bool:
        """As docs/alerts.md says."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        text = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        code = base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
        isgood = any(hmac.compare_digest(f"v1,{code}", word) for word in self.headers["webhook-signature"].split(" "))
        return isgood and abs(time.time() - int(self.headers["webhook-timestamp"])) < 300


class Hook:
    """A receiver of webhooks. How it answers depends on the path, and can be changed while it runs."""

    def __init__(self, port: int = 0):
        self.calls: list[Call] = []
        # By path: a status, `lost`, `late`, `slow`, `huge` or `redirect`; 204 where nothing is said.
        self.ways: dict[str, Any] = {}
        self.release = threading.Event()
        # Bytes of answers without end.
        self.sent = 0
        self.lock = threading.Lock()
        # Ids that are being received at this moment, and those that were received twice at once.
        self.under_way: Counter = Counter()
        self.at_once: set[str] = set()
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                hook.take(self)

            def log_message(self, format, *arguments):
                pass

        class Service(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, request, client_address):
                # Whoever is killed asks no further.
                pass

        self.server = Service(("127.0.0.1", port or new_port()), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def close(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()

    def take(self, request):
        length = int(request.headers.get("Content-Length", 0))
        body = request.rfile.read(length)
        if len(body) < length:
            # Cut off: this is no call.
            request.close_connection = True
            return
        call = Call(request.path, {name.lower(): value for name, value in request.headers.items()}, body)
        name = call.headers.get("webhook-id", "")
        # Whoever sees the call may change how the next ones are answered.
        way = self.ways.get(call.path, 204)
        with self.lock:
            self.calls.append(call)
            self.under_way[name] += 1
            if self.under_way[name] > 1:
                self.at_once.add(name)
        try:
            self.answer(request, way)
        finally:
            with self.lock:
                self.under_way[name] -= 1

    def answer(self, request, way):
        if way in ("late", "slow"):
            self.release.wait(0.1 if way == "late" else 60)
            way = 204
        if way == "lost":
            request.close_connection = True
            return
        if way == "redirect":
            request.send_response(302)
            request.send_header("Location", self.url("/elsewhere"))
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        if way == "huge":
            request.send_response(200)
            request.send_header("Content-Length", str(1 << 34))
            request.end_headers()
            with contextlib.suppress(OSError):
                while not self.release.is_set():
                    request.wfile.write(bytes(1 << 16))
                    self.sent += 1 << 16
            request.close_connection = True
            return
        request.send_response(way)
        request.send_header("Content-Length", "0")
        request.end_headers()

    def paths(self, path: str) -> int:
        """Calls there."""
        with self.lock:
            return sum(call.path == path for call in self.calls)

    def by_id(self) -> dict[str, list[Call]]:
        found = defaultdict(list)
        with self.lock:
            for call in self.calls:
                found[call.id].append(call)
        return found

    def ids(self, path: str | None = None) -> list[str]:
        with self.lock:
            return [call.id for call in self.calls if path in (None, call.path)]


@dataclass
class Mail:
    """What one recipient was sent."""

    recipient: str
    sender: str
    content: bytes
    # Whether the server was told that it was accepted.
    accepted: bool

    @property
    def message(self) -> email.message.EmailMessage:
        message = email.message_from_bytes(self.content, policy=email.policy.default)
        assert isinstance(message, email.message.EmailMessage)
        return message

    @property
    def id(self) -> str:
        return self.message["Message-ID"]

    @property
    def text(self) -> str:
        return self.message.get_content().replace("\r\n", "\n")

    @property
    def defects(self) -> list:
        message = self.message
        return [*message.defects, *(defect for value in message.values() for defect in value.defects)]


class MailSink:
    """A mail server that keeps what it gets. `ways` says by recipient what it answers: a line such as `451 later`, `lost` or
    `late`."""

    def __init__(self, port: int = 0, tls=None, login: tuple[str, str] | None = None):
        from aiosmtpd.controller import Controller
        from aiosmtpd.smtp import AuthResult, LoginPassword
        self.mails: list[Mail] = []
        self.ways: dict[str, str] = {}
        # Before DATA.
        self.refused: dict[str, str] = {}
        self.logins: list = []
        sink = self

        class Handler:
            async def handle_RCPT(self, server, session, envelope, address, options):
                if address in sink.refused:
                    return sink.refused[address]
                envelope.rcpt_tos.append(address)
                return "250 OK"

            async def handle_DATA(self, server, session, envelope):
                # Each recipient gets a mail of its own.
                [recipient] = envelope.rcpt_tos
                way = sink.ways.get(recipient, "250 OK")
                sink.mails.append(Mail(recipient, envelope.mail_from, envelope.original_content, way.startswith("250")))
                if way == "late":
                    await asyncio.sleep(0.1)
                elif way == "lost":
                    server.transport.abort()
                return "250 OK" if way in ("late", "lost") else way

        def authenticate(server, session, envelope, mechanism, data):
            assert isinstance(data, LoginPassword)
            sink.logins.append((data.login.decode(), data.password.decode()))
            return AuthResult(success=login == sink.logins[-1])

        self.port = port or new_port()
        more: dict = {"tls_context": tls, "require_starttls": True} if tls else {}
        if login:
            more |= {"authenticator": authenticate, "auth_required": True, "auth_require_tls": bool(tls)}
        self.controller = Controller(Handler(), hostname="127.0.0.1", port=self.port, data_size_limit=1 << 24, **more)
        self.controller.start()

    def close(self):
        self.controller.stop(no_assert=True)

    def of(self, recipient: str) -> list[Mail]:
        return [mail for mail in list(self.mails) if mail.recipient == recipient]
