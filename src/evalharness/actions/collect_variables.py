"""Collect variables: what a suite's `{{names}}` stand for, and which of their values must never be written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from evalharness import settings
from evalharness.domain.run import Run
from evalharness.domain.suite import Suite
from evalharness.engine.planning import Variables
from evalharness.errors import MissingVariable
from evalharness.redaction import Redactor


def collect_variables(suite: Suite, given: Mapping[str, str]) -> Variables:
    """`--var` first, then the suite, then the environment; names in any case."""
    values = {name.lower(): value for name, value in settings.environment().items()}
    values |= {name.lower(): value for name, value in suite.vars.items()}
    values |= {name.lower(): value for name, value in given.items()}
    secret = {name.lower() for name in secrets_of(suite, given)}
    return Variables(values, frozenset(secret & set(values)))


def stored_variables(run: Run, given: Mapping[str, str]) -> Variables:
    """The values a run was started with; secret ones were never stored and come from where they came from."""
    lock = run.lock.variables
    public = {name: value for name, value in run.suite.vars.items() if lock.get(name.lower(), "") is not None}
    variables = collect_variables(run.suite.model_copy(update={"vars": public}), given)
    kept = {name: value for name, value in lock.items() if value is not None}
    missing = [name for name in lock if name not in kept and name not in variables.values]
    if missing:
        raise MissingVariable(missing, f"run {run.name}")
    return Variables({**variables.values, **kept}, variables.secret - set(kept))


def secrets_of(suite: Suite, given: Mapping[str, str]) -> dict[str, str]:
    """Secret values a run of this suite may meet, wherever they come from: environment, flags, the file itself."""
    return settings.secrets(extra_names=suite.secrets, extra={**suite.vars, **given})


def redactor_for(suites: Iterable[Suite], given: Mapping[str, str]) -> Redactor:
    """Knows every secret that runs of these suites may meet: nothing is written before it exists."""
    found = settings.secrets(extra=given)
    for suite in suites:
        found |= secrets_of(suite, given)
    return Redactor(found)
