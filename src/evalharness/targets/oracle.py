"""oracle: answers each case with its reference, or with what its graders say would please them.

A suite whose oracle does not pass asks for something that cannot be given.
"""

from __future__ import annotations

from typing import ClassVar

from evalharness import registry
from evalharness.contracts import Task
from evalharness.domain.example import merge_examples
from evalharness.domain.options import Options
from evalharness.domain.transcript import Transcript
from evalharness.errors import TrialSkipped
from evalharness.targets.part import NoOptions, TargetPart


class OracleTarget(TargetPart):
    Options: ClassVar[type[Options]] = NoOptions

    async def answer(self, task: Task) -> Transcript:
        graders = [registry.build_grader(spec, self.services) for spec in task.graders if spec.required]
        example = merge_examples(grader.example() for grader in graders)
        exit_code = example.exit_code if example else None
        if task.case.reference is not None:
            return Transcript(output=task.case.reference, exit_code=exit_code)
        if example is None or (example.output is None and exit_code is None):
            raise TrialSkipped("no reference: add `reference:` with an answer that passes")
        return Transcript(output=example.output if example.output is not None else "", exit_code=exit_code)
