"""Nothing that is printed becomes a workflow command of GitHub Actions, however it is cut into pieces."""

from __future__ import annotations

import io
import re

from hypothesis import given
from hypothesis import strategies as st

from evalharness.reports.workflow_commands import DisarmedStream, WorkflowCommand

PIECES = st.lists(
    st.one_of(
        st.sampled_from(["::", ":", "error::x", "##", "#", "[", "]", "\n", "\r", " ", "\t", "\u200b", "\ufeff", "a"]),
        st.text(max_size=4),
    ),
    max_size=20,
)


def printed(*pieces: str) -> str:
    stream = io.StringIO(newline="")
    disarmed = DisarmedStream(stream)
    for piece in pieces:
        assert disarmed.write(piece) == len(piece)
    return stream.getvalue()


def is_obeyed(line: str) -> bool:
    """As the runner reads lines; characters without width may not count for it."""
    return line.strip().lstrip("\u200b\ufeff\u00ad").lstrip().startswith("::") or "##[" in line


@given(PIECES)
def test_no_line_is_a_command_and_no_character_is_lost(pieces: list[str]) -> None:
    text = printed(*pieces)
    assert not any(map(is_obeyed, re.split("[\r\n]", text)))
    assert text.replace(" ", "") == "".join(pieces).replace(" ", "")


@given(st.text(alphabet=st.characters(exclude_characters=":#"), max_size=50))
def test_all_else_is_printed_as_it_is(text: str) -> None:
    assert printed(text) == text


def test_commands_of_an_answer_are_made_readable() -> None:
    assert printed("  ::set-output name=x::y\n") == "  : :set-output name=x::y\n"
    assert printed("done ##[add-mask]x\n") == "done ## [add-mask]x\n"
    assert printed("std::vector and a::b\n") == "std::vector and a::b\n"


def test_our_own_commands_begin_a_line_and_pass() -> None:
    command = WorkflowCommand("::error::x\n")
    assert printed("unfinished", command, "::error::y\n") == "unfinished\n::error::x\n: :error::y\n"
