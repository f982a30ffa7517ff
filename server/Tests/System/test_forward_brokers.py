"""Forwarding to a real nats-server with JetStream, and to mosquitto."""
from __future__ import annotations

import gzip
import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.databases import OnPostgres, OnSQLite
from server_support.forward_kills import Kills
from server_support.forwarding import ForwardTest, ids, unpacked
from server_support.mqtt5 import Listener
from server_support.nats import Nats, NatsServer, needs_nats
from support.mosquitto import Mosquitto, needs_mosquitto
from support.ports import new_port
from support.tls import Authority, needs_openssl
from support.waiting import wait_for


@needs_nats
class JetStream(ForwardTest):
    # A byte, as the database writes it.
    blob: str

    def nats(self, *lines: str) -> NatsServer:
        server = NatsServer(os.path.join(self.folder, "nats"), *lines)
        self.addCleanup(server.kill)
        return server

    def client(self, server: NatsServer, login: dict | None = None) -> Nats:
        client = Nats(server.port, login)
        self.addCleanup(client.close)
        return client

    def test_each_batch_is_in_the_stream(self):
        broker = self.nats().start()
        client = self.client(broker)
        client.stream()
        self.begin({"name": "stream", "url": broker.url, "subject": "beekon.{device_id}.{device}"})
        bus = self.under_test.add_device("bus.1 >*")
        roots = [self.upload(2, device) for _ in range(50) for device in (self.van, bus)]
        self.settle()
        messages = client.messages()
        self.assertEqual([headers["Nats-Msg-Id"] for _, headers, _ in messages], [root["batch_id"] for root in roots])
        for (subject, headers, body), root, index in zip(messages, roots, range(len(roots)), strict=True):
            name, device = ("van", self.van) if index % 2 == 0 else ("bus%2E1%20%3E%2A", bus)
            self.assertEqual(subject, f"beekon.{device['id']}.{name}")
            self.assertEqual((headers["Beekon-Device"], headers["Beekon-Device-Name"]), (str(device["id"]), name))
            self.assertEqual(unpacked(body, headers), root)
        self.account("stream", 100, 200)
        # As if the acknowledgement had been lost: the stream knows it by its id.
        self.write("INSERT INTO outbox(device, target, id, received, rows, size, packed, body) "
                   f"VALUES ({self.van['id']}, 'stream', '{roots[0]['batch_id']}', 1, 0, 1, 0, {self.blob})")
        self.settle()
        self.assertEqual(client.count(), 100)

    def test_what_no_stream_takes_waits_and_is_told(self):
        broker = self.nats("max_payload: 20000").start()
        client = self.client(broker)
        self.begin({"name": "stream", "url": broker.url})
        sent = [self.upload(1)["batch_id"]]
        wait_for(lambda: "forward 'stream': nothing is accepted: no stream takes the subject beekon." in self.log(), "a line")
        wait_for(lambda: "BAD   forward 'stream': it takes nothing since " in self.doctor(), "the doctor")
        self.assertEqual(self.waiting(), 1)
        client.stream(max_msgs=3, discard="new")
        self.settle()
        sent += [self.upload(1)["batch_id"] for _ in range(5)]
        wait_for(lambda: "the stream refuses: maximum messages exceeded" in self.doctor(), "it is full")
        wait_for(lambda: (self.waiting(), client.count()) == (3, 3), lambda: f"{self.waiting()} wait, {client.count()} are there")
        # What is too long for it holds up no other.
        extras = {f"key {index}": "x" * 1000 for index in range(30)}
        long = self.batch(1, extras=extras)
        self.assertEqual(self.under_test.post(self.van["access_token"], long, packed=False).status, 200)
        sent.append(self.upload(1)["batch_id"])
        client.change(max_msgs=-1)
        wait_for(lambda: self.waiting() == 1, lambda: f"the others; {self.waiting()}")
        wait_for(lambda: "max_payload" in (self.rows("SELECT reason FROM outbox")[0][0] or ""), "why it waits")
        self.assertEqual(sorted(headers["Nats-Msg-Id"] for _, headers, _ in client.messages()), sorted(sent))
        self.account("stream", 8, 8)

    def test_login(self):
        secret = os.path.join(self.folder, "secret")
        with open(secret, "w", encoding="ascii") as file:
            file.write("wrong\n")
        broker = self.nats('authorization { user: "server", password: "right" }').start()
        client = self.client(broker, {"user": "server", "pass": "right"})
        client.stream()
        self.begin({"name": "stream", "url": broker.url, "user": "server", "password_file": secret})
        self.upload(1)
        wait_for(lambda: "forward 'stream': nothing is accepted: cannot connect: " in self.log(), "a refusal")
        with open(secret, "w", encoding="ascii") as file:
            file.write("right\n")
        self.settle()
        self.assertEqual(client.count(), 1)

    @needs_openssl
    def test_tls(self):
        authority = Authority(os.path.join(self.folder, "tls"))
        certificate, private = authority.certificate("broker")
        broker = self.nats(f'tls {{ cert_file: "{certificate}", key_file: "{private}" }}').start()
        # The system's authorities do not vouch for it.
        self.begin({"name": "stranger", "url": broker.url.replace("nats:", "tls:")},
                   {"name": "friend", "url": broker.url.replace("nats:", "tls:"), "ca_file": authority.ca})
        self.upload(1)
        wait_for(lambda: "forward 'stranger': nothing is accepted: cannot connect: SSL" in self.log(), self.log)
        wait_for(lambda: "forward 'friend': nothing is accepted: no stream takes" in self.log(), self.log)


class OnSQLiteJetStream(JetStream, OnSQLite):
    blob = "x'31'"


class OnPostgresJetStream(JetStream, OnPostgres):
    blob = "'1'"


@needs_nats
class OnSQLiteKills(Kills, OnSQLite):
    def test_each_batch_is_in_the_stream_once(self):
        self.each_once(batches=60, kills=10)


@needs_nats
class OnPostgresKills(Kills, OnPostgres):
    def test_each_batch_is_in_the_stream_once(self):
        self.each_once(batches=60, kills=10)


@needs_mosquitto
class MQTT(ForwardTest, OnSQLite):
    def broker(self, *settings: str) -> Mosquitto:
        folder = os.path.join(self.folder, "broker")
        os.mkdir(folder)
        broker = Mosquitto(folder, new_port(), *settings)
        self.addCleanup(broker.kill)
        return broker

    def listener(self, broker: Mosquitto, login: tuple[str, str] | None = None) -> Listener:
        listener = Listener(broker.port, login)
        self.addCleanup(listener.close)
        return listener

    def test_each_batch_arrives(self):
        broker = self.broker()
        self.begin({"name": "broker", "url": f"mqtt://127.0.0.1:{broker.port}", "topic": "fleet/{device}/batches"})
        first = self.upload(2)
        wait_for(lambda: "forward 'broker': nothing is accepted: cannot connect: Connection refused" in self.log(), self.log)
        broker.start()
        listener = self.listener(broker)
        roots = [first, *(self.upload(2) for _ in range(100))]
        self.settle()
        # The first may have come before anybody listened.
        wanted = {root["batch_id"] for root in roots[1:]}
        wait_for(lambda: wanted <= {properties["Idempotency-Key"] for _, properties, _ in listener.messages}, "all messages")
        found = {properties["Idempotency-Key"]: (topic, properties, body) for topic, properties, body in listener.messages}
        for root in roots[1:]:
            topic, properties, body = found[root["batch_id"]]
            self.assertEqual(topic, "fleet/van/batches")
            self.assertEqual(properties, {
                "Idempotency-Key": root["batch_id"], "Beekon-Device": str(self.van["id"]), "Beekon-Device-Name": "van",
                "Content-Encoding": "gzip", "Content-Type": "application/json"})
            self.assertEqual(json.loads(gzip.decompress(body)), root)
        self.account("broker", 101, 202)
        # While the broker is killed again and again.
        for _ in range(3):
            listener.close()
            broker.kill()
            for _ in range(3):
                self.upload(1)
            broker.start()
            listener = self.listener(broker)
            self.settle()
        self.account("broker", 110, 211)

    def test_login_and_rights(self):
        broker = self.broker("allow_anonymous false", "password_file {}/passwords", "acl_file {}/acl")
        broker.password("server", "right")
        broker.password("reader", "right")
        broker.write("acl", "user reader\ntopic read #\nuser server\ntopic write elsewhere/#\n")
        secret = os.path.join(self.folder, "secret")
        with open(secret, "w", encoding="ascii") as file:
            file.write("wrong")
        broker.start()
        self.begin({"name": "broker", "url": f"mqtt://127.0.0.1:{broker.port}", "user": "server", "password_file": secret})
        self.upload(1)
        wait_for(lambda: "the broker refuses the connection: Not authorized" in self.log(), self.log)
        with open(secret, "w", encoding="ascii") as file:
            file.write("right")
        wait_for(lambda: "the broker refuses: Not authorized" in self.doctor(), self.doctor)
        self.assertEqual(self.waiting(), 1)
        broker.kill()
        broker.write("acl", "user reader\ntopic read #\nuser server\ntopic write beekon/#\n")
        broker.start()
        listener = self.listener(broker, ("reader", "right"))
        # The first may have come before anybody listened.
        wanted = ids(self.upload(1))
        self.settle()
        self.account("broker", 2, 2)
        wait_for(lambda: wanted in [ids(unpacked(body, properties)) for _, properties, body in listener.messages], "a message")
        self.assertEqual({topic for topic, _, _ in listener.messages}, {f"beekon/batches/{self.van['id']}"})


# They are run on a database each.
del JetStream


if __name__ == "__main__":
    unittest.main()
