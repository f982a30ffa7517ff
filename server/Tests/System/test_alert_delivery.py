"""Alerts on their way to webhooks and mail: to receivers that lose answers, refuse, hang and send too much; from servers that are
killed, and from two at once; over an outage of a day. Each arrives, and each time alike."""
from __future__ import annotations

import os
import re
import struct
import sys
import threading
import unittest
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.databases import OnPostgres, OnSQLite
from server_support.delivering import ADA, BOB, DeliveryTest
from server_support.delivery_kills import Kills
from server_support.receivers import HAS_AIOSMTPD, Hook
from support.clocks import shim
from support.ports import new_port
from support.tls import Authority, context, needs_openssl
from support.waiting import wait_for

needs_aiosmtpd = unittest.skipUnless(HAS_AIOSMTPD, "no aiosmtpd: 'make deps' installs it")


class Webhooks(DeliveryTest):
    def test_an_alert_arrives_and_its_signature_proves_it(self):
        self.begin()
        rule = self.rule(webhook=self.hook.url("/hook?key=1"))
        self.happen()
        wait_for(lambda: self.hook.calls, "a call")
        call = self.hook.calls[0]
        self.assertTrue(call.is_signed(rule["secret"]), call)
        self.assertFalse(call.is_signed("whsec_" + "A" * 43 + "="))
        self.assertEqual(call.path, "/hook?key=1")
        self.assertEqual(call.headers["content-type"], "application/json")
        self.assertRegex(call.headers["user-agent"], r"^beekon-server/\d")
        body = call.json
        self.assertEqual(body["id"], call.id)
        self.assertEqual((body["type"], body["text"], body["data"]["fence"]), ("geofence", "van has entered depot", "depot"))
        self.settle()
        # It is counted once it is noted.
        wait_for(lambda: self.metric('beekon_server_alerts_total{channel="webhook",result="accepted"}') == 1, "it is counted")
        self.assertEqual(self.metric('beekon_server_alerts_waiting{channel="webhook"}'), 0)
        self.assertEqual(self.ask("GET", "/v1/alerts").json["alerts"][0]["webhook"], "sent")

    def test_what_is_not_accepted_comes_again_alike(self):
        """And is told: that it waits and why, in the log once, in the metrics, on the page, by the doctor when it lasts."""
        self.begin()
        rules = {way: self.rule(name=str(way), webhook=self.hook.url(f"/{way}")) for way in (500, "redirect", "lost")}
        self.hook.ways = {f"/{way}": way for way in rules}
        self.happen()
        wait_for(lambda: len(self.rows("SELECT id FROM alerts WHERE reason IS NOT NULL")) == 3, "three failures")
        wait_for(lambda: self.metric('beekon_server_alerts_total{channel="webhook",result="failed"}') >= 3, "they are counted")
        alerts = {alert["rule"]["name"]: alert for alert in self.ask("GET", "/v1/alerts").json["alerts"]}
        self.assertEqual({name: alert["webhook"] for name, alert in alerts.items()},
                         {"500": "waiting", "redirect": "waiting", "lost": "waiting"})
        self.assertEqual(alerts["500"]["reason"], "answered 500")
        reasons = {reason for (reason,) in self.rows("SELECT reason FROM alerts")}
        self.assertIn("answered 500", reasons)
        self.assertIn("answered 302: redirects are not followed", reasons)
        self.assertEqual(len(reasons), 3)
        self.write("UPDATE alerts SET created = created - 3600000")
        self.assertIn("BAD   alerts: 3 wait for webhooks, the oldest since", self.doctor())
        self.hook.ways = {}
        self.hurry()
        self.settle()
        self.assertEqual(self.hook.ids("/elsewhere"), [])
        for way, rule in rules.items():
            calls = [call for call in self.hook.calls if call.path == f"/{way}"]
            with self.subTest(way):
                self.assertGreaterEqual(len(calls), 2)
                self.assertEqual(len({(call.id, call.body) for call in calls}), 1, "the same id and the same bytes")
                self.assertTrue(all(call.is_signed(rule["secret"]) for call in calls))
        wait_for(lambda: "rule '500' sends by webhook is accepted again" in self.log(), "a line in the log")
        log = self.log()
        self.assertEqual(log.count("is not accepted: answered 500; it is tried again for 3 days"), 1, log)
        self.assertEqual(log.count("rule '500' sends by webhook is accepted again"), 1, log)
        self.assertNotIn("BAD   alerts", self.doctor())

    def test_a_test_shows_at_once_whether_it_arrives(self):
        """Nothing of it is listed, counted or tried again."""
        self.begin()
        rule = self.rule(webhook=self.hook.url("/hook?key=1"), mail=[ADA])
        results = self.ask("POST", f"/v1/rules/{rule['id']}/test").json["results"]
        self.assertEqual([(result["channel"], result["result"]) for result in results], [("webhook", "sent"), ("mail", "failed")])
        self.assertEqual(results[0]["address"], self.hook.url("/…"))
        self.assertEqual(results[1]["reason"], "no mail server is configured: set smtp and smtp_from")
        call = self.hook.calls[0]
        self.assertTrue(call.is_signed(rule["secret"]))
        self.assertEqual((call.json["id"], call.json["type"]), (call.id, "test"))
        self.assertEqual(call.json["text"], "a test of the rule depot: nothing has happened")
        self.assertEqual(call.json["data"], {"rule": {"id": rule["id"], "name": "depot"}})
        self.hook.ways["/hook?key=1"] = 500
        failed = self.ask("POST", f"/v1/rules/{rule['id']}/test").json["results"][0]
        self.assertEqual((failed["result"], failed["reason"]), ("failed", "answered 500"))
        self.assertEqual(self.ask("GET", "/v1/alerts").json["alerts"], [])
        self.assertEqual(self.metric('beekon_server_alerts_total{channel="webhook",result="failed"}'), 0)
        self.assertEqual(self.ask("POST", "/v1/rules/999/test").status, 404)

    def test_an_answer_without_end_is_accepted_and_not_read(self):
        self.begin()
        self.rule(webhook=self.hook.url("/huge"))
        self.hook.ways["/huge"] = "huge"
        self.happen()
        self.settle()
        self.assertEqual(len(self.hook.calls), 1)
        # As much as the buffers of both sides take.
        self.assertLess(self.hook.sent, 16 << 20)

    def test_who_is_slow_holds_up_nobody_else(self):
        self.begin()
        slow = self.rule(name="slow", webhook=self.hook.url("/slow"))
        self.rule(name="quick", webhook=self.hook.url("/quick"))
        self.hook.ways["/slow"] = "slow"
        self.happen(20)
        wait_for(lambda: len(self.hook.ids("/quick")) == 20, "all of the quick one")
        # As many as a rule may have at once, none of them twice.
        wait_for(lambda: len(self.hook.ids("/slow")) >= 4, "four of the slow one")
        self.assertEqual(self.hook.at_once, set())
        # The next four come when these have been waited for, which takes 15 s.
        came = [call.came for call in self.hook.calls if call.path == "/slow"]
        for first, fifth in zip(came, came[4:], strict=False):
            self.assertGreater(fifth - first, 5, "no more than four at once")
        # A rule that is gone sends nothing more.
        self.assertEqual(self.ask("DELETE", f"/v1/rules/{slow['id']}").status, 204)
        self.hook.release.set()
        wait_for(lambda: not +self.hook.under_way, "answers")
        slow_ones = len(self.hook.ids("/slow"))
        self.happen()
        wait_for(lambda: len(self.hook.ids("/quick")) == 21, "the next one of the quick one")
        self.assertEqual(len(self.hook.ids("/slow")), slow_ones)

    def test_it_is_given_up_after_three_days_and_told(self):
        self.begin()
        self.rule(webhook=self.hook.url("/500"))
        self.hook.ways["/500"] = 500
        self.happen(2)
        wait_for(lambda: len(self.rows("SELECT id FROM alerts WHERE reason IS NOT NULL")) == 2, "two failures")
        # One has been tried for almost so long, the other for a little longer.
        self.write("UPDATE alerts SET created = created - 3 * 86400000 + 600000")
        self.write("UPDATE alerts SET created = created - 1200000 WHERE id IN (SELECT id FROM alerts ORDER BY id LIMIT 1)")
        self.hurry()
        wait_for(lambda: self.rows("SELECT id FROM alerts WHERE failed IS NOT NULL"), "one that is given up")
        wait_for(lambda: sorted(len(calls) >= 2 for calls in self.hook.by_id().values()) == [True, True],
                 "both were tried once more")
        wait_for(lambda: "1 of rule 'depot' by webhook given up after 3 days: answered 500" in self.log(), "a line in the log")
        self.assertEqual(self.waiting(), 1)
        self.assertEqual(self.metric('beekon_server_alerts_total{channel="webhook",result="given_up"}'), 1)
        self.assertIn("BAD   alerts: 1 given up within the last day: answered 500", self.doctor())
        states = sorted(alert["webhook"] for alert in self.ask("GET", "/v1/alerts").json["alerts"])
        self.assertEqual(states, ["failed", "waiting"])


@needs_aiosmtpd
class Mails(DeliveryTest):
    def test_a_test_goes_to_each_address(self):
        sink = self.sink()
        self.begin(sink=sink)
        rule = self.rule(mail=[ADA, BOB])
        results = self.ask("POST", f"/v1/rules/{rule['id']}/test").json["results"]
        self.assertEqual([(result["address"], result["result"]) for result in results], [(ADA, "sent"), (BOB, "sent")])
        self.assertEqual({mail.recipient for mail in sink.mails}, {ADA, BOB})
        for mail in sink.mails:
            self.assertEqual(mail.defects, [])
            self.assertIn("a test of the rule depot: nothing has happened", mail.text)

    def test_one_mail_tells_all_that_has_happened(self):
        sink = self.sink()
        self.begin(sink=sink)
        self.rule(name="Hof Süd", mail=[ADA, BOB])
        self.happen()
        wait_for(lambda: len(sink.mails) == 2, "a mail to both")
        self.settle()
        self.assertEqual({mail.recipient for mail in sink.mails}, {ADA, BOB})
        self.assertEqual(len({(mail.content, mail.id) for mail in sink.mails}), 1)
        mail = sink.mails[0]
        self.assertEqual(mail.defects, [])
        self.assertEqual(mail.sender, "fleet@example.org")
        self.assertEqual(mail.message["Subject"], "Hof Süd: van has entered depot")
        self.assertEqual(mail.message["From"].addresses[0].display_name, "Flotte Köln")
        self.assertEqual([address.addr_spec for address in mail.message["To"].addresses], [ADA, BOB])
        self.assertRegex(mail.text, r"^\d{4}-\d\d-\d\d \d\d:\d\d UTC  van has entered depot\n")
        self.assertIn("https://fleet.example.org/#/alerts", mail.text)
        self.assertEqual(self.ask("GET", "/v1/alerts").json["alerts"][0]["mail"], "sent")
        # The next one is so much later, and tells all that has happened meanwhile; of many, the rest is counted.
        self.happen(60)
        self.happen(60)
        wait_for(lambda: self.waiting() == 120, "they wait for their mail")
        self.assertEqual(len(sink.mails), 2)
        self.hurry_mails()
        wait_for(lambda: len(sink.mails) == 4, "the second one")
        self.assertEqual(sink.mails[2].message["Subject"], "Hof Süd: 120 alerts")
        self.assertEqual(sink.mails[2].text.count("van has entered depot"), 100)
        self.assertIn("\nand 20 more\n", sink.mails[2].text)
        self.settle()

    def test_a_refusal_of_one_recipient_is_not_the_others(self):
        sink = self.sink()
        self.begin(sink=sink)
        reader = self.under_test.add_user("rita", "reader")
        for name, refusal in (("gone", "550 5.1.1 There is nobody"), ("later", "451 4.7.1 Later")):
            with self.subTest(name):
                sink.mails.clear()
                sink.refused[ADA] = refusal
                rule = self.rule(name=name, mail=[ADA, BOB], mail_interval_seconds=60)
                self.happen()
                wait_for(lambda: sink.of(BOB), "the mail of the other")
                wait_for(lambda: self.rows(f"SELECT 1 FROM alert_recipients WHERE reason = '{refusal}'"), "the refusal")
                listed = f"/v1/alerts?rule={rule['id']}"
                self.assertEqual(self.ask("GET", listed).json["alerts"][0]["reason"], refusal)
                # It may name an address, which is an admin's.
                self.assertNotIn("reason", self.under_test.ask("GET", listed, reader).json["alerts"][0])
                self.assertEqual(sink.of(ADA), [])
                # Another alert meanwhile is in the next mail, which does not wait for who refuses.
                self.happen()
                self.hurry_mails()
                wait_for(lambda: len(sink.of(BOB)) == 2, "the next mail of the other")
                # Nothing is under way when it is due at once.
                refused = f"SELECT 1 FROM alert_recipients WHERE reason = '{refusal}'"
                wait_for(partial(self.are_found, refused, 2), "both refusals")
                del sink.refused[ADA]
                self.hurry()
                wait_for(lambda: len({mail.content for mail in sink.of(ADA)}) == 2, "both mails")
                self.assertEqual({mail.content for mail in sink.of(ADA)}, {mail.content for mail in sink.of(BOB)})
                self.settle()
                self.assertEqual(self.ask("DELETE", f"/v1/rules/{rule['id']}").status, 204)

    def are_found(self, statement: str, count: int) -> bool:
        return len(self.rows(statement)) == count

    def test_what_may_have_been_seen_comes_again_alike(self):
        """An answer that is lost, and refusals of the whole mail; what happens meanwhile is in the next."""
        sink = self.sink()
        self.begin(sink=sink)
        for way in ("lost", "554 5.7.1 Spam", "452 4.3.1 Full"):
            with self.subTest(way):
                sink.mails.clear()
                sink.ways[ADA] = way
                rule = self.rule(name=f"rule {way}", mail=[ADA])
                self.happen()
                waiting = "SELECT 1 FROM alert_recipients WHERE due IS NOT NULL AND reason IS NOT NULL"
                wait_for(self.finding(waiting), "a failure")
                self.happen()
                self.hurry()
                wait_for(lambda: len(sink.mails) >= 2, "a second try")
                wait_for(self.finding(waiting + " AND attempts >= 2"), "its failure")
                del sink.ways[ADA]
                self.hurry()
                self.hurry_mails()
                wait_for(lambda: any(mail.accepted for mail in sink.mails), "an accepted mail")
                self.hurry_mails()
                self.settle()
                by_id: dict = {}
                for mail in sink.mails:
                    by_id.setdefault(mail.id, set()).add(mail.content)
                self.assertEqual(len(by_id), 2, by_id)
                self.assertTrue(all(len(contents) == 1 for contents in by_id.values()), "the same bytes for one id")
                self.assertEqual(self.ask("DELETE", f"/v1/rules/{rule['id']}").status, 204)

    @needs_openssl
    def test_a_server_elsewhere_must_encrypt_before_anything_is_said(self):
        authority = Authority(os.path.join(self.folder, "tls"))
        sink = self.sink(tls=context(*authority.certificate("mail")), login=("beekon", "s e€cret"))
        word = os.path.join(self.folder, "word")
        Path(word).write_text("s e€cret\n", encoding="utf-8")
        # As it is written, this is not known to be this machine.
        options = ("--smtp", f"smtp://127.1:{sink.port}", "--smtp-from", "fleet@example.org", "--smtp-user", "beekon",
                   "--smtp-password-file", word)
        server = self.begin(*options)
        self.rule(mail=[ADA])
        self.happen()
        wait_for(self.finding("SELECT 1 FROM alert_recipients WHERE reason LIKE '%certificate%'"), "an unknown authority")
        self.assertEqual((sink.mails, sink.logins), ([], []))
        server.stop()
        server.options = (*server.options[:-8], *options, "--smtp-ca-file", authority.ca)
        # While nobody has claimed it: it would go out twice.
        self.hurry()
        server.start()
        self.settle()
        self.assertEqual(sink.logins, [("beekon", "s e€cret")])
        self.assertEqual([mail.recipient for mail in sink.mails], [ADA])

    def test_a_server_elsewhere_that_cannot_encrypt_gets_nothing(self):
        sink = self.sink()
        server = self.begin("--smtp", f"smtp://127.1:{sink.port}", "--smtp-from", "fleet@example.org")
        self.rule(mail=[ADA])
        self.happen()
        wait_for(lambda: self.rows("SELECT 1 FROM alert_recipients WHERE reason LIKE '%STARTTLS%'"), "a failure")
        self.assertEqual(sink.mails, [])
        server.stop()
        server.options += ("--smtp-unencrypted",)
        self.hurry()
        server.start()
        self.settle()
        self.assertEqual(len(sink.mails), 1)

    def test_whom_the_rule_does_not_name_any_more_gets_nothing(self):
        sink = self.sink()
        self.begin(sink=sink)
        sink.refused[ADA] = "451 later"
        rule = self.rule(mail=[ADA])
        self.happen()
        wait_for(lambda: self.rows("SELECT 1 FROM alert_recipients WHERE reason IS NOT NULL"), "a failure")
        answer = self.ask("PUT", f"/v1/rules/{rule['id']}", {"name": "depot", "kind": "geofence", "mail": [BOB]})
        self.assertEqual(answer.status, 200, answer)
        del sink.refused[ADA]
        self.hurry()
        self.settle()
        self.happen()
        self.hurry_mails()
        wait_for(lambda: sink.of(BOB), "a mail of the other")
        self.assertEqual(sink.of(ADA), [])


class Configuration(DeliveryTest):
    def test_the_doctor_says_what_is_missing(self):
        server = self.begin()
        self.assertNotIn("alerts", self.doctor())
        self.rule(name="mail", mail=[ADA])
        self.rule(name="far", webhook="https://hooks.example.org/x")
        self.assertIn("BAD   alerts: rules that ask for mail: 1, and no mail server is configured: smtp and smtp_from",
                      self.doctor())
        server.stop()
        # What the unit says, and the drop-in takes back.
        server.environment = {"BEEKON_SERVER_NETWORK": "local"}
        server.start()
        if isinstance(self, OnSQLite):
            self.assertIn("BAD   alerts: the service may not reach other machines; its drop-in alerts.conf", self.doctor())
        server.stop()
        server.environment = {"BEEKON_SERVER_NETWORK": "any"}
        server.start()
        self.assertNotIn("may not reach", self.doctor())

    def test_what_cannot_be_is_refused_and_a_file_that_is_missing_stops_nobody(self):
        server = self.begin()
        server.stop()
        for options, complaint in (
                (("--smtp", "http://mail.example.org", "--smtp-from", "a@example.org"), "begins with smtp:// or smtps://"),
                (("--smtp", "smtp://mail.example.org"), "smtp needs smtp_from"),
                (("--smtp", "smtp://mail.example.org", "--smtp-from", "nobody"), "the sender of mail is an address"),
                (("--public-url", "ftp://example.org"), "begins with https:// or http://")):
            with self.subTest(options):
                done = server.verb("serve", "--listen=127.0.0.1:0", *options)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(complaint, done.stderr)
        server.options += ("--smtp", "smtp://mail.example.org", "--smtp-from", "a@example.org", "--smtp-user", "b")
        server.start()
        self.assertIn("no mail for alerts: smtp_user needs smtp_password_file", self.log())
        if isinstance(self, OnSQLite):
            self.assertIn("BAD   alerts: smtp_user needs smtp_password_file", self.doctor())

    def test_a_file_says_the_same(self):
        server = self.begin()
        server.stop()
        path = os.path.join(self.folder, "server.toml")
        Path(path).write_text('smtp = "smtp://127.0.0.1"\nsmtp_from = "A <a@example.org>"\nsmtp_unencrypted = "yes"\n'
                              'public_url = "https://fleet.example.org"\nsmtp_port = 25\n', encoding="utf-8")
        done = server.verb("doctor", f"--config={path}")
        self.assertIn(f"{path}:3: smtp_unencrypted is true or false", done.stdout)
        self.assertIn(f"{path}:5: there is no setting smtp_port", done.stdout)


class OnSQLiteWebhooks(Webhooks, OnSQLite):
    pass


class OnPostgresWebhooks(Webhooks, OnPostgres):
    pass


class OnSQLiteMails(Mails, OnSQLite):
    pass


class OnPostgresMails(Mails, OnPostgres):
    pass


class OnSQLiteConfiguration(Configuration, OnSQLite):
    pass


class OnPostgresConfiguration(Configuration, OnPostgres):
    pass


@needs_aiosmtpd
class OnSQLiteKills(Kills, OnSQLite):
    def test_each_arrives_and_each_time_alike(self):
        self.survive(alerts=60, kills=5)


@needs_aiosmtpd
class OnPostgresKills(Kills, OnPostgres):
    def test_each_arrives_and_each_time_alike(self):
        self.survive(alerts=60, kills=5)


class OnePostgres(DeliveryTest, OnPostgres):
    def test_two_servers_share_the_work_and_send_nothing_twice(self):
        first = self.begin()
        second = self.make().start()
        self.rule(webhook=self.hook.url())
        # The other has heard of the rule when it has an alert for it.
        wait_for(lambda: self.is_told(second), "a call for what the other server was told")
        threads = [threading.Thread(target=self.many, args=(server,)) for server in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.settle()
        ids = self.hook.ids()
        self.assertEqual(len(ids), len(set(ids)), "none twice")
        self.assertEqual(len(ids), len(self.rows("SELECT id FROM alerts")))
        wait_for(lambda: sum(self.sent_by(server) for server in (first, second)) == len(ids), "each is counted")
        print(f"\nof {len(ids)} alerts, the servers sent {[self.sent_by(server) for server in (first, second)]}")

    def sent_by(self, server) -> int:
        text = self.ask("GET", "/metrics", server=server).body.decode()
        found = re.search(r'^beekon_server_alerts_total{channel="webhook",result="accepted"} (\d+)$', text, re.M)
        assert found
        return int(found[1])

    def is_told(self, server) -> bool:
        self.happen(server=server)
        return bool(self.hook.calls)

    def many(self, server):
        for _ in range(10):
            self.happen(10, server=server)


@needs_aiosmtpd
class Outage(DeliveryTest, OnSQLite):
    def shift(self, days: float):
        """Moves the clock of the server that runs."""
        with open(os.path.join(self.folder, "clocks"), "r+b") as file:
            file.write(struct.pack("=q", int(days * 86_400 * 1e9)))

    def test_after_a_day_there_is_one_mail_of_a_rule(self):
        """Neither the mail server nor the receiver of webhooks is there for a day, while alerts go on; then they are back."""
        (mail_port, hook_port) = (new_port(), new_port())
        path = os.path.join(self.folder, "clocks")
        with open(path, "wb") as file:
            file.write(struct.pack("=5q", 0, 0, 0, 0, 0))
        server = self.make("--smtp", f"smtp://127.0.0.1:{mail_port}", "--smtp-from", "fleet@example.org")
        server.environment = {"LD_PRELOAD": shim(), "BEEKOND_TEST_CLOCK": path}
        self.make = lambda *options: server
        self.begin()
        for name in ("one", "two"):
            self.rule(name=name, mail=[ADA], webhook=f"http://127.0.0.1:{hook_port}/{name}")
        hours = 6
        for hour in range(hours):
            mails, webhooks = self.failures("mail"), self.failures("webhook")
            self.shift(hour * 24 / hours / 24)
            # Of the time that the server has by now.
            self.happen_at(hour * 24 / hours * 3600)
            # Of both rules: no mail is under way when the clock leaps.
            wait_for(partial(self.have_failed, mails + 2, webhooks + 2), "tries that fail")
        sink = self.sink(port=mail_port)
        hook = Hook(hook_port)
        self.addCleanup(hook.close)
        # In one step: a claim that is under way when the clock leaps is over, and what it sends comes again.
        self.shift(1.1)
        self.settle(90)
        self.assertEqual(sorted(mail.message["Subject"] for mail in sink.mails), ["one: 6 alerts", "two: 6 alerts"])
        for path in ("/one", "/two"):
            self.assertEqual(len(set(hook.ids(path))), hours)
        self.assertEqual(self.log().count("sends by mail is not accepted"), 2)

    def failures(self, channel: str) -> float:
        return self.metric(f'beekon_server_alerts_total{{channel="{channel}",result="failed"}}')

    def have_failed(self, mails: float, webhooks: float) -> bool:
        return self.failures("mail") >= mails and self.failures("webhook") >= webhooks

    def happen_at(self, seconds: float):
        from server_support import delivering
        real = delivering.clock
        delivering.clock = lambda: real() + int(seconds * 1000)
        try:
            self.happen()
        finally:
            delivering.clock = real


# They are run on a database each.
del Webhooks, Mails, Configuration


if __name__ == "__main__":
    unittest.main()
