"""Exchanges: the one place through which calls to models, judges, embedders, tools, programs and servers leave.

Live, a call passes straight through. In the other modes each trial has a tape, which records its calls or replays
them; `exchanges/` implements it. Who makes a call neither knows nor cares.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

from evalharness.domain.exchange import Exchange, ExchangeKind, Mode, Replayed
from evalharness.domain.finding import Finding
from evalharness.domain.transcript import Transcript
from evalharness.redaction import Redactor
from evalharness.values.json_value import Json

Value = TypeVar("Value")
BYTES_OF_NONCE = 16


@dataclass(frozen=True, slots=True)
class Call(Generic[Value]):
    """One call: how it is compared with recorded ones, how it is sent, and how its reply is kept as JSON."""

    kind: ExchangeKind
    request: Callable[[], Json]
    send: Callable[[], Awaitable[Value]]
    write: Callable[[Value], Json]
    read: Callable[[Json], Value]
    node: str = ""
    """Empty for that of whoever is at work: the target, or the grader."""
    is_repeated: bool = False
    """Whether a replay sends it as well, because of what it does, and only takes the reply from the recording."""


class Workspace(Protocol):
    """Where an attempt works, as far as its tape must know."""

    @property
    def made_workspace(self) -> Path | None:
        """None while nobody has asked for it."""
        ...

    @property
    def workspace(self) -> Path:
        """Made when it is asked for."""
        ...


class Tape(ABC):
    """The calls of one trial, being recorded or replayed."""

    grader: str
    """The grader at work; empty while the target is."""

    @abstractmethod
    def begin(self, attempt: int, workspace: Workspace) -> None:
        """What follows belongs to this attempt."""

    @abstractmethod
    async def pass_on(self, call: Call[Value]) -> Value:
        """The reply: recorded, or sent for and recorded. Raises what `call.send` raises, and ReplayMiss."""

    @abstractmethod
    def linked(self, answer: Transcript, run_id: str) -> Transcript:
        """The artifact of a workflow with a link to a recording before each of its nodes; other answers as they are."""

    @abstractmethod
    def latency(self, measured_s: float) -> float:
        """How long this attempt took: when it was recorded, or now."""

    @abstractmethod
    def nonce(self, about: str) -> str:
        """A word that nobody can guess who does not know the recording's secret; the same in every replay."""

    @abstractmethod
    def recall(self, kind: ExchangeKind, request: Json) -> Json:
        """What was kept without being a call; None for nothing."""

    @abstractmethod
    def keep(self, kind: ExchangeKind, request: Json, reply: Json) -> None: ...

    @abstractmethod
    def has_attempt(self, number: int) -> bool:
        """Whether a replay has to go on with this attempt, because it was made when the trial was recorded."""

    @property
    @abstractmethod
    def is_replay(self) -> bool:
        """Whether nothing is sent."""

    @property
    @abstractmethod
    def missed(self) -> str:
        """Why a call had no recorded reply; empty if all had one."""

    @abstractmethod
    def kept(self) -> tuple[Exchange, ...]:
        """What is to be stored with the trial."""

    @abstractmethod
    def replayed(self) -> Replayed | None:
        """What the replay found; None where everything was sent."""


class Tries:
    """How often a provider was asked for one reply."""

    def __init__(self) -> None:
        self.count = 0


_TAPE: ContextVar[Tape | None] = ContextVar("tape", default=None)
TRIES: ContextVar[Tries | None] = ContextVar("tries", default=None)
"""Set while the attempts at a call are of interest."""


@contextmanager
def taped(tape: Tape) -> Iterator[None]:
    """While this is entered, calls of this task and those it starts go through the tape."""
    token = _TAPE.set(tape)
    try:
        yield
    finally:
        _TAPE.reset(token)


class Exchanges:
    """What targets and graders get. Outside of a trial that is recorded or replayed, everything passes."""

    @property
    def tape(self) -> Tape | None:
        return _TAPE.get()

    async def pass_on(self, call: Call[Value]) -> Value:
        tape = _TAPE.get()
        return await (call.send() if tape is None else tape.pass_on(call))

    def nonce(self, about: Callable[[], str]) -> str:
        """A word that nobody can guess. `about`: what it is for, which a recording repeats it by."""
        tape = _TAPE.get()
        return secrets.token_hex(BYTES_OF_NONCE) if tape is None else tape.nonce(about())


class TrialRecording(NamedTuple):
    """What a work unit brings to a trial that is recorded or replayed: the digest of its target, and what is known."""

    target: str = ""
    exchanges: tuple[Exchange, ...] = ()


@dataclass(frozen=True, slots=True)
class Taping:
    """How the calls of a run are recorded and replayed. `secret` is that of the recording, in hex."""

    mode: Mode = "live"
    secret: str = field(default="", repr=False)
    ignore: tuple[str, ...] = ()
    """Where requests may differ: JSON paths and regular expressions."""
    redactor: Redactor | None = field(default=None, repr=False)
    """Requests are compared without secrets, as they are stored."""
    dataset: str = ""
    variant: str = ""
    """By which recordings are named, with the case, the node and the invocation."""

    @property
    def is_replay(self) -> bool:
        return self.mode == "replay"


LIVE = Taping()


class Recording(Protocol):
    """Where the recorded exchanges of one run come from: a run of a store, or a folder of files."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def reference(self) -> str:
        """By which it is found again: a run, or a folder."""
        ...

    @property
    def secret(self) -> str: ...

    @property
    def seed(self) -> int | None:
        """The seed of the recorded run; None where the files do not say."""
        ...

    @property
    def notes(self) -> Sequence[Finding]:
        """What the recorded run reported about its models."""
        ...

    def others(self, known: Iterable[str]) -> Sequence[str]:
        """The cases that were recorded and are none of these."""
        ...

    def trial(self, case_id: str, index: int) -> Sequence[Exchange]: ...
