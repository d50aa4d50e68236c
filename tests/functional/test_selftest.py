"""`selftest` through the real command: unsound suites are found, sound ones pass, and the mark is kept."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from driving import Outcome, drive, drive_run, line_of, succeed, texts, write

from evalharness.harness import Harness

TESTS = Path(__file__).parents[1]
UNSOUND = TESTS / "fixtures" / "unsound"
EXAMPLES = TESTS.parent / "examples"
SPECIFICATION = TESTS / "goldens" / "projects" / "specification"
READY_MADE = (
    *("bug-fix", "code-generation", "code-review", "file-operation"),
    *("refactoring", "search-retrieval", "shell-command", "tool-use-sequence"),
)
FAULTS = {
    "always-true": ("summary", "function", "null"),
    "any-text": ("capital", "regex", "constant"),
    "echo": ("greet", "contains", "input"),
    "wrong-key": ("australia", "exact", "right fails"),
    "no-grader": ("poem", "", "null"),
    "optional": ("sum", "", "no_op"),
    "forbidden-only": ("polite", "not_contains", "null"),
    "exit-code-only": ("build", "exit_code", "no_op"),
    "empty-object": ("user", "json_schema", "constant"),
    "wide-tolerance": ("height", "numeric", "gold_of"),
    "loose-branch": ("colour", "any_of", "constant"),
    "trusting-judge": ("capital", "model", "trick"),
    "raising": ("job", "function", "right fails"),
    "part-of-another": ("four", "contains", "gold_of"),
}
"""By suite: the case that is unsound, the grader that is to blame, and an answer that shows it."""
SOUND = """
name: capitals
target: agent.py:answer
test_cases:
  - {id: france, input: Capital of France?, expected: Paris}
  - {id: peru, input: Capital of Peru?, expected: Lima}
"""
LEAKY = """
name: greetings
target: agent.py:answer
test_cases:
  - {id: ada, input: Say hello to Ada, expected: {contains: Ada}}
  - {id: sum, input: What is 2 + 3?, expected: 5}
"""
AGENT = """
from pathlib import Path

def answer(question):
    Path("asked.txt").write_text(question)
    return {"Capital of France?": "Paris", "Capital of Peru?": "Cusco", "What is 2 + 3?": "5"}.get(question, "Hi Ada")
"""
PASS, FAIL = (
    f"{{nonce: '{{match:1}}', justification: so, overall_score: {score}, passed: true, specific_feedback: []}}"
    for score in (5, 1)
)
VALID = r"""
  - when: '(?s)Paris is the capital of France\.\n---.*"nonce": "(\w+)"'
    object: {nonce: "{match:1}", reason: so, result: pass}"""
HONEST = rf"""
replies:{VALID}
  - when: '(?s)--- answer begins \w+ ---\nLima\n.*"nonce": "(\w+)"'
    object: {PASS}
  - when: '(?s).*"nonce": "(\w+)"'
    object: {FAIL}
"""
MOODY = rf"""
replies:{VALID}
  - when: '(?s)--- answer begins \w+ ---\nLima\n.*"nonce": "([0-7]\w+)"'
    object: {PASS}
  - when: '(?s).*"nonce": "(\w+)"'
    object: {FAIL}
"""
JUDGED = """
name: judged
test_cases:
  - id: peru
    input: Capital of Peru?
    reference: Lima
    graders: [{model: {model: scripted/judge.yaml, rubric: Is it right?}}]
"""


def selftest_of(folder: Path, suite: str = "suite.yaml", *flags: str, code: int = 0) -> dict[str, Any]:
    found = succeed(folder, "selftest", suite, *flags, "--json", code=code).json["selftest"]
    assert isinstance(found, dict)
    return found


def project(folder: Path, suite: str, **files: str) -> Path:
    return write(folder, suite_yaml=suite, pyproject_toml="", **files)


def notes_of(found: dict[str, Any], code: str) -> list[str]:
    return texts([note for note in found["notes"] if note["code"] == f"selftest.{code}"])


def test_every_unsound_suite_of_the_fixtures_is_expected() -> None:
    assert {path.stem for path in UNSOUND.glob("*.yaml")} - {"judge"} == set(FAULTS)


@pytest.mark.parametrize("name", FAULTS)
def test_an_unsound_suite_is_found_with_its_case_and_grader(tmp_path: Path, name: str) -> None:
    shutil.copytree(UNSOUND, tmp_path, dirs_exist_ok=True)
    found = selftest_of(tmp_path, f"{name}.yaml", code=1)
    case, grader, answer = FAULTS[name]
    assert found["verdict"] == "UNSOUND"
    [fault] = found["unsound"]
    assert fault["params"]["case"] == case
    assert fault["params"]["graders"] == ([grader] if grader else [])
    assert case in fault["text"]
    assert grader in fault["text"]
    kinds = {each["kind"] for each in fault["params"].get("answers", [{"kind": "right fails"}])}
    assert answer in kinds


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir()))
def test_every_example_is_sound(tmp_path: Path, example: str) -> None:
    shutil.copytree(EXAMPLES / example, tmp_path, dirs_exist_ok=True)
    [suite] = [path.name for path in tmp_path.glob("suite.*")]
    found = selftest_of(tmp_path, suite)
    if example == "people":  # what only people can grade cannot be proved
        assert (found["verdict"], found["unsound"], found["provable"]) == ("NOT PROVABLE", [], 0)
    else:
        assert (found["verdict"], found["unsound"], found["provable"]) == ("SOUND", [], found["cases"])


@pytest.mark.parametrize("name", READY_MADE)
def test_every_ready_made_suite_is_sound(tmp_path: Path, name: str) -> None:
    found = selftest_of(tmp_path, f"ready/{name}")
    assert (found["verdict"], found["source"], found["provable"]) == ("SOUND", f"ready/{name}", 3)


@pytest.mark.parametrize(
    "name", ["capability", "regression", "sessions", "dataset.json", "eval-suite.yaml", "task-suite.json"]
)
def test_the_documents_own_files_are_not_unsound(tmp_path: Path, name: str) -> None:
    shutil.copytree(SPECIFICATION, tmp_path, dirs_exist_ok=True)
    done = succeed(tmp_path, "selftest", name, "--judge-model", "none", "--json").json
    for found in done.get("selftests") or [done["selftest"]]:
        assert found["verdict"] in ("SOUND", "NOT PROVABLE")


def test_a_new_project_is_sound(tmp_path: Path) -> None:
    succeed(tmp_path, "init", ".")
    assert selftest_of(tmp_path)["verdict"] == "SOUND"


class TestScreen:
    def test_the_fault_the_verdict_and_the_next_step(self, tmp_path: Path) -> None:
        done = drive(project(tmp_path, LEAKY), "selftest", "suite.yaml")
        assert done.code == 1
        assert done.out.splitlines() == [
            "greetings · 2 cases · 76 wrong answers tried",
            "",
            "✗ ada: `contains` lets its own input pass",
            "",
            "UNSOUND   1 of 2 cases cannot be relied on",
            "next     tighten the graders, then: eval-harness selftest suite.yaml",
        ]

    def test_plain_answers_come_before_trick_texts(self, tmp_path: Path) -> None:
        suite = "name: loose\ntest_cases: [{id: why, input: '7', reference: no it is, graders: [{regex: %s}]}]\n"
        plain = drive(project(tmp_path, suite % "'[aeiou]'"), "selftest", "suite.yaml")
        assert line_of(plain, "✗ why").startswith('✗ why: `regex` lets "yes", "no", a trick text (')
        tricked = drive(project(tmp_path, suite % "'i'"), "selftest", "suite.yaml")
        assert line_of(tricked, "✗ why").startswith("✗ why: `regex` lets a trick text (")
        assert "fools" not in plain.out + tricked.out

    def test_a_sound_suite_may_be_run(self, tmp_path: Path) -> None:
        done = drive(project(tmp_path, SOUND), "selftest", "suite.yaml")
        assert done.code == 0
        assert line_of(done, "SOUND") == "SOUND   right answers pass, wrong answers fail"
        assert line_of(done, "next").endswith("eval-harness run suite.yaml")

    def test_several_suites_end_with_the_worst_exit_code(self, tmp_path: Path) -> None:
        write(tmp_path, a_yaml=SOUND, b_yaml=LEAKY)
        done = drive(tmp_path, "selftest", ".", "--json")
        assert done.code == 1
        assert [each["verdict"] for each in done.json["selftests"]] == ["SOUND", "UNSOUND"]

    def test_what_does_not_exist_is_wrong_usage(self, tmp_path: Path) -> None:
        assert drive(tmp_path, "selftest", "nothing.yaml").code == 2
        assert drive(tmp_path, "selftest", "nothing.yaml", "--json").json["error"]["code"] == 2


class TestWhatMayPass:
    def test_a_constant_that_is_right_is_guessable_and_not_unsound(self, tmp_path: Path) -> None:
        suite = """
name: yes-or-no
test_cases:
  - {id: a, input: Is it so?, expected: {exact: {value: "Yes", case_sensitive: false}}}
  - {id: b, input: Is it not?, expected: "no"}
  - {id: c, input: And this?, expected: "yes"}
  - {id: d, input: How many?, expected: 5}
"""
        found = selftest_of(project(tmp_path, suite))
        assert found["verdict"] == "SOUND"
        assert notes_of(found, "guessable") == [
            '"yes" passes 50 % (2 of 4 cases)',
            '"no" passes 25 % (1 of 4 cases)',
        ]
        shown = drive(tmp_path, "selftest", "suite.yaml")
        assert line_of(shown, "guessable") == 'guessable    "yes" passes 50 % (2 of 4 cases)'

    def test_an_answer_that_is_a_number_is_compared_as_one(self, tmp_path: Path) -> None:
        suite = """
name: numbers
test_cases:
  - {id: a, input: "5.0", expected: {numeric: 5}}
  - {id: b, input: seven, expected: {numeric: 7}}
"""
        assert selftest_of(project(tmp_path, suite))["verdict"] == "SOUND"

    def test_doing_nothing_may_be_right(self, tmp_path: Path) -> None:
        suite = """
name: quiet
test_cases:
  - {id: clean, input: Build it, graders: [{exit_code: 0}]%s}
"""
        shown = succeed(project(tmp_path, suite % ""), "selftest", "suite.yaml", code=1)
        assert "null_passes: true" in line_of(shown, "next")
        found = selftest_of(project(tmp_path, suite % ", null_passes: true"))
        assert (found["verdict"], found["provable"]) == ("SOUND", 1)

    @pytest.mark.parametrize(("grader", "name"), [("exact: done", "exact"), ("function: 'own.py:no'", "function")])
    def test_a_case_that_calls_nothing_right_and_fails_it_is_unsound(
        self, tmp_path: Path, grader: str, name: str
    ) -> None:
        suite = f"name: quiet\ntest_cases: [{{id: wait, input: Wait, null_passes: true, graders: [{{{grader}}}]}}]\n"
        folder = project(tmp_path, suite, own_py="def no(context):\n    return False\n")
        [fault] = selftest_of(folder, code=1)["unsound"]
        assert fault["params"]["graders"] == [name]
        assert fault["text"].startswith(f"wait: doing nothing should pass (`null_passes`), but does not: {name}")
        assert "remove `null_passes`" in line_of(drive(folder, "selftest", "suite.yaml"), "next")

    def test_the_answer_of_a_case_with_the_same_text_is_no_wrong_one(self, tmp_path: Path) -> None:
        suite = """
name: two-fours
test_cases:
  - {id: plain, input: Two times two?, expected: {contains: four}}
  - {id: file, input: Write it down, graders: [{contains: four}, {files: [{path: a.txt, contains: x}]}]}
"""
        assert selftest_of(project(tmp_path, suite))["verdict"] == "SOUND"


class TestWhatIsListed:
    def test_a_case_without_a_reference_is_not_provable(self, tmp_path: Path) -> None:
        own = "def check(context):\n    return 'because' in context.text\n"
        suite = "name: own\ntest_cases: [{id: why, input: Why?, graders: [{function: 'own.py:check'}]}]\n"
        found = selftest_of(project(tmp_path, suite, own_py=own))
        assert (found["verdict"], found["provable"]) == ("NOT PROVABLE", 0)
        assert notes_of(found, "not_provable") == ["1 case: no reference says what is right: why"]

    def test_a_skipped_case_is_listed_with_the_reason(self, tmp_path: Path) -> None:
        suite = SOUND + "  - {id: chile, input: Capital of Chile?, expected: Santiago, skip: later}\n"
        done = succeed(project(tmp_path, suite), "selftest", "suite.yaml")
        assert line_of(done, "not provable") == "not provable skipped (later): chile"

    def test_a_grader_that_cannot_fail_is_named_beside_one_that_can(self, tmp_path: Path) -> None:
        suite = """
name: mixed
test_cases:
  - id: peru
    input: Capital of Peru?
    graders: [{exact: Lima}, {regex: '.*'}, {not_contains: Cusco}, {max_length: 100}, {max_rounds: 3}]
"""
        found = selftest_of(project(tmp_path, suite))
        assert found["verdict"] == "SOUND"
        assert notes_of(found, "cannot_fail") == ["`regex` passes every answer, in 1 case: peru"]

    def test_a_grader_that_breaks_on_a_wrong_answer_is_named(self, tmp_path: Path) -> None:
        own = "import json\ndef check(context):\n    return json.loads(context.text)['name'] == 'Ada'\n"
        suite = """
name: own
test_cases:
  - {id: user, input: Who?, reference: {name: Ada}, graders: [{function: 'own.py:check'}]}
"""
        found = selftest_of(project(tmp_path, suite, own_py=own))
        assert found["verdict"] == "SOUND"
        [raised] = notes_of(found, "grader_raised")
        assert raised.startswith(
            "`function` breaks on an empty answer, in 1 case: user (the grader raised JSONDecodeError"
        )

    @pytest.mark.parametrize(("right", "code"), [("reference: Ada,", 1), ("null_passes: true,", 1), ("", 0)])
    def test_a_grader_that_breaks_on_every_answer_has_to_be_fixed(self, tmp_path: Path, right: str, code: int) -> None:
        suite = f"name: own\ntest_cases: [{{id: user, input: Who?, {right} graders: [{{function: 'own.py:check'}}]}}]\n"
        own = "def check(context):\n    raise ValueError('no such column')\n"
        done = succeed(project(tmp_path, suite, own_py=own), "selftest", "suite.yaml", code=code)
        assert "`function` breaks on every answer" in done.out
        assert done.out.count("the grader raised ValueError: no such column") == 1
        assert "empty answer" not in done.out
        assert "fix the graders that break, then:" in line_of(done, "next")
        assert not any(wrong in line_of(done, "next") for wrong in ("reference", "null_passes"))

    def test_cases_that_every_run_passed_or_failed(self, tmp_path: Path) -> None:
        folder = project(tmp_path, SOUND, agent_py=AGENT)
        assert not notes_of(selftest_of(folder), "never_failed")
        for _ in range(2):
            drive(folder, "run", "suite.yaml")
        drive(folder, "run", "suite.yaml", "--target", "oracle")
        found = selftest_of(folder)
        assert notes_of(found, "never_failed") == ["1 of 2 cases never failed in 2 earlier runs: france"]
        assert notes_of(found, "never_passed") == ["1 of 2 cases never passed in 2 earlier runs: peru"]


class TestJudges:
    def test_an_honest_judge_gives_the_same_verdict_each_time(self, tmp_path: Path) -> None:
        found = selftest_of(project(tmp_path, JUDGED, judge_yaml=HONEST))
        assert found["verdict"] == "SOUND"
        assert notes_of(found, "judge_flips") == [
            "model: the same verdict each time, asked 3 times about the same answer (1 case)"
        ]
        assert found["judging"][0]["calls"] > 60, "every known trick was tried on the only case"

    def test_a_judge_that_contradicts_itself(self, tmp_path: Path) -> None:
        folder = project(tmp_path, JUDGED, judge_yaml=MOODY)
        done = drive(folder, "selftest", "suite.yaml", "--repeat-judges", "40", "--json").json["selftest"]
        [flips] = [note["params"] for note in done["notes"] if note["code"] == "selftest.judge_flips"]
        assert (flips["repeats"], flips["cases"]) == (40, ["peru"])
        assert 0 < flips["flip_rate"] <= 0.52

    def test_no_repeats_where_none_are_wanted(self, tmp_path: Path) -> None:
        found = selftest_of(project(tmp_path, JUDGED, judge_yaml=HONEST), "suite.yaml", "--repeat-judges", "0")
        assert not notes_of(found, "judge_flips")

    def test_without_a_judge_nothing_is_proven(self, tmp_path: Path) -> None:
        done = succeed(project(tmp_path, JUDGED), "selftest", "suite.yaml", "--judge-model", "none")
        assert line_of(done, "not provable") == "not provable 1 case: no judge is set: peru"
        assert line_of(done, "next").endswith("--judge-model provider/model")

    def test_a_judge_without_a_key_can_be_left_out(self, tmp_path: Path) -> None:
        code_graded = "  - {id: sum, input: What is 2 + 3?, expected: 5}\n"
        suite = JUDGED.replace("scripted/judge.yaml", "anthropic/claude-sonnet-4-5") + code_graded
        refused = drive(project(tmp_path, suite), "selftest", "suite.yaml")
        assert refused.code == 2
        assert "no key for anthropic" in refused.err
        assert "--judge-model none" in refused.err
        found = selftest_of(tmp_path, "suite.yaml", "--judge-model", "none")
        assert (found["verdict"], found["provable"]) == ("SOUND", 1)

    def test_judges_keep_to_the_cap(self, tmp_path: Path) -> None:
        prices = '{"scripted/judge.yaml": {"input": 1000, "output": 1000}}'
        folder = project(tmp_path, JUDGED, judge_yaml=HONEST, prices_json=prices)
        done = drive(
            folder, "selftest", "suite.yaml", "--max-cost", "2", "--json", env={"EVALHARNESS_PRICES": "prices.json"}
        )
        assert done.code == 3, done.both
        found = done.json["selftest"]
        assert found["verdict"] == "INVALID"
        [missing] = notes_of(found, "no_verdict")
        assert "the spend cap was reached" in missing
        assert found["judging"][0]["cost_usd"] < 2.5


class TestTheMark:
    def test_later_reports_of_the_same_cases_show_it(self, tmp_path: Path) -> None:
        folder = project(tmp_path, LEAKY, agent_py=AGENT)
        before = drive_run(folder)
        assert before.report["selftest"] is None
        selftest_of(folder, code=1)
        run = drive_run(folder).report
        assert run["verdict"] == "PASSED"
        assert run["selftest"]["cases"] == 2
        assert texts(run["selftest"]["unsound"]) == ["ada: `contains` lets its own input pass"]
        shown = drive(folder, "show", before.run_name)
        mark = "selftest    UNSOUND: 1 case cannot be relied on: ada: `contains` lets its own input pass"
        assert line_of(shown, "selftest") == mark, "also a run that was there before"
        only = drive_run(folder, "--only", "sum").report["selftest"]
        assert (only["cases"], only["unsound"]) == (1, [])

    def test_a_case_that_was_changed_has_none(self, tmp_path: Path) -> None:
        folder = project(tmp_path, LEAKY, agent_py=AGENT)
        selftest_of(folder, code=1)
        old = drive_run(folder)
        write(folder, suite_yaml=LEAKY.replace("contains: Ada", "contains: Hi Ada"))
        mark = drive_run(folder).report["selftest"]
        assert (mark["cases"], mark["unsound"]) == (1, [])
        assert selftest_of(folder)["verdict"] == "SOUND"
        assert drive_run(folder).report["selftest"]["cases"] == 2
        assert "UNSOUND" in drive(folder, "show", old.run_name).out, "the former version stays marked"

    def test_verify_says_that_it_does_not_check_it(self, tmp_path: Path) -> None:
        folder = project(tmp_path, LEAKY, agent_py=AGENT)
        selftest_of(folder, code=1)
        drive(folder, "run", "suite.yaml", "-o", "report.json")
        assert "what a selftest found about the cases" in drive(folder, "verify", "report.json").out


class TestRunFirst:
    def test_an_unsound_suite_is_not_run(self, tmp_path: Path) -> None:
        folder = project(tmp_path, LEAKY, agent_py=AGENT)
        done = drive(folder, "run", "suite.yaml", "--selftest")
        assert done.code == 1
        assert line_of(done, "UNSOUND")
        assert not (folder / "asked.txt").exists()
        assert drive(folder, "run", "suite.yaml", "--selftest", "--json").json["selftest"]["verdict"] == "UNSOUND"

    def test_only_what_is_selected_is_tested(self, tmp_path: Path) -> None:
        folder = project(tmp_path, LEAKY, agent_py=AGENT)
        done = drive(folder, "run", "suite.yaml", "--only", "sum", "--selftest", "--json")
        assert done.code == 0, done.both
        assert done.report["selftest"]["cases"] == 1
        assert "selftest of greetings: SOUND" in done.err

    def test_what_it_spends_is_taken_from_the_cap(self, tmp_path: Path) -> None:
        suite = JUDGED.replace("name: judged", "name: judged\ntarget: agent.py:answer")
        folder = project(tmp_path, suite, agent_py=AGENT, judge_yaml=HONEST)
        done = drive(folder, "run", "suite.yaml", "--selftest", "--max-tokens", "100000", "--json")
        assert done.code == 1, done.both
        [spent] = [note["params"] for note in done.report["notes"] if note["code"] == "spending.spent"]
        assert 50_000 < spent["max_tokens"] < 99_000


def test_python_programs_ask_the_harness(tmp_path: Path) -> None:
    project(tmp_path, LEAKY)
    with Harness.open(":memory:") as harness:
        found = harness.selftest(tmp_path / "suite.yaml")
    assert (found.verdict, found.exit_code, len(found.unsound)) == ("UNSOUND", 1, 1)


def test_the_help_speaks_of_judges_and_answers_since_no_target_is_run(tmp_path: Path) -> None:
    words = " ".join(succeed(tmp_path, "selftest", "--help").out.split())
    for said in (
        "Stop when the judges have cost this much",
        "Grade up to N answers at the same time",
        "0 turns this off",
    ):
        assert said in words
    assert "every target" not in words
    assert "UNSOUND or INVALID" in " ".join(succeed(tmp_path, "run", "--help").out.split())


def test_no_target_is_run(tmp_path: Path) -> None:
    folder = project(tmp_path, SOUND, agent_py=AGENT)
    done: Outcome = succeed(folder, "selftest", "suite.yaml")
    assert done.code == 0
    assert not (folder / "asked.txt").exists()
