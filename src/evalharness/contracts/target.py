"""The target: the system under test, and the task it gets for one trial.

A target inherits from `Target` and adds its `Options` and `answer`; everything else has a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

from evalharness.contracts.containers import EndState
from evalharness.contracts.gateway import GatewaySession
from evalharness.contracts.sandbox import Owner, Sandbox, SandboxSession
from evalharness.contracts.services import Services
from evalharness.domain.case import Case
from evalharness.domain.options import Options
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.transcript import Transcript
from evalharness.values.digest import digest
from evalharness.values.json_value import Json


class Task(Protocol):
    """One trial as its target sees it; a Python function may take it as its second argument, `context`.

    Everything mutable in it belongs to this trial alone.
    """

    index: int
    seed: int
    timeout_s: float

    @property
    def case(self) -> Case:
        """The case. If a prompt asks it, its input is the prompt, filled in."""
        ...

    @property
    def content(self) -> Json:
        """The content of the case, which is all that most functions get."""
        ...

    @property
    def graders(self) -> tuple[GraderSpec, ...]: ...

    @property
    def variant(self) -> Mapping[str, Json]:
        """The current variant: its name, provider and model by node, tags; empty without one."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of this run; functions in this process use it instead of that of the process."""
        ...

    @property
    def workspace(self) -> Path:
        """A separate folder for this trial with the case's files, created on first use."""
        ...

    @property
    def gateway(self) -> GatewaySession | None:
        """Where this attempt can ask its models; None where there is no gateway."""
        ...

    @property
    def owner(self) -> Owner:
        """What is started for this trial outside of a session is named and labelled so."""
        ...

    def leave(self, end_state: EndState) -> None:
        """What is left of the trial, for its graders; it is closed when they are done."""
        ...

    async def workspace_replaced(self, touched: Collection[str]) -> None:
        """The workspace was replaced with what the target's container left; only `touched` paths were changed there."""
        ...

    async def session(self, sandbox: Sandbox) -> SandboxSession:
        """The trial's session in this sandbox, with its workspace; opened on the first call, closed with the trial."""
        ...


class Target(ABC):
    Options: ClassVar[type[Options]] = Options
    keeps_time_limit: bool = False
    """Whether `answer` itself ends at `task.timeout_s`, with evidence; the engine's limit is then only a fallback."""
    reads_input: ClassVar[bool] = True
    """Whether its answer can depend on the question. If not, variables used only in questions are not needed."""
    is_metered: ClassVar[bool] = False
    """Whether `Services.models` charges all its spending call by call; otherwise the cost in its answer is charged."""

    records_calls: bool = False
    """Whether a recording has its calls one by one: then a replay executes it, and answers them. Otherwise a recording
    has its whole answers, and a replay does not execute it."""

    may_use_gateway: ClassVar[bool] = False
    """Whether the gateway, if there is one, is for it: then its calls are recorded one by one, and metered."""

    has_own_machine: ClassVar[bool] = False
    """Whether it answers in a clean machine. It then runs the case's `setup` there itself, and in the case's image."""

    options: Any
    spec: TargetSpec
    services: Services

    def __init__(self, options: Any, spec: TargetSpec, services: Services) -> None:
        """`options` is an instance of the class's own `Options`. Nothing is started or sent before `open`."""
        self.options = options
        self.spec = spec
        self.services = services

    @classmethod
    def declared_tools(cls, options: Any, spec: TargetSpec) -> tuple[str, ...] | None:  # noqa: ARG003
        """The names of the tools it declares; None if it declares none."""
        return spec.tools

    def digest(self) -> str:
        """Changes if the target may answer differently for a reason that the harness can see."""
        return digest([self.spec.kind, self.options.model_dump(mode="json"), self.spec.tools, self.spec.variant])

    @property
    def uses_gateway(self) -> bool:
        return self.may_use_gateway and self.services.gateway is not None

    def models(self) -> tuple[str, ...]:
        """The language models it uses, as `provider/model`; each is looked up before the first trial."""
        return ()

    def unpinned(self) -> tuple[str, ...]:
        """What decides its answers, but is in no digest: another time it may be something else under the same name."""
        return tuple(f"model {name}" for name in self.models())

    @classmethod
    def wants_gateway(cls, spec: TargetSpec) -> bool:  # noqa: ARG003 - most can ask their models without
        """Whether there is a gateway for it without being asked for: it could not reach a model otherwise."""
        return False

    def images(self) -> Mapping[str, str]:
        """The digests of the container images it runs in, by name; known once it is open."""
        return {}

    def expect(self, case: Case) -> None:  # noqa: B027 - most need not know
        """Called before `open` with each case that it will be asked."""

    async def open(self) -> None:  # noqa: B027 - most have nothing to prepare
        """Import, look up or start what is needed; raises TargetUnavailable before any trial runs."""

    @abstractmethod
    async def answer(self, task: Task) -> Transcript:
        """The answer. Raises TargetFailed or TargetUnavailable; any other exception is a failure of the target."""

    async def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Called at least once, even for a target that was never opened."""
