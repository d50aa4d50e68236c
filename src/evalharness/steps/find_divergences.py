"""Where the transcripts of cases that got worse part from those before: read from the store, the worst cases first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evalharness.contracts.store import Store
from evalharness.domain.comparison import CaseChange
from evalharness.domain.finding import Finding
from evalharness.domain.trial import Attempt, TrialState
from evalharness.engine.comparing.divergence import first_divergence, without_answer

DIVERGENCES = 10
"""How many worse cases are looked into, the worst first."""


def find_divergences(
    before: Sequence[str], run_id: str, cases: Iterable[CaseChange], store: Store
) -> dict[str, Finding]:
    """By case. `before` are the ids of the runs that it is compared with."""
    worse = [case.case_id for case in cases if case.delta < 0][:DIVERGENCES]
    found = {case_id: _divergence(before, run_id, case_id, store) for case_id in worse}
    return {case_id: divergence for case_id, divergence in found.items() if divergence is not None}


def _divergence(before: Sequence[str], run_id: str, case_id: str, store: Store) -> Finding | None:
    tried = (_attempt(id_, case_id, "passed", store) for id_ in before)
    passing = next((attempt for attempt in tried if attempt), None)
    failing = _attempt(run_id, case_id, "failed", store)
    if not (passing and passing.transcript and failing):
        return None
    if failing.transcript:
        return first_divergence(passing.transcript, failing.transcript)
    return without_answer(passing.transcript, failing.reason)


def _attempt(run_id: str, case_id: str, state: TrialState, store: Store) -> Attempt | None:
    """The first that ended so, of those with a transcript if there is any."""
    bare = None
    for attempt in (attempt for trial in store.trials(run_id, case_id) for attempt in trial.attempts):
        if attempt.state == state and attempt.transcript is not None:
            return attempt
        bare = attempt if attempt.state == state and bare is None else bare
    return bare
