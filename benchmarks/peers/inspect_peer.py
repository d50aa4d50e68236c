"""Inspect: a solver that answers at once and the `includes` scorer, logged to its own .eval file."""

from __future__ import annotations

from tempfile import TemporaryDirectory

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import solver

from benchmarks.peers.measuring import report
from benchmarks.question import ANSWER, QUESTION, WANTED


@solver
def instant():
    async def solve(state, generate):  # noqa: ARG001
        state.output.completion = ANSWER
        return state

    return solve


def passed(trials: int) -> int:
    samples = [Sample(id=number, input=QUESTION, target=WANTED) for number in range(trials)]
    task = inspect_ai.Task(dataset=samples, solver=instant(), scorer=includes())
    with TemporaryDirectory() as folder:
        [log] = inspect_ai.eval(task, model="mockllm/model", log_dir=folder, display="none", max_samples=10)
    return round(log.results.scores[0].metrics["accuracy"].value * trials)


if __name__ == "__main__":
    report("inspect-ai", passed)
