"""What Python targets return, as a transcript."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness.domain.transcript import Answer, ToolCall, Transcript, Usage
from evalharness.errors import ImpossibleFigure, TargetFailed
from evalharness.targets.answers import transcript_of


def with_file(text: Any) -> Transcript:
    answer = Transcript(output="x")
    answer.files["n.txt"] = text
    return answer


class Reply(str):
    """A str subclass with its own behaviour."""

    def __str__(self) -> str:
        return "another"

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


@pytest.mark.parametrize(
    ("returned", "place"),
    [
        (with_file(3), r"files\[\"n.txt\"\]: must be text, not 3"),
        (Transcript(output="x").model_copy(update={"stdout": None}), "stdout"),
        (Answer(output="x", tool_calls=(ToolCall.model_construct(name=5, arguments=1, result=2, error=""),)), "name"),
        (Answer(output="x").model_copy(update={"tool_calls": None}), "tool_calls"),
    ],
)
def test_an_answer_that_was_put_together_unchecked_is_checked(returned: Answer, place: str) -> None:
    with pytest.raises(TargetFailed, match=f"the answer has the wrong shape: .*{place}"):
        transcript_of(returned)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (Transcript(output="x").model_copy(update={"cost_usd": "dear"}), "cost_usd cannot be the text 'dear'"),
        (
            Answer(output="x", usage=Usage.model_construct(input_tokens="few", output_tokens=0)),
            "usage.input_tokens cannot be the text 'few'",
        ),
        (Answer(output="x").model_copy(update={"usage": "many"}), "usage cannot be the text 'many'"),
        (Answer(output="x").model_copy(update={"cost_usd": True}), "cost_usd cannot be true"),
    ],
)
def test_a_figure_that_is_no_number_is_no_wrong_answer(returned: Answer, said: str) -> None:
    with pytest.raises(ImpossibleFigure, match=f"the answer's {said}"):
        transcript_of(returned)


class Sure(Answer):
    confidence: float = 0.5


def test_fields_of_ones_own_are_left_out() -> None:
    assert transcript_of(Sure(output="x", confidence=0.9)) == Transcript(output="x")


def test_what_was_put_into_an_answer_later_is_kept() -> None:
    assert transcript_of(with_file("text")) == Transcript(output="x", files={"n.txt": "text"})


def test_a_text_is_plain_text_whatever_its_class() -> None:
    for returned in (Reply("said"), Answer(output=Reply("said")), Transcript(output=Reply("said"))):
        output = transcript_of(returned).output
        assert type(output) is str
        assert output == "said"


def nested(levels: int) -> Any:
    return [nested(levels - 1)] if levels else 1


@pytest.mark.parametrize("told", ["an integer of more than", "nested too deeply"])
def test_what_could_not_be_read_back_as_it_was_is_not_an_answer(told: str) -> None:
    value = nested(190) if "nested" in told else 10**4300
    for returned in (value, Answer(output=value)):
        with pytest.raises(TargetFailed, match=told):
            transcript_of(returned)
