"""Groups of vehicles and who sees them, vehicles that are renamed, retired and deleted, and links that show one of them."""
import http.client
import json
import socket
import sys
import threading
import time
import unittest
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.databases import OnPostgres, OnSQLite
from server_support.server import FIRST_MS, Server, envelope, iso, uuid7
from server_support.server_test import ServerTest
from support.nightly import IS_LONG
from support.waiting import wait_for

WEEK_MS = 7 * 86_400_000
# Of a vehicle that is deleted, a thousand locations each.
BATCHES = 40 if IS_LONG else 16
FORMATS = ("json", "geojson", "gpx", "csv", "packed")
# Of a device, all that is of it alone.
TABLES = ("locations", "events", "vehicle_events", "batches", "extras", "commands", "logs", "latest", "presence", "ahead",
          "votes", "installations", "tokens", "ended_tokens", "links", "device_fences")


class Fleet(ServerTest):
    make: Any
    rows: Any
    write: Any
    keep: Any
    keep_no_more: Any

    def setUp(self):
        super().setUp()
        self.under_test: Server = self.make().start()
        self.ask = self.under_test.ask

    def verb(self, *arguments: str) -> str:
        done = self.under_test.verb(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, *arguments: str) -> str:
        done = self.under_test.verb(*arguments)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def device(self, name: str, group: str = "") -> dict:
        device = self.under_test.add_device(name)
        if group:
            self.verb("device", "edit", str(device["id"]), "--group", group)
        return device

    def names(self, token: str) -> list:
        answer = self.ask("GET", "/v1/devices", token)
        self.assertEqual(answer.status, 200, answer)
        return [device["name"] for device in answer.json["devices"]]

    def send(self, method: str, path: str, token: str, value: dict):
        return self.ask(method, path, token, json.dumps(value).encode())


class Groups(Fleet):
    def setUp(self):
        super().setUp()
        self.admin = self.under_test.add_user("root", "admin")
        # By requests: a verb takes as much of the processor as many of them.
        for group in ("north", "south"):
            self.made("groups", name=group)
        self.van, self.bus, self.tram = (self.made("devices", name=name) for name in ("van", "bus", "tram"))
        for device, group in ((self.van, "north"), (self.bus, "south")):
            self.assertEqual(self.send("PATCH", f"/v1/devices/{device['id']}", self.admin, {"group": group}).status, 204)
        self.all = self.made("users", name="ada", role="reader")["token"]
        self.sam = self.made("users", name="sam", role="reader", groups=["south"])["token"]
        for device in (self.van, self.bus, self.tram):
            self.assertEqual(self.upload(device, 3).status, 200)

    def made(self, what: str, **value) -> dict:
        answer = self.send("POST", f"/v1/{what}", self.admin, value)
        self.assertEqual(answer.status, 201, answer)
        return answer.json if answer.body else {}

    def upload(self, device: dict, count: int, first_ms: int = FIRST_MS):
        """With everything that a vehicle may tell."""
        return self.under_test.deliver(device["access_token"], envelope(
            count, first_ms, extras={"driver": "7"}, status={"state": "tracking", "pending": 3},
            device={"install_id": uuid7(FIRST_MS + device["id"]), "platform": "linux", "sdk_version": "1.0.0", "model": "test"},
            events=[{"id": uuid7(first_ms), "kind": "trip_started", "timestamp": iso(first_ms), "data": {}}],
            geofence_events=[{"id": uuid7(first_ms), "geofence_id": "depot", "type": "enter", "timestamp": iso(first_ms)}]))

    def test_readers_see_their_groups_and_nothing_else(self):
        self.assertEqual(self.names(self.admin), ["van", "bus", "tram"])
        self.assertEqual(self.names(self.all), ["van", "bus", "tram"])
        self.assertEqual(self.names(self.sam), ["bus"])
        metrics = self.ask("GET", "/metrics", self.sam).body.decode()
        self.assertIn("beekon_devices 1\n", metrics)
        self.assertIn(f'beekon_device_pending_locations{{device="{self.bus["id"]}"}} 3', metrics)
        for other in (self.van, self.tram):
            self.assertNotIn(f'device="{other["id"]}"', metrics)
        self.assertIn("beekon_devices 3\n", self.ask("GET", "/metrics", self.all).body.decode())
        self.assertEqual(len(self.under_test.ids(self.sam, self.bus["id"])), 3)

    def test_a_vehicle_of_another_group_is_like_one_that_is_not_there(self):
        for path in ("", "/events", "/trips", "/commands", "/installations", "/fences", "/locations?limit=0", "/locations?from=x",
                     *(f"/locations?format={form}" for form in FORMATS)):
            for method, body in (("GET", None), ("POST", b""), ("DELETE", None), ("PATCH", b""), ("HEAD", None)):
                with self.subTest(f"{method} {path}"):
                    answers = []
                    for number in (self.van["id"], 999):
                        answer = self.ask(method, f"/v1/devices/{number}{path}", self.sam, body)
                        headers = {name: value for name, value in answer.headers.items()
                                   if name not in ("date", "content-length")}
                        answers.append((answer.status, headers, answer.body.replace(b"device %d" % number, b"device N")))
                    self.assertEqual(answers[0], answers[1])
                    self.assertGreaterEqual(answers[0][0], 400)
            # Of their own, all is there.
            wanted = 400 if "limit=0" in path or "from=x" in path else 200
            self.assertEqual(self.ask("GET", f"/v1/devices/{self.bus['id']}{path}", self.sam).status, wanted, path)

    def listen(self, token: str, form: str) -> list:
        """Lines of a stream, as they come."""
        link = http.client.HTTPConnection("127.0.0.1", self.under_test.port, timeout=60)
        self.addCleanup(link.close)
        link.request("GET", f"/v1/live?form={form}", headers={"Authorization": f"Bearer {token}"})
        line, answer = link.sock, link.getresponse()
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.readline(), b"event: hello\n")
        lines: list = []

        def read():
            try:
                while line := answer.readline():
                    lines.append(line.decode())
            except (OSError, http.client.HTTPException, ValueError, AttributeError):
                pass  # The test is over.

        thread = threading.Thread(target=read)
        thread.start()
        self.addCleanup(thread.join)
        # Who closes waits for who reads.
        self.addCleanup(line.shutdown, socket.SHUT_RDWR)
        return lines

    def test_streams_tell_of_what_may_be_seen(self):
        streams = {(who, form): self.listen(token, form) for who, token in (("sam", self.sam), ("ada", self.all))
                   for form in ("full", "compact")}

        def told(lines: list, device: dict) -> bool:
            return any(f'"id":{device["id"]},' in line or f'[{device["id"]},' in line for line in lines)

        # Each is told of in full first, and as a move then.
        for round_ in range(1, 4):
            for device in (self.van, self.tram, self.bus):
                self.assertEqual(self.upload(device, 1, FIRST_MS + round_ * 60_000).status, 200)
            for (who, form), lines in streams.items():
                wait_for(partial(told, lines, self.bus), f"{who} is told, {form}")
                if who == "ada":
                    wait_for(partial(told, lines, self.van), "ada is told of all")
                    wait_for(partial(told, lines, self.tram), "ada is told of all")
                else:
                    self.assertFalse(told(lines, self.van) or told(lines, self.tram), lines)
                    self.assertNotIn("van", "".join(lines))
                lines.clear()

    def test_what_is_changed_counts_at_once_and_whoever_listens_reads_anew(self):
        lines = self.listen(self.sam, "compact")

        def reloaded():
            wait_for(lambda: "event: reload\n" in lines, "the stream says that something has changed")
            lines.clear()

        # The first look of the stream is over.
        wait_for(lambda: self.upload(self.bus, 1).status == 200 and any("device" in line for line in lines),
                 "the stream has begun")
        self.verb("device", "edit", str(self.van["id"]), "--group", "south")
        self.assertEqual(self.names(self.sam), ["van", "bus"])
        reloaded()
        self.verb("user", "groups", "sam", "north")
        self.assertEqual(self.names(self.sam), [])
        reloaded()
        self.verb("user", "groups", "sam", "north", "south")
        self.assertEqual(self.names(self.sam), ["van", "bus"])
        self.verb("user", "groups", "sam", "--all")
        self.assertEqual(self.names(self.sam), ["van", "bus", "tram"])
        self.assertEqual(self.verb("user", "groups", "sam", "--none"), "")
        self.assertEqual(self.names(self.sam), [])
        self.verb("user", "groups", "sam", "south")
        self.verb("device", "edit", str(self.bus["id"]), "--group", "")
        self.assertEqual(self.names(self.sam), ["van"])
        lines.clear()
        # Without a group there is nothing to see: not all.
        self.verb("group", "remove", "south")
        self.assertEqual(self.names(self.sam), [])
        self.assertEqual(self.ask("GET", f"/v1/devices/{self.van['id']}", self.sam).status, 404)
        reloaded()
        self.assertEqual(self.names(self.all), ["van", "bus", "tram"])

    def test_the_lists_of_groups_and_users(self):
        self.assertEqual(self.verb("group", "list"), "north\t1 vehicle\t0 readers\nsouth\t1 vehicle\t1 reader\n")
        users = {user["name"]: user for user in self.ask("GET", "/v1/users", self.admin).json["users"]}
        self.assertEqual(users["sam"]["groups"], ["south"])
        self.assertEqual(users["sam"]["role"], "reader")
        self.assertNotIn("groups", users["ada"])
        self.assertIn("reader\tsam\tsouth\n", self.verb("user", "list"))
        self.assertIn("reader\tada\tall vehicles\n", self.verb("user", "list"))
        self.assertIn("there is already a group 'north'", self.refused("group", "add", "north"))
        self.assertIn("there is no group 'east'", self.refused("user", "groups", "sam", "east"))
        self.assertIn("is an admin", self.refused("user", "groups", "root", "north"))
        self.assertIn("no user", self.refused("user", "groups", "nobody", "north"))
        self.assertIn("no group of that name", self.refused("group", "remove", "east"))
        self.assertIn("there is no group 'east'", self.refused("user", "add", "--group", "east", "eve"))
        self.assertIn("An admin sees all", self.refused("user", "add", "--role", "admin", "--group", "north", "eve"))
        # With space between them, and one of them twice.
        lists = self.send("PUT", "/v1/users/sam/groups", self.admin, {"groups": ["north", "south", "north"]})
        self.assertEqual((lists.status, self.names(self.sam)), (204, ["van", "bus"]))
        self.verb("user", "groups", "sam", "south")
        # Nothing of what was refused is left.
        self.assertNotIn("eve", self.verb("user", "list"))
        self.assertEqual(self.names(self.sam), ["bus"])
        for groups in ("some", 1, None, ["north", 1], [["north"]], ["x"] * 200, [""], ["a\nb"]):
            with self.subTest(groups=groups):
                answer = self.send("PUT", "/v1/users/sam/groups", self.admin, {"groups": groups})
                self.assertEqual((answer.status, answer.json["pointer"]), (400, "/groups"))


class Details(Fleet):
    def test_name_plate_note_and_group(self):
        admin = self.under_test.add_user("root", "admin")
        van, bus = self.device("van"), self.device("bus")
        self.verb("group", "add", "north")
        path = f"/v1/devices/{van['id']}"
        wanted = {"name": "lorry", "plate": "M-XY 1", "note": "red; höher", "group": "north"}
        options = [word for name, value in wanted.items() for word in (f"--{name}", value)]
        self.verb("device", "edit", str(van["id"]), *options)
        shown = self.ask("GET", path, admin).json
        self.assertEqual({name: shown[name] for name in wanted}, wanted)
        self.assertIn(f"{van['id']}\tlorry\t", self.verb("device", "list"))
        # One alone leaves the others, an empty one takes away.
        self.verb("device", "edit", str(van["id"]), "--plate", "")
        shown = self.ask("GET", path, admin).json
        self.assertNotIn("plate", shown)
        self.assertEqual((shown["name"], shown["note"]), ("lorry", "red; höher"))
        # The name that it had is free, and the one that it has is not.
        self.device("van")
        self.assertIn("there is already a device 'lorry'", self.refused("device", "edit", str(bus["id"]), "--name", "lorry"))
        self.assertIn("there is no group 'x'", self.refused("device", "edit", str(bus["id"]), "--group", "x"))
        self.assertIn("no device 999", self.refused("device", "edit", "999", "--name", "x"))
        for changes, pointer in (({}, None), ({"name": ""}, "/name"), ({"name": "a/b"}, "/name"), ({"name": 1}, "/name"),
                                 ({"plate": "x" * 21}, "/plate"), ({"note": "x" * 501}, "/note"), ({"note": "a\nb"}, "/note"),
                                 ({"plate": "\u0085"}, "/plate"), ({"group": "a\nb"}, "/group"), ({"note": None}, "/note")):
            with self.subTest(changes):
                answer = self.send("PATCH", path, admin, changes)
                self.assertEqual((answer.status, answer.json.get("pointer")), (400, pointer), answer)
        self.assertEqual(self.send("PATCH", path, admin, {"plate": "x" * 20, "note": "\U0001f600" * 500}).status, 204)
        # Its data is the same vehicle's as before.
        self.assertEqual(self.under_test.deliver(van["access_token"], envelope(2)).status, 200)
        self.assertEqual(len(self.under_test.ids(admin, van["id"])), 2)

    def test_a_retired_vehicle_keeps_its_data_and_can_give_its_name_away(self):
        admin = self.under_test.add_user("root", "admin")
        van = self.device("van")
        self.assertEqual(self.under_test.deliver(van["access_token"], envelope(2)).status, 200)
        link = json.loads(self.verb("link", "add", "--json", str(van["id"])))["path"].split("#")[1]
        self.assertEqual(self.ask("GET", "/v1/shared", link).status, 200)
        self.verb("device", "retire", str(van["id"]))
        # Another server believes a token for some seconds.
        wait_for(lambda: self.under_test.post(van["access_token"], envelope(0)).status == 401, "its tokens have ended")
        self.assertEqual(self.under_test.deliver(van["access_token"], envelope(2)).status, 401)
        self.assertEqual(self.ask("GET", "/v1/shared", link).status, 401)
        self.assertEqual(len(self.under_test.ids(admin, van["id"])), 2)
        self.verb("device", "edit", str(van["id"]), "--name", "van (2024)")
        self.assertNotEqual(self.device("van")["id"], van["id"])


class Deletion(Fleet):
    def left(self, device: dict) -> dict:
        counts = {table: int(self.rows(f"SELECT count(*) FROM {table} WHERE device = {device['id']}")[0][0]) for table in TABLES}
        return {table: count for table, count in counts.items() if count}

    def locations(self, device: dict) -> int:
        return int(self.rows(f"SELECT count(*) FROM locations WHERE device = {device['id']}")[0][0])

    def are_left(self, device: dict, count: int) -> bool:
        return self.locations(device) == count

    @staticmethod
    def first_ms(batch: int) -> int:
        return FIRST_MS + batch * WEEK_MS // 3

    def fill(self, device: dict, batches: int):
        """Rows of all kinds, through many weeks."""
        for number in range(batches):
            first = self.first_ms(number)
            answer = self.under_test.deliver(device["access_token"], envelope(
                1000, first, extras={"number": str(number)}, status={"state": "tracking"},
                geofence_events=[{"id": uuid7(first), "geofence_id": "depot", "type": "enter", "timestamp": iso(first)}],
                events=[{"id": uuid7(first), "kind": "trip_started", "timestamp": iso(first), "data": {}}],
                # Its newest location is later than that of most.
                device={"install_id": uuid7(FIRST_MS + device["id"]), "platform": "linux", "sdk_version": "1.0.0"}))
            self.assertEqual(answer.status, 200, answer)
        self.assertEqual(self.ask("POST", "/v1/logs", device["access_token"], b"a log").status, 204)

    def test_it_goes_on_after_a_kill_in_the_middle(self):
        server = self.under_test
        van, bus = self.device("van"), self.device("bus")
        admin = server.add_user("root", "admin")
        fence = {"name": "yard", "latitude": 48, "longitude": 11, "radius_meters": 99, "all": True}
        self.assertEqual(self.send("POST", "/v1/fences", admin, fence).status, 201)
        self.fill(van, BATCHES)
        self.fill(bus, 2)
        link = json.loads(self.verb("link", "add", "--json", str(van["id"])))["path"].split("#")[1]
        self.assertEqual(self.send("POST", f"/v1/devices/{van['id']}/commands", admin, {"command": "locate"}).status, 201)
        others, all_ = self.left(bus), self.left(van)
        self.assertEqual(all_["locations"], BATCHES * 1000)
        self.assertEqual(set(TABLES) - set(all_), {"ahead", "ended_tokens", "votes"} - set(all_))
        # Killed where a fourth of it is deleted, and where three fourths are.
        for batches in (BATCHES // 4, BATCHES * 3 // 4):
            self.keep("locations", f"old.time >= {self.first_ms(batches)}")
            if server.running:
                self.assertEqual(self.ask("DELETE", f"/v1/devices/{van['id']}/data", admin, b"").status, 204)
            else:
                server.launch()
            left = (BATCHES - batches) * 1000
            wait_for(partial(self.are_left, van, left), lambda: f"{self.locations(van)} locations are left")
            server.kill()
            self.assertEqual(self.locations(van), left)
            self.keep_no_more("locations")
        server.start()
        # For everybody who looks, at once.
        self.assertEqual(server.deliver(van["access_token"], envelope(1)).status, 401)
        self.assertEqual(self.ask("GET", "/v1/shared", link).status, 401)
        self.assertEqual(self.names(admin), ["bus"])
        for path in ("", "/locations", "/events", "/trips", "/commands", "/installations", "/links"):
            self.assertEqual(self.ask("GET", f"/v1/devices/{van['id']}{path}", admin).status, 404, path)
        for method, path in (("DELETE", ""), ("DELETE", "/data"), ("POST", "/tokens")):
            self.assertEqual(self.ask(method, f"/v1/devices/{van['id']}{path}", admin, b"").status, 404)
        self.assertEqual(self.send("PATCH", f"/v1/devices/{van['id']}", admin, {"name": "back"}).status, 404)
        wait_for(lambda: not self.left(van), lambda: f"nothing is left but {self.left(van)}")
        self.assertEqual(self.left(bus), others)
        self.assertEqual(server.deliver(bus["access_token"], envelope(1)).status, 200)
        # Its name is free, and its number is not.
        again = self.device("van")
        self.assertGreater(again["id"], bus["id"])
        self.assertEqual(server.ids(admin, again["id"]), [])
        # Late rows of an upload that was under way are waited for, and it is known that there is something to do.
        self.assertEqual(self.ask("GET", "/v1/doctor", admin).json["removals"], 1)
        self.assertEqual(self.ask("GET", "/v1/doctor", admin).json["devices"], 2)

    def test_without_a_server_the_next_one_does_it(self):
        server = self.under_test
        van = self.device("van")
        self.fill(van, 2)
        server.stop()
        self.verb("device", "delete", "--yes", str(van["id"]))
        self.assertEqual(self.left(van)["locations"], 2000)
        server.start()
        wait_for(lambda: not self.left(van), "its rows go")

    def test_nothing_is_deleted_without_a_yes(self):
        van = self.device("van")
        self.assertIn("--yes", self.refused("device", "delete", str(van["id"])))
        self.assertEqual(self.under_test.deliver(van["access_token"], envelope(1)).status, 200)


class LinkTests(Fleet):
    def now_ms(self) -> int:
        return int(time.time() * 1000)

    def link(self, device: dict, *options: str) -> dict:
        link = json.loads(self.verb("link", "add", "--json", *options, str(device["id"])))
        path, link["secret"] = link["path"].split("#")
        self.assertEqual(path, "/shared")
        return link

    def place(self, link: dict):
        return self.ask("GET", "/v1/shared", link["secret"])

    def test_a_link_shows_one_place_from_now_on(self):
        van, bus = self.device("van"), self.device("bus")
        earlier = envelope(3, self.now_ms() - 600_000, extras={"driver": "7"}, status={"state": "tracking"})
        self.assertEqual(self.under_test.deliver(van["access_token"], earlier).status, 200)
        link = self.link(van, "--hours", "2")
        shown = self.place(link)
        self.assertEqual((shown.status, shown.headers["cache-control"]), (200, "no-store"))
        # Where it was before is not to be seen.
        self.assertEqual(set(shown.json), {"name", "since", "expires"})
        self.assertEqual(self.under_test.deliver(van["access_token"], envelope(1, self.now_ms())).status, 200)
        shown = self.place(link).json
        self.assertEqual(set(shown["latest"]), {"timestamp", "latitude", "longitude", "accuracy", "speed", "bearing"})
        self.assertEqual((shown["name"], shown["latest"]["latitude"]), ("van", 48))
        # And nothing else.
        path = f"/v1/devices/{van['id']}"
        for where in (path, path + "/locations", path + "/events", "/v1/devices", "/v1/live", "/metrics", "/v1/session",
                      f"/v1/devices/{bus['id']}", "/v1/clock"):
            self.assertEqual(self.ask("GET", where, link["secret"]).status, 403, where)
        self.assertEqual(self.ask("POST", "/v1/batches", link["secret"], b"").status, 403)
        self.assertEqual(self.ask("GET", "/v1/shared", link["secret"][:-1] + "x").status, 401)
        self.assertEqual(self.ask("GET", "/v1/shared", link["secret"].replace(f".{van['id']}.", f".{bus['id']}.")).status, 401)
        self.assertEqual(self.ask("GET", "/v1/shared").status, 401)

    def test_a_link_ends(self):
        # The vehicle's number is not that of its link.
        _, van = self.device("bus"), self.device("van")
        admin = self.under_test.add_user("root", "admin")
        first, second = self.link(van), self.link(van, "--hours", "72")
        path = f"/v1/devices/{van['id']}/links"
        for hours in (0, 73, -1, "x", None):
            self.assertEqual(self.send("POST", path, admin, {"hours": hours}).status, 400)
        listed = self.verb("link", "list", str(van["id"]))
        self.assertEqual([line.split("\t")[0] for line in listed.splitlines()], [str(second["id"]), str(first["id"])])
        self.assertNotIn(first["secret"], listed)
        self.verb("link", "remove", str(van["id"]), str(first["id"]))
        self.assertEqual((self.place(first).status, self.place(second).status), (401, 200))
        self.assertIn("no such link", self.refused("link", "remove", str(van["id"]), str(first["id"])))
        # By its time.
        self.write(f"UPDATE links SET created = created - 260000000, expires = {self.now_ms() - 1} WHERE id = {second['id']}")
        self.assertEqual(self.place(second).status, 401)
        self.assertEqual(self.verb("link", "list", str(van["id"])), "")
        # There is an end to how many there are.
        for _ in range(20):
            self.assertEqual(self.send("POST", path, admin, {"hours": 1}).status, 201)
        self.assertEqual(self.send("POST", path, admin, {"hours": 1}).status, 409)
        self.assertEqual(self.send("POST", "/v1/devices/999/links", admin, {"hours": 1}).status, 404)

    def test_the_page_of_a_link_tells_nobody_where_it_was_opened(self):
        self.under_test.kill()
        self.under_test.has_page = True
        self.under_test.start()
        answer = self.ask("GET", "/shared")
        if answer.status == 404:
            self.skipTest("the page is not installed")
        self.assertEqual((answer.status, answer.headers["referrer-policy"]), (200, "no-referrer"))
        self.assertEqual(self.ask("GET", "/").headers["referrer-policy"], "strict-origin-when-cross-origin")


class SQLiteLinkTests(LinkTests, OnSQLite):
    pass


class PostgresLinkTests(LinkTests, OnPostgres):
    pass


class SQLiteGroupTests(Groups, OnSQLite):
    pass


class PostgresGroupTests(Groups, OnPostgres):
    pass


class SQLiteDetailTests(Details, OnSQLite):
    pass


class PostgresDetailTests(Details, OnPostgres):
    pass


class SQLiteDeletionTests(Deletion, OnSQLite):
    pass


class PostgresDeletionTests(Deletion, OnPostgres):
    pass


# They have no server.
del Fleet, Groups, Details, Deletion, LinkTests


if __name__ == "__main__":
    unittest.main()
