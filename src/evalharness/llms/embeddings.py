"""Embeddings from any server with an OpenAI-compatible `/embeddings`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from evalharness.contracts.model import Embedded, Embedder
from evalharness.domain.transcript import Usage
from evalharness.llms.access import Access
from evalharness.llms.remote import count_at, objects_at, readable_count_at
from evalharness.values.json_value import Json

PATH = "embeddings"
MOST_GARBAGE = 3
"""A server that replies with JSON but without vectors probably does not support embeddings, so give up early."""


class OpenAiEmbeddings(Embedder):
    def __init__(self, model: str, access: Access) -> None:
        self.name = access.name_of(model)
        self._model = model
        self._access = access

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed all texts in one request; a grader compares only a few."""
        access = self._access
        # Some servers refuse an empty text; a blank one has as little meaning.
        body = {"model": self._model, "input": [text or " " for text in texts]}
        read = partial(self._read, len(texts))
        return await access.posting.post(
            self.name, access.endpoint, PATH, body, read, lost=access.lost, most_garbage=MOST_GARBAGE
        )

    def _read(self, expected: int, body: Json) -> Embedded:
        usage = usage_of(body)
        with self._access.charging(usage):
            return Embedded(vectors_of(body, expected), usage)


def vectors_of(body: Json, expected: int) -> list[list[float]]:
    """The vectors in the order of the texts. Raises ValueError unless there is one per text, all of equal length."""
    items = objects_at(body, "data")
    by_index = {_index_of(item, place): _vector_of(item) for place, item in enumerate(items)}
    if sorted(by_index) != list(range(expected)) or len(items) != expected:
        raise ValueError(f"expected {expected} vectors")
    vectors = [by_index[index] for index in range(expected)]
    if len({len(vector) for vector in vectors}) > 1:
        raise ValueError("the vectors differ in length")
    return vectors


def usage_of(body: Json) -> Usage | None:
    """The usage; None if it is missing or 0."""
    usage = body.get("usage") if isinstance(body, dict) else None
    tokens = readable_count_at(usage, "prompt_tokens") or readable_count_at(usage, "total_tokens")
    return Usage(input_tokens=tokens) if tokens else None


def _index_of(item: dict[str, Json], place: int) -> int:
    return place if item.get("index") is None else count_at(item, "index")


def _vector_of(item: dict[str, Json]) -> list[float]:
    values = item.get("embedding")
    if not isinstance(values, list) or not values or not all(type(value) in (int, float) for value in values):
        raise ValueError("'embedding' is not a list of numbers")
    return [float(value) for value in values]
