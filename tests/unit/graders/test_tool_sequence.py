from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evalharness import registry
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.errors import Unscored
from evalharness.graders.tool_sequence import count_rounds, largest_pairing, longest_common

Grading = Callable[..., Grade]


def calls(*names: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


@pytest.mark.parametrize(
    ("mode", "expected", "called", "passes", "f1"),
    [
        ("subsequence", "a b", "a b", True, 1),
        ("subsequence", "a b", "x a x b", True, 4 / 6),
        ("subsequence", "a b", "b a", False, 1 / 2),
        ("subsequence", "a b", "a", False, 2 / 3),
        ("subsequence", "a b", "", False, 0),
        ("subsequence", "a a", "a", False, 2 / 3),
        ("subsequence", "", "a", True, 1),
        ("exact", "a b", "a b", True, 1),
        ("exact", "a b", "a x b", False, 4 / 5),
        ("exact", "a b", "a b b", False, 4 / 5),
        ("exact", "", "", True, 1),
        ("exact", "", "a", False, 0),
        ("exact", "", "a b c", False, 0),
        ("any_order", "a b", "b a", True, 1),
        ("any_order", "a b", "b x a", True, 4 / 5),
        ("any_order", "a a b", "a b", False, 4 / 5),
        ("any_order", "search read_file", "search write_file", False, 1 / 2),
        ("any_order", "search read_file", "search", False, 2 / 3),
    ],
)
def test_modes(mode: str, expected: str, called: str, passes: bool, f1: float, grade: Grading) -> None:
    verdict = grade({"tool_sequence": expected.split(), "mode": mode}, tool_calls=calls(*called.split()))
    assert verdict.passed is passes
    assert verdict.score == pytest.approx(1 if passes else f1), "additional calls do no harm if they are allowed"
    assert verdict.evidence["f1"] == pytest.approx(f1)
    assert bool(verdict.reason) is not passes


@pytest.mark.parametrize(
    ("mode", "expected", "called", "reason"),
    [
        (
            "subsequence",
            ["write_file", "run_shell"],
            ["write_file", "read_file"],
            "call 2: expected run_shell, which was not called after write_file",
        ),
        ("subsequence", ["a", "b"], ["b", "a"], "call 2: expected b, got no further call"),
        ("subsequence", ["a"], [], "call 1: expected a, but no tool was called"),
        ("exact", ["a", "b"], ["a", "x", "b"], "call 2: expected b, got x"),
        ("exact", ["a"], ["a", "b"], "call 2: expected no further call, got b"),
        ("subsequence", ["x"], ["a", "b"], "call 1: expected x, which was not called"),
        ("exact", ["a", "b"], ["a", "x"], "call 2: expected b, got x"),
        ("exact", ["a", "b"], ["a"], "call 2: expected b, got no further call"),
        ("any_order", ["a", "b", "a"], ["b", "a"], "call 3: expected a, which was not called often enough"),
        ("any_order", ["a", "a", "x"], ["a"], "call 3: expected x, which was not called"),
    ],
)
def test_the_first_divergence_is_named(
    mode: str, expected: list[str], called: list[str], reason: str, grade: Grading
) -> None:
    assert grade({"tool_sequence": expected, "mode": mode}, tool_calls=calls(*called)).reason == reason


@pytest.mark.parametrize(
    ("wanted", "given_arguments", "passes"),
    [
        ({"path": "a"}, {"path": "a", "mode": "w"}, True),
        ({"path": "a"}, '{"path": "a"}', True),
        ({"path": "a"}, {"path": "b"}, False),
        ({"path": "a"}, {}, False),
        ({"path": "a"}, None, False),
        ({"path": "a"}, "not JSON", False),
        ({"path": "a"}, "[" * 9999, False),
        ({"n": 1}, {"n": 1.0}, True),
        ({"n": 1}, {"n": True}, False),
        ({"o": {"x": [1, {"y": None}]}}, {"o": {"x": [1, {"y": None}]}}, True),
        ({"o": {"x": [1, {"y": 0}]}}, {"o": {"x": [1, {"y": False}]}}, False),
        ({"o": {"x": 1}}, {"o": {"x": 1, "y": 2}}, False),
        ({}, {"any": "thing"}, True),
    ],
    ids=str,
)
@pytest.mark.parametrize("mode", ["subsequence", "exact", "any_order"])
def test_given_arguments_must_be_equal_and_others_may_be_anything(
    mode: str, wanted: Any, given_arguments: Any, passes: bool, grade: Grading
) -> None:
    written = {"tool_sequence": [{"tool": "write", "arguments": wanted}], "mode": mode}
    assert grade(written, tool_calls=[{"name": "write", "arguments": given_arguments}]).passed is passes


def test_arguments_are_shown_where_they_differ(grade: Grading) -> None:
    written = {"tool_sequence": [{"name": "write", "arguments": {"path": "a"}}]}
    verdict = grade(written, tool_calls=[{"name": "write", "arguments": {"path": "b"}}])
    assert verdict.reason == 'call 1: expected write({"path":"a"}), got write({"path":"b"})'


@pytest.mark.parametrize("mode", ["subsequence", "any_order"])
def test_the_call_with_other_arguments_is_named_not_one_that_is_allowed(mode: str, grade: Grading) -> None:
    written = {"tool_sequence": ["search", {"name": "write", "arguments": {"path": "a"}}], "mode": mode}
    called = [*calls("search", "read", "read"), {"name": "write", "arguments": {"path": "b"}}]
    reason = 'call 2: expected write({"path":"a"}), got write({"path":"b"})'
    assert grade(written, tool_calls=called).reason == reason


def test_in_any_order_no_call_is_taken_from_one_that_needs_it(grade: Grading) -> None:
    expected = [{"name": "a", "arguments": {"x": 1}}, {"name": "a", "arguments": {"y": 2}}, "a"]
    called = [{"name": "a", "arguments": {"x": 1, "y": 2}}, {"name": "a", "arguments": {"x": 1}}, {"name": "a"}]
    assert grade({"tool_sequence": expected, "mode": "any_order"}, tool_calls=called).passed


@pytest.mark.parametrize("mode", ["subsequence", "exact", "any_order"])
def test_ten_thousand_calls_are_compared(mode: str, grade: Grading) -> None:
    names = ["a", "b", "c", "d"] * 2500
    verdict = grade({"tool_sequence": names[::-1], "mode": mode}, tool_calls=calls(*names))
    assert verdict.score is not None
    assert verdict.score > 0.4
    assert verdict.passed is (mode == "any_order")


def test_what_would_take_too_long_is_unscored(grade: Grading) -> None:
    with pytest.raises(Unscored, match="10001 tool calls"):
        grade({"tool_sequence": ["a"]}, tool_calls=calls(*["a"] * 10_001))
    picky = [{"name": "a", "arguments": {"n": number}} for number in range(400)]
    with pytest.raises(Unscored, match="160000 comparisons"):
        grade({"tool_sequence": picky}, tool_calls=picky)


@pytest.mark.parametrize(
    "written",
    [None, 5, "a", [5], [{"arguments": {}}], [{"name": "a", "order": 1}], {"calls": ["a"], "mode": "loose"}],
    ids=str,
)
def test_what_names_no_calls_is_refused(written: Any) -> None:
    with pytest.raises(ValidationError):
        registry.parse_options("grader", GraderSpec(kind="tool_sequence", options=written))


masks = st.integers(0, 5).flatmap(
    lambda count: st.tuples(st.just(count), st.lists(st.integers(0, 2**count - 1), max_size=5))
)


@given(masks)
def test_the_longest_common_subsequence_is_the_longest(asked: tuple[int, list[int]]) -> None:
    """Compared with every way to choose steps and calls, in order."""
    count, accepted = asked
    longest = max(
        size
        for size in range(min(count, len(accepted)) + 1)
        for steps in combinations(range(len(accepted)), size)
        for places in combinations(range(count), size)
        if all(accepted[step] >> place & 1 for step, place in zip(steps, places, strict=True))
    )
    assert longest_common(accepted, count) == longest


@given(masks)
def test_the_largest_pairing_is_the_largest(asked: tuple[int, list[int]]) -> None:
    count, accepted = asked
    largest = max(
        size
        for size in range(min(count, len(accepted)) + 1)
        for steps in combinations(range(len(accepted)), size)
        for places in permutations(range(count), size)
        if all(accepted[step] >> place & 1 for step, place in zip(steps, places, strict=True))
    )
    pairs = largest_pairing(accepted)
    assert len(pairs) == len(set(pairs.values())) == largest
    assert all(accepted[step] >> place & 1 for step, place in pairs.items())


OPENAI = {"role": "assistant", "tool_calls": [{"id": "1"}, {"id": "2"}]}
ANTHROPIC = {"role": "assistant", "content": [{"type": "text", "text": "so"}, {"type": "tool_use", "name": "a"}]}


@pytest.mark.parametrize(
    ("messages", "call_count", "rounds"),
    [
        ([], 0, 0),
        ([], 3, 3),
        ([OPENAI], 2, 1),
        ([OPENAI, {"role": "tool", "content": "x"}, ANTHROPIC, {"role": "assistant", "content": "done"}], 3, 2),
        ([{"role": "assistant", "content": "done", "tool_calls": []}], 0, 0),
        ([{"role": "user", "content": [{"type": "tool_use"}]}, {"role": "assistant", "content": ["text", None]}], 0, 0),
        ([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "done"}], 2, 2),
    ],
)
def test_rounds_are_assistant_turns_with_tool_calls(messages: list[Any], call_count: int, rounds: int) -> None:
    made = tuple(ToolCall(name="a") for _ in range(call_count))
    assert count_rounds(Transcript(messages=tuple(messages), tool_calls=made)) == rounds


@pytest.mark.parametrize(("most", "passes"), [(2, True), (3, True), (1, False), (0, False)])
def test_max_rounds(most: int, passes: bool, grade: Grading) -> None:
    verdict = grade({"max_rounds": most}, messages=[OPENAI, ANTHROPIC])
    assert verdict.passed is passes
    assert verdict.reason == ("" if passes else f"2 rounds of tool calls, at most {most} allowed")
    assert grade({"max_rounds": 0}, messages=[OPENAI]).reason == "1 round of tool calls, at most 0 allowed"


@pytest.mark.parametrize("most", [-1, None, "many", 1.5])
def test_a_number_of_rounds_is_asked_for(most: Any) -> None:
    with pytest.raises(ValidationError):
        registry.parse_options("grader", GraderSpec(kind="max_rounds", options=most))
