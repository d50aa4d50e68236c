"""Grade: one verdict of one grader: pass, fail, or unscored with a reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from statistics import fmean
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic_core import to_jsonable_python

from evalharness.domain.record import Record
from evalharness.values.json_value import Json

GradeState = Literal["pass", "fail", "unscored", "awaiting"]
GraderType = Literal["code", "model", "human"]
VERDICTS = ("pass", "fail")
SPEND_CAP = "the spend cap was reached"
"""In the reason of a grade that is outstanding because there was no money for it. Its `cause` decides, not this."""
COUNTS = ("calls", "cached", "input_tokens", "output_tokens")


class Judging(Record):
    """What the verdict of a judge took: calls that left the harness, those the cache answered, tokens and cost."""

    model: str
    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None where a price is not known."""

    def times(self, number: int) -> Judging:
        """So many of the same."""
        cost_usd = None if self.cost_usd is None else self.cost_usd * number
        return Judging(model=self.model, cost_usd=cost_usd, **{name: getattr(self, name) * number for name in COUNTS})


def added_up(judgings: Iterable[Judging]) -> tuple[Judging, ...]:
    """One entry per model, in the order in which they come. A sum with an unknown price in it is unknown."""
    sums: dict[str, Judging] = {}
    for judging in judgings:
        known = sums.get(judging.model)
        sums[judging.model] = judging if known is None else _plus(known, judging)
    return tuple(sums.values())


def _plus(one: Judging, other: Judging) -> Judging:
    counts = {name: getattr(one, name) + getattr(other, name) for name in COUNTS}
    costs = (one.cost_usd, other.cost_usd)
    cost_usd = None if None in costs else sum(cost for cost in costs if cost is not None)
    return Judging(model=one.model, cost_usd=cost_usd, **counts)


def other_grading(before: Sequence[str], now: Sequence[str]) -> str:
    """Why two runs were graded in different ways, as far as their judges tell it."""
    was, by = ", ".join(before) or "no model", ", ".join(now) or "no model"
    return f"judged by {was} before, by {by} now" if was != by else "other graders"


Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Grade(Record):
    """`grader`, `kind`, `type`, `version`, `required` and `weight` are filled in by the engine."""

    state: GradeState
    score: Share | None = None
    reason: str = ""
    evidence: Json = None
    figures: dict[str, Share] = Field(default_factory=dict)
    """What else was measured, by name. A report has their means over cases."""
    grader: str = ""
    kind: str = ""
    type: GraderType = "code"
    version: str = "1"
    required: bool = True
    weight: float = 1.0
    cause: Literal["", "spend_cap", "ranking", "ranked"] = ""
    """Of a grade that is outstanding: `spend_cap` where there was no money for it. A ranking never is a verdict: people
    have yet to put the answers in order, or they have."""
    judging: tuple[Judging, ...] = ()
    """Of a grade that language models gave: one entry per model."""
    trace: str = ""
    """Of a grader that raised: the frames of its own code."""
    is_final: bool = Field(default=False, exclude=True)
    """Unscored, though asked as often as makes sense: no retry of this run asks again. Of the running run alone."""

    @property
    def passed(self) -> bool:
        return self.state == "pass"

    @property
    def is_verdict(self) -> bool:
        """A scorer that is switched off passes without a score: it has said nothing."""
        return self.state == "fail" or self.score is not None

    @classmethod
    def of(
        cls,
        passed: bool,
        *,
        score: float | None = None,
        reason: str = "",
        evidence: Json = None,
        figures: Mapping[str, float] | None = None,
    ) -> Grade:
        if score is None and reason == "" and evidence is None and not figures:
            return _bare(cls, bool(passed))
        value = (1.0 if passed else 0.0) if score is None else score
        state: GradeState = "pass" if passed else "fail"
        return cls(state=state, score=value, reason=reason, evidence=evidence, figures=dict(figures or {}))

    @classmethod
    def unpaid(cls, why: str) -> Grade:
        """Outstanding, because the spend cap was reached."""
        return cls(state="awaiting", reason=f"{SPEND_CAP}: {why}", cause="spend_cap")

    @classmethod
    def unscored(cls, reason: str, *, is_final: bool = False) -> Grade:
        return cls(state="unscored", reason=reason, is_final=is_final)


def mean_figures(measured: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """By name, over all that have the figure."""
    found: dict[str, list[float]] = {}
    for figures in measured:
        for name, value in figures.items():
            found.setdefault(name, []).append(value)
    return {name: fmean(values) for name, values in found.items()}


def kept_evidence(evidence: Any) -> Json:
    """A copy that can be stored: what JSON cannot hold is named instead of kept."""
    try:
        return to_jsonable_python(evidence, fallback=lambda value: f"<{type(value).__name__}>", inf_nan_mode="null")
    except ValueError as error:
        return f"evidence that cannot be stored: {error}"


def said_within(type_: str, state: str, evidence: Json) -> Iterator[tuple[str, str]]:
    """Of a grade without a verdict: types and states of its parts that are no code, or of a panel; else its own."""
    reported = evidence.get("panel") if isinstance(evidence, dict) else evidence
    rows = reported if isinstance(reported, list) and state not in VERDICTS else []
    parts = [row for row in rows if isinstance(row, dict) and "state" in row and ("judge" in row or "version" in row)]
    if not parts:
        yield type_, state
    for part in parts:
        yield from said_within(str(part.get("type", type_)), str(part["state"]), part.get("evidence"))


def states_within(state: str, evidence: Json) -> Iterator[str]:
    """What judges have said, of all that `said_within` finds: what a person owes is none of their business."""
    return (found for who, found in said_within("model", state, evidence) if (who, found) != ("human", "awaiting"))


@cache
def _bare(kind: type[Grade], passed: bool) -> Grade:
    """Most verdicts are no more than this, and no record ever changes: one serves all."""
    return kind(state="pass" if passed else "fail", score=1.0 if passed else 0.0)


def named_apart(grades: Sequence[Grade]) -> Iterator[tuple[str, Grade]]:
    """Each grade with a name of its own: `exact`, `exact_2`."""
    seen: Counter[str] = Counter()
    for grade in grades:
        seen[grade.grader] += 1
        number = seen[grade.grader]
        yield (grade.grader if number == 1 else f"{grade.grader}_{number}"), grade
