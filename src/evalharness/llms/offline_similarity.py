"""A similarity scorer that compares meanings on this machine, for who scores an artifact in Python, without a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from evalharness.domain.scores import SimilarityScorer
from evalharness.llms.local_embeddings import OfflineVectors
from evalharness.stats.cosine import cosine


@dataclass(frozen=True)
class OfflineSimilarityScorer(SimilarityScorer):
    """The score is the cosine of the texts' embeddings, as the grader's; in a run the grader takes its place."""

    def compare(self, actual: str, expected: str) -> float:
        if actual.strip() == expected.strip():
            return 1.0
        one, other = self._vectors.embed([actual, expected])
        return max(0.0, cosine(one, other))

    @cached_property
    def _vectors(self) -> OfflineVectors:
        return OfflineVectors()
