"""`regressions`: compares the newest run of a suite with its baseline; its output and its exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from driving import clean_environment, drive, texts, write
from worse_agent import AGENT, SUITE, run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path, agent_py=AGENT, suite_yaml=SUITE, pyproject_toml="")


def checked(folder: Path, *words: str) -> tuple[int, Any]:
    done = drive(folder, "regressions", *words, "--json")
    return done.code, done.json["regressions"]


def tasks(found: Any) -> dict[str, Any]:
    return {task["taskId"]: task for task in found["tasks"]}


def test_worse_is_1_and_the_tasks_say_where(project: Path) -> None:
    good = run(project, "good")
    drive(project, "baseline", good)
    bad = run(project, "bad")
    code, found = checked(project, "capitals")
    assert (code, found["exit_code"], found["verdict"]) == (1, 1, "REGRESSION")
    [comparison] = found["comparisons"]
    assert (comparison["old"]["run_name"], comparison["new"]["run_name"]) == (good, bad)
    assert comparison["old"]["source"] == "baseline default"
    documented = {"taskId": "peru", "previousScore": 1.0, "currentScore": 0.0, "degraded": True, "delta": 1.0}
    assert tasks(found)["peru"].items() >= documented.items()
    assert [task["degraded"] for task in found["tasks"]] == [False, True, False], "every shared task is listed"

    by_file, _ = checked(project, "suite.yaml")
    assert by_file == 1
    shown = drive(project, "regressions", "capitals")
    assert shown.out.lstrip().startswith("REGRESSION")
    assert "1 case fell by more than 0.1: peru 1.00 → 0.00" in shown.out
    accepted, _ = checked(project, "capitals", "--regression-tolerance", "50")
    assert accepted == 0


STRICT = """
test_cases:
  - {id: half, input: France, expected: Paris, graders: [{function: 'agent.py:score', required: false}]}
  - {id: whole, input: Japan, expected: Tokyo}
"""
SCORE = "\nimport os\ndef score(output):\n    return float(os.environ['SCORE'])\n"


def scored_runs(project: Path, before: str, now: str) -> None:
    """One trial per task; the first task's score is the mean of 1 and the given score."""
    head = SUITE.partition("test_cases")[0].replace("trials: 4", "trials: 1")
    write(project, agent_py=AGENT + SCORE, suite_yaml=head + STRICT)
    drive(project, "baseline", drive(project, "run", "suite.yaml", "--json", env={"SCORE": before}).run_name)
    drive(project, "run", "suite.yaml", env={"SCORE": now})


@pytest.mark.parametrize(
    ("before", "now", "threshold", "code"),
    [
        ("1", "0.6", "0.1", 1),
        ("1", "0.6", "0.19", 1),
        ("1", "0.6", "0.2", 0),
        ("0.8", "0.6", "0.1", 0),
        ("0.6", "1", "0", 0),
        ("0.6", "0.6", "0", 0),
        ("0.6", "0.59", "0", 1),
    ],
)
def test_a_threshold_that_is_given_decides(project: Path, before: str, now: str, threshold: str, code: int) -> None:
    scored_runs(project, before, now)
    found_code, found = checked(project, "capitals", "--threshold", threshold)
    assert (found_code, found["exit_code"], found["rule"], found["threshold"]) == (
        code,
        code,
        "threshold",
        float(threshold),
    )
    assert found["verdict"] == ("REGRESSION" if code else "NO REGRESSION")
    assert any(task["degraded"] for task in found["tasks"]) is bool(code)
    first = drive(project, "regressions", "capitals", "--threshold", threshold).out.strip().splitlines()[0]
    what = f"{'1 case' if code else 'no case'} fell by more than {threshold}"
    assert first == f"{found['verdict']}   capitals: {what} (--threshold decides, not the comparison below)"
    by_comparison = checked(project, "capitals")[1]
    assert (by_comparison["exit_code"], by_comparison["rule"], by_comparison["threshold"]) == (0, "comparison", 0.1)


def test_the_threshold_overrules_a_regression_and_can_be_a_variable(project: Path) -> None:
    drive(project, "baseline", run(project, "good"))
    run(project, "bad")
    assert checked(project, "capitals")[0] == 1
    code, found = checked(project, "capitals", "--threshold", "1")
    assert (code, found["verdict"], found["comparisons"][0]["verdict"]) == (0, "NO REGRESSION", "REGRESSION")
    asked = drive(project, "regressions", "capitals", "--json", env={"EVALHARNESS_THRESHOLD": "1"})
    assert (asked.code, asked.json["regressions"]["rule"]) == (0, "threshold")


def test_a_threshold_decides_nothing_about_what_broke_or_is_quarantined(project: Path) -> None:
    drive(project, "baseline", run(project, "good"))
    run(project, "unreachable")
    code, found = checked(project, "capitals", "--threshold", "0.1")
    assert (code, found["verdict"]) == (3, "INVALID")
    held = "gate: {quarantine: [{case: peru, reason: moved, owner: Ada, expires: 2999-01-01}]}\ntest_cases:"
    write(project, suite_yaml=SUITE.replace("test_cases:", held))
    run(project, "bad")
    code, found = checked(project, "capitals", "--threshold", "0.1")
    assert (code, list(tasks(found))) == (0, ["france", "japan"])


@pytest.mark.parametrize("threshold", ["-0.1", "1.5", "nan", "high"])
def test_a_threshold_is_a_difference_of_scores(project: Path, threshold: str) -> None:
    refused = drive(project, "regressions", "capitals", "--threshold", threshold)
    assert (refused.code, "--threshold" in refused.err) == (2, True)


def test_by_a_threshold_nothing_is_undecided(project: Path) -> None:
    refused = drive(project, "regressions", "capitals", "--threshold", "0.1", "--inconclusive", "fail")
    assert (refused.code, "never inconclusive" in refused.err) == (2, True)


def test_further_tool_calls_are_not_a_degradation(project: Path) -> None:
    agent = """
from evalharness import Answer

def direct(text):
    return Answer(output="done", tool_calls=[{"name": "search"}, {"name": "read"}])

def thorough(text):
    return Answer(output="done", tool_calls=[{"name": name} for name in ("list", "search", "list", "read", "list")])
"""
    task = {"id": "find", "category": "tool_use_sequence", "prompt": "Find it", "expectedPatterns": ["done"]}
    suite = {"name": "tools", "tasks": [{**task, "expectedToolSequence": ["search", "read"]}]}
    write(project, agent_py=agent, suite_json=json.dumps(suite))
    drive(project, "baseline", drive(project, "run", "suite.json", "--target", "agent.py:direct", "--json").run_name)
    now = drive(project, "run", "suite.json", "--target", "agent.py:thorough", "--json")
    [grade] = [grade for grade in now.report["trials"][0]["grades"] if grade["kind"] == "tool_sequence"]
    assert (grade["state"], grade["score"]) == ("pass", 1)
    assert grade["evidence"] == {"f1": pytest.approx(4 / 7)}
    code, found = checked(project, "tools", "--threshold", "0.1")
    assert (code, tasks(found)["find"]["degraded"], tasks(found)["find"]["delta"]) == (0, False, 0)


def test_a_lost_case_is_the_headline_where_it_decides(project: Path) -> None:
    drive(project, "baseline", run(project, "good", "--trials", "1"))
    run(project, "bad", "--trials", "1")
    shown = drive(project, "regressions", "capitals")
    assert shown.code == 1
    first, second = [part for part in shown.out.split("\n\n") if part][:2]
    assert first.strip().startswith("FAILED   always passed before and always fails now: peru")
    assert second.startswith("INCONCLUSIVE")
    assert shown.out.count("always fails now: peru") == 1


def test_a_lost_case_that_decides_is_named_in_all_that_is_read(project: Path, tmp_path: Path) -> None:
    drive(project, "baseline", run(project, "good", "--trials", "1"))
    run(project, "bad", "--trials", "1")
    code, found = checked(project, "capitals")
    assert (code, found["verdict"], found["rule"]) == (1, "FAILED", "flips")
    [compared] = found["comparisons"]
    assert (compared["verdict"], compared["notes"][0]["code"]) == ("INCONCLUSIVE", "gate.flips")
    lost = "always passed before and always fails now: peru"
    summary = tmp_path / "summary.md"
    step = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    for command in (
        ("regressions", "capitals"),
        ("compare", "default", "latest", "--fail", "-o", "c.md", "-o", "c.html"),
    ):
        done = drive(project, *command, env=step)
        assert done.code == 1
        [first, *_] = [line for line in done.out.splitlines() if line.startswith("::error")]
        assert first.startswith("::error title=capitals%3A FAILED::" + lost)
        assert heading(summary).startswith(f"## ✗ FAILED: {lost}")
        summary.unlink()
    assert heading(project / "c.md").endswith(
        "; one trial can fail by chance, so run 5 per case in both runs (--trials 5)"
    )
    page = (project / "c.html").read_text()
    assert f"A{lost[1:]}" in page
    assert "All cases together: INCONCLUSIVE" in page


def heading(markdown: Path) -> str:
    return next(line for line in markdown.read_text().splitlines() if line.startswith("## "))


def test_cases_of_one_trial_name_a_range(project: Path) -> None:
    cases = "".join(f"  - {{id: more{n}, input: France, expected: Paris}}\n" for n in range(20))
    (project / "suite.yaml").write_text(SUITE + cases)
    drive(project, "baseline", run(project, "good", "--trials", "1"))
    assert (
        "smallest drop this could detect: between "
        in drive(project, "compare", "default", run(project, "bad", "--trials", "1")).out
    )
    drive(project, "baseline", run(project, "good", "--trials", "5"))
    many = run(project, "bad", "--trials", "5")
    assert "smallest drop this could detect: between " not in drive(project, "compare", "default", many).out


def test_not_worse_is_0_and_undecided_is_what_was_asked_for(project: Path) -> None:
    drive(project, "baseline", run(project, "good"))
    run(project, "good")
    assert checked(project, "capitals")[0] == 0
    code, found = checked(project, "capitals", "--inconclusive", "fail")
    assert (code, found["verdict"]) == (4, "INCONCLUSIVE"), "three cases cannot rule out a loss of 5 points"
    code, found = checked(project, "capitals", "--inconclusive", "fail", "--margin", "90")
    assert (code, found["verdict"]) == (0, "NO REGRESSION")
    assert "no case fell by more than 0.1" in drive(project, "regressions", "capitals", "-v").out


def test_a_run_that_broke_says_nothing_and_is_3(project: Path) -> None:
    drive(project, "baseline", run(project, "good"))
    run(project, "unreachable")
    code, found = checked(project, "capitals")
    assert (code, found["verdict"]) == (3, "INVALID")
    assert tasks(found)["peru"]["degraded"] is False, "an error is not a wrong answer"
    assert tasks(found)["peru"]["currentScore"] is None


def test_a_variant_that_broke_does_not_hide_the_loss_of_another(project: Path) -> None:
    dead = "\ndef dead(country):\n    raise TargetUnavailable('no network')\n"
    write(project, agent_py=AGENT + dead)
    drive(project, "baseline", run(project, "good"))
    drive(project, "run", "suite.yaml", "--target", "agent.py:bad", "--target", "agent.py:dead")
    code, found = checked(project, "capitals")
    assert (code, found["verdict"]) == (3, "INVALID")
    [comparison] = found["comparisons"]
    assert (comparison["new"]["variant"], comparison["verdict"]) == ("agent.py:bad", "REGRESSION")
    assert "cannot be compared: all 3 cases in both were not judged in one of them" in found["notes"][0]["text"]
    shown = drive(project, "regressions", "capitals").out
    assert shown.startswith("INVALID   capitals: the run broke")
    assert "\n\nREGRESSION   100 % → 67 % " in shown

    run(project, "dead")
    code, found = checked(project, "capitals")
    assert (code, found["verdict"], found["comparisons"]) == (3, "INVALID", []), "a broken run is not wrong usage"


def test_removed_tasks_failures_at_the_same_score_and_improvements_are_reported(project: Path) -> None:
    """What the original does not report."""
    cases = """
test_cases:
  - {id: gone, input: France, expected: Paris}
  - {id: flips, input: Japan, graders: [{function: 'agent.py:judge'}]}
  - {id: mended, input: Peru, expected: Lima}
"""
    judge = "\nimport os\ndef judge(output):\n    return {'passed': os.environ['NOW'] == '1', 'score': 0.8}\n"
    write(project, agent_py=AGENT + judge, suite_yaml=SUITE.partition("test_cases")[0] + cases)
    old = drive(project, "run", "suite.yaml", "--target", "agent.py:bad", "--json", env={"NOW": "1"})
    drive(project, "baseline", old.run_name)
    write(project, suite_yaml=(project / "suite.yaml").read_text().replace("{id: gone", "{id: added"))
    drive(project, "run", "suite.yaml", "--target", "agent.py:good", env={"NOW": "0"})
    _, found = checked(project, "capitals")
    assert (found["comparisons"][0]["removed"], found["comparisons"][0]["added"]) == (["gone"], ["added"])
    flipped, mended = tasks(found)["flips"], tasks(found)["mended"]
    assert (flipped["previousState"], flipped["currentState"], flipped["delta"]) == ("passed", "failed", 0)
    assert (mended["degraded"], mended["delta"]) == (False, -1.0)
    shown = drive(project, "regressions", "capitals").out
    assert "passed before and failed now, though no score fell by more than 0.1: flips 0.80 → 0.80" in shown
    assert "rose by more than 0.1: mended 0.00 → 1.00" in drive(project, "regressions", "capitals", "-v").out


def test_every_variant_of_the_newest_runs_is_checked(project: Path) -> None:
    drive(project, "baseline", run(project, "good"))
    drive(project, "run", "suite.yaml", "--target", "agent.py:good", "--target", "agent.py:bad", "--repeat", "8")
    code, found = checked(project, "capitals")
    verdicts = [(each["new"]["variant"], each["verdict"]) for each in found["comparisons"]]
    assert verdicts == [("agent.py:good", "INCONCLUSIVE"), ("agent.py:bad", "REGRESSION")]
    assert (code, found["verdict"]) == (1, "REGRESSION"), "not only the last variant counts"
    assert [task["taskId"] for task in found["tasks"] if task["variant"] == "agent.py:bad"] == [
        "france",
        "peru",
        "japan",
    ]
    assert drive(project, "regressions", "capitals").out.startswith("REGRESSION   capitals: agent.py:bad")


def test_a_variant_is_judged_alike_whatever_runs_beside_it(project: Path) -> None:
    """All of five cases are lost: p is 1/32. That would not be enough if the unchanged variant shared the level."""
    agents = "def good(n):\n    return n\n\ndef bad(n):\n    return 'no'\n"
    cases = "".join(f"\n  - {{id: c{n}, input: '{n}', expected: '{n}'}}" for n in range(5))
    suite = f"name: numbers\ntarget: agent.py:good\ngate: {{regression: true}}\ntest_cases:{cases}\n"
    write(project, agent_py=agents, suite_yaml=suite)
    old = drive(project, "run", "suite.yaml", "--baseline", "none", "--json").run_name
    drive(project, "baseline", old)
    done = drive(project, "run", "suite.yaml", "--target", "agent.py:good", "--target", "agent.py:bad")
    several = "if nothing had changed, at least one would still be called worse in"
    assert (done.code, f"{several} up to 10 of 100" in done.out) == (1, True)
    code, found = checked(project, "numbers")
    assert (code, [each["verdict"] for each in found["comparisons"]]) == (1, ["INCONCLUSIVE", "REGRESSION"])
    assert all(any(several in note for note in texts(each["notes"])) for each in found["comparisons"])
    new = found["comparisons"][1]["new"]["run_name"]
    assert checked(project, "numbers", "--run", new)[0] == drive(project, "gate", new).code == 1
    compared = drive(project, "compare", old, new, old, "--json").json["comparisons"]
    assert [each["verdict"] for each in compared] == ["REGRESSION", "INCONCLUSIVE"]
    assert not any(several in note for each in compared for note in texts(each["notes"])), "not with itself"


def test_what_broke_or_was_not_finished_is_not_a_baseline(project: Path) -> None:
    good, broken = run(project, "good"), run(project, "unreachable")
    refused = drive(project, "regressions", "capitals", "--baseline", broken, "--run", good)
    assert (refused.code, f"{broken} cannot be the baseline: its run is INVALID" in refused.err) == (2, True)
    report = drive(project, "show", good, "--json").json
    report["eval_report"] |= {"verdict": "INTERRUPTED", "exit_code": 130}
    (project / "part.json").write_text(json.dumps(report))
    refused = drive(project, "regressions", "capitals", "--baseline", "part.json", "--run", good)
    assert (refused.code, "part.json cannot be the baseline: its run is INTERRUPTED" in refused.err) == (2, True)
    drive(project, "run", "suite.yaml", "--target", "agent.py:unreachable", "--target", "agent.py:good")
    refused = drive(project, "regressions", "capitals", "--baseline-variant", "agent.py:unreachable")
    assert (refused.code, "cannot be the baseline" in refused.err) == (2, True)


def test_variants_are_compared_with_one_of_them(project: Path) -> None:
    drive(project, "run", "suite.yaml", "--target", "agent.py:good", "--target", "agent.py:bad")
    code, found = checked(project, "capitals", "--baseline-variant", "agent.py:good")
    assert (code, [each["new"]["variant"] for each in found["comparisons"]]) == (1, ["agent.py:bad"])
    assert checked(project, "capitals", "--baseline-variant", "agent.py:bad")[0] == 0
    both = drive(project, "regressions", "capitals", "--baseline", "b", "--baseline-variant", "agent.py:good")
    assert (both.code, "with a baseline or with a variant, not with both" in both.err) == (2, True)
    wrong = drive(project, "regressions", "capitals", "--baseline-variant", "agent.py:god")
    assert (wrong.code, "Did you mean 'agent.py:good'?" in wrong.err) == (2, True)


def test_which_run_and_which_baseline(project: Path) -> None:
    lacking = drive(project, "regressions", "suite.yaml")
    assert (lacking.code, "has no baseline" in lacking.err) == (2, True)
    bad, good = run(project, "bad"), run(project, "good")
    drive(project, "baseline", good, "-o", "base.json")
    before = drive(project, "regressions", "capitals")
    assert (before.code, "has finished since its baseline default" in before.err) == (2, True), "bad is older"
    assert checked(project, "capitals", "--run", bad)[0] == 1
    assert checked(project, "capitals", "--baseline", bad)[0] == 0
    itself = drive(project, "regressions", "capitals", "--run", good)
    assert (itself.code, "the baseline itself" in itself.err) == (2, True)
    drive(project, "baseline", "rm", "default")
    assert checked(project, "capitals", "--baseline", "base.json", "--run", bad)[0] == 1

    unfinished = run(project, "bad", "--max-failures", "1", "-j", "1")
    refused = drive(project, "regressions", "capitals", "--baseline", "base.json", "--run", unfinished)
    assert (refused.code, f"resume {unfinished}" in refused.err) == (2, True)
    unknown = drive(project, "regressions", "capitls")
    assert (unknown.code, "Did you mean 'capitals'?" in unknown.err) == (2, True)


def test_the_gate_of_the_suite_is_the_rule(project: Path) -> None:
    rule = "gate: {regression: {baseline: base.json, tolerance: 0.5}, inconclusive: fail}\ntest_cases:"
    drive(project, "baseline", run(project, "good"), "-o", "base.json")
    write(project, suite_yaml=SUITE.replace("test_cases:", rule))
    run(project, "bad")
    code, found = checked(project, "capitals")
    assert found["comparisons"][0]["tolerance"] == 0.5
    assert found["comparisons"][0]["old"]["source"].endswith("base.json")
    assert (code, found["verdict"]) == (4, "INCONCLUSIVE")
    assert checked(project, "capitals", "--regression-tolerance", "0")[0] == 1, "a flag wins"


@pytest.mark.parametrize("order", [("pass", "fail"), ("fail", "pass")])
def test_each_run_is_undecided_by_its_own_gate(project: Path, order: tuple[str, str]) -> None:
    drive(project, "baseline", run(project, "good"))
    for place, inconclusive in enumerate(order):
        rule = f"gate: {{regression: true, inconclusive: {inconclusive}}}\ntest_cases:"
        (project / f"{place}.yaml").write_text(SUITE.replace("test_cases:", rule), "utf-8")
    drive(project, "run", "0.yaml", "1.yaml")
    code, found = checked(project, "capitals")
    assert [each["verdict"] for each in found["comparisons"]] == ["INCONCLUSIVE"] * 2
    assert code == 4, "whichever was started last"
    assert checked(project, "capitals", "--inconclusive", "pass")[0] == 0


def test_results_of_recorded_sessions_are_a_baseline(project: Path) -> None:
    run(project, "bad")
    results = [{"input_path": f"/w/evals/{name}.json", "title": name} for name in ("france", "peru", "japan") * 4]
    saved = {"name": "old-run-001", "timestamp": "2026-01-02T03:04:05Z", "duration": 1, "results": results}
    (project / "old-run-001.json").write_text(json.dumps(saved))
    code, found = checked(project, "capitals", "--baseline", "old-run-001.json")
    assert (code, found["comparisons"][0]["old"]["run_name"]) == (1, "old-run-001")
    assert any("by name only" in note for note in texts(found["comparisons"][0]["notes"]))


def test_comparing_in_python_as_documented(project: Path) -> None:
    for name in ("old", "new"):
        drive(project, "run", "suite.yaml", "-o", f"{name}.json")
    page = Path(__file__).parents[2] / "docs" / "comparing.md"
    code = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL))
    program = [sys.executable, "-c", f"{code}\nprint(comparison.verdict)"]
    done = subprocess.run(program, cwd=project, env=clean_environment(project), capture_output=True, check=False)
    assert (done.stdout, done.stderr) == (b"INCONCLUSIVE\n", b"")
