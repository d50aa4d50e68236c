"""includes: some texts occur in the answer and others do not, whatever its case and its white space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import field_validator, model_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.case import as_text
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.graders.quoting import shown

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
    options: InclusionOptions

    async def grade(self, context: GradeContext) -> Grade:
        options = self.options
        text = context.text
        found = options.found_in(text, options.must_include)
        missing = [item for item in options.must_include if item not in found]
        forbidden = options.found_in(text, options.must_not_include)
        told = [
            f"{label}: {_listed(items)}" for label, items in (("missing", missing), ("forbidden", forbidden)) if items
        ]
        if not told:
            return Grade.of(True)
        demands = len(options.must_include) + len(options.must_not_include)
        return Grade.of(
            False,
            score=1 - (len(missing) + len(forbidden)) / demands,
            reason=f"{'; '.join(told)}; in {shown(text)}",
            evidence={"missing": missing, "forbidden": forbidden},
        )

    def example(self) -> Example:
        return Example(holds=self.options.must_include)


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - SHOWN_TEXTS} more" if len(texts) > SHOWN_TEXTS else ""
    return ", ".join(shown(text) for text in texts[:SHOWN_TEXTS]) + more
