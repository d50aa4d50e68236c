"""Probe answers: for each case, answers whose verdict is known before they are graded. Nothing is graded here.

One is right: the oracle's. The others are wrong, unless they happen to be the right one, or the case says that doing
nothing is right: then one of those that do nothing must pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil
from typing import Any

from evalharness.contracts.grader import Grader
from evalharness.domain.case import as_text
from evalharness.domain.example import Example, right_answer
from evalharness.domain.transcript import ToolCall, Transcript, Usage, error_event
from evalharness.engine.planning.planned_cases import PlannedCase
from evalharness.values.json_value import Json

OTHERS = 10
"""So many other cases' right answers are tried on a case; where a judge is paid for each, one."""
LOOKED_AT = 200
"""How many cases are looked at to find them: in a large suite most may have the same answer."""
CONSTANTS = ("null", "constant")
"""Kinds of answers that are the same for every case."""
DOING_NOTHING = ("null", "no_op")
MOST = 1_000_000
LONG_TEXT = "wrong " * 20_000


@dataclass(frozen=True, slots=True)
class Probe:
    """`what` names the answer: its kind, and what else tells it apart."""

    what: dict[str, Json]
    answer: Transcript
    is_right: bool = False
    may_pass: bool = False
    """Whether it is wrong in general, but not here."""
    is_nothing: bool = False
    """Whether it does nothing, in a case that calls that right."""
    duration_s: float = 0.0

    @property
    def kind(self) -> str:
        return str(self.what["kind"])


@dataclass(frozen=True, slots=True)
class Trick:
    """A text that is known to fool judges; `family` says what it relies on."""

    family: str
    name: str
    text: str


class Probes:
    """`planned` are all cases of a suite: each is tried with right answers of others, and every trick on some case."""

    def __init__(self, planned: Sequence[PlannedCase], tricks: Sequence[Trick]) -> None:
        self._planned = planned
        self._places = {plan.case.id: place for place, plan in enumerate(planned)}
        self._right = {plan.case.id: _right(plan) for plan in planned}
        families = dict.fromkeys(each.family for each in tricks)
        self._families = [[each for each in tricks if each.family == family] for family in families]

    def of(self, plan: PlannedCase) -> list[Probe]:
        """The right answer comes first, where it is known."""
        right = self._right[plan.case.id]
        probes = [Probe({"kind": "oracle"}, right.answer, is_right=True)] if right else []
        return [*probes, *self._wrong(plan, right)]

    def _wrong(self, plan: PlannedCase, right: Example | None) -> Iterator[Probe]:
        is_text = right is None or isinstance(right.output, str)
        constants: list[Json] = ["{}" if is_text else {}, "yes", "no"]
        answers: list[tuple[dict[str, Json], Transcript]] = [
            ({"kind": "null"}, Transcript(output="")),
            *(({"kind": "constant", "text": as_text(each)}, Transcript(output=each)) for each in constants),
            ({"kind": "input"}, Transcript(output=plan.case.content)),
            ({"kind": "no_op"}, Transcript(output="", exit_code=0)),
            *self._of_others(plan, right),
            *(({"kind": "trick", "name": each.name}, Transcript(output=each.text)) for each in self._tricks_on(plan)),
        ]
        for what, answer in answers:
            is_nothing = plan.case.null_passes and what["kind"] in DOING_NOTHING
            may_pass = is_nothing or is_same_answer(plan, right, answer)
            yield Probe(what, answer, may_pass=may_pass, is_nothing=is_nothing)

    def _of_others(self, plan: PlannedCase, right: Example | None) -> Iterator[tuple[dict[str, Json], Transcript]]:
        """Of the cases that follow, those whose right answer is another one."""
        place, number = self._places[plan.case.id], len(self._planned)
        following = (self._planned[(place + step) % number].case.id for step in range(1, min(number, LOOKED_AT)))
        known = ((id_, found) for id_ in following if (found := self._right[id_]) is not None)
        others = (({"kind": "gold_of", "case": id_}, found.answer) for id_, found in known)
        differing = (each for each in others if not is_same_answer(plan, right, each[1]))
        return islice(differing, 1 if asks_judges(plan) else OTHERS)

    def _tricks_on(self, plan: PlannedCase) -> Iterator[Trick]:
        """Some of each family, so that all are tried on some case."""
        place, number = self._places[plan.case.id], len(self._planned)
        for family in self._families:
            share = ceil(len(family) / number)
            yield from (family[(place * share + step) % len(family)] for step in range(share))


def _right(plan: PlannedCase) -> Example | None:
    return right_answer(plan.case, (grader.example() for spec, grader in plan.graders if spec.required))


def asks_judges(plan: PlannedCase) -> bool:
    return any(grader.judges() for _, grader in plan.graders)


def is_same_answer(plan: PlannedCase, right: Example | None, answer: Transcript) -> bool:
    """Whether an answer is the right one after the normalisation of one of the case's graders.

    Where the right one is more than a text, the rest must be there, too; one that asks for no text says nothing of it.
    """
    if right is None or right.output is None:
        return False
    wanted = (right.files, right.tool_calls, right.snapshot, right.events)
    there = (answer.files, answer.tool_calls, answer.snapshot, answer.events)
    if any(want and want != found for want, found in zip(wanted, there, strict=True)):
        return False
    graders = [part for spec, grader in plan.graders if spec.required for part in _leaves(grader)]
    return any(each.normalised(answer.output) == each.normalised(right.output) for each in graders)


def _leaves(grader: Grader) -> Iterator[Grader]:
    yield grader
    for part in grader.parts:
        yield from _leaves(part)


def ruinous_answer(plan: PlannedCase) -> Probe:
    """Everything went wrong: slow, costly, long, with errors, and with every text that the graders name in it.

    A grader that passes this and every other wrong answer cannot fail.
    """
    named = " ".join(_texts([spec.options for spec in plan.specs]))
    call = ToolCall(name="unknown_tool", arguments={}, error="it failed")
    rounds = ({"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": call.name}}]},) * 100
    answer = Transcript(
        output=f"{named} {LONG_TEXT}",
        exit_code=255,
        stderr="it failed",
        messages=rounds,
        tool_calls=(call,) * 100,
        cost_usd=float(MOST),
        usage=Usage(input_tokens=MOST, output_tokens=MOST),
        events=(error_event("it failed"),),
    )
    return Probe({"kind": "ruin"}, answer, may_pass=True, duration_s=float(MOST))


def _texts(written: Any) -> Iterator[str]:
    if isinstance(written, str):
        yield written
    elif isinstance(written, Mapping):
        for value in written.values():
            yield from _texts(value)
    elif isinstance(written, list | tuple):
        for value in written:
            yield from _texts(value)
