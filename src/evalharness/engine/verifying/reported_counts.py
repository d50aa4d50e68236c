"""Reported counts: from a report back to its suite and counted trials, as far as its cases tell them. Pure.

So that a gate can judge a report file, and that a report can be verified.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseResult
from evalharness.domain.report import Report
from evalharness.domain.suite import Suite
from evalharness.engine.measuring.measurements import measure
from evalharness.engine.measuring.trial_counts import CaseTally, Measured
from evalharness.errors import Hint, UsageError
from evalharness.stats.thresholds import SAME


def recount(report: Report) -> tuple[Suite, Measured]:
    """Raises UsageError where the report does not hold enough, saying what it lacks.

    The headline of a sequential run is that of the trials which counted, not of its cases.
    """
    if not report.cases:
        raise UsageError(
            "the report contains no cases, so nothing can be judged",
            hint=Hint("hint.write_again"),
        )
    suite, measured = reported_suite(report), reported_trials(report)
    trials = report.metadata.trials_per_case
    headline = report.measurements.get("pass_rate")
    reported = headline.value if headline and not report.sequential else report.summary.pass_rate
    found = measure(suite, trials, measured).get("pass_rate")
    # An earlier version wrote the plain mean, whatever cases weigh.
    plain = measure(_with_equal_weights(suite), trials, measured).get("pass_rate")
    if reported is not None and all(each is None or abs(reported - each.value) > SAME for each in (found, plain)):
        if not report.metadata.retry_failed:
            counted = f"{found.value:.9g}" if found else "none"
            raise UsageError(
                f"the report's pass_rate is {reported:.9g}, but its cases give {counted}",
                hint="it was edited after it was written: name the run itself, or write its report again",
            )
        raise UsageError(
            "the report counts answers that came after a failed first one, but its cases contain only first answers",
            hint="name the run itself, which has all its trials in the store",
        )
    return suite, measured


def reported_suite(report: Report) -> Suite:
    """As much of the suite as the figures depend on."""
    bare = Case(id="bare", input="")
    cases = tuple(
        bare.model_copy(
            update={
                "id": case.case_id,
                "weight": case.weight,
                "cluster": case.cluster,
                "eval_type": case.category,
                "category": case.topic,
                "criticality": case.criticality,
                "difficulty": case.difficulty,
            }
        )
        for case in report.cases
    )
    written = (name.removeprefix("pass_at_") for name in report.metrics if name.startswith("pass_at_"))
    k = tuple(sorted(int(number) for number in written if number.isdecimal() and int(number)))
    about = report.metadata
    return Suite.model_construct(name=about.suite_name, cases=cases, k=k, case_threshold=about.case_threshold)


def _with_equal_weights(suite: Suite) -> Suite:
    return suite.model_copy(update={"cases": tuple(case.model_copy(update={"weight": 1.0}) for case in suite.cases)})


def reported_trials(report: Report) -> Measured:
    """First answers only: where a failing answer was tried again, its second one is not reported.

    How many judged trials have no score at all is reported, which ones is not: they are taken from the first cases that
    have some. So it is with costs where a report was written before its cases told which lack one.
    """
    trials = report.metadata.trials_per_case
    tallies = {case.case_id: _tally(case, trials) for case in report.cases}
    score, cost = report.measurements.get("score"), report.measurements.get("cost_usd")
    weighing = [tallies[case.case_id] for case in report.cases if case.score is not None and case.weight > 0]
    without_score = sum(tally.scored for tally in weighing) - score.n_trials if score else 0
    for tally, fewer in _spread(without_score, [(tally, tally.scored) for tally in weighing]):
        tally.score_sum *= 1 - fewer / tally.scored
        tally.scored -= fewer
    priced = [tally for tally in tallies.values() if tally.priced]
    without_cost = sum(tally.priced for tally in priced) - cost.n_trials if cost else 0
    for tally, fewer in _spread(without_cost, [(tally, tally.priced) for tally in priced]):
        tally.cost_sum_usd *= 1 - fewer / tally.priced
        tally.priced -= fewer
    given_up = report.sequential.given_up if report.sequential else 0
    return Measured(tallies, cost_usd=report.cost_usd, given_up=given_up)


def _spread(number: int, tallies: Sequence[tuple[CaseTally, int]]) -> Iterator[tuple[CaseTally, int]]:
    """How many of `number` each loses of what it has, so that it keeps one."""
    for tally, has in tallies:
        if fewer := max(0, min(number, has - 1)):
            number -= fewer
            yield tally, fewer


def _tally(case: CaseResult, trials: int) -> CaseTally:
    priced = 0 if case.cost_usd is None else max(0, case.trials - case.unpriced)
    planned = max(trials, case.trials + case.errors)
    rest = planned - case.trials - case.errors
    unjudged = 0 if case.state == "pending" else rest
    is_awaiting = case.state == "awaiting"
    return CaseTally(
        planned=planned,
        passed=case.passed,
        failed=case.trials - case.passed,
        error=case.errors,
        skipped=0 if is_awaiting else unjudged,
        awaiting=unjudged if is_awaiting else 0,
        first_graded=case.trials,
        first_passed=case.passed,
        score_sum=(case.score or 0.0) * case.trials,
        scored=0 if case.score is None else case.trials,
        unscored=case.unscored,
        sure_sum=((case.score or 0.0) if case.least_score is None else case.least_score) * case.trials,
        duration_sum_s=(case.duration_s or 0.0) * case.trials,
        longest_s=case.longest_s or 0.0,
        cost_sum_usd=(case.cost_usd or 0.0) * priced,
        priced=priced,
        dearest_usd=case.dearest_usd or 0.0,
        figure_sums={name: (value * case.trials, case.trials) for name, value in (case.figures or {}).items()},
    )
