"""Ask people: the review items of a run, from its outstanding grades, and what they said put into its trials.

Both can be done again and again: an item is found by what it asks, so nothing is asked twice, and a regrade finds what
people said about the same answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from secrets import token_hex

from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.finding import Finding, finding
from evalharness.domain.grade import Grade
from evalharness.domain.review import Review, ReviewItem, ReviewLink, ReviewTask, ShownAnswer
from evalharness.domain.run import Run
from evalharness.domain.trial import Trial
from evalharness.engine.reviewing.review_decision import decision, reviewed_grade
from evalharness.engine.reviewing.review_items import (
    Candidate,
    Outstanding,
    gold_item,
    items_of,
    outstanding,
    ranking_items,
    shown_answer,
)
from evalharness.engine.reviewing.reviewed_trial import Place, reviewed_trial
from evalharness.errors import UsageError
from evalharness.graders.gold_answers import read_gold
from evalharness.graders.human import filled_by_case
from evalharness.steps.count_reviews import root_of

ITEM_ID_BYTES = 8
NEWEST_RUNS = 20
AT_ONCE = 200
"""How many items one transaction adds: others are waiting for theirs."""


def new_id() -> str:
    return token_hex(ITEM_ID_BYTES)


def queue_reviews(context: Context, run: Run) -> list[Finding]:
    """Whatever people have to rate of a run that has come to a stop. Returns what a reader of the run must know."""
    store = context.store
    root_id = root_of(run, store)
    notes: dict[str, Finding] = {}
    batch: list[tuple[ReviewItem, list[ReviewLink]]] = []
    golden: dict[tuple[str, ...], tuple[str, ReviewTask, bool]] = {}
    rankings: dict[str, list[tuple[Outstanding, Trial]]] = defaultdict(list)
    for trial in store.trials(run.id):
        found = list(outstanding(trial))
        for each in found:
            if each.task.scale.type == "ranking":
                rankings[trial.case_id].append((each, trial))
            elif each.task.gold:
                has_messages = bool(shown_answer(trial, each.task).messages)
                kind = (each.grader, each.task.gold, each.task.gold_rubric, each.task.scale.model_dump_json())
                golden.setdefault(kind, (each.grader, each.task, has_messages))
        if found:
            batch += ((item, [link]) for item, link in items_of(run, [trial], root_id, new_id))
        if len(batch) >= AT_ONCE:
            _add(store, batch)
            batch = []
    lonely: dict[str, list[ReviewTask]] = defaultdict(list)
    for case_id, wanted in rankings.items():
        ranked = list(_ranking_items(store, run, case_id, wanted))
        batch += ranked
        if not ranked and all(_is_done(store, each, case_id) for each in store.matrix(run.matrix_id)):
            lonely[wanted[0][0].grader].append(wanted[0][0].task)
    for grader, tasks in lonely.items():
        least = max(task.scale.min_items for task in tasks)
        about = {"grader": grader, "cases": len(tasks), "least": least}
        notes[f"ranking {grader}"] = finding("reviews.nothing_to_rank", "warning", **about)
    for grader, task, has_messages in golden.values():
        try:
            batch += _gold_items(run, grader, task, has_messages)
        except UsageError as error:
            notes[grader] = finding("reviews.no_gold", "warning", grader=grader, why=error.message)
    _add(store, batch)
    return list(notes.values())


def _add(store: Store, batch: list[tuple[ReviewItem, list[ReviewLink]]]) -> None:
    if batch:
        with store.reviews.book() as book:
            for item, links in batch:
                book.add_item(item, links)


def _gold_items(
    run: Run, grader: str, task: ReviewTask, has_messages: bool
) -> Iterator[tuple[ReviewItem, list[ReviewLink]]]:
    """With messages if the answers of the run have some: who rates them must not see a difference."""
    for gold in read_gold(Path(run.root), task.gold, task.scale):
        said = (("user", gold.input), ("assistant", gold.output)) if has_messages else ()
        messages = tuple({"role": role, "content": content} for role, content in said)
        answer = ShownAnswer(output=gold.output, messages=messages)
        rubric = filled_by_case(task.gold_rubric, gold.description, gold.input, gold.expected)
        own_task = task.model_copy(update={"rubric": rubric})
        item = gold_item(run, grader, own_task, gold.input, answer, gold.rating, new_id)
        yield item, [ReviewLink(item.id, run.id, "", 0, is_applied=True)]


# Rankings


def _ranking_items(
    store: Store, run: Run, case_id: str, wanted: Iterable[tuple[Outstanding, Trial]]
) -> Iterator[tuple[ReviewItem, list[ReviewLink]]]:
    by_grader: dict[Place, Outstanding] = {}
    indexes: dict[int, None] = {}
    for found, trial in wanted:
        by_grader.setdefault(found.place, found)
        indexes.setdefault(trial.index)
    for found in by_grader.values():
        for candidates in _candidates(store, run, case_id, found, list(indexes)):
            yield from ranking_items(run, case_id, found, candidates, new_id)


def _candidates(
    store: Store, run: Run, case_id: str, found: Outstanding, indexes: list[int]
) -> Iterator[list[Candidate]]:
    """Each list is put in order by itself. Variants wait until the last of them has been run."""
    over, matrix = found.task.scale.over, store.matrix(run.matrix_id)
    if over == "variants" or (over is None and len(matrix) > 1):
        if all(_is_done(store, each, case_id) for each in matrix):
            yield from _side_by_side(store, [(each, each.variant or each.name) for each in matrix], case_id, indexes)
    elif over == "trials" or (over is None and run.lock.trials > 1):
        answered = filter(_answers, store.trials(run.id, case_id))
        yield [Candidate(run, trial, f"trial {trial.index + 1}") for trial in answered]
    else:
        lock = run.lock.cases[case_id].case
        newest = [each for each in store.newest_runs(run.suite.name, NEWEST_RUNS) if not each.regrade_of]
        same = [each for each in newest if each.lock.cases.get(case_id) and each.lock.cases[case_id].case == lock]
        others = [each for each in same if each.id != run.id][: found.task.scale.max_items - 1]
        yield from _side_by_side(store, [(each, each.name) for each in (run, *others)], case_id, indexes)


def _side_by_side(
    store: Store, runs: list[tuple[Run, str]], case_id: str, indexes: list[int]
) -> Iterator[list[Candidate]]:
    trials = [(run, name, {trial.index: trial for trial in store.trials(run.id, case_id)}) for run, name in runs]
    for index in indexes:
        yield [
            Candidate(run, by_index[index], name)
            for run, name, by_index in trials
            if index in by_index and _answers(by_index[index])
        ]


def _is_done(store: Store, run: Run, case_id: str) -> bool:
    return case_id not in run.lock.cases or sum(1 for _ in store.trials(run.id, case_id)) == run.lock.trials


def _answers(trial: Trial) -> bool:
    return trial.last.transcript is not None and bool(trial.grades)


# What people said, put into trials


Applied = Mapping[ReviewLink, tuple[Review, ...]]
"""What trials show by now, and from which reviews."""


def apply_reviews(store: Store, run_id: str) -> Applied:
    """For whoever has claimed the run, and calls `mark_applied` once everything has been done that follows.

    Only the cases are read that somebody has said something about.
    """
    links: dict[tuple[str, int], list[ReviewLink]] = defaultdict(list)
    for link in store.reviews.unapplied_links(run_id):
        links[link.case_id, link.trial_index].append(link)
    if not links:
        return {}
    with store.reviews.book() as book:
        ids = {link.item_id for waiting in links.values() for link in waiting}
        said = {item_id: (book.item(item_id), book.reviews(item_id)) for item_id in ids}
    run = store.part_of(run_id, {case_id for case_id, _ in links})
    cases = {case.id: case for case in run.suite.cases}
    needed: dict[tuple[str, int], bool] = {}
    for (case_id, index), waiting in links.items():
        trial = store.trial(run.id, case_id, index) if case_id in cases else None
        if trial is not None and (grades := dict(_grades(said, trial, waiting))):
            changed = reviewed_trial(trial, run, cases[case_id], grades)
            store.put_reviewed(run.id, changed)
            needed[case_id, index] = changed.state != "failed"
    store.flush()
    _close_or_reopen(store, run, needed)
    return {link: said[link.item_id][1] for waiting in links.values() for link in waiting}


def mark_applied(store: Store, applied: Applied) -> None:
    """Where nothing else has been said meanwhile; else it is done again."""
    if applied:
        with store.reviews.book() as book:
            book.mark_links(
                (link for link, said in applied.items() if book.reviews(link.item_id) == said), is_applied=True
            )


def _grades(
    said: dict[str, tuple[ReviewItem, tuple[Review, ...]]], trial: Trial, waiting: Iterable[ReviewLink]
) -> Iterator[tuple[Place, Grade]]:
    """A ranking is no verdict: it changes a trial that has nothing else."""
    for link in waiting:
        item, reviews = said[link.item_id]
        if reviews and (not item.is_ranking or trial.state in ("awaiting", "skipped")):
            yield link.path, reviewed_grade(item.task, reviews)


def _close_or_reopen(store: Store, run: Run, needed: Mapping[tuple[str, int], bool]) -> None:
    """A trial that failed by what one person had to say needs no others any more, until that is taken back."""
    with store.reviews.book() as book:
        ids = dict.fromkeys(each for place in needed for each in book.items_of_trial(run.id, *place))
        for item in map(book.item, ids):
            if item.role != "rate" or item.stage not in ("open", "closed"):
                continue
            links = (link for link in book.links(item.id) if link.run_id == run.id)
            wanted = [needed.get((link.case_id, link.trial_index)) for link in links]
            if item.stage == "open" and all(is_needed is False for is_needed in wanted):
                book.set_stage(item.id, "closed", item.wanted)
            if item.stage == "closed" and any(wanted):
                found = decision(item.task, book.reviews(item.id))
                book.set_stage(item.id, found.stage, found.wanted)
