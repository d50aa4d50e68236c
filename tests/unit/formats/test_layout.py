"""The config folder: thresholds for the gate, metric names, broken files."""

from __future__ import annotations

from pathlib import Path

import pytest
from eval_files import load, load_text, put, sound, told

from evalharness.formats.evals.layout import metric_name

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
        ("default: {pass@1: 0.8, pass_at_1: 0.9}", "default.pass_at_1: is pass_at_1, which is already given"),
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("default: {pass_rat: 1}", "default.pass_rat: unknown metric 'pass_rat'; did you mean 'pass_rate'?"),
        ("default: {speed: 1}", "unknown metric 'speed'; allowed: pass_rate, case_pass_rate, score, pass@K, pass^K"),
        ("default: {pass@0: 1}", "unknown metric 'pass@0'"),
        ("criticality: {critcal: {score: 1}}", "criticality.critcal: unknown key 'critcal'; did you mean 'critical'?"),
    ],
)
def test_thresholds_of_what_nobody_measures_are_warned_of(tmp_path: Path, text: str, message: str) -> None:
    put(tmp_path, {"config/thresholds.yaml": text})
    sound(tmp_path, SUITE)
    assert any(message in line for line in told(tmp_path, SUITE)), told(tmp_path, SUITE)


@pytest.mark.parametrize(
    "metric", ["pass_rate", "case_pass_rate", "score", "pass@10", "pass^3", "pass@k", "pass_hat_5"]
)
def test_what_is_measured_may_have_a_threshold(tmp_path: Path, metric: str) -> None:
    put(tmp_path, {"config/thresholds.yaml": f"default: {{{metric}: 0.5}}\ncriticality: {{low: {{{metric}: 0.5}}}}"})
    assert [line for line in told(tmp_path, SUITE) if "not acted on" not in line] == []


def test_the_config_folder_is_named_as_the_user_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"config/graders.yaml": "a: {exat: 1}", "evals/deep/e.yaml": SUITE[:-1] + ", grader: a}"})
    for folder, path, named in (
        (".", "evals/deep/e.yaml", "config/graders.yaml"),
        ("evals", "deep/e.yaml", "../config/graders.yaml"),
        ("evals/deep", "e.yaml", "../../config/graders.yaml"),
        ("evals/deep", str(tmp_path / "evals/deep/e.yaml"), str(tmp_path / "config/graders.yaml")),
    ):
        monkeypatch.chdir(tmp_path / folder)
        _, problems = load(Path(path))
        assert [problem.file for problem in problems] == [named]


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
