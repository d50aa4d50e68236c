"""An eval, and a whole document, as its author wrote it, whatever the spelling, and where each field stands.

Every spelling of a file is taken apart into these; what their fields mean is decided in `cases.py`, once for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalharness.domain.case import Case
from evalharness.domain.problem import FieldPath, Severity
from evalharness.formats.parts import kind_of
from evalharness.formats.problems import Findings

EVAL_KEYS = frozenset(("expected_output", "baseline", "baseline_version", "current", "comparison"))
"""What a case may hold beyond the fields of a Case: the spellings of capability and regression evals."""
CASE_KEYS = (set(Case.model_fields) - {"code_check"}) | {"grader"} | EVAL_KEYS


_OF_REGRESSIONS = frozenset(("baseline", "current", "comparison"))


def is_regression(fields: Mapping[str, Any]) -> bool:
    return not _OF_REGRESSIONS.isdisjoint(fields)


@dataclass(frozen=True, slots=True)
class WrittenEval:
    """`moved` tells where a field stands that is not found at `place` under its own name."""

    fields: Mapping[str, Any]
    place: FieldPath
    findings: Findings
    default_id: str
    eval_type: str = ""
    is_native: bool = True
    """Unknown keys are errors in native files; files that come from elsewhere may say more than we read."""
    lifts_metadata: bool = False
    """Whether `metadata` may hold fields of the case, as the documented evals have it."""
    id_prefix: str = ""
    moved: Mapping[str, FieldPath] = field(default_factory=dict)

    def at(self, *path: str | int) -> FieldPath:
        if not self.moved:
            return (*self.place, *path)
        first, *rest = path
        start = self.moved.get(first) if isinstance(first, str) else None
        return (*(start if start is not None else (*self.place, first)), *rest)

    @property
    def is_regression(self) -> bool:
        return is_regression(self.fields)

    @property
    def severity(self) -> Severity:
        """How grave it is that a key is not known."""
        return "error" if self.is_native else "warning"

    def add(self, path: tuple[str | int, ...], message: str, **more: Any) -> None:
        self.findings.add(self.at(*path), message, **more)

    def mapping(self, *path: str) -> Mapping[str, Any]:
        """What stands at a place that holds a mapping or nothing; anything else has then been reported."""
        value: Any = self.fields
        for step in path:
            value = value.get(step) if isinstance(value, Mapping) else None
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.add(path, f"must be a mapping, not {kind_of(value)}")
            return {}
        return value


@dataclass(frozen=True, slots=True)
class Document:
    """`top` is what stands beside the evals. `parts` are what an eval suite lists: evals, documents, or `$ref`s."""

    findings: Findings
    top: Mapping[str, Any] = field(default_factory=dict)
    place: FieldPath = ()
    evals: Iterable[WrittenEval] = ()
    """Read once, in their order."""
    parts: tuple[tuple[FieldPath, Any], ...] = ()
    is_native: bool = True
    own_keys: frozenset[str] = frozenset()
    """Keys of `top` that are no keys of a suite, but belong to the document's spelling."""

    @property
    def severity(self) -> Severity:
        return "error" if self.is_native else "warning"

    def at(self, *path: str | int) -> FieldPath:
        return (*self.place, *path)
