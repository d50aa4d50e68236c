"""The project that tests of `eval-harness run` share: three capitals, each asked twice; the agent knows two."""

from __future__ import annotations

from pathlib import Path

from driving import write

AGENT = """
CAPITALS = {"France": "Paris", "Peru": "Cusco", "Japan": "Tokyo"}

def answer(country):
    return CAPITALS[country]

def right(country, context):
    assert context.case.id and context.index == 0 and context.seed >= 0 and context.workspace.is_dir()
    return {**CAPITALS, "Peru": "Lima"}[country]

async def later(country):
    return {**CAPITALS, "Peru": "Lima"}[country]
"""
SUITE = """
name: capitals
target: agent.py:answer
trials: 2
test_cases:
  - {id: france, name: The Capital of France, input: France, expected: Paris, tags: [eu, quick], category: europe}
  - {id: peru, input: Peru, expected: Lima, tags: [am], category: america, difficulty: hard}
  - {id: japan, input: Japan, expected: Tokyo, tags: [quick], category: asia, eval_type: capability}
"""


def capitals_project(folder: Path) -> Path:
    return write(folder, agent_py=AGENT, suite_yaml=SUITE, pyproject_toml="")
