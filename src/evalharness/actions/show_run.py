"""Show what is stored: a run as it is now, or some of its cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evalharness.contracts.context import Context
from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseHistory
from evalharness.domain.report import CaseState
from evalharness.domain.run import Run
from evalharness.domain.specification import GraderSpec
from evalharness.domain.trial import Trial
from evalharness.engine.planning.planned_cases import filled_case
from evalharness.errors import Hint, UnknownName, UsageError
from evalharness.steps.make_report import case_histories, measured_trials, with_report


class CaseLine(NamedTuple):
    """A case of a run, and how many of its graded trials passed."""

    case_id: str
    state: CaseState
    passed: int
    graded: int

    @property
    def is_failure(self) -> bool:
        """It failed, ended in error, or passed in some trials only."""
        return self.state in ("failed", "error") or 0 < self.passed < self.graded


@dataclass(frozen=True, slots=True)
class ShownCase:
    """A case with its variables filled in, its state, its graders and finished trials, and its earlier runs."""

    case: Case
    state: CaseState
    graders: tuple[GraderSpec, ...]
    trials: tuple[Trial, ...]
    history: CaseHistory


async def show_run(context: Context, reference: str) -> Run:
    """A run by id or name, with its report recomputed from its trials."""
    return with_report(context, context.store.find_run(reference))


async def find_shown(context: Context, words: Sequence[str]) -> tuple[Run, tuple[str, ...]]:
    """The run and the cases that words name: a run, then cases; else cases of the newest run, which no word names."""
    store = context.store
    newest = store.newest_run()
    if newest is None and not words:
        raise UsageError("there are no runs yet", hint=Hint("hint.start_run"))
    if newest is None or not words:
        return with_report(context, newest or store.find_run(words[0])), tuple(words[1:])
    try:
        return with_report(context, store.find_run(words[0])), tuple(words[1:])
    except UnknownName as error:
        if _case_named(newest, words[0]) is None:
            names = [*error.choices, *(case.id for case in newest.suite.cases)]
            raise UnknownName("run or case", words[0], names) from None
    return with_report(context, newest), tuple(words)


async def case_lines(context: Context, run: Run) -> list[CaseLine]:
    tallies = measured_trials(context.store, run).tallies
    return [
        CaseLine(id_, tally.state(run.suite.case_threshold), tally.counts["passed"], tally.graded)
        for id_, tally in tallies.items()
    ]


async def show_cases(context: Context, run: Run, names: Sequence[str]) -> list[ShownCase]:
    """Each name is an id, else a name."""
    chosen: dict[str, Case] = {}
    for name in names:
        case = _case_named(run, name)
        if case is None:
            raise UnknownName(f"case in run {run.name}", name, [case.id for case in run.suite.cases])
        chosen[case.id] = case
    tallies = measured_trials(context.store, run).tallies
    histories = case_histories(context.store, run)
    public = {name: value for name, value in run.lock.variables.items() if value is not None}
    return [
        ShownCase(
            case=(filled := filled_case(case, run.suite, public)),
            state=tallies[case.id].state(run.suite.case_threshold),
            graders=run.suite.graders_for(filled),
            trials=tuple(context.store.trials(run.id, case.id)),
            history=histories[case.id],
        )
        for case in chosen.values()
    ]


def _case_named(run: Run, name: str) -> Case | None:
    cases = run.suite.cases
    by_id = next((case for case in cases if case.id == name), None)
    return by_id or next((case for case in cases if case.name == name), None)
