"""The native suite file: `schema_version`, `metadata`, `config`, `test_cases`, and the short forms of cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalharness.domain.problem import FieldPath
from evalharness.domain.suite import Suite
from evalharness.formats.checking import kind_of
from evalharness.formats.evals.assembling import Assembly
from evalharness.formats.evals.documents import Document
from evalharness.formats.evals.written_evals import EVAL_KEYS, WrittenEval
from evalharness.formats.problems import Findings
from evalharness.formats.syntax.source import Source

EVAL_TYPES = ("capability", "regression")


def looks_native(data: Any) -> bool:
    if isinstance(data, Mapping):
        return "test_cases" in data and "eval_suite" not in data
    rows = [row for row in data if isinstance(row, Mapping)] if isinstance(data, list) else []
    # One row that asks something is enough: what the others lack is then told row by row.
    return any("input" in row for row in rows) and all(EVAL_KEYS.isdisjoint(row) for row in rows)


def load_native(source: Source) -> tuple[Suite | None, Findings]:
    """The suite, or None; and everything found wrong with the file, all at once."""
    assembly = Assembly(source)
    data = source.data
    if isinstance(data, list):
        document = Document(assembly.findings, evals=tuple(_evals(assembly.findings, (), data)))
        if not data:
            assembly.findings.add((), "is empty: a suite needs at least one case")
    elif isinstance(data, Mapping):
        document = native_document(assembly.findings, data, ())
    else:
        assembly.findings.add((), f"a suite is a mapping with test_cases, not {kind_of(data)}")
        return None, assembly.findings
    assembly.add(document, assembly.open(document))
    return assembly.finish()


def native_document(
    findings: Findings, data: Mapping[str, Any], place: FieldPath, *, id_prefix: str = "", default_prefix: str = ""
) -> Document:
    """A mapping with `test_cases`, taken apart. `default_prefix` leads the ids of cases that name none."""
    written = data.get("test_cases")
    where = (*place, "test_cases") if "test_cases" in data else place
    if not isinstance(written, list):
        is_there = "test_cases" in data
        message = f"test_cases must be a list, not {kind_of(written)}" if is_there else "test_cases is missing"
        findings.add(where, message)
        written = []
    elif not written:
        findings.add(where, "is empty: a suite needs at least one case")
    evals = [
        replace(
            row,
            id_prefix=id_prefix,
            default_id=default_prefix + row.default_id,
            eval_type="regression" if row.is_regression and not data.get("eval_type") else "",
            lifts_metadata=row.lifts_metadata or data.get("eval_type") in EVAL_TYPES,
        )
        for row in _evals(findings, where, written)
    ]
    return Document(findings, data, place, tuple(evals), own_keys=frozenset(("test_cases",)))


def _evals(findings: Findings, where: FieldPath, rows: list[Any]) -> Iterator[WrittenEval]:
    for position, row in enumerate(rows):
        place = (*where, position)
        if isinstance(row, Mapping):
            lifts = not EVAL_KEYS.isdisjoint(row)
            yield WrittenEval(row, place, findings, f"case-{position + 1}", lifts_metadata=lifts)
        else:
            findings.add(place, f"a case is a mapping with id and input, not {kind_of(row)}")
