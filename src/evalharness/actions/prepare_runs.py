"""Prepare runs: specification, parts and lock of a run, each made once, before anything is opened or stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from evalharness import registry
from evalharness.contracts.context import Context
from evalharness.contracts.executor import RunSpec
from evalharness.contracts.target import Target
from evalharness.domain.loaded_file import LoadedFile
from evalharness.domain.run import Run, RunLock, RunOptions
from evalharness.domain.suite import Suite, Variant
from evalharness.engine.planning import Variables, filled_target, lock_cases, make_lock, plan_cases
from evalharness.engine.running.parts import build_parts
from evalharness.engine.spending import Spending
from evalharness.errors import UsageError
from evalharness.version import VERSION


@dataclass(slots=True)
class PreparedRun:
    """A run that could be started: its parts are built and its lock is taken; nothing is open, nothing is stored."""

    run: Run
    spec: RunSpec
    budget: Spending
    file: LoadedFile | None = None
    known_cost_usd: float | None = None


def prepare_run(
    suite: Suite, variant: Variant, variables: Variables, options: RunOptions, file: LoadedFile, budget: Spending,
    context: Context,
) -> PreparedRun:  # fmt: skip
    """A new run; the store will give it its id and its name."""
    assert variant.target is not None, "chosen with its target"
    spec = RunSpec(suite, variant.target, file.root, options, variables.values, context.settings.environment)
    spec, lock = locked(spec, variables, budget, context, str(file.path))
    run = Run(
        id="",
        name="",
        matrix_id="",
        variant=variant.name,
        root=str(file.root),
        created_at=context.timestamp(),
        suite=suite,
        target=variant.target,
        lock=lock,
        options=options,
    )
    return PreparedRun(run, spec, budget, file)


def prepare_again(run: Run, variables: Variables, budget: Spending, context: Context) -> PreparedRun:
    """A stored run that goes on, locked as it would be now."""
    environment = context.settings.environment
    spec = RunSpec(run.suite, run.target, Path(run.root), run.options, variables.values, environment)
    spec, lock = locked(spec, variables, budget, context, f"run {run.name}")
    return PreparedRun(run.model_copy(update={"lock": lock}), spec, budget)


def locked(
    spec: RunSpec, variables: Variables, budget: Spending, context: Context, where: str
) -> tuple[RunSpec, RunLock]:
    """The specification with its parts, and the lock. Secrets never reach a digest.

    So parts that hold the value of a secret are built a second time without it, for their digests.
    """
    assert spec.target is not None, "a regrade is locked by what it grades"
    used = variables.used_by(spec.suite, spec.target, where)
    parts = build_parts(spec, budget, context.store.judge_cache, where=where)
    assert parts.target is not None
    target, planned = parts.target, list(parts.cases.values())
    if used.has_secret:
        public = variables.public()
        target = registry.build_target(filled_target(spec.target, spec.suite, public), parts.services)
        planned = plan_cases(spec.suite, public, parts.services, grader_type=spec.options.grader_type)
    lock = make_lock(
        spec.suite,
        used.locked,
        target=_digest_of(target, where),
        cases=lock_cases(planned, spec.root),
        harness_version=VERSION,
    )
    return replace(spec, parts=parts), lock


def _digest_of(target: Target, where: str) -> str:
    try:
        return target.digest()
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", hint=error.hint) from error
