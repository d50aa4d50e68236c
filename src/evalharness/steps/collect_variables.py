"""Collect variables: what a suite's `{{names}}` stand for, and which of their values must never be written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager

from evalharness.contracts.context import Context
from evalharness.domain.run import Run
from evalharness.domain.suite import Suite
from evalharness.engine.planning.planned_cases import Variables
from evalharness.errors import MissingVariable
from evalharness.redaction import Redactor
from evalharness.settings import Settings


def collect_variables(suite: Suite, given: Mapping[str, str], settings: Settings) -> Variables:
    """`--var` first, then the suite, then the environment; names in any case."""
    values = {name.lower(): value for name, value in settings.environment.items()}
    values |= {name.lower(): value for name, value in suite.vars.items()}
    values |= {name.lower(): value for name, value in given.items()}
    secret = {name.lower() for name in secrets_of(suite, given, settings)}
    return Variables(values, frozenset(secret & set(values)))


def stored_variables(run: Run, given: Mapping[str, str], settings: Settings) -> Variables:
    """The values a run was started with; secret ones were never stored and come from where they came from."""
    lock = run.lock.variables
    public = {name: value for name, value in run.suite.vars.items() if lock.get(name.lower(), "") is not None}
    variables = collect_variables(run.suite.model_copy(update={"vars": public}), given, settings)
    kept = {name: value for name, value in lock.items() if value is not None}
    missing = [name for name in lock if name not in kept and name not in variables.values]
    if missing:
        raise MissingVariable(missing, f"run {run.name}")
    return Variables({**variables.values, **kept}, variables.secret - set(kept))


def secrets_of(suite: Suite, given: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Secret values a run of this suite may meet, wherever they come from: environment, flags, the file itself."""
    return settings.secrets(extra_names=suite.secrets, extra={**suite.vars, **given})


def redactor_for(suites: Iterable[Suite | None], given: Mapping[str, str], settings: Settings) -> Redactor:
    """Knows every secret that runs of these suites may meet: nothing is written before it exists."""
    found = settings.secrets(extra=given)
    for suite in suites:
        if suite is not None:
            found |= secrets_of(suite, given, settings)
    return Redactor(found)


def for_suites(
    context: Context, suites: Iterable[Suite | None], variables: Mapping[str, str], env: Mapping[str, str]
) -> AbstractContextManager[Context]:
    """For runs of these suites: with the environment variables of this call, and a store that knows all secrets."""
    context = context.with_environment(env)
    return context.for_runs(redactor_for(suites, {**variables, **env}, context.settings))


def public_environment(env: Mapping[str, str], suite: Suite, settings: Settings) -> dict[str, str | None]:
    """What a run stores of the variables it was given: secrets by name only."""
    secret = secrets_of(suite, env, settings)
    return {name: None if name in secret else value for name, value in env.items()}


def stored_environment(runs: Iterable[Run]) -> dict[str, str]:
    """The variables that runs were given by `--env`, without secrets: these were not stored."""
    return {key: value for run in runs for key, value in run.options.env.items() if value}
