"""The HTML report as its readers use it: in a real browser, by mouse, by keyboard, and without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import opened
from hostile_texts import HOSTILE
from playwright.sync_api import Browser, Page, expect

from evalharness import Answer, Case, Harness, Suite
from evalharness.domain.comparison import Comparison
from evalharness.domain.reported_run import Presentation
from evalharness.reports.report_files import write_comparisons, write_reports

SERIOUS = ("serious", "critical")


def agent(question: str) -> Any:
    if "crash" in question:
        raise LookupError("no such record")
    if "json" in question:
        return {"name": "Ada", "age": 36, "extra": True}
    if "capital" in question:
        return Answer(
            output="The capital of Peru is Cusco.",
            messages=(
                {"role": "user", "content": question},
                {"role": "assistant", "tool_calls": [{"function": {"name": "search", "arguments": '{"q": "Peru"}'}}]},
                {"role": "tool", "content": "Lima"},
                {"role": "assistant", "content": "The capital of Peru is Cusco."},
            ),
            tool_calls=({"name": "search", "arguments": {"q": "Peru"}, "result": "Lima"},),
        )
    return "fine"


CASES = (
    Case(id="peru", input="capital of Peru?", expected="The capital of Peru is Lima.", category="geo", tags=("trap",)),
    Case(id="record", input="json", expected={"json_equals": {"name": "Ada", "age": 37}}, category="data"),
    Case(id="crash", input="crash", expected="x", category="data"),
    Case(id="fine", input="anything", expected="fine", category="geo", tags=("easy",)),
)


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    with Harness.open(tmp_path_factory.mktemp("html") / "store.db") as found:
        yield found


@pytest.fixture(scope="module")
def report(harness: Harness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = harness.run(Suite(name="support", trials=2, cases=CASES), agent)
    path = tmp_path_factory.mktemp("pages") / "report.html"
    harness.write_report(run, path)
    return path


def test_the_first_look_answers_whether_it_works_why_and_how_sure(browser: Browser, report: Path) -> None:
    with opened(browser, report) as watched:
        page = watched.page
        expect(page.locator(".verdict")).to_have_text("✗ FAILED")
        expect(page.locator(".banner")).to_contain_text("3 of 4 cases failed.")
        expect(page.locator(".banner .rate")).to_have_text(re.compile(r"pass rate 25 % \(\d+–\d+\)"))
        assert page.locator(".failures summary").all_inner_texts()[0].split("\n")[:2] == ["✗ failed", "peru"]
        expect(page.locator(".failures > li").nth(1)).to_contain_text("json_equals: $.extra is not expected")
        expect(page.locator("#cases tbody tr")).to_have_count(4)
        assert watched.complaints == []
        assert [url.partition("#")[0] for url in watched.requests] == [report.as_uri()]


def test_a_case_opens_in_place_with_everything_about_it(browser: Browser, report: Path) -> None:
    with opened(browser, report) as watched:
        page = watched.page
        page.click("#cases a:text-is('peru')")
        panel = page.locator("tr.opened .panel")
        expect(panel.locator("del")).to_have_text("Lima")
        expect(panel.locator("ins")).to_have_text("Cusco")
        expect(panel).not_to_contain_text("whole answer")  # it is seen already
        expect(panel).to_contain_text("same answer in 2 of 2 trials")
        expect(panel.locator(".talk > li")).to_have_count(3)
        panel.locator(".talk summary").click()
        expect(panel.locator(".talk details[open] pre").last).to_have_text("→ Lima")
        assert page.url.endswith("#case=peru")
        page.click("#cases a:text-is('record')")
        rows = page.locator("tr.opened tbody tr").filter(has=page.locator("th"))
        assert [text.split() for text in rows.all_inner_texts()] == [
            ["$.age", "37", "36"],
            ["$.extra", "nothing", "true"],
        ]
        expect(page.locator("tr.opened")).to_contain_text("whole answer")
        page.click("#cases a:text-is('crash')")
        expect(page.locator("tr.opened")).to_contain_text("LookupError")
        page.go_back()
        expect(page.locator("tr.opened")).to_contain_text("$.age")
        assert watched.complaints == []


def test_a_link_to_a_message_opens_its_case_there(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#case=peru&trial=1&message=2") as watched:
        here = watched.page.locator("tr.opened .here")
        expect(here).to_contain_text("search")
        assert watched.complaints == []


def test_search_filters_and_order_are_in_the_address(browser: Browser, report: Path) -> None:
    with opened(browser, report) as watched:
        page = watched.page
        page.fill("#filters input", "geo")
        expect(page.locator("#count")).to_have_text("2 of 4 cases")
        page.select_option("#filters select[name=show]", "failed")
        expect(page.locator("#count")).to_have_text("1 of 4 cases")
        page.click("button[data-sort=rate]")
        address = page.url.partition("#")[2]
    with opened(browser, report, f"#{address}") as watched:
        expect(watched.page.locator("#count")).to_have_text("1 of 4 cases")
        expect(watched.page.locator("th[data-sort=rate]")).to_have_attribute("aria-sort", "ascending")
        assert watched.page.locator("#cases tbody a").all_inner_texts() == ["peru"]


def test_everything_can_be_reached_by_keyboard(browser: Browser, report: Path) -> None:
    with opened(browser, report) as watched:
        page = watched.page
        page.keyboard.press("j")
        expect(page.locator("tr.opened")).to_contain_text("Cusco")
        page.keyboard.press("j")
        expect(page.locator("tr.opened")).to_contain_text("$.age")
        page.keyboard.press("k")
        expect(page.locator("tr.opened")).to_contain_text("Cusco")
        page.keyboard.press("Escape")
        expect(page.locator("tr.opened")).to_have_count(0)
        page.keyboard.press("f")
        expect(page.locator("#count")).to_have_text("3 of 4 cases")
        page.keyboard.press("/")
        page.keyboard.type("peru")
        expect(page.locator("#count")).to_have_text("1 of 4 cases")
        assert page.input_value("#filters input") == "peru"
        page.locator("#filters input").blur()
        page.keyboard.press("?")
        expect(page.locator("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_be_hidden()
        page.locator("#cases tbody a").focus()
        page.keyboard.press("Enter")
        expect(page.locator("tr.opened")).to_contain_text("Cusco")
        assert watched.complaints == []


def test_without_javascript_verdict_figures_and_failures_can_be_read(browser: Browser, report: Path) -> None:
    with opened(browser, report, java_script_enabled=False) as watched:
        page = watched.page
        expect(page.locator(".verdict")).to_have_text("✗ FAILED")
        expect(page.locator(".bars tbody tr")).to_have_count(2)
        expect(page.locator(".failures > li")).to_have_count(3)
        page.locator(".failures summary").first.click()
        panel = page.locator(".failures .panel").first
        expect(panel).to_be_visible()
        expect(panel.locator("ins")).to_have_text("Cusco")
        expect(page.locator("#filters")).to_be_hidden()


def test_the_theme_follows_the_system_until_the_button_chooses(browser: Browser, report: Path) -> None:
    def background(page: Page) -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    with opened(browser, report, color_scheme="dark") as watched:
        assert background(watched.page) == "rgb(19, 22, 28)"
        watched.page.click("#theme")
        assert background(watched.page) == "rgb(255, 255, 255)"
        watched.page.reload()
        watched.page.wait_for_selector("html[data-ready]", state="attached")
        assert background(watched.page) == "rgb(255, 255, 255)"


@pytest.fixture(scope="module")
def pages(harness: Harness, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One of each kind."""
    folder = tmp_path_factory.mktemp("kinds")
    suite = Suite(name="support", trials=2, cases=CASES)
    old = harness.run(suite, {"function": lambda question: "fine", "name": "before"})
    new = harness.run(suite, {"function": agent, "name": "after"})
    comparison = harness.compare(old.name, new.name)
    assert isinstance(comparison, Comparison)
    harness.write_report(new, folder / "run.html")
    presentation = Presentation(harness.redact)
    write_reports([folder / "matrix.html"], [harness.reported(old), harness.reported(new)], presentation)
    from evalharness.actions.compare_runs import report_comparisons

    compared = harness.call(report_comparisons, [comparison])
    write_comparisons([folder / "compare.html"], compared, presentation)
    return {path.stem: path for path in folder.iterdir()}


@pytest.mark.parametrize("kind", ["run", "matrix", "compare"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_accessibility_problem(
    browser: Browser, pages: dict[str, Path], kind: str, scheme: str
) -> None:
    with opened(browser, pages[kind], color_scheme=scheme) as watched:
        watched.page.keyboard.press("j")
        expect(watched.page.locator("tr.opened .panel")).to_be_visible()
        for fold in watched.page.locator("details:visible").all():
            fold.evaluate("fold => { fold.open = true; }")
        found = Axe().run(watched.page)
        serious = [each for each in found.response["violations"] if each["impact"] in SERIOUS]
        assert serious == [], found.generate_report()


@pytest.mark.parametrize("kind", ["run", "matrix", "compare"])
def test_a_phone_has_a_layout_of_its_own(browser: Browser, pages: dict[str, Path], kind: str) -> None:
    """Nothing is wider than the screen."""
    with opened(browser, pages[kind], width=390) as watched:
        watched.page.keyboard.press("j")
        expect(watched.page.locator("tr.opened .panel")).to_be_visible()
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_compare_page_says_the_answer_first_and_shows_both_sides(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["compare"]) as watched:
        page = watched.page
        groups = page.locator(".groups button").all_inner_texts()
        assert groups == ["Answer changed 3", "Same 1"]
        expect(page.locator("tr[data-group=answer]").first).to_be_visible()
        expect(page.locator("tr[data-group=same]").first).to_be_hidden()
        page.click("#cases a:text-is('peru'), a:text-is('peru')")
        sides = page.locator("tr.opened .beside > div")
        expect(sides.nth(0)).to_contain_text("fine")
        expect(sides.nth(1)).to_contain_text("Cusco")
        expect(page.locator("tr.opened [data-first-difference]")).to_have_count(1)
        page.click(".groups button:has-text('Same')")
        assert page.locator("tbody tr:visible a").all_inner_texts() == ["fine"]
        assert watched.complaints == []


def test_the_matrix_page_shows_each_answer_and_opens_it(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["matrix"]) as watched:
        page = watched.page
        heads = page.locator("thead th").all_inner_texts()
        assert [head.split("\n")[0] for head in heads] == ["case", "before", "after"]
        page.click("td[data-variant='1'] a:has-text('Cusco')")
        expect(page.locator("tr.opened .talk")).to_be_visible()
        assert watched.complaints == []
    with opened(browser, pages["matrix"], width=390) as watched:
        expect(watched.page.locator("td[data-variant='1']").first).to_be_hidden()
        watched.page.select_option("#variant", "1")
        expect(watched.page.locator("td[data-variant='1']").first).to_be_visible()


def hostile(question: str) -> Any:
    print(question)
    if question == HOSTILE[2]:
        raise ValueError(question)
    return Answer(
        output={question: question},
        messages=({"role": question, "content": question, "finish_reason": question},),
        tool_calls=({"name": question, "arguments": {question: question}, "result": question, "error": question},),
        files={"a.txt": question},
    )


def test_no_text_of_a_run_can_do_anything_in_a_page(browser: Browser, harness: Harness, tmp_path: Path) -> None:
    everywhere = ("id", "name", "description", "input", "category")
    cases = tuple(
        Case(**dict.fromkeys(everywhere, text), tags=(text,), expected={"contains": f"not {text}"}) for text in HOSTILE
    )
    suite = Suite(name=HOSTILE[1], cases=cases)
    runs = [harness.run(suite, {"function": hostile, "name": name}) for name in HOSTILE[:2]]
    presentation = Presentation(harness.redact)
    from evalharness.actions.compare_runs import report_comparisons

    harness.write_report(runs[0], tmp_path / "run.html")
    write_reports([tmp_path / "matrix.html"], [harness.reported(run) for run in runs], presentation)
    comparison = harness.compare(runs[0].name, runs[1].name)
    compared = harness.call(report_comparisons, [comparison])
    write_comparisons([tmp_path / "compare.html"], compared, presentation)
    for kind in ("run", "matrix", "compare"):
        with opened(browser, tmp_path / f"{kind}.html") as watched:
            page = watched.page
            rows = page.locator("tbody tr:visible").count()
            assert rows >= len(HOSTILE), kind
            for fold in page.locator("details[data-panel]").all()[:10]:
                fold.evaluate("fold => { fold.open = true; }")
            for number in range(len(HOSTILE)):
                page.keyboard.press("j")
                page.wait_for_selector("tr.opened .panel")
                if number % 10 == 0:
                    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
            assert watched.complaints == [], kind
            assert {url.partition("#")[0] for url in watched.requests} == {(tmp_path / f"{kind}.html").as_uri()}


def test_a_secret_is_in_no_page(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "tops&cret<1234>")
    with Harness.open(tmp_path / "store.db") as harness:
        run = harness.run(
            Suite(name="s", cases=(Case(id="a", input="x", expected="y"),)), lambda _: "is tops&cret<1234>"
        )
        harness.write_report(run, tmp_path / "run.html")
    with opened(browser, tmp_path / "run.html", "#case=a") as watched:
        watched.page.wait_for_selector("tr.opened .panel")
        shown = watched.page.content()
        assert "tops" not in shown
        assert "SERVICE_TOKEN" in shown


def test_a_case_that_is_opened_by_key_has_the_focus(browser: Browser, report: Path) -> None:
    """So that Tab goes on into its panel, and Escape leaves the search field."""
    with opened(browser, report) as watched:
        page = watched.page
        page.keyboard.press("j")
        expect(page.locator("tr.opened .panel")).to_be_visible()
        assert page.evaluate("document.activeElement.textContent") == "peru"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('tr.opened') !== null")
        page.keyboard.press("/")
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        expect(page.locator("dialog")).to_be_visible()


def test_a_row_opens_wherever_it_is_clicked_and_no_column_moves(browser: Browser, report: Path) -> None:
    with opened(browser, report) as watched:
        page = watched.page
        before = page.locator("th[data-sort=rate]").bounding_box()
        page.locator("#cases tbody tr").nth(1).locator("td").nth(1).click()
        expect(page.locator("tr.opened")).to_contain_text("$.age")
        after = page.locator("th[data-sort=rate]").bounding_box()
        assert before is not None and after is not None
        assert (before["x"], before["width"]) == (after["x"], after["width"])


def test_without_javascript_nothing_is_offered_that_needs_it(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["compare"], java_script_enabled=False) as watched:
        for control in ("#theme", "#show-keys", ".groups"):
            expect(watched.page.locator(control)).to_be_hidden()
        assert watched.page.locator(".cases tbody th").all_inner_texts() == ["Answer changed", "Same"]


def test_many_trials_are_a_bar_and_long_texts_are_folded(browser: Browser, harness: Harness, tmp_path: Path) -> None:
    answers = iter(range(1000))

    def wordy(question: str) -> str:
        return "\n".join(f"line {n}" for n in range(100)) + ("" if next(answers) % 3 else " end")

    case = Case(id="wordy", input="go on", expected={"ends_with": "end"})
    run = harness.run(Suite(name="wordy", trials=12, cases=(case,)), wordy)
    harness.write_report(run, tmp_path / "run.html")
    with opened(browser, tmp_path / "run.html", "#case=wordy") as watched:
        page = watched.page
        expect(page.locator("#cases .share .of")).to_have_text("4 of 12")
        expect(page.locator("#cases .share .mark")).to_have_text("~")
        panel = page.locator("tr.opened .panel")
        expect(panel.locator("details.fold summary", has_text="80 more lines")).to_have_count(1)
        expect(panel.locator("details.trial")).to_have_count(2)
        assert watched.complaints == []


def test_a_phone_shows_verdict_and_score_of_each_case_and_folds_the_filters(browser: Browser, report: Path) -> None:
    with opened(browser, report, width=390) as watched:
        page = watched.page
        expect(page.locator("#filters")).to_be_hidden()
        first = page.locator("#cases tbody tr").first
        expect(first.locator(".word-cell")).to_have_text("failed")
        expect(first.locator(".score")).to_have_text("0.00")
        expect(first.locator(".latency")).to_be_hidden()
        page.click("#filter-fold summary")
        page.select_option("#filters select[name=sort]", "-latency")
        assert "sort=-latency" in page.url


def test_the_plot_of_a_comparison_shows_the_interval_of_its_sentence(
    browser: Browser, harness: Harness, tmp_path: Path
) -> None:
    """Where a loss is certain for these cases, but not for others like them."""
    cases = tuple(Case(id=f"c{n}", input=str(n), expected="right") for n in range(8))
    suite = Suite(name="few", trials=10, cases=cases)
    old = harness.run(suite, lambda question: "right")
    new = harness.run(suite, lambda question: "right" if int(question) else "wrong")
    comparison = harness.compare(old.name, new.name)
    from evalharness.actions.compare_runs import report_comparisons

    write_comparisons(
        [tmp_path / "c.html"], harness.call(report_comparisons, [comparison]), Presentation(harness.redact)
    )
    with opened(browser, tmp_path / "c.html") as watched:
        sentence = watched.page.locator(".banner p").nth(1).inner_text()
        label = watched.page.locator(".plot svg").get_attribute("aria-label") or ""
        ends = re.search(r"CI (\S+) to (\S+)", sentence)
        assert ends is not None, sentence
        assert "for these cases" in sentence
        low, high = re.findall(r"interval (\S+) to (\S+)", label)[0]
        assert round(float(low.replace("−", "-"))) == round(float(ends[1].replace("−", "-")))
        assert float(high.replace("−", "-")) <= 0


def test_cases_of_different_suites_have_rows_of_their_own(browser: Browser, harness: Harness, tmp_path: Path) -> None:
    suites = [Suite(name=name, cases=(Case(id="same", input=name, expected=name),)) for name in ("one", "two")]
    runs = [harness.run(suite, lambda question: question) for suite in suites]
    write_reports([tmp_path / "m.html"], [harness.reported(run) for run in runs], Presentation(harness.redact))
    with opened(browser, tmp_path / "m.html") as watched:
        assert watched.page.locator("tbody th").all_inner_texts() == ["one / same", "two / same"]
        expect(watched.page.locator("main p").first).to_have_text("2 of 2 runs passed.")
        watched.page.locator("tbody a").last.click()
        expect(watched.page.locator("tr.opened")).to_contain_text(runs[1].name)
