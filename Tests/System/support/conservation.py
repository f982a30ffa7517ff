"""Where every location is: stored = received ∪ pending ∪ dead-lettered ∪ deleted by rule, each exactly once.

And the shape of what was received, by an independent validator of etc/envelope.schema.json.
"""
from __future__ import annotations

import json
import os
import uuid

try:
    import jsonschema
except ImportError:
    jsonschema = None

NO_VALIDATOR = "the Python package jsonschema is not installed: no batch is held against etc/envelope.schema.json"
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "etc", "envelope.schema.json")


def load_schema() -> dict:
    with open(SCHEMA, encoding="utf-8") as file:
        return json.load(file)


_validator = jsonschema.Draft202012Validator(load_schema()) if jsonschema else None


def shape_faults(root) -> list:
    """What the schema says against one batch; nothing without a validator."""
    if _validator is None or root is None:
        return []
    # Plain values: what the validator sees must not depend on the receiver's own reader.
    plain = json.loads(json.dumps(root))
    # The schema allows it, for the sake of the doctor.
    nothing = [] if plain.get("locations") or plain.get("geofence_events") else ["root: nothing is in it"]
    return nothing + [f"{'/'.join(str(part) for part in error.absolute_path) or 'root'}: {error.message}"
            for error in _validator.iter_errors(plain)]


class Ledger:
    """What one daemon is known to have stored, and what the user has deleted since."""

    def __init__(self):
        self.stored: set = set()
        self.deleted: set = set()
        # A daemon that was killed may have stored, sent and deleted a row that it never told of.
        self.is_complete = True
        # Who deletes rows of a batch under way dissolves it: what is left of it goes out again in another one.
        self.has_dissolved = False

    def faults(self, daemon, receivers: list) -> list:
        here = Here(daemon)
        taken = [receiver.batches_of(daemon.installation) for receiver in receivers]
        told = {identity for batches in taken for identity in batches}
        found = [f"stored {count} times: {row}" for row, count in here.counts.items() if count > 1]
        found += [f"lost: {row}" for row in self.stored - told - set(here.counts) - self.deleted]
        if self.is_complete:
            found += [f"received, and never stored: {row}" for row in told - self.stored - set(here.counts)]
        for one in taken:
            for row, batches in one.items():
                if len(batches) > 1 and not self.has_dissolved:
                    found.append(f"acknowledged in {len(batches)} batches: {row}")
                # Received and still here: only while its own batch waits for an answer that can be believed.
                if row in here.pending and not batches & here.frozen:
                    found.append(f"received, and pending outside its batch: {row}")
                if row in here.dead and here.dead[row] not in batches:
                    found.append(f"received, and a dead letter of another batch: {row}")
        found += [f"marked as uploaded, and never received: {row}" for row in here.uploaded - told]
        return found


class Here:
    """What the database holds."""

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
