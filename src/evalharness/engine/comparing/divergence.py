"""Divergence: the first step at which two transcripts of one case part. Pure; it compares, and judges neither.

A step is something the agent did: a text it said, a tool it called (name and arguments), at last its answer.
What tools returned is no step of the agent's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

from evalharness.domain.alignment import AlignedStep
from evalharness.domain.case import as_text
from evalharness.domain.finding import Finding, finding
from evalharness.domain.transcript import Transcript
from evalharness.values.json_value import Json
from evalharness.values.text import head

SHOWN = 80
"""Of a step that is long."""
LED_IN = 30
"""How much of what both have in common is shown before the place where two long steps part."""
PIECE = 20
"""Of a word too long to be shown whole, on each side of the place where two part: enough to see how they do.

Secrets are no concern here: transcripts are stored without them.
"""


class _Step(NamedTuple):
    """`before` and `after` stand around the text: `search(` and `)`, or quotes."""

    kind: str
    before: str
    text: str
    after: str

    def shown(self, start: int = 0, parting: int = 0) -> str:
        """From `start` on, in any case with what stands at `parting`."""
        cut = f"…{self.text[start:]}" if start else self.text
        kept, place = head(cut, SHOWN), parting - start + bool(start)
        if kept != cut and len(kept) <= place + 1:
            kept = f"{cut[: place + PIECE]}…"
        return f"{self.before}{kept}{self.after}"


def first_divergence(old: Transcript, new: Transcript) -> Finding | None:
    """`step 3: search({"q": "x"}) before, now fetch({"url": "y"})`; None where nothing differs."""
    before, now = _steps(old), _steps(new)
    for number, (one, other) in enumerate(zip(before, now, strict=False), start=1):
        if one == other:
            continue
        places = _places(one, other)
        was, now_is = one.shown(*places), other.shown(*places)
        if one.kind == other.kind == "answer":
            answers = {"before": was.removeprefix("answer "), "now": now_is.removeprefix("answer ")}
            return finding("divergence.answer", steps_before=number - 1, **answers)
        return finding("divergence.step", step=number, before=was, now=now_is)
    return None  # both end with an answer, so neither can be the beginning of the other


def aligned_steps(old: Transcript, new: Transcript) -> tuple[AlignedStep, ...]:
    """All steps of both, side by side: equal ones beside each other, the others where they belong."""
    before, now = _steps(old), _steps(new)
    aligned: list[AlignedStep] = []
    for what, i, i_end, j, j_end in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        pairs = zip_longest(before[i:i_end], now[j:j_end])
        aligned += [
            AlignedStep(
                before=None if one is None else one.shown(),
                now=None if other is None else other.shown(),
                is_same=what == "equal",
            )
            for one, other in pairs
        ]
    return tuple(aligned)


def without_answer(old: Transcript, reason: str) -> Finding:
    """Where it is not known what the new one did: `step 1: f() before, now no step is known: the target raised …`."""
    first, *more = _steps(old)
    return finding("divergence.unknown", has_steps=bool(more), before=first.shown(), reason=_squeezed(reason))


def _places(one: _Step, other: _Step) -> tuple[int, int]:
    """Where to begin showing two texts, at the beginning of a word if one is near, and where they part."""
    if (one.kind, one.before) != (other.kind, other.before):
        return 0, 0
    shorter = min(len(one.text), len(other.text))
    parting = next((at for at in range(shorter) if one.text[at] != other.text[at]), shorter)
    if parting <= SHOWN - LED_IN or max(len(one.text), len(other.text)) <= SHOWN:
        return 0, parting
    word = one.text.rfind(" ", 0, parting - LED_IN) + 1
    return word if parting - word <= SHOWN - LED_IN else parting - PIECE, parting


def _steps(transcript: Transcript) -> list[_Step]:
    steps = list(_steps_of(transcript))
    answer = _squeezed(transcript.text)
    if steps and steps[-1].kind == "said" and steps[-1].text == answer:
        steps.pop()  # the last thing said is the answer
    return [*steps, _quoted("answer", "answer ", answer)]


def _steps_of(transcript: Transcript) -> Iterator[_Step]:
    """Messages and calls in their order, if the messages tell of every call; otherwise the calls, then the texts."""
    parts = [call for message in transcript.messages for call in _calls(message)]
    listed = [_call(call.name, call.arguments) for call in transcript.tool_calls]
    if listed and [call.before for call in parts] != [call.before for call in listed]:
        yield from listed
        parts = []
    calls = iter(listed if parts and listed else parts)
    for message in transcript.messages:
        if message.get("role") != "assistant":
            continue
        if said := _squeezed(_text(message.get("content"))):
            yield _quoted("said", "said ", said)
        if parts:
            for _ in _calls(message):
                yield next(calls)


def _calls(message: Mapping[str, Json]) -> list[_Step]:
    """The calls of one message, as chat messages carry them."""
    written = message.get("tool_calls")
    if message.get("role") != "assistant" or not isinstance(written, list | tuple):
        return []
    found = [call.get("function", call) for call in written if isinstance(call, Mapping)]
    return [_call(str(f.get("name", "")), _value(f.get("arguments"))) for f in found if isinstance(f, Mapping)]


def _call(name: str, arguments: Json) -> _Step:
    empty = arguments in (None, "", {})
    text = "" if empty else json.dumps(arguments, ensure_ascii=False, sort_keys=True, default=str)
    return _Step("call", f"{name}(", text, ")")


def _value(arguments: Json) -> Json:
    """Arguments are often JSON in a string; what is none stays text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def _text(content: Json) -> str:
    """A message's text: plain, or the text parts of a list."""
    if isinstance(content, list | tuple):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return " ".join(part for part in parts if isinstance(part, str))
    return "" if content is None else as_text(content)


def _quoted(kind: str, before: str, text: str) -> _Step:
    return _Step(kind, f'{before}"', text, '"')


def _squeezed(text: str) -> str:
    return " ".join(text.split())
