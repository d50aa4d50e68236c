"""One purse for target and judges: what is counted, and when nothing may be spent any more."""

from __future__ import annotations

import asyncio

import pytest

from evalharness.engine.spending import Spending
from evalharness.errors import SpendCapReached


def spend(purse: Spending, *costs: float) -> int:
    """So many calls begin at once; returns how many were under way together, at most."""
    under_way = most = 0

    async def call(cost_usd: float) -> None:
        nonlocal under_way, most
        await purse.begin()
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        purse.end(cost_usd, 10)

    async def all_calls() -> None:
        await asyncio.gather(*map(call, costs), return_exceptions=True)

    asyncio.run(all_calls())
    return most


def test_without_a_cap_anything_may_be_spent() -> None:
    purse = Spending()
    assert spend(purse, *[1000.0] * 5) == 5
    assert (purse.is_capped, purse.cost_usd, purse.tokens) == (False, 5000.0, 50)


def test_target_and_judge_draw_on_the_same_purse() -> None:
    purse = Spending(max_cost_usd=1.0)

    async def trial() -> None:
        await purse.begin_trial()
        await purse.begin()
        purse.end(0.4, 0)
        purse.end_trial(0.6, 0)

    asyncio.run(trial())
    with pytest.raises(SpendCapReached, match=r"spent \$1\.0000 of \$1"):
        asyncio.run(trial())


def test_the_first_call_goes_alone_and_near_the_cap_no_more_begin_than_fit() -> None:
    purse = Spending(max_cost_usd=1.0)
    assert spend(purse, *[0.25] * 50) <= 4
    assert purse.cost_usd == 1.0


def test_far_from_the_cap_calls_go_side_by_side() -> None:
    assert spend(Spending(max_cost_usd=100.0), *[0.25] * 50) > 40


def test_a_judge_does_not_wait_for_the_trial_that_waits_for_it() -> None:
    purse = Spending(max_tokens=11)

    async def trial() -> None:
        await purse.begin_trial()
        await purse.begin()
        purse.end(0.0, 5)
        purse.end_trial(0.0, 5)

    async def both() -> None:
        await asyncio.wait_for(asyncio.gather(trial(), trial(), return_exceptions=True), timeout=30)

    asyncio.run(both())
    assert purse.tokens == 20


def test_a_call_that_was_broken_off_lets_the_next_one_begin() -> None:
    purse = Spending(max_cost_usd=1.0)

    async def broken_off() -> None:
        await purse.begin()
        purse.end()
        await purse.begin()

    asyncio.run(broken_off())
    assert purse.cost_usd == 0.0


def test_both_caps_are_told() -> None:
    purse = Spending(max_cost_usd=5.0, max_tokens=100)
    purse.charge(0.5, 100)
    assert purse.is_used_up
    assert purse.told == "spent $0.5000 of $5 and 100 of 100 tokens"


def test_every_new_sum_is_kept() -> None:
    sums: list[tuple[float, int]] = []
    purse = Spending(max_cost_usd=5.0, kept=lambda cost, tokens: sums.append((cost, tokens)))
    purse.charge(0.5, 10)
    purse.charge(0.0, 0)
    purse.charge(None, 5)
    assert sums == [(0.5, 10), (0.5, 10), (0.5, 15)]


def test_what_has_no_price_is_said_to_be_uncounted() -> None:
    purse = Spending(max_cost_usd=1.0)
    purse.charge(None, 5)
    assert not purse.is_used_up
    assert "1 answer without a known cost" in " ".join(purse.notes)
    assert "known cost" not in " ".join(Spending(max_tokens=5, unpriced=3).notes)
