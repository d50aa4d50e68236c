"""Judges' verdicts in SQL: found again after reopening, read ahead, and requested by several event loops."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from evalharness.redaction import Redactor
from evalharness.stores.judge_cache import OFTEN
from evalharness.stores.sql_store import SqlStore


def opened(path: Path, **secrets: str) -> SqlStore:
    return SqlStore(str(path), redactor=Redactor(secrets))


async def kept(store: SqlStore, key: str) -> object:
    return await store.judge_cache.get(key)


def test_a_verdict_is_found_after_reopening(tmp_path: Path) -> None:
    store = opened(tmp_path / "store.db")
    asyncio.run(store.judge_cache.set("k", {"score": 3}))
    store.close()
    again = opened(tmp_path / "store.db")
    assert asyncio.run(kept(again, "k")) == {"score": 3}
    assert asyncio.run(kept(again, "other")) is None
    again.close()


def test_who_asks_often_gets_what_is_kept_now(tmp_path: Path) -> None:
    """Many are read ahead; what was replaced, deleted or added since is still seen, and everything is read twice."""
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
        store.judge_cache.line()  # waits for pending writes
        await beside.judge_cache.set("added", "by another")
        beside.judge_cache.line()
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


def test_event_loops_of_several_threads_are_all_answered(tmp_path: Path) -> None:
    """Each loop is woken separately: a reply set by another loop's thread would leave it asleep."""
    store = opened(tmp_path / "store.db")
    keys = [f"k{number}" for number in range(200)]

    async def fill() -> None:
        for key in keys:
            await store.judge_cache.set(key, key)

    asyncio.run(fill())
    store.judge_cache.line()
    together = threading.Barrier(6)
    answers: list[list[object]] = []

    async def ask() -> list[object]:
        together.wait(timeout=30)
        answered: list[object] = []
        for key in keys:
            answered += await asyncio.wait_for(asyncio.gather(kept(store, key), kept(store, f"no {key}")), timeout=30)
        return answered

    threads = [threading.Thread(target=lambda: answers.append(asyncio.run(ask()))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert answers == [[found for key in keys for found in (key, None)]] * 6
    store.close()


def test_what_is_read_ahead_is_not_older_than_what_waits_to_be_written(tmp_path: Path) -> None:
    keys = [f"k{number}" for number in range(OFTEN + 1)]
    before = opened(tmp_path / "store.db")

    async def fill() -> None:
        for key in keys:
            await before.judge_cache.set(key, key)

    asyncio.run(fill())
    before.close()
    store, blocking = opened(tmp_path / "store.db"), opened(tmp_path / "store.db")

    async def replace_and_ask() -> object:
        with blocking._database.transaction():  # so that nothing is written meanwhile
            await store.judge_cache.set(keys[-1], "replaced")
            for key in keys[:OFTEN]:
                assert await kept(store, key) == key
        store.judge_cache.line()  # waits for pending writes
        return await kept(store, keys[-1])

    assert asyncio.run(replace_and_ask()) == "replaced"
    store.close()
    blocking.close()
