"""The review queue with a real store: who gets what, what it comes to, and what clocks, crashes and crowds do to it."""

from __future__ import annotations

import json
import multiprocessing
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from reviewing import Clocks, case, human, opened, rate_all, run_of, state_of, suite

from evalharness.actions.invite_reviewers import identify_reviewer, invite_reviewer, list_reviewers, revoke_reviewer
from evalharness.actions.oversee_reviews import oversee_reviews, remark_grade
from evalharness.actions.rate_answers import (
    adjudicate_item,
    heartbeat,
    lease_item,
    list_own_reviews,
    skip_item,
    submit_review,
    undo_review,
)
from evalharness.actions.regrade_run import RegradeRequest, regrade_runs
from evalharness.actions.verify_report import verify_any
from evalharness.domain.seen_item import SeenItem
from evalharness.domain.transcript import Answer
from evalharness.errors import UsageError
from evalharness.harness import Harness

TWO = {"min_required": 2, "max_allowed": 3}
LIKERT = {"type": "likert", "range": [1, 5], "criteria": ["accurate", {"name": "complete", "weight": 3}]}


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
def harness(tmp_path: Path, clocks: Clocks) -> Iterator[Harness]:
    with opened(str(tmp_path / "store.db"), clocks) as harness:
        yield harness


def lease(harness: Harness, name: str) -> SeenItem:
    leased = harness.call(lease_item, name)
    assert leased is not None
    return leased.item


def lease_of(harness: Harness, name: str, rubric: str) -> str:
    """The id of this item; the others that come before it are skipped."""
    while (item := lease(harness, name)).rubric != rubric:
        harness.call(skip_item, name, item.id, "another time")
    return item.id


def test_a_run_waits_for_people_and_is_finished_by_the_last_review(harness: Harness, tmp_path: Path) -> None:
    run = run_of(harness, suite(case(1, human()), case(2, human())), tmp_path)
    assert run.report is not None
    assert (run.report.exit_code, run.report.verdict, run.finished_at) == (4, "UNDECIDED", None)
    assert run.report.reviews is not None
    assert run.report.reviews.pending == 2
    harness.call(submit_review, "ann", lease(harness, "ann").id, True)
    assert harness.call(verify_any, run.name).differs is False, "while others are pending, too"
    harness.call(undo_review, "ann")
    assert rate_all(harness, "ann", lambda item: item.question == "question 1") == 2
    done = harness.context.store.find_run(run.id)
    assert done.report is not None
    assert (done.report.verdict, done.report.summary.passed, done.report.summary.failed) == ("FAILED", 1, 1)
    assert done.finished_at is not None
    assert harness.call(verify_any, run.name).differs is False


def test_likert_takes_the_median_of_each_criterion_and_their_weighted_mean(harness: Harness, tmp_path: Path) -> None:
    grader = human(rating_scale=LIKERT, evaluators={"min_required": 3, "agreement_threshold": 0.5}, pass_score=0.6)
    run = run_of(harness, suite(case(1, grader)), tmp_path)
    for name, accurate, complete in (("ann", 5, 2), ("ben", 4, 4), ("cem", 1, 5)):
        rate_all(harness, name, {"accurate": accurate, "complete": complete})
    [trial] = harness.context.store.trials(run.id)
    assert trial.score == pytest.approx((0.75 * 1 + 0.75 * 3) / 4)  # the medians are 4 and 4
    assert trial.state == "passed"


def test_people_who_disagree_get_another_one_and_then_an_adjudicator(harness: Harness, tmp_path: Path) -> None:
    run = run_of(harness, suite(case(1, human(evaluators={"min_required": 2, "max_allowed": 4}))), tmp_path)
    for name, says in (("ann", True), ("ben", False), ("cem", True), ("dan", False)):
        assert rate_all(harness, name, says) == 1
    assert rate_all(harness, "eve", True) == 0, "four are the most"
    assert state_of(harness, run, "secret-case-1") == (
        "awaiting", "human: disputed: only 2 of 4 people agree, an adjudicator has to decide",
    )  # fmt: skip
    [item] = harness.call(oversee_reviews, run.name, "disputed").items
    assert harness.context.store.find_run(run.id).finished_at is None
    harness.call(adjudicate_item, "owner", item.item.id, False, "it is rude")
    assert state_of(harness, run, "secret-case-1") == ("failed", "human: Fail by the adjudicator owner: it is rude")
    assert harness.context.store.find_run(run.id).finished_at is not None
    with pytest.raises(UsageError, match="do not disagree"):
        harness.call(adjudicate_item, "owner", item.item.id, True)


def test_nobody_gets_an_item_twice_and_two_people_do_not_share_a_place(harness: Harness, tmp_path: Path) -> None:
    run_of(harness, suite(case(1, human())), tmp_path)
    first = lease(harness, "ann")
    assert harness.call(lease_item, "ben") is None
    assert lease(harness, "ann").id == first.id, "what was begun comes first"
    harness.call(submit_review, "ann", first.id, True)
    assert harness.call(lease_item, "ann") is None


@pytest.mark.parametrize("what", ["time", "boot"])
def test_a_lease_that_is_over_is_given_again_and_the_late_review_is_surplus(
    what: str, harness: Harness, tmp_path: Path, clocks: Clocks
) -> None:
    run = run_of(harness, suite(case(1, human()), case(2, human())), tmp_path)
    item = lease(harness, "ann")
    assert harness.call(heartbeat, "ann", item.id, '{"comment": "half a th"}')
    if what == "time":
        clocks.seconds += 601
    else:
        clocks.boot, clocks.seconds = "second boot", 3.0
    assert {lease(harness, "ben").id, lease(harness, "ben").id} and rate_all(harness, "ben", True) == 2
    assert harness.call(heartbeat, "ann", item.id, '{"comment": "half a thought"}') is False
    late = harness.call(submit_review, "ann", item.id, False, "half a thought")
    assert not late.is_counted
    assert state_of(harness, run, "secret-case-1")[0] == "passed"
    [ann, _] = harness.call(oversee_reviews, run.name).figures.reviewers
    assert (ann.surplus, ann.reviews) == (1, 0)


def test_whoever_comes_back_to_a_free_place_goes_on_and_counts(
    harness: Harness, tmp_path: Path, clocks: Clocks
) -> None:
    run_of(harness, suite(case(1, human())), tmp_path)
    item = lease(harness, "ann")
    harness.call(heartbeat, "ann", item.id, '{"comment": "typed"}')
    clocks.boot, clocks.seconds = "second boot", 3.0
    assert lease(harness, "ann").draft == '{"comment": "typed"}'
    assert harness.call(submit_review, "ann", item.id, True).is_counted


def test_a_wall_clock_that_jumps_changes_no_lease(harness: Harness, tmp_path: Path, clocks: Clocks) -> None:
    run_of(harness, suite(case(1, human())), tmp_path)
    item = lease(harness, "ann")
    for year in (2040, 1999):
        clocks.wall = clocks.wall.replace(year=year)
        clocks.seconds += 100
        assert harness.call(lease_item, "ben") is None
    assert harness.call(submit_review, "ann", item.id, True).is_counted


def test_a_review_after_the_time_limit_counts_and_is_marked(harness: Harness, tmp_path: Path, clocks: Clocks) -> None:
    run = run_of(harness, suite(case(1, human(time_limit_minutes=1))), tmp_path)
    item = lease(harness, "ann")
    clocks.seconds += 61
    done = harness.call(submit_review, "ann", item.id, True)
    assert (done.is_counted, done.is_late) == (True, True)
    assert harness.call(oversee_reviews, run.name).figures.reviewers[0].late == 1


def test_a_skip_needs_a_reason_and_gives_the_item_to_somebody_else(harness: Harness, tmp_path: Path) -> None:
    run_of(harness, suite(case(1, human())), tmp_path)
    item = lease(harness, "ann")
    with pytest.raises(UsageError, match="needs a reason"):
        harness.call(skip_item, "ann", item.id, " ")
    harness.call(skip_item, "ann", item.id, "I know the author")
    assert harness.call(lease_item, "ann") is None
    assert lease(harness, "ben").id == item.id


def test_undo_gives_back_what_was_typed_and_reopens_the_trial(harness: Harness, tmp_path: Path) -> None:
    run = run_of(harness, suite(case(1, human()), case(2, human())), tmp_path)
    item = lease(harness, "ann")
    harness.call(submit_review, "ann", item.id, False, "oops")
    case_id = f"secret-case-{str(item.question)[-1]}"
    assert state_of(harness, run, case_id)[0] == "failed"
    back = harness.call(undo_review, "ann")
    assert (back.id, back.draft) == (item.id, '{"rating":false,"comment":"oops"}')
    assert state_of(harness, run, case_id) == ("awaiting", "human: a person's rating is pending")
    assert rate_all(harness, "ann", True) == 2
    assert state_of(harness, run, case_id)[0] == "passed"
    kinds = [review.kind for review in harness.call(oversee_reviews, run.name).items[0].reviews]
    assert kinds in (["rated"], ["rated", "returned", "rated"])
    with pytest.raises(UsageError, match="nothing can be changed any more"):
        harness.call(undo_review, "ann")


def test_an_undo_or_a_skip_that_is_sent_twice_happens_once(harness: Harness, tmp_path: Path) -> None:
    """Where the answer to the first one was lost."""
    run_of(harness, suite(*[case(number, human()) for number in range(4)]), tmp_path)
    for _ in range(2):
        last = lease(harness, "ann").id
        harness.call(submit_review, "ann", last, True)
    lease(harness, "ann")
    for _ in range(2):
        assert harness.call(undo_review, "ann", last).id == last
        assert lease(harness, "ann").id == last, "it comes before what was begun earlier"
    assert len(harness.call(list_own_reviews, "ann", 10)) == 1
    for _ in range(2):
        harness.call(skip_item, "ann", last, "I know the author")
    assert lease(harness, "ann").id != last


def test_what_a_failed_trial_made_needless_is_asked_again_once_that_is_taken_back(
    harness: Harness, tmp_path: Path
) -> None:
    both = case(1, human(rubric="Is it kind?"), human(rubric="Is it true?"))
    run = run_of(harness, suite(both, case(2, human(rubric="Is it short?"))), tmp_path)
    harness.call(submit_review, "ann", first := lease_of(harness, "ann", "Is it kind?"), False)
    assert harness.call(oversee_reviews, run.name).figures.pending == 1, "the trial has failed"
    assert harness.call(undo_review, "ann").id == first
    assert rate_all(harness, "ben", True) + rate_all(harness, "ann", True) == 3
    done = harness.context.store.find_run(run.id)
    assert done.report is not None
    assert (done.finished_at is not None, done.report.summary.passed) == (True, 2)


def test_whoever_decides_a_dispute_may_rate_as_well(harness: Harness, tmp_path: Path) -> None:
    run = run_of(harness, suite(case(1, human(evaluators={"min_required": 2, "max_allowed": 2}))), tmp_path)
    for name, says in (("ann", True), ("ben", False)):
        rate_all(harness, name, says)
    [disputed] = harness.call(oversee_reviews, run.name, "disputed").items
    harness.call(adjudicate_item, "owner", disputed.item.id, True)
    run_of(harness, suite(case(1, human()), name="other"), tmp_path)
    assert lease(harness, "owner").question == "question 1"
    assert harness.call(list_own_reviews, "owner", 10) == []
    with pytest.raises(UsageError, match="nothing to undo"):
        harness.call(undo_review, "owner")


def test_agreement_does_not_mix_scales_that_have_one_name(harness: Harness, tmp_path: Path) -> None:
    stars = human(rating_scale=LIKERT, evaluators=TWO)
    run = run_of(harness, suite(case(1, stars), case(2, human(evaluators=TWO)), case(3, stars)), tmp_path)
    for name in ("ann", "ben"):
        rate_all(harness, name, lambda item: True if item.scale == "binary" else {"accurate": 5, "complete": 4})
    found = harness.call(oversee_reviews, run.name).figures.agreement
    assert [(each.criterion, each.items) for each in found] == [("accurate", 2), ("complete", 2), ("", 1)]


def test_a_correction_is_a_new_row(harness: Harness, tmp_path: Path) -> None:
    run = run_of(harness, suite(case(1, human(evaluators=TWO))), tmp_path)
    item = lease(harness, "ann")
    for says in (False, True):
        harness.call(submit_review, "ann", item.id, says)
    rate_all(harness, "ben", True)
    [found] = harness.call(oversee_reviews, run.name).items
    assert [review.rating for review in found.reviews] == [False, True, True]
    assert state_of(harness, run, "secret-case-1")[0] == "passed"


@pytest.mark.parametrize(
    ("scale", "written", "said"),
    [
        ({"type": "binary"}, "maybe", "must be 'Pass' or 'Fail'"),
        (LIKERT, {"accurate": 3}, "'complete' is missing"),
        (LIKERT, {"accurate": 3, "complete": 6}, "from 1 to 5"),
        (LIKERT, {"accurate": 3, "complete": True}, "from 1 to 5"),
        (LIKERT, {"acurate": 3, "complete": 4}, "acurate"),
        (LIKERT, 4, "a number for each"),
    ],
)
def test_a_rating_that_is_none_is_refused_and_nothing_is_lost(
    scale: dict[str, Any], written: Any, said: str, harness: Harness, tmp_path: Path
) -> None:
    run_of(harness, suite(case(1, human(rating_scale=scale))), tmp_path)
    item = lease(harness, "ann")
    harness.call(heartbeat, "ann", item.id, "draft")
    with pytest.raises(UsageError, match=said):
        harness.call(submit_review, "ann", item.id, written)
    assert lease(harness, "ann").draft == "draft"


def test_each_person_has_an_order_of_their_own_that_stays(harness: Harness, tmp_path: Path) -> None:
    cases = [case(number, human(evaluators={"min_required": 2})) for number in range(12)]
    run_of(harness, suite(*cases), tmp_path)
    orders: dict[str, list[Any]] = {"ann": [], "ben": []}
    for name, order in orders.items():
        rate_all(harness, name, lambda item, order=order: order.append(item.question) or True)
    assert orders["ann"] != orders["ben"]
    assert sorted(orders["ann"]) == sorted(orders["ben"]) == sorted(f"question {number}" for number in range(12))
    assert orders["ann"] != [f"question {number}" for number in range(12)]


def test_a_failed_trial_asks_nobody_and_an_optional_grade_is_asked_for(harness: Harness, tmp_path: Path) -> None:
    failing = case(1, {"exact": "something else"}, human())
    optional = case(2, {"contains": "question"}, {"human": {}, "required": False, "weight": 1})
    run = run_of(harness, suite(failing, optional), tmp_path)
    assert run.finished_at is not None
    assert rate_all(harness, "ann", False) == 1
    [trial] = harness.context.store.trials(run.id, "secret-case-2")
    assert (trial.state, trial.score) == ("passed", 0.5)


def test_people_inside_other_graders(harness: Harness, tmp_path: Path) -> None:
    either = {"any_of": [{"exact": "nothing"}, human()]}
    both = {"all_of": [{"contains": "question"}, {"any_of": [human(rubric="one"), human(rubric="two")]}]}
    run = run_of(harness, suite(case(1, either), case(2, both)), tmp_path)
    assert rate_all(harness, "ann", lambda item: item.rubric != "two") == 3
    assert [state_of(harness, run, f"secret-case-{number}")[0] for number in (1, 2)] == ["passed", "passed"]
    assert harness.call(verify_any, run.name).differs is False


def test_gold_tells_about_reviewers_and_nothing_else(harness: Harness, tmp_path: Path) -> None:
    gold = [f'{{"input": "gold {n}", "output": "g", "rating": {str(n % 2 == 0).lower()}}}' for n in range(5)]
    (tmp_path / "gold.jsonl").write_text("\n".join(gold))
    rubric = "{task_description}, not only {input_summary}"
    run = run_of(harness, suite(*[case(n, human(gold="gold.jsonl", rubric=rubric)) for n in range(11)]), tmp_path)
    seen: list[SeenItem] = []
    assert rate_all(harness, "ann", lambda item: seen.append(item) or True) >= 11
    asked = [item for item in seen if "gold" in str(item.question)]
    assert 1 <= len(asked) <= 2
    assert {item.rubric for item in seen} == {f"this task, not only {item.question}" for item in seen}
    assert {tuple(item.model_dump(exclude_defaults=True)) for item in seen} == {
        tuple(asked[0].model_dump(exclude_defaults=True)) if asked else tuple(seen[0].model_dump(exclude_defaults=True))
    }
    report = harness.context.store.find_run(run.id).report
    assert report is not None
    assert report.reviews is not None
    assert (report.summary.passed, report.reviews.reviews) == (11, 11)
    assert report.reviews.reviewers[0].gold == len(asked)
    for item in seen:  # once the run is finished nothing can be changed, which would tell gold apart
        with pytest.raises(UsageError, match="nothing can be changed"):
            harness.call(submit_review, "ann", item.id, False)


def test_gold_looks_like_a_conversation_where_conversations_are_shown(harness: Harness, tmp_path: Path) -> None:
    def chat(text: str) -> Answer:
        messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "a"}]
        return Answer(output="a", messages=messages)

    gold = [json.dumps({"input": f"gold {n}", "output": "g", "rating": True}) for n in range(4)]
    (tmp_path / "gold.jsonl").write_text("\n".join(gold))
    grader = human(gold="gold.jsonl", show="transcript")
    run_of(harness, suite(*[case(n, grader) for n in range(31)]), tmp_path, chat)
    seen: list[SeenItem] = []
    rate_all(harness, "ann", lambda item: seen.append(item) or True)
    # The order is random, and gold behind the last real answer is not asked for: for all four, one time in 52,360.
    assert any(item.question.startswith("gold") for item in seen)
    shapes = [[(message["role"], list(message)) for message in item.answers[0].messages] for item in seen]
    assert shapes == [[("user", ["role", "content"]), ("assistant", ["role", "content"])]] * len(seen)


def test_a_run_that_was_killed_before_anybody_was_asked_is_found(harness: Harness, tmp_path: Path) -> None:
    """As a kill leaves it: its trials are there, and nothing that is made when a run comes to a stop."""
    whole = run_of(harness, suite(case(1, human()), case(2, human())), tmp_path)
    store = harness.context.store
    [killed] = store.add_runs([whole.model_copy(update={"id": "", "name": "killed", "report": None})])
    [trial, _] = store.trials(whole.id)
    store.put(killed.id, trial)
    store.flush()
    store.remove_run(whole)
    with store.claim(killed):
        assert harness.call(lease_item, "ann") is None, "it is under way"
    assert rate_all(harness, "ann", True) == 1
    assert state_of(harness, killed, "secret-case-1")[0] == "passed"
    assert harness.call(oversee_reviews, "killed").figures.decided == 1


@pytest.mark.parametrize(
    ("line", "said"), [("{}", "has the keys"), ('{"input": 1, "output": 2, "rating": "so so"}', "must be 'Pass'")]
)
def test_a_gold_file_is_checked_before_the_run(line: str, said: str, harness: Harness, tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text(line)
    with pytest.raises(UsageError, match=f"gold.jsonl:1: .*{said}"):
        run_of(harness, suite(case(1, human(gold="gold.jsonl"))), tmp_path)


def test_blind_means_blind(harness: Harness, tmp_path: Path) -> None:
    """Nothing that a reviewer gets says who or what answered, and a mask hides names inside answers."""
    grader = human(rubric="About {task_description}: {input_summary}", mask=["GPT-[0-9]+"], show="transcript")

    def answer(text: str) -> Any:
        from evalharness import Answer

        messages = [{"role": "assistant", "content": f"I am GPT-7, {text}", "model": "acme/gpt-7"}]
        return Answer(output="I am GPT-7", messages=messages)

    run = run_of(harness, suite(case(1, grader, name="secret-case-1"), name="secret-suite"), tmp_path, answer)
    seen = lease(harness, "ann").model_dump_json()
    for hidden in ("secret", "GPT-7", "gpt-7", "acme", run.id, run.name, "echo", "answer_", "reviewing"):
        assert hidden not in seen, hidden
    assert "I am [hidden]" in seen
    assert "About this task: question 1" in seen


def test_what_is_not_blind_says_where_it_comes_from(harness: Harness, tmp_path: Path) -> None:
    run = run_of(harness, suite(case(1, human(blind_evaluation=False))), tmp_path)
    assert lease(harness, "ann").about == {
        "case": "secret-case-1", "suite": "rated", "run": run.name, "target": "echo",
    }  # fmt: skip


def test_a_regrade_carries_reviews_over_and_counts_those_that_no_longer_fit(harness: Harness, tmp_path: Path) -> None:
    run = run_of(harness, suite(case(1, human(rubric="Kind?")), case(2, human(rubric="True?"))), tmp_path)
    rate_all(harness, "ann", True)
    [again] = harness.call(regrade_runs, RegradeRequest(run.id))
    assert again.report is not None
    assert (again.report.verdict, again.report.summary.passed) == ("PASSED", 2)
    changed = suite(case(1, human(rubric="Kind?")), case(2, human(rubric="Is it true?")))
    (tmp_path / "rated.json").write_text(__import__("json").dumps(changed))
    [other] = harness.call(regrade_runs, RegradeRequest(run.id, suite=str(tmp_path / "rated.json")))
    assert other.report is not None
    assert other.report.reviews is not None
    assert (other.report.summary.passed, other.report.summary.awaiting) == (1, 1)
    assert (other.report.reviews.stale, other.report.reviews.pending) == (1, 1)
    assert rate_all(harness, "ann", True) == 1
    assert harness.context.store.find_run(other.id).finished_at is not None


RANKING = {"type": "ranking", "min_items": 2, "max_items": 3}


def test_rankings_are_no_verdict_and_end_in_the_report(harness: Harness, tmp_path: Path) -> None:
    cases = [case(n, human(rating_scale=RANKING, evaluators={"min_required": 2})) for n in range(4)]
    answers = iter(f"answer {number}" for number in range(100))
    run = run_of(harness, suite(*cases, trials=3), tmp_path, lambda _: next(answers))
    assert run.report is not None
    assert run.report.summary.awaiting == 4
    best = {"ann": 1, "ben": -1}
    for name, sign in best.items():

        def order(item: SeenItem, sign: int = sign) -> list[str]:
            by_number = sorted(item.answers, key=lambda each: sign * int(str(each.output).split()[1]))
            return [each.letter for each in by_number]

        assert rate_all(harness, name, order) == 4
    done = harness.context.store.find_run(run.id)
    assert done.report is not None
    assert done.report.summary.skipped == 4
    assert state_of(harness, run, "secret-case-1") == ("skipped", "ranked only")
    assert done.report.reviews is not None
    [ranking] = done.report.reviews.rankings
    assert ranking.is_rankable
    assert [player.comparisons for player in ranking.players] == [16, 16, 16]
    assert ranking.concordance == pytest.approx(0.0)
    assert harness.call(verify_any, run.name).differs is False


def test_a_ranking_beside_other_graders_leaves_their_verdict(harness: Harness, tmp_path: Path) -> None:
    graders = ({"contains": "question"}, human(rating_scale=RANKING))
    alone = run_of(harness, suite(case(1, *graders), name="alone"), tmp_path)
    assert [note.code for note in (alone.report.notes if alone.report else ())] == ["reviews.nothing_to_rank"]
    run = run_of(harness, suite(case(1, *graders), trials=2), tmp_path)
    assert (run.finished_at is not None, run.report and run.report.verdict) == (True, "PASSED")
    assert rate_all(harness, "ann", ["A", "B"]) == 1
    with pytest.raises(UsageError, match="cannot be a part of"):
        run_of(harness, suite(case(1, {"all_of": [human(rating_scale=RANKING)]})), tmp_path)


def test_tokens_let_in_until_they_are_revoked(harness: Harness) -> None:
    first = harness.call(invite_reviewer, "ann")
    assert harness.call(identify_reviewer, first.token) == "ann"
    again = harness.call(invite_reviewer, "ann")
    assert again.reviewer.seed == first.reviewer.seed
    assert harness.call(identify_reviewer, first.token) is None
    assert first.token not in str(harness.call(list_reviewers))
    harness.call(revoke_reviewer, "ann")
    assert harness.call(identify_reviewer, again.token) is None
    with pytest.raises(UsageError, match="may no longer review"):
        harness.call(lease_item, "ann")


def test_a_remark_overrides_nothing(harness: Harness, tmp_path: Path) -> None:
    run = run_of(harness, suite(case(1, {"contains": "question"})), tmp_path)
    harness.call(remark_grade, "owner", run.name, "secret-case-1", 0, "contains", agrees=False, comment="too easy")
    [remark] = harness.call(oversee_reviews, run.name).remarks
    assert (remark.agrees, remark.comment) == (False, "too easy")
    assert state_of(harness, run, "secret-case-1")[0] == "passed"
    with pytest.raises(UsageError, match="no trial 2"):
        harness.call(remark_grade, "owner", run.name, "secret-case-1", 1, "contains", agrees=True)


def test_a_remark_is_about_one_of_two_people_and_not_about_a_grade_that_is_awaited(
    harness: Harness, tmp_path: Path
) -> None:
    run = run_of(harness, suite(case(1, human(rubric="first"), human(rubric="second"))), tmp_path)
    with pytest.raises(UsageError, match="no grade yet"):
        harness.call(remark_grade, "owner", run.name, "secret-case-1", 0, "human", agrees=True)
    rate_all(harness, "ann", True)
    for name in ("human", "human_2"):
        harness.call(remark_grade, "owner", run.name, "secret-case-1", 0, name, agrees=name == "human")
    remarks = harness.call(oversee_reviews, run.name).remarks
    assert [(each.grader, each.agrees) for each in remarks] == [("human", True), ("human_2", False)]


# Crowds. Real processes share one file; some of them leave while they hold an item.

ITEMS, PEOPLE, EACH, PROCESSES = 500, 20, 2, 4


def _work(place: str, names: list[str], barrier: Any) -> None:
    with opened(place, Clocks()) as harness, ThreadPoolExecutor(len(names)) as people:
        barrier.wait(timeout=60)
        for done in [people.submit(rate_all, harness, name, True) for name in names]:
            done.result()


def _leave(place: str, name: str) -> None:
    with opened(place, Clocks()) as harness:
        harness.call(lease_item, name)


def test_twenty_people_and_five_hundred_items(tmp_path: Path) -> None:
    """Every item gets exactly its reviews, none twice from one person, and what somebody left is given again."""
    place = str(tmp_path / "store.db")
    processes = multiprocessing.get_context("spawn")
    with opened(place) as harness:
        grader = human(evaluators={"min_required": EACH})
        run = run_of(harness, suite(*[case(number, grader) for number in range(ITEMS)]), tmp_path)
    for number in range(5):
        _leave(place, f"left-{number}")
    barrier = processes.Barrier(PROCESSES)
    names = [f"p{number}" for number in range(PEOPLE)]
    groups = [names[number::PROCESSES] for number in range(PROCESSES)]
    workers = [processes.Process(target=_work, args=(place, group, barrier)) for group in groups]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=300)
    assert [worker.exitcode for worker in workers] == [0] * PROCESSES
    later = Clocks(seconds=5000.0)
    with opened(place, later) as harness:
        assert 0 < rate_all(harness, "last", True) + rate_all(harness, "very last", True) <= 10
        reviewed = harness.context.store.reviews.items(run.id)
        assert [len(each.reviews) for each in reviewed] == [EACH] * ITEMS
        assert not any(review.is_surplus for each in reviewed for review in each.reviews)
        per_item = [Counter(review.reviewer for review in each.reviews) for each in reviewed]
        assert all(max(names.values()) == 1 for names in per_item)
        done = harness.context.store.find_run(run.id)
        assert done.finished_at is not None
        assert done.report is not None
        assert done.report.summary.passed == ITEMS
