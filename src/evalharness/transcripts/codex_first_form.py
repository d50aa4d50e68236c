"""The events that the first releases of `codex exec --json` printed, `{id, msg: {type, …}}`, in today's form."""

from __future__ import annotations

import shlex

from evalharness.domain.record import Json
from evalharness.transcripts.reading import Object
from evalharness.transcripts.values import mapping, text_of, texts


def is_first_form(event: Object) -> bool:
    return bool(text_of(mapping(event.get("msg")).get("type")))


def is_partial(event: Object) -> bool:
    """Pieces of what comes again, whole."""
    return text_of(mapping(event.get("msg")).get("type")).endswith("_delta")


def in_todays_form(event: Object) -> Object:
    """The event itself where it is in today's form already; an empty one where today's form says nothing of it."""
    if "type" in event:
        return event
    if isinstance(event.get("prompt"), str):
        return {"type": "turn.started", "prompt": event["prompt"]}
    if isinstance(event.get("workdir"), str):
        return {"type": "thread.started", "cwd": event["workdir"]}
    said = mapping(event.get("msg"))
    kind = text_of(said.get("type"))
    match kind:
        case "session_configured":
            return {"type": "thread.started", "thread_id": said.get("session_id"), "cwd": said.get("cwd")}
        case "agent_message":
            return _item("completed", {"type": "agent_message", "text": said.get("message")})
        case "agent_reasoning":
            return _item("completed", {"type": "reasoning", "text": said.get("text")})
        case "token_count":
            info = said.get("info")
            return {"type": "turn.completed", "usage": mapping(info).get("total_token_usage") if info else said}
        case "error" | "stream_error":
            return {"type": "turn.failed", "error": said.get("message")}
        case "turn_aborted":
            return {"type": "turn.failed", "error": f"turn aborted: {text_of(said.get('reason')) or 'no reason given'}"}
    step, _, end = kind.rpartition("_")
    return _step(step, "started" if end == "begin" else "completed", said) if end in ("begin", "end") else {}


def _step(step: str, state: str, said: Object) -> Object:
    item: Object = {"id": said.get("call_id")}
    match step:
        case "exec_command":
            item |= {"type": "command_execution", "exit_code": said.get("exit_code")}
            item |= {"aggregated_output": said.get("aggregated_output") or _both_outputs(said)}
            if "command" in said:
                item["command"] = shlex.join(texts(said["command"])) or said["command"]
        case "patch_apply":
            item |= {"type": "file_change", "error": _patch_error(said) if state == "completed" else ""}
            if isinstance(said.get("changes"), dict):
                item["changes"] = [_change(path, mapping(change)) for path, change in said["changes"].items()]
        case "mcp_tool_call":
            called, result = mapping(said.get("invocation")), mapping(said.get("result"))
            item |= {"type": "mcp_tool_call", "result": result.get("Ok"), "error": result.get("Err")}
            item |= {name: called[name] for name in ("server", "tool", "arguments") if name in called}
        case "web_search":
            item |= {"type": "web_search"} | ({"query": said["query"]} if "query" in said else {})
        case _:
            return {}
    return _item(state, item)


def _item(state: str, item: Object) -> Object:
    return {"type": f"item.{state}", "item": item}


def _both_outputs(said: Object) -> str:
    return text_of(said.get("stdout")) + text_of(said.get("stderr"))


def _patch_error(said: Object) -> str:
    return "" if said.get("success") is True else text_of(said.get("stderr")) or "failed"


def _change(path: str, change: Object) -> Object:
    """`{add: {content}}` at first, `{type: add, content}` later."""
    kind = text_of(change.get("type")) or next(iter(change), "")
    inner: Json = mapping(change.get(kind)) or change
    return {"path": path, "kind": kind, **({"content": inner["content"]} if "content" in inner else {})}
