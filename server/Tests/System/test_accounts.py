"""Who may what: every route for everybody, sessions of browsers, claim codes."""
import http.client
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.databases import OnPostgres, OnSQLite
from server_support.server import FIRST_MS, PROGRAM, envelope
from server_support.server_test import ServerTest
from support.seeds import sample
from support.waiting import PATIENCE, wait_for

PASSWORD = "correct horse battery"


class Accounts(ServerTest):
    """Of one server, on one database."""

    make: Any

    def setUp(self):
        super().setUp()
        self.under_test = self.make().start()
        self.ask = self.under_test.ask

    def add_user(self, name: str, role: str, *groups: str) -> str:
        token = self.under_test.add_user(name, role, *groups)
        done = subprocess.run(
            [PROGRAM, "user", "password", name, "--database", self.under_test.database], input=PASSWORD + "\n",
            capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return token

    def log_in(self, name: str, password: str = PASSWORD, **headers):
        return self.ask(
            "POST", "/v1/login", None, json.dumps({"name": name, "password": password}).encode(),
            Content_Type="application/json", **headers)

    def cookie(self, answer) -> str:
        return answer.headers["set-cookie"].split(";")[0]


class Rights(Accounts):
    def test_every_route_for_everybody(self):
        """Each cell of the table is asked for; nothing that may is done, for want of a body."""
        server = self.under_test
        device, other, revoked = (server.add_device(name) for name in ("van", "bus", "old"))
        self.assertEqual(server.verb("device", "revoke", str(revoked["id"])).returncode, 0)
        for group in ("north", "south"):
            self.assertEqual(server.verb("group", "add", group).returncode, 0)
        self.assertEqual(server.verb("device", "edit", str(device["id"]), "--group", "north").returncode, 0)
        link = json.loads(server.verb("link", "add", "--json", str(device["id"])).stdout)["path"].split("#")[1]
        tokens = {
            "reader of the group": self.add_user("nora", "reader", "north"),
            "reader of another group": self.add_user("sam", "reader", "south"), "link": link,
            "nobody": None, "device": device["access_token"], "other device": other["access_token"],
            "revoked device": revoked["access_token"], "reader": self.add_user("ada", "reader"),
            "admin": self.add_user("root", "admin"), "refresh": device["refresh_token"],
            "forged": device["access_token"][:-1] + ("A" if device["access_token"][-1] != "A" else "B")}
        sessions = {"reader's session": self.log_in("ada"), "admin's session": self.log_in("root"),
                    "session of another group's reader": self.log_in("sam")}
        path = f"/v1/devices/{device['id']}"
        drawn = self.ask("POST", "/v1/fences", tokens["admin"], json.dumps({
            "name": "yard", "latitude": 48, "longitude": 11, "radius_meters": 99, "groups": ["north"]}).encode())
        fence = f"/v1/fences/{drawn.json['id']}"
        # For each: what a device, a reader and an admin get. Where they may, 400, 404 and 415 stand for a request in which
        # something is missing. Nobody gets 401 but where all may.
        table: dict = {
            ("POST", "/v1/batches"): (400, 403, 403), ("POST", "/v1/logs"): (204, 403, 403),
            ("POST", "/v1/token"): 400, ("POST", "/v1/enroll"): 400, ("POST", "/v1/login"): 415,
            ("GET", "/v1/claims"): (403, 403, 200), ("POST", "/v1/claims"): (403, 403, 400),
            ("DELETE", "/v1/claims/9"): (403, 403, 404), ("GET", "/v1/devices"): (403, 200, 200),
            ("POST", "/v1/devices"): (403, 403, 400), ("GET", path): (403, 200, 200),
            ("DELETE", "/v1/devices/999"): (403, 403, 404), ("GET", path + "/locations"): (403, 200, 200),
            ("GET", path + "/events"): (403, 200, 200), ("GET", path + "/trips"): (403, 200, 200),
            ("GET", "/v1/trips"): (403, 200, 200), ("GET", "/v1/events"): (403, 200, 200),
            ("GET", "/v1/alerts"): (403, 200, 200), ("GET", "/v1/rules"): (403, 403, 200), ("POST", "/v1/rules"): (403, 403, 400),
            ("PUT", "/v1/rules/9"): (403, 403, 400), ("DELETE", "/v1/rules/9"): (403, 403, 404),
            ("POST", "/v1/rules/9/test"): (403, 403, 404),
            ("GET", "/v1/devices/999/log"): (403, 403, 404),
            ("POST", "/v1/devices/999/tokens"): (403, 403, 404), ("GET", path + "/commands"): (403, 200, 200),
            ("POST", path + "/commands"): (403, 403, 400), ("DELETE", path + "/commands/c-5"): (403, 403, 404),
            ("GET", "/v1/session"): (403, 200, 200), ("POST", "/v1/logout"): (403, 409, 409),
            ("PUT", "/v1/session/password"): (403, 409, 409),
            ("GET", "/v1/users"): (403, 403, 200), ("POST", "/v1/users"): (403, 403, 400),
            ("DELETE", "/v1/users/nobody"): (403, 403, 404), ("PUT", "/v1/users/nobody/password"): (403, 403, 400),
            ("GET", "/v1/key"): (403, 404, 404), ("GET", "/v1/map/3/1/6"): (403, 404, 404),
            ("GET", "/v1/openapi.json"): 200, ("GET", "/v1/doctor"): (403, 403, 200),
            ("GET", path + "/installations"): (403, 200, 200), ("POST", path + "/installations"): (403, 403, 400),
            ("GET", "/v1/clock"): (403, 200, 200), ("POST", "/v1/clock"): (403, 403, 200),
            ("POST", "/v1/backup"): (403, 403, 403), ("GET", "/metrics"): (403, 200, 200), ("GET", "/health/live"): 204,
            ("GET", "/health/ready"): 200, ("GET", "/v1/live"): (403, None, None),
        }
        # Of links alone.
        table[("GET", "/v1/shared")] = (403, 403, 403)
        table |= {
            ("PATCH", path): (403, 403, 400), ("DELETE", "/v1/devices/999/data"): (403, 403, 404),
            ("GET", path + "/links"): (403, 403, 200), ("POST", path + "/links"): (403, 403, 400),
            ("DELETE", path + "/links/999"): (403, 403, 404), ("GET", "/v1/groups"): (403, 403, 200),
            ("POST", "/v1/groups"): (403, 403, 400), ("DELETE", "/v1/groups/none"): (403, 403, 404),
            ("PUT", "/v1/users/nobody/groups"): (403, 403, 400),
            ("GET", "/v1/fences"): (403, 200, 200), ("POST", "/v1/fences"): (403, 403, 400),
            ("GET", fence): (403, 200, 200), ("GET", fence + "/devices"): (403, 200, 200),
            ("GET", path + "/fences"): (403, 200, 200), ("PUT", fence): (403, 403, 400),
            ("DELETE", "/v1/fences/999"): (403, 403, 404)}
        cells = 0

        def of_another(wanted: int, where: str) -> int:
            """What a reader gets where another one gets `wanted`: of a vehicle of a group that it does not see, nothing."""
            return 404 if wanted == 200 and where.startswith((path, fence)) else wanted

        # Rights do not depend on the database: with PostgreSQL, each commit asks for some of them.
        numbers = sample("rows of rights", len(table), len(table) if isinstance(self, OnSQLite) else len(table) // 4)
        for (method, where), expected in (list(table.items())[number - 1] for number in numbers):
            for caller, token in tokens.items():
                if isinstance(expected, int):
                    # Whatever token is shown: one that is not good is told so, where tokens count at all.
                    wanted = expected if caller not in ("revoked device", "refresh", "forged") else 401
                else:
                    wanted = {"device": expected[0], "other device": expected[0], "reader": expected[1],
                              "admin": expected[2], "reader of the group": expected[1], "link": 403,
                              "reader of another group": expected[1] and of_another(expected[1], where)}.get(caller, 401)
                    if (caller, where) == ("link", "/v1/shared"):
                        wanted = 200
                if wanted is not None:
                    with self.subTest(f"{caller} {method} {where}"):
                        self.assertEqual(self.ask(method, where, token, b"").status, wanted)
                        cells += 1
            for caller, session in sessions.items():
                wanted = expected if isinstance(expected, int) else expected[2 if caller[0] == "a" else 1]
                if "another" in caller and not isinstance(expected, int):
                    wanted = wanted and of_another(wanted, where)
                if where in ("/v1/logout", "/v1/live"):
                    continue
                if where == "/v1/session/password":
                    wanted = 400
                with self.subTest(f"{caller} {method} {where}"):
                    headers = {"Cookie": self.cookie(session), "X_CSRF_Token": session.json["csrf"]}
                    self.assertEqual(self.ask(method, where, None, b"", **headers).status, wanted)
                    cells += 1
                    # Without the companion, nothing that changes something.
                    if method != "GET" and not isinstance(expected, int):
                        for companion in ("", "0" * 64):
                            headers["X_CSRF_Token"] = companion
                            self.assertEqual(self.ask(method, where, None, b"", **headers).status, 403)
        print(f"rights, {type(self).__name__}: {len(numbers)} of {len(table)} routes and methods, {cells} cells")
        described = json.loads(self.ask("GET", "/v1/openapi.json").body)["paths"]
        methods = {(method.upper(), path) for path, item in described.items() for method in item if method != "parameters"}
        # The description is made of all endpoints, and the table has each.
        self.assertEqual(sorted((method, self.template(where, described)) for method, where in table), sorted(methods))

    @staticmethod
    def template(where: str, described: dict) -> str:
        """The path as the description has it, with names in place of numbers."""
        return where if where in described else next(
            path for path in described if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)), where))


class SQLiteRightsTests(Rights, OnSQLite):
    pass


class PostgresRightsTests(Rights, OnPostgres):
    pass


class AccountTests(Accounts, OnSQLite):
    def test_forms_of_a_route_need_the_same_right(self):
        """Whatever the query asks for, wrong words among it: who may not is told so first."""
        server = self.under_test
        device, revoked = server.add_device("van"), server.add_device("old")
        self.assertEqual(server.verb("device", "revoke", str(revoked["id"])).returncode, 0)
        reader = self.add_user("ada", "reader")
        callers = {None: 401, device["access_token"]: 403, device["refresh_token"]: 401, revoked["access_token"]: 401}
        path = f"/v1/devices/{device['id']}"
        forms = {f"{path}/locations?format={form}": 200 for form in ("json", "packed", "csv", "gpx", "geojson")}
        forms |= {f"{path}/locations?format=none": 400, f"{path}/trips?limit=x": 400, "/v1/live?form=none": 400}
        for where, wanted in {**forms, "/v1/live": 0, "/v1/live?form=full": 0, "/v1/live?form=compact": 0}.items():
            with self.subTest(where):
                for token, status in callers.items():
                    self.assertEqual(self.ask("GET", where, token).status, status)
                if wanted:
                    self.assertEqual(self.ask("GET", where, reader).status, wanted)
                    continue
                link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
                self.addCleanup(link.close)
                link.request("GET", where, headers={"Authorization": f"Bearer {reader}"})
                answer = link.getresponse()
                self.assertEqual((answer.status, answer.readline()), (200, b"event: hello\n"))

    def test_new_tokens_in_place_of_the_old(self):
        server = self.under_test
        device, other = server.add_device("van"), server.add_device("bus")
        admin, reader = self.add_user("root", "admin"), self.add_user("ada", "reader")
        path = f"/v1/devices/{device['id']}/tokens"
        for token in (device["access_token"], other["access_token"], reader):
            self.assertEqual(self.ask("POST", path, token, b"").status, 403)
        self.assertEqual(server.deliver(device["access_token"], envelope(1)).status, 200)
        answer = self.ask("POST", path, admin, b"")
        self.assertEqual((answer.status, answer.headers["cache-control"]), (201, "no-store"))
        self.assertEqual(server.post(device["access_token"], envelope(1)).status, 401)
        self.assertEqual(server.deliver(answer.json["access_token"], envelope(1)).status, 200)
        self.assertEqual(server.deliver(other["access_token"], envelope(1)).status, 200)
        old = f"grant_type=refresh_token&refresh_token={device['refresh_token']}".encode()
        done = self.ask("POST", "/v1/token", None, old, Content_Type="application/x-www-form-urlencoded")
        self.assertEqual((done.status, done.json), (400, {"error": "invalid_grant"}))
        self.assertEqual(self.ask("DELETE", f"/v1/devices/{device['id']}", admin).status, 204)
        self.assertEqual(self.ask("POST", path, admin, b"").status, 404, "a revoked one gets none")

    # MARK: Names

    def test_names_that_no_path_can_have_are_refused(self):
        admin = self.add_user("root", "admin")
        code = self.under_test.verb("claim", "add", "--uses", "50").stdout.strip()
        for name in ("team/alice", "/", ".", "..", "a\nb", "a\x00b", "\u007f", "\uffff", "\ufdd0", "\U0001fffe", "", "x" * 101):
            for path, more in (
                    ("/v1/users", {"role": "reader"}), ("/v1/devices", {}), ("/v1/enroll", {"code": code})):
                with self.subTest(name=name, path=path):
                    answer = self.ask("POST", path, admin, json.dumps({"name": name, **more}).encode())
                    self.assertEqual((answer.status, answer.json.get("pointer")), (400, "/name"), answer)
        for name in ("a?b", "a%41b", "a%2Fb", "...", "\u00fc \u00f6", "a\\b", "\U0001f600"):
            with self.subTest(name=name):
                made = self.ask("POST", "/v1/users", admin, json.dumps({"name": name, "role": "reader"}).encode())
                self.assertEqual(made.status, 201, made)
                self.assertEqual(self.ask("GET", "/v1/devices", made.json["token"]).status, 200)
                self.assertEqual(self.ask("DELETE", f"/v1/users/{quote(name, safe='')}", admin).status, 204)
                self.assertEqual(self.ask("GET", "/v1/devices", made.json["token"]).status, 401)

    def test_a_user_of_a_name_with_a_slash_can_be_put_out(self):
        """There may be one of before such names were refused."""
        admin, token = self.add_user("root", "admin"), self.add_user("plain", "admin")
        with sqlite3.connect(self.under_test.database, timeout=30) as database:
            database.execute("UPDATE users SET name = 'team/alice' WHERE name = 'plain'")
        path = "/v1/users/team%2Falice"
        password = json.dumps({"password": PASSWORD}).encode()
        self.assertEqual(self.ask("PUT", path + "/password", admin, password).status, 204)
        self.assertEqual(self.log_in("team/alice").status, 200)
        self.assertEqual(self.ask("GET", "/v1/users", token).status, 200)
        self.assertEqual(self.under_test.verb("user", "remove", "team/alice").returncode, 0)
        self.assertEqual(self.ask("GET", "/v1/users", token).status, 401)
        self.assertEqual(self.log_in("team/alice").status, 401)
        self.assertEqual(self.ask("DELETE", path, admin).status, 404)

    # MARK: Sessions

    def test_a_session(self):
        self.add_user("ada", "reader")
        answer = self.log_in("ada")
        self.assertEqual(answer.status, 200, answer)
        cookie = answer.headers["set-cookie"]
        for attribute in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=1209600"):
            self.assertIn(attribute, cookie)
        self.assertNotIn("Secure", cookie)
        self.assertIn("Secure", self.log_in("ada", X_Forwarded_Proto="https").headers["set-cookie"])
        shown = self.ask("GET", "/v1/session", None, Cookie="a=b; " + self.cookie(answer)).json
        self.assertEqual(shown, {"name": "ada", "role": "reader", "csrf": answer.json["csrf"]})
        done = self.ask(
            "POST", "/v1/logout", None, b"", Cookie=self.cookie(answer), X_CSRF_Token=answer.json["csrf"])
        self.assertEqual(done.status, 204)
        self.assertIn("Max-Age=0", done.headers["set-cookie"])
        self.assertEqual(self.ask("GET", "/v1/session", None, Cookie=self.cookie(answer)).status, 401)

    def test_fixation(self):
        """What a browser brings to the login is not what it leaves with, and is good for nothing afterwards."""
        self.add_user("ada", "reader")
        planted = "beekon_session=bks.1." + "A" * 43
        answer = self.log_in("ada", Cookie=planted)
        self.assertEqual(answer.status, 200)
        self.assertNotEqual(self.cookie(answer), planted)
        self.assertEqual(self.ask("GET", "/v1/session", None, Cookie=planted).status, 401)
        again = self.log_in("ada", Cookie=self.cookie(answer))
        self.assertEqual(self.ask("GET", "/v1/session", None, Cookie=self.cookie(answer)).status, 401)
        self.assertEqual(self.ask("GET", "/v1/session", None, Cookie=self.cookie(again)).status, 200)

    def test_a_form_of_another_site_logs_nobody_in(self):
        self.add_user("ada", "reader")
        for type_ in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
            body = json.dumps({"name": "ada", "password": PASSWORD}).encode()
            self.assertEqual(self.ask("POST", "/v1/login", None, body, Content_Type=type_).status, 415)

    def test_wrong_passwords(self):
        self.add_user("ada", "reader")
        for name, password in (("ada", "wrong"), ("ada", ""), ("eve", PASSWORD), ("", ""), ("ada", "x" * 10_000)):
            answer = self.log_in(name, password)
            self.assertEqual((answer.status, "www-authenticate" in answer.headers), (401, False), answer)
        with ThreadPoolExecutor(60) as pool:
            statuses = [answer.status for answer in pool.map(lambda number: self.log_in(f"eve{number}"), range(60))]
        # One at a time: those that would wait too long are told so.
        self.assertEqual(set(statuses), {401, 503})
        # Of those who were told so some may wait still.
        wait_for(lambda: self.log_in("ada").status == 200, "a login after the flood")

    def test_a_session_is_not_a_token_and_nothing_is_in_clear(self):
        token = self.add_user("ada", "reader")
        answer = self.log_in("ada")
        value = self.cookie(answer).split("=")[1]
        self.assertEqual(self.ask("GET", "/v1/devices", value).status, 401)
        self.assertEqual(self.ask("GET", "/v1/devices", None, Cookie=f"beekon_session={token}").status, 401)
        claim = self.under_test.verb("claim", "add").stdout.strip()
        self.under_test.stop()
        for name in os.listdir(self.folder):
            with open(os.path.join(self.folder, name), "rb") as file:
                content = file.read()
            for secret in (PASSWORD, value.split(".")[2], claim, claim.replace("-", ""), answer.json["csrf"]):
                self.assertNotIn(secret.encode(), content, name)

    def test_a_stream_ends_with_the_right_to_it(self):
        """Who is removed, and whose session ends, hears no more of where the vehicles are."""
        device = self.under_test.add_device("van")
        token = self.add_user("ada", "reader")
        self.add_user("bob", "reader")
        session = self.log_in("bob")
        streams = []
        for headers in ({"Authorization": f"Bearer {token}"}, {"Cookie": self.cookie(session)}):
            link = http.client.HTTPConnection("127.0.0.1", self.under_test.port, timeout=60)
            self.addCleanup(link.close)
            link.request("GET", "/v1/live", headers=headers)
            streams.append(link.getresponse())
            self.assertEqual(streams[-1].status, 200)
        self.assertEqual(self.under_test.verb("user", "remove", "ada").returncode, 0)
        done = self.ask("POST", "/v1/logout", None, b"", Cookie=self.cookie(session), X_CSRF_Token=session.json["csrf"])
        self.assertEqual(done.status, 204)
        # A vehicle that goes on, so that there is something to be told.
        stop = threading.Event()

        def drive():
            number = 0
            while not stop.wait(0.3):
                number += 1
                self.under_test.post(device["access_token"], envelope(1, first_ms=FIRST_MS + number * 1000))

        thread = threading.Thread(target=drive)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        deadline = time.monotonic() + PATIENCE
        for stream in streams:
            while stream.readline():
                self.assertLess(time.monotonic(), deadline, "it goes on")

    # MARK: Names as others write them

    def test_names_that_are_code(self):
        """Whatever a device or geofence is called, no browser takes an answer for a page."""
        evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&"
        admin = self.add_user("root", "admin")
        device = self.under_test.add_device("plain")
        # There may be one of before such names were refused.
        with sqlite3.connect(self.under_test.database, timeout=30) as database:
            database.execute("UPDATE devices SET name = ?", (evil,))
        root = envelope(2, extras={"driver": evil}, geofence_events=[{
            "id": envelope(1)["batch_id"], "geofence_id": evil, "type": "enter",
            "timestamp": envelope(1)["sent_at"]}], status={"state": evil})
        self.assertEqual(self.under_test.deliver(device["access_token"], root).status, 200)
        path = f"/v1/devices/{device['id']}"
        for where in ("/v1/devices", path, path + "/locations", path + "/locations?format=gpx", path + "/events",
                      path + "/locations?format=csv", path + "/locations?format=geojson", "/v1/nothing/" + "%3Cscript%3E"):
            answer = self.ask("GET", where, admin)
            with self.subTest(where):
                self.assertEqual(answer.headers["x-content-type-options"], "nosniff")
                self.assertIn("default-src 'none'", answer.headers["content-security-policy"])
                self.assertFalse(answer.headers["content-type"].startswith("text/html"))
                if "gpx" in where:
                    self.assertNotIn(b"<script", answer.body)
        self.assertEqual(self.ask("GET", path, admin).json["name"], evil)
        self.assertEqual(self.ask("GET", path + "/events", admin).json["events"][0]["geofence_id"], evil)

    # MARK: Claim codes

    def test_enrolment(self):
        code = self.under_test.verb("claim", "add", "--uses", "2").stdout.strip()
        self.assertRegex(code, r"^([0-9A-Z]{5}-){3}[0-9A-Z]{5}$")

        def enroll(name: str, shown: str = code, **headers):
            return self.ask("POST", "/v1/enroll", None, json.dumps({"name": name, "code": shown}).encode(), **headers)

        lost, first = enroll("van"), enroll("van")
        self.assertEqual((lost.status, first.status), (201, 201), first)
        self.assertEqual(self.under_test.post(lost.json["access_token"], envelope(1)).status, 401)
        self.assertEqual(self.under_test.deliver(first.json["access_token"], envelope(1)).status, 200)
        self.assertEqual(enroll("van").status, 409)
        toml = enroll("bus", Accept="application/toml", Host="fleet.example.org", X_Forwarded_Proto="https")
        self.assertEqual(toml.status, 201)
        self.assertIn('url = "https://fleet.example.org/v1/batches"', toml.body.decode())
        self.assertIn("\nrequire_ack = true\n", toml.body.decode())
        token = re.search(r'access_token = "(.*)"', toml.body.decode())
        assert token
        self.assertEqual(self.under_test.deliver(token[1], envelope(1)).status, 200)
        self.assertEqual(enroll("tram").status, 403, "it is used up")
        self.assertEqual(enroll("tram", "00000-00000-00000-00000").status, 403)
        self.assertEqual(self.under_test.verb("claim", "list").stdout.split("\t")[2].strip(), "0")
        self.assertEqual(self.under_test.verb("claim", "remove", "1").returncode, 0)
        self.assertEqual(self.under_test.verb("claim", "list").stdout, "")

    def test_many_enrol_at_once(self):
        code = self.under_test.verb("claim", "add", "--uses", "10").stdout.strip()

        def enroll(number: int) -> int:
            body = json.dumps({"name": f"van {number}", "code": code}).encode()
            try:
                return self.ask("POST", "/v1/enroll", None, body).status
            except (OSError, http.client.HTTPException):
                return 0

        with ThreadPoolExecutor(20) as pool:
            statuses = list(pool.map(enroll, range(20)))
        self.assertEqual(sorted(statuses), [201] * 10 + [403] * 10)


# They have no server.
del Accounts, Rights


if __name__ == "__main__":
    unittest.main()
