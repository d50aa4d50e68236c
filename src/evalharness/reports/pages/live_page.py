"""What the page of a run shows while it is under way, or after its process died: how far it is, and what failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from evalharness.domain.plain_numbers import count, percent
from evalharness.domain.stored import RunLine
from evalharness.reports.pages.plots import bar
from evalharness.reports.wording import duration, one_line

LiveState = Literal["queued", "running", "cancelling", "interrupted", "finished"]
WORDS: dict[LiveState, str] = {
    "queued": "Waiting in the queue",
    "running": "Running",
    "cancelling": "Stopping",
    "interrupted": "INTERRUPTED",
    "finished": "Finished",
}
FEWEST_DONE = 5
"""Trials that say how long the others take."""
LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class LiveFailure:
    id: str
    state: str
    reason: str
    share: str


@dataclass(frozen=True, slots=True)
class LivePage:
    """`state` is finished for a part of a page whose run has ended meanwhile."""

    suite: str
    run_name: str
    run_id: str
    state: LiveState
    word: str
    mark: str
    """The state whose colour it has."""
    sentence: str
    said: str
    """What a screen reader says."""
    bar: Markup | None
    target: str
    size: str
    figures: Sequence[tuple[str, str]]
    failures: Sequence[LiveFailure]
    more_failures: int
    log: str
    shows_log: bool


def live_page(
    line: RunLine, state: LiveState, failures: Sequence[LiveFailure], failed: int, elapsed_s: float | None, log: str
) -> LivePage:
    """`failed` is how many cases have failed so far, of which these are some; `elapsed_s` is None if not known."""
    done = sum(line.counts.values())
    counted = [f"{number:,} {_word(name)}" for name, number in line.counts.items() if number]
    progress = f"{done:,} of {count(line.planned, 'trial')}"
    return LivePage(
        suite=line.suite_name,
        run_name=line.name,
        run_id=line.id,
        state=state,
        word=WORDS[state],
        mark="error" if state == "interrupted" else "awaiting",
        sentence=_sentence(state, progress, counted),
        said=f"{WORDS[state]}: {', '.join([progress, *counted])}",
        bar=bar("progress", done / line.planned) if line.planned else None,
        target=line.variant,
        size=count(line.planned, "trial"),
        figures=list(_figures(line, done, elapsed_s if state == "running" else None)),
        failures=failures,
        more_failures=max(0, failed - len(failures)),
        log=log,
        shows_log=state == "interrupted",
    )


def waiting_page(run_id: str, suite: str, state: LiveState, log: str) -> LivePage:
    """Of a run that is not stored yet: it is in the queue, its process is starting, or could not start it."""
    sentences = {
        "queued": "It starts as soon as another run has ended.",
        "interrupted": "Its process ended before the run began. What it printed says why.",
    }
    return LivePage(
        suite=suite,
        run_name=run_id,
        run_id=run_id,
        state=state,
        word=WORDS[state],
        mark="error" if state == "interrupted" else "awaiting",
        sentence=sentences.get(state, "Its process is starting."),
        said=WORDS[state],
        bar=None,
        target="",
        size="",
        figures=(),
        failures=(),
        more_failures=0,
        log=log,
        shows_log=state == "interrupted",
    )


def live_failure(case_id: str, state: str, reason: str, share: str) -> LiveFailure:
    return LiveFailure(case_id, state, one_line(reason, LONGEST_REASON), share)


def _sentence(state: LiveState, progress: str, counted: Iterable[str]) -> str:
    trials = f"{progress}: {', '.join(counted)}." if counted else f"{progress}."
    if state == "interrupted":
        return f"Its process ended before the run was finished. {trials} Nothing is lost: resume it to run the others."
    if state == "cancelling":
        return f"{trials} Trials that are under way may finish."
    return trials


def _word(state: str) -> str:
    return {"error": "in error", "awaiting": "awaiting a grade"}.get(state, state)


def _figures(line: RunLine, done: int, elapsed_s: float | None) -> Iterator[tuple[str, str]]:
    judged = line.counts.get("passed", 0) + line.counts.get("failed", 0)
    if judged:
        yield "passed so far", percent(line.counts.get("passed", 0) / judged, 0)
    if elapsed_s is not None:
        yield "running for", duration(elapsed_s)
        if FEWEST_DONE <= done < line.planned:
            yield "time left", f"about {duration(elapsed_s / done * (line.planned - done))}"
