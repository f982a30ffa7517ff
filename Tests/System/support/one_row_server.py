"""A server that takes one row a request, as Traccar's port for OsmAnd does, and refuses as it is told."""
from __future__ import annotations

from collections.abc import Callable

from support.post_server import PostServer


class OneRowServer(PostServer):
    """`decide` gets the parameters of each request, and says the status; None: the connection is closed without an answer.

    requests: the timestamp and the answer of each, in order
    """

    def __init__(self, decide: Callable[[dict], int | None] = lambda row: 200):
        self.decide = decide
        self.requests: list = []
        super().__init__()

    def take(self, query, body):
        status = self.decide(query)
        self.requests.append((int(query["timestamp"]), status))
        return None if status is None else (status, b"")

    @property
    def accepted(self) -> list:
        """The timestamps of the rows that it has taken."""
        return [timestamp for timestamp, status in self.requests if status == 200]
