"""Scorers: from a workflow's artifact to a score from 0 to 1. They measure, and do not decide whether a case passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import Annotated, Any, Literal, Protocol, TypeVar, get_args

from pydantic import ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel, to_snake

from evalharness.documents.artifact import Artifact, EvalArtifact, extract_metrics
from evalharness.documents.artifact_view import compact_text, output_at
from evalharness.domain.invalid_values import each_place_once, message_of
from evalharness.domain.record import Record
from evalharness.errors import Unscored, UsageError, closest
from evalharness.values.json_value import MISSING, Json

# Levenshtein distance: how many letters must be put in, taken out or changed to turn one text into another.
#
# Bit-parallel: one big integer holds a whole column of the table, so that 10,000 letters against 10,000 take 0.05 s.

MOST_CELLS = 20_000_000_000
"""Of the table: two texts of 140,000 letters, which take some seconds."""


def similarity(one: str, other: str) -> float:
    """1 for equal texts, 0 for texts that have no letter in place; two empty texts are equal."""
    longest = max(len(one), len(other))
    return 1 - edit_distance(one, other) / longest if longest else 1.0


def edit_distance(one: str, other: str) -> int:
    """Raises Unscored for texts that are too long to be compared."""
    column, row = sorted(_without_common_ends(one, other), key=len)
    if not column:
        return len(row)
    if len(column) * len(row) > MOST_CELLS:
        raise Unscored(f"texts of {len(one)} and {len(other)} characters are too long for an edit distance")
    return _distance(column, row)


def _distance(column: str, row: str) -> int:
    everything = (1 << len(column)) - 1
    last = 1 << (len(column) - 1)
    places: dict[str, int] = {}
    for index, letter in enumerate(column):
        places[letter] = places.get(letter, 0) | 1 << index
    # Neighbouring cells of the table differ by at most 1: where they rise and fall is all there is to keep.
    rises, falls, distance = everything, 0, len(column)
    for letter in row:
        equal = places.get(letter, 0)
        vertical = equal | falls
        horizontal = (((equal & rises) + rises) ^ rises) | equal
        rises_across = falls | (everything & ~(horizontal | rises))
        falls_across = rises & horizontal
        distance += bool(rises_across & last) - bool(falls_across & last)
        rises_across = (rises_across << 1 | 1) & everything
        falls_across = falls_across << 1 & everything
        rises = falls_across | (everything & ~(vertical | rises_across))
        falls = rises_across & vertical
    return distance


def _without_common_ends(one: str, other: str) -> tuple[str, str]:
    start = _common(one, other)
    one, other = one[start:], other[start:]
    end = _common(one[::-1], other[::-1])
    return one[: len(one) - end], other[: len(other) - end]


def _common(one: str, other: str) -> int:
    """With how many letters both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


Algorithm = Literal["exact", "contains", "levenshtein", "semantic"]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]


class Score(Record):
    """`value` is the score; `raw_value` what was measured, `metadata` how."""

    name: str
    value: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    raw_value: Json = Field(default=None, alias="rawValue")
    metadata: dict[str, Json] = Field(default_factory=dict)


class Scorer(Protocol):
    @property
    def name(self) -> str: ...

    def score(self, artifact: EvalArtifact) -> Score: ...


def budget_score(spent: float, ideal: float, limit: float) -> float:
    """1 up to the ideal, 0 from the limit on, a straight line between; the ideal wins where both are the same."""
    if spent <= ideal:
        return 1.0
    return 0.0 if spent >= limit else 1 - (spent - ideal) / (limit - ideal)


class OptionsOfScorer(Record):
    """Options may be spelled `max_ms` or `maxMs`; they are checked when the scorer is made."""

    model_config = ConfigDict(alias_generator=to_camel)


MadeScorer = TypeVar("MadeScorer", bound=OptionsOfScorer)


class LatencyScorer(OptionsOfScorer):
    max_ms: Amount = 30_000
    ideal_ms: Amount = 0
    name: str = "latency"

    def score(self, artifact: Artifact) -> Score:
        spent = extract_metrics(artifact).total.duration_ms
        metadata = {"max_ms": self.max_ms, "ideal_ms": self.ideal_ms, "unit": "ms"}
        value = budget_score(spent, self.ideal_ms, self.max_ms)
        return Score(name=self.name, value=value, raw_value=spent, metadata=metadata)


class CostScorer(OptionsOfScorer):
    max_usd: Amount = 1.0
    ideal_usd: Amount = 0.0
    name: str = "cost"

    def score(self, artifact: Artifact) -> Score:
        spent = extract_metrics(artifact).total.total_cost_usd
        metadata = {"max_usd": self.max_usd, "ideal_usd": self.ideal_usd, "unit": "USD"}
        value = budget_score(spent, self.ideal_usd, self.max_usd)
        return Score(name=self.name, value=value, raw_value=spent, metadata=metadata)


class TokensScorer(OptionsOfScorer):
    """Input tokens count `input_weight` times; the raw value is the plain sum."""

    max_tokens: Amount = 100_000
    ideal_tokens: Amount = 0
    input_weight: Amount = 1.0
    name: str = "tokens"

    def score(self, artifact: Artifact) -> Score:
        total = extract_metrics(artifact).total
        weighted = total.input_tokens * self.input_weight + total.output_tokens
        metadata = {
            "input_tokens": total.input_tokens,
            "output_tokens": total.output_tokens,
            "weighted_total": weighted,
            "max_tokens": self.max_tokens,
            "ideal_tokens": self.ideal_tokens,
            "input_weight": self.input_weight,
        }
        value = budget_score(weighted, self.ideal_tokens, self.max_tokens)
        return Score(name=self.name, value=value, raw_value=total.input_tokens + total.output_tokens, metadata=metadata)


ALGORITHMS: Mapping[Algorithm, Callable[[str, str], float]] = MappingProxyType(
    {
        "exact": lambda actual, expected: float(actual == expected),
        "contains": lambda actual, expected: float(expected in actual),
        "levenshtein": similarity,
    }
)


class SimilarityScorer(OptionsOfScorer):
    """`output_path` starts inside the outputs, as documented: `main.text`; `outputs.main.text` is the same place."""

    output_path: Annotated[str, Field(min_length=1)]
    expected_value: Json
    algorithm: Algorithm = "exact"
    name: str = "similarity"

    def score(self, artifact: Artifact) -> Score:
        texts = self.texts(artifact)
        return self.scored(artifact, 0.0 if texts is None else self.compare(*texts))

    def texts(self, artifact: Artifact) -> tuple[str, str] | None:
        """What is there and what is expected, as texts; None where nothing is there."""
        actual = self._actual(artifact)
        if actual is MISSING:
            return None
        try:
            return compact_text(actual), compact_text(self.expected_value)
        except (RecursionError, ValueError) as error:
            raise Unscored(f"the output cannot be read as text: {error}") from None

    def compare(self, actual: str, expected: str) -> float:
        """How near they are; what compares meanings comes from outside the domain."""
        return ALGORITHMS[self.algorithm](actual, expected)

    def scored(self, artifact: Artifact, nearness: float) -> Score:
        """The score where the two texts are so near to each other."""
        metadata: dict[str, Json] = {"algorithm": self.algorithm, "output_path": self.output_path}
        actual = self._actual(artifact)
        if actual is MISSING:
            error = f'Path "{self.output_path}" not found'
            return Score(name=self.name, value=0.0, metadata={**metadata, "error": error})
        return Score(name=self.name, value=nearness, raw_value=actual, metadata=metadata)

    def _actual(self, artifact: Artifact) -> Any:
        return output_at(artifact, self.output_path)


def create_latency_scorer(max_ms: float = MISSING, ideal_ms: float = MISSING, **spelled: Any) -> LatencyScorer:
    """All scorers raise UsageError for options that are none; `spelled` are the same options in camelCase."""
    return made_scorer(LatencyScorer, {"max_ms": max_ms, "ideal_ms": ideal_ms}, spelled)


def create_cost_scorer(max_usd: float = MISSING, ideal_usd: float = MISSING, **spelled: Any) -> CostScorer:
    return made_scorer(CostScorer, {"max_usd": max_usd, "ideal_usd": ideal_usd}, spelled)


def create_tokens_scorer(
    max_tokens: float = MISSING,
    ideal_tokens: float = MISSING,
    input_weight: float = MISSING,
    **spelled: Any,
) -> TokensScorer:
    given = {"max_tokens": max_tokens, "ideal_tokens": ideal_tokens, "input_weight": input_weight}
    return made_scorer(TokensScorer, given, spelled)


def create_similarity_scorer(
    output_path: str = MISSING, expected_value: Json = MISSING, algorithm: Algorithm = "exact", **spelled: Any
) -> SimilarityScorer:
    if problem := why_no_algorithm(algorithm):
        raise UsageError(problem)
    given = {"output_path": output_path, "expected_value": expected_value, "algorithm": algorithm}
    return made_scorer(SimilarityScorer, given, spelled)


def made_scorer(kind: type[MadeScorer], given: Mapping[str, Any], spelled: Mapping[str, Any]) -> MadeScorer:
    """Raises UsageError that names every option that is wrong."""
    options = {name: value for name, value in given.items() if value is not MISSING}
    try:
        return kind.model_validate({**options, **spelled})
    except ValidationError as error:
        problems = "; ".join(_problem(found, list(kind.model_fields)) for found in each_place_once(error.errors()))
        raise UsageError(f"{kind.__name__}: {problems}") from None


def _problem(found: Any, known: Sequence[str]) -> str:
    written = str(found["loc"][0])
    name = to_snake(written)
    if found["type"] == "missing":
        return f"{name} is missing"
    if found["type"] != "extra_forbidden":
        why = message_of(found)
        return f"{name} {why}" if ", not " in why else f"{name} {why}, not {found['input']!r:.80}"
    if name in known:
        return f"{name} is given in two spellings"
    meant = closest(name, known)
    return f"there is no option {written}" + (f"; did you mean {meant}?" if meant else f", only {', '.join(known)}")


def why_no_algorithm(name: Any) -> str:
    """Why texts cannot be compared in this way, in words; empty when they can."""
    if name == "semantic":
        return "'semantic' compares embeddings: evalharness.datasets.create_similarity_scorer has them"
    return "" if name in ALGORITHMS else f"unknown algorithm '{name}'; known: {', '.join(get_args(Algorithm))}"
