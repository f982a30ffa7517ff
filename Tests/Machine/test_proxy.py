"""beekond uploads through an nginx with TLS, as many backends use: reloaded, down, and with too low a limit."""
from __future__ import annotations

import shutil
import signal
import subprocess
import unittest

from support import tls
from support.child import Child
from support.ports import new_port, reachable
from support.programs import installed
from support.system_test import SystemTest
from support.waiting import wait_for

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


@tls.needs_openssl
@unittest.skipUnless(NGINX, "nginx is not installed (Debian's package nginx-light)")
class ProxyTest(SystemTest):
    real_time = True

    def setUp(self):
        super().setUp()
        self.receiver = self.backend()
        self.port = new_port()
        authority = tls.Authority(self.path("ca"))
        self.certificate, self.key = authority.certificate("backend")
        self.ca = authority.ca
        self.write(limit="1m")
        self.nginx = self.start()

    def write(self, limit: str):
        with open(self.path("nginx.conf"), "w", encoding="ascii") as file:
            file.write(f"""
                daemon off; pid {self.path("nginx.pid")}; error_log {self.path("error.log")}; user root;
                events {{}}
                http {{
                    access_log off; client_body_temp_path {self.path("body")}; proxy_temp_path {self.path("proxy")};
                    fastcgi_temp_path {self.path("f")}; uwsgi_temp_path {self.path("u")}; scgi_temp_path {self.path("s")};
                    server {{
                        listen 127.0.0.1:{self.port} ssl; client_max_body_size {limit};
                        ssl_certificate {self.certificate}; ssl_certificate_key {self.key};
                        location / {{ proxy_pass http://127.0.0.1:{self.receiver.port}; }}
                    }}
                }}""")

    def start(self) -> Child:
        # Registered after the child's own cleanup, so it runs first.
        self.nginx = self.child([NGINX, "-p", self.directory, "-c", self.path("nginx.conf")], "nginx")
        self.addCleanup(self.stop)
        wait_for(lambda: reachable(self.port), lambda: f"nginx listens; it said:\n{self.nginx.text()}")
        return self.nginx

    def stop(self):
        """Ends it gracefully: a killed master leaves its workers behind."""
        if self.nginx.running:
            self.nginx.signal(signal.SIGTERM)
            self.nginx.wait()

    def tracked(self, **sync) -> tuple:
        url = f"https://127.0.0.1:{self.port}/locations"
        return self.tracking(sync={"url": url, "ca_file": self.ca, **sync})

    def drive(self, fake, daemon, count: int):
        """Sends this many more fixes; each is stored."""
        admitted = daemon.status()["gate"]["admitted"]
        fake.drive(count)
        daemon.wait_stored(admitted + count)

    def reload(self):
        subprocess.run([installed(NGINX), "-p", self.directory, "-c", self.path("nginx.conf"), "-s", "reload"], check=True,
                       stderr=subprocess.DEVNULL)

    def limit(self, size: str):
        """Restarts nginx with this limit, which takes effect at once, unlike a reload."""
        self.stop()
        self.write(limit=size)
        self.start()

    def assert_all_arrived(self, daemon):
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "nothing is pending")
        self.assertEqual(self.receiver.faults(), [])
        self.assertEqual(len(self.receiver.ids), daemon.status()["gate"]["admitted"])

    def test_uploads_and_outlives_a_reload(self):
        fake, daemon = self.tracked()
        for _ in range(3):
            self.drive(fake, daemon, 5)
            self.assertEqual(daemon.sync()["outcome"], "drained")
            # Kept-alive connections end with the old workers.
            self.reload()
        self.assert_all_arrived(daemon)

    def test_waits_while_the_proxy_or_the_server_behind_it_is_gone(self):
        fake, daemon = self.tracked()
        self.stop()
        self.drive(fake, daemon, 5)
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.start()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assert_all_arrived(daemon)
        # A proxy whose server is down answers 502.
        self.receiver.stop()
        self.drive(fake, daemon, 5)
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.assertEqual(daemon.status()["sync"]["last_http_status"], 502)

    def test_too_low_a_limit_is_reported_and_loses_nothing(self):
        self.limit("200")
        fake, daemon = self.tracked(batch_size=50)
        self.drive(fake, daemon, 60)
        self.assertEqual(daemon.sync()["outcome"], "permanent")
        status = daemon.status()
        self.assertEqual(status["sync"]["last_http_status"], 413)
        self.assertIn("413", daemon.text())
        self.assertIn("batch_size", daemon.text())
        self.limit("1m")
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assert_all_arrived(daemon)


if __name__ == "__main__":
    unittest.main()
