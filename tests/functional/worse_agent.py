"""The project that tests of baselines share: three capitals, and agents that know all, forget one, or fail at one."""

from __future__ import annotations

from pathlib import Path

from driving import drive_run

AGENT = """
from evalharness import TargetUnavailable

CAPITALS = {"France": "Paris", "Peru": "Lima", "Japan": "Tokyo"}

def good(country):
    return CAPITALS[country]

def bad(country):
    return {**CAPITALS, "Peru": "Cusco"}[country]

def unreachable(country):
    if country == "Peru":
        raise TargetUnavailable("no network")
    return CAPITALS[country]
"""
SUITE = """
name: capitals
target: agent.py:good
trials: 4
config: {retries: 0}
test_cases:
  - {id: france, input: France, expected: Paris}
  - {id: peru, input: Peru, expected: Lima}
  - {id: japan, input: Japan, expected: Tokyo}
"""


def run(folder: Path, target: str, *more: str) -> str:
    return drive_run(folder, *more, target=f"agent.py:{target}").run_name
