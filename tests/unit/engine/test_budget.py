"""One budget for target and judges: what is counted, and when nothing more may be spent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evalharness.engine.running.budget import RunBudget
from evalharness.errors import SpendCapReached
from evalharness.reports.words.say import say


def spend(purse: RunBudget, *costs: float) -> int:
    """Starts this many calls at once; returns the largest number that ran together."""
    under_way = most = 0

    async def call(cost_usd: float) -> None:
        nonlocal under_way, most
        await purse.begin("m")
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        purse.end("m", cost_usd, 10)

    async def all_calls() -> None:
        await asyncio.gather(*map(call, costs), return_exceptions=True)

    asyncio.run(all_calls())
    return most


def test_without_a_cap_anything_may_be_spent() -> None:
    purse = RunBudget()
    assert spend(purse, *[1000.0] * 5) == 5
    assert (purse.is_capped, purse.cost_usd, purse.tokens) == (False, 5000.0, 50)


def test_target_and_judge_draw_on_the_same_budget() -> None:
    purse = RunBudget(max_cost_usd=1.0)

    async def trial() -> None:
        await purse.begin_trial()
        await purse.begin("m")
        purse.end("m", 0.4, 0)
        purse.end_trial(0.6, 0)

    asyncio.run(trial())
    with pytest.raises(SpendCapReached, match=r"spent \$1\.0000 of \$1"):
        asyncio.run(trial())


def test_the_first_call_goes_alone_and_near_the_cap_no_more_begin_than_fit() -> None:
    purse = RunBudget(max_cost_usd=1.0)
    assert spend(purse, *[0.25] * 50) <= 4
    assert purse.cost_usd == 1.0


def test_far_from_the_cap_calls_go_side_by_side() -> None:
    assert spend(RunBudget(max_cost_usd=100.0), *[0.25] * 200) > 40


def test_a_judge_does_not_wait_for_the_trial_that_waits_for_it() -> None:
    purse = RunBudget(max_tokens=11)

    async def trial() -> None:
        await purse.begin_trial()
        await purse.begin("m")
        purse.end("m", 0.0, 5)
        purse.end_trial(0.0, 5)

    async def both() -> None:
        await asyncio.wait_for(asyncio.gather(trial(), trial(), return_exceptions=True), timeout=30)

    asyncio.run(both())
    assert purse.tokens == 20


def test_a_call_that_was_broken_off_says_nothing_about_what_others_cost() -> None:
    purse = RunBudget(max_tokens=1000)

    async def call(number: int) -> None:
        await purse.begin("m")
        await asyncio.sleep(0)
        purse.end("m", 0.0, 0 if number == 0 else 400)

    async def all_calls() -> None:
        await asyncio.gather(*map(call, range(50)), return_exceptions=True)

    asyncio.run(all_calls())
    assert purse.tokens <= 1200


def spend_at_once(purse: RunBudget, *calls: tuple[str, float]) -> float:
    """Starts all calls at once, each with a model and a cost; returns what was spent in the end."""

    async def call(model: str, cost_usd: float) -> None:
        await purse.begin(model)
        await asyncio.sleep(0)
        purse.end(model, cost_usd, 10)

    async def all_calls() -> None:
        await asyncio.gather(*(call(*each) for each in calls), return_exceptions=True)

    asyncio.run(all_calls())
    return purse.cost_usd


def test_a_cheap_call_of_one_model_says_nothing_of_another() -> None:
    assert spend_at_once(RunBudget(max_cost_usd=1.0), ("judge", 0.001), *[("target", 0.5)] * 50) <= 1.5


def test_after_one_cheap_call_not_all_others_begin() -> None:
    assert spend_at_once(RunBudget(max_cost_usd=1.0), ("m", 0.001), *[("m", 0.5)] * 50) <= 1.501


def test_what_a_call_may_take_counts_before_any_has_ended() -> None:
    purse = RunBudget(max_cost_usd=1.0)

    async def call(number: int) -> None:
        await purse.begin("m", 0.5 if number > 20 else 0.0)
        await asyncio.sleep(0)
        purse.end("m", 0.5 if number > 20 else 0.001)

    async def all_calls() -> None:
        for number in range(20):
            await call(number)
        await asyncio.gather(*map(call, range(20, 50)), return_exceptions=True)

    asyncio.run(all_calls())
    assert purse.cost_usd <= 1.5


def test_what_a_thrown_away_reply_has_cost_is_known_to_the_others() -> None:
    purse = RunBudget(max_cost_usd=1.0)

    async def run() -> None:
        await purse.begin("m")
        purse.charge(0.5, 10, "m")
        purse.end("m")
        await purse.begin("m")
        second = asyncio.create_task(purse.begin("m"))
        await asyncio.sleep(0)
        assert not second.done()
        second.cancel()

    asyncio.run(run())


def test_a_reply_that_was_thrown_away_lets_another_trial_begin() -> None:
    """Its own trial asks again and again, with pauses: the others need not wait until it gives up."""
    purse = RunBudget(max_cost_usd=1.0)

    async def begun() -> list[bool]:
        await purse.begin_trial(is_metered=True)
        await purse.begin("m")
        second = asyncio.ensure_future(purse.begin_trial(is_metered=True))
        await asyncio.sleep(0)
        before = second.done()
        purse.charge(0.1, 10, "m")
        await asyncio.sleep(0)
        after = second.done()
        second.cancel()
        return [before, after]

    assert asyncio.run(begun()) == [False, True]


def test_calls_that_turn_dear_late_overrun_a_cap_by_those_under_way_at_most() -> None:
    purse = RunBudget(max_cost_usd=10.0)
    most = spend(purse, *[0.01] * 50, *[5.0] * 50)
    assert 10.0 <= purse.cost_usd <= 10.0 + 5.0 * most


def test_trials_of_metered_targets_begin_as_their_calls_may_and_are_charged_once() -> None:
    purse = RunBudget(max_cost_usd=1.0)
    under_way = most = 0

    async def trial() -> None:
        nonlocal under_way, most
        await purse.begin_trial(is_metered=True)
        under_way += 1
        most = max(most, under_way)
        await purse.begin("m")
        await asyncio.sleep(0)
        purse.end("m", 0.25, 10)
        under_way -= 1
        purse.end_trial(0.25, 10, is_metered=True)

    async def all_trials() -> None:
        await asyncio.gather(*(trial() for _ in range(50)), return_exceptions=True)

    asyncio.run(asyncio.wait_for(all_trials(), 30))
    assert most <= 3
    assert purse.cost_usd == 1.0


def test_calls_that_were_broken_off_are_reported() -> None:
    purse = RunBudget(max_cost_usd=1.0)

    async def run() -> None:
        await purse.begin("m")
        purse.end("m", 0.001, 5, broken_off=True)

    asyncio.run(run())
    assert "1 request without a complete reply" in " ".join(map(say, purse.notes))


def test_a_server_that_is_down_is_not_asked_one_by_one() -> None:
    purse = RunBudget(max_tokens=1000)
    under_way: list[int] = []
    most = 0

    async def call(number: int) -> None:
        nonlocal most
        await purse.begin("m")
        under_way.append(number)
        most = max(most, len(under_way))
        await asyncio.sleep(0)
        under_way.remove(number)
        purse.end("m")

    async def all_calls() -> None:
        await asyncio.gather(*map(call, range(50)))

    asyncio.run(all_calls())
    assert most > 5


class CountingLoop(asyncio.SelectorEventLoop):
    """Counts how often a caller waited."""

    waits = 0

    def create_future(self) -> asyncio.Future[Any]:
        self.waits += 1
        return super().create_future()


def test_of_many_that_wait_only_those_look_again_who_may_begin() -> None:
    purse = RunBudget(max_tokens=10_000, tokens=1)
    done: list[int] = []

    async def call(number: int) -> None:
        await purse.begin("m")
        await asyncio.sleep(0)
        purse.end("m", 0.0, 9000 if number == 0 else 1)
        done.append(number)

    async def all_calls() -> None:
        await asyncio.gather(*map(call, range(300)))

    loop = CountingLoop()
    try:
        loop.run_until_complete(all_calls())
    finally:
        loop.close()
    assert sorted(done) == list(range(300))
    assert loop.waits < 5 * 300


def test_who_is_cancelled_in_the_moment_of_its_turn_leaves_it_to_the_next() -> None:
    purse = RunBudget(max_tokens=1000)

    async def run() -> None:
        await purse.begin("m")
        first, second = asyncio.create_task(purse.begin("m")), asyncio.create_task(purse.begin("m"))
        await asyncio.sleep(0)
        purse.end("m", 0.0, 900)
        first.cancel()
        await asyncio.wait_for(second, timeout=30)
        assert first.cancelled()

    asyncio.run(run())


def test_trials_that_wait_begin_when_calls_leave_room_for_them() -> None:
    purse = RunBudget(max_tokens=100)

    async def run() -> None:
        await purse.begin_trial()
        purse.end_trial(0.0, 1)
        await purse.begin("m")
        purse.end("m", 0.0, 49)
        await purse.begin_trial()
        await purse.begin("m")
        waiting = asyncio.create_task(purse.begin_trial())
        await asyncio.sleep(0)
        assert not waiting.done()
        purse.end("m", 0.0, 0)
        await asyncio.wait_for(waiting, timeout=30)

    asyncio.run(run())


def test_both_caps_are_reported() -> None:
    purse = RunBudget(max_cost_usd=5.0, max_tokens=100)
    purse.charge(0.5, 100)
    assert purse.is_used_up
    assert say(next(purse.notes)) == "spent $0.5000 of $5 and 100 of 100 tokens"


@pytest.mark.parametrize(
    ("spent", "cap", "told"),
    [
        (0.00004, 0.00004, "spent $0.00004 of $0.00004"),
        (0.000044, 0.00004, "spent $0.00004 of $0.00004"),
        (0.00012, 0.00015, "spent $0.0001 of $0.00015"),
        (0.00003, 5.0, "spent $0.00003 of $5"),
    ],
)
def test_small_sums_are_not_rounded_away(spent: float, cap: float, told: str) -> None:
    purse = RunBudget(max_cost_usd=cap)
    purse.charge(spent, 1)
    assert say(next(purse.notes)) == told


def test_every_new_sum_is_kept() -> None:
    sums: list[tuple[float, int]] = []
    purse = RunBudget(max_cost_usd=5.0, kept=lambda cost, tokens: sums.append((cost, tokens)))
    purse.charge(0.5, 10)
    purse.charge(0.0, 0)
    purse.charge(None, 5)
    assert sums == [(0.5, 10), (0.5, 10), (0.5, 15)]


def test_what_has_no_price_is_said_to_be_uncounted() -> None:
    purse = RunBudget(max_cost_usd=1.0)
    purse.charge(None, 5)
    assert not purse.is_used_up
    assert "1 answer without a known cost" in " ".join(map(say, purse.notes))
    assert "known cost" not in " ".join(map(say, RunBudget(max_tokens=5, unpriced=3).notes))
