"""Secrets that somebody wrote into a file, told by the name of what holds them: a header, a parameter, a login.

Not those that were given as values and turn up in a text: these are the redactor's.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from evalharness.domain.variables import needed
from evalharness.redaction import SHORTEST_SECRET, is_secret_name

_PLACE = re.compile(r"\{\s*\w[\w.-]*\s*\}")
_NEXT_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET = re.compile(
    r"(?<![a-z])(?:api|access|auth|refresh|session|client|secret)?[-_]?"
    r"(?:keys?|tokens?|secrets?|passw\w*|credentials?|auth|authorization|cookies?|sig|signature)(?![a-z])",
    re.IGNORECASE,
)
"""A whole word of a name: neither `author` nor `keyword`."""
_NO_SECRET = re.compile(
    r"\b(?:idempotency|sort|order|partition|primary|public|cache)[-_]key|\bauth[-_](?:method|type)", re.IGNORECASE
)
_SCHEME = re.compile(r"\A\s*(?:bearer|basic|digest|token)\s", re.IGNORECASE)


def exposed(name: str, value: Any, secrets: Collection[str] | None = None) -> str:
    """Why a value of this name would be stored in the clear; empty where it would not.

    `secrets` are the variables said to be some; None where that is not known, and variables are taken on trust.
    """
    words = _NEXT_WORD.sub("-", name)
    if not isinstance(value, str) or not _SECRET.search(words) or _NO_SECRET.search(words):
        return ""
    variables, known = sorted(needed(value)), {each.lower() for each in secrets or ()}
    if secrets is not None and variables and not any(is_secret_name(each) or each in known for each in variables):
        return f"the variable {variables[0]} would be stored in the clear: list it under `secrets:`, or call it …_key"
    if _PLACE.search(value) or len(_SCHEME.sub("", value, count=1).strip()) < SHORTEST_SECRET:
        return ""
    return "write {{api_key}} and give it as a variable: it would be stored in the clear"


def exposed_in_address(url: Any, secrets: Collection[str] | None = None) -> str:
    """The same of a password, of a login that is nothing but a token, and of parameters by their names."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
    except ValueError:  # no address at all, which is told elsewhere
        return ""
    if parts is None:
        return ""
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    held = [("password", password or user), *parse_qsl(parts.query)]
    return next(filter(None, (exposed(name, value, secrets) for name, value in held)), "")
