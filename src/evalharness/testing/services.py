"""Services made of fakes: what a target or a grader is built with in a test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from evalharness.contracts.model import Models
from evalharness.contracts.sandbox import Sandbox
from evalharness.contracts.services import Services, Threads
from evalharness.testing.model import FakeModels
from evalharness.testing.sandbox import FakeSandbox


class InPlace(Threads):
    """Calls the function at once, without a thread."""

    def __call__(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Awaitable[Any]:
        async def call() -> Any:
            return function(*arguments, **keywords)

        return call()

    def close(self) -> None:
        """Nothing was started."""


def fake_services(root: Path = Path(), *, sandbox: Sandbox | None = None, models: Models | None = None) -> Services:
    """`sandbox` runs trusted programs and untrusted code alike."""
    runs = sandbox or FakeSandbox()
    return Services(root, runs, InPlace(), environment={}, isolation=runs, models=models or FakeModels(root=root))
