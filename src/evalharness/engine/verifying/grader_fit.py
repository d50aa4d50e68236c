"""Whether the graders of a case fit what is expected of its answer: findings, by looking alone. Nothing is graded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from evalharness import registry
from evalharness.domain.case import Case
from evalharness.domain.finding import Finding, finding
from evalharness.domain.specification import GraderSpec
from evalharness.values.json_value import Json
from evalharness.values.pattern import compile_pattern

LONG_WORDS = 8
"""From so many words on, hardly two right answers are worded alike."""
SHORT_WORDS, SHORT_TEXT = 3, 40
SHORT_LETTERS = 3
"""Words this short are found inside of others: `no` in `know`. Names, in capitals, hardly are."""
SEARCH_S = 0.05
UNRELATED = ("", "zq 7 ~", "Nothing of the kind.\n\n…")
"""A pattern that is found in each of these is found everywhere."""
LIMITS = frozenset(("latency", "cost", "tokens", "max_length", "max_rounds", "size_class"))
"""What any quick, cheap or short answer passes."""
TEXT_GRADERS = frozenset(
    ("exact", "contains", "not_contains", "starts_with", "ends_with", "includes", "regex", "similarity")
)
"""What looks at code as if it were text."""
CODE_WORDS = frozenset(("code_generation", "code-generation", "codegen", "coding"))
_CODE = re.compile(
    r"^\s*(def \w+\(|class \w+[(:]|import \w|from \w+ import |function \w*\(|const \w+ =|#include|fn \w+\()"
    r"|^\s*SELECT .+ FROM ",
    re.MULTILINE,
)
_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")


@dataclass(frozen=True, slots=True)
class Part:
    """One grader, whether it stands alone or inside of another."""

    kind: str
    type: str
    """`code`, `model` or `human`."""
    options: Mapping[str, Any]
    """By name, with those that were not given."""


def grader_findings(case: Case, specs: Sequence[GraderSpec]) -> Iterator[Finding]:
    """Each kind of finding once, the most serious first."""
    parts = [part for spec in specs for part in _parts(spec)]
    if not specs:
        yield finding("choice.no_grader", "warning")
        return
    if parts and all(part.kind in LIMITS for part in parts):
        yield finding("choice.only_limits", "warning")
    found = [each for part in parts for each in _part_findings(part, case)]
    yield from dict.fromkeys([*found, *_case_findings(case, parts)])


def _parts(spec: GraderSpec) -> Iterator[Part]:
    """What a `not` contains is judged the other way round, so nothing is said of it."""
    grader = registry.load("grader", spec.kind)
    try:
        options = registry.parse_options("grader", spec)
    except ValidationError:  # a variable stands where a value will be
        return
    if options.parts and spec.kind != "not":
        for inner in options.parts:
            yield from _parts(inner)
    else:
        yield Part(spec.kind, grader.type, dict(options))


def _part_findings(part: Part, case: Case) -> Iterator[Finding]:
    if part.kind == "exact":
        yield from _exact(str(part.options["value"]))
    elif part.kind == "contains":
        yield from _contains(part.options["value"])
    elif part.kind == "regex":
        yield from _regex(part)
    elif part.kind in ("model", "human"):
        yield from _opinion(part, case)


def _exact(value: str) -> Iterator[Finding]:
    if _is_json_document(value):
        yield finding("choice.exact_json", "warning")
    elif _is_code(value):
        yield finding("choice.code_as_text", "warning")
    elif len(value.split()) >= LONG_WORDS:
        yield finding("choice.exact_long", "warning", words=LONG_WORDS)
    elif _NUMBER.fullmatch(value.strip()) and not value.strip().lstrip("+-").isdigit():
        yield finding("choice.exact_decimal")


def _contains(values: Sequence[str]) -> Iterator[Finding]:
    if any(_NUMBER.fullmatch(value.strip()) for value in values):
        yield finding("choice.contains_number", "warning")
    if any(value.isalpha() and value.islower() and len(value) <= SHORT_LETTERS for value in values):
        yield finding("choice.contains_short", "warning")
    if any(map(_is_code, values)):
        yield finding("choice.code_as_text", "warning")


def _regex(part: Part) -> Iterator[Finding]:
    flags = {"multiline": re.MULTILINE, "ignorecase": re.IGNORECASE, "dotall": re.DOTALL}
    compiled = compile_pattern(part.options["pattern"], sum(flags[name] for name in part.options["flags"]))
    try:
        is_found = [compiled.search(text, timeout=SEARCH_S) is not None for text in UNRELATED]
    except TimeoutError:
        return
    if all(is_found):
        yield finding("choice.regex_any" if part.options["must_match"] else "choice.regex_none", "warning")


def _opinion(part: Part, case: Case) -> Iterator[Finding]:
    """A judge's or a person's."""
    has_rubric = any(part.options.get(name) for name in ("rubric", "criteria", "prompt"))
    known = part.options["expected"] if part.options["expected"] is not None else case.reference
    if part.kind == "model" and not has_rubric and known is None and not part.options["must_include"]:
        yield finding("choice.judge_no_rubric", "warning")
    if case.code_check is not None and case.code_check.kind in ("exact", "numeric"):
        known = case.code_check.options if known is None else known
    if not has_rubric and _is_short_value(known):
        yield finding("choice.judge_for_value" if part.type == "model" else "choice.person_for_value")


def _case_findings(case: Case, parts: Sequence[Part]) -> Iterator[Finding]:
    words = {word.lower() for word in (case.category, *case.tags)}
    types = {part.type for part in parts if part.kind not in LIMITS}
    if words & CODE_WORDS and parts and all(part.kind in TEXT_GRADERS | LIMITS for part in parts):
        yield finding("choice.code_as_text", "warning")
    if (case.criticality == "critical" or "safety" in words) and types == {"model"}:
        yield finding("choice.critical_alone", "warning")
    if "creative" in words and types and "human" not in types:
        yield finding("choice.creative")


def _is_json_document(value: str) -> bool:
    if not value.strip().startswith(("{", "[")):
        return False
    try:
        return isinstance(json.loads(value), dict | list)
    except ValueError:
        return False


def _is_code(value: str) -> bool:
    return _CODE.search(value) is not None


def _is_short_value(value: Json) -> bool:
    """Whether it is a number, true or false, or a word or two."""
    if isinstance(value, dict):
        value = value.get("value")
    if isinstance(value, str):
        return bool(value.strip()) and len(value) <= SHORT_TEXT and len(value.split()) < SHORT_WORDS
    return isinstance(value, bool | int | float)
