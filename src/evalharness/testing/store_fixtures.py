"""What all tests of a store begin with: a new, empty one, closed at their end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import pytest

from evalharness.contracts.store import Store
from evalharness.redaction import Redactor

SECRET = 'pa"ss\\wörd-ключ-7\n☃'
OpenStore: TypeAlias = Callable[[Redactor], Store]


class StoreFixtures(ABC):
    @abstractmethod
    def build(self, folder: Path, redactor: Redactor) -> Store:
        """The store under test, new and empty. `folder` is its own, whether it needs one or not."""

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Iterator[OpenStore]:
        with ExitStack() as closing:

            def opened(redactor: Redactor) -> Store:
                store = self.build(tmp_path, redactor)
                closing.callback(store.close)
                return store

            yield opened

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Store:
        """One that knows a secret."""
        return open_store(Redactor({"API_KEY": SECRET}))
