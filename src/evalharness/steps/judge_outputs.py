"""Judge outputs: the scorer `llm-judge` for Python callers, who have an artifact and no run.

Judges are imported where they are asked: every run imports this module, and few have one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SkipValidation, StrictBool, field_validator

from evalharness.contracts.model import Llm
from evalharness.contracts.store import JudgeCache
from evalharness.documents.artifact import Artifact
from evalharness.documents.scores import OptionsOfScorer, Score
from evalharness.errors import BadReply, HarnessError, UsageError
from evalharness.llms.pool import OpenModels
from evalharness.settings import Settings
from evalharness.values.json_value import Json

NAME = "llm-judge"


class OutputJudge(OptionsOfScorer):
    """`output_path` starts inside the outputs. A run that is given this scorer uses its own models and cache."""

    output_path: Annotated[str, Field(min_length=1)]
    criteria: str
    model: SkipValidation[str | Llm] = ""
    cache: SkipValidation[JudgeCache | None] = None
    enabled: StrictBool = False
    name: str = NAME
    settings: SkipValidation[Settings] = Field(default_factory=Settings.here, repr=False, exclude=True)

    @field_validator("criteria", mode="before")
    @classmethod
    def _one_rubric(cls, criteria: Any) -> Any:
        """A text or a list of texts whose weights, if it has some, add up."""
        from evalharness.graders.judges.llm_judge import as_rubric, check_rubric

        rubric = as_rubric(criteria)
        if not isinstance(rubric, str) or not rubric.strip():
            raise ValueError("must be a text, or a list of texts, that says what a good output is")
        check_rubric(rubric)
        return rubric

    async def judged(self, artifact: Artifact) -> Score:
        """Switched off, it scores 0 and says so, as documented. Raises where the judge has no verdict."""
        from evalharness.graders.judges.llm_judge import output_text, score_output
        from evalharness.graders.judges.question import Asking

        metadata: dict[str, Json] = {
            "enabled": self.enabled,
            "criteria": self.criteria,
            "output_path": self.output_path,
        }
        if not self.enabled:
            return Score(name=self.name, value=0.0, metadata=metadata)
        output = output_text(artifact, self.output_path)
        if output is None:
            error = f'Path "{self.output_path}" not found'
            return Score(name=self.name, value=0.0, metadata={**metadata, "error": error})
        if not self.model:
            raise UsageError("no judge is set", hint="name a model: create_llm_judge_scorer(…, model='provider/model')")
        async with opened_judge(self.model, self.settings) as llm:
            try:
                verdict, value = await score_output(Asking(llm, self.cache), output, self.criteria, None)
            except BadReply as error:
                raise HarnessError(f"the judge gave no verdict: {error}") from error
        fields = {"model": verdict.model, "justification": verdict.said.get("justification", "")}
        return Score(name=self.name, value=value, raw_value=verdict.said["overall_score"], metadata=metadata | fields)

    def options(self) -> dict[str, Json]:
        """The options of the grader of the same name."""
        named = {"model": self.model} if isinstance(self.model, str) and self.model else {}
        return {"output_path": self.output_path, "criteria": self.criteria, "enabled": self.enabled, **named}


# Open a judge: a language model by its name, for Python callers who judge without a run.


@asynccontextmanager
async def opened_judge(model: str | Llm, settings: Settings, concurrency: int = 1) -> AsyncIterator[Llm]:
    """A model that is open already is used as it is, and left open."""
    if not isinstance(model, str):
        yield model
        return
    models = OpenModels(settings.environment, Path.cwd(), concurrency)
    try:
        yield models.llm(model)
    finally:
        await models.close()
