"""auto: finds the parser for a stream from the objects at its beginning."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from evalharness.domain.transcript import Transcript
from evalharness.errors import TargetFailed
from evalharness.transcripts import claude_code, codex, codex_session, docker_agent, openai_messages, otel_genai
from evalharness.transcripts.stream import read_stream

PARSERS: Mapping[str, ModuleType] = {
    "docker-agent": docker_agent,
    "claude-code": claude_code,
    "codex": codex,
    "codex-session": codex_session,
    "otel-genai": otel_genai,
    "openai-messages": openai_messages,
}
OBJECTS_LOOKED_AT = 200


def detect(text: str) -> str | None:
    """The name of the parser that recognises most of the objects; None if no parser recognises any."""
    try:
        objects = read_stream(text).objects[:OBJECTS_LOOKED_AT]
    except TargetFailed:
        return None
    known = {name: sum(map(parser.recognises, objects)) for name, parser in PARSERS.items()}
    best = max(known, key=lambda name: known[name])
    return best if known[best] else None


def parse(text: str) -> Transcript:
    """`auto`: parse the stream with the parser that fits."""
    read_stream(text)
    name = detect(text)
    if name is None:
        raise TargetFailed(f"no parser recognises these events; the known formats are {', '.join(PARSERS)}")
    transcript: Transcript = PARSERS[name].parse(text)
    return transcript
