"""A plan as people read it: what to do first, then what each number of trials would show, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterator

from evalharness.domain.plain_numbers import count, percent, points
from evalharness.domain.reported_run import Verbosity
from evalharness.domain.trial_plan import PlanRow, TrialPlan
from evalharness.reports.terminal.screen import Part, Screen
from evalharness.reports.wording import duration, money
from evalharness.reports.words.comparisons import WHY_A_RANGE, drops_between
from evalharness.reports.words.say import say


class PlanReport:
    """`verbosity` above 0 adds the variances and the test that the plan is for; below 0 is what to do, alone."""

    def __init__(self, screen: Screen, verbosity: Verbosity = 0) -> None:
        self._screen = screen
        self._is_verbose = verbosity > 0
        self._is_brief = verbosity < 0

    def show(self, plan: TrialPlan) -> None:
        if self._is_brief:
            self._screen.entry([], next(plan_advice(plan))[1])
            return
        size = count(plan.cases, "case") + (f" in {count(plan.clusters, 'cluster')}" if plan.clusters else "")
        self._screen.say((plan.suite_name, "bold"), f" · {size}")
        self._screen.say()
        for label, text in plan_advice(plan):
            self._screen.line(label, text)
        if plan.is_possible:
            self._table(plan)
        self._screen.say()
        test = f"(one-sided, paired, α {plan.alpha:g}, power {plan.power:g})"
        self._screen.line("asked", _asked(plan), test if self._is_verbose else "")
        if plan.detectable_unknown and plan.is_possible:
            why = WHY_A_RANGE[plan.detectable_unknown]
            self._screen.line("ranges", f"{why}; what to do is based on the upper ends")
        self._screen.line("based on", _basis(plan), _variances(plan) if self._is_verbose else "")
        for note in plan.notes:
            self._screen.line("note", say(note))

    def _table(self, plan: TrialPlan) -> None:
        has_cost, has_time = plan.recommended.cost_usd is not None, plan.recommended.duration_s is not None
        headings = [
            "trials per case",
            f"smallest drop this could detect on {'this case' if plan.cases == 1 else f'these {plan.cases:,} cases'}",
            f"{plan.unit}s needed to detect {points(plan.effect)} on others like them",
            "trials of a run",
            *(["cost of a run"] if has_cost else []),
            *(["time of a run"] if has_time else []),
        ]
        self._screen.table(headings, [_cells(row, plan) for row in plan.rows])


def plan_advice(plan: TrialPlan) -> Iterator[tuple[str, str]]:
    """What to do, in sentences: for these cases, for others like them, and when more trials are in vain."""
    best, effect = plan.recommended, points(plan.effect)
    if not plan.is_possible:
        yield "do this", "make more trials pass first, or ask for a smaller drop: --effect"
        return
    now = next(row for row in plan.rows if row.trials == plan.trials)
    these = "this case" if plan.cases == 1 else "these cases"
    if plan.is_reasonable:
        each = "the one case" if plan.cases == 1 else f"each of the {plan.cases:,} cases"
        show = "shows" if best.trials == 1 else "show"
        text = f"{count(best.trials, 'trial')} of {each}, in the baseline and in every run after it, {show} a drop"
        yield "do this", f"{text} of {effect} on {these}: {_price(best)}"
    elif plan.is_chosen or best.detectable is None:
        yield "do this", f"add {plan.unit}s: {_shown_by(best, these)}; {_needed(best, plan)} show one of {effect}"
    else:
        text = f"{best.trials:,} trials per case would be needed to show a drop of {effect} on {these}"
        yield "do this", f"add {plan.unit}s: {text}; {_needed(now, plan)} show it too"
    if plan.is_reasonable and now.cases_needed > plan.units:
        others = f"other {plan.unit}s like these: {_needed(now, plan)}"
        yield "more cases", f"to know whether a drop of {effect} is true of {others}"
    yield from _more_trials(plan)


def _shown_by(row: PlanRow, these: str) -> str:
    each, one = f"{count(row.trials, 'trial')} of each", row.trials == 1
    if row.detectable is None:
        on = f"with {each}, on {these}"
        if row.detectable_from is not None:
            least = points(row.detectable_from)
            return f"{on} no drop below {least} can be detected with this power, and perhaps none at all"
        return f"{on} no drop can be detected with this power, not even if every trial failed"
    perhaps = "" if row.detectable_from is None else f" (perhaps even of {points(row.detectable_from)})"
    return f"{each} {'shows' if one else 'show'} drops of {points(row.detectable)} or more{perhaps} on {these}"


def _more_trials(plan: TrialPlan) -> Iterator[tuple[str, str]]:
    if plan.cases_at_best is None or plan.error_at_best is None:
        return
    parts = []
    if plan.cases_at_best > plan.units:
        parts.append(
            f"alone are not enough: even with any number of them, {count(plan.cases_at_best, plan.unit)} are needed"
        )
    if plan.enough_trials is not None:
        parts += [] if parts else ["soon help little"]
        parts.append(f"from {count(plan.enough_trials, 'trial')} per case on, add {plan.unit}s instead")
    if parts:
        why = f"because {plan.unit}s {'may ' if plan.spread.is_smoothed else ''}differ"
        error = f"the pass rate's standard error stays at {points(plan.error_at_best)}"
        yield "more trials", f"{'; '.join(parts)} ({error}, {why})"


def _asked(plan: TrialPlan) -> str:
    missed, false = percent(1 - plan.power, 0), percent(plan.alpha, 1)
    return f"detect a drop of {points(plan.effect)}, missing {missed} of such drops, with {false} false alarms"


def _basis(plan: TrialPlan) -> str:
    if plan.spread.basis == "assumed":
        return f"nothing: {say(plan.why_no_run)}, so the worst is assumed (every case passes half the time)"
    on = f" on {plan.run_target}" if plan.run_target else ""
    run = f"run {plan.run_name}{on}, {count(plan.run_cases, 'case')} × {count(plan.run_trials, 'trial')}"
    rate = f"{run}, pass rate {percent(plan.pass_rate or 0.0, 1)}"
    if plan.spread.basis == "bound" and plan.run_cases == 1:
        return f"{rate}; one case does not show how much cases differ, so the worst is assumed"
    if plan.spread.basis == "bound" and plan.clusters is not None and plan.run_trials > 1:
        return f"{rate}; one cluster does not show how much clusters differ, so the worst is assumed"
    if plan.spread.basis == "bound":
        return f"{rate}; one trial per case cannot separate chance from cases that differ, so the worst is assumed"
    if not plan.spread.within:
        return f"{rate}; no case both passed and failed, so only the least evidence a test needs counts"
    return rate


def _variances(plan: TrialPlan) -> str:
    within = f"σ² {plan.spread.within:.3f}"
    if plan.spread.between is None:
        return f"({within} at most)"
    return (
        f"({within} within cases, ω² {plan.spread.between:.3f} between {'them' if plan.unit == 'case' else 'clusters'})"
    )


def _cells(row: PlanRow, plan: TrialPlan) -> list[Part]:
    mark = "bold" if row.trials == plan.recommended.trials else ""
    cells = [f"{row.trials:,}", _smallest_drop(row), f"{row.cases_needed:,}", f"{row.run_trials:,}"]
    cells += [money(row.cost_usd)] if row.cost_usd is not None else []
    cells += [duration(row.duration_s)] if row.duration_s is not None else []
    return [(cell, mark) for cell in cells]


def _smallest_drop(row: PlanRow) -> str:
    if row.detectable is None:
        return "none" if row.detectable_from is None else f"{points(row.detectable_from)} or more, or none"
    least = row.detectable if row.detectable_from is None else row.detectable_from
    return drops_between(least, row.detectable)


def _needed(row: PlanRow, plan: TrialPlan) -> str:
    of_each = "" if plan.unit == "case" else " of each of their cases"
    return f"{count(row.cases_needed, plan.unit)} × {count(row.trials, 'trial')}{of_each}"


def _price(row: PlanRow) -> str:
    parts = [f"{count(row.run_trials, 'trial')} a run"]
    parts += [f"about {money(row.cost_usd)}"] if row.cost_usd is not None else []
    parts += [f"about {duration(row.duration_s)}"] if row.duration_s is not None else []
    return ", ".join(parts)
