"""Report: what a reader gets about a run, no formatting in it; Verified: what checking one found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from evalharness.domain.case_result import CaseResult
from evalharness.domain.comparison import Comparison
from evalharness.domain.exchange import Mode
from evalharness.domain.finding import Finding, MaybeFinding
from evalharness.domain.gate import GateResult
from evalharness.domain.grade import Judging
from evalharness.domain.measurement import Measurement
from evalharness.domain.record import Record
from evalharness.domain.run_reviews import RunReviews
from evalharness.domain.selftest import SelftestMark
from evalharness.domain.sequential import SequentialResult
from evalharness.domain.session_comparison import SessionComparison
from evalharness.values.json_value import Json

# FlakyCase: a case whose trials disagree though neither it, nor who judges it, nor the target changed.

FLAKY_FROM = 0.3
"""From this flip rate on a case is reported as flaky."""


class FlakyCase(Record):
    """`flip_rate`: the chance that two trials of the case disagree, estimated without bias from all comparable runs.

    `new` says that it counts as flaky since this run.
    """

    case_id: str
    flip_rate: float
    passed: int
    trials: int
    runs: int = 1
    new: bool = False

    @property
    def counts_as_flaky(self) -> bool:
        return self.flip_rate >= FLAKY_FROM


# ItemAnalysis: what the results of several targets say about the cases themselves. A hint where to look, no proof.


class CaseItem(Record):
    """`difficulty` is the mean share passed over targets; `discrimination` how well it tells strong ones from weak."""

    case_id: str
    difficulty: float
    discrimination: float | None
    targets: int
    flag: str = ""


class ItemAnalysis(Record):
    """`runs` names the run that counts of each target; `reliability` is Cronbach's alpha over cases that all tried."""

    cases: tuple[CaseItem, ...]
    reliability: float | None
    runs: dict[str, str]

    @property
    def flagged(self) -> list[CaseItem]:
        return [case for case in self.cases if case.flag]


Verdict = Literal["PASSED", "FAILED", "INCONCLUSIVE", "INVALID", "UNDECIDED", "INTERRUPTED"]
"""INCONCLUSIVE: the data do not decide the gate. UNDECIDED: grades are outstanding."""
CaseState = Literal["passed", "failed", "error", "skipped", "awaiting", "pending"]


class TrialCounts(Record):
    """Always adds up: planned = passed + failed + error + skipped + awaiting + pending."""

    planned: int = 0
    passed: int = 0
    failed: int = 0
    error: int = 0
    skipped: int = 0
    awaiting: int = 0
    pending: int = 0


class Group(Record):
    """Some of the cases: how many, how many passed, and the mean pass rate of those with a graded trial."""

    total: int
    passed: int
    pass_rate: float | None
    measurement: Measurement | None = None
    """Of the pass rate, where it has an interval of its own."""


class RunSummary(Record):
    total_evals: int = 0
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    awaiting: int = 0
    pending: int = 0
    pass_rate: float | None = None
    case_pass_rate: float | None = None
    by_category: dict[str, Group] = Field(default_factory=dict)
    by_topic: dict[str, Group] = Field(default_factory=dict)
    by_difficulty: dict[str, Group] = Field(default_factory=dict)
    by_grader: dict[str, Group] = Field(default_factory=dict)
    trials: TrialCounts = Field(default_factory=TrialCounts)


class ErrorBounds(Record):
    """The pass rate if every trial in error had failed, and if it had passed."""

    trials: int
    pass_rate_if_failed: float
    pass_rate_if_passed: float


class Difference(Record):
    """What a grader expected and what it found; of long texts the parts around their first difference."""

    expected: Json
    actual: Json


class Failure(Record):
    """A case that did not pass, with the first reason found; `details` counts its trials by state."""

    eval_id: str
    name: str
    state: CaseState
    reason: str
    details: dict[str, Json] = Field(default_factory=dict)
    grader: str = ""
    """Whose reason it is; empty where no grader was asked."""
    grader_type: Literal["", "code", "model", "human"] = ""
    difference: Difference | None = None
    """Where that grader compares the answer with an expected one."""
    trials: tuple[int, ...] = ()
    """The numbers, from 1, of the first trials that ended as the one whose reason it is."""


class SlowTrial(Record):
    case_id: str
    index: int
    duration_s: float


REPORT_FORMAT = 2
"""Raised by a version whose reports have further figures; see `engine/verifying/verified_report.py: FIGURES_SINCE`."""


class TapedRun(Record):
    """How a run was recorded or replayed. `recording` is the run or the folder that it was replayed from, and
    `recording_name` what that is called.

    `answers`: attempts whose target was not executed. `differing`: results of tools that came out differently this
    time; the model got the recorded ones. `unasked`: recorded calls that nobody asked for. `missed`: trials that asked
    for something that was not recorded.
    """

    mode: Mode
    recording: str = ""
    recording_name: str = ""
    exchanges: int = 0
    answers: int = 0
    differing: int = 0
    unasked: int = 0
    missed: int = 0


class RunMetadata(Record):
    suite_name: str
    run_id: str
    run_name: str
    variant: str = ""
    regrade_of: str = ""
    timestamp: str
    duration_seconds: float = 0.0
    environment: dict[str, Json] = Field(default_factory=dict)
    trials_per_case: Annotated[int, Field(ge=1)] = 1
    case_threshold: float = 1.0
    max_error_rate: float | None = None
    """The share of trials that may end in error; None in reports that were written before it was reported."""
    retry_failed: bool = False
    """Whether a later answer counts for states and pass rate; pass@k, pass^k and comparisons follow the first."""
    sequential: bool = False
    """Whether the run was allowed to stop early: its figures are never pooled with those of a fixed number."""
    taped: TapedRun | None = Field(default=None, exclude_if=lambda taped: taped is None)
    """None for a live run."""
    format: Annotated[int, Field(ge=0, le=REPORT_FORMAT)] = 0
    """The `REPORT_FORMAT` of the version that wrote it; 0 in reports that were written before it was reported."""


class Recommendation(Record):
    """Something to do, derived from what was measured, with the cases it is about."""

    kind: Literal["", "errors", "limit", "alike", "never", "flaky", "quarantine"] = ""
    finding: Finding
    cases: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _as_written(cls, written: Any) -> Any:
        """A document has its text instead: alone, or, where an older version wrote it, with its cases."""
        if isinstance(written, str):
            return {"finding": written}
        if not isinstance(written, Mapping) or "text" not in written:
            return written
        kept = {key: value for key, value in written.items() if key != "text"}
        return {"finding": written["text"], **kept}


class Report(Record):
    metadata: RunMetadata
    verdict: Verdict
    exit_code: int
    why: MaybeFinding = None
    notes: tuple[Finding, ...] = ()
    """What else a reader must know to judge these numbers."""
    summary: RunSummary
    metrics: dict[str, float | None] = Field(default_factory=dict)
    measurements: dict[str, Measurement] = Field(default_factory=dict)
    error_bounds: ErrorBounds | None = None
    failures: tuple[Failure, ...] = ()
    unjudged: tuple[Failure, ...] = ()
    """Cases that were skipped, or whose grade is still outstanding."""
    not_graded: MaybeFinding = None
    """Which cases were skipped because no grader of the type asked for can grade them."""
    awaited: tuple[str, ...] = ()
    """Whose grades are outstanding, where any are: those of `human` or `model` graders."""
    gate: GateResult | None = None
    comparison: Comparison | None = None
    not_compared: MaybeFinding = None
    """Why there is no comparison, though the suite has a baseline."""
    sequential: SequentialResult | None = None
    session_comparison: SessionComparison | None = None
    """None unless the baseline is a file with results of recorded sessions."""
    reviews: RunReviews | None = None
    """What people were asked about this run, and how far they agree; None where nobody was asked."""
    selftest: SelftestMark | None = None
    """What a selftest found about these cases; None where none of them was tested as it is."""
    recommendations: tuple[Recommendation, ...] = ()
    flaky: tuple[FlakyCase, ...] = ()
    """The most flaky first, judging by this run and comparable ones before it."""
    items: ItemAnalysis | None = None
    cases: tuple[CaseResult, ...] = ()
    """Every case in figures, in the suite's order: what later runs are compared with."""
    slowest: tuple[SlowTrial, ...] = ()
    cost_usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    judging: tuple[Judging, ...] = ()
    """What judges took, by model: on top of what the target cost."""

    @model_validator(mode="before")
    @classmethod
    def _with_findings(cls, written: Any) -> Any:
        """A document has what was found beside the words of its recommendations, in the same order."""
        if not isinstance(written, Mapping) or "findings" not in written:
            return written
        kept = {key: value for key, value in written.items() if key != "findings"}
        advice, findings = written.get("recommendations", ()), written["findings"]
        if not isinstance(advice, list) or not isinstance(findings, list) or len(advice) != len(findings):
            return kept  # somebody changed one of them: the texts are what people read
        return kept | {"recommendations": list(map(_recommendation, advice, findings))}

    @model_validator(mode="before")
    @classmethod
    def _inconclusive_by_name(cls, written: Any) -> Any:
        """Earlier versions called a run whose gate was inconclusive PASSED, or UNDECIDED without an open grade."""
        gate = written.get("gate") if isinstance(written, Mapping) else None
        if not isinstance(gate, Mapping) or gate.get("verdict") != "INCONCLUSIVE":
            return written
        summary = written.get("summary")
        awaits = isinstance(summary, Mapping) and bool(summary.get("awaiting"))
        is_earlier = written.get("verdict") == "PASSED" or (written.get("verdict") == "UNDECIDED" and not awaits)
        return {**written, "verdict": "INCONCLUSIVE"} if is_earlier else written

    @field_validator("measurements", mode="before")
    @classmethod
    def _only_known(cls, written: Any) -> Any:
        """A file also names what could not be measured, with null for everything."""
        if not isinstance(written, Mapping):
            return written
        return {name: found for name, found in written.items() if not _is_unknown(found)}

    @property
    def is_finished(self) -> bool:
        """Not while trials are pending, or people have not rated what they were asked to rate."""
        return not self.summary.trials.pending and "human" not in self.awaited

    @property
    def is_broken(self) -> bool:
        """INVALID by what became of its trials; where merely its gate cannot be judged, they are as good as any."""
        return self.verdict == "INVALID" and self.gate is None


def _recommendation(said: Any, found: Any) -> Any:
    """Older versions wrote kind and cases beside the text, not beside the finding."""
    if isinstance(said, Mapping):
        return {**said, "finding": found}
    if not isinstance(found, Mapping) or found.get("text") != said:
        return said  # somebody changed the words
    about = {key: found[key] for key in ("kind", "cases") if key in found}
    return {**about, "finding": {key: value for key, value in found.items() if key not in about}}


def _is_unknown(measurement: Any) -> bool:
    return (
        isinstance(measurement, Mapping)
        and bool(measurement)
        and all(reported is None for reported in measurement.values())
    )


# Exit codes of several runs together: which one counts.

PRECEDENCE = (2, 130, 3, 1, 4, 0)


def worst(exit_codes: list[int]) -> int:
    return min(exit_codes, key=PRECEDENCE.index, default=0)


class Mismatch(Record):
    """A figure that does not follow from the rows."""

    figure: str
    reported: Any
    found: Any


class Verified(Record):
    """How many figures were computed again, from how many rows, which of them differ, and what was believed."""

    source: str = ""
    figures: int
    rows: int
    basis: Literal["trials", "cases"] = "trials"
    mismatches: tuple[Mismatch, ...] = ()
    believed: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class RateRow:
    """`rates` by k, as shares, none where the row has no figure; `decimals` is how many of a share are known; `tasks`,
    and `trials` of each or of all, where the table tells them, one more than `MOST_TASKS`, or than so many with
    `MOST_TRIALS` each, standing for any number beyond. `problem` says why its figures are no rates, or no such
    numbers, at all; `note` how it was read, where that may be doubted.
    """

    label: str
    rates: dict[int, Decimal]
    decimals: int
    tasks: int | None
    trials: int | None = None
    problem: Finding | None = None
    note: Finding | None = None


class RateCheck(Record):
    """`possible` is None where the row says too little to be checked; `histogram[j]` cases passed j of the trials."""

    label: str
    tasks: int | None
    trials: int
    possible: bool | None
    histogram: tuple[int, ...] | None = None
    text: Finding


class Verification(Record):
    """What verifying found: of a run or of reports, each report; of a table of published rates, each row."""

    reports: tuple[Verified, ...] = ()
    rates: tuple[RateCheck, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether a figure does not follow from the trials, or a row cannot come from any."""
        return any(each.mismatches for each in self.reports) or any(each.possible is False for each in self.rates)
