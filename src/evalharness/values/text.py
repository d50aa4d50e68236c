"""Cutting and quoting text for people.

What a cut leaves may be written down, so it never leaves most of a word: that word may be a secret.
"""

from __future__ import annotations

import re

_FIRST_WORD = re.compile(r"\A\S+")
_LAST_WORD = re.compile(r"\S+\Z")


def head(text: str, limit: int) -> str:
    """The beginning of a text, with … where it was cut; a word that would be cut in two is left out.

    Where that would leave next to nothing, a quarter of the limit is shown: enough to know it, too little to use it.
    """
    if len(text) <= limit:
        return text
    kept = text[:limit]
    if not text[limit].isspace():
        kept = _LAST_WORD.sub("", kept)
    return f"{kept.rstrip() if len(kept) > limit // 20 else text[: limit // 4]}…"


def tail(text: str, limit: int) -> str:
    """The end of a text, cut as `head` cuts its beginning."""
    cut = len(text) - limit
    if cut <= 0:
        return text
    kept = text[cut:]
    if not text[cut - 1].isspace():
        kept = _FIRST_WORD.sub("", kept)
    return f"…{kept.lstrip() or text[len(text) - limit // 4 :]}"


def shown(text: str, limit: int = 80) -> str:
    """Quoted, on one line, cut, with whatever is invisible spelled out."""
    visible = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in head(text, limit))
    return f"'{visible}'"
