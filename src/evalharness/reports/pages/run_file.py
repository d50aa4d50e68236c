"""The page of one run as a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import IO, Any

from markupsafe import Markup

from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.reports.pages.case_panel import BRIEF_TEXT, PanelMaker
from evalharness.reports.pages.case_rows import NO_ROW, STATES, CaseRow, by_urgency, case_rows, trial_states
from evalharness.reports.pages.case_table import CaseTable
from evalharness.reports.pages.packed_panels import packed_json
from evalharness.reports.pages.page_file import PageFile
from evalharness.reports.pages.run_page import CASE, FailureLine, command_to_show, run_page
from evalharness.reports.pages.stored_cases import StoredCases
from evalharness.reports.terminal.screen import MARKS

FIRST_FAILURES = 10
MOST_FAILURES = 200
"""Cases that did not pass and can be read without a script."""
MOST_BRIEF_CHARACTERS = 1_000_000
"""Of all these together."""
FIRST_ROWS = 100
MOST_ROWS_BYTES = 1_200_000
"""Packed; with the lengths of the panels, the index stays below 2 MB."""


def write_run_file(run: ReportedRun, stream: IO[str], presentation: Presentation) -> None:
    page = run_page(run, presentation)
    rows = case_rows(run, trial_states(run))
    cases = StoredCases(run, presentation)
    file = PageFile(stream, presentation)
    failures = list(_with_briefs(page.failures[:MOST_FAILURES], cases, file))
    unjudged = list(_with_briefs(page.unjudged[:MOST_FAILURES], cases, file))
    clean = file.templates.clean
    maker = PanelMaker()
    listed = _fitting(rows, file)
    file.write(
        "run.html",
        panels=((clean(row.id), partial(_panel, file, cases, maker, row.id)) for row in by_urgency(rows)),
        index={**_index(listed), "show": [command_to_show(run, presentation, CASE)]},
        page=page,
        failures=failures[:FIRST_FAILURES],
        more_failures=failures[FIRST_FAILURES:],
        unlisted=len(page.failures) - len(failures),
        unjudged=unjudged,
        unlisted_unjudged=len(page.unjudged) - len(unjudged),
        table=CaseTable(
            run=page.run_id,
            rows=rows[:FIRST_ROWS],
            found=len(listed),
            total=len(listed),
            has_costs=any(row.cost is not None for row in rows),
            categories=sorted({row.category for row in rows if row.category}),
            tags=sorted({tag for row in rows for tag in row.tags}),
            unlisted=len(rows) - len(listed),
        ),
        no_row=NO_ROW,
        show_all=command_to_show(run, presentation, flag="--failed"),
    )


def _panel(file: PageFile, cases: StoredCases, maker: PanelMaker, case_id: str) -> str:
    return file.panel(cases.panel(case_id, maker))


def _with_briefs(
    failures: Sequence[FailureLine], cases: StoredCases, file: PageFile
) -> Iterator[tuple[FailureLine, Markup]]:
    """Each with the beginning of its panel, for readers without a script."""
    maker = PanelMaker(BRIEF_TEXT)
    left = MOST_BRIEF_CHARACTERS
    for failure in failures:
        panel = cases.panel(failure.id, maker, is_brief=True) if left > 0 else None
        brief = file.panel(panel)
        left -= len(brief)
        yield failure, Markup(brief)


def _fitting(rows: Sequence[CaseRow], file: PageFile) -> list[dict[str, Any]]:
    """As many rows, cleaned, as the index has room for: those that say most, in the suite's order."""
    kept = [_cleaned(row, file) for row in rows]
    while len(packed_json(kept)) > MOST_ROWS_BYTES:
        places = {row.id: place for place, row in enumerate(by_urgency(rows))}
        most = len(kept) * 4 // 5
        rows = [row for row in rows if places[row.id] < most]
        kept = [_cleaned(row, file) for row in rows]
    return kept


def _cleaned(row: CaseRow, file: PageFile) -> dict[str, Any]:
    clean = file.templates.clean
    texts = {name: clean(getattr(row, name)) for name in ("id", "name", "category")}
    return {**row.as_data(), **texts, "tags": [clean(tag) for tag in row.tags]}


def _index(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"rows": rows, "states": STATES, "marks": {state: mark for state, (mark, _) in MARKS.items()}}
