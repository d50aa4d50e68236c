"""A text that a regular expression matches, built from the pattern itself: what the oracle answers.

Not a solver: one way through the pattern is spelled out, and what look-arounds and anchors make of it is found out by
matching. None means that no text was found, not that there is none.
"""

from __future__ import annotations

import re
import threading
import warnings
from itertools import product
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from evalharness.domain.example import Example

TIME_LIMIT_S = 0.01
MAX_LENGTH = 10_000
NEIGHBOUR = "Word 1"
LIKED = "abcxyzABC012 _-.,:;/@#!?'\"()[]{}<>=+*&%$|~^`\\\n\té"

_QUIET = threading.Lock()
"""Warning filters belong to the whole process: two threads that change and restore them in turn would leave ours."""

# How often a repeat is at least taken, and which branch of each fork.
WAYS = tuple(product((0, 1), range(4)))


def example_of(compiled: Any) -> Example | None:
    """An answer that a pattern of the `regex` package is found in: as a piece of a text where that is enough."""
    try:
        texts = _texts(compiled.pattern)
        fitting = [text for text in texts if compiled.search(text, timeout=TIME_LIMIT_S)]
        if not fitting:
            return None
        text = next((text for text in fitting if text), "")
        return _placed(text, compiled) if text else Example(whole="")
    except TimeoutError:
        return None


def _placed(text: str, compiled: Any) -> Example:
    """The text with as much freedom as the pattern leaves: anything around it, after it, before it, or nothing."""
    if _is_found(compiled, NEIGHBOUR + " ", text, " " + NEIGHBOUR):
        return Example(holds=(text,))
    if _is_found(compiled, "", text, " " + NEIGHBOUR):
        return Example(starts=(text,))
    if _is_found(compiled, NEIGHBOUR + " ", text, ""):
        return Example(ends=(text,))
    return Example(whole=text)


def _is_found(compiled: Any, before: str, text: str, after: str) -> bool:
    """Whether the text still is what matches, not its neighbours."""
    whole = before + text + after
    if compiled.match(whole, pos=len(before), timeout=TIME_LIMIT_S):
        return True
    found = compiled.search(whole, timeout=TIME_LIMIT_S)
    return found is not None and found.start() <= len(before) and found.end() >= len(before) + len(text)


def _texts(pattern: str) -> list[str]:
    """What the ways through the pattern spell, shortest repeats first; nothing for what Python's parser cannot read."""
    try:
        with _QUIET, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of set operations to come, which the `regex` package decides anyway
            parsed = _parser.parse(pattern)
        spelled = [_Speller(least, branch).spell(parsed) for least, branch in WAYS]
    except (re.error, RecursionError, OverflowError):
        return []
    return list(dict.fromkeys(text for text in spelled if text is not None))


class _Speller:
    """One way through a parsed pattern. `spell` gives None where the way ends: an empty class, a text too long."""

    def __init__(self, least: int, branch: int) -> None:
        self._least = least
        self._branch = branch
        self._groups: dict[int, str] = {}

    def spell(self, parsed: Any) -> str | None:
        text = ""
        for operation, argument in parsed:
            piece = self._piece(operation.name, argument)
            if piece is None or len(text) + len(piece) > MAX_LENGTH:
                return None
            text += piece
        return text

    def _piece(self, operation: str, argument: Any) -> str | None:
        match operation:
            case "LITERAL":
                return chr(argument)
            case "NOT_LITERAL":
                return _liked_character([("NEGATE", None), ("LITERAL", argument)])
            case "ANY":
                return LIKED[0]
            case "IN":
                return _liked_character([(kind.name, value) for kind, value in argument])
            case "BRANCH":
                branches = argument[1]
                return self.spell(branches[min(self._branch, len(branches) - 1)])
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return self._repeated(*argument)
            case "SUBPATTERN":
                return self._group(argument[0], argument[-1])
            case "ATOMIC_GROUP":
                return self.spell(argument)
            case "GROUPREF":
                return self._groups.get(argument)
            case "GROUPREF_EXISTS":
                group, then, otherwise = argument
                return self.spell(then if group in self._groups else otherwise or ())
            case _:  # anchors and look-arounds take no room
                return ""

    def _repeated(self, fewest: int, most: int, parsed: Any) -> str | None:
        count = min(max(int(fewest), self._least), int(most))
        if count == 0:
            return ""
        piece = self.spell(parsed)
        return None if piece is None or count * max(len(piece), 1) > MAX_LENGTH else piece * count

    def _group(self, number: int | None, parsed: Any) -> str | None:
        text = self.spell(parsed)
        if number is not None and text is not None:
            self._groups[number] = text
        return text


def _liked_character(members: list[tuple[str, Any]]) -> str | None:
    """A character of a class, one that people write if there is one."""
    if members[0][0] == "NEGATE":
        return next((letter for letter in LIKED if not _is_member(letter, members[1:], in_any_case=True)), None)
    own = [chr(value if kind == "LITERAL" else value[0]) for kind, value in members if kind in ("LITERAL", "RANGE")]
    return next((letter for letter in (*LIKED, *own) if _is_member(letter, members)), None)


def _is_member(letter: str, members: list[tuple[str, Any]], *, in_any_case: bool = False) -> bool:
    letters = letter + letter.swapcase() if in_any_case else letter
    return any(_is_meant(each, kind, value) for kind, value in members for each in letters)


def _is_meant(letter: str, kind: str, value: Any) -> bool:
    if kind == "LITERAL":
        return letter == chr(value)
    if kind == "RANGE":
        return ord(letter) in range(value[0], value[1] + 1)
    category: str = value.name.removeprefix("CATEGORY_")
    inside = {
        "DIGIT": letter.isdecimal(),
        "SPACE": letter.isspace(),
        "WORD": letter.isalnum() or letter == "_",
    }[category.removeprefix("NOT_")]
    return inside != category.startswith("NOT_")
