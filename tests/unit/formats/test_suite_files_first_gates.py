"""Gates and targets as people first write them: the message says what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalharness.formats.suite_files import load_file
from evalharness.reports.words.say import say

SUITE = """\
name: capitals
target: oracle
{written}
test_cases:
- {{id: peru, input: The capital of Peru?, expected: Lima}}
"""


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("gate: 0.5", "such as gate: {thresholds: {pass_rate: 0.5}}"),
        ("gate: 80", "such as gate: {thresholds: {pass_rate: 0.8}}"),
        ("gate: 75 %", "a preset (development, staging, production, critical) or a mapping"),
        ("gate: [0.8]", "must be a preset"),
        ("gate: {pass_rate: 0.8}", "gate.pass_rate: belongs under thresholds: write thresholds: {pass_rate: 0.8}"),
        ("gate: {pass^3: 90 %}", "write thresholds: {pass^3: 0.9}"),
        ("gate: prod", "allowed: development, staging, production, critical"),
        ("targets: [oracle, 'null']", "targets: must be a mapping, not a list: give each target a name"),
        ("reporting: {output_dir: suite.yaml}", "reporting.output_dir: must be a folder, and suite.yaml is a file"),
    ],
)
def test_the_message_says_what_to_write(tmp_path: Path, written: str, says: str) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text(SUITE.format(written=written))
    [problem] = load_file(file).problems
    assert says in say(problem)
