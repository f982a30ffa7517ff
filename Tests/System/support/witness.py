"""A backend that sees what comes before the body."""
from support.backend import Backend


class Witness(Backend):
    """Records the headers of every request."""

    def __init__(self):
        self.heads: list = []
        super().__init__()

    def take(self, body, headers):
        self.heads.append(str(headers))
        return super().take(body, headers)
