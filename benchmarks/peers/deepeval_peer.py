"""DeepEval: test cases that are answered at once, and our own metric that looks for the text."""

from __future__ import annotations

from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from benchmarks.peers.measuring import report
from benchmarks.question import ANSWER, QUESTION, WANTED


class Contains(BaseMetric):
    threshold = 1.0
    async_mode = True
    include_reason = False
    evaluation_model = "none"

    def measure(self, test_case, *args, **kwargs):  # noqa: ARG002
        self.score = float(WANTED in test_case.actual_output)
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, test_case, *args, **kwargs):  # noqa: ARG002
        return self.measure(test_case)

    def is_successful(self):
        return self.success

    @property
    def __name__(self):
        return "Contains"


def passed(trials: int) -> int:
    found = evaluate(
        test_cases=[LLMTestCase(input=QUESTION, actual_output=ANSWER) for _ in range(trials)],
        metrics=[Contains()],
        async_config=AsyncConfig(max_concurrent=10),
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
    )
    return sum(result.success for result in found.test_results)


if __name__ == "__main__":
    report("deepeval", passed)
