"""`local/wordllama`: embeddings on this machine, offline. Fast but rough: the mean of the embeddings of a text's words.

The package contains its weights and tokenizer; nothing is downloaded.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evalharness.contracts.model import Embedded, Embedder
from evalharness.documents.scores import SimilarityScorer
from evalharness.errors import UnknownName, UsageError
from evalharness.llms.access import Access
from evalharness.values.nearness import nearness_of_texts, nearness_of_vectors

WORDLLAMA = "wordllama"
INSTALL_LOCAL = 'pip install "evalharness[local]"'
PIECE_CHARACTERS = 20_000


class OfflineVectors:
    """The model itself, loaded on first use; thread-safe."""

    def __init__(self) -> None:
        """Raises UsageError if the package is missing."""
        if find_spec(WORDLLAMA) is None:
            raise UsageError(f"local/{WORDLLAMA} is not installed", hint=INSTALL_LOCAL)
        self._loading = threading.Lock()
        self._model: Any = None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        with self._loading:
            if self._model is None:
                self._model = _load()
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        """The vector of a text. Long texts are split to save memory, and the pieces averaged by length."""
        text = text.encode(errors="replace").decode()  # the tokenizer fails on a lone surrogate
        pieces = [text[start : start + PIECE_CHARACTERS] for start in range(0, len(text), PIECE_CHARACTERS)]
        weights = [len(piece) / len(text) for piece in pieces]
        vectors = [self._model.embed([piece])[0] for piece in pieces] or self._model.embed([""])
        if len(vectors) == 1:
            return [float(value) for value in vectors[0]]
        return [float(value) for value in sum(w * v for w, v in zip(weights, vectors, strict=True))]


class LocalEmbeddings(Embedder):
    def __init__(self, model: str, access: Access) -> None:
        self.name = access.name_of(model)
        if model != WORDLLAMA:
            raise UnknownName("local embedding model", model, [WORDLLAMA])
        self._vectors = OfflineVectors()

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded(await asyncio.to_thread(self._vectors.embed, texts))


@cache
def _load() -> Any:
    """The model, loaded once because it never changes."""
    root, silent = logging.getLogger(), logging.NullHandler()
    # Importing the package configures the root logger, unless it already has a handler.
    root.addHandler(silent)
    try:
        import wordllama  # lazy: it takes a second
    finally:
        root.removeHandler(silent)
    # The package looks for its tokenizer in the cache folder, or under another name than the folder it contains.
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)


# A similarity scorer that works offline, for scoring an artifact in Python without a run.


class OfflineSimilarityScorer(SimilarityScorer):
    """The score is the cosine of the texts' embeddings, like the grader's; in a run, the grader is used instead."""

    def compare(self, actual: str, expected: str) -> float:
        if (near := nearness_of_texts(actual, expected)) is not None:
            return near
        one, other = OfflineVectors().embed([actual, expected])
        return nearness_of_vectors(one, other, f"local/{WORDLLAMA}")
