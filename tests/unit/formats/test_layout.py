"""The config folder: thresholds for the gate, metric names, broken files."""

from __future__ import annotations

from pathlib import Path

import pytest
from eval_files import load_text, put, sound, told

from evalharness.formats.layout import metric_name

SUITE = "{id: a, input: x, expected_output: x}"
THRESHOLDS = """\
default: {pass@1: 0.8, pass_rate: 0.9}
categories: {strings: {pass_hat_3: 0.5}}
criticality: {critical: {pass^3: 1}}
"""


def test_thresholds_become_the_gate(tmp_path: Path) -> None:
    put(tmp_path, {"config/thresholds.yaml": THRESHOLDS})
    thresholds = {
        "default": {"pass_at_1": 0.8, "pass_rate": 0.9},
        "categories": {"strings": {"pass_hat_3": 0.5}},
        "criticality": {"critical": {"pass_hat_3": 1}},
    }
    assert sound(tmp_path, SUITE).gate == {"thresholds": thresholds}
    assert told(tmp_path, SUITE) == [
        "config/thresholds.yaml:1: warning: thresholds are read but not acted on by this version"
    ]
    own_gate = "{mode: strict, thresholds: {default: {score: 0.1}}}"
    own = f"eval_suite: {{name: s, gate: {own_gate}, evals: [{SUITE}]}}"
    gate = sound(tmp_path, own).gate
    assert gate == {"mode": "strict", "thresholds": {**thresholds, "default": {"score": 0.1}}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("default: {pass_rate: 2}", "default.pass_rate: must be a number from 0 to 1"),
        ("default: {pass_rate: true}", "must be a number from 0 to 1"),
        ("default: 0.5", "must be a mapping of metric: minimum"),
        ("categories: {a: 0.5}", "categories.a: must be a mapping of metric: minimum"),
        ("[1]", "must be a mapping"),
        ("a: [", "config/thresholds.yaml:1"),
    ],
)
def test_broken_thresholds_are_told_with_their_place(tmp_path: Path, text: str, message: str) -> None:
    put(tmp_path, {"config/thresholds.yaml": text})
    suite, _ = load_text(tmp_path, SUITE)
    assert suite is None
    errors = [line for line in told(tmp_path, SUITE) if "warning" not in line]
    assert message in errors[0]
    assert errors[0].startswith("config/thresholds.yaml:1")


def test_a_broken_file_of_graders_is_told_when_it_is_needed(tmp_path: Path) -> None:
    put(tmp_path, {"config/graders.yaml": "a: ["})
    assert any("config/graders.yaml:1" in line for line in told(tmp_path, SUITE[:-1] + ", grader: a}"))


def test_config_files_are_not_read_from_elsewhere(tmp_path: Path) -> None:
    outside = put(tmp_path / "outside", {"thresholds.yaml": THRESHOLDS})
    suite = put(tmp_path / "suite", {"config/graders.yaml": "a: exact"})
    (suite / "config" / "thresholds.yaml").symlink_to(outside / "thresholds.yaml")
    [line] = told(suite, SUITE)
    assert "config/thresholds.yaml lies outside the suite's folder" in line


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("pass@1", "pass_at_1"),
        ("pass_at_1", "pass_at_1"),
        ("pass^3", "pass_hat_3"),
        ("pass_hat_3", "pass_hat_3"),
        ("pass_rate", "pass_rate"),
        ("pass@k", "pass@k"),
        ("pass@" + "9" * 5000, "pass@" + "9" * 5000),
    ],
)
def test_a_metric_has_one_name(written: str, name: str) -> None:
    assert metric_name(written) == name
