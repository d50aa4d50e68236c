"""Tell waiting: a sign of life for somebody who watches a command that nothing has come back to for a while."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from evalharness.domain.finding import Finding

PATIENCE_S = 5.0


@asynccontextmanager
async def waiting_told(
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
