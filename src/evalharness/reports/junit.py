"""JUnit XML, as CI servers read it: a test suite per run with a test case per case, and one for its gate.

Errors of the harness are `error`, and so is a check that cannot be made; wrong answers are `failure`; what nobody
judged, and a failure in quarantine, is `skipped` with its reason. A run that did not pass is never all green: what its
cases do not show is a test case of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import IO, ClassVar
from xml.sax.saxutils import quoteattr

from evalharness.contracts.reporter import Reporter
from evalharness.domain.case_result import CaseResult
from evalharness.domain.gate import GateCheck
from evalharness.domain.measurement import Measurement
from evalharness.domain.plain_numbers import count
from evalharness.domain.report import Report
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.reports.terminal.figures import is_sure
from evalharness.reports.terminal.sequential import outcome_of
from evalharness.reports.wording import clean
from evalharness.reports.words.say import say

VERDICTS = {"failed": "failure", "error": "error"}
COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}
_BEGINNING = re.compile(r"\s*(\Z|(<\?xml[^>]*\?>\s*)?<testsuites[\s>])")
"""A file without content is anybody's."""
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JunitReporter(Reporter):
    """Written as a stream: a run may have a hundred thousand cases."""

    name: ClassVar[str] = "junit"
    endings: ClassVar[tuple[str, ...]] = (".xml",)

    def write(self, runs: Sequence[ReportedRun], stream: IO[str], presentation: Presentation) -> None:
        stream.write('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n')
        runs_of = Counter(each.report.metadata.suite_name for each in runs)
        for each in runs:
            report = each.report
            suite = report.metadata.suite_name
            writer = _Writer(stream, presentation.redact, of=_with_variant(report) if runs_of[suite] > 1 else suite)
            writer.run(report)
            if report.gate is not None:
                writer.gate(report)
        stream.write("</testsuites>\n")

    def recognises(self, head: str) -> bool:
        return _BEGINNING.match(head) is not None


class _Writer:
    """`of` names a run's suite, with its variant where others were tried, too: CI servers tell tests apart by it."""

    def __init__(self, stream: IO[str], redact: Callable[[str], str], *, of: str) -> None:
        self._stream = stream
        self._redact = redact
        self._of = of

    def run(self, report: Report) -> None:
        about = report.metadata
        fields = {case.eval_id: case.reason for case in (*report.failures, *report.unjudged)}
        held = frozenset(report.gate.quarantined if report.gate else ())
        verdicts = [_case_verdict(case, held) for case in report.cases]
        itself = _verdict_of_itself(report, verdicts)
        counted = [*verdicts, *([itself] if itself else [])]
        self._open(
            "testsuite",
            name=_with_variant(report),
            **_counts(counted),
            time=about.duration_seconds,
            timestamp=about.timestamp.removesuffix("Z"),
            id=about.run_id,
        )
        self._properties(report)
        if itself:
            why = f"the run is {report.verdict}: {say(report.why)}"
            self._case("the run itself", self._of, 0, itself, why)
        for case, verdict in zip(report.cases, verdicts, strict=True):
            reason = fields.get(case.case_id, case.state)
            if case.state == "failed" and verdict == "skipped":
                reason = f"quarantined, so the gate does not count it: {reason}"
            time = round(case.duration_s or 0.0, 6)
            errors = f"{count(case.errors, 'trial')} ended in error" if case.errors and verdict != "error" else ""
            self._case(case.case_id, self._of, time, verdict, reason, errors)
        self._stream.write("</testsuite>\n")

    def gate(self, report: Report) -> None:
        assert report.gate is not None
        checks = report.gate.checks
        verdicts = [_gate_verdict(check) for check in checks]
        name = f"gate of {self._of}"
        self._open("testsuite", name=name, **_counts(verdicts))
        for check, verdict in zip(checks, verdicts, strict=True):
            text = say(check.text) + (f"\ncases: {', '.join(check.cases)}" if check.cases else "")
            self._case(check.name, name, 0, verdict, text)
        self._stream.write("</testsuite>\n")

    def _case(self, name: str, of: str, time: float, verdict: str, reason: str, aside: str = "") -> None:
        self._open("testcase", name=name, classname=of, time=time)
        if verdict:
            self._verdict(verdict, reason)
        if aside:
            self._stream.write(f"<system-out>{self._escaped(aside)}</system-out>\n")
        self._stream.write("</testcase>\n")

    def _properties(self, report: Report) -> None:
        figures: Iterable[tuple[str, object]] = (
            ("verdict", report.verdict),
            ("run", report.metadata.run_name),
            *([("sequential", outcome_of(report.sequential)[0])] if report.sequential else ()),
            *((name, value) for name, value in report.metrics.items() if value is not None),
            *((f"{name} interval", _interval(found)) for name, found in report.measurements.items() if is_sure(found)),
        )
        self._stream.write("<properties>\n")
        for name, value in figures:
            self._stream.write(f"<property name={self._quoted(name)} value={self._quoted(str(value))}/>\n")
        self._stream.write("</properties>\n")

    def _verdict(self, kind: str, text: str) -> None:
        lines = text.strip().splitlines()
        self._stream.write(f"<{kind} message={self._quoted(lines[0] if lines else kind)}>")
        self._stream.write(self._escaped(text) + f"</{kind}>\n")

    def _open(self, tag: str, **attributes: object) -> None:
        written = " ".join(f"{name}={self._quoted(str(value))}" for name, value in attributes.items())
        self._stream.write(f"<{tag} {written}>\n")

    def _quoted(self, text: str) -> str:
        return quoteattr(self._clean(text), {"\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})

    def _escaped(self, text: str) -> str:
        return self._clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    def _clean(self, text: str) -> str:
        """Redacted, and without what neither a terminal nor XML can hold."""
        return _NOT_XML.sub("", clean(text, self._redact))


def _with_variant(report: Report) -> str:
    about = report.metadata
    return f"{about.suite_name} on {about.variant}" if about.variant else about.suite_name


def _case_verdict(case: CaseResult, quarantined: frozenset[str]) -> str:
    """The tag that says how a case came out; empty where it passed."""
    if case.state == "failed" and case.case_id in quarantined:
        return "skipped"
    return "" if case.state == "passed" else VERDICTS.get(case.state, "skipped")


def _verdict_of_itself(report: Report, verdicts: Sequence[str]) -> str:
    """The tag of a test case for the run as a whole, where those of its cases and its gate do not tell its verdict."""
    if report.verdict not in ("PASSED", "FAILED") and report.exit_code:
        return "error"
    checks = [_gate_verdict(check) for check in report.gate.checks] if report.gate else []
    return "failure" if report.verdict == "FAILED" and "failure" not in (*verdicts, *checks) else ""


def _counts(verdicts: Sequence[str]) -> dict[str, int]:
    counts = {name: verdicts.count(tag) for name, tag in COUNTED.items()}
    return {"tests": len(verdicts), **counts}


def _interval(found: Measurement) -> str:
    return f"{found.low:.6g} to {found.high:.6g} ({found.level * 100:.0f} %)"


def _gate_verdict(check: GateCheck) -> str:
    if not check.computable:
        return "error"
    return "skipped" if check.passed is None else "" if check.passed else "failure"
