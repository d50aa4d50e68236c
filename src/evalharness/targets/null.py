"""Targets that know nothing: null answers with nothing, echo with the question. A sound suite fails them."""

from __future__ import annotations

from typing import ClassVar

from evalharness.contracts import Task
from evalharness.domain.options import Options
from evalharness.domain.transcript import Transcript
from evalharness.targets.part import NoOptions, TargetPart


class NullTarget(TargetPart):
    Options: ClassVar[type[Options]] = NoOptions
    reads_input: ClassVar[bool] = False
    is_metered: ClassVar[bool] = True

    async def answer(self, task: Task) -> Transcript:  # noqa: ARG002
        return Transcript(output="")


class EchoTarget(TargetPart):
    Options: ClassVar[type[Options]] = NoOptions
    is_metered: ClassVar[bool] = True

    async def answer(self, task: Task) -> Transcript:
        return Transcript(output=task.case.content)
