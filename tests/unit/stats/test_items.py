from __future__ import annotations

import math

import pytest

from evalharness.errors import UsageError
from evalharness.stats.items import Item, ItemFigures, item_analysis

# Six targets from strong to weak; only the weak ones pass "reversed".
TABLE = {
    "sure": [1, 1, 1, 1, 1, 1],
    "never": [0, 0, 0, 0, 0, 0],
    "easy": [1, 1, 1, 1, 1, 0],
    "medium": [1, 1, 1, 0, 0, 0],
    "fair": [1, 1, 0, 0, 0, 0],
    "hard": [1, 0, 0, 0, 0, 0],
    "reversed": [0, 0, 0, 1, 1, 1],
}


def targets(table: dict[str, list[int]]) -> list[dict[str, float]]:
    return [dict(zip(table, column, strict=True)) for column in zip(*table.values(), strict=True)]


def analysis(shares_by_target: list[dict[str, float]]) -> ItemFigures:
    found = item_analysis(shares_by_target)
    assert found is not None
    return found


def by_case(found: ItemFigures) -> dict[str, Item]:
    return {item.case: item for item in found.items}


def test_each_case_gets_its_difficulty_and_flag() -> None:
    items = by_case(analysis(targets(TABLE)))
    assert {case: item.flag for case, item in items.items()} == {
        "sure": "everyone passes",
        "never": "everyone fails",
        "easy": None,
        "medium": None,
        "fair": None,
        "hard": None,
        "reversed": "negative discrimination",
    }
    assert items["hard"].difficulty == pytest.approx(1 / 6)
    assert items["sure"].discrimination is None
    assert items["never"].discrimination is None
    assert list(items) == list(TABLE)


def test_discrimination_is_the_correlation_with_all_other_cases() -> None:
    # "medium" against the rest (sure + easy + hard + reversed): 3, 2, 2, 3, 3, 2 of 5.
    own, rest = [1, 1, 1, 0, 0, 0], [3, 2, 2, 3, 3, 2]
    covariance = sum((x - 1 / 2) * (y - 2.5) for x, y in zip(own, rest, strict=True))
    want = covariance / math.sqrt(sum((x - 1 / 2) ** 2 for x in own) * sum((y - 2.5) ** 2 for y in rest))
    assert want < 0
    table = {case: column for case, column in TABLE.items() if case not in ("never", "fair")}
    found = by_case(analysis(targets(table)))["medium"]
    assert found.discrimination == pytest.approx(want, rel=1e-12)
    assert found.flag is None, "with six targets this is only chance"


@pytest.mark.parametrize(("targets_tried", "least"), [(5, 0.8054), (6, 0.7293), (10, 0.5494)])
def test_a_negative_correlation_must_be_beyond_chance(targets_tried: int, least: float) -> None:
    """The published critical values of a correlation, one-sided at 5 %."""
    strength = [n / targets_tried for n in range(targets_tried)]
    steps = [(-1) ** n / 4 for n in range(targets_tried)]
    seen = set()
    for mixed in range(101):
        own = [0.5 - 0.4 * x + mixed / 50 * step for x, step in zip(strength, steps, strict=True)]
        rows = [{"odd": min(1, max(0, x)), "rest": y} for x, y in zip(own, strength, strict=True)]
        item = by_case(analysis(rows))["odd"]
        assert item.discrimination is not None
        assert (item.flag == "negative discrimination") == (item.discrimination <= -least + 5e-5)
        seen.add(item.flag)
    assert seen == {None, "negative discrimination"}


def test_a_case_that_one_target_alone_was_tried_on_changes_nothing_for_the_others() -> None:
    rows = targets(TABLE)
    before = by_case(analysis(rows))
    rows[3]["edited"] = 0.0
    assert by_case(analysis(rows)) == before


def test_targets_that_tried_little_take_nothing_from_the_others() -> None:
    rows = targets(TABLE)
    before = by_case(analysis(rows))
    found = by_case(analysis([*rows, {"sure": 1.0}]))
    assert {case: item for case, item in found.items() if case != "sure"} == {
        case: item for case, item in before.items() if case != "sure"
    }


def test_reliability_of_a_perfect_scale_and_of_none() -> None:
    same = {case: [1, 1, 1, 0, 0, 0] for case in "abc"}
    assert analysis(targets(same)).reliability == pytest.approx(1.0)
    assert analysis(targets({"a": [1] * 6, "b": [0] * 6})).reliability is None
    assert analysis(targets({"a": [1, 0, 1, 0, 1, 0]})).reliability is None


def test_fewer_than_five_targets_say_nothing() -> None:
    assert item_analysis(targets(TABLE)[:4]) is None
    assert item_analysis([]) is None
    assert analysis(targets(TABLE)[:5]).targets == 5


def test_a_case_that_few_targets_were_tried_on_is_left_out() -> None:
    rows = targets(TABLE)
    for row in rows[:2]:
        del row["hard"]
    del rows[0]["easy"]
    items = by_case(analysis(rows))
    assert "hard" not in items
    assert items["easy"].targets == 5
    assert items["medium"].targets == 6


def test_shares_of_several_trials_are_used_as_they_are() -> None:
    rows = [{"a": share, "b": share / 2} for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    items = by_case(analysis(rows))
    assert items["a"].difficulty == pytest.approx(0.5)
    assert items["a"].discrimination == pytest.approx(1.0)


def test_shares_outside_0_and_1_are_refused() -> None:
    with pytest.raises(UsageError):
        item_analysis([{"a": 1.5}] * 5)
    with pytest.raises(UsageError):
        item_analysis([{"a": math.nan}] * 5)
