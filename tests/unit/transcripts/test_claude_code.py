from __future__ import annotations

import json
from typing import Any

import pytest
from agent_streams import (
    ANSWER,
    CLAUDE_CODE,
    CLAUDE_EVENTS,
    CLAUDE_RESULT,
    PLAN,
    claude_message,
    lines,
    tool_result,
    tool_use,
)

from evalharness.domain.transcript import ToolCall, Usage, errors_of
from evalharness.transcripts.claude_code import parse


def said(text: str, **more: Any) -> dict[str, Any]:
    return claude_message("assistant", {"type": "text", "text": text}, **more)


def test_what_the_result_reports() -> None:
    found = parse(CLAUDE_CODE)
    assert found.output == ANSWER
    assert found.usage == Usage(input_tokens=12 + 100 + 2000, output_tokens=77)
    assert found.cost_usd == 0.0123


def test_files_are_followed_through_writes_and_edits() -> None:
    assert parse(CLAUDE_CODE).files == {"notes.txt": PLAN}


@pytest.mark.parametrize(
    ("use", "result", "files"),
    [
        (tool_use("t", "Write", file_path="/etc/x", content="a"), tool_result("t", "ok"), {"/etc/x": "a"}),
        (tool_use("t", "Write", file_path="/work/x", content="a"), tool_result("t", "no", is_error=True), {}),
        (tool_use("t", "Write", file_path="/work/x", content="a"), tool_result("other", "ok"), {}),
        (tool_use("t", "Edit", file_path="/work/x", old_string="a", new_string="b"), tool_result("t", "ok"), {}),
        (tool_use("t", "Write", file_path="/work/x", content=["a"]), tool_result("t", "ok"), {}),
    ],
)
def test_only_what_was_really_written_and_is_wholly_known_counts(use: Any, result: Any, files: Any) -> None:
    init = CLAUDE_EVENTS[0]
    found = parse(lines(init, claude_message("assistant", use), claude_message("user", result), said("done")))
    assert found.files == files


def test_several_edits_at_once() -> None:
    write = tool_use("t", "Write", file_path="x", content="a a b")
    edits = [
        {"old_string": "a", "new_string": "c", "replace_all": True},
        {"old_string": "c", "new_string": "d"},
    ]
    found = parse(
        lines(
            claude_message("assistant", write, tool_use("u", "MultiEdit", file_path="x", edits=edits)),
            claude_message("user", tool_result("t", "ok"), tool_result("u", "ok")),
        )
    )
    assert found.files == {"x": "d c b"}


def test_thinking_goes_with_what_was_said_next() -> None:
    assert parse(CLAUDE_CODE).messages[0]["reasoning_content"] == "First the file."


def test_calls() -> None:
    assert [call.name for call in parse(CLAUDE_CODE).tool_calls] == ["Write", "Edit", "Bash"]
    failed = parse(CLAUDE_CODE).tool_calls[-1]
    assert failed == ToolCall(
        name="Bash",
        arguments={"command": "make check"},
        result="no rule to make check",
        error="no rule to make check",
    )


def test_of_a_sub_agent_only_the_calls_are_taken() -> None:
    inner = {"parent_tool_use_id": "t1"}
    found = parse(
        lines(
            claude_message("assistant", tool_use("t1", "Task", prompt="look around")),
            claude_message("user", {"type": "text", "text": "look around"}, **inner),
            claude_message("assistant", tool_use("t2", "Grep", pattern="x"), **inner),
            claude_message("user", tool_result("t2", "3 files"), **inner),
            said("I found 3 files.", **inner),
            claude_message("user", tool_result("t1", "I found 3 files.")),
            said("Three."),
        )
    )
    assert [(call.name, call.result) for call in found.tool_calls] == [
        ("Task", "I found 3 files."),
        ("Grep", "3 files"),
    ]
    assert [message["content"] for message in found.messages] == ["", "I found 3 files.", "Three."]
    assert found.output == "Three."


def test_a_cut_stream_reports_what_its_messages_report() -> None:
    found = parse(lines(*CLAUDE_EVENTS))
    assert found.output == ANSWER
    assert found.usage == Usage(input_tokens=4 * 43, output_tokens=4 * 5), "a message in pieces counts once"
    assert found.cost_usd is None


@pytest.mark.parametrize(
    ("result", "errors", "output"),
    [
        ({"subtype": "error_max_turns", "is_error": False}, ["error_max_turns"], "half"),
        ({"subtype": "error_during_execution", "errors": ["a", "b"]}, ["a; b"], "half"),
        ({"subtype": "success", "is_error": True, "result": "API Error: 500"}, ["API Error: 500"], "half"),
        ({"subtype": "success", "is_error": True, "result": "half"}, ["half"], ""),
    ],
)
def test_errors_of_the_result(result: Any, errors: list[str], output: str) -> None:
    found = parse(lines(said("half"), {"type": "result", **result}))
    assert (errors_of(found), found.output) == (errors, output)


def test_structured_output_is_the_answer() -> None:
    assert parse(lines({**CLAUDE_RESULT, "structured_output": {"total": 3}})).output == {"total": 3}


def test_the_single_object_of_output_format_json() -> None:
    found = parse(json.dumps(CLAUDE_RESULT, indent=1))
    assert (found.output, found.cost_usd) == (ANSWER, 0.0123)


def test_partial_messages_are_not_kept() -> None:
    partial = {"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"text": "h"}}}
    assert parse(lines(partial, said("hi"))).events == (said("hi"),)
