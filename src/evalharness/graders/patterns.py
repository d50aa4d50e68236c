"""Regular expressions from files, with a time limit: a pattern such as `(a+)+$` must not hang a run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import regex
from pydantic import AliasChoices, Field

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.services import Threads
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.errors import Unscored
from evalharness.graders.pattern_examples import example_of
from evalharness.values.pattern import Pattern, compile_pattern
from evalharness.values.text import shown

IN_PLACE_S = 0.01
IN_THREAD_S = 1.0
FLAGS = {"multiline": regex.MULTILINE, "ignorecase": regex.IGNORECASE, "dotall": regex.DOTALL}


class RegexOptions(Options):
    main: ClassVar[str] = "pattern"

    pattern: Pattern = Field(validation_alias=AliasChoices("pattern", "value"))
    flags: tuple[Literal["multiline", "ignorecase", "dotall"], ...] = ()
    must_match: bool = True
    capture_groups: tuple[str, ...] = ()

    def compiled(self) -> Any:
        flags = 0
        for name in self.flags:
            flags |= FLAGS[name]
        return compile_pattern(self.pattern, flags)


class Regex(Grader):
    """The pattern is found somewhere in the answer (or is not, with `must_match: false`)."""

    Options: ClassVar[type[Options]] = RegexOptions
    only_reads: ClassVar[bool] = True
    options: RegexOptions

    @cached_property
    def _compiled(self) -> Any:
        return self.options.compiled()

    async def grade(self, context: GradeContext) -> Grade:
        text = context.text
        found = await search_within_limit(self._compiled, text, self.options.pattern, self.services.in_thread)
        passed = (found is not None) == self.options.must_match
        evidence = {"pattern": self.options.pattern, "matched": found is not None}
        if found is not None and self.options.capture_groups:
            evidence["captures"] = captures(found, self.options.capture_groups)
        if passed:
            return Grade.of(True, evidence=evidence if self.options.capture_groups else None)
        wanted = "no match for" if self.options.must_match else "forbidden match of"
        return Grade.of(False, reason=f"{wanted} /{self.options.pattern}/ in {shown(text)}", evidence=evidence)

    def example(self) -> Example | None:
        return example_of(self._compiled) if self.options.must_match else Example()


def captures(found: Any, names: Sequence[str]) -> dict[str, str | None]:
    """What its groups contain: by name where the pattern has it, else by position; None where it has neither."""
    named, numbered = found.groupdict(), found.groups()
    return {
        name: named[name] if name in named else (numbered[position : position + 1] or (None,))[0]
        for position, name in enumerate(names)
    }


async def search_within_limit(compiled: Any, text: str, pattern: str, in_thread: Threads) -> Any:
    """10 ms in place, which nearly every pattern needs a fraction of; then off the event loop, 1 s in all."""
    try:
        return compiled.search(text, timeout=IN_PLACE_S)
    except TimeoutError:
        return await in_thread(search_slowly, compiled, text, pattern)


def search_slowly(compiled: Any, text: str, pattern: str) -> Any:
    """The match, or None; raises Unscored at the time limit, naming the pattern as it was written."""
    try:
        return compiled.search(text, timeout=IN_THREAD_S - IN_PLACE_S, concurrent=True)
    except TimeoutError:
        raise Unscored(f"regex time limit: /{pattern}/ took more than {IN_THREAD_S:g} s") from None
