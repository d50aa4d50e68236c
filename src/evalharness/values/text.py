"""Shortens and quotes text for people.

The result may be stored, so it never contains most of a cut word, which may be a secret.
"""

from __future__ import annotations

import re

_FIRST_WORD = re.compile(r"\A\S+")
_LAST_WORD = re.compile(r"\S+\Z")


def head(text: str, limit: int) -> str:
    """The beginning of a text, with … where it is cut; a word that would be cut is left out.

    If that left almost nothing, a quarter of the limit is shown: enough to recognise a secret, too little to use it.
    """
    if len(text) <= limit:
        return text
    kept = text[:limit]
    if not text[limit].isspace():
        kept = _LAST_WORD.sub("", kept)
    return f"{kept.rstrip() if len(kept) > limit // 20 else text[: limit // 4]}…"


def tail(text: str, limit: int) -> str:
    """The end of a text, cut in the same way as by `head`."""
    cut = len(text) - limit
    if cut <= 0:
        return text
    kept = text[cut:]
    if not text[cut - 1].isspace():
        kept = _FIRST_WORD.sub("", kept)
    return f"…{kept.lstrip() or text[len(text) - limit // 4 :]}"


def shown(text: str, limit: int = 80) -> str:
    """The text quoted, on one line, shortened, with invisible characters escaped."""
    visible = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in head(text, limit))
    return f"'{visible}'"


def around_difference(one: str, other: str, limit: int) -> tuple[str, str]:
    """Two texts, each cut to about `limit` characters in such a way that their first difference is in what is left."""
    if len(one) <= limit and len(other) <= limit:
        return one, other
    start = max(0, same_beginning(one, other) - limit // 4)
    return _part(one, start, limit), _part(other, start, limit)


def _part(text: str, start: int, limit: int) -> str:
    return head(tail(text, len(text) - start) if 0 < start < len(text) else text, limit)


def same_beginning(one: str, other: str) -> int:
    """How many characters two texts have in common from their beginning on."""
    differing = (number for number, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))
