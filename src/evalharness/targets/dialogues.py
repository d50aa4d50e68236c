"""Dialogues: a conversation with a language model as it goes on, and all of it as a transcript at any moment.

So whatever ends a trial, what was said, called and paid for until then is kept with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from evalharness.contracts.model import Llm
from evalharness.contracts.target import Task
from evalharness.domain.case import as_text
from evalharness.domain.chat import ChatMessage, ChatReply, ChatRequest
from evalharness.domain.record import Json
from evalharness.domain.transcript import ToolCall, Transcript, Usage
from evalharness.domain.trial import TIME_LIMIT
from evalharness.errors import BadReply, TargetFailed, TargetUnavailable, waited_for
from evalharness.structured_replies import ask_for_object
from evalharness.targets.conversations import Turn, is_conversation, kept, turns_of

ORDINARY_ENDS = ("stop", "tool_calls")


class Dialogue:
    def __init__(self, llm: Llm, request: ChatRequest) -> None:
        self._llm = llm
        self._request = request
        self._messages = list(request.messages)
        self._kept = [kept(message) for message in request.messages]
        self._replies: list[ChatReply] = []
        self._calls: list[ToolCall] = []

    @asynccontextmanager
    async def of(self, task: Task) -> AsyncIterator[list[Turn]]:
        """The turns of the case, for as long as its trial may take."""
        limit = asyncio.timeout(task.timeout_s)
        try:
            async with limit:
                written = task.case.input
                yield turns_of(written if is_conversation(written) else task.case.content)
        except TimeoutError as error:
            if not limit.expired():
                raise
            if unavailable := waited_for(error):
                raise self._with_evidence(unavailable) from None
            reason = f"{TIME_LIMIT}: no answer within {task.timeout_s:g} s"
            raise self.failed(reason) from None
        except BadReply as error:
            raise self.failed(str(error)) from None
        except TargetUnavailable as error:
            raise self._with_evidence(error) from error.__cause__

    def say(self, *messages: ChatMessage) -> None:
        self._messages += messages
        self._kept += map(kept, messages)

    async def reply(self) -> ChatReply:
        reply = await self._llm.chat(self._asked())
        self._replies.append(reply)
        self._say_last_reply()
        if reply.finish_reason == "length" and not reply.text.strip() and not reply.tool_requests:
            raise self.failed("the model's reply was cut at the limit of tokens before it said anything")
        return reply

    async def reply_with_object(self, schema: dict[str, Json], check: Callable[[Any], Json]) -> Json:
        request = self._asked().model_copy(update={"reply_schema": schema})
        heard_before = len(self._replies)
        try:
            return await ask_for_object(self._llm, request, check, heard=self._replies.append)
        finally:
            if len(self._replies) > heard_before:
                self._say_last_reply()

    def call(self, request_id: str, call: ToolCall) -> None:
        """A tool was called; the model is told what came of it."""
        self._calls.append(call)
        told = f"error: {call.error}" if call.error else as_text(call.result)
        self.say(ChatMessage(role="tool", content=told, answers_request=request_id))

    def failed(self, reason: str) -> TargetFailed:
        return TargetFailed(reason, evidence=self.transcript())

    def transcript(self, output: Json = None) -> Transcript:
        """Without an output, the last thing that the model said."""
        said = self._replies[-1].text if self._replies else None
        usages = [reply.usage for reply in self._replies if reply.usage is not None]
        costs = [reply.cost_usd for reply in self._replies if reply.cost_usd is not None]
        return Transcript(
            output=said if output is None else output,
            messages=tuple(self._kept),
            tool_calls=tuple(self._calls),
            events=tuple(map(_event, self._replies)),
            usage=_total(usages) if usages else None,
            cost_usd=sum(costs) if costs and len(costs) == len(self._replies) else None,
        )

    def _with_evidence(self, error: TargetUnavailable) -> TargetUnavailable:
        error.evidence = self.transcript()
        return error

    def _asked(self) -> ChatRequest:
        return self._request.model_copy(update={"messages": tuple(self._messages)})

    def _say_last_reply(self) -> None:
        """Of several attempts the last one is what was said; all of them were paid for."""
        last = self._replies[-1]
        self.say(last.message)
        if last.finish_reason not in ORDINARY_ENDS:
            self._kept[-1]["finish_reason"] = last.finish_reason


def _event(reply: ChatReply) -> dict[str, Json]:
    """`model` is the name that the server gave itself, which may be more exact than the one asked for."""
    told = {"type": "model_reply", "model": reply.model, "finish_reason": reply.finish_reason}
    usage = reply.usage.model_dump() if reply.usage else {}
    return {**told, **usage, **({} if reply.cost_usd is None else {"cost_usd": reply.cost_usd})}


def _total(usages: list[Usage]) -> Usage:
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
    )
