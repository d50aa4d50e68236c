"""While a command waits, it reports what it is waiting for."""

from __future__ import annotations

import asyncio

import pytest

from evalharness.steps.report_waiting import report_waiting


def test_it_is_reported_as_long_as_nothing_moves_and_not_before() -> None:
    told: list[str] = []
    answered = 0

    async def main() -> None:
        nonlocal answered
        heard = asyncio.Event()

        def say(line: str) -> None:
            told.append(line)
            if len(told) == 2:
                heard.set()

        async with report_waiting(say, lambda: f"{answered} answered", lambda: answered, patience_s=0.01):
            await heard.wait()
        before = len(told)
        await asyncio.sleep(0.05)
        assert len(told) == before, "nothing more is reported"
        async with report_waiting(say, lambda: "moving", lambda: next(moving), patience_s=0.01):
            await asyncio.sleep(0.05)

    moving = iter(range(1000))
    asyncio.run(main())
    assert set(told) == {"0 answered"}


def test_a_reader_that_is_gone_is_noticed() -> None:
    async def main() -> None:
        async with report_waiting(say, lambda: "waiting", lambda: 0, patience_s=0.01):
            await heard.wait()

    def say(_: str) -> None:
        heard.set()
        raise BrokenPipeError("nobody listens")

    heard = asyncio.Event()
    with pytest.raises(BrokenPipeError, match="nobody listens"):
        asyncio.run(main())
