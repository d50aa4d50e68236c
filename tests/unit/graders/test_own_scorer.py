"""What a scorer of one's own may return."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness.documents.scores import Score
from evalharness.graders.own_scorer import as_score

ITSELF: dict[str, Any] = {}
ITSELF["itself"] = ITSELF


@pytest.mark.parametrize("metadata", [{"raw": b"\xff"}, ITSELF], ids=["bytes", "circular"])
def test_metadata_that_cannot_be_stored_costs_no_score(metadata: dict[str, Any]) -> None:
    score = as_score(Score(name="s", value=0.5).model_copy(update={"metadata": metadata}), "s")
    assert score.value == 0.5
    assert "cannot be stored" in str(score.metadata)


def test_metadata_that_can_be_stored_is_kept() -> None:
    assert as_score({"value": 1, "metadata": {"why": ["a"]}}, "s").metadata == {"why": ["a"]}
