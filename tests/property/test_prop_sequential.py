from __future__ import annotations

import math
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sample_sizes import examples
from scipy import special, stats

from evalharness.stats.sequential import (
    Sprt,
    confidence_sequence,
    e_value_discordant_pairs,
    e_value_floor,
    fixed_design,
)

counts = st.integers(0, 300)
rates = st.floats(0.02, 0.98)


@given(counts, counts)
def test_pairs_agree_with_their_formula(b: int, c: int) -> None:
    # scipy's regularised function vanishes where wins prevail by far.
    tail = special.betaincc(b + 1, c + 1, 0.5)
    assume(tail > 1e-250)
    log_e = (b + c + 1) * math.log(2) + special.betaln(b + 1, c + 1) + math.log(tail)
    assert math.log(e_value_discordant_pairs(b, c)) == pytest.approx(log_e, rel=1e-9, abs=1e-9)


@given(counts, counts, rates)
def test_the_floor_agrees_with_its_formula(s: int, f: int, p0: float) -> None:
    head = special.betainc(s + 1, f + 1, p0)
    assume(head > 1e-250)
    log_e = special.betaln(s + 1, f + 1) + math.log(head) - (s + 1) * math.log(p0) - f * math.log1p(-p0)
    want = math.exp(min(log_e, math.log(sys.float_info.max) - 1e-9))
    assert e_value_floor(s, f, p0) == pytest.approx(want, rel=1e-6)
    if log_e < 700:
        assert math.log(e_value_floor(s, f, p0)) == pytest.approx(log_e, rel=1e-9, abs=1e-9)


@given(st.integers(0, 60), rates, st.floats(0, 1))
def test_evidence_against_a_true_claim_is_worth_one_on_average(n: int, p0: float, better: float) -> None:
    fair = math.fsum(e_value_discordant_pairs(b, n - b) * stats.binom.pmf(b, n, 0.5) for b in range(n + 1))
    assert fair == pytest.approx(1, rel=1e-9)
    p = p0 + better * (1 - p0)
    kept = math.fsum(e_value_floor(s, n - s, p0) * stats.binom.pmf(s, n, p) for s in range(n + 1))
    assert kept <= 1 + 1e-9
    at_the_floor = math.fsum(e_value_floor(s, n - s, p0) * stats.binom.pmf(s, n, p0) for s in range(n + 1))
    assert at_the_floor == pytest.approx(1, rel=1e-9)


@given(counts, counts, st.floats(0.5, 0.999))
def test_the_ends_of_a_confidence_sequence_solve_its_equation(s: int, f: int, level: float) -> None:
    found = confidence_sequence(s, f, level)
    for end in (found.low, found.high):
        if 0 < end < 1:
            log_ratio = special.betaln(s + 1, f + 1) - special.xlogy(s, end) - special.xlog1py(f, -end)
            assert log_ratio == pytest.approx(-math.log1p(-level), rel=1e-9, abs=1e-9)
    assert found.low <= (s / (s + f) if s + f else 0.5) <= found.high
    assert (found.low > 0) == (s > 0)
    assert (found.high < 1) == (f > 0)


@given(counts, counts, rates, rates)
def test_sprt_agrees_with_the_likelihoods(passes: int, fails: int, p0: float, p1: float) -> None:
    assume(p1 < p0 - 1e-6)
    test = Sprt(p0, p1)
    want = stats.binom.logpmf(passes, passes + fails, p1) - stats.binom.logpmf(passes, passes + fails, p0)
    ratio = test.log_likelihood_ratio(passes, fails)
    assert ratio == pytest.approx(want, rel=1e-9, abs=1e-9)
    decided = {"p1": ratio >= test.upper, "p0": ratio <= test.lower, "continue": test.lower < ratio < test.upper}
    assert decided[test.decision(passes, fails)]


@examples(40)
@given(st.floats(0.2, 0.98), st.floats(0.1, 0.19), st.sampled_from([0.01, 0.05, 0.1]), st.sampled_from([0.1, 0.2]))
def test_the_fixed_design_is_the_smallest_that_keeps_both_risks(
    p0: float, gap: float, alpha: float, beta: float
) -> None:
    p1 = p0 - gap
    design = fixed_design(p0, p1, alpha, beta)
    assert stats.binom.cdf(design.too_low_at, design.trials, p0) <= alpha + 1e-9
    assert stats.binom.cdf(design.too_low_at, design.trials, p1) >= 1 - beta - 1e-9
    for trials in range(1, design.trials):
        passes = stats.binom.ppf(alpha, trials, p0) - 1  # the most that keep the first risk, unless it is met exactly
        assert stats.binom.cdf(passes, trials, p1) < 1 - beta + 1e-9
