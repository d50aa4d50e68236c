"""Comparison: a run and one or several earlier ones, paired case by case, and whether it is worse. Pure: reports in.

Exact test for passes, sign flips for scores, times and costs; Holm over everything that can make it fail, critical
cases included. What is shown of it is in `reports/terminal/comparison.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from evalharness.domain.case_result import CaseResult
from evalharness.domain.comparison import CaseChange, ComparedRun, Comparison, Difference
from evalharness.domain.finding import Finding, finding, joined
from evalharness.domain.gate import RegressionRule
from evalharness.domain.report import Report
from evalharness.engine.comparing.comparison_verdict import (
    SEVERITIES,
    comparison_verdict,
    deciding_differences,
    explained,
    incomparable,
    joint_verdict,
    of_critical,
    rate_change,
    shares_error_rate,
)
from evalharness.engine.comparing.metric_difference import Evidence, has_scores_of_its_own, metric_differs
from evalharness.engine.comparing.pairs import OldRuns, Pair, Pairing, judges_of, pair_cases, table_rows, weighing
from evalharness.engine.comparing.required_sample import Undecided, required_sample
from evalharness.errors import Hint, UsageError
from evalharness.stats.between_runs import FEWEST_RUNS
from evalharness.stats.flip_rate import flip_alarm_range
from evalharness.stats.p_values import benjamini_hochberg, holm
from evalharness.stats.stratified import stratified_exact
from evalharness.stats.thresholds import SAME

GATED = ("pass_rate", "score")
"""What can make a comparison fail unless the rule names its metrics."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A comparison before anything is decided: its figures are decided together."""

    olds: Sequence[Report]
    new: Report
    pairing: Pairing
    found: dict[str, Evidence]
    critical: Evidence | None

    @property
    def critical_pairs(self) -> list[Pair]:
        return [pair for pair in weighing(self.pairing.pairs) if pair.critical]


def compare(
    old: Report | Sequence[Report],
    new: Report,
    rule: RegressionRule,
    *,
    old_source: str = "",
    new_source: str = "",
    ignored: Collection[str] = frozenset(),
    history: Mapping[str, tuple[int, int]] | None = None,
) -> Comparison:
    """`old` may be several runs of one target; `ignored` cases (quarantined ones) are left out, with a note.

    `history` has trials and passes of cases in earlier runs besides these, as far as they ask and judge the same.
    """
    olds = [old] if isinstance(old, Report) else old
    draft = _adjusted(_draft(olds, new, rule, ignored), rule.alpha)
    return _comparison(draft, rule, old_source, new_source, history or {})


def _draft(olds: Sequence[Report], new: Report, rule: RegressionRule, ignored: Collection[str]) -> _Draft:
    pairing = pair_cases(olds, new, ignored)
    if _follows_later(*olds, new):
        if "score" in rule.metrics:
            raise UsageError(
                "score cannot be compared: retry_failed takes it from the last answer, and comparisons use the first",
                hint="remove score from the compared metrics, or turn retry_failed off",
            )
        pairing = replace(
            pairing,
            pairs=tuple(Pair(_unscored(old), _unscored(new)) for old, new in pairing.pairs),
            runs=tuple({case_id: _unscored(case) for case_id, case in run.items()} for run in pairing.runs),
        )
    draft = _Draft(olds, new, pairing, {}, None)
    critical = draft.critical_pairs
    return replace(
        draft,
        found=_with_lacking(_differences(pairing.pairs, rule, pairing.runs), draft),
        critical=metric_differs("critical", critical, rule, pairing.runs) if critical else None,
    )


def _with_lacking(found: dict[str, Evidence], draft: _Draft) -> dict[str, Evidence]:
    counted = (
        ("score", "score", attrgetter("unscored"), weighing(draft.pairing.pairs)),
        ("cost", "cost_usd", attrgetter("unpriced"), draft.pairing.pairs),
    )
    for metric, name, number, pairs in counted:
        if metric in found:
            olds = (
                _lacking(report, name, number, compared)
                for report, compared in zip(draft.olds, _compared_before(draft, pairs), strict=True)
            )
            new = _lacking(draft.new, name, number, (pair.new for pair in pairs))
            found[metric] = _updated(found[metric], lacking=sum(olds) + new)
    return found


def _compared_before(draft: _Draft, pairs: Sequence[Pair]) -> list[list[CaseResult]]:
    """Of each old run, the cases that are compared."""
    if not draft.pairing.runs:
        return [[pair.old for pair in pairs]]
    ids = [pair.old.case_id for pair in pairs]
    return [[run[case_id] for case_id in ids if case_id in run] for run in draft.pairing.runs]


def _lacking(report: Report, name: str, number: Callable[[CaseResult], int], compared: Iterable[CaseResult]) -> int:
    """In the cases that are compared; where a report does not tell it by case, in all of them."""
    whole = report.measurements[name].lacking if name in report.measurements else 0
    if not whole:
        return 0
    reported = sum(number(case) for case in report.cases if case.weight > 0 or name != "score")
    return sum(map(number, compared)) if reported >= whole else whole


def _follows_later(*reports: Report) -> bool:
    """Whether a failing answer was tried again: state and score are then the last answer's."""
    return any(report.metadata.retry_failed for report in reports)


def _unscored(case: CaseResult) -> CaseResult:
    return replace(case, score=None)


def _differences(pairs: Sequence[Pair], rule: RegressionRule, runs: OldRuns) -> dict[str, Evidence]:
    scored = "score" in rule.metrics or has_scores_of_its_own(pairs, runs)
    metrics = ("pass_rate", *(("score",) if scored else ()), "latency", "cost")
    each = ((metric, metric_differs(metric, pairs, rule, runs)) for metric in metrics)
    found = {metric: evidence for metric, evidence in each if evidence is not None}
    for metric in rule.metrics:
        if metric not in found:
            raise UsageError(
                f"{metric} cannot be compared: no case has a {metric}{_least(metric)} in both runs",
                hint=Hint("hint.leave_metric_out", metric=metric),
            )
    gated = rule.metrics or GATED
    return {metric: _updated(evidence, gated=metric in gated) for metric, evidence in found.items()}


def _least(metric: str) -> str:
    return {"score": " and a weight above 0", "cost": " above 0, known for all its judged trials,"}.get(
        metric, " above 0"
    )


def _adjusted(draft: _Draft, alpha: float) -> _Draft:
    """All gated figures that have a p-value are one family, critical cases among them, whatever became of them.

    Only where critical cases are too few to ever show a loss, the others need not share the error rate with them.
    """
    gated = {metric: evidence for metric, evidence in draft.found.items() if evidence.difference.gated}
    critical = {"critical": _updated(draft.critical, gated=True)} if draft.critical else {}
    if draft.critical is None or shares_error_rate(draft.critical.difference, alpha):
        raised = _family(gated | critical)
    else:  # more of them would share it
        alone = _family(critical)["critical"]
        raised = _family(gated) | {"critical": replace(alone, family=len(gated) + 1)}
    found = {metric: raised.get(metric, evidence) for metric, evidence in draft.found.items()}
    return replace(draft, found=found, critical=raised.get("critical"))


def _family(members: dict[str, Evidence]) -> dict[str, Evidence]:
    """Raised by Holm's method: what was found, and the least that could have been found."""
    tested = {key: p for key, evidence in members.items() if (p := evidence.difference.p) is not None}
    raised = holm(list(tested.values()))
    least = holm([members[key].smallest_p for key in tested])
    return {
        key: replace(_updated(members[key], p_adjusted=p), smallest_p_adjusted=smallest, family=len(tested))
        for key, p, smallest in zip(tested, raised, least, strict=True)
    }


def _comparison(
    draft: _Draft, rule: RegressionRule, old_source: str, new_source: str, history: Mapping[str, tuple[int, int]]
) -> Comparison:
    pairing = draft.pairing
    differences = {metric: comparison_verdict(evidence, rule) for metric, evidence in draft.found.items()}
    critical = _critical(draft, rule)
    can_decide = deciding_differences(differences, critical)
    verdict, deciding = joint_verdict(differences, critical, rule.alpha)
    in_full = deciding if verdict in ("REGRESSION", "IMPROVEMENT") else deciding[:1]
    besides = [
        finding("comparison.other_figure", SEVERITIES[each.verdict], moved=rate_change(each), verdict=each.verdict)
        for each in can_decide
        if each not in in_full
    ]
    whys = [why for each in in_full if (why := explained(each, verdict)) is not None]
    open_ = deciding if verdict == "INCONCLUSIVE" else []
    pairs = pairing.pairs
    return Comparison(
        old=_side(draft.olds[0], old_source),
        before=tuple(_side(old, old_source) for old in draft.olds),
        new=_side(draft.new, new_source),
        verdict=verdict,
        why=joined([*whys, *besides], SEVERITIES[verdict]),
        decisive=tuple(difference.metric for difference in deciding),
        settle=_settled(draft, open_, rule, is_alone=len(can_decide) == 1) if open_ else None,
        notes=(*_notes(draft), *_notes_on_ratios(differences, can_decide, len(draft.olds)), *_notes_on_runs(draft)),
        n_cases=len(pairs),
        changed=pairing.changed,
        added=pairing.added,
        removed=pairing.removed,
        unjudged=pairing.unjudged,
        differences=differences,
        critical=critical,
        cases=case_changes(pairs, rule.alpha),
        flip_alarm=_flip_alarm(pairs, history),
        alpha=rule.alpha,
        margin=rule.least_loss,
        tolerance=rule.tolerance,
        power=rule.power,
    )


def _flip_alarm(pairs: Sequence[Pair], history: Mapping[str, tuple[int, int]]) -> tuple[float, float] | None:
    earlier = [history.get(pair.new.case_id, (0, 0)) for pair in pairs]
    return flip_alarm_range(
        [(old.trials + n, old.passed + c) for (old, _), (n, c) in zip(pairs, earlier, strict=True)],
        [old.passed == old.trials for old, _ in pairs],
        max(new.trials for _, new in pairs),
    )


def _critical(draft: _Draft, rule: RegressionRule) -> Difference | None:
    if draft.critical is None:
        return None
    decided = comparison_verdict(draft.critical, rule)
    if decided.verdict == "NO REGRESSION" or decided.value >= -SAME:
        return decided
    lost = [new.case_id for old, new in draft.critical_pairs if new.passed * old.trials < old.passed * new.trials]
    return decided.model_copy(update={"why": of_critical(draft.critical, decided, lost, rule)})


def _settled(draft: _Draft, undecided: Sequence[Difference], rule: RegressionRule, is_alone: bool) -> Finding:
    """Where several figures can decide, each is named, unless the same would settle all that are open."""
    ways = [_settle(draft, each, rule) for each in undecided]
    if is_alone or (len(ways) > 1 and all(way == ways[0] for way in ways)):
        return ways[0]
    return joined(
        [finding("settle.metric", metric=each.metric, how=how) for each, how in zip(undecided, ways, strict=True)]
    )


def _settle(draft: _Draft, decided: Difference, rule: RegressionRule) -> Finding:
    is_critical = decided.metric == "critical"
    evidence = draft.critical if is_critical else draft.found[decided.metric]
    pairs = draft.critical_pairs if is_critical else draft.pairing.pairs
    assert evidence is not None  # it was decided by it
    return required_sample(Undecided(decided, evidence, pairs, rule, draft.pairing.runs))


def _notes(draft: _Draft) -> Iterable[Finding]:
    olds, new, pairing = [old.metadata for old in draft.olds], draft.new.metadata, draft.pairing
    old = olds[0]
    if old.suite_name != new.suite_name:
        yield finding("comparison.two_suites", "warning", old=old.suite_name, new=new.suite_name)
    if _follows_later(*draft.olds, draft.new):
        yield finding("comparison.first_answers")
    if pairing.regraded:
        judges = {"before": judges_of(*draft.olds), "now": judges_of(draft.new)}
        yield finding("comparison.regraded", regraded=pairing.regraded, changed=len(pairing.changed), **judges)
    if pairing.without_key:
        yield finding("comparison.by_name_alone", "warning", cases=pairing.without_key)
    if pairing.ignored:
        yield finding("comparison.quarantined", cases=list(pairing.ignored))
    if len({pair.new.weight for pair in pairing.pairs}) > 1:
        yield finding("comparison.by_weight", weightless=len(pairing.pairs) - len(weighing(pairing.pairs)))
    if "cost" not in draft.found and any(old.cost_usd or new.cost_usd for old, new in pairing.pairs):
        yield finding("comparison.no_costs")
    early = [each.run_name for each in (*olds, new) if each.sequential]
    if early:
        yield finding("comparison.stopped_early", "warning", runs=early)
    for which, report in (*(("old", report) for report in draft.olds), ("new", draft.new)):
        if report.is_broken or report.verdict == "INTERRUPTED":
            yield finding("comparison.broken_run", "warning", which=which, verdict=report.verdict, why=report.why)


def _notes_on_ratios(differences: dict[str, Difference], said: Sequence[Difference], runs: int) -> Iterable[Finding]:
    """`said` are those whose findings name the cases that they leave out."""
    left_out = [incomparable(each) for each in differences.values() if each not in said]
    yield from (note for note in left_out if note is not None)
    for each in differences.values():
        if each.unit == "ratio" and (each.gated or each.verdict == "REGRESSION") and runs < FEWEST_RUNS:
            yield finding("comparison.between_runs", "warning", metric=each.metric)


def _notes_on_runs(draft: _Draft) -> Iterable[Finding]:
    """What is assumed of the runs: that their trials share nothing but their cases, unless so many runs show it."""
    runs, spread = len(draft.olds), draft.found["pass_rate"].spread
    if runs < FEWEST_RUNS:
        yield finding("comparison.trials_assumed_independent", needed=FEWEST_RUNS)
    elif spread is None:
        yield finding("comparison.no_case_in_all_runs", "warning", runs=runs)
    else:
        figures = {"runs": spread.runs, "sd": math.sqrt(spread.variance), "cases": spread.cases}
        compared = draft.found["pass_rate"].difference.n_cases
        yield finding("comparison.runs_vary", **figures, left_out=runs - spread.runs, compared=compared)


def _side(report: Report, source: str) -> ComparedRun:
    reported = report.metadata
    return ComparedRun(
        run_id=reported.run_id,
        run_name=reported.run_name,
        suite_name=reported.suite_name,
        variant=reported.variant,
        timestamp=reported.timestamp,
        source=source,
    )


def _updated(evidence: Evidence, **values: object) -> Evidence:
    return replace(evidence, difference=evidence.difference.model_copy(update=values))


def case_changes(pairs: Sequence[Pair], alpha: float) -> tuple[CaseChange, ...]:
    """Worse ones first, the surest of them at the top, then better ones; cases that stayed as they were are left out.

    Critical cases are a family of their own, so that hundreds of others do not hide them.
    """
    rows = table_rows(pairs)
    p_of = {row: stratified_exact([row]).p_less for row in set(rows)}
    p_values = [p_of[row] for row in rows]
    critical = [pair.critical for pair in pairs]
    q_of: dict[bool, dict[float, float]] = {}
    for kind in set(critical):
        family = [p for p, is_critical in zip(p_values, critical, strict=True) if is_critical == kind]
        q_of[kind] = dict(zip(family, benjamini_hochberg(family), strict=True))
    changes = [
        _change(pair, p, q_of[is_critical][p], alpha, is_critical)
        for pair, p, is_critical in zip(pairs, p_values, critical, strict=True)
        if _has_moved(pair)
    ]
    return tuple(sorted((change for change in changes if change.direction), key=_worst_first))


def _has_moved(pair: Pair) -> bool:
    """A quick look, since most cases of a large suite stay as they are."""
    old, new = pair
    return old.passed * new.trials != new.passed * old.trials or (
        old.score != new.score and not (old.unscored or new.unscored)
    )


def _change(pair: Pair, p: float, q: float, alpha: float, critical: bool) -> CaseChange:
    old, new = pair
    is_whole = not (old.unscored or new.unscored)
    return CaseChange.unchecked(
        {
            "case_id": new.case_id,
            "old_passed": old.passed,
            "old_trials": old.trials,
            "new_passed": new.passed,
            "new_trials": new.trials,
            "old_score": old.score if is_whole else None,
            "new_score": new.score if is_whole else None,
            "delta": new.passed / new.trials - old.passed / old.trials,
            "p": p,
            "q": q,
            "flagged": q <= alpha,
            "critical": critical,
            "flipped": old.passed == old.trials and new.passed < new.trials,
            "divergence": None,
        }
    )


def _worst_first(change: CaseChange) -> tuple[int, float, float]:
    return change.direction, 1.0 if change.p is None else change.p, change.delta
