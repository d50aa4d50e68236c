"""What every reporter promises, as a class of tests: inherit from it in a test file, and pytest runs them all."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from io import StringIO

import pytest

from evalharness.contracts.reporter import Reporter
from evalharness.domain.case import Case
from evalharness.domain.gate import RegressionRule
from evalharness.domain.reported_run import Presentation, ReportedComparison, ReportedRun
from evalharness.domain.run import Run
from evalharness.domain.suite import Suite
from evalharness.domain.trial import Trial
from evalharness.engine.comparing.comparison import compare
from evalharness.errors import TargetUnavailable, UsageError
from evalharness.harness import evaluate
from evalharness.reports.without_details import without_details

HIDDEN = "[redacted]"
SECRET = "correct-horse-battery"
HOSTILE = f"\x1b[31mred\x1b]0;title\x07 \x9b2J\x00\x7f\x85 \u202eback\u2066 \u200f <b>`|`</b> {SECRET} =1+1 ]]> @you #1"
ANSWERED = " only in answers"
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What a terminal or a log would act on. Line breaks and tabs are harmless."""


@cache
def two_runs() -> tuple[ReportedRun, ...]:
    """Two runs of one suite, with their trials; the first passed, the second failed."""
    suite = Suite(name="sums", cases=(Case(id="small", input="What is 2+2?", expected="4"),))

    def right(question: str) -> str:  # noqa: ARG001 - whatever it is
        return "4"

    def wrong(question: str) -> str:  # noqa: ARG001
        return "5"

    return tuple(_reported(evaluate(suite, answer, store=":memory:")) for answer in (right, wrong))


@cache
def hostile_runs() -> tuple[ReportedRun, ...]:
    """A run whose answers, reasons, errors and names contain what must never reach a screen."""
    suite = Suite(
        name=HOSTILE.replace("\0", ""),
        cases=(
            Case(id="answer", name=HOSTILE, input=HOSTILE, expected="right", category=HOSTILE),
            Case(id="data", input="data", expected={"kind": "json_equals", "options": {"a": 1}}),
            Case(id="failed", input="raise", expected="right"),
            Case(id="alike", input="raise", expected="right"),
            Case(id="error", input="unavailable", expected="right"),
        ),
    )

    def answer(question: str) -> object:
        if question == "raise":
            raise ValueError(HOSTILE + ANSWERED)
        if question == "unavailable":
            raise TargetUnavailable(HOSTILE + ANSWERED)
        return {"a": [HOSTILE + ANSWERED], HOSTILE: 2} if question == "data" else HOSTILE + ANSWERED

    return (_reported(evaluate(suite, answer, store=":memory:")),)


def _reported(run: Run) -> ReportedRun:
    assert run.report is not None, "evaluate gives finished runs"

    def trials_of(case_id: str) -> list[Trial]:
        return [trial for trial in run.trials if trial.case_id == case_id]

    return ReportedRun(run.report, run, lambda: run.trials, lambda: run.suite.cases, trials_of)


class ReporterContract(ABC):
    @abstractmethod
    def build(self) -> Reporter:
        """The reporter under test, a new one each time."""

    def runs(self) -> Sequence[ReportedRun]:
        return two_runs()

    def written(self, runs: Sequence[ReportedRun], presentation: Presentation = Presentation()) -> str:  # noqa: B008
        stream = StringIO()
        self.build().write(runs, stream, presentation)
        return stream.getvalue()

    def test_it_writes_a_run_with_its_name_and_verdict(self) -> None:
        assert [each.report.verdict for each in self.runs()] == ["PASSED", "FAILED"]
        for each in self.runs():
            text = self.written([each])
            assert each.report.metadata.run_name in text
            assert each.report.verdict in text

    def test_it_writes_several_runs_into_one_text(self) -> None:
        text = self.written(self.runs())
        assert all(each.report.metadata.run_name in text for each in self.runs())

    def test_the_same_runs_give_the_same_text(self) -> None:
        assert self.written(self.runs()) == self.written(self.runs())

    def test_secrets_are_taken_out(self) -> None:
        [secret, *_] = (each.report.metadata.run_name for each in self.runs())
        text = self.written(self.runs()[:1], Presentation(lambda text: text.replace(secret, HIDDEN)))
        assert secret not in text
        assert HIDDEN in text

    def test_secrets_in_answers_are_taken_out(self) -> None:
        presentation = Presentation(lambda text: text.replace(SECRET, HIDDEN), verbosity=2)
        assert SECRET not in self.written(hostile_runs(), presentation)

    def test_nothing_is_written_that_a_terminal_would_obey(self) -> None:
        assert not _OBEYED.findall(self.written(hostile_runs(), Presentation(verbosity=2)))

    def test_it_writes_runs_without_details(self) -> None:
        runs = [without_details(each) for each in (*self.runs(), *hostile_runs())]
        text = self.written(runs, Presentation(verbosity=2, with_details=False))
        assert ANSWERED.strip() not in text
        assert all(each.report.metadata.run_name in text for each in runs)

    def test_it_writes_comparisons_if_it_says_so(self) -> None:
        reporter, stream = self.build(), StringIO()
        old, new = self.runs()
        compared = [ReportedComparison(compare(old.report, new.report, RegressionRule()), old, new)]
        if not reporter.compares:
            with pytest.raises(UsageError):
                reporter.write_comparisons(compared, stream, Presentation())
            return
        reporter.write_comparisons(compared, stream, Presentation())
        assert all(each.report.metadata.run_name in stream.getvalue() for each in (old, new))
        assert reporter.recognises_comparisons(stream.getvalue())
        assert reporter.recognises_comparisons("")

    def test_it_recognises_what_it_wrote_and_an_empty_file(self) -> None:
        reporter = self.build()
        assert reporter.recognises("")
        assert not reporter.recognises("something else")
        if reporter.endings:
            assert reporter.recognises(self.written(self.runs()))

    def test_it_declares_its_name_and_its_files(self) -> None:
        reporter = self.build()
        assert isinstance(reporter, Reporter)
        assert reporter.name
        assert all(ending.startswith(".") and ending == ending.lower() for ending in reporter.endings)
        assert reporter.endings or reporter.can_stream, "else nobody could read it"
