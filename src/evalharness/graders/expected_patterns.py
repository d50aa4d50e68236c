"""expected_patterns: the pattern list of task suites: `regex:…`, `contains:…`, `not_contains:…`, or a bare text.

Case is ignored throughout. All patterns must match; the score is the share that does. Without patterns an answer of
more than 10 characters passes, counted as JavaScript counts them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, field_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.example import Example, merge_examples
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.errors import UsageError
from evalharness.graders.javascript_patterns import code_units, compile_javascript, from_code_units
from evalharness.graders.pattern_examples import example_of
from evalharness.graders.patterns import IN_PLACE_S, search_slowly, search_within_limit
from evalharness.values.text import head

MORE_THAN = 10
MAX_REASON = 1000
REGEX, CONTAINS, NOT_CONTAINS = "regex:", "contains:", "not_contains:"


@dataclass(frozen=True, slots=True)
class PatternCheck:
    """One verdict, in the words of task suites."""

    check: str
    passed: bool
    expected: str
    actual: str


def check_patterns(output: str, patterns: Sequence[str]) -> list[PatternCheck]:
    """Every pattern against the output, in order.

    Raises UsageError for a pattern that is no regular expression, Unscored for one that takes longer than a second.
    """
    units = code_units(output)
    matched = {
        pattern: search_slowly(compiled, units, pattern.removeprefix(REGEX)) is not None
        for pattern, compiled in compiled_patterns(patterns).items()
    }
    return _checks(output, patterns, matched)


def compiled_patterns(patterns: Sequence[str]) -> dict[str, Any]:
    """The `regex:…` patterns among them, by their own text; raises UsageError naming one that is none."""
    return {pattern: _compiled(pattern) for pattern in patterns if pattern.startswith(REGEX)}


def _compiled(pattern: str) -> Any:
    try:
        return compile_javascript(pattern.removeprefix(REGEX))
    except ValueError as error:
        raise UsageError(f"'{pattern}' is not a regular expression: {error}") from None


def utf16_length(text: str) -> int:
    """The length of a text as JavaScript counts it."""
    return len(text) + sum(letter > "\uffff" for letter in text)


def _checks(output: str, patterns: Sequence[str], matched: Mapping[str, bool]) -> list[PatternCheck]:
    """`matched` says which of the regular expressions were found."""
    if not patterns:
        length = utf16_length(output)
        expected, actual = f"more than {MORE_THAN} characters", f"{length} character{'' if length == 1 else 's'}"
        return [PatternCheck("response_length", length > MORE_THAN, expected, actual)]
    lowered = output.lower()
    checks = []
    for pattern in patterns:
        if pattern.startswith(REGEX):
            passed = matched[pattern]
            actual = "matched" if passed else "no match"
        elif pattern.startswith(NOT_CONTAINS):
            needle = pattern.removeprefix(NOT_CONTAINS).lower()
            passed = needle not in lowered
            actual = "correctly absent" if passed else f"found forbidden: {needle}"
        else:
            passed = pattern.removeprefix(CONTAINS).lower() in lowered
            actual = "found" if passed else "not found"
        checks.append(PatternCheck(pattern, passed, pattern, actual))
    return checks


def _compiles(pattern: str) -> str:
    try:
        compiled_patterns([pattern])
    except UsageError as error:
        raise ValueError(error.message) from None
    return pattern


class ExpectedPatternsOptions(Options):
    """`patterns` may be a single one, or left out."""

    main: ClassVar[str] = "patterns"

    patterns: tuple[Annotated[str, AfterValidator(_compiles)], ...] = ()

    @field_validator("patterns", mode="before")
    @classmethod
    def _as_list(cls, written: Any) -> Any:
        if isinstance(written, str):
            return (written,)
        return () if written is None else written


class ExpectedPatterns(Grader):
    """Every pattern matches; the score is the share that does."""

    Options: ClassVar[type[Options]] = ExpectedPatternsOptions
    options: ExpectedPatternsOptions

    @cached_property
    def _expressions(self) -> dict[str, Any]:
        return compiled_patterns(self.options.patterns)

    async def grade(self, context: GradeContext) -> Grade:
        text = context.text
        units = code_units(text) if self._expressions else ""
        matched = {}
        for pattern, compiled in self._expressions.items():
            found = await search_within_limit(compiled, units, pattern.removeprefix(REGEX), self.services.in_thread)
            matched[pattern] = found is not None
        return grade_of(_checks(text, self.options.patterns, matched))

    def example(self) -> Example | None:
        """None where a regular expression could not be spelled out, or what spells it displeases another pattern."""
        if not self.options.patterns:
            return Example(holds=("x" * (MORE_THAN + 1),))
        example = merge_examples(self._example_of(pattern) for pattern in self.options.patterns)
        if example is None or not self._expressions:
            return example
        text = str(example.output or "")
        try:
            matched = {
                pattern: compiled.search(code_units(text), timeout=IN_PLACE_S) is not None
                for pattern, compiled in self._expressions.items()
            }
        except TimeoutError:
            return None
        return example if all(check.passed for check in _checks(text, self.options.patterns, matched)) else None

    def _example_of(self, pattern: str) -> Example | None:
        if pattern in self._expressions:
            example = example_of(self._expressions[pattern])
            return None if example is None else _readable(example)
        if pattern.startswith(NOT_CONTAINS):
            return Example()
        needle = pattern.removeprefix(CONTAINS)
        return Example(holds=(needle,)) if needle else Example()


def grade_of(checks: Sequence[PatternCheck]) -> Grade:
    """All must pass; the score is the share that does."""
    missed = [check for check in checks if not check.passed]
    return Grade.of(
        not missed,
        score=1 - len(missed) / len(checks),
        reason=head("; ".join(f"{check.expected}: {check.actual}" for check in missed), MAX_REASON),
        evidence=[asdict(check) for check in checks],
    )


def _readable(example: Example) -> Example:
    """An example of code units, as the texts that have them."""
    whole = from_code_units(example.whole) if isinstance(example.whole, str) else example.whole
    starts, holds, ends = (tuple(map(from_code_units, each)) for each in (example.starts, example.holds, example.ends))
    return replace(example, whole=whole, starts=starts, holds=holds, ends=ends)
