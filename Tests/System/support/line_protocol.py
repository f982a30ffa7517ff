"""InfluxDB's line protocol, read as its specification says, and strictly: what readers differ in is an error.

measurement[,key=value...] key=value[,key=value...] timestamp
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field


class MalformedError(ValueError):
    """Not a line."""


@dataclass
class Line:
    measurement: str
    time: int
    tags: dict = field(default_factory=dict)
    # Floats, integers, texts and booleans.
    fields: dict = field(default_factory=dict)


# What a backslash makes part of a name, and what may not stand there without one; quotation marks may in the value of a tag.
NAME = re.compile(r'(?:\\[,= ]|[^\\,= "\x00-\x1f\x7f])+')
TAG = re.compile(r'(?:\\[,= ]|[^\\,= \x00-\x1f\x7f])+')
STRING = re.compile(r'"((?:\\["\\]|[^"\\\x00-\x1f\x7f])*)"')
FLOAT = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
INTEGER = re.compile(r"(-?\d+)i")
TIME = re.compile(r"-?\d+")
RESERVED = {"time", "_field", "_measurement"}


def read(body: bytes) -> list[Line]:
    """Each line ends with a line feed."""
    text = body.decode("utf-8")
    if not text.endswith("\n"):
        raise MalformedError("the last line does not end")
    return [read_line(line) for line in text[:-1].split("\n")]


def read_line(text: str) -> Line:
    reader = Reader(text)
    if text.startswith("#"):
        raise MalformedError("a comment")
    line = Line(reader.name(), 0)
    while reader.follows(","):
        reader.pair(line.tags, reader.tag, set())
    reader.expect(" ")
    reader.pair(line.fields, reader.value, set(line.tags))
    while reader.follows(","):
        reader.pair(line.fields, reader.value, set(line.tags))
    reader.expect(" ")
    line.time = int(reader.match(TIME)[0])
    if reader.position != len(text):
        raise MalformedError(f"more follows the time: {text!r}")
    if not -1 << 63 <= line.time < 1 << 63:
        raise MalformedError("no such time")
    return line


class Reader:
    def __init__(self, text: str):
        self.text = text
        self.position = 0

    def match(self, pattern: re.Pattern) -> re.Match:
        found = pattern.match(self.text, self.position)
        if found is None:
            raise MalformedError(f"{self.text!r} at {self.position}")
        self.position = found.end()
        return found

    def follows(self, character: str) -> bool:
        if not self.text.startswith(character, self.position):
            return False
        self.position += 1
        return True

    def expect(self, character: str):
        if not self.follows(character):
            raise MalformedError(f"{self.text!r} has no {character!r} at {self.position}")

    def name(self) -> str:
        return re.sub(r"\\([,= ])", r"\1", self.match(NAME)[0])

    def tag(self) -> str:
        return re.sub(r"\\([,= ])", r"\1", self.match(TAG)[0])

    def pair(self, into: dict, value, taken: set):
        name = self.name()
        self.expect("=")
        if name in RESERVED | taken | into.keys():
            raise MalformedError(f"the name {name}")
        into[name] = value()

    def value(self):
        if self.text.startswith('"', self.position):
            return re.sub(r'\\(["\\])', r"\1", self.match(STRING)[1])
        for word, value in (("true", True), ("false", False)):
            if self.text.startswith(word, self.position):
                self.position += len(word)
                return value
        found = INTEGER.match(self.text, self.position)
        if found:
            self.position = found.end()
            if not -1 << 63 <= int(found[1]) < 1 << 63:
                raise MalformedError("no such integer")
            return int(found[1])
        number = float(self.match(FLOAT)[0])
        if number in (float("inf"), float("-inf")):
            raise MalformedError("no such number")
        return number
