"""The report examples of the eval-harness document, reproduced in shape by a run of evals like theirs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from driving import drive, write

AGENT = """
def answer(question):
    return "Session persists indefinitely" if "timeout" in question else "ok"
"""
SUITE = """
eval_suite:
  name: Feature X Evaluation Suite
  trials: 3
  target: agent.py:answer
  evals:
    - {id: cap-auth-001, name: Login flow, eval_type: capability, input: login, expected_output: ok}
    - {id: cap-auth-003, name: Session timeout, eval_type: capability, input: timeout,
       expected_output: Session expires after 30 min}
    - {id: reg-auth-001, name: Password hashing unchanged, eval_type: regression, input: hash, expected_output: ok}
  gate: {thresholds: {pass_at_1: 0.85, pass_hat_3: 0.5}}
  reporting: {format: [json, markdown], output_dir: ./eval-results, include_details: true}
"""
EXAMPLE: dict[str, Any] = {
    "metadata": {"suite_name": str, "run_id": str, "timestamp": str, "duration_seconds": float, "environment": dict},
    "summary": {
        "total_evals": int,
        "passed": int,
        "failed": int,
        "skipped": int,
        "pass_rate": float,
        "by_category": {
            "capability": {"total": int, "passed": int, "pass_rate": float},
            "regression": {"total": int, "passed": int, "pass_rate": float},
        },
        "by_grader": {"code": {"total": int, "passed": int}},
    },
    "metrics": {"pass_at_1": float, "pass_at_3": float, "pass_hat_3": float},
    "failures": [{"eval_id": str, "name": str, "reason": str, "details": dict}],
    "recommendations": [str],
}
"""The keys of the document's report, each with the type of its value."""


def missing(example: Any, found: Any, path: str = "") -> list[str]:
    if isinstance(example, dict):
        return [
            wrong
            for key, inner in example.items()
            for wrong in (missing(inner, found[key], f"{path}.{key}") if key in found else [f"{path}.{key}"])
        ]
    if isinstance(example, list):
        return ([] if found else [f"{path} is empty"]) + [
            wrong for each in found for wrong in missing(example[0], each, path)
        ]
    return [] if isinstance(found, example) else [f"{path}: {type(found).__name__}"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path, agent_py=AGENT, eval_suite_yaml=SUITE, pyproject_toml="")


def test_the_json_report_has_all_keys_of_the_example(project: Path) -> None:
    report = drive(project, "run", "eval_suite.yaml", "--json").report
    assert missing(EXAMPLE, report) == []
    assert re.match(r"eval-\d{8}-\d{6}", report["metadata"]["run_id"])
    assert report["metadata"]["environment"]["version"]
    assert (report["summary"]["total_evals"], report["summary"]["passed"], report["summary"]["failed"]) == (3, 2, 1)


def test_the_folder_of_results_is_that_of_the_document(project: Path) -> None:
    assert drive(project, "run", "eval_suite.yaml").code == 1
    latest = project / "eval-results" / "latest"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", str(latest.readlink()))
    assert sorted(re.sub(r"\d{6}", "HHMMSS", path.name) for path in latest.iterdir()) == [
        "run-HHMMSS.json",
        "run-HHMMSS.md",
    ]


def test_the_markdown_report_has_the_parts_of_the_phase_report(project: Path) -> None:
    drive(project, "run", "eval_suite.yaml")
    lines = drive(project, "report", "latest").out.splitlines()
    parts = [
        r"## ✗ FAILED: Feature X Evaluation Suite",
        r"### Eval results",
        r"\| Metric \| Value \| Threshold \| Status \|",
        r"\| pass@1 \| 67 % \(\d+–\d+\) \| 85 % \| ✗ FAIL \|",
        r"\| pass\^3 \| 67 % \(\d+–\d+\) \| 50 % \| ✓ PASS \|",
        r"#### Capability evals \(1/2 passed\)",
        r"- \[ \] cap-auth-003: Session timeout \(FAILED 0/3\)",
        r"  - Expected: Session expires after 30 min",
        r"  - Actual: Session persists indefinitely",
        r"- \[x\] cap-auth-001: Login flow",
        r"#### Regression evals \(1/1 passed\)",
        r"- \[x\] reg-auth-001: Password hashing unchanged",
        r"### Recommendations",
        r"1\. .+ \(cap-auth-003\)",
    ]
    for part in parts:
        place = next((number for number, line in enumerate(lines) if re.fullmatch(part, line)), None)
        assert place is not None, f"{part} is missing, or comes too early"
        lines = lines[place + 1 :]
