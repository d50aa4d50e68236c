"""What the REST API takes and answers, as records with examples; their keys are camelCase."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

RUN_ID = "eval-20261118-203000-1f0c"


class Answer(BaseModel):
    """Written with the names of its fields in camelCase."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Body(Answer):
    """What a client sends: a key that is not known is an error."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Problem(Answer):
    """One thing that is wrong: in a request a `field`, in a suite a place as well."""

    model_config = ConfigDict(extra="allow")

    message: str


class Failure(Answer):
    """Every error has this form."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "error": "unknown run 'eval-1'",
                    "code": "not_found",
                    "hint": "known: brave-otter-042",
                    "problems": [],
                }
            ]
        }
    )

    error: str
    code: str
    hint: str | None
    problems: list[Problem]


class Done(Answer):
    ok: bool = True


class Registered(Done):
    id: str = Field(examples=["capitals"])


class Suite(Answer):
    """`id` is the name. `where`: file, registered or ready-made."""

    id: str = Field(examples=["capitals"])
    name: str
    where: str
    description: str
    cases: int
    trials: int
    target: str
    categories: list[str]
    variants: int


class Baseline(Answer):
    """`id` is `SUITE/NAME`; `timestamp` is when it was set."""

    id: str = Field(examples=["capitals/default"])
    name: str
    suite_name: str
    run_id: str
    run_name: str
    run_ids: list[str]
    timestamp: str


class Check(Answer):
    check: str
    passed: bool
    expected: str
    actual: str


class Result(Answer):
    """One case: `score` is the mean of its judged trials, `durationMs` their median, the others are sums.

    `error` and `details` are those of the first trial that did not pass.
    """

    task_id: str
    task_category: str
    passed: bool
    score: float | None
    duration_ms: float | None
    tokens_used: int | None
    cost_usd: float | None
    tool_calls_made: int | None
    error: str | None
    details: list[Check]
    state: str


class Category(Answer):
    passed: int
    failed: int
    avg_score: float | None


class Summary(Answer):
    """A run as far as it is known. `state`: queued, running, cancelling, finished, cancelled, interrupted, unfinished.

    `totalDurationMs` is how long the run took so far by the clock; costs and verdict are there once it has stopped.
    """

    id: str = Field(examples=[RUN_ID])
    name: str
    suite_name: str
    target: str
    timestamp: str
    state: str
    verdict: str
    total_tasks: int
    passed: int
    failed: int
    errors: int
    skipped: int
    awaiting: int
    pending: int
    total_duration_ms: float
    total_cost_usd: float | None
    pass_rate: float | None
    per_category: dict[str, Category]
    matrix_id: str
    trials: dict[str, int]
    """Finished trials by state."""
    planned_trials: int
    change: int
    """The number of the trial that was written last: where events go on."""
    results: list[Result]


class StartedRun(Summary):
    """`runs` has the ids of all runs of a matrix, once they are known."""

    runs: list[str]


class Case(Answer):
    """`marks` has a letter for each finished trial: passed, failed, error, skipped, awaiting."""

    id: str
    position: int
    name: str
    category: str
    tags: list[str]
    state: str
    is_flaky: bool
    marks: str
    trials: int
    passed: int
    graded: int
    score: float | None
    latency_s: float | None
    cost_usd: float | None


class WholeCase(Answer):
    """With its definition, as the target got it."""

    case: Case
    definition: dict[str, JsonValue]


class Trial(Answer):
    """`index` counts from 0. `change` grows with each trial of the run that is written."""

    case_id: str
    index: int
    state: str
    first_state: str
    score: float | None
    reason: str
    duration_ms: float
    cost_usd: float | None
    input_tokens: int | None
    output_tokens: int | None


class WholeTrial(Answer):
    """With all its attempts: output, messages, tool calls, grades with their evidence."""

    trial: Trial
    seed: int
    attempts: list[dict[str, JsonValue]]


class TaskChange(Answer):
    """`delta` is positive where the score fell."""

    task_id: str
    previous_score: float | None
    current_score: float | None
    degraded: bool
    delta: float | None
    previous_state: str
    current_state: str
    comparable: bool
    variant: str


class FlakyCase(Answer):
    task_id: str
    flip_rate: float
    passed: int
    trials: int
    runs: int
    is_new: bool


class Retrieved(Answer):
    """Figures are null where nothing says which documents are right."""

    query: str
    retrieved_count: int
    k: int | None
    hit_at1: bool | None
    hit_at_k: bool | None
    recall: float | None
    precision_at_k: float | None
    mrr: float | None
    ndcg: float | None
    ranks: dict[str, int | None]


class Harness(Answer):
    """A ready-made suite; `id` is its name."""

    id: str
    name: str
    description: str
    cases: int
    recent_runs: list[str]


# What clients send

Name = Annotated[str, Field(min_length=1, max_length=500)]


class RunWishes(Body):
    """`agentId` is a target that the owner of the server registered; `timeout` are seconds for each task."""

    agent_id: Name | None = None
    baseline_id: Name | None = None
    timeout: Annotated[float, Field(gt=0, le=86_400)] | None = None
    trials: Annotated[int, Field(ge=1, le=1000)] | None = None


class RunRequest(RunWishes):
    model_config = ConfigDict(json_schema_extra={"examples": [{"suiteId": "capitals", "agentId": "agent"}]})

    suite_id: Name
    provider: str | None = None
    """Accepted and ignored, as it always was: a target knows its own provider."""


class BaselineRequest(Body):
    name: Name = "default"


class RetrievalRequest(Body):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "capital of France", "retrievedDocs": ["paris.md"], "expectedDoc": "paris.md"}]
        }
    )

    query: str
    retrieved_docs: list[JsonValue] = Field(default_factory=list, max_length=10_000)
    expected_doc: JsonValue = None
    k: int | None = None


SuiteDocument = Annotated[
    dict[str, Any],
    Field(
        json_schema_extra={
            "examples": [
                {
                    "name": "capitals",
                    "tasks": [
                        {
                            "id": "france",
                            "category": "search_retrieval",
                            "prompt": "The capital of France?",
                            "expectedPatterns": ["Paris"],
                        }
                    ],
                }
            ]
        }
    ),
]
