"""The page in German: every text, on every screen, by the browser's language or by choice; what is missing stays English."""
from __future__ import annotations

import json
import re
import sys
import time
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import server_support
from server_support import fleet, page_texts
from server_support.browser import axe_script
from server_support.page_test import PageTest
from server_support.server import iso, uuid7
from support.nightly import IS_LONG, nightly
from support.seeds import part
from support.waiting import wait_for

GERMAN = page_texts.table("de")
SCREENS = (
    "#/fleet", "#/map", "#/map?vehicle={truck}",
    "#/vehicle/{truck}", "#/vehicle/{truck}?tab=events", "#/vehicle/{truck}?tab=commands",
    "#/vehicle/{truck}?from=2020-01-01T00:00:00Z&to=2020-01-02T12:00:00Z", "#/vehicle/{old}", "#/vehicle/99999",
    "#/reports", "#/reports?by=fleet", "#/reports?from=2020-01-02&to=2020-01-01", "#/fences", "#/fences?fence=1",
    "#/events", "#/alerts", "#/devices", "#/users")
# What German says as English does.
SAME = {
    "Live", "Name", "2. Name", "Version", "Tokens", "Details", "Code", "Code {id}", "Webhook", "N", "S", "SW", "W", "NW",
}
# Buttons that open a dialog, by screen.
DIALOGS = {
    "#/fleet": ["ada"],
    "#/alerts": ["Add a rule", "Edit Rule one", "Remove Rule one"],
    "#/devices": ["Add a device", "Edit Truck 1", "Share Truck 1", "New tokens for Truck 1", "Retire Truck 1", "Delete Truck 1",
                  "Make a claim code"],
    "#/users": ["Add a user", "Add a group", "What rita sees", "Set the password of rita", "Remove rita"],
}
# Everything that is shown, or read aloud: elements that hold it, and it. What is code or data as such is neither.
SHOWN = """() => {
    const found = [document.title];
    const isCode = (node) => node.closest("pre, code, script, style, noscript, textarea");
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const { parentElement, data } = walk.currentNode;
        if (!isCode(parentElement)) found.push(data);
    }
    for (const element of document.querySelectorAll("[aria-label], [title], [placeholder], [data-label], [aria-valuetext]")) {
        for (const name of ["aria-label", "title", "data-label", "aria-valuetext", "placeholder"]) {
            // That of a text field is an example.
            if (name !== "placeholder" || !element.matches("textarea")) found.push(element.getAttribute(name) ?? "");
        }
    }
    return found.map((text) => text.trim()).filter(Boolean);
}"""
# What is no text of the page: names, zones, units, dates, numbers, formats of files.
DATA = re.compile(r"""\b(?:beekon|Leaflet|Natural\ Earth|Europe/Berlin|GPX|GeoJSON|CSV|EN|DE|English|Deutsch|Raspberry\ Pi\ 4
    |linux|console|https
    |km/h|mph|kn|km|mi|min|ft|ada|rita|Truck|Van|Courier|Bus|Crane|Trailer|Spare\ unit|Old\ van|Alexanderplatz|Tempelhof
    |Depot\ north|Yard|maker|Rule\ \w+
    # What vehicles and the server say.
    |tracking\.interval_seconds\ must\ be\ within|There\ is\ no\ device\ 99999
    |Jan|Feb|März?|Apr|Mai|Juni?|Juli?|Aug|Sept?|Okt|Nov|Dez)\b""", re.X)
# A function that has what language.js and format.js export; its last line is missing.
IMPORTS = """async () => {
    const at = (name) => import(new URL(name, document.querySelector("script[type=module]").src));
    const [words, format] = [await at("language.js"), await at("format.js")];
    const { t, plural, count, ofServer, moment, distance, duration, ago, heading } = { ...words, ...format };
    """
WORDS = re.compile(r"[^\W\d_]{2,}")


def marked(text: str) -> str:
    return f"⟦{text}⟧"


def module(entries: dict) -> str:
    return f"export default {json.dumps(entries, ensure_ascii=False)};"


class TableTests(unittest.TestCase):
    """The table and the code, by their sources."""

    def test_every_text_that_the_code_asks_for_is_in_the_table_and_no_other(self):
        asked = page_texts.asked()
        self.assertGreater(len(asked), 300)
        self.assertEqual([f"{file}: {text}" for text, file in asked.items() if text not in GERMAN], [], "these have no German")
        server = "".join(path.read_text(encoding="utf-8") for path in (server_support.ROOT / "server/Sources").rglob("*.swift"))
        unused = [text for text in GERMAN if text not in asked]
        self.assertTrue(unused, "some are of the server")
        self.assertEqual([text for text in unused if f'"{text}"' not in server], [], "nobody asks for these")

    def test_each_entry_is_translated(self):
        self.assertEqual({text for text, german in GERMAN.items() if text == german}, SAME)

    def test_no_text_stands_in_the_code_untranslated(self):
        self.assertEqual(page_texts.unasked(), [])

    def test_each_entry_names_the_same_values_and_has_the_forms_of_its_language(self):
        for english, german in GERMAN.items():
            with self.subTest(english):
                if isinstance(german, dict):
                    self.assertEqual(sorted(german), ["one", "other"])
                for form in german.values() if isinstance(german, dict) else [german]:
                    names = page_texts.NAMES.findall(form)
                    # That there is one may be said without its number.
                    if isinstance(german, dict) and form == german["one"] and "count" not in names:
                        names.append("count")
                    self.assertEqual(sorted(names), sorted(page_texts.NAMES.findall(english)))
                    self.assertEqual(form, form.strip())


class LanguageTests(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        admin = cls.server.add_user("maker", "admin")
        fence = {"name": "Yard", "latitude": 52.5, "longitude": 13.4, "radius_meters": 300, "all": True}
        made = cls.server.ask("POST", "/v1/fences", admin, json.dumps(fence).encode())
        assert made.json["id"] == 1, made
        rule = {"name": "Rule one", "kind": "geofence", "type": "exit", "fence": "Depot north"}
        assert cls.server.ask("POST", "/v1/rules", admin, json.dumps(rule).encode()).status == 201
        limits = {"silence": {"minutes": 120}, "battery": {"percent": 20}, "speed": {"kilometers_per_hour": 130}, "failing": {}}
        for number, (kind, limit) in enumerate(limits.items()):
            body = {"name": f"Rule {number}", "kind": kind, **limit}
            assert cls.server.ask("POST", "/v1/rules", admin, json.dumps(body).encode()).status == 201
        now = int(time.time() * 1000)
        fleet.upload(cls.server, cls.devices["Courier 8"]["access_token"], [fleet.location(now, 52.5, 13.4, speed=50.0)],
                     status=fleet.status(), geofence_events=[
                         {"id": uuid7(now), "geofence_id": "Depot north", "type": "exit", "timestamp": iso(now)}])

    def start(self, screen: str = "", table: str | None = None, user: str = "ada", **options) -> Any:
        """A page whose browser speaks German, signed in; `table` takes the place of the German texts."""
        routes = {} if table is None else {
            "**/texts/de.js": lambda route: route.fulfill(status=200, content_type="text/javascript", body=table)}
        return self.page(user, screen, routes=routes, **{"locale": "de-DE", **options})

    def screens(self) -> list:
        return [screen.format(truck=self.truck(), old=self.devices["Old van"]["id"]) for screen in SCREENS]

    def see(self, page: Any, screen: str):
        page.goto(f"{self.server.url}/{screen}")
        page.locator(".stream.is-live").wait_for()
        wait_for(lambda: page.evaluate("Boolean(document.querySelector('h1')) && !document.querySelector('[aria-busy]')"),
                 f"{screen} is there")
        if "vehicle/" in screen and "99999" not in screen:
            page.locator("[role=tabpanel]:not([hidden]) > *").first.wait_for()

    def views(self, page: Any, name) -> Any:
        """Every screen and dialog, one after the other; `name` makes of an English text the one that is shown."""
        for screen in self.screens():
            self.see(page, screen)
            yield screen
        for screen, buttons in DIALOGS.items():
            for button in buttons:
                self.see(page, screen)
                page.get_by_role("button", name=name(button), exact=True).first.click()
                page.locator("dialog").wait_for()
                yield f"{screen}: {button}"
                page.keyboard.press("Escape")
                page.locator("dialog").wait_for(state="detached")
        self.see(page, "#/fences")
        page.get_by_role("button", name=name("Draw a fence"), exact=True).click()
        yield "a fence"

    # MARK: What is shown

    def test_everything_that_is_shown_comes_from_the_table(self):
        """With a table that marks what it is asked for, what is not marked has been forgotten."""
        asked = page_texts.asked()
        entries = {text: {"other": marked(text)} if isinstance(GERMAN.get(text), dict) else marked(text) for text in asked}
        page = self.start(table=module(entries))

        def name(button: str) -> re.Pattern:
            return re.compile(f"^.?{re.escape(button)}.?$")

        seen = 0
        for view in self.views(page, name):
            for text in page.evaluate(SHOWN):
                seen += 1
                rest = text
                while (less := re.sub("⟦[^⟦⟧]*⟧", "", rest)) != rest:
                    rest = less
                with self.subTest(f"{view}: {text}"):
                    self.assertNotRegex(DATA.sub("", rest), WORDS)
        self.assertGreater(seen, 2000)

    # All that is shown comes from the table, and the table has a German text for each: the two tests of that are quicker.
    @nightly
    def test_nothing_that_has_a_german_text_is_shown_in_english(self):
        page = self.start()
        german = {form for text in GERMAN.values() for form in (text.values() if isinstance(text, dict) else [text])}
        english = {text: re.compile(re.sub(r"\\\{\w+\\\}", ".+", re.escape(text))) for text in GERMAN if text not in german}

        def name(button: str) -> str:
            for text in GERMAN:
                if match := re.fullmatch(re.sub(r"\\\{\w+\\\}", "(.+)", re.escape(text)), button):
                    return re.sub(r"\{\w+\}", match[1] if match.groups() else "", str(GERMAN[text]))
            return button

        for view in self.views(page, name):
            for text in page.evaluate(SHOWN):
                with self.subTest(f"{view}: {text}"):
                    self.assertEqual([key for key, shape in english.items() if shape.fullmatch(text)], [])

    def test_screen_readers_hear_the_language_and_nothing_overflows(self):
        script = axe_script()
        # What axe-core takes is most of this file: each commit has half of the screens in one of these ways.
        ways = (("light", 1440), ("dark", 390))
        for theme, width in ways if IS_LONG else (ways[part() % 2],):
            page = self.start(color_scheme=theme, bypass_csp=True, viewport={"width": width, "height": 900})
            self.assertEqual(page.evaluate("document.documentElement.lang"), "de")
            screens = self.screens()
            for screen in screens if IS_LONG else screens[part() // 2 % 2::2]:
                self.see(page, screen)
                if not page.evaluate("Boolean(window.axe)"):
                    page.evaluate(script)
                found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
                with self.subTest(f"{screen} {theme} {width}"):
                    self.assertEqual([f"{one['id']}: {[node['html'][:120] for node in one['nodes'][:3]]}" for one in found], [])
                    self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)

    # MARK: Which language

    def test_the_first_visit_is_in_the_browsers_language(self):
        for locale, language, heading in (
                ("de-DE", "de", "Anmelden"), ("de-AT", "de", "Anmelden"), ("en-IE", "en", "Sign in"), ("fr-FR", "en", "Sign in")):
            page = self.page(None, locale=locale)
            page.get_by_role("heading", name=heading, exact=True).wait_for()
            self.assertEqual(page.evaluate("document.documentElement.lang"), language, locale)
            self.assertEqual(page.title(), f"{heading} – beekon")

    def test_another_language_is_chosen_and_remembered(self):
        screen = "#/fleet?q=truck"
        page = self.page(screen=screen)
        tables: list = []
        page.on("request", lambda request: tables.extend([request.url] if "/texts/" in request.url else []))
        page.get_by_role("row", name=re.compile("Truck 1.*48,212 km")).wait_for()
        page.get_by_role("combobox", name="Language").select_option("de")
        page.get_by_role("heading", name="Flotte").wait_for()
        page.get_by_role("row", name=re.compile(r"Truck 1.*48\.212 km")).wait_for()
        self.assertTrue(self.address(page).endswith(screen), "the view is the same")
        self.assertEqual(page.evaluate("document.documentElement.lang"), "de")
        self.assertEqual(len(tables), 1)
        page.reload()
        page.get_by_role("heading", name="Flotte").wait_for()
        # Who sees it first signs in in the same language.
        page.get_by_role("button", name="Abmelden").click()
        page.get_by_role("heading", name="Anmelden").wait_for()
        tables.clear()
        page.get_by_role("combobox", name="Sprache").select_option("en")
        page.get_by_role("heading", name="Sign in").wait_for()
        self.assertEqual(tables, [], "English needs no table")

    def test_a_command_that_waits_is_taken_back_in_german_too(self):
        page = self.start(f"#/vehicle/{self.truck()}?tab=commands")
        page.get_by_role("button", name="Zurücknehmen").first.wait_for()

    def test_a_link_is_shown_in_the_browsers_language(self):
        admin = self.server.add_user("linker", "admin")
        self.addCleanup(self.server.verb, "user", "remove", "linker")
        made = self.server.ask("POST", f"/v1/devices/{self.devices['Courier 8']['id']}/links", admin, b'{"hours": 1}')
        guest = self.page(None, made.json["path"].lstrip("/"), locale="de-DE")
        guest.get_by_text("Seit der Link erstellt wurde, hat sich das Fahrzeug nicht gemeldet.").wait_for()
        self.assertRegex(guest.locator(".head").inner_text(), r"Dieser Link endet \d\d\.\d\d\.\d{4}, \d\d:\d\d\.")
        guest.get_by_role("combobox", name="Sprache").select_option("en")
        guest.get_by_text("Nothing has been heard of it since the link was made.").wait_for()

    # MARK: Whatever is wrong with the table

    def test_what_is_missing_is_english(self):
        entries: dict[str, Any] = dict(GERMAN)
        del entries["Map"]
        entries["Reports"] = 5
        entries["{count} vehicles"] = {"other": "{count} Fahrzeuge"}
        entries["{count} trips"] = {}
        page = self.start(table=module(entries))
        page.get_by_role("link", name="Map", exact=True).wait_for()
        page.get_by_role("link", name="Reports", exact=True).wait_for()
        page.get_by_role("heading", name="Flotte").wait_for()
        self.assertEqual(self.of(page, 'plural(1, "{count} vehicle", "{count} vehicles")'), "1 Fahrzeuge")
        self.assertEqual(self.of(page, 'plural(1, "{count} trip", "{count} trips")'), "1 trip")

    def test_without_the_table_the_page_is_english(self):
        page = self.page(None, locale="de-DE")
        page.route("**/texts/de.js", lambda route: route.abort())
        page.reload()
        page.get_by_role("heading", name="Sign in").wait_for()
        self.assertEqual(page.evaluate("document.documentElement.lang"), "en")

    def test_the_servers_refusals_are_translated_where_they_are_known(self):
        page = self.page(None, locale="de-DE")
        page.get_by_label("Name").fill("ada")
        page.get_by_label("Passwort").fill("wrong password")
        page.get_by_role("button", name="Anmelden").click()
        page.get_by_role("alert").get_by_text("Name oder Passwort ist falsch.").wait_for()

    # MARK: Numbers, dates and values

    @staticmethod
    def of(page: Any, expression: str) -> Any:
        """What an expression gives, with what language.js and format.js have."""
        return page.evaluate(IMPORTS + f"return {expression}; }}")

    def test_numbers_dates_and_plurals(self):
        pages = {locale: self.page(None, locale=locale) for locale in ("de-DE", "en-IE", "en-US", "fr-FR")}
        time = "new Date(2026, 2, 5, 14, 7)"
        trips = '"{count} trip", "{count} trips"'
        # What stands in a value is no name of another.
        link = 't("Link {id}, until {time}, by {author}", { id: "{time}", time: "$&", author: "{author}<b>" })'
        for locale, expression, expected in (
                ("de-DE", "count(1234567)", "1.234.567"), ("en-IE", "count(1234567)", "1,234,567"),
                ("de-DE", f"moment({time})", "05.03.2026, 14:07"), ("en-IE", f"moment({time})", "5 Mar 2026, 14:07"),
                # Whose language the page does not speak still reads numbers and dates as ever.
                ("fr-FR", f"moment({time})", "5 mars 2026, 14:07"),
                ("de-DE", "distance(1550)", "1,6 km"), ("en-US", "distance(1609.344)", "1.0 mi"),
                ("de-DE", "ago(90)", "vor 1 min"), ("de-DE", "ago(3 * 86400)", "vor 3 Tagen"),
                ("en-IE", "ago(3 * 86400)", "3 days ago"), ("de-DE", "duration(86400)", "1 T 0 h"), ("de-DE", "heading(90)", "O"),
                ("de-DE", f"plural(1, {trips})", "1 Fahrt"), ("de-DE", f"plural(0, {trips})", "0 Fahrten"),
                ("de-DE", f"plural(4210, {trips})", "4.210 Fahrten"), ("en-IE", f"plural(1, {trips})", "1 trip"),
                ("en-IE", f"plural(2, {trips})", "2 trips"), ("de-DE", link, "Link {time}, bis $&, von {author}<b>"),
                ("de-DE", 't("No such text, {name}", { name: 1 })', "No such text, 1"),
                ("de-DE", 't("constructor")', "constructor"),
                ("de-DE", 'ofServer("The server is overloaded.")', "Der Server ist überlastet."),
                ("de-DE", 'ofServer("Something new.")', "Something new.")):
            with self.subTest(f"{locale} {expression}"):
                self.assertEqual(self.of(pages[locale], expression).replace("\xa0", " ").replace("\u202f", " "), expected)
        # Another language in the same country.
        page = pages["de-DE"]
        page.get_by_role("combobox", name="Sprache").select_option("en")
        page.get_by_role("heading", name="Sign in").wait_for()
        self.assertEqual(self.of(page, f"moment({time})"), "5 Mar 2026, 14:07")


if __name__ == "__main__":
    unittest.main()
