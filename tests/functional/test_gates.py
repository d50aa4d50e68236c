"""Gates on the command line: where they come from, what they decide, and what they refuse before anything is run."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from driving import Outcome, drive, line_of, printed_name, write

AGENT = """
import os

def answer(word, context):
    bad = os.environ.get("WRONG", "").split()
    return "no" if word in bad or f"{word}{context.index}" in bad else word
"""
WORDS = "abcdefgh"
CASES = "\n".join(f"  - {{id: {word}, input: {word}, expected: {word}}}" for word in WORDS)


def project(folder: Path, gate: str = "", trials: int = 3) -> Path:
    suite = f"name: letters\ntarget: agent.py:answer\ntrials: {trials}\n{gate}\ntest_cases:\n{CASES}\n"
    return write(folder, agent_py=AGENT, suite_yaml=suite, pyproject_toml="")


def run(folder: Path, *words: str, wrong: str = "") -> Outcome:
    return drive(folder, "run", "suite.yaml", *words, env={"WRONG": wrong})


def checks(outcome: Outcome) -> dict[str, Any]:
    return {check["name"]: check["passed"] for check in outcome.report["gate"]["checks"]}


def stored_runs(folder: Path) -> int:
    if not (folder / ".evalharness" / "store.db").exists():
        return 0
    with sqlite3.connect(folder / ".evalharness" / "store.db") as store:
        number: int = store.execute("SELECT COUNT(*) FROM runs").fetchone()[0]
    return number


def baseline(folder: Path, *words: str, wrong: str = "") -> str:
    name: str = run(folder, "--baseline", "none", "--json", wrong=wrong).run_name
    assert drive(folder, "baseline", name, *words).code == 0
    return name


def test_the_gate_alone_decides_between_0_and_1(tmp_path: Path) -> None:
    folder = project(tmp_path)
    assert run(folder, wrong="a").code == 1, "without a gate, a failed case fails the run"
    enough = run(folder, "--fail-under", "0.8", wrong="a")
    assert enough.code == 0
    assert "PASSED   1 failed, 7 passed" in enough.out
    assert "the gate passed; 1 case failed" in enough.out
    missed = run(folder, "--fail-under", "90%", wrong="a")
    assert missed.code == 1
    assert "includes that, so this may be chance" in line_of(missed, "gate")
    assert "✗ pass rate 88 %, 90 % needed" in missed.out


@pytest.mark.parametrize(("written", "code"), [("87", 0), ("0.87", 0), ("87%", 0), ("88", 1), ("1", 1), ("100", 1)])
def test_a_pass_rate_in_any_spelling(tmp_path: Path, written: str, code: int) -> None:
    assert run(project(tmp_path, trials=1), "--fail-under", written, wrong="a").code == code


def test_presets_from_the_file_and_from_the_flag(tmp_path: Path) -> None:
    folder = project(tmp_path, "gate: production")
    done = run(folder, "--json", wrong="a0")
    assert checks(done) == {"pass_at_1": True, "pass_at_3": True, "pass_hat_3": True}
    assert done.code == 0
    strict = run(folder, "--gate", "critical", "--json", wrong="a0")
    assert checks(strict) == {"pass_at_1": True, "pass_at_3": True, "pass_hat_3": False}
    assert (strict.code, strict.report["verdict"]) == (1, "FAILED")
    by_variable = drive(folder, "run", "suite.yaml", "--json", env={"WRONG": "a0", "EVALHARNESS_GATE": "critical"})
    assert by_variable.code == 1


def test_what_can_never_be_judged_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    folder = project(tmp_path)
    for words, told in (
        (("--gate", "production", "--repeat", "2"), "give --repeat 3"),
        (("--baseline", "nobody"), "unknown baseline, run or report file 'nobody'"),
        (("--baseline", "gone.json"), "gone.json"),
        (("--strict-flips",), "suite letters has none"),
        (("--regression-tolerance", "0.1"), "suite letters has none"),
        (("--fail-under", "lots"), "pass rate (0.9, 90 or 90%)"),
        (("--gate", "prod"), "'prod' is not one of"),
    ):
        done = run(folder, *words)
        assert (done.code, told in done.err) == (2, True), (words, done.err)
    assert stored_runs(folder) == 0


def test_a_limit_on_what_was_not_measured_is_not_a_pass(tmp_path: Path) -> None:
    done = run(project(tmp_path, "gate: {max_cost_usd: 5, max_latency_s: 60}"), "--json")
    assert (done.code, done.report["verdict"], done.report["gate"]["verdict"]) == (2, "INVALID", "INVALID")
    assert checks(done) == {"max_cost_usd": None, "max_latency_s": True}


def test_required_cases_count_even_where_they_were_not_selected(tmp_path: Path) -> None:
    folder = project(tmp_path, "gate: {required_cases: [a, b]}")
    assert run(folder, wrong="c d").code == 0
    left_out = run(folder, "--only", "a")
    assert left_out.code == 1
    assert "missed by b (not in this run)" in left_out.out


def test_a_case_that_is_in_quarantine_twice_is_reported(tmp_path: Path) -> None:
    entries = [
        f"{{case: a, reason: {why}, owner: Ada, expires: {year}-01-01}}"
        for why, year in (("flaky", 2998), ("slow", 2999))
    ]
    folder = project(tmp_path, f"gate: {{quarantine: [{', '.join(entries)}]}}")
    done = drive(folder, "validate", "suite.yaml")
    assert (done.code, "'a' is already in quarantine (entry 1)" in done.both) == (2, True)
    once = project(tmp_path / "once", f"gate: {{quarantine: [{entries[0]}]}}")
    assert drive(once, "validate", "suite.yaml").code == 0


def test_quarantined_cases_are_run_but_not_counted(tmp_path: Path) -> None:
    held = "gate: {quarantine: [{case: a, reason: flaky, owner: Ada, expires: %s}]}"
    done = run(project(tmp_path / "held", held % "2999-01-01"), "--json", wrong="a")
    assert (done.code, done.report["gate"]["quarantined"]) == (0, ["a"])
    assert [failure["eval_id"] for failure in done.report["failures"]] == ["a"]
    over = run(project(tmp_path / "over", held % "2020-01-01"), wrong="a")
    assert over.code == 1
    assert "quarantine expired on 2020-01-01, so it counts again: a (flaky; Ada)" in over.out


def test_a_regression_fails_and_an_inconclusive_result_follows_the_setting(tmp_path: Path) -> None:
    folder = project(tmp_path, "gate: {regression: true}")
    name = baseline(folder)
    worse = run(folder, "--json", wrong="a b c d")
    assert (worse.code, worse.report["comparison"]["verdict"]) == (1, "REGRESSION")
    assert worse.report["comparison"]["old"]["run_name"] == name
    open_ = run(folder, "--json")
    assert (open_.code, open_.report["gate"]["verdict"]) == (0, "INCONCLUSIVE")
    strict = run(folder, "--inconclusive", "fail", "--json")
    assert (strict.code, strict.report["verdict"]) == (4, "INCONCLUSIVE")
    tolerated = run(folder, "--regression-tolerance", "90", wrong="a b c d")
    assert tolerated.code == 0


def test_an_inconclusive_gate_is_a_verdict_of_its_own(tmp_path: Path) -> None:
    folder = project(tmp_path, "gate: {regression: true}")
    baseline(folder)
    done = run(folder, "-o", "results.xml")
    assert done.code == 0
    assert re.search(r"^INCONCLUSIVE   8 passed .*\n +the gate is undecided on regression", done.out, re.M), done.out
    suite = next(ElementTree.parse(folder / "results.xml").iter("testsuite"))
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    listed = json.loads(drive(folder, "runs", "--json").out)["runs"]
    assert [each["verdict"] for each in listed] == ["INCONCLUSIVE", "PASSED"]
    assert drive(folder, "baseline", listed[0]["run_name"]).code == 0, "it may be a baseline"


def test_strict_flips_fails_for_one_case_and_says_what_that_is_worth(tmp_path: Path) -> None:
    folder = project(tmp_path)
    baseline(folder, wrong="h")
    done = run(folder, "--strict-flips", wrong="b1 h")
    assert done.code == 1
    assert "(the false-alarm rate is not known): b did" in done.out, "three trials of each are too few"
    later = run(folder, "--strict-flips", "--json", wrong="h")
    assert later.code == 0
    low, high = later.report["comparison"]["flip_alarm"]
    assert 0 <= low < high < 1, "six trials of each are known, of b five passed"
    assert f"false alarm in {100 * low:.0f} to {100 * high:.0f} of 100 runs" in json.dumps(later.report["gate"])
    again = drive(folder, "gate", later.run_name, "--strict-flips", "--json").json["gate_report"]
    assert again["comparison"]["flip_alarm"] == [low, high]
    assert drive(folder, "verify", later.run_name).code == 0


def test_a_baseline_is_reported_but_decides_nothing_without_a_gate(tmp_path: Path) -> None:
    folder = project(tmp_path)
    name = baseline(folder)
    done = run(folder, wrong="a b c d")
    assert "REGRESSION" in line_of(done, "baseline")
    assert "gate " not in done.out
    assert run(folder).code == 0
    shown = drive(folder, "show", name, "--json")
    assert shown.report["comparison"] is None, "it is the baseline itself"
    again = drive(folder, "regrade", name, "--json")
    assert again.report["comparison"] is None, "no trial was run again"


def test_a_report_file_as_baseline_is_found_from_the_suite_and_from_here(tmp_path: Path) -> None:
    folder = project(tmp_path, "gate: {regression: {baseline: ../kept/old.json}}")
    evals = folder / "evals"
    evals.mkdir()
    for name in ("suite.yaml", "agent.py"):
        (folder / name).rename(evals / name)
    first = drive(folder, "run", "evals/suite.yaml", "--baseline", "none", "--json")
    (folder / "kept").mkdir()
    (folder / "kept" / "old.json").write_text(first.out, encoding="utf-8")
    for words in ((), ("--baseline", "kept/old.json")):
        done = drive(folder, "run", "evals/suite.yaml", *words, "--json", env={"WRONG": "a b c d"})
        assert (done.code, done.report["comparison"]["verdict"]) == (1, "REGRESSION")


def test_flags_stay_with_the_run_when_it_is_shown_resumed_and_regraded(tmp_path: Path) -> None:
    folder = project(tmp_path)
    done = run(folder, "--fail-under", "0.95", "--json", wrong="a")
    name = done.run_name
    assert done.code == 1
    for words in (("show", name, "--json"), ("resume", name, "--json"), ("regrade", name, "--json")):
        again = drive(folder, *words)
        assert checks(again) == {"pass_rate": False}, words
        assert again.report["exit_code"] == 1
    lenient = drive(folder, "regrade", name, "--fail-under", "0.5", "--json")
    assert (lenient.code, checks(lenient)) == (0, {"pass_rate": True})


def test_a_broken_run_stays_broken_whatever_the_gate(tmp_path: Path) -> None:
    folder = project(tmp_path)
    write(folder, broken_py="def answer(word):\n    raise ConnectionError('nobody there')\n")
    done = drive(folder, "run", "suite.yaml", "--target", "broken.py:answer", "--fail-under", "0", "--json")
    assert (done.code, done.report["verdict"], done.report["gate"]) == (3, "INVALID", None)
    judged = drive(folder, "gate", done.run_name, "--fail-under", "0")
    assert judged.code == 3
    assert "INVALID" in judged.out


def test_max_failures_is_no_way_around_a_gate(tmp_path: Path) -> None:
    done = run(project(tmp_path), "-j", "1", "--max-failures", "1", "--fail-under", "0", "--json", wrong="a")
    assert (done.code, done.report["gate"]) == (1, None)


def test_flags_that_ask_for_nothing_make_no_gate(tmp_path: Path) -> None:
    folder = project(tmp_path)
    for words in (("--baseline", "none"), ("--inconclusive", "fail")):
        done = run(folder, *words, "--json")
        assert (done.code, done.report["gate"]) == (0, None), words
        judged = drive(folder, "gate", done.run_name, *words)
        assert (judged.code, "has no gate" in judged.err) == (2, True), words


def test_flips_that_nothing_is_compared_with_are_refused_and_reported_for_a_variable(tmp_path: Path) -> None:
    folder = project(tmp_path)
    why = "--strict-flips needs a baseline to compare with, and --baseline none leaves none"
    for command in (("run", "suite.yaml"), ("gate", "last"), ("regrade", "last")):
        refused = drive(folder, *command, "--baseline", "none", "--strict-flips")
        assert (refused.code, why in refused.err) == (2, True), command
    told = drive(folder, "run", "suite.yaml", "--baseline", "none", env={"EVALHARNESS_STRICT_FLIPS": "1"})
    assert (told.code, f"note: EVALHARNESS_STRICT_FLIPS has no effect here: {why}" in told.err) == (0, True)


def test_a_report_s_file_is_judged_by_flags_alone(tmp_path: Path) -> None:
    folder = project(tmp_path)
    run(folder, "--fail-under", "50", "-o", "report.json")
    judged = drive(folder, "gate", "report.json")
    assert judged.code == 2
    assert "the gate in a report file is not applied again, and none was given" in judged.err


def test_judging_a_stored_run_and_its_report(tmp_path: Path) -> None:
    folder = project(tmp_path)
    done = run(folder, "--json", wrong="a")
    name = done.run_name
    (folder / "report.json").write_text(done.out, encoding="utf-8")
    before = stored_runs(folder)
    for what in (name, "report.json"):
        none = drive(folder, "gate", what)
        assert none.code == 2
        assert all(way in none.err for way in ("--gate", "--fail-under", "--baseline", "gate:"))
        assert drive(folder, "gate", what, "--fail-under", "0.8").code == 0
        missed = drive(folder, "gate", what, "--fail-under", "0.9", "--gate", "production", "--json")
        report = missed.json["gate_report"]
        assert (missed.code, report["exit_code"], report["metadata"]["run_name"]) == (1, 1, name)
        assert {check["name"] for check in report["gate"]["checks"]} == {
            "pass_rate",
            "pass_at_1",
            "pass_at_3",
            "pass_hat_3",
        }
    assert stored_runs(folder) == before, "judging stores nothing"


def test_a_verdict_that_does_not_follow_from_the_trials_is_not_believed(tmp_path: Path) -> None:
    folder = project(tmp_path)
    report = run(folder, "--max-failures", "1", "-j", "1", "--json", wrong="a").report
    assert (report["verdict"], report["summary"]["trials"]["pending"] > 0) == ("FAILED", True)
    for forged in ({"verdict": "PASSED", "exit_code": 0}, {"exit_code": 0}):
        (folder / "forged.json").write_text(json.dumps({"eval_report": report | forged}))
        judged = drive(folder, "gate", "forged.json", "--fail-under", "1")
        assert (judged.code, judged.out) == (2, "")
        assert "does not follow from its trials" in judged.err
        assert drive(folder, "verify", "forged.json").code == 1


def test_a_report_that_contains_too_little_says_what_it_lacks(tmp_path: Path) -> None:
    folder = project(tmp_path)
    report = run(folder, "--json").report
    (folder / "thin.json").write_text(json.dumps({"eval_report": {**report, "cases": [], "trials": []}}))
    done = drive(folder, "gate", "thin.json", "--fail-under", "1")
    assert done.code == 2
    assert "cases" in done.err


def test_what_a_comparison_left_out_is_reported_by_the_run_itself(tmp_path: Path) -> None:
    folder = project(tmp_path, "gate: {regression: true, strict_flips: true}")
    name = baseline(folder)
    suite = folder / "suite.yaml"
    text = (
        suite.read_text().replace("expected: b}", "expected: {contains: b}}").replace(f"{CASES.splitlines()[2]}\n", "")
    )
    suite.write_text(text)
    left_out = "1 of 8 cases changed, 1 only in the old run; compared on 6"
    done = run(folder, wrong="b")
    assert "   baseline default   " in line_of(done, "baseline")
    assert line_of(done, "baseline").endswith(f"   {left_out}")
    assert done.out.count(left_out) == 1, "the checks of the gate do not repeat it"
    told = [line for line in run(folder, "-v", wrong="b").out.splitlines() if f"({left_out})" in line]
    assert len(told) == 2, "with -v, regression and strict_flips do"
    newest = drive(folder, "runs", "--json").json["runs"][0]["run_name"]
    assert f"cases    {left_out}\n" in drive(folder, "compare", name, newest).out


def test_cases_that_were_not_selected_are_not_called_removed(tmp_path: Path) -> None:
    folder = project(tmp_path)
    name = baseline(folder)
    run(folder, "--only", "a")
    newest = drive(folder, "runs", "--json").json["runs"][0]["run_name"]
    for told in (drive(folder, "compare", "-v", *pair).out for pair in ((name, newest), (newest, name))):
        assert "removed" not in told and "added" not in told
        assert "not selected for the " in told


def test_a_run_compared_with_itself_is_reported(tmp_path: Path) -> None:
    folder = project(tmp_path)
    name = run(folder, "--json").run_name
    assert "this compares a run with itself" in drive(folder, "gate", name, "--baseline", name).out


def test_thresholds_of_a_group_without_cases_do_not_refuse_the_run(tmp_path: Path) -> None:
    folder = project(tmp_path, "gate: {thresholds: {criticality: {critical: {pass^3: 0.8}}}}", trials=1)
    done = run(folder)
    assert done.code == 0
    assert "no counted case has criticality critical, so its thresholds were not checked" in done.out


def test_a_threshold_of_the_config_folder_that_cannot_be_met_names_its_file(tmp_path: Path) -> None:
    folder = project(tmp_path, trials=1)
    (folder / "config").mkdir()
    (folder / "config" / "thresholds.yaml").write_text("default: {pass^3: 0.8}\n")
    done = run(folder)
    assert done.code == 2
    assert "config/thresholds.yaml" in done.err


def test_a_gate_writes_its_report_for_ci(tmp_path: Path) -> None:
    folder = project(tmp_path)
    name = run(folder, "--json", wrong="a").run_name
    done = drive(folder, "gate", name, "--fail-under", "90", "-o", "gate.xml", "-o", "gate.json")
    assert done.code == 1
    assert '<testsuite name="gate of letters"' in (folder / "gate.xml").read_text()
    report = json.loads((folder / "gate.json").read_text())["eval_report"]
    assert (report["gate"]["verdict"], report["exit_code"], len(report["trials"])) == ("FAILED", 1, 24)
    again = drive(folder, "gate", "gate.json", "--fail-under", "50", "-o", "again.json")
    written = json.loads((folder / "again.json").read_text())["eval_report"]
    assert (again.code, written["verdict"], written["trials"]) == (0, "PASSED", report["trials"])
    assert drive(folder, "verify", "again.json").code == 0
    (folder / "mine.json").write_text("{}")
    refused = drive(folder, "gate", name, "--fail-under", "90", "-o", "mine.json")
    assert (refused.code, "contains something else" in refused.err) == (2, True)


def test_thresholds_of_the_config_folder_are_acted_on(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "config").mkdir()
    thresholds = folder / "config" / "thresholds.yaml"
    thresholds.write_text("default: {pass_rate: 0.8}\n", encoding="utf-8")
    assert run(folder, wrong="a").code == 0
    assert run(folder, wrong="a b c").code == 1
    thresholds.write_text("default: {pas_rate: 0.8}\n", encoding="utf-8")
    broken = run(folder)
    assert broken.code == 2
    assert (
        "config/thresholds.yaml:1: default.pas_rate: unknown metric 'pas_rate'; did you mean 'pass_rate'?" in broken.err
    )


def test_a_gate_whose_grades_are_all_outstanding_is_open(tmp_path: Path) -> None:
    case = "{id: h, input: hi, graders: [human]}"
    suite = f"name: due\ntarget: echo\ngate: {{thresholds: {{pass_rate: 0.5}}}}\ntest_cases: [{case}]\n"
    done = drive(write(tmp_path, suite_yaml=suite), "run", "suite.yaml", "--json")
    assert (done.code, done.report["verdict"], done.report["gate"]["verdict"]) == (4, "UNDECIDED", "INCONCLUSIVE")
    assert done.report["gate"]["checks"][0]["text"]["text"] == "pass rate is not known yet: 1 case not graded yet"


def edited(folder: Path) -> None:
    """Every case asks something different and gets a good answer."""
    text = (folder / "suite.yaml").read_text(encoding="utf-8")
    for word in WORDS:
        text = text.replace(f"input: {word}, expected: {word}", f"input: {word}{word}, expected: {word}{word}")
    write(folder, suite_yaml=text)


def test_a_run_that_cannot_be_compared_can_still_become_the_baseline(tmp_path: Path) -> None:
    folder = project(tmp_path, "gate: {regression: true}")
    baseline(folder)
    edited(folder)
    done = run(folder, "--json")
    name = done.run_name
    assert (done.code, done.report["verdict"]) == (2, "INVALID")
    [check] = done.report["gate"]["checks"]
    assert "all 8 cases in both were changed in between" in check["text"]["text"]
    assert (
        f"eval-harness baseline set {name} (if there is none, run it with --baseline none first)"
        in check["text"]["text"]
    )
    assert drive(folder, "baseline", name, "-o", "kept.json").code == 0, "its trials are as good as any"
    kept = json.loads((folder / "kept.json").read_text(encoding="utf-8"))["eval_report"]
    assert (kept["verdict"], kept["gate"]) == ("PASSED", None)
    assert run(folder).code == 0
    assert run(folder, "--baseline", "kept.json").code == 0


def test_a_baseline_that_cannot_be_compared_is_reported_without_a_gate(tmp_path: Path) -> None:
    folder = project(tmp_path)
    baseline(folder)
    edited(folder)
    done = run(folder)
    assert done.code == 0
    told = line_of(done, "baseline")
    assert told.count("cannot be compared") == 1
    assert told.endswith("cannot be compared: all 8 cases in both were changed in between")
    shown = drive(folder, "show", printed_name(done), "--json")
    assert shown.report["not_compared"]["text"].endswith("changed in between")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (
            {"verdict": "INVALID", "exit_code": 3, "why": "no network"},
            "spoilt.json cannot be the baseline: its run is INVALID (no network)",
        ),
        (
            {"verdict": "INVALID", "exit_code": 3, "why": ""},
            "spoilt.json cannot be the baseline: its run is INVALID\n",
        ),
        ({"cases": "twice"}, "spoilt.json contains the case 'a' twice"),
        ({"cases": "impossible"}, "spoilt.json: the counts of case 'a' are impossible: 99 passed of 3 trials"),
    ],
)  # fmt: skip
def test_a_baseline_file_that_cannot_be_trusted_is_refused_before_the_run(
    tmp_path: Path, spoil: dict[str, Any], told: str
) -> None:
    folder = project(tmp_path)
    report = run(folder, "--json").report
    cases = report["cases"]
    changed = {"twice": [*cases, cases[0]], "impossible": [{**cases[0], "passed": 99}, *cases[1:]]}
    spoilt = {**report, **spoil, "cases": changed.get(spoil.get("cases", ""), cases)}
    (folder / "spoilt.json").write_text(json.dumps({"eval_report": spoilt}), encoding="utf-8")
    before = stored_runs(folder)
    done = run(folder, "--baseline", "spoilt.json")
    assert (done.code, told in done.err) == (2, True), done.err
    assert stored_runs(folder) == before


def test_a_baseline_of_another_suite_is_reported(tmp_path: Path) -> None:
    folder = project(tmp_path)
    baseline(folder, "-o", "letters.json")
    write(folder, suite_yaml=(folder / "suite.yaml").read_text(encoding="utf-8").replace("letters", "words"))
    done = run(folder, "--baseline", "letters.json")
    assert done.code == 0
    assert "these are runs of different suites: letters and words" in done.out


def test_critical_cases_that_all_fail_are_not_hidden_by_the_others(tmp_path: Path) -> None:
    text = (
        project(tmp_path, "gate: {regression: true, strict_flips: false, inconclusive: fail}", trials=1) / "suite.yaml"
    )
    ordinary = "\n".join(f"  - {{id: o{n}, input: o, expected: o}}" for n in range(300))
    listed = "\n".join(f"  - {{id: {word}, input: {word}, expected: {word}, criticality: critical}}" for word in "abc")
    head = text.read_text(encoding="utf-8").partition("test_cases:")[0]
    write(tmp_path, suite_yaml=f"{head}test_cases:\n{ordinary}\n{listed}\n")
    baseline(tmp_path)
    lost = run(tmp_path, wrong="a b c")
    assert lost.code == 4
    assert "INCONCLUSIVE: every critical case that passed before fails now (a, b, c)" in lost.out
    assert run(tmp_path).code == 0


def test_a_run_compared_with_nothing_keeps_the_rule_for_later(tmp_path: Path) -> None:
    folder = project(tmp_path, "gate: {regression: {metrics: [score], baseline: main}}")
    baseline(folder, "--name", "main")
    uncompared = run(folder, "--baseline", "none", "--json")
    assert list(checks(uncompared)) == ["cases"]
    name = uncompared.run_name
    judged = drive(folder, "gate", name, "--baseline", "main", "--json")
    found = json.loads(judged.out)["gate_report"]["comparison"]
    assert [metric for metric, each in found["differences"].items() if each["gated"]] == ["score"]


def test_the_baseline_is_not_overwritten_by_what_is_compared_with_it(tmp_path: Path) -> None:
    folder = project(tmp_path)
    baseline(folder, "-o", "base.json")
    kept = (folder / "base.json").read_text()
    refused = run(folder, "--baseline", "base.json", "-o", "base.json", wrong="a")
    assert refused.code == 2
    assert "base.json would overwrite the baseline" in refused.err
    assert (folder / "base.json").read_text() == kept


def test_a_report_is_not_overwritten_by_how_it_is_judged(tmp_path: Path) -> None:
    folder = project(tmp_path)
    run(folder, "-o", "report.json")
    kept = (folder / "report.json").read_text()
    (folder / "link.json").symlink_to("report.json")
    for name in ("report.json", "link.json"):
        refused = drive(folder, "gate", "report.json", "--fail-under", "50", "-o", name)
        assert (refused.code, refused.out, (folder / "report.json").read_text()) == (2, "", kept)
        assert f"{name} would overwrite the report that is judged" in refused.err


def test_a_first_baseline_is_written_by_a_run_that_is_compared_with_nothing(tmp_path: Path) -> None:
    folder = project(tmp_path, "gate: {regression: {baseline: base.json}}")
    for _ in range(2):
        assert run(folder, "--baseline", "none", "-o", "base.json").code == 0
    assert run(folder, "-o", "new.json").code == 0
    assert run(folder, "--baseline", "new.json", "-o", "base.json").code == 0, "a flag replaces the suite's value"
    missing = run(folder, "--baseline", "none.json", "-o", "none.json")
    assert (missing.code, "would overwrite" in missing.err) == (2, False)


def test_nor_is_one_that_the_suite_or_the_stored_run_names(tmp_path: Path) -> None:
    folder = project(tmp_path, "gate: {regression: {baseline: base.json}}")
    baseline(folder, "-o", "base.json")
    kept = (folder / "base.json").read_text()
    name = run(folder, "--json").run_name
    for command in (("run", "suite.yaml"), ("gate", name), ("compare", "base.json", name), ("regressions", "letters")):
        refused = drive(folder, *command, "-o", "base.json")
        assert (refused.code, (folder / "base.json").read_text()) == (2, kept), command
    before = stored_runs(folder)
    for command in (("run", "suite.yaml"), ("regrade", name), ("regrade", name, "--suite", "suite.yaml")):
        refused = drive(folder, *command, "-o", "base.json")
        assert (refused.code, refused.out, stored_runs(folder)) == (2, "", before), "reported before anything is run"
    drive(folder, "run", "suite.yaml", "--max-failures", "1", "-j", "1", env={"WRONG": "a"})
    refused = drive(folder, "resume", "-o", "base.json")
    assert (refused.code, refused.out, (folder / "base.json").read_text()) == (2, "", kept)
    assert drive(folder, "resume", "--json").run_name != name, "it is still unfinished"


def test_a_file_that_is_not_there_is_called_a_file(tmp_path: Path) -> None:
    run(project(tmp_path))
    done = drive(tmp_path, "gate", "nope.json", "--fail-under", "90")
    assert done.code == 2
    assert "there is no file nope.json" in done.err
    assert "unknown run 'nope'" in drive(tmp_path, "gate", "nope", "--fail-under", "90").err


def test_a_preset_asks_for_what_the_row_of_its_name_says(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml="name: rows\ntrials: 3\ntest_cases: [{id: a, input: x, expected: y}]")
    write(tmp_path / "config", thresholds_yaml="production: {pass@1: 0, pass@k: 0, pass^k: 0}")
    plain = drive(tmp_path, "run", "suite.yaml", "--target", "echo", "--json")
    assert (plain.code, plain.report["gate"]) == (1, None)
    mild = drive(tmp_path, "run", "suite.yaml", "--target", "echo", "--gate", "production", "--json")
    assert (mild.code, [check["wanted"] for check in mild.report["gate"]["checks"]]) == (0, [0, 0, 0])
    assert drive(tmp_path, "run", "suite.yaml", "--target", "echo", "--gate", "staging").code == 1
    assert drive(tmp_path, "gate", plain.run_name, "--gate", "production").code == 0
