"""Recall spending: the purse of a run, less what was taken out of it before, also by a process that was killed."""

from __future__ import annotations

from collections.abc import Iterable

from evalharness.domain.run import Run, RunOptions
from evalharness.domain.suite import SuiteConfig
from evalharness.engine.spending import Spending
from evalharness.engine.tallying import count_trials
from evalharness.stores.sql_store import SqlStore


def purse_for(options: RunOptions, config: SuiteConfig) -> Spending:
    """With the caps of a command, else those of its suite."""
    return Spending(options.max_cost_usd or config.max_cost_usd, options.max_tokens or config.max_tokens)


def spending_so_far(run: Run, store: SqlStore, runs_before: Iterable[Run] = ()) -> Spending:
    """A purse with the caps of a run, out of which `runs_before` have been paid, with all they left unfinished."""
    spending = purse_for(run.options, run.suite.config)
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
