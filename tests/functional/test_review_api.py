"""The API for reviewers and for the owner: one queue, blind, and nothing else for a reviewer's token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from served import Served, serving
from served_reviews import LIKERT, SECRETS, hits, human, invite, overview, post, project
from test_cli_grade import grade

from evalharness.actions.invite_reviewers import revoke_reviewer

TWO = {"evaluators": {"min_required": 2, "max_allowed": 2}}


@pytest.fixture
def reviewed(tmp_path: Path) -> Iterator[tuple[Served, str]]:
    """A server, and the id of its run: a case for a truth value and one for numbers, two people for each."""
    run_id = project(tmp_path, human(**TWO), human(rating_scale=LIKERT, **TWO))
    with serving(tmp_path) as served:
        yield served, run_id


def test_a_reviewers_token_opens_the_review_page_and_its_api_and_nothing_else(reviewed: tuple[Served, str]) -> None:
    served, run_id = reviewed
    [token] = invite(served, "ann")
    document = served.ask("/api/openapi.json").json["paths"]
    routes = [(path, method.upper()) for path, methods in document.items() for method in methods]
    pages = [
        "/",
        "/runs",
        f"/runs/{run_id}",
        f"/runs/{run_id}/reviews",
        "/reviews",
        "/reviewx",
        "/settings",
        "/nothing",
    ]
    pages += ["//review", "/api/openapi.json", "/assets/x", "/api/eval/reviews/minex"]
    for path, method in [*routes, *((page, "GET") for page in pages)]:
        answer = served.ask(path, method, token=token)
        is_own = path.startswith("/api/eval/reviews/mine") and not path.endswith("x")
        assert (answer.status != 403) == is_own, f"{method} {path}: {answer.status}"
        assert answer.status != 401
        assert hits([answer.body, str(answer.headers).encode()]) == [], path
    for path in ("/review", "/review/help", "/review/nothing", "/review/../runs", "/review%2f../runs"):
        assert served.ask(path, token=token).status in (200, 404)
    with served.harness() as harness:
        harness.call(revoke_reviewer, "ann")
    for path in ("/review", "/api/eval/reviews/mine", "/runs"):
        assert served.ask(path, token=token).status == 401, "at once"


def test_the_link_becomes_a_cookie_of_its_own(reviewed: tuple[Served, str]) -> None:
    served, run_id = reviewed
    [token] = invite(served, "ann")
    entered = served.ask(f"/review?token={token}", token="")
    assert (entered.status, entered.headers["location"]) == (303, "/review")
    cookie = entered.headers["set-cookie"]
    assert cookie == f"evalharness-review-{served.port}={token}; Path=/review; HttpOnly; SameSite=Lax"
    name = cookie.partition(";")[0]
    assert served.ask("/review", token="", headers={"cookie": name}).status == 200
    assert served.ask(f"/runs/{run_id}", token="", headers={"cookie": name}).status == 403
    assert served.ask(f"/runs?token={token}", token="").status == 403
    assert served.ask("/review?token=wrong", token="").status == 401
    owner = f"evalharness-{served.port}={served.token}"
    assert served.ask("/review", token="", headers={"cookie": owner}).status == 200


def test_items_are_leased_kept_submitted_skipped_and_taken_back(reviewed: tuple[Served, str]) -> None:
    served, _ = reviewed
    [token] = invite(served, "ann")
    received = []

    def ask(path: str, data: object = None) -> object:
        answer = post(served, path, token, data)
        assert answer.status == 200, answer.text
        received.append(answer.body + str(answer.headers).encode())
        return answer.json

    leased = ask("/lease")
    item = leased["item"]
    assert leased["progress"] == {"done": 0, "left": 2, "leftS": None}
    place = f"/items/{item['id']}"
    assert ask(f"{place}/heartbeat", {"draft": {"rating": {"accurate": 2}, "comment": "half a"}}) == {"isYours": True}
    assert ask(f"{place}/heartbeat") == {"isYours": True}
    assert ask("/lease")["item"]["draft"] == {"rating": {"accurate": 2}, "comment": "half a"}
    right = True if item["scale"] == "binary" else {"accurate": 4, "complete": 5}
    wrong = post(served, f"{place}/submit", token, {"rating": "perhaps"})
    assert (wrong.status, wrong.json["code"]) == (400, "invalid_request")
    assert ask(f"{place}/submit", {"rating": right, "comment": "fine"}) == {"isCounted": True, "isLate": False}
    assert ask(f"{place}/submit", {"rating": right, "comment": "fine"})["isCounted"], "sent once more"
    for _ in range(2):
        assert ask("/undo", {"itemId": item["id"]})["draft"] == {"rating": right, "comment": "fine"}
    assert ask(f"{place}/skip", {"reason": "I know who wrote it"}) == {"ok": True}
    mine = served.ask("/api/eval/reviews/mine", token=token).json
    assert [(each["itemId"], each["isSkip"], each["comment"]) for each in mine] == [
        (item["id"], True, "I know who wrote it")
    ]
    for wrong in (
        post(served, "/items/nothing/submit", token, {"rating": True}),
        post(served, f"{place}/skip", token, {"reason": ""}),
        post(served, f"{place}/submit", token, {"rating": right, "grade": 1}),
        served.ask("/api/eval/reviews/mine?reviewer=ben", token=token),
        served.ask("/api/eval/reviews/mine?reviewer=ben", token=invite(served, "owner")[0]),
    ):
        assert wrong.status in (400, 403, 404)
        assert set(wrong.json) == {"error", "code", "hint", "problems"}
        received.append(wrong.body)
    assert hits(received) == []


def test_the_owner_sees_how_far_they_are_decides_and_exports(reviewed: tuple[Served, str]) -> None:
    served, run_id = reviewed
    for token, rating in zip(invite(served, "ann", "ben"), (True, False), strict=True):
        while (leased := post(served, "/lease", token).json)["item"]:
            given = rating if leased["item"]["scale"] == "binary" else {"accurate": 5, "complete": 4}
            post(served, f"/items/{leased['item']['id']}/submit", token, {"rating": given})
    [run] = served.ask("/api/eval/reviews").json
    assert (run["runId"], run["decided"], run["disputed"]) == (run_id, 1, 1)
    found = served.ask(f"/api/eval/runs/{run_id}/reviews?stage=disputed").json
    assert [each["reviewer"] for each in found["reviewers"]] == ["ann", "ben"]
    [item] = found["itemsFound"]
    assert [review["rating"] for review in item["reviews"]] in ([True, False], [False, True])
    assert served.ask(f"/api/eval/reviews/items/{item['id']}").json["question"] == "question 1"
    decided = served.ask(
        f"/api/eval/reviews/items/{item['id']}/adjudicate", "POST", data={"rating": True, "comment": "it is"}
    )
    assert decided.json == {"stage": "decided"}
    assert served.ask(f"/api/eval/runs/{run_id}").json["verdict"] == "PASSED"
    exported = served.ask(f"/api/eval/runs/{run_id}/reviews/export?layout=csv")
    assert exported.headers["content-type"] == "text/csv; charset=utf-8"
    assert exported.text.count("\n") == 6
    remark = {"caseId": "secret-case-1", "grader": "contains", "agrees": False, "comment": "too lenient"}
    assert served.ask(f"/api/eval/runs/{run_id}/remarks", "POST", data=remark).status == 201
    [said] = overview(served, run_id).remarks
    assert (said.grader, said.agrees, said.comment, said.reviewer) == ("contains", False, "too lenient", "owner")


def test_the_command_line_and_the_server_share_one_queue(tmp_path: Path) -> None:
    run_id = project(tmp_path, *[human() for _ in range(4)])
    with serving(tmp_path) as served:
        [token] = invite(served, "ann")
        item = post(served, "/lease", token).json["item"]["id"]
        assert "That was the last one" in grade(tmp_path, "pass\n\n" * 4, "--reviewer", "ben").stdout
        assert post(served, f"/items/{item}/submit", token, {"rating": True}).json["isCounted"]
        said = Counter(review.reviewer for each in overview(served, run_id).items for review in each.reviews)
    assert said == {"ann": 1, "ben": 3}


def test_twenty_reviewers_at_once_give_every_item_its_reviews(tmp_path: Path) -> None:
    """As many at once as the server lets in, each with a token of their own."""
    run_id = project(tmp_path, *[human(**TWO) for _ in range(30)])
    with serving(tmp_path) as served:

        def rate(token: str) -> None:
            while item := post(served, "/lease", token).json["item"]:
                assert post(served, f"/items/{item['id']}/submit", token, {"rating": True}).status == 200

        with ThreadPoolExecutor(20) as people:
            list(people.map(rate, invite(served, *[f"person-{number}" for number in range(20)])))
        items = overview(served, run_id).items
        assert served.ask(f"/api/eval/runs/{run_id}").json["verdict"] == "PASSED"
    for each in items:
        names = [review.reviewer for review in each.reviews]
        assert len(names) == len(set(names)) == 2
        assert not any(review.is_surplus for review in each.reviews)


def test_nothing_that_a_reviewer_sends_makes_an_answer_say_more(reviewed: tuple[Served, str]) -> None:
    served, run_id = reviewed
    [token] = invite(served, "ann")
    item = post(served, "/lease", token).json["item"]["id"]
    received = []
    for path in ("/lease", "/undo", f"/items/{item}/submit", f"/items/{item}/skip", f"/items/{item}/heartbeat"):
        for body in (None, [], "x", {"rating": None}, {"rating": {"x": 1}}, {"rating": [["A"]]}, {"reason": " "}):
            answer = post(served, path, token, body)
            received.append(answer.body + str(answer.headers).encode())
            assert answer.status < 500, answer.text
    assert hits(received, [*SECRETS, run_id]) == []
