"""pydantic-evals: a Dataset with its Contains evaluator. It keeps results only in memory."""

from __future__ import annotations

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Contains

from benchmarks.peers.measuring import report
from benchmarks.question import ANSWER, QUESTION, WANTED


async def answer(question: str) -> str:  # noqa: ARG001
    return ANSWER


def passed(trials: int) -> int:
    cases = [Case(name=f"case-{number}", inputs=QUESTION) for number in range(trials)]
    dataset = Dataset(name="benchmark", cases=cases, evaluators=[Contains(value=WANTED)])
    found = dataset.evaluate_sync(answer, max_concurrency=10, progress=False)
    return sum(all(result.value for result in case.assertions.values()) for case in found.cases)


if __name__ == "__main__":
    report("pydantic-evals", passed)
