"""Targets that know nothing: null answers with nothing, echo with the question. A sound suite fails them."""

from __future__ import annotations

from typing import ClassVar

from evalharness.contracts.target import Target, Task
from evalharness.domain.options import NoOptions, Options
from evalharness.domain.transcript import Transcript


class NullTarget(Target):
    records_calls = True
    Options: ClassVar[type[Options]] = NoOptions
    reads_input: ClassVar[bool] = False
    is_metered: ClassVar[bool] = True

    async def answer(self, task: Task) -> Transcript:  # noqa: ARG002
        return Transcript(output="")


class EchoTarget(Target):
    records_calls = True
    Options: ClassVar[type[Options]] = NoOptions
    is_metered: ClassVar[bool] = True

    async def answer(self, task: Task) -> Transcript:
        return Transcript(output=task.case.content)
