"""Task suites: `name`, `description` and `tasks`, each with a prompt and what is expected of the agent's work.

Keys the format does not know are warnings: such files come from elsewhere and may say more than we read. Keys may be
written in snake_case, too. Beyond the documented keys a suite may hold `target`, `targets` and `trials`, and a task
`files`, `reference`, `tags`, `weight` and `metadata`, so that it can be run alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.alias_generators import to_camel, to_snake

from evalharness import registry
from evalharness.domain.case import CaseFile, Name
from evalharness.domain.problem import FieldPath, quoted
from evalharness.domain.record import Json, Record
from evalharness.domain.specification import GraderSpec, TargetSpec, Weight
from evalharness.domain.suite import Suite, Trials
from evalharness.domain.variables import escape, has_braces
from evalharness.formats.checking import check_files, check_target, kind_of
from evalharness.formats.problems import Findings
from evalharness.formats.source import Source

TaskCategory = Literal[
    "code_generation",
    "bug_fix",
    "refactoring",
    "code_review",
    "shell_command",
    "file_operation",
    "search_retrieval",
    "tool_use_sequence",
]
TASK_CATEGORIES: tuple[str, ...] = get_args(TaskCategory)
DEFAULT_TIMEOUT_S = 120.0
TELLING = {"prompt", "category", "expectedPatterns", "expected_patterns"}
"""Other files have `tasks`, too; a task of ours has one of these."""

Model = TypeVar("Model", bound=BaseModel)


class TaskRecord(Record):
    """Read from camelCase or snake_case; `model_dump(by_alias=True)` gives camelCase."""

    model_config = ConfigDict(alias_generator=to_camel)


class ExpectedFile(TaskRecord):
    """A file in the trial's workspace that must exist and, with `should_contain`, hold a text (in any case)."""

    path: str
    should_contain: str = ""


class EvalTask(TaskRecord):
    id: Name
    category: TaskCategory
    description: str = ""
    prompt: str
    expected_patterns: tuple[str, ...] = ()
    expected_files: tuple[ExpectedFile, ...] = ()
    expected_exit_code: int | None = None
    expected_tool_sequence: Json = None
    """Tools by name or as {name, arguments}, in order; or {calls: […], mode: subsequence | exact | any_order}."""
    tool_sequence_mode: str = ""
    max_rounds: Annotated[int, Field(ge=0)] | None = None
    required_tools: tuple[str, ...] = ()
    timeout_ms: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    files: dict[str, CaseFile] = Field(default_factory=dict)
    reference: Json = None
    tags: tuple[str, ...] = ()
    weight: Weight = 1.0
    metadata: dict[str, Json] = Field(default_factory=dict)

    @field_validator("id", mode="before")
    @classmethod
    def _numbers_are_names(cls, written: Any) -> Any:
        return str(written) if isinstance(written, int) and not isinstance(written, bool) else written

    @field_validator("id")
    @classmethod
    def _no_braces(cls, id_: str) -> str:
        if "{{" in id_:
            raise ValueError("must not hold {{")
        return id_


class EvalSuite(TaskRecord):
    name: Name
    description: str = ""
    tasks: tuple[EvalTask, ...]
    target: TargetSpec | None = None
    targets: dict[str, TargetSpec] = Field(default_factory=dict)
    trials: Trials = 1


def looks_like_task_suite(data: Any) -> bool:
    if not isinstance(data, Mapping) or not isinstance(data.get("tasks"), list) or "test_cases" in data:
        return False
    tasks = data["tasks"]
    return any(isinstance(task, Mapping) and TELLING & task.keys() for task in tasks) or (not tasks and "name" in data)


def load_task_suite(source: Source) -> tuple[Suite | None, Findings]:
    """The suite, or None; and everything found wrong with the file, all at once."""
    findings = Findings(source)
    data = source.data
    if not isinstance(data, Mapping):
        findings.add((), f"a task suite is a mapping with name and tasks, not {kind_of(data)}")
        return None, findings
    written = {"name": source.path.stem, **_known(findings, (), data, EvalSuite)}
    written["tasks"] = _tasks(findings, data)
    suite = _validated(findings, (), EvalSuite, written)
    if suite is not None:
        _check_targets(findings, suite)
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
        "graders": [spec.model_dump(mode="json") for _, spec in graders_of(task)],
        "timeout_seconds": None if task.timeout_ms is None else task.timeout_ms / 1000,
    }


def graders_of(task: EvalTask) -> Iterator[tuple[str, GraderSpec]]:
    """What is expected, each with the field that says so. The patterns count even where there are none."""
    yield "expected_patterns", GraderSpec(kind="expected_patterns", options=list(task.expected_patterns))
    if task.expected_files:
        files = [
            {"path": file.path, **({"contains": file.should_contain} if file.should_contain else {})}
            for file in task.expected_files
        ]
        yield "expected_files", GraderSpec(kind="files", options=files)
    if task.expected_exit_code is not None:
        yield "expected_exit_code", GraderSpec(kind="exit_code", options=task.expected_exit_code)
    written = task.expected_tool_sequence
    if written is not None and written != []:
        options = dict(written) if isinstance(written, Mapping) else {"calls": written}
        mode = options.pop("mode", None) or task.tool_sequence_mode
        if mode:
            options["mode"] = to_snake(mode) if isinstance(mode, str) else mode
        yield "expected_tool_sequence", GraderSpec(kind="tool_sequence", options=options)


def _tasks(findings: Findings, data: Mapping[str, Any]) -> list[EvalTask]:
    """Each task on its own, so that every problem of every task is told."""
    written = data.get("tasks")
    if not isinstance(written, list):
        findings.add(("tasks",) if "tasks" in data else (), f"tasks must be a list, not {kind_of(written)}")
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
    return tasks


def _task(findings: Findings, place: FieldPath, row: Any) -> EvalTask | None:
    if not isinstance(row, Mapping):
        findings.add(place, f"a task is a mapping with id, category and prompt, not {kind_of(row)}")
        return None
    written = _known(findings, place, row, EvalTask)
    for key in ("expectedFiles", "expected_files"):
        if isinstance(files := written.get(key), list):
            written[key] = [_file(findings, (*place, key, index), file) for index, file in enumerate(files)]
    for key in ("expectedPatterns", "expected_patterns"):
        if isinstance(written.get(key), str):
            written[key] = [written[key]]
    if "category" not in written:
        findings.add(place, "category is missing", allowed=", ".join(TASK_CATEGORIES))
        written["category"] = TASK_CATEGORIES[0]
    task = _validated(findings, place, EvalTask, written)
    if task is not None:
        _check_task(findings, place, row, task)
    return task


def _file(findings: Findings, place: FieldPath, file: Any) -> Any:
    """A bare path, or {path, shouldContain}."""
    if isinstance(file, str):
        return {"path": file}
    return _known(findings, place, file, ExpectedFile) if isinstance(file, Mapping) else file


def _check_task(findings: Findings, place: FieldPath, row: Mapping[str, Any], task: EvalTask) -> None:
    for field, spec in graders_of(task):
        options = registry.load("grader", spec.kind).Options
        try:
            options.model_validate(spec.options)
        except ValidationError as error:
            findings.invalid((*place, to_camel(field) if to_camel(field) in row else field), error, options)
    check_files(findings, (*place, "files"), task.files, findings.source.path.resolve().parent)


def _check_targets(findings: Findings, suite: EvalSuite) -> None:
    for name, target in suite.targets.items():
        check_target(findings, ("targets", name), target)
    target_ = suite.target
    if target_ is not None and not (target_.options is None and target_.kind in suite.targets):
        check_target(findings, ("target",), target_)


def _known(findings: Findings, place: FieldPath, row: Mapping[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """Without the keys nobody knows, which are told, and without empty values, which say nothing."""
    spellings = {to_camel(name): name for name in model.model_fields}
    keys = {*spellings, *spellings.values()}
    findings.unknown_keys(place, [key for key in row if key not in keys], spellings, severity="warning")
    return {key: value for key, value in row.items() if key in keys and value is not None}


def _validated(findings: Findings, place: FieldPath, model: type[Model], written: Mapping[str, Any]) -> Model | None:
    try:
        return model.model_validate(written)
    except ValidationError as error:
        findings.invalid(place, error, model)
        return None
