"""The cases of a run as rows of a table: the marks of their trials, score, cost, latency, tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalharness.domain.case import Case
from evalharness.domain.case_line import CaseLine
from evalharness.domain.case_result import CaseResult
from evalharness.domain.plain_numbers import count
from evalharness.domain.reported_run import ReportedRun
from evalharness.domain.trial import Trial
from evalharness.reports.alike_trials import ranges
from evalharness.reports.wording import duration, money

LONGEST_STRIP = 10
"""Trials: more of them are shown as a count."""
LETTERS = {"passed": "p", "failed": "f", "error": "e", "skipped": "s", "awaiting": "a", "pending": "o", "flaky": "y"}
"""A state in one letter, as the index has it."""
STATES = {letter: state for state, letter in LETTERS.items()}


class CaseRow(NamedTuple):
    """What the table shows of a case, and what it is sorted by. `state` may be flaky: it is the mark."""

    id: str
    name: str
    state: str
    strip: str
    """A letter for each trial; empty where there are too many."""
    share: str
    label: str
    rate: float | None
    """The share of graded trials that passed."""
    score: float | None
    cost: float | None
    latency: float | None
    category: str
    tags: Sequence[str]
    shown: Mapping[str, str]

    def as_data(self) -> dict[str, Any]:
        return self._asdict()


NO_ROW = CaseRow(
    id="", name="", state="passed", strip="", share="", label="", rate=None, score=None, cost=None, latency=None,
    category="", tags=(), shown={"score": "", "cost": "", "latency": ""},
)  # fmt: skip
"""What the script copies and fills in."""


def case_rows(run: ReportedRun, states: Mapping[str, Sequence[str]]) -> list[CaseRow]:
    """In the suite's order; `states` are those of each case's trials."""
    asked = {case.id: case for case in run.run.suite.cases} if run.run else {}
    return [_row(found, asked.get(found.case_id), states.get(found.case_id, ())) for found in run.report.cases]


def trial_states(run: ReportedRun) -> dict[str, list[str]]:
    """By case, in the order of its trials."""
    found: dict[str, list[tuple[int, str]]] = {}
    for case_id, index, state in _states(run):
        found.setdefault(case_id, []).append((index, state))
    return {case_id: [state for _, state in sorted(each)] for case_id, each in found.items()}


def _states(run: ReportedRun) -> Iterator[tuple[str, int, str]]:
    outcomes = run.outcomes()
    if outcomes is not None:
        yield from ((each.case_id, each.trial_index, each.state) for each in outcomes)
        return
    for trial in run.trials() or ():
        if isinstance(trial, Trial):
            yield trial.case_id, trial.index, trial.state
        else:
            yield str(trial["case_id"]), int(trial["index"]), str(trial["state"])


def _row(found: CaseResult, case: Case | None, states: Sequence[str]) -> CaseRow:
    strip = "".join(LETTERS.get(state, "o") for state in states)
    return CaseRow(
        id=found.case_id,
        name=case.name if case else "",
        state=mark_of_case(found, states),
        strip=strip if len(strip) <= LONGEST_STRIP else "",
        share=share_text(states) if states else f"{found.passed} of {found.trials}" if found.trials else "–",
        label=strip_label(states) if states else f"{found.passed} of {count(found.trials, 'trial')} passed",
        rate=found.share,
        score=found.score,
        cost=found.cost_usd,
        latency=None if found.duration_s is None else float(f"{found.duration_s:.3g}"),
        category=found.category or found.topic,
        tags=case.tags if case else (),
        shown=_shown(found.score, found.cost_usd, found.duration_s),
    )


def row_of_line(line: CaseLine) -> CaseRow:
    """The same of a case that is read from a list."""
    states = [STATES[letter] for letter in line.marks]
    return CaseRow(
        id=line.case_id,
        name=line.name,
        state="flaky" if line.is_flaky else line.state,
        strip=line.marks if len(line.marks) <= LONGEST_STRIP else "",
        share=share_text(states) if states else f"0 of {line.trials}",
        label=strip_label(states) if states else "no trial yet",
        rate=line.rate,
        score=line.score,
        cost=line.cost_usd,
        latency=line.latency_s,
        category=line.category,
        tags=line.tags,
        shown=_shown(line.score, line.cost_usd, line.latency_s),
    )


def _shown(score: float | None, cost_usd: float | None, latency_s: float | None) -> dict[str, str]:
    return {
        "score": "–" if score is None else f"{score:.2f}",
        "cost": "–" if cost_usd is None else money(cost_usd),
        "latency": "–" if latency_s is None else duration(latency_s),
    }


def mark_of_case(found: CaseResult, states: Sequence[str] = ()) -> str:
    """Passed and failed trials together are marked as flaky."""
    passed, failed = states.count("passed"), states.count("failed")
    if not states:
        passed, failed = found.passed, found.trials - found.passed
    return "flaky" if passed and failed and found.state in ("passed", "failed") else found.state


def share_text(states: Sequence[str]) -> str:
    """`37 of 50`."""
    return f"{states.count('passed')} of {len(states)}"


def strip_label(states: Sequence[str]) -> str:
    """For readers who do not see the marks: `3 of 4 trials passed; trial 3 failed`."""
    parts = [f"{states.count('passed')} of {count(len(states), 'trial')} passed"]
    for state in dict.fromkeys(states):
        numbers = [at for at, each in enumerate(states, start=1) if each == state]
        if state != "passed" and len(numbers) < len(states):
            parts.append(f"{'trials' if len(numbers) > 1 else 'trial'} {ranges(numbers)} {_verb(state)}")
        elif state != "passed":
            parts.append(f"all {_verb(state)}")
    return "; ".join(parts)


def _verb(state: str) -> str:
    return {"error": "ended in error", "awaiting": "awaiting a grade"}.get(state, state)


def by_urgency(rows: Iterable[CaseRow]) -> list[CaseRow]:
    """Those that say most first: failed, in error, flaky, not judged, passed; each in the suite's order."""
    order = ("failed", "error", "flaky", "awaiting", "pending", "skipped", "passed")
    return sorted(rows, key=lambda row: order.index(row.state))
