"""Published rows of pass^k checked by arithmetic: real leaderboards, and an impossible one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalharness.domain.report import RateCheck
from evalharness.engine.verifying.published_rates import check_rates
from evalharness.errors import UnknownName
from evalharness.formats.results.rate_tables import read_rate_table
from evalharness.reports.words.say import say

VECTORS = json.loads((Path(__file__).parents[2] / "fixtures" / "statistics-vectors.json").read_text())


def checked(
    tmp_path: Path, table: Any, tasks: dict[str, int] | None = None, trials: int | None = None
) -> list[RateCheck]:
    path = tmp_path / "table.json"
    path.write_text(table if isinstance(table, str) else json.dumps(table))
    return rates_in(path, tasks, trials)


def rates_in(path: Path, tasks: dict[str, int] | None = None, trials: int | None = None) -> list[RateCheck]:
    return check_rates(read_rate_table(path), tasks or {}, trials)


@pytest.mark.parametrize("vector", VECTORS["pass_hat_inversion"], ids=lambda vector: f"{vector['tasks']} tasks")
def test_reference(vector: dict[str, Any], tmp_path: Path) -> None:
    [found] = checked(tmp_path, {"pass^k": vector["pass_1_to_n"], "tasks": vector["tasks"]})
    assert found.possible == vector["possible"]
    assert found.histogram == (tuple(vector["want_hist"]) if vector["possible"] else None)


def test_a_row_as_it_was_published(tmp_path: Path) -> None:
    [found] = checked(tmp_path, '{"pass_1": 0.420, "pass_2": 0.273, "pass_3": 0.220, "pass_4": 0.200, "tasks": 50}')
    assert found.histogram == (14, 12, 10, 4, 10)
    assert "for instance 14 passed 0×, 12 passed 1×" in say(found.text)


def test_an_impossible_row_says_what_cannot_be(tmp_path: Path) -> None:
    row = {"pass_1": 9.79, "pass_2": 7.22, "pass_3": 5.67, "pass_4": 3.09, "tasks": 97}
    [found] = checked(tmp_path, {"telecom": row})
    assert (found.label, found.possible) == ("telecom", False)
    assert "cannot come from 97 tasks × 4 trials" in say(found.text)
    assert "of 97 tasks would have to have passed 2 of 4 trials" in say(found.text)


def test_a_single_rate_is_a_multiple_of_one_trial(tmp_path: Path) -> None:
    table = {"old": {"pass_1": 64.2}, "sound": {"pass_1": 64.5}}
    old, sound = checked(tmp_path, table, {"": 50}, trials=4)
    assert (old.possible, sound.possible) == (False, True)
    assert "pass^1 is not a multiple of 1/200" in say(old.text)


def test_a_table_may_have_fewer_k_than_there_were_trials(tmp_path: Path) -> None:
    table = {"pass_1": 0.42, "pass_2": 0.273, "tasks": 50}
    assert [each.possible for each in checked(tmp_path, table, trials=4)] == [True]
    assert [each.possible for each in checked(tmp_path, table)] == [False], "two trials cannot give it"


def test_the_trials_that_a_row_reports_are_those_it_is_checked_by(tmp_path: Path) -> None:
    """One task that passed 5 of 8: no result of 4 trials looks like it."""
    row = {"pass^k": [0.625, 0.3571, 0.1786, 0.0714], "tasks": 1}
    assert [each.possible for each in checked(tmp_path, row)] == [False]
    [found] = checked(tmp_path, row | {"trials": 8}, trials=4)
    assert (found.possible, found.trials, "× 8 trials" in say(found.text)) == (True, 8, True)
    [found] = checked(tmp_path, row | {"trials": 3})
    assert (found.possible, "needs 4 trials" in say(found.text)) == (False, True)


@pytest.mark.parametrize(("tasks", "trials"), [(4, 16), (500, 2000)])
def test_trials_may_be_those_of_all_tasks(tasks: int, trials: int, tmp_path: Path) -> None:
    row = {"pass^k": [0.25, 0, 0, 0], "tasks": tasks, "trials": trials}
    [found] = checked(tmp_path, row)
    assert (found.possible, found.trials, found.histogram) == (True, 4, (0, tasks, 0, 0, 0))
    assert [each.possible for each in checked(tmp_path, row | {"pass^k": [0.25, 0, 0, 0.2]})] == [False]


@pytest.mark.parametrize(
    ("row", "trials"),
    [
        ({"pass_1": 30, "pass_2": 60, "tasks": 10}, 8),
        ({"pass_1": 0.95, "pass_4": 0.10, "tasks": 50}, 4),
        ({"pass_1": 30, "pass_2": 60}, None),
        ({"pass_1": 0.5, "pass_2": 0.4, "tasks": 2.5}, None),
        ({"pass_1": 0.5, "pass_2": 0.4, "tasks": 0}, None),
    ],
)
def test_figures_that_contradict_each_other_are_impossible(row: Any, trials: int | None, tmp_path: Path) -> None:
    assert [each.possible for each in checked(tmp_path, row, trials=trials)] == [False]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"pass_1": 0.5, "pass_2": 0.4}, "number of tasks"),
        ({"pass_1": 0.5, "pass_2": 0.4, "tasks": 10**9}, "too many tasks to check"),
        ({"pass_1": 0.5, "pass_2": 0.4, "tasks": 10, "trials": 10**9}, "too many trials to check"),
        ({"pass_1": 0.5, "tasks": 10}, "only pass^1 is given"),
        ({"pass_1": 0.5, "pass_3": 0.4, "tasks": 10}, "some pass^k are missing"),
    ],
)
def test_too_little_is_neither_right_nor_wrong(row: Any, why: str, tmp_path: Path) -> None:
    [found] = checked(tmp_path, row)
    assert found.possible is None
    assert why in say(found.text)


def test_tasks_are_given_for_all_rows_or_by_name(tmp_path: Path) -> None:
    table = {"results": {"retail": {"pass_1": 0.5, "pass_2": 0.25}, "air": {"pass_1": 0.5, "pass_2": 0.25}}}
    found = checked(tmp_path, table, {"": 8, "retail": 16})
    assert {each.label: each.tasks for each in found} == {"retail": 16, "air": 8}
    with pytest.raises(UnknownName, match="Did you mean 'retail'"):
        checked(tmp_path, table, {"retial": 3})


def test_fewer_trials_than_a_row_tells_of_make_it_impossible(tmp_path: Path) -> None:
    [found] = checked(tmp_path, {"pass_1": 0.5, "pass_2": 0.25, "tasks": 4}, trials=1)
    assert (found.possible, "needs 2 trials" in say(found.text)) == (False, True)


def test_a_row_without_figures_is_reported(tmp_path: Path) -> None:
    full, empty = checked(tmp_path, {"full": {"pass_1": 0.5, "pass_2": 0.25, "tasks": 4}, "empty": {"pass_1": None}})
    assert (full.possible, empty.possible, say(empty.text)) == (True, None, "it has no figure")


def test_one_bad_row_does_not_end_the_check_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("model,pass^1,pass^2,tasks\nodd,140,20,50\nshares,0.5,0.25,4\npercent,50,25,4\n")
    odd, shares, percent = rates_in(path)
    assert [each.possible for each in (odd, shares, percent)] == [False, True, True]
    assert "pass^1 is 140, which is not a share of trials" in say(odd.text)
    assert say(shares.text).endswith("(read as shares of 1, unlike the rows in percent)")
    assert shares.histogram == percent.histogram
