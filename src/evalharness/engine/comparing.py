"""Comparing: two runs of one suite, paired case by case, and whether the new one is worse. Pure: reports in.

Exact test for passes, sign flips for scores, times and costs; Holm over everything that can make it fail, and critical
cases as a family of their own. What is shown of it is in `reports/comparison_text.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from evalharness.domain.case_result import CaseResult
from evalharness.domain.comparison import ComparedRun, Comparison, Difference
from evalharness.domain.gate import RegressionRule
from evalharness.domain.report import Report
from evalharness.engine.case_changes import case_changes
from evalharness.engine.deciding import asked, decide, decisive, incomparable, moved, of_critical
from evalharness.engine.differing import Evidence, has_scores_of_its_own, metric_differs
from evalharness.engine.pairing import Pair, Pairing, other_grading, pair_cases, rows_of
from evalharness.engine.settling import Undecided, settle
from evalharness.errors import UsageError
from evalharness.stats.flips import strict_flips_false_alarm
from evalharness.stats.multiplicity import holm
from evalharness.stats.thresholds import SAME

GATED = ("pass_rate", "score")
"""What can make a comparison fail unless the rule names its metrics."""
BETWEEN_RUNS = {"latency": "load, network", "cost": "caches, prices"}
"""Why a whole run of the same target can be slower or dearer, which no test over cases can see."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A comparison before anything is decided: its figures are decided together."""

    old: Report
    new: Report
    pairing: Pairing
    found: dict[str, Evidence]
    critical: Evidence | None

    @property
    def critical_pairs(self) -> list[Pair]:
        return [pair for pair in self.pairing.pairs if pair.critical]


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
    return _comparison(_adjusted(_draft(old, new, rule, ignored)), rule, old_source, new_source)


def _draft(old: Report, new: Report, rule: RegressionRule, ignored: Collection[str]) -> _Draft:
    pairing = pair_cases(old, new, ignored)
    if _follows_later(old, new):
        if "score" in rule.metrics:
            raise UsageError(
                "score cannot be compared: with retry_failed it is the last answer's, and comparisons follow the first",
                hint="take score out of the metrics that are compared, or switch retry_failed off",
            )
        pairing = replace(pairing, pairs=tuple(Pair(_unscored(old), _unscored(new)) for old, new in pairing.pairs))
    draft = _Draft(old, new, pairing, {}, None)
    critical = draft.critical_pairs
    return replace(
        draft,
        found=_with_lacking(_differences(draft.pairing.pairs, rule), draft),
        critical=metric_differs("critical", critical, rule) if critical else None,
    )


def _with_lacking(found: dict[str, Evidence], draft: _Draft) -> dict[str, Evidence]:
    weighing = [pair for pair in draft.pairing.pairs if pair.new.weight > 0]
    counted = (
        ("score", "score", attrgetter("unscored"), weighing),
        ("cost", "cost_usd", attrgetter("unpriced"), draft.pairing.pairs),
    )
    for metric, name, number, pairs in counted:
        if metric in found:
            old = _lacking(draft.old, name, number, (pair.old for pair in pairs))
            new = _lacking(draft.new, name, number, (pair.new for pair in pairs))
            found[metric] = _updated(found[metric], lacking=old + new)
    return found


def _lacking(report: Report, name: str, number: Callable[[CaseResult], int], compared: Iterable[CaseResult]) -> int:
    """In the cases that are compared; where a report does not tell it by case, in all of them."""
    whole = report.measurements[name].lacking if name in report.measurements else 0
    if not whole:
        return 0
    told = sum(number(case) for case in report.cases if case.weight > 0 or name != "score")
    return sum(map(number, compared)) if told >= whole else whole


def _follows_later(*reports: Report) -> bool:
    """Whether a failing answer was tried again: state and score are then the last answer's."""
    return any(report.metadata.retry_failed for report in reports)


def _unscored(case: CaseResult) -> CaseResult:
    return replace(case, score=None)


def _differences(pairs: Sequence[Pair], rule: RegressionRule) -> dict[str, Evidence]:
    scored = "score" in rule.metrics or has_scores_of_its_own(pairs)
    metrics = ("pass_rate", *(("score",) if scored else ()), "latency", "cost")
    found = {metric: evidence for metric in metrics if (evidence := metric_differs(metric, pairs, rule)) is not None}
    for metric in rule.metrics:
        if metric not in found:
            raise UsageError(
                f"{metric} cannot be compared: no case has a {metric}{_least(metric)} in both runs",
                hint=f"take {metric} out of the metrics that are compared (compare, regressions: --metric), or let the "
                "target tell it",
            )
    gated = rule.metrics or GATED
    return {metric: _updated(evidence, gated=metric in gated) for metric, evidence in found.items()}


def _least(metric: str) -> str:
    return {"score": " and a weight above 0", "cost": " above 0, told by all its judged trials,"}.get(
        metric, " above 0"
    )


def _adjusted(draft: _Draft) -> _Draft:
    """All gated figures that have a p-value are one family, that of the critical cases another."""
    gated = _family({metric: evidence for metric, evidence in draft.found.items() if evidence.difference.gated})
    critical = _family({"critical": _updated(draft.critical, gated=True)} if draft.critical else {})
    return replace(draft, found=draft.found | gated, critical=critical.get("critical"))


def _family(members: dict[str, Evidence]) -> dict[str, Evidence]:
    """Raised by Holm's method: what was found, and the least that could have been found."""
    tested = {key: p for key, evidence in members.items() if (p := evidence.difference.p) is not None}
    raised = holm(list(tested.values()))
    least = holm([members[key].smallest_p for key in tested])
    return {
        key: replace(_updated(members[key], p_adjusted=p), smallest_p_adjusted=smallest, family=len(tested))
        for key, p, smallest in zip(tested, raised, least, strict=True)
    }


def _comparison(draft: _Draft, rule: RegressionRule, old_source: str, new_source: str) -> Comparison:
    pairing = draft.pairing
    differences = {metric: decide(evidence, rule) for metric, evidence in draft.found.items()}
    critical = _critical(draft, rule)
    can_decide = asked(differences, critical)
    deciding = decisive(can_decide)
    verdict = deciding[0].verdict
    in_full = deciding if verdict == "REGRESSION" else deciding[:1]
    besides = [f"{moved(each)}: {each.verdict}" for each in can_decide if each not in in_full]
    why = "; ".join([*(each.why for each in in_full), *besides])
    open_ = deciding if verdict == "INCONCLUSIVE" else []
    pairs = pairing.pairs
    rows = rows_of(pairs)
    expected = strict_flips_false_alarm([(n, c) for n, c, _, _ in rows], max([n for _, _, n, _ in rows]))
    return Comparison(
        old=_side(draft.old, old_source),
        new=_side(draft.new, new_source),
        verdict=verdict,
        why=why,
        decisive=tuple(difference.metric for difference in deciding),
        settle="; ".join(_settle(draft, each, rule, is_alone=len(can_decide) == 1) for each in open_),
        notes=(*_notes(draft), *_notes_on_ratios(differences, why)),
        n_cases=len(pairs),
        changed=pairing.changed,
        added=pairing.added,
        removed=pairing.removed,
        unjudged=pairing.unjudged,
        differences=differences,
        critical=critical,
        cases=case_changes(pairs, rule.alpha),
        flip_alarm=expected.false_alarm_now if expected else None,
        alpha=rule.alpha,
        margin=rule.least_loss,
        tolerance=rule.tolerance,
        power=rule.power,
    )


def _critical(draft: _Draft, rule: RegressionRule) -> Difference | None:
    if draft.critical is None:
        return None
    decided = decide(draft.critical, rule)
    if decided.verdict == "NO REGRESSION" or decided.value >= -SAME:
        return decided
    lost = [new.case_id for old, new in draft.critical_pairs if new.passed * old.trials < old.passed * new.trials]
    return decided.model_copy(update={"why": of_critical(draft.critical, decided, lost, rule)})


def _settle(draft: _Draft, decided: Difference, rule: RegressionRule, is_alone: bool) -> str:
    """Where several figures can decide, each is settled by itself, so it is named."""
    is_critical = decided.metric == "critical"
    evidence = draft.critical if is_critical else draft.found[decided.metric]
    pairs = draft.critical_pairs if is_critical else draft.pairing.pairs
    assert evidence is not None  # it was decided by it
    told = settle(Undecided(decided, evidence, pairs, rule))
    return told if is_alone else f"for the {decided.label}, {told}"


def _notes(draft: _Draft) -> Iterable[str]:
    old, new, pairing = draft.old.metadata, draft.new.metadata, draft.pairing
    if old.suite_name != new.suite_name:
        yield f"these are runs of different suites: {old.suite_name} and {new.suite_name}"
    if _follows_later(draft.old, draft.new):
        first = "with retry_failed, first answers are compared, whatever later ones a run's own pass rate counts"
        yield f"{first}; scores are left out, since only those of the last answers are kept"
    if pairing.regraded:
        number = f"{pairing.regraded:,} of {len(pairing.changed):,} changed cases"
        yield f"{number} ask the same and are graded in another way: {other_grading(draft.old, draft.new)}"
    if pairing.without_key:
        number = "one case" if pairing.without_key == 1 else f"{pairing.without_key:,} cases"
        yield f"{number} matched by name alone: one of the reports does not tell whether the case was changed since"
    if pairing.ignored:
        yield f"left out, because quarantined: {', '.join(pairing.ignored)}"
    if "cost" not in draft.found and any(old.cost_usd or new.cost_usd for old, new in pairing.pairs):
        yield "costs cannot be compared: no case tells one above 0 in all judged trials of both runs"
    early = [each.run_name for each in (old, new) if each.sequential]
    if early:
        who = f"{early[0]} was" if len(early) == 1 else "both runs were"
        verdicts = "its own verdict stands by itself" if len(early) == 1 else "their own verdicts stand by themselves"
        yield f"{who} allowed to stop early, so the chances told here are rough; {verdicts}"
    for which, report in (("old", draft.old), ("new", draft.new)):
        if report.is_broken or report.verdict == "INTERRUPTED":
            yield f"the {which} run is {report.verdict}: {report.why}"


def _notes_on_ratios(differences: dict[str, Difference], why: str) -> Iterable[str]:
    left_out = [incomparable(difference) for difference in differences.values()]
    yield from (note for note in left_out if note not in why)
    told = [d.metric for d in differences.values() if d.unit == "ratio" and (d.gated or d.verdict == "REGRESSION")]
    for metric in told:
        yield (
            f"{metric} also differs between runs of the same target ({BETWEEN_RUNS[metric]}), which no test over cases "
            "can see: run both sides at the same time before believing it"
        )


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
