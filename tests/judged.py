"""Judges for tests: small language models that reply honestly, wrongly or not at all, and graders that ask them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from evalharness import registry
from evalharness.contracts.grader import GradeContext
from evalharness.contracts.model import ChatReply, ChatRequest, Embedder, Llm
from evalharness.contracts.services import Services
from evalharness.contracts.store import JudgeCache
from evalharness.domain.case import Case
from evalharness.domain.finding import Finding
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript, Usage
from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import UsageError
from evalharness.sandboxes.none import NoSandbox

FENCED = re.compile(
    r"^--- (?P<name>[a-z ]+) begins (?P<nonce>[0-9a-f]{32}) ---\n(?P<text>.*?)\n--- (?P=name) ends (?P=nonce) ---$",
    re.DOTALL | re.MULTILINE,
)
NONCE = re.compile(r'"nonce": "([0-9a-f]{32})"')


def told(request: ChatRequest) -> str:
    """The first question to a judge, whatever repairs followed."""
    return request.messages[0].content


def data_in(request: ChatRequest) -> dict[str, str]:
    """The text between fences, by the fences' names."""
    return {found["name"]: found["text"] for found in FENCED.finditer(told(request))}


def nonce_in(request: ChatRequest) -> str:
    """The random word to repeat, from the end of the prompt."""
    return NONCE.findall(told(request))[-1]


class JudgeLlm(Llm):
    """Remembers its questions. A reply takes 10 tokens in, 2 out, and costs a hundredth of a cent."""

    def __init__(self, name: str = "test/judge") -> None:
        self.name = name
        self.requests: list[ChatRequest] = []

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        await asyncio.sleep(0)
        return ChatReply(
            text=self.reply(request),
            model=f"{self.name}-2026",
            usage=Usage(input_tokens=10, output_tokens=2),
            cost_usd=0.0001,
        )

    def reply(self, request: ChatRequest) -> str:
        raise NotImplementedError


class HonestLlm(JudgeLlm):
    """Passes texts that contain a word, in the requested form."""

    def __init__(self, likes: str = "Ada", name: str = "test/judge") -> None:
        super().__init__(name)
        self.likes = likes

    def verdict(self, request: ChatRequest) -> dict[str, Any]:
        assert request.reply_schema is not None
        data = data_in(request)
        if "first answer" in data:
            first, second = (self.likes in data[f"{place} answer"] for place in ("first", "second"))
            winner = "tie" if first == second else "first" if first else "second"
            return {"nonce": nonce_in(request), "justification": "compared", "winner": winner}
        likes = self.likes in data.get("answer", data.get("response", ""))
        return {**filled(request.reply_schema, likes), "nonce": nonce_in(request)}

    def reply(self, request: ChatRequest) -> str:
        return json.dumps(self.verdict(request))


class SayingLlm(JudgeLlm):
    """Replies with what a function of the request returns."""

    def __init__(self, say: Callable[[ChatRequest], str], name: str = "test/judge") -> None:
        super().__init__(name)
        self.say = say

    def reply(self, request: ChatRequest) -> str:
        return self.say(request)


class EchoLlm(JudgeLlm):
    """Replies with the verdict that the judged text demands."""

    def reply(self, request: ChatRequest) -> str:
        answers = [text for name, text in data_in(request).items() if name.endswith(("answer", "response"))]
        return max(answers, key=len)


def filled(schema: Mapping[str, Any], good: bool) -> Any:
    """A value of the schema: the best one, or the worst."""
    if "enum" in schema:
        words = schema["enum"]
        return ("pass" if good else "fail") if set(words) == {"pass", "fail"} else words[-1 if good else 0]
    kind = schema["type"]
    if kind == "object":
        return {name: filled(inner, good) for name, inner in schema["properties"].items()}
    if kind in ("integer", "number"):
        return schema["maximum" if good else "minimum"]
    plain: dict[str, Any] = {"boolean": good, "string": "so it is", "array": ["shorter"]}
    return plain[kind]


class TestModels:
    """Models by name; if only one is given, it has every name."""

    __test__ = False

    def __init__(self, *llms: Llm) -> None:
        self._llms = {llm.name: llm for llm in llms}
        self.root = Path()

    def llm(self, name: str) -> Llm:
        if len(self._llms) == 1:
            return next(iter(self._llms.values()))
        if name not in self._llms:
            raise UsageError(f"unknown model {name}")
        return self._llms[name]

    def embedder(self, name: str) -> Embedder:
        raise UsageError(f"unknown model {name}")

    def price_known(self, name: str) -> bool:
        return True

    def notes(self) -> tuple[Finding, ...]:
        return ()

    def trouble(self) -> str:
        return ""

    async def close(self) -> None: ...


def judge(
    written: Any,
    output: Any,
    llms: Llm | Iterable[Llm],
    *,
    trials: int = 1,
    cache: JudgeCache | None = None,
    flag: str = "",
    usual: str = "",
    case: Mapping[str, Any] | None = None,
    before: Grade | None = None,
    **transcript: Any,
) -> list[Grade]:
    """The grades of this many trials that all gave this output."""
    models = TestModels(*([llms] if hasattr(llms, "chat") else llms))
    services = Services(
        Path(),
        NoSandbox(),
        Offloader(1),
        {},
        models=models,
        judge_model=flag,
        usual_judge=usual,
        judge_cache=cache,
    )
    grader = registry.build_grader(GraderSpec.model_validate(written), services)
    asked = Case(id="a", input="Who?", **(case or {}))

    async def ask() -> list[Grade]:
        answer = Transcript(output=output, **transcript)
        said = before.model_copy(update={"version": grader.version}) if before else None
        contexts = [GradeContext(asked, answer, index, seed=index, before=said) for index in range(trials)]
        return [await grader.grade(context) for context in contexts]

    return asyncio.run(ask())


def judge_once(written: Any, output: Any, llms: Llm | Iterable[Llm], **more: Any) -> Grade:
    [grade] = judge(written, output, llms, **more)
    return grade
