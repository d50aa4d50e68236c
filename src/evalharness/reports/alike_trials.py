"""Trials of a case with the same result: shown once, with their number."""

from __future__ import annotations

from collections.abc import Iterable

from evalharness.domain.trial import Attempt, Trial

_MEASURED = {"duration_s", "usage", "cost_usd"}
"""What differs between two trials that are otherwise alike."""


def alike_trials(trials: Iterable[Trial]) -> list[list[Trial]]:
    """Trials that differ only in time and cost, in the order of the first of each kind."""
    trials = list(trials)
    answers = {trial.output for trial in trials if isinstance(trial.output, str)}
    if len(answers) == len(trials):  # as with many models: none is like another
        return [[trial] for trial in trials]
    found: dict[tuple[object, ...], list[Trial]] = {}
    for trial in trials:
        found.setdefault(tuple(map(likeness, trial.attempts)), []).append(trial)
    return list(found.values())


def likeness(attempt: Attempt) -> tuple[object, ...]:
    """Equal for attempts with the same result."""
    transcript = attempt.transcript.model_dump_json(exclude=_MEASURED) if attempt.transcript else None
    grades = tuple((grade.grader, grade.state, grade.score, grade.reason, grade.trace) for grade in attempt.grades)
    return attempt.state, attempt.reason, attempt.trace, transcript, grades


def ranges(numbers: Iterable[int]) -> str:
    """`1–3, 7`: rising numbers, several in a row as a range."""
    rows: list[list[int]] = []
    for number in numbers:
        if rows and number == rows[-1][-1] + 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    parts = [f"{row[0]}–{row[-1]}" if len(row) > 2 else ", ".join(map(str, row)) for row in rows]
    return ", ".join(parts)
