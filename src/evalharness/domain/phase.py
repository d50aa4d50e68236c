"""Phase: a plan of steps of which some are evals. The keys are those of a phase file."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, field_validator, model_validator

from evalharness.domain.gate import Metric, Minimum, Share
from evalharness.domain.record import Record

PHASE_ID = "{phase_id}"
DEFAULT_REPORT = f"eval-results/phase-{PHASE_ID}.md"
LONGEST_ID = 80
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_ID = re.compile(r"\w[\w.-]*")
_NEVER_SOFTENED = (2, 3, 130)


def _one_or_several(written: Any) -> Any:
    return (written,) if isinstance(written, str) else written


Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_one_or_several)]


class Filters(Record):
    """Any of the categories, and any of the tags."""

    categories: Names = ()
    tags: Names = ()


class OnFailure(Record):
    action: Literal["block", "warn", "continue"] = "block"
    notification: bool | None = None
    """None leaves it to the suite and the settings."""
    report_path: str = ""
    """From the phase file's folder, which it cannot leave."""

    @field_validator("report_path")
    @classmethod
    def _inside(cls, written: str) -> str:
        path = PurePosixPath(written)
        if written and (path.is_absolute() or ".." in path.parts or "\0" in written or not path.name):
            raise ValueError("must be a file inside the folder of the phase file")
        if unknown := [each for each in _PLACEHOLDER.findall(written) if each != PHASE_ID]:
            raise ValueError(f"unknown placeholder {unknown[0]}; the only one is {PHASE_ID}")
        return written


class OnSuccess(Record):
    action: Literal["continue"] = "continue"
    archive_results: bool = False


class PhaseEval(Record):
    """One suite, and what it must reach. The keys are those of `config:` of a step, and of `eval_trigger:`."""

    suite: Annotated[str, Field(min_length=1)]
    when: Literal["after_tests_pass", "always"] = "always"
    filters: Filters = Field(default_factory=Filters)
    thresholds: Minimum = Field(default_factory=dict)
    metrics: Annotated[tuple[Metric, ...], BeforeValidator(_one_or_several)] = ()
    required_pass_rate: Share | None = None
    blocking: bool = True
    on_failure: OnFailure = Field(default_factory=OnFailure)
    on_success: OnSuccess = Field(default_factory=OnSuccess)

    @model_validator(mode="after")
    def _one_pass_rate(self) -> PhaseEval:
        if self.required_pass_rate is not None and "pass_rate" in self.thresholds:
            raise ValueError("pass_rate is given twice: as required_pass_rate and in thresholds")
        return self

    @property
    def minimum(self) -> Minimum:
        """All that must be reached."""
        rate = {} if self.required_pass_rate is None else {"pass_rate": self.required_pass_rate}
        return {**rate, **self.thresholds}

    @property
    def blocks(self) -> bool:
        return self.blocking and self.on_failure.action == "block"

    def exit_code_for(self, code: int) -> int:
        """Of the phase, where its evals have this one: what does not block cannot fail it, but can break it."""
        return code if self.blocks or code in _NEVER_SOFTENED else 0


class PhaseStep(Record):
    type: str
    description: str = ""
    phase_eval: PhaseEval | None = None
    """None for a step that somebody else takes."""

    @property
    def title(self) -> str:
        return self.description or (self.phase_eval.suite if self.phase_eval else self.type)


class Phase(Record):
    name: str = ""
    steps: tuple[PhaseStep, ...] = ()

    @property
    def evals(self) -> list[PhaseEval]:
        return [step.phase_eval for step in self.steps if step.phase_eval is not None]


def slug(name: str) -> str:
    """`Implement user authentication` as `implement-user-authentication`."""
    return re.sub(r"[\W_]+", "-", name.lower()).strip("-")[:LONGEST_ID].strip("-") or "phase"


def is_phase_id(text: str) -> bool:
    """Whether it can be part of a file's name."""
    return len(text) <= LONGEST_ID and _ID.fullmatch(text) is not None
