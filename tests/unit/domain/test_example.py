from __future__ import annotations

from evalharness.domain.example import Example, merge_examples
from evalharness.domain.transcript import ToolCall


def test_what_several_graders_want_is_put_together() -> None:
    search, read = ToolCall(name="search"), ToolCall(name="read")
    merged = merge_examples(
        [
            Example(holds=("a",), files={"x": "1", "y": "2"}, tool_calls=(search,)),
            Example(),
            Example(starts=("b",), exit_code=3, files={"y": "3", "x": "1"}, tool_calls=(read,)),
        ]
    )
    assert merged == Example(
        starts=("b",), holds=("a",), exit_code=3, files={"x": "1", "y": "2\n3"}, tool_calls=(search, read)
    )
    assert merged is not None
    assert merged.output == "b a"


def test_nothing_is_known_where_one_is_unknown_or_two_differ() -> None:
    assert merge_examples([Example(files={"a": ""}), None]) is None
    assert merge_examples([Example(whole="a"), Example(whole="b")]) is None
    assert merge_examples([]) == Example()
