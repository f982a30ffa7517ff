"""Reading values out of text."""
from __future__ import annotations

import re


def match(pattern: str, text: str, flags: int = 0) -> re.Match[str]:
    """The first match, which must exist."""
    found = re.search(pattern, text, flags)
    if found is None:
        raise AssertionError(f"no match for {pattern!r} in:\n{text}")
    return found
