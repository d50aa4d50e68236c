"""One JSON object from a language model: asked for, checked, and asked for again where it is not what was wanted.

A server that holds replies to a schema seldom needs this; one that does not, often. What the object must be is said
by whoever asks: `check` returns the value made of it, or raises ValueError with what is wrong, in words that the
model is told. What is wrong with the JSON itself is told in words that hold nothing of the reply.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from evalharness.contracts import Llm
from evalharness.domain.chat import ChatMessage, ChatReply, ChatRequest
from evalharness.domain.strict_json import only_object
from evalharness.domain.text import head
from evalharness.errors import BadReply

REPAIRS = 2
SHOWN = 200
Value = TypeVar("Value")
Repair = Callable[[ChatReply, str], tuple[ChatMessage, ...]]
"""What follows the first request: made of the reply that cannot be used, and why it cannot."""
AGAIN = (
    "That reply cannot be used: {why}. Reply again with one JSON object of the form asked for, and nothing else: "
    "no text before or after it, no code fence."
)


class Structured(NamedTuple, Generic[Value]):
    """The value, and every reply that was paid for on the way to it."""

    value: Value
    replies: tuple[ChatReply, ...]


def shown_again(reply: ChatReply, why: str) -> tuple[ChatMessage, ...]:
    return (reply.message, ChatMessage(role="user", content=AGAIN.format(why=why)))


async def ask_for_object(
    llm: Llm,
    request: ChatRequest,
    check: Callable[[dict[str, Any]], Value],
    *,
    repair: Repair = shown_again,
    repairs: int = REPAIRS,
) -> Structured[Value]:
    """Raises BadReply when the last repair has failed, too; what `llm.chat` raises goes through."""
    replies: list[ChatReply] = []
    why, asked = "", request.messages
    for _ in range(repairs + 1):
        reply = await llm.chat(request)
        replies.append(reply)
        try:
            return Structured(check(_object_of(reply)), tuple(replies))
        except ValueError as error:
            why = str(error)
        # Only the newest failure is told: the replies before it are no better, and cost tokens.
        request = request.model_copy(update={"messages": (*asked, *repair(reply, why))})
    told = head(replies[-1].text.strip(), SHOWN).encode(errors="replace").decode() or "nothing"
    raise BadReply(
        f"{llm.name} gave no usable reply in {repairs + 1} attempts: {why}; it said: {told}", replies=replies
    )


def _object_of(reply: ChatReply) -> dict[str, Any]:
    if reply.finish_reason == "length":
        raise ValueError("it was cut off at the limit of tokens")
    if reply.finish_reason == "refused":
        raise ValueError("the model refused to answer")
    return only_object(reply.text)
