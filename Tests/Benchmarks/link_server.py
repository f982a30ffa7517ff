"""nginx as Debian configures it, with a chain of three RSA certificates, in front of a backend that only answers."""
from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time

from link import FAR, Link

NAME = "backend.example.com"
PORT = 8443
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
# What an authority on the web writes into a certificate besides.
EXTENSIONS = """
[authority]
basicConstraints = critical, CA:true
keyUsage = critical, digitalSignature, keyCertSign, cRLSign
extendedKeyUsage = clientAuth, serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
authorityInfoAccess = caIssuers;URI:http://authority.example.com/root.cer
crlDistributionPoints = URI:http://authority.example.com/root.crl
certificatePolicies = 2.23.140.1.2.1
[server]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature, keyEncipherment
extendedKeyUsage = serverAuth, clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
authorityInfoAccess = caIssuers;URI:http://authority.example.com/issuing.cer
certificatePolicies = 2.23.140.1.2.1
subjectAltName = DNS:backend.example.com
[client]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
"""


class Certificates:
    """Three of RSA that the server sends, below a root that it does not, and a client's; all in one folder."""

    def __init__(self, folder: str):
        self.folder = folder
        with open(self.path("extensions"), "w", encoding="ascii") as file:
            file.write(EXTENSIONS)
        self._make("root", "authority", None, "/C=DE/O=Example Trust Services/CN=Example Root X1")
        self._make("first", "authority", "root", "/C=DE/O=Example Trust Services/CN=Example Intermediate R3")
        self._make("second", "authority", "first", "/C=DE/O=Example Trust Services/CN=Example Issuing R10")
        self._make("server", "server", "second", "/CN=" + NAME)
        self._make("client", "client", "root", "/O=Example Fleet/CN=van-12")
        with open(self.path("chain.pem"), "w", encoding="ascii") as chain:
            for name in ("server", "second", "first"):
                with open(self.path(name + ".pem"), encoding="ascii") as file:
                    chain.write(file.read())

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def _make(self, name: str, section: str, issuer: str | None, subject: str):
        request, key = self.path(name + ".csr"), self.path(name + ".key")
        signed = ["-signkey", key] if issuer is None else [
            "-CA", self.path(issuer + ".pem"), "-CAkey", self.path(issuer + ".key"), "-CAcreateserial"]
        for words in (["req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request, "-subj", subject],
                      ["x509", "-req", "-in", request, "-days", "30", "-sha256", "-out", self.path(name + ".pem"),
                       "-extfile", self.path("extensions"), "-extensions", section, *signed]):
            subprocess.run(["openssl", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Server:
    """At the far end of a link, until it is stopped."""

    def __init__(self, link: Link, certificates: Certificates, sink: str, *directives: str):
        folder = certificates.folder
        self._log = os.path.join(folder, "access.log")
        with contextlib.suppress(FileNotFoundError):
            os.remove(self._log)
        with link.far():
            self._sink = subprocess.Popen([sink], stdout=subprocess.PIPE, text=True)
            assert self._sink.stdout
            backend = int(self._sink.stdout.readline())
            path = os.path.join(folder, "nginx.conf")
            with open(path, "w", encoding="ascii") as file:
                file.write(f"""
                    daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log; user root;
                    events {{}}
                    http {{
                        sendfile on; tcp_nopush on; gzip on; default_type application/octet-stream;
                        ssl_protocols TLSv1 TLSv1.1 TLSv1.2 TLSv1.3; ssl_prefer_server_ciphers on;
                        log_format brief '$ssl_session_reused'; access_log {self._log} brief;
                        client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
                        uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
                        server {{
                            listen {FAR}:{PORT} ssl; server_name {NAME};
                            ssl_certificate {folder}/chain.pem; ssl_certificate_key {folder}/server.key;
                            {" ".join(line + ";" for line in directives)}
                            location / {{ proxy_pass http://127.0.0.1:{backend}; }}
                        }}
                    }}""")
            assert NGINX
            self._nginx = subprocess.Popen([NGINX, "-p", folder, "-c", path])
        deadline = time.monotonic() + 30
        while not os.path.exists(self._log) or not os.path.exists(os.path.join(folder, "pid")):
            if self._nginx.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("nginx did not start")
            time.sleep(0.02)

    def resumed(self) -> list[bool]:
        """For each request so far, whether its session was resumed."""
        with open(self._log, encoding="ascii") as file:
            return [line.startswith("r") for line in file]

    def stop(self):
        for process in (self._nginx, self._sink):
            process.kill()
            process.wait()
        if self._sink.stdout:
            self._sink.stdout.close()
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(os.path.dirname(self._log), "pid"))
