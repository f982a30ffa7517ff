"""The texts of the page, as its sources ask for them, and the tables of other languages."""
from __future__ import annotations

import json
import re

import server_support

PAGE = server_support.ROOT / "server/www/files"
SOURCES = sorted((PAGE / "js").rglob("*.js"))
# A call of `t`, `sentence` or `plural`: not a member of that name, and not what defines it.
CALL = re.compile(r"(?<![\w.$])(?:t|sentence|plural)\((?!\w+(?:, \w+)*(?: = \{\})?\) (?:=>|\{)|number, one)")
TEXT = r'"((?:[^"\\\n]|\\.)*)"'
# With the text as it stands; what a plural depends on may be a call itself.
WHOLE = re.compile(rf"(?<![\w.$])(?:(?:t|sentence)\({TEXT}(?=[,)])|plural\((?:[^\"`;]+),\s*{TEXT},\s*{TEXT}(?=[,)]))")
ENTRY = re.compile(rf"^    {TEXT}:\s*(?:{TEXT}|\{{ (.*) \}}),$", re.M)
NAMES = re.compile(r"\{(\w+)\}")
# Literals that are no paths, classes or names of members: they begin with a word as sentences do.
SAID = re.compile(r'"([A-Z“][a-z]*(?:[ ,.:?…][^"\\\n]*)?)"|`([A-Z“][a-z]*[ ,.:?…](?:[^`\\]|\\.)*)`')
# Of these, what is the same in each language.
NOT_SAID = {"English", "Deutsch", "Natural Earth", "Notification", "Bearer ${secret}"}


def unquoted(text: str) -> str:
    return str(json.loads(f'"{text}"'))


def asked() -> dict[str, str]:
    """Every text that the code asks for, and the second form of each that has two, with the file that asks. What a call asks for
    stands in it: nothing is put together."""
    found = {}
    for path in SOURCES:
        source = path.read_text(encoding="utf-8")
        whole = list(WHOLE.finditer(source))
        starts = {match.start() for match in whole}
        for call in CALL.finditer(source):
            line = source.count("\n", 0, call.start()) + 1
            assert call.start() in starts, f"{path.name}:{line} asks for a text that does not stand there as it is"
        for match in whole:
            found[unquoted(match[1] if match[1] is not None else match[3])] = str(path.relative_to(PAGE))
    return found


def unasked() -> list[str]:
    """Texts in the code that nobody translates."""
    found = []
    for path in SOURCES:
        # A call may have two lines, which then are one.
        rest = WHOLE.sub(lambda call: "\n" * call[0].count("\n"), path.read_text(encoding="utf-8"))
        for number, line in enumerate(rest.split("\n"), 1):
            if line.lstrip().startswith(("//", "/*", "*")):
                continue
            for match in SAID.finditer(line):
                text = match[1] or match[2]
                if text not in NOT_SAID and not re.fullmatch("[A-Z]{1,4}", text):
                    found.append(f"{path.name}:{number}: {text}")
    return found


def table(code: str) -> dict[str, str | dict[str, str]]:
    """A table, a text a line."""
    source = (PAGE / f"texts/{code}.js").read_text(encoding="utf-8")
    found: dict[str, str | dict[str, str]] = {}
    for key, text, forms in ENTRY.findall(source):
        assert unquoted(key) not in found, f"{key} is there twice"
        plurals = {name: unquoted(form) for name, form in re.findall(rf"(\w+): {TEXT}", forms)}
        found[unquoted(key)] = plurals or unquoted(text)
    inside = source.split("{\n", 1)[1].rsplit("\n};", 1)[0]
    rest = [line for line in ENTRY.sub("", inside + "\n").split("\n") if line.strip() and not line.lstrip().startswith("//")]
    assert not rest, f"no entries: {rest}"
    return found
