"""What the REST API takes and answers, as records with examples; their keys are camelCase."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

RUN_ID = "eval-20261118-203000-1f0c"
RESULT = {
    "taskId": "peru",
    "taskCategory": "america",
    "passed": False,
    "score": 0.5,
    "durationMs": 12.0,
    "tokensUsed": 240,
    "costUsd": 0.0008,
    "toolCallsMade": 2,
    "error": "expected 'Lima', got 'Cusco'",
    "details": [
        {"check": "exact", "passed": False, "expected": "Lima", "actual": "Cusco"},
    ],
    "state": "failed",
}
SUMMARY = {
    "id": RUN_ID,
    "name": "brave-otter-042",
    "suiteName": "capitals",
    "target": "agent.py:answer",
    "timestamp": "2026-11-18T20:30:00Z",
    "state": "finished",
    "verdict": "FAILED",
    "totalTasks": 3,
    "passed": 2,
    "failed": 1,
    "errors": 0,
    "skipped": 0,
    "awaiting": 0,
    "pending": 0,
    "totalDurationMs": 41.0,
    "totalCostUsd": 0.0012,
    "passRate": 0.8333,
    "perCategory": {"america": {"passed": 0, "failed": 1, "avgScore": 0.5}},
    "matrixId": RUN_ID,
    "trials": {"passed": 5, "failed": 1},
    "plannedTrials": 6,
    "change": 6,
    "results": [RESULT],
}


def shown(**example: Any) -> ConfigDict:
    """An example of the whole record, for the OpenAPI document."""
    return ConfigDict(json_schema_extra={"examples": [example]})


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

    model_config = shown(error="unknown run 'eval-1'", code="not_found", hint="known: brave-otter-042", problems=[])

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

    model_config = shown(
        id="capitals",
        name="capitals",
        where="file",
        description="Where governments sit.",
        cases=3,
        trials=2,
        target="agent.py:answer",
        categories=["america", "europe"],
        variants=1,
    )

    id: str
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

    model_config = shown(
        id="capitals/default",
        name="default",
        suiteName="capitals",
        runId=RUN_ID,
        runName="brave-otter-042",
        runIds=[RUN_ID],
        timestamp="2026-11-18T20:31:00Z",
    )

    id: str
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

    model_config = shown(**RESULT)

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
    """A run as far as it is known. `state`: queued, running, cancelling, finished, cancelled, interrupted, unfinished,
    not_started.

    `totalDurationMs` is how long the run took so far by the clock; costs and verdict are there once it has stopped.
    """

    model_config = shown(**SUMMARY)

    id: str
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

    model_config = shown(**SUMMARY, runs=[RUN_ID])

    runs: list[str]


class Case(Answer):
    """`marks` has a letter for each finished trial: passed, failed, error, skipped, awaiting."""

    model_config = shown(
        id="peru",
        position=1,
        name="",
        category="america",
        tags=["am"],
        state="failed",
        isFlaky=True,
        marks="fp",
        trials=2,
        passed=1,
        graded=2,
        score=0.5,
        latencyS=0.012,
        costUsd=None,
    )

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
    """`index` counts from 0."""

    model_config = shown(
        caseId="peru",
        index=0,
        state="failed",
        firstState="failed",
        score=0.0,
        reason="expected 'Lima', got 'Cusco'",
        durationMs=12.0,
        costUsd=0.0004,
        inputTokens=100,
        outputTokens=20,
    )

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

    model_config = shown(
        taskId="peru",
        previousScore=1.0,
        currentScore=0.5,
        degraded=True,
        delta=0.5,
        previousState="passed",
        currentState="failed",
        comparable=True,
        variant="agent.py:answer",
    )

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
    model_config = shown(taskId="peru", flipRate=0.5, passed=5, trials=10, runs=3, isNew=True)

    task_id: str
    flip_rate: float
    passed: int
    trials: int
    runs: int
    is_new: bool


class Retrieved(Answer):
    """Figures are null where nothing says which documents are right."""

    model_config = shown(
        query="capital of France",
        retrievedCount=2,
        k=2,
        hitAt1=False,
        hitAtK=True,
        recall=1.0,
        precisionAtK=0.5,
        mrr=0.5,
        ndcg=0.63,
        ranks={"paris.md": 2},
    )

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

    model_config = shown(
        id="ready/bug-fix", name="ready/bug-fix", description="Code with one mistake", cases=3, recentRuns=[RUN_ID]
    )

    id: str
    name: str
    description: str
    cases: int
    recent_runs: list[str]


# What clients send

Name = Annotated[str, Field(min_length=1, max_length=500)]


class RunWishes(Body):
    """`agentId` is a target that the owner of the server registered; `timeout` are seconds for each task."""

    model_config = shown(agentId="agent", timeout=60)

    agent_id: Name | None = None
    baseline_id: Name | None = None
    timeout: Annotated[float, Field(gt=0, le=86_400)] | None = None
    trials: Annotated[int, Field(ge=1, le=1000)] | None = None


class RunRequest(RunWishes):
    model_config = shown(suiteId="capitals", agentId="agent", timeout=60)

    suite_id: Name
    provider: str | None = None
    """Accepted and ignored, as it always was: a target knows its own provider."""


class BaselineRequest(Body):
    model_config = shown(name="main")

    name: Name = "default"


class RetrievalRequest(Body):
    model_config = shown(query="capital of France", retrievedDocs=["paris.md"], expectedDoc="paris.md")

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
