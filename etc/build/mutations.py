"""Small mechanical changes of the sources that the simulated world runs, in an order that a seed decides."""
from __future__ import annotations

import collections
import dataclasses
import hashlib
import os
import re
from collections.abc import Iterator

# What a vehicle of the world goes through.
RUN = [
    "Base", "Daemon/Main", "Daemon/Reader", "Daemon/Uploader", "Envelope", "GPSD", "Linux", "SQLite", "Storage", "Tracking",
    "Upload"]
# Parts of paths of what lies there, and is played, or never asked for.
NAMES = """
    Announcements Arguments Backfill Battery BootID Broker Command Connecting Daemon.swift DamagedFile DeviceMonitor
    Dwell Ed25519 EventData EventTime Foreign GPIO HTTPClient HTTPOptions Heartbeat History
    HomeAssistant HostLookup Identity Ignition LastPlace Latest LevelDebounce Lifecycle ListeningSocket LogMemory LogRoom
    LogSender LogUpload LongStart MQTT MemoryRelease MendedTables Metered MultiHandle NetworkWatch OneShots OsmAnd OwedWork
    POSIXTimeZone PageSurvey Power Requeue Resend Route Salvage Schedule/ ScheduleKeeper ServiceManager
    Session(Identity|Lifetime) Signals Stamping Supervisor TLS TableShape TemplateParser TimeZoneRules Transfer TreePage
    Trip UnixSocket UploadWords UploaderThreads VehicleEvent VehicleStatus Watchdog ZoneInfo"""
NOT_RUN = re.compile("|".join(NAMES.split()))

LEFT_OUT = "left out"
SWAPPED = "swapped"
TURNED = "turned"
NEGATED = "negated"
KINDS = [LEFT_OUT, SWAPPED, TURNED, NEGATED]

CALL = re.compile(r"^ +(?:try[?!]? )?(?:_ = )?(?:try[?!]? )?[a-z][\w.?\[\]]*(?:\.[a-z]\w*)?[?]?\(.*\)$")
ASSIGNMENT = re.compile(r"^ +[a-z(][\w.?, ()\[\]]* [-+]?= [^{]*[^\s{,(=+?:&|]$")
NO_STATEMENT = re.compile(
    r"^ +(?:return|let|var|if|guard|else|for|while|switch|case|default|throw|defer|func|init|deinit|self\.init|super|import|"
    r"static|private|package|internal|fileprivate|public|final|mutating|extension|struct|enum|class|@|#|//|precondition|assert|"
    r"fatalError)\b")
COMPARISON = re.compile(r" (<=|>=|==|!=|<|>) ")
OPPOSITE = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}
NOT = re.compile(r"(?<![\w)!=\]])!(?=[a-z_(])")
TEST = re.compile(r"\b(if|guard|while) (?=[a-z][\w.]*(?: else)? \{$)")
# As initializers are full of: in whatever order.
PLAIN = re.compile(r"^ +self\.\w+ = \w+$")
# What a line ends with, or the next begins with, when a statement goes on.
GOES_ON = re.compile(r"[,(\[=+\-*/?:&|<]$|\b(?:try|return|in case|where)$")
CONTINUES = re.compile(r"^ *(?:[.?:+*/&|,)\]]|- |== |\?\? |else\b|catch\b|where\b|\{)")


@dataclasses.dataclass
class Change:
    """One change of one file."""

    kind: str
    path: str
    # Of the first line, from 0.
    line: int
    # How many lines it is about.
    count: int
    new: list[str]
    # Beginning with the kind: the same as long as the line and those like it in the file are.
    name: str
    # The lines before and after.
    words: str

    def apply(self, root: str):
        path = os.path.join(root, self.path)
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        lines[self.line:self.line + self.count] = self.new
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))


def draw(root: str, seed: str) -> dict[str, list[Change]]:
    """By kind, in the order in which they are drawn."""
    found: dict[str, list[Change]] = {kind: [] for kind in KINDS}
    for path in sources(root):
        for change in changes(root, path):
            found[change.kind].append(change)
    for own in found.values():
        own.sort(key=lambda change: hashlib.sha256(f"{seed} {change.name}".encode()).hexdigest())
    return found


def sources(root: str) -> Iterator[str]:
    for folder in RUN:
        for place, _, names in sorted(os.walk(os.path.join(root, "Sources", folder))):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(place, name), root)
                if name.endswith(".swift") and not NOT_RUN.search(path):
                    yield path


def changes(root: str, path: str) -> Iterator[Change]:
    with open(os.path.join(root, path), encoding="utf-8") as file:
        lines = file.read().split("\n")
    code = without_texts(lines)
    seen: collections.Counter = collections.Counter()

    def change(kind: str, line: int, count: int, new: list[str]) -> Change:
        before = " / ".join(text.strip() for text in lines[line:line + count])
        after = " / ".join(text.strip() for text in new)
        place = " ".join(f"{kind}:{path.removeprefix('Sources/')}:{before} → {after or 'nothing'}".split())
        seen[place] += 1
        name = place + (f" ({seen[place]})" if seen[place] > 1 else "")
        return Change(kind, path, line, count, new, name, f"{before} → {after}")

    for index, line in enumerate(code):
        if not line.strip():
            continue
        if is_statement(code, index) and CALL.match(line):
            yield change(LEFT_OUT, index, 1, [])
        if is_statement(code, index) and index + 1 < len(code) and is_statement(code, index + 1) \
                and indent(line) == indent(code[index + 1]) and lines[index] != lines[index + 1] \
                and not (PLAIN.match(line) and PLAIN.match(code[index + 1])):
            yield change(SWAPPED, index, 2, [lines[index + 1], lines[index]])
        for match in COMPARISON.finditer(line):
            if "func " not in line and "infix" not in line:
                start, end = match.span(1)
                yield change(TURNED, index, 1, [lines[index][:start] + OPPOSITE[match[1]] + lines[index][end:]])
        for match in NOT.finditer(line):
            yield change(NEGATED, index, 1, [lines[index][:match.start()] + lines[index][match.end():]])
        for match in TEST.finditer(line):
            yield change(NEGATED, index, 1, [lines[index][:match.end()] + "!" + lines[index][match.end():]])


def without_texts(lines: list[str]) -> list[str]:
    """The lines, with nothing in the place of comments and of texts of several lines, and as many dots in that of others."""
    code = []
    is_text = False
    for line in lines:
        if line.count('"""') % 2:
            is_text = not is_text
            code.append("")
            continue
        line = re.sub(r'"(?:[^"\\]|\\.)*"', lambda text: '"' + "." * (len(text[0]) - 2) + '"', line)
        code.append("" if is_text or line.strip().startswith("//") or '"""' in line else line)
    return code


def is_statement(code: list[str], index: int) -> bool:
    """Whether a line is a whole statement, and none that declares anything or leads away."""
    line = code[index]
    if not (CALL.match(line) or ASSIGNMENT.match(line)) or NO_STATEMENT.match(line) or not is_balanced(line):
        return False
    before = next((text for text in reversed(code[:index]) if text.strip()), "")
    after = next((text for text in code[index + 1:] if text.strip()), "")
    return not (GOES_ON.search(before.rstrip()) or GOES_ON.search(line) or CONTINUES.match(after))


def is_balanced(line: str) -> bool:
    depth = 0
    for character in line:
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return False
    return depth == 0


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())
