"""The REST API of a real server: every route, its errors, pages, filters, and what a posted suite may not do."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from driving import succeed, wait_until, write
from served import Answer, Served, serving

AGENT = """
def right(text):
    return {"two": "2", "three": "3", "slash": "/"}.get(text.split()[-1], text)

def wrong(text):
    return "nothing"
"""
SUITE = """
name: numbers
description: Counting.
target: agent.py:right
trials: 2
test_cases:
  - {id: one, name: First, category: sums, tags: [fast], input: what is one, expected: "1"}
  - {id: two, category: sums, input: what is two, expected: "2"}
  - {id: three, category: words, tags: [fast, odd], input: what is three, expected: "3"}
  - {id: a/b, category: words, input: a slash, expected: "/"}
"""
RESULT_KEYS = {
    "taskId", "taskCategory", "passed", "score", "durationMs", "tokensUsed", "costUsd", "toolCallsMade", "error",
    "details", "state",
}  # fmt: skip
TASK = {"id": "t", "category": "bug_fix", "prompt": "what is two", "expectedPatterns": ["2"]}
TASKS = {"name": "posted", "tasks": [TASK]}


def comparing(comparator: str) -> dict[str, Any]:
    """A grader that runs generated code in the sandbox, and compares what it returns by this."""
    cases = [{"args": [1], "expected": 1, "comparator": comparator}]
    return {"function_output": {"function_name": "f", "test_cases": cases}}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Two runs of `numbers`, of which the older one is the baseline and the newer one is wrong everywhere."""
    folder = write(tmp_path_factory.mktemp("api"), agent_py=AGENT, suite_yaml=SUITE, pyproject_toml="")
    succeed(folder, "run", "suite.yaml", "--run-name", "older", code=1)
    succeed(folder, "baseline", "older")
    succeed(
        folder, "run", "suite.yaml", "--target", "agent.py:wrong", "--run-name", "newer", "--baseline", "none", code=1
    )
    # Runs that tests start are of a suite of their own: `newer` stays the newest of `numbers`.
    write(folder, started_yaml=SUITE.replace("name: numbers", "name: started"))
    write(folder, filed_yaml="function: agent.py:right\n", asked_yaml="http: 'http://127.0.0.1:9/{{wanted}}'\n")
    targets = (
        "right=agent.py:right",
        "wrong=agent.py:wrong",
        "filed=filed.yaml",
        "asked=asked.yaml",
        "judge=chat:openai/gpt-4o",
    )
    flags = [word for target in targets for word in ("--allow-target", target)]
    with serving(folder, *flags) as server:
        yield server


def got(api: Served, path: str, status: int = 200) -> Any:
    answer = api.ask(f"/api/eval{path}")
    assert answer.status == status, answer.text
    return answer.json


def refused(answer: Answer, status: int, *words: str) -> Any:
    assert answer.status == status, answer.text
    assert set(answer.json) == {"error", "code", "hint", "problems"}
    for word in words:
        assert word in answer.text, answer.text
    return answer.json


def test_suites_are_listed_with_their_names_as_ids(api: Served) -> None:
    [found] = [suite for suite in got(api, "/suites?q=NUMB") if suite["id"] == "numbers"]
    assert (found["name"], found["where"], found["cases"], found["trials"]) == ("numbers", "file", 4, 2)
    assert (found["description"], found["categories"]) == ("Counting.", ["sums", "words"])
    assert all(
        suite["where"] == "ready-made"
        for suite in got(api, "/suites")
        if suite["id"] not in ("numbers", "started") and not suite["id"].startswith("posted")
    )


def test_harnesses_are_the_ready_made_suites(api: Served) -> None:
    listed = got(api, "/harnesses")
    assert listed
    assert all(each["cases"] > 0 and each["recentRuns"] == [] for each in listed)


def test_a_run_has_the_documented_summary(api: Served) -> None:
    run = got(api, "/runs/older")
    assert (run["name"], run["suiteName"], run["state"], run["verdict"]) == ("older", "numbers", "finished", "FAILED")
    counts = [run[key] for key in ("totalTasks", "passed", "failed", "errors", "skipped", "awaiting", "pending")]
    assert counts == [4, 3, 1, 0, 0, 0, 0]
    assert run["perCategory"] == {
        "sums": {"passed": 1, "failed": 1, "avgScore": 0.5},
        "words": {"passed": 2, "failed": 0, "avgScore": 1.0},
    }
    assert (run["trials"], run["plannedTrials"], run["change"]) == ({"failed": 2, "passed": 6}, 8, 8)
    assert [result["taskId"] for result in run["results"]] == ["one", "two", "three", "a/b"]
    first, second = run["results"][:2]
    assert set(first) == RESULT_KEYS
    assert (first["passed"], first["score"], first["taskCategory"], first["toolCallsMade"]) == (False, 0.0, "sums", 0)
    assert first["durationMs"] >= 0
    assert first["details"] == [{"check": "exact", "passed": False, "expected": "1", "actual": "what is one"}]
    assert (second["passed"], second["score"], second["error"], second["details"]) == (True, 1.0, None, [])
    assert got(api, f"/runs/{run['id']}") == run


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("state=failed", ["one"]),
        ("state=not_passed", ["one"]),
        ("category=words", ["three", "a/b"]),
        ("tag=odd", ["three"]),
        ("q=FIRST", ["one"]),
        ("sort=score", ["one", "two", "three", "a/b"]),
        ("sort=id&descending=true", ["two", "three", "one", "a/b"]),
    ],
)
def test_results_and_cases_can_be_filtered_and_sorted(api: Served, query: str, expected: list[str]) -> None:
    assert [case["id"] for case in got(api, f"/runs/older/cases?{query}")] == expected
    assert [result["taskId"] for result in got(api, f"/runs/older?{query}")["results"]] == expected


@pytest.mark.parametrize(
    ("path", "key"),
    [("/runs/older/cases", "id"), ("/runs/older/trials", "caseId"), ("/runs", "id"), ("/suites", "id")],
)
def test_every_list_goes_on_where_its_link_says(api: Served, path: str, key: str) -> None:
    whole = got(api, path)
    found, following = [], f"/api/eval{path}?limit=1"
    while following:
        answer = api.ask(following)
        found += answer.json
        assert len(answer.json) <= 1
        following = (answer.headers["link"] or "").partition(">")[0].lstrip("<")
    assert [each[key] for each in found] == [each[key] for each in whole]


def test_the_results_of_a_run_go_on_where_its_link_says(api: Served) -> None:
    answer = api.ask("/api/eval/runs/older?limit=3&sort=id")
    following = answer.headers["link"].partition(">")[0].lstrip("<")
    assert answer.headers["link"].endswith('>; rel="next"')
    rest = api.ask(following)
    ids = [result["taskId"] for each in (answer, rest) for result in each.json["results"]]
    assert (ids, rest.headers["link"]) == (["a/b", "one", "three", "two"], None)


def test_a_case_and_a_trial_come_with_everything(api: Served) -> None:
    case = got(api, "/runs/older/case?case=a%2Fb")
    assert (case["case"]["id"], case["case"]["marks"], case["definition"]["input"]) == ("a/b", "pp", "a slash")
    trial = got(api, "/runs/older/trials/1?case=one")
    assert (trial["trial"]["caseId"], trial["trial"]["index"], trial["trial"]["state"]) == ("one", 1, "failed")
    [attempt] = trial["attempts"]
    assert attempt["transcript"]["output"] == "what is one"
    assert attempt["grades"][0]["grader"] == "exact"
    assert [each["index"] for each in got(api, "/runs/older/trials?case=one")] == [0, 1]
    refused(api.ask("/api/eval/runs/older/trials/2?case=one"), 404)
    refused(api.ask("/api/eval/runs/older/case?case=gone"), 404, "gone")
    refused(api.ask("/api/eval/runs/older/trials?case=gone"), 404, "gone")


def test_baselines_are_set_listed_and_removed(api: Served) -> None:
    answer = api.ask("/api/eval/runs/older/baseline", "POST", data={"name": "second"})
    assert (answer.status, answer.json["id"], answer.json["runName"]) == (201, "numbers/second", "older")
    assert [each["id"] for each in got(api, "/baselines?suite=numbers")] == ["numbers/second", "numbers/default"]
    assert got(api, "/baselines?suite=other") == []
    for _ in range(2):
        gone = api.ask("/api/eval/baselines/numbers/second", "DELETE")
        assert (gone.status, gone.json) == (200, {"ok": True})
    assert [each["id"] for each in got(api, "/baselines")] == ["numbers/default"]
    refused(api.ask("/api/eval/runs/older/baseline", "POST", data={"name": "latest"}), 400, "latest")
    refused(api.ask("/api/eval/runs/gone/baseline", "POST"), 404)


def test_without_a_run_since_the_baseline_there_are_no_regressions_to_tell(api: Served) -> None:
    api.ask("/api/eval/runs/newer/baseline", "POST", data={"name": "newest"})
    refused(api.ask("/api/eval/regressions/numbers?baseline=newest"), 404, "has finished since")
    api.ask("/api/eval/baselines/numbers/newest", "DELETE")


def test_regressions_are_the_degraded_tasks(api: Served) -> None:
    degraded = got(api, "/regressions/numbers")
    assert [task["taskId"] for task in degraded] == ["two", "three", "a/b"]
    assert degraded[0] == {
        "taskId": "two",
        "previousScore": 1.0,
        "currentScore": 0.0,
        "degraded": True,
        "delta": 1.0,
        "previousState": "passed",
        "currentState": "failed",
        "comparable": True,
        "variant": degraded[0]["variant"],
    }
    assert [task["taskId"] for task in got(api, "/regressions/numbers?all=1")] == ["one", "two", "three", "a/b"]
    assert got(api, "/regressions/numbers?threshold=1") == []
    refused(api.ask("/api/eval/regressions/nobody"), 404, "no baseline")
    refused(api.ask("/api/eval/regressions/numbers?threshold=2"), 400, "threshold")
    refused(api.ask("/api/eval/regressions/numbers?baseline=suite.yaml"), 404, "suite.yaml")


def test_runs_are_compared_and_a_suite_has_a_trend(api: Served) -> None:
    found = got(api, "/compare?a=older&b=newer")
    assert (found["verdict"], found["old"]["run_name"], found["new"]["run_name"]) == ("REGRESSION", "older", "newer")
    refused(api.ask("/api/eval/compare?a=older&b=suite.yaml"), 404, "suite.yaml")
    first = api.ask("/api/eval/compare?a=older&b=newer&limit=2")
    rest = api.ask(first.headers["link"].partition(">")[0].removeprefix("<"))
    assert (len(first.json["cases"]), rest.headers["link"]) == (2, None)
    assert first.json["cases"] + rest.json["cases"] == found["cases"]
    assert got(api, "/compare?a=default&b=newer")["old"]["source"] == "baseline default"
    trend = got(api, "/suites/numbers/trend")
    assert [len(target["cases"]) for target in trend["targets"]] == [4] * len(trend["targets"])
    assert all(not target["cases"] for target in got(api, "/suites/numbers/trend?cursor=4")["targets"])
    assert sum(len(target["runs"]) for target in trend["targets"]) >= 2
    assert got(api, "/suites/numbers/flaky") == []
    refused(api.ask("/api/eval/suites/agent.py/trend"), 404)


def test_retrieval_is_measured_by_rank(api: Served) -> None:
    asked = {"query": "x", "retrievedDocs": ["a", "b"], "expectedDoc": "b"}
    found = api.ask("/api/eval/rag", "POST", data=asked).json
    assert (found["retrievedCount"], found["hitAt1"], found["recall"], found["mrr"]) == (2, False, 1.0, 0.5)
    assert api.ask("/api/eval/rag", "POST", data={"query": "x"}).json["recall"] is None
    refused(api.ask("/api/eval/rag", "POST", data={}), 400, "query")
    refused(api.ask("/api/eval/rag", "POST", data={"query": " "}), 400, "query")


def test_no_word_of_a_client_is_taken_for_a_file(api: Served) -> None:
    path = api.folder / "suite.yaml"
    for address in ("/suites/suite.yaml", f"/suites/{path}", "/suites?name=agent.py", f"/compare?a=older&b={path}"):
        assert api.ask(address).status == 404, address
    for baseline in ("suite.yaml", "agent.py"):
        refused(
            api.ask("/api/eval/run", "POST", data={"suiteId": "numbers", "baselineId": baseline}), 400, "not a file"
        )


def test_head_is_answered_wherever_get_is(api: Served) -> None:
    for path in ("/api/eval/runs?limit=1", "/api/eval/runs/older", "/api/health", "/runs/older", "/runs/gone"):
        asked, head = api.ask(path), api.ask(path, "HEAD")
        assert (head.status, head.body) == (asked.status, b""), path
        assert [head.headers[name] for name in ("etag", "link")] == [asked.headers[name] for name in ("etag", "link")]
    assert api.ask("/api/eval/runs/older", "HEAD", token="wrong").status == 401
    assert api.ask("/api/eval/runs/older/events", "HEAD").status == 405
    assert api.ask("/api/eval/rag", "HEAD").status == 405


def test_a_run_is_started_and_waited_for(api: Served) -> None:
    answer = api.ask("/api/eval/run?wait=60", "POST", data={"suiteId": "started", "timeout": 20, "baselineId": "none"})
    assert answer.status == 201, answer.text
    run = answer.json
    assert (run["state"], run["passed"], run["runs"]) == ("finished", 3, [run["id"]])
    assert len(run["results"]) == 4
    assert answer.headers["location"] == f"/api/eval/runs/{run['id']}"
    assert got(api, f"/runs/{run['id']}")["passed"] == 3
    assert run["id"] in [each["id"] for each in got(api, "/runs?suite=started")]
    assert any(target["runs"] for target in got(api, "/suites/started/trend")["targets"])
    assert [each["id"] for each in got(api, f"/matrix/{run['id']}")] == [run["id"]]
    refused(api.ask(f"/api/eval/runs/{run['id']}/cancel", "POST"), 400, "not being run")


def test_a_run_that_is_not_waited_for_is_accepted(api: Served) -> None:
    answer = api.ask("/api/eval/suites/started/run", "POST", data={"agentId": "wrong", "baselineId": "none"})
    assert answer.status == 202, answer.text
    run = answer.json
    assert run["suiteName"]
    assert answer.headers["location"] == f"/api/eval/runs/{run['id']}"
    wait_until(lambda: got(api, f"/runs/{run['id']}")["state"] == "finished")
    finished = got(api, f"/runs/{run['id']}")
    assert (finished["passed"], finished["failed"]) == (0, 4)
    resumed = api.ask(f"/api/eval/runs/{run['id']}/resume", "POST")
    assert (resumed.status, resumed.json["id"]) == (202, run["id"])
    wait_until(lambda: got(api, f"/runs/{run['id']}")["state"] == "finished")


def test_what_cannot_be_started_is_refused(api: Served) -> None:
    refused(api.ask("/api/eval/run", "POST", data={}), 400, "suiteId")
    refused(api.ask("/api/eval/run", "POST", data={"suiteId": "nobody"}), 404, "nobody")
    refused(api.ask("/api/eval/run", "POST", data={"suiteId": "suite.yaml"}), 404)
    refused(api.ask("/api/eval/run", "POST", data={"suiteId": "numbers", "agentId": "x"}), 400, "right, wrong")
    refused(api.ask("/api/eval/run", "POST", data={"suiteId": "numbers", "baselineId": "a\0"}), 400, "NUL")
    refused(api.ask("/api/eval/run", "POST", data={"suiteId": "numbers", "timeout": 0}), 400, "timeout")
    refused(api.ask("/api/eval/run", "POST", data={"suiteId": "numbers", "baselineId": "/etc/x.json"}), 400, "baseline")
    refused(api.ask("/api/eval/run", "POST", data={"suiteId": "numbers", "odd": 1}), 400, "odd")


def test_a_posted_suite_is_registered_and_run_on_a_registered_target(api: Served) -> None:
    answer = api.ask("/api/eval/suites", "POST", data=TASKS)
    assert (answer.status, answer.json) == (201, {"ok": True, "id": "posted"}), answer.text
    assert "posted" in [suite["id"] for suite in got(api, "/suites")]
    refused(api.ask("/api/eval/suites/posted/run", "POST"), 400, "agentId", "filed, judge, right, wrong")
    run = api.ask("/api/eval/suites/posted/run?wait=60", "POST", data={"agentId": "right"})
    assert (run.status, run.json["passed"]) == (201, 1), run.text
    own = {"name": "posted-too", "target": "right", "test_cases": [{"input": "what is two", "expected": "2"}]}
    assert api.ask("/api/eval/suites", "POST", data=own).status == 201
    assert api.ask("/api/eval/suites/posted-too/run?wait=60", "POST").json["passed"] == 1
    assert api.ask("/api/eval/suites", "POST", data={**own, "target": "filed"}).status == 201
    assert api.ask("/api/eval/suites/posted-too/run?wait=60", "POST").json["passed"] == 1


def test_a_posted_suite_is_judged_by_registered_models_alone(api: Served) -> None:
    for model, status in (("openai/gpt-4o", 201), ("openai/gpt-5", 400)):
        graders = [{"any_of": [{"model": {"rubric": "good?", "panel": [model]}}]}]
        document = {"name": "posted-judged", "test_cases": [{"input": "x", "graders": graders}]}
        answer = api.ask("/api/eval/suites", "POST", data=document)
        assert (answer.status, "openai/gpt-4o" in answer.text) == (status, status == 400), answer.text


def test_the_name_of_a_posted_suite_never_leads_to_a_file(api: Served) -> None:
    """`run NAME` takes a path where there is one: it would be run in place of the suite."""
    (api.folder / "taken").mkdir()
    for name, status in (("taken", 409), ("agent.py", 409), ("../x.yaml", 400), ("/tmp/x.yaml", 400), ("a\0", 400)):
        refused(api.ask("/api/eval/suites", "POST", data={**TASKS, "name": name}), status, "name")
    assert api.ask("/api/eval/suites", "POST", data={**TASKS, "name": "posted-later"}).status == 201
    (api.folder / "posted-later").touch()
    wishes = {"suiteId": "posted-later", "agentId": "right"}
    refused(api.ask("/api/eval/run", "POST", data=wishes), 400, "posted-later", "also of a file")


def test_the_texts_of_a_posted_suite_may_be_of_any_script(api: Served) -> None:
    text = "🦊 שלום \u2028 é \x85 \\ud83e"
    document = {"name": f"posted {text}", "test_cases": [{"id": text, "input": f"{text} two", "expected": "2"}]}
    answer = api.ask("/api/eval/suites", "POST", data=document)
    assert (answer.status, answer.json) == (201, {"ok": True, "id": document["name"]}), answer.text
    data = {"suiteId": document["name"], "agentId": "right"}
    run = api.ask("/api/eval/run?wait=60", "POST", data=data).json
    assert [(each["taskId"], each["passed"]) for each in run["results"]] == [(text, True)], run


def test_a_suite_with_a_slash_in_its_name_has_all_its_addresses(api: Served) -> None:
    document = {"name": "posted/deep", "target": "right", "test_cases": [{"input": "two", "expected": "2"}]}
    assert api.ask("/api/eval/suites", "POST", data=document).status == 201
    for name in ("posted/deep", "posted%2Fdeep"):
        run = api.ask(f"/api/eval/suites/{name}/run?wait=60", "POST")
        assert (run.status, run.json["passed"]) == (201, 1), run.text
        assert got(api, f"/suites/{name}/trend")["suite_name"] == "posted/deep"
        assert got(api, f"/suites/{name}/flaky") == []
        refused(api.ask(f"/api/eval/regressions/{name}"), 404, "no baseline")


def test_a_run_that_cannot_begin_says_so(api: Served) -> None:
    asked = api.ask("/api/eval/run", "POST", data={"suiteId": "numbers", "baselineId": "nobody"})
    assert (asked.status, asked.json["suiteName"]) == (202, "numbers")
    wait_until(lambda: got(api, f"/runs/{asked.json['id']}")["state"] == "not_started")
    waited = api.ask("/api/eval/run?wait=60", "POST", data={"suiteId": "numbers", "baselineId": "nobody"})
    assert refused(waited, 400, "nobody")["code"] == "not_started"


@pytest.mark.parametrize("body", ["{bad", "[" * 100_000, '{"n": ' + "9" * 6000 + "}"], ids=["broken", "deep", "long"])
def test_a_body_that_is_no_json_is_called_that(api: Served, body: str) -> None:
    connection = HTTPConnection("127.0.0.1", api.port)
    headers = {"authorization": f"Bearer {api.token}", "content-type": "application/json"}
    for path in ("/api/eval/run", "/api/eval/suites"):
        connection.request("POST", path, body, headers)
        response = connection.getresponse()
        assert (response.status, json.loads(response.read())["error"]) == (400, "the body is not JSON that can be read")
    connection.close()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"target": "agent.py:right"}, "target"),
        ({"target": {"command": "id"}}, "target"),
        ({"targets": {"a": "right"}}, "targets"),
        ({"variants": {"a": "right"}}, "variants"),
        ({"secrets": ["HOME"]}, "secrets"),
        ({"reporting": ["json"]}, "reporting"),
        ({"notify": "http://127.0.0.1:1/x"}, "notify"),
        ({"prompts": ["x.txt"]}, "prompts"),
        ({"gateway": {}}, "gateway"),
        ({"vars": {"a": {"$ref": "x.yaml"}}}, "vars.a.$ref"),
        ({"vars": {"home": "[redacted"}}, "vars.home"),
        ({"vars": {"some_api_key": "abcdefgh-12345"}}, "vars.some_api_key"),
        ({"evals": [{"$ref": "x.yaml"}]}, "evals"),
        ({"config": {"judge_model": "openai:gpt"}}, "config.judge_model"),
        ({"gate": {"regression": {"baseline": "/etc/passwd"}}}, "gate.regression.baseline"),
        ({"gate": {"regression": {"baseline": "suite.yaml"}}}, "gate.regression.baseline"),
        ({"graders": [comparing("agent.py:right")]}, "graders.function_output"),
        ({"graders": [{"weighted": {"graders": [{"not": comparing("os:rename")}]}}]}, "function_output"),
        ({"vars": {"how": "os:rename"}, "graders": [comparing("{{how}}")]}, "function_output"),
        ({"vars": {"Wanted": "x"}}, "vars.Wanted"),
        ({"graders": ["agent.py:grade"]}, "graders"),
        ({"graders": [{"function": "agent.py:grade"}]}, "graders.function"),
        ({"graders": [{"scorer": "agent.py:score"}]}, "graders.scorer"),
        ({"graders": [{"any_of": [{"function": "agent.py:grade"}]}]}, "function"),
        ({"graders": [{"not": {"function": "agent.py:grade"}}]}, "function"),
        ({"graders": [{"model": {"rubric": "good?", "model": "openai:gpt"}}]}, "graders.model.model"),
        ({"graders": [{"any_of": [{"model": {"rubric": "good?", "model": "openai:gpt"}}]}]}, "model"),
    ],
    ids=str,
)
def test_a_posted_suite_reaches_nothing_of_the_machine(api: Served, change: dict[str, Any], field: str) -> None:
    document = {"name": "evil", "test_cases": [{"id": "c", "input": "x", "expected": "x"}], **change}
    said = refused(api.ask("/api/eval/suites", "POST", data=document), 400, field)
    assert field in said["problems"][0]["field"] or field in said["error"]
    assert "evil" not in [suite["id"] for suite in got(api, "/suites")]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"target": "agent.py:right"}, "target"),
        ({"setup": "touch /tmp/x"}, "setup"),
        ({"files": {"a.txt": {"path": "../secret"}}}, "files.a.txt"),
        ({"files": ["suite.yaml"]}, "files.suite.yaml"),
        ({"input": "{{HOME}}"}, "{{home}}"),
        ({"expected": {"function": "agent.py:grade"}}, "function"),
        ({"expected": comparing("agent.py:right")}, "agent.py:right"),
        ({"vars": {"how": "os:rename"}, "expected": comparing("{{how}}")}, "os:rename"),
        ({"graders": [{"scorer": "agent.py:score"}]}, "scorer"),
        ({"expected": {"exact": "{{PATH}}"}}, "{{path}}"),
        ({"execution": {"type": "http", "base_url": "http://169.254.169.254"}}, "execution"),
        ({"metadata": {"execution": {}}}, "execution"),
    ],
    ids=str,
)
def test_a_case_of_a_posted_suite_reaches_nothing_of_the_machine(
    api: Served, change: dict[str, Any], field: str
) -> None:
    document = {"name": "evil", "test_cases": [{"id": "c", "input": "x", "expected": "x", **change}]}
    refused(api.ask("/api/eval/suites", "POST", data=document), 400, field)


@pytest.mark.parametrize(
    ("document", "status", "said"),
    [
        ({}, 400, "name"),
        ({"name": 3}, 400, "name"),
        ({"name": "numbers", "tasks": []}, 409, "numbers"),
        ({"name": "empty", "tasks": []}, 400, "tasks"),
        ({"name": "nothing"}, 400, ""),
        ({"name": "bad", "tasks": [{"id": "a", "category": "bug_fix"}]}, 400, "prompt"),
        ([], 400, ""),
        ("text", 400, ""),
    ],
    ids=str,
)
def test_what_is_no_suite_is_refused(api: Served, document: Any, status: int, said: str) -> None:
    refused(api.ask("/api/eval/suites", "POST", data=document), status, said)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/runs/nobody", 404),
        ("/runs/nobody/cases", 404),
        ("/runs/nobody/events", 404),
        ("/runs?limit=101", 400),
        ("/runs?limit=0", 400),
        ("/runs?limit=x", 400),
        ("/runs?cursor=nobody", 404),
        ("/runs?suite=nobody", 404),
        ("/runs/older?cursor=-1", 400),
        ("/runs/older?cursor=%C2%B2", 400),
        ("/runs/older/cases?state=odd", 400),
        ("/runs/older/cases?sort=odd", 400),
        ("/runs/older/trials?cursor=odd", 400),
        ("/runs/older/trials/-1?case=one", 400),
        ("/runs/older/trials/0", 400),
        ("/runs/older/events?after=odd", 400),
        ("/matrix/nobody", 404),
        ("/compare?a=older", 400),
        ("/nothing", 404),
    ],
)
def test_every_error_has_the_same_form(api: Served, path: str, status: int) -> None:
    refused(api.ask(f"/api/eval{path}"), status)


def test_an_answer_that_is_known_is_not_sent_again(api: Served) -> None:
    answer = api.ask("/api/eval/runs/older")
    known = api.ask("/api/eval/runs/older", headers={"if-none-match": answer.headers["etag"]})
    assert (known.status, known.body) == (304, b"")
    assert api.ask("/api/eval/runs/newer", headers={"if-none-match": answer.headers["etag"]}).status == 200


def test_long_answers_are_packed_for_who_takes_them(api: Served) -> None:
    packed = api.ask("/api/eval/runs/older", headers={"accept-encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(packed.body)) == got(api, "/runs/older")


def events(text: str) -> list[tuple[str, str, Any]]:
    """Of a stream: the id, the name, the data of each event."""
    found = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.partition(": ")[::2] for line in block.splitlines())
        found.append((fields.get("id", ""), fields["event"], json.loads(fields["data"])))
    return found


def test_the_events_of_a_finished_run_are_all_its_trials_and_its_end(api: Served) -> None:
    answer = api.ask("/api/eval/runs/older/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    found = events(answer.text)
    trials = [(id_, data["caseId"], data["index"]) for id_, name, data in found if name == "trial"]
    assert len({each[1:] for each in trials}) == len(trials) == 8
    assert [int(id_) for id_, _, _ in trials] == sorted(int(id_) for id_, _, _ in trials)
    assert [name for _, name, _ in found[8:]] == ["progress", "end"]
    assert all(id_ == "" for id_, name, _ in found if name != "trial")


@pytest.mark.parametrize("by", ["header", "parameter"])
def test_events_go_on_after_the_last_one_and_miss_none(api: Served, by: str) -> None:
    whole = [event for event in events(api.ask("/api/eval/runs/older/events").text) if event[1] == "trial"]
    for last in (whole[0], whole[4], whole[-1]):
        headers = {"last-event-id": last[0]} if by == "header" else {}
        query = "" if by == "header" else f"?after={last[0]}"
        rest = events(api.ask(f"/api/eval/runs/older/events{query}", headers=headers).text)
        trials = [event for event in rest if event[1] == "trial"]
        assert trials == whole[whole.index(last) :], "the last one comes again"


def test_the_document_describes_every_route_with_examples(api: Served) -> None:
    document = api.ask("/api/openapi.json").json
    assert document["openapi"].startswith("3.1")
    routes = {(method, path) for path, methods in document["paths"].items() for method in methods}
    documented = {
        "get": ["/suites", "/runs", "/runs/{run}", "/baselines", "/regressions/{suite}", "/harnesses"],
        "post": ["/suites", "/suites/{name}/run", "/run", "/runs/{run}/baseline", "/rag"],
        "delete": ["/baselines/{baseline}"],
    }
    assert {(method, f"/api/eval{path}") for method, paths in documented.items() for path in paths} <= routes
    schemas = document["components"]["schemas"]
    for name in ("RunRequest", "Summary", "Result", "Suite", "Baseline", "TaskChange", "Retrieved", "Failure"):
        [example] = schemas[name]["examples"]
        assert example.keys() <= schemas[name]["properties"].keys(), name
    assert document["security"] == [{"token": []}]
    assert not any("422" in each["responses"] for path in document["paths"].values() for each in path.values())


GATED = """
import pathlib, time

def gated(text):
    \"\"\"Answers once there is a file that has the name of the question, or the one that opens all gates.\"\"\"
    here = pathlib.Path(__file__).parent
    while not ((here / text).exists() or (here / "open").exists()):
        time.sleep(0.01)
    return text
"""
GATES = """
name: gates
target: agent.py:gated
config: {max_workers: 4}
test_cases: [{id: a, input: a, expected: a}, {id: b, input: b, expected: b}, {id: c, input: c, expected: x}]
"""


@pytest.fixture
def gates(tmp_path: Path) -> Iterator[Served]:
    folder = write(tmp_path / "project", agent_py=GATED, suite_yaml=GATES, pyproject_toml="")
    with serving(folder) as server:
        yield server
        (folder / "open").touch()  # nothing waits any longer


def started(gates: Served) -> str:
    answer = gates.ask("/api/eval/suites/gates/run", "POST")
    assert answer.status == 202, answer.text
    run_id: str = answer.json["id"]
    wait_until(lambda: got(gates, f"/runs/{run_id}")["plannedTrials"] == 3)
    return run_id


def test_a_run_under_way_is_shown_as_far_as_it_has_got(gates: Served) -> None:
    run_id = started(gates)
    (gates.folder / "b").touch()
    wait_until(lambda: got(gates, f"/runs/{run_id}")["trials"] == {"passed": 1})
    run = got(gates, f"/runs/{run_id}")
    assert (run["state"], run["verdict"], run["passed"], run["pending"]) == ("running", "", 1, 2)
    assert [case["state"] for case in got(gates, f"/runs/{run_id}/cases")] == ["pending", "passed", "pending"]
    assert [case["id"] for case in got(gates, f"/runs/{run_id}/cases?state=pending&sort=id&descending=1")] == ["c", "a"]
    refused(gates.ask(f"/api/eval/runs/{run_id}/baseline", "POST"), 400, "not finished")
    refused(gates.ask(f"/api/eval/runs/{run_id}/resume", "POST"), 409, "running")
    assert gates.ask(f"/api/eval/runs/{run_id}/cancel", "POST").status == 202
    wait_until(lambda: got(gates, f"/runs/{run_id}")["state"] == "cancelled")
    (gates.folder / "open").touch()
    assert gates.ask(f"/api/eval/runs/{run_id}/resume", "POST").status == 202
    wait_until(lambda: got(gates, f"/runs/{run_id}")["state"] == "finished")
    assert got(gates, f"/runs/{run_id}")["trials"] == {"passed": 2, "failed": 1}


def test_events_are_sent_as_trials_are_written(gates: Served) -> None:
    run_id = started(gates)
    connection = HTTPConnection("127.0.0.1", gates.port, timeout=60)
    connection.request("GET", f"/api/eval/runs/{run_id}/events", headers={"authorization": f"Bearer {gates.token}"})
    stream = connection.getresponse()
    seen: list[str] = []
    for opened in ("b", "a", "c"):
        (gates.folder / opened).touch()
        while not seen or seen[-1] != opened:  # the next gate opens only once this trial has come
            line = stream.readline().decode()
            assert line, "the stream ended too early"
            if line.startswith("data: ") and "caseId" in line:
                seen.append(json.loads(line.removeprefix("data: "))["caseId"])
    rest = stream.read().decode()
    connection.close()
    assert seen == ["b", "a", "c"]
    assert rest.count("event: end") == 1
    assert '"state": "finished"' in rest.rpartition("event: end")[2]


def test_many_readers_see_whole_numbers_while_a_run_writes(gates: Served) -> None:
    """64 at once: none is refused, none sees more than there is, and the run loses nothing."""
    cases = [{"id": f"case {n}", "input": "open", "expected": "open"} for n in range(400)]
    many = {"name": "many", "target": "agent.py:gated", "test_cases": cases}
    (gates.folder / "many.json").write_text(json.dumps(many))
    answer = gates.ask("/api/eval/suites/many/run", "POST")
    assert answer.status == 202, answer.text
    path = f"/runs/{answer.json['id']}"
    wait_until(lambda: got(gates, path)["plannedTrials"] == 400)
    (gates.folder / "open").touch()

    def read(number: int) -> int:
        run = got(gates, path)
        listed = got(gates, f"{path}/cases?state=passed&limit={number % 100 + 1}")
        assert sum(run["trials"].values()) <= 400
        assert run["passed"] + run["failed"] + run["pending"] + run["errors"] == 400
        assert len(listed) <= number % 100 + 1
        return int(run["passed"])

    with ThreadPoolExecutor(64) as pool:
        seen = list(pool.map(read, range(128)))
    assert max(seen) <= 400
    wait_until(lambda: got(gates, path)["state"] == "finished")
    assert got(gates, path)["passed"] == 400
