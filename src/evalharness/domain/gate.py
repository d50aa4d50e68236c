"""Gate: what a run has to reach, and what came of it. The keys are those of `gate:` in a suite file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from evalharness.domain.bounds import LEAST_ALPHA
from evalharness.domain.finding import Finding, MaybeFinding
from evalharness.domain.measurement import RETRIEVAL_FIGURES
from evalharness.domain.record import Record
from evalharness.errors import UsageError, closest
from evalharness.stats.thresholds import ALPHA, POWER

Preset = Literal["development", "staging", "production", "critical"]
PRESETS: dict[Preset, tuple[float, float, float]] = {
    "development": (0.70, 0.90, 0.50),
    "staging": (0.80, 0.95, 0.65),
    "production": (0.90, 0.99, 0.80),
    "critical": (0.95, 0.999, 0.90),
}
"""The least pass@1, pass@k and pass^k."""
METRIC = re.compile(
    r"pass_rate|case_pass_rate|score|pass_(?:at|hat)_(?:[1-9]\d*|k)|pass_hat_(?:[2-9]|[1-9]\d+)_plugin"
    rf"|{'|'.join(RETRIEVAL_FIGURES)}"
)
METRICS = (
    *("pass_rate", "case_pass_rate", "score", "pass@1", "pass@k", "pass^k", "pass_at_1", "pass_hat_3"),
    *RETRIEVAL_FIGURES.values(),
    *RETRIEVAL_FIGURES,
)
_WRITTEN_FIGURES = {written.lower(): name for name, written in RETRIEVAL_FIGURES.items()}
_GROUPS = {"default", "categories", "criticality"}
_WRITTEN_K = re.compile(r"pass(?:_?(@|\^)_?|_(at|hat)_)(\d{1,9}|k)((?:_plugin)?)")
_OF_K = ("pass_at_k", "pass_hat_k")
_OF = re.compile(r"(\d{1,6}) of (\d{1,6})")


def metric_name(written: str) -> str:
    """`pass@3` and `pass_at_3` are one metric, and so are `pass^3` and `pass_hat_3`; k is the gate's own `k`.

    In `hit@k` and `precision@k`, k is that of each case's grader.
    """
    if written.lower() in _WRITTEN_FIGURES:
        return _WRITTEN_FIGURES[written.lower()]
    found = _WRITTEN_K.fullmatch(written)
    if found is None:
        return written
    number = found[3] if found[3] == "k" else int(found[3])
    return f"pass_{'at' if found[1] == '@' or found[2] == 'at' else 'hat'}_{number}{found[4]}"


def written_metric(name: str) -> str:
    """The short spelling that files may have, too: `pass^3`."""
    if name in RETRIEVAL_FIGURES:
        return RETRIEVAL_FIGURES[name]
    found = _WRITTEN_K.fullmatch(name)
    return f"pass{'@' if found[2] == 'at' else '^'}{found[3]}{found[4]}" if found else name


def _known_metric(written: str) -> str:
    metric = metric_name(written)
    if METRIC.fullmatch(metric):
        return metric
    meant = closest(written, METRICS)
    all_known = f"pass_rate, case_pass_rate, score, pass@K, pass^K, {', '.join(RETRIEVAL_FIGURES.values())}"
    known = f"did you mean '{meant}'?" if meant else f"known: {all_known}"
    raise ValueError(f"unknown metric '{written}'; {known}")


def _day(written: Any) -> Any:
    try:
        return written if isinstance(written, date) else date.fromisoformat(written)
    except (TypeError, ValueError):
        raise ValueError("must be a day such as 2026-12-31") from None


def _each_once(written: Any) -> Any:
    names: dict[str, str] = {}
    for name in map(str, written) if isinstance(written, Mapping) else ():
        first = names.setdefault(metric_name(name), name)
        if first != name:
            raise ValueError(f"'{name}' is {first}, which is already given under another spelling")
    return written


Share = Annotated[float, Field(ge=0, le=1, strict=True)]
Limit = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]
Metric = Annotated[str, AfterValidator(_known_metric)]
Minimum = Annotated[dict[Metric, Share], BeforeValidator(_each_once)]
Presets = dict[Preset, Minimum]
"""Your own values for presets, metric by metric."""
Text = Annotated[str, Field(min_length=1)]


def _true_false_or_auto(written: Any) -> Any:
    if not isinstance(written, bool) and written != "auto":
        raise ValueError("must be true, false or auto")
    return written


StrictFlips = Annotated[bool | Literal["auto"], BeforeValidator(_true_false_or_auto)]


class Thresholds(Record):
    """Metric → smallest value: for all cases, for those of a category, for those of a criticality."""

    default: Minimum = Field(default_factory=dict)
    categories: dict[str, Minimum] = Field(default_factory=dict)
    criticality: dict[Literal["critical", "high", "medium", "low"], Minimum] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, written: Any) -> Any:
        """`{pass_rate: 0.9}` is meant for all cases."""
        if not isinstance(written, Mapping) or _GROUPS & set(written):
            return written
        return written if any(isinstance(each, Mapping) for each in written.values()) else {"default": written}

    def over(self, others: Thresholds) -> Thresholds:
        """These, and of the others those that are not given here."""
        return Thresholds(
            default={**others.default, **self.default},
            categories=merged(others.categories, self.categories),
            criticality=merged(others.criticality, self.criticality),
        )


def merged(under: Mapping[Any, Minimum], over: Mapping[Any, Minimum]) -> dict[Any, Minimum]:
    return {name: {**under.get(name, {}), **over.get(name, {})} for name in {**under, **over}}


class EachCase(Record):
    """At least `passed` trials of every case must pass; with `of`, each case needs this many trials."""

    passed: Annotated[int, Field(ge=1, strict=True)]
    of: Annotated[int, Field(ge=1, strict=True)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, written: Any) -> Any:
        """`2`, `"2 of 3"`."""
        if isinstance(written, int) and not isinstance(written, bool):
            return {"passed": written}
        if isinstance(written, str):
            found = _OF.fullmatch(written.strip())
            written = {"passed": int(found[1]), "of": int(found[2])} if found else None
        if not isinstance(written, Mapping | EachCase):
            raise ValueError('must be a number of trials, or a text such as "2 of 3"')
        return written

    @model_validator(mode="after")
    def _can_be_met(self) -> EachCase:
        if self.of is not None and self.passed > self.of:
            raise ValueError(f"{self.passed} of {self.of} trials can never pass")
        return self


class Quarantine(Record):
    """A case that the gate ignores for now: why, who fixes it, and its last day in quarantine."""

    case: Text
    reason: Text
    owner: Text
    expires: Annotated[date, BeforeValidator(_day)]

    def holds_on(self, day: date) -> bool:
        return day <= self.expires


NO_BASELINE = "none"
"""In place of a baseline: compare with nothing."""


class RegressionRule(Record):
    """When a run counts as worse than its baseline: a name, a run or a file; empty: the suite's newest baseline.

    `margin`: the verdict is "no regression" only if a loss of this size can be ruled out. `tolerance`: a loss up to
    this size is accepted even where it is certain; it is then the margin too, unless one is given.
    """

    baseline: str = ""
    metrics: tuple[Literal["pass_rate", "score", "latency", "cost"], ...] = ()
    alpha: Annotated[float, Field(ge=LEAST_ALPHA, lt=0.5)] = ALPHA
    power: Annotated[float, Field(gt=0.5, lt=1)] = POWER
    margin: Annotated[float, Field(gt=0, le=1, strict=True)] | None = None
    tolerance: Share = 0.0

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, written: Any) -> Any:
        """`regression: main` names the baseline; `regression: true` takes the newest one."""
        if isinstance(written, bool | str):
            written = {"baseline": written} if isinstance(written, str) else {} if written else None
        if not isinstance(written, Mapping | RegressionRule):
            raise ValueError("must be true, a baseline's name or a mapping")
        return written

    @property
    def least_loss(self) -> float:
        return self.margin or self.tolerance or 0.05


class Gate(Record):
    preset: Preset | None = None
    k: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] = 3
    thresholds: Thresholds = Field(default_factory=Thresholds)
    each_case: EachCase | None = None
    required_cases: tuple[str, ...] = ()
    max_cost_usd: Limit | None = None
    max_cost_usd_per_trial: Limit | None = None
    max_latency_s: Limit | None = None
    max_median_latency_s: Limit | None = None
    regression: RegressionRule | None = None
    strict_flips: StrictFlips = "auto"
    """`true`: no case that always passed may fail once. `auto`: see `watches_flips`."""
    inconclusive: Literal["pass", "fail"] = "pass"
    quarantine: tuple[Quarantine, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, written: Any) -> Any:
        """`gate: production`."""
        return {"preset": written} if isinstance(written, str) else written

    @property
    def compares(self) -> bool:
        """Whether a baseline is needed to judge it."""
        is_unwanted = self.regression is not None and self.regression.baseline == NO_BASELINE
        return not is_unwanted and (self.regression is not None or self.strict_flips is True)

    @property
    def watches_flips(self) -> bool:
        """Whether a single case that is lost fails it, where the pass rate may not fall at all."""
        rule = self.rule
        if self.strict_flips != "auto" or rule is None or rule.tolerance:
            return False
        return not rule.metrics or "pass_rate" in rule.metrics

    @property
    def counts_passes(self) -> bool:
        """Whether passing or failing a case can decide it; a gate of limits on time and cost alone does not look."""
        limits = (self.max_cost_usd, self.max_cost_usd_per_trial, self.max_latency_s, self.max_median_latency_s)
        asks = any(minimum for _, _, minimum in self.minima()) or self.each_case or self.required_cases
        return bool(asks) or self.compares or not any(limit is not None for limit in limits)

    @property
    def rule(self) -> RegressionRule | None:
        """`regression`, unless nothing is to be compared for now: what it says is kept for later."""
        return self.regression if self.compares else None

    def quarantined_on(self, day: date) -> frozenset[str]:
        """The cases that do not count then."""
        return frozenset(entry.case for entry in self.quarantine if entry.holds_on(day))

    def preset_values(self) -> Minimum:
        """For k = 1, pass@k and pass^k are pass@1 again, which has its own value."""
        if self.preset is None:
            return {}
        first, at_k, hat_k = PRESETS[self.preset]
        return {"pass_at_1": first} | ({"pass_at_k": at_k, "pass_hat_k": hat_k} if self.k > 1 else {})

    def minima(self) -> Iterator[tuple[str, str, Minimum]]:
        """All that must be reached: by which cases (`category` or `criticality` and its name, or empty for all).

        Of all cases, the preset's values, and over them those that are written out.
        """
        groups = (("category", self.thresholds.categories), ("criticality", self.thresholds.criticality))
        yield "", "", self._with_k(self.preset_values()) | self._with_k(self.thresholds.default)
        for kind, named in groups:
            for name, minimum in named.items():
                yield kind, name, self._with_k(minimum)

    def _with_k(self, minimum: Minimum) -> Minimum:
        return {f"{name[:-1]}{self.k}" if name in _OF_K else name: least for name, least in minimum.items()}

    def with_preset(self, preset: Preset, presets: Presets) -> Gate:
        """Its values in place of those that all cases had to reach so far in the same metrics; your own go first."""
        chosen = self.model_copy(update={"preset": preset})
        own = {name: least for name, least in presets.get(preset, {}).items() if self.k > 1 or name not in _OF_K}
        new = self._with_k(chosen.preset_values() | own)
        kept = {name: least for name, least in self._with_k(self.thresholds.default).items() if name not in new}
        default = kept | self._with_k(own)
        return chosen.model_copy(update={"thresholds": self.thresholds.model_copy(update={"default": default})})


class GateCheck(Record):
    """One thing that was checked; `passed` is None where the data do not decide it, or cannot (`computable` false)."""

    name: str
    passed: bool | None
    text: Finding
    value: float | None = None
    wanted: float | None = None
    cases: tuple[str, ...] = ()
    computable: bool = True
    basis: MaybeFinding = None
    """The method, n and level behind `value`, for those who want to know exactly."""


GateVerdict = Literal["PASSED", "FAILED", "INCONCLUSIVE", "INVALID"]


class GateResult(Record):
    verdict: GateVerdict
    """INVALID: something that the gate asks for cannot be computed."""
    exit_code: int
    checks: tuple[GateCheck, ...] = ()
    quarantined: tuple[str, ...] = ()
    notes: tuple[Finding, ...] = ()
    asked: Gate | None = None
    """The gate that judged; None in reports that were written before it was kept."""


@dataclass(frozen=True, slots=True)
class GateOverrides:
    """What a call asks for, over the gate that the suite has; None leaves that as it is."""

    preset: Preset | None = None
    fail_under: float | None = None
    """The least pass rate: 0.9 is 90 %."""
    thresholds: Minimum | None = None
    """The least values of other metrics, by name: `pass_hat_3`."""
    baseline: str | None = None
    """The name of a baseline, a run, or a file with a JSON report; `none`: no comparison."""
    tolerance: float | None = None
    """A loss up to this share is accepted: 0.02 is 2 points."""
    strict_flips: bool | None = None
    inconclusive: Literal["pass", "fail"] | None = None

    def __post_init__(self) -> None:
        named = (("preset", self.preset, tuple(PRESETS)), ("inconclusive", self.inconclusive, ("pass", "fail")))
        for name, value, known in named:
            if value not in (None, *known):
                raise UsageError(f"{name} must be one of {', '.join(known)}, not {value!r}")
        for name, share in (("fail_under", self.fail_under), ("tolerance", self.tolerance)):
            if share is not None and not 0 <= share <= 1:
                raise UsageError(f"{name} must be a share from 0 to 1, not {share}")
        if self.baseline == NO_BASELINE and self.strict_flips:
            raise UsageError("strict_flips needs a baseline to compare with, and the baseline is none")
