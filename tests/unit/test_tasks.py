"""The Python API of task suites: its names, its scoring of single answers and files, and a run of a suite."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evalharness import Answer, Case, Suite, ToolCall, Usage, evaluate, tasks
from evalharness.domain.case import CaseFile
from evalharness.errors import TargetUnavailable, UsageError
from evalharness.tasks import (
    EvalResult,
    EvalSuite,
    EvalTask,
    ExpectedFile,
    check_regression,
    detect_regressions,
    evaluate_retrieval,
    get_suite,
    list_baselines,
    list_suites,
    run_suite,
    save_suite,
    score_file_content,
    score_response,
    set_baseline,
)

OF_THE_DOCUMENT = {
    "EvalTask",
    "EvalResult",
    "EvalSuite",
    "EvalRunSummary",
    "RegressionCheck",
    "score_response",
    "score_file_content",
    "check_regression",
    "run_suite",
    "set_baseline",
    "list_baselines",
    "detect_regressions",
}


def test_every_name_of_the_document_is_there() -> None:
    assert set(tasks.__all__) >= OF_THE_DOCUMENT
    assert all(hasattr(tasks, name) for name in tasks.__all__)


@pytest.mark.parametrize(
    ("output", "patterns", "score", "actual"),
    [
        ("ERROR: cannot reach database", ["regex:error:.+database"], 1, ["matched"]),
        ("one two", ["regex:^three$"], 0, ["no match"]),
        ("Hello", ["contains:hello", "bye"], 0.5, ["found", "not found"]),
        ("a b", ["a", "contains:b", "c"], 2 / 3, ["found", "found", "not found"]),
        ("an Error came", ["not_contains:error"], 0, ["found forbidden: error"]),
        ("all well", ["not_contains:error"], 1, ["correctly absent"]),
        ("REGEX:x", ["REGEX:x"], 1, ["found"]),  # only the lower-case prefix counts
        ("x", ["contains:"], 1, ["found"]),
        ("x", ["not_contains:"], 0, ["found forbidden: "]),
        ("Hi", None, 0, ["2 characters"]),
        ("a", None, 0, ["1 character"]),
        ("A longer text", [], 1, ["13 characters"]),
        ("😀" * 6, None, 1, ["12 characters"]),  # counted as JavaScript counts
        ("value\n", ["regex:value$"], 0, ["no match"]),  # `$` is the very end, as in JavaScript
    ],
)
def test_score_response(output: str, patterns: list[str] | None, score: float, actual: list[str]) -> None:
    scored = score_response(output, patterns)
    assert scored.score == pytest.approx(score)
    assert scored.passed is (score == 1), "all must match, although the document also says at least one"
    assert [detail.actual for detail in scored.details] == actual


def test_a_pattern_that_is_not_an_expression_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="not a regular expression"):
        score_response("x", ["regex:("])


def test_one_pattern_alone_is_taken_as_a_whole() -> None:
    assert score_response("Hello Ada", "hello") == score_response("Hello Ada", ["hello"])
    assert score_response("h e l o", "hello").score == 0, "not letter by letter"


@pytest.mark.parametrize("patterns", [[1], [None, "x"], [["x"]], 5, {"x": 1}, b"x", {"x"}])
def test_patterns_that_are_not_texts_are_a_usage_error(patterns: Any) -> None:
    with pytest.raises(UsageError, match="expected patterns must be a text or a list of texts, not"):
        score_response("x", patterns)


def test_an_output_that_is_not_text_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="the output must be text, not 5"):
        score_response(5, ["x"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "needle", "passed", "check", "actual"),
    [
        ("anything", "", True, "file_exists:a.py", "file found"),
        ("def CALCULATE_TOTAL", "calculate_total", True, "file_contains:calculate_total", "found"),
        ("nothing", "def", False, "file_contains:def", "content length 7"),
        (None, "def", False, "file_exists:a.py", "file not found"),
    ],
)
def test_score_file_content(content: str | None, needle: str, passed: bool, check: str, actual: str) -> None:
    detail = score_file_content(content, needle, path="a.py")
    assert (detail.passed, detail.check, detail.actual) == (passed, check, actual)


def test_no_output_is_an_empty_one_and_a_file_need_not_be_named() -> None:
    assert score_response(None).details[0].actual == "0 characters"
    assert score_response(None, ["x"]).passed is False
    found, lacks = score_file_content("text"), score_file_content("text", "needle")
    assert (found.check, found.expected) == ("file_exists", "")
    assert lacks.expected == "contains needle"


def test_the_expected_document_at_rank_3_of_3_is_no_hit_at_1() -> None:
    """In the original, the rank does not matter: it would be a hit with an MRR of 1."""
    found = evaluate_retrieval("Which port?", ["intro", "install", "ports"], "ports")
    assert found.model_dump(by_alias=True) == {
        "query": "Which port?",
        "retrievedCount": 3,
        "k": None,
        "hitAt1": False,
        "hitAtK": True,
        "recall": 1.0,
        "precisionAtK": 1 / 3,
        "mrr": 1 / 3,
        "ndcg": 0.5,
        "ranks": {"ports": 3},
    }


def test_documents_may_be_mappings_and_be_worth_more_or_less() -> None:
    hits = [{"id": 1, "body": "It uses\n8080."}, {"id": 2, "body": "A service."}]
    graded = evaluate_retrieval("Which port?", hits, {"2": 3, "7": 1}, k=2)
    assert (graded.hit_at_1, graded.hit_at_k, graded.recall, graded.precision_at_k) == (False, True, 0.5, 0.5)
    assert graded.ndcg == pytest.approx(3 / math.log2(3) / (3 + 1 / math.log2(3)))
    assert evaluate_retrieval("Which port?", hits, "uses 8080", match="contains").hit_at_1
    assert evaluate_retrieval("Which port?", hits, "A service.", field="body").ranks == {"A service.": 2}


def test_without_an_expected_document_there_is_nothing_to_measure() -> None:
    found = evaluate_retrieval("Which port?", ["intro"])
    assert (found.retrieved_count, found.hit_at_1, found.recall, found.mrr) == (1, None, None, None)
    nothing = evaluate_retrieval("Which port?", None, ["ports"])
    assert (nothing.retrieved_count, nothing.hit_at_1, nothing.recall, nothing.ndcg) == (0, False, 0.0, 0.0)


@pytest.mark.parametrize(
    ("query", "retrieved", "expected", "options", "problem"),
    [
        ("", ["a"], "a", {}, "the query must be text that is not empty"),
        (None, ["a"], "a", {}, "the query must be text that is not empty"),
        ("?", "a", "a", {}, "the retrieved documents must be a list, best first, not 'a'"),
        ("?", ["a"], [], {}, "expected is empty; list at least one document"),
        ("?", ["a"], {"a": -1}, {}, "expected must have gains above 0; the gain of 'a' is -1"),
        ("?", ["a"], "a", {"k": 0}, "k must be a whole number of at least 1"),
        ("?", ["a"], "a", {"k": True}, "k must be a whole number of at least 1"),
        ("?", ["a"], "a", {"match": "fuzzy"}, "match must be one of exact, contains"),
    ],
)
def test_what_cannot_be_compared_is_a_usage_error(
    query: Any, retrieved: Any, expected: Any, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        evaluate_retrieval(query, retrieved, expected, **options)


def test_a_suite_reads_what_its_file_may_contain() -> None:
    task = {"id": "t", "category": "bug_fix", "prompt": "p", "expectedFiles": ["a.txt"], "expectedPatterns": "x"}
    [read] = EvalSuite.model_validate({"name": "s", "tasks": [task]}).tasks
    assert (read.expected_files[0].path, read.expected_patterns) == ("a.txt", ("x",))


def test_ids_used_twice_are_reported_in_our_words() -> None:
    twice = SUITE.model_copy(update={"tasks": (SUITE.tasks[0], SUITE.tasks[0])})
    with pytest.raises(UsageError, match="suite 'chores': case id 'greet' is used 2 times"):
        run_suite(twice, agent, store=":memory:")


def test_what_was_expected_is_beside_what_was_found() -> None:
    task = EvalTask(id="t", category="bug_fix", prompt="p", expected_exit_code=3, max_rounds=1)
    [result] = run_suite(EvalSuite(name="s", tasks=(task,)), "cmd:echo long enough", store=":memory:").results
    assert {detail.check: (detail.passed, detail.expected) for detail in result.details} == {
        "response_length": (True, "more than 10 characters"),
        "exit_code": (False, "3"),
        "max_rounds": (True, "1"),
    }


def test_records_are_read_from_camel_case_and_written_to_it() -> None:
    task = EvalTask.model_validate({"id": "t", "category": "bug_fix", "prompt": "p", "timeoutMs": 5})
    assert task == EvalTask(id="t", category="bug_fix", prompt="p", timeout_ms=5)
    assert task.model_dump(by_alias=True, exclude_defaults=True) == {
        "id": "t",
        "category": "bug_fix",
        "prompt": "p",
        "timeoutMs": 5,
    }


SUITE = EvalSuite(
    name="chores",
    tasks=(
        EvalTask(id="greet", category="code_generation", prompt="hello", expected_patterns=("hello", "contains:{{x}}")),
        EvalTask(id="half", category="code_generation", prompt="one", expected_patterns=("one", "two")),
        EvalTask(id="file", category="file_operation", prompt="a long answer", expected_files=({"path": "a.txt"},)),
        EvalTask(id="tools", category="tool_use_sequence", prompt="long enough", expected_tool_sequence=["ls"]),
        EvalTask(id="down", category="bug_fix", prompt="unreachable"),
    ),
)


def agent(prompt: str) -> Any:
    if prompt == "unreachable":
        raise TargetUnavailable("no connection")
    files = {"a.txt": "made"} if prompt == "a long answer" else {}
    calls = (ToolCall(name="ls"),) if prompt == "long enough" else ()
    usage = Usage(input_tokens=2, output_tokens=3)
    return Answer(output=f"{prompt} {{{{x}}}}", files=files, tool_calls=calls, usage=usage, cost_usd=0.5)


def test_a_run_of_a_suite(tmp_path: Path) -> None:
    summary = run_suite(SUITE, agent, store=str(tmp_path / "s.db"))
    results = {result.task_id: result for result in summary.results}
    assert (summary.suite_name, summary.total_tasks) == ("chores", 5)
    assert (summary.passed, summary.failed, summary.unjudged) == (3, 1, 1), "an unreachable target did not fail"
    assert summary.total_cost_usd == 2.0
    assert summary.per_category["code_generation"].model_dump() == {"passed": 1, "failed": 1, "avg_score": 0.75}
    half = results["half"]
    assert (half.passed, half.score, half.tokens_used, half.cost_usd, half.error) == (False, 0.5, 5, 0.5, None)
    assert [detail.actual for detail in half.details] == ["found", "not found"]
    assert [detail.check for detail in results["file"].details] == ["response_length", "file_exists:a.txt"]
    assert results["tools"].tool_calls_made == 1
    down = results["down"]
    assert down.state == "error"
    assert down.error is not None
    assert "no connection" in down.error
    assert down.details[0].check == "execution"
    document = summary.model_dump(by_alias=True)
    assert document["results"][0]["taskId"] == "greet"
    assert {"suiteName", "totalTasks", "totalDurationMs", "totalCostUsd", "perCategory", "runId"} <= set(document)


def test_scores_are_means_over_trials(tmp_path: Path) -> None:
    answers = iter(["one two", "one"])
    suite = EvalSuite(name="s", tasks=(SUITE.tasks[1],), trials=2)
    [result] = run_suite(suite, lambda _: next(answers), store=":memory:").results
    assert isinstance(result, EvalResult)
    assert (result.score, result.passed) == (0.75, False)


def test_what_has_no_score_is_no_0(tmp_path: Path) -> None:
    """The scoring judge is missing; a check with weight 0 decides."""
    unsure = [{"contains": "a", "weight": 0}, {"model": {"rubric": "Is it kind?"}, "required": False}]
    cases = [{"id": "a", "input": "a", "graders": unsure}, {"id": "b", "input": "b", "expected": "b"}]
    file = tmp_path / "suite.json"
    file.write_text(json.dumps({"name": "s", "test_cases": cases}), encoding="utf-8")
    summary = run_suite(file, lambda text: text, store=":memory:")
    assert [(result.passed, result.score) for result in summary.results] == [(True, None), (True, 1.0)]
    assert summary.per_category[""].avg_score == 1.0
    assert detect_regressions(summary, summary) == []


def test_suites_are_kept_by_name(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    assert get_suite("chores", store=store) is None
    save_suite(SUITE.model_copy(update={"description": "kept"}), store=store)
    assert list_suites(store=store)[0] == "chores"
    assert "ready/bug-fix" in list_suites(store=store)
    found = get_suite("chores", store=store)
    assert isinstance(found, EvalSuite)
    assert (found.description, len(found.tasks)) == ("kept", 5), "the original dropped the description"
    assert run_suite("chores", agent, store=store).passed == 3


def test_a_saved_suite_comes_back_as_it_was(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    task = EvalTask(
        id="all",
        category="bug_fix",
        description="everything",
        prompt="Say {{hello}} and \\{{bye}}",
        expected_patterns=("regex:^a{{2}}", "contains:x"),
        expected_files=(ExpectedFile(path="a.py", should_contain="def"), ExpectedFile(path="b.py")),
        expected_exit_code=0,
        expected_tool_sequence=["search", {"name": "write", "arguments": {"path": "{{p}}"}}],
        tool_sequence_mode="exact",
        max_rounds=3,
        required_tools=("search",),
        timeout_ms=1234.5,
        files={"a.py": CaseFile(text="{{x}}")},
        reference={"k": [1]},
        tags=("t",),
        weight=2,
        metadata={"m": 1},
    )
    plain = EvalTask(id="plain", category="code_review", prompt="Hi")
    for suite in (
        SUITE,
        EvalSuite(name="full", description="d {{y}}", tasks=(task, plain), target="cmd:cat", trials=2),
    ):
        save_suite(suite, store=store)
        assert get_suite(suite.name, store=store) == suite
    ready = get_suite("ready/bug-fix", store=store)
    assert isinstance(ready, EvalSuite)
    assert ready.tasks[0].expected_files[0].should_contain == "0.0"
    native = Suite(name="native", cases=(Case(id="c", input="i", category="bug_fix", expected={"contains": "x"}),))
    save_suite(native, store=store)
    assert get_suite("native", store=store) == native


@pytest.mark.parametrize(
    ("previous", "current", "threshold", "degraded", "delta"),
    [
        (1, 0.5, 0.1, True, 0.5),
        (1, 0.9, 0.1, False, 0.1),
        (1, 0.89, 0.1, True, 0.11),
        (0.7, 0.9, 0.1, False, -0.2),
        (1, 0.75, 0.3, False, 0.25),
        (0.8, 0.7, 0.1, False, 0.1),  # the original compares raw floats, and calls this degraded
        (0.4, 0.3, 0.1, False, 0.1),
    ],
)
def test_check_regression(previous: float, current: float, threshold: float, degraded: bool, delta: float) -> None:
    checked = check_regression(previous, current, threshold)
    assert (checked.degraded, checked.delta) == (degraded, pytest.approx(delta))


def test_check_regression_takes_results() -> None:
    before, now = (run_suite(SUITE, answers, store=":memory:").results for answers in (agent, lambda prompt: "no"))
    good, worse = (next(each for each in results if each.task_id == "greet") for results in (before, now))
    checked = check_regression(good, worse)
    assert (checked.degraded, checked.delta) == (True, good.score)
    assert check_regression(good, good).degraded is False
    assert check_regression(score_response("hello", "hello"), 0.95).delta == pytest.approx(0.05)

    unjudged = good.model_copy(update={"state": "error", "score": 0.0})
    with pytest.raises(UsageError, match="the result of task 'greet' has no score to compare: its state is error"):
        check_regression(good, unjudged)


def test_regressions_of_two_runs_in_whatever_form(tmp_path: Path) -> None:
    store = str(tmp_path / "store.db")
    answers = {"right": "found it here", "wrong": "nothing at all"}
    task = {"category": "search_retrieval", "expectedPatterns": ["found"]}
    rows = [{"id": name, "prompt": name, **task} for name in ("kept", "lost", "broke")]
    suite = EvalSuite.model_validate({"name": "search", "tasks": rows})

    def worse(prompt: str) -> str:
        if prompt == "broke":
            raise TargetUnavailable("no network")
        return answers["wrong" if prompt == "lost" else "right"]

    before = run_suite(suite, lambda prompt: answers["right"], store=store)
    now = run_suite(suite, worse, store=store)
    [found] = detect_regressions(before, now)
    assert found.model_dump(by_alias=True) == {
        "taskId": "lost",
        "previousScore": 1.0,
        "currentScore": 0.0,
        "degraded": True,
        "delta": 1.0,
    }
    assert detect_regressions(now, before) == [], "an improvement is not a regression, and neither is an error"
    assert detect_regressions(before, now, threshold=1.0) == []

    assert set_baseline(before.run_id, store=store).name == "default"
    assert [(each.name, each.run_id) for each in list_baselines(store=store)] == [("default", before.run_id)]
    assert detect_regressions("default", now.run_name, store=store) == [found]
    other = run_suite(suite.model_copy(update={"name": "other"}), lambda prompt: answers["wrong"], store=store)
    set_baseline(other.run_id, store=store)
    for current in (now.run_name, now):
        assert detect_regressions("default", current, store=store) == [found], "the name of the other run's suite"
    with pytest.raises(UsageError, match="INVALID"):
        set_baseline(now.run_id, store=store)
    with pytest.raises(UsageError, match="unknown"):
        detect_regressions("default", "nobody", store=store)


def test_a_report_without_its_cases_is_looked_up_by_its_run(tmp_path: Path) -> None:
    store = str(tmp_path / "store.db")
    task = EvalTask(id="t", category="search_retrieval", prompt="p", expected_patterns=("found",))
    suite = EvalSuite(name="search", tasks=(task,))
    before, now = (evaluate(suite, f"cmd:echo {word} it here", store=store) for word in ("found", "lost"))
    bare = [run.report.model_copy(update={"cases": ()}) for run in (before, now) if run.report is not None]
    assert [found.task_id for found in detect_regressions(*bare, store=store)] == ["t"]
    nameless = bare[0].model_copy(update={"metadata": bare[0].metadata.model_copy(update={"run_id": ""})})
    with pytest.raises(UsageError, match="contains neither its cases nor the id of its run"):
        detect_regressions(nameless, bare[1], store=store)


@pytest.mark.parametrize("scores", [(math.nan, 0.5), (0.5, math.nan), (0.9, 0.1, math.nan), (math.inf, 0), (None, 0.5)])
def test_what_is_not_a_number_is_not_a_score(scores: Any) -> None:
    with pytest.raises(UsageError, match="finite numbers"):
        check_regression(*scores)


@pytest.mark.parametrize("given", [{"run_id": None}, {"run_id": 5}, {"run_id": "x", "name": None}])
def test_a_baseline_of_nothing_is_refused(tmp_path: Path, given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"name .*, not "):
        set_baseline(**given, store=str(tmp_path / "store.db"))


def test_a_suite_may_be_a_mapping(tmp_path: Path) -> None:
    task = {"id": "greet", "category": "code_generation", "prompt": "Greet!", "expectedPatterns": ["hello"]}
    save_suite({"name": "chores", "tasks": [task]}, store=str(tmp_path / "store.db"))
    found = get_suite("chores", store=str(tmp_path / "store.db"))
    assert isinstance(found, EvalSuite)
    assert found.tasks[0].expected_patterns == ("hello",)


@pytest.mark.parametrize(
    ("suite", "problem"),
    [({"name": "chores"}, "this mapping is not a task suite: tasks: "), (3, "a suite must be .*, not 3")],
)
def test_what_is_no_suite_is_refused(tmp_path: Path, suite: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        save_suite(suite, store=str(tmp_path / "store.db"))


@pytest.mark.parametrize("given", [(3,), ("text", 4), (None, "text", 5)])
def test_a_file_is_scored_by_texts(given: Any) -> None:
    with pytest.raises(UsageError, match="must be texts, not"):
        score_file_content(*given)
