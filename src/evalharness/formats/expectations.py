"""What an answer is compared with: `expected` in all its spellings, and the grader that does the comparing.

A comparison follows `expected.type` unless a kind of grader is asked for. How a grader is asked for is read in
`written_graders.py`; where the expectation is a baseline, `regressions.py` says what is expected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalharness.domain.record import Json
from evalharness.domain.specification import GraderSpec
from evalharness.formats.checking import kind_of, read_spec
from evalharness.formats.evals import WrittenEval

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
    """None where nothing is expected, or where it is wrong: then that has been told, or the case itself refuses it."""
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
    if not isinstance(type_, str):
        written.add((key, "type"), f"must be text, not {kind_of(type_)}", allowed=", ".join(DOCUMENTED_TYPES))
        return None
    if alternatives is not None and not isinstance(alternatives, list):
        written.add((key, "alternatives"), f"must be a list, not {kind_of(alternatives)}")
        return None
    return Expected(
        type_,
        (*((value["value"],) if "value" in value else ()), *(alternatives or ())),
        options=_without(value, ("type", "value", "alternatives", *SHARED)),
        shared={name: value[name] for name in SHARED if name in value},
    )


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
    return Expected(spec.kind, (spec.options,), shared=shared)


def comparison(expected: Expected, kind: str = "", options: Mapping[str, Json] | None = None) -> dict[str, Any]:
    """The grader that compares with what is expected, or with one of its alternatives."""
    kind = kind or expected.kind
    if kind in JUDGES:
        return {"kind": kind, "options": {**_told(expected), **(options or {})}, **expected.shared}
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
        wanted = value if isinstance(value, Mapping) else {MUST[0]: value if isinstance(value, list) else [value]}
        return {"kind": kind, "options": {**wanted, **options}}
    if kind == "regex" and "pattern" in options:
        return {"kind": kind, "options": options}
    return {"kind": kind, "options": {"value": value, **options}}


def _told(expected: Expected) -> dict[str, Json]:
    """What a judge or a person is told about a good answer."""
    if len(expected.values) != 1:
        return {"expected": {"any_of": list(expected.values)}} if expected.values else {}
    [value] = expected.values
    return dict(value) if isinstance(value, Mapping) and value and set(value) <= set(MUST) else {"expected": value}


def _lists_texts(value: Json) -> bool:
    return isinstance(value, list) or (isinstance(value, Mapping) and any(key in value for key in MUST))


def _without(options: Mapping[str, Json], names: tuple[str, ...]) -> dict[str, Json]:
    return {key: value for key, value in options.items() if key not in names}
