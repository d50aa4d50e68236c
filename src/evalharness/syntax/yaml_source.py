"""YAML as plain data with line numbers: the YAML 1.2 core schema, and nothing that runs, grows or guesses.

PyYAML only splits the text into events; its own constructors (dates, `NO` as false, tags that make objects) are never
used. Nor is its composer, whose C version overflows the stack on deep nesting. Aliases are copied, so that no two
places of the data share a list or mapping, and the copies are counted, so that a small file cannot grow large.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import yaml
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.scanner import Scanner, ScannerError

from evalharness.domain.problem import Problem, field_text, quoted
from evalharness.errors import InvalidFile
from evalharness.syntax import limits
from evalharness.syntax.limits import Lines, line_at

MAY_NOT_BE_TEXT = frozenset("~nNtTfF-+.0123456789")
"""The first characters of every scalar that is something other than text."""

_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_PREFIXED = re.compile(r"0o([0-7]+)|0x([0-9a-fA-F]+)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


@dataclass(frozen=True, slots=True)
class Refused:
    """A scalar that has a meaning, but one that no file may use."""

    message: str


def plain_scalar(text: str) -> Any:
    """None, bool, int, float or str; or `Refused`."""
    if text and text[0] not in MAY_NOT_BE_TEXT:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _DECIMAL.fullmatch(text):
        return _integer(text, limits.bounded_int(text))
    if prefixed := _PREFIXED.fullmatch(text):
        octal, hexadecimal = prefixed.groups()
        return _integer(text, limits.bounded_int(octal, 8) if octal else limits.bounded_int(hexadecimal, 16))
    if _FLOAT.fullmatch(text):
        number = limits.finite_float(text)
        return _not_finite(text) if number is None else number
    return _not_finite(text) if _NOT_FINITE.fullmatch(text) else text


def _integer(text: str, number: int | None) -> int | Refused:
    return Refused(f"{quoted(text)} is too large: {limits.INT_RANGE}") if number is None else number


def _not_finite(text: str) -> Refused:
    return Refused(f"{quoted(text)} is not allowed: {limits.FLOAT_RANGE}; quote it if it is text")


MAX_ALIASES = 100
MAX_COPIED_NODES = 1_000_000

_SURROGATE = re.compile("[\ud800-\udfff]")
_MERGE = "<<"

Built: TypeAlias = tuple[Any, Lines]


def parse_yaml(text: str, file: str, *, pure: bool = not yaml.__with_libyaml__) -> tuple[Any, Callable[[], Lines]]:
    """`pure` takes PyYAML's slow Python parser, for machines without its C one."""
    problems: list[Problem] = []
    try:
        data, lines = _Builder(event_reader(text, pure=pure), file, problems).document()
    except yaml.YAMLError as error:
        problems.append(syntax_problem(error, text, file))
        raise InvalidFile(_by_line(problems)) from None
    if problems:
        raise InvalidFile(_by_line(problems), rest=(data, lambda: lines))
    return data, lambda: lines


class _Builder:
    """Turns events into data; `path` always names the place being built, one step for each open container."""

    def __init__(self, next_event: Callable[[], Any], file: str, problems: list[Problem]) -> None:
        self.next_event = next_event
        self.file = file
        self.problems = problems
        self.path: list[str | int] = []
        self.anchors: dict[str, Built | None] = {}  # None while the anchored node is still open
        self.aliases = 0
        self.copied_nodes = 0

    def document(self) -> Built:
        self.next_event()  # the start of the stream
        event = self.next_event()
        if type(event) is StreamEndEvent:
            return None, 1
        event = self.next_event()
        built = self._node(event, _line(event))
        self.next_event()  # the end of the document
        event = self.next_event()
        if type(event) is not StreamEndEvent:
            self._stop(_line(event), "a second document starts here; a file must contain only one")
        return built

    def _node(self, event: Any, line: int) -> Built:
        """What starts with `event`; `line` is that of the key it belongs to, or its own."""
        kind = type(event)
        if kind is AliasEvent:
            return self._alias(event, line)
        if event.tag is not None:
            self._problem(_line(event), f"tags are not supported: {_tag_text(event.tag)}")
        if kind is ScalarEvent:
            built: Built = self._scalar(event), line
        else:
            if event.anchor is not None:
                self.anchors[event.anchor] = None
            if len(self.path) == limits.MAX_DEPTH:
                self._stop(_line(event), limits.TOO_DEEP)
            self.path.append(0)
            value, places = self._sequence() if kind is SequenceStartEvent else self._mapping()
            self.path.pop()
            built = value, (line, places)
        if event.anchor is not None:
            self.anchors[event.anchor] = built
        return built

    def _scalar(self, event: ScalarEvent) -> Any:
        text = event.value
        if event.style:
            if event.style == '"' and _SURROGATE.search(text):
                self._problem(_line(event), limits.LONE_SURROGATE)
            return text
        if text and text[0] not in MAY_NOT_BE_TEXT:
            return text
        value = plain_scalar(text)
        if type(value) is Refused:
            self._problem(_line(event), value.message)
        return value

    def _sequence(self) -> tuple[list[Any], list[Lines]]:
        values: list[Any] = []
        places: list[Lines] = []
        while type(event := self.next_event()) is not SequenceEndEvent:
            self.path[-1] = len(values)
            value, place = self._node(event, event.start_mark.line + 1)
            values.append(value)
            places.append(place)
        return values, places

    def _mapping(self) -> tuple[dict[str, Any], dict[str, Lines]]:
        values: dict[str, Any] = {}
        places: dict[str, Lines] = {}
        merged: list[tuple[dict[str, Any], dict[str, Lines]]] = []
        while type(event := self.next_event()) is not MappingEndEvent:
            line = event.start_mark.line + 1
            key = self._key(event, line)
            if key is None:
                self._node(self.next_event(), line)
                continue
            self.path[-1] = key
            if key in places:
                self._problem(line, f"duplicate key {quoted(key)}, first on line {line_at(places[key], ())}")
            value, place = self._node(self.next_event(), line)
            places.setdefault(key, place)
            if key == _MERGE and type(event) is ScalarEvent and not event.style:
                merged += self._to_merge(value, place, line)
            else:
                values[key] = value
        for other_values, other_places in merged:
            for key, value in other_values.items():
                values.setdefault(key, value)
                places.setdefault(key, other_places[key])
        return values, places

    def _key(self, event: Any, line: int) -> str | None:
        """A key is its text as written: `1: Poor` has the key "1"."""
        self.path[-1] = "?"
        if type(event) is ScalarEvent:
            text: str = event.value
            if event.tag is not None or event.anchor is not None or event.style == '"':
                self._node(event, line)
            if text or event.style:
                return text
            self._problem(line, "a key is missing before ':'", self.path[:-1])
            return None
        value, _ = self._node(event, line)
        if isinstance(value, str):
            return value
        self._problem(line, "a key must be text, not a list, a mapping or an alias of anything else", self.path[:-1])
        return None

    def _to_merge(self, value: Any, place: Any, line: int) -> list[tuple[dict[str, Any], dict[str, Lines]]]:
        """What `<<` brings in; a mapping whose places name `<<` was itself the result of a merge."""
        parts = list(zip(value, place[1], strict=True)) if isinstance(value, list) else [(value, place)]
        if not all(isinstance(part, dict) for part, _ in parts):
            self._problem(line, "'<<' takes a mapping or a list of mappings")
            return []
        if any(_MERGE in part_place[1] for _, part_place in parts):
            self._problem(line, "a merged mapping must not contain '<<' itself (no merge-of-merge)")
            return []
        return [(part, part_place[1]) for part, part_place in parts]

    def _alias(self, event: AliasEvent, line: int) -> Built:
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            self._stop(_line(event), f"more than {MAX_ALIASES} aliases")
        name = str(event.anchor)
        anchored = self.anchors.get(name)
        if anchored is None:
            fault = "is inside the value it refers to" if name in self.anchors else "has no anchor above it"
            self._problem(_line(event), f"the alias {quoted('*' + name)} {fault}")
            return None, line
        value, place = anchored
        copy = self._copy(value, len(self.path), _line(event))
        return copy, line if isinstance(place, int) else (line, place[1])

    def _copy(self, value: Any, depth: int, line: int) -> Any:
        kind = type(value)
        if kind is not dict and kind is not list:
            return value
        self.copied_nodes += len(value) + 1
        if self.copied_nodes > MAX_COPIED_NODES:
            self._stop(line, f"aliases expand to more than {MAX_COPIED_NODES:,} values")
        if depth == limits.MAX_DEPTH:
            self._stop(line, limits.TOO_DEEP)
        if kind is dict:
            return {key: self._copy(item, depth + 1, line) for key, item in value.items()}
        return [self._copy(item, depth + 1, line) for item in value]

    def _problem(self, line: int, message: str, path: list[str | int] | None = None) -> None:
        field = field_text(tuple(self.path if path is None else path))
        self.problems.append(Problem(self.file, line, field, message))

    def _stop(self, line: int, message: str) -> NoReturn:
        self._problem(line, message, self.path[: limits.SHOWN_DEPTH])
        raise InvalidFile(_by_line(self.problems))


def _by_line(problems: list[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: problem.line)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _tag_text(tag: str) -> str:
    standard = "tag:yaml.org,2002:"
    return quoted("!!" + tag.removeprefix(standard) if tag.startswith(standard) else tag)


# YAML text as PyYAML's events, and PyYAML's complaints as short problems with a line.
#
# The C parser is forty times faster; the Python one serves machines whose PyYAML was built without it.

_MISPLACED = "this line does not fit the lines above it; check the indentation and the quotes"
_NO_VALUE = "a bracket is not closed, or a value is missing"
_ADVICE = {
    "mapping values are not allowed": "unexpected ':'; check the indentation, or quote text that contains ': '",
    "sequence entries are not allowed": "unexpected '- '; start a list on its own line",
    "found unexpected end of stream": "a quote is not closed",
    "found unknown escape character": "unknown escape after a backslash; use single quotes for literal backslashes",
    "could not find expected ':'": "expected ':' after a key; check the indentation and the quotes",
    "did not find expected key": _MISPLACED,
    "did not find expected '-' indicator": _MISPLACED,
    "expected <block end>": _MISPLACED,
    "expected ',' or": "a bracket is not closed, or a comma is missing",
    "did not find expected node content": _NO_VALUE,
    "expected the node content": _NO_VALUE,
}
"""What PyYAML's less helpful messages (by a part of them) usually mean."""


def event_reader(text: str, *, pure: bool) -> Callable[[], Any]:
    """Each call gives the next event; raises `yaml.YAMLError` on broken syntax."""
    if pure:
        next_event: Callable[[], Any] = _PureParser(text).get_event
    else:
        from yaml._yaml import CParser  # missing where PyYAML was built without its C parser

        next_event = CParser(text).get_event
    return next_event


def syntax_problem(error: yaml.YAMLError, text: str, file: str) -> Problem:
    if isinstance(error, ReaderError):
        found = Reader.NON_PRINTABLE.search(text)
        line = text.count("\n", 0, found.start()) + 1 if found else 1
        character = quoted(found[0]) if found else "used here"
        return Problem(file, line, "", f"not valid YAML: the character {character} must be written as an escape")
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return Problem(file, 1, "", f"not valid YAML: {error}")
    mark, start = error.problem_mark, error.context_mark
    # PyYAML puts what is missing at the end of a file on the line after the last one.
    line = min(mark.line, max(len(text.splitlines()), 1) - 1)
    message = _rephrased(str(error.problem), text[mark.index : mark.index + 1])
    opened = f" (it starts on line {start.line + 1})" if start is not None and start.line < line else ""
    return Problem(file, line + 1, "", f"not valid YAML: {message}{opened}")


def _rephrased(message: str, character: str) -> str:
    if "cannot start any token" in message:
        if character == "\t":
            return "a tab cannot be used for indentation; use spaces"
        return f"a value cannot start with {quoted(character)}; quote it"
    return next((advice for part, advice in _ADVICE.items() if part in message), message)


class _PureParser(Reader, Scanner, Parser):
    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)

    def get_event(self) -> Any:
        try:
            return super().get_event()  # type: ignore[no-untyped-call]
        except (ValueError, OverflowError):  # PyYAML lets these through for escapes and versions out of range
            raise ScannerError(None, None, "found a number out of range", self.get_mark()) from None
