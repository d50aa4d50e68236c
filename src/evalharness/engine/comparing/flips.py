"""Flips: cases that passed every trial before and pass none now, and which of them fail a gate. Pure.

The statistical rule needs several trials to see a single case that broke. Here one case is enough, unless its past
shows that it passes and fails by itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from evalharness.domain.comparison import CaseChange, Comparison, Flips, PastAnswers

SURE_TRIALS = 5
"""All of so many passed before and none of so many passes now: no past is needed."""
FEW_TRIALS = 3
"""From here on up to `SURE_TRIALS`, a past of `SURE_RESULTS`, all passed, has to confirm it."""
SURE_RESULTS = 5


def lost_cases(comparison: Comparison) -> list[CaseChange]:
    """Those whose past matters."""
    return [case for case in comparison.cases if case.old_passed == case.old_trials and not case.new_passed]


def judge_flips(comparison: Comparison, past: Mapping[str, PastAnswers], *, is_replay: bool = False) -> Flips:
    """`past` has the first answers to lost cases in earlier runs; a case without any has none.

    In a replay nothing passes and fails by itself: no case is excused.
    """
    if is_replay:
        return Flips(cases=tuple(case.case_id for case in lost_cases(comparison)), past=dict(past))
    failing: list[str] = []
    excused: list[str] = []
    for case in lost_cases(comparison):
        known = past.get(case.case_id, PastAnswers())
        trials = min(case.old_trials, case.new_trials)
        if trials == 1:
            (excused if known.flips else failing).append(case.case_id)
        elif trials >= SURE_TRIALS or (
            trials >= FEW_TRIALS and known.results >= SURE_RESULTS and known.passed == known.results
        ):
            failing.append(case.case_id)
    return Flips(cases=tuple(failing), excused=tuple(excused), past=dict(past))
