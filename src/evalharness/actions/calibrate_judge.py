"""Calibrate a judge: the judges of a suite score its few-shot examples and withstand known tricks, or do not.

No target is asked and no run is stored; verdicts are kept in the cache like those of a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn

from evalharness.contracts.context import Context
from evalharness.contracts.executor import RunSpec
from evalharness.contracts.services import Services
from evalharness.domain.calibration import AttackCalibration, Calibration, ExampleCalibration
from evalharness.domain.case import Case
from evalharness.domain.finding import Finding, finding
from evalharness.domain.grade import added_up
from evalharness.domain.run import RunOptions
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import LoadedFile, Suite
from evalharness.engine.measuring.judge_calibration import attack_figures, example_figures
from evalharness.engine.planning.planned_cases import PlannedCase, PlannedCases
from evalharness.engine.running.budget import RunBudget
from evalharness.engine.running.parts import build_services, check_judges, close_services, concurrency_of
from evalharness.errors import Hint, ModelUnavailable, NoVerdict, SpendCapReached, UsageError
from evalharness.graders.judges.calibration import (
    Candidate,
    attack_judge,
    check_examples,
    models_in,
    score_examples,
)
from evalharness.graders.judges.rubric import Model
from evalharness.redaction import Redactor
from evalharness.reports.words.say import say
from evalharness.steps.choose_targets import without_own_targets
from evalharness.steps.collect_variables import collect_variables, redactor_for
from evalharness.steps.find_suites import find_suites
from evalharness.steps.recall_budget import budget_for
from evalharness.steps.report_waiting import report_waiting, waits_for

CALIBRATION_DEADLINE_S = 120.0
"""Far less patience with a server than a run has: somebody sits and waits, and verdicts so far are kept."""


@dataclass(frozen=True, slots=True)
class CalibrationRequest:
    suite: str | LoadedFile
    """A file, a name, or a file that was read before."""
    format_name: str | None = None
    examples: bool = True
    attacks: bool = False
    variables: dict[str, str] = field(default_factory=dict)
    options: RunOptions = field(default_factory=RunOptions)


@dataclass(frozen=True, slots=True)
class Rubric:
    """A grader that has examples, and the cases it grades, which its examples are about."""

    grader: Model
    cases: tuple[Case, ...]


async def calibrate_judge(
    context: Context, request: CalibrationRequest, hear: Callable[[Finding], None] = lambda _: None
) -> tuple[Calibration, Redactor]:
    """With what takes the secrets out of texts that are shown. `hear` gets what is waited for, where that takes long.

    Raises UsageError where there is no judge or no example, NoVerdict or ModelUnavailable where no judge is left,
    SpendCapReached, and what `check_judges` raises.
    """
    file = _one_file(context, request)
    assert file.suite is not None, "files with problems have been refused"
    redactor = redactor_for([file.suite], request.variables, context.settings)
    suite = without_own_targets(file.suite)
    with context.for_runs(redactor) as judging:
        return await _calibrate(judging, file, suite, request, hear), redactor


def _one_file(context: Context, request: CalibrationRequest) -> LoadedFile:
    if isinstance(request.suite, LoadedFile):
        return request.suite
    files = find_suites(context.store, [request.suite], request.format_name)
    if len(files) != 1:
        raise UsageError(
            f"{request.suite} contains {len(files)} suites, but only one can be used at a time", hint="name one of them"
        )
    return files[0]


async def _calibrate(
    context: Context, file: LoadedFile, suite: Suite, request: CalibrationRequest, hear: Callable[[Finding], None]
) -> Calibration:
    variables = collect_variables(suite, request.variables, context.settings)
    variables.used_by(suite, TargetSpec(kind="null"), file.label)
    budget = budget_for(request.options, suite.config)
    spec = RunSpec(suite, None, file.root, request.options, variables.values, context.settings.environment)
    services = build_services(
        spec, budget, context.store.judge_cache, context.modules, usual_deadline_s=CALIBRATION_DEADLINE_S
    )
    at_once = concurrency_of(request.options, suite.config)
    try:
        planned = list(PlannedCases(suite, variables.values, services).in_turn())
        rubrics = _rubrics_in(planned) if request.examples else []
        if request.examples and not rubrics:
            raise UsageError(
                f"no `model` grader of {suite.name} has examples",
                hint=Hint("hint.write_examples"),
            )
        for rubric in rubrics:
            check_examples(rubric.grader, rubric.cases)
        attacked = _judges(planned, services) if request.attacks else []
        names = dict.fromkeys((*attacked, *(name for rubric in rubrics for name in _judges_of(rubric))))
        judges = [Candidate(name) for name in names]
        given_up: list[NoVerdict | ModelUnavailable] = []
        examples, attacks = [], []
        asked: list[Candidate] = []
        waiting = partial(waits_for, judges, asked, budget, services)
        async with report_waiting(hear, waiting, partial(_answered, judges)):
            await check_judges(services, budget, names)
            for judge in judges:
                asked.append(judge)
                its_own = [rubric for rubric in rubrics if judge.name in _judges_of(rubric)]
                try:
                    scored = [await _examples(rubric, judge, at_once) for rubric in its_own]
                    withstood = [await _attacks(services, judge, at_once)] if judge.name in attacked else []
                    judge.check(patience=1)
                except (NoVerdict, ModelUnavailable) as error:
                    given_up.append(error)
                else:
                    examples += scored
                    attacks += withstood
        if len(given_up) == len(judges):
            raise given_up[0]
        return Calibration(
            suite_name=suite.name,
            examples=tuple(examples),
            attacks=tuple(attacks),
            without_verdict=tuple(error.message for error in given_up),
            judging=added_up((*budget.checks, *(each for judge in judges for each in judge.judgings))),
            notes=tuple(_notes(services, budget, given_up)),
        )
    except SpendCapReached as error:
        text = f"the spend cap was reached before the judge had finished: {error.message}"
        kept = "" if services.judge_cache is None else f"; {say(finding('calibration.in_cache'))}"
        raise SpendCapReached(text, hint=f"raise the cap{kept}") from None
    finally:
        await close_services(services)


def _notes(services: Services, budget: RunBudget, given_up: Iterable[Exception]) -> Iterator[Finding]:
    yield from services.models.notes() if services.models is not None else ()
    if budget.is_capped:
        yield from budget.notes
    if services.judge_cache is not None and any(isinstance(error, ModelUnavailable) for error in given_up):
        yield finding("calibration.in_cache")


def _answered(judges: Iterable[Candidate]) -> int:
    return sum(len(judge.judgings) for judge in judges)


def _rubrics_in(planned: Iterable[PlannedCase]) -> list[Rubric]:
    """Each grader with examples once, however many cases it grades; equal ones of several cases are one."""
    found = [(model, plan.case) for plan in planned for _, grader in plan.graders for model in models_in(grader)]
    found = [(model, case) for model, case in found if model.options.examples]
    uses = Counter(id(model) for model, _ in found)
    rubrics: dict[str, tuple[Model, list[Case]]] = {}
    for model, case in found:
        is_about_case = uses[id(model)] == 1 and any(example.input is None for example in model.options.examples)
        key = f"{model.digest()} {case.id if is_about_case else ''}"
        rubrics.setdefault(key, (model, []))[1].append(case)
    return [Rubric(model, tuple(cases)) for model, cases in rubrics.values()]


def _judges(planned: Iterable[PlannedCase], services: Services) -> list[str]:
    graders = [grader for plan in planned for _, grader in plan.graders]
    asked = [name for grader in graders for name in grader.judges()]
    named = asked or [name for name in (services.judge_model, services.usual_judge) if name not in ("", "none")][:1]
    return list(dict.fromkeys(named)) or _no_judge()


def _judges_of(rubric: Rubric) -> list[str]:
    return list(dict.fromkeys(rubric.grader.judges())) or _no_judge()


def _no_judge() -> NoReturn:
    raise UsageError("no judge is set", hint=Hint("hint.name_judge"))


async def _examples(rubric: Rubric, judge: Candidate, at_once: int) -> ExampleCalibration:
    grader, scoring = rubric.grader, rubric.grader.options.sheet.scoring
    scores = await score_examples(grader, judge, rubric.cases, at_once)
    return ExampleCalibration(
        grader=grader.spec.label,
        cases=tuple(case.id for case in rubric.cases),
        judge=judge.name,
        scale=scoring.scale_text,
        examples=tuple(scores),
        **example_figures(scores, scoring.width),
    )


async def _attacks(services: Services, judge: Candidate, at_once: int) -> AttackCalibration:
    found = await attack_judge(services, judge, at_once)
    return AttackCalibration(
        judge=judge.name,
        wrong_without_a_trick=found.wrong,
        right_without_a_trick=found.right,
        **attack_figures(found.attacks),
    )
