"""Checks of recorded sessions: the size of an answer, the tools it called, and the lines that report all of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evalharness.documents.session_results import Result, Summary
from evalharness.domain.trial import TrialState
from evalharness.values.json_value import Json

SIZES = (("S", 500), ("M", 1500), ("L", 5000))
"""Each class with the number of bytes that is too many for it; everything beyond is XL."""


def size_class(text: str) -> str:
    """By the bytes of its UTF-8: an answer in another script is as large as what is sent."""
    length = len(text.encode(errors="replace"))
    return next((name for name, limit in SIZES if length < limit), "XL")


def tool_calls_f1(expected: Sequence[str], actual: Sequence[str]) -> float:
    """F1 of two bags of names: neither order nor arguments matter, how often a tool was called does."""
    if not expected and not actual:
        return 1.0
    common = (Counter(expected) & Counter(actual)).total()
    return 2 * common / (len(expected) + len(actual))


def threshold_of(value: Json) -> float | None:
    """The dollars of a `cost_threshold`, also written as text; None where the value is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        threshold = float(value)
    except (ValueError, OverflowError):
        return None
    return threshold if math.isfinite(threshold) else None


class CheckLines(NamedTuple):
    successes: tuple[str, ...]
    failures: tuple[str, ...]
    awaiting: tuple[str, ...] = ()
    """What nobody has judged yet."""

    @property
    def passed(self) -> bool:
        return not (self.failures or self.awaiting)


def check_lines(result: Result) -> CheckLines:
    """What was checked, in order. An eval with an error has nothing else."""
    if result.error:
        return CheckLines((), (result.error,))
    checks = (_size(result), _tool_calls(result), _relevance(result), _assertions(result))
    return CheckLines(
        tuple(line for check in checks for line in check.successes),
        tuple(line for check in checks for line in check.failures),
        tuple(line for check in checks for line in check.awaiting),
    )


def state_of(result: Result) -> TrialState:
    if result.state:
        return result.state
    lines = check_lines(result)
    return "error" if result.error else "failed" if lines.failures else "awaiting" if lines.awaiting else "passed"


def _size(result: Result) -> CheckLines:
    if not result.size_expected:
        return CheckLines((), ())
    if result.size == result.size_expected:
        return CheckLines((f"size {result.size}",), ())
    return CheckLines((), (f"size expected {result.size_expected}, got {result.size}",))


def _tool_calls(result: Result) -> CheckLines:
    if not result.tool_calls_expected:
        return CheckLines((), ())
    if result.tool_calls_score >= result.tool_calls_expected:
        return CheckLines(("tool calls",), ())
    return CheckLines((), (f"tool calls score {result.tool_calls_score:.2f}",))


def _relevance(result: Result) -> CheckLines:
    if not result.relevance_expected:
        return CheckLines((), ())
    share = f"relevance {result.relevance_passed:g}/{result.relevance_expected:g}"
    if result.relevance_passed >= result.relevance_expected:
        return CheckLines((share,), ())
    if not result.is_judged:
        return CheckLines((), (), (f"{share}: not judged",))
    failed = [found for found in result.relevance_results if not found.passed]
    lines = [f"relevance: {found.criterion}{_reason(found.reason)}" for found in failed]
    return CheckLines((), tuple(lines) or (share,))


def _assertions(result: Result) -> CheckLines:
    results = result.assertion_results
    failed = [found for found in results if not found.passed]
    if not failed:
        return CheckLines((f"assertions {len(results)}/{len(results)}",) if results else (), ())
    return CheckLines((), tuple(f"assertion: {found.name or found.type}{_reason(found.reason)}" for found in failed))


def _reason(reason: str) -> str:
    return f" (reason: {reason})" if reason else ""


def eval_result(result: Result) -> dict[str, Json]:
    """What a saved session tells about its evaluation; checks that were not made are left out."""
    lines = check_lines(result)
    state = state_of(result)
    fields: dict[str, Json] = {"passed": state == "passed", "state": state}
    if lines.successes:
        fields["successes"] = list(lines.successes)
    if lines.failures and state != "skipped":
        fields["failures"] = list(lines.failures)
    if result.error:
        fields["error"] = result.error
    if lines.awaiting:
        fields["awaiting"] = list(lines.awaiting)
    fields |= {"cost": result.cost, "output_tokens": result.output_tokens}
    if result.last_message_output_tokens:
        fields["last_message_output_tokens"] = result.last_message_output_tokens
    return {**fields, "checks": _checks(result)}


def _checks(result: Result) -> dict[str, Json]:
    if result.error:
        return {}
    checks: dict[str, Json] = {}
    if result.size_expected:
        checks["size"] = {"passed": _size(result).passed, "actual": result.size, "expected": result.size_expected}
    if result.tool_calls_expected:
        checks["tool_calls"] = {"passed": _tool_calls(result).passed, "score": result.tool_calls_score}
    if result.relevance_expected and result.is_judged:
        checks["relevance"] = {
            "passed": _relevance(result).passed,
            "passed_count": int(result.relevance_passed),
            "total": int(result.relevance_expected),
            "results": [found.model_dump(mode="json") for found in result.relevance_results],
        }
    if result.assertion_results:
        checks["assertions"] = {
            "passed": _assertions(result).passed,
            "passed_count": sum(found.passed for found in result.assertion_results),
            "total": len(result.assertion_results),
            "results": [found.model_dump(mode="json") for found in result.assertion_results],
        }
    return checks


def summarise_results(results: Iterable[Result]) -> Summary:
    """Errors cost money too, but say nothing about sizes, tools or relevance; nor do criteria that nobody judged."""
    everything = list(results)
    sound = [result for result in everything if not result.error]
    sizes = [result for result in sound if result.size_expected]
    tools = [result for result in sound if result.tool_calls_expected]
    judged = [result for result in sound if result.relevance_expected and result.is_judged]
    assertions = [found for result in sound for found in result.assertion_results]
    return Summary(
        total_evals=len(everything),
        failed_evals=sum(bool(result.error) and result.state != "skipped" for result in everything),
        total_cost=sum(result.cost for result in everything),
        sizes_passed=sum(result.size == result.size_expected for result in sizes),
        sizes_total=len(sizes),
        tools_f1_sum=sum(result.tool_calls_score for result in tools),
        tools_count=len(tools),
        relevance_passed=sum(result.relevance_passed for result in judged),
        relevance_total=sum(result.relevance_expected for result in judged),
        assertions_passed=sum(found.passed for found in assertions),
        assertions_total=len(assertions),
    )
