"""Recall answers: how earlier runs did in the cases that a run has lost, to tell flips by chance from losses."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import dropwhile, islice

from evalharness.contracts.store import Store
from evalharness.domain.comparison import Comparison, PastAnswers
from evalharness.domain.gate import Gate
from evalharness.domain.run import Run
from evalharness.domain.stored import PastRun
from evalharness.engine.comparing.flips import judge_flips, lost_cases
from evalharness.errors import UnknownName

LOOKED_BACK = 20
"""So many earlier runs count."""
LOOKED_AT = 100
"""And so many are looked at, at most, to find them."""


def with_flips(comparison: Comparison, gate: Gate, store: Store) -> Comparison:
    """With each lost case judged by itself, where the gate asks for that."""
    if not gate.watches_flips:
        return comparison
    lost = {case.case_id for case in lost_cases(comparison)}
    past = past_answers(comparison, lost, store) if lost else {}
    new = _stored(comparison.new.run_id, store)
    is_replay = new is not None and new.options.mode == "replay"
    return comparison.model_copy(update={"flips": judge_flips(comparison, past, is_replay=is_replay)})


def past_answers(comparison: Comparison, case_ids: Collection[str], store: Store) -> dict[str, PastAnswers]:
    """By case, from runs before the new one on its target or on that of the baseline, each target by itself.

    What counts are the answers of the baseline's target, where that is known, and else those of the new one.
    """
    new, old = _stored(comparison.new.run_id, store), _stored(comparison.old.run_id, store)  # all old ones are alike
    answers: dict[str, dict[str, list[tuple[int, int]]]] = {}
    for past in _earlier(comparison, store):
        judged = store.judged(past.id)
        for case_id in case_ids:
            target = _target_of(past, case_id)
            if case_id in judged and any(_asks_the_same(run, past, case_id, target) for run in (new, old) if run):
                answers.setdefault(case_id, {}).setdefault(target, []).append(judged[case_id])
    known = old or new
    return {
        case_id: _summed(by_target, "" if known is None else _locked_target(known, case_id))
        for case_id, by_target in answers.items()
    }


def _summed(by_target: dict[str, list[tuple[int, int]]], counting: str) -> PastAnswers:
    sums = {target: _before_it_broke(runs) for target, runs in by_target.items()}
    results, passed = sums.get(counting, (0, 0))
    flips = any(0 < passes < trials for trials, passes in sums.values())
    return PastAnswers(results=results, passed=passed, flips=flips)


def _before_it_broke(runs: list[tuple[int, int]]) -> tuple[int, int]:
    """Trials and passes, without the newest runs that all failed: a case that never came back is lost, not flaky.

    Otherwise trying a broken target again would excuse it.
    """
    kept = list(dropwhile(lambda run: run[1] == 0, runs))
    return sum(trials for trials, _ in kept), sum(passed for _, passed in kept)


def _stored(run_id: str, store: Store) -> Run | None:
    """None for one that is only in a file."""
    try:
        return store.find_run(run_id)
    except UnknownName:
        return None


def _earlier(comparison: Comparison, store: Store) -> Iterator[PastRun]:
    """Finished and valid, the newest first; no regrades, no stored answers, and none that was allowed to stop early."""
    runs = islice(store.past_runs(comparison.new.suite_name, before=comparison.new.run_id), LOOKED_AT)
    return islice((past for past in runs if past.has_fresh_trials and _is_valid(past, store)), LOOKED_BACK)


def _is_valid(past: PastRun, store: Store) -> bool:
    report = store.outline(past.id).report
    return not past.is_sequential and report is not None and not report.is_broken


def _asks_the_same(run: Run, past: PastRun, case_id: str, target: str) -> bool:
    lock = run.lock.cases.get(case_id)
    return lock is not None and past.key(case_id) == lock.key and target == _locked_target(run, case_id)


def _locked_target(run: Run, case_id: str) -> str:
    lock = run.lock.cases.get(case_id)
    return (lock.target if lock else "") or run.lock.target


def _target_of(past: PastRun, case_id: str) -> str:
    return str(past.locks.get(case_id, {}).get("target") or past.target)
