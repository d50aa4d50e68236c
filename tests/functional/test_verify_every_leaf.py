"""`verify` leaves nothing out: every change in a JSON report is found, or the figure is listed as not checked."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driving import drive, write

from evalharness.actions.verify_report import _verify_document as verify_document
from evalharness.errors import UsageError

AGENT = """
from evalharness import Answer, TargetUnavailable

def answer(text, broken_at, fails, cost_usd, index):
    if text == "down" and index == broken_at:
        raise TargetUnavailable("the line is down")
    said = "no" if text in fails and index else text
    spent = {"cost_usd": cost_usd, "usage": {"input_tokens": 10, "output_tokens": 3}}
    return Answer(output=said, duration_s=2.0 if text == "c" else None, **spent)

def before(text, context):
    return answer(text, 0, (), 0.0 if text == "free" else 0.5, context.index)

def now(text, context):
    return answer(text, 1, ("guard", "b"), 0.6, context.index)
"""
SUITE = """
name: every
target: agent.py:before
trials: 3
max_error_rate: 0.5
config: {retries: 0}
gate:
  thresholds: {default: {pass_rate: 0.5, score: 0.2, pass@1: 0.3}, categories: {search: {pass_rate: 0.4}}}
  each_case: 1
  required_cases: [a]
  max_cost_usd: 50
  max_latency_s: 100
  regression: {metrics: [pass_rate, score, cost]}
  strict_flips: true
graders: [{max_length: 20, required: false, weight: 0.5}]
test_cases:
  - {id: guard, input: guard, expected: guard, criticality: critical, category: search}
  - {id: a, input: a, expected: a, weight: 2, category: search}
  - {id: b, input: b, expected: b, cluster: one}
  - {id: c, input: c, expected: c, cluster: one}
  - {id: free, input: free, expected: free}
  - {id: down, input: down, expected: down}
  - {id: out, input: out, expected: out, skip: not today}
"""
SEQUENTIAL = """
name: early
target: agent.py:before
config: {seed: 4}
test_cases:
  - {id: a, input: a, expected: b}
  - {id: b, input: b, expected: b}
  - {id: c, input: c, expected: a}
"""
OF_A_LIST = 3
Place = tuple[str | int, ...]
WORDS = r"(.*\.)?(why|notes|settle|text|divergence|basis)(\..*)?|findings\..*|recommendations\..*|not_compared.*"
# What may be changed without a difference, and the word that lists it as not checked.
BELIEVED = {
    "words": (
        rf"{WORDS}|(failures|unjudged)\.\*\.(reason|grader(_type)?|difference(\..*)?)"
        r"|trials\.\*\.(reason|error)|trials\.\*\.grades\.\*\.reason"
    ),
    "environment": r"metadata\.environment\..*",
    "attempts": r"trials\.\*\.attempts",
    "suite": (
        r"metadata\.(case_threshold|max_error_rate|retry_failed)|(failures|unjudged)\.\*\.name"
        r"|cases\.\*\.(key|weight|cluster|criticality)"
    ),
    "run": r"metadata\.(suite_name|run_id|run_name|variant|regrade_of|timestamp)",
    "duration": r"metadata\.duration_seconds",
    "histories": r"failures\.\*\.details\.(failure_count|last_passed)",
    "gate": r"gate\.asked\..*",
    "comparison_rule": r"comparison\.(alpha|power|margin|tolerance)",
    "baseline_run": r"comparison\.(old|before\.\*)\..*",
    "baseline_trials": (
        r"comparison\.(critical|differences\.\w+)\.(p|p_better|method|n_trials_old|detectable(_from|_unknown)?|lacking|seed)"
        r"|comparison\.differences\.(latency|cost)\.(old|value|low|high|upper_bound|n_cases|n_trials_new)"
        r"|comparison\.differences\.(latency|cost)\.interval_(method|formula)"
        r"|comparison\.(cases\.\*\.q|flip_alarm)"
    ),
    "sequential_plan": r"sequential\.(seed|baseline_name|baseline_run|fixed_n|alpha|beta|effect|floor)",
    "other_runs": r"flaky\..*",
    "answers": r"trials\.\*\.output",
    "grades": r"trials\.\*\.grades\.\*\.(grader|kind|required|weight)",
    "seeds": r"trials\.\*\.seed",
    "unjudged_durations": r"trials\.\*\.(duration_s|measured_s)",
    # In a report without trials:
    "cases": r"cases\.\*\.(case_id|score|duration_s|longest_s|cost_usd|dearest_usd|least_score)",
    "grades_and_tokens": (
        r"summary\.by_grader\..*|measurements\.(score|cost_usd)\.n_trials|input_tokens|output_tokens|cost_usd"
    ),
    "trials_of_failures": r"(failures|unjudged)\.\*\.(details\.(passed|failed|error|skipped)|trials\.\*)",
    "lacking": r"measurements\.(score|cost_usd)\.lacking",
}


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """With a gate, a baseline, critical, clustered, weighted and skipped cases, errors, and costs that rose from 0."""
    project = write(tmp_path_factory.mktemp("every"), agent_py=AGENT, suite_yaml=SUITE)
    drive(project, "baseline", drive(project, "run", "suite.yaml", "--baseline", "none", "--json").run_name)
    words = ("run", "suite.yaml", "--baseline", "default", "--target", "agent.py:now", "-o", "report.json")
    assert drive(project, *words).code == 1
    return report_in(project)


@pytest.fixture(scope="module")
def decided_early(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A sequential run, most of whose trials were not needed."""
    project = write(tmp_path_factory.mktemp("early"), agent_py=AGENT, suite_yaml=SEQUENTIAL)
    words = ("run", "suite.yaml", "--sequential", "--fail-under", "90", "--repeat", "6", "-o", "report.json")
    assert drive(project, *words).code == 1
    return report_in(project)


def report_in(project: Path) -> Any:
    return json.loads((project / "report.json").read_text())["eval_report"]


def leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*place, key))
    else:
        yield place, value


def other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value}x" if isinstance(value, str) else 1


def agrees(document: Any) -> bool:
    """A file that is not a report is refused, so the change is noticed."""
    try:
        return not any(each.mismatches for each in verify_document(Path("report.json"), {"eval_report": document}))
    except UsageError:
        return False


def unnoticed(document: Any) -> set[str]:
    """The places where another value makes no difference; `*` means each element of a list: the first few are tried."""
    found = set()
    tried: Counter[str] = Counter()
    for place, value in leaves(document):
        name = ".".join("*" if isinstance(key, int) else key for key in place)
        tried[name] += 1
        if name in found or tried[name] > OF_A_LIST or re.fullmatch(BELIEVED["words"], name):
            continue
        changed = copy.deepcopy(document)
        inner = changed
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = other(value)
        if agrees(changed):
            found.add(name)
    return found


@pytest.mark.parametrize("with_trials", [True, False], ids=["with trials", "without trials"])
def test_every_leaf_that_is_changed_is_found_or_listed_as_not_checked(document: Any, with_trials: bool) -> None:
    check_leaves({key: value for key, value in document.items() if with_trials or key != "trials"})


def test_so_is_every_leaf_of_a_run_that_was_decided_early(decided_early: Any) -> None:
    assert decided_early["summary"]["trials"]["skipped"] > 0
    check_leaves(decided_early)


def check_leaves(document: Any) -> None:
    assert agrees(document)
    [verified] = verify_document(Path("report.json"), {"eval_report": document})
    listed = {finding.code.removeprefix("believed.") for finding in verified.believed}
    assert "words" in listed
    allowed = [pattern for word, pattern in BELIEVED.items() if word in listed]
    silent = {place for place in unnoticed(document) if not any(re.fullmatch(each, place) for each in allowed)}
    assert silent == set()


def test_a_judged_trial_cannot_have_taken_another_time(document: Any) -> None:
    judged = next(n for n, trial in enumerate(document["trials"]) if trial["state"] == "passed")
    changed = copy.deepcopy(document)
    changed["trials"][judged]["duration_s"] += 1
    assert not agrees(changed)
