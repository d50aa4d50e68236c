"""oracle: answers each case with its reference, or with what its graders say would please them.

A suite whose oracle does not pass asks for something that cannot be given.
"""

from __future__ import annotations

from typing import ClassVar

from evalharness import registry
from evalharness.contracts.target import Target, Task
from evalharness.domain.example import right_answer
from evalharness.domain.options import NoOptions, Options
from evalharness.domain.transcript import Transcript
from evalharness.errors import TrialSkipped


class OracleTarget(Target):
    records_calls = True
    Options: ClassVar[type[Options]] = NoOptions
    reads_input: ClassVar[bool] = False
    is_metered: ClassVar[bool] = True

    async def answer(self, task: Task) -> Transcript:
        graders = [registry.build_grader(spec, self.services) for spec in task.graders if spec.required]
        example = right_answer(task.case, (grader.example() for grader in graders))
        if example is None:
            raise TrialSkipped("no reference: add `reference:` with an answer that passes")
        return example.answer
