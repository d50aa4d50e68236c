"""The history of a case in a suite file."""

from __future__ import annotations

import pytest

from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseHistory, written_history


@pytest.mark.parametrize(
    ("metadata", "history"),
    [
        ({}, CaseHistory()),
        ({"failure_count": 3, "last_passed": "2024-01-19"}, CaseHistory(3, "2024-01-19")),
        ({"failure_count": "many", "last_passed": 5}, CaseHistory()),
        ({"failure_count": -1, "last_passed": ""}, CaseHistory()),
        ({"failure_count": True, "last_passed": None}, CaseHistory()),
        ({"failure_count": 10**30}, CaseHistory()),
    ],
)
def test_only_a_count_and_a_text_are_taken_from_a_file(metadata: dict[str, object], history: CaseHistory) -> None:
    assert written_history(Case(id="a", input="?", metadata=metadata)) == history
