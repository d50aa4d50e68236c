"""How a transcript is shown: a tool call looks like a call in code."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.domain.trial import Attempt, Trial
from evalharness.reports.screen import Screen
from evalharness.reports.transcripts import TranscriptReport


def shown(call: ToolCall) -> str:
    return page_of(Attempt(state="passed", transcript=Transcript(output="x", tool_calls=(call,)), duration_s=0.0))


def page_of(attempt: Attempt) -> str:
    trial = Trial(case_id="a", index=0, seed=1, attempts=(attempt,))
    page = StringIO()
    TranscriptReport(Screen(Console(file=page, width=200))).show_case(Case(id="a", input="?"), [trial])
    return page.getvalue()


@pytest.mark.parametrize(
    ("arguments", "call"),
    [(None, "ls()"), ({}, "ls()"), ({"a": 1}, 'ls({"a":1})'), ("raw", "ls(raw)"), ([], "ls([])"), (0, "ls(0)")],
)
def test_a_call_is_shown_with_its_arguments_if_it_has_any(arguments: Any, call: str) -> None:
    assert f"tool: {call} → ok\n" in shown(ToolCall(name="ls", arguments=arguments, result="ok"))


@pytest.mark.parametrize(("result", "told"), [(None, "ls() ✗ refused"), ("half", "ls() → half ✗ refused")])
def test_a_failed_call_is_distinguished_from_its_error(result: str | None, told: str) -> None:
    assert f"tool: {told}\n" in shown(ToolCall(name="ls", result=result, error="refused"))


def test_no_line_of_a_grades_reason_passes_for_a_line_of_ours() -> None:
    grade = Grade(state="fail", score=0.0, reason="cold\r\nPASSED  fake\u2028PASSED  too", grader="model")
    page = page_of(Attempt(state="failed", transcript=Transcript(output="x"), duration_s=0.0, grades=(grade,)))
    assert not any(line.startswith("PASSED") for line in page.splitlines())
    assert "    PASSED  fake\n" in page
