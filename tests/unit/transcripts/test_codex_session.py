"""The file that Codex saves of a session: what the user wrote, and what the model did."""

from __future__ import annotations

from agent_streams import CODEX_SESSION, CODEX_SESSION_EVENTS, lines

from evalharness.transcripts.codex_session import parse


def test_it_has_what_the_user_wrote_without_what_codex_adds() -> None:
    asked = [("user", "Make the notes.")]
    for kept in (CODEX_SESSION_EVENTS, [each for each in CODEX_SESSION_EVENTS if each["type"] != "event_msg"]):
        found = parse(lines(*kept))
        assert [(m["role"], m["content"]) for m in found.messages if m["role"] in ("user", "system")] == asked


def test_calls_have_the_names_of_the_model_and_say_how_they_failed() -> None:
    patch, check = parse(CODEX_SESSION).tool_calls
    assert (patch.name, patch.arguments, patch.result) == ("apply_patch", {"input": "*** Begin Patch"}, "Success")
    assert (check.name, check.arguments) == ("shell", {"command": ["make", "check"]})
    assert (check.result, check.error) == ("no rule to make check", "exit code 2")


def test_other_calls_and_odd_values_are_read_as_far_as_they_go() -> None:
    def item(**payload: object) -> dict[str, object]:
        return {"type": "response_item", "payload": payload}

    action = {"type": "exec", "command": ["ls"]}
    found = parse(
        lines(
            item(type="local_shell_call", call_id="a", action=action),
            item(type="function_call_output", call_id="a", output=[{"type": "input_text", "text": "x.txt"}]),
            item(type="web_search_call", action={"type": "search", "query": "milk"}),
            item(type="message", role="user", content=None),
            item(type="message", role="assistant", content="done"),
            {"type": "event_msg", "payload": {"type": "turn_aborted", "reason": "interrupted"}},
            {"type": "response_item", "payload": 3},
        )
    )
    assert [(call.name, call.arguments, call.result) for call in found.tool_calls] == [
        ("shell", {"command": ["ls"]}, "x.txt"),
        ("web_search", {"query": "milk"}, None),
    ]
    assert found.output == "done" and found.usage is None
    assert {"type": "error", "message": "turn aborted: interrupted"} in found.events
