"""Match cases: which answers of a run a suite can grade, and what must be said about the others.

An answer to another question is never graded: that would be a verdict on something nobody asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from evalharness.domain.case import Case
from evalharness.domain.finding import Finding, finding
from evalharness.domain.finding_codes import Code
from evalharness.domain.run import CaseLock, Run, RunLock
from evalharness.domain.suite import LoadedFile, Selection, Suite
from evalharness.engine.planning.planned_cases import Variables, filled_case, prompted_case, select_cases
from evalharness.engine.running.regraded_trial import NO_VERDICT, REDACTION_MARK, answer_still_fits
from evalharness.errors import NothingSelected
from evalharness.reports.words.say import say
from evalharness.settings import Settings
from evalharness.steps.collect_variables import collect_variables
from evalharness.values.digest import digest
from evalharness.values.json_value import Json

SHOWN_IDS = 5


class GradingRequest(Protocol):
    """What a request says about the cases to grade."""

    @property
    def selection(self) -> Selection: ...

    @property
    def variables(self) -> dict[str, str]: ...


@dataclass(frozen=True, slots=True)
class Matched:
    """A suite with the cases that can be graded, and what was left out."""

    suite: Suite
    variables: Variables
    left_out: list[Finding]


def stored_suite(run: Run) -> Suite:
    """The suite a run was started with, but for the values of secrets: only their marks were stored."""
    secret = {name for name, value in run.lock.variables.items() if value is None}
    kept = {n: v for n, v in run.suite.vars.items() if n.lower() not in secret and REDACTION_MARK not in v}
    return run.suite.model_copy(update={"vars": kept})


def match_cases(
    run: Run,
    file: LoadedFile | None,
    asked: GradingRequest,
    redact: Callable[[Json], Json],
    settings: Settings,
) -> Matched:
    """The cases of `file`, else of the run itself, that the run has answers to; raises NothingSelected without one."""
    suite = file.suite if file and file.suite else stored_suite(run)
    where = file.path.name if file else suite.name
    selection = asked.selection
    variables = regrade_variables(run, suite, asked.variables, settings)
    chosen = select_cases(suite, replace(selection, limit=None), where)
    if file is None:
        return Matched(_like(run, chosen, chosen.cases[: selection.limit]), variables, [])
    answered = {case.id: case for case in run.suite.cases}
    prompt = run.target.prompt

    def is_as_it_was(case: Case) -> bool:
        """Where a prompt asked, also what the case says in it: the prompt is that of the run."""
        old = filled_case(answered[case.id], run.suite, run.public_values)
        new = filled_case(case, suite, variables.public())
        before, now = prompted_case(old, prompt, run.public_values), prompted_case(new, prompt, variables.public())
        is_same = redact(before.input) == redact(now.input)
        return is_same and answer_still_fits(old, new, run.lock.cases[case.id], file.root, redact)

    met = [case for case in chosen.cases if case.id in answered]
    same = [case for case in met if is_as_it_was(case)]
    kept = {case.id for case in same}
    ids = {case.id for case in suite.cases}
    wanted = replace(selection, limit=None).choose(run.suite, where).cases
    left_out = [
        *_left_out("regrade.not_in_suite", (case for case in wanted if case.id not in ids), suite=where),
        *_left_out("regrade.not_asked", (case for case in chosen.cases if case.id not in answered), run=run.name),
        *_left_out("regrade.question_changed", (case for case in met if case.id not in kept)),
    ]
    if not same:
        raise NothingSelected(f"{where} has no case that {run.name} has answered", hint="; ".join(map(say, left_out)))
    return Matched(_like(run, chosen, same[: selection.limit]), variables, left_out)


def regrade_variables(run: Run, suite: Suite, given: dict[str, str], settings: Settings) -> Variables:
    """As the run had them, unless they are given again or the suite's own `vars:` were edited."""
    before, now = ({name.lower(): value for name, value in each.vars.items()} for each in (run.suite, suite))
    kept = {
        name: value
        for name, value in run.lock.variables.items()
        if value is not None and now.get(name) == before.get(name)
    }
    given = {name.lower(): value for name, value in given.items()}
    return collect_variables(suite, kept | given, settings)


def _like(run: Run, suite: Suite, cases: Sequence[Case]) -> Suite:
    """As many trials as the run had, with its seed; a case's own target is the one that gave its answer."""
    own = {case.id: case.target for case in run.suite.cases}
    kept = tuple(case.model_copy(update={"target": own[case.id]}) for case in cases)
    config = suite.config.model_copy(update={"seed": run.lock.seed})
    return suite.model_copy(update={"cases": kept, "trials": run.lock.trials, "config": config})


def _left_out(why: Code, cases: Iterable[Case], **of: str) -> list[Finding]:
    ids = [case.id for case in cases]
    return [finding(why, "warning", cases=ids[:SHOWN_IDS], number=len(ids), **of)] if ids else []


# Keep verdicts: what the lock of a regrade says where only what was outstanding is judged, and other verdicts stay.


def locked_as_judged(old: RunLock, before: RunLock, now: RunLock, judged: Mapping[str, set[str]]) -> RunLock:
    """`before` is how the old run would be locked today, `now` how one by the new judge alone.

    A case whose verdicts all stay is locked as it was; one whose verdicts come from both is like no other.
    """
    cases = dict(now.cases)
    for id_, states in judged.items():
        if states.difference(NO_VERDICT):
            was = old.cases[id_].graders
            new = (now if states.intersection(NO_VERDICT) else before).cases[id_].graders
            cases[id_] = CaseLock(case=now.cases[id_].case, graders=was if new == was else digest([was, new]))
    return now.model_copy(update={"cases": cases})
