"""One JSON object from a language model: asked for, checked, and asked for again where it is not what was wanted.

A server that holds replies to a schema seldom needs this; one that does not, often. What the object must be is said
by whoever asks: `check` returns the value made of it, or raises ValueError with what is wrong, in words that the
model is reported. What is wrong with the JSON itself is reported in words that hold nothing of the reply.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from evalharness.contracts.model import Llm
from evalharness.domain.language_model import ChatMessage, ChatReply, ChatRequest
from evalharness.errors import BadReply
from evalharness.values.json_value import only_object
from evalharness.values.text import head

REPAIRS = 2
SHOWN = 200
Value = TypeVar("Value")
Repair = Callable[[ChatReply, str], tuple[ChatMessage, ...]]
"""What follows the first request: made of the reply that cannot be used, and why it cannot."""
AGAIN = (
    "That reply cannot be used: {why}. Reply again with one JSON object of the form asked for, and nothing else: "
    "no text before or after it, no code fence."
)


def shown_again(reply: ChatReply, why: str) -> tuple[ChatMessage, ...]:
    """Without calls of tools: nobody will answer them."""
    said = reply.message.model_copy(update={"tool_requests": ()})
    return (said, ChatMessage(role="user", content=AGAIN.format(why=why)))


async def ask_for_object(
    llm: Llm,
    request: ChatRequest,
    check: Callable[[dict[str, Any]], Value],
    *,
    heard: Callable[[ChatReply], None],
    repair: Repair = shown_again,
) -> Value:
    """Raises BadReply when the last repair has failed, too; what `llm.chat` raises goes through.

    `heard` is told of every reply: those that cannot be used cost as much as the one that can.
    """
    why, said, asked = "", "", request.messages
    for _ in range(REPAIRS + 1):
        reply = await llm.chat(request)
        heard(reply)
        said = reply.text
        try:
            return check(_object_of(reply))
        except ValueError as error:
            why = str(error)
        # Only the newest failure is reported: the replies before it are no better, and cost tokens.
        request = request.model_copy(update={"messages": (*asked, *repair(reply, why))})
    reported = head(said.strip(), SHOWN).encode(errors="replace").decode() or "nothing"
    raise BadReply(f"{llm.name} gave no usable reply in {REPAIRS + 1} attempts: {why}; it said: {reported}")


def _object_of(reply: ChatReply) -> dict[str, Any]:
    if reply.finish_reason == "length":
        raise ValueError("it was cut off at the limit of tokens")
    if reply.finish_reason == "refused":
        raise ValueError("the model refused to answer")
    if reply.tool_requests:
        raise ValueError("it calls a tool, and there is none")
    return only_object(reply.text)
