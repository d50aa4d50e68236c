"""tool_sequence: which tools were called, in which order, with which arguments; max_rounds: in how many rounds."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, Field, GetJsonSchemaHandler, field_validator, model_validator
from pydantic_core import CoreSchema

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.case import as_text
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options, Whole
from evalharness.domain.plain_numbers import count
from evalharness.domain.record import Record
from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.errors import Unscored
from evalharness.graders.structure import check_placeholders, fill_placeholders, matches_placeholders
from evalharness.values.json_value import Json
from evalharness.values.text import shown

Mode = Literal["subsequence", "exact", "any_order"]

MAX_CALLS = 10_000
MAX_COMPARED = 100_000
IN_PLACE = 10_000
SHOWN_CALLS = 50


class ExpectedCall(Record):
    """A tool by name; with `arguments`, each of those given must be equal in the call, others do not matter.

    `{{any_string}}` and the other placeholders stand for any value of their kind.
    """

    name: Annotated[str, Field(min_length=1, validation_alias=AliasChoices("name", "tool"))]
    arguments: dict[str, Json] = Field(default_factory=dict, validation_alias=AliasChoices("arguments", "args"))

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, handler(core)]}

    @model_validator(mode="before")
    @classmethod
    def _bare_name(cls, written: Any) -> Any:
        return {"name": written} if isinstance(written, str) else written

    @field_validator("arguments")
    @classmethod
    def _knows_placeholders(cls, arguments: dict[str, Json]) -> dict[str, Json]:
        check_placeholders(arguments)
        return arguments

    def accepts(self, given: Mapping[str, Json]) -> bool:
        return all(key in given and _is_met(value, given[key]) for key, value in self.arguments.items())

    def __str__(self) -> str:
        return _named(self.name, self.arguments)


class ToolSequenceOptions(Options):
    main: ClassVar[str] = "calls"

    calls: Annotated[tuple[ExpectedCall, ...], Field(max_length=MAX_CALLS)]
    mode: Mode = "subsequence"


class ToolSequence(Grader):
    """subsequence: these calls in this order, others between them; exact: these and no others; any_order: each of them.

    What passes has the score 1: further calls are no loss. Else the score is the F1 of the longest common subsequence,
    or, in any order, of the largest pairing. The F1 is among the evidence in any case.
    """

    version = "2"
    Options: ClassVar[type[Options]] = ToolSequenceOptions
    options: ToolSequenceOptions

    async def grade(self, context: GradeContext) -> Grade:
        calls = context.transcript.tool_calls
        if len(calls) > MAX_CALLS:
            raise Unscored(f"{len(calls)} tool calls are too many to compare: at most {MAX_CALLS}")
        if len(self.options.calls) * len(calls) <= IN_PLACE:
            return self._compare(calls)
        grade: Grade = await self.services.in_thread(self._compare, calls)
        return grade

    def _compare(self, calls: Sequence[ToolCall]) -> Grade:
        expected, mode = self.options.calls, self.options.mode
        accepted = accepted_calls(expected, calls)
        pairs = largest_pairing(accepted) if mode == "any_order" else {}
        common = len(pairs) if mode == "any_order" else longest_common(accepted, len(calls))
        passed = common == len(expected) and (mode != "exact" or len(calls) == len(expected))
        f1 = 2 * common / (len(expected) + len(calls)) if expected else float(passed)
        if passed:
            reason = ""
        elif mode == "any_order":
            reason = _first_missing(expected, calls, accepted, pairs)
        else:
            reason = _first_divergence(expected, calls, accepted, exact=mode == "exact")
        evidence = {
            "expected": [str(wanted) for wanted in expected[:SHOWN_CALLS]],
            "actual": [call.name for call in calls[:SHOWN_CALLS]],
            "common": common,
            "f1": f1,
        }
        return Grade.of(passed, score=1.0 if passed else f1, reason=reason, evidence=evidence)

    def example(self) -> Example:
        return Example(
            tool_calls=tuple(
                ToolCall(name=each.name, arguments=fill_placeholders(each.arguments)) for each in self.options.calls
            )
        )


def _is_met(expected: Json, actual: Json) -> bool:
    if isinstance(expected, dict):
        same = isinstance(actual, dict) and expected.keys() == actual.keys()
        return same and all(_is_met(value, actual[key]) for key, value in expected.items())
    if isinstance(expected, list | tuple):
        same = isinstance(actual, list | tuple) and len(expected) == len(actual)
        return same and all(map(_is_met, expected, actual))
    if isinstance(expected, str) and "{{" in expected:
        return matches_placeholders(expected, actual)
    return expected == actual and isinstance(expected, bool) == isinstance(actual, bool)


def accepted_calls(expected: Sequence[ExpectedCall], calls: Sequence[ToolCall]) -> list[int]:
    """For each expected call the calls that it accepts, as a number with a bit per call.

    Raises Unscored where there would be too much to compare.
    """
    by_name: dict[str, list[int]] = defaultdict(list)
    for position, call in enumerate(calls):
        by_name[call.name].append(position)
    compared = sum(len(by_name[wanted.name]) for wanted in expected if wanted.arguments)
    if compared > MAX_COMPARED:
        raise Unscored(f"{compared} comparisons of arguments are too many: at most {MAX_COMPARED}")
    given = [_arguments(call) for call in calls] if compared else []
    named = {name: _mask(positions) for name, positions in by_name.items()}
    return [
        _mask([position for position in by_name[wanted.name] if wanted.accepts(given[position])])
        if wanted.arguments
        else named.get(wanted.name, 0)
        for wanted in expected
    ]


def longest_common(accepted: Sequence[int], call_count: int) -> int:
    """Length of the longest common subsequence.

    A row of the usual table is one large number with a 0 bit wherever the length grows, so that 10,000 × 10,000 calls
    take a moment only.
    """
    everything = (1 << call_count) - 1
    row = everything
    for mask in accepted:
        matched = row & mask
        row = ((row + matched) | (row - matched)) & everything
    return call_count - row.bit_count()


def largest_pairing(accepted: Sequence[int]) -> dict[int, int]:
    """The most expected calls that can each have a call of their own, as step → position of its call."""
    held: dict[int, int] = {}
    holder: dict[int, int] = {}
    taken = exhausted = 0
    for start in range(len(accepted)):
        asked, seen = [start], exhausted
        asked_by: dict[int, int] = {}
        for step in asked:
            if free := accepted[step] & ~taken:
                position = next(_positions(free))
                taken |= 1 << position
                _hand_on(step, position, held, holder, asked_by)
                break
            for position in _positions(accepted[step] & ~seen):
                asked_by[position] = step
                asked.append(holder[position])
            seen |= accepted[step]
        else:  # whoever holds these calls cannot find another one later on either
            exhausted = seen
    return held


def _hand_on(step: int, position: int, held: dict[int, int], holder: dict[int, int], asked_by: dict[int, int]) -> None:
    """The step takes the free call and leaves its own to the one that asked for it, and so on."""
    while True:
        left = held.get(step)
        held[step], holder[position] = position, step
        if left is None:
            return
        step, position = asked_by[left], left


def _mask(positions: Sequence[int]) -> int:
    bits = bytearray(positions[-1] // 8 + 1 if positions else 0)
    for position in positions:
        bits[position // 8] |= 1 << position % 8
    return int.from_bytes(bits, "little")


def _positions(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _first_divergence(
    expected: Sequence[ExpectedCall], calls: Sequence[ToolCall], accepted: Sequence[int], *, exact: bool
) -> str:
    """The first place at which what happened leaves what was expected."""
    position = 0
    for step, wanted in enumerate(expected):
        ahead = next(_positions(accepted[step] >> position), None)
        if ahead is None or (exact and ahead):
            rest = calls[position:]
            if not rest:
                instead = "got no further call" if calls else "but no tool was called"
            elif exact:
                instead = f"got {_got(rest[0], wanted)}"
            else:
                instead = _instead(wanted, rest, f" after {expected[step - 1]}" if step else "")
            return f"call {step + 1}: expected {wanted}, {instead}"
        position += ahead + 1
    return f"call {position + 1}: expected no further call, got {_named(calls[position].name)}"


def _first_missing(
    expected: Sequence[ExpectedCall], calls: Sequence[ToolCall], accepted: Sequence[int], pairs: Mapping[int, int]
) -> str:
    """In any order: first a call that nothing comes near, for another may only have been called too seldom."""
    without_call = [step for step in range(len(expected)) if step not in pairs]
    missing = next((step for step in without_call if not accepted[step]), without_call[0])
    wanted = expected[missing]
    why = "which was not called often enough" if accepted[missing] else _instead(wanted, calls)
    return f"call {missing + 1}: expected {wanted}, {why}"


def _instead(wanted: ExpectedCall, calls: Sequence[ToolCall], after: str = "") -> str:
    """What there is of a call that was not found: the same tool with other arguments, or nothing."""
    other = next((call for call in calls if call.name == wanted.name), None)
    return f"got {_got(other, wanted)}" if other else f"which was not called{after}"


def _got(call: ToolCall, wanted: ExpectedCall) -> str:
    """The arguments are shown where they are what differs."""
    return _named(call.name, call.arguments if wanted.arguments and wanted.name == call.name else None)


def _named(name: str, arguments: Json = None) -> str:
    return shown(name)[1:-1] + (f"({shown(as_text(arguments))[1:-1]})" if arguments else "")


def _arguments(call: ToolCall) -> Mapping[str, Json]:
    """Models write arguments as JSON text, and some targets hand that on."""
    given = call.arguments
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return {}
    return given if isinstance(given, Mapping) else {}


class MaxRoundsOptions(Options):
    value: Annotated[Whole, Field(ge=0)]


class MaxRounds(Grader):
    """At most this many assistant turns with tool calls."""

    Options: ClassVar[type[Options]] = MaxRoundsOptions
    options: MaxRoundsOptions

    async def grade(self, context: GradeContext) -> Grade:
        rounds, most = count_rounds(context.transcript), self.options.value
        passed = rounds <= most
        reason = "" if passed else f"{count(rounds, 'round')} of tool calls, at most {most} allowed"
        return Grade.of(passed, reason=reason, evidence={"rounds": rounds})

    def example(self) -> Example:
        return Example()


def count_rounds(transcript: Transcript) -> int:
    """Assistant turns with tool calls; where the messages tell of none, every call counts as a round of its own."""
    return sum(map(_calls_tools, transcript.messages)) or len(transcript.tool_calls)


def _calls_tools(message: Mapping[str, Json]) -> bool:
    if message.get("role") != "assistant":
        return False
    content = message.get("content")
    blocks = content if isinstance(content, list | tuple) else ()
    return bool(message.get("tool_calls")) or any(
        isinstance(block, Mapping) and block.get("type") == "tool_use" for block in blocks
    )
