"""How tests ask a target in this process: cases of one kind, run by the real engine, not stored."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any

from evalharness import Case, Run, Suite, Trial, evaluate
from evalharness.domain.suite import SuiteConfig


def run_suite(target: Any, *, cases: int = 1, limit_s: float = 60.0, retries: int = 0, **case: Any) -> Run:
    """`cases` equal cases named a, b, c …; they ask for 2+2 unless the fields say otherwise."""
    fields = {"input": "2+2", "expected": "4", **case}
    suite = Suite(
        name="s",
        config=SuiteConfig(timeout_seconds=limit_s, retries=retries),
        cases=tuple(Case(id=id_, **fields) for id_ in ascii_lowercase[:cases]),
    )
    return evaluate(suite, target, store=":memory:")


def run_once(target: Any, **options: Any) -> Trial:
    [trial] = run_suite(target, **options).trials
    return trial
