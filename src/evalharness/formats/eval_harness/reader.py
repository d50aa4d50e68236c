"""Eval-harness files: single evals, lists of them, the JSON form of a regression eval, and eval suites with `$ref`s.

Every spelling is taken apart into the same evals that a native file holds; the native file with `test_cases` is one
of the things that a suite may refer to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalharness.domain.problem import FieldPath
from evalharness.domain.suite import Suite
from evalharness.formats.native.cases import Defaults
from evalharness.formats.native.folder import MAX_DEPTH, REF, is_ref
from evalharness.formats.native.reader import Assembly, native_document
from evalharness.formats.native.written_evals import Document, WrittenEval
from evalharness.formats.parts import kind_of
from evalharness.formats.problems import Findings
from evalharness.syntax.source import Source

SUITE = "eval_suite"
SCHEMA_VERSION = "schema_version"
NO_EVALS = "is empty: a suite needs at least one eval"
WRAPPERS = {"capability_eval": "capability", "regression_eval": "regression"}
MARKS = ({"expected_output"}, {"capability_eval"}, {"regression_eval"}, {"id", "baseline"}, {"baseline", "current"})
"""Keys of which no other file holds all that stand together here."""
JSON_FORM = frozenset(("test_case", "baseline", "baseline_version", "grader"))
"""What the JSON form of a regression eval holds beside the keys of a suite."""


def looks_eval_harness(data: Any) -> bool:
    if isinstance(data, list):
        return bool(data) and all(isinstance(item, Mapping) for item in data) and any(map(_looks_like_eval, data))
    if not isinstance(data, Mapping):
        return False
    is_json_form = "test_case" in data and bool({"baseline", "eval_type"} & data.keys())
    is_case = {"input", "expected"} <= data.keys() and "test_cases" not in data
    return SUITE in data or is_json_form or is_case or _looks_like_eval(data)


def _looks_like_eval(data: Mapping[str, Any]) -> bool:
    if "test_cases" in data:
        return False
    return any(keys <= data.keys() for keys in MARKS)


def load_eval_harness(source: Source) -> tuple[Suite | None, Findings]:
    """The suite, or None; and everything found wrong with the file and those it refers to, all at once."""
    is_suite = isinstance(source.data, Mapping) and SUITE in source.data
    assembly = Assembly(source, reach_is_layout=not is_suite)
    document = _document(assembly.findings, source.data, ())
    _Gathering(assembly).gather(document, assembly.open(document), (source.path.resolve(),))
    return assembly.finish()


@dataclass(slots=True)
class _Gathering:
    """Follows the `$ref`s of a suite. Each file is read once, so that no tangle of references can grow without end."""

    assembly: Assembly
    seen: set[Path] = field(default_factory=set)

    def gather(self, document: Document, defaults: Defaults, chain: tuple[Path, ...]) -> None:
        self.assembly.add(document, defaults)
        for number, (place, item) in enumerate(document.parts, start=1):
            if is_ref(item):
                self._follow(document, place, item, defaults, chain)
            else:
                part = _document(document.findings, item, place, default_prefix=f"eval-{number}/")
                self.gather(part, self.assembly.open_part(part, defaults), chain)

    def _follow(
        self,
        document: Document,
        at: FieldPath,
        item: Mapping[str, Any],
        defaults: Defaults,
        chain: tuple[Path, ...],
    ) -> None:
        findings, place = document.findings, (*at, REF)
        findings.unknown_keys(at, item, (REF,), "warning")
        path = self.assembly.folder.find(findings, place, item[REF])
        if path is None:
            return
        real = path.resolve()
        if real in chain:
            names = " → ".join(each.name for each in (*chain[chain.index(real) :], real))
            findings.add(place, f"refers back to itself: {names}")
        elif len(chain) > MAX_DEPTH:
            findings.add(place, f"the chain of references is longer than {MAX_DEPTH} files")
        elif real in self.seen:
            findings.add(place, f"{item[REF]} is already part of this suite")
        elif (source := self.assembly.folder.read(findings, place, path)) is not None:
            self.seen.add(real)
            if (other := _other_format(source.data)) is not None:
                findings.add(place, f"{item[REF]} is a {other}; only eval-harness and native files can be referenced")
                return
            read = Findings(source)
            self.assembly.files.append(read)
            part = _document(read, source.data, (), default_prefix=f"{path.stem}/")
            self.gather(part, self.assembly.open_part(part, defaults), (*chain, real))


def _document(findings: Findings, data: Any, place: FieldPath, *, default_prefix: str = "") -> Document:
    """What a file or an entry of `evals:` holds; what is none of the spellings has been reported and holds nothing."""
    if isinstance(data, list):
        if not data:
            findings.add(place, NO_EVALS)
        evals = [
            each
            for position, item in enumerate(data)
            for each in _evals(findings, item, (*place, position), f"{default_prefix}case-{position + 1}")
        ]
        return Document(findings, place=place, evals=tuple(evals), is_native=False)
    if isinstance(data, Mapping):
        if SUITE in data:
            return _suite_document(findings, data, place)
        if "test_cases" in data:
            prefix = _id_prefix(data) if default_prefix else ""
            return native_document(
                findings, data, place, id_prefix=prefix, default_prefix="" if prefix else default_prefix
            )
        if "test_case" in data:
            return _json_form(findings, data, place, f"{default_prefix}case-1")
    evals = list(_evals(findings, data, place, f"{default_prefix}case-1"))
    return Document(findings, place=place, evals=tuple(evals), is_native=False)


def _evals(findings: Findings, data: Any, place: FieldPath, default_id: str) -> Iterator[WrittenEval]:
    """One eval, bare or wrapped in a key that names its type."""
    if not isinstance(data, Mapping):
        findings.add(place, f"an eval must be a mapping with id and input, not {kind_of(data)}")
        return
    wrapped = [key for key in WRAPPERS if key in data]
    if not wrapped:
        type_ = "regression" if "baseline" in data or "current" in data or "comparison" in data else "capability"
        yield _eval(findings, data, place, default_id, type_)
        return
    findings.unknown_keys(place, data, (*WRAPPERS, SCHEMA_VERSION), "warning")
    for key in wrapped:
        inner = data[key] if isinstance(data[key], list) else [data[key]]
        if not inner:
            findings.add((*place, key), NO_EVALS)
        for position, item in enumerate(inner):
            where = (*place, key, position) if isinstance(data[key], list) else (*place, key)
            if isinstance(item, Mapping):
                id_ = default_id if len(inner) * len(wrapped) == 1 else f"{default_id}-{key[:3]}-{position + 1}"
                yield _eval(findings, item, where, id_, WRAPPERS[key])
            else:
                findings.add(where, f"an eval must be a mapping with id and input, not {kind_of(item)}")


def _eval(
    findings: Findings, data: Mapping[str, Any], place: FieldPath, default_id: str, eval_type: str
) -> WrittenEval:
    fields = {key: value for key, value in data.items() if key != SCHEMA_VERSION}
    return WrittenEval(fields, place, findings, default_id, eval_type=eval_type, is_native=False, lifts_metadata=True)


def _suite_document(findings: Findings, data: Mapping[str, Any], place: FieldPath) -> Document:
    findings.unknown_keys(place, data, (SUITE, SCHEMA_VERSION), "warning")
    place = (*place, SUITE)
    top = data[SUITE]
    if not isinstance(top, Mapping):
        findings.add(place, f"must be a mapping with evals, not {kind_of(top)}")
        return Document(findings, place=place, is_native=False)
    evals = top.get("evals")
    if not isinstance(evals, list) or not evals:
        wrong = NO_EVALS if evals == [] else f"must be a list of evals or {{$ref: …}}, not {kind_of(evals)}"
        findings.add((*place, "evals"), wrong if "evals" in top else "is missing")
        evals = []
    parts = tuple(((*place, "evals", position), item) for position, item in enumerate(evals))
    return Document(findings, top, place, parts=parts, is_native=False, own_keys=frozenset(("evals",)))


def _json_form(findings: Findings, data: Mapping[str, Any], place: FieldPath, default_id: str) -> Document:
    """One case under `test_case`, what it is compared with beside it, and its name in `metadata`."""
    case = data["test_case"]
    own_keys = JSON_FORM
    if not isinstance(case, Mapping):
        findings.add((*place, "test_case"), f"must be a mapping with input, not {kind_of(case)}")
        return Document(findings, data, place, is_native=False, own_keys=own_keys)
    metadata = data.get("metadata")
    about = metadata if isinstance(metadata, Mapping) else {}
    named = {key: about[key] for key in ("id", "name", "description") if about.get(key) is not None}
    beside = {key: data[key] for key in JSON_FORM - {"test_case"} if key in data}
    moved = {key: (*place, "metadata", key) for key in named} | {key: (*place, key) for key in beside}
    moved = {key: where for key, where in moved.items() if key not in case}
    type_ = data.get("eval_type") if isinstance(data.get("eval_type"), str) else ""
    written = _eval(findings, {**named, **beside, **case}, (*place, "test_case"), default_id, str(type_ or ""))
    return Document(findings, data, place, (replace(written, moved=moved),), is_native=False, own_keys=own_keys)


def _other_format(data: Any) -> str | None:
    """What another format's file is called, which no eval suite can hold."""
    # Here: few files refer to files of other formats.
    from evalharness.formats.task_suites.reader import looks_like_task_suite
    from evalharness.formats.workflow_datasets.reader import looks_like_dataset

    if looks_like_task_suite(data):
        return "task suite"
    return "workflow dataset" if looks_like_dataset(data) else None


def _id_prefix(data: Mapping[str, Any]) -> str:
    metadata = data.get("metadata")
    id_ = metadata.get("id") if isinstance(metadata, Mapping) else None
    return f"{id_}/" if isinstance(id_, str | int) and id_ else ""
