"""What GitHub shows beside the lines of a suite file: cases that did not pass, and cases that got worse.

An annotation is a workflow command, a line like `::error file=…,line=…,title=…::message`. GitHub shows at most ten of
each level for a step, so no more are written. `workflow_commands.py` keeps answers and names from becoming
commands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from evalharness.domain.comparison import CaseChange, Regressions
from evalharness.domain.phase_result import PhaseResult
from evalharness.domain.plain_numbers import count
from evalharness.domain.report import Failure, Report
from evalharness.domain.reported_run import ReportedComparison, ReportedRun
from evalharness.domain.run import Run
from evalharness.domain.suite import CasePlace
from evalharness.reports.terminal.answer_difference import failure_lines
from evalharness.reports.terminal.case_lines import counted, mark_of, not_passing
from evalharness.reports.terminal.comparison import headline
from evalharness.reports.terminal.screen import Part
from evalharness.reports.terminal.verdict import counts_text, reason_text
from evalharness.reports.wording import clean, one_line
from evalharness.reports.words.say import say

Level: TypeAlias = Literal["error", "warning", "notice"]
Places: TypeAlias = Callable[[Run], Mapping[str, CasePlace]]
"""Where the cases of a run are written."""
MOST_OF_A_LEVEL = 10
LONGEST_TITLE = 200
LONGEST_MESSAGE = 4000
WIDTH = 120


@dataclass(frozen=True, slots=True)
class Annotation:
    level: Level
    title: str
    message: str
    place: CasePlace | None = None


def run_annotations(runs: Sequence[ReportedRun], places: Places) -> list[Annotation]:
    """Failures that made a run fail are errors; those that its gate accepts, and flaky cases, are warnings; cases that
    were not judged are notices. A run that did not pass has at least one error."""
    return _first_of_each_level(found for each in runs for found in _of_run(each, places, len(runs)))


def phase_annotations(result: PhaseResult, runs: Mapping[str, ReportedRun], places: Places) -> list[Annotation]:
    """Those of its runs, by their ids; what does not block is a warning. A phase that failed has at least one error."""
    found: list[Annotation] = []
    for step in result.steps:
        shown = [runs[run.id] for run in step.runs if run.id in runs]
        of_step = [each for run in shown for each in _of_run(run, places, len(runs))]
        is_waived = step in result.not_blocking
        found += [replace(each, level="warning") if is_waived and each.level == "error" else each for each in of_step]
    if result.exit_code and not any(each.level == "error" for each in found):
        found.append(Annotation("error", f"{result.name}: {result.verdict}", say(result.why)))
    return _first_of_each_level(found)


def _of_run(each: ReportedRun, places: Places, runs: int) -> Iterator[Annotation]:
    report = each.report
    cases = [(_level(failure, report), failure) for failure in not_passing(report)]
    cases += [("notice", failure) for failure in report.unjudged]
    known = places(each.run) if each.run is not None and cases else {}
    if report.exit_code and not any(level == "error" for level, _ in cases):
        why = reason_text(report) or counts_text(report)
        yield Annotation("error", f"{_named(report, runs)}: {report.verdict}", why)
    for level, failure in cases:
        yield _of_case(level, failure, report, known, runs)


def _level(failure: Failure, report: Report) -> Level:
    return "warning" if mark_of(failure) == "flaky" or not report.exit_code else "error"


def _of_case(level: Level, failure: Failure, report: Report, places: Mapping[str, CasePlace], runs: int) -> Annotation:
    share = counted(failure)
    mark = mark_of(failure)
    trials = f" ({share.replace('/', ' of ')} trials passed)" if share not in ("", "0/1", "1/1") else ""
    title = f"{_named(report, runs)}: {failure.eval_id} {'is flaky' if mark == 'flaky' else _STATES[mark]}{trials}"
    lines = ["".join(map(_text_of, line)) for line in failure_lines(failure, width=WIDTH)]
    return Annotation(level, title, "\n".join(lines) or mark, places.get(failure.eval_id))


_STATES = {
    "failed": "failed",
    "error": "ended in error",
    "skipped": "was skipped",
    "awaiting": "awaits a grade",
    "passed": "passed",
}


def _named(report: Report, runs: int) -> str:
    about = report.metadata
    return f"{about.suite_name} on {about.variant}" if runs > 1 and about.variant else about.suite_name


def _text_of(part: Part) -> str:
    return part if isinstance(part, str) else part[0]


# Comparisons: what got worse.


def comparison_annotations(compared: Sequence[ReportedComparison], exit_code: int, places: Places) -> list[Annotation]:
    """None if the command passes, even if a case got worse by chance."""
    found: list[Annotation] = []
    for each in compared if exit_code else ():
        comparison = each.comparison
        suite = comparison.new.suite_name
        worse = comparison.worse if comparison.verdict == "REGRESSION" else [c for c in comparison.worse if c.flipped]
        known = places(each.new.run) if each.new and each.new.run and worse else {}
        together = f"{', '.join(headline(comparison))}\n{say(comparison.why)}"
        if comparison.lost:
            verdict, message = "FAILED", f"{say(comparison.lost)}\nall cases together: {comparison.verdict}, {together}"
        else:
            verdict, message = comparison.verdict, together
        found.append(Annotation("error", f"{suite}: {verdict}", message))
        found += [_of_change(change, suite, known) for change in worse]
    return _first_of_each_level(found)


def regression_annotations(
    found: Regressions, compared: Sequence[ReportedComparison], places: Places
) -> list[Annotation]:
    """As for comparisons, unless single scores decide."""
    if found.rule != "threshold" or not found.exit_code:
        annotations = comparison_annotations(compared, found.exit_code, places)
        if annotations or not found.exit_code:
            return annotations
    runs = {each.comparison.new.variant: each.new.run for each in compared if each.new and each.new.run}
    annotations = [Annotation("error", f"{found.suite_name}: {found.verdict}", _notes_of(found))]
    for task in found.tasks:
        if task.degraded:
            run = runs.get(task.variant) or next(iter(runs.values()), None)
            message = f"score {task.previous_score:.2f} → {task.current_score:.2f}"
            place = places(run).get(task.task_id) if run else None
            annotations.append(Annotation("error", f"{found.suite_name}: {task.task_id} got worse", message, place))
    return _first_of_each_level(annotations)


def _notes_of(found: Regressions) -> str:
    degraded = sum(task.degraded for task in found.tasks)
    fell = f"{count(degraded, 'task')} fell by more than {found.threshold:g}" if degraded else ""
    return "\n".join(filter(None, [fell, *map(say, found.notes)])) or found.verdict


def _of_change(change: CaseChange, suite: str, places: Mapping[str, CasePlace]) -> Annotation:
    title = f"{suite}: {change.case_id} got worse"
    trials = f"{change.old_passed}/{change.old_trials} → {change.new_passed}/{change.new_trials} trials passed"
    message = f"{trials}\n{say(change.divergence)}" if change.divergence else trials
    return Annotation("error", title, message, places.get(change.case_id))


def _first_of_each_level(annotations: Iterable[Annotation]) -> list[Annotation]:
    seen: Counter[Level] = Counter()
    kept = []
    for annotation in annotations:
        seen[annotation.level] += 1
        if seen[annotation.level] <= MOST_OF_A_LEVEL:
            kept.append(annotation)
    return kept


# As commands.


def command_lines(
    annotations: Iterable[Annotation], redact: Callable[[str], str], workspace: Path | None
) -> Iterator[str]:
    """`workspace` is the folder of the repository, from which GitHub reads paths."""
    for annotation in annotations:
        properties = {
            **_written_place(annotation.place, workspace),
            "title": one_line(clean(annotation.title, redact), LONGEST_TITLE),
        }
        written = ",".join(f"{name}={_escaped_property(value)}" for name, value in properties.items())
        message = clean(annotation.message, redact)
        cut = message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}…"
        yield f"::{annotation.level} {written}::{_escaped(cut)}"


def _written_place(place: CasePlace | None, workspace: Path | None) -> dict[str, str]:
    """Empty for a file outside the repository: GitHub cannot show anything beside it."""
    if place is None:
        return {}
    file = Path(place.file)
    if workspace is not None:
        real, root = file.resolve(), workspace.resolve()
        if not real.is_relative_to(root):
            return {}
        file = real.relative_to(root)
    return {"file": file.as_posix(), "line": str(place.line)}


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
