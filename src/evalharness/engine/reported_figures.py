"""Reported figures: every number that a reader of a report is told, by name, as far as it follows from the trials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from evalharness.domain.measurement import Measurement
from evalharness.domain.report import Failure, Report
from evalharness.domain.sequential import SequentialPlan
from evalharness.domain.trial import TRIAL_STATES

Figure: TypeAlias = tuple[str, Any]
_MEASURED = ("value", "low", "high", "level", "method", "n_cases", "n_trials", "n_eff", "lacking")
_COUNTED = (
    *("trials", "passed", "errors", "state", "score", "duration_s", "longest_s", "cost_usd", "dearest_usd"),
    *("unscored", "least_score", "unpriced"),
)


def reported_figures(report: Report) -> Iterator[Figure]:
    yield from _summary(report)
    yield from ((f"metrics.{name}", value) for name, value in report.metrics.items() if value is not None)
    for name, measurement in report.measurements.items():
        yield from _measured(f"measurements.{name}", measurement)
    for name, value in report.error_bounds or ():
        yield f"error_bounds.{name}", value
    for case in report.cases:
        yield from ((f"cases.{case.case_id}.{name}", getattr(case, name)) for name in _COUNTED)
    for name, value in report.sequential or ():
        if name not in SequentialPlan.model_fields:
            yield f"sequential.{name}", value
    yield from _listed("failures", report.failures)
    yield from _listed("unjudged", report.unjudged)
    yield from ((name, getattr(report, name)) for name in ("cost_usd", "input_tokens", "output_tokens"))


def _measured(place: str, found: Measurement) -> Iterator[Figure]:
    return ((f"{place}.{key}", getattr(found, key)) for key in _MEASURED)


def _summary(report: Report) -> Iterator[Figure]:
    groups = ("by_category", "by_topic", "by_grader")
    yield from ((f"summary.{name}", value) for name, value in report.summary if name not in groups and name != "trials")
    yield from ((f"summary.trials.{name}", value) for name, value in report.summary.trials)
    for kind in groups:
        for name, group in getattr(report.summary, kind).items():
            place = f"summary.{kind}.{name}"
            yield from ((f"{place}.{key}", value) for key, value in group if key != "measurement")
            if group.measurement is not None:
                yield from _measured(f"{place}.measurement", group.measurement)


def _listed(name: str, cases: tuple[Failure, ...]) -> Iterator[Figure]:
    """A case's history is no part of its run."""
    for case in cases:
        yield f"{name}.{case.eval_id}.state", case.state
        yield from ((f"{name}.{case.eval_id}.{key}", case.details[key]) for key in TRIAL_STATES if key in case.details)
