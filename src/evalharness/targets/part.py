"""What all targets share: how they are built and named. Each target adds its options and `answer`."""

from __future__ import annotations

from typing import Any, ClassVar

from evalharness.contracts import Services
from evalharness.domain.digest import digest
from evalharness.domain.options import Options
from evalharness.domain.specification import TargetSpec


class TargetPart:
    Options: ClassVar[type[Options]] = Options
    keeps_time_limit: bool = False
    reads_input: ClassVar[bool] = True
    is_metered: ClassVar[bool] = False

    def __init__(self, options: Any, spec: TargetSpec, services: Services) -> None:
        self.options = options
        self.spec = spec
        self.services = services

    def digest(self) -> str:
        return digest([self.spec.kind, self.options.model_dump(mode="json"), self.spec.tools, self.spec.variant])

    @classmethod
    def declared_tools(cls, options: Any, spec: TargetSpec) -> tuple[str, ...] | None:  # noqa: ARG003
        """The names of the tools it says it has; None where it says nothing."""
        return spec.tools

    async def open(self) -> None:
        """Nothing to prepare, unless a target says otherwise."""

    async def close(self) -> None:
        """Nothing to put away, unless a target says otherwise."""


class NoOptions(Options):
    main: ClassVar[str] = ""
