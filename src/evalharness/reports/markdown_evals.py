"""The evals of a run as a Markdown checklist, by category: those that did not pass first, with expected and actual.

It fits into the room it gets: texts are cut first, then evals are left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from evalharness.domain.case import EVAL_TYPES, Case, as_text
from evalharness.domain.case_result import CaseResult
from evalharness.domain.report import Failure, Report
from evalharness.domain.reported_run import ReportedRun
from evalharness.domain.specification import GraderSpec
from evalharness.reports.markdown_parts import size
from evalharness.reports.markdown_text import MarkdownText
from evalharness.reports.terminal.case_lines import counted, mark_of, not_passing

TEXT_LIMITS = (4000, 1000, 300, 100, 0)
"""Characters of each text of a failure: the first that gives all failures room. 0: only what fits on their lines."""
MOST_EVALS = 1500
"""More never fit."""
FIRST_PASSED = 10
"""Where more passed, they are folded."""
FIRST_UNFINISHED = 10
"""Of those with nothing to say yet; the others are counted."""
MOST_CATEGORIES = 40
ROOM_OF_CATEGORY = 400
"""Characters of its heading, and of what it says about evals that are left out."""
OTHERS = "Other"


@dataclass(slots=True)
class Category:
    """`failed` did not pass, for whatever reason: failures come before errors. `unfinished` have no reason: those whose
    trials are pending, or of a report that names none. All are in the suite's order."""

    name: str
    failed: list[Failure] = field(default_factory=list)
    unfinished: list[CaseResult] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(self.failed) + len(self.unfinished) + len(self.passed)


class Asked(NamedTuple):
    """What was asked in a case that did not pass, and where its answer differs."""

    question: str = ""
    expected: str = ""
    actual: str | None = None
    """None where no grader compares it with something."""


class MarkdownEvals:
    """`show` words the command that shows what its argument says, or nothing where there is none."""

    def __init__(self, text: MarkdownText, show: Callable[[str, str], str]) -> None:
        self._text = text
        self._show = show

    def lines(self, each: ReportedRun, heading: str, room: int) -> list[str]:
        categories = _categories(each.report)
        names = {case.id: case.name for case in each.run.suite.cases} if each.run else {}
        room -= ROOM_OF_CATEGORY * len(categories)
        failed = self._failed(each, [failure for found in categories for failure in found.failed], names, room)
        room -= size(failed.values())
        first = [case for found in categories for case in found.unfinished[:FIRST_UNFINISHED]]
        unfinished = self._unfinished(first, names, room)
        room -= size(unfinished.values())
        passed = self._passed([case_id for found in categories for case_id in found.passed], names, room)
        lines: list[str] = []
        for found in categories:
            title = f"{self._text.inline(found.name[:1].upper() + found.name[1:])} evals" if found.name else "Evals"
            lines += [f"{heading} {title} ({len(found.passed):,}/{found.size:,} passed)", ""]
            lines += _listed((failure.eval_id for failure in found.failed), failed)
            lines += self._left_out(len(found.failed), sum(each.eval_id in failed for each in found.failed), "--failed")
            shown = _listed((case.case_id for case in found.unfinished), unfinished)
            more = len(found.unfinished) - len(shown)
            lines += [*shown, *([f"- [ ] and {more:,} more"] if more else [])]
            has_open = bool(found.failed or found.unfinished)
            lines += _folded(found.passed, list(_listed(found.passed, passed)), has_open=has_open)
            lines += self._left_out(len(found.passed), sum(case_id in passed for case_id in found.passed), "-vv")
        return lines

    def _left_out(self, number: int, shown: int, flag: str) -> list[str]:
        if number == shown:
            return []
        command = self._show("", flag)
        what = "did not pass" if flag == "--failed" else "passed"
        return ["", f"{number - shown:,} more {what}{f': {command}' if command else ''}", ""]

    def _passed(self, case_ids: Iterable[str], names: Mapping[str, str], room: int) -> dict[str, str]:
        return _fitting(
            ((case_id, f"- [x] {self._title(case_id, names.get(case_id, ''))}") for case_id in case_ids), room
        )

    def _unfinished(self, cases: Iterable[CaseResult], names: Mapping[str, str], room: int) -> dict[str, str]:
        titled = ((case, self._title(case.case_id, names.get(case.case_id, ""))) for case in cases)
        return _fitting(((case.case_id, f"- [ ] {title} ({case.state.upper()})") for case, title in titled), room)

    def _failed(self, run: ReportedRun, failures: list[Failure], names: Mapping[str, str], room: int) -> dict[str, str]:
        """By case, as many as fit, with texts as long as all of them have room for."""
        first = failures[:MOST_EVALS]
        found = _asked(run, first)
        fitting: dict[str, str] = {}
        for limit in TEXT_LIMITS:
            written = (
                (each.eval_id, "\n".join(self._failure(each, names.get(each.eval_id, ""), found[each.eval_id], limit)))
                for each in first
            )
            fitting = _fitting(written, room)
            if len(fitting) == len(first):
                break
        return fitting

    def _title(self, case_id: str, name: str) -> str:
        shown = self._text.inline(case_id)
        return f"{shown}: {self._text.inline(name)}" if name and name != case_id else shown

    def _failure(self, failure: Failure, name: str, asked: Asked, limit: int) -> Iterator[str]:
        text = self._text
        box = "x" if failure.state == "passed" else " "
        yield f"- [{box}] {self._title(failure.eval_id, name)} ({_state(failure)})"
        if failure.reason in ("", failure.grader, failure.state) and failure.difference is None:
            return  # a report without details
        if asked.expected or failure.difference is not None:
            yield f"  - Expected: {text.inline(asked.expected)}"
        if asked.actual is not None:
            yield f"  - Actual: {text.inline(asked.actual)}"
        if failure.difference is None:
            yield f"  - Reason: {text.inline(failure.reason)}"
        if limit:
            yield from self._details(failure, asked, limit)

    def _details(self, failure: Failure, asked: Asked, limit: int) -> Iterator[str]:
        """What does not fit on a line, folded."""
        texts = (("Expected", asked.expected), ("Actual", asked.actual or ""), ("Reason", failure.reason))
        long = [(label, text) for label, text in texts if not self._text.fits_one_line(text)]
        lines: list[str] = []
        for label, text in (("Question", asked.question), *long):
            if text:
                lines += [f"  {label}:", "", *self._text.block(text, limit, "  "), ""]
        if command := self._show(failure.eval_id, ""):
            lines += [f"  Everything about this case: {command}", ""]
        if lines:
            yield from ("", "  <details><summary>Details</summary>", "", *lines, "  </details>", "")


def _state(failure: Failure) -> str:
    """`FAILED`, `FAILED 1/4, flaky`, `ERROR`, `PENDING, failed so far`."""
    share, mark = counted(failure), mark_of(failure)
    of_trials = "" if share in ("", "0/1", "1/1") else f" {share}"
    so_far = f", {mark} so far" if failure.state == "pending" else ", flaky" if mark == "flaky" else ""
    return f"{failure.state.upper()}{of_trials}{so_far}"


def _asked(each: ReportedRun, failures: Iterable[Failure]) -> dict[str, Asked]:
    """By case. No further case is built, and no trial read, than it takes."""
    pending = {failure.eval_id: failure for failure in failures}
    found: dict[str, Asked] = {}
    for case in each.asked() if pending else ():
        if failure := pending.pop(case.id, None):
            found[case.id] = Asked(case.content_text, *_difference(each, case, failure))
        if not pending:
            return found
    answers = _written_answers(each, pending) if each.run is None else {}
    for case_id, failure in pending.items():
        expected, actual = _difference(each, None, failure)
        found[case_id] = Asked("", expected, answers.get(case_id) if actual is None else actual)
    return found


def _written_answers(each: ReportedRun, failures: Mapping[str, Failure]) -> dict[str, str]:
    """Of a report that was read from a file, with its trials: by case, the first answer that failed."""
    wanted = {(case_id, str(number - 1)) for case_id, failure in failures.items() for number in failure.trials[:1]}
    found: dict[str, str] = {}
    for trial in each.trials() or ():
        if isinstance(trial, Mapping) and (key := (str(trial.get("case_id")), str(trial.get("index")))) in wanted:
            output = trial.get("output")
            found |= {key[0]: output} if isinstance(output, str) and trial.get("state") == "failed" else {}
    return found


def _difference(each: ReportedRun, case: Case | None, failure: Failure) -> tuple[str, str | None]:
    """As its grader reports it; else what that grader was asked to check, and the first answer that failed."""
    if failure.difference is not None:
        return as_text(failure.difference.expected), as_text(failure.difference.actual)
    if case is None or each.run is None or "failed" not in failure.details or not failure.grader:
        return "", None
    specs = [spec for spec in each.run.suite.graders_for(case) if spec.label == failure.grader]
    outputs = [trial.output for trial in each.trials_of(case.id) if trial.index + 1 in failure.trials[:1]]
    if not specs or not outputs or outputs[0] is None:
        return "", None
    return _checked(specs[0]), as_text(outputs[0])


def _checked(spec: GraderSpec) -> str:
    """`contains Lima`: what a grader looks for, without its other options where its kind names that one."""
    options = spec.options
    main = options.get(spec.kind, options) if isinstance(options, Mapping) else options
    return spec.label if main is None else f"{spec.label} {as_text(main)}"


def _categories(report: Report) -> list[Category]:
    """Capability and regression evals first, then in the suite's order."""
    failures = {failure.eval_id: failure for failure in (*not_passing(report), *report.unjudged)}
    of_case = {case.case_id: case for case in report.cases}
    found: dict[str, Category] = {}
    for case_id in (*failures, *(case_id for case_id in of_case if case_id not in failures)):
        case = of_case.get(case_id, CaseResult(case_id))
        name = case.category
        if name not in found and len(found) >= MOST_CATEGORIES:
            name = OTHERS
        category = found.setdefault(name, Category(name))
        if case_id in failures:
            category.failed.append(failures[case_id])
        elif case.state != "passed":
            category.unfinished.append(case)
        else:
            category.passed.append(case_id)
    order = list(dict.fromkeys((*EVAL_TYPES, *(case.category for case in report.cases), OTHERS, "")))
    return sorted(found.values(), key=lambda category: order.index(category.name))


def _fitting(blocks: Iterable[tuple[str, str]], room: int) -> dict[str, str]:
    """The first ones, as many as there is room for."""
    kept: dict[str, str] = {}
    for case_id, block in blocks:
        room -= len(block) + 1
        if room < 0:
            break
        kept[case_id] = block
    return kept


def _listed(case_ids: Iterable[str], blocks: Mapping[str, str]) -> list[str]:
    return [blocks[case_id] for case_id in case_ids if case_id in blocks]


def _folded(passed: list[str], lines: list[str], *, has_open: bool) -> list[str]:
    if not lines:
        return [""] if has_open else []
    if len(passed) <= FIRST_PASSED:
        return [*lines, ""]
    return ["", f"<details><summary>{len(passed):,} passed</summary>", "", *lines, "", "</details>", ""]
