"""The target: the system under test, and what it is handed for one trial.

A target inherits from `Target` and adds its `Options` and `answer`; everything else has a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

from evalharness.contracts.sandbox import Sandbox, SandboxSession
from evalharness.contracts.services import Services
from evalharness.domain.case import Case
from evalharness.domain.options import Options
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.transcript import Transcript
from evalharness.values.digest import digest
from evalharness.values.json_value import Json


class Task(Protocol):
    """One trial as its target sees it; a Python function may take it as its second argument, `context`.

    All that can be changed in it belongs to this trial alone.
    """

    index: int
    seed: int
    timeout_s: float

    @property
    def case(self) -> Case: ...

    @property
    def content(self) -> Json:
        """That of the case: all that most functions are given."""
        ...

    @property
    def graders(self) -> tuple[GraderSpec, ...]: ...

    @property
    def variant(self) -> Mapping[str, Json]:
        """What the variant being run says: its name, provider and model by node, tags; empty without one."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of this run: what a function of this process reads in place of `os.environ`."""
        ...

    @property
    def workspace(self) -> Path:
        """A folder of this trial's own, with the case's files in it; made when first asked for."""
        ...

    async def session(self, sandbox: Sandbox) -> SandboxSession:
        """The trial's session in this sandbox, with its workspace: opened by the first call, ended with the trial."""
        ...


class Target(ABC):
    Options: ClassVar[type[Options]] = Options
    keeps_time_limit: bool = False
    """Whether `answer` itself ends at `task.timeout_s`, with evidence; the engine then only watches over it."""
    reads_input: ClassVar[bool] = True
    """Whether its answer can depend on the question: else variables that only the question uses are not needed."""
    is_metered: ClassVar[bool] = False
    """Whether all it spends is charged call by call, by `Services.models`; else the cost that its answer reports is."""

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
        """The names of the tools it says it has; None where it says nothing."""
        return spec.tools

    def digest(self) -> str:
        """Changes when the target may answer differently for a reason the harness can see."""
        return digest([self.spec.kind, self.options.model_dump(mode="json"), self.spec.tools, self.spec.variant])

    def models(self) -> tuple[str, ...]:
        """The language models that it asks, as `provider/model`: each is looked up before the first trial."""
        return ()

    async def open(self) -> None:  # noqa: B027 - most have nothing to prepare
        """Import, look up or start what is needed; raises TargetUnavailable before any trial is run."""

    @abstractmethod
    async def answer(self, task: Task) -> Transcript:
        """The answer. Raises TargetFailed or TargetUnavailable; whatever else it raises is a failure of the target."""

    async def close(self) -> None:  # noqa: B027 - and nothing to put away
        """Called once or more, also for a target that was never opened."""
