"""Asking one judge one question: from the cache if it was asked before, else by as many calls as it takes.

What a judge reads: the template with every text of others in its fence, then, last, how to reply. The reply
counts only if it is one object of that form with the random word of this very call in it. One that does not count is
never shown to the judge again: it may hold what the judged text wants to be said outside its fence.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, TypeVar

from evalharness.contracts.exchange import Exchanges
from evalharness.contracts.grader import GradeContext
from evalharness.contracts.model import ChatMessage, ChatReply, ChatRequest, Llm
from evalharness.contracts.store import JudgeCache
from evalharness.domain.grade import Judging, added_up
from evalharness.domain.transcript import Usage
from evalharness.graders.judges.prompts import Template, template
from evalharness.graders.judges.reply_form import NONCE, Form, sound, with_echo
from evalharness.structured_replies import ask_for_object
from evalharness.values.json_value import Json
from evalharness.version import VERSION

# Fences: text that somebody else wrote, put before a judge so that it can be distinguished from what we say.
#
# Each call has its own random word in its fences. What is fenced cannot end its fence, since it cannot know the word.

REMOVED = "[a fence was removed here]"
_FENCE = re.compile(r"[-–—=]{2,9}[ \t]{0,5}[\w ]{1,40}[ \t](?:begins|ends)[ \t][^\n]{0,80}?[-–—=]{2,9}", re.IGNORECASE)


def fenced(name: str, text: str, nonce: str) -> str:
    """Nothing fenced looks like a fence; what UTF-8 cannot say is replaced."""
    return f"--- {name} begins {nonce} ---\n{_FENCE.sub(REMOVED, sound(text))}\n--- {name} ends {nonce} ---"


Item = TypeVar("Item")
Result = TypeVar("Result")


class QuotedText(NamedTuple):
    """A text of others, with the name of its fence."""

    name: str
    text: str


Said = str | tuple[str | QuotedText, ...]
"""What the suite itself says; it may quote others."""


@dataclass(frozen=True, slots=True)
class Question:
    """`data` are texts of others by place, each with the name of its fence, None for one that is not there."""

    template: Template
    form: Form
    data: Mapping[str, tuple[str, str | None]]
    said: Mapping[str, Said] = field(default_factory=dict)

    def prompt(self, nonce: str) -> str:
        data = {place: "" if text is None else fenced(name, text, nonce) for place, (name, text) in self.data.items()}
        said = {place: _spoken(text, nonce) for place, text in self.said.items()}
        closing = {NONCE: nonce, "form": with_echo(self.form, nonce).shown()}
        return f"{self.template.filled({**said, **data})}\n\n{template('closing').filled(closing)}"

    @property
    def identity(self) -> list[Json]:
        """Everything but the random word."""
        return [self.template.digest, self.form.digest, self.data, self.said]


def _spoken(said: Said, nonce: str) -> str:
    if isinstance(said, str):
        return said
    return "".join(part if isinstance(part, str) else fenced(part.name, part.text, nonce) for part in said)


class JudgeVerdict(NamedTuple):
    said: dict[str, Json]
    model: str
    """As the server names itself; what was asked for where it does not."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a judge is asked, and which of several equal questions this is: where sampling is on, each has its own reply.

    `seat` tells the same model apart that sits in a panel twice.
    """

    temperature: float = 0.0
    max_tokens: int = 1000
    index: int = 0
    seed: int = 0
    seat: int = 0

    @classmethod
    def of(cls, context: GradeContext, temperature: float, max_tokens: int, seat: int = 0) -> Sampling:
        return cls(temperature, max_tokens, context.index, context.seed, seat)

    def identity(self, *, takes_no_temperature: bool) -> list[Json]:
        """A judge that takes no temperature samples, with a seed of its own."""
        if self.temperature > 0:
            return [self.temperature, self.max_tokens, self.index, self.seat, self.seed]
        return [self.temperature, self.max_tokens, *([self.index, self.seat] if takes_no_temperature else ())]

    def request(self, text: str, schema: dict[str, Json]) -> ChatRequest:
        return ChatRequest(
            messages=(ChatMessage(role="user", content=text),),
            reply_schema=schema,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=(self.seed + self.seat) % 2**31 if self.temperature > 0 else None,
        )


@dataclass(slots=True)
class Asking:
    """One judge, for one grade; `judging` adds up what its questions took."""

    llm: Llm
    cache: JudgeCache | None = None
    sampling: Sampling = Sampling()
    exchanges: Exchanges = field(default_factory=Exchanges)
    under_way: dict[str, asyncio.Event] = field(default_factory=dict)
    """Questions that are being asked, by key: shared by all who keep verdicts in the same cache."""
    judging: Judging = field(init=False)

    def __post_init__(self) -> None:
        self.judging = _nothing_yet(self.llm.name)

    async def ask(self, question: Question) -> JudgeVerdict:
        """Raises BadReply where no reply is a verdict, and what `Llm.chat` raises; neither is ever kept.

        Who asks what somebody is asking already waits for that verdict, and asks only where there is none.
        """
        tape = self.exchanges.tape
        if tape is not None and (known := tape.recall("verdict", self._identity(question))) is not None:
            return self._from_cache(question, known)
        if self.cache is None or (tape is not None and tape.is_replay):
            return await self._asked(question)
        key = self._key(question)
        if (first := self.under_way.get(key)) is not None:
            await first.wait()
            return await self._known_or_asked(question, key, self.cache)
        ended = self.under_way[key] = asyncio.Event()
        try:
            return await self._known_or_asked(question, key, self.cache)
        finally:
            del self.under_way[key]
            ended.set()

    async def _known_or_asked(self, question: Question, key: str, cache: JudgeCache) -> JudgeVerdict:
        """What is read from a cache is checked like what comes from a judge."""
        kept: Any = await cache.get(key)
        try:
            verdict = self._from_cache(question, kept)
        except (KeyError, TypeError, ValueError):
            verdict = await self._asked(question)
            await cache.set(key, verdict._asdict())
            return verdict
        if (tape := self.exchanges.tape) is not None:  # a replay has no cache
            tape.keep("verdict", self._identity(question), verdict._asdict())
        return verdict

    def _from_cache(self, question: Question, kept: Any) -> JudgeVerdict:
        verdict = JudgeVerdict(question.form.read(kept["said"]), str(kept["model"]))
        self.judging = self.judging.unchecked({**vars(self.judging), "cached": self.judging.cached + 1})
        return verdict

    async def _asked(self, question: Question) -> JudgeVerdict:
        nonce = self.exchanges.nonce(lambda: self._identity(question))
        form = with_echo(question.form, nonce)
        request = self.sampling.request(question.prompt(nonce), form.schema())
        model = self.llm.name

        def hear(reply: ChatReply) -> None:
            nonlocal model
            model = reply.model or self.llm.name
            self._add(reply)

        said = await ask_for_object(self.llm, request, form.read, heard=hear, repair=_unseen)
        del said[NONCE]
        return JudgeVerdict(said, sound(model))

    def _identity(self, question: Question) -> str:
        """What is asked of whom, as far as a replay knows it: there no server says who it is."""
        return cache_key(self.llm.name, self.sampling.identity(takes_no_temperature=True), question.identity)

    def _key(self, question: Question) -> str:
        """Found out at the latest when the judge was validated: whether it takes a temperature."""
        sampling = self.sampling.identity(takes_no_temperature=self.llm.takes_no_temperature)
        return cache_key(self.llm.name, self.llm.revision, sampling, question.identity)

    def _add(self, reply: ChatReply) -> None:
        usage = reply.usage or Usage()
        took = Judging(
            model=self.llm.name,
            calls=1,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=reply.cost_usd,
        )
        [self.judging] = added_up((self.judging, took))


@cache
def _nothing_yet(model: str) -> Judging:
    return Judging(model=model, cost_usd=0.0)


def _unseen(_: ChatReply, why: str) -> tuple[ChatMessage, ...]:
    return (
        ChatMessage(role="assistant", content=template("unusable").text),
        ChatMessage(role="user", content=template("again").filled({"why": why})),
    )


async def together(ask: Callable[[Item], Awaitable[Result]], items: Sequence[Item], at_once: int) -> list[Result]:
    """All results in order, so many at a time. What one raises is raised as it is, and the others are ended."""
    if len(items) == 1:
        return [await ask(items[0])]
    free = asyncio.Semaphore(at_once)

    async def in_turn(item: Item) -> Result:
        async with free:
            return await ask(item)

    tasks = [asyncio.ensure_future(in_turn(item)) for item in items]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# The cache of verdicts: under which key one is kept, and a cache that lasts as long as the program.

MAJOR = VERSION.partition(".")[0]


def cache_key(*parts: Json) -> str:
    """Equal only for equal parts, of the same major version of the harness. Half a surrogate pair is fine, too."""
    return f"judge:{hashlib.sha256(ascii((MAJOR, *parts)).encode()).hexdigest()}"


class InMemoryCache:
    """Implements `contracts.JudgeCache`."""

    def __init__(self) -> None:
        self._kept: dict[str, Json] = {}

    async def get(self, key: str) -> Json:
        """None where nothing is kept. Whoever changes what they got changes nothing here."""
        return copy.deepcopy(self._kept.get(key))

    async def set(self, key: str, value: Json) -> None:
        self._kept[key] = copy.deepcopy(value)

    async def has(self, key: str) -> bool:
        return key in self._kept

    async def clear(self) -> None:
        self._kept.clear()
