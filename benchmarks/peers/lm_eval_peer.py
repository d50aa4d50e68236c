"""lm-eval: a model that answers at once, and a task whose own `process_results` looks for the text."""

from __future__ import annotations

import datasets
from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks import TaskManager

from benchmarks.peers.measuring import report
from benchmarks.question import ANSWER, QUESTION, WANTED


class Instant(LM):
    def generate_until(self, requests, disable_tqdm=True):  # noqa: ARG002
        return [ANSWER for _ in requests]

    def loglikelihood(self, requests, disable_tqdm=True):
        raise NotImplementedError

    def loglikelihood_rolling(self, requests, disable_tqdm=True):
        raise NotImplementedError


def _contains(document, results):
    return {"contains": float(document["wanted"] in results[0])}


def passed(trials: int) -> int:
    rows = [{"question": QUESTION, "wanted": WANTED} for _ in range(trials)]
    task = ConfigurableTask(
        config={
            "task": "benchmark",
            "custom_dataset": lambda **_: {"test": datasets.Dataset.from_list(rows)},
            "test_split": "test",
            "output_type": "generate_until",
            "doc_to_text": "{{question}}",
            "doc_to_target": "{{wanted}}",
            "process_results": _contains,
            "metric_list": [{"metric": "contains", "aggregation": "mean", "higher_is_better": True}],
        }
    )
    manager = TaskManager(include_defaults=False)  # otherwise thousands of task files are read first
    found = simple_evaluate(model=Instant(), tasks=[task], task_manager=manager, bootstrap_iters=0)
    return round(found["results"]["benchmark"]["contains,none"] * trials)


if __name__ == "__main__":
    report("lm-eval", passed)
