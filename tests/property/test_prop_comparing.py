"""What is true of every comparison, whatever the two runs are."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import pytest
from compared import case, report
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from evalharness.domain.case_result import CaseResult
from evalharness.domain.comparison import Comparison
from evalharness.domain.gate import RegressionRule
from evalharness.engine.comparing.comparison import compare

RULE = RegressionRule()


@st.composite
def side(draw: st.DrawFn, name: str, *, least: int = 1) -> CaseResult:
    trials = draw(st.integers(least, 6))
    return case(
        name,
        trials,
        draw(st.integers(0, trials)),
        score=draw(st.none() | st.floats(0, 1)),
        duration_s=draw(st.none() | st.floats(1e-3, 1e3)),
        cost_usd=draw(st.none() | st.floats(0, 10)),
        cluster=draw(st.sampled_from(("", "", "one", "other"))),
        criticality=draw(st.sampled_from(("", "", "critical"))),
    )


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[CaseResult], list[CaseResult]]:
    names = [f"c{n}" for n in range(draw(st.integers(1, 8)))]
    old = [draw(side(name)) for name in names]
    new = [replace(draw(side(name)), cluster=o.cluster) for name, o in zip(names, old, strict=True)]
    return old, new


def compared(old: list[CaseResult], new: list[CaseResult]) -> Comparison:
    return compare(report(*old), report(*new), RULE)


@given(runs())
def test_every_number_is_one_that_json_can_represent(both: tuple[list[CaseResult], list[CaseResult]]) -> None:
    found = compared(*both)
    for difference in [*found.differences.values(), *([found.critical] if found.critical else [])]:
        numbers = [value for value in difference.model_dump().values() if isinstance(value, float)]
        assert all(map(math.isfinite, numbers))
        assert difference.p is None or 0 <= difference.p <= 1
        assert difference.why
    assert Comparison.model_validate_json(found.model_dump_json()) == found


@given(runs())
def test_the_other_way_round_a_loss_is_a_gain(both: tuple[list[CaseResult], list[CaseResult]]) -> None:
    old, new = both
    forth, back = compared(old, new).differences["pass_rate"], compared(new, old).differences["pass_rate"]
    assert forth.value == pytest.approx(-back.value)
    assert forth.p == pytest.approx(back.p_better)
    assert forth.low == pytest.approx(-(back.high or 0.0))


@given(runs(), st.randoms(use_true_random=False))
def test_the_order_of_cases_decides_nothing(both: tuple[list[CaseResult], list[CaseResult]], random: Random) -> None:
    old, new = both
    mixed = random.sample(new, len(new))
    one, other = compared(old, new), compared(old, mixed)
    assert one.verdict == other.verdict
    assert one.differences["pass_rate"].p == pytest.approx(other.differences["pass_rate"].p)


@given(runs())
def test_a_run_compared_with_itself_is_never_worse(both: tuple[list[CaseResult], list[CaseResult]]) -> None:
    found = compared(both[0], both[0])
    assert found.verdict != "REGRESSION"
    assert not found.worse
    assert not found.better


@given(side("only"), side("only"))
def test_one_case_is_the_hypergeometric_law(old: CaseResult, new: CaseResult) -> None:
    assume(old.passed * new.trials != new.passed * old.trials)
    (found,) = compared([old], [new]).cases
    law = hypergeom(old.trials + new.trials, old.passed + new.passed, new.trials)
    assert found.p == pytest.approx(law.cdf(new.passed), abs=1e-9)
