"""Recall budget: the budget of a run, less what was taken out of it before, also by a process that was killed.

And what a report tells of it beside what its trials and their judges cost, so that all of it adds up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evalharness.contracts.store import Store
from evalharness.domain.finding import Finding, finding
from evalharness.domain.grade import added_up
from evalharness.domain.run import Run, RunOptions
from evalharness.domain.suite import SuiteConfig
from evalharness.engine.measuring.trial_counts import count_trials
from evalharness.engine.running.budget import RunBudget
from evalharness.stats.thresholds import SAME


def budget_for(options: RunOptions, config: SuiteConfig) -> RunBudget:
    """With the caps of a command, else those of its suite."""
    return RunBudget(options.max_cost_usd or config.max_cost_usd, options.max_tokens or config.max_tokens)


def budget_so_far(run: Run, store: Store, runs_before: Iterable[Run] = ()) -> RunBudget:
    """A budget with the caps of a run, out of which `runs_before` have been paid, with all they left unfinished."""
    budget = budget_for(run.options, run.suite.config)
    if not budget.is_capped:
        return budget
    kept: list[tuple[float, int]] = []
    for before in runs_before:
        budget.charge(*_in_trials(before, store))
        kept += [store.spent(before.id), store.spent(before.matrix_id)]
    budget.cost_usd = max(budget.cost_usd, *(cost_usd for cost_usd, _ in kept), 0.0)
    budget.tokens = max(budget.tokens, *(tokens for _, tokens in kept), 0)
    return budget


def _in_trials(run: Run, store: Store) -> tuple[float, int]:
    """What the finished trials of a run and their judges took: dollars, tokens."""
    measured = count_trials(run.suite, run.lock.trials, store.outcomes(run.id))
    judged = measured.judgings.values()
    tokens = (measured.input_tokens or 0) + (measured.output_tokens or 0)
    return (
        (measured.cost_usd or 0.0) + sum(each.cost_usd or 0.0 for each in judged),
        tokens + sum(each.input_tokens + each.output_tokens for each in judged),
    )


def spending_notes(budget: RunBudget, *, is_last: bool) -> Iterator[Finding]:
    """What a reader must know of it; of judges that cost nothing only where tokens are counted.

    Of runs that share a budget only the last tells what trying out their judges took.
    """
    for check in added_up(budget.checks) if is_last else ():
        if budget.is_capped or check.cost_usd != 0:
            yield finding("spending.judge_check", judging=dict(check))
    if budget.is_capped:
        yield from budget.notes


def unaccounted_notes(budget: RunBudget, run: Run, store: Store) -> Iterator[Finding]:
    """Of a capped run: what was spent that neither its lines of cost nor what trying out judges took account for.

    For the last of all that share its budget: what those before it took is counted from their trials.
    """
    if not budget.is_capped:
        return
    parts = [_in_trials(each, store) for each in (store.matrix(run.matrix_id) if run.options.is_capped else [run])]
    parts += [(check.cost_usd or 0.0, check.input_tokens + check.output_tokens) for check in budget.checks]
    cost_usd = budget.cost_usd - sum(cost for cost, _ in parts)
    tokens = budget.tokens - sum(number for _, number in parts)
    cost_usd = cost_usd if budget.max_cost_usd is not None and cost_usd > SAME else 0.0
    tokens = max(0, tokens) if budget.max_tokens is not None else 0
    if cost_usd or tokens:
        yield finding("spending.unattributed", "warning", cost_usd=cost_usd, tokens=tokens)
