"""Servers that forward to a stream, and everybody is killed again and again."""
from __future__ import annotations

import os

from server_support.forwarding import ForwardTest
from server_support.nats import Nats, NatsServer
from server_support.server import Server
from support.waiting import wait_for


class Kills(ForwardTest):
    def others(self) -> list[Server]:
        """More servers of the same database, where there can be more."""
        return [self.make("--config", self.path).start() for _ in range(1)] if hasattr(self, "postgres") else []

    def each_once(self, batches: int, kills: int):
        """Each batch is in the stream once, and nothing waits."""
        broker = NatsServer(os.path.join(self.folder, "nats"))
        self.addCleanup(broker.kill)
        broker.start()
        client = Nats(broker.port)
        client.stream()
        client.close()
        server = self.begin({"name": "stream", "url": broker.url})
        servers = [server, *self.others()]
        names = ["nats-server", *(f"server {index}" for index in range(len(servers)))]
        counts = dict.fromkeys(names, 0)

        def kill(number: int):
            which = number % (len(servers) + 1)
            counts[names[which]] += 1
            if which == 0:
                broker.kill()
                broker.start()
            else:
                servers[which - 1].kill()
                servers[which - 1].start()

        roots = self.survive(batches, kills, kill)
        client = Nats(broker.port)
        self.addCleanup(client.close)
        wait_for(lambda: client.count() >= batches, "all of them")
        found = [headers["Nats-Msg-Id"] for _, headers, _ in client.messages()]
        self.assertEqual(sorted(found), sorted(root["batch_id"] for root in roots))
        self.account("stream", batches, batches)
        print(f"\n{batches} batches, kills: {counts}: {len(found)} in the stream, {len(set(found))} different, "
              f"{self.waiting()} wait")
