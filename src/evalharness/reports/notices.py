"""What people and programs are told of a verdict: a short text, and a JSON document with the summary of each run.

Both are redacted, and neither quotes answers of a suite that keeps details out of its reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from evalharness.domain.report import Report
from evalharness.domain.reported_run import ReportedRun
from evalharness.reports.json_text import json_text
from evalharness.reports.markdown_parts import marked
from evalharness.reports.terminal.verdict import counts_text, reason_text
from evalharness.reports.without_details import shows_details, without_details
from evalharness.reports.wording import clean, one_line

MOST_FAILURES = 10
SENTENCE = 300
_SUMMARY = {"by_category", "by_topic", "by_difficulty", "by_grader", "trials"}
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""What Slack reads as links and mentions."""


@dataclass(frozen=True, slots=True)
class Notice:
    """`about` is what the verdict is of, `why` a reason that is not in the runs; there may be none."""

    about: str
    verdict: str
    exit_code: int
    runs: tuple[ReportedRun, ...] = ()
    why: str = ""
    phase_id: str = ""


def generic_body(notice: Notice, redact: Callable[[str], str]) -> bytes:
    document: dict[str, Any] = {
        "text": notice_text(notice, redact),
        "verdict": notice.verdict,
        "exit_code": notice.exit_code,
        **({"phase": {"id": notice.phase_id, "name": notice.about}} if notice.phase_id else {}),
        "why": notice.why,
        "runs": [_run(_shown(each)) for each in notice.runs],
    }
    return json_text(document, redact).encode()


def slack_body(notice: Notice, redact: Callable[[str], str]) -> bytes:
    return json_text({"text": notice_text(notice, redact).translate(_ESCAPES)}).encode()


BODIES: Mapping[str, Callable[[Notice, Callable[[str], str]], bytes]] = MappingProxyType(
    {"generic": generic_body, "slack": slack_body}
)
"""By the name that `body:` gives them."""


def notice_text(notice: Notice, redact: Callable[[str], str]) -> str:
    """The verdict on the first line, then each run with its reason and its first failures."""
    reports = [_shown(each) for each in notice.runs]
    lines = [(0, f"{marked(notice.verdict)}: {notice.about}"), (0, notice.why)]
    lines += [line for report in reports for line in _lines(report)]
    return "\n".join(" " * indent + one_line(clean(text, redact), SENTENCE) for indent, text in lines if text)


def _lines(report: Report) -> Iterator[tuple[int, str]]:
    about = report.metadata
    yield 0, f"{report.verdict}: {about.suite_name} on {about.variant}, {counts_text(report)} ({about.run_name})"
    yield 2, reason_text(report)
    for failure in report.failures[:MOST_FAILURES]:
        yield 2, f"- {failure.eval_id} ({failure.state}): {failure.reason}"
    more = len(report.failures) - MOST_FAILURES
    yield 2, f"- and {more:,} more" if more > 0 else ""


def _shown(each: ReportedRun) -> Report:
    return each.report if shows_details(each.run) else without_details(each).report


def _run(report: Report) -> dict[str, Any]:
    about = report.metadata
    return {
        "suite_name": about.suite_name,
        "run_name": about.run_name,
        "run_id": about.run_id,
        "variant": about.variant,
        "timestamp": about.timestamp,
        "verdict": report.verdict,
        "exit_code": report.exit_code,
        "why": reason_text(report),
        "summary": report.summary.model_dump(mode="json", exclude=_SUMMARY),
        "failures": [
            {"eval_id": failure.eval_id, "name": failure.name, "state": failure.state, "reason": failure.reason}
            for failure in report.failures[:MOST_FAILURES]
        ],
        "failures_left_out": max(0, len(report.failures) - MOST_FAILURES),
    }
