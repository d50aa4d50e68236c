"""oracle: answers each case with its reference, or with what its graders say would please them.

A suite whose oracle does not pass asks for something that cannot be given.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from evalharness import registry
from evalharness.contracts.target import Target, Task
from evalharness.domain.case import as_text
from evalharness.domain.example import Example, merge_examples
from evalharness.domain.options import NoOptions, Options
from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.errors import TrialSkipped


class OracleTarget(Target):
    Options: ClassVar[type[Options]] = NoOptions
    reads_input: ClassVar[bool] = False
    is_metered: ClassVar[bool] = True

    async def answer(self, task: Task) -> Transcript:
        graders = [registry.build_grader(spec, self.services) for spec in task.graders if spec.required]
        examples = [grader.example() for grader in graders]
        if task.case.reference is not None:  # it settles the output; files and calls are still the graders' to tell
            examples = [replace(example, whole=None, snapshot=None) for example in examples if example is not None]
            examples.append(Example(whole=task.case.reference))
        example = merge_examples(examples)
        if example is None or example == Example():
            raise TrialSkipped("no reference: add `reference:` with an answer that passes")
        return Transcript(
            output=example.output if example.output is not None else "",
            exit_code=example.exit_code,
            files=example.files,
            tool_calls=example.tool_calls,
            messages=_one_round(example.tool_calls),
            snapshot=example.snapshot,
            events=example.events,
        )


def _one_round(calls: tuple[ToolCall, ...]) -> tuple[dict[str, object], ...]:
    """All calls at once: an oracle needs no result of one to know the next."""
    if not calls:
        return ()
    functions = [{"name": call.name, "arguments": as_text(call.arguments or {})} for call in calls]
    return ({"role": "assistant", "tool_calls": [{"type": "function", "function": each} for each in functions]},)
