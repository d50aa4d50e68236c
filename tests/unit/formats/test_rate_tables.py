"""Tables of pass^k from others: every digit kept, percentages distinguished from shares, rows found at any depth."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from evalharness.errors import UsageError
from evalharness.formats.results.rate_tables import RateRow, read_rate_table
from evalharness.reports.words.say import say


def rows(tmp_path: Path, text: str, ending: str = ".json") -> list[RateRow]:
    path = tmp_path / f"table{ending}"
    path.write_text(text, encoding="utf-8")
    return read_rate_table(path)


def shares(*texts: str) -> dict[int, Decimal]:
    return {k: Decimal(text) for k, text in enumerate(texts, start=1)}


@pytest.mark.parametrize(
    "text",
    [
        '{"pass^1": 0.42, "pass^2": 0.273, "tasks": 50}',
        '{"pass_hat_1": 0.42, "pass_hat_2": 0.273, "n_tasks": 50}',
        '{"pass_1": 42, "pass_2": 27.3, "num_tasks": 50}',
        '{"pass1": "42 %", "pass2": "27.3%", "num_tasks": "50"}',
        '{"pass^k": [0.42, 0.273], "tasks": 50, "cost": 3.5}',
    ],
)
def test_spellings(text: str, tmp_path: Path) -> None:
    [row] = rows(tmp_path, text)
    assert (row.rates, row.decimals, row.tasks) == (shares("0.42", "0.273"), 3, 50)


def test_groups_give_rows_their_names(tmp_path: Path) -> None:
    text = (
        '{"results": {"retail": {"pass_1": 81.6, "pass_2": null}, "air": {"pass_1": 0.9}}, "model": "x", "trials": 4}'
    )
    retail, air = rows(tmp_path, text)
    assert (retail.label, retail.rates, retail.tasks) == ("retail", {1: Decimal("0.816")}, None)
    assert (air.label, air.rates, say(retail.note)) == ("air", {1: Decimal("0.9")}, "")
    assert say(air.note) == "read as shares of 1, unlike the rows in percent"


def test_rows_in_a_list_are_called_by_their_names_or_numbers(tmp_path: Path) -> None:
    found = rows(tmp_path, '[{"model": "big", "pass_1": 0.5}, {"pass_1": 0.25}]')
    assert [row.label for row in found] == ["big", "row 2"]


def test_a_table_with_semicolons(tmp_path: Path) -> None:
    [row] = rows(tmp_path, "\ufeffmodel;tasks;pass^1;pass^2\nx;50;0.5;0.3\n", ".csv")
    assert (row.label, row.rates, row.tasks) == ("x", shares("0.5", "0.3"), 50)


@pytest.mark.parametrize("figure", ["42,0", "nan", "forty"])
def test_a_figure_that_is_not_a_number_is_reported(figure: str, tmp_path: Path) -> None:
    listed, alone = rows(tmp_path, f'[{{"pass^k": ["{figure}", 20]}}, {{"pass_1": "{figure}"}}]')
    [line] = rows(tmp_path, f'model,pass^1,pass^2,tasks\nbig,"{figure}",20,50\n', ".csv")
    assert {say(row.problem) for row in (listed, alone, line)} == {f"pass^1 is '{figure}', which is not a number"}


@pytest.mark.parametrize("figure", ["", "-", "–", "N/A"])
def test_a_figure_that_is_left_out_is_none(figure: str, tmp_path: Path) -> None:
    [row] = rows(tmp_path, f"model,pass^1,pass^2,tasks\nbig,{figure},20,50\n", ".csv")
    assert (row.rates, say(row.problem)) == ({2: Decimal("0.2")}, "")


def test_a_comma_separated_table(tmp_path: Path) -> None:
    text = "\ufeffagent,pass^1, pass^2 ,tasks\nbig,42.0%,27.3%,50\nsmall,20%,,\n,10%,5%,7\n"
    big, small, third = rows(tmp_path, text, ".csv")
    assert (big.label, big.rates, big.tasks) == ("big", shares("0.42", "0.273"), 50)
    assert (small.label, small.rates, small.tasks) == ("small", {1: Decimal("0.2")}, None)
    assert (third.label, third.tasks) == ("row 3", 7)


def test_a_row_may_have_its_trials(tmp_path: Path) -> None:
    [row] = rows(tmp_path, '{"pass^k": [0.42, 0.273], "tasks": 50, "trials": 8}')
    assert row.trials == 8
    [row] = rows(tmp_path, "agent,num_trials,pass^1\n,8,0.5\n", ".csv")
    assert (row.trials, row.label) == (8, "row 1")
    [row] = rows(tmp_path, '{"pass^1": 0.42, "trials": 2.5}')
    assert "not a number of trials" in say(row.problem)


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("agent,pass^1,pass^2,tasks\nbig,42%,27.3%,50\nempty,,,10\n,,,\n", ".csv"),
        ('{"big": {"pass_1": 0.42}, "empty": {"pass_1": null, "tasks": 10}, "other": {"pass_1": {}}}', ".json"),
    ],
    ids=["csv", "json"],
)
def test_a_row_without_a_figure_stays(text: str, ending: str, tmp_path: Path) -> None:
    big, empty = rows(tmp_path, text, ending)
    assert (big.label, empty.label, empty.rates, say(empty.note), empty.tasks) == ("big", "empty", {}, "", 10)


def test_digits_are_those_that_were_written(tmp_path: Path) -> None:
    [row] = rows(tmp_path, '{"pass_1": 0.30, "pass_2": 0.1}')
    assert row.decimals == 2
    [row] = rows(tmp_path, '{"pass_1": 81.57894736842105}')
    assert row.decimals == 16


@pytest.mark.parametrize("text", ["{}", "[]", '{"pass_rate": 0.5}', '{"pass_1": "n/a"}', '{"pass@1": 0.5}', "3"])
def test_a_file_without_such_rates_contains_no_rows(text: str, tmp_path: Path) -> None:
    assert rows(tmp_path, text) == []


@pytest.mark.parametrize("text", ['{"pass_1": 140}', '{"pass_1": -0.1}'])
def test_what_is_not_a_share_is_a_problem_of_its_row(text: str, tmp_path: Path) -> None:
    [row] = rows(tmp_path, text)
    assert "not a share of trials" in say(row.problem)


def test_what_is_not_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not JSON"):
        rows(tmp_path, "{")
    with pytest.raises(UsageError, match="is not JSON"):
        rows(tmp_path, "[" * 100_000)


@pytest.mark.parametrize(
    ("data", "told"),
    [("agent,pass^1\ngröße,0.5\n".encode("latin-1"), "UTF-8"), (b"agent,pass^1\n" + b"x" * 200_000 + b",1\n", "field")],
    ids=["latin-1", "huge field"],
)
def test_a_comma_separated_table_that_cannot_be_read_is_refused(data: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=told) as refusal:
        read_rate_table(path)
    assert str(path) in refusal.value.message
