"""Review items: what people have to rate, from the outstanding grades of stored trials.

An item has no name of the case, the run or the target in it unless its review is not blind, and its id is random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Any, NamedTuple

from evalharness.domain.case import Case
from evalharness.domain.review import EVIDENCE, ReviewItem, ReviewLink, ReviewTask, ShownAnswer
from evalharness.domain.run import Run
from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.domain.trial import Trial
from evalharness.engine.planning.planned_cases import filled_case
from evalharness.values.digest import digest
from evalharness.values.json_value import Json

NewId = Callable[[], str]
_OF_MESSAGE = ("role", "content", "name", "tool_calls")
"""What a reviewer may see of a message; a provider's own fields may name the model."""


class Outstanding(NamedTuple):
    """A human grade of a trial and where it is: the numbers lead through graders made of graders."""

    place: tuple[int, ...]
    grader: str
    task: ReviewTask


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer that may be ranked, and what the ranking calls it."""

    run: Run
    trial: Trial
    player: str


def outstanding(trial: Trial) -> Iterator[Outstanding]:
    """The grades of people that a trial waits for, and rankings. What failed already is not worth anybody's time."""
    if trial.last.transcript is None or trial.state not in ("awaiting", "passed", "failed"):
        return
    for place, grade in enumerate(trial.grades):
        for found in _within(grade.model_dump(), (place,)):
            if found.task.scale.type == "ranking" or trial.state != "failed":
                yield found


def _within(grade: Mapping[str, Any], place: tuple[int, ...]) -> Iterator[Outstanding]:
    """Below a grade that has a verdict nothing is needed any more."""
    evidence = grade.get("evidence")
    if grade.get("state") != "awaiting" or grade.get("cause") == "ranked":
        return
    if isinstance(evidence, list):
        for number, part in enumerate(evidence):
            if isinstance(part, Mapping):
                yield from _within(part, (*place, number))
    elif isinstance(evidence, Mapping) and EVIDENCE in evidence:
        yield Outstanding(place, str(grade.get("grader", "")), ReviewTask.model_validate(evidence[EVIDENCE]))


def items_of(run: Run, trials: Iterable[Trial], root_id: str, new_id: NewId) -> Iterator[tuple[ReviewItem, ReviewLink]]:
    """`root_id` is the run whose answers these are: a regrade has the items of the run that it grades again."""
    cases = {case.id: case for case in run.suite.cases}
    for trial in trials:
        for found in outstanding(trial):
            if found.task.scale.type != "ranking":
                answers = (shown_answer(trial, found.task),)
                identity = (root_id, trial.case_id, trial.index, run.lock.cases[trial.case_id].case, found.grader)
                item = _item(run, cases[trial.case_id], found, answers, identity, new_id)
                yield item, _link(item, run, trial, found)


def ranking_items(
    run: Run, case_id: str, found: Outstanding, candidates: Sequence[Candidate], new_id: NewId
) -> Iterator[tuple[ReviewItem, list[ReviewLink]]]:
    """Answers to one case to be put in order. More than fit are cut into parts that have one answer in common."""
    case = next(case for case in run.suite.cases if case.id == case_id)
    lock = run.lock.cases[case_id].case
    most = found.task.scale.max_items
    for start in range(0, max(1, len(candidates) - 1), most - 1):
        part = candidates[start : start + most]
        if len(part) < found.task.scale.min_items:
            continue
        answers = tuple(shown_answer(each.trial, found.task, each.player) for each in part)
        players = [(each.player, each.trial.index) for each in part]
        item = _item(run, case, found, answers, ("ranking", case_id, lock, found.grader, players), new_id)
        yield item, [_link(item, each.run, each.trial, found) for each in part if _is_ranked_by(each.trial, found)]


def _is_ranked_by(trial: Trial, found: Outstanding) -> bool:
    return any(other.grader == found.grader and other.place == found.place for other in outstanding(trial))


def gold_item(
    run: Run, grader: str, task: ReviewTask, question: Json, answer: ShownAnswer, rating: Json, new_id: NewId
) -> ReviewItem:
    """An item like the others, with a known rating; everybody may be asked."""
    key = digest(["gold", run.id, grader, task.identity(), question, answer.output])
    return ReviewItem(id=new_id(), key=key, grader=grader, task=task, question=question, answers=(answer,), gold=rating)


def _item(
    run: Run, case: Case, found: Outstanding, answers: tuple[ShownAnswer, ...], identity: Sequence[Any], new_id: NewId
) -> ReviewItem:
    task = found.task
    about = {"case": case.id, "suite": run.suite.name, "run": run.name, "target": run.target.label}
    outputs = [answer.model_dump(mode="json", exclude={"player"}) for answer in answers]
    return ReviewItem(
        id=new_id(),
        key=digest([list(identity), task.identity(), outputs]),
        grader=found.grader,
        task=task,
        question=filled_case(case, run.suite, run.public_values).content,
        answers=answers,
        about={} if task.blind else about,
        wanted=task.evaluators.min_required,
    )


def _link(item: ReviewItem, run: Run, trial: Trial, found: Outstanding) -> ReviewLink:
    place = ".".join(map(str, found.place))
    return ReviewLink(item.id, run.id, trial.case_id, trial.index, place)


def shown_answer(trial: Trial, task: ReviewTask, player: str = "") -> ShownAnswer:
    transcript = trial.last.transcript or Transcript()
    messages = tuple(_messages(transcript)) if task.show == "transcript" else ()
    return ShownAnswer(output=transcript.output, messages=messages, player=player)


def _messages(transcript: Transcript) -> Iterator[dict[str, Json]]:
    """Where the messages do not name the tool calls, these came before the answer."""
    are_named = any("tool_calls" in message or message.get("role") == "tool" for message in transcript.messages)
    calls = () if are_named else transcript.tool_calls
    last = max((at for at, each in enumerate(transcript.messages) if each.get("role") == "assistant"), default=None)
    for at, message in enumerate(transcript.messages):
        if at == last:
            yield from _called(calls)
        yield {name: message[name] for name in _OF_MESSAGE if message.get(name) is not None}
    if last is None:
        yield from _called(calls)


def _called(calls: Iterable[ToolCall]) -> Iterator[dict[str, Json]]:
    for call in calls:
        yield {"role": "assistant", "tool_calls": [{"function": {"name": call.name, "arguments": call.arguments}}]}
        if (result := call.error or call.result) is not None:
            yield {"role": "tool", "name": call.name, "content": result}


def order_of(seed: str, item_id: str) -> str:
    """Where an item comes in the order of one reviewer: it tells nothing about the item."""
    return sha256(f"{seed} {item_id}".encode()).hexdigest()


def shuffled_letters(item: ReviewItem, seed: str) -> dict[str, int]:
    """The letters under which one reviewer sees the answers of an item, and which answers they are."""
    places = list(range(len(item.answers)))
    Random(f"{seed} {item.id}").shuffle(places)
    return {chr(ord("A") + letter): place for letter, place in enumerate(places)}
