"""Where every location is: stored = received ∪ pending ∪ dead-lettered ∪ deleted by rule, each exactly once.

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

    def faults(self, daemon, receivers: list) -> list:
        here = DatabaseContents(daemon)
        taken = [receiver.batches_of(daemon.installation) for receiver in receivers]
        told = {identity for batches in taken for identity in batches}
        found = [f"stored {count} times: {row}" for row, count in here.counts.items() if count > 1]
        found += [f"lost: {row}" for row in self.stored - told - set(here.counts) - self.deleted]
        if self.is_complete:
            found += [f"received, and never stored: {row}" for row in told - self.stored - set(here.counts)]
        for one in taken:
            for row, batches in one.items():
                if len(batches - self.dissolved) > 1 and row not in self.resent:
                    found.append(f"acknowledged in {len(batches)} batches: {row}")
                # Received and still pending: only while its own batch waits for a believable answer.
                if row in here.pending and not batches & here.frozen:
                    found.append(f"received, and pending outside its batch: {row}")
                if row in here.dead and here.dead[row] not in batches:
                    found.append(f"received, and a dead letter of another batch: {row}")
        found += [f"marked as uploaded, and never received: {row}" for row in here.uploaded - told]
        return found


class DatabaseContents:
    """The locations, dead letters and frozen batches in a database."""

    def __init__(self, daemon):
        rows = daemon.query("SELECT id, uploaded, NULL FROM locations UNION ALL SELECT id, 0, batch FROM rejected")
        self.counts: dict = {}
        self.pending, self.uploaded, self.dead = set(), set(), {}
        for identity, uploaded, batch in rows:
            name = str(uuid.UUID(bytes=identity))
            self.counts[name] = self.counts.get(name, 0) + 1
            if batch is not None:
                self.dead[name] = str(uuid.UUID(bytes=batch))
            elif uploaded:
                self.uploaded.add(name)
            else:
                self.pending.add(name)
        self.frozen = {str(uuid.UUID(bytes=row[0])) for row in daemon.query("SELECT id FROM batches")}
