"""JSON and JSON Lines as plain data: strict where Python's own parser is lenient.

The fast path is `json`'s C parser with hooks that only notice that something is wrong. A second, positional pass runs
when a line number is wanted: to say what is wrong, or when somebody asks where a value stands. That pass is no parser:
it walks text whose syntax is already known to be sound.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable
from functools import cache
from typing import Any

from evalharness.domain.problem import FieldPath, Problem, field_text, quoted
from evalharness.errors import InvalidFile
from evalharness.syntax import limits
from evalharness.syntax.limits import Lines

_SPACE = re.compile(r"[ \t\n\r]*")
_BARE = re.compile(r"[^\s,\]}]+")  # a number or a word
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_WORDS = ("true", "false", "null")


def parse_json(text: str, file: str) -> tuple[Any, Callable[[], Lines]]:
    data, problems = _Strict().parse(text, file)
    lines = cache(lambda: _Positions(text, file).walk())
    if problems:
        raise InvalidFile(problems, rest=None if data is None else (data, lines))
    return data, lines


def parse_jsonl(text: str, file: str) -> tuple[list[Any], Callable[[], Lines]]:
    """One element per line that is not blank; every broken line is reported."""
    strict = _Strict()
    data: list[Any] = []
    lines: list[Lines] = []
    problems: list[Problem] = []
    written = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    for position, (number, line) in enumerate(written):
        value, found = strict.parse(line, file, number, (position,))
        if not found:
            data.append(value)
            lines.append(number)
        problems += found
    if problems:
        raise InvalidFile(problems, rest=(data, lambda: (1, lines)))
    return data, lambda: (1, lines)


class _Strict:
    """`json`'s decoder, with `sound` turning False when a value must be refused."""

    def __init__(self) -> None:
        self.sound = True
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self._mapping,
            parse_int=self._integer,
            parse_float=self._float,
            parse_constant=self._constant,
        )

    def parse(self, text: str, file: str, line: int = 1, path: FieldPath = ()) -> tuple[Any, list[Problem]]:
        """The data and its problems; `line` and `path` say where the text stands in its file."""
        self.sound = True
        try:
            data = self.decoder.decode(text)
        except json.JSONDecodeError as error:
            message = f"not valid JSON: {_rephrased(error.msg)} (column {error.colno})"
            return None, [Problem(file, line + error.lineno - 1, field_text(path), message)]
        except RecursionError:
            self.sound, data = False, None
        if self.sound and not _too_deep(text, data) and not _has_lone_surrogate(text, data):
            return data, []
        positions = _Positions(text, file, line, path)
        try:
            positions.walk()
        except InvalidFile:  # too deep to go on; the reason is among the problems
            pass
        return data, positions.problems

    def _mapping(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) != len(pairs):
            self.sound = False
        return mapping

    def _integer(self, text: str) -> int | None:
        number = int(text) if len(text) < 19 else limits.bounded_int(text)
        self.sound = self.sound and number is not None
        return number

    def _float(self, text: str) -> float | None:
        number = limits.finite_float(text)
        self.sound = self.sound and number is not None
        return number

    def _constant(self, _: str) -> None:
        self.sound = False


class _Positions:
    """Walks sound JSON text and notes the line of every key and element, and every value to be refused."""

    def __init__(self, text: str, file: str, line: int = 1, path: FieldPath = ()) -> None:
        self.text = text
        self.file = file
        self.first_line = line
        self.breaks = [found.start() for found in re.finditer("\n", text)]
        self.path: list[str | int] = list(path)
        self.max_path = len(path) + limits.MAX_DEPTH
        self.problems: list[Problem] = []
        self.decode_at = json.JSONDecoder().raw_decode

    def walk(self) -> Lines:
        """Raises `InvalidFile` where nesting is too deep to go on."""
        at = self._skip_space(0)
        return self._value(at, self._line(at))[0]

    def _value(self, at: int, line: int) -> tuple[Lines, int]:
        """The places of the value that starts at `at` and belongs to `line`, and where it ends."""
        first = self.text[at]
        if first in "{[":
            self.path.append("")
            if len(self.path) > self.max_path:
                self._problem(self._line(at), limits.TOO_DEEP, self.path[: limits.SHOWN_DEPTH])
                raise InvalidFile(self.problems)
            places, end = self._mapping(at + 1) if first == "{" else self._sequence(at + 1)
            self.path.pop()
            return (line, places), end
        if first == '"':
            return line, self._string(at)[1]
        bare = _BARE.match(self.text, at)
        assert bare is not None  # the syntax is sound, so a word or number stands here
        if bare[0] not in _WORDS:
            self._check_number(bare[0], self._line(at))
        return line, bare.end()

    def _mapping(self, at: int) -> tuple[dict[str, Lines], int]:
        places: dict[str, Lines] = {}
        first_lines: dict[str, int] = {}
        at = self._skip_space(at)
        while self.text[at] != "}":
            line = self._line(at)
            key, at = self._string(at)
            self.path[-1] = key
            if key in first_lines:
                self._problem(line, f"duplicate key {quoted(key)}, first on line {first_lines[key]}")
            first_lines.setdefault(key, line)
            places[key], at = self._value(self._skip_space(self._skip_space(at) + 1), line)
            at = self._skip_comma(at)
        return places, at + 1

    def _sequence(self, at: int) -> tuple[list[Lines], int]:
        places: list[Lines] = []
        at = self._skip_space(at)
        while self.text[at] != "]":
            self.path[-1] = len(places)
            place, at = self._value(at, self._line(at))
            places.append(place)
            at = self._skip_comma(at)
        return places, at + 1

    def _string(self, at: int) -> tuple[str, int]:
        value, end = self.decode_at(self.text, at)
        if not _encodable(value):
            self._problem(self._line(at), limits.LONE_SURROGATE)
        return value, end

    def _check_number(self, text: str, line: int) -> None:
        if text.lstrip("-").isdigit():
            if limits.bounded_int(text) is None:
                self._problem(line, f"{quoted(text)} is too large: {limits.INT_RANGE}")
        elif limits.finite_float(text) is None:
            self._problem(line, f"{quoted(text)} is not allowed: {limits.FLOAT_RANGE}")

    def _problem(self, line: int, message: str, path: list[str | int] | None = None) -> None:
        field = field_text(tuple(self.path if path is None else path))
        self.problems.append(Problem(self.file, line, field, message))

    def _line(self, at: int) -> int:
        return bisect_left(self.breaks, at) + self.first_line

    def _skip_space(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def _skip_comma(self, at: int) -> int:
        at = self._skip_space(at)
        return self._skip_space(at + 1) if self.text[at] == "," else at


def _too_deep(text: str, data: Any) -> bool:
    if text.count("[") + text.count("{") <= limits.MAX_DEPTH:
        return False
    level = [data] if isinstance(data, dict | list) else []
    for _ in range(limits.MAX_DEPTH):
        level = [
            child
            for holder in level
            for child in (holder.values() if type(holder) is dict else holder)
            if type(child) is dict or type(child) is list
        ]
    return bool(level)


def _has_lone_surrogate(text: str, data: Any) -> bool:
    """Only escapes can make one; joining all strings lets C code look at them instead of a walk over the data."""
    return bool(_SURROGATE_ESCAPE.search(text)) and not _encodable(json.dumps(data, ensure_ascii=False))


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _rephrased(message: str) -> str:
    return (message[:1].lower() + message[1:]).removesuffix(" at")
