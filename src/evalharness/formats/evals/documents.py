"""Document: a file taken apart into what it says of the suite and the evals it holds, whatever its spelling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalharness.domain.problem import FieldPath, Severity
from evalharness.formats.evals.written_evals import WrittenEval
from evalharness.formats.problems import Findings


@dataclass(frozen=True, slots=True)
class Document:
    """`top` is what stands beside the evals. `parts` are what an eval suite lists: evals, documents, or `$ref`s."""

    findings: Findings
    top: Mapping[str, Any] = field(default_factory=dict)
    place: FieldPath = ()
    evals: tuple[WrittenEval, ...] = ()
    parts: tuple[tuple[FieldPath, Any], ...] = ()
    is_native: bool = True
    own_keys: frozenset[str] = frozenset()
    """Keys of `top` that are no keys of a suite, but belong to the document's spelling."""

    @property
    def severity(self) -> Severity:
        return "error" if self.is_native else "warning"

    def at(self, *path: str | int) -> FieldPath:
        return (*self.place, *path)
