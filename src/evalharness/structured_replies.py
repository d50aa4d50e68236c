"""Requests one JSON object from a language model, checks it, and asks again if it is not valid.

Servers that enforce a schema seldom need this; others often do. The caller decides what is valid: `check` returns the
value made of the object, or raises ValueError with a message for the model. Messages about the JSON itself quote
nothing from the reply.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from evalharness.contracts.model import ChatMessage, ChatReply, ChatRequest, Llm
from evalharness.errors import BadReply
from evalharness.values.json_value import only_object
from evalharness.values.text import head

REPAIRS = 2
SHOWN = 200
Value = TypeVar("Value")
Repair = Callable[[ChatReply, str], tuple[ChatMessage, ...]]
"""The messages that follow the first request, made of the unusable reply and the problem."""
AGAIN = (
    "That reply cannot be used: {why}. Reply again with one JSON object of the form asked for, and nothing else: "
    "no text before or after it, no code fence."
)


def shown_again(reply: ChatReply, why: str) -> tuple[ChatMessage, ...]:
    """The reply without its tool calls, which will not be answered, and a request to reply again."""
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
    """The value. Raises BadReply if the last repair fails too; exceptions of `llm.chat` are passed on.

    `heard` is called with every reply, because unusable ones cost as much as others.
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
        # Only the newest failure is sent: earlier replies are no better, and cost tokens.
        request = request.model_copy(update={"messages": (*asked, *repair(reply, why))})
    reported = head(said.strip(), SHOWN).encode(errors="replace").decode() or "nothing"
    raise BadReply(f"{llm.name} gave no usable reply in {REPAIRS + 1} attempts: {why}; it said: {reported}")


def _object_of(reply: ChatReply) -> dict[str, Any]:
    if reply.finish_reason == "length":
        raise ValueError("it was cut off at the token limit")
    if reply.finish_reason == "refused":
        raise ValueError("the model refused to answer")
    if reply.tool_requests:
        raise ValueError("it calls a tool, but there are no tools")
    return only_object(reply.text)
