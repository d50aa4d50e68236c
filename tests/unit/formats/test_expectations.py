"""`expected`, `grader` and `graders` in all spellings, and the graders they become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from eval_files import grader, one_case, put, told

MUST = "{must_include: [a, b], must_not_include: [c]}"
MUST_OPTIONS = {"must_include": ["a", "b"], "must_not_include": ["c"]}
STRICT = "strict: {type: code, config: {method: exact_match, case_sensitive: true}}\n"


def case_with(lines: str) -> str:
    return f"capability_eval:\n  id: a\n  input: hi\n  {lines}\n"


COMPARED: list[tuple[str, str, Any]] = [
    ("expected_output: {type: exact, value: x}", "exact", {"value": "x"}),
    ("expected_output: x", "exact", "x"),
    ("expected_output: {value: x}", "exact", {"value": "x"}),
    ("expected_output: {type: exact, value: {a: 1}}", "json_equals", {"value": {"a": 1}}),
    ("expected_output: {type: exact, value: null}", "json_equals", {"value": None}),
    ("expected_output: {type: contains, value: [x, y]}", "contains", {"value": ["x", "y"]}),
    ("expected_output: {type: pattern, value: 'a+'}", "regex", {"value": "a+"}),
    (f"expected_output: {{type: semantic, value: {MUST}}}", "includes", MUST_OPTIONS),
    ("expected_output: {type: semantic, value: [a, b]}", "includes", {"must_include": ["a", "b"]}),
    ("expected_output: {type: semantic, value: means this}", "model", {"expected": "means this"}),
    (
        "expected_output: {type: semantic, value: means this, rubric: r}",
        "model",
        {"expected": "means this", "rubric": "r"},
    ),
    (f"expected_output: {{type: semantic, value: {MUST}}}\n  grader: code", "includes", MUST_OPTIONS),
    (
        f"expected_output: {{type: semantic, value: {MUST}}}\n  grader: {{type: model, config: {{rubric: r}}}}",
        "model",
        {**MUST_OPTIONS, "rubric": "r"},
    ),
    (
        "expected_output: {type: exact, value: x}\n  grader: {type: human, config: {rubric: r}}",
        "human",
        {"expected": "x", "rubric": "r"},
    ),
    (
        "expected_output: {type: exact, value: x, alternatives: [y]}\n  grader: model",
        "model",
        {"expected": {"any_of": ["x", "y"]}},
    ),
    (
        "expected_output: {type: contains, value: x}\n  grader: {type: code, config: {case_sensitive: false}}",
        "contains",
        {"value": "x", "case_sensitive": False},
    ),
    (
        "expected_output: {type: exact, value: x}\n"
        "  grader: {type: code, config: {method: exact_match, trim_whitespace: false}}",
        "exact",
        {"value": "x", "trim_whitespace": False},
    ),
    (
        "expected_output: {type: pattern, value: a}\n  grader: {type: code, config: {method: regex, flags: [dotall]}}",
        "regex",
        {"value": "a", "flags": ["dotall"]},
    ),
    ("grader: {type: code, config: {method: regex, pattern: b}}", "regex", {"pattern": "b"}),
    (
        "expected_output: {type: exact, value: {a: 1}}\n"
        "  grader: {type: code, config: {method: structural_match, strict: true}}",
        "structural_match",
        {"value": {"a": 1}, "strict": True},
    ),
    (
        "expected_output: {type: functional, value: {test_cases: [{input: [5], output: 120}]}}\n"
        "  grader: {type: code, config: {executor: python, function_name: factorial}}",
        "function_output",
        {"test_cases": [{"input": [5], "output": 120}], "executor": "python", "function_name": "factorial"},
    ),
    (
        "grader: {type: code, config: {method: function_output, function_name: f,"
        " test_cases: [{args: [1], expected: 2}]}}",
        "function_output",
        {"function_name": "f", "test_cases": [{"args": [1], "expected": 2}]},
    ),
    ("expected_output: {type: exact, value: x}\n  grader: exact", "exact", {"value": "x"}),
    (
        "expected_output: x\n  grader: {type: contains, case_sensitive: false}",
        "contains",
        {"value": "x", "case_sensitive": False},
    ),
    ("expected: {contains: x}\n  grader: code", "contains", {"value": "x"}),
    ("grader: {type: model, config: {rubric: r}}", "model", {"rubric": "r"}),
    ("grader: {contains: x}", "contains", "x"),
]


@pytest.mark.parametrize(("lines", "kind", "options"), COMPARED)
def test_what_is_expected_and_who_compares_it(tmp_path: Path, lines: str, kind: str, options: Any) -> None:
    assert grader(one_case(tmp_path, case_with(lines))) == (kind, options)


@pytest.mark.parametrize(("lines", "kind", "options"), COMPARED)
def test_the_native_file_understands_the_same(tmp_path: Path, lines: str, kind: str, options: Any) -> None:
    text = "test_cases:\n" + case_with(lines).replace("capability_eval:\n  id", "  - id").replace("\n  ", "\n    ")
    assert grader(one_case(tmp_path, text)) == (kind, options)


def test_alternatives_are_any_of_the_same_comparison(tmp_path: Path) -> None:
    kind, options = grader(
        one_case(tmp_path, case_with("expected_output: {type: contains, value: x, alternatives: [y, z]}"))
    )
    assert kind == "any_of"
    assert options == [{"kind": "contains", "options": {"value": value}} for value in "xyz"]
    both = f"[{MUST}, {{must_include: [d]}}]"
    semantic = f"expected_output: {{type: semantic, value: {MUST}, alternatives: {both}}}"
    kind, options = grader(one_case(tmp_path, case_with(semantic)))
    assert (kind, [spec["kind"] for spec in options]) == ("any_of", ["includes"] * 3)


def test_a_weight_goes_with_the_grader(tmp_path: Path) -> None:
    lines = "expected_output: {type: exact, value: x, alternatives: [y]}\n  grader: {type: code, weight: 2, name: same}"
    expected = one_case(tmp_path, case_with(lines)).expected
    assert expected is not None
    assert (expected.kind, expected.weight, expected.name) == ("any_of", 2, "same")


def test_graders_have_names_in_the_config_folder(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "config/graders.yaml": STRICT
            + "short: {max_length: 5}\nmine: {all_of: ['checks.py:good']}\njudge: model\n",
            "config/checks.py": "good = bool",
        },
    )
    case = one_case(
        tmp_path, case_with("expected_output: Abc\n  grader: strict\n  graders: [short, mine, judge, {contains: b}]")
    )
    assert grader(case) == ("exact", {"value": "Abc", "case_sensitive": True})
    assert case.graders is not None
    assert [(spec.kind, spec.options) for spec in case.graders] == [
        ("max_length", 5),
        ("all_of", {"graders": [case.graders[1].options["graders"][0]]}),
        ("model", None),
        ("contains", "b"),
    ]
    assert case.graders[1].options["graders"][0]["options"] == "config/checks.py:good"


def test_config_of_a_folder_above_is_found_up_to_four_levels(tmp_path: Path) -> None:
    put(tmp_path, {"config/graders.yaml": STRICT + "mine: checks.py:good\n", "config/checks.py": "good = bool"})
    text = case_with("expected_output: x\n  grader: strict\n  graders: [mine]")
    case = one_case(tmp_path, text, "1/2/3/4/evals.yaml")
    assert case.graders is not None
    assert case.graders[0].options == "../../../../config/checks.py:good"
    assert "unknown grader 'strict'" in told(tmp_path, text, "1/2/3/4/5/evals.yaml")[0]


def test_a_function_finds_what_is_expected_as_the_reference(tmp_path: Path) -> None:
    put(tmp_path, {"checks.py": "good = bool"})
    case = one_case(tmp_path, case_with("expected_output: x\n  grader: checks.py:good"))
    assert (grader(case), case.reference) == (("function", "checks.py:good"), "x")


WRONG = [
    ("expected_output: {type: exat, value: x}", "unknown type 'exat'", "exact"),
    ("expected_output: {type: exactly, value: x}", "unknown type 'exactly'", "did you mean 'exact'?"),
    ("expected_output: {type: zzz, value: x}", "unknown type 'zzz'", "exact, contains, pattern, semantic, functional"),
    ("expected_output: {type: exat, value: x}\n  grader: {type: code}", "unknown type 'exat'", "exact"),
    ("expected_output: {type: semantic, value: {}}", "lists no texts to look for", "must_include"),
    ("expected_output: {type: semantic, value: {must_includ: [a]}}", "lists no texts to look for", "must_include"),
    (
        "expected_output: {type: semantic, value: [a], alternatives: [{}]}",
        "expected_output.alternatives[0]: lists no texts to look for",
        "",
    ),
    (
        "expected_output: {type: functional, value: {test_cases: []}}\n"
        "  grader: {type: code, config: {function_name: f}}",
        "test_cases: must not be empty",
        "",
    ),
    ("expected_output: {type: contains}", "is missing", ""),
    ("expected_output: {type: exact}", "is missing", ""),
    ("expected_output: {type: [x], value: x}", "must be text, not a list", ""),
    ("expected_output: {type: exact, value: x, alternatives: y}", "must be a list, not text", ""),
    ("expected_output: [1]", "must be text, a number", ""),
    ("expected_output: null", "is empty", ""),
    ("expected_output: x\n  expected: x", "cannot be combined with expected", ""),
    ("grader: {type: code}", "there is nothing to compare the answer with", ""),
    ("grader: {type: code, config: {method: exact_match}}", "there is nothing to compare the answer with", ""),
    ("expected_output: x\n  grader: strct", "unknown grader 'strct'", "strict"),
    ("expected_output: x\n  graders: [strct]", "unknown grader 'strct'", "strict"),
    ("expected_output: x\n  grader: {type: codee}", "unknown grader 'codee'", "did you mean 'code'?"),
    ("expected_output: x\n  grader: {type: code, config: {method: exact}}", "unknown method 'exact'", "exact_match"),
    ("expected_output: x\n  grader: {type: code, config: [x]}", "must be a mapping, not a list", ""),
    ("expected_output: x\n  grader: [exact]", "must be a mapping", ""),
    ("expected_output: x\n  grader: {all_of: [{contains: x}]}", "does not look at `expected`", ""),
    ("expected_output: x\n  grader: {contains: y}", "does not look at `expected`", ""),
    ("expected_output: x\n  grader: {type: model, config: {temperature: 9}}", "at most 2", ""),
]


@pytest.mark.parametrize(("lines", "message", "guess"), WRONG)
def test_what_is_wrong_is_reported_with_its_line(tmp_path: Path, lines: str, message: str, guess: str) -> None:
    put(tmp_path, {"config/graders.yaml": STRICT})
    problems = [line for line in told(tmp_path, case_with(lines)) if "warning" not in line]
    assert len(problems) == 1, problems
    assert message in problems[0]
    assert guess in problems[0]
    assert problems[0].startswith(("evals.yaml:4: ", "evals.yaml:5: "))


def test_what_is_wrong_with_a_named_grader_is_reported_once_where_it_is_defined(tmp_path: Path) -> None:
    put(tmp_path, {"config/graders.yaml": "ok: exact\nbad: {type: code, config: {method: regex, flags: [dotal]}}\n"})
    row = "{id: %s, input: hi, expected: x, grader: bad}"
    problems = told(tmp_path, f"test_cases: [{row % 'a'}, {row % 'b'}]")
    assert [line.split(": ")[0] for line in problems] == ["config/graders.yaml:2"]
    unused = "test_cases: [{id: a, input: hi, expected: x, grader: ok}]"
    assert told(tmp_path, unused) == [], "a named grader is checked when it is used"


NOTHING = "there is nothing for '{}' to compare the answer with: add `reference`"


@pytest.mark.parametrize(
    ("suite", "case", "kind"),
    [
        ("", "graders: [pairwise]", "pairwise"),
        ("", "graders: [{pairwise: {rubric: It is polite.}}]", "pairwise"),
        ("", "expected: {pairwise: {rubric: It is polite.}}", "pairwise"),
        ("", "graders: [{any_of: [{contains: x}, {not: pairwise}]}]", "any_of"),
        ("graders: [pairwise]", "tags: [x]", "pairwise"),
        ("", "graders: [semantic_similarity]", "semantic_similarity"),
        ("", "graders: [{semantic_similarity: {threshold: 0.5}}]", "semantic_similarity"),
        ("", "expected: {semantic_similarity: {threshold: 0.5, model: openai/x}}", "semantic_similarity"),
    ],
)
def test_a_comparison_without_another_answer_is_reported_with_its_case(
    tmp_path: Path, suite: str, case: str, kind: str
) -> None:
    def written(more: str) -> str:
        fine = "{id: b, input: hi, expected: x, graders: []}"
        return f"name: s\n{suite}\ntest_cases:\n- {fine}\n- {{id: a, input: hi{more}}}"

    assert told(tmp_path, written(f", {case}")) == [f"evals.yaml:5: test_cases[1]: {NOTHING.format(kind)}"]
    assert told(tmp_path, written(f", reference: Ada, {case}")) == []


@pytest.mark.parametrize(
    ("kind", "options"), [("structural_match", "{strict: true}"), ("numeric_deltas", "{ignore_fields: [a]}")]
)
def test_options_alone_are_never_what_an_answer_is_compared_with(tmp_path: Path, kind: str, options: str) -> None:
    for written in (f"graders: [{{{kind}: {options}}}]", f"expected: {{{kind}: {options}}}, grader: code"):
        [line] = told(tmp_path, f"test_cases: [{{id: a, input: hi, {written}}}]")
        assert line.endswith("is missing")
    beside = f"{options[:-1]}, tone: 4}}"
    assert told(tmp_path, f"test_cases: [{{id: a, input: hi, graders: [{{{kind}: {beside}}}]}}]") == []


def test_another_answer_may_be_in_the_grader(tmp_path: Path) -> None:
    assert told(tmp_path, "test_cases: [{id: a, input: hi, graders: [{pairwise: Ada}]}]") == []


def test_unknown_options_are_errors_in_native_files_and_warnings_elsewhere(tmp_path: Path) -> None:
    config = "{type: code, config: {method: exact_match, case_sensitiv: true}}"
    [line] = told(tmp_path, case_with(f"expected_output: x\n  grader: {config}"))
    assert "warning" in line
    assert "did you mean 'case_sensitive'?" in line
    [line] = told(tmp_path, f"test_cases: [{{id: a, input: hi, expected: x, grader: {config}}}]")
    assert "warning" not in line
    assert "did you mean 'case_sensitive'?" in line


UNKNOWN_OPTIONS = [
    ("expected_output: {type: exact, value: x, weird: 1}", "exact", {"value": "x"}),
    ("expected_output: {contains: x, weird: 1}", "contains", {"value": "x"}),
    (
        "expected_output: {type: structural, value: {a: 1}, weird: 1, strict: true}",
        "structural_match",
        {"value": {"a": 1}, "strict": True},
    ),
    (
        "expected_output: {type: exact, value: x, alternatives: [y], weird: 1}",
        "any_of",
        [{"kind": "exact", "options": {"value": "x"}}, {"kind": "exact", "options": {"value": "y"}}],
    ),
    (
        "expected_output: {type: semantic, value: {must_include: [a], weird: [b]}}",
        "includes",
        {"must_include": ["a"]},
    ),
]


@pytest.mark.parametrize(("lines", "kind", "options"), UNKNOWN_OPTIONS)
def test_what_is_not_known_of_an_expectation_is_reported_and_left_out_in_files_from_elsewhere(
    tmp_path: Path, lines: str, kind: str, options: Any
) -> None:
    [line] = told(tmp_path, case_with(lines))
    assert "warning" in line
    assert "unknown key 'weird'" in line
    assert grader(one_case(tmp_path, case_with(lines))) == (kind, options)
    text = "test_cases:\n" + case_with(lines).replace("capability_eval:\n  id", "  - id").replace("\n  ", "\n    ")
    assert any("warning" not in line and "unknown key 'weird'" in line for line in told(tmp_path, text))


def test_a_judge_may_be_told_anything_about_what_is_meant(tmp_path: Path) -> None:
    lines = "expected_output: {type: semantic, value: {tone: kind}}\n  grader: {type: model, config: {rubric: r}}"
    assert grader(one_case(tmp_path, case_with(lines))) == ("model", {"expected": {"tone": "kind"}, "rubric": "r"})


def test_a_name_of_the_config_folder_is_described_there_and_not_named_again(tmp_path: Path) -> None:
    put(tmp_path, {"config/graders.yaml": "one: two\ntwo: one\nthree: {type: codee}\nfour: threee\n"})
    lines = told(tmp_path, case_with("expected_output: x\n  grader: one\n  graders: [three, four]"))
    assert lines == [
        "config/graders.yaml:1: one: 'two' is another name of this file; describe the grader here instead",
        "config/graders.yaml:3: three: unknown grader 'codee'; did you mean 'code'?",
        *(line for line in lines if line.startswith("config/graders.yaml:4: four: unknown grader 'threee'")),
    ]
    assert len(lines) == 3
    assert "'three'" not in lines[2]
