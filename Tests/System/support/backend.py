"""The demo's receiver as the backend of a test."""
from __future__ import annotations

import time
from collections.abc import Callable

from receiver import Receiver, Request
from support.ports import new_port
from support.waiting import PATIENCE, wait_for


class Backend(Receiver):
    """Records when each request arrived, and can hold back its answers for good."""

    def __init__(self, port: int | None = None, **options):
        self.moments: list = []
        self._is_poison: Callable[[Request], object] = lambda request: False
        self._refusal = 422
        super().__init__(port or new_port(), say=lambda request: self.moments.append(time.monotonic()), **options)

    def refuse(self, is_poison: Callable[[Request], object], status: int = 422):
        """From now on, answers with this status to requests that meet the condition."""
        self._is_poison, self._refusal = is_poison, status

    def accept_all(self):
        self._is_poison = lambda request: False

    def _decide(self, request: Request, planned):
        return super()._decide(request, self._refusal if self._is_poison(request) else planned)

    def hold(self):
        self.delay = 3600.0

    def go_on(self):
        """Answers the requests to come; those already held stay unanswered."""
        self.delay = 0.0

    def wait_requests(self, count: int, seconds: float = PATIENCE) -> list:
        wait_for(lambda: len(self.moments) >= count,
                 lambda: f"{count} requests; there were {len(self.moments)}", seconds)
        return self.requests[:count]

    def batches_of(self, installation: str) -> dict:
        """The batches in which each location was accepted; more than one would be one too many."""
        found: dict = {}
        for request in list(self.requests):
            known = request.outcome.startswith(("stored", "known already"))
            if known and request.root["device"]["install_id"] == installation:
                for identity in request.ids:
                    found.setdefault(identity, set()).add(request.batch_id)
        return found

    def faults(self, requests: list | None = None) -> list:
        """Every batch_id that came with different bytes, and every id in two batches: computed here, not by the receiver."""
        bodies: dict = {}
        homes: dict = {}
        found = []
        for request in requests or list(self.requests):
            if bodies.setdefault(request.batch_id, request.sha256) != request.sha256:
                found.append(f"batch {request.batch_id} came with other bytes")
            for identity in request.ids:
                if homes.setdefault(identity, request.batch_id) != request.batch_id:
                    found.append(f"{identity} is in {homes[identity]} and in {request.batch_id}")
        return found
