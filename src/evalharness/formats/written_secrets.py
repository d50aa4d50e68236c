"""Secrets that somebody wrote into a file, told by the name of what holds them: a header, a parameter, a login.

Not those that were given as values and turn up in a text: these are the redactor's.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from evalharness.redaction import SHORTEST_SECRET

_PLACE = re.compile(r"\{\s*\w[\w.-]*\s*\}")
_NEXT_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET = re.compile(
    r"(?<![a-z])(?:api|access|auth|refresh|session|client|secret)?[-_]?"
    r"(?:keys?|tokens?|secrets?|passw\w*|credentials?|auth|authorization|cookies?)(?![a-z])",
    re.IGNORECASE,
)
"""A whole word of a name: neither `author` nor `keyword`."""
_NO_SECRET = re.compile(
    r"\b(?:idempotency|sort|order|partition|primary|public|cache)[-_]key|\bauth[-_](?:method|type)", re.IGNORECASE
)
_SCHEME = re.compile(r"\A\s*(?:bearer|basic|digest|token)\s", re.IGNORECASE)


def holds_secret(name: str, value: Any) -> bool:
    """Whether a value of this name is a secret, and no place for one."""
    if not isinstance(value, str) or _PLACE.search(value):
        return False
    words = _NEXT_WORD.sub("-", name)
    is_secret = _SECRET.search(words) is not None and not _NO_SECRET.search(words)
    return is_secret and len(_SCHEME.sub("", value, count=1).strip()) >= SHORTEST_SECRET


def address_holds_secret(url: Any) -> bool:
    """A password, a login that is nothing but a token, or a parameter that is called like a secret."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
    except ValueError:  # no address at all, which is told elsewhere
        return False
    if parts is None:
        return False
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    return holds_secret("password", password or user) or any(holds_secret(*each) for each in parse_qsl(parts.query))
