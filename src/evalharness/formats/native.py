"""The native suite file: `schema_version`, `metadata`, `config`, `test_cases`, and the short forms of rules.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, TypeVar

from pydantic import ValidationError

from evalharness import registry
from evalharness.domain.case import Case
from evalharness.domain.problem import FieldPath, quoted
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import Suite
from evalharness.domain.variables import has_braces
from evalharness.errors import UnknownName, UsageError
from evalharness.formats.problems import Findings
from evalharness.formats.source import Source
from evalharness.references import reference_file

NOT_ACTED_ON = ("gate", "reporting", "notify")
SUITE_KEYS = (set(Suite.model_fields) - {"cases", "templated"}) | {"test_cases"}
CASE_KEYS = set(Case.model_fields) | {"grader"}
INHERITED = ("category", "criticality", "tags")
METHODS = {"exact_match": "exact", "regex": "regex"}
EXPECTED_TYPES = {"pattern": "regex"}
Spec = TypeVar("Spec", GraderSpec, TargetSpec)


def looks_native(data: Any) -> bool:
    if isinstance(data, Mapping):
        return "test_cases" in data
    return isinstance(data, list) and bool(data) and all(isinstance(case, Mapping) and "input" in case for case in data)


def load_native(source: Source) -> tuple[Suite | None, Findings]:
    """The suite, or None; and everything found wrong with the file, all at once."""
    findings = Findings(source)
    data = source.data
    rows_only = isinstance(data, list) and source.path.suffix.lower() in (".jsonl", ".ndjson")
    if rows_only:
        data = {"test_cases": data}
    if not isinstance(data, Mapping):
        findings.add((), f"a suite is a mapping with test_cases, not {_kind(data)}")
        return None, findings
    findings.unknown_keys((), data, SUITE_KEYS)
    written = data.get("test_cases")
    if not isinstance(written, list):
        findings.add(
            ("test_cases",) if "test_cases" in data else (), f"test_cases must be a list, not {_kind(written)}"
        )
        return None, findings
    if not written:
        findings.add(("test_cases",), "is empty: a suite needs at least one case")
    suite = _suite(findings, data, source)
    cases = _cases(findings, written, data, () if rows_only else ("test_cases",))
    findings.problems.sort(key=lambda problem: problem.line)
    if suite is None or findings.has_errors:
        return None, findings
    return suite.model_copy(update={"cases": tuple(cases), "templated": has_braces(source.data)}), findings


def _suite(findings: Findings, data: Mapping[str, Any], source: Source) -> Suite | None:
    top = {key: value for key, value in data.items() if key in SUITE_KEYS - {"test_cases"}}
    for key in NOT_ACTED_ON:
        if top.get(key) is not None:
            findings.add((key,), f"'{key}' is read but not acted on by this version", severity="warning")
    metadata = top.get("metadata")
    named = metadata.get("name") if isinstance(metadata, Mapping) else None
    top.setdefault("name", named or source.path.stem)
    if isinstance(metadata, Mapping) and "description" in metadata:
        top.setdefault("description", metadata["description"])
    suite = None
    try:
        suite = Suite.model_validate(top)
    except ValidationError as error:
        findings.invalid((), error, Suite)
    _suite_parts(findings, top)
    return suite


def _suite_parts(findings: Findings, top: Mapping[str, Any]) -> None:
    """Graders and targets are checked even where the suite around them is wrong: all problems at once."""
    targets = top.get("targets") if isinstance(top.get("targets"), Mapping) else {}
    variants = top.get("variants")
    written: list[tuple[FieldPath, Any]] = [(("target",), top.get("target"))]
    written += [(("targets", name), target) for name, target in (targets or {}).items()]
    if isinstance(variants, Mapping):
        written += [(("variants", name), target) for name, target in variants.items()]
    elif isinstance(variants, list):
        rows = [(i, row) for i, row in enumerate(variants) if isinstance(row, Mapping)]
        written += [(("variants", i, "target"), row.get("target")) for i, row in rows]
    for place, target in written:
        spec = _spec(TargetSpec, target)
        by_name = spec is not None and spec.options is None and spec.kind in (targets or {})
        if spec is not None and not (by_name and place[0] != "targets"):
            check_target(findings, place, spec)
    if "target" in top and top["target"] is None:
        findings.add(("target",), 'is empty; for the built-in target write "null" in quotes', severity="warning")
    _check_graders(findings, (), top)


def _check_graders(findings: Findings, place: FieldPath, written: Mapping[str, Any]) -> None:
    graders = written.get("graders")
    for index, grader in enumerate(graders if isinstance(graders, list) else []):
        spec = _spec(GraderSpec, grader)
        if spec is not None:
            check_grader(findings, (*place, "graders", index), spec)


def _spec(model: type[Spec], written: Any) -> Spec | None:
    """None where the short form itself is wrong, which the model around it has reported."""
    try:
        return None if written is None else model.model_validate(written)
    except ValidationError:
        return None


def _cases(findings: Findings, written: list[Any], data: Mapping[str, Any], path: FieldPath) -> list[Case]:
    """Each case on its own, so that every problem of every case is told."""
    inherited = _inherited(findings, data.get("metadata"))
    has_default_graders = bool(data.get("graders"))
    cases: list[Case] = []
    first_place: dict[str, FieldPath] = {}
    for position, row in enumerate(written):
        place = (*path, position)
        if not isinstance(row, Mapping):
            findings.add(place, f"a case is a mapping with id and input, not {_kind(row)}")
            continue
        findings.unknown_keys(place, row, CASE_KEYS)
        fields = _case_fields(row, inherited, position)
        id_ = fields["id"]
        if isinstance(id_, str):
            if "{{" in id_:
                findings.add(
                    (*place, "id"), "must not hold {{: an id names its case in every run, whatever the variables"
                )
            if id_ in first_place:
                line = findings.source.line_of(first_place[id_])
                findings.add((*place, "id"), f"case id '{id_}' is already used on line {line}")
            first_place.setdefault(id_, (*place, "id"))
        case = _case(findings, place, row, fields)
        if case is None:
            continue
        if not (case.expected or case.graders or (has_default_graders and case.graders is None)):
            findings.add(
                place, "nothing is checked: any answer passes; add `expected` or `graders`", severity="warning"
            )
        cases.append(case)
    return cases


def _inherited(findings: Findings, metadata: Any) -> dict[str, Any]:
    """What the file's metadata says of all its cases, as far as it can be said of a case."""
    if not isinstance(metadata, Mapping):
        return {}
    told = {key: metadata[key] for key in INHERITED if metadata.get(key) is not None}
    try:
        Case.model_validate({"id": "any", "input": "", **told})
    except ValidationError as error:
        findings.invalid(("metadata",), error, Case)
        return {}
    return told


def _case_fields(row: Mapping[str, Any], inherited: Mapping[str, Any], position: int) -> dict[str, Any]:
    """The case as written, with what it inherits; its own tags are added to those of the file."""
    fields = {**inherited, **{key: value for key, value in row.items() if key in CASE_KEYS - {"grader"}}}
    fields.setdefault("id", f"case-{position + 1}")
    if isinstance(fields["id"], int | float) and not isinstance(fields["id"], bool):
        fields["id"] = str(fields["id"])
    tags = row.get("tags")
    if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags):
        fields["tags"] = list(dict.fromkeys([*inherited.get("tags", ()), *tags]))
    return fields


def _case(findings: Findings, place: FieldPath, row: Mapping[str, Any], fields: dict[str, Any]) -> Case | None:
    case = None
    if _expected(findings, place, row, fields):
        try:
            case = Case.model_validate(fields)
        except ValidationError as error:
            findings.invalid(place, error, Case)
        expected = case.expected if case else _spec(GraderSpec, _mapping(fields.get("expected")))
        if expected is not None:
            check_grader(findings, (*place, "expected"), expected)
    _check_graders(findings, place, row)
    if case is not None:
        _files(findings, place, case)
    return case


def _mapping(value: Any) -> Any:
    return value if isinstance(value, Mapping) else None


def _expected(findings: Findings, place: FieldPath, row: Mapping[str, Any], fields: dict[str, Any]) -> bool:
    """`expected` in its documented forms; False when it is wrong, which has then been told."""
    expected = row.get("expected")
    if isinstance(expected, Mapping) and expected.get("type") in list(EXPECTED_TYPES):
        expected = {**expected, "type": EXPECTED_TYPES[expected["type"]]}
        fields["expected"] = expected
    if "expected" in row and expected is None:
        findings.add((*place, "expected"), "is empty; write '' for an empty text, or {json_equals: null}")
        return False
    return row.get("grader") is None or _compared_by(findings, (*place, "grader"), row["grader"], expected, fields)


def _compared_by(findings: Findings, place: FieldPath, grader: Any, expected: Any, fields: dict[str, Any]) -> bool:
    """The singular `grader`, which says how `expected` is compared: `{type: code, config: {method: …}}`."""
    if not isinstance(grader, Mapping) or grader.get("type") != "code":
        kind = grader.get("type") if isinstance(grader, Mapping) else grader
        findings.add(place, f"grader type {quoted(str(kind))} is not known", allowed="code")
        return False
    findings.unknown_keys(place, grader, ("type", "config"))
    config = {} if grader.get("config") is None else grader["config"]
    if not isinstance(config, Mapping):
        findings.add((*place, "config"), f"must be a mapping, not {_kind(config)}")
        return False
    method = config.get("method")
    if method is not None and method not in list(METHODS):
        findings.add((*place, "config", "method"), f"unknown method {quoted(str(method))}", allowed=", ".join(METHODS))
        return False
    value = expected.get("value") if isinstance(expected, Mapping) else expected
    kind = METHODS[method] if method else expected.get("type", "exact") if isinstance(expected, Mapping) else "exact"
    main = {"value": value} if expected is not None and "pattern" not in config else {}
    options = {key: value for key, value in config.items() if key != "method"}
    fields["expected"] = {"kind": kind, "options": {**main, **options}}
    return True


def check_grader(findings: Findings, place: FieldPath, spec: GraderSpec) -> None:
    _check_part(findings, place, "grader", spec)
    if spec.kind == "function" and isinstance(spec.options, str):
        _check_reference(findings, place, spec.options, "grader")


def check_target(findings: Findings, place: FieldPath, spec: TargetSpec) -> None:
    _check_part(findings, place, "target", spec)
    reference = spec.options.get("function") if isinstance(spec.options, Mapping) else spec.options
    if spec.kind == "function" and isinstance(reference, str):
        _check_reference(findings, place, reference, "target")


def _check_part(findings: Findings, place: FieldPath, noun: registry.Noun, spec: GraderSpec | TargetSpec) -> None:
    try:
        options = registry.load(noun, spec.kind).Options
        options.model_validate(registry.written_options(options, spec))
    except UnknownName as error:
        findings.unknown_name(place, error)
    except ValidationError as error:
        findings.invalid((*place, spec.kind), error, options)


def _check_reference(findings: Findings, place: FieldPath, reference: str, noun: str) -> None:
    """Nothing is imported here: a file is looked for, a module is taken on trust."""
    if "{{" in reference:
        return
    try:
        file = reference_file(reference, findings.source.path.parent)
    except UsageError as error:
        findings.add(place, f"{error.message}; {error.hint}")
        return
    if file is not None and not file.is_file():
        # A target can still be replaced by --target; a grader cannot.
        severity = "warning" if noun == "target" else "error"
        findings.add(place, f"the {noun}'s file {reference.rpartition(':')[0]} does not exist", severity=severity)


def _files(findings: Findings, place: FieldPath, case: Case) -> None:
    root = findings.source.path.parent.resolve()
    for name, file in case.files.items():
        where = (*place, "files", name)
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or "\0" in name or not name:
            findings.add(where, "must be a relative path inside the workspace")
        if file.path is None:
            continue
        path = (root / file.path.replace("\0", "")).resolve()
        if not path.is_relative_to(root):
            findings.add(where, f"{file.path} lies outside the suite's folder")
        elif not path.is_file():
            findings.add(where, f"there is no file {file.path} in the suite's folder")


def _kind(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "true/false", type(None): "empty"}
    return names.get(type(value), "a number")
