"""Alerts from a server that is killed again and again."""
from __future__ import annotations

import random
import re
from collections.abc import Callable

from server_support.delivering import ADA, DeliveryTest
from support.waiting import wait_for


class Kills(DeliveryTest):
    def survive(self, alerts: int, kills: int):
        """Each id arrives, by webhook and in a mail; all arrivals of one id are alike. Repeats are counted."""
        sink = self.sink()
        server = self.begin(sink=sink)
        rule = self.rule(webhook=self.hook.url("/hook"), mail=[ADA])
        # Many mails, so that many are under way when it is killed.
        self.write("UPDATE alert_rules SET mail_interval = 0")
        # Something is always under way.
        self.hook.ways["/hook"] = sink.ways[ADA] = "late"
        chance = random.Random(1)
        made = 0
        for kill in range(kills):
            share = alerts * (kill + 1) // kills - made
            wanted, before = len(self.hook.calls) + chance.randint(1, share), len(sink.mails)
            self.happen(share, fence=f"fence {kill}")
            made += share
            wait_for(self.longer(self.hook.calls, wanted - 1), "some of the calls")
            if kill % 3 == 0:
                wait_for(self.longer(sink.mails, before), "a mail")
            server.kill()
            server.start()
            # What it had claimed would be due in up to a minute.
            self.hurry()
        self.hook.ways["/hook"] = 204
        del sink.ways[ADA]
        self.settle(120)
        stored = {row[0] for row in self.rows("SELECT CAST(id AS text) FROM alerts" if server.database.startswith("postgres")
                                              else "SELECT hex(id) FROM alerts")}
        self.assertEqual(len(stored), alerts)
        by_id = self.hook.by_id()
        self.assertEqual({name.replace("-", "").lower() for name in by_id}, {name.replace("-", "").lower() for name in stored})
        for name, calls in by_id.items():
            self.assertEqual(len({call.body for call in calls}), 1, name)
            self.assertTrue(all(call.is_signed(rule["secret"]) for call in calls))
        contents: dict = {}
        for mail in sink.mails:
            contents.setdefault(mail.id, set()).add(mail.content)
            self.assertEqual(mail.defects, [])
        self.assertTrue(all(len(found) == 1 for found in contents.values()), "mails of one id are alike")
        first = {mail.id: mail for mail in sink.mails}
        text = "".join(mail.text for mail in first.values())
        told = text.count("van has entered fence") + sum(int(count) for count in re.findall(r"^and (\d+) more$", text, re.M))
        self.assertEqual(told, alerts, "each is in one mail")
        # A kill that hits nothing proves nothing. Mails are few: whether one came again is a matter of chance.
        self.assertGreater(len(self.hook.calls), len(by_id))
        print(f"\n{alerts} alerts, {kills} kills: {len(self.hook.calls) - len(by_id)} webhooks and "
              f"{len(sink.mails) - len(contents)} of {len(contents)} mails came again")

    @staticmethod
    def longer(found: list, count: int) -> Callable[[], bool]:
        return lambda: len(found) > count
