"""What `phase --json` prints: one document with the steps, and the report of each run in it, without its trials."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalharness.domain.phase_result import JunitSuite, PhaseResult, StepResult
from evalharness.domain.reported_run import Presentation, ReportedRun, no_trials
from evalharness.reports.report_files import print_report
from evalharness.reports.words.say import say, with_texts


def phase_document(
    result: PhaseResult, runs: Mapping[str, ReportedRun], files: Sequence[Path], presentation: Presentation
) -> dict[str, Any]:
    tests = result.tests
    return {
        "phase_report": {
            "phase_id": result.phase_id,
            "name": result.name,
            "verdict": result.verdict,
            "exit_code": result.exit_code,
            "why": say(result.why),
            "changes": None if result.changes is None else with_texts(result.changes),
            "tests": None if tests is None else {"is_green": tests.is_green, "suites": [*map(_tests, tests.suites)]},
            "steps": [_step(each, runs, presentation) for each in result.steps],
            "report_files": [str(path) for path in files],
        }
    }


def _tests(suite: JunitSuite) -> dict[str, Any]:
    return {**with_texts(suite), "passed": suite.passed}


def _step(each: StepResult, runs: Mapping[str, ReportedRun], presentation: Presentation) -> dict[str, Any]:
    wanted = each.step.phase_eval
    step: dict[str, Any] = {"type": each.step.type, "description": each.step.description}
    if wanted is None:
        return {**step, "result": "not run"}
    return {
        **step,
        "result": each.verdict if each.runs else "not run",
        "why_not_run": say(each.why_not_run),
        "suite": wanted.suite,
        "blocking": wanted.blocks,
        "exit_code": each.exit_code,
        "thresholds": wanted.minimum,
        "metrics": list(wanted.metrics),
        "eval_reports": [_report(runs[run.id], presentation) for run in each.runs if run.id in runs],
    }


def _report(each: ReportedRun, presentation: Presentation) -> Any:
    written = io.StringIO()
    print_report("json", [ReportedRun(each.report, each.run, no_trials)], written, presentation)
    return json.loads(written.getvalue())["eval_report"]
