"""Pairs: which cases of two runs can be compared, and what happens to the others. Pure; it compares nothing yet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from evalharness.domain.case_result import CaseResult
from evalharness.domain.grade import other_grading
from evalharness.domain.report import Report
from evalharness.domain.run import CaseLock
from evalharness.errors import Hint, UsageError

Row: TypeAlias = tuple[int, int, int, int]
"""Trials and passes before, trials and passes now."""


class Pair(NamedTuple):
    old: CaseResult
    new: CaseResult

    @property
    def critical(self) -> bool:
        """As the new run's suite has it: what matters now."""
        return self.new.criticality == "critical"


def rows_of(pairs: Iterable[Pair]) -> list[Row]:
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


def pair_cases(old: Report, new: Report, ignored: Collection[str] = ()) -> Pairing:
    """By id, in the new run's order; only cases that ask and judge the same, with a judged trial in both runs.

    Raises UsageError where none of them weighs anything.
    """
    before = {case_id: case for case in old.cases if (case_id := case.case_id) not in ignored}
    pairs: list[Pair] = []
    added, changed, unjudged = [], [], []
    without_key = regraded = 0
    for case in new.cases:
        case_id = case.case_id
        if case_id in ignored:
            continue
        earlier = before.pop(case_id, None)
        if earlier is None:
            added.append(case_id)
        elif earlier.key != case.key and earlier.key and case.key:
            changed.append(case_id)
            regraded += CaseLock.asks_the_same(earlier.key, case.key)
        elif not (earlier.trials and case.trials):
            unjudged.append(case_id)
        else:
            pairs.append(Pair(earlier, case))
            without_key += not (earlier.key and case.key)
    cases = (*old.cases, *new.cases) if ignored else ()
    left_out = {case.case_id for case in cases if case.case_id in ignored}
    paired = Pairing(
        tuple(pairs),
        tuple(changed),
        tuple(added),
        tuple(before),
        tuple(unjudged),
        tuple(sorted(left_out)),
        without_key,
        regraded,
    )
    if not weighing(pairs):
        raise _nothing_shared(old, new, paired)
    return paired


def _nothing_shared(old: Report, new: Report, paired: Pairing) -> UsageError:
    for which, report in (("old", old), ("new", new)):
        if not report.cases:
            return UsageError(
                f"the {which} report ({report.metadata.run_name}) holds no results of single cases",
                hint=Hint("hint.compare_stored"),
            )
    start = f"{old.metadata.run_name} and {new.metadata.run_name} cannot be compared"
    if paired.pairs:
        return UsageError(
            f"{start}: every case that both have weighs 0", hint="give a case of the suite a weight above 0"
        )
    if old.metadata.suite_name != new.metadata.suite_name:
        suites = f"{old.metadata.suite_name} and {new.metadata.suite_name}"
        return UsageError(
            f"{start}: these are two suites, {suites}, and no case is the same and judged in both",
            hint="choose two runs of one suite",
        )
    if paired.changed:
        is_regraded = paired.regraded == len(paired.changed)
        grading = other_grading(judges_of(old), judges_of(new))
        how = f"graded in another way ({grading})" if is_regraded else "changed in between"
        return UsageError(
            f"{start}: {_all(paired.changed)} that both have {_was(paired.changed)} {how}",
            hint=Hint("hint.new_baseline", run=new.metadata.run_name),
        )
    if paired.unjudged:
        return UsageError(
            f"{start}: {_all(paired.unjudged)} that both have {_was(paired.unjudged)} not judged in one of them",
            hint=Hint("hint.judge_the_rest"),
        )
    if paired.ignored:
        return UsageError(f"{start}: every case that both have is quarantined", hint="take a case out of quarantine")
    return UsageError(f"{start}: they have no case in common", hint="choose runs that tried the same cases")


def judges_of(report: Report) -> list[str]:
    """What is known of why the graders of two runs differ: who judged."""
    return sorted(took.model for took in report.judging)


def _all(ids: Sequence[str]) -> str:
    return "the one case" if len(ids) == 1 else f"all {len(ids):,} cases"


def _was(ids: Sequence[str]) -> str:
    return "was" if len(ids) == 1 else "were"
