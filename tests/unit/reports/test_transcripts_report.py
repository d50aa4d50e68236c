"""How a transcript is shown: a tool call as one would write it."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from evalharness.domain.case import Case
from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.domain.trial import Attempt, Trial
from evalharness.reports.screen import Screen
from evalharness.reports.transcripts import TranscriptReport


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [(None, "ls()"), ({}, "ls()"), ({"a": 1}, 'ls({"a":1})'), ("raw", "ls(raw)"), ([], "ls([])"), (0, "ls(0)")],
)
def test_a_call_is_shown_with_its_arguments_if_it_has_any(arguments: Any, shown: str) -> None:
    transcript = Transcript(output="x", tool_calls=(ToolCall(name="ls", arguments=arguments, result="ok"),))
    attempt = Attempt(state="passed", transcript=transcript, duration_s=0.0)
    trial = Trial(case_id="a", index=0, seed=1, attempts=(attempt,))
    page = StringIO()
    TranscriptReport(Screen(Console(file=page, width=200))).show_case(Case(id="a", input="?"), [trial])
    assert f"tool: {shown} → ok\n" in page.getvalue()
