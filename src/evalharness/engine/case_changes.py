"""What became of each single case: an exact test of its own, with allowance for how many cases are looked at.

Exploratory: which cases to look into first. Whether the run as a whole got worse is decided in `comparing.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from evalharness.domain.comparison import CaseChange
from evalharness.engine.pairing import Pair
from evalharness.stats.multiplicity import benjamini_hochberg
from evalharness.stats.stratified import stratified_exact


def case_changes(pairs: Sequence[Pair], alpha: float) -> tuple[CaseChange, ...]:
    """Worse ones first, the surest of them at the top, then better ones; cases that stayed as they were are left out.

    Critical cases are a family of their own, so that hundreds of others do not hide them.
    """
    rows = [pair.row for pair in pairs]
    p_of = {row: stratified_exact([row]).p_less for row in set(rows)}
    p_values = [p_of[row] for row in rows]
    q_values = p_values.copy()
    critical = [pair.critical for pair in pairs]
    for kind in set(critical):
        family = [n for n, is_critical in enumerate(critical) if is_critical == kind]
        for n, q in zip(family, benjamini_hochberg([p_values[n] for n in family]), strict=True):
            q_values[n] = q
    changes = [
        _change(pair, p, q, q <= alpha, is_critical)
        for pair, p, q, is_critical in zip(pairs, p_values, q_values, critical, strict=True)
        if _has_moved(pair)
    ]
    return tuple(sorted((change for change in changes if change.direction), key=_worst_first))


def _has_moved(pair: Pair) -> bool:
    """A quick look, since most cases of a large suite stay as they are."""
    old, new = pair
    return old.passed * new.trials != new.passed * old.trials or old.score != new.score


def _change(pair: Pair, p: float, q: float, flagged: bool, critical: bool) -> CaseChange:
    old, new = pair
    return CaseChange.holding(
        {
            "case_id": new.case_id,
            "old_passed": old.passed,
            "old_trials": old.trials,
            "new_passed": new.passed,
            "new_trials": new.trials,
            "old_score": old.score,
            "new_score": new.score,
            "delta": new.passed / new.trials - old.passed / old.trials,
            "p": p,
            "q": q,
            "flagged": flagged,
            "critical": critical,
            "flipped": old.passed == old.trials and new.passed < new.trials,
            "divergence": "",
        }
    )


def _worst_first(change: CaseChange) -> tuple[int, float, float]:
    return change.direction, 1.0 if change.p is None else change.p, change.delta
