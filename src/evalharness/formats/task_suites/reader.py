"""Reader: `name`, `description` and `tasks`, each with a prompt and what is expected of the agent's work.

Keys the format does not know are warnings: such files come from elsewhere and may say more than we read. Keys may be
written in snake_case, too. Beyond the documented keys a suite may hold `target`, `targets` and `trials`, and a task
`files`, `reference`, `tags`, `weight` and `metadata`, so that it can be run alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel, to_snake

from evalharness import registry
from evalharness.domain.problem import FieldPath, quoted
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import Suite
from evalharness.formats.parts import check_files, check_target, kind_of, read_spec
from evalharness.formats.problems import Findings
from evalharness.formats.task_suites.records import TASK_CATEGORIES, EvalSuite, EvalTask, ExpectedFile
from evalharness.syntax.source import Source
from evalharness.values.json_value import Json
from evalharness.values.variables import escape, fill, has_braces

DEFAULT_TIMEOUT_S = 120.0
TELLING = {"prompt", "category", "expectedPatterns", "expected_patterns"}
"""Other files have `tasks`, too; a task of ours has one of these."""
ENOUGH_SIGNS = 2
"""Of a file without any task: that it has a name, room for tasks, no keys of others."""


def looks_like_task_suite(data: Any) -> bool:
    """Also where its tasks are no list, so that this can be reported."""
    if not isinstance(data, Mapping) or "tasks" not in data or "test_cases" in data:
        return False
    written = data["tasks"]
    tasks = written.values() if isinstance(written, Mapping) else written if isinstance(written, list) else ()
    if any(isinstance(task, Mapping) and TELLING & task.keys() for task in tasks):
        return True
    signs = ("name" in data, isinstance(written, list | Mapping), data.keys() <= EvalSuite.model_fields.keys())
    return not tasks and sum(signs) >= ENOUGH_SIGNS


def load_task_suite(source: Source) -> tuple[Suite | None, Findings]:
    """The suite, or None; and everything found wrong with the file, all at once."""
    findings = Findings(source)
    data = source.data
    if not isinstance(data, Mapping):
        findings.add((), f"a task suite must be a mapping with name and tasks, not {kind_of(data)}")
        return None, findings
    written = {"name": source.path.stem, **_known(findings, (), data, EvalSuite)}
    written["tasks"] = _tasks(findings, data)
    suite = findings.validated((), EvalSuite, written)
    _check_targets(findings, data)
    findings.problems.sort(key=lambda problem: problem.line)
    return (None if suite is None or findings.has_errors else suite_of(suite)), findings


def suite_of(suite: EvalSuite) -> Suite:
    """Texts of task suites hold no variables: `{{` in them is escaped."""
    kept = {"name": suite.name, "description": suite.description, "trials": suite.trials}
    cases = [_case_of(task) for task in suite.tasks]
    targets = [spec.model_dump(mode="json") for spec in (suite.target, *suite.targets.values()) if spec]
    return Suite.model_validate(
        {
            **kept,
            "target": suite.target and _escaped(suite.target),
            "targets": {name: _escaped(spec) for name, spec in suite.targets.items()},
            "config": {"timeout_seconds": DEFAULT_TIMEOUT_S},
            "cases": escape(cases) if has_braces(cases) else cases,
            "templated": has_braces([kept, targets, list(suite.targets), cases]),
        }
    )


def _escaped(spec: TargetSpec) -> TargetSpec:
    return spec if spec.function else TargetSpec.model_validate(escape(spec.model_dump(mode="json")))


def _case_of(task: EvalTask) -> dict[str, Json]:
    same = {"id", "category", "description", "max_rounds", "required_tools", "files", "reference", "weight"}
    return {
        **task.model_dump(mode="json", include={*same, "metadata"}, exclude_defaults=True),
        "input": task.prompt,
        "tags": list(dict.fromkeys(task.tags)),
        "graders": [spec.model_dump(mode="json") for spec in graders_of(task)],
        "timeout_seconds": None if task.timeout_ms is None else task.timeout_ms / 1000,
    }


def graders_of(task: EvalTask) -> Iterator[GraderSpec]:
    """What is expected. The patterns count even where there are none."""
    yield GraderSpec(kind="expected_patterns", options=list(task.expected_patterns))
    if task.expected_files:
        files = [
            {"path": file.path, **({"contains": file.should_contain} if file.should_contain else {})}
            for file in task.expected_files
        ]
        yield GraderSpec(kind="files", options=files)
    if task.expected_exit_code is not None:
        yield GraderSpec(kind="exit_code", options=task.expected_exit_code)
    options = sequence_options(task.expected_tool_sequence, task.tool_sequence_mode)
    if options:
        yield GraderSpec(kind="tool_sequence", options=options)


def sequence_options(written: Json, mode: Json) -> dict[str, Json]:
    """Nothing where nothing is expected; that there are no calls at all is expected by an empty list and a mode."""
    if written is None or (written == [] and not mode):
        return {}
    options = dict(written) if isinstance(written, Mapping) else {"calls": written}
    mode = options.pop("mode", None) or mode
    return {**options, "mode": to_snake(mode) if isinstance(mode, str) else mode} if mode else options


def task_suite_of(suite: Suite) -> EvalSuite | None:
    """The task suite of which `suite_of` makes this suite; None where there is none."""
    cases = [case.model_dump(mode="json", exclude_defaults=True) for case in suite.cases]
    targets = {name: spec.model_dump(mode="json") for name, spec in suite.targets.items()}
    written = {"target": suite.target and suite.target.model_dump(mode="json"), "targets": targets, "cases": cases}
    plain: Any = fill(written, {}) if suite.templated else written
    try:
        found = EvalSuite.model_validate(
            {
                **{"name": suite.name, "description": suite.description, "trials": suite.trials},
                **{"target": plain["target"], "targets": plain["targets"]},
                "tasks": [_task_of(case) for case in plain["cases"]],
            }
        )
    except ValidationError:
        return None
    return found if suite_of(found) == suite else None


def _task_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """What a case says, in the words of a task; whether it says more is for the caller to find out."""
    same = {key: value for key, value in case.items() if key in EvalTask.model_fields}
    expected = {spec["kind"]: spec.get("options") for spec in case.get("graders") or ()}
    sequence = expected.get("tool_sequence") or {}
    files = expected.get("files") or ()
    return {
        **same,
        "prompt": case.get("input"),
        "expected_patterns": expected.get("expected_patterns") or (),
        "expected_files": [{"path": file["path"], "should_contain": file.get("contains", "")} for file in files],
        "expected_exit_code": expected.get("exit_code"),
        "expected_tool_sequence": sequence.get("calls"),
        "tool_sequence_mode": sequence.get("mode", ""),
        "timeout_ms": round(case["timeout_seconds"] * 1000, 6) if case.get("timeout_seconds") else None,
    }


def _tasks(findings: Findings, data: Mapping[str, Any]) -> list[EvalTask]:
    """Each task on its own, so that every problem of every task is reported."""
    written = data.get("tasks")
    if not isinstance(written, list):
        wrong = f"must be a list, not {kind_of(written)}" if "tasks" in data else "is missing"
        findings.add(("tasks",), f"{wrong}: a task suite lists its tasks")
        return []
    if not written:
        findings.add(("tasks",), "is empty: a suite needs at least one task")
    tasks: list[EvalTask] = []
    first_place: dict[str, FieldPath] = {}
    for position, row in enumerate(written):
        place: FieldPath = ("tasks", position)
        id_ = str(row.get("id", "")) if isinstance(row, Mapping) else ""
        if id_ and first_place.setdefault(id_, (*place, "id")) != (*place, "id"):
            line = findings.source.line_of(first_place[id_])
            findings.add((*place, "id"), f"task id {quoted(id_)} is already used on line {line}")
        task = _task(findings, place, row)
        if task is not None:
            tasks.append(task)
            findings.case_at(task.id, place)
    return tasks


def _task(findings: Findings, place: FieldPath, row: Any) -> EvalTask | None:
    if not isinstance(row, Mapping):
        findings.add(place, f"a task must be a mapping with id, category and prompt, not {kind_of(row)}")
        return None
    written = _known(findings, place, row, EvalTask)
    for key in ("expectedFiles", "expected_files"):
        if isinstance(files := written.get(key), list):
            written[key] = [
                _known(findings, (*place, key, index), file, ExpectedFile) if isinstance(file, Mapping) else file
                for index, file in enumerate(files)
            ]
    if "category" not in written:
        findings.add((*place, "category"), "is missing", allowed=", ".join(TASK_CATEGORIES))
        written["category"] = TASK_CATEGORIES[0]
    _check_sequence(findings, place, written)
    task = findings.validated(place, EvalTask, written)
    if task is not None:
        check_files(findings, (*place, "files"), task.files, findings.source.path.resolve().parent)
    return task


def _check_sequence(findings: Findings, place: FieldPath, row: Mapping[str, Any]) -> None:
    """Also where the task around it is wrong: all problems at once."""
    key, mode = (
        next((spelling for spelling in (to_camel(name), name) if spelling in row), name)
        for name in ("expected_tool_sequence", "tool_sequence_mode")
    )
    written = row.get(key)
    options = sequence_options(written, row.get(mode))
    moved: dict[str, FieldPath] = {}
    if not isinstance(written, Mapping):
        moved["calls"] = (*place, key)
    if not (isinstance(written, Mapping) and written.get("mode")):
        moved["mode"] = (*place, mode)
    if options:
        findings.validated((*place, key), registry.load("grader", "tool_sequence").Options, options, moved)


def _check_targets(findings: Findings, data: Mapping[str, Any]) -> None:
    """Also where the suite around them is wrong: all problems at once."""
    targets = data["targets"] if isinstance(data.get("targets"), Mapping) else {}
    places: list[tuple[FieldPath, Any]] = [(("targets", name), target) for name, target in targets.items()]
    own = read_spec(TargetSpec, data.get("target"))
    if own is not None and not (own.options is None and own.kind in targets):
        places.append((("target",), own))
    for place, written in places:
        if (spec := read_spec(TargetSpec, written)) is not None:
            check_target(findings, place, spec, has_variables=False)


def _known(findings: Findings, place: FieldPath, row: Mapping[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """Without the keys nobody knows, which are reported, and without empty values, which say nothing."""
    spellings = {to_camel(name): name for name in model.model_fields}
    keys = {*spellings, *spellings.values()}
    findings.unknown_keys(place, [key for key in row if key not in keys], spellings, severity="warning")
    return {key: value for key, value in row.items() if key in keys and value is not None}
