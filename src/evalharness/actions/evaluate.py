"""Evaluate: cases, graders and targets in code; the same runs, store and reports as those of the command line."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel

from evalharness.actions.resume_run import ResumeRequest, continue_runs
from evalharness.actions.run_suite import RunRequest, plan_runs, start_runs
from evalharness.contracts.context import Context
from evalharness.contracts.execution import Execution
from evalharness.domain.run import EvaluateOptions, Run, request_fields
from evalharness.domain.sequential import SequentialRequest
from evalharness.domain.specification import WrittenTarget
from evalharness.domain.suite import LoadedFile
from evalharness.errors import CannotResume, UsageError
from evalharness.steps.accept_suite import WrittenSuite, accept_suite
from evalharness.steps.choose_scorers import with_scorers
from evalharness.steps.choose_targets import choose_targets
from evalharness.steps.collect_variables import for_suites, stored_environment
from evalharness.steps.find_runs import find_run

RESUMED_WITH = {
    *("resume", "trials", "scorers", "variables", "env"),
    *("max_concurrency", "max_cost_usd", "max_tokens", "judge_model", "run_name"),
}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What `evaluate` is asked for."""

    suite: WrittenSuite | BaseModel
    target: WrittenTarget | None = None
    options: EvaluateOptions = field(default_factory=EvaluateOptions)


async def evaluate_suite(context: Context, asked: Evaluation, execution: Execution | None = None) -> Run:
    """Run one suite on one target; returns the finished run with its report and trials."""
    request = _request(asked.target, asked.options)
    file = accept_suite(context.store, asked.suite)
    assert file.suite is not None
    execution = execution or Execution()
    with for_suites(context, [file.suite], request.variables, request.env) as running:
        if (name := asked.options.get("resume")) is not None:
            _check_resumed(name, asked.options)
            [ended] = await _resume(running, find_run(name, running.store), file, request, execution)
        else:
            prepared = await plan_runs(running, [file], request)
            if len(prepared) > 1:
                several = "prompts" if len(file.suite.prompts) > 1 else "variants"
                hint = "keep one of them" if several == "prompts" else "pass one of them to evaluate() as target"
                raise UsageError(f"the suite has several {several}", hint=hint)
            [ended] = await start_runs(running, prepared, execution)
    return ended.model_copy(update={"trials": tuple(context.store.trials(ended.id))})


def _request(target: WrittenTarget | None, asked: EvaluateOptions) -> RunRequest:
    fields, effect, k = request_fields(asked, EvaluateOptions), asked.get("sequential"), tuple(asked.get("k", ()))
    if any(number < 1 for number in k):
        raise UsageError(f"k must be at least 1, not {min(k)}")
    if effect is not None and not 0 < effect < 1:
        raise UsageError(f"sequential must be a share between 0 and 1, not {effect}", hint="write 0.1 for 10 points")
    if effect is not None and k:
        raise UsageError("a run that may stop early does not try every case often enough for k", hint="leave k out")
    trials = asked.get("trials")
    return RunRequest(
        targets=() if target is None else (target,),
        trials=trials,
        timeout_s=asked.get("timeout_s"),
        seed=asked.get("seed"),
        k=k,
        scorers=tuple(asked.get("scorers", ())),
        failed_of=asked.get("failed_of"),
        sequential=None if effect is None else SequentialRequest(effect, trials),
        **fields,
    )


def _check_resumed(name: str, asked: EvaluateOptions) -> None:
    """A run goes on as it began: only what `_resume` uses can be said again."""
    for key in EvaluateOptions.__annotations__:
        if key not in RESUMED_WITH and key in asked:
            raise CannotResume(f"run {name} continues with its own {key}", hint=f"leave {key} out, or start a new run")


async def _resume(
    context: Context, stored: Run, file: LoadedFile, request: RunRequest, execution: Execution
) -> list[Run]:
    """Continue a stored run with the functions of this program: they are checked to be the same."""
    assert file.suite is not None
    if [case.id for case in stored.suite.cases] != [case.id for case in file.suite.cases]:
        raise CannotResume(f"run {stored.name} has different cases from this suite", hint="start a new run")
    if request.trials not in (None, stored.lock.trials):
        raise CannotResume(f"run {stored.name} has {stored.lock.trials} trials per case", hint="start a new run")
    suite = file.suite.model_copy(update={"trials": stored.lock.trials})
    if request.scorers:
        suite = with_scorers(suite, request.scorers)
    suite, chosen = choose_targets(suite, request.targets, file.label)
    variants = {variant.name: variant for variant in chosen}
    target = (variants.get(stored.variant) or next(iter(variants.values()))).target
    run = stored.model_copy(update={"suite": suite, "target": target})
    options = request.options
    if options.judge_model not in ("", stored.options.judge_model):
        raise CannotResume(
            f"run {stored.name} continues with its own judge", hint="leave judge_model out, or regrade it"
        )
    if options.run_name not in ("", stored.name):
        raise CannotResume(f"run {stored.name} keeps its name", hint="leave run_name out")
    asked = ResumeRequest(
        variables=request.variables,
        max_concurrency=options.max_concurrency,
        max_cost_usd=options.max_cost_usd,
        max_tokens=options.max_tokens,
    )
    context = context.with_environment({**stored_environment([stored]), **request.env})
    return await continue_runs(context, [run], asked, execution)
