"""The config folder: thresholds for the gate, metric names, broken files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eval_files import load, load_text, put, sound, told

from evalharness.domain.gate import Gate, metric_name

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
    assert sound(tmp_path, SUITE).gate == Gate.model_validate({"thresholds": thresholds})
    assert told(tmp_path, SUITE) == []


def test_what_the_suite_asks_for_wins_metric_by_metric(tmp_path: Path) -> None:
    put(tmp_path, {"config/thresholds.yaml": THRESHOLDS})

    def gate(written: str) -> Gate:
        found = sound(tmp_path, f"eval_suite: {{name: s, gate: {written}, evals: [{SUITE}]}}").gate
        assert found is not None
        return found

    own = gate("{inconclusive: fail, thresholds: {default: {score: 0.1, pass_rate: 0.2}}}")
    assert own.inconclusive == "fail"
    assert own.thresholds.default == {"pass_at_1": 0.8, "pass_rate": 0.2, "score": 0.1}
    assert own.thresholds.criticality == {"critical": {"pass_hat_3": 1}}
    preset = gate("critical")
    assert dict(next(preset.minima())[2]) == {
        "pass_at_1": 0.95,
        "pass_at_3": 0.999,
        "pass_hat_3": 0.9,
        "pass_rate": 0.9,
    }, "the preset is named by the suite, too"


def test_metrics_alone_are_meant_for_all_cases(tmp_path: Path) -> None:
    put(tmp_path, {"config/thresholds.yaml": "{pass_rate: 0.9}"})
    gate = sound(tmp_path, SUITE).gate
    assert gate is not None
    assert gate.thresholds.default == {"pass_rate": 0.9}


ROWS = """\
Development: {pass@1: 0.70, pass@k: 0.90, pass^k: 0.50}
production: {pass@1: 0.10, pass@k: 0.20}
"""


def test_rows_named_like_presets_say_what_those_ask_for(tmp_path: Path) -> None:
    put(tmp_path, {"config/thresholds.yaml": ROWS})
    plain = sound(tmp_path, SUITE)
    assert plain.gate is None, "nothing is asked before a preset is"
    assert plain.presets["development"] == {"pass_at_1": 0.7, "pass_at_k": 0.9, "pass_hat_k": 0.5}
    gate = sound(tmp_path, f"eval_suite: {{name: s, gate: production, evals: [{SUITE}]}}").gate
    assert gate is not None
    assert dict(next(gate.minima())[2]) == {"pass_at_1": 0.1, "pass_at_3": 0.2, "pass_hat_3": 0.8}
    assert told(tmp_path, SUITE) == []


PROMPT = """\
model_grader_prompt: |
  You are an expert evaluator.
  {input} {output} {expected} {rubric}
  Respond in JSON format:
  { "scores": { "criterion_1": <score>, ... }, "overall_score": <score> }
quality: {type: model, config: {rubric: Is it good?}}
"""


@pytest.mark.parametrize("grader", ["quality", "{type: model, config: {}}", "{type: model, config: {rubric: So?}}"])
def test_model_graders_without_a_prompt_get_that_of_the_folder(tmp_path: Path, grader: str) -> None:
    put(tmp_path, {"config/graders.yaml": PROMPT})
    suite = sound(tmp_path, f"{{id: a, input: x, expected_output: x, grader: {grader}}}")
    [case] = suite.cases
    assert case.expected is not None
    assert "expert evaluator" in case.expected.options["prompt"]


@pytest.mark.parametrize(
    "grader",
    [
        "{all_of: [{contains: x}, {model: {rubric: So?}}]}",
        "{weighted: {graders: [{model: {rubric: So?}}, {contains: x}], threshold: 0.5}}",
        "{not: {model: {rubric: So?}}}",
        "{all_of: [{contains: x}, {any_of: [{contains: y}, {model: {rubric: So?}}]}]}",
    ],
)
def test_the_prompt_of_the_folder_reaches_model_graders_inside_others(tmp_path: Path, grader: str) -> None:
    put(tmp_path, {"config/graders.yaml": PROMPT})
    [case] = sound(tmp_path, f"{{id: a, input: x, expected_output: x, graders: [{grader}]}}").cases
    [spec] = case.graders
    assert json.dumps(spec.options).count("expert evaluator") == 1


def test_graders_made_of_graders_without_a_model_stay_as_they_are_written(tmp_path: Path) -> None:
    put(tmp_path, {"config/graders.yaml": PROMPT})
    grader = "{all_of: [{contains: x}, {not: {contains: y}}]}"
    [case] = sound(tmp_path, f"{{id: a, input: x, expected_output: x, graders: [{grader}]}}").cases
    assert case.graders[0].options == [{"contains": "x"}, {"not": {"contains": "y"}}]


def test_a_prompt_of_its_own_goes_first_by_either_name(tmp_path: Path) -> None:
    put(tmp_path, {"config/graders.yaml": PROMPT})
    for key in ("prompt", "model_grader_prompt"):
        grader = f"{{type: model, config: {{{key}: 'Mine {{output}} {{expected}}'}}}}"
        [case] = sound(tmp_path, f"{{id: a, input: x, expected_output: x, grader: {grader}}}").cases
        assert case.expected is not None
        assert case.expected.options == {"expected": "x", key: "Mine {output} {expected}"}


@pytest.mark.parametrize(
    ("prompt", "problem"),
    [("'Show {outptu}'", "unknown placeholder {outptu}. Did you mean {output}?"), ("[1]", "must be text")],
)
def test_a_broken_prompt_is_told_once_where_it_stands(tmp_path: Path, prompt: str, problem: str) -> None:
    put(tmp_path, {"config/graders.yaml": f"model_grader_prompt: {prompt}"})
    one, other = (f"{{id: {id_}, input: x, expected_output: x, grader: {{type: model, config: {{}}}}}}" for id_ in "ab")
    [line] = told(tmp_path, f"[{one}, {other}]")
    assert line.startswith("config/graders.yaml:1: model_grader_prompt: ")
    assert problem in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("default: {pass_rate: 2}", "default.pass_rate: must be at most 1, not 2"),
        ("default: {pass_rate: true}", "default.pass_rate: must be a number, not true"),
        ("default: 0.5", "default: must be a mapping, not 0.5"),
        ("categories: {a: 0.5}", "categories.a: must be a mapping, not 0.5"),
        ("default: {pass@1: 0.8, pass_at_1: 0.9}", "default: 'pass_at_1' is pass@1, which is already given"),
        ("[1]", "must be a mapping"),
        ("a: [", "config/thresholds.yaml:1"),
        ("default: {pass_rat: 1}", "default.pass_rat: unknown metric 'pass_rat'; did you mean 'pass_rate'?"),
        ("default: {speed: 1}", "unknown metric 'speed'; known: pass_rate, case_pass_rate, score, pass@K, pass^K"),
        ("default: {pass@0: 1}", "unknown metric 'pass@0'"),
        (
            "criticality: {critcal: {score: 1}}",
            "criticality.critcal: 'critcal' is not allowed; did you mean 'critical'",
        ),
        ("defalt: {score: 1}", "defalt: unknown key 'defalt'; did you mean 'default'?"),
        ("{default: {score: 1}, category: {}}", "category: unknown key 'category'; did you mean 'categories'?"),
    ],
)
def test_broken_thresholds_are_reported_with_their_place(tmp_path: Path, text: str, message: str) -> None:
    put(tmp_path, {"config/thresholds.yaml": text})
    suite, _ = load_text(tmp_path, SUITE)
    assert suite is None
    errors = [line for line in told(tmp_path, SUITE) if "warning" not in line]
    assert message in errors[0]
    assert errors[0].startswith("config/thresholds.yaml:1")


@pytest.mark.parametrize(
    "metric", ["pass_rate", "case_pass_rate", "score", "pass@10", "pass^3", "pass@k", "pass_hat_5", "pass_hat_3_plugin"]
)
def test_what_is_measured_may_have_a_threshold(tmp_path: Path, metric: str) -> None:
    put(tmp_path, {"config/thresholds.yaml": f"default: {{{metric}: 0.5}}\ncriticality: {{low: {{{metric}: 0.5}}}}"})
    assert told(tmp_path, SUITE) == []


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


def test_a_broken_file_of_graders_is_reported_when_it_is_needed(tmp_path: Path) -> None:
    put(tmp_path, {"config/graders.yaml": "a: ["})
    assert any("config/graders.yaml:1" in line for line in told(tmp_path, SUITE[:-1] + ", grader: a}"))


def test_config_files_are_not_read_from_elsewhere(tmp_path: Path) -> None:
    outside = put(tmp_path / "outside", {"thresholds.yaml": THRESHOLDS})
    suite = put(tmp_path / "suite", {"config/graders.yaml": "a: exact"})
    (suite / "config" / "thresholds.yaml").symlink_to(outside / "thresholds.yaml")
    [line] = told(suite, SUITE)
    assert "config/thresholds.yaml is outside the suite's folder" in line


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("pass@1", "pass_at_1"),
        ("pass_at_1", "pass_at_1"),
        ("pass^3", "pass_hat_3"),
        ("pass_hat_3", "pass_hat_3"),
        ("pass_rate", "pass_rate"),
        ("pass@k", "pass_at_k"),
        ("pass@" + "9" * 5000, "pass@" + "9" * 5000),
    ],
)
def test_a_metric_has_one_name(written: str, name: str) -> None:
    assert metric_name(written) == name
