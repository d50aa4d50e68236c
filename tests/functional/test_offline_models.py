"""Models on this machine, with the real command: meanings compared offline, and a real model that chats."""

from __future__ import annotations

from pathlib import Path

from driving import drive
from real_models import need_smollm2, need_wordllama

REGRESSIONS = """
- id: near
  baseline: {output: The cat sat on the mat.}
  current: {input: A cat was sitting on the mat.}
  comparison: {type: semantic}
- id: too-far
  baseline: {output: The cat sat on the mat.}
  current: {input: A cat was sitting on the mat.}
  comparison: {type: semantic, tolerance: {threshold: 0.95}}
"""

CHAT = """
target: {chat: {model: local/smollm2, max_tokens: 4, temperature: 0}}
test_cases:
  - {id: greets, input: Say hello., graders: [{max_length: 200}]}
"""


def test_a_regression_is_compared_by_meaning(tmp_path: Path) -> None:
    need_wordllama()
    (tmp_path / "regressions.yaml").write_text(REGRESSIONS)
    done = drive(tmp_path, "run", "regressions.yaml", "--target", "echo", "--json")
    assert done.states() == {"near": ["passed"], "too-far": ["failed"]}
    assert "similarity 0.895 < 0.95" in done.out


def test_embeddings_that_were_named_and_cannot_be_asked_stop_the_run(tmp_path: Path) -> None:
    (tmp_path / "regressions.yaml").write_text(REGRESSIONS)
    environment = {"EVALHARNESS_EMBEDDING_MODEL": "openai/text-embedding-3-small"}
    done = drive(tmp_path, "run", "regressions.yaml", "--target", "echo", env=environment)
    assert done.code == 2
    assert "OPENAI_API_KEY" in done.err


def test_a_real_model_is_asked(tmp_path: Path) -> None:
    need_smollm2()
    (tmp_path / "suite.yaml").write_text(CHAT)
    done = drive(tmp_path, "run", "suite.yaml", "--json")
    assert done.states() == {"greets": ["passed"]}
    assert done.code == 0
    [trial] = done.report["trials"]
    assert trial["output"]
