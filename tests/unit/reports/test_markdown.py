"""The Markdown report: its shape, what it leaves out to fit into a pull request, and that others' texts stay texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from compared import alike, report
from markdown_it import MarkdownIt

from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseResult
from evalharness.domain.finding import finding
from evalharness.domain.gate import Gate, RegressionRule
from evalharness.domain.measurement import Measurement
from evalharness.domain.report import Difference, Failure, Recommendation, Report, RunMetadata, RunSummary
from evalharness.domain.reported_run import Presentation, ReportedComparison, ReportedRun
from evalharness.domain.suite import Suite
from evalharness.engine.comparing.comparison import compare
from evalharness.harness import evaluate
from evalharness.reports.markdown import MOST_CHARACTERS, MarkdownReporter
from evalharness.reports.without_details import without_details
from evalharness.testing.reporter_contract import hostile_runs
from evalharness.testing.stored_records import make_run

OURS = ("<!-- eval-harness report -->", "<details>", "</details>", "<code>", "</code>")


def written(*runs: ReportedRun, **presentation: Any) -> str:
    stream = StringIO()
    MarkdownReporter().write(runs, stream, Presentation(**presentation))
    return stream.getvalue()


def failing(number: int, text: str = "wrong", first: int = 0) -> list[Failure]:
    return [
        Failure(
            eval_id=f"case-{place}",
            name=f"case-{place}",
            state="failed",
            reason=f"exact: expected 'right', got '{text}'",
            details={"failed": 1},
            grader="exact",
            difference=Difference(expected="right", actual=text),
            trials=(1,),
        )
        for place in range(first, first + number)
    ]


def made(failures: Sequence[Failure], passed: int, name: str = "quiet-sparrow-023", **more: Any) -> ReportedRun:
    """A run of so many cases, with what a store would say beside its report."""
    cases = [CaseResult(each.eval_id, trials=1, state=each.state, score=0.0) for each in failures]
    cases += [CaseResult(f"good-{place}", trials=1, passed=1, state="passed", score=1.0) for place in range(passed)]
    rate = Measurement(value=passed / max(len(cases), 1), low=0.1, high=0.9, n_cases=len(cases), n_trials=len(cases))
    found = Report(
        metadata=RunMetadata(
            suite_name="many", run_id=f"id-of-{name}", run_name=name, timestamp="2026-01-19T10:00:00Z"
        ),
        verdict="FAILED" if failures else "PASSED",
        exit_code=1 if failures else 0,
        summary=RunSummary(total_evals=len(cases), passed=passed, failed=len(failures)),
        measurements={"pass_rate": rate},
        failures=tuple(failures),
        cases=tuple(cases),
        **more,
    )
    return ReportedRun(found, make_run().model_copy(update={"name": name, "suite": Suite(name="many")}))


def replace_report(each: ReportedRun, **changes: Any) -> ReportedRun:
    return replace(each, report=each.report.model_copy(update=changes))


class TestShape:
    """As the report examples of the eval-harness document have it."""

    def test_a_phase_report(self) -> None:
        def answer(question: str) -> str:
            return "Session persists indefinitely" if "timeout" in question else "ok"

        suite = Suite(
            name="auth",
            gate=Gate.model_validate({"thresholds": {"pass_at_1": 0.85, "pass_hat_3": 0.5}}),
            trials=3,
            cases=(
                Case(id="cap-auth-001", name="Login flow", input="login", expected="ok", eval_type="capability"),
                Case(
                    id="cap-auth-003",
                    name="Session timeout",
                    input="timeout",
                    expected="Session expires after 30 min",
                    eval_type="capability",
                ),
                Case(id="reg-auth-001", name="Password hashing", input="hash", expected="ok", eval_type="regression"),
            ),
        )
        run = evaluate(suite, answer, store=":memory:")
        assert run.report is not None
        text = written(ReportedRun(run.report, run, lambda: run.trials, lambda: run.suite.cases), store=":memory:")
        lines = text.splitlines()
        assert lines[1] == "## ✗ FAILED: auth"
        table = [line for line in lines if line.startswith("|")]
        assert table[0] == "| Metric | Value | Threshold | Status |"
        assert any(line.startswith("| pass@1 | 67 % (") and line.endswith("| 85 % | ✗ FAIL |") for line in table)
        assert any(line.startswith("| pass^3 | 67 % (") and line.endswith("| 50 % | ✓ PASS |") for line in table)
        start = lines.index("#### Capability evals (1/2 passed)")
        assert lines[start + 2 : start + 5] == [
            "- [ ] cap-auth-003: Session timeout (FAILED 0/3)",
            "  - Expected: Session expires after 30 min",
            "  - Actual: Session persists indefinitely",
        ]
        assert "- [x] cap-auth-001: Login flow" in lines
        assert lines[lines.index("#### Regression evals (1/1 passed)") + 2] == "- [x] reg-auth-001: Password hashing"
        assert lines[lines.index("### Recommendations") + 2].startswith("1. 1 case fails in every trial")

    def test_a_grader_that_compares_nothing_says_what_it_looks_for(self) -> None:
        suite = Suite(name="a", cases=(Case(id="a", input="?", expected={"kind": "contains", "options": "Lima"}),))
        run = evaluate(suite, lambda _: "Cusco", store=":memory:")
        assert run.report is not None
        text = written(
            ReportedRun(run.report, run, lambda: run.trials, lambda: run.suite.cases, lambda _: iter(run.trials))
        )
        assert "  - Expected: contains Lima\n  - Actual: Cusco\n  - Reason: contains: 'Lima' not in 'Cusco'\n" in text

    def test_a_case_with_pending_trials_is_not_ticked(self) -> None:
        failure = failing(1)[0].model_copy(update={"eval_id": "b", "state": "pending"})
        cases = [CaseResult("a", trials=1, passed=1), CaseResult("b", trials=1), CaseResult("c")]
        cases.append(CaseResult("d", trials=2, passed=2, state="passed"))
        interrupted = replace_report(made([failure], 0), cases=tuple(cases))
        lines = written(interrupted).splitlines()
        assert "#### Evals (1/4 passed)" in lines
        assert [line for line in lines if line.startswith("- [")] == [
            "- [ ] b (PENDING, failed so far)",
            "- [ ] a (PENDING)",
            "- [ ] c (PENDING)",
            "- [x] d",
        ]
        assert "1 case passed everywhere" in written(interrupted, interrupted)

    def test_of_many_pending_cases_the_first_are_named(self) -> None:
        cases = tuple(CaseResult(f"case-{number}") for number in range(12))
        lines = written(replace_report(made([], 0), cases=cases)).splitlines()
        assert "- [ ] case-9 (PENDING)" in lines
        assert lines[lines.index("- [ ] case-9 (PENDING)") + 1] == "- [ ] and 2 more"

    def test_capability_evals_come_first(self) -> None:
        cases = tuple(CaseResult(name, state="passed", category=name) for name in ("other", "regression", "capability"))
        lines = written(replace_report(made([], 0), cases=cases)).splitlines()
        assert [line.split()[1] for line in lines if line.startswith("#### ")] == ["Capability", "Regression", "Other"]

    def test_what_got_worse_is_a_section(self) -> None:
        found = compare(report(*alike(40, 4, 4)), report(*alike(40, 4, 1), name="now"), RegressionRule())
        lines = written(made(failing(1), 2, comparison=found)).splitlines()
        start = lines.index("### Regressions")
        assert lines[start + 2].startswith("✗ REGRESSION against quiet-sparrow-023: 100 % → 25 %, −75 points (95 % CI")
        assert lines[start + 4] == "| Case | Before | Now |"
        assert lines[start + 6] == "| c0 | 4/4 | 1/4 |"
        assert "and 20 more" in lines

    def test_what_got_worse_is_shown_with_its_first_difference(self) -> None:
        found = compare(report(*alike(40, 4, 4)), report(*alike(40, 4, 1), name="now"), RegressionRule())
        part = finding("divergence.step", step=2, before="search Peru", now="search Chile")
        lines = written(replace(made(failing(1), 2, comparison=found), divergences=lambda: {"c0": part})).splitlines()
        start = lines.index("| Case | Before | Now | First difference |")
        assert lines[start + 2].startswith("| c0 | 4/4 | 1/4 | ") and "search Chile" in lines[start + 2]
        assert lines[start + 3] == "| c1 | 4/4 | 1/4 |  |"

    def test_figures_of_retrieval_are_in_the_table(self) -> None:
        recall = Measurement(value=0.5, low=0.2, high=0.8, n_cases=4, n_trials=4)
        run = made(failing(1), 2)
        measured = replace_report(run, measurements=dict(run.report.measurements) | {"recall": recall, "ndcg": recall})
        text = written(measured)
        assert "| recall | 50 % (20–80) |  |  |\n| nDCG | 50 % (20–80) |  |  |\n" in text
        assert "Retrieval" not in text

    def test_a_report_from_a_file_has_answers_and_no_empty_folds(self) -> None:
        judged = failing(2)
        judged[0] = judged[0].model_copy(update={"difference": None, "reason": "contains: 'x' not in 'y…'"})
        trials = [{"case_id": f"case-{n}", "index": 0, "state": "failed", "output": "y" * 400} for n in range(2)]
        text = written(replace(made(judged, 0), run=None, trials=lambda: trials))
        assert f"- [ ] case-0 (FAILED)\n  - Actual: {'y' * 100}" in text
        assert "y" * 400 in text, "in full, folded"
        assert text.count("<details>") == 1, "case-1 has nothing more to say"
        assert "- [ ] case-1 (FAILED)\n  - Expected: right\n  - Actual: wrong\n" in text

    def test_a_run_without_a_judged_trial_says_so(self) -> None:
        suite = Suite(name="a", cases=(Case(id="a", input="?", skip="not today", expected="x"),))
        run = evaluate(suite, lambda _: "x", store=":memory:")
        assert run.report is not None
        text = written(ReportedRun(run.report, run, lambda: run.trials, lambda: run.suite.cases))
        assert "- Pass rate: none: no trial was judged" in text
        assert "- [ ] a (SKIPPED)\n  - Reason: not today\n" in text
        assert "| Metric |" not in text


class TestRoom:
    @pytest.mark.parametrize(("failed", "passed"), [(1, 0), (20, 20), (300, 3000), (2000, 0), (10_000, 90_000)])
    @pytest.mark.parametrize("length", [10, 5000])
    def test_it_always_fits_and_says_what_is_missing(self, failed: int, passed: int, length: int) -> None:
        text = written(made(failing(failed, "`|<" * (length // 3)), passed))
        assert len(text) < MOST_CHARACTERS
        shown = text.count("(FAILED)")
        assert shown == failed or f"{failed - shown:,} more did not pass: `eval-harness show quiet" in text
        ticked = text.count("- [x]")
        assert ticked == passed or f"{passed - ticked:,} more passed: `eval-harness show quiet-sparrow-023 -vv`" in text
        assert text.count("<details>") == text.count("</details>")

    def test_texts_are_cut_before_evals_are_left_out(self) -> None:
        text = written(made(failing(50, "x" * 5000), 0))
        assert text.count("(FAILED)") == 50
        assert "more characters" in text

    def test_a_hundred_runs_fit(self) -> None:
        runs = [made(failing(30, "x" * 500), 5, name=f"run-{number}") for number in range(100)]
        text = written(*runs)
        assert len(text) < MOST_CHARACTERS
        assert "| run-39 |" in text
        assert "not shown in full: `eval-harness report run-" in text

    def test_runs_of_a_thousand_suites_fit(self) -> None:
        runs = []
        for number in range(1000):
            each = made(failing(3), 1, name=f"run-{number}")
            about = each.report.metadata.model_copy(update={"suite_name": f"suite {number // 2}"})
            runs.append(ReportedRun(each.report.model_copy(update={"metadata": about}), each.run))
        assert len(written(*runs)) < MOST_CHARACTERS

    def test_a_comparison_of_many_cases_fits(self) -> None:
        found = compare(report(*alike(9000, 2, 2)), report(*alike(9000, 2, 0), name="now"), RegressionRule())
        stream = StringIO()
        MarkdownReporter().write_comparisons([ReportedComparison(found)] * 3, stream, Presentation())
        text = stream.getvalue()
        assert len(text) < MOST_CHARACTERS
        assert text.count("## ✗ REGRESSION: 100 % → 0 %") == 3
        assert "### Worse (9,000)" in text

    def test_a_thousand_categories_checks_and_recommendations_fit(self) -> None:
        advice = Recommendation(finding=finding("text", text="do it " * 500), cases=("a",) * 50)
        each = made(failing(5), 1000, recommendations=(advice,) * 500, notes=(finding("text", text="n" * 5000),) * 99)
        for place, case in enumerate(each.report.cases):
            case.category = f"category {place}"
        assert len(written(each)) < MOST_CHARACTERS


class TestOthersTexts:
    def test_nothing_in_them_is_markup(self) -> None:
        text = written(*hostile_runs())
        tokens = MarkdownIt("commonmark").enable("table").parse(text)
        inline = [child for token in tokens for child in token.children or ()]
        assert not {child.type for child in inline} & {"link_open", "image", "em_open", "strong_open"}
        html = [token.content for token in (*tokens, *inline) if token.type in ("html_block", "html_inline")]
        assert all(piece.strip().startswith(OURS) for piece in html), html
        assert "<b>" not in "".join(html)

    def test_mentions_and_references_are_code(self) -> None:
        for hostile in (
            "thanks @octocat",
            "fixes #12",
            "see GH-12",
            "a/b#3",
            "https://example.org",
            ":tada:",
            "$a$ $b$",
        ):
            assert f"- Actual: `{hostile}`" in written(made(failing(1, hostile), 0))
        assert "- Actual: $5 more\n" in written(made(failing(1, "$5 more"), 0)), "a price is no formula"

    def test_a_text_without_details_is_not_there(self) -> None:
        text = written(without_details(made(failing(2, "the answer"), 1)))
        assert "the answer" not in text
        assert "- [ ] case-0 (FAILED)\n- [ ] case-1 (FAILED)\n- [x] good-0" in text
