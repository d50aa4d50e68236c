"""Vectors from any server with an OpenAI-compatible `/embeddings`, a batch of texts per request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from evalharness.domain.record import Json
from evalharness.domain.transcript import Usage
from evalharness.errors import ModelUnavailable
from evalharness.llms.access import Access
from evalharness.llms.reply_fields import count_at, objects_at, readable_count_at

PATH = "embeddings"
BATCH = 64
ATTEMPTS = 3
"""A server that does not know how to embed does not learn it: what it says is JSON, and no vectors."""


class Vectors(NamedTuple):
    vectors: list[list[float]]
    tokens: int


class OpenAiEmbeddings:
    def __init__(self, model: str, access: Access) -> None:
        self.name = access.name_of(model)
        self._model = model
        self._access = access

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        done = await asyncio.gather(*(self._embed(batch) for batch in batches))
        return [vector for vectors in done for vector in vectors]

    async def close(self) -> None:
        """The connections are not its own."""

    async def _embed(self, batch: Sequence[str]) -> list[list[float]]:
        access = self._access
        # An empty text is refused by some servers; a blank one means as little.
        body = {"model": self._model, "input": [text or " " for text in batch]}
        read = partial(_vectors_or_why_not, expected=len(batch))
        found: Vectors | str = ""
        for _ in range(ATTEMPTS):
            found = await access.posting.post(self.name, access.endpoint, PATH, body, read)
            if isinstance(found, Vectors):
                access.used(Usage(input_tokens=found.tokens))
                return found.vectors
        raise ModelUnavailable(f"{self.name}: the reply makes no sense: {found} ({ATTEMPTS} attempts)")


def _vectors_or_why_not(body: Json, expected: int) -> Vectors | str:
    try:
        return vectors_of(body, expected)
    except ValueError as error:
        return str(error)


def vectors_of(body: Json, expected: int) -> Vectors:
    """In the order of the texts. Raises ValueError for anything but one vector for each, all of one length."""
    items = objects_at(body, "data")
    by_index = {_index_of(item, place): _vector_of(item) for place, item in enumerate(items)}
    if sorted(by_index) != list(range(expected)) or len(items) != expected:
        raise ValueError(f"there are not {expected} vectors")
    vectors = [by_index[index] for index in range(expected)]
    if len({len(vector) for vector in vectors}) > 1:
        raise ValueError("the vectors differ in length")
    usage = body.get("usage")
    return Vectors(vectors, readable_count_at(usage, "prompt_tokens") or readable_count_at(usage, "total_tokens") or 0)


def _index_of(item: dict[str, Json], place: int) -> int:
    return place if item.get("index") is None else count_at(item, "index")


def _vector_of(item: dict[str, Json]) -> list[float]:
    values = item.get("embedding")
    if not isinstance(values, list) or not values or not all(type(value) in (int, float) for value in values):
        raise ValueError("'embedding' is no list of numbers")
    return [float(value) for value in values]
