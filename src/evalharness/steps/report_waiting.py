"""Report waiting: a sign of life for somebody who watches a command that nothing has come back to for a while."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from evalharness.contracts.services import Services
from evalharness.domain.finding import Finding, finding
from evalharness.engine.running.budget import RunBudget
from evalharness.graders.judges.calibration import Candidate

PATIENCE_S = 5.0


@asynccontextmanager
async def report_waiting(
    hear: Callable[[Finding], None],
    waits_for: Callable[[], Finding],
    done: Callable[[], int],
    patience_s: float = PATIENCE_S,
) -> AsyncIterator[None]:
    """While it lasts, `hear` gets what is waited for, as often as `done` stays the same for so many seconds.

    What `hear` raises is raised at the end.
    """

    async def watch() -> None:
        before = done()
        while True:
            await asyncio.sleep(patience_s)
            if before == (before := done()):
                hear(waits_for())

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.wait([watching])
        if not watching.cancelled():
            watching.result()


def waits_for(
    judges: Sequence[Candidate], asked: Sequence[Candidate], budget: RunBudget, services: Services
) -> Finding:
    """One judge after the other is tried out; after that, one after the other is asked."""
    judge = asked[-1] if asked else judges[len(budget.checks)]
    heard = services.models.trouble() if services.models is not None else ""
    return finding("calibration.waiting", judge=judge.name, answered=len(judge.judgings), heard=heard)
