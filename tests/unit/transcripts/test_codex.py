from __future__ import annotations

from typing import Any

import pytest
from agent_streams import ANSWER, CODEX, CODEX_FIRST_FORM, PLAN, lines

from evalharness.domain.transcript import ToolCall, Usage, errors_of
from evalharness.transcripts.codex import parse


def item(kind: str, state: str = "completed", **more: Any) -> dict[str, Any]:
    return {"type": f"item.{state}", "item": {"id": "i", "type": kind, **more}}


def first(kind: str, **more: Any) -> dict[str, Any]:
    return {"id": "0", "msg": {"type": kind, **more}}


def test_calls_are_named_as_the_stream_names_them() -> None:
    assert parse(CODEX).tool_calls == (
        ToolCall(
            name="command_execution",
            arguments={"command": "bash -lc 'make check'"},
            result="no rule to make check",
            error="exit code 2",
        ),
        ToolCall(name="file_change", arguments={"changes": [{"path": "/work/notes.txt", "kind": "add"}]}),
        ToolCall(name="docs.search", arguments={"q": "milk"}, result="found"),
    )


def test_the_first_form_gives_the_same_kinds_of_calls() -> None:
    found = parse(CODEX_FIRST_FORM)
    assert [(call.name, call.result, call.error) for call in found.tool_calls] == [
        ("file_change", None, ""),
        ("command_execution", "no rule", "exit code 2"),
        ("docs.search", None, "server is gone"),
    ]
    assert found.tool_calls[1].arguments == {"command": "make check"}
    assert found.messages[0] == {"role": "user", "content": "Make the notes."}
    assert (found.output, found.usage) == (ANSWER, Usage(input_tokens=500, output_tokens=60))
    assert found.files == {"notes.txt": PLAN}


@pytest.mark.parametrize(
    ("end", "files"),
    [
        ({"success": True}, {"a.txt": "x"}),
        ({"success": False, "stderr": "does not apply"}, {}),
    ],
)
def test_files_of_a_patch(end: dict[str, Any], files: dict[str, str]) -> None:
    changes = {"a.txt": {"type": "add", "content": "x"}, "b.txt": {"type": "update", "unified_diff": "@@"}}
    found = parse(
        lines(
            first("patch_apply_begin", call_id="c", changes=changes),
            first("patch_apply_end", call_id="c", **end),
        )
    )
    assert found.files == files
    assert found.tool_calls[0].error == end.get("stderr", "")


def test_a_file_that_is_changed_afterwards_is_not_known_any_more() -> None:
    add = {"a.txt": {"add": {"content": "x"}}}
    update = {"a.txt": {"update": {"unified_diff": "@@"}}}
    steps = [
        first(f"patch_apply_{end}", call_id=call_id, success=True, changes=changes)
        for call_id, changes in (("c", add), ("d", update))
        for end in ("begin", "end")
    ]
    assert parse(lines(*steps[:2])).files == {"a.txt": "x"}
    assert parse(lines(*steps)).files == {}


def test_usage_is_the_last_total_of_each_thread() -> None:
    """Every `turn.completed` contains the total of its thread so far."""

    def turn(tokens: int) -> dict[str, Any]:
        return {"type": "turn.completed", "usage": {"input_tokens": tokens, "output_tokens": tokens // 10}}

    def thread(name: str) -> dict[str, Any]:
        return {"type": "thread.started", "thread_id": name}

    found = parse(lines(thread("a"), turn(100), thread("a"), turn(250), thread("b"), turn(30)))
    assert found.usage == Usage(input_tokens=280, output_tokens=28)


@pytest.mark.parametrize(
    ("events", "errors"),
    [
        ([{"type": "error", "message": "quota"}], ["quota"]),
        ([{"type": "turn.failed", "error": {"message": "quota"}}], ["quota"]),
        ([{"type": "error", "message": "quota"}, {"type": "turn.failed", "error": {"message": "quota"}}], ["quota"]),
        ([item("error", message="odd config")], ["odd config"]),
        ([first("error", message="quota")], ["quota"]),
        ([first("turn_aborted", reason="interrupted")], ["turn aborted: interrupted"]),
        ([{"type": "turn.failed"}], ["unknown error"]),
    ],
)
def test_errors(events: list[dict[str, Any]], errors: list[str]) -> None:
    found = parse(lines(*events))
    assert (errors_of(found), found.output) == (errors, "")


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({"exit_code": 0, "status": "completed"}, ""),
        ({"exit_code": 1, "status": "failed"}, "exit code 1"),
        ({"exit_code": None, "status": "declined"}, "declined"),
    ],
)
def test_how_a_command_ended(told: dict[str, Any], error: str) -> None:
    [call] = parse(lines(item("command_execution", command="x", aggregated_output="out", **told))).tool_calls
    assert (call.result, call.error) == ("out", error)


def test_a_command_that_never_ended_is_still_a_call() -> None:
    [call] = parse(lines(item("command_execution", "started", command="sleep 9"))).tool_calls
    assert call == ToolCall(name="command_execution", arguments={"command": "sleep 9"})


def test_an_item_is_one_call_however_often_it_is_reported() -> None:
    states = ("started", "updated", "updated", "completed")
    found = parse(lines(*(item("web_search", state, query="milk") for state in states)))
    assert [(call.name, call.arguments) for call in found.tool_calls] == [("web_search", {"query": "milk"})]


def test_items_of_another_release() -> None:
    told = {"type": "item.completed", "item": {"id": "i", "item_type": "assistant_message", "text": "hi"}}
    assert parse(lines(told)).output == "hi"
