"""Comparing: two runs of one suite, paired case by case, and whether the new one is worse. Pure: reports in.

Exact test for passes, sign flips for scores, times and costs; Holm over everything that can make it fail, and critical
cases as a family of their own. What is shown of it is in `reports/comparison_text.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from evalharness.domain.comparison import Change, ComparedRun, Comparison, Difference
from evalharness.domain.gate import RegressionRule
from evalharness.domain.report import Report
from evalharness.engine.case_changes import case_changes
from evalharness.engine.deciding import decide, settle
from evalharness.engine.differing import (
    Evidence,
    has_scores_of_its_own,
    pass_rates_differ,
    ratios_differ,
    scores_differ,
)
from evalharness.engine.pairing import Pair, Pairing, pair_cases
from evalharness.errors import UsageError
from evalharness.stats.multiplicity import holm

GATED = ("pass_rate", "score")
"""What can make a comparison fail unless the rule names its metrics."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A comparison before anything is decided: several are decided together."""

    old: Report
    new: Report
    pairing: Pairing
    found: dict[str, Evidence]
    critical: Evidence | None


def compare(
    old: Report,
    new: Report,
    rule: RegressionRule,
    *,
    old_source: str = "",
    new_source: str = "",
    ignored: Collection[str] = frozenset(),
) -> Comparison:
    """`ignored` cases (quarantined ones) are left out, with a note."""
    (draft,) = _adjusted([_draft(old, new, rule, ignored)])
    return _comparison(draft, rule, old_source, new_source)


def compare_variants(
    baseline: Report, others: Sequence[Report], rule: RegressionRule, *, ignored: Collection[str] = frozenset()
) -> list[Comparison]:
    """Every other report against the baseline; the allowance for chance covers all of them together."""
    drafts = [_draft(baseline, other, rule, ignored) for other in others]
    return [_comparison(draft, rule) for draft in _adjusted(drafts)]


def _draft(old: Report, new: Report, rule: RegressionRule, ignored: Collection[str]) -> _Draft:
    pairing = pair_cases(old, new, ignored)
    critical = [pair for pair in pairing.pairs if pair.critical]
    return _Draft(
        old,
        new,
        pairing,
        _differences(pairing.pairs, rule),
        pass_rates_differ(critical, rule, "critical") if critical else None,
    )


def _differences(pairs: Sequence[Pair], rule: RegressionRule) -> dict[str, Evidence]:
    scored = "score" in rule.metrics or has_scores_of_its_own(pairs)
    measured = {
        "pass_rate": pass_rates_differ(pairs, rule),
        "score": scores_differ(pairs, rule) if scored else None,
        "latency": ratios_differ(pairs, rule, "latency", lambda case: case.duration_s),
        "cost": ratios_differ(pairs, rule, "cost", lambda case: case.cost_usd),
    }
    found = {metric: evidence for metric, evidence in measured.items() if evidence is not None}
    for metric in rule.metrics:
        if metric not in found:
            raise UsageError(
                f"{metric} cannot be compared: no case has a figure for it in both runs",
                hint=f"take {metric} out of the metrics that are compared, or let the target tell it",
            )
    gated = rule.metrics or GATED
    return {metric: _updated(evidence, gated=metric in gated) for metric, evidence in found.items()}


def _adjusted(drafts: Sequence[_Draft]) -> list[_Draft]:
    """Holm over all gated figures of all drafts; over the critical cases' figures by themselves."""
    gated = [(n, m) for n, draft in enumerate(drafts) for m, e in draft.found.items() if e.difference.gated]
    raised = dict(zip(gated, holm([_p(drafts[n].found[m]) for n, m in gated]), strict=True))
    families = [(n, draft.critical) for n, draft in enumerate(drafts) if draft.critical is not None]
    own = dict(zip([n for n, _ in families], holm([_p(evidence) for _, evidence in families]), strict=True))
    return [
        replace(
            draft,
            found={m: _updated(e, p_adjusted=raised.get((n, m))) for m, e in draft.found.items()},
            critical=_updated(draft.critical, gated=True, p_adjusted=own[n]) if draft.critical else None,
        )
        for n, draft in enumerate(drafts)
    ]


def _comparison(draft: _Draft, rule: RegressionRule, old_source: str = "", new_source: str = "") -> Comparison:
    pairing = draft.pairing
    differences = {metric: decide(evidence, rule) for metric, evidence in draft.found.items()}
    critical = decide(draft.critical, rule) if draft.critical else None
    deciding = _deciding(differences, critical)
    verdict = deciding[0].verdict
    return Comparison(
        old=_side(draft.old, old_source),
        new=_side(draft.new, new_source),
        verdict=verdict,
        why="; ".join(difference.why for difference in deciding),
        settle=settle(draft.found[deciding[0].metric], rule) if verdict == "INCONCLUSIVE" else "",
        notes=tuple(_notes(draft)),
        n_cases=len(pairing.pairs),
        changed=pairing.changed,
        added=pairing.added,
        removed=pairing.removed,
        unjudged=pairing.unjudged,
        differences=differences,
        critical=critical,
        cases=case_changes(pairing.pairs, rule.alpha),
        alpha=rule.alpha,
        margin=rule.least_loss,
        tolerance=rule.tolerance,
        power=rule.power,
    )


def _deciding(differences: dict[str, Difference], critical: Difference | None) -> list[Difference]:
    """The differences that the verdict rests on. A loss counts wherever it is; that there is none, everywhere.

    Critical cases are few: they can make a comparison fail, but would hardly ever let one be conclusive.
    """
    gated = [difference for difference in differences.values() if difference.gated]
    order: tuple[Change, ...] = ("REGRESSION", "INCONCLUSIVE")
    for verdict in order:
        asked = [*([critical] if critical and verdict == "REGRESSION" else []), *gated]
        if found := [difference for difference in asked if difference.verdict == verdict]:
            return found if verdict == "REGRESSION" else found[:1]
    return gated[:1]


def _notes(draft: _Draft) -> Iterable[str]:
    old, new, pairing = draft.old.metadata, draft.new.metadata, draft.pairing
    if old.suite_name != new.suite_name:
        yield f"these are runs of different suites: {old.suite_name} and {new.suite_name}"
    if pairing.without_key:
        number = "one case" if pairing.without_key == 1 else f"{pairing.without_key:,} cases"
        yield f"{number} matched by name alone: one of the reports does not tell whether the case was changed since"
    if pairing.ignored:
        yield f"left out, because quarantined: {', '.join(pairing.ignored)}"
    early = [each.run_name for each in (old, new) if each.sequential]
    if early:
        who = f"{early[0]} was" if len(early) == 1 else "both runs were"
        yield f"{who} allowed to stop early, so the chances told here are rough; its own verdict stands by itself"
    for which, report in (("old", draft.old), ("new", draft.new)):
        if report.verdict in ("INVALID", "INTERRUPTED"):
            yield f"the {which} run is {report.verdict}: {report.why}"


def _side(report: Report, source: str) -> ComparedRun:
    told = report.metadata
    return ComparedRun(
        run_id=told.run_id,
        run_name=told.run_name,
        suite_name=told.suite_name,
        variant=told.variant,
        timestamp=told.timestamp,
        source=source,
    )


def _updated(evidence: Evidence, **values: object) -> Evidence:
    return replace(evidence, difference=evidence.difference.model_copy(update=values))


def _p(evidence: Evidence) -> float:
    p = evidence.difference.p
    return 1.0 if p is None else p
