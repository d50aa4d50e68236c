"""`trend`: the runs of a suite over time, in the terminal, as JSON, Markdown, a picture and a page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import opened
from driving import drive, succeed, write
from hostile_texts import HOSTILE
from playwright.sync_api import Browser, expect
from worse_agent import AGENT, SUITE, run

from evalharness import Case, Harness, Suite
from evalharness.actions.show_trend import TrendRequest, show_trend
from evalharness.domain.reported_run import Presentation
from evalharness.reports.trend_files import write_trend

RIVER = "\n  - {id: nile, input: Egypt, expected: Nile}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path, agent_py=AGENT, suite_yaml=SUITE, pyproject_toml="")


def shown(folder: Path, *words: str) -> Any:
    return succeed(folder, "trend", *words, "--json").json["trend"]


def test_runs_are_listed_oldest_first_with_what_moved(project: Path) -> None:
    good = run(project, "good", "--run-name", "first")
    drive(project, "baseline", good, "--name", "main")
    run(project, "good", "--run-name", "second")
    out = succeed(project, "trend", "capitals").out
    lines = out.splitlines()
    assert re.fullmatch(r"capitals · 2 runs, \d{4}-\d\d-\d\d", lines[0])
    assert [line.split()[:2] for line in lines if line.startswith("✓ ")] == [
        ["✓", "first"],
        ["✓", "second"],
        ["✓", "3"],
    ]
    assert "▲ baseline main" in out
    assert "●" in lines[3]
    assert "✓ 3 cases passed in every run" in out
    assert "compare  eval-harness compare first second" in out


def test_a_case_that_fails_now_is_named_with_where_to_look(project: Path) -> None:
    (project / "agent.py").write_text(AGENT + "\nanswer = good\n")
    run(project, "answer", "--run-name", "before")
    (project / "agent.py").write_text(AGENT + "\nanswer = bad\n")
    run(project, "answer", "--run-name", "after")
    out = succeed(project, "trend", "suite.yaml").out
    assert re.search(r"^now failing +peru$", out, re.M)
    assert re.search(r"^  peru +✓✗$", out, re.M)
    assert "look     eval-harness show after peru" in out
    [target] = shown(project, "capitals")["targets"]
    assert (target["target"], target["now_failing"], target["fixed"]) == ("agent.py:answer", ["peru"], [])
    assert {case["case_id"]: case["moments"] for case in target["cases"]}["peru"] == ["passed", "failed"]


def test_each_target_has_its_own_lines_and_can_be_asked_for_alone(project: Path) -> None:
    run(project, "good")
    run(project, "bad")
    assert [target["target"] for target in shown(project, "capitals")["targets"]] == ["agent.py:bad", "agent.py:good"]
    [alone] = shown(project, "capitals", "--target", "agent.py:good")["targets"]
    assert alone["target"] == "agent.py:good"
    unknown = drive(project, "trend", "capitals", "--target", "agent.py:god")
    assert (unknown.code, "Did you mean 'agent.py:good'?" in unknown.err) == (2, True)


def test_changes_of_the_suite_gaps_and_selections_are_marked_and_regrades_left_out(project: Path) -> None:
    run(project, "good")
    (project / "suite.yaml").write_text(SUITE.replace("Paris}", "paris}").rstrip() + RIVER)
    run(project, "good", "--only", "japan")
    run(project, "unreachable")
    regraded = run(project, "good")
    succeed(project, "regrade", regraded, code=1)
    trend = {target["target"]: target for target in shown(project, "capitals")["targets"]}
    runs = trend["agent.py:good"]["runs"]
    assert [each["left_out"] for each in runs] == [0, 2, 0]
    assert [each["change"] for each in runs] == [None, None, {"changed": 1, "added": 1, "removed": 0}]
    [broken] = trend["agent.py:unreachable"]["runs"]
    assert (broken["verdict"], broken["is_gap"]) == ("INVALID", True)
    out = succeed(project, "trend", "capitals").out
    assert "┊ suite changed: 1 case changed, 1 added" in out
    assert "○ only 1 of 3 cases" in out
    assert re.search(r"^! \S+ +INVALID", out, re.M)
    *_, newest = shown(project, "capitals", "--target", "agent.py:good", "--limit", "2")["targets"][0]["runs"]
    assert newest["change"] == runs[-1]["change"], "earlier runs know the case that the selection before left out"


def test_only_the_newest_runs_are_read_and_earlier_ones_mentioned(project: Path) -> None:
    names = [run(project, "good") for _ in range(3)]
    out = succeed(project, "trend", "capitals", "--limit", "2").out
    assert names[0] not in out
    assert names[1] in out
    assert "earlier runs: --limit 4" in out
    assert shown(project, "capitals", "--limit", "3")["has_earlier"] is False


def test_empty_states_say_what_to_do_next(project: Path) -> None:
    assert (
        succeed(project, "trend", "suite.yaml").out
        == "no runs of suite.yaml yet; start one: eval-harness run suite.yaml\n"
    )
    succeed(project, "trend", "suite.yaml", "-o", "t.md", "-o", "t.html")
    for file in ("t.md", "t.html"):
        assert "eval-harness run suite.yaml" in (project / file).read_text(), "ready to be pasted"
    assert drive(project, "trend", "capitols").code == 2
    run(project, "good")
    assert shown(project, "capitals", "--since", "1d")["targets"] != []
    later = succeed(project, "trend", "capitals", "--since", "2999-01-01")
    assert "no runs of capitals since 2999-01-01; leave out --since" in later.out
    wrong = drive(project, "trend", "capitals", "--since", "yesterday")
    assert (wrong.code, "write a day (2026-01-31) or an age" in wrong.err) == (2, True)
    told = drive(project, "trend", "capitals", env={"EVALHARNESS_TREND_SINCE": "2999-01-01"})
    assert "no runs of capitals since 2999-01-01" in told.out
    assert drive(project, "trend", "capitals", env={"EVALHARNESS_PHASE_SINCE": "HEAD~1"}).code == 0


def test_files_by_their_ending_and_nothing_else_is_overwritten(project: Path) -> None:
    run(project, "good")
    run(project, "bad")
    files = [project / f"trend.{ending}" for ending in ("md", "svg", "html", "json")]
    words = [word for file in files for word in ("-o", file.name)]
    for _ in range(2):  # a trend may replace a trend
        succeed(project, "trend", "capitals", *words)
    markdown, picture, page, document = (file.read_text() for file in files)
    assert "| Case | Oldest to newest run |" in markdown
    assert "`├" in markdown or "·├" in markdown
    assert ET.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"
    assert "<h1>capitals</h1>" in page
    assert '"trend"' in document
    (project / "notes.md").write_text("mine")
    refused = drive(project, "trend", "capitals", "-o", "notes.md")
    assert (refused.code, (project / "notes.md").read_text()) == (2, "mine")
    assert ".html" in drive(project, "trend", "capitals", "-o", "trend.pdf").err


# The page, in a real browser.


def alternating() -> Any:
    calls = iter(range(1000))

    def agent(question: str) -> str:
        number = next(calls)
        return "yes" if question != "sometimes" or number % 3 else "no"

    return agent


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trend")
    suite = Suite(
        name="support",
        trials=2,
        cases=tuple(Case(id=name, input=name, expected="yes") for name in ("always", "sometimes")),
    )
    with Harness.open(folder / "store.db") as harness:
        target = {"function": alternating(), "name": "agent"}
        runs = [harness.run(suite, target) for _ in range(6)]
        harness.baseline(runs[2].name, "main")
        harness.run(suite, {"function": lambda _: "no", "name": "other"})
        trend = harness.call(show_trend, TrendRequest("support"))
        write_trend(folder / "trend.html", trend, Presentation(harness.redact))
    return folder / "trend.html"


def test_the_page_shows_the_answer_the_history_and_the_cases(browser: Browser, pages: Path) -> None:
    with opened(browser, pages) as watched:
        page = watched.page
        expect(page.locator("h1")).to_have_text("support")
        assert page.locator("h2").all_inner_texts() == ["other", "agent", "Next"]
        expect(page.locator(".rate").nth(1)).to_have_text(
            re.compile(r"pass rate \d+ % \(\d+–\d+\), was .* in [a-z]+-[a-z]+-\d+")
        )
        numbers = [re.search(r"\d+ runs?", text) for text in page.locator(".banner").all_inner_texts()]
        assert [found and found[0] for found in numbers] == ["1 run", "6 runs"], "each target has its own"
        charts = page.locator(".plot > svg")
        expect(charts.nth(1).locator("circle")).to_have_count(6)
        expect(charts.nth(1)).to_contain_text("▲")
        expect(page.locator("text=▲ baseline").first).to_be_visible()
        heat = page.locator(".heat").nth(1)
        assert heat.locator("th[scope=row]").all_inner_texts() == ["sometimes"]
        expect(heat.locator("rect")).to_have_count(6)
        expect(page.locator(".part:has(h3:text('Cases'))").nth(1)).to_contain_text("1 case passed in every run")
        page.locator(".fold summary").nth(1).click()
        expect(page.locator(".fold table tbody tr:visible")).to_have_count(6)
        page.keyboard.press("?")
        assert watched.complaints == []
        assert watched.requests == [pages.as_uri()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_has_no_serious_accessibility_problem(browser: Browser, pages: Path, scheme: str) -> None:
    with opened(browser, pages, color_scheme=scheme) as watched:
        for fold in watched.page.locator("details:visible").all():
            fold.evaluate("fold => { fold.open = true; }")
        found = Axe().run(watched.page)
        assert [each for each in found.response["violations"] if each["impact"] in ("serious", "critical")] == []


def test_nothing_is_wider_than_a_phone(browser: Browser, pages: Path) -> None:
    with opened(browser, pages, width=390) as watched:
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= 390
        expect(watched.page.locator(".heat svg").first).to_be_visible()


def test_no_text_of_a_run_can_do_anything_in_page_or_picture(browser: Browser, tmp_path: Path) -> None:
    cases = tuple(Case(id=text, input=text, expected="yes") for text in HOSTILE)
    with Harness.open(tmp_path / "store.db") as harness:
        harness.run(Suite(name=HOSTILE[1], cases=cases), {"function": lambda _: "no", "name": HOSTILE[0]})
        trend = harness.call(show_trend, TrendRequest(HOSTILE[1]))
        for ending in ("html", "svg"):
            write_trend(tmp_path / f"trend.{ending}", trend, Presentation(harness.redact))
    with opened(browser, tmp_path / "trend.html") as watched:
        assert watched.page.locator(".heat tbody tr").count() == len(HOSTILE)
        assert watched.complaints == []
        assert watched.requests == [(tmp_path / "trend.html").as_uri()]
    picture = ET.fromstring((tmp_path / "trend.svg").read_text())
    assert {each.tag.rpartition("}")[2] for each in picture.iter()}.isdisjoint(
        {"script", "image", "a", "foreignObject"}
    )
    assert HOSTILE[0] in "".join(picture.itertext())


def test_a_secret_is_in_no_file(tmp_path: Path) -> None:
    def redact(text: str) -> str:
        return text.replace("hunter2hunter2", "***")

    with Harness.open(tmp_path / "store.db") as harness:
        suite = Suite(name="s", cases=(Case(id="hunter2hunter2", input="x", expected="y"),))
        harness.run(suite, {"function": lambda _: "z", "name": "agent hunter2hunter2"})
        trend = harness.call(show_trend, TrendRequest("s"))
    for ending in ("html", "svg", "md", "json"):
        write_trend(tmp_path / f"trend.{ending}", trend, Presentation(redact))
        assert "hunter2" not in (tmp_path / f"trend.{ending}").read_text(), ending
