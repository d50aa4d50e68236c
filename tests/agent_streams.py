"""Streams in the format of real agents, written for the tests: the same small job, done by each agent.

The job: create notes.txt with a plan in it, run a command that fails, and say `All done.`
"""

from __future__ import annotations

import json
from typing import Any

PLAN = "buy milk\n"
ANSWER = "All done."


def lines(*events: dict[str, Any]) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def docker_call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


WRITE = docker_call("call_1", "write_file", json.dumps({"path": "notes.txt", "content": PLAN}))
SHELL = docker_call("call_2", "shell", '{"cmd": "make check"}')

DOCKER_AGENT = lines(
    {"type": "team_info", "available_agents": [{"name": "root"}], "current_agent": "root"},
    {"type": "user_message", "message": "Make the notes."},
    {"type": "stream_started", "session_id": "s1", "agent_name": "root"},
    {"type": "agent_choice_reasoning", "content": "First the ", "agent_name": "root"},
    {"type": "agent_choice_reasoning", "content": "file.", "agent_name": "root"},
    {"type": "agent_choice", "content": "I write ", "agent_name": "root"},
    {"type": "agent_choice", "content": "it. ", "agent_name": "root"},
    {"type": "partial_tool_call", "tool_call": docker_call("call_1", "write_file", '{"pa'), "agent_name": "root"},
    {"type": "tool_call", "tool_call": WRITE, "tool_definition": {"name": "write_file"}, "agent_name": "root"},
    {"type": "token_usage", "session_id": "s1", "usage": {"input_tokens": 100, "output_tokens": 10, "cost": 0.01}},
    {"type": "tool_call_response", "tool_call_id": "call_1", "response": "written", "agent_name": "root"},
    {"type": "tool_call", "tool_call": SHELL, "agent_name": "root"},
    {
        "type": "tool_call_response",
        "tool_call": SHELL,
        "response": "no rule to make check",
        "result": {"output": "no rule to make check", "isError": True},
    },
    {"type": "agent_choice", "content": ANSWER, "agent_name": "root"},
    {"type": "token_usage", "session_id": "s1", "usage": {"input_tokens": 250, "output_tokens": 30, "cost": 0.03}},
    {"type": "stream_stopped", "session_id": "s1", "agent_name": "root"},
)


def claude_message(role: str, *blocks: dict[str, Any], message_id: str = "m1", **more: Any) -> dict[str, Any]:
    usage = {"usage": {"input_tokens": 3, "cache_read_input_tokens": 40, "output_tokens": 5}}
    about = {"id": message_id, "model": "some-model", **usage} if role == "assistant" else {}
    message = {"role": role, "content": list(blocks), **about}
    return {"type": role, "message": message, "parent_tool_use_id": None, "session_id": "s1", **more}


def tool_use(call_id: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def tool_result(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


CLAUDE_RESULT: dict[str, Any] = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "num_turns": 4,
    "result": ANSWER,
    "session_id": "s1",
    "total_cost_usd": 0.0123,
    "usage": {
        "input_tokens": 12,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 2000,
        "output_tokens": 77,
    },
}
CLAUDE_EVENTS: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init", "cwd": "/work", "tools": ["Bash", "Write"], "session_id": "s1"},
    claude_message("assistant", {"type": "thinking", "thinking": "First the file.", "signature": "x"}),
    claude_message("assistant", {"type": "text", "text": "I write it."}),
    claude_message("assistant", tool_use("t1", "Write", file_path="/work/notes.txt", content="buy silk\n")),
    claude_message("user", tool_result("t1", "File created")),
    claude_message(
        "assistant",
        tool_use("t2", "Edit", file_path="/work/notes.txt", old_string="silk", new_string="milk"),
        message_id="m2",
    ),
    claude_message("user", tool_result("t2", [{"type": "text", "text": "File changed"}])),
    claude_message("assistant", tool_use("t3", "Bash", command="make check"), message_id="m3"),
    claude_message("user", tool_result("t3", "no rule to make check", is_error=True)),
    claude_message("assistant", {"type": "text", "text": ANSWER}, message_id="m4"),
]
CLAUDE_CODE = lines(*CLAUDE_EVENTS, CLAUDE_RESULT)

CODEX_CHECK = {"id": "item_2", "type": "command_execution", "command": "bash -lc 'make check'", "aggregated_output": ""}
CODEX_LOOKUP = {"id": "item_4", "type": "mcp_tool_call", "server": "docs", "tool": "search", "arguments": {"q": "milk"}}
CODEX = lines(
    {"type": "thread.started", "thread_id": "th1"},
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "First the file."}},
    {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "I write it."}},
    {"type": "item.started", "item": {**CODEX_CHECK, "exit_code": None, "status": "in_progress"}},
    {
        "type": "item.completed",
        "item": {**CODEX_CHECK, "aggregated_output": "no rule to make check", "exit_code": 2, "status": "failed"},
    },
    {
        "type": "item.completed",
        "item": {
            "id": "item_3",
            "type": "file_change",
            "changes": [{"path": "/work/notes.txt", "kind": "add"}],
            "status": "completed",
        },
    },
    {"type": "item.started", "item": {**CODEX_LOOKUP, "result": None, "status": "in_progress"}},
    {
        "type": "item.completed",
        "item": {
            **CODEX_LOOKUP,
            "result": {"content": [{"type": "text", "text": "found"}], "structured_content": None},
            "status": "completed",
        },
    },
    {
        "type": "item.started",
        "item": {"id": "item_5", "type": "todo_list", "items": [{"text": "a", "completed": False}]},
    },
    {"type": "item.completed", "item": {"id": "item_6", "type": "agent_message", "text": ANSWER}},
    {"type": "turn.completed", "usage": {"input_tokens": 500, "cached_input_tokens": 400, "output_tokens": 60}},
)


def codex_line(line: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-05T10:00:00.000Z", "type": line, "payload": payload}


def codex_item(kind: str, **item: Any) -> dict[str, Any]:
    return codex_line("response_item", type=kind, **item)


def codex_text(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return codex_item("message", role=role, content=[{"type": kind, "text": text}])


CODEX_FAILED = json.dumps({"output": "no rule to make check", "metadata": {"exit_code": 2, "duration_seconds": 0.1}})
CODEX_SESSION_EVENTS = [
    codex_line("session_meta", id="s1", cwd="/work", cli_version="0.50.0"),
    codex_line("turn_context", cwd="/work", model="some-model"),
    codex_text("developer", "Be careful."),
    codex_text("user", "<environment_context>\n  <cwd>/work</cwd>\n</environment_context>"),
    codex_text("user", "Make the notes."),
    codex_line("event_msg", type="user_message", message="Make the notes."),
    codex_line("event_msg", type="agent_reasoning", text="First the file."),
    codex_item("reasoning", summary=[{"type": "summary_text", "text": "First the file."}], encrypted_content="x"),
    codex_text("assistant", "I write it."),
    codex_line("event_msg", type="agent_message", message="I write it."),
    codex_item("custom_tool_call", call_id="c1", name="apply_patch", input="*** Begin Patch", status="completed"),
    codex_item("custom_tool_call_output", call_id="c1", output="Success"),
    codex_item("function_call", call_id="c2", name="shell", arguments='{"command": ["make", "check"]}'),
    codex_item("function_call_output", call_id="c2", output=CODEX_FAILED),
    codex_text("assistant", ANSWER),
    codex_line("event_msg", type="token_count", info=None),
    codex_line("event_msg", type="token_count", info={"total_token_usage": {"input_tokens": 500, "output_tokens": 60}}),
]
CODEX_SESSION = lines(*CODEX_SESSION_EVENTS)

CODEX_FIRST_FORM = lines(
    {"model": "some-model", "workdir": "/work", "provider": "openai"},
    {"prompt": "Make the notes."},
    {"id": "0", "msg": {"type": "task_started"}},
    {"id": "0", "msg": {"type": "agent_reasoning", "text": "First the file."}},
    {"id": "0", "msg": {"type": "agent_message_delta", "delta": "I wr"}},
    {"id": "0", "msg": {"type": "agent_message", "message": "I write it."}},
    {
        "id": "0",
        "msg": {
            "type": "patch_apply_begin",
            "call_id": "c1",
            "auto_approved": True,
            "changes": {"/work/notes.txt": {"add": {"content": PLAN}}},
        },
    },
    {"id": "0", "msg": {"type": "patch_apply_end", "call_id": "c1", "stdout": "ok", "stderr": "", "success": True}},
    {"id": "0", "msg": {"type": "exec_command_begin", "call_id": "c2", "command": ["make", "check"], "cwd": "/work"}},
    {
        "id": "0",
        "msg": {"type": "exec_command_end", "call_id": "c2", "stdout": "", "stderr": "no rule", "exit_code": 2},
    },
    {
        "id": "0",
        "msg": {
            "type": "mcp_tool_call_begin",
            "call_id": "c3",
            "invocation": {"server": "docs", "tool": "search", "arguments": {"q": "milk"}},
        },
    },
    {"id": "0", "msg": {"type": "mcp_tool_call_end", "call_id": "c3", "result": {"Err": "server is gone"}}},
    {
        "id": "0",
        "msg": {
            "type": "token_count",
            "info": {"total_token_usage": {"input_tokens": 500, "output_tokens": 60, "total_tokens": 560}},
        },
    },
    {"id": "0", "msg": {"type": "agent_message", "message": ANSWER}},
    {"id": "0", "msg": {"type": "task_complete", "last_agent_message": ANSWER}},
)

MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "You keep notes."},
    {"role": "user", "content": [{"type": "text", "text": "Make the notes."}]},
    {"role": "assistant", "content": None, "tool_calls": [WRITE, SHELL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "written"},
    {"role": "tool", "tool_call_id": "call_2", "content": "no rule to make check"},
    {"role": "assistant", "content": ANSWER},
]
OPENAI_MESSAGES = json.dumps({"messages": MESSAGES, "usage": {"prompt_tokens": 90, "completion_tokens": 12}}, indent=2)

OTEL_INPUT = [
    {"role": "user", "parts": [{"type": "text", "content": "Make the notes."}]},
    {
        "role": "assistant",
        "parts": [
            {"type": "tool_call", "id": "call_1", "name": "write_file", "arguments": {"path": "notes.txt"}},
            {"type": "tool_call", "id": "call_2", "name": "shell", "arguments": {"cmd": "make check"}},
        ],
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "written"}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_2", "response": "no rule to make check"}]},
]
OTEL_OUTPUT = [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}], "finish_reason": "stop"}]


def otlp_value(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp_value(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": otlp_attributes(value)}}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


def otlp_attributes(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": otlp_value(value)} for key, value in attributes.items()]


def otlp_span(name: str, start: int, *, parent: str = "", **more: Any) -> dict[str, Any]:
    attributes = otlp_attributes(more.pop("attributes"))
    times = {"startTimeUnixNano": str(1_700_000_000_000_000_000 + start)}
    return {"name": name, "spanId": f"{start:016x}", "parentSpanId": parent, **times, "attributes": attributes, **more}


def chat(**more: Any) -> dict[str, Any]:
    return {"gen_ai.operation.name": "chat", "gen_ai.request.model": "some-model", **more}


def tool(name: str, call_id: str, **more: Any) -> dict[str, Any]:
    named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id}
    return {**named, **{f"gen_ai.tool.call.{key}": value for key, value in more.items()}}


SPANS = [
    otlp_span(
        "chat some-model",
        4,
        parent="a",
        attributes=chat(
            **{
                "gen_ai.usage.input_tokens": 80,
                "gen_ai.usage.output_tokens": 8,
                "gen_ai.input.messages": json.dumps(OTEL_INPUT),
                "gen_ai.output.messages": OTEL_OUTPUT,
            }
        ),
    ),
    otlp_span(
        "chat some-model",
        1,
        parent="a",
        attributes=chat(**{"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 7}),
    ),
    otlp_span(
        "execute_tool write_file",
        2,
        parent="a",
        attributes=tool("write_file", "call_1", arguments='{"path": "notes.txt"}', result="written"),
    ),
    otlp_span(
        "execute_tool shell",
        3,
        parent="a",
        attributes=tool("shell", "call_2", arguments='{"cmd": "make check"}'),
        status={"code": 2, "message": "no rule to make check"},
    ),
]
OTEL_GENAI = json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": SPANS}]}]})

STREAMS = {
    "docker-agent": DOCKER_AGENT,
    "claude-code": CLAUDE_CODE,
    "codex": CODEX,
    "codex-session": CODEX_SESSION,
    "openai-messages": OPENAI_MESSAGES,
    "otel-genai": OTEL_GENAI,
}
