"""A text as it appears in the reason of a grade."""

from __future__ import annotations

from evalharness.values.text import head


def shown(text: str, limit: int = 80) -> str:
    """Quoted, on one line, cut, with whatever is invisible spelled out."""
    visible = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in head(text, limit))
    return f"'{visible}'"
