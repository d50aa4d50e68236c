"""The nine assertions about a workflow's run, and what they find in an artifact. Pure: data in, results out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, get_args

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError, model_serializer

from evalharness.documents.artifact import AGENT_COMPLETE, PRIMARY_OUTPUT, Artifact, EvalArtifact, RunSnapshot
from evalharness.documents.artifact_view import ArtifactView, compact_text, create_artifact_view, value_at
from evalharness.domain.invalid_values import explain
from evalharness.domain.record import Record
from evalharness.errors import UsageError, closest
from evalharness.values.json_value import MISSING, Json
from evalharness.values.text import head

EXACT = ".15g"
SHOWN_ERRORS = 3
LONGEST_VALUE = 200
SLACK = 1e-9
"""How much of a limit may be exceeded by rounding alone: 0.1 + 0.2 is not more than 0.3."""


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[str, StringConstraints(min_length=1)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
PositiveInt = Annotated[int, BeforeValidator(_whole), Field(strict=True, gt=0)]


class Found(NamedTuple):
    """What an assertion found; `message` says what is wrong, and is empty when nothing is."""

    actual: Json
    message: str = ""


class OutputContains(Record):
    type: Literal["output.contains"] = "output.contains"
    path: Text
    value: str

    def look(self, view: ArtifactView) -> Found:
        actual = view.at(self.path)
        if actual is MISSING:
            return _not_found(self.path)
        held = self.value in compact_text(actual)
        return Found(actual, "" if held else f'"{self.path}" does not contain {_shown(self.value)}')


class OutputEquals(Record):
    """Without a `value`, the path must lead nowhere; null is a value."""

    type: Literal["output.equals"] = "output.equals"
    path: Text
    value: Json = None

    @property
    def has_value(self) -> bool:
        return "value" in self.model_fields_set

    @model_serializer(mode="wrap")
    def _without_a_value_nobody_gave(self, serialize: Any) -> dict[str, Any]:
        dumped: dict[str, Any] = serialize(self)
        return dumped if self.has_value else {key: value for key, value in dumped.items() if key != "value"}

    def look(self, view: ArtifactView) -> Found:
        actual = view.at(self.path)
        if actual is MISSING:
            return _not_found(self.path) if self.has_value else Found(None)
        if not self.has_value:
            return Found(actual, f'"{self.path}" exists, expected nothing')
        equal = equals(self.value, actual)
        return Found(actual, "" if equal else f'"{self.path}" is {_shown(actual)}, expected {_shown(self.value)}')


class _Limit(Record):
    """At most so much in all; the limit itself is still allowed."""

    metric: ClassVar[str]
    wording: ClassVar[str]
    value: float

    def look(self, view: ArtifactView) -> Found:
        actual = getattr(view.metrics.total, self.metric)
        allowed = actual <= self.value or math.isclose(actual, self.value, rel_tol=SLACK)
        return Found(actual, "" if allowed else self._exceeded(actual))

    def _exceeded(self, actual: float) -> str:
        shown = [self.shown(number) for number in (actual, self.value)]
        if shown[0] == shown[1]:
            shown = [format(number, EXACT) for number in (actual, self.value)]
        return self.wording.format(*shown)

    @staticmethod
    def shown(number: float) -> str:
        return format(number, EXACT)


class LatencyMax(_Limit):
    metric: ClassVar[str] = "duration_ms"
    wording: ClassVar[str] = "Latency {} ms exceeds {} ms"
    type: Literal["metric.latency_ms.max"] = "metric.latency_ms.max"
    value: Annotated[Number, Field(gt=0)]

    @staticmethod
    def shown(number: float) -> str:
        return format(round(number, 1), EXACT)


class TotalCostMax(_Limit):
    metric: ClassVar[str] = "total_cost_usd"
    wording: ClassVar[str] = "Cost ${} exceeds ${}"
    type: Literal["metric.total_cost_usd.max"] = "metric.total_cost_usd.max"
    value: Annotated[Number, Field(ge=0)]

    @staticmethod
    def shown(number: float) -> str:
        return format(number, ".4f")


class InputTokensMax(_Limit):
    metric: ClassVar[str] = "input_tokens"
    wording: ClassVar[str] = "Input tokens {} exceed {}"
    type: Literal["metric.tokens.input.max"] = "metric.tokens.input.max"
    value: PositiveInt


class OutputTokensMax(_Limit):
    metric: ClassVar[str] = "output_tokens"
    wording: ClassVar[str] = "Output tokens {} exceed {}"
    type: Literal["metric.tokens.output.max"] = "metric.tokens.output.max"
    value: PositiveInt


class NoErrors(Record):
    type: Literal["behavior.no_errors"] = "behavior.no_errors"

    def look(self, view: ArtifactView) -> Found:
        messages = view.errors.messages
        count = f"{len(messages)} error{'' if len(messages) == 1 else 's'}"
        first = "; ".join(head(message, LONGEST_VALUE) for message in messages[:SHOWN_ERRORS])
        more = "..." if len(messages) > SHOWN_ERRORS else ""
        return Found(messages, f"{count}: {first}{more}" if messages else "")


class NodeExecuted(Record):
    type: Literal["behavior.node_executed"] = "behavior.node_executed"
    node_id: Text = Field(alias="nodeId")

    def look(self, view: ArtifactView) -> Found:
        executed = _invocations(view, self.node_id) > 0
        return Found(executed, "" if executed else f'Node "{self.node_id}" was not executed')


class NodeInvocationsMax(Record):
    type: Literal["behavior.node_invocations.max"] = "behavior.node_invocations.max"
    node_id: Text = Field(alias="nodeId")
    value: PositiveInt

    def look(self, view: ArtifactView) -> Found:
        actual = _invocations(view, self.node_id)
        exceeded = f'Node "{self.node_id}" was invoked {actual} times, more than {self.value}'
        return Found(actual, exceeded if actual > self.value else "")


AnyAssertion = (
    OutputContains
    | OutputEquals
    | LatencyMax
    | TotalCostMax
    | InputTokensMax
    | OutputTokensMax
    | NoErrors
    | NodeExecuted
    | NodeInvocationsMax
)
ASSERTIONS: Mapping[str, type[AnyAssertion]] = MappingProxyType(
    {each.model_fields["type"].default: each for each in get_args(AnyAssertion)}
)


def _known(written: Any) -> Any:
    if isinstance(written, AnyAssertion):
        return written
    if not isinstance(written, Mapping):
        raise ValueError("an assertion must be a mapping with a type")
    kind = written.get("type")
    if not isinstance(kind, str) or kind not in ASSERTIONS:
        meant = closest(kind, ASSERTIONS) if isinstance(kind, str) else None
        raise ValueError(f"unknown assertion {kind!r}" + (f". Did you mean '{meant}'?" if meant else ""))
    return written


Assertion = Annotated[AnyAssertion, Field(discriminator="type"), BeforeValidator(_known)]


class AssertionResult(Record):
    assertion: Assertion
    passed: bool
    actual: Json = None
    message: str = ""


def parse_assertion(written: Any) -> Assertion:
    """An assertion from JSON; raises ValueError (pydantic's own for its fields)."""
    known = _known(written)
    return known if isinstance(known, AnyAssertion) else ASSERTIONS[known["type"]].model_validate(known)


def evaluate_assertions(
    artifact: Artifact, assertions: Iterable[Assertion | Mapping[str, Json]]
) -> list[AssertionResult]:
    """Every assertion is looked at, in the given order; a message is there only where one does not hold.

    Keys that an assertion does not know are passed over, as in a dataset. Raises UsageError for what is none.
    """
    view = create_artifact_view(artifact)
    return [_evaluated(_given(assertion, index), view) for index, assertion in enumerate(assertions)]


def _given(assertion: Assertion | Mapping[str, Json], index: int) -> Assertion:
    """One that a caller handed over: its mistakes are reported as such."""
    try:
        known = _known(assertion)
        return known if isinstance(known, AnyAssertion) else parse_assertion(_without_unknown_keys(known))
    except ValidationError as error:
        raise UsageError(f"assertion {index} ({known['type']}): {explain(error)}") from None
    except ValueError as error:
        raise UsageError(f"assertion {index}: {error}", hint=f"known: {', '.join(ASSERTIONS)}") from None


def _without_unknown_keys(written: Mapping[str, Json]) -> dict[str, Json]:
    fields = ASSERTIONS[written["type"]].model_fields
    keys = {*fields, *(field.alias for field in fields.values())}
    return {key: value for key, value in written.items() if key in keys}


def _evaluated(assertion: Assertion, view: ArtifactView) -> AssertionResult:
    try:
        actual, message = assertion.look(view)
    except (RecursionError, ValueError) as error:
        actual, message = None, f"the value cannot be read: {error}"
    return AssertionResult(assertion=assertion, passed=not message, actual=actual, message=message)


def equals(expected: Json, actual: Json) -> bool:
    """Strictly, all the way down: 1 is 1.0 but neither true nor "1"; NaN is NaN; null is only null."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return expected.keys() == actual.keys() and all(equals(expected[key], actual[key]) for key in expected)
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        return len(expected) == len(actual) and all(map(equals, expected, actual))
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, float) and isinstance(actual, float) and math.isnan(expected):
        return math.isnan(actual)
    return bool(expected == actual)


def _not_found(path: str) -> Found:
    return Found(None, f'Path "{path}" not found')


def _invocations(view: ArtifactView, node: str) -> int:
    found = view.metrics.by_node.get(node)
    return found.invocations if found else 0


def _shown(value: Json) -> str:
    text = head(compact_text(value), LONGEST_VALUE)
    return f'"{text}"' if isinstance(value, str) else text


# The artifact of a run about which given assertions hold, as far as one can be made up.

ROOTS = ("outputs", "state")


def artifact_for(assertions: Sequence[AnyAssertion]) -> EvalArtifact | None:
    """None when no such run can be made up: two assertions contradict each other, or ask for what a run cannot say."""
    snapshot: dict[str, Json] = {"status": "complete", "outputs": {}, "state": {}}
    wanted = sorted(_values(assertions), key=lambda pair: len(pair[0]))
    for steps, value in wanted:
        _put(snapshot, steps, value)
    artifact = EvalArtifact(snapshot=RunSnapshot(snapshot), events=tuple(_events(assertions)))
    return artifact if all(result.passed for result in evaluate_assertions(artifact, assertions)) else None


def _values(assertions: Iterable[AnyAssertion]) -> Iterable[tuple[tuple[str, ...], Json]]:
    """What must stand where; texts that must be contained at the same place are said one after the other."""
    texts: dict[tuple[str, ...], list[str]] = {}
    for assertion in assertions:
        if isinstance(assertion, OutputEquals) and assertion.has_value:
            yield _steps(assertion.path), deepcopy(assertion.value)
        elif isinstance(assertion, OutputContains):
            texts.setdefault(_steps(assertion.path), []).append(assertion.value)
    for steps, parts in texts.items():
        yield steps, " ".join(dict.fromkeys(parts))


def _steps(path: str) -> tuple[str, ...]:
    steps = tuple(path.split("."))
    return ("outputs", PRIMARY_OUTPUT, *steps[1:]) if steps[0] in (PRIMARY_OUTPUT, "primary_output") else steps


def _put(snapshot: dict[str, Json], steps: tuple[str, ...], value: Json) -> None:
    """Only into what is free: whatever is there was asked for by another assertion."""
    if steps[0] not in ROOTS or len(steps) == 1 or value_at(snapshot, steps) is not MISSING:
        return
    place: Any = snapshot
    for step in steps[:-1]:
        place = place.setdefault(step, {})
        if not isinstance(place, dict):
            return
    place[steps[-1]] = value


def _events(assertions: Iterable[AnyAssertion]) -> Iterable[dict[str, Json]]:
    nodes = dict.fromkeys(each.node_id for each in assertions if isinstance(each, NodeExecuted))
    usage = {"inputTokens": 0, "outputTokens": 0}
    for node in nodes:
        yield {"type": AGENT_COMPLETE, "nodeId": node, "durationMs": 0, "totalCostUsd": 0, "usage": usage}
    yield {"type": "flow:complete", "status": "complete"}
