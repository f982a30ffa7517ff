"""Where every location is: stored = received ∪ pending ∪ dead-lettered ∪ deleted by rule, each exactly once; of several
destinations for each of them.

Also checks what was received against etc/envelope.schema.json, with an independent validator.
"""
from __future__ import annotations

import json
import uuid

import support

try:
    import jsonschema
except ImportError:
    jsonschema = None

NO_VALIDATOR = "the Python package jsonschema is not installed: no batch is validated against etc/envelope.schema.json"
SCHEMA = str(support.ROOT / "etc" / "envelope.schema.json")


def load_schema() -> dict:
    with open(SCHEMA, encoding="utf-8") as file:
        return json.load(file)


_validator = jsonschema.Draft202012Validator(load_schema()) if jsonschema else None


def shape_faults(root) -> list:
    """How one batch violates the schema; nothing without a validator."""
    if _validator is None or root is None:
        return []
    # Plain values: the receiver's own parser must not influence what the validator sees.
    plain = json.loads(json.dumps(root))
    # The schema allows an empty batch, because the doctor sends one. A heartbeat has no rows, but a status.
    nothing = [] if any(plain.get(key) for key in ("locations", "geofence_events", "events", "status")) else ["root: it is empty"]
    return nothing + [f"{'/'.join(str(part) for part in error.absolute_path) or 'root'}: {error.message}"
            for error in _validator.iter_errors(plain)]


class Ledger:
    """What one daemon is known to have stored, and what the user has since deleted."""

    def __init__(self):
        self.stored: set = set()
        self.deleted: set = set()
        # A killed daemon may have stored, sent and deleted a row without ever announcing it.
        self.is_complete = True
        # Batches that an administrator dissolved: their rows go out again in another one.
        self.dissolved: set = set()
        # Rows that were put back into the queue on request, after a batch had delivered them.
        self.resent: set = set()
        # Of each destination, what had been stored when it was first configured, or was given up since: it need not have it.
        self.spared: dict[str, set] = {}

    def faults(self, daemon, receivers: list) -> list:
        here = DatabaseContents(daemon)
        taken = [(receiver, receiver.batches_of(daemon.installation)) for receiver in receivers]
        told = {identity for _, batches in taken for identity in batches}
        found = [f"stored {count} times: {row}" for row, count in here.counts.items() if count > 1]
        found += [f"lost: {row}" for row in self.stored - told - set(here.counts) - self.deleted]
        if self.is_complete:
            found += [f"received, and never stored: {row}" for row in told - self.stored - set(here.counts)]
        for receiver, batches in taken:
            names = [name for name, url in daemon.destinations().items() if url == getattr(receiver, "url", None)]
            found += self.faults_at(batches, *here.of(names))
            if len(daemon.destinations()) > 1:
                for name in names:
                    found += [f"lost for {name}: {row}" for row in self.due(name) - set(batches) - here.places(name)]
        return found + [f"marked as uploaded, and never received: {row}" for row in here.uploaded - told]

    def faults_at(self, received: dict, pending: set, dead: dict, frozen: set) -> list:
        """What one receiver has that it should not have, by what its destinations are owed and have refused."""
        found = []
        for row, batches in received.items():
            if len(batches - self.dissolved) > 1 and row not in self.resent:
                found.append(f"acknowledged in {len(batches)} batches: {row}")
            # Received and still pending: only while its own batch waits for a believable answer.
            if row in pending and not batches & frozen:
                found.append(f"received, and pending outside its batch: {row}")
            if row in dead and dead[row] not in batches:
                found.append(f"received, and a dead letter of another batch: {row}")
        return found

    def due(self, name: str) -> set:
        """What this destination must have, be owed or have refused, whoever else has it."""
        return self.stored - self.spared.get(name, self.stored) - self.deleted


class DatabaseContents:
    """The locations, dead letters and frozen batches in a database."""

    def __init__(self, daemon):
        self.pending: set = set()
        self.uploaded: set = set()
        # How often each is there for one destination.
        self.counts: dict = {}
        # Rows that each destination is owed, and its dead letters with their batches.
        self.owed: dict[str, set] = {name: set() for (name,) in daemon.query("SELECT name FROM destinations")}
        self.dead: dict[str, dict] = {}
        for identity, uploaded in daemon.query("SELECT id, uploaded FROM locations"):
            name = text(identity)
            self.counts[name] = self.counts.get(name, 0) + 1
            (self.uploaded if uploaded else self.pending).add(name)
        # With `main` alone no debts are written down: it is owed what is not uploaded.
        self.is_plain = not self.owed
        if self.is_plain:
            self.owed["main"] = self.pending
        for destination, identity in daemon.query("""SELECT destination, id FROM debts JOIN locations
                ON seq BETWEEN first_seq AND coalesce(last_seq, 9223372036854775807) WHERE debts.kind = 0"""):
            self.owed.setdefault(destination, set()).add(text(identity))
        for destination, identity, batch in daemon.query("SELECT destination, id, batch FROM rejected"):
            name = text(identity)
            # Others may be owed it.
            twice = name in self.dead.setdefault(destination, {}) or name in self.owed.get(destination, set())
            self.counts[name] = max(self.counts.get(name, 0), 1) + twice
            self.dead[destination][name] = text(batch)
        self.frozen = {text(row[0]) for row in daemon.query("SELECT id FROM batches")}

    def of(self, names: list) -> tuple:
        """What these destinations are owed and have refused, and all frozen batches. Where `main` is alone, whoever receives has
        its rows; of one that is not configured any more nothing is said."""
        if self.is_plain:
            names = ["main"]
        dead = {row: batch for name in names for row, batch in self.dead.get(name, {}).items()}
        return set().union(*(self.owed.get(name, set()) for name in names)), dead, self.frozen

    def places(self, name: str) -> set:
        """Rows of a destination that have a place here."""
        return self.owed.get(name, set()) | set(self.dead.get(name, {}))


def text(identity: bytes) -> str:
    return str(uuid.UUID(bytes=identity))
