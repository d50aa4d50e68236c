"""Pairs: which cases of two runs can be compared, and what happens to the others. Pure; it compares nothing yet.

The old side may be several runs of one target: a case pools those that asked and judged what the new one does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from evalharness.domain.case_result import CaseResult, asks_the_same, pooled
from evalharness.domain.grade import other_grading
from evalharness.domain.report import Report
from evalharness.domain.run import CaseLock
from evalharness.errors import Hint, UsageError

Row: TypeAlias = tuple[int, int, int, int]
"""Trials and passes before, trials and passes now."""

OldRuns: TypeAlias = Sequence[Mapping[str, CaseResult]]
"""Of an old side of several runs, each run's cases that are compared; empty where there is one run."""


class Pair(NamedTuple):
    old: CaseResult
    new: CaseResult

    @property
    def critical(self) -> bool:
        """As the new run's suite has it: what matters now."""
        return self.new.criticality == "critical"


def table_rows(pairs: Iterable[Pair]) -> list[Row]:
    """As `stats.stratified` wants them."""
    return [(old.trials, old.passed, new.trials, new.passed) for old, new in pairs]


def weighing(pairs: Iterable[Pair]) -> list[Pair]:
    """Those that count in a rate or a score, as the new run's suite weighs them."""
    return [pair for pair in pairs if pair.new.weight > 0]


@dataclass(frozen=True, slots=True)
class Pairing:
    pairs: tuple[Pair, ...]
    changed: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    unjudged: tuple[str, ...]
    ignored: tuple[str, ...]
    without_key: int
    """Pairs of which a side does not tell what was asked: matched by their name alone."""
    regraded: int
    """How many of those that changed ask the same, and are graded in another way."""
    runs: tuple[Mapping[str, CaseResult], ...] = ()
    """Of an old side of several runs, the cases that were pooled, run by run."""


def pair_cases(olds: Sequence[Report], new: Report, ignored: Collection[str] = ()) -> Pairing:
    """By id, in the new run's order; only cases that ask and judge the same, with a judged trial on both sides.

    Raises UsageError where none of them weighs anything.
    """
    runs = [{case_id: case for case in old.cases if (case_id := case.case_id) not in ignored} for old in olds]
    left = {case_id: None for run in runs for case_id in run}
    pooling: list[dict[str, CaseResult]] = [{} for _ in runs] if len(runs) > 1 else []
    pairs: list[Pair] = []
    added, changed, unjudged = [], [], []
    without_key = regraded = 0
    for case in new.cases:
        case_id = case.case_id
        if case_id in ignored:
            continue
        if case_id not in left:
            added.append(case_id)
            continue
        del left[case_id]
        known = [each for run in runs if (each := run.get(case_id)) is not None]
        alike = [each for each in known if asks_the_same(each, case)]
        judged = [each for each in alike if each.trials]
        if not alike:
            changed.append(case_id)
            regraded += any(CaseLock.asks_the_same(each.key, case.key) for each in known)
        elif not (judged and case.trials):
            unjudged.append(case_id)
        else:
            pairs.append(Pair(pooled(judged), case))
            without_key += not (case.key and all(each.key for each in judged))
            for run, pool in zip(runs, pooling, strict=True) if pooling else ():
                each = run.get(case_id)
                if each is not None and each.trials and asks_the_same(each, case):
                    pool[case_id] = each
    cases = [case for report in (*olds, new) for case in report.cases] if ignored else ()
    left_out = {case.case_id for case in cases if case.case_id in ignored}
    paired = Pairing(
        tuple(pairs),
        tuple(changed),
        tuple(added),
        tuple(left),
        tuple(unjudged),
        tuple(sorted(left_out)),
        without_key,
        regraded,
        tuple(pooling),
    )
    if not weighing(pairs):
        raise _nothing_shared(olds, new, paired)
    return paired


def _nothing_shared(olds: Sequence[Report], new: Report, paired: Pairing) -> UsageError:
    old = olds[0]
    for which, report in (*(("old", old) for old in olds), ("new", new)):
        if not report.cases:
            return UsageError(
                f"the {which} report ({report.metadata.run_name}) contains no results for individual cases",
                hint=Hint("hint.compare_stored"),
            )
    start = f"{old.metadata.run_name} and {new.metadata.run_name} cannot be compared"
    if paired.pairs:
        return UsageError(f"{start}: every case in both has weight 0", hint="give a case of the suite a weight above 0")
    if old.metadata.suite_name != new.metadata.suite_name:
        suites = f"{old.metadata.suite_name} and {new.metadata.suite_name}"
        return UsageError(
            f"{start}: they are runs of two suites, {suites}, and no case was judged in both",
            hint="choose two runs of one suite",
        )
    if paired.changed:
        is_regraded = paired.regraded == len(paired.changed)
        grading = other_grading(judges_of(*olds), judges_of(new))
        how = f"graded in another way ({grading})" if is_regraded else "changed in between"
        return UsageError(
            f"{start}: {_all(paired.changed)} in both {_was(paired.changed)} {how}",
            hint=Hint("hint.new_baseline", run=new.metadata.run_name),
        )
    if paired.unjudged:
        return UsageError(
            f"{start}: {_all(paired.unjudged)} in both {_was(paired.unjudged)} not judged in one of them",
            hint=Hint("hint.judge_the_rest"),
        )
    if paired.ignored:
        return UsageError(f"{start}: every case in both is quarantined", hint="take a case out of quarantine")
    return UsageError(f"{start}: they have no case in common", hint="choose runs of the same cases")


def judges_of(*reports: Report) -> list[str]:
    """What is known of why the graders of two runs differ: who judged."""
    return sorted({took.model for report in reports for took in report.judging})


def _all(ids: Sequence[str]) -> str:
    return "the one case" if len(ids) == 1 else f"all {len(ids):,} cases"


def _was(ids: Sequence[str]) -> str:
    return "was" if len(ids) == 1 else "were"
