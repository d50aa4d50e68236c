"""Runs that a judge grades: who judges, what is stored, and what it may cost. The judge's replies are in a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from driving import Outcome, drive, printed_name, texts, write

JUDGE = r"""
replies:
  - when: '(?s)Paris is the capital of France.*"nonce": "([0-9a-f]{32})"'
    object: {nonce: "{match:1}", result: pass, reason: it says so}
  - when: '(?s)answer begins.*kind.*answer ends.*"nonce": "([0-9a-f]{32})"'
    object: {nonce: "{match:1}", scores: {kindness: 5}, overall_score: 5, passed: true, justification: warm, LINES}
  - when: '(?s)answer begins.*garbled.*answer ends'
    text: I would say this one is fine.
  - when: '(?s)"nonce": "([0-9a-f]{32})"'
    object: {nonce: "{match:1}", scores: {kindness: 1}, overall_score: 5, passed: true, justification: cold, LINES}
""".replace("LINES", "specific_feedback: []")
SUITE = """
name: kindness
target: echo
graders:
  - model: {rubric: "1. **Kindness** (weight: 1)"}
test_cases:
  - {id: warm, input: a kind word}
  - {id: cold, input: a harsh word}
"""
GARBLED = "  - {id: odd, input: a garbled word}\n"
SPENT = re.compile(r"spent ([\d,]+) of")
SPENDER = """
from evalharness import Answer

def answer(question):
    return Answer(output=question, cost_usd=0.4, usage={"input_tokens": 10, "output_tokens": 5})
"""


def judged(folder: Path, *flags: str, command: str = "run", suite: str = SUITE) -> Outcome:
    write(folder, suite_yaml=suite, judge_yaml=JUDGE)
    named = ("suite.yaml",) if command == "run" else ()
    return drive(folder, command, *named, *flags)


def grades(done: Outcome) -> dict[str, dict[str, Any]]:
    return {trial["case_id"]: trial["grades"][0] for trial in done.report["trials"] if trial["grades"]}


def test_the_criteria_decide_and_the_judges_own_verdict_is_only_kept(tmp_path: Path) -> None:
    done = judged(tmp_path, "--judge-model", "scripted/judge.yaml", "--json")
    assert done.code == 1
    assert done.states() == {"warm": ["passed"], "cold": ["failed"]}
    cold = grades(done)["cold"]
    assert cold["score"] == 0.0
    assert cold["evidence"]["passed"] is True
    assert cold["evidence"]["justification"] == "cold"
    assert cold["judging"][0]["model"] == "scripted/judge.yaml"


def test_what_judges_took_is_reported(tmp_path: Path) -> None:
    done = judged(tmp_path, "--judge-model", "scripted/judge.yaml", "-v")
    assert re.search(r"^judges +scripted/judge.yaml: 2 calls, [\d,]+ tokens in, \d+ out, \$0$", done.out, re.M)


def test_a_verdict_is_not_paid_for_twice_unless_asked_for(tmp_path: Path) -> None:
    judge = ("--judge-model", "scripted/judge.yaml", "--json")
    judged(tmp_path, *judge)
    again = judged(tmp_path, *judge).report["judging"]
    afresh = judged(tmp_path, *judge, "--no-cache").report["judging"]
    assert [(took["calls"], took["cached"]) for took in (*again, *afresh)] == [(0, 2), (2, 0)]


def test_the_cache_is_reported_and_cleared(tmp_path: Path) -> None:
    judged(tmp_path, "--judge-model", "scripted/judge.yaml")
    assert drive(tmp_path, "cache", "--json").json["verdicts"] == 2
    assert "2 verdicts" in drive(tmp_path, "cache").out
    assert "0 verdicts removed" in drive(tmp_path, "cache", "clear", "--older-than", "1d").out
    assert drive(tmp_path, "cache", "clear", "--json").json == {"removed": 2}
    assert "no verdicts are cached" in drive(tmp_path, "cache").out


def test_a_judge_whose_script_changed_is_asked_again(tmp_path: Path) -> None:
    judge = ("--judge-model", "scripted/judge.yaml", "--json")
    judged(tmp_path, *judge)
    write(tmp_path, suite_yaml=SUITE, judge_yaml=JUDGE.replace("warm", "still warm"))
    again = drive(tmp_path, "run", "suite.yaml", *judge)
    assert [took["cached"] for took in again.report["judging"]] == [0]


def test_grades_that_stayed_outstanding_are_given_later(tmp_path: Path) -> None:
    due = judged(tmp_path)
    assert due.code == 4
    graded = judged(tmp_path, printed_name(due), "--judge-model", "scripted/judge.yaml", "--json", command="regrade")
    assert graded.code == 1
    assert graded.states() == {"warm": ["passed"], "cold": ["failed"]}


HARSH = JUDGE.replace("kindness: 5", "kindness: 1")


def test_a_judge_for_what_is_outstanding_leaves_other_verdicts_alone(tmp_path: Path) -> None:
    """The report says what that run cost, not what the run before had spent."""
    suite = """
name: half
target: echo
test_cases:
  - {id: given, input: a kind word, graders: [{model: {rubric: "Kindness (weight: 1)", model: scripted/judge.yaml}}]}
  - {id: due, input: a kind word, graders: [{model: {rubric: "Kindness (weight: 1)"}}]}
"""
    write(tmp_path, harsh_yaml=HARSH)
    run = judged(tmp_path, suite=suite)
    assert run.code == 4
    harsh = (printed_name(run), "--judge-model", "scripted/harsh.yaml", "--json")
    done = drive(tmp_path, "regrade", *harsh)
    assert done.states() == {"given": ["passed"], "due": ["failed"]}
    assert [(took["model"], took["calls"]) for took in done.report["judging"]] == [("scripted/harsh.yaml", 1)]
    assert any("1 grade of judges kept" in note for note in texts(done.report["notes"]))
    assert drive(tmp_path, "regrade", *harsh, "--no-cache").states() == {"given": ["failed"], "due": ["failed"]}
    nothing_due = done.run_name
    again = drive(tmp_path, "regrade", nothing_due, *harsh[1:])
    assert again.states()["given"] == ["failed"], "without outstanding grades, everything is judged again"


def test_the_flag_goes_before_what_a_grader_names_and_none_leaves_all_outstanding(tmp_path: Path) -> None:
    named = SUITE.replace("model: {rubric:", "model: {model: openai/nobody, rubric:")
    assert judged(tmp_path, "--judge-model", "scripted/judge.yaml", suite=named).code == 1
    assert judged(tmp_path, "--judge-model", "none", suite=named).code == 4


def test_the_suite_may_name_the_judge_for_all_its_graders(tmp_path: Path) -> None:
    named = SUITE.replace("target: echo", "target: echo\nconfig: {judge_model: scripted/judge.yaml}")
    assert judged(tmp_path, "--json", suite=named).states() == {"warm": ["passed"], "cold": ["failed"]}


def test_a_judge_that_talks_nonsense_is_an_error_and_never_a_verdict(tmp_path: Path) -> None:
    done = judged(tmp_path, "--judge-model", "scripted/judge.yaml", "--json", suite=SUITE + GARBLED)
    assert done.states()["odd"] == ["error"]
    assert grades(done)["odd"]["state"] == "unscored"
    assert done.code == 3


def test_a_judge_that_talks_nonsense_is_asked_three_times_and_no_retry_asks_again(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE + GARBLED, judge_yaml=f"{JUDGE}  - text: still fine\n")
    done = drive(tmp_path, "run", "suite.yaml", "--judge-model", "scripted/judge.yaml", "--json")
    assert done.states()["odd"] == ["error"]
    assert done.report["judging"][0]["calls"] == 5, "one for each of two, three for the third"
    shown = drive(tmp_path, "run", "suite.yaml", "--judge-model", "scripted/judge.yaml")
    assert re.search(r"^resume +\S+ resume \S+$", shown.out, re.M)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("openai/gpt-4o", "OPENAI_API_KEY"),
        ("nobody/judge", "NOBODY_BASE_URL"),
        ("scripted/missing.yaml", "missing.yaml"),
        ("smart", "provider/model"),
    ],
)
def test_a_judge_that_cannot_be_asked_stops_the_run_before_any_trial(model: str, words: str, tmp_path: Path) -> None:
    write(tmp_path, agent_py="def answer(question):\n    open('asked', 'w').close()\n    return question\n")
    done = judged(tmp_path, "--judge-model", model, suite=SUITE.replace("target: echo", "target: agent.py:answer"))
    assert done.code == 2
    assert words in done.err
    assert not (tmp_path / "asked").exists()


def test_a_judge_that_fails_the_trivial_question_stops_the_run(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE, judge_yaml="replies: [{text: I never judge.}]")
    done = drive(tmp_path, "run", "suite.yaml", "--judge-model", "scripted/judge.yaml")
    assert done.code == 2
    assert "cannot be a judge" in done.err
    assert "--judge-model none" in done.err
    assert drive(tmp_path, "runs", "--json").json["runs"] == []


def test_a_case_without_a_judge_of_its_own_is_judged_by_its_known_answer(tmp_path: Path) -> None:
    suite = SUITE.replace('graders:\n  - model: {rubric: "1. **Kindness** (weight: 1)"}\n', "")
    suite = suite.replace("a kind word}", "a kind word, expected: another word}")
    done = judged(tmp_path, "--grader-type", "model", "--json", suite=suite)
    assert done.states() == {"warm": ["awaiting"], "cold": ["skipped"]}
    assert grades(done)["warm"]["kind"] == "model"


@pytest.mark.parametrize(("flag", "cap"), [("--max-cost", "0.5"), ("--max-tokens", "20")])
def test_a_spend_cap_stops_a_run_keeps_what_is_done_and_lets_it_go_on(flag: str, cap: str, tmp_path: Path) -> None:
    cases = "".join(f"  - {{id: c{number}, input: hello, expected: hello}}\n" for number in range(5))
    suite = f"name: dear\ntarget: agent.py:answer\ntest_cases:\n{cases}"
    write(tmp_path, suite_yaml=suite, agent_py=SPENDER)
    done = drive(tmp_path, "run", "suite.yaml", "-j", "1", flag, cap)
    assert done.code == 3
    assert "spend cap was reached: 3 trials not run" in done.out
    assert "3 pending, 2 passed" in done.out
    assert f"resume {printed_name(done)} {flag}" in done.out
    idle = drive(tmp_path, "resume")
    assert idle.code == 3
    assert "3 pending, 2 passed" in idle.out
    ended = drive(tmp_path, "resume", flag, "1000")
    assert ended.code == 0
    assert "PASSED   5 passed" in ended.out


def test_the_parts_of_what_was_spent_add_up(tmp_path: Path) -> None:
    """Validating the judge, and an agent that the cap interrupted, belong to no trial; both costs are reported."""
    write(tmp_path, agent_yaml="replies: [{tool_calls: [{name: list_files}]}]\n")
    suite = SUITE.replace("target: echo", "target: {agent: scripted/agent.yaml, max_rounds: 1000}")
    flags = ("--judge-model", "scripted/judge.yaml", "--max-tokens", "1000", "-j", "1", "--json", "--sandbox", "none")
    done = judged(tmp_path, *flags, suite=suite)
    assert (done.code, done.report["trials"]) == (3, [])
    notes = "; ".join(texts(done.report["notes"])).replace(",", "")
    [checked] = re.findall(r"took scripted/judge.yaml: 1 call (\d+) tokens in (\d+) out", notes)
    [rest] = re.findall(r"(\d+) tokens of that are neither", notes)
    [spent] = SPENT.findall(notes)
    assert sum(map(int, (*checked, rest))) == int(spent)


@pytest.mark.parametrize("command", ["run", "regrade"])
def test_runs_that_share_a_cap_report_once_what_trying_out_their_judges_took(command: str, tmp_path: Path) -> None:
    judge = ("--judge-model", "scripted/judge.yaml", "--max-tokens", "100000", "--no-cache", "--json")
    done = judged(tmp_path, "--target", "echo", "--target", "oracle", *judge)
    if command == "regrade":
        name = done.json["eval_reports"][0]["metadata"]["run_name"]
        done = drive(tmp_path, "regrade", name, "--matrix", *judge)
    notes = ["; ".join(texts(report["notes"])).replace(",", "") for report in done.json["eval_reports"]]
    assert [note.count("checking the judge took") for note in notes] == [0, 1]
    assert "before the run" not in notes[1]
    took = done.json["eval_reports"][0]["judging"][0]
    [checked] = re.findall(r"took scripted/judge.yaml: 2 calls (\d+) tokens in (\d+) out", notes[1])
    spent = [int(SPENT.findall(note)[0]) for note in notes]
    assert spent[0] == spent[1] == sum(map(int, checked)) + took["input_tokens"] + took["output_tokens"]


def test_a_judge_that_may_not_be_paid_leaves_its_grade_outstanding_and_the_answer_kept(tmp_path: Path) -> None:
    twice = SUITE.replace("graders:", 'graders:\n  - model: {rubric: "1. **Kindness** (weight: 2)"}')
    judge = ("--judge-model", "scripted/judge.yaml", "--json", "-j", "1")
    once = judged(tmp_path, *judge, "--max-tokens", "100000", "--no-cache", suite=twice)
    [spent] = [int(found[1].replace(",", "")) for found in map(SPENT.match, texts(once.report["notes"])) if found]
    took = once.report["judging"][0]
    validation = spent - took["input_tokens"] - took["output_tokens"]
    done = judged(tmp_path, *judge, "--max-tokens", str(validation + 1), "--no-cache", suite=twice)
    assert done.code == 3
    assert done.states() == {"warm": ["awaiting"]}
    assert done.report["trials"][0]["output"] == "a kind word"
    name = done.run_name
    shown = drive(tmp_path, "show", name).out
    assert "--judge-model M" not in shown
    idle = drive(tmp_path, "resume", name)
    assert idle.code == 3
    assert f"resume {name} --max-tokens" in idle.out
    resumed = drive(tmp_path, "resume", name, "--max-tokens", "100000", "--json")
    assert resumed.states() == {"warm": ["passed"], "cold": ["failed"]}
    assert [took["calls"] for took in resumed.report["judging"]] == [took["calls"]], "each was asked for once"
    assert resumed.report["trials"][0]["attempts"] == 1
    again = drive(tmp_path, "resume", name, "--json")
    assert again.report["judging"] == resumed.report["judging"], "there is nothing left to do"


def test_a_failing_answer_gets_all_its_attempts_also_where_the_money_ran_out_between_them(tmp_path: Path) -> None:
    suite = SUITE.replace("  - {id: warm, input: a kind word}\n", "") + "config: {retry_failed: true, retries: 2}\n"
    judge = ("--judge-model", "scripted/judge.yaml", "--json", "-j", "1", "--no-cache")
    whole = judged(tmp_path, *judge, "--max-tokens", "100000", suite=suite)
    [spent] = [int(found[1].replace(",", "")) for found in map(SPENT.match, texts(whole.report["notes"])) if found]
    took = whole.report["judging"][0]
    validation = spent - took["input_tokens"] - took["output_tokens"]
    capped = judged(tmp_path, *judge, "--max-tokens", str(validation + 1), suite=suite)
    [trial] = capped.report["trials"]
    assert (trial["state"], trial["attempts"]) == ("awaiting", 2)
    resumed = drive(tmp_path, "resume", "--max-tokens", "100000", "--json")
    for done in (whole, resumed):
        [trial] = done.report["trials"]
        assert (trial["state"], trial["attempts"], done.report["judging"][0]["calls"]) == ("failed", 3, 3)


def test_a_suite_that_names_its_judge_needs_none_on_the_command_line(tmp_path: Path) -> None:
    named = SUITE.replace("{rubric", "{model: scripted/judge.yaml, rubric")
    due = judged(tmp_path, "--judge-model", "none", suite=named)
    assert re.search(r"^grade +\S+ regrade \S+$", due.out, re.M)


def test_a_capped_regrade_says_how_to_go_on(tmp_path: Path) -> None:
    due = judged(tmp_path)
    capped = drive(tmp_path, "regrade", printed_name(due), "--judge-model", "scripted/judge.yaml", "--max-tokens", "1")
    assert capped.code == 3
    assert re.search(r"^regrade +\S+ regrade \S+ --judge-model scripted/judge.yaml --max-tokens 2$", capped.out, re.M)


def test_a_regrade_without_a_judge_does_not_throw_verdicts_away(tmp_path: Path) -> None:
    run = printed_name(judged(tmp_path, "--judge-model", "scripted/judge.yaml"))
    refused = drive(tmp_path, "regrade", run)
    assert refused.code == 2
    assert "would be lost" in refused.err and "--judge-model scripted/judge.yaml" in refused.err
    assert drive(tmp_path, "regrade", run, "--judge-model", "none").code == 4


def test_a_target_that_costs_nothing_is_not_reported_as_uncounted(tmp_path: Path) -> None:
    done = judged(tmp_path, "--judge-model", "scripted/judge.yaml", "--max-cost", "1")
    assert "of $1" in done.out
    assert "without a known cost" not in done.out


PARTS = """
name: parts
target: echo
test_cases:
  - id: a
    input: a kind word
    graders:
      - all_of:
          - model: {rubric: "1. **Kindness** (weight: 1)", model: scripted/judge.yaml}
          - model: {rubric: "1. **Kindness** (weight: 2)"}
"""


def test_a_judge_for_what_is_outstanding_leaves_verdicts_inside_other_graders_alone(tmp_path: Path) -> None:
    write(tmp_path, harsh_yaml=HARSH)
    run = judged(tmp_path, suite=PARTS)
    assert run.code == 4
    done = drive(tmp_path, "regrade", printed_name(run), "--judge-model", "scripted/harsh.yaml", "--json")
    [first, second] = done.report["trials"][0]["grades"][0]["evidence"]
    assert (first["state"], second["state"]) == ("pass", "fail")
    assert [(took["model"], took["calls"]) for took in done.report["judging"]] == [("scripted/harsh.yaml", 1)]
    assert any("1 grade of judges kept" in note for note in texts(done.report["notes"]))
    afresh = drive(tmp_path, "run", "suite.yaml", "--judge-model", "scripted/harsh.yaml", "--json")
    keys = [report["cases"][0]["key"] for report in (done.report, afresh.report)]
    assert keys[0] != keys[1], "verdicts of two judges cannot be compared with others"


def test_judges_inside_other_graders_are_graders_of_type_model(tmp_path: Path) -> None:
    suite = PARTS + "          - exact: a kind word\n"
    judge = ("--judge-model", "scripted/judge.yaml", "--json")
    by_model = judged(tmp_path, "--grader-type", "model", *judge, suite=suite)
    assert by_model.states() == {"a": ["passed"]}
    assert by_model.report["trials"][0]["grades"][0]["kind"] == "all_of"
    assert judged(tmp_path, "--grader-type", "code", *judge, suite=suite).states() == {"a": ["skipped"]}


def test_the_runs_of_a_matrix_are_regraded_out_of_one_budget(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE, judge_yaml=JUDGE)
    done = drive(
        tmp_path, "run", "suite.yaml", "--target", "echo", "--target", "null", "--judge-model", "none", "--json"
    )
    regrade = ("regrade", done.json["eval_reports"][0]["metadata"]["run_name"], "--matrix", "--json", "-j", "1")
    judge = ("--judge-model", "scripted/judge.yaml", "--no-cache")
    first, both = spent_by(drive(tmp_path, *regrade, *judge, "--max-tokens", "100000"))
    assert first < both, "each reports what all have spent so far"
    capped = drive(tmp_path, *regrade, *judge, "--max-tokens", str(first + 1))
    assert capped.code == 3
    assert ["spend cap" in report["why"]["text"] for report in capped.json["eval_reports"]] == [False, True]
    assert max(spent_by(capped)) < both


def spent_by(done: Outcome) -> list[int]:
    """By run, in the order of the runs."""
    notes = [note for report in done.json["eval_reports"] for note in texts(report["notes"])]
    return [int(found[1].replace(",", "")) for found in map(SPENT.match, notes) if found]


def test_a_cap_in_dollars_needs_a_known_price(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE, judge_yaml=JUDGE)
    env = {"GATEWAY_BASE_URL": "http://127.0.0.1:9/v1"}
    flags = ("--judge-model", "gateway/x", "--max-cost", "1")
    done = drive(tmp_path, "run", "suite.yaml", *flags, env=env)
    assert done.code == 2
    assert "the price of gateway/x is not known" in done.err
    assert "EVALHARNESS_PRICES" in done.err


def test_a_broken_price_file_is_reported_before_anything_is_compared(tmp_path: Path) -> None:
    """Also for the default embeddings, without which grades are only outstanding."""
    suite = "{name: near, target: echo, test_cases: [{id: a, input: a dog, graders: [{semantic_similarity: a cat}]}]}"
    write(tmp_path, suite_yaml=suite)
    done = drive(tmp_path, "run", "suite.yaml", env={"EVALHARNESS_PRICES": "missing.json"})
    assert done.code == 2
    assert "cannot read the prices in missing.json" in done.err


def test_what_an_unfinished_trial_cost_is_not_forgotten(tmp_path: Path) -> None:
    """An agent that the cap stops in the middle of a trial must not be charged for that trial again."""
    steps = "".join("      - tool_calls: [{name: list_files, arguments: {}}]\n" for _ in range(9))
    write(tmp_path, model_yaml=f"replies:\n  - steps:\n{steps}      - text: done\n")
    suite = (
        "name: long\ntarget: {agent: {model: scripted/model.yaml}}\ntest_cases: [{id: a, input: look, expected: done}]"
    )
    write(tmp_path, suite_yaml=suite)
    first = drive(tmp_path, "run", "suite.yaml", "--max-tokens", "150", "--json")
    assert (first.code, first.states()) == (3, {})
    again = drive(tmp_path, "resume", "--json")
    assert (again.code, again.states()) == (3, {})
    assert [note for note in texts(again.report["notes"]) if "spent" in note] == [
        note for note in texts(first.report["notes"]) if "spent" in note
    ]
    assert drive(tmp_path, "resume", "--max-tokens", "1000000").code == 0


def test_a_judge_that_broke_is_asked_again_and_the_target_is_not(tmp_path: Path) -> None:
    agent = "def answer(question):\n    open('asked', 'a').write('x')\n    return question\n"
    write(tmp_path, agent_py=agent)
    named = (SUITE + GARBLED).replace("target: echo", "target: agent.py:answer")
    done = judged(tmp_path, "--judge-model", "scripted/judge.yaml", "--json", suite=named)
    assert done.states()["odd"] == ["error"]
    assert (tmp_path / "asked").read_text(encoding="utf-8") == "xxx"
    drive(tmp_path, "resume")
    assert (tmp_path / "asked").read_text(encoding="utf-8") == "xxx"


def test_a_scorer_that_waits_for_a_judge_is_reported(tmp_path: Path) -> None:
    scored = SUITE.replace("  - model: {", "  - exact: a kind word\n  - required: false\n    model: {")
    done = judged(tmp_path, "--only", "warm", suite=scored)
    assert done.code == 0
    assert "model: no score in 1 trial of warm: no judge is set" in done.out


def test_a_reason_of_several_lines_is_reported_in_one(tmp_path: Path) -> None:
    scored = SUITE.replace("  - model: {", "  - contains: word\n  - required: false\n    model: {")
    garbled = JUDGE.replace("I would say this one is fine.", r'"No.\n\nReply again"')
    write(tmp_path, suite_yaml=scored + GARBLED, judge_yaml=garbled + r'  - text: "No.\n\nReply again"')
    flags = ("--only", "odd", "--judge-model", "scripted/judge.yaml")
    done = drive(tmp_path, "run", "suite.yaml", *flags)
    assert re.search(r"model: no score in 1 trial of odd: .*; it said: No\.…$", done.out, re.M)
    assert "Reply again" not in done.out


SCORED = """
name: scored
target: echo
graders:
  - llm-judge: {criteria: "1. **Kindness** (weight: 1)", enabled: true}
    required: false
test_cases:
  - {id: cold, input: a harsh word}
  - {id: odd, input: a garbled word}
"""


def test_a_judge_without_a_verdict_does_not_raise_the_score(tmp_path: Path) -> None:
    done = judged(tmp_path, "--judge-model", "scripted/judge.yaml", "--json", suite=SCORED)
    assert (done.code, done.states()) == (3, {"cold": ["passed"], "odd": ["error"]})
    assert done.report["metrics"]["score"] == 0
    assert {trial["case_id"]: trial["score"] for trial in done.report["trials"]} == {"cold": 0, "odd": None}
    said = next(each for each in done.report["failures"] if each["eval_id"] == "odd")
    assert said["reason"].startswith("no grader gave a verdict: llm-judge: ")
    beside = SCORED.replace("graders:\n", "graders:\n  - {contains: word, weight: 0}\n")
    done = judged(tmp_path, "--judge-model", "scripted/judge.yaml", "--json", suite=beside)
    assert (done.code, done.states()) == (0, {"cold": ["passed"], "odd": ["passed"]})
    assert done.report["metrics"]["score"] == 0, "the judge's, as far as it has one"


def test_scores_that_no_one_could_give_are_outstanding(tmp_path: Path) -> None:
    done = judged(tmp_path, suite=SCORED)
    assert done.code == 4
    assert re.search(r"regrade \S+ --judge-model PROVIDER/MODEL", done.out), "how to get them"
    assert "score  " not in done.out
    later = drive(tmp_path, "regrade", printed_name(done), "--judge-model", "scripted/judge.yaml", "--json")
    assert later.states()["cold"] == ["passed"]


OFF = """
name: off
target: echo
test_cases:
  - {id: alone, input: hi, graders: [{llm-judge: {criteria: Is it good?, min: 0.9}}]}
  - {id: inside, input: hi, graders: [{all_of: [{llm-judge: Is it good?}]}]}
  - {id: beside, input: hi, graders: [{llm-judge: Is it good?}, {contains: hi}]}
"""


def test_a_case_whose_only_grader_is_switched_off_is_skipped(tmp_path: Path) -> None:
    done = judged(tmp_path, "--judge-model", "scripted/judge.yaml", "--json", suite=OFF)
    assert done.states() == {"alone": ["skipped"], "inside": ["skipped"], "beside": ["passed"]}
    assert done.report["unjudged"][0]["reason"] == "its only grader is switched off; turn it on with `enabled: true`"
    chosen = drive(tmp_path, "run", "suite.yaml", "--grader-type", "model", "--json")
    assert set(chosen.states()["beside"]) == {"skipped"}, "not replaced by a run that judges nothing"


def test_a_regrade_grades_by_the_type_that_the_run_was_graded_by(tmp_path: Path) -> None:
    suite = """
name: both
target: echo
test_cases:
  - {id: both, input: a kind word, graders: [{contains: zzz}, {model: {rubric: "Kindness (weight: 1)"}}]}
"""
    due = judged(tmp_path, "--grader-type", "model", suite=suite)
    assert due.code == 4
    later = drive(tmp_path, "regrade", printed_name(due), "--judge-model", "scripted/judge.yaml", "--json")
    assert later.states() == {"both": ["passed"]}
    by_code = drive(
        tmp_path,
        "regrade",
        printed_name(due),
        "--judge-model",
        "scripted/judge.yaml",
        "--grader-type",
        "code",
        "--json",
    )
    assert by_code.states() == {"both": ["failed"]}


def test_a_judge_that_is_asked_for_judges_what_was_graded_by_code_alone(tmp_path: Path) -> None:
    suite = """
name: both
target: echo
test_cases:
  - {id: both, input: a cold word, graders: [{contains: word}, {model: {rubric: "Kindness (weight: 1)"}}]}
"""
    quick = judged(tmp_path, "--grader-type", "code", suite=suite)
    assert quick.code == 0
    later = drive(tmp_path, "regrade", printed_name(quick), "--judge-model", "scripted/judge.yaml", "--json")
    assert later.states() == {"both": ["failed"]}


def test_a_regrade_without_a_judge_keeps_verdicts_inside_other_graders_too(tmp_path: Path) -> None:
    run = printed_name(judged(tmp_path, "--judge-model", "scripted/judge.yaml", suite=PARTS))
    refused = drive(tmp_path, "regrade", run)
    assert refused.code == 2 and "would be lost" in refused.err


def test_what_code_decided_is_not_a_grade_that_a_judge_gave(tmp_path: Path) -> None:
    suite = SUITE.replace(
        '  - model: {rubric: "1. **Kindness** (weight: 1)"}',
        '  - any_of: [{contains: kind}, {model: {rubric: "1. **Kindness** (weight: 1)"}}]',
    )
    run = printed_name(judged(tmp_path, suite=suite))
    done = drive(tmp_path, "regrade", run, "--judge-model", "scripted/judge.yaml", "--json")
    assert done.states() == {"warm": ["passed"], "cold": ["failed"]}
    assert not any("of judges kept" in note for note in texts(done.report["notes"]))


@pytest.mark.parametrize("command", [("run", "suite.yaml"), ("calibrate", "suite.yaml"), ("regrade",)])
def test_an_empty_name_of_a_judge_is_refused(command: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE)
    done = drive(tmp_path, *command, "--judge-model", "")
    assert done.code == 2
    assert "--judge-model" in done.err and "none" in done.err


def test_what_only_a_person_can_give_is_not_asked_of_a_judge(tmp_path: Path) -> None:
    either = SUITE.replace(
        '  - model: {rubric: "1. **Kindness** (weight: 1)"}',
        '  - any_of: [{human: {rubric: x}}, {model: {rubric: "1. **Kindness** (weight: 1)"}}]',
    )
    done = judged(tmp_path, "--judge-model", "scripted/judge.yaml", "--only", "cold", suite=either)
    assert done.code == 4
    assert "a person's grade is pending" in done.out and "a model's grade is pending" not in done.out
    due = judged(tmp_path, "--only", "cold", suite=either)
    assert "a person's grade is pending" in due.out and "a model's grade is pending" in due.out
