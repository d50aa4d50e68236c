"""codex: the JSON lines of `codex exec --json`; those of its first releases are converted to the current form first.

Calls are named as in the stream: `command_execution`, `file_change`, `web_search`, and `server.tool` for MCP. Codex
reports the tokens of the whole thread each time, so the last number of each thread counts.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from evalharness.domain.transcript import Transcript, Usage
from evalharness.transcripts.collector import Collector, inside
from evalharness.transcripts.stream import (
    Object,
    content_text,
    error_text,
    mapping,
    objects,
    read_stream,
    text_of,
    texts,
    token_count,
)
from evalharness.values.json_value import Json

FAILED = ("failed", "declined")


def recognises(event: Object) -> bool:
    return text_of(event.get("type")).startswith(("thread.", "turn.", "item.")) or is_first_form(event)


def parse(text: str) -> Transcript:
    stream = read_stream(text)
    reading = _Reading(Collector(stream.ignored_lines))
    for event in stream.objects:
        if event.get("type") == "error":
            reading.found.error(error_text(event), event)
        elif not is_partial(event):
            reading.found.keep(event)
            reading.read(in_todays_form(event))
    return reading.transcript()


@dataclass(slots=True)
class _Reading:
    found: Collector
    thread: str = ""
    folder: str = ""
    usages: dict[str, Object] = field(default_factory=dict)
    items: dict[str, Object] = field(default_factory=dict)
    """Items that have started, with everything reported about them so far."""

    def read(self, event: Object) -> None:
        match event.get("type"):
            case "thread.started":
                self.thread = text_of(event.get("thread_id"))
                self.folder = text_of(event.get("cwd"))
            case "turn.started" if text_of(event.get("prompt")):
                self.found.say("user", event["prompt"])
            case "turn.completed":
                self.usages[self.thread] = mapping(event.get("usage"))
            case "turn.failed":
                self.found.error(error_text(event.get("error")))
            case "item.started" | "item.updated":
                self._begin(mapping(event.get("item")))
            case "item.completed":
                self._complete(mapping(event.get("item")))

    def _begin(self, said: Object) -> Object:
        item_id = text_of(said.get("id"))
        begun = self.items.get(item_id)
        item = {**(begun or {}), **said}
        self.items[item_id] = item
        if begun is None and (called := _called(item)):
            self.found.call(item_id, *called)
        return item

    def _complete(self, said: Object) -> None:
        item = self._begin(said)
        item_id = text_of(item.get("id"))
        del self.items[item_id]
        match _kind(item):
            case "agent_message" | "assistant_message":
                self.found.say("assistant", text_of(item.get("text")))
            case "reasoning":
                self.found.think(text_of(item.get("text")))
            case "error":
                self.found.error(error_text(item))
            case "file_change":
                self.found.returned(item_id, None, _failure(item))
                self._change_files(item)
            case _ if _called(item):
                self.found.returned(item_id, _result(item), _failure(item))

    def _change_files(self, item: Object) -> None:
        """Apply changes; only the first form reports the contents of files, and only of new ones."""
        if _failure(item):
            return
        for change in objects(item.get("changes")):
            path = inside(self.folder, text_of(change.get("path")))
            self.found.files.pop(path, None)
            if change.get("kind") == "add" and isinstance(change.get("content"), str):
                self.found.files[path] = change["content"]

    def transcript(self) -> Transcript:
        usages = self.usages.values()
        usage = Usage(
            input_tokens=sum(token_count(usage.get("input_tokens")) for usage in usages),
            output_tokens=sum(token_count(usage.get("output_tokens")) for usage in usages),
        )
        return self.found.transcript(usage=usage if usages else None)


def _kind(item: Object) -> str:
    return text_of(item.get("type")) or text_of(item.get("item_type"))


def _called(item: Object) -> tuple[str, Json] | None:
    """Name and arguments of the call that an item represents; None for items that are not calls."""
    match _kind(item):
        case "command_execution":
            return "command_execution", {"command": item.get("command")}
        case "file_change":
            return "file_change", {"changes": item.get("changes")}
        case "web_search":
            return "web_search", {"query": item.get("query")}
        case "mcp_tool_call":
            return f"{text_of(item.get('server'))}.{text_of(item.get('tool'))}".strip("."), item.get("arguments")
        case "collab_tool_call":
            return text_of(item.get("tool")), {"prompt": item.get("prompt")}
    return None


def _result(item: Object) -> Json:
    if _kind(item) == "command_execution":
        return item.get("aggregated_output")
    result = item.get("result")
    structured = mapping(result).get("structured_content")
    return structured if structured is not None else content_text(mapping(result).get("content")) or result


def _failure(item: Object) -> str:
    if item.get("error"):
        return error_text(item["error"])
    code = item.get("exit_code")
    if isinstance(code, int) and code != 0:
        return f"exit code {code}"
    return text_of(item.get("status")) if item.get("status") in FAILED else ""


# Conversion of the events of the first releases of `codex exec --json`, `{id, msg: {type, …}}`, to the current form.


def is_first_form(event: Object) -> bool:
    return bool(text_of(mapping(event.get("msg")).get("type")))


def is_partial(event: Object) -> bool:
    """Whether this is a piece of something that is repeated later as a whole."""
    return text_of(mapping(event.get("msg")).get("type")).endswith("_delta")


def in_todays_form(event: Object) -> Object:
    """The event in the current form; empty if the current form has no such event."""
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
    """The first releases wrote `{add: {content}}`, later ones `{type: add, content}`."""
    kind = text_of(change.get("type")) or next(iter(change), "")
    inner: Json = mapping(change.get(kind)) or change
    return {"path": path, "kind": kind, **({"content": inner["content"]} if "content" in inner else {})}
