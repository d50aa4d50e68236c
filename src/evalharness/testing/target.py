"""A fake of the target: answers are scripted, and the tasks are recorded."""

from __future__ import annotations

from typing import ClassVar

from evalharness.contracts.services import Services
from evalharness.contracts.target import Target, Task
from evalharness.domain.options import NoOptions, Options
from evalharness.domain.specification import TargetSpec
from evalharness.domain.transcript import Transcript
from evalharness.testing.model import ReplyQueue
from evalharness.testing.services import fake_services
from evalharness.values.digest import digest
from evalharness.values.json_value import Json


class FakeTarget(Target):
    """Gives one answer after the other, and the last one again and again. An exception is raised in its turn.

    An answer is a Transcript, or its output alone.
    """

    Options: ClassVar[type[Options]] = NoOptions

    def __init__(self, *answers: Json | Transcript | Exception, services: Services | None = None) -> None:
        super().__init__(NoOptions(), TargetSpec(kind="fake"), services or fake_services())
        self.tasks: list[Task] = []
        self.is_open = False
        self._answers = answers or ("",)
        self._script: ReplyQueue[Json | Transcript] = ReplyQueue(*self._answers)

    def digest(self) -> str:
        return digest([super().digest(), [repr(answer) for answer in self._answers]])

    async def open(self) -> None:
        self.is_open = True

    async def answer(self, task: Task) -> Transcript:
        self.tasks.append(task)
        answer = self._script.next()
        return answer if isinstance(answer, Transcript) else Transcript(output=answer)

    async def close(self) -> None:
        self.is_open = False
