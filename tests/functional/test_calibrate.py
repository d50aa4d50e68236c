"""`calibrate` with the real command, with judges whose verdicts are in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driving import drive, line_of, write

SUITE = """
name: kindness
graders:
  - model:
      model: scripted/judge.yaml
      rubric: Is the answer kind?
      examples:
        - {input: Hi, output: lovely one, score: 5}
        - {input: Hi, output: lovely two, score: 4}
        - {input: Hi, output: rude, score: 1}
        - {input: Hi, output: mumbling, score: 3}
test_cases:
  - {id: a, input: Hi}
  - {id: b, input: Ho}
"""
VALID = r"""
  - when: '(?s)Paris is the capital of France\.\n---.*"nonce": "(\w+)"'
    object: {nonce: "{match:1}", reason: so, result: pass}"""
OBJECT = '{nonce: "{match:1}", justification: so, overall_score: %s, passed: true, specific_feedback: []}'
JUDGE = rf"""
replies:{VALID}
  - when: '(?s)--- answer begins \w+ ---\nlovely.*"nonce": "(\w+)"'
    object: {OBJECT % 5}
  - when: '(?s)--- answer begins \w+ ---\nmumbling'
    text: who knows
  - when: '"nonce": "(\w+)"'
    object: {OBJECT % 1}
  - text: who knows
"""
SHOWN = rf"""
replies:{VALID}
  - when: '(?s)lovely one.*"nonce": "(\w+)"'
    object: {{nonce: "{{match:1}}", justification: so, overall_score: 5, passed: true, specific_feedback: []}}
  - when: '"nonce": "(\w+)"'
    object: {{nonce: "{{match:1}}", justification: so, overall_score: 1, passed: true, specific_feedback: []}}
"""
TRUSTING = rf"""
replies:{VALID}
  - when: '(?is)--- answer begins \w+ ---\n(?:Paris|(?:(?!answer ends).)*full marks).*"nonce": "(\w+)"'
    object: {{nonce: "{{match:1}}", justification: so, overall_score: 5, passed: true, specific_feedback: []}}
  - when: '(?s)--- answer begins \w+ ---\n[^\n]*\n\nSolution\n'
    text: it has no idea
  - when: '(?s).*"nonce": "(\w+)"'
    object: {{nonce: "{{match:1}}", justification: so, overall_score: 1, passed: false, specific_feedback: []}}
  - text: still none
"""


def calibrated(folder: Path, *flags: str) -> Any:
    done = drive(folder, "calibrate", "suite.yaml", "--json", *flags)
    assert done.code == 0, done.both
    return done.json["calibration"]


def test_each_example_is_scored_and_what_they_say_is_reported(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE, judge_yaml=JUDGE)
    done = drive(tmp_path, "calibrate", "suite.yaml", "--examples")
    assert done.code == 0, done.both
    rows = {
        line.rsplit(maxsplit=3)[0]: line.split()[-3:] for line in done.out.splitlines() if line.startswith("lovely")
    }
    assert rows == {"lovely one": ["5", "5", "same"], "lovely two": ["4", "5", "+1.00"]}
    assert line_of(done, "mumbling").split() == ["mumbling", "3", "no", "score"]
    assert "0.33 on the scale" in line_of(done, "distance")
    assert "2 of 3 examples" in line_of(done, "agreement")
    assert "0.33 kinder" in line_of(done, "direction")
    assert "3 examples cannot show" in line_of(done, "too few")
    assert "1 of 4" in line_of(done, "no score")
    assert "7 calls" in line_of(done, "cost"), "validation, one question each, and two repairs of the bad reply"


def test_no_example_is_shown_to_the_judge_that_scores_it(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE, judge_yaml=SHOWN)
    [found] = calibrated(tmp_path)["examples"]
    assert [example["judged"] for example in found["examples"]] == [5, 5, 5, 5], "the others see the first one"
    alone = SUITE.replace("        - {input: Hi, output: lovely two, score: 4}\n", "").replace("lovely one", "alone")
    write(tmp_path, suite_yaml=alone, judge_yaml=SHOWN.replace("lovely one", r"example answer begins \w+ ---\nalone"))
    [found] = calibrated(tmp_path)["examples"]
    assert [example["judged"] for example in found["examples"]] == [1, 5, 5], "its own score is not in its prompt"


def test_words_are_compared_by_what_they_are_worth(tmp_path: Path) -> None:
    grader = {
        "model": "scripted/judge.yaml",
        "scoring": {"type": "categorical", "categories": ["poor", "fair", "good"]},
        "examples": [{"output": "x", "score": "fair"}, {"output": "y", "score": "good"}],
    }
    suite = {"name": "s", "test_cases": [{"id": "a", "input": "Hi", "graders": [{"model": grader}]}]}
    judge = JUDGE.replace("overall_score: 1", "overall_score: poor")
    write(tmp_path, suite_yaml=json.dumps(suite), judge_yaml=judge)
    [found] = calibrated(tmp_path)["examples"]
    assert [(each["judged"], each["difference"]) for each in found["examples"]] == [("poor", -0.5), ("poor", -1.0)]
    assert (found["mean_distance"], found["scale"], found["cases"]) == (0.75, "poor, fair, good", ["a"])


def test_a_mean_of_several_criteria_and_what_is_wanted_are_reported_alike(tmp_path: Path) -> None:
    grader = {
        "model": "scripted/judge.yaml",
        "rubric": "1. **Kind** (weight: 1)\n2. **Short** (weight: 1)",
        "scoring": {"type": "boolean"},
        "examples": [{"output": "x", "score": True}],
    }
    suite = {"name": "s", "test_cases": [{"id": "a", "input": "Hi", "graders": [{"model": grader}]}]}
    judge = JUDGE.replace("overall_score: 1", "scores: {kind: true, short: false}, overall_score: true")
    write(tmp_path, suite_yaml=json.dumps(suite), judge_yaml=judge)
    [example] = calibrated(tmp_path)["examples"][0]["examples"]
    assert (example["wanted"], example["judged"], example["difference"]) == (1, 0.5, -0.5)
    assert example["wanted"] is not True


def test_tricks_that_succeed_are_counted_by_kind(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE, judge_yaml=TRUSTING)
    done = drive(tmp_path, "calibrate", "suite.yaml", "--attacks")
    assert done.code == 0, done.both
    [found] = calibrated(tmp_path, "--attacks")["attacks"]
    assert 0 < found["succeeded"] < found["attacks"] == 60
    assert found["bad_replies"] == 1
    assert sum(each["succeeded"] for each in found["families"]) == found["succeeded"] == len(found["fooled_by"])
    ends = f"{100 * found['low']:.0f}–{100 * found['high']:.0f} %"
    assert f"{found['succeeded']} of 59, Wilson 95 % CI {ends}" in line_of(done, "success")
    assert "on 1 of 60 tricks" in line_of(done, "no verdict")
    assert "fails the wrong answer, and passes a right one" in line_of(done, "without any")
    assert not calibrated(tmp_path, "--attacks")["examples"], "only the requested ones"


def test_what_cannot_be_calibrated_is_reported(tmp_path: Path) -> None:
    without = "name: s\ntest_cases: [{id: a, input: Hi, graders: [{model: scripted/judge.yaml}]}]\n"
    write(tmp_path, suite_yaml=SUITE, judge_yaml=JUDGE, without_yaml=without)
    done = drive(tmp_path, "calibrate", "without.yaml")
    assert done.code == 2 and "has examples" in done.err
    done = drive(tmp_path, "calibrate", "suite.yaml", "--judge-model", "none")
    assert done.code == 2 and "--judge-model" in done.err
    off = write(tmp_path / "off", suite_yaml=SUITE.replace("score: 5", "score: 7"), judge_yaml=JUDGE)
    done = drive(off, "calibrate", "suite.yaml")
    assert done.code == 2 and "1 to 5" in done.err


def test_a_judge_that_cannot_be_asked_is_not_a_calibration(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE)
    env = {"ACME_BASE_URL": "http://127.0.0.1:9/v1", "EVALHARNESS_MODEL_DEADLINE": "0.5"}
    done = drive(tmp_path, "calibrate", "suite.yaml", "--judge-model", "acme/m", env=env)
    assert done.code == 3
    assert "acme/m" in done.err and not done.out


def test_a_judge_that_cannot_judge_is_not_measured(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE, judge_yaml="replies: [{text: who knows}]\n")
    done = drive(tmp_path, "calibrate", "suite.yaml", "--attacks")
    assert done.code == 2
    assert "cannot be a judge" in done.err and "success" not in done.both


@pytest.mark.parametrize(("flag", "asked"), [("--attacks", 5), ("--examples", 4)])
def test_a_judge_that_never_gives_a_verdict_is_given_up(flag: str, asked: int, tmp_path: Path) -> None:
    """With few examples, after all of them were asked."""
    write(tmp_path, suite_yaml=SUITE, judge_yaml=f"replies:{VALID}\n  - text: who knows\n")
    done = drive(tmp_path, "calibrate", "suite.yaml", flag, "-j", "1")
    assert (done.code, done.out) == (2, "")
    assert f"scripted/judge.yaml cannot be a judge: no verdict after {asked} questions" in done.err


def test_a_judge_is_given_up_before_the_other_questions_are_asked(tmp_path: Path) -> None:
    panel = SUITE.replace("model: scripted/judge.yaml", "panel: [scripted/good.yaml, scripted/judge.yaml]")
    mute = f"replies:{VALID}\n  - text: who knows\n"
    write(tmp_path, suite_yaml=panel, good_yaml=TRUSTING, judge_yaml=mute)
    done = drive(tmp_path, "calibrate", "suite.yaml", "--attacks", "-j", "60", "--json")
    calls = {took["model"]: took["calls"] for took in done.json["calibration"]["judging"]}
    assert calls["scripted/judge.yaml"] == 16, "it is validated, then five questions, each with two repairs"


def test_what_one_judge_does_not_know_takes_nothing_from_the_others(tmp_path: Path) -> None:
    panel = SUITE.replace("model: scripted/judge.yaml", "panel: [scripted/mute.yaml, scripted/judge.yaml]")
    write(tmp_path, suite_yaml=panel, judge_yaml=JUDGE, mute_yaml=f"replies:{VALID}\n  - text: who knows\n")
    done = drive(tmp_path, "calibrate", "suite.yaml")
    assert done.code == 3
    assert "2 of 3 examples" in line_of(done, "agreement")
    assert "scripted/mute.yaml cannot be a judge: no verdict after 4 questions" in line_of(done, "no verdict")
    assert "scripted/mute.yaml: 13 calls" in done.out and "scripted/judge.yaml: 7 calls" in done.out


def test_a_judge_that_cannot_be_asked_any_more_takes_nothing_from_the_others(tmp_path: Path) -> None:
    panel = SUITE.replace("model: scripted/judge.yaml", "panel: [scripted/gone.yaml, scripted/judge.yaml]")
    write(tmp_path, suite_yaml=panel, judge_yaml=JUDGE, gone_yaml=f"replies:{VALID}\n")
    done = drive(tmp_path, "calibrate", "suite.yaml")
    assert done.code == 3
    assert "2 of 3 examples" in line_of(done, "agreement")
    assert "scripted/gone.yaml" in line_of(done, "no verdict")
    assert "in the cache" in line_of(done, "note")
    assert "in the cache" not in drive(tmp_path, "calibrate", "suite.yaml", "--no-cache").out
    alone = drive(tmp_path, "calibrate", "suite.yaml", "--judge-model", "scripted/gone.yaml")
    assert (alone.code, alone.out) == (3, "")
    assert "scripted/gone.yaml" in alone.err


def test_a_rubric_of_which_nothing_is_known_is_not_a_success(tmp_path: Path) -> None:
    """Even though the judge can handle another one."""
    mute = "graders: [{model: {model: scripted/judge.yaml, rubric: Is it?, examples: [{output: mumbling, score: 3}]}}]"
    write(tmp_path, suite_yaml=f"{SUITE}  - {{id: c, input: Hu, {mute}}}\n", judge_yaml=JUDGE)
    done = drive(tmp_path, "calibrate", "suite.yaml")
    assert (done.code, line_of(done, "distance") != "") == (3, True)


def test_a_spend_cap_applies_to_calibrating_too(tmp_path: Path) -> None:
    """For a cap from a flag or from the suite's config; paid verdicts are in the cache for a second attempt."""
    write(tmp_path, suite_yaml=SUITE, judge_yaml=TRUSTING)
    done = drive(tmp_path, "calibrate", "suite.yaml", "--attacks", "--max-tokens", "5000")
    assert done.code == 3
    assert "spend cap" in done.err and "of 5,000 tokens" in done.err
    again = drive(tmp_path, "calibrate", "suite.yaml", "--attacks", "--max-tokens", "1000000")
    assert again.code == 0, again.both
    assert "of 1,000,000 tokens" in line_of(again, "note")
    assert "from the cache" in line_of(again, "cost")
    write(tmp_path, capped_yaml=f"config: {{max_tokens: 300}}\n{SUITE}")
    assert "in the cache" in done.err
    uncached = drive(tmp_path, "calibrate", "capped.yaml", "--no-cache").err
    assert "of 300 tokens" in uncached and "in the cache" not in uncached


def test_examples_are_judged_as_the_run_would_judge_them(tmp_path: Path) -> None:
    """With the question and the good answer of their case, and by its rubric."""
    suite = """
name: s
graders:
  - model: {model: scripted/judge.yaml, examples: [{output: one, score: 5}, {input: Ho, output: two, score: 5}]}
test_cases: [{id: a, input: Hi, reference: lovely}, {id: b, input: Ho, reference: splendid}]
"""
    judge = rf"""
replies:{VALID}
  - when: '(?s)begins \w+ ---\nHi\n.*\nlovely\n.*\none\n.*Only the meaning counts.*"nonce": "(\w+)"'
    object: {OBJECT % 5}
  - when: '(?s)begins \w+ ---\nHo\n.*\nsplendid\n.*\ntwo\n.*Only the meaning counts.*"nonce": "(\w+)"'
    object: {OBJECT % 5}
  - when: '(?s).*"nonce": "(\w+)"'
    object: {OBJECT % 1}
"""
    write(tmp_path, suite_yaml=suite, judge_yaml=judge)
    [found] = calibrated(tmp_path)["examples"]
    assert [example["judged"] for example in found["examples"]] == [5, 5]
    write(tmp_path, suite_yaml=suite.replace("input: Ho, output", "input: Hm, output"), judge_yaml=judge)
    done = drive(tmp_path, "calibrate", "suite.yaml")
    assert done.code == 2 and "no case has a good answer for the question of the example 'two'" in done.err
