"""What became of a phase, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from evalharness.domain.gate import written_metric
from evalharness.domain.plain_numbers import count
from evalharness.reports.wording import Words, first_names

NAMED = 3
_OUTCOMES = {
    "FAILED": "failed",
    "INVALID": "broke",
    "INCONCLUSIVE": "is inconclusive",
    "UNDECIDED": "is undecided",
    "INTERRUPTED": "was interrupted",
}


def _trials_raised(fewer: int, trials: int, metric: str) -> str:
    return f"{count(trials, 'trial')} per case instead of {fewer:,}, because {written_metric(metric)} needs them"


def _not_blocking(steps: Sequence[str], not_run: Sequence[str]) -> str:
    """`not_run`: because of the tests that they wait for."""
    waits = "was not run because it waits" if len(not_run) == 1 else "were not run because they wait"
    outcomes = ((steps, "did not pass"), (not_run, f"{waits} for tests that pass"))
    return "; ".join(_waived(titles, outcome) for titles, outcome in outcomes if titles)


def _waived(titles: Sequence[str], outcome: str) -> str:
    does = "does" if len(titles) == 1 else "do"
    names = first_names(list(titles[:NAMED]), len(titles))
    return f"{count(len(titles), 'eval')} {outcome}, but {does} not block: {names}"


def _fix_tests(failed: int) -> str:
    return f"Fix {'the failing test' if failed == 1 else f'the {failed:,} failing tests'}, then run the phase again"


WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "phase.trials_raised": _trials_raised,
        "phase.no_tests_given": "the evals wait for the tests to pass, and no test results were given",
        "phase.tests_failed": lambda failed, total: f"{failed:,} of {count(total, 'test')} failed",
        "phase.no_test": "the test results contain no test that passed",
        "phase.stopped": "eval '{step}' did not pass",
        "phase.eval_failed": lambda step, verdict: f"eval '{step}' {_OUTCOMES[verdict]}",
        "phase.not_blocking": _not_blocking,
        "phase.fix_tests": _fix_tests,
        "phase.give_tests": "Give the results of the tests: --tests junit.xml",
    }
)
