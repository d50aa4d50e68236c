from __future__ import annotations

import json
from typing import Any

import pytest
from agent_streams import ANSWER, OTEL_GENAI, OTEL_INPUT, OTEL_OUTPUT, SPANS, chat, lines, otlp_span, tool

from evalharness.domain.transcript import ToolCall, Usage, errors_of
from evalharness.transcripts.otel_genai import parse


def flat(name: str, start: str, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """As the Python SDK prints spans."""
    context = {"trace_id": "0x1", "span_id": f"0x{start}"}
    return {
        "name": name,
        "context": context,
        "start_time": f"2025-01-01T00:00:{start}Z",
        "attributes": attributes,
        **more,
    }


def test_spans_are_read_in_the_order_of_time() -> None:
    found = parse(OTEL_GENAI)
    assert found.output == ANSWER
    assert found.tool_calls == (
        ToolCall(name="write_file", arguments={"path": "notes.txt"}, result="written"),
        ToolCall(name="shell", arguments={"cmd": "make check"}, error="no rule to make check"),
    )
    assert found.usage == Usage(input_tokens=100, output_tokens=15)
    assert [event["name"] for event in found.events] == [SPANS[n]["name"] for n in (1, 2, 3, 0)]


def test_a_file_of_exports_one_a_line() -> None:
    exports = [{"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]} for span in SPANS]
    assert parse(lines(*exports)) == parse(OTEL_GENAI)
    assert parse(json.dumps(SPANS)) == parse(OTEL_GENAI)


def test_without_spans_of_tools_the_calls_are_those_of_the_messages() -> None:
    told = chat(**{"gen_ai.input.messages": OTEL_INPUT, "gen_ai.output.messages": json.dumps(OTEL_OUTPUT)})
    found = parse(json.dumps([flat("chat m", "01", told)], indent=4))
    assert [(call.name, call.result) for call in found.tool_calls] == [
        ("write_file", "written"),
        ("shell", "no rule to make check"),
    ]
    assert found.output == ANSWER


def test_spans_printed_one_after_another() -> None:
    told = [chat(**{"gen_ai.usage.input_tokens": number}) for number in (1, 2)]
    printed = "\n".join(json.dumps(flat("chat m", f"0{n}", each), indent=4) for n, each in enumerate(told))
    assert parse(printed).usage == Usage(input_tokens=3)


def test_the_agents_own_span_reports_conversation_and_not_the_tokens_twice() -> None:
    def spoken(text: str, tokens: int) -> dict[str, Any]:
        output = [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]
        return {"gen_ai.output.messages": output, "gen_ai.usage.input_tokens": tokens}

    agent = flat("invoke_agent a", "01", {"gen_ai.operation.name": "invoke_agent", **spoken("whole", 30)})
    model = flat("chat m", "02", chat(**spoken("part", 30)), parent_id="0x01")
    found = parse(lines(agent, model))
    assert (found.output, found.usage) == ("whole", Usage(input_tokens=30))
    assert parse(lines(agent)).usage == Usage(input_tokens=30)


def test_span_events_of_the_older_conventions() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look_up", "arguments": '{"q": 1}'}}
    events = [
        {"name": "gen_ai.system.message", "attributes": {"content": "Be brief."}},
        {"name": "gen_ai.user.message", "attributes": {"content": "What is q?"}},
        {"name": "gen_ai.assistant.message", "attributes": {"tool_calls": json.dumps([call])}},
        {"name": "gen_ai.tool.message", "attributes": {"id": "c", "content": "found"}},
        {"name": "gen_ai.choice", "attributes": {"index": 0, "message": json.dumps({"content": "It is 1."})}},
    ]
    usage = {"gen_ai.usage.prompt_tokens": 4, "gen_ai.usage.completion_tokens": 2}
    found = parse(lines(flat("chat m", "01", chat(**usage), events=events)))
    assert found.output == "It is 1."
    assert [message["role"] for message in found.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert found.tool_calls == (ToolCall(name="look_up", arguments={"q": 1}, result="found"),)
    assert found.usage == Usage(input_tokens=4, output_tokens=2)


def test_details_may_be_reported_by_an_event() -> None:
    told = {
        "gen_ai.system_instructions": [{"type": "text", "content": "Be brief."}],
        "gen_ai.output.messages": OTEL_OUTPUT,
    }
    details = {"name": "gen_ai.client.inference.operation.details", "attributes": told}
    found = parse(lines(flat("chat m", "01", chat(), events=[details])))
    assert [(message["role"], message["content"]) for message in found.messages] == [
        ("system", "Be brief."),
        ("assistant", ANSWER),
    ]


@pytest.mark.parametrize(
    ("more", "errors"),
    [
        ({"status": {"status_code": "ERROR", "description": "quota"}}, ["quota"]),
        ({"status": {"code": "STATUS_CODE_ERROR"}}, ["timeout"]),
        ({"status": {"status_code": "UNSET"}}, []),
        ({}, []),
    ],
)
def test_errors_of_models(more: dict[str, Any], errors: list[str]) -> None:
    assert errors_of(parse(lines(flat("chat m", "01", chat(**{"error.type": "timeout"}), **more)))) == errors


def test_an_exception_is_the_reason_where_the_status_has_none() -> None:
    raised = {"name": "exception", "attributes": {"exception.type": "KeyError", "exception.message": "'q'"}}
    span = flat("execute_tool t", "01", tool("t", "c"), status={"status_code": "ERROR"}, events=[raised])
    found = parse(lines(span))
    assert (found.tool_calls[0].error, errors_of(found)) == ("'q'", [])


def test_costs_are_added_up() -> None:
    spans = [otlp_span("chat m", start, attributes=chat(**{"gen_ai.usage.cost": 0.25})) for start in (1, 2)]
    assert parse(lines(*spans)).cost_usd == 0.5
