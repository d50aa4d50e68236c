r"""Regular expressions written for JavaScript, with its flag `i` and no other, for the `regex` package.

Read as node 20 reads them: `$` is the very end, `.` stops at four line ends, `\d \w \b` are ASCII, an escape without
a meaning is the letter itself, `{` is a letter where it counts nothing, a group that took no part matches the empty
text.

JavaScript matches code units, so `😀` is two, and it ignores case by rules of its own. Text and pattern are therefore
both folded, unit by unit, and compared as they are. One thing stays Python's: a group inside a repeated group keeps its
text when the next round leaves it out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from evalharness.errors import UsageError
from evalharness.values.pattern import compile_pattern

LAST_UNIT = 0xFFFF
MOST_REPEATS = 2**31 - 1
Span = tuple[int, int]
"""The first and the last of some code units."""


def compile_javascript(pattern: str) -> Any:
    """To be searched in `code_units`; raises ValueError with what is wrong."""
    try:
        return compile_pattern(from_javascript(pattern))
    except UsageError as error:
        raise ValueError(error.message) from None


def code_units(text: str) -> str:
    """The text as JavaScript compares it without regard to case: a character for each code unit, folded."""
    if text.isascii():
        return text.lower()
    units = _split(text)
    return units.translate({ord(unit): _folded(unit) for unit in set(units)})


def from_code_units(units: str) -> str:
    """The text of which these are the code units."""
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _split(text: str) -> str:
    return re.sub("[\U00010000-\U0010ffff]", lambda found: "".join(map(chr, _pair(ord(found[0])))), text)


def _pair(code: int) -> tuple[int, int]:
    return 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + (code & 0x3FF)


def _folded(unit: str) -> str:
    """One unit for all that differ in case only: the small letter if it is one of them, so that examples look well."""
    upper = _upper(unit)
    lower = upper.lower()
    return lower if len(lower) == 1 and _upper(lower) == upper else upper


def _upper(unit: str) -> str:
    """`Canonicalize` of ECMAScript: only to a single unit, and never from outside ASCII into it."""
    upper = unit.upper()
    return unit if len(upper) != 1 or (unit > "\x7f" >= upper) else upper


_NAME = r"(?:[^>()\\]|\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]+\})+"
_TOKEN = re.compile(
    rf"""
      \\ (?: x[0-9A-Fa-f]{{2}} | u[0-9A-Fa-f]{{4}} | c[A-Za-z] | (?=c) | k(?:<{_NAME}>)? | [0-9]+ | . )
    | \[ (?: \\. | [^\]\\] )* \]?
    | \( (?: \? (?: [:=!] | <[=!] | <{_NAME}> )? )?
    | (?: [*+?] | \{{ [0-9]+ (?: , [0-9]* )? \}} ) \??
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_QUANTIFIER = re.compile(r"(?:[*+?]|\{([0-9]+)(,?)([0-9]*)\})(\??)")
_CLASS_ATOM = re.compile(
    r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|c[A-Za-z0-9_]|(?=c)|[0-3][0-7]{0,2}|[4-7][0-7]?|.)|.", re.DOTALL
)
_OCTAL = re.compile(r"([0-3][0-7]{0,2}|[4-7][0-7]?)?([0-9]*)")

_LINE_ENDS: tuple[Span, ...] = ((0xA, 0xA), (0xD, 0xD), (0x2028, 0x2029))
_DIGITS: tuple[Span, ...] = ((0x30, 0x39),)
_WORD: tuple[Span, ...] = (*_DIGITS, (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACES: tuple[Span, ...] = (
    *((0x9, 0xD), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029)),
    *((0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)),
)


def _others(spans: Iterable[Span]) -> tuple[Span, ...]:
    """All code units but these, which are in order."""
    edges = [-1, *(edge for first, last in spans for edge in (first, last)), LAST_UNIT + 1]
    return tuple((last + 1, first - 1) for last, first in zip(edges[::2], edges[1::2], strict=True) if first > last + 1)


# Folding leads neither into these sets nor out of them, so they are used as they are.
_SETS = {
    r"\d": _DIGITS,
    r"\D": _others(_DIGITS),
    r"\w": _WORD,
    r"\W": _others(_WORD),
    r"\s": _SPACES,
    r"\S": _others(_SPACES),
}


def _class(spans: Iterable[Span], *, negated: bool = False) -> str:
    members = "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in spans)
    return f"[{'^' if negated else ''}{members}]"


_ANY, _LETTER = _class([(0, LAST_UNIT)]), _class(_WORD)
_ASSERTIONS = {
    "^": "^",
    "$": r"\Z",
    r"\b": f"(?:(?<!{_LETTER})(?={_LETTER})|(?<={_LETTER})(?!{_LETTER}))",
    r"\B": f"(?:(?<!{_LETTER})(?!{_LETTER})|(?<={_LETTER})(?={_LETTER}))",
}
_ATOMS = {".": _class(_LINE_ENDS, negated=True), **{escape: _class(spans) for escape, spans in _SETS.items()}}


def from_javascript(pattern: str) -> str:
    """The same pattern for the `regex` package and for `code_units`; raises UsageError for what node refuses."""
    return _Translation(_TOKEN.findall(_split(pattern))).text()


class _Group(NamedTuple):
    """An open group: where it starts in what is translated, how it is written, and its number if it has one."""

    start: int
    opening: str
    number: int = 0


class _Translation:
    """One way through the tokens of a pattern, from left to right."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._names = _group_names(tokens)
        self._done: list[str] = []
        self._open: list[_Group] = []
        self._opened = 0
        self._repeatable: int | None = None
        """Where the atom starts that a quantifier would repeat."""

    def text(self) -> str:
        if self._tokens and self._tokens[-1] == "\\":
            raise UsageError("it ends with a backslash")
        for token in self._tokens:
            self._translate(token)
        if self._open:
            raise UsageError("a group is never closed")
        return "".join(self._done)

    def _translate(self, token: str) -> None:
        if quantifier := _QUANTIFIER.fullmatch(token):
            self._repeat(quantifier)
        elif token[0] == "(":
            self._open_group(token)
        elif token == ")":
            self._close_group()
        elif token == "|" or token in _ASSERTIONS:
            self._done.append(_ASSERTIONS.get(token, token))
            self._repeatable = None
        else:
            for atom in self._atoms(token):
                self._repeatable = len(self._done)
                self._done.append(atom)

    def _repeat(self, quantifier: re.Match[str]) -> None:
        if self._repeatable is None:
            raise UsageError(f"nothing to repeat before {quantifier[0]}")
        fewest, comma, most, lazy = quantifier.groups()
        written = quantifier[0]
        if fewest is not None:
            limits = [str(min(int(limit), MOST_REPEATS)) if limit else "" for limit in (fewest[:99], most[:99])]
            if all(limits) and int(limits[0]) > int(limits[1]):
                raise UsageError(f"the numbers in {written} are out of order")
            written = f"{{{limits[0]}{comma}{limits[1]}}}{lazy}"
        self._done.insert(self._repeatable, "(?:")
        self._done.append(f"){written}")
        self._repeatable = None

    def _open_group(self, token: str) -> None:
        if token == "(?":
            raise UsageError("(? is followed by something that JavaScript does not allow")
        is_capture = token == "(" or _name_in(token) is not None
        self._opened += is_capture
        self._open.append(_Group(len(self._done), token, self._opened if is_capture else 0))
        self._done.append("(" if is_capture else token)
        self._repeatable = None

    def _close_group(self) -> None:
        if not self._open:
            raise UsageError(") closes a group that was never opened")
        group = self._open.pop()
        self._done.append(")")
        self._repeatable = None if group.opening in ("(?<=", "(?<!") else group.start

    def _atoms(self, token: str) -> Iterator[str]:
        if token in _ATOMS:
            yield _ATOMS[token]
        elif token[0] == "[":
            yield _character_class(token, has_names=any(self._names))
        elif token[:2] == r"\k" and any(self._names):
            yield self._reference(self._numbered(token))
        elif token[:2] == r"\k":
            yield from token[1:]
        elif token[:1] == "\\" and token[1:].isdecimal():
            yield from self._digits(token[1:])
        else:
            yield _literal(_unit(token))

    def _numbered(self, token: str) -> int:
        name = _identifier(token[3:-1])
        if not name or name not in self._names:
            raise UsageError(f"there is no group {token[3:-1]}")
        return self._names.index(name) + 1

    def _digits(self, digits: str) -> Iterator[str]:
        """The number of a group, if there are so many; else a character by its octal digits, and further digits."""
        if digits[0] != "0" and len(digits) < 9 and int(digits) <= len(self._names):
            yield self._reference(int(digits))
            return
        octal, others = _OCTAL.fullmatch(digits).groups()  # type: ignore[union-attr]
        if octal:
            yield _literal(int(octal, 8))
        yield from others

    def _reference(self, number: int) -> str:
        """What a group matched. From left to right, one that is not closed yet matched nothing in this round."""
        is_backwards = any(group.opening in ("(?<=", "(?<!") for group in self._open)
        is_open = any(group.number == number for group in self._open)
        if is_open or (number > self._opened and not is_backwards):
            return "(?:)"
        return f"(?({number})\\{number}|)"


def _group_names(tokens: Iterable[str]) -> list[str]:
    """One for each capturing group, in order; empty where it has none."""
    names: list[str] = []
    for token in tokens:
        written = "" if token == "(" else _name_in(token)
        if written is None:
            continue
        name = _identifier(written) if written else ""
        if written and not name:
            raise UsageError(f"'{from_code_units(written)}' is not a name for a group")
        if name and name in names:
            raise UsageError(f"two groups are called {name}")
        names.append(name)
    return names


def _name_in(token: str) -> str | None:
    """What is written between `(?<` and `>`."""
    return token[3:-1] if token.startswith("(?<") and token.endswith(">") else None


def _identifier(written: str) -> str:
    """The name that is written, escapes and all; empty where it is none."""
    plain = re.sub(r"\\u\{?([0-9A-Fa-f]+)\}?", lambda found: _split(chr(min(int(found[1], 16), 0x10FFFF))), written)
    name = from_code_units(plain)
    head, tail = name[:1].replace("$", "_"), re.sub("[$\u200c\u200d]", "_", name[1:])
    return name if (head + tail).isidentifier() else ""


def _character_class(token: str, *, has_names: bool) -> str:
    if len(token) < 2 or not token.endswith("]") or re.search(r"(?<!\\)(?:\\\\)*\\\]\Z", token):
        raise UsageError("[ is never closed")
    negated = token.startswith("[^")
    atoms = _CLASS_ATOM.findall(token[2 if negated else 1 : -1])
    if has_names and r"\k" in atoms:
        raise UsageError(r"\k cannot name a group inside [ ]")
    if not atoms:
        return _ANY if negated else _class([(0, LAST_UNIT)], negated=True)
    return _class(_merged(_class_members(atoms)), negated=negated)


def _class_members(atoms: list[str]) -> Iterator[Span]:
    place = 0
    while place < len(atoms):
        first, hyphen, last = (*atoms[place : place + 3], "", "")[:3]
        if hyphen == "-" and last and not {first, last} & _SETS.keys():
            yield from _folded_span(_class_unit(first), _class_unit(last))
            place += 3
        elif hyphen == "-" and last:  # beside a set, as in [\w-.], a hyphen makes no range
            for atom in (first, hyphen, last):
                yield from _member(atom)
            place += 3
        else:
            yield from _member(first)
            place += 1


def _member(atom: str) -> tuple[Span, ...]:
    return _SETS[atom] if atom in _SETS else _folded_span(_class_unit(atom), _class_unit(atom))


@lru_cache
def _folded_span(first: int, last: int) -> tuple[Span, ...]:
    if first > last:
        raise UsageError("a range in [ ] is out of order")
    return tuple(_merged((unit, unit) for unit in {ord(_folded(chr(code))) for code in range(first, last + 1)}))


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    """The same code units in as few spans as possible."""
    start, end = -2, -2
    for first, last in sorted(spans):
        if first > end + 1:
            if start >= 0:
                yield start, end
            start, end = first, last
        end = max(end, last)
    yield start, end


def _class_unit(atom: str) -> int:
    if atom == r"\b":
        return 8
    if re.fullmatch(r"\\[0-7]+", atom):
        return int(atom[1:], 8)
    return _unit(atom)


def _unit(token: str) -> int:
    """The code unit that is written as itself or as an escape."""
    if len(token) == 1:
        return ord(token)
    letter = token[1]
    if letter in "tnvfr" and len(token) == 2:
        return ord({"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}[letter])
    if letter in "xu" and len(token) > 2:
        return int(token[2:], 16)
    return ord(token[2]) % 32 if letter == "c" and len(token) > 2 else ord(letter)


def _literal(unit: int) -> str:
    folded = _folded(chr(unit))
    return folded if folded.isalnum() and folded.isascii() else f"\\u{ord(folded):04x}"
