"""Workflow datasets: every rule of the schema, reported with its line, and the suite that a valid one becomes."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from evalharness import registry
from evalharness.documents.assertions import ASSERTIONS, evaluate_assertions
from evalharness.domain.problem import Problem
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import Suite
from evalharness.formats.native.reader import load_native
from evalharness.formats.native.writer import dump_suite
from evalharness.formats.problems import Findings
from evalharness.formats.workflow_datasets.reader import load_workflow_dataset, looks_like_dataset
from evalharness.formats.workflow_datasets.records import DEFAULT_SCORERS, EvalCase, EvalDataset
from evalharness.syntax.source import parse_text
from evalharness.values.variables import fill

PAGE = (Path(__file__).parents[3] / "docs" / "workflow-datasets.md").read_text(encoding="utf-8")
NINE: list[dict[str, Any]] = [
    {"type": "output.contains", "path": "outputs.main.text", "value": "hello"},
    {"type": "output.equals", "path": "outputs.main.status", "value": None},
    {"type": "metric.latency_ms.max", "value": 30000},
    {"type": "metric.total_cost_usd.max", "value": 0},
    {"type": "metric.tokens.input.max", "value": 10000},
    {"type": "metric.tokens.output.max", "value": 5000},
    {"type": "behavior.no_errors"},
    {"type": "behavior.node_executed", "nodeId": "coder"},
    {"type": "behavior.node_invocations.max", "nodeId": "coder", "value": 3},
]
SOUND: dict[str, Any] = {
    "id": "my-workflow.v1",
    "workflowName": "my-workflow",
    "version": "1.0.0",
    "cases": [
        {"id": "basic", "name": "Basic", "input": {"task": "Say hello"}, "assertions": NINE, "tags": ["smoke"]},
        {"id": "more_2", "input": None, "assertions": [{"type": "output.equals", "path": "outputs.main"}]},
    ],
}


def load(data: Any, ending: str = ".json") -> tuple[Suite | None, Findings]:
    text = data if isinstance(data, str) else json.dumps(data, indent=1)
    return load_workflow_dataset(parse_text(text, ending, Path(f"dataset{ending}")))


def loaded(data: Any, ending: str = ".json") -> Suite:
    suite, findings = load(data, ending)
    assert suite is not None, findings.problems
    return suite


def told(data: Any, severity: str = "error") -> list[tuple[str, str]]:
    return [(each.field, each.message) for each in load(data)[1].problems if each.severity == severity]


def changed(path: str, value: Any = ...) -> dict[str, Any]:
    """The valid dataset with one place changed or removed."""
    data = copy.deepcopy(SOUND)
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    node: Any = data
    for step in way:
        node = node[step]
    if value is ...:
        del node[last]
    else:
        node[last] = value
    return data


def test_a_dataset_becomes_a_suite_that_passes_by_assertions_and_scores_by_scorers() -> None:
    suite = loaded(SOUND)
    assert (suite.name, suite.version, suite.metadata) == ("my-workflow.v1", "1.0.0", {"workflowName": "my-workflow"})
    assert [(spec.kind, spec.required, spec.weight) for spec in suite.graders] == [
        ("latency", False, 1),
        ("cost", False, 1),
        ("tokens", False, 1),
    ]
    basic, more = suite.cases
    assert (basic.id, basic.name, basic.input, basic.tags) == ("basic", "Basic", {"task": "Say hello"}, ("smoke",))
    assert basic.expected == GraderSpec(kind="assertions", options=NINE, weight=0)
    assert more.expected is not None
    assert more.expected.options == [{"type": "output.equals", "path": "outputs.main"}], "a missing value is not null"
    assert not suite.templated


def test_a_sound_dataset_has_no_problems() -> None:
    assert load(SOUND)[1].problems == []


@pytest.mark.parametrize(
    ("data", "place", "message"),
    [
        (changed("id"), "id", "missing"),
        (changed("id", ""), "id", "must not be empty"),
        (changed("id", "my workflow"), "id", "must consist of letters, digits and"),
        (changed("id", "line\n"), "id", "must consist of letters, digits and"),
        (changed("id", 7), "id", "must be text"),
        (changed("workflowName"), "workflowName", "missing"),
        (changed("workflowName", ""), "workflowName", "must not be empty"),
        (changed("version"), "version", "missing"),
        (changed("version", ""), "version", "must not be empty"),
        (changed("version", 1.0), "version", "must be text"),
        (changed("cases"), "cases", "missing"),
        (changed("cases", []), "cases", "at least one case"),
        (changed("cases", {"id": "basic"}), "cases", "must be a list"),
        (changed("cases", "abc"), "cases", "must be a list"),
        (changed("cases.0", "abc"), "cases[0]", "a case must be a mapping"),
        (changed("cases.0.id"), "cases[0].id", "missing"),
        (changed("cases.0.id", "with.dot"), "cases[0].id", "must consist of letters, digits and"),
        (changed("cases.0.id", "with space"), "cases[0].id", "must consist of letters, digits and"),
        (changed("cases.1.id", "basic"), "cases[1].id", "already the id of cases[0]"),
        (changed("cases.0.name", 5), "cases[0].name", "must be text"),
        (changed("cases.0.tags", "smoke"), "cases[0].tags", "must be a list"),
        (changed("cases.0.tags", [1]), "cases[0].tags[0]", "must be text"),
        (changed("cases.0.assertions"), "cases[0].assertions", "missing"),
        (changed("cases.0.assertions", {}), "cases[0].assertions", "must be a list"),
        (changed("cases.0.assertions.0", "x"), "cases[0].assertions[0]", "an assertion must be a mapping"),
        (changed("cases.0.assertions.0", {}), "cases[0].assertions[0].type", "missing"),
        (changed("cases.0.assertions.0.type", ["x"]), "cases[0].assertions[0].type", "unknown assertion type"),
        (changed("cases.0.assertions.0.path"), "cases[0].assertions[0].path", "missing"),
        (changed("cases.0.assertions.0.path", ""), "cases[0].assertions[0].path", "must not be empty"),
        (changed("cases.0.assertions.0.value", 5), "cases[0].assertions[0].value", "must be text"),
        (changed("cases.0.assertions.1.path"), "cases[0].assertions[1].path", "missing"),
        (changed("cases.0.assertions.2.value", 0), "cases[0].assertions[2].value", "greater than 0"),
        (changed("cases.0.assertions.2.value", "5"), "cases[0].assertions[2].value", "must be a number"),
        (changed("cases.0.assertions.2.value", True), "cases[0].assertions[2].value", "must be a number"),
        (changed("cases.0.assertions.3.value", -0.01), "cases[0].assertions[3].value", "at least 0"),
        (changed("cases.0.assertions.4.value", 1.5), "cases[0].assertions[4].value", "whole number"),
        (changed("cases.0.assertions.5.value", 0), "cases[0].assertions[5].value", "greater than 0"),
        (changed("cases.0.assertions.7.nodeId"), "cases[0].assertions[7].nodeId", "missing"),
        (changed("cases.0.assertions.7.nodeId", ""), "cases[0].assertions[7].nodeId", "must not be empty"),
        (changed("cases.0.assertions.8.value"), "cases[0].assertions[8].value", "missing"),
        ([], "", "a dataset must be a mapping"),
        (None, "", "a dataset must be a mapping"),
    ],
)
def test_every_rule_of_the_schema_is_reported_once(data: Any, place: str, message: str) -> None:
    """A duplicate too: it is not reported a second time as a warning."""
    suite, findings = load(data)
    assert suite is None
    [problem] = findings.problems
    assert (problem.field, problem.severity) == (place, "error")
    assert message in problem.message


def test_an_assertion_type_gets_a_did_you_mean() -> None:
    _, findings = load(changed("cases.0.assertions.0.type", "output.contain"))
    [problem] = findings.problems
    assert problem.suggestion == "output.contains"
    assert "behavior.no_errors" in problem.allowed


def test_all_problems_come_at_once_with_their_lines() -> None:
    text = """\
id: bad id
workflowName: ''
cases:
  - id: a.b
    assertions:
      - type: metric.tokens.input.max
        value: 1.5
  - assertions: []
"""
    _, findings = load(text, ".yaml")
    assert [(each.line, each.field) for each in findings.problems if each.severity == "error"] == [
        (1, "id"),
        (1, "version"),
        (2, "workflowName"),
        (4, "cases[0].id"),
        (7, "cases[0].assertions[0].value"),
        (8, "cases[1].id"),
    ]


def test_what_may_be_a_mistake_is_a_warning() -> None:
    data = copy.deepcopy(SOUND)
    data["cases"] += [{"id": f"c{n}", "assertions": [], "tags": ["seen"]} for n in range(2)]
    suite, findings = load(data)
    assert suite is not None
    assert suite.cases[2].expected is None
    assert told(data, "warning") == [
        ("cases[0].tags[0]", "tag 'smoke' is used only once"),
        ("cases[2].assertions", "is empty: any run would pass"),
        ("cases[3].assertions", "is empty: any run would pass"),
    ]
    assert all(problem.line for problem in findings.problems)


def test_lonely_tags_are_not_a_surprise_in_up_to_three_cases() -> None:
    data = copy.deepcopy(SOUND)
    data["cases"].append({"id": "third", "assertions": NINE, "tags": ["slow"]})
    assert told(data, "warning") == []


def test_unknown_keys_are_warnings_with_a_did_you_mean() -> None:
    data = copy.deepcopy(SOUND)
    data["owner"] = "me"
    data["cases"][0]["tag"] = "x"
    data["cases"][0]["assertions"] = [{"type": "behavior.no_errors", "vale": 1}]
    data["variants"] = [{"id": "v", "providerTypeByNode": {}, "modelsByNode": {}}]
    suite, findings = load(data)
    assert suite is not None
    assert {(each.field, each.suggestion) for each in findings.problems if each.severity == "warning"} == {
        ("owner", ""),
        ("cases[0].tag", "tags"),
        ("cases[0].assertions[0].vale", ""),
        ("variants[0].modelsByNode", "modelByNode"),
    }
    assert suite.cases[0].expected == GraderSpec(kind="assertions", options=[{"type": "behavior.no_errors"}], weight=0)


def test_a_dataset_may_say_how_it_is_run() -> None:
    target = {"command": "./flow", "result": "artifact"}
    suite = loaded(
        {
            **SOUND,
            "target": "fast",
            "targets": {"fast": target},
            "trials": 3,
            "variants": [
                {"id": "claude/sonnet", "providerTypeByNode": {"coder": "anthropic"}, "tags": ["new"]},
                {"id": "local", "modelByNode": {"coder": "small"}, "target": "echo"},
            ],
        }
    )
    assert suite.trials == 3
    assert suite.target is not None
    assert suite.named_target(suite.target).options == target
    first, second = suite.variants
    assert (first.name, first.target, first.provider_type_by_node, first.tags) == (
        "claude/sonnet",
        None,
        {"coder": "anthropic"},
        ("new",),
    )
    assert (second.model_by_node, second.target) == ({"coder": "small"}, TargetSpec(kind="echo"))


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ({"variants": [{"providerTypeByNode": {}}]}, "variants[0]."),
        ({"variants": [{"id": "a"}, {"id": "a"}]}, "variants"),
        ({"variants": [{"id": "{{a}}"}]}, "variants"),
        ({"variants": "a"}, "variants"),
        ({"variants": [5]}, "variants[0]"),
        ({"variants": [{"id": "a", "target": "orakel"}]}, "variants[0].target"),
        ({"target": {"command": "ls", "result": "art"}}, "target.result"),
        ({"targets": {"x": "orakel"}}, "targets.x"),
        ({"targets": {"x": "x"}}, "targets.x"),
        ({"trials": 0}, "trials"),
        ({"scorers": "latency"}, "scorers"),
        ({"scorers": [{"maxMs": 5}]}, "scorers[0]"),
        ({"scorers": [5]}, "scorers[0]"),
        ({"scorers": ["speed"]}, "scorers[0]"),
        ({"scorers": [{"name": "latency", "weight": -1}]}, "scorers[0].weight"),
        ({"scorers": [{"name": "latency", "max": 5}]}, "scorers[0].max"),
    ],
)
def test_what_says_how_it_is_run_is_checked_too(written: dict[str, Any], place: str) -> None:
    suite, findings = load({**SOUND, **written})
    assert suite is None
    assert [problem.field.startswith(place) for problem in findings.problems] == [True], findings.problems


def test_variants_without_an_id_or_with_a_taken_one_are_reported_beside_what_else_is_wrong() -> None:
    variants = [{"id": "v", "modelByNode": 5}, {"tags": ["x"]}, {"id": "v"}, {"name": "v"}]
    _, findings = load({**SOUND, "variants": variants})
    assert sorted(f"{problem.field}: {problem.message}" for problem in findings.problems) == [
        "variants[0].modelByNode: must be a mapping, not 5",
        "variants[1].id: is missing",
        "variants[2].id: is already the id of variants[0]",
        "variants[3].name: is already the id of variants[0]",
    ]


def test_an_unknown_scorer_is_reported_with_the_scorers_there_are() -> None:
    _, findings = load({**SOUND, "scorers": ["latncy", "nothing", "llm-judge", {"name": "llm-judge", "model": "a/b"}]})
    assert [problem.suggestion for problem in findings.problems] == ["latency", "", "", ""]
    assert findings.problems[1].allowed == "latency, cost, tokens, similarity, llm-judge, FILE.py:NAME"
    assert [f"{problem.field}: {problem.message}" for problem in findings.problems[2:]] == [
        "scorers[2]: is missing",
        "scorers[3].criteria: is missing",
    ]


def test_a_judge_scores_what_is_at_its_path() -> None:
    judge = {"name": "llm-judge", "outputPath": "main.text", "criteria": "Is it kind?", "cache": False, "enabled": True}
    suite = loaded({**SOUND, "scorers": [judge]})
    [spec] = suite.graders
    assert (spec.kind, spec.required) == ("llm-judge", False)
    options = registry.parse_options("grader", spec)
    assert (options.output_path, options.enabled, options.cache) == ("main.text", True, False)


def test_scorers_take_the_place_of_the_default_ones() -> None:
    suite = loaded(
        {
            **SOUND,
            "scorers": [
                "cost",
                "scorers.py:mine",
                {"name": "latency", "maxMs": 500, "ideal_ms": 10, "weight": 2},
                {"type": "similarity", "name": "close", "outputPath": "main.text", "expectedValue": "hi"},
            ],
        }
    )
    assert [(spec.kind, spec.label, spec.options, spec.weight, spec.required) for spec in suite.graders] == [
        ("cost", "cost", None, 1, False),
        ("scorer", "scorers.py:mine", "scorers.py:mine", 1, False),
        ("latency", "latency", {"maxMs": 500, "ideal_ms": 10}, 2, False),
        ("similarity", "close", {"outputPath": "main.text", "expectedValue": "hi"}, 1, False),
    ]


def test_braces_are_text_in_a_dataset_and_survive_as_a_native_file() -> None:
    data = changed("cases.0.input", {"{{who}}": r"Hi {{who}} and \{{you"})
    data["cases"][0]["assertions"][0]["value"] = "{{who}}"
    suite = loaded(data)
    assert suite.templated
    case = suite.cases[0]
    assert fill(case.input, {"who": "Ada"}) == data["cases"][0]["input"]
    assert case.expected is not None
    assert fill(case.expected.options, {"who": "Ada"})[0]["value"] == "{{who}}"
    assert reloaded(suite) == suite


@pytest.mark.parametrize(
    "data",
    [
        SOUND,
        changed("version", "{{v}}"),
        changed("cases.1.assertions", []),
        {**SOUND, "variants": [{"id": "a", "modelByNode": {"{{n}}": "{{m}}"}}, {"id": "b", "target": "cmd:ls {{x}}"}]},
        {**SOUND, "scorers": [{"name": "latency", "maxMs": 5, "weight": 2}, "cost"], "targets": {"x": "echo"}},
    ],
)
def test_what_was_loaded_is_the_same_from_its_native_dump(data: Any) -> None:
    suite = loaded(data)
    assert reloaded(suite) == suite


def reloaded(suite: Suite) -> Suite | None:
    again, findings = load_native(parse_text(dump_suite(suite), ".yaml", Path("suite.yaml")))
    assert not findings.has_errors, findings.problems
    return again


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (SOUND, True),
        ({"cases": [], "workflowName": "w"}, True),
        ({"cases": 5, "workflowName": "w"}, True),
        ({"cases": [{"input": "x", "assertions": []}]}, True),
        ({"id": "i", "version": "1", "cases": [{"input": "x"}]}, True),
        ({"cases": [{"input": "x"}]}, False),
        ({"workflowName": "w"}, False),
        ({"test_cases": []}, False),
        ([SOUND], False),
        ("cases workflowName", False),
        (None, False),
    ],
)
def test_a_dataset_is_recognised_by_what_it_contains(data: Any, expected: bool) -> None:
    assert looks_like_dataset(data) is expected


def test_a_problem_is_printed_with_file_line_and_field() -> None:
    _, findings = load(changed("id"))
    [problem] = findings.problems
    assert problem == Problem("dataset.json", 1, "id", "is missing")


@pytest.mark.parametrize("block", re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
def test_every_json_block_of_the_page_is_sound(block: str) -> None:
    written = json.loads(block)
    if "snapshot" in written:
        assert evaluate_assertions(written, [{"type": "output.equals", "path": "outputs.main.text", "value": "hello"}])
    else:
        assert loaded(written if "cases" in written else {**SOUND, **written}).cases


def test_the_page_names_every_assertion_and_key() -> None:
    keys = [field.alias or name for name, field in EvalDataset.model_fields.items()]
    names = [*ASSERTIONS, *keys, *EvalCase.model_fields, *DEFAULT_SCORERS]
    assert [name for name in names if f"`{name}`" not in PAGE] == []
