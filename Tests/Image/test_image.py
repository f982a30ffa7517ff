"""The image of beekon-server: what is in it, that it is made the same each time, and that it works, alone and by etc/compose."""
from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import debian
from images import POSTGRES, again, archive, stand_in
from podman import Podman
from server_support.server import envelope
from support.programs import ROOT
from support.text import match
from support.waiting import wait_for

IMAGE = "localhost/beekon-server:latest"
COMPOSE = os.path.join(ROOT, "etc", "compose")
DOCUMENT = os.path.join(ROOT, "docs", "own-server.md")
SITE = "fleet.example.org"
PASSWORD = "a long passphrase"
JSON = ("--header", "Content-Type: application/json")
# It is sent twice: the second time all of it is there.
BATCH = envelope(3)

podman: Podman


def digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def setUpModule():
    global podman
    folder = tempfile.mkdtemp(prefix="podman-")
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    podman = Podman(folder)
    unittest.addModuleCleanup(podman.run, "rm", "--all", "--force")
    podman.load(stand_in("caddy"), "localhost/caddy", "ENV XDG_DATA_HOME=/data", "ENV XDG_CONFIG_HOME=/config",
                'CMD ["caddy","run","--config","/etc/caddy/Caddyfile","--adapter","caddyfile"]')
    # By an image that is not under test.
    reason = podman.why_not("localhost/caddy")
    if reason:
        raise unittest.SkipTest(f"podman runs no containers here: {reason}")
    podman.run("load", "--quiet", "--input", archive())


class FilesTest(unittest.TestCase):
    def test_the_same_bytes_come_out_each_time(self):
        other = os.path.join(again(), "image", os.path.basename(archive()))
        self.assertEqual(digest(other), digest(archive()))

    def test_nothing_is_in_it_but_what_the_server_needs(self):
        with tarfile.open(archive()) as image:
            layer = next(member for member in image if member.name.endswith(".tar"))
            with tarfile.open(fileobj=image.extractfile(layer)) as files:
                found = {member.name: member for member in files}
        programs = {name for name, member in found.items() if member.isreg() and member.mode & 0o111 and ".so" not in name}
        self.assertEqual(programs, {"usr/bin/beekon-server"})
        self.assertEqual({name for name in found if "/bin/" in name}, {"usr/bin/beekon-server"})
        self.assertEqual({name for name, member in found.items() if member.uid or member.gid}, {"data"})
        self.assertEqual([name for name, member in found.items() if member.mode & 0o6000], [], "nothing changes who runs it")
        self.assertGreater(found["etc/ssl/certs/ca-certificates.crt"].size, 100_000)
        for name in ("usr/share/beekon-server/page/index.html", "usr/share/javascript/leaflet/leaflet.esm.min.js",
                     "usr/share/doc/beekon-server/copyright", "var/lib/dpkg/status.d/libc6"):
            self.assertIn(name, found)
        size = sum(member.size for member in found.values())
        largest = sorted(((member.size, name) for name, member in found.items()), reverse=True)[:8]
        print(f"\n{len(found)} files and folders, {size / 1e6:.1f} MB; the largest:")
        print("\n".join(f"{size / 1e6:6.2f} MB {name}" for size, name in largest))
        self.assertLess(size, 60_000_000)

    def test_who_runs_it_and_how_it_is_checked(self):
        found = json.loads(podman.output("image", "inspect", IMAGE))[0]
        configuration = found["Config"]
        self.assertEqual(configuration["User"], "65532:65532")
        self.assertEqual(found["Healthcheck"]["Test"], ["CMD", "beekon-server", "health"])
        self.assertEqual(list(configuration["Volumes"]), ["/data"])
        self.assertIn("BEEKON_SERVER_LISTEN=0.0.0.0:8080", configuration["Env"])


class AloneTest(unittest.TestCase):
    """With an SQLite file."""

    def setUp(self):
        podman.run("run", "--detach", "--name", "alone", "--read-only", "--read-only-tmpfs=false", "--cap-drop", "all",
                   "--publish", "127.0.0.1:8080:8080", "--volume", "fleet:/data", IMAGE)
        self.addCleanup(podman.run, "volume", "rm", "--force", "fleet")
        self.addCleanup(podman.run, "rm", "--force", "alone")
        self.wait()

    def wait(self):
        wait_for(lambda: podman.run("healthcheck", "run", "alone", check=False)[0] == 0,
                 lambda: f"it is healthy; it said:\n{podman.run('logs', 'alone', check=False)}")

    def test_it_serves_and_keeps_what_it_was_given(self):
        self.assertEqual(podman.output("exec", "alone", "beekon-server", "health"), "ready: 127.0.0.1:8080")
        code, _, errors = podman.run("exec", "--env", "BEEKON_SERVER_LISTEN=127.0.0.1:9", "alone", "beekon-server", "health",
                                     check=False)
        self.assertEqual(code, 1)
        self.assertIn("not ready: nothing can be asked at 127.0.0.1:9", errors)
        self.assertNotEqual(podman.run("exec", "alone", "sh", "-c", "true", check=False)[0], 0, "no shell")
        token = enroll("http://127.0.0.1:8080", podman.output("exec", "alone", "beekon-server", "claim", "add"))
        self.assertEqual(upload("http://127.0.0.1:8080", token)["stored"], 3)
        podman.run("stop", "--time", "20", "alone")
        self.assertEqual(podman.output("inspect", "--format", "{{.State.ExitCode}}", "alone"), "0", "it ends by itself")
        podman.run("start", "alone")
        self.wait()
        self.assertEqual(upload("http://127.0.0.1:8080", token)["duplicates"], 3)
        self.assertIn("<!doctype html>", curl("http://127.0.0.1:8080/").lower())


class ComposeTest(unittest.TestCase):
    """With PostgreSQL and Caddy, by the commands of docs/own-server.md."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="compose-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        postgres = os.path.join(self.folder, "postgres")
        with open(postgres, "w", encoding="utf-8") as file:
            file.write(POSTGRES)
        os.chmod(postgres, 0o755)
        # What is written over the Debian below stays in the test's folder.
        root = debian.overlay(stand_in("postgres"), os.path.join(self.folder, "over"))
        self.addCleanup(subprocess.run, ["umount", "--lazy", root], check=True)
        shutil.copy(postgres, os.path.join(root, "entrypoint"))
        podman.load(root, "localhost/postgres", 'ENTRYPOINT ["/entrypoint"]', "VOLUME /var/lib/postgresql/data")

    def shell(self, command: str, stdin: str = "", check: bool = True) -> str:
        code, said, errors = podman.run("-ec", command, program="bash", cwd=self.folder, input=stdin, seconds=300, check=False)
        print(f"\n$ {command}\n{said}{errors}")
        if check and code:
            raise AssertionError(f"{command}: exit {code}\n{said}{errors}\n{self.logs()}")
        return said

    def logs(self) -> str:
        return "\n".join(f"{name}: {podman.run('logs', '--tail', '20', name, check=False)[1:]}"
                         for name in podman.output("ps", "--all", "--format", "{{.Names}}").split())

    def write_environment(self):
        """What the document says is to be filled in."""
        path = os.path.join(self.folder, "compose", ".env")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for name, value in (("POSTGRES_PASSWORD", "5ecret"), ("CADDY_TLS", "tls internal")):
            text, count = re.subn(rf"^{name}=$", f"{name}={value}", text, flags=re.M)
            self.assertEqual(count, 1, name)
        text += "POSTGRES_IMAGE=localhost/postgres\nCADDY_IMAGE=localhost/caddy\n"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_every_command_of_the_document(self):
        image = os.path.join(self.folder, "server", ".build", "image")
        os.makedirs(image)
        os.symlink(archive(), os.path.join(image, os.path.basename(archive())))
        shutil.copytree(COMPOSE, os.path.join(self.folder, "etc", "compose"))
        with open(DOCUMENT, encoding="utf-8") as file:
            section = match(r"\n## With containers\n(.*?)(\n## |\Z)", file.read(), re.S)[1]
        lines = [re.sub(r"\s+# .*$", "", line) for block in re.findall(r"```sh\n(.*?)```", section, re.S)
                 for line in block.splitlines()]
        self.addCleanup(lambda: self.shell("cd compose; podman-compose down --volumes", check=False))
        before, said = "", {}
        for line in lines:
            if line == "make image":
                continue  # its image is what is tested here
            if line.startswith("cd "):
                before = line + "; "
                continue
            if line.startswith("editor "):
                self.write_environment()
                continue
            said[line] = self.shell(before + line, PASSWORD + "\n" if " password " in line else "")
            if " up " in line:
                self.wait_ready()
        code = match(r"\w{5}(-\w{5}){3}", next(said[line] for line in said if "claim add" in line))[0]
        self.look(code)

    def server(self) -> str:
        return next(name for name in podman.output("ps", "--all", "--format", "{{.Names}}").split() if "server" in name)

    def wait_ready(self):
        wait_for(lambda: podman.run("healthcheck", "run", self.server(), check=False)[0] == 0,
                 lambda: f"the server is healthy; they said:\n{self.logs()}")
        self.authority = os.path.join(self.folder, "authority.crt")
        volume = podman.output("volume", "inspect", "compose_certificates", "--format", "{{.Mountpoint}}")
        made = os.path.join(volume, "caddy/pki/authorities/local/root.crt")
        wait_for(lambda: os.path.exists(made), lambda: f"Caddy has made its authority; they said:\n{self.logs()}")
        shutil.copy(made, self.authority)
        ready = ["curl", "--silent", "--fail", "--output", "/dev/null", *self.trust(), f"https://{SITE}/health/ready"]
        wait_for(lambda: subprocess.run(ready, timeout=60).returncode == 0, lambda: f"Caddy serves; they said:\n{self.logs()}")

    def trust(self) -> tuple:
        return ("--cacert", self.authority, "--resolve", f"{SITE}:443:127.0.0.1")

    def look(self, code: str):
        """Through Caddy, as vehicles and people would; and after everything was stopped and removed but the volumes."""
        url = f"https://{SITE}"
        token = enroll(url, code, *self.trust())
        self.assertEqual(upload(url, token, *self.trust())["stored"], 3)
        person = json.dumps({"name": "ada", "password": PASSWORD})
        login = curl(f"{url}/v1/login", "--include", *JSON, "--data", person, *self.trust())
        self.assertRegex(login, r"(?i)set-cookie: [^\n]*secure", "the server knows that it is TLS")
        self.assertIn("<!doctype html>", curl(url + "/", *self.trust()).lower())
        # Without its database it is not healthy, and then it is again.
        database = next(name for name in podman.output("ps", "--format", "{{.Names}}").split() if "database" in name)
        podman.run("stop", "--time", "5", database)
        self.assertEqual(podman.run("healthcheck", "run", self.server(), check=False)[0], 1)
        podman.run("start", database)
        self.wait_ready()
        self.shell("cd compose; podman-compose down && podman-compose up -d")
        self.wait_ready()
        self.assertEqual(upload(url, token, *self.trust())["duplicates"], 3)


def curl(url: str, *options: str) -> str:
    done = subprocess.run(["curl", "--silent", "--show-error", "--fail", "--max-time", "20", *options, url], capture_output=True,
                          text=True, timeout=60)
    if done.returncode:
        raise AssertionError(f"curl {url}: {done.stderr}")
    return done.stdout


def enroll(url: str, code: str, *options: str) -> str:
    """A vehicle's token."""
    return json.loads(curl(f"{url}/v1/enroll", *JSON, "--data", json.dumps({"name": "van", "code": code}),
                           *options))["access_token"]


def upload(url: str, token: str, *options: str) -> dict:
    return json.loads(curl(f"{url}/v1/batches", "--header", f"Authorization: Bearer {token}",
                           *JSON, "--data", json.dumps(BATCH), *options))


if __name__ == "__main__":
    unittest.main()
