"""Keep verdicts: what the lock of a regrade says where only what was due is judged, and other verdicts stay."""

from __future__ import annotations

from collections.abc import Mapping

from evalharness.domain.digest import digest
from evalharness.domain.run import CaseLock, RunLock
from evalharness.engine.regrading import NO_VERDICT


def locked_as_judged(old: RunLock, before: RunLock, now: RunLock, judged: Mapping[str, set[str]]) -> RunLock:
    """`before` is how the old run would be locked today, `now` how one by the new judge alone.

    A case whose verdicts all stay is locked as it was; one whose verdicts come from both is like no other.
    """
    cases = dict(now.cases)
    for id_, states in judged.items():
        if states.difference(NO_VERDICT):
            was = old.cases[id_].graders
            new = (now if states.intersection(NO_VERDICT) else before).cases[id_].graders
            cases[id_] = CaseLock(case=now.cases[id_].case, graders=was if new == was else digest([was, new]))
    return now.model_copy(update={"cases": cases})
