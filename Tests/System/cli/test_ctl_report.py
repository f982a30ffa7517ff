"""The report for support: it says what there is to say, and a stranger who opens it finds no secret and no place."""
import gzip
import io
import json
import os
import stat
import subprocess
import sys
import tarfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.daemon import NEVER
from support.programs import program
from support.token_endpoint import Endpoint
from support.users import UsersTest
from support.waiting import wait_for

# A different word for each place that can hold a secret, so that a leak names its source.
SECRETS = {
    "user": "uSeRnAmE01", "password": "pAsSwOrD02", "query": "qUeRyKeY03", "header": "hEaDeR04", "access": "aCcEsS05",
    "refresh": "rEfReSh06", "payload": "pAyLoAd07", "refresh header": "rHeAdEr08", "refresh query": "rQuErY09",
    "refresh user": "rUsEr10", "refresh password": "rPaSs11", "proxy password": "pRoXy12", "login": "lOgIn13",
    "login password": "lPaSs14", "key in the path": "pAtHkEy0123456789abcdef", "short key in the path": "pAtH17",
    "rotated": Endpoint.MARK,
}
# Where things are: digits that stand for nothing else, and texts of the operator's own.
PLACES = {
    "latitude": "48.8583", "longitude": "2.2944", "fence latitude": "-33.8567", "fence longitude": "151.2153",
    "fence radius": "1234.567", "extra": "Erika Musterfrau", "extra set while running": "Max Mustermann",
}


def unpacked(data: bytes) -> dict:
    """The files of an archive, by name, as Python's own tar reads them."""
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        files = {member.name: archive.extractfile(member) for member in archive.getmembers() if member.isfile()}
        return {name.removeprefix("beekond-report/"): file.read().decode() for name, file in files.items() if file}


class ReportTests(CtlTest):
    def planted(self):
        """A daemon with a secret wherever there can be one, and places."""
        backend = self.backend(answers=[401] * 3)
        other = self.backend()
        endpoint = Endpoint()
        self.addCleanup(endpoint.stop)
        fake = self.fake()
        url = backend.url.replace("http://", "http://{user}:{password}@").format(**SECRETS)
        refresh_url = endpoint.url.replace("http://", "http://{refresh user}:{refresh password}@") + "?k={refresh query}"
        daemon = self.daemon(
            fake.port, extras={"driver": PLACES["extra"]}, log={"level": "debug"},
            sync={"url": f"{url}/{SECRETS['short key in the path']}/{SECRETS['key in the path']}?key={SECRETS['query']}"}, **{
                "sync.headers": {"X-Api-Key": SECRETS["header"]},
                "sync.auth": {"access_token": SECRETS["access"], "refresh_token": SECRETS["refresh"],
                              "refresh_url": refresh_url.format(**SECRETS)},
                "sync.auth.refresh_payload": {"client_secret": SECRETS["payload"], "token": "{refreshToken}"},
                "sync.auth.refresh_headers": {"X-Client": SECRETS["refresh header"]},
                "destination.home": {
                    "url": other.url, "format": "owntracks", "device_id": "v1", "interval_seconds": NEVER,
                    "username": SECRETS["login"], "password": SECRETS["login password"],
                    "proxy": f"http://u:{SECRETS['proxy password']}@127.0.0.1:9"}}).start()
        self.receivers.remove(other)
        daemon.call("SetExtras", extras={"driver": PLACES["extra set while running"]})
        daemon.call("AddGeofences", geofences=[{
            "id": "depot", "latitude": float(PLACES["fence latitude"]), "longitude": float(PLACES["fence longitude"]),
            "radius_meters": float(PLACES["fence radius"])}])
        daemon.call("Start")
        fake.wait_watched()
        fake.drive(5, lat=float(PLACES["latitude"]), lon=float(PLACES["longitude"]))
        daemon.wait_stored(1)
        daemon.sync()
        daemon.call("Sync", destination="home")
        return daemon

    def journal(self, text: str) -> dict:
        """The environment in which journalctl says this."""
        folder = self.folder()
        path = os.path.join(folder, "journalctl")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n" if text else "#!/bin/sh\nexit 1\n")
        os.chmod(path, 0o755)
        return {"PATH": folder + ":" + os.environ["PATH"]}

    def report(self, daemon, *words: str, journal: str | None = None) -> tuple:
        path = self.path("report.tar.gz")
        done = subprocess.run(
            [program("beekonctl"), "report", "-o", path, "--config", daemon.config, *words], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=120,
            env=self.environment(daemon, **self.journal(daemon.text() if journal is None else journal)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        with open(path, "rb") as file:
            return file.read(), done

    def search(self, data: bytes, words: dict):
        raw = gzip.decompress(data)
        for name, text in unpacked(data).items():
            for place, word in words.items():
                self.assertNotIn(word, text, f"the {place} is in {name}")
        for place, word in words.items():
            self.assertNotIn(word.encode(), raw, place)

    def test_a_server_that_repeats_a_position_tells_it_nobody_else(self):
        said = (f"latitude {PLACES['latitude']} longitude=+{PLACES['longitude']}, fence [{PLACES['fence longitude']},"
                f"{PLACES['fence latitude']}] is out of range after 1.5 s")
        body = json.dumps({"title": "Bad row", "detail": said}).encode()
        answer = (b"HTTP/1.1 422 X\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
                  % len(body)) + body

        def serve(link):
            link.body(link.head())
            link.send(answer)

        server, fake = self.raw_server(serve), self.fake()
        daemon = self.daemon(fake.port, sync={"url": server.url, "mode": "manual"}).start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        daemon.sync()
        self.assertIn(PLACES["latitude"], daemon.status()["sync"]["last_reason"])
        self.assertIn(PLACES["latitude"], daemon.text())
        data, _ = self.report(daemon)
        self.search(data, PLACES)
        files = unpacked(data)
        self.assertIn("Bad row: latitude ", json.loads(files["status.json"])["sync"]["last_reason"])
        for name in ("status.json", "journal.txt"):
            self.assertIn("is out of range after 1.5 s", files[name])
        data, _ = self.report(daemon, "--with-track")
        self.assertIn(PLACES["latitude"], unpacked(data)["journal.txt"])

    def test_no_secret_and_no_place_is_in_it(self):
        daemon = self.planted()
        # What a server or a library echoes may be in the journal.
        echoes = "\n".join(f"x {secret} y" for name, secret in SECRETS.items() if name not in ("user", "refresh user", "rotated"))
        data, done = self.report(daemon, journal=daemon.text() + "\n" + echoes)
        files = unpacked(data)
        self.assertEqual(set(files), {"README.txt", "status.json", "metrics.txt", "doctor.txt", "configuration.txt",
                                      "versions.txt", "database.txt", "journal.txt"})
        self.search(data, {**SECRETS, **PLACES})
        self.assertEqual(done.stderr, "")
        self.assertIn("tracking", json.loads(files["status.json"])["state"])
        self.assertIn("beekond_up 1", files["metrics.txt"])
        self.assertIn("✗ endpoint", files["doctor.txt"])
        self.assertIn('sync.headers.X-Api-Key = "(set)"', files["configuration.txt"])
        self.assertIn('log.level = "debug"', files["configuration.txt"])
        self.assertIn("schema version", files["database.txt"])
        self.assertIn("beekon.db-wal", files["database.txt"])
        self.assertIn("is running", files["journal.txt"])
        self.assertIn("Debian", files["versions.txt"])
        self.assertIn("No positions", files["README.txt"])

    def test_the_track_is_in_it_if_that_is_wanted(self):
        daemon = self.planted()
        data, _ = self.report(daemon, "--with-track")
        self.search(data, SECRETS)
        files = unpacked(data)
        track = [json.loads(line) for line in files["track/locations.jsonl"].splitlines()]
        self.assertEqual({location["id"] for location in track}, daemon.stored_ids())
        self.assertEqual(json.loads(files["track/geofences.json"])[0]["id"], "depot")
        self.assertEqual(json.loads(files["track/extras.json"]), {"driver": PLACES["extra set while running"]})
        self.assertIn("CONTAINS where", files["README.txt"])

    def test_what_cannot_be_read_is_named(self):
        daemon = self.planted()
        daemon.kill()
        data, done = self.report(daemon, journal="")
        files = unpacked(data)
        self.search(data, {**SECRETS, **PLACES})
        for gap in ("status.json", "journal.txt"):
            self.assertIn(gap, done.stderr)
            self.assertIn(gap, files["README.txt"].split("could not be read")[1])
            self.assertNotIn(gap, files)
        self.assertIn('sync.headers.X-Api-Key = "(set)"', files["configuration.txt"], "read from the file")

    def test_tar_reads_it(self):
        _, daemon = self.tracking()
        path = self.path("report.tar.gz")
        self.report(daemon)
        done = subprocess.run(["tar", "tzvf", path], capture_output=True, text=True, check=True)
        self.assertIn("beekond-report/README.txt", done.stdout)
        self.assertEqual(done.stderr, "")


class ReportRightsTests(UsersTest):
    def test_a_member_gets_what_a_member_may_read(self):
        fake = self.fake()
        daemon = self.unprivileged_daemon(fake.port, **{"sync.headers": {"X-Api-Key": SECRETS["header"]}})
        daemon.start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        folder = self.folder()
        os.chmod(folder, 0o777)
        path = os.path.join(folder, "report.tar.gz")
        done = wait_for(
            lambda: self.beekonctl_as(daemon, "a member of beekon", "report", "-o", path, "--config", daemon.config),
            "the report")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, "rb") as file:
            files = unpacked(file.read())
        self.assertIn("configuration.txt", files, "the daemon tells it")
        self.assertIn("may not be read by you", done.stderr)
        self.assertNotIn(SECRETS["header"], "".join(files.values()))


if __name__ == "__main__":
    unittest.main()
