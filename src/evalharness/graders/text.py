"""Graders that compare the answer's text: exact, (not_)contains, starts_with, ends_with, max_length, includes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator, model_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.case import as_text
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options, Whole
from evalharness.values.json_value import Json
from evalharness.values.text import around_difference, head, shown, tail

SHOWN = TAIL = 80
BESIDE = 40
"""How many characters more than the expected text has are kept of an answer that begins or ends otherwise."""
LONGEST_COMPARED = 2000


def compared(expected: str, actual: str) -> Json:
    """The evidence of a comparison that failed."""
    one, other = around_difference(expected, actual, LONGEST_COMPARED)
    return {"expected": one, "actual": other}


def _scalar_as_text(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, bool | int | float) else value


class TextOptions(Options):
    """`value` may be a number or true/false: it stands for its JSON text."""

    value: str
    case_sensitive: bool = True

    @field_validator("value", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return _scalar_as_text(value)

    def folded(self, text: str) -> str:
        return text if self.case_sensitive else text.casefold()


class ExactOptions(TextOptions):
    """Without regard to case, `ß` is not `ss`: the document compares lower-case texts."""

    trim_whitespace: bool = True
    normalize_newlines: bool = True

    def folded(self, text: str) -> str:
        if self.trim_whitespace:
            text = text.strip()
        if self.normalize_newlines and "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        return text if self.case_sensitive else text.lower()


class Exact(Grader):
    """The answer is this text (white space around it is ignored unless `trim_whitespace` is false)."""

    Options: ClassVar[type[Options]] = ExactOptions
    only_reads: ClassVar[bool] = True
    options: ExactOptions

    async def grade(self, context: GradeContext) -> Grade:
        options = self.options
        text = context.text
        if options.folded(text) == options.folded(options.value):
            return Grade.of(True)
        expected, actual = around_difference(options.value, text, SHOWN)
        reason = f"expected {shown(expected, SHOWN + 2)}, got {shown(actual, SHOWN + 2)}"
        return Grade.of(False, reason=reason, evidence=compared(options.value, text))

    def example(self) -> Example:
        return Example(whole=self.options.value)


class ManyTextsOptions(Options):
    """`value` is one text or a list of them."""

    value: tuple[str, ...]
    case_sensitive: bool = True

    @field_validator("value", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        items = value if isinstance(value, list | tuple) else [value]
        if not items:
            raise ValueError("is empty; list at least one text")
        return tuple(_scalar_as_text(item) for item in items)

    def found_in(self, text: str) -> list[str]:
        if self.case_sensitive:
            return [item for item in self.value if item in text]
        folded = text.casefold()
        return [item for item in self.value if item.casefold() in folded]


class Contains(Grader):
    """The answer holds this text, or all of these texts; the score is the share found."""

    Options: ClassVar[type[Options]] = ManyTextsOptions
    only_reads: ClassVar[bool] = True
    options: ManyTextsOptions

    async def grade(self, context: GradeContext) -> Grade:
        wanted = self.options.value
        text = context.text
        found = self.options.found_in(text)
        if len(found) == len(wanted):
            return Grade.of(True)
        missing = [item for item in wanted if item not in found]
        listed = ", ".join(shown(item) for item in missing)
        return Grade.of(
            False,
            score=len(found) / len(wanted),
            reason=f"{listed} not in {shown(text)}",
            evidence={"missing": missing},
        )

    def example(self) -> Example:
        return Example(holds=self.options.value)


class NotContains(Grader):
    """The answer holds none of these texts."""

    Options: ClassVar[type[Options]] = ManyTextsOptions
    only_reads: ClassVar[bool] = True
    options: ManyTextsOptions

    async def grade(self, context: GradeContext) -> Grade:
        text = context.text
        found = self.options.found_in(text)
        if not found:
            return Grade.of(True)
        listed = ", ".join(shown(item) for item in found)
        return Grade.of(False, reason=f"forbidden: {listed} found in {shown(text)}", evidence={"found": found})

    def example(self) -> Example:
        return Example()


class StartsWith(Grader):
    """The answer starts with this text (white space before it ignored)."""

    Options: ClassVar[type[Options]] = TextOptions
    only_reads: ClassVar[bool] = True
    options: TextOptions

    async def grade(self, context: GradeContext) -> Grade:
        text = context.text.lstrip()
        wanted = self.options.value
        if self.options.folded(text).startswith(self.options.folded(wanted.lstrip())):
            return Grade.of(True)
        reason = f"expected {shown(wanted)} at the start, got {shown(text)}"
        return Grade.of(False, reason=reason, evidence=compared(wanted, head(text, len(wanted) + BESIDE)))

    def example(self) -> Example:
        return Example(starts=(self.options.value,))


class EndsWith(Grader):
    """The answer ends with this text (white space after it ignored)."""

    Options: ClassVar[type[Options]] = TextOptions
    only_reads: ClassVar[bool] = True
    options: TextOptions

    async def grade(self, context: GradeContext) -> Grade:
        text = context.text.rstrip()
        wanted = self.options.value
        if self.options.folded(text).endswith(self.options.folded(wanted.rstrip())):
            return Grade.of(True)
        reason = f"expected {shown(wanted)} at the end, got {shown(tail(text, TAIL), TAIL + 1)}"
        return Grade.of(False, reason=reason, evidence=compared(wanted, tail(text, len(wanted) + BESIDE)))

    def example(self) -> Example:
        return Example(ends=(self.options.value,))


class MaxLengthOptions(Options):
    value: Annotated[Whole, Field(ge=0)]


class MaxLength(Grader):
    """The answer has at most this many characters."""

    Options: ClassVar[type[Options]] = MaxLengthOptions
    only_reads: ClassVar[bool] = True
    options: MaxLengthOptions

    async def grade(self, context: GradeContext) -> Grade:
        length = len(context.text)
        passed = length <= self.options.value
        return Grade.of(passed, reason="" if passed else f"{length} characters, at most {self.options.value} allowed")

    def example(self) -> Example:
        return Example()


# includes: some texts occur in the answer and others do not, whatever its case and its white space.

SHOWN_TEXTS = 5


def as_texts(written: Any) -> Any:
    """One text or a list of them; a number or true/false stands for its JSON text."""
    items = [] if written is None else written if isinstance(written, list | tuple) else [written]
    return tuple(as_text(item) if isinstance(item, bool | int | float) else item for item in items)


class InclusionOptions(Options):
    main: ClassVar[str] = "must_include"

    must_include: tuple[str, ...] = ()
    must_not_include: tuple[str, ...] = ()
    case_sensitive: bool = False

    @field_validator("must_include", "must_not_include", mode="before")
    @classmethod
    def _as_texts(cls, written: Any) -> Any:
        return as_texts(written)

    @model_validator(mode="after")
    def _there_is_something_to_look_for(self) -> InclusionOptions:
        texts = (*self.must_include, *self.must_not_include)
        if not texts or not all(text.strip() for text in texts):
            raise ValueError("an empty text is in every answer" if texts else "give must_include or must_not_include")
        return self

    def found_in(self, answer: str, texts: Sequence[str]) -> list[str]:
        folded = self._folded(answer)
        return [text for text in texts if self._folded(text) in folded]

    def _folded(self, text: str) -> str:
        joined = " ".join(text.split())
        return joined if self.case_sensitive else joined.casefold()


class Includes(Grader):
    """The score is the share of the demands that the answer meets."""

    Options: ClassVar[type[Options]] = InclusionOptions
    only_reads: ClassVar[bool] = True
    options: InclusionOptions

    async def grade(self, context: GradeContext) -> Grade:
        options = self.options
        text = context.text
        found = options.found_in(text, options.must_include)
        missing = [item for item in options.must_include if item not in found]
        forbidden = options.found_in(text, options.must_not_include)
        parts = [
            f"{label}: {_listed(items)}" for label, items in (("missing", missing), ("forbidden", forbidden)) if items
        ]
        if not parts:
            return Grade.of(True)
        demands = len(options.must_include) + len(options.must_not_include)
        return Grade.of(
            False,
            score=1 - (len(missing) + len(forbidden)) / demands,
            reason=f"{'; '.join(parts)}; in {shown(text)}",
            evidence={"missing": missing, "forbidden": forbidden},
        )

    def example(self) -> Example:
        return Example(holds=self.options.must_include)


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - SHOWN_TEXTS} more" if len(texts) > SHOWN_TEXTS else ""
    return ", ".join(shown(text) for text in texts[:SHOWN_TEXTS]) + more
