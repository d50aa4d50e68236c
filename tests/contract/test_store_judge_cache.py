"""The verdicts of judges in a store: found again, also by another process and after a crash of this one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from evalharness.redaction import Redactor
from evalharness.stores.sql_store import SqlStore


def opened(path: Path, **secrets: str) -> SqlStore:
    return SqlStore(str(path), redactor=Redactor(secrets))


async def kept(store: SqlStore, key: str) -> object:
    return await store.judge_cache.get(key)


def test_a_verdict_is_found_at_once_and_after_reopening(tmp_path: Path) -> None:
    store = opened(tmp_path / "store.db")
    asyncio.run(store.judge_cache.set("k", {"score": 3}))
    assert asyncio.run(kept(store, "k")) == {"score": 3}
    assert asyncio.run(store.judge_cache.has("k"))
    assert not asyncio.run(store.judge_cache.has("other"))
    store.close()
    again = opened(tmp_path / "store.db")
    assert asyncio.run(kept(again, "k")) == {"score": 3}
    assert asyncio.run(kept(again, "other")) is None
    again.close()


def test_a_verdict_that_could_not_be_used_is_replaced(tmp_path: Path) -> None:
    store = opened(tmp_path / "store.db")
    asyncio.run(store.judge_cache.set("k", 1))
    store.judge_cache.remove("0000")  # waits for what is to be written
    asyncio.run(store.judge_cache.set("k", 2))
    store.close()
    again = opened(tmp_path / "store.db")
    assert asyncio.run(kept(again, "k")) == 2
    again.close()


def test_clearing_forgets_all_or_what_is_old(tmp_path: Path) -> None:
    store = opened(tmp_path / "store.db")
    for key in ("a", "b"):
        asyncio.run(store.judge_cache.set(key, key))
    assert store.judge_cache.remove("2000-01-01T00:00:00Z") == 0
    assert store.judge_cache.line().verdicts == 2
    asyncio.run(store.judge_cache.clear())
    assert store.judge_cache.line().verdicts == 0
    assert asyncio.run(kept(store, "a")) is None
    store.close()


def test_no_secret_is_kept(tmp_path: Path) -> None:
    store = opened(tmp_path / "store.db", API_KEY="correct-horse")
    asyncio.run(store.judge_cache.set("k", {"reason": "it says correct-horse"}))
    store.close()
    assert all(b"correct-horse" not in path.read_bytes() for path in tmp_path.iterdir())
