"""A similarity scorer that compares meanings on this machine, for who scores an artifact in Python, without a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from evalharness.domain.nearness import nearness_of_texts, nearness_of_vectors
from evalharness.domain.scores import SimilarityScorer
from evalharness.llms.local_embeddings import WORDLLAMA, OfflineVectors


@dataclass(frozen=True)
class OfflineSimilarityScorer(SimilarityScorer):
    """The score is the cosine of the texts' embeddings, as the grader's; in a run the grader takes its place."""

    def compare(self, actual: str, expected: str) -> float:
        if (near := nearness_of_texts(actual, expected)) is not None:
            return near
        one, other = self._vectors.embed([actual, expected])
        return nearness_of_vectors(one, other, f"local/{WORDLLAMA}")

    @cached_property
    def _vectors(self) -> OfflineVectors:
        return OfflineVectors()
