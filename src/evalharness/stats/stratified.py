"""Did the pass rate drop, case by case? The exact stratified permutation test for pass/fail trials.

If nothing changed, chance alone decides which of a case's passes belong to the new run. Given the passes of both runs
together, the new run's passes have a hypergeometric distribution, and their total over cases has the convolution of
these distributions. The test needs no seed and no normal approximation, and runs may have unequal or missing trials.
With one trial per side it is McNemar's exact test. For scores that are not pass or fail, see `sign_flips.sign_flip`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from evalharness.errors import UsageError
from evalharness.stats.p_values import PValues
from evalharness.stats.sum_laws import ONE, SumLaw, law_of_sum, without_tails

_METHOD = "exact stratified permutation test"


def stratified_exact(rows: Iterable[Sequence[int]]) -> PValues:
    """The p-values of so few (`p_less`) or so many (`p_greater`) passes in the new run if nothing changed.

    Each row is one case: (n_old, c_old, n_new, c_new). Cases whose trials all passed or all failed, or that one of the
    runs lacks, say nothing about a change; `n` counts the others.
    """
    kinds: Counter[tuple[int, int, int]] = Counter()
    observed = 0
    for row, repeats in Counter(map(tuple, rows)).items():
        n_old, c_old, n_new, c_new = row
        if not (0 <= c_old <= n_old and 0 <= c_new <= n_new):
            raise _impossible(row)
        passes = c_old + c_new
        if 0 < passes < n_old + n_new and n_old and n_new:
            kinds[n_old, n_new, passes] += repeats
            observed += repeats * c_new
    if not kinds:
        return PValues(1.0, 1.0, f"{_METHOD} (no case could show a change)", 0)
    law = law_of_sum((_passes_of_new(*kind), repeats) for kind, repeats in sorted(kinds.items()))
    return PValues(law.at_most(observed), law.at_least(observed), _METHOD, kinds.total(), law.error_bound)


def smallest_p(baseline: Iterable[Sequence[int]]) -> float:
    """The p-value of a regression if every new trial failed. At a level below it, no drop can be significant.

    Each row is one case of the baseline and the trials planned for it: (n_old, c_old, n_new).
    """
    ways = every_way = 1  # integers, so that a p-value exactly at the limit equals that of the test
    for (n_old, c_old, n_new), repeats in Counter(map(tuple, baseline)).items():
        if not (0 <= c_old <= n_old and n_new >= 0):
            raise _impossible((n_old, c_old, n_new))
        ways *= math.comb(n_old, c_old) ** repeats
        every_way *= math.comb(n_old + n_new, c_old) ** repeats
    return ways / every_way


def _passes_of_new(n_old: int, n_new: int, passes: int) -> SumLaw:
    """The hypergeometric distribution, computed from its peak outwards so that rounding errors do not grow."""
    lowest, highest = max(0, passes - n_old), min(passes, n_new)
    peak = min(highest, max(lowest, (passes + 1) * (n_new + 1) // (n_old + n_new + 2)))
    ways = math.comb(n_new, peak) * math.comb(n_old, passes - peak)
    at_peak = (ways * ONE) // math.comb(n_old + n_new, passes)
    above, below = [], []
    weight = at_peak
    for c in range(peak, highest):
        weight = weight * (n_new - c) * (passes - c) // ((c + 1) * (n_old - passes + c + 1))
        if not weight:
            break
        above.append(weight)
    weight = at_peak
    for c in range(peak, lowest, -1):
        weight = weight * c * (n_old - passes + c) // ((n_new - c + 1) * (passes - c + 1))
        if not weight:
            break
        below.append(weight)
    return without_tails(peak - len(below), [*reversed(below), at_peak, *above])


def _impossible(row: Sequence[int]) -> UsageError:
    return UsageError(
        f"a case needs 0 <= passes <= trials on both sides, got {tuple(row)}",
        hint="rows are (trials before, passes before, trials now, passes now)",
    )
