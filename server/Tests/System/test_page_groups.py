"""The page, in Chromium: groups and who sees them, names and notes of vehicles, vehicles that are deleted, links."""
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support import fleet
from server_support.browser import axe_script
from server_support.page_test import PageTest
from support.waiting import wait_for


class GroupScreenTests(PageTest):
    def check(self, page, what: str):
        """axe-core finds nothing."""
        page.evaluate(axe_script())
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
        said = [f"{one['id']}: {one['help']}: {[node['html'][:120] for node in one['nodes'][:3]]}" for one in found]
        with self.subTest(what):
            self.assertEqual(said, [])

    def edit(self, page, name: str):
        page.goto(self.server.url + "/#/devices")
        page.get_by_role("button", name=f"Edit {name}", exact=True).click()

    def names(self, page) -> list:
        return page.locator("tbody th").all_inner_texts()

    def test_a_group_and_who_sees_it(self):
        reader = self.page("rita", "#/fleet")
        wait_for(lambda: len(self.names(reader)) >= 10, "a reader sees all at first")
        page = self.page(screen="#/users", bypass_csp=True)
        page.get_by_role("button", name="Add a group").click()
        page.get_by_label("Name", exact=True).fill("Trucks <b>")
        page.keyboard.press("Enter")
        page.get_by_role("row", name=re.compile("Trucks <b>")).wait_for()
        self.edit(page, "Truck 1")
        page.get_by_label("Number plate").fill("B-EE 101")
        page.get_by_label("Note").fill("the blue one")
        page.get_by_label("Group").select_option("Trucks <b>")
        self.check(page, "the dialog of a device")
        page.get_by_role("button", name="Save").click()
        page.get_by_role("rowheader", name="Truck 1, B-EE 101, group Trucks <b>").wait_for()
        page.goto(self.server.url + "/#/users")
        page.get_by_role("button", name="What rita sees").click()
        # By keyboard alone: ticking a group chooses groups.
        page.get_by_role("checkbox", name="Trucks <b>").focus()
        page.keyboard.press("Space")
        self.assertTrue(page.get_by_label("those of these groups:").is_checked())
        self.check(page, "the dialog of what a reader sees")
        page.keyboard.press("Enter")
        page.get_by_role("row", name=re.compile("rita.*Trucks <b>")).wait_for()
        self.check(page, "users and groups")
        # The page that was open follows.
        wait_for(lambda: [name.split() for name in self.names(reader)] == [["Truck", "1", "B-EE", "101"]],
                 "a reader of a group sees its vehicles alone")
        other = self.devices["Courier 7"]["id"]
        reader.goto(f"{self.server.url}/#/vehicle/{other}")
        reader.get_by_text(f"There is no vehicle {other}.").first.wait_for()
        # The group goes, and with it what was seen by it; then all is as it was.
        page.get_by_role("button", name="Remove the group Trucks <b>").click()
        page.get_by_role("button", name="Remove", exact=True).click()
        page.get_by_role("row", name=re.compile("rita.*no vehicle")).wait_for()
        page.get_by_role("button", name="What rita sees").click()
        page.get_by_role("radio", name="all", exact=True).check()
        page.get_by_role("button", name="Save").click()
        page.get_by_role("row", name=re.compile("rita.*all")).wait_for()
        reader.goto(self.server.url + "/#/fleet")
        wait_for(lambda: len(self.names(reader)) >= 10, "a reader sees all again")

    def test_a_user_of_some_groups_is_made(self):
        for group in ("east", "west"):
            self.assertEqual(self.server.verb("group", "add", group).returncode, 0)
            self.addCleanup(self.server.verb, "group", "remove", group)
        page = self.page(screen="#/users")
        page.get_by_role("button", name="Add a user").click()
        page.get_by_label("Name", exact=True).fill("emil")
        page.get_by_role("checkbox", name="east").check()
        page.get_by_label("Password (10 characters or more)").fill("a long password")
        page.get_by_role("button", name="Add", exact=True).click()
        token = page.get_by_label("The secret").inner_text()
        page.get_by_role("button", name="Done").click()
        page.get_by_role("row", name=re.compile("emil.*east")).wait_for()
        self.assertEqual(self.server.ask("GET", "/v1/devices", token).json["devices"], [])
        self.assertEqual(self.server.verb("user", "remove", "emil").returncode, 0)

    def test_renaming_and_deleting(self):
        device = self.server.add_device("Hired van")
        fleet.upload(self.server, device["access_token"], [], status=fleet.status())
        page = self.page()
        self.edit(page, "Hired van")
        name = page.get_by_label("Name", exact=True)
        name.fill("Truck 1")
        page.keyboard.press("Enter")
        page.get_by_role("alert").get_by_text("there is already a device 'Truck 1'").wait_for()
        name.fill("Hired van 2")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Delete Hired van 2").click()
        # The focus is on what does nothing.
        page.keyboard.press("Enter")
        page.locator("dialog").wait_for(state="detached")
        self.assertEqual(page.get_by_role("button", name="Delete Hired van 2").count(), 1)
        page.get_by_role("button", name="Delete Hired van 2").click()
        page.get_by_role("button", name="Delete it").click()
        wait_for(lambda: page.get_by_role("button", name="Delete Hired van 2").count() == 0, "it is gone")
        admin = self.server.add_user("checks", "admin")
        self.assertEqual(self.server.ask("GET", f"/v1/devices/{device['id']}", admin).status, 404)

    def test_a_link(self):
        page = self.page(screen="#/devices", bypass_csp=True)
        page.get_by_role("button", name="Share Courier 8").click()
        page.get_by_text("There are none.").first.wait_for()
        self.check(page, "the dialog of links")
        page.get_by_label("Hours for which it is good (1 to 72)").fill("2")
        page.keyboard.press("Enter")
        address = page.get_by_label("The secret").inner_text()
        page.get_by_text("Anybody who has it sees where Courier 8 is.").wait_for()
        page.get_by_role("button", name="Done").click()
        self.assertRegex(address, re.escape(self.server.url) + r"/shared#bkl\.\d+\.[\w-]{43}")
        # Somebody without an account.
        guest = self.page(None, address.removeprefix(self.server.url + "/"), bypass_csp=True)
        asked: list = []
        guest.on("request", lambda request: asked.append((request.url, request.headers.get("referer"))))
        guest.get_by_role("heading", name="Courier 8").wait_for()
        guest.get_by_text("Nothing has been heard of it since the link was made.").wait_for()
        now = guest.evaluate("Date.now()")
        fleet.upload(self.server, self.devices["Courier 8"]["access_token"], [
            fleet.location(now, 52.515, 13.39, speed=10.0, bearing=90)])
        guest.get_by_text("52.51500, 13.39000, 36 km/h, E").wait_for()
        self.check(guest, "the page of a link")
        wide = guest.evaluate("document.documentElement.scrollWidth - innerWidth")
        self.assertLessEqual(wide, 0)
        # Neither the secret nor where it was opened goes anywhere.
        self.assertTrue(asked)
        self.assertEqual([one for one in asked if "bkl" in one[0] or one[1]], [])
        # It is ended while it is looked at.
        page.get_by_role("button", name="Share Courier 8").click()
        page.get_by_role("button", name=re.compile("End link")).click()
        page.get_by_text("There are none.").first.wait_for()
        page.get_by_role("button", name="Close").click()
        guest.get_by_role("alert").get_by_text("This link shows nothing, or nothing any more.").wait_for()
        self.assertEqual(guest.get_by_text("52.51500").count(), 0)


if __name__ == "__main__":
    unittest.main()
