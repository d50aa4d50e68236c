"""Services: what the harness hands to targets and graders, so that none of them names another part."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from evalharness.contracts.model import Embedder, Llm, Models
from evalharness.contracts.sandbox import Sandbox
from evalharness.contracts.store import JudgeCache
from evalharness.errors import SandboxUnavailable, UsageError
from evalharness.user_modules import UserModules


class Threads(Protocol):
    """Where sync functions run so that they cannot block the others: `await in_thread(function, *args)`."""

    def __call__(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Awaitable[Any]: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Services:
    """What the harness lends to targets and graders.

    `sandbox` runs programs that the user trusts; `isolation` is for untrusted code.
    """

    root: Path
    sandbox: Sandbox
    in_thread: Threads
    environment: dict[str, str]
    isolation: Sandbox | None = None
    models: Models | None = None
    judge_model: str = ""
    """`--judge-model`: judges in place of whatever model a grader names; `none` leaves all such grades outstanding."""
    usual_judge: str = ""
    """Judges where a grader names no model."""
    judge_cache: JudgeCache | None = None
    modules: UserModules = field(default_factory=UserModules)
    """What `references.py` imports users' functions into."""

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
            raise SandboxUnavailable("there is no sandbox here, and untrusted code needs one")
        return self.isolation
