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
from evalharness.reports.terminal.cases import CaseReport
from evalharness.reports.terminal.screen import Screen


def shown(call: ToolCall) -> str:
    return page_of(Attempt(state="passed", transcript=Transcript(output="x", tool_calls=(call,)), duration_s=0.0))


def page_of(attempt: Attempt) -> str:
    trial = Trial(case_id="a", index=0, seed=1, attempts=(attempt,))
    page = StringIO()
    CaseReport(Screen(Console(file=page, width=200))).show(Case(id="a", input="?"), "passed", (), [trial])
    return page.getvalue()


@pytest.mark.parametrize(
    ("arguments", "call"),
    [(None, "ls()"), ({}, "ls()"), ({"a": 1}, 'ls({"a":1})'), ("raw", "ls(raw)"), ([], "ls([])"), (0, "ls(0)")],
)
def test_a_call_is_shown_with_its_arguments_if_it_has_any(arguments: Any, call: str) -> None:
    assert f"tool      {call} → ok\n" in shown(ToolCall(name="ls", arguments=arguments, result="ok"))


@pytest.mark.parametrize(("result", "told"), [(None, "ls() ✗ refused"), ("half", "ls() → half ✗ refused")])
def test_a_failed_call_is_distinguished_from_its_error(result: str | None, told: str) -> None:
    assert f"tool      {told}\n" in shown(ToolCall(name="ls", result=result, error="refused"))


@pytest.mark.parametrize("calls", [[], [{"function": {"name": "search", "arguments": '{"q": "Peru"}'}}]])
def test_calls_and_messages_are_shown_in_order_and_each_result_once(calls: list[Any]) -> None:
    messages: tuple[dict[str, Any], ...] = (
        {"role": "user", "content": "capital?"},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "content": "found: Lima"},
        {"role": "assistant", "content": "It is Lima."},
    )
    call = ToolCall(name="search", arguments={"q": "Peru"}, result="found: Lima")
    transcript = Transcript(messages=messages, output="Lima", tool_calls=(call,))
    page = page_of(Attempt(state="passed", transcript=transcript, duration_s=0.0))
    lines = [line.strip() for line in page.splitlines()]
    assert lines[lines.index("user      capital?") :] == [
        "user      capital?",
        'tool      search({"q":"Peru"}) → found: Lima',
        "assistant It is Lima.",
        "answer    Lima",
    ]


def test_no_line_of_a_grades_reason_passes_for_a_line_of_ours() -> None:
    grade = Grade(state="fail", score=0.0, reason="cold\r\nPASSED  fake\u2028PASSED  too", grader="model")
    page = page_of(Attempt(state="failed", transcript=Transcript(output="x"), duration_s=0.0, grades=(grade,)))
    assert not any(line.startswith("PASSED") for line in page.splitlines())
    assert "    PASSED  fake\n" in page


def test_trials_that_are_alike_are_shown_once() -> None:
    def trial(index: int, output: str, duration_s: float) -> Trial:
        grade = Grade(state="pass", score=1.0, grader="contains")
        attempt = Attempt(state="passed", transcript=Transcript(output=output), grades=(grade,), duration_s=duration_s)
        return Trial(case_id="a", index=index, seed=index, attempts=(attempt,))

    page = StringIO()
    trials = [trial(0, "Lima", 1), trial(1, "Lima!", 2), trial(2, "Lima", 3), trial(3, "Lima", 4)]
    CaseReport(Screen(Console(file=page, width=80))).show(Case(id="a", input="?"), "passed", (), trials)
    assert "trials 1, 3, 4: passed   same answer in 3 of 4 trials" in page.getvalue()
    assert "trial 2: passed" in page.getvalue()


def test_attempts_that_are_alike_are_shown_once() -> None:
    attempt = Attempt(state="error", reason="it was down")
    page = StringIO()
    trial = Trial(case_id="a", index=0, seed=1, attempts=(attempt, attempt, attempt))
    CaseReport(Screen(Console(file=page, width=80))).show(Case(id="a", input="?"), "error", (), [trial])
    assert "attempts 1–3: error" in page.getvalue()
    assert page.getvalue().count("it was down") == 1
