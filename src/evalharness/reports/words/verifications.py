"""What verifying a report believes and finds, and whether published rates can be, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from evalharness.reports.wording import Words


def _rates_possible(tasks: int, trials: int, histogram: Sequence[int], is_only_one: bool) -> str:
    """With tasks by how often they passed."""
    spelled = ", ".join(f"{number} passed {passes}×" for passes, number in enumerate(histogram))
    return f"can come from {tasks} tasks × {trials} trials: {'' if is_only_one else 'for instance '}{spelled}"


WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "believed.words": "what is said in words (why, notes, reasons, recommendations)",
        "believed.slowest_trials": "which trials were the slowest",
        "believed.attempts": "how often a trial was tried (attempts)",
        "believed.environment": "the environment it ran in",
        "believed.suite": (
            "what the suite says (case_threshold, max_error_rate, retry_failed; of cases their names, keys, weights, "
            "clusters, criticality)"
        ),
        "believed.run": "which run it is and when it was made (names, variant, regrade_of, timestamp)",
        "believed.duration": "how long the whole run took",
        "believed.reviews": "what people said about the answers, and the figures of their agreement",
        "believed.gate": "what the gate asks for (its checks, their limits, required cases)",
        "believed.checks": lambda checks: f"what the gate found for {', '.join(checks)}",
        "believed.cases": "the cases themselves",
        "believed.grades_and_tokens": "verdicts by grader, tokens, the whole cost",
        "believed.trials_of_failures": "for cases that failed or were not judged: how many of their trials, and which",
        "believed.later_answers": "everything that depends on later answers (retry_failed)",
        "believed.earlier_intervals": "intervals by {method}, a method of an earlier version",
        "believed.lost_cases": "the figures of its cases, which were not kept",
        "believed.sequential_plan": "what the sequential run was planned to decide",
        "believed.sequential_decision": "what the sequential run decided, and from which trials",
        "believed.comparison_rule": "the rule of the comparison (metrics, alpha, power, margin, tolerance)",
        "believed.baseline_run": "which runs the baseline had (comparison.old, comparison.before)",
        "believed.baseline_trials": (
            "parts of the comparison: p-values, methods, detectable losses and false alarms, which depend on how often "
            "the baseline was tried; its scores, times and costs, their intervals, and how many trials lack one"
        ),
        "believed.baseline_runs": "the intervals of the comparison, which depend on how much the baseline's runs vary",
        "believed.baseline_cases": "the baseline's side of the comparison, of which only the worst cases are reported",
        "believed.past_answers": "how earlier runs answered the cases that now fail",
        "believed.flips": "whether other cases failed that had always passed (strict_flips)",
        "believed.judging": "what judges took and cost",
        "believed.answers": "what the target answered (output)",
        "believed.grades": (
            "parts of single grades that do not decide their trial: who gave them, whether they were required, "
            "their weight, the F1 of tool calls"
        ),
        "believed.seeds": "the seeds of trials",
        "believed.unjudged_durations": (
            "how long trials took that were not judged, and the harness's own time beside a reported one (measured_s)"
        ),
        "believed.histories": "the history of cases (failure_count, last_passed)",
        "believed.later_figures": (
            "figures that an earlier version did not report yet (by_difficulty, difficulty) or computed differently "
            "(detectable)"
        ),
        "believed.lacking": "how many judged trials lack a score or a cost",
        "believed.other_runs": "what other runs say about flaky cases, false alarms of flips, and items",
        "believed.selftest": "what a selftest found about the cases",
        "verify.counts": "{passed} of {trials} passed, {errors} errors",
        "verify.impossible": "impossible",
        "verify.impossible_because": "impossible: {why}",
        "verify.unknown_case": "not a case of the report",
        "verify.duplicate_trial": "listed before",
        "verify.unplanned_trial": "not one of the {planned} planned",
        "verify.gate_not_judged": "not judged: errors, or trials not run yet",
        "rates.possible": _rates_possible,
        "rates.perhaps": "may come from {tasks} tasks × {trials} trials: {why}",
        "rates.impossible": "cannot come from {tasks} tasks × {trials} trials, all of them counted: {why}",
        "rates.contradict": lambda trials, why: (
            f"cannot come from {trials or 'any number of'} trials of each task: {why}"
        ),
        "rates.above": "pass^{k:g} cannot be above pass^{j:g}",
        "rates.least": "where pass^{j:g} is {rate:.4g}, pass^{k:g} is at least {least:.4g}",
        "rates.cases": "{number:.4g} of {cases:g} tasks would have to have passed {passes:g} of {trials:g} trials",
        "rates.together": "no whole numbers of tasks give all these figures together",
        "rates.untried": "too many histograms fit such rounding to try them all",
        "rates.no_multiple": (
            "cannot come from {tasks} tasks × {trials} trials: pass^{k} is not a multiple of 1/{parts:,}"
        ),
        "rates.nothing_against": ("no single pass^k and no two of them rule out {tasks} tasks × {trials} trials"),
        "rates.too_few_trials": "pass^{k} needs {k} trials of each task, but there are {trials}",
        "rates.too_many_trials": "too many trials to check: at most {most:,}",
        "rates.trials_unknown": lambda only_first: (
            f"{'only pass^1 is given' if only_first else 'some pass^k are missing'}, so the number of trials is not "
            "known: give --trials N"
        ),
        "rates.too_many_tasks": "too many tasks to check: at most {most:,}",
        "rates.tasks_unknown": "the number of tasks is not known: give --tasks N, or --tasks NAME=N",
        "rates.no_figure": "it has no figure",
        "rates.no_share": "pass^{k} is {rate}, which is not a share of trials",
        "rates.no_rate": "pass^{k} is '{written}', which is not a number",
        "rates.no_number": "{number} is not a number of {what}",
        "rates.noted": "{found} ({note})",
        "rates.read_as_shares": "read as shares of 1, unlike the rows in percent",
    }
)
