"""claude-code: the output of Claude Code with `--output-format stream-json` (or `json`).

Sub-agents contribute only their tool calls; messages and answer are those of the main conversation. Input tokens
include those read from and written to the cache, as in other streams.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from evalharness.domain.transcript import Transcript, Usage
from evalharness.transcripts.collector import Collector, inside
from evalharness.transcripts.stream import (
    Object,
    amount,
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

PARTIAL = "stream_event"
"""Pieces of messages, which are repeated later as a whole."""
INPUT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def recognises(event: Object) -> bool:
    match event.get("type"):
        case "assistant" | "user":
            return isinstance(event.get("message"), dict)
        case "system" | "result":
            return "subtype" in event
        case "stream_event":
            return "event" in event
    return False


def parse(text: str) -> Transcript:
    stream = read_stream(text)
    reading = _Reading(Collector(stream.ignored_lines))
    for event in stream.objects:
        reading.read(event)
    return reading.transcript()


@dataclass(slots=True)
class _Reading:
    found: Collector
    folder: str = ""
    result: Object = field(default_factory=dict)
    usages: dict[str, Object] = field(default_factory=dict)
    changes: dict[str, Object] = field(default_factory=dict)
    """The file changes of calls that have not returned yet, by call."""

    def read(self, event: Object) -> None:
        kind = event.get("type")
        if kind == "error":
            self.found.error(error_text(event.get("error") or event), event)
            return
        if kind != PARTIAL:
            self.found.keep(event)
        match kind:
            case "system":
                self.folder = text_of(event.get("cwd")) or self.folder
            case "assistant" | "user":
                self._message(kind, mapping(event.get("message")), is_main=not event.get("parent_tool_use_id"))
            case "result":
                self._end(event)

    def _message(self, role: str, message: Object, *, is_main: bool) -> None:
        content = message.get("content")
        if isinstance(message.get("usage"), dict):
            self.usages[text_of(message.get("id"))] = message["usage"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else objects(content):
            kind = text_of(block.get("type"))
            if kind.endswith("tool_use"):
                call_id = text_of(block.get("id"))
                self.found.call(call_id, text_of(block.get("name")), block.get("input"), "both" if is_main else "calls")
                self.changes[call_id] = block
            elif kind.endswith("tool_result"):
                self._returned(text_of(block.get("tool_use_id")), block)
            elif is_main and kind == "thinking":
                self.found.think(text_of(block.get("thinking")))
            elif is_main and kind == "text":
                self.found.say(role, text_of(block.get("text")))

    def _returned(self, call_id: str, block: Object) -> None:
        content = block.get("content")
        result = content_text(content) or content
        failed = block.get("is_error") is True
        self.found.returned(call_id, result, (content_text(content) or "failed") if failed else "")
        change = self.changes.pop(call_id, None)
        if change and not failed:
            self._change_file(text_of(change.get("name")), mapping(change.get("input")))

    def _change_file(self, tool: str, change: Object) -> None:
        """Apply a change; an edit can be applied only if the stream has shown the file's whole text."""
        files, path = self.found.files, inside(self.folder, text_of(change.get("file_path")))
        if tool == "Write" and path and isinstance(change.get("content"), str):
            files[path] = change["content"]
        for edit in [change] if tool == "Edit" else objects(change.get("edits")) if tool == "MultiEdit" else []:
            old, new = text_of(edit.get("old_string")), text_of(edit.get("new_string"))
            if path in files and old:
                files[path] = files[path].replace(old, new, -1 if edit.get("replace_all") is True else 1)

    def _end(self, event: Object) -> None:
        self.result = event
        if event.get("is_error") is True or text_of(event.get("subtype")).startswith("error"):
            reported = "; ".join(texts(event.get("errors"))) or text_of(event.get("result"))
            self.found.error(reported or text_of(event.get("subtype")) or "failed")

    def transcript(self) -> Transcript:
        return self.found.transcript(self._output(), self._usage(), amount(self.result.get("total_cost_usd")))

    def _output(self) -> Json:
        said = text_of(self.result.get("result"))
        if self.result.get("is_error") is True:  # the last text may then be just the error
            return "" if self.found.answer == said else self.found.answer
        structured = self.result.get("structured_output")
        return structured if structured is not None else said or self.found.answer

    def _usage(self) -> Usage | None:
        """The total at the end, or the sum over messages if the stream was cut off."""
        total = self.result.get("usage")
        usages = [total] if isinstance(total, dict) else list(self.usages.values())
        if not usages:
            return None
        return Usage(
            input_tokens=sum(token_count(usage.get(name)) for usage in usages for name in INPUT_TOKENS),
            output_tokens=sum(token_count(usage.get("output_tokens")) for usage in usages),
        )
