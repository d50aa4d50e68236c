"""Which cases of a suite are meant."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath

from evalharness.domain.case import Case, session_file
from evalharness.domain.suite import Suite


@dataclass(frozen=True, slots=True)
class Selection:
    """Which cases of a suite are meant. Several values of one filter: any of them; several filters: all of them."""

    only: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    limit: int | None = None
    ids: frozenset[str] | None = None

    def choose(self, suite: Suite, file_name: str) -> Suite:
        chosen = [case for case in suite.cases if self._keeps(case, suite, file_name)]
        if self.limit is not None:
            chosen = chosen[: self.limit]
        return suite.model_copy(update={"cases": tuple(chosen)})

    def _keeps(self, case: Case, suite: Suite, file_name: str) -> bool:
        if self.ids is not None and case.id not in self.ids:
            return False
        if self.only and not any(matches(pattern, case, file_name) for pattern in self.only):
            return False
        if self.tags and not set(self.tags) & set(case.tags):
            return False
        kinds = {case.category, case.eval_type or suite.eval_type} - {""}
        return not self.categories or bool(set(self.categories) & kinds)

    def described(self) -> str:
        parts = [*(f"--only {p}" for p in self.only), *(f"--tag {t}" for t in self.tags)]
        parts += [f"--category {c}" for c in self.categories]
        return " ".join(parts) or "the selection"


def matches(pattern: str, case: Case, file_name: str) -> bool:
    """A glob or a substring of the case's id or name, or of the file's name without its ending; in any case.

    Of a suite that is a folder of recorded sessions, each case has a file of its own.
    """
    lowered = pattern.lower()
    file_name = session_file(case) or file_name
    stem = PurePath(file_name).stem
    if fnmatchcase(file_name.lower(), lowered):
        return True
    texts = [text.lower() for text in (case.id, case.name, stem) if text]
    return any(lowered in text or fnmatchcase(text, lowered) for text in texts)
