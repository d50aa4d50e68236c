"""evalharness: does an AI agent work, how reliably, and did a change make it worse?

The public names, each imported when it is first used.
"""

from importlib import import_module
from typing import Any

_PUBLIC = {
    "Answer": "evalharness.domain.transcript",
    "CannotResume": "evalharness.errors",
    "Case": "evalharness.domain.case",
    "CaseFile": "evalharness.domain.case",
    "Comparison": "evalharness.domain.comparison",
    "EvalArtifact": "evalharness.documents.artifact",
    "Finding": "evalharness.domain.finding",
    "Gate": "evalharness.domain.gate",
    "GateOverrides": "evalharness.domain.gate",
    "Grade": "evalharness.domain.grade",
    "GradeContext": "evalharness.contracts.grader",
    "GraderSpec": "evalharness.domain.specification",
    "Harness": "evalharness.harness",
    "HarnessError": "evalharness.errors",
    "InvalidFile": "evalharness.errors",
    "Measurement": "evalharness.domain.measurement",
    "Report": "evalharness.domain.report",
    "Run": "evalharness.domain.run",
    "Selection": "evalharness.domain.suite",
    "Settings": "evalharness.settings",
    "Suite": "evalharness.domain.suite",
    "SuiteConfig": "evalharness.domain.suite",
    "TargetSpec": "evalharness.domain.specification",
    "TargetUnavailable": "evalharness.errors",
    "ToolCall": "evalharness.domain.transcript",
    "Transcript": "evalharness.domain.transcript",
    "Trial": "evalharness.domain.trial",
    "Unscored": "evalharness.errors",
    "Usage": "evalharness.domain.transcript",
    "UsageError": "evalharness.errors",
    "Variant": "evalharness.domain.suite",
    "evaluate": "evalharness.harness",
    "load_run": "evalharness.harness",
    "load_suite": "evalharness.steps.find_suites",
    "pass_at_k": "evalharness.stats.pass_k",
    "pass_hat_k": "evalharness.stats.pass_k",
    "runs_frame": "evalharness.frames",
    "say": "evalharness.reports.words.say",
    "trials_frame": "evalharness.frames",
}

__all__ = sorted(_PUBLIC)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'evalharness' has no attribute '{name}'")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return __all__
