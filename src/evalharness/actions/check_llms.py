"""Check models: that every model a run will ask exists, can be paid for and, if it judges, knows how to judge.

Before the first trial, so that a wrong key or a mistyped name costs seconds and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evalharness.contracts import Grader, Llm, Services, Target
from evalharness.domain.grade import Judging
from evalharness.engine.spending import Spending
from evalharness.errors import UsageError

LIMIT_OF_LOCAL_S = 300.0
"""A model of this machine has to be loaded first."""


async def check_llms(
    services: Services, spending: Spending, graders: Iterable[Grader], targets: Iterable[Target]
) -> None:
    """Targets and graders that others wrote need not say which models they ask: those are met when they are asked."""
    used = list(graders)
    judges = _named(getattr(grader, "judges", None) for grader in used)
    embedders = _named(getattr(grader, "embedders", None) for grader in used)
    asked = _named(getattr(target, "models", None) for target in targets)
    for name in asked:
        services.llm(name)
    for name in embedders:
        services.embedder(name)
    await check_judges(services, spending, judges, (*asked, *embedders))


async def check_judges(
    services: Services, spending: Spending, judges: Iterable[str], others: Sequence[str] = ()
) -> None:
    """Of `others` only the price is checked. Raises what `check_judge` raises."""
    llms = [services.llm(name) for name in judges]
    if spending.max_cost_usd is not None and services.models is not None:
        every = dict.fromkeys((*others, *(llm.name for llm in llms)))
        unpriced = [name for name in every if not services.models.price_known(name)]
        if unpriced:
            raise UsageError(
                f"the price of {', '.join(unpriced)} is not known, so no cap in dollars can be kept",
                hint="name a price file in EVALHARNESS_PRICES (docs/models.md), or cap tokens: --max-tokens N",
            )
    if spending.is_used_up:
        return  # nobody will be asked anything, and the report says why
    for llm in llms:
        spending.checks.append(await check_judge(llm))


async def check_judge(llm: Llm) -> Judging:
    """What it took. Raises what `validate_judge` raises."""
    # Here, because every run imports this module, and few have a judge.
    from evalharness.graders.judges.validating import LIMIT_S, validate_judge

    return await validate_judge(llm, LIMIT_OF_LOCAL_S if llm.name.startswith("local/") else LIMIT_S)


def _named(told: Iterable[object]) -> tuple[str, ...]:
    """Each model once."""
    return tuple(dict.fromkeys(name for names in told if callable(names) for name in names()))
