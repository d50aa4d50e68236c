"""Check models: that every model a run will ask exists, can be paid for and, if it judges, knows how to judge.

Before the first trial, so that a wrong key or a mistyped name costs seconds and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable

from evalharness.contracts import Grader, Services, Target
from evalharness.domain.run import Run
from evalharness.engine.spending import Spending
from evalharness.engine.tallying import count_trials
from evalharness.errors import UsageError
from evalharness.graders.judges.validating import validate_judge
from evalharness.stores.sql_store import SqlStore


async def check_llms(
    services: Services, spending: Spending, graders: Iterable[Grader], targets: Iterable[Target]
) -> None:
    """Targets and graders that others wrote need not say which models they ask: those are met when they are asked."""
    used = list(graders)
    judges = _named(getattr(grader, "judges", None) for grader in used)
    embedders = _named(getattr(grader, "embedders", None) for grader in used)
    asked = _named(getattr(target, "models", None) for target in targets)
    for name in (*asked, *judges):
        services.llm(name)
    for name in embedders:
        services.embedder(name)
    if spending.max_cost_usd is not None and services.models is not None:
        every = dict.fromkeys((*asked, *judges, *embedders))
        unpriced = [name for name in every if not services.models.price_known(name)]
        if unpriced:
            raise UsageError(
                f"the price of {', '.join(unpriced)} is not known, so no cap in dollars can be kept",
                hint="name a price file in EVALHARNESS_PRICES (docs/models.md), or cap tokens: --max-tokens N",
            )
    for name in judges:
        await validate_judge(services.llm(name))


def _named(told: Iterable[object]) -> tuple[str, ...]:
    """Each model once."""
    return tuple(dict.fromkeys(name for names in told if callable(names) for name in names()))


def spending_so_far(run: Run, store: SqlStore, runs_before: Iterable[Run] = ()) -> Spending:
    """A purse with the caps of a run, out of which `runs_before` have been paid, with all they left unfinished."""
    options, config = run.options, run.suite.config
    spending = Spending(options.max_cost_usd or config.max_cost_usd, options.max_tokens or config.max_tokens)
    if not spending.is_capped:
        return spending
    kept: list[tuple[float, int]] = []
    for before in runs_before:
        measured = count_trials(before.suite, before.lock.trials, store.outcomes(before.id))
        spending.charge(measured.cost_usd or 0.0, (measured.input_tokens or 0) + (measured.output_tokens or 0))
        for judging in measured.judgings.values():
            spending.charge(judging.cost_usd or 0.0, judging.input_tokens + judging.output_tokens)
        kept += [store.spending.read(before.id), store.spending.read(before.matrix_id)]
    spending.cost_usd = max(spending.cost_usd, *(cost_usd for cost_usd, _ in kept), 0.0)
    spending.tokens = max(spending.tokens, *(tokens for _, tokens in kept), 0)
    return spending
