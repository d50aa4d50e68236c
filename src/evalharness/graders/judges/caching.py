"""The cache of verdicts: under which key one is kept, and a cache that lasts as long as the program."""

from __future__ import annotations

import copy
import hashlib

from evalharness.domain.record import Json
from evalharness.version import VERSION

MAJOR = VERSION.partition(".")[0]


def cache_key(*parts: Json) -> str:
    """Equal only for equal parts, of the same major version of the harness. Half a surrogate pair is fine, too."""
    return f"judge:{hashlib.sha256(ascii((MAJOR, *parts)).encode()).hexdigest()}"


class InMemoryCache:
    """Implements `contracts.JudgeCache`."""

    def __init__(self) -> None:
        self._kept: dict[str, Json] = {}

    async def get(self, key: str) -> Json:
        """None where nothing is kept. Whoever changes what they got changes nothing here."""
        return copy.deepcopy(self._kept.get(key))

    async def set(self, key: str, value: Json) -> None:
        self._kept[key] = copy.deepcopy(value)

    async def has(self, key: str) -> bool:
        return key in self._kept

    async def clear(self) -> None:
        self._kept.clear()
