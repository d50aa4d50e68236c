"""Evaluate sessions: a folder of recorded sessions asked again, with the engine and the store of every other run."""

from __future__ import annotations

from pathlib import Path

from evalharness import settings
from evalharness.actions.collect_sessions import eval_run_of
from evalharness.actions.collect_variables import redactor_for
from evalharness.actions.evaluate import run_anywhere
from evalharness.actions.execute_runs import Execution
from evalharness.actions.find_suites import find_suites
from evalharness.actions.lend_services import DEFAULT_SANDBOX, concurrency_of
from evalharness.actions.load_suites import checked
from evalharness.actions.open_store import open_store
from evalharness.actions.run_suite import RunRequest, plan_runs, start_runs
from evalharness.actions.stop_runs import Stopper
from evalharness.domain.run import Run, RunOptions
from evalharness.domain.session_results import Config, EvalRun, InputSession
from evalharness.domain.trial import Trial
from evalharness.engine.planning import Selection, matches
from evalharness.errors import UsageError
from evalharness.formats.loading import LoadedFile
from evalharness.formats.recognising import SESSIONS
from evalharness.formats.session_folders import load_sessions


def evaluate_sessions(config: Config, *, store: str | None = None, sandbox: str = DEFAULT_SANDBOX) -> EvalRun:
    """Every session of `config.evals_dir`, asked `config.repeat` times. Works inside a running event loop, too.

    `config.judge_model` judges their criteria; without one these stay open.
    """
    _check(config)
    env = settings.parse_assignments(config.env_vars, "--env")
    [file] = find_suites([config.evals_dir], store, SESSIONS.name)
    assert file.suite is not None, "a folder with problems was refused"
    request = RunRequest(
        targets=(config.agent_filename,),
        trials=max(1, config.repeat),
        selection=Selection(only=config.only),
        env=env,
        options=RunOptions(max_concurrency=config.concurrency, sandbox=sandbox, judge_model=config.judge_model),
    )
    redactor = redactor_for([file.suite], env)
    stopper = Stopper()
    trials: list[Trial] = []

    async def run_it() -> Run:
        with open_store(store, redactor) as opened:
            [ended] = await start_runs(plan_runs([file], request, opened), Execution(opened, stopper=stopper))
            trials.extend(opened.trials(ended.id))
            return ended

    restore = settings.set_environment(env)
    try:
        run = run_anywhere(run_it(), stopper)
    finally:
        restore()
    concurrency = concurrency_of(run.options, run.suite.config)
    return eval_run_of(run, trials, config.model_copy(update={"concurrency": concurrency}))


def input_sessions(config: Config) -> list[InputSession]:
    """The sessions that `evaluate_sessions` would ask, in that order, each as often as it would."""
    folder = Path(config.evals_dir)
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}")
    found = load_sessions(folder, forced=True)
    checked([LoadedFile(folder, found.suite, found.problems)])
    assert found.suite is not None
    cases = {case.id: case for case in found.suite.cases}
    chosen = [
        file
        for file in found.recorded
        if not config.only or any(matches(word, cases[file.path.stem], file.path.name) for word in config.only)
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


def _check(config: Config) -> None:
    provider, _, model = config.judge_model.partition("/")
    if config.judge_model and not (provider and model):
        raise UsageError(f"invalid judge model format '{config.judge_model}'", hint="write provider/model")
    if config.base_image:
        raise UsageError("base_image needs containers, which this version does not have")
    if not config.agent_filename:
        raise UsageError("agent_filename is empty", hint="name a file that describes a target, or a target itself")
