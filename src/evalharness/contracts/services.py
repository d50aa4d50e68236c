"""Services: what the harness provides to targets and graders, so that they need not refer to other parts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from evalharness.contracts.containers import Containers, ContainersOnDemand
from evalharness.contracts.exchange import Exchanges
from evalharness.contracts.gateway import Gateway
from evalharness.contracts.model import Embedder, Llm, Models
from evalharness.contracts.sandbox import Sandbox
from evalharness.contracts.servers import Servers
from evalharness.contracts.store import JudgeCache
from evalharness.errors import SandboxUnavailable, UsageError
from evalharness.user_modules import UserModules


class Threads(Protocol):
    """Runs sync functions in threads, so that they do not block others: `await in_thread(function, *args)`."""

    def __call__(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Awaitable[Any]: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Services:
    """What the harness provides to targets and graders.

    `sandbox` runs programs that the user trusts; `isolation` is for untrusted code.
    """

    root: Path
    sandbox: Sandbox
    in_thread: Threads
    environment: dict[str, str]
    isolation: Sandbox | None = None
    models: Models | None = None
    judge_model: str = ""
    """`--judge-model`: replaces the model of every judge; `none` leaves all such grades outstanding."""
    usual_judge: str = ""
    """The judge for graders without a model."""
    judge_cache: JudgeCache | None = None
    modules: UserModules = field(default_factory=UserModules)
    """Where `references.py` imports users' functions."""
    servers: Servers = field(default_factory=Servers)
    """Those that targets of this call have started."""
    exchanges: Exchanges = field(default_factory=Exchanges)
    """Through which every call leaves."""
    gateway: Gateway | None = None
    """Where targets in any language can ask their models; None where nobody wants it."""
    containers: ContainersOnDemand | None = None
    cases_root: Path | None = None
    """Where the files of cases are: the folder of their suite, if `root` is that of the target."""
    given: tuple[str, ...] = ()
    """The variables of `environment` that were set for this run."""

    def llm(self, name: str) -> Llm:
        if self.models is None:
            raise UsageError(f"{name} is needed, but models are not available here")
        return self.models.llm(name)

    def embedder(self, name: str) -> Embedder:
        if self.models is None:
            raise UsageError(f"{name} is needed, but models are not available here")
        return self.models.embedder(name)

    def container_runtime(self) -> Containers:
        if self.containers is None:
            raise SandboxUnavailable("containers are needed, but not available here")
        return self.containers()

    def isolated(self) -> Sandbox:
        if self.isolation is None:
            raise SandboxUnavailable("untrusted code needs a sandbox, but none is available here")
        return self.isolation
