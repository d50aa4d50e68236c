"""What judges said inside a grade that has no verdict as a whole."""

from __future__ import annotations

from evalharness.domain.grade import states_within


def test_evidence_of_others_is_not_taken_for_what_judges_said() -> None:
    assert list(states_within("unscored", [{"version": "3.1", "name": "a package"}])) == ["unscored"]
    assert list(states_within("unscored", [{"version": "1", "state": "pass"}, {"state": "fail"}])) == ["pass"]


def test_what_a_person_must_give_is_not_asked_of_a_judge() -> None:
    parts = [{"version": "1", "type": who, "state": state} for who, state in (("human", "awaiting"), ("model", "fail"))]
    assert list(states_within("awaiting", [{"version": "1", "state": "awaiting", "evidence": parts}])) == ["fail"]
