"""`events: NAME`: what a program or a server says is a stream of an agent's events, read by the parser of that name."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator

from evalharness import registry
from evalharness.domain.case import as_text
from evalharness.domain.transcript import Transcript, errors_of
from evalharness.errors import TargetFailed, UnknownName
from evalharness.values.json_value import Json
from evalharness.values.text import head


def _is_parser(name: str) -> str:
    try:
        registry.load("transcript", name)
    except UnknownName as unknown:
        raise ValueError(f"{unknown.message} {unknown.hint}") from None
    return name


EventsOption = Annotated[str, AfterValidator(_is_parser)] | None


def refuse_both_forms(options: Any) -> None:
    if options.events and "result" in options.model_fields_set:
        raise ValueError("give either events or result: both say how the answer is read")


def read_events(text: str, parser: str, evidence: Transcript) -> Transcript:
    """`evidence` with all that the stream tells; a stream without any event fails the trial."""
    try:
        reported: Transcript = registry.load("transcript", parser)(text)
    except TargetFailed as failure:
        last = evidence.stderr.strip().splitlines()[-1:]
        raise TargetFailed(": ".join([str(failure), *(head(line, 300) for line in last)]), evidence=evidence) from None
    return evidence.model_copy(update={**reported.given(), "events": (*evidence.events, *reported.events)})


def fail_without_answer(transcript: Transcript) -> None:
    """An error beside an answer is for the graders to judge; an error instead of one is a failure."""
    errors = errors_of(transcript)
    if errors and not transcript.text.strip():
        raise TargetFailed(errors[-1], evidence=transcript)


def user_messages(content: Json) -> tuple[str, ...]:
    """What the user says, turn by turn; a question that is no conversation is one turn."""
    messages = content.get("messages") if isinstance(content, dict) else content
    turns = [_turn(message) for message in messages] if isinstance(messages, list | tuple) else []
    return tuple(turn for turn in turns if turn is not None) or (as_text(content),)


def _turn(message: Json) -> str | None:
    if isinstance(message, str):
        return message
    if not isinstance(message, dict) or message.get("role") != "user":
        return None
    content = message.get("content")
    if isinstance(content, list | tuple):
        return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    return as_text(content)
