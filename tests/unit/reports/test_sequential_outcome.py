"""Sequential runs in words."""

from __future__ import annotations

import pytest

from evalharness.domain.sequential import SequentialResult
from evalharness.reports.terminal.sequential import outcome_of


@pytest.mark.parametrize(("trials_run", "told"), [(0, False), (40, False), (44, True)])
def test_trials_that_did_not_count_are_reported_where_their_number_is_known(trials_run: int, told: bool) -> None:
    """Older reports do not say how many were run."""
    result = SequentialResult(
        seed=1,
        floor=0.9,
        rule="SPRT",
        decision="PASSED",
        why="more than 80 % pass",
        is_over=True,
        trials_used=40,
        trials_run=trials_run,
        cap=160,
        fixed_n=78,
        saved=0.4,
    )
    _, basis = outcome_of(result)
    assert ("4 more run but not counted" in basis) is told
    assert "-40" not in basis
