"""What the page of a comparison shows of runs that are too large to show whole."""

from __future__ import annotations

from pathlib import Path

from evalharness import Case, Harness, Suite
from evalharness.actions.compare_runs import compare_runs, report_comparisons
from evalharness.domain.reported_run import Presentation
from evalharness.reports.pages.compare_page import ComparedCases

CASES, WORSE, READ = 30, 5, 10


def test_only_so_many_cases_are_read_and_all_are_counted(tmp_path: Path) -> None:
    cases = tuple(Case(id=f"c{n:02d}", input=str(n), expected={"contains": "right"}) for n in range(CASES))
    suite = Suite(name="large", cases=cases)
    with Harness.open(tmp_path / "store.db") as harness:
        old = harness.run(suite, lambda text: "right", progress=False)
        new = harness.run(suite, lambda text: "wrong" if int(text) < WORSE else "right, too", progress=False)
        [comparison] = harness.call(compare_runs, [old.id, new.id])
        [reported] = harness.call(report_comparisons, [comparison])
        found = ComparedCases(reported, Presentation(), most_rows=2, most_read=READ)
        shown = found.shown()
        assert [(row.id, row.group) for row in shown.rows] == [
            ("c00", "worse"),
            ("c01", "worse"),
            ("c05", "answer"),
            ("c06", "answer"),
        ]
        assert dict(shown.counts) == {"worse": WORSE, "answer": READ, "same": CASES - WORSE - READ}
        assert "Of 25 cases with the same results, the answers of the first 10 are compared." in shown.page.notes
        panel = found.panel("c29")
        assert panel is not None
        assert "right, too" in str(panel)
        assert found.panel("nobody") is None
