"""Sessions that were asked several times: how often each eval passed, why it did not, and what stands out in its cost.

Unlike the measurements of the engine these are the plain shares of recorded sessions, without estimates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from evalharness.documents.session_checks import check_lines, state_of
from evalharness.documents.session_results import (
    NOT_RUN,
    CostOutlier,
    RepeatCost,
    RepeatedEval,
    Repeats,
    RepeatStatus,
    Result,
)

ORDER: tuple[RepeatStatus, ...] = ("flaky", "failing", "incomplete", "stable")
"""The most unreliable first."""
OUTLIER_RATIO = 2.0
FEWEST_COSTS = 3
"""Of two costs neither stands out."""


def diagnose_repeats(results: Iterable[Result], k: int) -> Repeats | None:
    """By input path, of sessions asked `k` times, without those that were skipped; None where each was asked once."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        if result.input_path and result.state != "skipped":
            groups.setdefault(result.input_path, []).append(result)
    return summed_repeats([_repeated(path, group, k) for path, group in groups.items()], k)


def summed_repeats(evals: Sequence[RepeatedEval], k: int) -> Repeats | None:
    if k <= 1 or not evals:
        return None
    return Repeats(
        k=k,
        pass_at_k=sum(each.passed > 0 for each in evals) / len(evals),
        pass_hat_k=sum(each.status == "stable" for each in evals) / len(evals),
        evals=tuple(sorted(evals, key=lambda each: (ORDER.index(each.status), each.input_path))),
    )


def _repeated(path: str, results: Sequence[Result], k: int) -> RepeatedEval:
    ended = [result for result in results if state_of(result) != "awaiting" and result.error != NOT_RUN]
    failed = [result for result in ended if state_of(result) != "passed"]
    passed = len(ended) - len(failed)
    return RepeatedEval(
        input_path=path,
        title=results[0].title.rpartition(" #")[0] or results[0].title,
        status=_status(passed, len(ended), k),
        passed=passed,
        total=len(ended),
        errors=sum(bool(result.error) for result in ended),
        failed_runs=tuple(result.title for result in failed),
        reasons={result.title: check_lines(result).failures for result in failed},
        cost=_cost([result for result in ended if not result.error]),
    )


def _status(passed: int, total: int, k: int) -> RepeatStatus:
    if total < k:
        return "incomplete"
    return "stable" if passed == total else "flaky" if passed else "failing"


def _cost(results: Sequence[Result]) -> RepeatCost | None:
    costs = [result.cost for result in results]
    if not costs:
        return None
    middle = median(costs)
    may_differ = len(costs) >= FEWEST_COSTS and middle > 0
    outliers = [
        CostOutlier(title=result.title, cost=result.cost, ratio=result.cost / middle)
        for result in results
        if may_differ and result.cost > OUTLIER_RATIO * middle
    ]
    return RepeatCost(samples=len(costs), median=middle, min=min(costs), max=max(costs), outliers=tuple(outliers))
