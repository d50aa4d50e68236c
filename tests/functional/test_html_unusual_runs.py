"""HTML reports of runs that are larger, longer or stranger than most, and what is left of a page on paper."""

from __future__ import annotations

import random
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import opened
from driving import drive, succeed
from playwright.sync_api import Browser, Locator, Page, expect

from evalharness import Answer, Case, Harness, Suite
from evalharness.actions.compare_runs import report_comparisons
from evalharness.domain.reported_run import Presentation
from evalharness.reports.report_files import write_comparisons, write_reports


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    with Harness.open(tmp_path_factory.mktemp("unusual") / "store.db") as found:
        yield found


def verbose(question: str) -> Answer:
    """300,000 characters that do not compress well."""
    noise = random.Random(question)
    return Answer(output=noise.randbytes(50_000).hex(), files={name: noise.randbytes(50_000).hex() for name in "ab"})


@pytest.fixture(scope="module")
def folder(harness: Harness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of runs with more text than a file has room for."""
    made = tmp_path_factory.mktemp("full")
    cases = [Case(id=f"$&/{n}", input=str(n), expected={"max_length": 10 if n > 75 else 10**7}) for n in range(150)]
    runs = [
        harness.run(Suite(name="verbose", cases=tuple(cases)), {"function": verbose, "name": name})
        for name in ("before", "after")
    ]
    harness.write_report(runs[0], made / "run.html")
    write_reports([made / "matrix.html"], [harness.reported(run) for run in runs], Presentation(harness.redact))
    (made / "names").write_text(" ".join(run.name for run in runs))
    return made


class TestMoreThanAFileHasRoomFor:
    def test_failing_cases_are_kept_and_the_command_for_the_others_is_right(
        self, browser: Browser, folder: Path
    ) -> None:
        name = (folder / "names").read_text().split()[0]
        assert (folder / "run.html").stat().st_size < 25_000_000
        with opened(browser, folder / "run.html") as watched:
            opened_case = _open(watched.page, "$&/100")
            expect(opened_case).to_contain_text("max_length")
            expect(_open(watched.page, "$&/75")).to_contain_text("not in the report")
            assert _command(watched.page, "$&/75") == ["eval-harness", "show", name, "$&/75"]

    def test_each_cell_of_several_runs_names_its_own_run(self, browser: Browser, folder: Path) -> None:
        names = (folder / "names").read_text().split()
        with opened(browser, folder / "matrix.html") as watched:
            for number, name in enumerate(names):
                found = _command(watched.page, f"{number}/$&/75")
                assert found == ["eval-harness", "show", name, "$&/75"]

    def test_a_case_that_comes_late_does_not_take_the_focus(self, browser: Browser, folder: Path) -> None:
        """Its texts are still unpacked when the next case, whose texts are at hand, is open already."""
        with opened(browser, folder / "run.html") as watched:
            page = watched.page
            _open(page, "$&/80")
            page.evaluate(
                """() => {
                    const links = [...document.querySelectorAll("#cases a")];
                    const find = (id) => links.find((link) => link.textContent === id);
                    find("$&/85").click(); find("$&/80").click();
                }"""
            )
            expect(page.locator("tr.opened")).to_contain_text("80")
            page.wait_for_timeout(500)
            assert page.evaluate("document.activeElement.textContent") == "$&/80"


def _open(page: Page, key: str) -> Locator:
    page.evaluate("key => { location.hash = `case=${encodeURIComponent(key)}`; }", key)
    page.wait_for_selector("tr.opened .panel")
    return page.locator("tr.opened")


def _command(page: Page, key: str) -> list[str]:
    return shlex.split(_open(page, key).locator(".command code").inner_text())


def test_an_id_that_looks_like_an_option_can_be_shown(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def answer(question): return 'no'\n")
    (tmp_path / "suite.yaml").write_text(
        "name: dash\ntarget: agent.py:answer\ntest_cases:\n  - {id: -x, input: a, expected: yes}\n"
    )
    said = drive(tmp_path, "run", "suite.yaml", "-o", "report.html", "-o", "report.md").out
    printed = next(line.split("eval-harness ")[1] for line in said.splitlines() if line.startswith("look"))
    with opened(browser, tmp_path / "report.html") as watched:
        shown = " ".join(_command(watched.page, "-x")[1:])
    written = (tmp_path / "report.md").read_text().split("Everything about this case: `eval-harness ")[1].split("`")[0]
    for words in (printed, shown, written):
        assert "expected  exact: yes" in succeed(tmp_path, *shlex.split(words)).out


def test_nothing_that_was_not_stored_is_offered(browser: Browser, tmp_path: Path) -> None:
    """The store of `--store :memory:` is gone when the report is read."""
    (tmp_path / "agent.py").write_text("def answer(question): return 'no'\n")
    (tmp_path / "suite.yaml").write_text(
        "name: gone\ntarget: agent.py:answer\ntest_cases:\n  - {id: x, input: a, expected: yes}\n"
    )
    drive(tmp_path, "run", "suite.yaml", "--store", ":memory:", "-o", "report.html")
    with opened(browser, tmp_path / "report.html") as watched:
        expect(_open(watched.page, "x")).to_contain_text("got 'no'")
        expect(watched.page.locator(".command")).to_have_count(0)


def test_a_case_that_has_not_run_yet_shows_its_question(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def answer(question): return 'no'\n")
    cases = "".join(f"  - {{id: c{n}, input: question {n}, expected: yes}}\n" for n in range(3))
    (tmp_path / "suite.yaml").write_text(f"name: stopped\ntarget: agent.py:answer\ntest_cases:\n{cases}")
    drive(tmp_path, "run", "suite.yaml", "-j", "1", "-x", "-o", "run.html")
    with opened(browser, tmp_path / "run.html") as watched:
        shown = _open(watched.page, "c2")
        expect(shown).to_contain_text("question 2")
        expect(shown).to_contain_text("No trial of this case has finished.")


def test_ids_that_differ_in_a_secret_leave_the_other_cases_as_they_are(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRST_TOKEN", "secret-one-1")
    cases = tuple(Case(id=each, input=each, expected="x") for each in ("b\u202ea", "ba", "other"))
    with Harness.open(tmp_path / "store.db") as harness:
        run = harness.run(Suite(name="alike", cases=cases), lambda question: f"an answer to {question}")
        harness.write_report(run, tmp_path / "run.html")
    with opened(browser, tmp_path / "run.html") as watched:
        expect(_open(watched.page, "other")).to_contain_text("an answer to other")


def test_of_many_categories_the_lowest_are_seen_and_the_others_folded(
    browser: Browser, harness: Harness, tmp_path: Path
) -> None:
    cases = tuple(Case(id=f"c{n}", input="x", category=f"kind {n}", expected="y" if n > 35 else "x") for n in range(40))
    run = harness.run(Suite(name="kinds", cases=cases), lambda question: question)
    harness.write_report(run, tmp_path / "run.html")
    with opened(browser, tmp_path / "run.html") as watched:
        seen = watched.page.locator(".bars tbody th:visible").all_inner_texts()
        assert seen[:5] == ["kind 36", "kind 37", "kind 38", "kind 39", "kind 0"]
        assert len(seen) == 10
        watched.page.click("summary:has-text('30 more categories')")
        expect(watched.page.locator(".bars tbody th:visible")).to_have_count(40)


@pytest.mark.parametrize("width", [1280, 390])
def test_long_names_and_answers_stay_in_their_place(
    browser: Browser, harness: Harness, tmp_path: Path, width: int
) -> None:
    """Names are cut to two lines until their case is opened, and nothing is wider than the page."""
    long = "word-" * 40
    cases = tuple(
        Case(id=f"{n}{'x' * 180}", name=f"{long} {long} {long}", input="a", category=long, tags=(long,), expected="y")
        for n in range(20)
    )
    suite = Suite(name=long, cases=cases)
    runs = [harness.run(suite, lambda _, letter=letter: letter * 500) for letter in "ab"]
    comparison = harness.compare(runs[0].name, runs[1].name)
    shown = Presentation(harness.redact)
    harness.write_report(runs[0], tmp_path / "run.html")
    write_reports([tmp_path / "matrix.html"], [harness.reported(run) for run in runs], shown)
    write_comparisons([tmp_path / "compare.html"], harness.call(report_comparisons, [comparison]), shown)
    for kind in ("run", "matrix", "compare"):
        with opened(browser, tmp_path / f"{kind}.html", width=width) as watched:
            page = watched.page
            assert page.evaluate("document.documentElement.scrollWidth") <= width, kind
            cells = (
                "[...document.querySelectorAll('.cases td')].every(each => each.scrollWidth <= each.clientWidth + 1)"
            )
            assert page.evaluate(cells), kind
            if kind == "run":
                link = page.locator("#cases tbody a").first
                assert link.evaluate("each => each.clientHeight") <= 44
                link.click()
                page.wait_for_selector("tr.opened .panel")
                assert link.evaluate("each => each.scrollHeight <= each.clientHeight")


def test_the_answer_that_did_not_change_is_there_once(browser: Browser, harness: Harness, tmp_path: Path) -> None:
    suite = Suite(name="same", cases=(Case(id="a", input="x", expected="x"),))
    runs = [harness.run(suite, {"function": lambda question: question, "name": name}) for name in ("old", "new")]
    comparison = harness.compare(runs[0].name, runs[1].name)
    compared = harness.call(report_comparisons, [comparison])
    write_comparisons([tmp_path / "compare.html"], compared, Presentation(harness.redact))
    with opened(browser, tmp_path / "compare.html") as watched:
        expect(watched.page.locator("td.answers")).to_have_text("x")
        watched.page.keyboard.press("?")
        expect(watched.page.locator("dialog")).not_to_contain_text("search")


def test_on_paper_the_columns_have_their_titles_and_folds_are_open(
    browser: Browser, harness: Harness, tmp_path: Path
) -> None:
    run = harness.run(Suite(name="paper", cases=(Case(id="a", input="x", expected="y"),)), lambda _: "z")
    harness.write_report(run, tmp_path / "run.html")
    with opened(browser, tmp_path / "run.html", color_scheme="dark") as watched:
        page = watched.page
        expect(page.locator("#count")).to_have_text("1 case")
        before = page.locator("details[open]").count()
        page.emulate_media(media="print")
        folded = "dispatchEvent(new Event('beforeprint')); document.querySelectorAll('details:not([open])').length"
        assert page.evaluate(folded) == 0
        expect(page.locator("th button").first).to_be_visible()
        expect(page.locator("#show-keys")).to_be_hidden()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        expect(page.locator("details[open]")).to_have_count(before)
