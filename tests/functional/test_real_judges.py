"""A real language model on this machine answers and judges, with the real command: every verdict is well-formed."""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import drive, write
from real_models import need_smollm2

SUITE = """
name: capital
target: {chat: {model: local/smollm2, max_tokens: 12, temperature: 0}}
config: {judge_model: local/smollm2, timeout_seconds: 600, retries: 0}
test_cases:
  - id: france
    input: What is the capital of France? One word.
    graders:
      - model:
          rubric: Is the answer right?
          criteria: {correctness: 3, brevity: 1}
      - relevance: [The response names a city.]
"""


@pytest.mark.timeout(900)  # the model answers slowly where all cores are busy
def test_a_chat_target_a_rubric_and_a_statement(tmp_path: Path) -> None:
    need_smollm2()
    write(tmp_path, suite_yaml=SUITE)
    done = drive(tmp_path, "run", "suite.yaml", "--json", timeout_s=600)
    assert done.code in (0, 1), done.both
    [trial] = done.report["trials"]
    assert trial["output"]
    rubric, statement = trial["grades"]
    assert {rubric["state"], statement["state"]} <= {"pass", "fail"}, "both have a verdict, whatever it is"
    [judging] = done.report["judging"]
    assert (judging["model"], judging["calls"], judging["cost_usd"]) == ("local/smollm2", 2, 0), "no reply was repaired"

    shown = drive(tmp_path, "show", done.report["metadata"]["run_id"], "france", "--json").json
    rubric, statement = shown["trials"][0]["trial"]["attempts"][-1]["grades"]
    assert rubric["evidence"]["scores"].keys() == {"correctness", "brevity"}
    assert all(1 <= score <= 5 for score in rubric["evidence"]["scores"].values())
    assert statement["evidence"][0]["reason"]

    again = drive(tmp_path, "regrade", done.report["metadata"]["run_id"], "--json", timeout_s=600)
    [judging] = again.report["judging"]
    assert (judging["calls"], judging["cached"]) == (0, 2), "no verdict is requested twice"
