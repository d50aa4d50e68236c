"""Published rates: rows of pass^1 … pass^n against arithmetic. No trial is needed, and none is looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from evalharness.domain.bounds import MOST_TASKS, MOST_TRIALS
from evalharness.domain.finding import Finding, finding
from evalharness.domain.finding_codes import Code
from evalharness.domain.report import RateCheck, RateRow
from evalharness.errors import UnknownName
from evalharness.stats.pass_hat_tables import Objection, contradiction, histogram_from_pass_hats, is_possible_rate

ALL_DIGITS = 9
"""With so many decimals, no other histogram gives the same figures."""

_OBJECTIONS: Mapping[str, Code] = {
    "above": "rates.above",
    "least": "rates.least",
    "cases": "rates.cases",
    "together": "rates.together",
    "untried": "rates.untried",
}


def check_rates(rows: Sequence[RateRow], tasks: Mapping[str, int], trials: int | None = None) -> list[RateCheck]:
    """`tasks` by the row's name; under an empty name, of every row that does not say, as `trials` are."""
    known = {row.label for row in rows}
    if rows and (unknown := [name for name in tasks if name and not any(_is_named(label, name) for label in known)]):
        raise UnknownName("row", unknown[0], sorted(known))
    checks = [_read_either_way(row, _tasks(row, tasks), trials) for row in rows]
    return [
        check.model_copy(update={"text": finding("rates.noted", found=check.text, note=row.note)})
        if row.note
        else check
        for row, check in zip(rows, checks, strict=True)
    ]


def _is_named(label: str, name: str) -> bool:
    return name == label or name in label.split()


def _tasks(row: RateRow, tasks: Mapping[str, int]) -> int | None:
    named = next((number for name, number in tasks.items() if name and _is_named(row.label, name)), None)
    return named or row.tasks or tasks.get("")


def _read_either_way(row: RateRow, tasks: int | None, trials: int | None) -> RateCheck:
    """A row's trials may be those of each task, or of all tasks: they are read as what can be."""
    of_each = _checked(row, tasks, row.trials or trials)
    if of_each.possible or not row.trials or not tasks or row.trials % tasks:
        return of_each
    of_all = _checked(row, tasks, row.trials // tasks)
    return of_each if of_each.possible is False and not of_all.possible else of_all


def _checked(row: RateRow, tasks: int | None, trials: int | None) -> RateCheck:
    most = max(row.rates, default=0)
    if problem := row.problem or _problem(row, trials):
        return RateCheck(label=row.label, tasks=tasks, trials=trials or most, possible=False, text=problem)
    if not row.rates:
        return RateCheck(
            label=row.label, tasks=tasks, trials=trials or most, possible=None, text=finding("rates.no_figure")
        )
    if tasks is None or tasks > MOST_TASKS:
        text = finding("rates.tasks_unknown")
        if tasks is not None:
            text = finding("rates.too_many_tasks", most=MOST_TASKS)
        return RateCheck(label=row.label, tasks=None, trials=trials or most, possible=None, text=text)
    if trials is not None and trials > MOST_TRIALS:
        text = finding("rates.too_many_trials", most=MOST_TRIALS)
        return RateCheck(label=row.label, tasks=tasks, trials=most, possible=None, text=text)
    is_whole = [*row.rates] == list(range(1, most + 1))
    if is_whole and (trials == most or (trials is None and most > 1)) and most <= MOST_TRIALS:
        return _inverted(row, tasks, most)
    if trials is not None:
        return _one_by_one(row, tasks, trials)
    text = finding("rates.trials_unknown", only_first=most == 1)
    return RateCheck(label=row.label, tasks=tasks, trials=most, possible=None, text=text)


def _problem(row: RateRow, trials: int | None) -> Finding | None:
    """Why these rates cannot be, whatever the number of tasks."""
    most = max(row.rates, default=0)
    if trials is not None and trials < most:
        return finding("rates.too_few_trials", "error", k=most, trials=trials)
    trials = None if trials is not None and trials > MOST_TRIALS else trials
    against = contradiction({k: float(rate) for k, rate in row.rates.items()}, trials, row.decimals)
    return finding("rates.contradict", "error", trials=trials, why=_why(against)) if against else None


def _why(objection: Objection | None) -> Finding | None:
    return finding(_OBJECTIONS[objection.kind], "error", **objection.numbers) if objection else None


def _inverted(row: RateRow, tasks: int, trials: int) -> RateCheck:
    found = histogram_from_pass_hats([float(rate) for rate in row.rates.values()], tasks, row.decimals)
    what = {"tasks": tasks, "trials": trials}
    if not found.possible:
        text = finding("rates.impossible", "error", **what, why=_why(found.objection))
    elif found.histogram is None:
        text = finding("rates.perhaps", "warning", **what, why=_why(found.objection))
    else:
        is_only_one = row.decimals >= ALL_DIGITS
        text = finding("rates.possible", **what, histogram=list(found.histogram), is_only_one=is_only_one)
    return RateCheck(
        label=row.label, tasks=tasks, trials=trials, possible=found.possible, histogram=found.histogram, text=text
    )


def _one_by_one(row: RateRow, tasks: int, trials: int) -> RateCheck:
    """Every pass^k is a mean of C(c,k)/C(n,k), so a multiple of one part in tasks × C(n,k)."""
    parts = {k: tasks * math.comb(trials, k) for k in row.rates}
    wrong = [k for k, rate in row.rates.items() if not is_possible_rate(float(rate), parts[k], row.decimals)]
    text = finding("rates.nothing_against", tasks=tasks, trials=trials)
    if wrong:
        k = wrong[0]
        text = finding("rates.no_multiple", "error", tasks=tasks, trials=trials, k=k, parts=parts[k])
    return RateCheck(label=row.label, tasks=tasks, trials=trials, possible=not wrong, text=text)
