"""codex-session: the file that Codex saves of a session (`sessions/…/rollout-….jsonl`), with what the user asked.

Each line is `{timestamp, type, payload}`. `response_item` has the items of the conversation as the model sees them;
`event_msg` repeats some of them for the screen, and alone tells what the user wrote from what Codex adds to it.
"""

from __future__ import annotations

from evalharness.domain.transcript import Transcript, Usage
from evalharness.transcripts.collector import Collector
from evalharness.transcripts.stream import (
    Object,
    content_text,
    error_text,
    json_or_text,
    mapping,
    objects,
    read_stream,
    text_of,
    token_count,
)
from evalharness.values.json_value import Json

LINES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
ADDED = ("<", "# AGENTS.md instructions")
"""How texts begin that Codex puts before a question."""


def recognises(event: Object) -> bool:
    return event.get("type") in LINES and isinstance(event.get("payload"), dict)


def parse(text: str) -> Transcript:
    stream = read_stream(text)
    lines = [(text_of(line.get("type")), mapping(line.get("payload"))) for line in stream.objects]
    is_told = any(kind == "event_msg" and said.get("type") == "user_message" for kind, said in lines)
    found = Collector(stream.ignored_lines)
    totals: Object = {}
    for line, (kind, said) in zip(stream.objects, lines, strict=True):
        if kind in LINES:
            found.keep(line)
        if kind == "response_item":
            _read(found, said, is_told=is_told)
        elif kind == "event_msg":
            match said.get("type"):
                case "user_message":
                    found.say("user", text_of(said.get("message")))
                case "token_count":
                    totals = mapping(mapping(said.get("info")).get("total_token_usage")) or totals
                case "error":
                    found.error(error_text(said))
                case "turn_aborted":
                    found.error(f"turn aborted: {text_of(said.get('reason')) or 'no reason given'}")
    counts = [token_count(totals.get(name)) for name in ("input_tokens", "output_tokens")]
    return found.transcript(usage=Usage(input_tokens=counts[0], output_tokens=counts[1]) if totals else None)


def _read(found: Collector, item: Object, *, is_told: bool) -> None:
    call_id = text_of(item.get("call_id")) or text_of(item.get("id"))
    match item.get("type"):
        case "message":
            _say(found, item, is_told=is_told)
        case "reasoning":
            found.think(content_text(item.get("summary")))
        case "function_call":
            found.call(call_id, text_of(item.get("name")), item.get("arguments"))
        case "custom_tool_call":
            found.call(call_id, text_of(item.get("name")), {"input": item.get("input")})
        case "local_shell_call":
            found.call(call_id, "shell", {"command": mapping(item.get("action")).get("command")})
        case "web_search_call":
            found.call(call_id, "web_search", {"query": mapping(item.get("action")).get("query")})
            found.returned(call_id, None)
        case "function_call_output" | "custom_tool_call_output":
            found.returned(call_id, *_returned(item.get("output")))


def _say(found: Collector, item: Object, *, is_told: bool) -> None:
    content = item.get("content")
    if item.get("role") == "assistant":
        found.say("assistant", content_text(content))
    elif item.get("role") == "user" and not is_told:
        parts = [text_of(part.get("text")) for part in objects(content)] or [text_of(content)]
        if text := "".join(part for part in parts if not part.lstrip().startswith(ADDED)):
            found.say("user", text)


def _returned(output: Json) -> tuple[Json, str]:
    """What a tool returned, and how it failed. Shells write `{output, metadata: {exit_code}}`."""
    written = mapping(json_or_text(output))
    if not {"output", "metadata"} <= written.keys():
        return (content_text(output) if isinstance(output, list) else output), ""
    code = mapping(written["metadata"]).get("exit_code")
    return written["output"], f"exit code {code}" if isinstance(code, int) and code != 0 else ""
