"""Certificates from a small private authority, made with openssl(1), and servers that present them."""
from __future__ import annotations

import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import threading
import unittest
import warnings
from datetime import UTC, datetime, timedelta

from support.ports import new_port
from support.programs import installed

OPENSSL = shutil.which("openssl")
needs_openssl = unittest.skipUnless(OPENSSL, "openssl(1) is not installed")


def openssl(*arguments: str, folder: str):
    done = subprocess.run([installed(OPENSSL), *arguments], cwd=folder, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise AssertionError(f"openssl {' '.join(arguments)}: {done.stderr}")


class Authority:
    """Makes certificates in a folder. `ca` is the file a client has to trust."""

    def __init__(self, folder: str):
        self.folder = folder
        os.makedirs(os.path.join(folder, "new"), exist_ok=True)
        for name in ("index.txt", "serial"):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write("" if name == "index.txt" else "01\n")
        with open(os.path.join(folder, "ca.cnf"), "w", encoding="ascii") as file:
            file.write(
                "[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nserial=serial\nnew_certs_dir=new\ndefault_md=sha256\n"
                "policy=p\nunique_subject=no\ncopy_extensions=copy\n[p]\ncommonName=supplied\n")
        self.ca = self._path("ca.pem")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.csr",
                "-subj", "/CN=Test authority", "-addext", "basicConstraints=critical,CA:TRUE",
                "-addext", "keyUsage=critical,keyCertSign,cRLSign", folder=folder)
        # From a minute ago: openssl(1) lives in this machine's time, whose second may be one later than that of a test.
        openssl("ca", "-batch", "-selfsign", "-config", "ca.cnf", "-keyfile", "ca.key", "-in", "ca.csr", "-out", "ca.pem",
                "-startdate", moment(-60 / 86_400), "-enddate", moment(3650), "-notext", folder=folder)

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def certificate(self, name: str, names="IP:127.0.0.1,DNS:localhost", days=(-2, 30), signed=True) -> tuple:
        """A certificate and its key, valid from `days[0]` to `days[1]` days from now; self-signed unless `signed`."""
        key, request, made = name + ".key", name + ".csr", name + ".pem"
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", request,
                "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}", folder=self.folder)
        if signed:
            openssl("ca", "-batch", "-config", "ca.cnf", "-cert", "ca.pem", "-keyfile", "ca.key", "-in", request, "-out", made,
                    "-startdate", moment(days[0]), "-enddate", moment(days[1]), "-notext", folder=self.folder)
        else:
            openssl("x509", "-req", "-in", request, "-signkey", key, "-out", made, "-days", str(days[1]),
                    "-copy_extensions", "copy", folder=self.folder)
        return self._path(made), self._path(key)


def moment(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).strftime("%Y%m%d%H%M%SZ")


def context(certificate: str, key: str, client_ca: str | None = None, most=None) -> ssl.SSLContext:
    """What a server presents; with `client_ca` it requests a certificate from that authority."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(certificate, key)
    if client_ca:
        made.load_verify_locations(client_ca)
        made.verify_mode = ssl.CERT_REQUIRED
    if most is not None:
        # OpenSSL 3 supports the old versions only below its usual security level.
        made.set_ciphers("DEFAULT:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that they are deprecated is the point
            made.minimum_version = ssl.TLSVersion.TLSv1
            made.maximum_version = most
    return made


class Terminator:
    """Terminates TLS and forwards to a plain port. `refused` has an entry for each failed handshake."""

    def __init__(self, made: ssl.SSLContext, port: int, at: int | None = None):
        self._context, self._target = made, port
        self.refused: list = []
        self.accepted = 0
        self._open: list = []
        self._listener = socket.create_server(("127.0.0.1", at or new_port()), backlog=16)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def url(self, host: str = "127.0.0.1") -> str:
        return f"https://{host}:{self.port}/locations"

    def _run(self):
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, raw):
        raw.settimeout(20)
        try:
            link = self._context.wrap_socket(raw, server_side=True)
            # In TLS 1.3 the client's certificate is checked after the handshake: only the first byte shows the result.
            first = link.recv(65536)
        except (OSError, ssl.SSLError) as error:
            self.refused.append(str(error))
            raw.close()
            return
        if not first:
            self.refused.append("closed before the first byte")
            link.close()
            return
        self.accepted += 1
        back = socket.create_connection(("127.0.0.1", self._target), 10)
        self._open += [link, back]
        back.sendall(first)
        there = threading.Thread(target=pump, args=(link, back), daemon=True)
        there.start()
        pump(back, link)

    def stop(self):
        for link in [self._listener, *self._open]:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()


def pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except (OSError, ValueError):
        pass
    for link in (source, target):
        with contextlib.suppress(OSError):
            link.shutdown(socket.SHUT_RDWR)
