"""Every role that can be played by more than one part, in one short file.

A part is built from its options (`Part.Options`) and is handed `Services`; it never names another part.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from evalharness.domain.case import Case
from evalharness.domain.chat import ChatReply, ChatRequest
from evalharness.domain.embedded import Embedded
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade, GraderType
from evalharness.domain.options import Options
from evalharness.domain.process import ProcessRequest, ProcessResult
from evalharness.domain.record import Json
from evalharness.domain.run import Run
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Trial
from evalharness.errors import SandboxUnavailable, UsageError


class Task(Protocol):
    """One trial as its target sees it; a Python function may take it as its second argument, `context`."""

    case: Case
    index: int
    seed: int
    graders: tuple[GraderSpec, ...]
    timeout_s: float
    variant: Mapping[str, Json]
    """What the variant being run says: its name, provider and model by node, tags; empty without one."""

    @property
    def workspace(self) -> Path:
        """A folder of this trial's own, holding the case's files; made when first asked for."""
        ...


@dataclass(frozen=True, slots=True)
class GradeContext:
    """All a grader may look at. A grader takes this one argument and returns a value."""

    case: Case
    transcript: Transcript
    index: int
    seed: int
    duration_s: float = 0.0
    before: Grade | None = None
    """What the grader has said before, where only what is still due is wanted of it: verdicts of judges stay."""

    @property
    def output(self) -> Json:
        return self.transcript.output

    @property
    def text(self) -> str:
        return self.transcript.text

    @property
    def input(self) -> Json:
        return self.case.content

    @property
    def reference(self) -> Json:
        return self.case.reference


class Sandbox(Protocol):
    async def open(self) -> None:
        """Raises SandboxUnavailable where `run` cannot work. `run` opens by itself what nobody has opened."""
        ...

    async def run(self, request: ProcessRequest) -> ProcessResult: ...

    async def close(self) -> None: ...


class Threads(Protocol):
    """Where sync functions run so that they cannot block the others: `await in_thread(function, *args)`."""

    def __call__(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Awaitable[Any]: ...

    def close(self) -> None: ...


class Llm(Protocol):
    """A language model. Whatever it is to know of a conversation stands in the request."""

    name: str
    """`provider/model`, as it was asked for."""
    revision: str
    """What else sets it apart from a model of the same name: the server's address, the digest of a script."""

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Raises ModelUnavailable when there is no reply, whatever was tried, and SpendCapReached."""
        ...

    async def close(self) -> None: ...


class Embedder(Protocol):
    """Texts → vectors of one length whose directions say what the texts mean."""

    name: str

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Raises ModelUnavailable and SpendCapReached, as a language model does."""
        ...

    async def close(self) -> None: ...


class Models(Protocol):
    """Every model a run uses, each opened once; what they cost is added up, and capped."""

    root: Path
    """The folder where a model that is named by a file is looked for, before the current one."""

    def llm(self, name: str) -> Llm:
        """Raises UsageError for a name nobody knows, a missing key or a missing package: nothing is sent yet."""
        ...

    def embedder(self, name: str) -> Embedder: ...

    def price_known(self, name: str) -> bool: ...

    def notes(self) -> tuple[str, ...]:
        """What a reader of the report must know of how the models were asked, each once."""
        ...

    def trouble(self) -> str:
        """Why a server is asked again, in its words where it had any; empty where the last one asked has replied."""
        ...

    async def close(self) -> None: ...


class Purse(Protocol):
    """What all models of a run draw on."""

    async def begin(self, model: str, cost_usd: float = 0.0, tokens: int = 0) -> None:
        """Before every call, with what it may take. It may have to wait; raises what `check` raises."""
        ...

    def check(self) -> None:
        """Raises SpendCapReached when nothing may be spent any more."""
        ...

    def end(self, model: str, cost_usd: float | None = 0.0, tokens: int = 0, *, broken_off: bool = False) -> None:
        """After every call that was begun; None where no price is known. `broken_off`: no reply was waited for."""
        ...

    def charge(
        self, cost_usd: float | None, tokens: int, model: str | None = None, *, broken_off: bool = False
    ) -> None:
        """What was spent beside the ends of calls; for one that is under way, of which model."""
        ...


class JudgeCache(Protocol):
    """Verdicts by key, so that nobody pays twice for the same one. Faults are never kept."""

    async def get(self, key: str) -> Json: ...

    async def set(self, key: str, value: Json) -> None: ...

    async def has(self, key: str) -> bool: ...

    async def clear(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Services:
    """What the harness lends to targets and graders.

    `sandbox` runs programs that the user trusts; `isolation` is for code that nobody vouches for.
    """

    root: Path
    sandbox: Sandbox
    in_thread: Threads
    environment: dict[str, str]
    isolation: Sandbox | None = None
    models: Models | None = None
    judge_model: str = ""
    """`--judge-model`: judges in place of whatever model a grader names; `none` leaves all such grades due."""
    usual_judge: str = ""
    """Judges where a grader names no model."""
    judge_cache: JudgeCache | None = None

    def llm(self, name: str) -> Llm:
        if self.models is None:
            raise UsageError(f"no model can be asked here, and {name} is wanted")
        return self.models.llm(name)

    def embedder(self, name: str) -> Embedder:
        if self.models is None:
            raise UsageError(f"no model can be asked here, and {name} is wanted")
        return self.models.embedder(name)

    def isolated(self) -> Sandbox:
        if self.isolation is None:
            raise SandboxUnavailable("there is no sandbox here, and code that nobody vouches for needs one")
        return self.isolation


class Target(Protocol):
    Options: ClassVar[type[Options]]
    keeps_time_limit: bool
    """Whether `answer` itself ends at `task.timeout_s`, with evidence; the engine then only watches over it."""
    reads_input: ClassVar[bool]
    """Whether its answer can depend on the question: else variables that only the question holds are not needed."""
    is_metered: ClassVar[bool]
    """Whether all it spends is charged call by call, by `Services.models`; else what its answer tells is charged."""

    def digest(self) -> str:
        """Changes when the target may answer differently for a reason the harness can see."""
        ...

    async def open(self) -> None:
        """Import, look up or start what is needed; raises TargetUnavailable before any trial is run."""
        ...

    async def answer(self, task: Task) -> Transcript: ...

    async def close(self) -> None: ...


class Grader(Protocol):
    Options: ClassVar[type[Options]]
    type: GraderType
    """Who it takes: one made of others is `human` if a person has a part in it, else `model` if a model has."""
    version: str

    def digest(self) -> str: ...

    async def grade(self, context: GradeContext) -> Grade: ...

    def example(self) -> Example | None:
        """What an answer must hold to please this grader; None when the grader cannot say."""
        ...


class Store(Protocol):
    """Where finished trials go. A trial is inserted once; it is finished when it is committed."""

    def put(self, run_id: str, trial: Trial) -> None: ...

    def mend(self, run_id: str, trial: Trial) -> None: ...

    @property
    def backlog(self) -> int:
        """How many trials wait to be committed."""
        ...


class Watcher(Protocol):
    """Somebody who is told how a run goes: a progress bar, lines in a log, nobody."""

    def run_started(self, run: Run, finished_before: int) -> None: ...

    def trial_finished(self, trial: Trial) -> None: ...

    def run_ended(self, run: Run) -> None: ...
