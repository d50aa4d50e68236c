"""`compare` and `regressions` agree about a run: both apply its gate, and flags override it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driving import drive, texts, write
from worse_agent import run

from evalharness.domain.comparison import Comparison

AGENT = """
from evalharness import Answer

def answer(data):
    number = data["n"]
    return Answer(output="yes", cost_usd=0.01 + number / 1e5)

def worse(data):
    number = data["n"]
    return Answer(output="no" if number < 6 else "yes", cost_usd=0.01 + number / 1e5)

def dearer(data):
    number = data["n"]
    return Answer(output="yes", cost_usd=(0.01 + number / 1e5) * 1.24)

def untold(data):
    return "yes"
"""
CASES = "".join(f"  - {{id: c{n}, input: {{n: {n}}}, expected: 'yes'}}\n" for n in range(30))
HELD = "[" + ", ".join(f"{{case: c{n}, reason: r, owner: o, expires: 2999-12-31}}" for n in range(3)) + "]"
TOLERANT = f"gate: {{regression: {{tolerance: 0.3}}, quarantine: {HELD}}}"
IMPOSSIBLE = {"alpha": 0.7, "power": 0.3, "tolerance": 1.5}
OF_COSTS = "gate: {regression: {metrics: [pass_rate, cost]}}"
UNCOMPARED = ("--baseline", "none")


def project(folder: Path, gate: str) -> Path:
    suite = f"name: many\ntarget: agent.py:answer\n{gate}\ntest_cases:\n{CASES}"
    return write(folder, agent_py=AGENT, suite_yaml=suite, pyproject_toml="")


def both(folder: Path, target: str) -> tuple[Any, Any, str]:
    """What `regressions` and `compare` say about the target's run, and its name."""
    old = run(folder, "answer", *UNCOMPARED)
    drive(folder, "baseline", old)
    new = run(folder, target, "-o", f"{target}.json")
    [judged] = drive(folder, "regressions", "many", "--json").json["regressions"]["comparisons"]
    return judged, drive(folder, "compare", "default", new, "--json").json["comparison"], new


@pytest.mark.parametrize(
    ("gate", "target", "verdict", "note"),
    [
        (TOLERANT, "worse", "NO REGRESSION", "left out, because quarantined: c0, c1, c2"),
        (OF_COSTS, "dearer", "REGRESSION", "cost also varies between runs"),
    ],
)
def test_the_gate_of_the_new_run_is_the_rule(tmp_path: Path, gate: str, target: str, verdict: str, note: str) -> None:
    folder = project(tmp_path, gate)
    judged, compared, new = both(folder, target)
    assert compared == {**judged, "flips": None}, "single cases are judged if something could fail"
    assert compared["verdict"] == verdict
    assert any(each.startswith(note) for each in texts(compared["notes"]))
    of_file = drive(folder, "compare", "default", f"{target}.json", "--json").json["comparison"]
    told = set(Comparison.model_fields) - {"new", "cases"}
    assert {name: of_file[name] for name in told} == {name: compared[name] for name in told}, "a report has its gate"

    strict = drive(folder, "compare", "default", new, "--regression-tolerance", "0", "--json").json["comparison"]
    assert (strict["verdict"], strict["tolerance"]) == ("INCONCLUSIVE" if target == "worse" else verdict, 0)


def test_an_improvement_counts_as_no_regression_everywhere(tmp_path: Path) -> None:
    folder = project(tmp_path, "gate: {regression: true}")
    drive(folder, "baseline", run(folder, "worse", *UNCOMPARED))
    better = drive(folder, "run", "suite.yaml", "--target", "agent.py:answer", "-o", "run.json", "-o", "run.xml")
    report = json.loads((folder / "run.json").read_text(encoding="utf-8"))["eval_report"]
    assert (better.code, report["verdict"], report["comparison"]["verdict"]) == (0, "PASSED", "IMPROVEMENT")
    [check, _] = report["gate"]["checks"]
    assert check["passed"] and check["text"]["text"].startswith("IMPROVEMENT: the pass rate is 20 points higher")
    assert "IMPROVEMENT" in better.out and "<failure" not in (folder / "run.xml").read_text(encoding="utf-8")
    for words in (("regressions", "many"), ("regressions", "many", "--inconclusive", "fail"), ("gate", "latest")):
        again = drive(folder, *(report["metadata"]["run_name"] if word == "latest" else word for word in words))
        assert (again.code, "IMPROVEMENT" in again.out) == (0, True), words
    for what in (report["metadata"]["run_name"], "run.json"):
        assert drive(folder, "verify", what).code == 0
    forged = (folder / "run.json").read_text(encoding="utf-8").replace('"IMPROVEMENT"', '"NO REGRESSION"')
    (folder / "forged.json").write_text(forged, encoding="utf-8")
    assert "comparison.verdict" in drive(folder, "verify", "forged.json").out


def test_a_file_that_mentions_no_possible_gate_is_refused(tmp_path: Path) -> None:
    folder = project(tmp_path, TOLERANT)
    drive(folder, "baseline", run(folder, "answer", *UNCOMPARED))
    run(folder, "worse", "-o", "worse.json")
    whole = json.loads((folder / "worse.json").read_text("utf-8"))["eval_report"]
    gated = {"words": whole["comparison"]["differences"]["pass_rate"] | {"metric": "words"}}
    wrong = {
        **{f"{name}.json": {"comparison": {name: value}} for name, value in IMPOSSIBLE.items()},
        "metric.json": {"comparison": {"differences": whole["comparison"]["differences"] | gated}},
        "held.json": {"gate": {"quarantined": [""]}},
    }
    for name, parts in wrong.items():
        report = whole | {part: whole[part] | changes for part, changes in parts.items()}
        (folder / name).write_text(json.dumps({"eval_report": report}), "utf-8")
        for words in (("compare", "default", name), ("regressions", "many", "--run", name)):
            refused = drive(folder, *words)
            assert (refused.code, f"{name}: its gate cannot be read" in refused.err) == (2, True), refused.err


def test_the_metrics_of_the_gate_can_be_put_aside(tmp_path: Path) -> None:
    folder = project(tmp_path, OF_COSTS)
    old, new = run(folder, "answer", *UNCOMPARED), run(folder, "untold", *UNCOMPARED)
    refused = drive(folder, "compare", old, new)
    assert (refused.code, "--metric" in refused.err) == (2, True)
    found = drive(folder, "compare", old, new, "--metric", "pass_rate", "--json").json["comparison"]
    assert found["decisive"] == ["pass_rate"]


def test_each_of_several_goes_by_its_own_gate(tmp_path: Path) -> None:
    folder = project(tmp_path, TOLERANT)
    old, tolerant = run(folder, "answer", *UNCOMPARED), run(folder, "worse", *UNCOMPARED)
    project(tmp_path, "")
    strict = run(folder, "worse", *UNCOMPARED)
    found = drive(folder, "compare", old, tolerant, strict, "--json").json["comparisons"]
    assert [(each["n_cases"], each["verdict"]) for each in found] == [(27, "NO REGRESSION"), (30, "REGRESSION")]
