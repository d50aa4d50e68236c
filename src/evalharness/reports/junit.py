"""JUnit XML, as CI servers read it: a test suite per run with a test case per case, and one for its gate.

Errors of the harness are `error`, and so is a check that cannot be made; wrong answers are `failure`; what nobody
judged is `skipped` with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import IO
from xml.sax.saxutils import quoteattr

from evalharness.domain.gate import GateCheck
from evalharness.domain.report import Report
from evalharness.reports.wording import harmless

VERDICTS = {"failed": "failure", "error": "error"}
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(reports: Sequence[Report], stream: IO[str], redact: Callable[[str], str] = str) -> None:
    """Written as a stream: a run may have a hundred thousand cases."""
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n')
    for report in reports:
        writer = _Writer(stream, redact)
        writer.run(report)
        if report.gate is not None:
            writer.gate(report)
    stream.write("</testsuites>\n")


class _Writer:
    def __init__(self, stream: IO[str], redact: Callable[[str], str]) -> None:
        self._stream = stream
        self._redact = redact

    def run(self, report: Report) -> None:
        about = report.metadata
        told = {case.eval_id: case for case in (*report.failures, *report.unjudged)}
        states = [case.state for case in report.cases]
        self._open(
            "testsuite",
            name=f"{about.suite_name} on {about.variant}" if about.variant else about.suite_name,
            tests=len(report.cases),
            failures=states.count("failed"),
            errors=states.count("error"),
            skipped=sum(state in ("skipped", "awaiting", "pending") for state in states),
            time=about.duration_seconds,
            timestamp=about.timestamp.removesuffix("Z"),
            id=about.run_id,
        )
        self._properties(report)
        for case in report.cases:
            name = {"name": case.case_id, "classname": about.suite_name}
            self._open("testcase", **name, time=round(case.duration_s or 0.0, 6))
            if case.state != "passed":
                reason = told[case.case_id].reason if case.case_id in told else case.state
                self._verdict(VERDICTS.get(case.state, "skipped"), reason)
            self._stream.write("</testcase>\n")
        self._stream.write("</testsuite>\n")

    def gate(self, report: Report) -> None:
        assert report.gate is not None
        checks = report.gate.checks
        verdicts = [_gate_verdict(check) for check in checks]
        name = f"gate of {report.metadata.suite_name}"
        self._open(
            "testsuite",
            name=name,
            tests=len(checks),
            failures=verdicts.count("failure"),
            errors=verdicts.count("error"),
            skipped=verdicts.count("skipped"),
        )
        for check, verdict in zip(checks, verdicts, strict=True):
            self._open("testcase", name=check.name, classname=name, time=0)
            text = check.text + (f"\ncases: {', '.join(check.cases)}" if check.cases else "")
            if verdict:
                self._verdict(verdict, text)
            self._stream.write("</testcase>\n")
        self._stream.write("</testsuite>\n")

    def _properties(self, report: Report) -> None:
        figures: Iterable[tuple[str, object]] = (
            ("verdict", report.verdict),
            ("run", report.metadata.run_name),
            *((name, value) for name, value in report.metrics.items() if value is not None),
            *((f"{name} interval", f"{m.low} to {m.high}") for name, m in report.measurements.items()),
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
        return _NOT_XML.sub("", harmless(self._redact(text)))


def _gate_verdict(check: GateCheck) -> str:
    if not check.computable:
        return "error"
    return "skipped" if check.passed is None else "" if check.passed else "failure"
