"""Evaluate: cases, graders and targets in code; the same runs, store and reports as those of the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from pydantic import BaseModel, ValidationError

from evalharness.actions.resume_run import ResumeRequest, continue_runs
from evalharness.actions.run_suite import RunRequest, plan_runs, start_runs
from evalharness.contracts.context import Context
from evalharness.contracts.execution import Execution
from evalharness.domain.run import EvaluateOptions, Run, checked_options
from evalharness.domain.specification import WrittenTarget
from evalharness.domain.suite import LoadedFile, Suite
from evalharness.errors import CannotResume, UsageError
from evalharness.formats.problems import in_words
from evalharness.formats.task_suites import reader as task_suites
from evalharness.formats.task_suites.records import EvalSuite
from evalharness.formats.workflow_datasets import reader as workflow_datasets
from evalharness.formats.workflow_datasets.records import EvalDataset
from evalharness.steps.choose_scorers import WrittenScorer, with_scorers
from evalharness.steps.choose_targets import choose_targets
from evalharness.steps.collect_variables import for_suites, stored_environment
from evalharness.steps.find_suites import find_suites, without_file

WrittenSuite: TypeAlias = Suite | EvalDataset | EvalSuite | str | Path
"""A suite in one of its Python forms, a suite file, or the name of a suite."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What `evaluate` is asked for."""

    suite: WrittenSuite | BaseModel
    target: WrittenTarget | None = None
    trials: int | None = None
    scorers: Sequence[WrittenScorer] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    resume: str | None = None
    options: EvaluateOptions = field(default_factory=EvaluateOptions)


async def evaluate_suite(context: Context, asked: Evaluation, execution: Execution | None = None) -> Run:
    """Run one suite on one target; returns the finished run with its report and trials."""
    if asked.trials is not None and (type(asked.trials) is not int or asked.trials < 1):
        raise UsageError(f"trials must be a whole number, at least 1, not {asked.trials!r:.80}")
    for name, value in asked.variables.items():
        if not isinstance(value, str):
            raise UsageError(f"the value of the variable {name} must be text, not {type(value).__name__}")
    file = _as_file(context, asked.suite)
    assert file.suite is not None
    request = RunRequest(
        targets=() if asked.target is None else (asked.target,),
        trials=asked.trials,
        scorers=tuple(asked.scorers),
        variables=dict(asked.variables),
        env=dict(asked.env),
        options=checked_options(asked.options),
    )
    execution = execution or Execution()
    with for_suites(context, [file.suite], request.variables, request.env) as running:
        if asked.resume is not None:
            [ended] = await _resume(running, running.store.find_run(asked.resume), file, request, execution)
        else:
            prepared = await plan_runs(running, [file], request)
            if len(prepared) > 1:
                raise UsageError("the suite has several variants", hint="pass one of them to evaluate() as target")
            [ended] = await start_runs(running, prepared, execution)
    return ended.model_copy(update={"trials": tuple(context.store.trials(ended.id))})


def _as_file(context: Context, suite: WrittenSuite | BaseModel) -> LoadedFile:
    if isinstance(suite, str | Path):
        [file] = find_suites(context.store, [str(suite)])
        return file
    return without_file(_as_suite(suite), Path.cwd())


def _as_suite(suite: BaseModel) -> Suite:
    try:
        if isinstance(suite, EvalDataset):
            return workflow_datasets.suite_of(suite)
        if isinstance(suite, EvalSuite):
            return task_suites.suite_of(suite)
    except ValidationError as error:
        raise UsageError(f"this {type(suite).__name__} is no suite: {in_words(error, Suite)}") from None
    if isinstance(suite, Suite):
        return suite
    kind = type(suite).__name__
    raise UsageError(f"evaluate() takes a Suite, an EvalDataset, an EvalSuite, a file or a suite's name, not {kind}")


async def _resume(
    context: Context, stored: Run, file: LoadedFile, request: RunRequest, execution: Execution
) -> list[Run]:
    """Continue a stored run with the functions of this program: they are checked to be the same."""
    assert file.suite is not None
    if [case.id for case in stored.suite.cases] != [case.id for case in file.suite.cases]:
        raise CannotResume(f"run {stored.name} has other cases than this suite", hint="start a new run")
    if request.trials not in (None, stored.lock.trials):
        raise CannotResume(f"run {stored.name} has {stored.lock.trials} trials a case", hint="start a new run")
    suite = file.suite.model_copy(update={"trials": stored.lock.trials})
    if request.scorers:
        suite = with_scorers(suite, request.scorers)
    suite, chosen = choose_targets(suite, request.targets, str(file.path))
    variants = {variant.name: variant for variant in chosen}
    target = (variants.get(stored.variant) or next(iter(variants.values()))).target
    run = stored.model_copy(update={"suite": suite, "target": target})
    options = request.options
    if options.judge_model not in ("", stored.options.judge_model):
        raise CannotResume(f"run {stored.name} goes on with its own judge", hint="leave judge_model out, or regrade it")
    asked = ResumeRequest(
        variables=request.variables,
        max_concurrency=options.max_concurrency,
        max_cost_usd=options.max_cost_usd,
        max_tokens=options.max_tokens,
    )
    context = context.with_environment({**stored_environment([stored]), **request.env})
    return await continue_runs(context, [run], asked, execution)
