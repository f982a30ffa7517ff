"""nginx in front of a backend, with TLS as its operator configures it, and its account of every request."""
from __future__ import annotations

import shutil
import unittest
from dataclasses import dataclass

from support.child import Child
from support.ports import reachable
from support.waiting import wait_for

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
needs_nginx = unittest.skipUnless(NGINX, "nginx is not installed (Debian's package nginx-light)")


@dataclass
class Entry:
    """One request, as nginx saw it."""

    resumed: bool
    protocol: str
    status: int
    agent: str


class Nginx:
    """One process, so that it can be killed, in a directory of its own."""

    def __init__(self, directory: str, port: int, backend: int, certificate: str, key: str):
        self.directory, self.port = directory, port
        self._backend, self._certificate, self._key = backend, certificate, key
        self._child: Child | None = None

    def start(self, *directives: str):
        """With these directives for its TLS, besides the versions that Debian's own configuration allows."""
        if not any(line.startswith("ssl_protocols") for line in directives):
            directives = ("ssl_protocols TLSv1 TLSv1.1 TLSv1.2 TLSv1.3", *directives)
        path = f"{self.directory}/nginx.conf"
        with open(path, "w", encoding="ascii") as file:
            file.write(f"""
                daemon off; master_process off; pid {self.directory}/pid; error_log {self.directory}/error.log; user root;
                events {{}}
                http {{
                    log_format brief '$ssl_session_reused $ssl_protocol $status $http_user_agent';
                    access_log {self.directory}/access.log brief;
                    client_body_temp_path {self.directory}/body; proxy_temp_path {self.directory}/proxy;
                    fastcgi_temp_path {self.directory}/f; uwsgi_temp_path {self.directory}/u; scgi_temp_path {self.directory}/s;
                    server {{
                        listen 127.0.0.1:{self.port} ssl;
                        ssl_certificate {self._certificate}; ssl_certificate_key {self._key};
                        {" ".join(line + ";" for line in directives)}
                        location / {{ proxy_pass http://127.0.0.1:{self._backend}; }}
                    }}
                }}""")
        self._child = Child([NGINX, "-p", self.directory, "-c", path], f"{self.directory}/said")
        wait_for(lambda: reachable(self.port), lambda: f"nginx listens; it said:\n{self.text()}")

    def stop(self):
        if self._child:
            self._child.kill()

    def text(self) -> str:
        return self._child.text() if self._child else ""

    def entries(self) -> list[Entry]:
        """Of all requests so far."""
        with open(f"{self.directory}/access.log", encoding="utf-8") as file:
            fields = [line.rstrip("\n").split(" ", 3) for line in file if line.endswith("\n")]
        return [Entry(reused == "r", protocol, int(status), agent) for reused, protocol, status, agent in fields]

    def wait_entries(self, count: int) -> list[Entry]:
        """nginx writes an entry when the answer has left, which may be later than the client has read it."""
        return wait_for(lambda: (found := self.entries())[count - 1:] and found,
                        lambda: f"{count} requests; there were {len(self.entries())}")
