"""skill: a target by name, to be looked up among the suite's `targets:` when a run is planned.

One that is found there takes its place; what is left here stands for a skill that nobody has named.
"""

from __future__ import annotations

from typing import ClassVar

from evalharness.contracts.target import Target, Task
from evalharness.domain.options import Options
from evalharness.domain.transcript import Transcript
from evalharness.errors import TrialSkipped


class SkillOptions(Options):
    main: ClassVar[str] = "skill_name"

    skill_name: str


class SkillTarget(Target):
    records_calls = True
    Options: ClassVar[type[Options]] = SkillOptions
    options: SkillOptions

    async def answer(self, task: Task) -> Transcript:  # noqa: ARG002
        name = self.options.skill_name
        raise TrialSkipped(
            f"the skill '{name}' is unknown: name its target under `targets: {{{name}: …}}`, or choose one for the run"
        )
