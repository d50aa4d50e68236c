"""What to do next, in words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from evalharness.domain.plain_numbers import beside_limit, count
from evalharness.reports.wording import Words

_STOPS = ("spend cap", "time limit")
"""What stopped a run; all other limits are keys of a gate."""
_WORST_CASE = {
    "spend cap": "{case} cost the most, ${value}",
    "time limit": "{case} took the longest, {value} s in all",
    "max_cost_usd": "{case} cost the most, ${value}",
    "max_cost_usd_per_trial": "{case} has the dearest trial, ${value}",
    "max_latency_s": "{case} has the slowest trial, {value} s",
    "max_median_latency_s": "{case} is the slowest, {value} s a trial",
}


def _over_limit(number: int, limit: str) -> str:
    over = f"{'goes' if number == 1 else 'go'} over the {limit.replace('_', ' ')} limit"
    return f"{count(number, 'case')} {over}: make the target leaner, or raise the limit"


def _never_passes(number: int) -> str:
    verb, them = ("fails", "it") if number == 1 else ("fail", "them")
    return (
        f"{count(number, 'case')} {verb} in every trial: look at {them} before any flaky one; "
        "either the target cannot do it or the case asks for something wrong"
    )


def _flaky(number: int, case: str, passed: int, trials: int) -> str:
    sometimes = f"{count(number, 'case')} {'passes' if number == 1 else 'pass'} only sometimes"
    seen = f"{passed:,} of {trials:,} trials of {case} passed"
    return f"{sometimes} ({seen}): compare a passing with a failing transcript"


def _leaner_case(limit: str, case: str, value: float, most: float) -> str:
    worst = _WORST_CASE[limit]
    shown, _ = beside_limit(value, most, 4 if "$" in worst else 3)
    return f"{worst.format(case=case, value=shown)}: make it leaner, or raise {_limit_name(limit)}"


def _limit_name(limit: str) -> str:
    return f"the {limit}" if limit in _STOPS else limit


def _quarantine(number: int) -> str:
    verb, them = ("counts", "it") if number == 1 else ("count", "them")
    return (
        f"{count(number, 'flaky case')} {verb} in the gate, which chance may then decide: fix {them}, "
        f"or list {them} under `quarantine:` of the gate for a while, with reason, owner and expiry"
    )


WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "advice.errors": "fix what kept {trials} of the trials from being judged: {reason}",
        "advice.over_limit": _over_limit,
        "advice.alike": "{number:,} cases fail alike, so one cause may explain them all: {reason}",
        "advice.never_passes": _never_passes,
        "advice.passed_before": lambda number: (
            f"{count(number, 'case')} {'fails' if number == 1 else 'fail'} in every trial of this run but passed in "
            "earlier ones of the same target: compare a passing with a failing transcript"
        ),
        "advice.flaky": _flaky,
        "advice.leaner_case": _leaner_case,
        "advice.fewer_trials": lambda limit, number: (
            f"{count(number, 'case')} come to the same, none stands out: run fewer of them, or fewer trials, "
            f"or raise {_limit_name(limit)}"
        ),
        "advice.quarantine": _quarantine,
    }
)
