"""The pages of the server as their readers use them: real browser, real server, real processes of runs."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import browsing
from driving import start, wait_until
from hostile_texts import HOSTILE
from playwright.sync_api import Browser, Page, expect
from served_pages import MANY, Served, finished, serving, signed_in

SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found


def card(suite: str) -> str:
    return f".card:has(a:text-is('{suite}'))"


def test_a_suite_is_run_watched_read_compared_and_promoted_by_mouse(browser: Browser, served: Served) -> None:
    with signed_in(browser, served) as watched:
        page = watched.page
        page.click(f"{card('by-mouse')} button:text('Run')")
        expect(page.locator("#live .failures")).to_contain_text("peru", timeout=60_000)
        expect(page.locator("#live .failures")).to_contain_text("Cusco")
        expect(page.locator("#said")).to_contain_text("of 3 trials")
        run_page = page.url
        served.open_gate("by-mouse")
        finished(watched, "FAILED")
        assert page.url == run_page
        expect(page.locator(".banner")).to_contain_text("1 of 3 cases failed")
        page.click(".failures summary:has-text('peru')")
        panel = page.locator(".failures .panel")
        expect(panel.locator("del")).to_have_text("Lima")
        expect(panel.locator("ins")).to_have_text("Cusco")
        expect(panel.locator(".talk > li").nth(1)).to_contain_text("I will look it up.")
        page.click("text=Compare >> nth=1")
        expect(page.locator("h1")).to_contain_text("→")
        expect(page.locator("tbody tr:visible").filter(has_text="peru")).to_contain_text("Lima → Cusco")
        page.click("tbody a:text-is('peru')")
        expect(page.locator("tr.opened")).to_contain_text("first difference")
        page.goto(run_page)
        page.click("summary:text('Actions')")
        expect(page.locator(".menu")).to_contain_text("eval-harness baseline set")
        page.fill(".menu input[name=name]", "mouse")
        page.click("button:text('Promote to baseline')")
        expect(page.locator(".baselines tr").filter(has_text="mouse").first).to_contain_text("by-mouse")


def press_to(page: Page, selector: str) -> None:
    """As somebody does who has no mouse: from one control to the next, until this one has the focus."""
    for _ in range(120):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"no Tab leads to {selector}")


def test_the_same_by_keyboard(browser: Browser, served: Served) -> None:
    with signed_in(browser, served) as watched:
        page = watched.page
        press_to(
            page,
            f"{card('by-keyboard').replace(':text-is', ':not').split(':has')[0]} form[action$='/by-keyboard'] button",
        )
        page.keyboard.press("Enter")
        expect(page.locator("#live .failures")).to_contain_text("peru", timeout=60_000)
        served.open_gate("by-keyboard")
        finished(watched, "FAILED")
        page.wait_for_selector("html[data-ready]", state="attached")
        run_page = page.url
        page.keyboard.press("f")
        expect(page.locator("#count")).to_have_text("1 of 3 cases")
        page.keyboard.press("j")
        expect(page.locator("tr.opened .talk > li").nth(1)).to_contain_text("I will look it up.")
        page.keyboard.press("Escape")
        expect(page.locator("tr.opened")).to_have_count(0)
        page.goto(run_page)
        press_to(page, ".actions a[href*='/compare']")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_contain_text("→")
        page.wait_for_selector("html[data-ready]", state="attached")
        page.keyboard.press("j")
        expect(page.locator("tr.opened")).to_contain_text("first difference")
        page.goto(run_page)
        press_to(page, ".menu > summary")
        page.keyboard.press("Enter")
        press_to(page, ".menu input[name=name]")
        page.keyboard.press("Control+A")
        page.keyboard.type("keys")
        page.keyboard.press("Enter")
        expect(page.locator(".baselines tr").filter(has_text="keys").first).to_contain_text("by-keyboard")


def test_a_killed_run_is_shown_as_interrupted_and_resumed_from_its_page(browser: Browser, served: Served) -> None:
    with signed_in(browser, served) as watched:
        page = watched.page
        page.click(f"{card('killed')} button:text('Run')")
        expect(page.locator("#live .failures")).to_contain_text("peru", timeout=60_000)
        mark = served.folder / "killed.pid"
        wait_until(mark.exists)
        os.kill(int(mark.read_text()), signal.SIGKILL)
        expect(page.locator(".verdict")).to_have_text("INTERRUPTED", timeout=60_000)
        expect(page.locator(".banner")).to_contain_text("2 of 3 trials")
        served.open_gate("killed")
        page.reload()
        page.click("button:text('Resume') >> nth=0")
        finished(watched, "FAILED")
        expect(page.locator(".banner")).to_contain_text("1 of 3 cases failed")


def test_a_run_of_a_terminal_is_watched_as_well(browser: Browser, served: Served) -> None:
    with start(served.folder, "run", "in-terminal.yaml", "--store", "store.db") as run:
        wait_until((served.folder / "in-terminal.pid").exists)
        with signed_in(browser, served, f"/runs/{served.run_id('in-terminal')}") as watched:
            expect(watched.page.locator(".verdict")).to_have_text("Running")
            expect(watched.page.locator("#live .failures")).to_contain_text("Cusco", timeout=60_000)
            served.open_gate("in-terminal")
            finished(watched, "FAILED")
        assert run.wait().code == 1


def test_a_run_is_cancelled_and_deleted_from_its_page(browser: Browser, served: Served) -> None:
    with signed_in(browser, served) as watched:
        page = watched.page
        page.click(f"{card('cancelled')} button:text('Run')")
        expect(page.locator("#live .failures")).to_contain_text("peru", timeout=60_000)
        run_page = page.url
        page.click(".actions button:text('Cancel') >> nth=0")
        finished(watched, "INTERRUPTED")
        page.goto(run_page)
        page.click("summary:text('Actions')")
        page.click("button:text('Delete')")
        expect(page.locator("h1")).to_contain_text("Delete ")
        page.click("button:text('Delete the run')")
        assert page.url.endswith("/runs")
    with signed_in(browser, served) as watched:
        watched.page.goto(run_page)
        expect(watched.page.locator("h1")).to_have_text("Not found")
        watched.complaints.clear()  # the browser says that there is no such page


def test_the_table_is_searched_sorted_and_paged_and_its_address_says_how(browser: Browser, served: Served) -> None:
    run = served.run_id("many")
    with signed_in(browser, served, f"/runs/{run}") as watched:
        page = watched.page
        expect(page.locator("#count")).to_have_text(f"{MANY} cases")
        for rows in (100, 200, MANY):
            expect(page.locator("#cases tbody tr")).to_have_count(rows, timeout=20_000)
            page.locator("#more").scroll_into_view_if_needed()
        page.fill("#filters input", "case-1")
        expect(page.locator("#count")).to_have_text(f"111 of {MANY} cases")
        page.select_option("#filters select[name=show]", "failed")
        expect(page.locator("#count")).to_have_text(f"22 of {MANY} cases")
        page.click("button[data-sort=id]")
        page.click("button[data-sort=id]")
        expect(page.locator("#cases tbody a").first).to_have_text("case-197")
        expect(page.locator("th[data-sort=id]")).to_have_attribute("aria-sort", "descending")
        assert page.evaluate("document.activeElement.dataset.sort") == "id"
        address = page.url
        page.go_back()
        expect(page.locator("th[data-sort=id]")).to_have_attribute("aria-sort", "ascending")
    with signed_in(browser, served, address.removeprefix(served.base)) as watched:
        expect(watched.page.locator("#count")).to_have_text(f"22 of {MANY} cases")
        expect(watched.page.locator("#cases tbody a").first).to_have_text("case-197")


def test_a_case_has_a_page_of_its_own_with_its_neighbours_and_messages(browser: Browser, served: Served) -> None:
    run = served.run_id(HOSTILE[1])
    many = served.run_id("many")
    with signed_in(browser, served, f"/runs/{many}/cases/case-7") as watched:
        page = watched.page
        expect(page.locator(".panel")).to_contain_text("wrong")
        expect(page.locator(".actions")).to_contain_text(f"case 8 of {MANY}")
        page.keyboard.press("j")
        expect(page.locator("h1")).to_contain_text("case-8")
        page.wait_for_selector("html[data-ready]", state="attached")
        page.keyboard.press("k")
        expect(page.locator("h1")).to_contain_text("case-7")
        page.goto(f"{served.base}/runs/{run}")
        page.wait_for_selector("html[data-ready]", state="attached")
        page.keyboard.press("j")
        page.click("tr.opened .talk .nr >> nth=1")
        expect(page.locator("#here")).to_have_attribute("data-message", "2")
        expect(page.locator("#here")).to_be_in_viewport()
    dots = served.run_id("dots")
    with signed_in(browser, served, f"/runs/{dots}") as watched:
        page = watched.page
        for name in ("..", "a/../b", "a b?#", "two\nlines"):
            page.goto(
                page.locator("#cases a[data-case]")
                .filter(has_text=re.compile(f"^{re.escape(name)}$"))
                .first.evaluate("link => link.href")
            )
            expect(page.locator("h1")).to_contain_text(name)
            expect(page.locator("article.panel")).to_contain_text("Question")
            page.go_back()


def test_each_trial_has_a_button_that_opens_it(browser: Browser, served: Served) -> None:
    run = served.run_id("tried")
    with signed_in(browser, served, f"/runs/{run}/cases/odd") as watched:
        page = watched.page
        buttons = page.locator("nav.trials a")
        expect(buttons).to_have_text(
            [re.compile(r"1\s*✓"), re.compile(r"2\s*✗"), re.compile(r"3\s*✓"), re.compile(r"4\s*✗")]
        )
        expect(page.locator("details.trial[open]")).to_contain_text("trials 2, 4: failed")
        buttons.nth(2).click()
        expect(page.locator("details.trial[open]")).to_contain_text("trials 1, 3: passed")
        expect(page.locator("nav.trials a[aria-current]")).to_have_count(2)
        expect(page).to_have_url(re.compile("trial=3$"))
        page.reload()
        expect(page.locator("details.trial[open]")).to_contain_text("trials 1, 3: passed")
        page.goto(f"{served.base}/runs/{run}")
        page.wait_for_selector("html[data-ready]", state="attached")
        page.click("#cases a[data-case='odd']")
        page.click("tr.opened nav.trials a >> nth=0")
        expect(page.locator("tr.opened details.trial[open]")).to_contain_text("trials 1, 3: passed")
        expect(page).to_have_url(re.compile("case=odd&trial=1$"))


def test_the_cases_of_a_suite_lead_to_their_pages(browser: Browser, served: Served) -> None:
    with signed_in(browser, served, "/suites/many") as watched:
        watched.page.click(".heat th a >> text='case-7'")
        expect(watched.page.locator("h1")).to_contain_text("case-7")
        expect(watched.page.locator("article.panel")).to_contain_text("wrong")
        watched.page.click("h1 a:text-is('many')")
        expect(watched.page).to_have_url(re.compile("/suites/many$"))


def test_any_two_runs_are_compared_and_swapped(browser: Browser, served: Served) -> None:
    old, new = served.run_id("many", 0), served.run_id("many", 1)
    with signed_in(browser, served, "/compare") as watched:
        page = watched.page
        chosen = [page.locator(f"select[name={name}] option:checked").inner_text() for name in ("a", "b")]
        assert chosen[0] != chosen[1], "what one most likely wants to compare"
        page.select_option("select[name=a]", old)
        page.select_option("select[name=b]", new)
        page.click("main button:text('Compare')")
        expect(page.locator(".verdict")).to_contain_text("REGRESSION")
        page.click("a:text('Swap')")
        expect(page.locator(".verdict")).to_contain_text("IMPROVEMENT")


def test_without_javascript_everything_that_is_not_live_works(browser: Browser, served: Served) -> None:
    many = served.run_id("many")
    with signed_in(browser, served, java_script_enabled=False) as watched:
        page = watched.page
        page.click("a:text('Runs')")
        page.select_option("select[name=suite]", "many")
        page.click("button:text('Show')")
        expect(page.locator(".runs tbody tr")).to_have_count(2)
        page.goto(f"{served.base}/runs/{many}")
        page.click("a:text('More cases')")
        expect(page.locator("#cases tbody a").first).to_have_text("case-100")
        page.fill("#filters input", "case-2")
        page.click("#filters button:text('Show')")
        expect(page.locator("#count")).to_have_text(f"61 of {MANY} cases")
        page.click("button[data-sort=id]")
        expect(page.locator("th[data-sort=id]")).to_have_attribute("aria-sort", "ascending")
        expect(page.locator("#count")).to_have_text(f"61 of {MANY} cases")
        page.click("#cases tbody a >> nth=0")
        expect(page.locator("article.panel")).to_contain_text("Question")
        page.click("a[rel=next]")
        expect(page.locator("h1")).to_contain_text("case-3")
        page.goto(f"{served.base}/runs/{many}")
        page.click(".failures summary >> nth=0")
        page.click(".failures a >> nth=0")
        expect(page.locator("article.panel")).to_contain_text("wrong")
        page.goto(f"{served.base}/runs/{many}")
        page.click("a:text('Compare') >> nth=1")
        page.click("tbody a >> nth=0")
        expect(page.locator("tr.opened")).to_contain_text("wrong")
        page.goto(served.base)
        served.open_gate("without-script")
        page.click(f"{card('without-script')} button:text('Run')")
        assert re.search(r"/runs/eval-[\w-]+$", page.url)
        wait_until(lambda: bool(page.reload()) and "FAILED" in page.locator(".verdict").inner_text())
        page.click("summary:text('Actions')")
        page.click("button:text('Promote to baseline')")
        expect(page.locator(".baselines")).to_contain_text("without-script")


def paths(served: Served) -> dict[str, str]:
    old, new, evil = served.run_id("many", 0), served.run_id("many", 1), served.run_id(HOSTILE[1])
    return {
        "home": "/",
        "suite": "/suites/many",
        "runs": "/runs",
        "run": f"/runs/{new}",
        "case": f"/runs/{new}/cases/case-7",
        "compare": f"/compare?a={old}&b={new}",
        "choice": "/compare",
        "matrix": f"/matrix/{evil}",
        "baselines": "/baselines",
        "settings": "/settings",
        "delete": f"/runs/{new}/delete",
        "not found": "/runs/nothing",
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_has_a_serious_accessibility_problem(browser: Browser, served: Served, width: int, scheme: str) -> None:
    with signed_in(browser, served, width=width, color_scheme=scheme) as watched:
        for kind, path in paths(served).items():
            watched.page.goto(f"{served.base}{path}")
            watched.page.wait_for_selector("html[data-ready]", state="attached")
            found = Axe().run(watched.page).response["violations"]
            assert [each["id"] for each in found if each["impact"] in SERIOUS] == [], kind
            too_wide = watched.page.evaluate("document.documentElement.scrollWidth > innerWidth")
            assert not too_wide, kind
        assert [text for text in watched.complaints if "404" not in text] == []
        watched.complaints.clear()


def test_no_text_of_a_run_can_do_anything_in_a_page(browser: Browser, served: Served) -> None:
    run = served.run_id(HOSTILE[1])
    old = served.run_id(HOSTILE[1], 0)
    with signed_in(browser, served, f"/runs/{run}") as watched:
        page = watched.page
        for number in range(len(HOSTILE)):
            page.keyboard.press("j")
            page.wait_for_selector("tr.opened .panel h3")
            if number % 10 == 0:
                page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
        links = page.locator("#cases a[data-case]").evaluate_all("links => links.map(link => link.href)")
        assert len(links) == len(HOSTILE)
        for address in links:
            page.goto(address)
            expect(page.locator("article.panel")).to_contain_text("Question")
        for path in ("/", "/runs", f"/compare?a={old}&b={run}", f"/matrix/{run}", "/baselines"):
            page.goto(f"{served.base}{path}")
            page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
        page.click("nav a:text('Runs')")
        page.click(f"td.suite a:has-text('{'alert(2)'}') >> nth=0")
        expect(page.locator("h1")).to_have_text(HOSTILE[1])


@pytest.mark.parametrize("text", HOSTILE[:8])
def test_no_text_of_an_address_can_do_anything_in_a_page(browser: Browser, served: Served, text: str) -> None:
    run = served.run_id("many")
    written = quote(text, safe="")
    with signed_in(browser, served) as watched:
        page = watched.page
        for path in (
            f"/runs/{run}?q={written}&show={written}&category={written}&tag={written}&sort={written}&nr={written}",
            f"/runs?suite={written}",
            f"/runs/{written}",
            f"/suites/{written}",
            f"/compare?a={written}&b={written}",
            f"/matrix/{written}",
            f"/{written}",
        ):
            page.goto(f"{served.base}{path}")
        assert [said for said in watched.complaints if "Failed to load resource" not in said] == []
        watched.complaints.clear()


def test_without_the_token_a_page_says_how_to_get_in(browser: Browser, served: Served) -> None:
    with browsing(browser) as watched:
        answer = watched.page.goto(f"{served.base}/runs")
        assert answer is not None
        assert answer.status == 401
        expect(watched.page.locator("h1")).to_have_text("This page needs the token")
        expect(watched.page.locator("main")).to_contain_text("server.json")
        font = watched.page.evaluate("getComputedStyle(document.body).fontFamily")
        assert "system-ui" in font  # in the same look, though no other file may be read


def test_assets_are_kept_and_small_and_pages_stay_below_their_size(browser: Browser, served: Served) -> None:
    with signed_in(browser, served) as watched:
        page = watched.page
        sizes = 0
        for selector, name in (("link[rel=stylesheet]", "href"), ("script", "src")):
            address = page.locator(selector).get_attribute(name)
            answer = page.request.get(f"{served.base}{address}")
            assert re.search(r"-[0-9a-f]{16}\.(css|js)$", str(address))
            assert "immutable" in answer.headers["cache-control"]
            sizes += len(answer.body())
        assert sizes < 60_000
        for kind, path in paths(served).items():
            answer = page.request.get(f"{served.base}{path}")
            assert len(answer.body()) <= 300_000, kind
            policy = answer.headers["content-security-policy"]
            assert "unsafe" not in policy, kind
            assert "default-src 'none'" in policy, kind


def test_the_settings_never_show_the_token(browser: Browser, served: Served) -> None:
    token = served.url.partition("token=")[2]
    with signed_in(browser, served, "/settings") as watched:
        expect(watched.page.locator("main")).to_contain_text("store.db")
        assert token not in watched.page.content()


def test_an_empty_project_says_what_to_do_first(browser: Browser, tmp_path: Path) -> None:
    log = tmp_path / "serve.log"
    with (
        log.open("wb") as printed,
        start(tmp_path, "serve", "--port", "0", "--store", "s.db", stdout=printed.fileno(), stderr=printed.fileno()),
    ):
        wait_until(lambda: "stop" in log.read_text())
        found = re.search(r"http://\S+", log.read_text())
        assert found is not None
        with browsing(browser) as watched:
            watched.page.goto(found[0])
            expect(watched.page.locator("main")).to_contain_text("eval-harness init")
            (tmp_path / "alone.yaml").write_text("name: alone\ntest_cases: [{id: a, input: x, expected: x}]\n")
            watched.page.reload()
            expect(watched.page.locator(".card")).to_contain_text("eval-harness run alone.yaml --target TARGET")
            watched.page.click("a:text-is('alone')")
            expect(watched.page.locator("main")).to_contain_text("names no target")
            watched.page.click("nav a:text('Compare')")
            expect(watched.page.locator("main")).to_contain_text("nothing to compare yet")
            assert watched.complaints == []
