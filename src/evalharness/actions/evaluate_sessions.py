"""Evaluate sessions: a folder of recorded sessions asked again, with the engine and the store of every other run."""

from __future__ import annotations

from pathlib import Path

from evalharness.actions.run_suite import RunRequest, run_suites
from evalharness.contracts.context import Context
from evalharness.documents.session_results import Config, EvalRun, InputSession
from evalharness.domain.run import ContainerOptions, RunOptions
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import LoadedFile, Selection, matches_case
from evalharness.engine.running.parts import concurrency_of
from evalharness.errors import UsageError
from evalharness.formats.recognition import SESSIONS
from evalharness.formats.session_folders import load_sessions
from evalharness.settings import parse_assignments
from evalharness.steps.collect_sessions import eval_run_of
from evalharness.steps.find_suites import find_suites, without_errors
from evalharness.values.json_value import Json

DEFAULT_SANDBOX = "bubblewrap"


async def evaluate_sessions(
    context: Context, config: Config, sandbox: str = DEFAULT_SANDBOX, run_name: str = ""
) -> EvalRun:
    """Every session of `config.evals_dir`, asked `config.repeat` times.

    `config.judge_model` judges their criteria; without one these stay open.
    """
    _check(config)
    [file] = find_suites(context.store, [config.evals_dir], SESSIONS.name)
    request = RunRequest(
        suites=(file,),
        targets=(_target(config),),
        trials=max(1, config.repeat),
        selection=Selection(only=config.only),
        env=parse_assignments(config.env_vars, context.settings.environment),
        options=RunOptions(
            max_concurrency=config.concurrency,
            sandbox=sandbox,
            judge_model=config.judge_model,
            run_name=run_name,
            containers=ContainerOptions(keep=config.keep_containers),
        ),
    )
    [run] = await run_suites(context, request)
    concurrency = concurrency_of(run.options, run.suite.config)
    return eval_run_of(run, context.store.trials(run.id), config.model_copy(update={"concurrency": concurrency}))


async def input_sessions(context: Context, config: Config) -> list[InputSession]:
    """The sessions that `evaluate_sessions` would ask, in that order, each as often as it would."""
    folder = Path(config.evals_dir)
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}")
    found = load_sessions(folder, forced=True)
    without_errors([LoadedFile(folder, found.suite, found.problems)])
    assert found.suite is not None
    cases = {case.id: case for case in found.suite.cases}
    chosen = [
        file
        for file in found.recorded
        if not config.only or any(matches_case(word, cases[file.path.stem], file.path.name) for word in config.only)
    ]
    rounds = range(1, config.repeat + 1) if config.repeat > 1 else (0,)
    return [
        InputSession.model_validate(
            {
                **file.session.model_dump(mode="json"),
                "title": f"{file.session.title} #{number}" if number else file.session.title,
                "source_path": str(file.path),
                "repeat_index": number,
            }
        )
        for number in rounds
        for file in chosen
    ]


def _target(config: Config) -> str | TargetSpec:
    """With a base image, the file describes an agent of docker-agent, which runs in containers."""
    if not config.base_image:
        return config.agent_filename
    options: dict[str, Json] = {"agent": config.agent_filename, "base_image": config.base_image}
    if config.agent_image:
        options["agent_image"] = config.agent_image
    return TargetSpec(kind="docker-agent", options=options)


def _check(config: Config) -> None:
    provider, _, model = config.judge_model.partition("/")
    if config.judge_model and not (provider and model):
        raise UsageError(f"invalid judge model format '{config.judge_model}'", hint="write provider/model")
    if not config.agent_filename:
        raise UsageError("agent_filename is empty", hint="name a file that describes a target, or a target itself")
