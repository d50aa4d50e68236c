"""What was found about two runs that were compared, in words.

A finding that another one quotes arrives here as its text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from evalharness.domain.grade import other_grading
from evalharness.domain.plain_numbers import chance, chances, change, count, digits, percent, points
from evalharness.reports.wording import Words, listed
from evalharness.stats.drop_range import Unknown
from evalharness.stats.thresholds import SAME

_OF_CASES = {"score": "scores", "latency": "times", "cost": "costs"}
_BETWEEN_RUNS = {"latency": "load, network", "cost": "caches, prices"}
"""Why a whole run of the same target can be slower or dearer, which no test over cases can see."""


def figure_label(metric: str) -> str:
    return "critical cases" if metric == "critical" else metric.replace("_", " ")


WHY_A_RANGE: dict[Unknown, str] = {
    "spread": "one trial per case does not show how much the cases differ",
    "rate": "so few trials do not show the pass rate well enough",
}
"""Why the smallest drop that could be detected is not one number."""


def size_of(loss: float, unit: str) -> str:
    return percent(loss) if unit == "ratio" else points(loss)


def drops_between(low: float, high: float) -> str:
    """`between 20 and 34 points`; one number where both ends read the same."""
    least, most = points(low), points(high)
    return most if least == most else f"between {least.split()[0]} and {most}"


def moved(
    metric: str, old: float | None, new: float | None, value: float, half_width: float | None, apart: str | None
) -> str:
    """`the pass rate is 12 points lower than before (64 % → 52 %)`."""
    before, now = old or 0.0, new or 0.0
    size, rates = change(before, now, half_width) if value else ("", percent(now, digits(half_width)))
    figure = {"score": "the score", "critical": "the pass rate of critical cases"}.get(metric, "the pass rate")
    text = f"{size} {'lower' if value < 0 else 'higher'} than" if value else "the same as"
    return f"{f'{apart}; in the others ' if apart else ''}{figure} is {text} before ({rates})"


def moved_ratio(metric: str, value: float, half_width: float | None, apart: str | None, fallen: int) -> str:
    """`answers take 20 % longer than before`."""
    fell = f"{_OF_CASES[metric]} of {count(fallen, 'case')} fell to 0" if fallen else ""
    left_out = "; ".join(part for part in (apart, fell) if part)
    answers = f"{left_out}; in the others answers" if left_out else "answers"
    of_time = metric == "latency"
    verb, much, more, less = ("take", "long", "longer", "less time") if of_time else ("cost", "much", "more", "less")
    if abs(value) < SAME:
        return f"{answers} {verb} as {much} as before"
    return f"{answers} {verb} {percent(abs(value), digits(half_width))} {more if value > 0 else less} than before"


def _of_cases(metric: str, cases: Sequence[str], number: int, what: str) -> str:
    return f"{_OF_CASES[metric]} of {count(number, 'case')} {what} ({listed(cases, number)})"


def _how(partly: bool) -> str:
    return "incomplete in one of the runs" if partly else "reported by one run only"


def figures_missing(metric: str, cases: Sequence[str], number: int, partly: bool) -> str:
    return _of_cases(metric, cases, number, f"are {_how(partly)}")


def no_ratio(metric: str, cases: Sequence[str], number: int, partly: bool) -> str:
    return _of_cases(metric, cases, number, f"cannot be compared: 0 before, or {_how(partly)}")


def risen(metric: str, cases: Sequence[str], number: int) -> str:
    return _of_cases(metric, cases, number, "rose from 0")


def _word(unit: str, loss: bool = True) -> str:
    return "rise" if loss == (unit == "ratio") else "drop"


def _would_come_up(found: Mapping[str, Any], often: str) -> str:
    what = f"a {_word(found['unit'], found['loss'])} this large"
    if found["together"]:
        what = f"all cases together, a result this {'bad' if found['loss'] else 'good'}"
    return f"{what} would come up in {often} runs if nothing had changed"


def by_chance(found: Mapping[str, Any]) -> str:
    return _would_come_up(found, chance(found["p"]))


def no_regression(
    moved: str, unit: str, margin: float, accepted: float | None, chance: Mapping[str, Any] | None
) -> str:
    text = f"a {_word(unit)} of {size_of(margin, unit)} or more is ruled out"
    if accepted is not None:
        return f"{moved}: {text}, and this one is within the {size_of(accepted, unit)} that are accepted"
    return f"{moved}: {by_chance(chance)}; {text}" if chance is not None else f"{moved}: {text}"


def loss_may_be_hidden(metric: str, lacking: int, moved: str) -> str:
    whole = "cost" if metric == "cost" else "complete score"
    return f"{count(lacking, 'judged trial')} of the two runs have no {whole} and may hide a loss; {moved}"


def _left_open(possible: float | None, unit: str) -> str:
    return "" if possible is None else f"a {_word(unit)} of up to {size_of(possible, unit)} is not ruled out"


def accepted(moved: str, unit: str, accepted: float, possible: float | None) -> str:
    within = f"within the {size_of(accepted, unit)} that are accepted"
    return f"{moved}, more than chance explains but {within}; {_left_open(possible, unit)}"


def loss_not_ruled_out(moved: str, unit: str, possible: float | None) -> str:
    return f"{moved}, but {_left_open(possible, unit) or 'there are too few cases to rule out a loss'}"


def may_be_chance(moved: str, chance: Mapping[str, Any], p_adjusted: float | None) -> str:
    start = f"{moved}, which may be chance"
    if p_adjusted is None:
        return f"{start}: {by_chance(chance)}"
    alone, together = chances(chance["p"], p_adjusted)
    of_all = f"in {together} runs for any of the figures checked"
    return f"{start}: {_would_come_up(chance, alone)}, and {of_all}"


def worst_possible(
    metric: str, cases: int, trials: float, clusters: int | None, p: float, p_adjusted: float | None, alpha: float
) -> str:
    size = f"{count(cases, 'case')} × {trials:.3g} trial{'' if trials == 1 else 's'}"
    size += f" in {count(clusters, 'cluster')}" if clusters is not None else ""
    worst = "the worst result possible" if metric in _OF_CASES else "a drop to 0 %"
    least, together, limit = chances(p, p_adjusted or p, alpha)
    of_all = f", in {together} for any of the figures checked" if together != least else ""
    return f"with {size}, even {worst} would come up by chance in {least} runs{of_all}; the limit is {limit}"


def critical_lost_all(cases: Sequence[str], number: int, worst: str) -> str:
    lost = f"every critical case that passed before fails now ({listed(cases, number)})"
    return f"{lost}, but so few trials prove nothing: {worst}"


def critical_lost(cases: Sequence[str], number: int, verdict: str, why: str) -> str:
    moved = "got worse" if verdict == "REGRESSION" else "passed less often"
    return f"critical cases {moved} ({listed(cases, number)}): {why}"


def left_out_text(changed: int, removed: int, unjudged: int, added: int, compared: int) -> str:
    """`1 of 20 cases changed, 2 only in the old run; compared on 17`."""
    gone = ((changed, "changed"), (removed, "only in the old run"), (unjudged, "not judged in both"))
    before = count(compared + changed + removed + unjudged, "case")
    parts = [(f"{number:,}", what) for number, what in gone if number]
    parts[:1] = [(f"{number} of {before}", what) for number, what in parts[:1]]
    parts += [(f"{added:,}", "only in the new run")] if added else []
    return f"{', '.join(map(' '.join, parts))}; compared on {compared:,}"


def by_name_alone(cases: int) -> str:
    number = "one case" if cases == 1 else f"{cases:,} cases"
    return f"{number} matched by name only: one of the reports does not say whether the case has changed"


def by_weight(weightless: int) -> str:
    out = f"; {count(weightless, 'case')} with weight 0 {'does' if weightless == 1 else 'do'} not count"
    return f"pass rate and score are weighted means over cases{out if weightless else ''}"


def stopped_early(runs: Sequence[str]) -> str:
    who = f"{runs[0]} was" if len(runs) == 1 else "both runs were"
    verdicts = "its own verdict is not affected" if len(runs) == 1 else "their own verdicts are not affected"
    return f"{who} allowed to stop early, so these chances are approximate; {verdicts}"


def between_runs(metric: str) -> str:
    return (
        f"{metric} also varies between runs of the same target ({_BETWEEN_RUNS[metric]}), which a test over cases "
        "cannot see: run both sides at the same time to be sure"
    )


def runs_vary(runs: int, sd: float, cases: int, left_out: int, compared: int) -> str:
    apart = f"; {count(left_out, 'run')} with too few of these cases left out" if left_out else ""
    over = f" on the {cases:,} of {compared:,} cases that all of them have{apart}" if cases < compared else apart
    if not sd:
        return f"the {runs:,} baseline runs have equal pass rates{over}, so only the test over cases decides"
    return (
        f"the pass rates of the {runs:,} baseline runs differ by {points(sd)} (standard deviation){over}: test and "
        "interval allow for that, so only a larger drop can be detected"
    )


def missing_in_cases(metric: str, in_all_trials: bool) -> str:
    where = "every judged trial of both runs" if in_all_trials else "both runs"
    return f"these cases need a {metric}{'' if metric == 'score' else ' above 0'} in {where}"


def accepted_loss(unit: str, accepted: float, margin: float) -> str:
    within = f"the loss is within what is accepted ({size_of(accepted, unit)})"
    return f"nothing can: {within}, but not below the margin ({size_of(margin, unit)})"


def more_trials(times: int, now: int | None) -> str:
    size = f" ({times * now:,}, now {now:,})" if now is not None else ""
    often = "twice" if times == 2 else f"{times} times"
    return f"{often} as many trials per case in both runs{size} would show a REGRESSION, if the drop stays the same"


def _meaning(verdict: str, lacks: str | None, unit: str) -> str:
    loss = f"the {'rise' if unit == 'ratio' else 'drop'} stays the same"
    text = f"would show {verdict}, if {loss if verdict == 'REGRESSION' else 'nothing else changes'}"
    return f"{text} and every trial has a {lacks}" if lacks else text


def more_cases(cases: int, now: int, verdict: str, lacks: str | None, unit: str = "points") -> str:
    return f"about {cases:,} cases like these (now {now:,}) {_meaning(verdict, lacks, unit)}"


def more_clusters(
    cases: int, clusters: int, clusters_now: int, now: int, verdict: str, lacks: str | None, unit: str = "points"
) -> str:
    size = f"in {clusters:,} clusters (now {now:,} in {clusters_now:,})"
    return f"about {cases:,} cases like these {size} {_meaning(verdict, lacks, unit)}"


def divergence_unknown(has_steps: bool, before: str, reason: str) -> str:
    step, unknown = ("step 1: ", "no step is known") if has_steps else ("", "no answer")
    return f"{step}{before} before, now {unknown}: {reason}"


WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "comparison.regression": lambda moved, chance: f"{moved}: {by_chance(chance)}",
        "comparison.improvement": lambda moved, chance: f"{moved}: {by_chance(chance)}",
        "comparison.no_regression": no_regression,
        "comparison.loss_may_be_hidden": loss_may_be_hidden,
        "comparison.accepted_loss": accepted,
        "comparison.no_loss_but_rare": lambda moved, chance: f"{moved}, but {by_chance(chance)}",
        "comparison.loss_not_ruled_out": loss_not_ruled_out,
        "comparison.may_be_chance": may_be_chance,
        "comparison.one_trial": "{moved}: one trial differs, and by chance it favours either run equally often",
        "comparison.nothing_to_lose": "no trial passed before, so this comparison can never show a loss; {moved}",
        "comparison.too_small": "too small to show any loss: {worst}; {moved}",
        "comparison.worst_possible": worst_possible,
        "comparison.critical_lost_all": critical_lost_all,
        "comparison.critical_lost": critical_lost,
        "comparison.other_figure": "{moved}: {verdict}",
        "comparison.moved": moved,
        "comparison.moved_ratio": moved_ratio,
        "comparison.figures_missing": figures_missing,
        "comparison.no_ratio": no_ratio,
        "comparison.risen": risen,
        "comparison.left_out": left_out_text,
        "comparison.refused": lambda message, hint: f"{message}; {hint}" if hint else message,
        "comparison.two_suites": "these are runs of different suites: {old} and {new}",
        "comparison.first_answers": (
            "with retry_failed, only first answers are compared, although a run's own pass rate counts later ones; "
            "scores are left out, because only those of the last answers are stored"
        ),
        "comparison.regraded": lambda regraded, changed, before, now: (
            f"{regraded:,} of {changed:,} changed cases ask the same question but are graded differently: "
            f"{other_grading(before, now)}"
        ),
        "comparison.by_name_alone": by_name_alone,
        "comparison.quarantined": lambda cases: f"left out, because quarantined: {', '.join(cases)}",
        "comparison.by_weight": by_weight,
        "comparison.no_costs": "costs cannot be compared: no case has a cost above 0 in all judged trials of both runs",
        "comparison.stopped_early": stopped_early,
        "comparison.broken_run": lambda which, verdict, why: f"the {which} run is {verdict}: {why or ''}",
        "comparison.between_runs": between_runs,
        "comparison.trials_assumed_independent": (
            "the trials of a case are assumed to be independent: effects on a whole run (load, a new model version) "
            "show only against a baseline of {needed} or more runs (eval-harness baseline add RUN)"
        ),
        "comparison.no_case_in_all_runs": (
            "no case was judged in all {runs:,} baseline runs, so how much runs vary is not known"
        ),
        "comparison.runs_vary": runs_vary,
        "comparison.replayed": (
            "{run} (mode {mode}) repeats answers that were recorded before: it is no new evidence about its target"
        ),
        "comparison.same_run": (
            "this compares a run with itself, so nothing can differ; choose another run: eval-harness runs"
        ),
        "comparison.asked_at_once": lambda comparisons, wrong_of_100: (
            f"each of {comparisons:,} comparisons is judged separately: if nothing had changed, at least one would "
            f"still be called worse in up to {wrong_of_100} of 100 such rounds"
        ),
        "settle.metric": lambda metric, how: f"for the {figure_label(metric)}, {how}",
        "settle.missing_in_cases": missing_in_cases,
        "settle.missing_in_trials": "all judged trials of both runs need a {metric}",
        "settle.nothing_to_lose": "nothing can: no trial passed before, so none can get worse",
        "settle.accepted": accepted_loss,
        "settle.more_trials": more_trials,
        "settle.more_cases": more_cases,
        "settle.more_clusters": more_clusters,
        "settle.runs_vary": (
            "more cases or trials are not enough: the {runs:,} baseline runs differ too much from each other; "
            "find out why, or add runs to the baseline"
        ),
        "settle.too_many_cases": "more than {most:,} cases like these (now {now:,}) would be needed",
        "divergence.step": "step {step}: {before} before, now {now}",
        "divergence.answer": lambda steps_before, before, now: (
            f"{'same steps, ' if steps_before else ''}different answer: {before} before, now {now}"
        ),
        "divergence.unknown": divergence_unknown,
    }
)
