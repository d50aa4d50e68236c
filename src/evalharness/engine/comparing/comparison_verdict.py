"""Comparison verdict: from a difference to REGRESSION, NO REGRESSION or INCONCLUSIVE, and why.

REGRESSION     the loss is larger than chance explains, and larger than is accepted
NO REGRESSION  a loss as large as the margin is ruled out
INCONCLUSIVE   neither

A whole comparison is an IMPROVEMENT where it is NO REGRESSION, a figure rose by more than chance, and none fell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from evalharness.domain.comparison import Change, ComparisonVerdict, Difference
from evalharness.domain.finding import Finding, Severity, finding, joined
from evalharness.domain.gate import RegressionRule
from evalharness.engine.comparing.metric_difference import Evidence
from evalharness.engine.planning.smallest_loss import Figures
from evalharness.stats.p_values import holm
from evalharness.stats.student import normal_quantile
from evalharness.stats.thresholds import SAME

NAMED = 5
"""Cases that a finding names."""
_SMALLEST_P = 1e-15
"""1 minus less than this is 1."""
SEVERITIES: dict[ComparisonVerdict, Severity] = {
    "REGRESSION": "error",
    "INCONCLUSIVE": "warning",
    "NO REGRESSION": "info",
    "IMPROVEMENT": "info",
}


def comparison_verdict(evidence: Evidence, rule: RegressionRule) -> Difference:
    """The difference with its verdict; `p_adjusted` is there already where it is gated."""
    found = evidence.difference
    verdict = verdict_of(found, rule)
    if verdict == "REGRESSION":
        why = finding("comparison.regression", "error", moved=rate_change(found), chance=_chance(found))
    elif verdict == "NO REGRESSION":
        why = _ruled_out(found, rule)
    else:
        why = _undecided(evidence, rule)
    drop = evidence.detectable(rule)
    detectable = {
        "detectable": drop.high,
        "detectable_from": drop.low if drop.unknown else None,
        "detectable_unknown": drop.unknown,
    }
    these_cases = interval_of_these(found, rule.alpha)
    return found.model_copy(update={"verdict": verdict, "why": why, **detectable, "these_cases": these_cases})


def interval_of_these(found: Difference, alpha: float) -> tuple[float, float] | None:
    """From the test itself (Miettinen 1976): as far from 0 in its own standard errors as the p-value says.

    None where nothing differs, or the test sees no sign of it.
    """
    p = (found.p_adjusted or found.p) if found.value < 0 else found.p_better
    if found.unit != "points" or not found.value or p is None or p >= 0.5:
        return None
    error = abs(found.value) / normal_quantile(1 - max(p, _SMALLEST_P))
    margin = error * normal_quantile(1 - alpha)
    return max(-1.0, found.value - margin), min(1.0, found.value + margin)


def deciding_differences(differences: Mapping[str, Difference], critical: Difference | None) -> list[Difference]:
    """The differences that can decide.

    Critical cases are few: where they lost nothing, they would hardly ever let a comparison be conclusive, so then
    they do not count. Where they lost, they are never passed over.
    """
    gated = [difference for difference in differences.values() if difference.gated]
    return [critical, *gated] if critical is not None and critical.value < -SAME else gated


def decisive(figures: Sequence[Difference]) -> list[Difference]:
    """Those of all asked that the verdict rests on. A loss counts wherever it is; that there is none, everywhere."""
    for verdict in ("REGRESSION", "INCONCLUSIVE"):
        if found := [difference for difference in figures if difference.verdict == verdict]:
            return found
    return [difference for difference in figures if difference.metric != "critical"][:1]


def shares_error_rate(critical: Difference, alpha: float) -> bool:
    """Whether critical cases are tried often enough to ever show a loss: by the numbers of trials, never by results.

    The trials of a case can fall to the two runs in C(n + m, n) ways. Where all cases together have fewer than 1/alpha,
    the worst result possible is no rare one, so nothing has to be kept back for it.
    """
    if not (critical.n_cases > 0 and min(critical.n_trials_old, critical.n_trials_new) > 0 < alpha):  # a false report
        return False
    old, new = (trials / critical.n_cases for trials in (critical.n_trials_old, critical.n_trials_new))
    ways = math.lgamma(old + new + 1) - math.lgamma(old + 1) - math.lgamma(new + 1)
    return critical.n_cases * ways + math.log(alpha) >= -SAME


def joint_verdict(
    differences: Mapping[str, Difference], critical: Difference | None, alpha: float
) -> tuple[ComparisonVerdict, list[Difference]]:
    """The verdict of the whole, and the figures that it rests on."""
    deciding = decisive(deciding_differences(differences, critical))
    verdict: ComparisonVerdict = deciding[0].verdict
    if verdict == "NO REGRESSION" and (risen := _improved(differences, critical, alpha)):
        return "IMPROVEMENT", risen
    return verdict, deciding


def _improved(differences: Mapping[str, Difference], critical: Difference | None, alpha: float) -> list[Difference]:
    """What rose by more than chance explains, by the mirrored test and Holm's method; empty where a figure fell."""
    figures = [difference for difference in differences.values() if difference.gated]
    if critical is not None:
        figures.append(critical)
    if any(loss_of(each) > SAME for each in figures):
        return []
    family = [each for each in figures if each is not critical or shares_error_rate(each, alpha)]
    tested = {each.metric: each.p_better for each in family if each.p_better is not None}
    raised = dict(zip(tested, holm(list(tested.values())), strict=True))
    return [each for each in family if raised.get(each.metric, 1.0) <= alpha and loss_of(each) < -SAME]


def explained(found: Difference, verdict: ComparisonVerdict) -> Finding | None:
    """Why, of a figure that the verdict rests on; critical cases may have risen and be too few to rule a loss out."""
    if verdict != "IMPROVEMENT" or found.verdict == "NO REGRESSION":
        return found.why
    return finding("comparison.improvement", moved=rate_change(found), chance=_chance(found, loss=False))


def of_critical(evidence: Evidence, decided: Difference, lost: Sequence[str], rule: RegressionRule) -> Finding:
    """Why, where critical cases were lost: which ones, and that too few of them can prove nothing."""
    severity = SEVERITIES[decided.verdict]
    if decided.ends[1] < SAME and not evidence.can_fail(rule.alpha):
        worst = _even_the_worst(evidence, rule)
        return finding("comparison.critical_lost_all", severity, **_named(lost), worst=worst)
    return finding("comparison.critical_lost", severity, **_named(lost), verdict=decided.verdict, why=decided.why)


def incomparable(found: Difference) -> Finding | None:
    """Which cases have no difference, and why; None where there are none."""
    if not found.incomparable:
        return None
    metric, is_cut = found.metric, found.lacking > 0
    if metric == "score":
        return finding(
            "comparison.figures_missing", "warning", metric=metric, **_named(found.incomparable), partly=is_cut
        )
    if not found.from_nothing:
        return finding("comparison.no_ratio", "warning", metric=metric, **_named(found.incomparable), partly=is_cut)
    rose, unstated = found.incomparable[: found.risen], found.incomparable[found.risen :]
    parts = [finding("comparison.risen", "warning", metric=metric, **_named(rose))]
    if unstated:
        parts.append(finding("comparison.figures_missing", "warning", metric=metric, **_named(unstated), partly=is_cut))
    return joined(parts, "warning")


def _named(ids: Sequence[str]) -> dict[str, Any]:
    return {"cases": list(ids[:NAMED]), "number": len(ids)}


def rate_change(found: Difference) -> Finding:
    """By how much, and what was left out of it: `the pass rate is 12 points lower than before (64 % → 52 %)`."""
    apart = incomparable(found)
    if found.unit == "points" and not found.n_cases and apart is not None:
        return apart
    if found.unit == "points":
        figures = {"old": found.old, "new": found.new, "value": found.value, "half_width": found.half_width}
        return finding("comparison.moved", metric=found.metric, **figures, apart=apart)
    if found.from_nothing and not found.old and apart is not None:
        return apart
    figures = {"value": found.value, "half_width": found.half_width}
    fallen = len(found.to_nothing)
    return finding("comparison.moved_ratio", metric=found.metric, **figures, apart=apart, fallen=fallen)


def verdict_of(found: Difference, rule: RegressionRule) -> Change:
    if _is_significant(found, rule) and loss_of(found) > rule.tolerance + SAME:
        return "REGRESSION"
    possible = _possible_loss(found)
    is_free = found.unit == "ratio" and found.new == 0
    is_ruled_out = is_free or (possible is not None and possible < rule.least_loss)
    is_doubtful = found.incomparable or found.lacking or (loss_of(found) <= SAME and _is_rare(found, rule))
    return "NO REGRESSION" if is_ruled_out and not is_doubtful else "INCONCLUSIVE"


def is_hidden(found: Difference, rule: RegressionRule) -> bool:
    """Whether nothing but what trials lack keeps a loss from being ruled out."""
    return found.lacking > 0 and verdict_of(found.model_copy(update={"lacking": 0}), rule) == "NO REGRESSION"


def _is_significant(found: Difference, rule: RegressionRule) -> bool:
    return _is_rare(found, rule) and loss_of(found) > SAME


def _is_rare(found: Difference, rule: RegressionRule) -> bool:
    """By the test of a loss, which may test amounts where the reported loss is a ratio."""
    p = found.p if found.p_adjusted is None else found.p_adjusted
    return p is not None and p <= rule.alpha


def loss_of(found: Difference) -> float:
    if found.from_nothing:
        return math.inf
    return found.value if found.unit == "ratio" else -found.value


def _possible_loss(found: Difference) -> float | None:
    """The largest loss that is not ruled out."""
    worst = found.at_worst
    return -worst if worst is not None and found.unit == "points" else worst


def _chance(found: Difference, loss: bool = True) -> dict[str, Any]:
    """How often chance alone brings about as much; where cases fell to 0 the test counts them, as `moved` does not."""
    p = found.p if loss else found.p_better
    return {"p": p or 0.0, "unit": found.unit, "loss": loss, "together": bool(found.to_nothing)}


def _ruled_out(found: Difference, rule: RegressionRule) -> Finding:
    accepted = rule.tolerance if _is_significant(found, rule) else None
    is_better = found.p_better is not None and found.p_better <= rule.alpha and loss_of(found) < -SAME
    return finding(
        "comparison.no_regression",
        moved=rate_change(found),
        unit=found.unit,
        margin=rule.least_loss,
        accepted=accepted,
        chance=_chance(found, loss=False) if is_better and accepted is None else None,
    )


def _undecided(evidence: Evidence, rule: RegressionRule) -> Finding:
    found = evidence.difference
    how = rate_change(found)
    if found.incomparable and not found.from_nothing:
        return how
    if is_hidden(found, rule):
        return finding(
            "comparison.loss_may_be_hidden", "warning", metric=found.metric, lacking=found.lacking, moved=how
        )
    if not evidence.can_fail(rule.alpha):
        return _cannot_fail(evidence, rule)
    possible = _possible_loss(found)
    if _is_significant(found, rule):
        size = {"unit": found.unit, "accepted": rule.tolerance, "possible": possible}
        return finding("comparison.accepted_loss", "warning", moved=how, **size)
    if loss_of(found) <= SAME and _is_rare(found, rule):
        return finding("comparison.no_loss_but_rare", "warning", moved=how, chance=_chance(found))
    if loss_of(found) <= SAME:
        return finding("comparison.loss_not_ruled_out", "warning", moved=how, unit=found.unit, possible=possible)
    if evidence.is_one_trial:
        return finding("comparison.one_trial", "warning", moved=how)
    is_rare_alone = found.p is not None and found.p <= rule.alpha
    together = found.p_adjusted if is_rare_alone else None
    return finding("comparison.may_be_chance", "warning", moved=how, chance=_chance(found), p_adjusted=together)


def _cannot_fail(evidence: Evidence, rule: RegressionRule) -> Finding:
    """Too little was run for any loss to be distinguished from chance: said instead of letting it look well."""
    how = rate_change(evidence.difference)
    if evidence.smallest_p >= 1 - SAME:
        return finding("comparison.nothing_to_lose", "warning", moved=how)
    return finding("comparison.too_small", "warning", worst=_even_the_worst(evidence, rule), moved=how)


def _even_the_worst(evidence: Evidence, rule: RegressionRule) -> Finding:
    found, size = evidence.difference, evidence.size
    is_clustered = isinstance(size, Figures) and size.number < found.n_cases
    return finding(
        "comparison.worst_possible",
        "warning",
        metric=found.metric,
        cases=found.n_cases,
        trials=found.n_trials_new / found.n_cases,
        clusters=size.number if is_clustered and isinstance(size, Figures) else None,
        p=evidence.smallest_p,
        p_adjusted=evidence.smallest_p_adjusted,
        alpha=rule.alpha,
    )
