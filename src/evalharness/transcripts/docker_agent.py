"""docker-agent: the JSON lines of `docker agent run --exec --json`.

The answer is the concatenation of everything the agents said. `token_usage` reports running totals of one session, so
the last one of each session counts; sub-agents have their own sessions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from evalharness.domain.transcript import Transcript, Usage
from evalharness.transcripts.collector import Collector
from evalharness.transcripts.stream import Object, amount, error_text, mapping, read_stream, text_of, token_count
from evalharness.values.json_value import Json

PIECES = ("agent_choice", "agent_choice_reasoning")
"""These arrive a few letters at a time, and are joined before they are kept."""
PARTIAL = "partial_tool_call"
"""Ignored, because a later `tool_call` contains the whole call."""
BOUNDARIES = (
    "user_message", "tool_call", "tool_call_response", "token_usage", "error", "budget_exceeded", "stream_started",
    "stream_stopped",
)  # fmt: skip
"""Text before one of these stays before it among the events."""
EVENTS = frozenset((*PIECES, PARTIAL, *BOUNDARIES, "session_title", "team_info", "agent_info", "toolset_info")) - {
    "error"
}


def recognises(event: Object) -> bool:
    kind = text_of(event.get("type"))
    return kind in EVENTS or (kind == "error" and "error" in event)


def parse(text: str) -> Transcript:
    stream = read_stream(text)
    reading = _Reading(Collector(stream.ignored_lines))
    for event in stream.objects:
        reading.read(event)
    return reading.transcript()


@dataclass(slots=True)
class _Reading:
    found: Collector
    answer: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    last_piece: Object = field(default_factory=dict)
    totals: dict[str, dict[str, Json]] = field(default_factory=dict)
    open_streams: int = 0
    """Streams of sub-agents run inside the agent's own; only the end of that one ends the turn."""
    last_error: str = ""
    """Of this turn, as long as nothing was said after it."""

    def read(self, event: Object) -> None:
        kind = text_of(event.get("type"))
        if kind in PIECES:
            self._add_piece(event, kind)
            return
        if kind in BOUNDARIES:
            self._end_pieces()
        if kind == "error":
            self.last_error = error_text(event.get("error"))
            self.found.error(self.last_error, event)
        elif kind != PARTIAL:
            self.found.keep(event)
        match kind:
            case "user_message":
                self._end_turn()
                self.found.say("user", text_of(event.get("message")))
            case "stream_started":
                self.open_streams += 1
            case "stream_stopped":
                self.open_streams = max(0, self.open_streams - 1)
                self._end_turn()
            case "tool_call":
                self._call(mapping(event.get("tool_call")))
            case "tool_call_response":
                self._response(event)
            case "token_usage":
                self._add_usage(event)

    def _add_piece(self, event: Object, kind: str) -> None:
        last = self.last_piece
        if last and (last["type"], last.get("agent_name")) != (kind, event.get("agent_name")):
            self._end_pieces()
        self.last_piece = event
        self.pieces.append(text_of(event.get("content")))

    def _end_pieces(self) -> None:
        if not self.last_piece:
            return
        event, said = self.last_piece, "".join(self.pieces)
        self.last_piece, self.pieces = {}, []
        self.found.keep({**event, "content": said})
        if event["type"] == "agent_choice":
            self.last_error = "" if said.strip() else self.last_error
            self.answer.append(said)
            self.found.say("assistant", said, name=text_of(event.get("agent_name")))
        else:
            self.found.think(said)

    def _end_turn(self) -> None:
        if self.open_streams == 0:
            self.found.ended_with = self.last_error or self.found.ended_with
            self.last_error = ""

    def _call(self, call: Object) -> None:
        function = mapping(call.get("function"))
        self.found.call(text_of(call.get("id")), text_of(function.get("name")), function.get("arguments"))

    def _response(self, event: Object) -> None:
        call_id = text_of(event.get("tool_call_id")) or text_of(mapping(event.get("tool_call")).get("id"))
        result = mapping(event.get("result"))
        failed = any(said is True for said in (result.get("isError"), result.get("is_error"), event.get("is_error")))
        response = event.get("response")
        self.found.returned(call_id, response, (text_of(response) or "failed") if failed else "")

    def _add_usage(self, event: Object) -> None:
        """Update the totals; values that a later event omits stay unchanged."""
        totals = self.totals.setdefault(text_of(event.get("session_id")), {})
        totals.update({name: value for name, value in mapping(event.get("usage")).items() if value is not None})

    def transcript(self) -> Transcript:
        self._end_pieces()
        self.open_streams = 0
        self._end_turn()
        sessions = self.totals.values()
        if not sessions:
            return self.found.transcript("".join(self.answer))
        usage = Usage(
            input_tokens=sum(token_count(totals.get("input_tokens")) for totals in sessions),
            output_tokens=sum(token_count(totals.get("output_tokens")) for totals in sessions),
        )
        costs = [cost for totals in sessions if (cost := amount(totals.get("cost"))) is not None]
        return self.found.transcript("".join(self.answer), usage, sum(costs) if costs else None)
