"""What an answer is compared with: `expected` in all its spellings, and the grader that does the comparing.

A comparison follows `expected.type` unless a kind of grader is asked for. How a grader is asked for is read in
`written_graders.py`; where the expectation is a baseline, `regression_evals.py` says what is expected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evalharness import registry
from evalharness.domain.problem import FieldPath
from evalharness.domain.specification import GraderSpec
from evalharness.errors import closest
from evalharness.formats.native.written_evals import WrittenEval
from evalharness.formats.parts import is_grader, kind_of, known_options, read_spec
from evalharness.values.json_value import Json

KINDS = {
    "pattern": "regex",
    "exact_match": "exact",
    "functional": "function_output",
    "structural": "structural_match",
    "semantic": "includes",
}
"""Names of the documents → names of graders, where they differ."""
DOCUMENTED_TYPES = ("exact", "contains", "pattern", "semantic", "functional")
SHARED = ("required", "weight", "name")
JUDGES = ("model", "human")
MUST = ("must_include", "must_not_include")
TEXT_OPTIONS = ("case_sensitive", "trim_whitespace", "normalize_newlines")


@dataclass(frozen=True, slots=True)
class Expected:
    """`type` is one of the documents' or the name of a grader; `options` are that grader's. `values` are any of."""

    type: str
    values: tuple[Json, ...]
    options: Mapping[str, Json] = field(default_factory=dict)
    shared: Mapping[str, Json] = field(default_factory=dict)
    decides: bool = False
    """Whether it also settles how it is compared, so that a `method` beside it only adds options."""

    @property
    def kind(self) -> str:
        """Meaning is compared by code where the texts to look for are listed, else by a judge."""
        if self.type == "semantic" and not (self.values and all(map(_lists_texts, self.values))):
            return "model"
        return KINDS.get(self.type, self.type)


def read_expected(written: WrittenEval, key: str) -> Expected | None:
    """None where nothing is expected, or where it is wrong: then that has been reported, or the case itself refuses
    it."""
    value = written.fields.get(key)
    if isinstance(value, str | int | float):
        return Expected("exact", (value,))
    if isinstance(value, list) and written.fields.get("grader") is not None:
        return Expected("exact", (value,))
    if not isinstance(value, Mapping):
        return None
    if is_native_form(value):
        return _native(value)
    type_, alternatives = value.get("type", "exact"), value.get("alternatives")
    if not _is_known_type(written, key, type_):
        return None
    if alternatives is not None and not isinstance(alternatives, list):
        written.add((key, "alternatives"), f"must be a list, not {kind_of(alternatives)}")
        return None
    expected = Expected(
        type_,
        (*((value["value"],) if "value" in value else ()), *(alternatives or ())),
        options=_without(value, ("type", "value", "alternatives", *SHARED)),
        shared={name: value[name] for name in SHARED if name in value},
    )
    if type_ == "semantic" and not _says_what_it_means(written, key, expected):
        return None
    part: tuple[registry.Noun, str] = ("grader", expected.kind)
    known = known_options(written.findings, written.at(key), part, expected.options, written.severity)
    return replace(expected, options=known)


def _is_known_type(written: WrittenEval, key: str, type_: Any) -> bool:
    """One of the documents', or the name of a grader."""
    if not isinstance(type_, str):
        written.add((key, "type"), f"must be text, not {kind_of(type_)}", allowed=", ".join(DOCUMENTED_TYPES))
        return False
    if type_ in DOCUMENTED_TYPES or type_ in KINDS or is_grader(type_):
        return True
    meant = closest(type_, DOCUMENTED_TYPES) or closest(type_, registry.names("grader")) or ""
    allowed = f"{', '.join(DOCUMENTED_TYPES)}, or a grader"
    written.add((key, "type"), f"unknown type '{type_}'", allowed=allowed, suggestion=meant)
    return False


def _says_what_it_means(written: WrittenEval, key: str, expected: Expected) -> bool:
    """A mapping lists texts to look for; only one that is meant for a judge may hold anything else."""
    grader = written.fields.get("grader")
    by_code = grader in (None, "code") or (isinstance(grader, Mapping) and grader.get("type") == "code")
    is_sound = True
    for place, value in zip(_value_places(written.fields[key]), expected.values, strict=True):
        if not isinstance(value, Mapping) or not (by_code or _lists_texts(value)):
            continue
        written.findings.unknown_keys(written.at(key, *place), value, MUST, written.severity)
        if not _lists_texts(value):
            written.add((key, *place), f"lists no texts to look for: add {' or '.join(MUST)}")
            is_sound = False
    return is_sound


def _value_places(value: Mapping[str, Json]) -> list[FieldPath]:
    """Where the values of an expectation stand, in their order."""
    own: list[FieldPath] = [("value",)] if "value" in value else []
    return [*own, *(("alternatives", position) for position in range(len(value.get("alternatives") or ())))]


def is_native_form(value: Mapping[str, Json]) -> bool:
    """`{contains: Ada}` or another grader's own form."""
    return {"type", "value"}.isdisjoint(value)


def _native(value: Mapping[str, Json]) -> Expected | None:
    spec = read_spec(GraderSpec, value)
    if spec is None:
        return None
    shared = {name: getattr(spec, name) for name in SHARED}
    if isinstance(spec.options, Mapping) and "value" in spec.options:
        return Expected(spec.kind, (spec.options["value"],), _without(spec.options, ("value",)), shared)
    if isinstance(spec.options, Mapping) and is_grader(spec.kind):
        options = registry.load("grader", spec.kind).Options
        if options.main_may_be_mapping and options.are_named(spec.options):
            return Expected(spec.kind, (), spec.options, shared)
    return Expected(spec.kind, (spec.options,), shared=shared)


def comparison(expected: Expected, kind: str = "", options: Mapping[str, Json] | None = None) -> dict[str, Any]:
    """The grader that compares with what is expected, or with one of its alternatives."""
    kind = kind or expected.kind
    if kind in JUDGES:
        own = expected.options if expected.kind == kind else {}
        return {"kind": kind, "options": {**_judge_fields(expected), **own, **(options or {})}, **expected.shared}
    options = {**expected.options, **(options or {})}
    specs = [_comparison(kind, value, options) for value in expected.values]
    if not specs:
        return {"kind": kind, "options": options, **expected.shared}
    return {**(specs[0] if len(specs) == 1 else {"kind": "any_of", "options": specs}), **expected.shared}


def _comparison(kind: str, value: Json, options: dict[str, Json]) -> dict[str, Any]:
    if kind == "exact" and not isinstance(value, str | int | float):
        return {"kind": "json_equals", "options": {"value": value, **_without(options, TEXT_OPTIONS)}}
    if kind == "function_output":
        rows = value.get("test_cases") if isinstance(value, Mapping) else value
        return {"kind": kind, "options": {"test_cases": rows, **options}}
    if kind == "includes":
        listed = value if isinstance(value, list) else [value]
        wanted = {k: value[k] for k in MUST if k in value} if isinstance(value, Mapping) else {MUST[0]: listed}
        return {"kind": kind, "options": {**wanted, **options}}
    if kind == "regex" and "pattern" in options:
        return {"kind": kind, "options": options}
    return {"kind": kind, "options": {"value": value, **options}}


def _judge_fields(expected: Expected) -> dict[str, Json]:
    """What a judge or a person learns about a good answer."""
    if len(expected.values) != 1:
        return {"expected": {"any_of": list(expected.values)}} if expected.values else {}
    [value] = expected.values
    return dict(value) if isinstance(value, Mapping) and value and set(value) <= set(MUST) else {"expected": value}


def _lists_texts(value: Json) -> bool:
    return isinstance(value, list) or (isinstance(value, Mapping) and any(key in value for key in MUST))


def _without(options: Mapping[str, Json], names: tuple[str, ...]) -> dict[str, Json]:
    return {key: value for key, value in options.items() if key not in names}
