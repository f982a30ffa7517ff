"""The page, in Chromium: events as they come, rules, alerts, and notifications of the browser."""
import datetime
import re
import sys
import time
import unittest
from pathlib import Path
from zoneinfo import ZoneInfo

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support import fleet
from server_support.browser import axe_script
from server_support.page_test import PageTest
from server_support.server import iso, uuid7
from support.waiting import wait_for

# What was shown is counted where it is shown: Chromium forgets a notification when somebody asks for the list
# of them between its writing and its display.
COUNTED = """globalThis.shown = 0;
const show = ServiceWorkerRegistration.prototype.showNotification;
ServiceWorkerRegistration.prototype.showNotification = async function (...all) {
    await show.apply(this, all);
    shown += 1;
};"""
SHOWN = """navigator.serviceWorker.ready.then(worker => worker.getNotifications())
    .then(list => list.map(({ title, body }) => `${title}: ${body}`))"""
# As if a person had clicked the first: it brings the page to the front, which only a person may.
CLICK = """self.registration.getNotifications().then(([notification]) =>
    self.dispatchEvent(new NotificationEvent("notificationclick", { notification })))"""


class AlertScreenTests(PageTest):
    def check(self, page, what: str):
        """axe-core finds nothing."""
        page.evaluate(axe_script())
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
        said = [f"{one['id']}: {one['help']}: {[node['html'][:120] for node in one['nodes'][:3]]}" for one in found]
        with self.subTest(what):
            self.assertEqual(said, [])

    def happen(self, name: str, kind: str, type_: str, **more):
        now = int(time.time() * 1000)
        fleet.upload(self.server, self.devices[name]["access_token"], [], status=fleet.status(), events=[
            {"id": uuid7(now), "kind": kind, "type": type_, "timestamp": iso(now), **more}])

    def test_events_come_while_they_are_looked_at(self):
        page = self.page("rita", "#/events", bypass_csp=True)
        self.happen("Truck 1", "ignition", "off")
        page.get_by_role("row", name=re.compile("Truck 1 Ignition off")).wait_for()
        self.happen("Truck 2", "dwell", "dwell", subject="<b>depot")
        page.get_by_role("row", name="Stays in <b>depot").wait_for()
        self.check(page, "events")
        page.get_by_label("Vehicle").select_option("Truck 2")
        wait_for(lambda: not page.get_by_role("row", name=re.compile("Truck 1")).count(), "one vehicle's alone")
        self.assertIn(f"device={self.devices['Truck 2']['id']}", self.address(page))
        # From and to are days, which the address keeps.
        now = datetime.datetime.now(ZoneInfo("Europe/Berlin"))
        yesterday, today = f"{now - datetime.timedelta(days=1):%Y-%m-%d}", f"{now:%Y-%m-%d}"
        page.get_by_label("To", exact=True).fill(yesterday)
        page.get_by_text("Nothing has happened.").wait_for()
        self.assertIn(f"to={yesterday}", self.address(page))
        other = self.page("rita", self.address(page).split("/", 3)[3])
        other.get_by_text("Nothing has happened.").wait_for()
        self.assertEqual(other.get_by_label("To", exact=True).input_value(), yesterday)
        page.get_by_label("To", exact=True).fill(today)
        page.get_by_label("From", exact=True).fill(today)
        page.get_by_role("row", name="Stays in <b>depot").wait_for()
        page.get_by_role("link", name="Truck 2").first.click()
        page.get_by_role("tab", name="Events").wait_for()

    def test_a_rule_from_its_making_to_its_end(self):
        page = self.page(screen="#/alerts", bypass_csp=True)
        page.get_by_role("button", name="Add a rule").click()
        page.get_by_label("Name", exact=True).fill("Theft <i>")
        page.get_by_role("dialog").get_by_label("Kind").select_option("External power")
        page.get_by_role("dialog").get_by_label("Waits for").select_option("External power lost")
        page.get_by_label("Watches").select_option("Van Alexanderplatz")
        page.get_by_label("Webhook", exact=True).fill("http://127.0.0.1:9/hooks/of-a-secret")
        page.get_by_role("dialog").get_by_text("This server cannot send mail yet: set smtp").wait_for()
        self.check(page, "the dialog of a rule")
        page.get_by_role("button", name="Add", exact=True).click()
        self.assertRegex(page.get_by_label("The secret").inner_text(), "^whsec_")
        page.get_by_role("button", name="Done").click()
        row = page.get_by_role("row", name=re.compile("Theft <i> External power lost"))
        row.wait_for()
        self.assertIn("http://127.0.0.1:9/…", row.inner_text())
        self.assertNotIn("of-a-secret", page.content())
        self.check(page, "rules")
        # What it finds appears, and what it does not wait for does not.
        self.happen("Truck 1", "power", "lost")
        self.happen("Van Alexanderplatz", "power", "lost")
        found = page.get_by_role("table", name="Alerts").locator("tbody tr")
        wait_for(lambda: found.count() == 1, "the alert")
        self.assertRegex(
            found.inner_text(), r"Van Alexanderplatz\s+External power lost\s+Theft <i>\s+Webhook (is waiting|was sent)")
        # Of one rule alone.
        page.get_by_role("combobox", name="Rule", exact=True).select_option("Theft <i>")
        self.assertRegex(self.address(page), r"rule=\d+")
        wait_for(lambda: found.count() == 1, "the alert of this rule")
        # A reader sees the alert, and no rules.
        reader = self.page("rita", "#/alerts")
        reader.get_by_role("combobox", name="Rule", exact=True).select_option("Theft <i>")
        reader.get_by_role("row", name=re.compile("Van Alexanderplatz External power lost")).wait_for()
        self.assertEqual(reader.get_by_role("button", name="Add a rule").count(), 0)
        # Nobody listens at port 9.
        page.get_by_role("button", name="Test Theft <i>").click()
        page.get_by_role("dialog", name="Test of Theft <i>").get_by_text("http://127.0.0.1:9/…: not accepted").wait_for()
        self.check(page, "what came of a test")
        page.get_by_role("button", name="Close").click()
        # The webhook stays unless it is taken away.
        page.get_by_role("button", name="Edit Theft <i>").click()
        page.get_by_role("dialog").get_by_label("Kind").select_option("Silence")
        page.get_by_label("Minutes without an upload").fill("45")
        page.get_by_role("button", name="Save").click()
        page.get_by_role("row", name=re.compile(r"No upload for 45 min .*127\.0\.0\.1:9")).wait_for()
        page.get_by_role("button", name="Edit Theft <i>").click()
        page.get_by_label("Keep the webhook to http://127.0.0.1:9/…").uncheck()
        page.get_by_role("button", name="Save").click()
        page.get_by_role("row", name=re.compile("No upload for 45 min .*this list alone")).wait_for()
        page.get_by_role("button", name="Remove Theft <i>").click()
        page.get_by_role("button", name="Remove", exact=True).click()
        page.get_by_text("There are none. A rule says").wait_for()

    def test_notifications_where_somebody_wants_them(self):
        self.assertEqual(self.server.ask("POST", "/v1/rules", self.server.add_user("notifier", "admin"),
                                         b'{"name":"Trips","kind":"trip","type":"started"}').status, 201)
        self.happen("Courier 7", "trip", "started")
        page = self.page("rita", "#/alerts", permissions=["notifications"], script=COUNTED)
        page.get_by_role("row", name=re.compile("Courier 7 Trip started")).wait_for()
        button = page.get_by_role("button", name="Notifications")
        with page.expect_response(re.compile(r"/v1/alerts\?limit=20$")):
            button.click()
        self.assertEqual(button.get_attribute("aria-pressed"), "true")
        self.happen("Truck 2", "trip", "started")
        wait_for(lambda: page.evaluate("shown"), "the notification")
        wait_for(lambda: page.evaluate(SHOWN) == ["Truck 2: Trip started"], "what it says, and none of before")
        self.assertEqual(page.evaluate("shown"), 1)
        page.goto(f"{self.server.url}/#/fleet")
        page.context.service_workers[0].evaluate(CLICK)
        button.wait_for()
        wait_for(lambda: page.evaluate(SHOWN) == [], "it is closed")
        button.click()
        self.assertEqual(button.get_attribute("aria-pressed"), "false")


if __name__ == "__main__":
    unittest.main()
