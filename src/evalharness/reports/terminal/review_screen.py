"""One item as a reviewer reads it in a terminal: the question, the answers, what to rate them by. Nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evalharness.domain.case import as_text
from evalharness.domain.plain_numbers import count
from evalharness.domain.review_queue import LeasedItem
from evalharness.domain.run_reviews import ReviewerProgress, RunReviews
from evalharness.domain.seen_item import SeenAnswer, SeenItem
from evalharness.domain.transcript import Transcript
from evalharness.reports.conversation import conversation
from evalharness.reports.terminal.screen import Screen
from evalharness.values.json_value import Json

HOW_TO = "commands: /skip REASON   /undo   /quit"
INDENT = "  "


def show_item(screen: Screen, leased: LeasedItem) -> None:
    item = leased.item
    screen.say((f"{leased.progress.done} done, {leased.progress.left} to go", "dim"))
    for name, value in item.about.items():
        screen.say((f"{name}: {value}", "dim"))
    show_task(screen, item)
    screen.say("")
    screen.say((HOW_TO, "dim"))


def show_task(screen: Screen, item: SeenItem) -> None:
    _part(screen, "Question", item.question)
    for answer in item.answers:
        _answer(screen, answer)
    if item.instructions:
        _part(screen, "Task", item.instructions)
    if item.rubric:
        _part(screen, "Rubric", item.rubric)
    if item.time_limit_minutes:
        screen.say((f"time: {item.time_limit_minutes:g} min", "dim"))


def _answer(screen: Screen, answer: SeenAnswer) -> None:
    title = f"Answer {answer.letter}" if answer.letter else "Answer"
    if answer.messages:
        turns = conversation(Transcript(messages=answer.messages))
        _part(screen, f"{title}: transcript", "\n".join(f"{each.who}: {each.call_head or each.text}" for each in turns))
    _part(screen, title, answer.output)


def _part(screen: Screen, title: str, text: Json) -> None:
    screen.say("")
    screen.say((title, "bold"))
    for line in as_text(text).splitlines() or [""]:
        screen.entry([INDENT], line)


def scale_texts(item: SeenItem) -> Iterator[tuple[str, str, str]]:
    """What is asked one after the other: its name, its words, and what may be typed."""
    if item.scale == "binary":
        words = [f"{choice.label}{f' ({choice.description})' if choice.description else ''}" for choice in item.choices]
        yield "", "; ".join(words), "/".join(choice.label for choice in item.choices)
    elif item.scale == "likert" and item.range:
        low, high = item.range
        labels = ", ".join(f"{number} {label}" for number, label in sorted(item.labels.items(), key=_number))
        for criterion in item.criteria:
            question = f"{criterion.name}{f': {criterion.description}' if criterion.description else ''}"
            yield criterion.name, f"{question}{f' ({labels})' if labels else ''}", f"{low}-{high}"
    else:
        letters = [answer.letter for answer in item.answers]
        ties = f", ties as {letters[0]}={letters[1]}" if item.tie_allowed else ""
        yield "", f"the letters, the best first{ties}", " ".join(letters)


def _number(labelled: tuple[str, str]) -> int:
    return int(labelled[0])


def rating_text(item: SeenItem, rating: Json) -> str:
    """`Pass`, `accurate 4, complete 5`, `B A=C`."""
    if isinstance(rating, Mapping):
        return ", ".join(f"{name} {value}" for name, value in rating.items())
    if isinstance(rating, list | tuple):
        return " ".join("=".join(map(str, tier)) if isinstance(tier, list | tuple) else str(tier) for tier in rating)
    return next((choice.label for choice in item.choices if choice.value is rating), as_text(rating))


def progress_lines(reviews: RunReviews) -> Iterator[str]:
    """For the owner: how far they are, and who did what."""
    states = [f"{reviews.decided} decided", f"{reviews.disputed} disputed"] if reviews.disputed else []
    states = states or [f"{reviews.decided} of {count(reviews.items, 'item')} decided"]
    yield f"{', '.join(states)}; {count(reviews.pending, 'review')} pending"
    yield from map(reviewer_line, reviews.reviewers)


def reviewer_line(person: ReviewerProgress) -> str:
    """`Ann  12 reviews, 1 skipped; gold 3 of 4 right`."""
    counts = [count(person.reviews, "review")]
    counts += [f"{number} {what}" for what, number in _others(person) if number]
    gold = f"; gold {person.gold_right} of {person.gold} right" if person.gold else ""
    return f"{person.reviewer}  {', '.join(counts)}{gold}"


def _others(person: ReviewerProgress) -> Sequence[tuple[str, int]]:
    return (("skipped", person.skipped), ("surplus", person.surplus), ("late", person.late))
