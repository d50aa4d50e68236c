"""The user's files: starting a project, validating files, and what the formats mean."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import jsonschema_rs
import pytest
from driving import drive, drive_fresh, write

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = "target: oracle\ntest_cases: [{id: a, name: The First, input: hi, expected: hello}]\n"
BROKEN = """\
nmae: typo
trials: many
target: {comand: [ls]}
case_threshold: 2
graders: [{exat: 1}]
config: {retries: -1, paralel: true}
test_cases:
  - {id: a, input: hi, expected: {contians: x}}
  - {id: a, input: hi, expected: [1]}
  - id: b
    graders:
      - regex: '('
      - {numeric: {value: x}}
      - {contains: x, weigth: 2}
    criticality: hihg
  - 5
  - {id: '{{x}}', input: hi, expected: hi}
"""
SHORT_FORMS = r"""
schema_version: "1.0"
name: forms
metadata: {name: forms, description: d, category: c, tags: [x]}
config: {timeout_seconds: 5, retries: 0, parallel_execution: false, max_workers: 2, seed: 3}
vars: {a: 1, b: true, c: text}
secrets: [A]
infrastructure_errors: [MyError]
case_threshold: 0.5
max_error_rate: 0
gate:
  preset: staging
  thresholds: {default: {pass@1: 0.5, pass_hat_k: 1}, criticality: {high: {score: 0}}}
  each_case: 2 of 3
  required_cases: [c]
  max_cost_usd: 1
  regression: main
  quarantine: [{case: d, reason: flaky, owner: Ada, expires: 2026-12-31}]
targets: {fast: agent.py:answer, posted: {http: {url: 'http://localhost/x', headers: {a: b}}}}
target: fast
variants: {one: oracle, two: {command: [ls, -l], result: json}, three: {function: 'agent:answer'}, four: 'cmd:ls'}
graders: [{not_contains: secret}]
test_cases:
  - {id: 1, input: hi, expected: 5}
  - {input: {prompt: hi}, expected: true}
  - {id: c, input: {messages: [{role: user, content: hi}]}, expected: {type: exact, value: yes}}
  - {id: d, input: {a: 1}, expected: {json_equals: {a: [1, null]}}, files: {a.txt: text}, reference: {a: [1, null]}}
  - id: e
    input: {type: text, content: hi}
    weight: 2
    cluster: x
    criticality: high
    graders:
      - {contains: [a, b], case_sensitive: false, required: false, weight: 0.5, name: both}
      - {numeric: {value: 5, tolerance: 0.1}}
      - {all_of: [{contains: a}, {not: {contains: z}}]}
      - {any_of: [{regex: a}, {max_length: 3}]}
      - {weighted: {graders: [{starts_with: a, weight: 2}, {ends_with: b}], threshold: 0.5}}
      - {json_schema: {type: object}}
      - {exit_code: 0}
      - grade.py:judge
      - {function: 'grade.py:judge', threshold: 0.5}
  - {id: f, input: hi, expected: {type: pattern, value: 'h.'}}
  - {id: g, input: hi, expected: hi, grader: {type: code, config: {method: exact_match, case_sensitive: false}}}
"""
PROMPT_FORMS = """
target: echo
prompts:
  - Say {{input}}
  - short.txt
  - {file: short.txt, name: again}
  - {label: text, text: 'Say {{input}}!'}
  - [{role: system, content: Be brief.}, {role: user, content: '{{input}}'}]
  - {name: chat, messages: [{role: user, content: '{{input}}'}]}
test_cases: [{input: x}, {vars: {input: 5}}, {id: fixed, skip: without input or variables}]
"""
NAMED_PROMPTS = """
target: echo
prompts: {a: 'Say {{w}}', b: {text: '{{w}}'}, c: [{role: user, content: '{{w}}'}]}
test_cases: [{vars: {w: true}}]
"""
UNKNOWN_KEYS = [
    "prompts: [{text: '{{input}}', fiel: a}]\ntest_cases: [{id: a, input: x}]",
    "prompts: [[{role: usr, content: '{{input}}'}]]\ntest_cases: [{id: a, input: x}]",
    "prompts: {a: {name: b}}\ntest_cases: [{id: a, input: x}]",
    "test_cases: [{id: a}]",
    "nmae: x\ntest_cases: [{id: a, input: x}]",
    "test_cases: [{id: a, input: x, tgas: [y]}]",
    "config: {retrys: 1}\ntest_cases: [{id: a, input: x}]",
    "test_cases: [{id: a, input: x, expected: {contians: y}}]",
    "test_cases: [{id: a, input: x, graders: [{contains: {valu: y}}]}]",
    "test_cases: [{id: a, input: x, graders: [{contains: y, weigth: 2}]}]",
    "test_cases: [{id: a, input: x, graders: [{exat: y}]}]",
    "gate: {thresholdz: {score: 1}}\ntest_cases: [{id: a, input: x, expected: x}]",
    "gate: {regression: {alfa: 0.1}}\ntest_cases: [{id: a, input: x, expected: x}]",
    "target: {htp: 'http://localhost'}\ntest_cases: [{id: a, input: x}]",
    "target: {http: {url: 'http://localhost', hedaers: {}}}\ntest_cases: [{id: a, input: x}]",
    "trials: 0\ntest_cases: [{id: a, input: x}]",
    "name: no cases",
]


def test_a_new_project_passes_at_once_and_nothing_is_overwritten(tmp_path: Path) -> None:
    write(tmp_path / "demo", README_md="mine")
    made = drive(tmp_path, "init", "demo")
    assert made.code == 0
    assert "wrote  demo/suite.yaml" in made.out
    assert "kept   demo/README.md" in made.out
    assert (tmp_path / "demo" / "README.md").read_text() == "mine"
    assert made.out.splitlines()[-1] == "next   cd demo && eval-harness run suite.yaml"

    ran = drive(tmp_path / "demo", "run", "suite.yaml")
    assert ran.code == 0, ran.both
    assert "PASSED   3 passed" in ran.out

    (tmp_path / "demo" / "suite.yaml").write_text("mine too")
    again = drive(tmp_path, "create", "demo")
    assert again.out.count("kept") == 3
    assert (tmp_path / "demo" / "suite.yaml").read_text() == "mine too"

    refused = drive(tmp_path, "init", "demo/README.md")
    assert (refused.code, "cannot write to demo/README.md" in refused.err) == (2, True)


@pytest.mark.parametrize("template", ["function", "command", "chat", "agent", "judge", "http"])
def test_every_template_is_valid_and_passes_offline(tmp_path: Path, template: str) -> None:
    made = drive(tmp_path, "init", "--template", template)
    assert made.code == 0, made.both
    assert len((tmp_path / "README.md").read_text().splitlines()) <= 14
    checked = drive(tmp_path, "validate", "suite.yaml")
    assert checked.code == 0, checked.both
    ran = drive(tmp_path, "run", "suite.yaml", "--json")
    assert ran.code == 0, ran.both
    assert {state for states in ran.states().values() for state in states} == {"passed"}


def test_validate_reads_the_scripts_of_models_and_judges(tmp_path: Path) -> None:
    assert drive(tmp_path, "init", "--template", "judge").code == 0
    write(tmp_path, judge_yaml="replies:\n- when: a\n  txt: b\n")
    done = drive(tmp_path, "validate", "suite.yaml")
    assert done.code == 2
    assert "judge.yaml:3: replies[0].txt: is not a known key" in done.both


def test_validate_reports_every_problem_with_its_place_and_a_way_out(tmp_path: Path) -> None:
    write(tmp_path, bad_yaml=BROKEN)
    done = drive(tmp_path, "validate", "bad.yaml")

    assert done.code == 2
    told = {
        r"bad.yaml:1: nmae: unknown key 'nmae'; did you mean 'name'\?",
        r"bad.yaml:2: trials: must be a whole number, not 'many'",
        r"bad.yaml:3: target: unknown target 'comand'; did you mean 'command'\?",
        r"bad.yaml:4: case_threshold: must be at most 1, not 2",
        r"bad.yaml:5: graders\[0\]: unknown grader 'exat'; did you mean 'exact'\?",
        r"bad.yaml:6: config.retries: must be at least 0, not -1",
        r"bad.yaml:6: config.paralel: unknown key 'paralel'; did you mean 'parallel'\?",
        r"bad.yaml:8: test_cases\[0\].expected: unknown grader 'contians'; did you mean 'contains'\?",
        r"bad.yaml:9: test_cases\[1\].id: case id 'a' is already used on line 8",
        r"bad.yaml:9: test_cases\[1\].expected: must be text, .*\{json_equals: \[…\]\}",
        r"bad.yaml:10: test_cases\[2\].input: is missing",
        r"bad.yaml:12: test_cases\[2\].graders\[0\].*: is not a regular expression: .*",
        r"bad.yaml:13: test_cases\[2\].graders\[1\].numeric.value: must be a number, not 'x'",
        r"bad.yaml:14: test_cases\[2\].graders\[2\].*weigth: unknown key 'weigth'; allowed: .*",
        r"bad.yaml:15: test_cases\[2\].criticality: 'hihg' is not allowed; did you mean 'high'\?",
        r"bad.yaml:16: test_cases\[3\]: a case must be a mapping with id and input, not a number",
        r"bad.yaml:17: test_cases\[4\].id: must not contain \{\{: .*",
    }
    lines = [line.strip() for line in done.err.splitlines()]
    assert lines[0] == "✗ bad.yaml"
    assert [pattern for pattern in told if not any(re.fullmatch(pattern, line) for line in lines)] == []
    assert lines[-1] == f"✗ {len(told)} problems in 1 file"
    assert drive(tmp_path, "run", "bad.yaml").err.splitlines()[:-1] == lines[1:-2], "run says the same"


def test_validate_walks_folders_and_speaks_json(tmp_path: Path) -> None:
    write(tmp_path, other_yaml="just: data\n", settings_json='{"a": 1}')
    write(tmp_path / "deep" / "er", good_yaml=SMALL, bad_yml="test_cases: [{id: a, inptu: x}]")
    write(tmp_path / ".hidden", hidden_yaml="test_cases: 5")
    write(tmp_path / "node_modules", also_yaml="test_cases: 5")

    done = drive(tmp_path, "validate", ".", "missing.yaml", "--json")
    assert done.code == 2
    files = {file["file"]: file for file in done.json["files"]}
    assert {name: file["valid"] for name, file in files.items()} == {
        "deep/er/bad.yml": False,
        "deep/er/good.yaml": True,
        "missing.yaml": False,
    }
    assert {"line": 1, "suggestion": "input"}.items() <= files["deep/er/bad.yml"]["problems"][0].items()
    assert "no such file" in files["missing.yaml"]["problems"][0]["message"]
    assert [problem["file"] for problem in done.json["passed_over"]] == ["other.yaml", "settings.json"]

    good = drive(tmp_path, "validate", "deep/er/good.yaml")
    assert (good.code, good.out) == (0, "✓ deep/er/good.yaml   native suite 'good', 1 case\n\n✓ 1 file is valid\n")
    empty = drive(tmp_path, "validate", ".hidden/..", "--json")
    assert empty.code == 2


def test_validate_reports_what_a_folder_contains_beside_suites_and_run_does_not(tmp_path: Path) -> None:
    write(tmp_path, good_yaml=SMALL, typo_yaml="eval_suit: {name: x}", half_json='{"a": ', bin_yaml="")
    (tmp_path / "bin.yaml").write_bytes(b"\xff")
    os.mkfifo(tmp_path / "pipe.yaml")
    done = drive(tmp_path, "validate", ".")
    assert done.code == 0
    assert done.out.splitlines() == [
        "✓ good.yaml   native suite 'good', 1 case",
        "bin.yaml:1: warning: not UTF-8 text (byte 0xff)",
        "half.json:1: warning: not valid JSON: expecting value (column 7)",
        "pipe.yaml: warning: not a regular file",
        "typo.yaml:1: note: eval_suit: is not a suite, so it is skipped; did you mean 'eval_suite'?",
        "",
        "✓ 1 file is valid",
    ]
    severities = [problem["severity"] for problem in drive(tmp_path, "validate", ".", "--json").json["passed_over"]]
    assert severities == ["warning", "warning", "warning", "note"]
    ran = drive(tmp_path, "run", ".")
    assert ran.code == 0, ran.both
    assert not any(name in ran.both for name in ("typo", "half", "bin.yaml", "pipe"))
    write(tmp_path, **{f"other{number}_json": "{}" for number in range(30)})
    assert drive(tmp_path, "validate", ".").out.splitlines()[-3:] == [
        "11 more files were skipped; --json lists them all",
        "",
        "✓ 1 file is valid",
    ]


def test_validate_counts_the_files_that_have_the_problems(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml="eval_suite: {name: s, evals: [{$ref: a.yaml}, {$ref: b.yaml}]}")
    write(tmp_path, a_yaml="{id: a, expected_output: x}", b_yaml="{id: b, input: x, expected_output: {type: exat}}")
    done = drive(tmp_path, "validate", "suite.yaml")
    assert done.code == 2
    assert done.err.splitlines()[-1] == "✗ 2 problems in 2 files"


def test_the_schema_is_the_same_every_time(tmp_path: Path) -> None:
    first, second = (drive_fresh(tmp_path, "schema", env={"PYTHONHASHSEED": seed}).out for seed in "12")
    assert first == second


def test_the_schema_agrees_with_validate(tmp_path: Path) -> None:
    schema = drive(tmp_path, "schema").json
    jsonschema_rs.meta.validate(schema)
    validator = jsonschema_rs.validator_for(schema)
    code = {"agent_py": "answer = str", "grade_py": "judge = bool"}
    write(tmp_path / "good", forms_yaml=SHORT_FORMS, prompts_yaml=PROMPT_FORMS, named_yaml=NAMED_PROMPTS, **code)
    (tmp_path / "good" / "short.txt").write_text("Say {{input}}")
    shutil.copytree(EXAMPLES, tmp_path / "good" / "examples", ignore=shutil.ignore_patterns("agent"))
    for number, text in enumerate(UNKNOWN_KEYS):
        write(tmp_path / "bad", **{f"file{number}_yaml": text})

    valid = drive(tmp_path, "validate", "good")
    assert valid.code == 0, valid.both
    for path in (*(tmp_path / "good").glob("*.yaml"), *(tmp_path / "good").rglob("suite.yaml")):
        errors = [f"{error.instance_path}: {error.message[:300]}" for error in validator.iter_errors(plain_data(path))]
        assert errors == [], path
    bad = sorted((tmp_path / "bad").iterdir())
    refused = drive(tmp_path, "validate", *map(str, bad), "--json").json["files"]
    for path, file in zip(bad, refused, strict=True):
        assert not file["valid"], path.read_text()
        assert not validator.is_valid(plain_data(path)), path.read_text()


def plain_data(path: Path) -> object:
    from evalharness.syntax.source import read_source

    return read_source(path).data


def test_yaml_means_what_it_says(tmp_path: Path) -> None:
    write(
        tmp_path,
        suite_yaml="""
target: agent.py:answer
test_cases:
  - {id: norway, input: {country: NO, time: 1:30, octal: 017, big: 1e3, on: off}, expected: ok}
  - {id: 007, input: {}, expected: {}}
""".replace(", expected: {}}", ", expected: ok}"),
        agent_py="""
def answer(data):
    wanted = {"country": "NO", "time": "1:30", "octal": 17, "big": 1000.0, "on": "off"}
    return "ok" if data in (wanted, {}) else repr(data)
""",
        doubled_yaml="target: oracle\ntrials: 1\ntrials: 2\ntest_cases: []\n",
        tagged_yaml="target: oracle\ntest_cases:\n  - {id: a, input: !!python/name:os.system x}\n",
        bomb_yaml="a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 20)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)),
        deep_yaml="test_cases: " + "[" * 100 + "]" * 100,
        torn_yaml="target: oracle\ntest_cases:\n  - {id: a\n",
        binary_yaml="test_cases: \0",
    )
    good = drive(tmp_path, "run", "suite.yaml")
    assert good.code == 0, good.both

    names = [f"{name}.yaml" for name in ("doubled", "tagged", "bomb", "deep", "torn", "binary")]
    done = drive(tmp_path, "run", *names)
    assert done.code == 2
    for told in (
        r"doubled.yaml:3: .*trials.*",
        r"tagged.yaml:3: .*tag.*",
        r"bomb.yaml:\d+: .*alias.*",
        r"deep.yaml:1: .*nested deeper than 64 levels",
        r"torn.yaml:\d+: .*",
        r"binary.yaml(:1)?: .*",
    ):
        assert re.search(f"^{told}", done.err, re.M), (told, done.err)


def test_json_and_jsonl_suites(tmp_path: Path) -> None:
    cases = [{"id": "a", "input": "hi", "expected": "hello"}, {"id": "b", "input": "x", "expected": {"contains": "y"}}]
    write(
        tmp_path,
        one_json=json.dumps({"target": "oracle", "test_cases": cases}),
        two_jsonl="\n".join(json.dumps(case) for case in cases) + "\n",
        torn_jsonl=json.dumps(cases[0]) + "\n{oops\n",
        doubled_json='{"test_cases": [],\n "test_cases": []}',
    )
    done = drive(tmp_path, "run", "one.json", "two.jsonl", "--target", "oracle", "--json")
    assert done.code == 0, done.both
    assert [(r["metadata"]["suite_name"], r["summary"]["passed"]) for r in done.json["eval_reports"]] == [
        ("one", 2),
        ("two", 2),
    ]
    broken = drive(tmp_path, "validate", "torn.jsonl", "doubled.json")
    assert broken.code == 2
    assert "torn.jsonl:2:" in broken.err
    assert "doubled.json:2:" in broken.err
