"""structural_match: the answer has the shape and the values of a known-good one, except where it may differ.

`StructureComparison` counts what two values have in common. Placeholders such as `{{any_string}}` stand for kinds of
values; `paths.py` says what a path means.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, TypeGuard

import regex
from pydantic import field_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.documents.http_messages import has_http_status, is_response
from evalharness.domain.case import as_text
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.errors import Unscored, closest
from evalharness.graders.json_values import compared_values, named, not_json, parsed
from evalharness.graders.paths import JsonPath, children, fits, is_there, read_path
from evalharness.values.digest import digest
from evalharness.values.json_value import Json
from evalharness.values.text import shown
from evalharness.values.variables import MATCHER, has_matcher, literal

FORMS = {
    "any_uuid": r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}",
    "any_string": r".*",
    "any_email": r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+",
    "any_iso_datetime": r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?",
    "any_number": r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?",
}
FILLED: dict[str, str | int] = {
    "any_uuid": "00000000-0000-4000-8000-000000000000",
    "any_string": "text",
    "any_email": "someone@example.org",
    "any_iso_datetime": "2024-01-01T00:00:00Z",
    "any_number": 1,
}
MATCH_LIMIT_S = 0.1


def holds_placeholder(value: Json) -> bool:
    """Whether there is one in the value or anywhere below it."""
    if isinstance(value, dict):
        return any(holds_placeholder(item) for item in value.values())
    if isinstance(value, list | tuple):
        return any(holds_placeholder(item) for item in value)
    return has_matcher(value)


def check_placeholders(value: Json) -> None:
    """Raises ValueError for one that nobody knows."""
    if isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            check_placeholders(item)
    elif isinstance(value, str) and "{{" in value:
        for name in (found.lower() for found in MATCHER.findall(value)):
            if name not in FORMS:
                guess = closest(name, FORMS)
                asked = f"; did you mean '{guess}'?" if guess else f"; known: {', '.join(FORMS)}"
                raise ValueError(f"unknown placeholder '{name}'{asked}")


def matches_placeholders(text: str, actual: Json) -> bool:
    """Whether the value is what a text with placeholders stands for."""
    whole = MATCHER.fullmatch(text.strip())
    if whole is not None and whole[1].lower() == "any_number":
        return isinstance(actual, int | float) and not isinstance(actual, bool)
    return isinstance(actual, str) and matches_text(text.strip() if whole else text, actual)


def matches_text(text: str, actual: str) -> bool:
    """The same among texts, where a number is its digits."""
    parts = MATCHER.split(text)
    names = [name.lower() for name in parts[1::2]]
    first, *others = (regex.escape(literal(part)) for part in parts[::2])
    pattern = first + "".join(f"({FORMS[name]}){part}" for name, part in zip(names, others, strict=True))
    try:
        found = regex.fullmatch(pattern, actual, flags=regex.DOTALL | regex.ASCII, timeout=MATCH_LIMIT_S)
    except TimeoutError:
        raise Unscored(f"placeholder time limit: '{text}' is too ambiguous") from None
    return found is not None and all(map(_is_real, names, found.groups()))


def _is_real(name: str, text: str) -> bool:
    """The 45th of January has the form of a date and is none."""
    if name != "any_iso_datetime":
        return True
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def fill_placeholders(value: Json) -> Json:
    """The value with something that matches in every placeholder's stead: what an oracle answers."""
    if isinstance(value, dict):
        return {key: fill_placeholders(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [fill_placeholders(item) for item in value]
    if not isinstance(value, str):
        return value
    whole = MATCHER.fullmatch(value.strip())
    return FILLED[whole[1].lower()] if whole else literal(MATCHER.sub(_filled, value))


def _filled(found: Any) -> str:
    return str(FILLED[found[1].lower()])


def generalised(value: Json) -> Json:
    """The value with a placeholder for each of its texts and numbers: any of the same kind will do."""
    if isinstance(value, dict):
        return {key: generalised(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [generalised(item) for item in value]
    if isinstance(value, str):
        kinds = ("any_uuid", "any_iso_datetime", "any_email", "any_string")
        return next(text for kind in kinds if matches_placeholders(text := f"{{{{{kind}}}}}", value))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "{{any_number}}" if is_number else value


KEPT_DIFFERENCES = 20
SHOWN_DIFFERENCES = 5
SHOWN_PLACE_CHARS = 120


class StructuralOptions(Options):
    main_may_be_mapping: ClassVar[bool] = True

    value: Json
    ignore_fields: tuple[str, ...] = ()
    ignore_values: tuple[str, ...] = ()
    require_keys: tuple[str, ...] = ()
    allow_additional_fields: bool = True
    allow_field_reordering: bool = True
    strict: bool = False

    @field_validator("value")
    @classmethod
    def _read(cls, value: Json) -> Json:
        """A known-good answer may have been kept as JSON text, as a command printed it."""
        check_placeholders(value)
        return read_json_text(value)

    @field_validator("ignore_fields", "ignore_values", "require_keys")
    @classmethod
    def _are_paths(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            read_path(path)
        return paths

    @property
    def refuses_additional_fields(self) -> bool:
        return self.strict or not self.allow_additional_fields

    @property
    def keeps_order(self) -> bool:
        return self.strict or not self.allow_field_reordering


class StructuralMatch(Grader):
    """The score is the share of the known-good answer's values that the answer has."""

    Options: ClassVar[type[Options]] = StructuralOptions
    options: StructuralOptions

    def digest(self) -> str:
        """Digests know no order of fields; here it may decide."""
        order = json.dumps(self.options.value) if self.options.keeps_order else ""
        return digest([super().digest(), order])

    async def grade(self, context: GradeContext) -> Grade:
        try:
            actual = self._read(context.output)
        except ValueError as problem:
            return not_json(context.output, problem)
        comparison = StructureComparison(self.options)
        try:
            comparison.compare_answers(self.options.value, actual)
        except RecursionError:
            raise Unscored("nested too deeply to be compared") from None
        return comparison.grade()

    def _read(self, output: Json) -> Json:
        """A text answer is JSON text, except where a text is what is expected."""
        wanted = self.options.value
        if not isinstance(wanted, str) or not isinstance(output, str):
            return parsed(output)
        if matches_placeholders(wanted, output):
            return output
        try:
            return parsed(output)
        except ValueError:
            return output

    def example(self) -> Example:
        value = fill_placeholders(self.options.value)
        return Example(whole="null" if value is None else value)


def read_json_text(value: Json) -> Json:
    """The mapping or list that a text holds; anything else stays as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return parsed(value)
        except ValueError:
            return value
    return value


@dataclass(slots=True)
class StructureComparison:
    """Counts the values compared and those that differ, and keeps the first differences in words.

    Every comparison returns the nearest value that would have passed: the answer's own, with what differs replaced. The
    difference of the two is what was found wrong, without additional fields and whatever else is allowed.

    Paths start at the body of an HTTP response; `body.…` and `headers.…` are understood too.
    """

    options: StructuralOptions
    compared: int = 0
    wrong: int = 0
    differences: list[str] = field(default_factory=list)
    compared_values: dict[str, Json] = field(default_factory=dict)
    """What to show as expected and actual; empty where the two do not show everything that is wrong."""
    _prefix: JsonPath = field(default=(), init=False)
    _free_fields: list[JsonPath] = field(default_factory=list, init=False)
    _free_values: list[JsonPath] = field(default_factory=list, init=False)
    _has_invisible: bool = field(default=False, init=False)

    def grade(self) -> Grade:
        if not self.wrong:
            return Grade.of(True)
        reason = "; ".join(self.differences[:SHOWN_DIFFERENCES])
        evidence = {"differences": self.differences, "compared": self.compared, "wrong": self.wrong}
        evidence |= self.compared_values
        return Grade.of(False, score=1 - self.wrong / self.compared, reason=reason, evidence=evidence)

    def compare_answers(self, expected: Json, actual: Json) -> None:
        """Where only one of the two is a whole HTTP response, its body is what the other is."""
        expects, has = expects_response(expected, actual), is_response(actual)
        self._free_fields = _patterns(self.options.ignore_fields, from_body=expects or has)
        self._free_values = _patterns(self.options.ignore_values, from_body=expects or has)
        nearest = actual
        if expects and has:
            nearest = self._compare_envelopes(expected, actual)
            self._prefix = ("body",)
        found = actual["body"] if has else actual
        for pattern in _patterns(self.options.require_keys, from_body=expects or has):
            is_missing = not is_there(read_json_text(found), pattern)
            self._count(not is_missing, pattern, "is missing")
            self._has_invisible |= is_missing
        if not expects or "body" in expected:
            wanted = expected["body"] if expects else expected
            found = found if isinstance(wanted, str) else read_json_text(found)
            body = self._compare(wanted, found, ())
            nearest = {**nearest, "body": body} if has else body
        if self.wrong and not self._has_invisible:
            self.compared_values = compared_values(nearest, {**actual, "body": found} if has else found)

    def _compare_envelopes(self, expected: dict[str, Json], actual: dict[str, Json]) -> dict[str, Json]:
        nearest = dict(actual)
        if "status" in expected:
            nearest["status"] = self._compare_values(expected["status"], actual["status"], ("status",))
        headers = dict(children(actual.get("headers")))
        received = {name.lower(): value for name, value in headers.items()}
        written = {name.lower(): name for name in headers}
        for name, value in children(expected.get("headers")):
            path = ("headers", name.lower())
            if self._listed(path, self._free_fields):
                continue
            if path[1] not in received:
                self._count(False, path, "is missing")
                headers[name] = value
            elif not self._listed(path, self._free_values):
                same = same_header(path[1], value, received[path[1]], strict=self.options.strict)
                self._count(same, path, f"is {named(received[path[1]])}, expected {named(value)}")
                if not same:
                    headers[written[path[1]]] = value
        if "headers" in expected:
            nearest["headers"] = headers
        for key in sorted(expected.keys() - PARTS):
            self._compare_field(expected, actual, key, (), nearest)
        return nearest

    def _compare(self, expected: Json, actual: Json, path: JsonPath) -> Json:
        if self._is_free(path):
            return actual
        if isinstance(expected, dict) and isinstance(actual, dict):
            return self._compare_mappings(expected, actual, path)
        if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
            return self._compare_lists(list(expected), list(actual), path)
        return self._compare_values(expected, actual, path)

    def _compare_values(self, expected: Json, actual: Json, path: JsonPath) -> Json:
        if has_matcher(expected):
            same = matches_placeholders(expected, actual)
        else:
            expected = literal(expected) if isinstance(expected, str) else expected
            looks_same = expected == actual and isinstance(expected, bool) == isinstance(actual, bool)
            same = looks_same and (type(expected) is type(actual) or not self.options.strict)
            self._has_invisible |= looks_same and not same
        self._count(same, path, f"is {named(actual)}, expected {named(expected)}", _leaves(expected))
        return actual if same else expected

    def _compare_mappings(self, expected: dict[str, Json], actual: dict[str, Json], path: JsonPath) -> Json:
        expected, actual = dict(children(expected)), dict(children(actual))
        nearest = dict(actual)
        if not expected:
            self.compared += 1
        for key in expected:
            self._compare_field(expected, actual, key, path, nearest)
        if self.options.refuses_additional_fields:
            for key in actual:
                if key not in expected and not self._is_free((*path, key)):
                    self._count(False, (*path, key), "is not expected")
                    del nearest[key]
        if self.options.keeps_order:
            kept = {key for key in expected if key in actual and not self._listed((*path, key), self._free_fields)}
            if [key for key in expected if key in kept] != [key for key in actual if key in kept]:
                self._count(False, path, "has its fields in a different order")
                self._has_invisible = True
        return nearest

    def _compare_field(
        self, expected: dict[str, Json], actual: dict[str, Json], key: str, path: JsonPath, nearest: dict[str, Json]
    ) -> None:
        below = (*path, key)
        if key in actual:
            nearest[key] = self._compare(expected[key], actual[key], below)
        elif not self._listed(below, self._free_fields):
            self._count(False, below, "is missing", _leaves(expected[key]))
            nearest[key] = expected[key]

    def _compare_lists(self, expected: list[Json], actual: list[Json], path: JsonPath) -> Json:
        """One element that holds a placeholder is the template of them all, however many there are."""
        if len(expected) == 1 and holds_placeholder(expected[0]):
            expected = expected * len(actual)
        if not expected:
            self.compared += 1
        pairs = enumerate(zip(expected, actual, strict=False))
        nearest = [self._compare(one, other, (*path, str(position))) for position, (one, other) in pairs]
        longer = expected if len(expected) > len(actual) else actual
        rest = [i for i in range(min(len(expected), len(actual)), len(longer)) if not self._is_free((*path, str(i)))]
        if rest:
            lacking = sum(_leaves(expected[i]) if longer is expected else 1 for i in rest)
            self._count(False, path, f"has {len(actual)} elements, expected {len(expected)}", lacking)
        # What is free keeps its place: up to the last element that is missing, or to the first that is not expected.
        end = len(actual) if not rest else rest[-1] + 1 if longer is expected else rest[0]
        return [*nearest, *longer[len(nearest) : end]]

    def _is_free(self, path: JsonPath) -> bool:
        return self._listed(path, self._free_fields) or self._listed(path, self._free_values)

    def _listed(self, path: JsonPath, patterns: list[JsonPath]) -> bool:
        return any(fits(pattern, path) for pattern in patterns)

    def _count(self, same: bool, path: JsonPath, difference: str, leaves: int = 1) -> None:
        self.compared += leaves
        if same:
            return
        self.wrong += leaves
        place = shown(".".join((*self._prefix, *path)), SHOWN_PLACE_CHARS)[1:-1] or "the answer"
        text = f"{place} {difference}"
        if text not in self.differences and len(self.differences) < KEPT_DIFFERENCES:
            self.differences.append(text)


def _patterns(written: Iterable[str], *, from_body: bool) -> list[JsonPath]:
    paths = [read_path(text) for text in written]
    return [path[1:] if from_body and path[0] == "body" and len(path) > 1 else path for path in paths]


def _leaves(value: Json) -> int:
    """How many values there are to compare; an empty mapping or list is one."""
    return sum(_leaves(child) for _, child in children(value)) or 1


# Known-good HTTP responses: of which parts they speak, and which headers say the same.

PARTS = frozenset(("status", "headers", "body"))


def expects_response(value: Json, actual: Json) -> TypeGuard[dict[str, Json]]:
    """Whether a known-good answer is a response; of a response, it may name some parts only."""
    if is_response(value) or not isinstance(value, dict):
        return is_response(value)
    return is_response(actual) and value.keys() <= PARTS and ("body" in value or has_http_status(value))


def same_header(name: str, expected: Json, actual: Json, *, strict: bool) -> bool:
    """`application/json` and `application/json; charset=utf-8` are the same type of content, unless strict."""
    wanted, received = as_text(expected), as_text(actual)
    if name == "content-type" and not strict and not has_matcher(wanted):
        return _media_type(literal(wanted)) == _media_type(received)
    return matches_text(wanted.strip(), received.strip())


def _media_type(text: str) -> str:
    return text.partition(";")[0].strip().lower()
