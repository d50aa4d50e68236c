"""Choose when a sequential run stops: what it has to decide, how many trials it may take, and in which order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date

from evalharness.contracts.store import Store
from evalharness.domain.case_result import CaseResult, pooled
from evalharness.domain.gate import Gate
from evalharness.domain.report import Report
from evalharness.domain.run import Run
from evalharness.domain.sequential import SequentialPlan, SequentialRequest
from evalharness.domain.suite import Suite
from evalharness.engine.planning.planned_cases import trial_seed
from evalharness.engine.planning.sample_size import Known, WantedEffect, trials_needed
from evalharness.errors import Hint, UsageError
from evalharness.stats.sequential import e_value_discordant_pairs, fixed_design
from evalharness.stats.thresholds import ALPHA, BETA
from evalharness.steps.apply_gate import find_baseline

CAP = 2
"""So many times the trials of a fixed design may be taken: a test that is stopped early is sometimes the longer one."""

STOPS_EARLY = "a run that may stop early"


def with_cap(suite: Suite, request: SequentialRequest, store: Store) -> Suite:
    """With so many trials per case that the run can be decided; raises UsageError where there is nothing to decide."""
    gate = _checked(suite)
    if request.trials is not None:
        return suite
    floor = _floor(gate)
    trials = [suite.trials]
    if floor is not None:
        trials.append(math.ceil(CAP * _fixed_for_floor(floor, request.effect, _alpha(gate)) / len(suite.cases)))
    if gate.rule is not None:
        reports = find_baseline(gate, store, suite.name).reports
        trials.append(max((case.trials for report in reports for case in report.cases), default=1))
    return suite.model_copy(update={"trials": max(trials)})


def stopping_plan(run: Run, request: SequentialRequest, store: Store, day: date) -> SequentialPlan:
    """For a run that is planned with its lock: it tells which cases are still those of the baseline."""
    gate = run.suite.gate
    assert gate is not None, "checked when the cap was chosen"
    ignored = gate.quarantined_on(day)
    floor, alpha = _floor(gate), _alpha(gate)
    fixed = [] if floor is None else [_fixed_for_floor(floor, request.effect, alpha)]
    counts: dict[str, tuple[int, int]] = {}
    source = baseline_run = ""
    if gate.rule is not None:
        found = find_baseline(gate, store, run.suite.name)
        source, baseline_run = found.label, found.report.metadata.run_id
        keys = {case_id: key for case_id, key in run.lock.keys.items() if case_id not in ignored}
        counts = _comparable(keys, found.reports)
        _check_pairs(sum(min(trials, run.lock.trials) for trials, _ in counts.values()), alpha, source)
        wanted = WantedEffect(request.effect, 1 - BETA, alpha)
        fixed.append(len(counts) * trials_needed(Known(list(counts.values())), len(counts), wanted))
    return SequentialPlan(
        seed=_seed(run),
        floor=floor,
        baseline=counts,
        baseline_name=source,
        baseline_run=baseline_run,
        effect=request.effect,
        alpha=alpha,
        beta=BETA,
        fixed_n=max(fixed),
        ignored=tuple(sorted(ignored)),
    )


def _seed(run: Run) -> int:
    """The suite's, if it names one. Otherwise every run has its own: the same few cases must not decide every time."""
    if "seed" in run.suite.config.model_fields_set:
        return run.suite.config.seed
    return trial_seed(run.lock.seed, f"{run.suite.name} {run.created_at}", 0)


def _floor(gate: Gate) -> float | None:
    return gate.thresholds.default.get("pass_rate")


def _alpha(gate: Gate) -> float:
    return gate.rule.alpha if gate.rule else ALPHA


def _fixed_for_floor(floor: float, effect: float, alpha: float) -> int:
    if not effect < floor < 1:
        raise UsageError(
            f"a pass rate of {floor * 100:g} % cannot be distinguished from one that is {effect * 100:g} points lower",
            hint=Hint("hint.sequential_floor"),
        )
    return fixed_design(floor, floor - effect, alpha, BETA).trials


def check_question(gate: Gate, report: Report, store: Store) -> None:
    """Raises UsageError where a gate asks a run that may stop early for anything but what it was to decide."""
    plan, about = report.sequential, report.metadata
    if plan is not None and (_undecidable(gate) or not _asks_the_same(gate, plan, store, report)):
        raise UsageError(
            f"{about.run_name} stopped as soon as its own question was decided, so it cannot be judged by other limits",
            hint="run the suite again with these limits",
        )


def _asks_the_same(gate: Gate, plan: SequentialPlan, store: Store, report: Report) -> bool:
    if (_floor(gate), _alpha(gate), gate.rule is not None) != (plan.floor, plan.alpha, bool(plan.baseline)):
        return False
    if gate.rule is None:
        return True
    found = find_baseline(gate, store, report.metadata.suite_name)
    counts = _comparable({case.case_id: case.key for case in report.cases}, found.reports)
    is_same = found.label == plan.baseline_name or found.report.metadata.run_id == plan.baseline_run != ""
    return is_same and plan.baseline.items() <= counts.items() and not gate.rule.tolerance


def _checked(suite: Suite) -> Gate:
    gate = suite.gate or Gate()
    if asked := _undecidable(gate):
        raise UsageError(
            f"{STOPS_EARLY} cannot judge {', '.join(asked)}: it may stop before every case was tried",
            hint=Hint("hint.sequential_gate"),
        )
    if _floor(gate) is None and gate.rule is None:
        raise UsageError(
            f"{STOPS_EARLY} needs something to decide",
            hint=Hint("hint.sequential_question"),
        )
    if gate.rule is not None and gate.rule.tolerance:
        raise UsageError(
            f"{STOPS_EARLY} cannot allow for an accepted loss (a tolerance of {gate.rule.tolerance:g}): "
            "it asks whether anything got worse",
            hint=Hint("hint.sequential_tolerance"),
        )
    _check_clusters(suite)
    _check_weights(suite)
    return gate


def _check_clusters(suite: Suite) -> None:
    """Tests that look after every trial need trials that do not share their luck."""
    sizes = Counter(case.cluster for case in suite.cases if case.cluster)
    cluster, size = max(sizes.items(), key=lambda found: found[1], default=("", 0))
    if size > 1:
        raise UsageError(
            f"{STOPS_EARLY} cannot judge cases that share a cluster ('{cluster}' has {size:,}): it counts trials "
            "one by one, as if they were independent",
            hint=Hint("hint.sequential_clusters"),
        )


def _check_weights(suite: Suite) -> None:
    """A trial that is counted counts as much as any other."""
    weights = {case.weight for case in suite.cases}
    if len(weights) > 1:
        raise UsageError(
            f"{STOPS_EARLY} cannot judge cases of different weights (from {min(weights):g} to {max(weights):g}): "
            "it counts every trial the same",
            hint=Hint("hint.sequential_weights"),
        )
    if weights == {0.0}:
        raise UsageError(
            f"{STOPS_EARLY} cannot judge a pass rate: every case has weight 0", hint="give a case a weight above 0"
        )


def _undecidable(gate: Gate) -> list[str]:
    """What a gate asks for that needs every case to be tried."""
    return [
        *sorted({metric for _, _, minimum in gate.minima() for metric in minimum} - {"pass_rate"}),
        *(["thresholds of some cases"] if any(kind for kind, _, _ in gate.minima()) else []),
        *(["each_case"] if gate.each_case else []),
        *(["required_cases"] if gate.required_cases else []),
        *(["strict_flips"] if gate.compares and gate.strict_flips is True else []),
        *(sorted(set(gate.rule.metrics) - {"pass_rate"}) if gate.rule else []),
    ]


def _comparable(keys: Mapping[str, str], before: Sequence[Report]) -> dict[str, tuple[int, int]]:
    """Trials and passes of the baseline's cases that ask and judge the same as now, in all its runs together."""
    found: dict[str, list[CaseResult]] = {}
    for report in before:
        for case in report.cases:
            if case.trials and case.case_id in keys and (not case.key or case.key == keys[case.case_id]):
                found.setdefault(case.case_id, []).append(case)
    together = {case_id: pooled(found[case_id]) for case_id in keys if case_id in found}
    return {case_id: (case.trials, case.passed) for case_id, case in together.items()}


def _check_pairs(pairs: int, alpha: float, source: str) -> None:
    if not pairs or e_value_discordant_pairs(pairs, 0) < 1 / alpha:
        raise UsageError(
            f"{pairs} pairs of trials with {source} can never show that something got worse",
            hint=Hint("hint.sequential_pairs"),
        )


# Apply the stopping rule: a report of a sequential run gets its decision, and figures that hold whenever one stops.


def apply_stopping(run: Run, report: Report, store: Store) -> Report:
    """The report as it is, for a run with a fixed number of trials."""
    plan = run.options.sequential
    if plan is None:
        return report
    from evalharness.engine.running.sequential_decision import (  # here: few runs are such
        error_bounds_of,
        follow,
        measured_sequentially,
    )

    result = follow(plan, run.lock.cases, run.lock.trials, store.outcomes(run.id))
    measurements = measured_sequentially(report.measurements, result)
    return report.model_copy(
        update={
            "metadata": report.metadata.model_copy(update={"sequential": True}),
            "sequential": result,
            "measurements": measurements,
            "error_bounds": error_bounds_of(result),
            "metrics": {name: found.value for name, found in measurements.items()},
        }
    )
