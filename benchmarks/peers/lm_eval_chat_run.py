"""`python -m benchmarks.peers.lm_eval_chat_run CASES URL AT_ONCE`: lm-eval asks a chat model, as a process."""

from __future__ import annotations

import sys

import datasets
from lm_eval import simple_evaluate
from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks import TaskManager

from benchmarks.question import QUESTION, WANTED


def _contains(document, results):
    return {"contains": float(document["wanted"] in results[0])}


def _passed(cases: int, url: str, at_once: int) -> int:
    rows = [{"question": f"{QUESTION} ({number})", "wanted": WANTED} for number in range(cases)]
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
    options = {"model": "m", "base_url": f"{url}/chat/completions", "num_concurrent": at_once, "max_retries": 3}
    found = simple_evaluate(
        model="local-chat-completions",
        model_args=options,
        tasks=[task],
        task_manager=TaskManager(include_defaults=False),
        bootstrap_iters=0,
        apply_chat_template=True,
    )
    return round(found["results"]["benchmark"]["contains,none"] * cases)


if __name__ == "__main__":
    cases = int(sys.argv[1])
    if (found := _passed(cases, sys.argv[2], int(sys.argv[3]))) != cases:
        raise SystemExit(f"lm-eval passed {found} of {cases} cases")
