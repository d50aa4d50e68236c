"""Case changes: an exact test for each single case, with allowance for how many cases are looked at.

Exploratory: which cases to look into first. Whether the run as a whole got worse is decided in `comparison.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from evalharness.domain.comparison import CaseChange
from evalharness.engine.comparing.pairs import Pair, rows_of
from evalharness.stats.p_values import benjamini_hochberg
from evalharness.stats.stratified import stratified_exact


def case_changes(pairs: Sequence[Pair], alpha: float) -> tuple[CaseChange, ...]:
    """Worse ones first, the surest of them at the top, then better ones; cases that stayed as they were are left out.

    Critical cases are a family of their own, so that hundreds of others do not hide them.
    """
    rows = rows_of(pairs)
    p_of = {row: stratified_exact([row]).p_less for row in set(rows)}
    p_values = [p_of[row] for row in rows]
    critical = [pair.critical for pair in pairs]
    q_of: dict[bool, dict[float, float]] = {}
    for kind in set(critical):
        family = [p for p, is_critical in zip(p_values, critical, strict=True) if is_critical == kind]
        q_of[kind] = dict(zip(family, benjamini_hochberg(family), strict=True))
    changes = [
        _change(pair, p, q_of[is_critical][p], alpha, is_critical)
        for pair, p, is_critical in zip(pairs, p_values, critical, strict=True)
        if _has_moved(pair)
    ]
    return tuple(sorted((change for change in changes if change.direction), key=_worst_first))


def _has_moved(pair: Pair) -> bool:
    """A quick look, since most cases of a large suite stay as they are."""
    old, new = pair
    return old.passed * new.trials != new.passed * old.trials or (
        old.score != new.score and not (old.unscored or new.unscored)
    )


def _change(pair: Pair, p: float, q: float, alpha: float, critical: bool) -> CaseChange:
    old, new = pair
    is_whole = not (old.unscored or new.unscored)
    return CaseChange.unchecked(
        {
            "case_id": new.case_id,
            "old_passed": old.passed,
            "old_trials": old.trials,
            "new_passed": new.passed,
            "new_trials": new.trials,
            "old_score": old.score if is_whole else None,
            "new_score": new.score if is_whole else None,
            "delta": new.passed / new.trials - old.passed / old.trials,
            "p": p,
            "q": q,
            "flagged": q <= alpha,
            "critical": critical,
            "flipped": old.passed == old.trials and new.passed < new.trials,
            "divergence": None,
        }
    )


def _worst_first(change: CaseChange) -> tuple[int, float, float]:
    return change.direction, 1.0 if change.p is None else change.p, change.delta
