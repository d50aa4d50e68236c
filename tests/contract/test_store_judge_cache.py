"""The verdicts of judges in every store: found at once, replaced, counted and forgotten, and without secrets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from evalharness.contracts.store import Store
from evalharness.redaction import Redactor


def test_a_verdict_is_found_at_once(store: Store) -> None:
    asyncio.run(store.judge_cache.set("k", {"score": 3}))
    assert asyncio.run(store.judge_cache.get("k")) == {"score": 3}
    assert asyncio.run(store.judge_cache.has("k"))
    assert asyncio.run(store.judge_cache.get("other")) is None
    assert not asyncio.run(store.judge_cache.has("other"))


def test_a_verdict_that_could_not_be_used_is_replaced(store: Store) -> None:
    for verdict in (1, 2):
        asyncio.run(store.judge_cache.set("k", verdict))
        assert store.judge_cache.line().verdicts == 1
        assert asyncio.run(store.judge_cache.get("k")) == verdict


def test_clearing_forgets_all_or_what_is_old(store: Store) -> None:
    for key in ("a", "b"):
        asyncio.run(store.judge_cache.set(key, key))
    assert store.judge_cache.remove("2000-01-01T00:00:00Z") == 0
    line = store.judge_cache.line()
    assert (line.verdicts, line.size_bytes) == (2, 8)
    assert line.oldest > "2000"
    assert store.judge_cache.remove("9999") == 2
    asyncio.run(store.judge_cache.set("c", "c"))
    asyncio.run(store.judge_cache.clear())
    assert store.judge_cache.line().verdicts == 0
    assert asyncio.run(store.judge_cache.get("c")) is None


def test_no_secret_is_kept(open_store: Callable[..., Store]) -> None:
    store = open_store(redactor=Redactor({"API_KEY": "correct-horse"}))
    asyncio.run(store.judge_cache.set("k", {"reason": "it says correct-horse"}))
    assert asyncio.run(store.judge_cache.get("k")) == {"reason": "it says [redacted:API_KEY]"}
