"""People rate in real browsers: several at once, by keyboard, on a phone, without a script, while the server dies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from browsing import Watched, browsing
from driving import succeed
from playwright.sync_api import Browser, Locator, Page, expect
from served import Served, serving, start_server
from served_reviews import LIKERT, SECRETS, hits, human, invite, overview, project

from evalharness.actions.invite_reviewers import revoke_reviewer

THIRD = {"evaluators": {"min_required": 2, "max_allowed": 3, "agreement_threshold": 0.6}}
RANKING = {"type": "ranking", "description": "Which one helps most?", "tie_allowed": True}
EXPECTED = ("net::ERR_", "status of 400")
"""What the browser itself says while there is no server, or of a review that is not complete."""


@contextmanager
def rating(browser: Browser, served: Served, token: str, **options: object) -> Iterator[Watched]:
    """A page of somebody who opened their link."""
    with browsing(browser, **options) as watched:
        watched.page.goto(f"{served.url}/review?token={token}")
        if options.get("java_script_enabled", True):
            watched.page.wait_for_selector("html[data-ready]", state="attached")
        yield watched
        complaints = [each for each in watched.complaints if not any(part in each for part in EXPECTED)]
        assert complaints == []
        assert all(url.startswith(f"{served.url}/review") for url in watched.requests), watched.requests


def choose(page: Page | Locator, label: str) -> None:
    page.locator(".options label").filter(has_text=label).locator("input").check()


def submit(page: Page) -> None:
    """And wait for what comes then."""
    before = page.locator("html").get_attribute("data-ready")
    page.click("#submit")
    expect(page.locator("html")).not_to_have_attribute("data-ready", before or "")


def done(page: Page) -> None:
    expect(page.locator("h1")).to_have_text("That was the last one. Thank you.")


def verdict(served: Served, run_id: str) -> str:
    return str(served.ask(f"/api/eval/runs/{run_id}").json["verdict"])


def test_two_people_at_once_a_third_and_an_adjudicator_finish_a_run(browser: Browser, tmp_path: Path) -> None:
    two_and_no_more = {"evaluators": {"min_required": 2, "max_allowed": 2}}
    run_id = project(tmp_path, human(**THIRD), human(**two_and_no_more))
    with serving(tmp_path) as served:
        ann_token, ben_token, cem_token = invite(served, "ann", "ben", "cem")
        with rating(browser, served, ann_token) as ann, rating(browser, served, ben_token) as ben:
            for number in (1, 2):
                for who, label in ((ann.page, "Pass"), (ben.page, "Fail")):
                    expect(who.locator("h1")).to_contain_text(f"{number} of 2")
                    choose(who, label)
                    who.fill("textarea", f"{label} because")
                    submit(who)
            done(ann.page)
            done(ben.page)
        assert verdict(served, run_id) != "PASSED"
        with rating(browser, served, cem_token) as cem:
            expect(cem.page.locator(".asked-for pre")).to_have_text("question 1")
            choose(cem.page, "Pass")
            submit(cem.page)
            done(cem.page)
        with browsing(browser) as owner:
            page = owner.page
            page.goto(f"{served.url}/reviews?token={served.token}")
            page.click("td.case a")
            expect(page.locator("main")).to_contain_text("1 disputed")
            expect(page.locator(".disputed")).to_contain_text("Fail because")
            choose(page, "Pass")
            page.fill(".disputed textarea", "it is polite")
            page.click("button:text('Decide')")
            expect(page.locator("main")).to_contain_text("No item is disputed.")
            expect(page.locator("main")).to_contain_text("Krippendorff")
            page.goto(f"{served.url}/runs/{run_id}")
            expect(page.locator(".verdict")).to_contain_text("PASSED")
            assert owner.complaints == []
        shown = succeed(tmp_path, "show", "latest", "-v").out
        assert "PASSED" in shown


def test_everything_is_done_by_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    run_id = project(tmp_path, human(rating_scale=LIKERT), human(rating_scale=LIKERT))
    with serving(tmp_path) as served:
        [token] = invite(served, "ann")
        with rating(browser, served, token) as watched:
            page, keys = watched.page, watched.page.keyboard
            keys.press("4")
            expect(page.locator("fieldset.current legend")).to_have_text("complete")
            keys.press("5")
            expect(page.locator("#submit")).to_be_focused()
            keys.press("Enter")
            expect(page.locator("h1")).to_contain_text("2 of 2")
            keys.press("u")
            expect(page.locator("h1")).to_contain_text("1 of 2")
            assert page.locator("input:checked").evaluate_all("found => found.map(each => each.value)") == ["4", "5"]
            keys.press("Enter")
            expect(page.locator("h1")).to_contain_text("2 of 2")
            keys.press("s")
            keys.type("I wrote 4 of it")
            keys.press("Enter")
            done(page)
        reviews = [review for each in overview(served, run_id).items for review in each.reviews]
    kinds = [(review.kind, review.rating or review.comment) for review in reviews if review.kind != "returned"]
    assert ("skipped", "I wrote 4 of it") in kinds
    assert ("rated", {"accurate": 4, "complete": 5}) in kinds


def test_a_phone_has_the_answer_and_the_button_in_view(browser: Browser, tmp_path: Path) -> None:
    run_id = project(tmp_path, human(rating_scale=LIKERT))
    with serving(tmp_path) as served:
        [token] = invite(served, "ann")
        with rating(browser, served, token, width=390, has_touch=True) as watched:
            page = watched.page
            expect(page.locator(".asked-for pre")).to_be_hidden()
            page.tap(".asked-for summary")
            expect(page.locator(".asked-for pre")).to_be_visible()
            expect(page.locator("#submit")).to_be_in_viewport()
            expect(page.locator("main")).to_contain_text("The answer to question 1.")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it does not scroll sideways"
            page.tap("fieldset:has-text('accurate') label:has-text('3')")
            page.tap("fieldset:has-text('complete') label:has-text('Excellent')")
            submit(page)
            done(page)
        assert verdict(served, run_id) == "PASSED"


def test_on_a_desktop_the_scale_stays_beside_a_long_answer(browser: Browser, tmp_path: Path) -> None:
    four = {**LIKERT, "criteria": [*LIKERT["criteria"], "clear", {"name": "kind", "description": "In tone and words."}]}
    project(tmp_path, human(rating_scale=four))
    with serving(tmp_path) as served:
        [token] = invite(served, "ann")
        with rating(browser, served, token) as watched:
            page = watched.page
            page.set_viewport_size({"width": 1280, "height": 800})
            page.locator(".shown pre").last.evaluate("each => { each.textContent = 'a long answer\\n'.repeat(300); }")
            for place in (0, 1000, 3000):
                page.evaluate(f"scrollTo(0, {place})")
                expect(page.locator("#submit")).to_be_in_viewport(ratio=1)
                expect(page.locator("legend").first).to_be_in_viewport(ratio=1)
            for key in "4444":
                page.keyboard.press(key)
            submit(page)
            done(page)


def test_nothing_is_lost_when_the_server_is_killed(browser: Browser, tmp_path: Path) -> None:
    """Between any two clicks: what was typed stays on the page, what was sent arrives once the server is back."""
    run_id = project(tmp_path, human(), human())
    served = start_server(tmp_path)
    try:
        [token] = invite(served, "ann")

        def killed(then: Callable[[], None]) -> None:
            nonlocal served
            served.kill()
            then()
            served = start_server(tmp_path, "--port", str(served.port))

        with rating(browser, served, token) as watched:
            page = watched.page
            choose(page, "Pass")
            expect(page.locator("#saved")).to_have_text("Saved")

            def leave_with_unsaved_text() -> None:
                page.fill("textarea", "typed while it was away")
                expect(page.locator("#saved")).to_contain_text("Not saved yet")
                with page.expect_event("dialog") as asked:
                    page.evaluate("setTimeout(() => location.reload())")
                assert asked.value.type == "beforeunload"
                watched.complaints.remove("dialog: ")

            killed(leave_with_unsaved_text)
            expect(page.locator("#saved")).to_have_text("Saved", timeout=20_000)
            page.reload()
            expect(page.locator("input:checked")).to_have_value("true")
            expect(page.locator("textarea")).to_have_value("typed while it was away")
            killed(lambda: page.click("#submit"))
            expect(page.locator("h1")).to_contain_text("2 of 2", timeout=20_000)
            killed(lambda: page.click("#undo button"))
            expect(page.locator("h1")).to_contain_text("1 of 2", timeout=20_000)
            expect(page.locator("textarea")).to_have_value("typed while it was away")
            submit(page)
            expect(page.locator("h1")).to_contain_text("2 of 2")
            killed(lambda: choose(page, "Pass"))
            killed(lambda: page.click("#submit"))
            expect(page.locator("h1")).to_contain_text("Thank you", timeout=20_000)
        reviews = [review for each in overview(served, run_id).items for review in each.reviews]
        kinds = Counter((review.kind, review.comment) for review in reviews)
        assert kinds == {("rated", ""): 1, ("rated", "typed while it was away"): 2, ("returned", ""): 1}
        assert verdict(served, run_id) == "PASSED"
    finally:
        served.interrupt()


def test_nothing_that_the_browser_receives_tells_who_answered(browser: Browser, tmp_path: Path) -> None:
    run_id = project(
        tmp_path,
        human(**THIRD, mask=["The answer to"]),
        human(rating_scale=LIKERT, show="transcript", **THIRD),
        human(rating_scale=RANKING),
        trials=2,
    )
    received: list[bytes] = []
    with serving(tmp_path) as served:
        tokens = invite(served, "ann", "ben-the-other")
        for token, label in zip(tokens, ("Pass", "Fail"), strict=True):
            with browsing(browser) as watched:
                page = watched.page
                page.on("response", lambda each: received.append(f"{each.url} {each.all_headers()}".encode()))
                page.on("response", lambda each: received.append(b"" if 300 <= each.status < 400 else each.body()))
                page.goto(f"{served.url}/review?token={token}")
                for _ in range(20):
                    page.wait_for_selector("html[data-ready]", state="attached")
                    received.append(page.content().encode())
                    received.append(page.url.encode())
                    if not page.locator("#rate").count():
                        break
                    if page.locator(f".options label:has-text('{label}')").count():
                        choose(page, label)
                    for scale in page.locator("fieldset:has-text('accurate'), fieldset:has-text('complete')").all():
                        scale.locator("input").first.check()
                    page.fill("textarea", f"said by {'ann' if label == 'Pass' else 'the other'}")
                    submit(page)
                done(page)
                for place in ("help", "pause", "nothing", "assets/nothing"):
                    page.goto(f"{served.url}/review/{place}")
        with served.harness() as harness:
            harness.call(revoke_reviewer, "ann")
    assert len(received) > 40
    assert any(b"[hidden]" in body for body in received)
    assert hits(received, [*SECRETS, run_id, "is_gold", "capitals", "/runs", "eval-"]) == []
    second = received[len(received) // 2 :]
    assert hits(second, ["said by ann"]) == []


def test_it_works_without_a_script(browser: Browser, tmp_path: Path) -> None:
    run_id = project(
        tmp_path,
        human(rating_scale=LIKERT),
        human(rating_scale=RANKING),
        trials=2,
    )
    with serving(tmp_path) as served:
        [token] = invite(served, "ann")
        with rating(browser, served, token, java_script_enabled=False) as watched:
            page = watched.page

            def click(button: str) -> None:
                with page.expect_navigation():
                    page.locator(button).first.click()

            for _ in range(3):
                if page.locator(".ranking").count():
                    first = page.locator(".ranking b").first.text_content()
                    page.fill("textarea", "the other one")
                    click("[data-move='1']")
                    expect(page.locator(".ranking b").last).to_have_text(first or "")
                    expect(page.locator("textarea")).to_have_value("the other one")
                else:
                    click("#submit")
                    expect(page.locator("[role=alert]")).to_contain_text("lease choose")
                    choose(page.locator("fieldset").first, "4")
                    click("#submit")
                    expect(page.locator("[role=alert]")).to_contain_text("'complete' is missing")
                    choose(page.locator("fieldset").last, "Excellent")
                click("#submit")
            done(page)
        assert verdict(served, run_id) == "PASSED"


def test_whoever_is_revoked_is_out_at_once(browser: Browser, tmp_path: Path) -> None:
    project(tmp_path, human())
    with serving(tmp_path) as served:
        link = succeed(tmp_path, "reviewers", "invite", "ann").out.split("review at ")[1].split()[0]
        assert link.startswith(f"{served.url}/review?token=")
        with browsing(browser) as watched:
            watched.page.goto(link)
            expect(watched.page.locator("h1")).to_contain_text("1 of 1")
            succeed(tmp_path, "reviewers", "revoke", "ann")
            watched.page.reload()
            expect(watched.page.locator("main")).to_contain_text("Ask whoever invited you for another one.")
            assert watched.page.locator("nav").count() == 0


def test_the_owner_agrees_or_disagrees_with_a_grade_on_the_page_of_its_trial(browser: Browser, tmp_path: Path) -> None:
    run_id = project(tmp_path, human())
    with serving(tmp_path) as served, browsing(browser) as watched:
        page = watched.page
        page.goto(f"{served.url}/?token={served.token}")
        page.goto(f"{served.url}/runs/{run_id}/cases/secret-case-1")
        expect(page.locator("tr.remark")).to_have_count(2)  # none on the grade that is awaited
        row = page.locator("tr.remark").nth(1)
        row.locator("input[name=comment]").fill("far too kind")
        row.locator("button:text('Disagree')").click()
        expect(page.locator("tr.remark").nth(1)).to_contain_text("owner disagrees: far too kind")
        page.goto(f"{served.url}/runs/{run_id}/reviews")
        expect(page.locator("main")).to_contain_text("disagrees: far too kind")
        assert watched.complaints == []


def barriers(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [each["id"] for each in found if each["impact"] in ("serious", "critical")]


def test_the_pages_can_be_used_by_everybody(browser: Browser, tmp_path: Path) -> None:
    run_id = project(tmp_path, human(rating_scale=LIKERT, **THIRD))
    with serving(tmp_path) as served:
        [token] = invite(served, "ann")
        for width, scheme in product((1280, 390), ("light", "dark")):
            with rating(browser, served, token, width=width, color_scheme=scheme) as watched:
                for place in ("", "/help", "/pause"):
                    watched.page.goto(f"{served.url}/review{place}")
                    assert barriers(watched.page) == [], (place, width, scheme)
            with browsing(browser, width=width, color_scheme=scheme) as watched:
                watched.page.goto(f"{served.url}/?token={served.token}")
                for place in ("/reviews", f"/runs/{run_id}/reviews", f"/runs/{run_id}/cases/secret-case-1"):
                    watched.page.goto(f"{served.url}{place}")
                    assert barriers(watched.page) == [], (place, width, scheme)
