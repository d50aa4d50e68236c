"""Runs whose answers wait for people, and people who rate them, for tests of the review queue."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evalharness.actions.rate_answers import lease_item, submit_review
from evalharness.contracts.context import Context
from evalharness.domain.run import Run
from evalharness.harness import Harness
from evalharness.redaction import Redactor
from evalharness.settings import BootTime, Settings
from evalharness.stores.sql_store import SqlStore


@dataclass
class Clocks:
    """Both can be set as a test likes."""

    boot: str = "first boot"
    seconds: float = 1000.0
    wall: datetime = field(default_factory=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))

    def boot_time(self) -> BootTime:
        return BootTime(self.boot, self.seconds)


@contextmanager
def opened(place: str, clocks: Clocks | None = None) -> Iterator[Harness]:
    clocks = clocks or Clocks()
    store = SqlStore(place, redactor=Redactor.none())
    try:
        yield Harness(Context(store, Settings({}), lambda: clocks.wall, clocks.boot_time), owns_store=False)
    finally:
        store.close()


def human(**options: Any) -> dict[str, Any]:
    return {"human": options}


def suite(*cases: dict[str, Any], name: str = "rated", **more: Any) -> dict[str, Any]:
    return {"name": name, "test_cases": list(cases), **more}


def case(number: int, *graders: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": f"secret-case-{number}", "input": f"question {number}", "graders": list(graders), **more}


def run_of(harness: Harness, written: dict[str, Any], folder: Path, target: Any = None) -> Run:
    """The run of a suite file; its target repeats the question unless there is another."""
    import json

    file = folder / f"{written['name']}.json"
    file.write_text(json.dumps(written), encoding="utf-8")
    return harness.run(file, target or "echo", progress=False)


def rate_all(harness: Harness, name: str, rating: Any, run: Run | None = None) -> int:
    """Everything there is for this person; `rating` may be a function of the item."""
    for number in itertools.count():
        leased = harness.call(lease_item, name, run.id if run else None)
        if leased is None:
            return number
        given = rating(leased.item) if isinstance(rating, Callable) else rating  # type: ignore[arg-type]
        harness.call(submit_review, name, leased.item.id, given)
    raise AssertionError


def state_of(harness: Harness, run: Run, case_id: str) -> tuple[str, str]:
    [trial, *_] = harness.context.store.trials(run.id, case_id)
    return trial.state, trial.reason
