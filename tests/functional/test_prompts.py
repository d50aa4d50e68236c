"""Prompts × targets × cases, from a user's view: what targets are asked, what is compared, what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from driving import Outcome, drive, succeed, write

EXAMPLE = Path(__file__).parents[2] / "examples" / "prompts"
SAYS_WHAT_IT_HEARS = """
import json

def text(question):
    return question if isinstance(question, str) else json.dumps(question)

def shouting(question):
    return text(question).upper()
"""
TWO_PROMPTS = """
name: greetings
target: agent.py:text
prompts:
  plain: 'Greet {{who}} in {{language}}.'
  chat:
    - {role: system, content: 'You speak {{language}}.'}
    - {role: user, content: 'Greet {{who}}.'}
vars: {language: English}
test_cases:
  - {id: ada, vars: {who: Ada}, expected: {contains: Ada}}
  - {id: zoe, vars: {who: 'Zoë', language: French}, expected: {contains: French}}
"""


def reports(done: Outcome) -> dict[str, Any]:
    """Variant → report."""
    found = done.json
    each = [one.get("eval_report", one) for one in found.get("eval_reports", [found])]
    return {report["metadata"]["variant"]: report for report in each}


def outputs(report: Any) -> dict[str, Any]:
    return {trial["case_id"]: trial["output"] for trial in report["trials"]}


def keys(report: Any) -> dict[str, str]:
    return {case["case_id"]: case["key"] for case in report["cases"]}


def test_each_prompt_is_a_variant_and_asks_with_the_variables_of_the_case(tmp_path: Path) -> None:
    write(tmp_path, agent_py=SAYS_WHAT_IT_HEARS, suite_yaml=TWO_PROMPTS)
    found = reports(succeed(tmp_path, "run", "suite.yaml", "--json"))
    assert list(found) == ["plain", "chat"]
    assert outputs(found["plain"]) == {"ada": "Greet Ada in English.", "zoe": "Greet Zoë in French."}
    assert json.loads(outputs(found["chat"])["zoe"]) == [
        {"role": "system", "content": "You speak French."},
        {"role": "user", "content": "Greet Zoë."},
    ]
    assert found["chat"]["metadata"]["environment"]["prompt"] == "chat"

    asked = succeed(tmp_path, "show", found["plain"]["metadata"]["run_name"], "zoe")
    assert "Greet Zoë in French." in asked.out


def test_variables_of_a_case_win_over_those_of_the_command_line(tmp_path: Path) -> None:
    write(tmp_path, agent_py=SAYS_WHAT_IT_HEARS, suite_yaml=TWO_PROMPTS)
    found = reports(drive(tmp_path, "run", "suite.yaml", "--var", "language=Latin", "--var", "WHO=Bob", "--json"))
    assert outputs(found["plain"]) == {"ada": "Greet Ada in Latin.", "zoe": "Greet Zoë in French."}


def test_prompts_are_crossed_with_all_named_targets_or_those_asked_for(tmp_path: Path) -> None:
    named = TWO_PROMPTS.replace(
        "target: agent.py:text", "targets: {quiet: 'agent.py:text', loud: 'agent.py:shouting', lines: {command: cat}}"
    )
    write(tmp_path, agent_py=SAYS_WHAT_IT_HEARS, suite_yaml=named)
    checked = succeed(tmp_path, "validate", "suite.yaml")
    assert "2 cases × 6 variants" in checked.out
    assert "2 cases × 6 variants" in succeed(tmp_path, "list-suites").out
    found = reports(drive(tmp_path, "run", "suite.yaml", "--json"))
    assert list(found) == [
        *("plain · quiet", "chat · quiet", "plain · loud", "chat · loud", "plain · lines", "chat · lines"),
    ]
    assert outputs(found["plain · loud"])["ada"] == "GREET ADA IN ENGLISH."
    assert outputs(found["plain · lines"])["ada"] == "Greet Ada in English."
    assert json.loads(outputs(found["chat · lines"])["ada"])[1]["content"] == "Greet Ada."

    chosen = reports(succeed(tmp_path, "run", "suite.yaml", "--target", "quiet", "--json"))
    assert list(chosen) == ["plain · quiet", "chat · quiet"]


def test_the_input_of_a_case_and_its_fields_can_be_asked_for(tmp_path: Path) -> None:
    write(
        tmp_path,
        suite_yaml=r"""
target: echo
prompts: ['Q: {{input}} \{{who}}']
test_cases:
  - {id: text, input: Why?, expected: 'Q: Why? \{{who}}'}
  - {id: data, input: {b: 1}, expected: 'Q: {"b":1} \{{who}}'}
""",
        fields_yaml="""
target: echo
prompts: ['{{input.Question}} ({{ input.from.town }})']
test_cases: [{id: a, input: {question: Why?, from: {town: Rome}}, expected: 'Why? (Rome)'}]
""",
        named_yaml="""
target: echo
prompts: ['Q: {{input}}']
test_cases: [{id: a, vars: {input: Why?}, expected: 'Q: Why?'}]
""",
    )
    for suite in ("suite.yaml", "fields.yaml", "named.yaml"):
        succeed(tmp_path, "run", suite)


def test_a_changed_prompt_leaves_cases_comparable(tmp_path: Path) -> None:
    write(
        tmp_path,
        agent_py="def answer(text): return 'four' if 'letters' in text else '4'",
        prompt_txt="What is {{sum}}?\n",
        suite_yaml="""
target: agent.py:answer
prompts: [prompt.txt]
test_cases:
"""
        + "".join(f"  - {{id: c{n}, vars: {{sum: {n} + {4 - n}}}, expected: 4}}\n" for n in range(20)),
    )
    before = reports(succeed(tmp_path, "run", "suite.yaml", "--repeat", "2", "--json"))["prompt"]
    (tmp_path / "prompt.txt").write_text("What is {{sum}}, in letters?")
    again = reports(succeed(tmp_path, "run", "suite.yaml", "--repeat", "2", "--json", code=1))["prompt"]

    assert keys(before) == keys(again)
    compared = drive(tmp_path, "compare", before["metadata"]["run_name"], again["metadata"]["run_name"])
    assert "REGRESSION" in compared.out
    assert "20 cases" in compared.out


def test_failed_resume_and_regrade_keep_to_the_prompt_that_was_asked(tmp_path: Path) -> None:
    write(
        tmp_path,
        agent_py=SAYS_WHAT_IT_HEARS,
        short_txt="Hi {{who}}",
        suite_yaml="""
name: greetings
target: agent.py:text
prompts: [short.txt, 'Hello {{who}}']
test_cases: [{id: ada, vars: {who: Ada}, expected: Hi Eve}, {id: bob, vars: {who: Bob}, expected: {contains: Bob}}]
""",
    )
    first = reports(succeed(tmp_path, "run", "suite.yaml", "-j", "1", "-x", "--json", code=1))
    assert [outputs(report) for report in first.values()] == [{"ada": "Hi Ada"}, {"ada": "Hello Ada"}]
    (tmp_path / "short.txt").write_text("Hey {{who}}")

    resumed = reports(succeed(tmp_path, "resume", first["short"]["metadata"]["run_name"], "--json", code=1))
    assert {name: outputs(report) for name, report in resumed.items()} == {
        "short": {"ada": "Hi Ada", "bob": "Hi Bob"},
        "prompt 2": {"ada": "Hello Ada", "bob": "Hello Bob"},
    }

    failed = reports(succeed(tmp_path, "run", "suite.yaml", "--failed", "--json", code=1))
    assert {name: outputs(report) for name, report in failed.items()} == {
        "short": {"ada": "Hey Ada"},
        "prompt 2": {"ada": "Hello Ada"},
    }

    regraded = drive(tmp_path, "regrade", first["short"]["metadata"]["run_name"], "--json")
    assert outputs(reports(regraded)["short"])["ada"] == "Hi Ada"


def test_a_regrade_with_another_variable_is_of_another_question(tmp_path: Path) -> None:
    write(tmp_path, agent_py=SAYS_WHAT_IT_HEARS, suite_yaml=TWO_PROMPTS)
    found = reports(succeed(tmp_path, "run", "suite.yaml", "--json"))
    (tmp_path / "suite.yaml").write_text(TWO_PROMPTS.replace("{who: Ada}", "{who: Eve}"), encoding="utf-8")
    regraded = drive(tmp_path, "regrade", found["plain"]["metadata"]["run_name"], "--suite", "suite.yaml")
    assert "ada" in regraded.out
    assert "another question" in regraded.out or "changed" in regraded.out, regraded.both


def test_suite_graders_use_the_variables_of_each_case(tmp_path: Path) -> None:
    write(
        tmp_path,
        suite_yaml="""
target: echo
prompts: ['{{word}} and {{other}}']
graders: [{contains: '{{word}}'}, {not_contains: '{{never}}'}]
vars: {never: pear}
test_cases:
  - {id: apple, vars: {word: apple, other: 1}}
  - {id: pear, vars: {word: pear, other: true}}
""",
    )
    found = reports(succeed(tmp_path, "run", "suite.yaml", "--json", code=1))["prompt 1"]
    assert outputs(found) == {"apple": "apple and 1", "pear": "pear and true"}
    assert {case["case_id"]: case["state"] for case in found["cases"]} == {"apple": "passed", "pear": "failed"}


def test_graders_see_the_case_and_not_the_prompt(tmp_path: Path) -> None:
    write(
        tmp_path,
        check_py="def saw(context): return context.input == {'who': 'Ada'}",
        suite_yaml="""
target: echo
prompts: ['Greet {{who}}', 'Hello {{who}}']
test_cases: [{id: ada, vars: {who: Ada}, graders: ['check.py:saw']}]
""",
    )
    succeed(tmp_path, "run", "suite.yaml")


def test_targets_that_do_not_read_are_tried_once_and_the_selftest_works(tmp_path: Path) -> None:
    write(tmp_path, agent_py=SAYS_WHAT_IT_HEARS, suite_yaml=TWO_PROMPTS)
    found = reports(drive(tmp_path, "run", "suite.yaml", "--target", "oracle", "--target", "null", "--json"))
    assert {name: report["verdict"] for name, report in found.items()} == {"oracle": "PASSED", "null": "FAILED"}
    tested = succeed(EXAMPLE, "selftest", "suite.yaml", "--store", str(tmp_path / "selftest.db"))
    assert "SOUND   right answers pass, wrong answers fail" in tested.out


def test_a_secret_in_a_prompt_is_sent_but_not_stored(tmp_path: Path) -> None:
    write(
        tmp_path,
        agent_py="def answer(text): return 'yes' if 'open-sesame' in text else 'no'",
        suite_yaml="""
target: agent.py:answer
prompts: ['The key is {{door_key}}. {{input}}']
test_cases: [{id: a, input: Open?, expected: 'yes'}]
""",
    )
    succeed(tmp_path, "run", "suite.yaml", "--var", "door_key=open-sesame")
    assert b"open-sesame" not in b"".join(path.read_bytes() for path in (tmp_path / ".evalharness").iterdir())
    shown = succeed(tmp_path, "show", "latest", "a").both
    assert "open-sesame" not in shown


def test_a_captured_case_is_asked_with_its_prompt(tmp_path: Path) -> None:
    write(tmp_path, agent_py=SAYS_WHAT_IT_HEARS, suite_yaml=TWO_PROMPTS)
    found = reports(succeed(tmp_path, "run", "suite.yaml", "--json"))
    succeed(tmp_path, "capture", found["plain"]["metadata"]["run_name"], "zoe", "-o", "kept.yaml")
    again = reports(succeed(tmp_path, "run", "kept.yaml", "--json"))
    assert [outputs(report) for report in again.values()] == [{"zoe": "Greet Zoë in French."}]


def test_a_suite_with_prompts_is_dumped_and_read_again(tmp_path: Path) -> None:
    write(tmp_path, agent_py=SAYS_WHAT_IT_HEARS, suite_yaml=TWO_PROMPTS)
    succeed(tmp_path, "import", "suite.yaml", "-o", "again.yaml")
    found, again = (reports(succeed(tmp_path, "run", name, "--json")) for name in ("suite.yaml", "again.yaml"))
    assert {name: outputs(report) for name, report in found.items()} == {
        name: outputs(report) for name, report in again.items()
    }
    assert {name: keys(report) for name, report in found.items()} == {
        name: keys(report) for name, report in again.items()
    }


WRONG = {
    "a missing file": ("prompts: [lost.txt]", "suite.yaml:2: prompts[0]: there is no file lost.txt"),
    "a file elsewhere": ("prompts: [../secret.txt]", "is outside the suite's folder"),
    "an address": ("prompts: ['file://a.txt']", "must be a path in the suite's folder, not a URL"),
    "an empty prompt": ("prompts: ['  ']", "suite.yaml:2: prompts[0]"),
    "an empty file": ("prompts: [empty.txt]", "empty.txt is empty"),
    "two of a name": (
        "prompts: [{name: a, text: '{{w}}'}, {label: a, text: '{{w}}!'}]",
        "another prompt is already called 'a'",
    ),
    "an unknown key": ("prompts: [{text: '{{w}}', tekst: x}]", "unknown key 'tekst'"),
    "an unknown role": ("prompts: [[{role: usr, content: '{{w}}'}]]", "did you mean 'user'?"),
    "no messages": ("prompts: [data.json]", "data.json:1: a prompt in such a file must be a list of messages"),
    "a wrong message in a file": ("prompts: [chat.yaml]", "chat.yaml:2: [1]"),
    "neither list nor mapping": ("prompts: hello", "must be a list of prompts or a mapping of names to prompts"),
    "a file and a text": ("prompts: [{file: empty.txt, text: x}]", "has a file and a text"),
    "a number": ("prompts: [5]", "a prompt must be a text, a list of messages or a mapping, not a number"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_prompts_are_reported_with_file_and_line(name: str, tmp_path: Path) -> None:
    prompts, message = WRONG[name]
    (tmp_path / "secret.txt").write_text("{{w}}")
    project = write(
        tmp_path / "project",
        suite_yaml=f"target: echo\n{prompts}\ntest_cases: [{{id: a, vars: {{w: x}}, expected: x}}]\n",
        empty_txt="\n",
        data_json='{"some": "data"}',
        chat_yaml="- {role: user, content: '{{w}}'}\n- {role: user, contents: '{{w}}'}\n",
    )
    for command in ("validate", "run"):
        done = drive(project, command, "suite.yaml")
        assert done.code == 2, done.both
        assert message in done.err, done.err


CASES = {
    "an input that no prompt asks for": (
        "{id: a, input: Why?, expected: x}",
        "test_cases[0].input: the prompt 'prompt 1' does not use it: write {{input}} in the prompt",
    ),
    "an input given twice": ("{id: a, input: x, vars: {input: y, w: z}}", "'input' is given twice"),
    "a list as a variable": ("{id: a, vars: {w: [1, 2]}}", "test_cases[0].vars.w"),
    "a secret": ("{id: a, vars: {w: x, api_key: abcdefghijkl}}", "would be stored in plain text"),
    "a target of its own": ("{id: a, vars: {w: x}, target: oracle}", "a case cannot have its own target"),
    "a request": (
        "{id: a, input: {type: api_call, content: {path: /a}}}",
        "an api_call is already a request",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_cases_that_no_prompt_can_ask_are_reported(name: str, tmp_path: Path) -> None:
    case, message = CASES[name]
    write(tmp_path, suite_yaml=f"target: echo\nprompts: ['Say {{{{w}}}}']\ntest_cases:\n  - {case}\n")
    done = drive(tmp_path, "validate", "suite.yaml")
    assert done.code == 2, done.both
    assert message in done.err
    assert "suite.yaml:4" in done.err


def test_a_variable_without_a_value_is_named_with_its_prompt_and_case(tmp_path: Path) -> None:
    write(
        tmp_path,
        suite_yaml="""
target: echo
prompts: {short: '{{who}}', long: '{{who}} of {{town}}'}
test_cases: [{id: ada, vars: {who: Ada, town: Rome}}, {id: bob, vars: {who: Bob}}]
graders: [{contains: '{{who}}'}]
""",
    )
    done = drive(tmp_path, "run", "suite.yaml")
    assert done.code == 2
    assert "suite.yaml: prompt 'long' needs a value for town in case 'bob'" in done.err
    assert "add town to the case's `vars`, give --var town=…" in done.err
    noted = succeed(tmp_path, "validate", "suite.yaml")
    assert "note: needs the variable town for the prompt 'long' in case 'bob'" in noted.out
    succeed(tmp_path, "run", "suite.yaml", "--var", "town=Oslo")
    succeed(tmp_path, "run", "suite.yaml", "--only", "ada")


def test_what_another_tool_would_fill_in_is_pointed_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        several_txt="Say {{w}}\n---\nSay {{w}} twice\n",
        suite_yaml="""
target: echo
prompts: [several.txt, 'Say {{ w | upper }} {{w}}', 'Say {% if w %}{{w}}{% endif %}']
test_cases: [{id: a, vars: {w: x, wird: y}, expected: x}]
""",
    )
    done = succeed(tmp_path, "validate", "suite.yaml")
    assert "several.txt is one prompt: its --- line is part of the text" in done.out
    assert "'{{ w | upper }}' is sent as is" in done.out
    assert "'{% if w %}" in done.out
    assert "no prompt or grader uses the variable 'wird'" in done.out


def test_a_target_that_takes_the_input_apart_cannot_be_prompted(tmp_path: Path) -> None:
    target = "{command: [echo, '{input.who}']}"
    write(
        tmp_path,
        suite_yaml=f"target: {target}\nprompts: ['{{{{who}}}}']\ntest_cases: [{{id: a, vars: {{who: Ada}}}}]\n",
        other_yaml="target: echo\nprompts: ['{{who}}']\ntest_cases: [{id: a, vars: {who: Ada}, expected: Ada}]\n",
        alone_yaml=f"target: {target}\ntest_cases: [{{id: a, vars: {{who: Ada}}, expected: Ada}}]\n",
    )
    done = drive(tmp_path, "validate", "suite.yaml")
    assert done.code == 2
    assert "suite.yaml:1: target: uses fields of the input, but with a prompt the input is text" in done.err
    asked = drive(tmp_path, "run", "other.yaml", "--target", "cmd:echo {input.who}")
    assert asked.code == 2
    assert "uses fields of the input" in asked.err
    succeed(tmp_path, "run", "alone.yaml")


def test_files_of_prompts_are_no_suites_of_their_own(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "example")
    done = succeed(tmp_path / "example", "validate", ".", "--json")
    assert [(file["file"], file["variants"]) for file in done.json["files"]] == [("suite.yaml", 4)]
    assert not any("careful.yaml" in row["file"] for row in done.json["passed_over"])


def test_the_example_shows_prompts_side_by_side(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "example")
    done = succeed(tmp_path / "example", "run", "suite.yaml", code=1)
    head = next(line for line in done.out.splitlines() if "careful · large" in line and "short · small" in line)
    assert " ".join(head.split()) == "short · small careful · small short · large careful · large"
    assert "✓ 3 cases passed everywhere" in done.out
    found = reports(drive(tmp_path / "example", "run", "suite.yaml", "--json"))
    assert list(found) == ["short · small", "careful · small", "short · large", "careful · large"]
    assert {name: report["verdict"] for name, report in found.items()}["careful · large"] == "PASSED"
    assert len({json.dumps(keys(report)) for report in found.values()}) == 1
