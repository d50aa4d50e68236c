"""The first step at which two transcripts differ."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.engine.comparing import divergence
from evalharness.reports.words.say import say


def first_divergence(old: Transcript, new: Transcript) -> str:
    return say(divergence.first_divergence(old, new))


def said(content: str, *calls: tuple[str, str]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [{"function": {"name": name, "arguments": given}} for name, given in calls]
    return message


def calling(*names: str, output: str = "done") -> Transcript:
    return Transcript(output=output, tool_calls=tuple(ToolCall(name=name, arguments={"q": "x"}) for name in names))


def test_the_first_call_that_differs() -> None:
    old, new = calling("open", "read", "search"), calling("open", "read", "fetch")
    assert first_divergence(old, new) == 'step 3: search({"q": "x"}) before, now fetch({"q": "x"})'


def test_other_arguments_are_another_step_but_their_order_is_none() -> None:
    one = Transcript(output="", tool_calls=(ToolCall(name="f", arguments={"a": 1, "b": 2}),))
    same = Transcript(output="", tool_calls=(ToolCall(name="f", arguments={"b": 2, "a": 1}),))
    other = Transcript(output="", tool_calls=(ToolCall(name="f", arguments={"a": 1, "b": True}),))
    assert first_divergence(one, same) == ""
    assert first_divergence(one, other) == 'step 1: f({"a": 1, "b": 2}) before, now f({"a": 1, "b": true})'


def test_a_run_that_answers_sooner() -> None:
    assert first_divergence(calling("open", "read"), calling("open", output="no idea")) == (
        'step 2: read({"q": "x"}) before, now answer "no idea"'
    )


def test_the_same_steps_with_another_answer() -> None:
    assert first_divergence(calling("open"), calling("open", output="undone")) == (
        'same steps, different answer: "done" before, now "undone"'
    )
    assert first_divergence(Transcript(output=4), Transcript(output=5)) == 'different answer: "4" before, now "5"'


def test_equal_transcripts_do_not_part() -> None:
    assert first_divergence(calling("open"), calling("open")) == ""
    assert first_divergence(Transcript(output="a  b\n"), Transcript(output="a b")) == "", "white space is not a step"


def test_calls_are_where_the_messages_have_them() -> None:
    def transcript(second: str) -> Transcript:
        messages = (
            {"role": "user", "content": "go"},
            said("I look.", ("search", '{"q": 1}')),
            {"role": "tool", "content": "found"},
            said(second, ("fetch", "{}")),
            said("done"),
        )
        calls = (ToolCall(name="search", arguments={"q": 1}), ToolCall(name="fetch", arguments={}))
        return Transcript(output="done", messages=messages, tool_calls=calls)

    assert first_divergence(transcript("Now this."), transcript("Now that.")) == (
        'step 3: said "Now this." before, now said "Now that."'
    )


def test_what_tools_returned_is_not_a_step_of_the_agent() -> None:
    old = Transcript(output="a", tool_calls=(ToolCall(name="f", result="1"),))
    new = Transcript(output="a", tool_calls=(ToolCall(name="f", result="2"),))
    assert first_divergence(old, new) == ""


def test_calls_that_only_the_messages_mention_are_seen() -> None:
    old = Transcript(output="a", messages=(said("", ("f", '{"x": 1}'), ("g", "no json")),))
    new = Transcript(output="a", messages=(said("", ("f", '{"x":1}'), ("g", "none")),))
    assert first_divergence(old, new) == 'step 2: g("no json") before, now g("none")'


def test_long_steps_are_cut_so_that_the_difference_is_seen() -> None:
    beginning = "the same words " * 40
    told = first_divergence(Transcript(output=beginning + "left"), Transcript(output=beginning + "right"))
    assert 'left" before' in told
    assert 'right"' in told
    assert len(told) < 200


@pytest.mark.parametrize("common", [0, 7, 45, 60, 200])
@pytest.mark.parametrize("rest", [0, 10, 300])
def test_the_place_that_differs_is_shown_in_both_however_long_the_word(common: int, rest: int) -> None:
    def searching(differing: str) -> Transcript:
        arguments = {"q": "s" * common + differing + "e" * rest}
        return Transcript(output="", tool_calls=(ToolCall(name="search", arguments=arguments),))

    before, now = first_divergence(searching("OLD"), searching("NEW")).split(" before, now ")
    assert "OLD" in before
    assert "NEW" in now
    assert len(before) < 120 and len(now) < 120
    assert ("…" in now) is (common + rest >= 70)


def test_a_short_word_beside_a_long_one() -> None:
    old = Transcript(output="", tool_calls=(ToolCall(name="search", arguments={"q": "a"}),))
    new = Transcript(output="", tool_calls=(ToolCall(name="search", arguments={"q": "b" * 200}),))
    told = f'step 1: search({{"q": "a"}}) before, now search({{"q": "{"b" * 20}…)'
    assert first_divergence(old, new) == told


def test_the_word_answer_within_an_answer_is_shown() -> None:
    told = first_divergence(Transcript(output="my answer is 4"), Transcript(output="my answer is 5"))
    assert told == 'different answer: "my answer is 4" before, now "my answer is 5"'


def test_strange_messages_are_not_a_reason_to_fail() -> None:
    odd = Transcript(
        output=None,
        messages=(
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "hi"}, "x"],
                "tool_calls": ["x", {"function": 3}],
            },
            {"content": None},
        ),
    )
    assert first_divergence(odd, Transcript()) == 'step 1: said "hi" before, now answer ""'


def test_of_a_trial_without_an_answer_only_the_reason_is_known() -> None:
    assert say(divergence.without_answer(calling("open"), "the target raised\nValueError: no")) == (
        'step 1: open({"q": "x"}) before, now no step is known: the target raised ValueError: no'
    )
    assert say(divergence.without_answer(Transcript(output="4"), "time limit of 5 s")) == (
        'answer "4" before, now no answer: time limit of 5 s'
    )
