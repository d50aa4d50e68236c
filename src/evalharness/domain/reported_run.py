"""Finished runs on their way to a reader: reports with the trials behind them, comparisons, and how to present them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from evalharness.domain.case import Case
from evalharness.domain.comparison import Comparison
from evalharness.domain.finding import Finding
from evalharness.domain.report import Report
from evalharness.domain.run import Run
from evalharness.domain.trial import Outcome, Trial

WrittenTrials: TypeAlias = Iterable[Trial | Mapping[str, Any]]
"""Trials, or what a report file has of them."""


Verbosity: TypeAlias = int
"""-1: the verdict alone; 0: the usual; 1: methods, details and every trial that did not pass; 2: every trial."""


def no_trials() -> None:
    """For a report that is written without its trials."""


def no_cases() -> tuple[Case, ...]:
    """For a report that was read from a file: it does not say what was asked."""
    return ()


def no_trials_of(_case_id: str) -> tuple[Trial, ...]:
    """For a report that was read from a file."""
    return ()


def no_divergences() -> dict[str, Finding]:
    """For a run that is compared with nothing, or whose transcripts are not here."""
    return {}


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """One run as a reporter gets it."""

    report: Report
    run: Run | None = None
    """None where the report was read from a file."""
    trials: Callable[[], WrittenTrials | None] = no_trials
    """Reads the trials from the first to the last, once per call; None leaves them out."""
    asked: Callable[[], Iterable[Case]] = no_cases
    """Builds the cases one by one, in the suite's order, as their target got them."""
    trials_of: Callable[[str], Iterable[Trial]] = no_trials_of
    """Reads the trials of one case."""
    before: ReportedRun | None = None
    """The run it is compared with, where the store has it."""
    divergences: Callable[[], Mapping[str, Finding]] = no_divergences
    """Finds, by case, where the transcripts of the worst cases part from those before."""
    outcomes: Callable[[], Iterable[Outcome] | None] = no_trials
    """Reads the trials without what was answered, which is quicker; None where only `trials` knows."""


@dataclass(frozen=True, slots=True)
class ReportedComparison:
    """Two runs side by side; each is None where only its figures are known."""

    comparison: Comparison
    old: ReportedRun | None = None
    new: ReportedRun | None = None


@dataclass(frozen=True, slots=True)
class Presentation:
    """For whom and how a report is written. A reporter uses what concerns it, and always `redact`."""

    redact: Callable[[str], str] = str
    """Takes secrets out of a text."""
    command: str = "eval-harness"
    """How the reader calls the harness, so that the next step can be copied as it stands."""
    store: str | None = None
    """The store that the user named, if any: the next command has to name it too."""
    is_live: bool = False
    """Whether it is printed on a terminal that shows colours."""
    with_next_step: bool = True
    is_shown: bool = False
    """Whether the reader has just typed `show` for this run, which is then no next step."""
    with_header: bool = True
    """Whether to name suite, target and size first; not where progress has done so."""
    verbosity: Verbosity = 0
    with_details: bool = True
    """Whether outputs, transcripts and evidence may be shown. Where not, the runs that a reporter gets have none."""
