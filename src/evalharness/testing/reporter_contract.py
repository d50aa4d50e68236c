"""What every reporter promises, as a class of tests: inherit from it in a test file, and pytest runs them all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from io import StringIO

from evalharness.contracts.reporter import Reporter
from evalharness.domain.case import Case
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.domain.run import Run
from evalharness.domain.suite import Suite
from evalharness.harness import evaluate

HIDDEN = "[redacted]"


@cache
def two_runs() -> tuple[ReportedRun, ...]:
    """Two runs of one suite, with their trials; the first passed, the second failed."""
    suite = Suite(name="sums", cases=(Case(id="small", input="What is 2+2?", expected="4"),))

    def right(question: str) -> str:  # noqa: ARG001 - whatever it is
        return "4"

    def wrong(question: str) -> str:  # noqa: ARG001
        return "5"

    return tuple(_reported(evaluate(suite, answer, store=":memory:")) for answer in (right, wrong))


def _reported(run: Run) -> ReportedRun:
    assert run.report is not None, "evaluate gives finished runs"
    return ReportedRun(run.report, run, lambda: run.trials)


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
