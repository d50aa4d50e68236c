"""Reader: `id`, `workflowName`, `version` and `cases`, each with an input and assertions about its run.

Keys the format does not know are warnings: such files come from elsewhere and may say more than we read. Keys may be
written in snake_case, too. Beyond the documented keys a dataset may hold `target`, `targets`, `trials`, `variants` and
`scorers`, so that it can be run alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from evalharness.documents.assertions import ASSERTIONS, Assertion, parse_assertion
from evalharness.domain.problem import FieldPath, field_text
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import Suite, Variant
from evalharness.errors import UnknownName
from evalharness.formats.parts import check_grader, check_target, is_grader, kind_of, read_spec
from evalharness.formats.problems import Findings
from evalharness.formats.workflow_datasets.records import DEFAULT_SCORERS, EvalCase, EvalDataset, scorer_fields
from evalharness.syntax.source import Source
from evalharness.values.json_value import Json
from evalharness.values.variables import escape, has_braces

VARIANT_KEYS = {"id", "providerTypeByNode", "modelByNode", *Variant.model_fields}
SCORERS = (*DEFAULT_SCORERS, "similarity", "llm-judge", "FILE.py:NAME")
LONELY_TAGS_FROM = 4
"""In fewer cases it is no surprise that a tag is used once."""

Model = TypeVar("Model", bound=BaseModel)


def looks_like_dataset(data: Any) -> bool:
    if not isinstance(data, Mapping) or "cases" not in data:
        return False
    cases = data["cases"] if isinstance(data["cases"], list) else []
    is_headed = "workflowName" in data or "workflow_name" in data or {"id", "version"} <= data.keys()
    return is_headed or any(isinstance(case, Mapping) and "assertions" in case for case in cases)


def load_workflow_dataset(source: Source) -> tuple[Suite | None, Findings]:
    """The suite, or None; and everything found wrong with the file, all at once."""
    dataset, findings = check_dataset(source)
    return (None if dataset is None else suite_of(dataset)), findings


def check_dataset(source: Source) -> tuple[EvalDataset | None, Findings]:
    findings = Findings(source)
    data = source.data
    if not isinstance(data, Mapping):
        findings.add((), f"a dataset must be a mapping with id, workflowName, version and cases, not {kind_of(data)}")
        return None, findings
    written = _known(findings, (), data, EvalDataset)
    written["cases"] = _cases(findings, data)
    written["variants"] = _variants(findings, data.get("variants", ()))
    if "scorers" in data:
        written["scorers"] = _scorers(findings, data["scorers"])
    _check_targets(findings, data)
    dataset = _validated(findings, (), EvalDataset, written)
    findings.problems.sort(key=lambda problem: problem.line)
    return (None if findings.has_errors else dataset), findings


def suite_of(dataset: EvalDataset) -> Suite:
    """A trial's score is the mean of the scorers; it passes when all its assertions do."""
    plain = dataset.model_dump(mode="json", by_alias=True)
    written = {
        "name": plain["id"],
        "metadata": {"workflowName": plain["workflowName"]},
        "graders": plain["scorers"],
        "cases": [_case_of(case) for case in dataset.cases],
        **{key: plain[key] for key in ("version", "target", "targets", "trials", "variants")},
    }
    return Suite.model_validate({**escape(written), "templated": has_braces(written)})


def _case_of(case: EvalCase) -> dict[str, Json]:
    options = [assertion.model_dump(mode="json", by_alias=True) for assertion in case.assertions]
    expected = {"kind": "assertions", "options": options, "weight": 0} if options else None
    return {"id": case.id, "name": case.name or "", "input": case.input, "tags": case.tags, "expected": expected}


def _cases(findings: Findings, data: Mapping[str, Any]) -> list[EvalCase]:
    """Each case on its own, so that every problem of every case is reported."""
    written = data.get("cases")
    if not isinstance(written, list):
        findings.add(("cases",), f"must be a list, not {kind_of(written)}" if "cases" in data else "is missing")
        return []
    if not written:
        findings.add(("cases",), "is empty: a dataset needs at least one case")
    for index, first in repeated_ids(written):
        findings.add(("cases", index, "id"), f"is already the id of {field_text(('cases', first))}")
    _warn_of_lonely_tags(findings, written)
    cases: list[EvalCase] = []
    for index, row in enumerate(written):
        case = _case(findings, ("cases", index), row)
        if case is not None:
            cases.append(case)
            findings.case_at(case.id, ("cases", index))
    return cases


def repeated_ids(cases: Any) -> list[tuple[int, int]]:
    """Each case whose id was used before, with the one that used it first."""
    first: dict[str, int] = {}
    ids = [row.get("id") if isinstance(row, Mapping) else None for row in (cases if isinstance(cases, list) else [])]
    earlier = [(index, first.setdefault(id_, index)) for index, id_ in enumerate(ids) if isinstance(id_, str)]
    return [(index, before) for index, before in earlier if before != index]


def _warn_of_lonely_tags(findings: Findings, cases: list[Any]) -> None:
    if len(cases) < LONELY_TAGS_FROM:
        return
    lists = {index: row["tags"] for index, row in enumerate(cases) if isinstance(row, Mapping) and "tags" in row}
    used = [
        (("cases", index, "tags", position), tag)
        for index, tags in lists.items()
        for position, tag in enumerate(tags if isinstance(tags, list) else [])
        if isinstance(tag, str)
    ]
    times = Counter(tag for _, tag in used)
    for place, tag in used:
        if times[tag] == 1:
            findings.add(place, f"tag '{tag}' is used only once", severity="warning")


def _case(findings: Findings, place: FieldPath, row: Any) -> EvalCase | None:
    if not isinstance(row, Mapping):
        findings.add(place, f"a case must be a mapping with id, input and assertions, not {kind_of(row)}")
        return None
    known = _known(findings, place, row, EvalCase)
    known["assertions"] = _assertions(findings, (*place, "assertions"), row)
    return _validated(findings, place, EvalCase, known)


def _assertions(findings: Findings, place: FieldPath, row: Mapping[str, Any]) -> list[Assertion]:
    written = row.get("assertions")
    if not isinstance(written, list):
        findings.add(place, f"must be a list, not {kind_of(written)}" if "assertions" in row else "is missing")
        return []
    if not written:
        findings.add(place, "is empty: any run would pass", severity="warning")
    found = [_assertion(findings, (*place, index), assertion) for index, assertion in enumerate(written)]
    return [assertion for assertion in found if assertion is not None]


def _assertion(findings: Findings, place: FieldPath, row: Any) -> Assertion | None:
    if not isinstance(row, Mapping):
        findings.add(place, f"an assertion must be a mapping with type, not {kind_of(row)}")
        return None
    if "type" not in row:
        findings.add((*place, "type"), "is missing", allowed=", ".join(ASSERTIONS))
        return None
    model = ASSERTIONS.get(str(row["type"]))
    if model is None:
        findings.unknown_name((*place, "type"), UnknownName("assertion type", str(row["type"]), ASSERTIONS))
        return None
    try:
        return parse_assertion(_known(findings, place, row, model))
    except ValidationError as error:
        findings.invalid(place, error, model)
        return None


def _known(findings: Findings, place: FieldPath, row: Mapping[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """Without the keys that are not known, which are reported; the others may be written in snake_case, too."""
    spellings = {field.alias or name: name for name, field in model.model_fields.items()}
    known = {key: value for key, value in row.items() if key in spellings or key in spellings.values()}
    findings.unknown_keys(place, [key for key in row if key not in known], spellings, severity="warning")
    return known


def _variants(findings: Findings, written: Any) -> Any:
    """Without the keys nobody knows, and each with an id of its own; what is wrong with that has been reported."""
    if not isinstance(written, list):
        return written
    first: dict[str, int] = {}
    known: list[Any] = []
    for index, row in enumerate(written):
        if not isinstance(row, Mapping):
            known.append(row)
            continue
        findings.unknown_keys(("variants", index), row, VARIANT_KEYS, severity="warning")
        variant = {key: row[key] for key in VARIANT_KEYS if key in row}
        key = "name" if "name" in row else "id"
        wrong = "" if key in row else "is missing"
        if isinstance(id_ := row.get(key), str) and first.setdefault(id_, index) != index:
            wrong = f"is already the id of {field_text(('variants', first[id_]))}"
        if wrong:
            findings.add(("variants", index, key), wrong)
            variant[key] = f"variant {index}"
        known.append(variant)
    return known


def _scorers(findings: Findings, written: Any) -> Any:
    """`latency`, `scorers.py:mine`, `{name: latency, maxMs: 500}` or `{type: similarity, name: close, …}`."""
    if not isinstance(written, list):
        return written
    scorers: list[GraderSpec] = []
    for index, row in enumerate(written):
        fields, place = _scorer_fields(row), ("scorers", index)
        kind = fields.get("kind")
        if not isinstance(kind, str):
            findings.add(place, "a scorer must be a name or a mapping with name")
        elif not is_grader(kind):
            findings.unknown_name(place, UnknownName("scorer", kind, SCORERS))
        elif (scorer := _validated(findings, place, GraderSpec, fields)) is not None:
            check_grader(findings, place, scorer)
            scorers.append(scorer)
    return scorers


def _scorer_fields(row: Any) -> dict[str, Any]:
    if isinstance(row, str):
        return scorer_fields("scorer", options=row, name=row) if ":" in row else scorer_fields(row)
    fields = dict(row) if isinstance(row, Mapping) else {}
    if "kind" in fields:
        return fields
    kind = fields.pop("type", None) or fields.get("name")
    shared = {key: fields.pop(key) for key in ("name", "weight", "required") if key in fields}
    return scorer_fields(kind, options=fields or None, **shared)


def _check_targets(findings: Findings, data: Mapping[str, Any]) -> None:
    """Also where the dataset around them is wrong: all problems at once."""
    targets = data["targets"] if isinstance(data.get("targets"), Mapping) else {}
    variants = data["variants"] if isinstance(data.get("variants"), list) else []
    for name, target in targets.items():
        _check_target(findings, ("targets", name), target)
    used = [
        (("variants", i, "target"), row.get("target")) for i, row in enumerate(variants) if isinstance(row, Mapping)
    ]
    for place, target in ((("target",), data.get("target")), *used):
        _check_target(findings, place, target, by_name=targets)


def _check_target(findings: Findings, place: FieldPath, written: Any, by_name: Container[str] = ()) -> None:
    spec = read_spec(TargetSpec, written)
    if spec is not None and not (spec.options is None and spec.kind in by_name):
        check_target(findings, place, spec, has_variables=False)


def _validated(findings: Findings, place: FieldPath, model: type[Model], written: Mapping[str, Any]) -> Model | None:
    try:
        return model.model_validate(written)
    except ValidationError as error:
        findings.invalid(place, error, model)
        return None
