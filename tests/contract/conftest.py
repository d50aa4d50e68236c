"""Every store there is. A new implementation joins by a line in `STORES`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from evalharness.contracts.store import Store
from evalharness.redaction import Redactor
from evalharness.stores.sql_store import SqlStore
from evalharness.testing.store import FakeStore

OpenStore = Callable[..., Store]
STORES: dict[str, Callable[..., Store]] = {
    "sqlite file": lambda folder, **options: SqlStore(str(folder / "store.db"), **options),
    "sqlite memory": lambda folder, **options: SqlStore(":memory:", **options),
    "fake": lambda folder, **options: FakeStore(**options),
}


@pytest.fixture(params=STORES)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """A new store that knows no secrets, unless it is given a redactor; closed after the test."""
    with ExitStack() as closing:

        def opened(**options: Any) -> Store:
            store = STORES[request.param](tmp_path, **{"redactor": Redactor.none(), **options})
            closing.callback(store.close)
            return store

        yield opened


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    return open_store()
