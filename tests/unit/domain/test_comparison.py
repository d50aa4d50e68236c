"""Differences of earlier reports, which say in words alone what limits them."""

from __future__ import annotations

import pytest
from compared import alike, case, report

from evalharness.domain.case_result import CaseResult
from evalharness.domain.comparison import Comparison, Difference
from evalharness.domain.gate import RegressionRule
from evalharness.engine.comparing.comparison import compare

ONE = alike(6, 2, 2, duration_s=1.0)
WEIGHTED = [case(f"c{n}", 2, 2, weight=1.0 + n) for n in range(6)]
CLUSTERED = [case(f"c{n}", 2, 2 - n % 2, cluster=f"k{n % 3}", criticality="critical") for n in range(6)]
ONE_CLUSTER = [case(f"c{n}", 2, 2, cluster="all") for n in range(6)]


@pytest.mark.parametrize(
    ("cases", "runs", "limited_by"),
    [
        (ONE, 1, "trials"),
        (WEIGHTED, 1, "cases"),
        (CLUSTERED, 1, "clusters"),
        (ONE_CLUSTER, 1, "clusters"),
        (ONE, 3, "runs"),
        (CLUSTERED, 3, "runs"),
    ],
)
def test_a_difference_knows_what_limits_it_and_an_earlier_one_is_read_as_such(
    cases: list[CaseResult], runs: int, limited_by: str
) -> None:
    same = report(*cases)
    found = compare([same] * runs, same, RegressionRule())
    assert found.differences["pass_rate"].limited_by == limited_by
    written = found.model_dump(mode="json")
    for difference in filter(None, (*written["differences"].values(), written["critical"])):
        del difference["limited_by"]
    assert Comparison.model_validate(written) == found


def test_what_compares_no_case_is_limited_by_nothing() -> None:
    assert Difference.model_validate({"metric": "score", "old": None, "new": None, "value": 0.0}).limited_by == ""
