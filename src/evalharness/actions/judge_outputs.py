"""Judge outputs: the scorer `llm-judge` for Python callers, who hold an artifact and have no run.

Judges are imported where they are asked: every run imports this module, and few have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalharness.actions.open_judge import opened_judge
from evalharness.contracts.model import Llm
from evalharness.contracts.store import JudgeCache
from evalharness.domain.artifact import Artifact
from evalharness.domain.record import Json
from evalharness.domain.scores import Score
from evalharness.errors import BadReply, HarnessError, UsageError

NAME = "llm-judge"


@dataclass(frozen=True, slots=True)
class LlmJudgeScorer:
    """`output_path` starts inside the outputs. A run that is given this scorer uses its own models and cache."""

    output_path: str
    criteria: str
    model: str | Llm = ""
    cache: JudgeCache | None = None
    enabled: bool = False
    name: str = NAME

    async def score(self, artifact: Artifact) -> Score | None:
        """None where it is switched off: that is no score, and not a bad one. Raises where the judge has no verdict."""
        from evalharness.graders.judges.asking import Asking
        from evalharness.graders.judges.llm_judge import output_text, score_output

        if not self.enabled:
            return None
        metadata: dict[str, Json] = {"enabled": True, "criteria": self.criteria, "output_path": self.output_path}
        output = output_text(artifact, self.output_path)
        if output is None:
            error = f'Path "{self.output_path}" not found'
            return Score(name=self.name, value=0.0, metadata={**metadata, "error": error})
        if not self.model:
            raise UsageError("no judge is set", hint="name a model: create_llm_judge_scorer(…, model='provider/model')")
        async with opened_judge(self.model) as llm:
            try:
                verdict, value = await score_output(Asking(llm, self.cache), output, self.criteria, None)
            except BadReply as error:
                raise HarnessError(f"the judge gave no verdict: {error}") from error
        told = {"model": verdict.model, "justification": verdict.said["justification"]}
        return Score(name=self.name, value=value, raw_value=verdict.said["overall_score"], metadata=metadata | told)

    def options(self) -> dict[str, Json]:
        """The options of the grader of the same name."""
        named = {"model": self.model} if isinstance(self.model, str) and self.model else {}
        return {"output_path": self.output_path, "criteria": self.criteria, "enabled": self.enabled, **named}


def create_llm_judge_scorer(
    output_path: str,
    criteria: str | Sequence[str],
    *,
    model: str | Llm = "",
    cache: JudgeCache | None = None,
    enabled: bool = False,
) -> LlmJudgeScorer:
    """Raises UsageError for criteria that are none, or whose weights do not add up."""
    from evalharness.graders.judges.llm_judge import as_rubric, check_rubric

    rubric = as_rubric(criteria)
    if not isinstance(rubric, str) or not rubric.strip():
        raise UsageError("criteria is a text, or a list of texts", hint="write what a good output is")
    try:
        check_rubric(rubric)
    except ValueError as error:
        raise UsageError(f"criteria: {error}") from None
    return LlmJudgeScorer(output_path, rubric, model, cache, enabled)
