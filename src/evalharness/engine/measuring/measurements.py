"""Measurements: from counted trials to numbers with honest intervals. Pure: counts in, measurements out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from statistics import fmean
from typing import TypeVar

from evalharness.domain.case import Case, observation
from evalharness.domain.finding import Finding, finding
from evalharness.domain.measurement import Measurement
from evalharness.domain.suite import Suite
from evalharness.engine.measuring.trial_counts import CaseTally, Measured
from evalharness.stats.intervals import bootstrap_plus_one_case, wilson
from evalharness.stats.means import weighted_mean
from evalharness.stats.medians import median
from evalharness.stats.pass_k import pass_at_k, pass_hat_k, printed_k
from evalharness.stats.thresholds import LEVEL

Value = TypeVar("Value")


def measure(suite: Suite, trials: int, measured: Measured) -> dict[str, Measurement]:
    """Pass rate, score, figures of graders, pass@k and pass^k over cases, median latency and cost of a trial.

    Each has its interval.

    What cannot be computed is not there: `unmeasurable` says which pass@k and why.
    """
    graded = [(case, measured.tallies[case.id]) for case in suite.cases if measured.tallies[case.id].graded]
    weighing = [pair for pair in graded if pair[0].weight > 0]
    found = {"pass_rate": pass_rate_of(weighing)} if weighing else {}
    found |= _score(weighing) | _figures(weighing) | _of_k_trials(suite, trials, measured)
    times = [(case, tally.duration_sum_s / tally.graded, tally.graded) for case, tally in graded]
    costs = [(case, tally.cost_sum_usd / tally.priced, tally.priced) for case, tally in graded if tally.priced]
    found |= {name: _median(f) for name, f in (("latency_s", times), ("cost_usd", costs)) if f}
    if "cost_usd" in found:
        found["cost_usd"] = _with_lacking(found["cost_usd"], sum(tally.graded - tally.priced for _, tally in graded))
    return found


def _score(weighing: list[tuple[Case, CaseTally]]) -> dict[str, Measurement]:
    scores = [(case, tally.score_sum / tally.scored) for case, tally in weighing if tally.scored]
    if not scores:
        return {}
    found = measurement_of(scores, sum(tally.scored for _, tally in weighing))
    return {"score": _with_lacking(found, sum(tally.unscored for _, tally in weighing))}


def _of_k_trials(suite: Suite, trials: int, measured: Measured) -> dict[str, Measurement]:
    found = {}
    first = first_answers(suite, measured)
    n_trials = sum(n for _, n, _ in first)
    for name, estimator, k in wanted_k(suite, trials):
        by_counts = {counts: estimator(*counts, k) for counts in {(n, c) for _, n, c in first}}
        estimates = [(case, value) for case, n, c in first if (value := by_counts[n, c]) is not None]
        if estimates and len(estimates) == len(first):  # dropping some cases would bias the mean
            found[name] = measurement_of(estimates, n_trials)
            if len(first) == 1:
                found[name] = _of_one_case(found[name], first[0][1:], k, at_least_one=name.startswith("pass_at"))
    return found


def _figures(weighing: list[tuple[Case, CaseTally]]) -> dict[str, Measurement]:
    """What graders measure beside the score, over the cases that have it."""
    by_name: dict[str, list[tuple[Case, float]]] = {}
    trials: Counter[str] = Counter()
    for case, tally in weighing:
        for name, value in tally.figures.items():
            by_name.setdefault(name, []).append((case, value))
            trials[name] += tally.graded
    return {name: measurement_of(values, trials[name]) for name, values in by_name.items()}


def pass_rate_of(weighing: list[tuple[Case, CaseTally]]) -> Measurement:
    """Of cases that weigh something, each with a graded trial at least."""
    estimates = [(case, tally.passed / tally.graded) for case, tally in weighing]
    return measurement_of(estimates, sum(tally.graded for _, tally in weighing))


def _with_lacking(found: Measurement, trials: int) -> Measurement:
    return found.model_copy(update={"lacking": trials}) if trials else found


def _of_one_case(found: Measurement, counts: tuple[int, int], k: int, *, at_least_one: bool) -> Measurement:
    """Of a single case only its pass rate has an interval; what that means for k trials follows from its ends."""
    n, passed = counts
    rate = wilson(passed, n, found.level)
    low, high = (1 - (1 - end) ** k if at_least_one else end**k for end in (rate.low, rate.high))
    method = f"{rate.method} of the pass rate, for {k} trials (this case only)"
    return found.model_copy(
        update={"low": min(low, found.value), "high": max(high, found.value), "method": method, "n_eff": rate.n_eff}
    )


def unmeasurable(suite: Suite, trials: int, measured: Measured) -> dict[str, Finding]:
    """By metric: why a rate over cases, above all pass@k or pass^k, cannot be computed."""
    first = first_answers(suite, measured)
    reasons = {}
    if not first and any(measured.tallies[case.id].graded for case in suite.cases):
        names = ("pass_rate", "score", *(name for name, _, _ in wanted_k(suite, trials)))
        return dict.fromkeys(names, finding("measure.weightless", "error"))
    for name, _, k in wanted_k(suite, trials):
        short = sum(n < k for _, n, _ in first)
        if short:
            reasons[name] = finding("measure.not_estimable", "error", short=short, cases=len(first), k=k)
    return reasons


def first_answers(suite: Suite, measured: Measured) -> list[tuple[Case, int, int]]:
    """Each case that counts, with its judged first answers and how many of them passed."""
    tallies = ((case, measured.tallies[case.id]) for case in suite.cases)
    return [(c, t.first_graded, t.first_passed) for c, t in tallies if not t.is_skipped and c.weight > 0]


def wanted_k(suite: Suite, trials: int) -> Iterator[tuple[str, Callable[[int, int, int], float | None], int]]:
    """Every metric of k trials that is reported: its name, how it is computed, k."""
    for k in suite.k or printed_k(trials):
        yield f"pass_at_{k}", pass_at_k, k
        yield f"pass_hat_{k}", pass_hat_k, k
        if k > 1:
            yield f"pass_hat_{k}_plugin", _plugin, k


def _plugin(n: int, c: int, k: int) -> float | None:
    return pass_hat_k(n, c, k, estimator="plugin")


def _median(figures: list[tuple[Case, float, int]]) -> Measurement:
    """Of each case's (or cluster's) mean; a mean over all of them would be the slowest case's."""
    means = [mean for _, mean, _ in figures]
    if _has_clusters(figures):
        means = [fmean(members) for members in _clusters(figures, means)]
    found = median(means)
    assert found is not None, "there is a figure"
    return Measurement(
        value=found.value,
        low=found.low,
        high=found.high,
        level=found.level,
        method=f"median, {found.method}",
        n_cases=len(figures),
        n_trials=sum(trials for _, _, trials in figures),
    )


def measurement_of(estimates: list[tuple[Case, float]], n_trials: int, *, weighted: bool = True) -> Measurement:
    """Cases that share a `cluster` count as one observation: their mean. Clusters weigh what their cases weigh.

    A single cluster of several cases is a single observation, however many trials it holds.
    """
    observed = [(value, case.weight if weighted else 1.0) for case, value in estimates]
    if _has_clusters(estimates):
        observed = [_observed(members) for members in _clusters(estimates, observed)]
    values, weights = [value for value, _ in observed], [weight for _, weight in observed]
    even = len(set(weights)) <= 1
    is_one = len(values) == 1 < len(estimates)
    reported = 1 if is_one else max(n_trials, len(values))
    interval = bootstrap_plus_one_case(values, reported, weights=None if even else weights)
    mean = weighted_mean(observed)
    return Measurement(
        value=min(1.0, max(0.0, mean)),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        level=interval.level if interval else LEVEL,
        method=_over_clusters(interval.method, len(values), len(estimates)) if interval else "",
        n_cases=len(estimates),
        n_trials=n_trials,
        n_eff=interval.n_eff if interval else None,
    )


def _has_clusters(figures: Iterable[tuple[Case, *tuple[float, ...]]]) -> bool:
    """Whether any case names a cluster; most do not, and are one observation each."""
    return any(figure[0].cluster for figure in figures)


def _clusters(figures: Iterable[tuple[Case, *tuple[float, ...]]], values: Iterable[Value]) -> Collection[list[Value]]:
    """The values, grouped by observation."""
    found: dict[str, list[Value]] = {}
    for (case, *_), value in zip(figures, values, strict=True):
        found.setdefault(observation(case.id, case.cluster), []).append(value)
    return found.values()


def _observed(members: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Mean and weight of a cluster; many consist of one case."""
    if len(members) == 1:
        return members[0]
    return weighted_mean(members), sum(weight for _, weight in members)


def _over_clusters(method: str, clusters: int, cases: int) -> str:
    if clusters == cases:
        return method
    one = "Wilson (one cluster only: a single observation)"
    return one if clusters == 1 else f"{method}, {clusters:,} clusters"
