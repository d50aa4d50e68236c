"""What the documents of task suites, workflow datasets and eval-harness files say, row by row, by the public names.

If ours differs on purpose, the row says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalharness import Case, Suite, datasets, evaluate, tasks
from evalharness.errors import DatasetValidationError, UsageError
from evalharness.stats.pass_k import pass_hat_k

LONG = "This answer is certainly long enough."


@pytest.mark.parametrize(
    ("output", "patterns", "passed", "score", "actual"),
    [
        ("ERROR: lost the database", ["regex:error:.+database"], True, 1.0, "matched"),
        ("the cat sat", ["contains:CAT", "contains:dog"], False, 0.5, "not found"),
        ("one two", ["one", "TWO", "three"], False, 2 / 3, "not found"),
        ("Hi", None, False, 0.0, None),
        (LONG, [], True, 1.0, None),
        ("😀" * 6, [], True, 1.0, None),  # twelve UTF-16 units
        ("😀" * 5, [], False, 0.0, None),
        ("an error occurred", ["not_contains:ERROR"], False, 0.0, "found forbidden: error"),
        ("all well", ["not_contains:error"], True, 1.0, "correctly absent"),
        ("anything", ["contains:"], True, 1.0, "found"),
        ("anything", ["not_contains:"], False, 0.0, "found forbidden: "),
        ("line\n", ["regex:line$"], False, 0.0, "no match"),  # JavaScript's $ is the very end
        ("٣", ["regex:\\d"], False, 0.0, "no match"),  # and its \d is ASCII
    ],
)
def test_patterns_of_a_task(
    output: str, patterns: list[str] | None, passed: bool, score: float, actual: str | None
) -> None:
    scored = tasks.score_response(output, patterns)
    assert (scored.passed, scored.score) == (passed, pytest.approx(score))
    if actual is not None:
        assert scored.details[-1].actual == actual


@pytest.mark.parametrize(
    ("content", "needle", "passed", "check", "actual"),
    [
        ("anything", "", True, "file_exists:a.py", None),  # the originals leave the path out
        ("def CALCULATE_TOTAL(): ...", "calculate_total", True, "file_contains:calculate_total", None),
        ("nothing here", "calculate_total", False, "file_contains:calculate_total", "content length 12"),
        (None, "calculate_total", False, "file_exists:a.py", "file not found"),
    ],
)
def test_files_of_a_task(content: str | None, needle: str, passed: bool, check: str, actual: str | None) -> None:
    detail = tasks.score_file_content(content, needle, "a.py")
    assert (detail.passed, detail.check) == (passed, check)
    if actual is not None:
        assert actual in detail.actual


def test_a_missing_file_lowers_the_score_of_its_task(tmp_path: Path) -> None:
    """In the originals it only set `passed` to false, so comparisons of scores missed it."""
    suite = tasks.EvalSuite.model_validate(
        {
            "name": "files",
            "tasks": [
                {
                    "id": "t",
                    "category": "file_operation",
                    "description": "",
                    "prompt": "write it",
                    "expectedPatterns": ["done"],
                    "expectedFiles": [{"path": "a.txt"}],
                }
            ],
        }
    )
    summary = tasks.run_suite(suite, lambda prompt: "done", store=str(tmp_path / "store.db"))
    [result] = summary.results
    assert (result.passed, result.score) == (False, 0.5)


PARTS = ("coder-reviewer.v1", "simple-api", "claude-default", "coder", 0)


def test_recording_ids_go_there_and_back() -> None:
    text = datasets.generate_recording_id(*PARTS)
    assert text == "eval__coder-reviewer.v1__simple-api__claude-default__coder__inv0"
    assert datasets.parse_recording_id(text) == PARTS
    odd = ("my__data", "a/b", "claude/sonnet", "_node_", 12)  # these do not come back in the originals
    assert datasets.parse_recording_id(datasets.generate_recording_id(*odd)) == odd


def test_a_recording_id_is_made_from_one_object_as_documented() -> None:
    names = ("datasetId", "caseId", "variantId", "nodeId", "invocation")
    parts = dict(zip(names, PARTS, strict=True))
    assert datasets.generate_recording_id(parts) == datasets.generate_recording_id(*PARTS)
    with pytest.raises(UsageError, match=r"the parts of a recording's id are datasetId, caseId, .*, got datasetId"):
        datasets.generate_recording_id({"datasetId": "a"})


@pytest.mark.parametrize("text", ["invalid-id", "eval__missing__parts", ""])
def test_what_is_not_a_recording_id(text: str) -> None:
    assert datasets.parse_recording_id(text) is None


def complete(node: str, duration_ms: float, cost_usd: float, tokens: tuple[int, int]) -> dict[str, Any]:
    usage = {"inputTokens": tokens[0], "outputTokens": tokens[1]}
    event = {"type": "agent:complete", "nodeId": node, "usage": usage}
    return {**event, "durationMs": duration_ms, "totalCostUsd": cost_usd, "timestamp": 1}


def artifact(outputs: Any = None, events: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"runId": "run-1", "snapshot": {"outputs": outputs or {}, "state": {}}, "events": events or []}


def judged(assertion: dict[str, Any], outputs: Any = None, events: list[dict[str, Any]] | None = None) -> Any:
    [result] = datasets.evaluate_assertions(artifact(outputs, events), [assertion])
    return result


@pytest.mark.parametrize(
    ("assertion", "outputs", "passed", "told"),
    [
        (("contains", "outputs.main", "world"), {"main": "Hello world"}, True, ""),
        (("contains", "outputs.main", "goodbye"), {"main": "Hello world"}, False, ""),
        (("contains", "outputs.other", "x"), {"main": "Hello world"}, False, "not found"),
        (("contains", "outputs.main", '"a":1'), {"main": {"a": 1}}, True, ""),
        (("contains", "outputs.main", ""), {"main": 0}, True, ""),
        (("equals", "outputs.a.b", 42), {"a": {"b": 42}}, True, ""),
        (("equals", "outputs.main", {"b": 2, "a": 1}), {"main": {"a": 1, "b": 2}}, True, ""),
        (("equals", "outputs.main", 10), {"main": 5}, False, "5"),
        (("equals", "outputs.main", "5"), {"main": 5}, False, ""),
        (("equals", "outputs.list.1.name", "b"), {"list": [{"name": "a"}, {"name": "b"}]}, True, ""),
        (("equals", "outputs.list.length", 2), {"list": [1, 2]}, True, ""),
    ],
)
def test_assertions_on_outputs(assertion: tuple[str, str, Any], outputs: Any, passed: bool, told: str) -> None:
    kind, path, value = assertion
    result = judged({"type": f"output.{kind}", "path": path, "value": value}, outputs)
    assert result.passed is passed
    assert passed or told in (result.message or "")


@pytest.mark.parametrize(
    ("kind", "limit", "event", "actual"),
    [
        ("latency_ms", 30_000, complete("coder", 45_000, 0, (0, 0)), 45_000),
        ("total_cost_usd", 1.0, complete("coder", 0, 2.5, (0, 0)), 2.5),
        ("tokens.input", 10_000, complete("coder", 0, 0, (50_000, 0)), 50_000),
        ("tokens.output", 5_000, complete("coder", 0, 0, (0, 25_000)), 25_000),
    ],
)
def test_budgets(kind: str, limit: float, event: dict[str, Any], actual: float) -> None:
    over = judged({"type": f"metric.{kind}.max", "value": limit}, events=[event])
    assert (over.passed, over.actual) == (False, actual)
    assert judged({"type": f"metric.{kind}.max", "value": actual}, events=[event]).passed, "a limit may be reached"


def test_metrics_are_summed_over_nodes_and_kept_by_node() -> None:
    events = [complete("coder", 2000, 0.02, (500, 200)), complete("reviewer", 1500, 0.015, (400, 100))]
    view = datasets.create_artifact_view(artifact(events=events))
    nodes = view.metrics.by_node
    assert sum(node.duration_ms for node in nodes.values()) == 3500
    assert sum(node.total_cost_usd for node in nodes.values()) == pytest.approx(0.035)
    assert (nodes["coder"].input_tokens, nodes["reviewer"].output_tokens) == (500, 100)
    assert judged({"type": "metric.tokens.input.max", "value": 899}, events=events).actual == 900


def test_invocations_of_a_node() -> None:
    events = [complete("coder", 1, 0, (0, 0))] * 3
    result = judged({"type": "behavior.node_invocations.max", "nodeId": "coder", "value": 2}, events=events)
    assert (result.passed, result.actual) == (False, 3)
    assert judged({"type": "behavior.node_invocations.max", "nodeId": "other", "value": 2}, events=events).passed


def test_errors_of_agents_and_of_nodes_are_errors() -> None:
    """The originals see only those of agents."""
    failed = {"type": "agent:error", "nodeId": "coder", "errorType": "x", "message": "boom", "timestamp": 1}
    result = judged({"type": "behavior.no_errors"}, events=[failed])
    assert (result.passed, "boom" in (result.message or "")) == (False, True)
    node = {"type": "node:error", "nodeId": "coder", "error": "crash", "timestamp": 1}
    assert not judged({"type": "behavior.no_errors"}, events=[node]).passed


DATASET: dict[str, Any] = {
    "id": "d.v1",
    "workflowName": "w",
    "version": "1",
    "cases": [{"id": "a", "input": {}, "assertions": [{"type": "behavior.no_errors"}]}],
}


@pytest.mark.parametrize(
    "change",
    [
        {"id": ""},
        {"workflowName": ""},
        {"cases": []},
        {"cases": "none"},  # the originals crash here
        {"cases": [DATASET["cases"][0], DATASET["cases"][0]]},
        {"cases": [{"id": "with space", "input": 1, "assertions": []}]},
        {"cases": [{"id": "a", "input": 1, "assertions": [{"type": "output.sounds_like"}]}]},
    ],
)
def test_what_is_wrong_with_a_dataset(change: dict[str, Any]) -> None:
    with pytest.raises(DatasetValidationError):
        datasets.load_dataset({**DATASET, **change})
    assert not datasets.validate_dataset({**DATASET, **change}).valid


def test_all_nine_assertions_load() -> None:
    assertions = [
        {"type": "output.contains", "path": "outputs.main", "value": "x"},
        {"type": "output.equals", "path": "outputs.main", "value": [1]},
        {"type": "metric.latency_ms.max", "value": 1},
        {"type": "metric.total_cost_usd.max", "value": 0},
        {"type": "metric.tokens.input.max", "value": 1},
        {"type": "metric.tokens.output.max", "value": 1},
        {"type": "behavior.no_errors"},
        {"type": "behavior.node_executed", "nodeId": "n"},
        {"type": "behavior.node_invocations.max", "nodeId": "n", "value": 1},
    ]
    case = {"id": "a", "input": {}, "assertions": assertions}
    assert len(datasets.load_dataset({**DATASET, "cases": [case]}).cases[0].assertions) == 9


def test_warnings_do_not_make_a_dataset_invalid() -> None:
    silent = {**DATASET, "cases": [{"id": "a", "input": 1, "assertions": []}]}
    found = datasets.validate_dataset(silent)
    assert found.valid and found.warnings
    repeated = datasets.validate_dataset({**DATASET, "cases": DATASET["cases"] * 2})
    assert not repeated.valid and repeated.warnings


def test_datasets_in_a_folder(tmp_path: Path) -> None:
    for name in ("b.json", "a.json", "readme.md"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    assert [path.name for path in datasets.discover_datasets(tmp_path)] == ["a.json", "b.json"]
    assert datasets.discover_datasets(tmp_path / "missing") == []


@pytest.mark.parametrize(
    ("ideal_ms", "max_ms", "took_ms", "value"),
    [(1000, 30_000, 500, 1.0), (0, 10_000, 5_000, 0.5), (0, 30_000, 45_000, 0.0), (9, 9, 9, 1.0)],
)
def test_latency_scores(ideal_ms: float, max_ms: float, took_ms: float, value: float) -> None:
    scorer = datasets.create_latency_scorer(max_ms=max_ms, ideal_ms=ideal_ms)
    score = scorer.score(artifact(events=[complete("main", took_ms, 0, (0, 0))]))
    assert (score.name, score.value, score.raw_value) == ("latency", pytest.approx(value), took_ms)
    assert score.metadata["unit"] == "ms"


@pytest.mark.parametrize(
    ("algorithm", "text", "expected", "value"),
    [
        ("exact", "hello", "hello", 1.0),
        ("exact", "hello", "hullo", 0.0),
        ("contains", "well, hello there", "hello", 1.0),
        ("levenshtein", "kitten", "sitting", 1 - 3 / 7),  # always 0.5 in the originals
    ],
)
def test_similarity_scores(algorithm: Any, text: str, expected: str, value: float) -> None:
    scorer = datasets.create_similarity_scorer("main.text", expected, algorithm)
    assert scorer.score(artifact({"main": {"text": text}})).value == pytest.approx(value)
    missing = scorer.score(artifact({"main": {}}))
    assert (missing.value, "error" in missing.metadata) == (0.0, True)


@pytest.mark.parametrize(
    ("grader", "answer", "passes"),
    [
        ({"exact": "olleh"}, " olleh\r\n", True),
        ({"exact": "abc"}, "Abc", False),
        ({"exact": {"value": "abc", "case_sensitive": False}}, "Abc", True),
        ({"regex": {"value": "TODO", "must_match": False}}, "done", True),
    ],
)
def test_exact_match_and_regex(grader: dict[str, Any], answer: str, passes: bool, tmp_path: Path) -> None:
    case = Case(id="a", input="?", graders=[grader])
    run = evaluate(Suite(name="s", cases=[case]), lambda question: answer, store=str(tmp_path / "store.db"))
    assert (run.passed, run.trials[0].score) == (passes, 1.0 if passes else 0.0)  # a passing must_match: false scored 0


@pytest.mark.parametrize(("k", "plugin"), [(1, 0.8), (3, 0.512), (5, 0.32768)])
def test_pass_hat_k(k: int, plugin: float) -> None:
    assert pass_hat_k(10, 8, k, estimator="plugin") == pytest.approx(plugin)
    assert pass_hat_k(10, 8, 3) == pytest.approx(0.4667, abs=1e-4), "the unbiased estimator is our default"
