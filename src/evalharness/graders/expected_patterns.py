"""expected_patterns: the pattern list of task suites: `regex:…`, `contains:…`, `not_contains:…`, or a bare text.

Case is ignored throughout. All patterns must match; the score is the share that does. Without patterns an answer of
more than 10 characters passes, counted as JavaScript counts them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import regex
from pydantic import AfterValidator, field_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.example import Example, merge_examples
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.errors import UsageError
from evalharness.graders.pattern_examples import example_of
from evalharness.graders.patterns import IN_PLACE_S, search, search_slowly
from evalharness.values.pattern import compile_pattern
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
    matched = {
        pattern: search_slowly(compiled, output, pattern.removeprefix(REGEX)) is not None
        for pattern, compiled in compiled_patterns(patterns).items()
    }
    return _checks(output, patterns, matched)


def compiled_patterns(patterns: Sequence[str]) -> dict[str, Any]:
    """The `regex:…` patterns among them, by their own text; raises UsageError naming one that is none."""
    return {pattern: _compiled(pattern) for pattern in patterns if pattern.startswith(REGEX)}


def _compiled(pattern: str) -> Any:
    try:
        return compile_pattern(from_javascript(pattern.removeprefix(REGEX)), regex.IGNORECASE)
    except UsageError as error:
        problem = error.message
    except ValueError as error:
        problem = str(error)
    raise UsageError(f"'{pattern}' is not a regular expression: {problem}")


def utf16_length(text: str) -> int:
    """The length of a text as JavaScript counts it."""
    return len(text) + sum(letter > "\uffff" for letter in text)


def _checks(output: str, patterns: Sequence[str], matched: Mapping[str, bool]) -> list[PatternCheck]:
    """`matched` says which of the regular expressions were found."""
    if not patterns:
        length = utf16_length(output)
        expected, actual = f"more than {MORE_THAN} characters", f"{length} characters"
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
        matched = {}
        for pattern, compiled in self._expressions.items():
            found = await search(compiled, text, pattern.removeprefix(REGEX), self.services.in_thread)
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
                pattern: compiled.search(text, timeout=IN_PLACE_S) is not None
                for pattern, compiled in self._expressions.items()
            }
        except TimeoutError:
            return None
        return example if all(check.passed for check in _checks(text, self.options.patterns, matched)) else None

    def _example_of(self, pattern: str) -> Example | None:
        if pattern in self._expressions:
            return example_of(self._expressions[pattern])
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


# Regular expressions written for JavaScript, in the words of the `regex` package, which are mostly Python's.
#
# They are read as JavaScript reads them without its flags `u`, `v`, `m` and `s`: `$` is the very end, `.` stops at four
# line ends, `\d \w \b` are ASCII, an escape without a meaning is the letter itself, `{` is a letter where it counts
# nothing, a group that took no part matches the empty text. One thing stays Python's: a character outside the basic
# plane is one character, not two.

_TOKEN = re.compile(
    r"""
      \\ (?: x[0-9A-Fa-f]{2} | u[0-9A-Fa-f]{4} | c[A-Za-z] | k<\w+> | [1-9][0-9]* | . )
    | \[ (?: \\. | [^\]\\] )* \]?
    | \(\? (?: [:=!] | <[=!] | -?i: | <[A-Za-z_]\w*> )?
    | (?: [*+?] | \{ [0-9]+ (?: , [0-9]* )? \} ) \??
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_QUANTIFIER = re.compile(r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??")
_NAMED_GROUP = re.compile(r"\(\?<(\w+)>")
_CHARACTER_CLASS = re.compile(r"\[\^?(?:\\.|[^\]\\])*\]", re.DOTALL)
_CLASS_ATOM = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|c[A-Za-z]|.)|.", re.DOTALL)

_SETS = {
    r"\d": "0-9",
    r"\D": r"\x00-/:-\U0010ffff",
    r"\w": "0-9A-Za-z_",
    # Without the long s and the sign for kelvin: where case is ignored they would bring s and k with them.
    r"\W": r"\x00-/:-@\[-\^`{-\u017e\u0180-\u2129\u212b-\U0010ffff",
    r"\s": r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
    r"\S": r"\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff"
    r"\u3001-\ufefe\uff00-\U0010ffff",
}
_WORD = "[0-9A-Za-z_]"
_MEANINGS = {
    "$": r"\Z",
    ".": r"[^\n\r\u2028\u2029]",
    r"\b": f"(?:(?<!{_WORD})(?={_WORD})|(?<={_WORD})(?!{_WORD}))",
    r"\B": f"(?:(?<!{_WORD})(?!{_WORD})|(?<={_WORD})(?={_WORD}))",
    **{escape: f"[{members}]" for escape, members in _SETS.items()},
    **{token: token for token in ("^", "|", "(", ")", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?i:", "(?-i:")},
}


def from_javascript(pattern: str) -> str:
    """The same pattern for the `regex` package; raises UsageError for what JavaScript would not take either."""
    tokens = _TOKEN.findall(pattern)
    names = [found[1] for token in tokens if (found := _NAMED_GROUP.fullmatch(token))]
    group_count = tokens.count("(") + len(names)
    translated = []
    repeats = False
    for token in tokens:
        repeated, repeats = repeats, _QUANTIFIER.fullmatch(token) is not None
        if repeats and repeated:
            raise UsageError(f"nothing to repeat before {token}")
        translated.append(token if repeats else _translated(token, group_count, names))
    return "".join(translated)


def _translated(token: str, group_count: int, names: list[str]) -> str:
    if token in _MEANINGS:
        return _MEANINGS[token]
    if token.startswith("["):
        return _character_class(token)
    if token.startswith("(?"):
        if not _NAMED_GROUP.fullmatch(token):
            raise UsageError("( is followed by a ? that JavaScript does not know")
        return token.replace("<", "P<")
    if token.startswith(r"\k<") and names:
        name = token[3:-1]
        if name not in names:
            raise UsageError(f"there is no group {name}")
        return f"(?({name})(?P={name})|)"
    if re.fullmatch(r"\\[1-9][0-9]*", token):
        number = int(token[1:]) if len(token) < 5 else group_count + 1
        if number > group_count:
            raise UsageError(f"there is no group {token[1:]}")
        return f"(?({number})\\{number}|)"
    return _character(token)


def _character_class(token: str) -> str:
    if not _CHARACTER_CLASS.fullmatch(token):
        raise UsageError("[ is never closed")
    negated = token.startswith("[^")
    atoms = _CLASS_ATOM.findall(token[2 if negated else 1 : -1])
    if not atoms:
        return r"[\x00-\U0010ffff]" if negated else "(?!)"
    members = [
        _SETS[atom] if atom in _SETS else r"\x08" if atom == r"\b" else "-" if atom == "-" else _character(atom)
        for atom in atoms
    ]
    for position, atom in enumerate(atoms):
        # Beside a set, as in [\w-.], a hyphen makes no range.
        if atom == "-" and not _SETS.keys().isdisjoint(atoms[max(position - 1, 0) : position + 2]):
            members[position] = r"\-"
    return f"[{'^' if negated else ''}{''.join(members)}]"


def _character(token: str) -> str:
    """One character, written as itself or as an escape."""
    if not token.startswith("\\"):
        return re.escape(token)
    if token == "\\":
        raise UsageError("it ends in a backslash")
    letter = token[1]
    if letter in "tnvfr" or (letter in "xu" and len(token) > 2):
        return token
    if letter == "0":
        return r"\x00"
    if letter == "c":
        return f"\\x{ord(token[2]) % 32:02x}" if len(token) > 2 else r"\\c"
    return re.escape(token[1:])
