"""The verdicts of judges in a store: found again, also by another process and after a crash of this one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from evalharness.redaction import Redactor
from evalharness.stores.judge_cache import OFTEN
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


def test_who_asks_often_gets_what_is_kept_now(tmp_path: Path) -> None:
    """Many are read ahead; what was replaced, forgotten or added since is seen all the same, and all twice."""
    keys = [f"k{number}" for number in range(3 * OFTEN)]

    async def fill() -> None:
        for key in keys:
            await store.judge_cache.set(key, key)

    async def ask_all() -> list[object]:
        return [await kept(store, key) for key in keys]

    store = opened(tmp_path / "store.db")
    asyncio.run(fill())
    store.close()
    store, beside = opened(tmp_path / "store.db"), opened(tmp_path / "store.db")

    async def ask_on() -> None:
        assert [await kept(store, key) for key in keys[: OFTEN + 10]] == keys[: OFTEN + 10]
        await store.judge_cache.set(keys[-1], "replaced")
        store.judge_cache._writer.flush()
        await beside.judge_cache.set("added", "by another")
        beside.judge_cache._writer.flush()
        assert await kept(store, keys[-1]) == "replaced"
        assert await kept(store, "added") == "by another"

    asyncio.run(ask_on())
    for _ in range(2):
        assert asyncio.run(ask_all()) == [*keys[:-1], "replaced"]
    asyncio.run(store.judge_cache.clear())
    assert asyncio.run(ask_all()) == [None] * len(keys)
    store.close()
    beside.close()


def test_no_secret_is_kept(tmp_path: Path) -> None:
    store = opened(tmp_path / "store.db", API_KEY="correct-horse")
    asyncio.run(store.judge_cache.set("k", {"reason": "it says correct-horse"}))
    store.close()
    assert all(b"correct-horse" not in path.read_bytes() for path in tmp_path.iterdir())
