"""Results that are kept while nothing they were computed from has changed."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from evalharness.server.kept_results import KeptResults


def test_a_result_is_computed_again_only_when_something_has_changed() -> None:
    kept, computed = KeptResults(), []

    def ask(revision: int | None, result: str = "") -> str:
        return kept.get("page", revision, lambda: computed.append(revision) or result or f"of {revision}")

    assert [ask(1), ask(1), ask(2), ask(2), ask(1)] == ["of 1", "of 1", "of 2", "of 2", "of 1"]
    assert computed == [1, 2, 1]
    assert [ask(None), ask(None)] == ["of None"] * 2
    assert computed == [1, 2, 1, None, None], "what changes all the time is not kept"
    assert ask(1) == "of 1"
    assert len(computed) == 5


def test_only_the_newest_are_kept() -> None:
    kept, computed = KeptResults(most=2), []
    for name in ("a", "b", "a", "c", "a", "b"):
        kept.get(name, 1, lambda name=name: computed.append(name))
    assert computed == ["a", "b", "c", "b"], "the one that was asked for longest ago goes first"


def test_what_many_ask_for_at_the_same_time_is_computed_once() -> None:
    kept, computed = KeptResults(), []

    def compute() -> str:
        computed.append(1)
        time.sleep(0.05)
        return "done"

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: kept.get("page", 1, compute), range(8)))
    assert (answers, computed) == (["done"] * 8, [1])


def test_a_failure_is_not_kept() -> None:
    kept = KeptResults()

    def fail() -> str:
        raise ValueError("not now")

    for _ in range(2):
        try:
            kept.get("page", 1, fail)
        except ValueError as error:
            assert str(error) == "not now"
    assert kept.get("page", 1, lambda: "now") == "now"
