"""Recording ids: exactly as documented if that is unambiguous, and always readable again."""

from __future__ import annotations

import re
from string import ascii_letters, digits
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalharness.documents.artifact import RecordingParts, generate_recording_id, parse_recording_id

DOCUMENTED = "eval__coder-reviewer.v1__simple-api__claude-default__coder__inv0"
WORDS = st.text(st.sampled_from(ascii_letters + digits + ".:@ é-"), min_size=1, max_size=8)
PLAIN = st.lists(WORDS, min_size=1, max_size=4).map("_".join)
ODD = st.text(st.sampled_from("_/%\\a5Finv\0\udc80é"), min_size=1, max_size=8)
ANY = PLAIN | ODD | st.text(st.characters(exclude_categories=()), min_size=1, max_size=8)
NUMBERS = st.integers(0, 10**18 - 1)


@given(st.tuples(ANY, ANY, ANY, ANY, NUMBERS))
@example(("a__b", "__c", "claude/sonnet", "d__inv1", 1))
@example(("_", "%5F", "eval", "inv0", 0))
def test_every_id_can_be_read_again(parts: tuple[str, str, str, str, int]) -> None:
    written = generate_recording_id(*parts)
    assert parse_recording_id(written) == parts
    assert not re.search(r"[/\\\x00-\x1f]", written), "usable as a file name"
    written.encode()


@given(st.tuples(ANY, ANY, ANY, ANY, NUMBERS))
def test_knowing_the_dataset_changes_nothing(parts: tuple[str, str, str, str, int]) -> None:
    assert parse_recording_id(generate_recording_id(*parts), parts[0]) == parts


@given(PLAIN, PLAIN, PLAIN, PLAIN, NUMBERS)
def test_plain_ids_are_as_documented(dataset: str, case: str, variant: str, node: str, number: int) -> None:
    assert generate_recording_id(dataset, case, variant, node, number) == (
        f"eval__{dataset}__{case}__{variant}__{node}__inv{number}"
    )


@given(st.text() | st.lists(ODD, max_size=6).map("__".join).map("eval__{}__inv0".format))
def test_no_text_makes_the_parser_raise(text: str) -> None:
    parts = parse_recording_id(text)
    assert parts is None or parse_recording_id(generate_recording_id(*parts)) == parts


def test_the_documented_example() -> None:
    parts = RecordingParts("coder-reviewer.v1", "simple-api", "claude-default", "coder", 0)
    assert generate_recording_id(*parts) == DOCUMENTED
    assert parse_recording_id(DOCUMENTED) == parts


def test_a_plain_slash_of_other_tools_is_understood() -> None:
    parts = parse_recording_id("eval__data__case__claude/sonnet__coder__inv1")
    assert parts is not None
    assert parts.variant_id == "claude/sonnet"


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "invalid-id",
        "eval__missing__parts",
        "eval__a__b__c__d__inv",
        "eval__a__b__c__d__inv-1",
        "eval__a__b__c__d__inv0\n",
        "eval__a__b__c____inv0",
        "eval__a__b__c__%FF__inv0",
        "x__a__b__c__d__inv0",
        "eval__a__b__c__d__inv" + "9" * 5000,
        None,
        5,
    ],
)
def test_anything_else_is_not_a_recording_id(bad: Any) -> None:
    assert parse_recording_id(bad) is None


def test_what_cannot_be_an_invocation_is_refused() -> None:
    invocations: list[tuple[Any, str]] = [
        (-1, "at least 0"),
        (10**18, "at most 18 digits"),
        (10**5000, "at most 18 digits"),
        (True, "whole number, not True"),
        (1.5, "whole number, not 1.5"),
        ("1", "whole number, not '1'"),
    ]
    for invocation, problem in invocations:
        with pytest.raises(ValueError, match=problem):
            generate_recording_id("a", "b", "c", "d", invocation)
    ids: list[Any] = ["", None, 5]
    for id_ in ids:
        with pytest.raises(ValueError, match="at least one character"):
            generate_recording_id("a", id_, "c", "d", 0)


@pytest.mark.parametrize(
    ("written", "dataset", "parts"),
    [
        ("eval__ds__my__case__v__n__inv2", "", ("ds__my", "case", "v", "n", 2)),
        ("eval__a__b__c__d__e__f__inv0", "", ("a__b__c", "d", "e", "f", 0)),
        ("eval__a___b__c__d__inv0", "", ("a_", "b", "c", "d", 0)),
        ("eval__ds__my__case__v__n__inv2", "ds__my", ("ds__my", "case", "v", "n", 2)),
        ("eval__ds__my__case__v__n__inv2", "ds", ("ds", "my__case", "v", "n", 2)),
        ("eval__ds__my__case__v__n__inv2", "other", ("ds__my", "case", "v", "n", 2)),
        ("eval__a__b__c__d__inv1", "a__b", ("a", "b", "c", "d", 1)),
    ],
)
def test_underscores_of_other_tools_are_read_as_their_own_pattern_reads_them(
    written: str, dataset: str, parts: tuple[str, str, str, str, int]
) -> None:
    """It is greedy: the dataset takes what it can, unless it is known."""
    assert parse_recording_id(written, dataset) == parts
