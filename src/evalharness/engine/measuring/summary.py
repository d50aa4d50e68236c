"""Summary: from counted trials to what a report lists: states, groups, failures, the slowest trials."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter

from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseResult
from evalharness.domain.report import CaseState, ErrorBounds, Failure, Group, RunSummary, SlowTrial, TrialCounts
from evalharness.domain.suite import Suite
from evalharness.domain.trial import TRIAL_STATES
from evalharness.engine.measuring.measurements import pass_rate_of
from evalharness.engine.measuring.trial_counts import CaseTally, Measured
from evalharness.stats.means import weighted_mean
from evalharness.stats.thresholds import reaches


def summarise(suite: Suite, measured: Measured) -> RunSummary:
    threshold = suite.case_threshold
    tallies = measured.tallies
    states = {case.id: tallies[case.id].state(threshold) for case in suite.cases}
    number = dict.fromkeys((*TRIAL_STATES, "pending"), 0)
    for state in states.values():
        number[state] += 1
    shares = [(share, case.weight) for case in suite.cases if (share := tallies[case.id].share) is not None]
    decided = number["passed"] + number["failed"]

    def groups(label: Callable[[Case], str]) -> dict[str, Group]:
        members: dict[str, list[Case]] = {}
        for case in suite.cases:
            if label(case):
                members.setdefault(label(case), []).append(case)
        return {name: _group(cases, states, tallies) for name, cases in sorted(members.items())}

    return RunSummary(
        total_evals=len(suite.cases),
        passed=number["passed"],
        failed=number["failed"],
        errors=number["error"],
        skipped=number["skipped"],
        awaiting=number["awaiting"],
        pending=number["pending"],
        pass_rate=_mean(shares),
        case_pass_rate=number["passed"] / decided if decided else None,
        by_category=groups(suite.category_of),
        by_topic=groups(lambda case: case.category),
        by_difficulty=groups(lambda case: case.difficulty),
        by_grader=_grader_groups(suite, tallies),
        trials=count_states(tallies),
    )


def count_states(tallies: Mapping[str, CaseTally]) -> TrialCounts:
    totals = {state: sum(map(attrgetter(state), tallies.values())) for state in TRIAL_STATES}
    planned = sum(tally.planned for tally in tallies.values())
    return TrialCounts(planned=planned, pending=planned - sum(totals.values()), **totals)


def _group(cases: list[Case], states: Mapping[str, str], tallies: Mapping[str, CaseTally]) -> Group:
    weighing = [(case, tallies[case.id]) for case in cases if case.weight > 0 and tallies[case.id].graded]
    passed = sum(states[case.id] == "passed" for case in cases)
    if not weighing:
        return Group(total=len(cases), passed=passed, pass_rate=None)
    found = pass_rate_of(weighing)
    return Group(total=len(cases), passed=passed, pass_rate=found.value, measurement=found)


def _grader_groups(suite: Suite, tallies: Mapping[str, CaseTally]) -> dict[str, Group]:
    """A case counts under each type of grader that judged it, and passes there by that type's verdicts alone."""
    shares: dict[str, list[tuple[float, float]]] = {}
    for case in suite.cases:
        for kind, (judged, passed) in tallies[case.id].by_type.items():
            shares.setdefault(kind, []).append((passed / judged, case.weight))
    return {
        kind: Group(
            total=len(found),
            passed=sum(reaches(share, suite.case_threshold) for share, _ in found),
            pass_rate=_mean(found),
        )
        for kind, found in sorted(shares.items())
    }


def error_bounds(suite: Suite, measured: Measured) -> ErrorBounds | None:
    """How far errors could have moved the pass rate; None where there were none, or no case that was tried weighs."""
    tallies = [(measured.tallies[case.id], case.weight) for case in suite.cases]
    errors = sum(tally.error for tally, _ in tallies)
    counted = [(t, t.graded + t.error, weight) for t, weight in tallies if weight > 0]
    tried = [(t.passed / total, t.error / total, weight) for t, total, weight in counted if total]
    if not errors or not tried:
        return None
    return ErrorBounds(
        trials=errors,
        pass_rate_if_failed=weighted_mean((passed, weight) for passed, _, weight in tried),
        pass_rate_if_passed=weighted_mean((passed + erred, weight) for passed, erred, weight in tried),
    )


def failures(suite: Suite, measured: Measured) -> list[Failure]:
    """The cases that neither passed nor wait, in the suite's order."""
    return [
        _failure(case, tally, state)
        for case, tally, state in _states(suite, measured)
        if state in ("failed", "error") or (state == "pending" and (tally.failed or tally.error))
    ]


def unjudged(suite: Suite, measured: Measured) -> list[Failure]:
    """The cases that were skipped or still await a grade, in the suite's order."""
    states = _states(suite, measured)
    return [_failure(case, tally, state) for case, tally, state in states if state in ("skipped", "awaiting")]


def _states(suite: Suite, measured: Measured) -> Iterator[tuple[Case, CaseTally, CaseState]]:
    for case in suite.cases:
        tally = measured.tallies[case.id]
        yield case, tally, tally.state(suite.case_threshold)


def _failure(case: Case, tally: CaseTally, state: CaseState) -> Failure:
    details = {name: count for name, count in tally.counts.items() if count}
    shown = tally.first_reason
    return Failure(
        eval_id=case.id,
        name=case.title,
        state=state,
        reason=shown.reason,
        details=details,
        grader=shown.grader,
        grader_type=shown.grader_type,
        difference=shown.difference,
        trials=tuple(shown.trials),
    )


def case_results(suite: Suite, keys: Mapping[str, str], measured: Measured) -> Iterator[CaseResult]:
    """`keys` says of each case, by digest, what was asked and who judged."""
    for case, tally, state in _states(suite, measured):
        graded = tally.graded
        yield CaseResult(
            case_id=case.id,
            key=keys.get(case.id, ""),
            trials=tally.first_graded,
            passed=tally.first_passed,
            errors=tally.error,
            state=state,
            score=tally.score_sum / tally.scored if tally.scored else None,
            duration_s=tally.duration_sum_s / graded if graded else None,
            longest_s=tally.longest_s if graded else None,
            cost_usd=tally.cost_sum_usd / tally.priced if tally.priced else None,
            dearest_usd=tally.dearest_usd if tally.priced else None,
            weight=case.weight,
            cluster=case.cluster,
            category=suite.category_of(case),
            criticality=case.criticality,
            topic=case.category,
            difficulty=case.difficulty,
            unscored=tally.unscored,
            least_score=tally.sure_sum / graded if tally.unscored else None,
            unpriced=graded - tally.priced,
            figures=tally.figures or None,
        )


def slowest_trials(measured: Measured) -> tuple[SlowTrial, ...]:
    return tuple(SlowTrial(case_id=c, index=i, duration_s=d) for d, c, i in measured.slowest)


def _mean(shares: list[tuple[float, float]]) -> float | None:
    """By weight, as pass@k and scores are; None where nothing weighs anything."""
    return weighted_mean(shares) if any(weight for _, weight in shares) else None
