"""Rate tables: rows of pass^1 … pass^n as others publish them, in JSON or CSV, with every digit as it was written.

How many digits a figure has says how far it was rounded, so no figure passes through a float on its way here.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from evalharness.domain.bounds import MOST_TASKS, MOST_TRIALS
from evalharness.domain.finding import Finding, finding
from evalharness.domain.report import RateRow
from evalharness.errors import UsageError

_PASS = re.compile(r"pass(?:\^|_hat_|_\^|_)?(\d{1,4})")
_LISTS = ("pass^k", "pass_hat_k", "pass_k", "pass_hat")
LONGEST_CELL = 131_072
_TASKS = ("tasks", "n_tasks", "num_tasks")
_TRIALS = ("trials", "num_trials", "trials_per_task")
_NO_FIGURE = ("", "-", "–", "—", "n/a", "na", "none", "null")
_NAMES = ("name", "label", "model", "model_name", "agent", "domain", "id")
_ABOUT = {*_TASKS, *_TRIALS, *_NAMES}


@dataclass(frozen=True, slots=True)
class _Written:
    label: str
    rates: dict[int, Decimal]
    is_percent: bool
    tasks: Decimal | None
    trials: Decimal | None
    odd: list[Finding]
    """Figures that are no numbers."""


def read_rate_table(path: Path) -> list[RateRow]:
    """Every row found, in order; none where the file holds no such rates. Each row is in shares or in percent."""
    rows = list(_csv_rows(path) if path.suffix.lower() == ".csv" else _json_rows(_json(path), ()))
    is_mixed = any(row.is_percent for row in rows)
    return [_row(row, is_mixed) for row in rows] if any(row.rates or row.odd for row in rows) else []


def _row(row: _Written, is_mixed: bool) -> RateRow:
    whole = Decimal(100 if row.is_percent else 1)
    rates = dict(sorted(row.rates.items()))
    decimals = max(map(_decimals, rates.values()), default=0) + (2 if row.is_percent else 0)
    odd = row.odd + [
        finding("rates.no_share", "error", k=k, rate=str(rate)) for k, rate in rates.items() if not 0 <= rate <= whole
    ]
    for what, number in (("tasks", row.tasks), ("trials", row.trials)):
        if number is not None and (number < 1 or number != number.to_integral_value()):
            odd.append(finding("rates.no_number", "error", what=what, number=str(number)))
    return RateRow(
        row.label,
        {k: rate / whole for k, rate in rates.items()},
        decimals,
        _at_most(row.tasks, MOST_TASKS + 1),
        _at_most(row.trials, MOST_TASKS * MOST_TRIALS + 1),
        problem=next(iter(odd), None),
        note=finding("rates.read_as_shares") if is_mixed and rates and not row.is_percent else None,
    )


def _at_most(number: Decimal | None, most: int) -> int | None:
    return None if number is None else int(min(number, Decimal(most)))


def _decimals(rate: Decimal) -> int:
    exponent = rate.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"), parse_float=Decimal, parse_int=Decimal)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from None


def _json_rows(value: Any, place: tuple[str, ...]) -> Iterator[_Written]:
    """Rows may stand anywhere: in lists, or in groups that give them their names."""
    if isinstance(value, Mapping):
        if _has_rates(value):
            yield _written(value, place)
        inner = {str(key): each for key, each in value.items() if key not in _LISTS}
    else:
        inner = {f"row {n}": each for n, each in enumerate(value if isinstance(value, list) else (), start=1)}
    beside_rows = any(_has_rates(each) for each in inner.values())
    for key, each in inner.items():
        rows = list(_json_rows(each, (*place, key)))
        if not rows and beside_rows and isinstance(each, Mapping) and _ABOUT & each.keys():
            rows = [_written(each, (*place, key))]  # one without any figure
        yield from rows


def _has_rates(value: Any) -> bool:
    reported = (
        (key for key, inner in value.items() if not isinstance(inner, Mapping)) if isinstance(value, Mapping) else ()
    )
    return any(key in _LISTS or _PASS.fullmatch(str(key)) for key in reported)


def _written(value: Mapping[str, Any], place: tuple[str, ...]) -> _Written:
    figures: dict[int, Any] = {}
    for key, written in value.items():
        figures |= dict(enumerate(written if key in _LISTS and isinstance(written, list) else [], start=1))
        if (named := _PASS.fullmatch(str(key))) and (int(named[1]) not in figures or _rate(written)):
            figures[int(named[1])] = written
    rates = {k: found for k, figure in figures.items() if (found := _rate(figure))}
    odd = [
        finding("rates.no_rate", "error", k=k, written=str(figures[k]))
        for k in figures
        if k not in rates and _is_stated(figures[k])
    ]
    name = next((str(value[key]) for key in _NAMES if isinstance(value.get(key), str)), "")
    label = name or " ".join(part for part in place if part != "results") or "the row"
    is_percent = any(percent or rate > 1 for rate, percent in rates.values())
    plain = {k: rate for k, (rate, _) in rates.items()}
    return _Written(label, plain, is_percent, _number(value, _TASKS), _number(value, _TRIALS), odd)


def _csv_rows(path: Path) -> Iterator[_Written]:
    former = csv.field_size_limit(LONGEST_CELL)  # of the whole process, so that anybody may have changed it
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            head = file.readline()
            file.seek(0)
            rows = list(csv.DictReader(file, delimiter=";" if head.count(";") > head.count(",") else ","))
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text in UTF-8: {error}") from None
    except csv.Error as error:
        raise UsageError(f"{path} is not a table: {error}") from None
    finally:
        csv.field_size_limit(former)
    for position, row in enumerate(rows, start=1):
        cells = {str(key).strip(): cell for key, cell in row.items() if isinstance(cell, str) and cell.strip()}
        figures = (*_TASKS, *_TRIALS)
        own = next((cell for key, cell in cells.items() if not _PASS.fullmatch(key) and key not in figures), "")
        if cells:
            yield _written(cells, (own.strip() or f"row {position}",))


def _rate(written: Any) -> tuple[Decimal, bool] | None:
    """The number, and whether a percent sign stands beside it; None for what is no number."""
    if isinstance(written, str):
        text = written.strip()
        try:
            number = Decimal(text.removesuffix("%").strip())
        except InvalidOperation:
            return None
        return (number, text.endswith("%")) if number.is_finite() else None
    is_number = isinstance(written, Decimal) and written.is_finite()
    return (written, False) if is_number else None


def _is_stated(figure: Any) -> bool:
    return isinstance(figure, float) or (isinstance(figure, str) and figure.strip().lower() not in _NO_FIGURE)


def _number(value: Mapping[str, Any], names: tuple[str, ...]) -> Decimal | None:
    return next((found[0] for name in names if (found := _rate(value.get(name)))), None)
