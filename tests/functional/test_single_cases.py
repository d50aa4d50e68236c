"""A single lost case fails a gate that compares, unless the case is known to flip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driving import Outcome, drive, write

AGENT = """
import os

def answer(word, context):
    return "no" if word in os.environ.get("WRONG", "").split() else word

def other(word, context):
    return answer(word, context)
"""
CASES = "\n".join(f"  - {{id: {word}, input: {word}, expected: {word}}}" for word in "abcdefghijklmnopqrst")


def project(folder: Path, gate: str = "", trials: int = 1) -> Path:
    suite = f"name: letters\ntarget: agent.py:answer\ntrials: {trials}\n{gate}\ntest_cases:\n{CASES}\n"
    return write(folder, agent_py=AGENT, suite_yaml=suite, pyproject_toml="")


def run(folder: Path, *words: str, wrong: str = "") -> Outcome:
    return drive(folder, "run", "suite.yaml", "--json", *words, env={"WRONG": wrong})


def with_baseline(folder: Path, *words: str) -> None:
    assert drive(folder, "baseline", run(folder, "--baseline", "none", *words).run_name).code == 0


def flips(outcome: Outcome) -> Any:
    """Whether the check passed; "unchecked" if it was not made."""
    return {check["name"]: check["passed"] for check in outcome.report["gate"]["checks"]}.get("flips", "unchecked")


@pytest.mark.parametrize("wrong", ["a", "a b c d"])
def test_a_baseline_does_not_turn_a_red_build_green(tmp_path: Path, wrong: str) -> None:
    folder = project(tmp_path)
    with_baseline(folder)
    for attempt in ("first", "again"):  # trying a broken agent twice does not excuse it
        done = run(folder, "--baseline", "default", wrong=wrong)
        assert (done.code, flips(done)) == (1, False), attempt
        [check] = [check for check in done.report["gate"]["checks"] if check["name"] == "flips"]
        assert check["cases"] == wrong.split()
        assert "--trials 5" in check["text"]["text"]
    assert run(folder, wrong=wrong).code == 1, "without a gate every failing case fails the run"
    assert run(folder, "--baseline", "default").code == 0


def test_a_suite_of_three_cases_that_all_break_fails(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        agent_py=AGENT,
        pyproject_toml="",
        suite_yaml="name: few\ntarget: agent.py:answer\ntest_cases:\n"
        + "\n".join(f"  - {{id: {word}, input: {word}, expected: {word}}}" for word in "abc"),
    )
    with_baseline(folder)
    assert run(folder, "--baseline", "default", wrong="a b c").code == 1


def test_a_case_that_flips_by_itself_is_left_to_the_statistics(tmp_path: Path) -> None:
    folder = project(tmp_path)
    run(folder, wrong="a")
    with_baseline(folder)
    known = run(folder, "--baseline", "default", wrong="a")
    assert (known.code, flips(known), known.report["verdict"]) == (0, True, "INCONCLUSIVE")
    assert known.report["comparison"]["flips"]["excused"] == ["a"]
    both = run(folder, "--baseline", "default", wrong="a b")
    assert (both.code, both.report["comparison"]["flips"]["cases"]) == (1, ["b"])


def test_the_past_of_another_target_or_another_case_excuses_nothing(tmp_path: Path) -> None:
    folder = project(tmp_path)
    run(folder, "--target", "agent.py:other", wrong="a")
    run(folder, "--target", "agent.py:other")
    with_baseline(folder)
    assert run(folder, "--baseline", "default", wrong="a").code == 1


def test_a_file_as_baseline_uses_the_past_of_the_open_store(tmp_path: Path) -> None:
    folder = project(tmp_path)
    run(folder, "-o", "base.json")
    assert run(folder, "--baseline", "base.json", wrong="a").code == 1
    run(folder)
    assert run(folder, "--baseline", "base.json", wrong="a").code == 0, "a failed, and came back"
    elsewhere = run(folder, "--baseline", "base.json", "--store", "other.db", wrong="a")
    assert elsewhere.code == 1, "no history means strict"


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        ("", ("--no-strict-flips",)),
        ("", ("--regression-tolerance", "0.01")),
        ("gate: {regression: {metrics: [score]}}", ()),
        ("gate: {regression: true, strict_flips: false}", ()),
        ("gate: {regression: true, quarantine: [{case: a, reason: r, owner: o, expires: 2999-01-01}]}", ()),
    ],
)
def test_who_does_not_want_it_is_spared(tmp_path: Path, gate: str, words: tuple[str, ...]) -> None:
    folder = project(tmp_path, gate)
    with_baseline(folder)
    done = run(folder, "--baseline", "default", *words, wrong="a")
    assert (done.code, flips(done)) == (0, True if "quarantine" in gate else "unchecked")


def test_a_baseline_that_is_only_information_decides_nothing(tmp_path: Path) -> None:
    folder = project(tmp_path, "gate: {thresholds: {pass_rate: 0.5}}")
    with_baseline(folder)
    done = run(folder, wrong="a")
    assert (done.code, flips(done), done.report["comparison"]["flips"]) == (0, "unchecked", None)


def test_five_trials_all_lost_need_no_past_and_four_do(tmp_path: Path) -> None:
    for trials, is_met in ((4, None), (5, False)):
        folder = project(tmp_path / str(trials), trials=trials)
        with_baseline(folder)
        assert flips(run(folder, "--baseline", "default", wrong="a")) is is_met, trials
    folder = project(tmp_path / "past", trials=4)
    run(folder)
    with_baseline(folder)
    assert flips(run(folder, "--baseline", "default", wrong="a")) is False, "eight passes and no failure"


def test_a_case_lost_in_two_trials_is_named_and_left_to_the_statistics(tmp_path: Path) -> None:
    folder = project(tmp_path, trials=2)
    with_baseline(folder)
    done = run(folder, "--baseline", "default", wrong="a")
    [check] = [check for check in done.report["gate"]["checks"] if check["name"] == "flips"]
    said = "a always passed before and never now, with too few trials for this check"
    assert (check["passed"], check["text"]["text"].startswith(said)) == (None, True), check["text"]["text"]
    shown = drive(folder, "gate", done.run_name, "--baseline", "default")
    assert f"? {said}" in " ".join(shown.out.split())


def test_a_case_lost_in_too_few_trials_leaves_the_exit_code_to_the_regression_check(tmp_path: Path) -> None:
    folder = project(tmp_path, "gate: {regression: {margin: 0.4}, inconclusive: fail}", trials=2)
    with_baseline(folder)
    done = run(folder, wrong="a")
    assert {check["name"]: check["passed"] for check in done.report["gate"]["checks"]} == {
        "regression": True,
        "flips": None,
    }
    assert (done.code, done.report["verdict"]) == (0, "PASSED")
    assert "the gate passed" in drive(folder, "show", done.run_name).out
    assert drive(folder, "verify", done.run_name).code == 0


def test_regressions_follows_the_same_rule_and_keeps_its_word(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with_baseline(folder)
    run(folder, wrong="a")
    done = drive(folder, "regressions", "letters", "--json")
    found = json.loads(done.out)["regressions"]
    assert (done.code, found["verdict"]) == (1, "FAILED")
    assert found["comparisons"][0]["verdict"] == "INCONCLUSIVE", "REGRESSION stays a statistical word"
    assert found["comparisons"][0]["flips"]["cases"] == ["a"]
    assert "always fails now: a" in drive(folder, "regressions", "letters").out
    assert drive(folder, "regressions", "letters", "--regression-tolerance", "0.01").code == 0
    shown = drive(folder, "compare", "default", found["comparisons"][0]["new"]["run_name"], "--json")
    assert json.loads(shown.out)["comparison"]["flips"] is None


def test_the_file_says_auto_true_or_false_and_nothing_else(tmp_path: Path) -> None:
    for written, code in (("auto", 0), ("true", 0), ("false", 0), ("sometimes", 2), ("1", 2)):
        folder = project(tmp_path / written, f"gate: {{strict_flips: {written}}}")
        done = drive(folder, "validate", "suite.yaml")
        assert done.code == code, done.both
        assert not code or "strict_flips" in done.both
