"""From rows to cases: what a mapping may contain, and how empty, odd or wrong cells are handled."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from evalharness.domain.suite import Suite
from evalharness.errors import UnknownName, UsageError
from evalharness.formats.problems import Findings
from evalharness.formats.tables.columns import parse_mapping
from evalharness.formats.tables.rows import read_table
from evalharness.formats.tables.table_suites import suite_from_rows
from evalharness.reports.words.say import say

ROWS = [
    {"question": "2+2?", "answer": "4", "n": 4, "choices": ["3", "4"], "meta": {"source": "book", "page": 7}, "a.b": 1},
    {"question": "Capital of France?", "answer": "Paris", "n": 0.5, "choices": ["Rome", "Paris"], "meta": {}},
]


@pytest.fixture
def convert(tmp_path: Path) -> Any:
    def converted(
        *mapping: str, rows: list[dict[str, Any]] = ROWS, limit: int | None = None, ending: str = "jsonl"
    ) -> tuple[Suite | None, Findings]:
        path = tmp_path / f"rows.{ending}"
        with path.open("w", encoding="utf-8", newline="") as file:
            if ending == "csv":
                writer = csv.DictWriter(file, fieldnames=list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
            else:
                file.writelines(json.dumps(row) + "\n" for row in rows)
        return suite_from_rows(read_table(path), parse_mapping(mapping), name="rows", limit=limit)

    return converted


def first(converted: tuple[Suite | None, Findings]) -> Any:
    suite, findings = converted
    assert suite is not None, findings.problems
    return suite.cases[0]


def test_question_and_answer(convert: Any) -> None:
    suite, findings = convert("input=question", "expected=answer")
    assert [(case.id, case.input, case.expected.kind, case.expected.options) for case in suite.cases] == [
        ("case-1", "2+2?", "exact", "4"),
        ("case-2", "Capital of France?", "exact", "Paris"),
    ]
    assert suite.name == "rows"
    assert findings.problems == []


@pytest.mark.parametrize(
    ("mapping", "kind", "options"),
    [
        ("expected.contains=answer", "contains", "4"),
        ("expected.contains=choices", "contains", ["3", "4"]),
        ("expected.numeric=n", "numeric", 4),
        ("expected=n", "exact", "4"),
        ("expected.json_equals=meta", "json_equals", {"value": {"source": "book", "page": 7}}),
        (r"expected.regex=^{answer}\\.?$", "regex", r"^4\.?$"),
    ],
)
def test_any_grader_may_take_the_answer(convert: Any, mapping: str, kind: str, options: Any) -> None:
    case = first(convert("input=question", mapping, limit=1))
    assert (case.expected.kind, case.expected.options) == (kind, options)


def test_several_graders_all_count(convert: Any) -> None:
    case = first(convert("input=question", "expected=answer", "expected.max_length=n", limit=1))
    assert case.expected is None
    assert [(spec.kind, spec.options) for spec in case.graders] == [("exact", "4"), ("max_length", 4)]


def test_other_keys_of_a_case(convert: Any) -> None:
    row = {"q": "x", "no": 7, "t": "a, b,", "w": "2", "c": "High", "cat": True, "note": "text"}
    keys = "id=no name=q description=q input=q reference=q category=cat tags=t weight=w cluster=no difficulty=c"
    more = "criticality=c metadata.level=c files.notes.txt=note"
    case = first(convert(*(keys + " " + more).split(), rows=[row]))
    assert (case.id, case.tags, case.weight, case.category) == ("7", ("a", "b"), 2.0, "true")
    assert (case.cluster, case.difficulty, case.criticality) == ("7", "High", "high")
    assert case.metadata == {"level": "High"}
    assert case.files["notes.txt"].text == "text"


def test_inputs_of_several_columns(convert: Any) -> None:
    case = first(convert("input.q=question", "input.options=choices", "expected=answer"))
    assert case.input == {"q": "2+2?", "options": ["3", "4"]}
    case = first(convert(r"input={question}\nA) {choices.0}\nB) {choices.1} {{x}}", "expected=answer"))
    assert case.input == "2+2?\nA) 3\nB) 4 {x}"


def test_columns_inside_columns_and_with_dots_in_their_names(convert: Any) -> None:
    case = first(convert("input=question", "expected=answer", "metadata.from=meta.source", "metadata.ab=a.b"))
    assert case.metadata == {"from": "book", "ab": 1}


def test_a_pattern_takes_a_part_of_a_cell(convert: Any) -> None:
    rows = [{"q": "?", "a": "so it is\n#### 1,072"}, {"q": "!", "a": "no mark"}]
    suite, findings = convert("input=q", "expected.numeric=a~#### (.+)", rows=rows)
    assert [case.expected.options for case in suite.cases] == [1072]
    assert [p.message for p in findings.problems] == ["the row is skipped: '#### (.+)' matches nothing in a"]


def test_a_number_is_a_text_where_texts_are_compared(convert: Any) -> None:
    case = first(convert("input=q", "expected.semantic_similarity=a", rows=[{"q": "?", "a": 42}]))
    assert case.expected.options == "42"


def test_an_empty_cell_is_distinguished_from_one_without_what_is_looked_for(convert: Any) -> None:
    rows = [{"q": "1", "a": "#### 1"}, {"q": "2", "a": ""}, {"q": "3", "a": "none"}, {"q": "4", "a": "none"}]
    _, findings = convert("input=q", "expected=a~#### (.+)", rows=rows)
    assert [(p.line, p.message) for p in findings.problems] == [
        (2, "the row is skipped: nothing in a"),
        (3, "2 rows are skipped, starting here: '#### (.+)' matches nothing in a"),
    ]


def test_cells_of_csv_become_numbers_and_json_where_the_grader_needs_them(convert: Any) -> None:
    row = {"q": "?", "n": "0.5", "j": '{"a": [1, null]}', "t": "007"}
    for mapping, options in [("numeric=n", 0.5), ("json_equals=j", {"value": {"a": [1, None]}}), ("exact=t", "007")]:
        assert first(convert("input=q", f"expected.{mapping}", rows=[row], ending="csv")).expected.options == options


def test_braces_in_cells_are_plain_text(convert: Any) -> None:
    suite, _ = convert("input=q", "expected=a", rows=[{"q": "{{x}}", "a": "y"}])
    assert suite.cases[0].input == "\\{{x}}"
    assert suite.templated


def test_rows_without_question_or_answer_are_left_out_and_reported(convert: Any) -> None:
    rows = [{"q": "1", "a": "x"}, {"q": " ", "a": "x"}, {"q": "3", "a": None}, {"q": "4"}, {"q": "5", "a": 0}]
    suite, findings = convert("input=q", "expected=a", rows=rows)
    assert [case.id for case in suite.cases] == ["case-1", "case-5"], "rows keep their numbers"
    assert [(p.line, p.severity, p.message) for p in findings.problems] == [
        (2, "warning", "the row is skipped: nothing in q"),
        (3, "warning", "2 rows are skipped, starting here: nothing in a"),
    ]


def test_a_limit_counts_cases(convert: Any) -> None:
    rows = [{"q": "1"}, {"q": "2", "a": "x"}, {"q": "3", "a": "x"}]
    assert [case.id for case in convert("input=q", "expected=a", rows=rows, limit=1)[0].cases] == ["case-2"]


def test_nothing_expected_is_a_warning(convert: Any) -> None:
    suite, findings = convert("input=question")
    assert suite is not None
    assert say(findings.problems[0]).endswith("nothing is checked: any answer passes; add --map expected=COLUMN")
    assert "--" not in findings.problems[0].message


@pytest.mark.parametrize(
    ("mapping", "rows", "problem"),
    [
        (
            "id=a",
            [{"q": "1", "a": "x"}, {"q": "2", "a": "x"}],
            "already used on line 1; without --map id, rows are numbered",
        ),
        ("id=a", [{"q": "1", "a": "{{x}}"}], "must not contain {{"),
        ("id=a", [{"q": "1", "a": [1]}], "must be text"),
        ("expected=a", [{"q": "1", "a": [1]}], "is a list, not text; to compare it, use --map expected.json_equals=…"),
        ("expected.numeric=a", [{"q": "1", "a": "one"}], "must be a number, not 'one'"),
        ("expected.regex=a", [{"q": "1", "a": "("}], "is not a regular expression"),
        ("weight=a", [{"q": "1", "a": "heavy"}], "must be a number, not 'heavy'"),
        ("expected=a", [{"q": "1", "a": ""}], "the row is skipped: nothing in a"),
    ],
)
def test_wrong_cells_are_problems(convert: Any, mapping: str, rows: list[dict[str, Any]], problem: str) -> None:
    suite, findings = convert("input=q", mapping, rows=rows)
    assert suite is None
    assert any(problem in say(found) for found in findings.problems), findings.problems


def test_many_problems_are_cut_short(convert: Any) -> None:
    _, findings = convert("input=q", "expected.numeric=a", rows=[{"q": "1", "a": "x"}] * 1000)
    assert len(findings.problems) == 21
    assert "stopped after 20 problems" in findings.problems[-1].message


def test_an_unknown_column_is_named_with_the_known_ones(convert: Any) -> None:
    with pytest.raises(UnknownName) as caught:
        convert("input=qestion", "expected=answer")
    assert caught.value.guess == "question"
    assert "meta.source" in caught.value.choices


@pytest.mark.parametrize(
    ("mapping", "match"),
    [
        (["expected=a"], "no column is mapped to input"),
        (["input=a", "input=b"], "input is mapped twice"),
        (["input=a", "input.x=b"], "map either input or input.NAME, not both"),
        (["input"], "write KEY=COLUMN"),
        (["input="], "write KEY=COLUMN"),
        (["inputs=a"], "Did you mean 'input'"),
        (["input=a", "metadata=b"], "unknown key 'metadata' of a mapping"),
        (["input=a", "expected.contians=b"], "Did you mean 'contains'"),
        (["input={a"], "unmatched '{'"),
        (["input={{a}}"], "no column is named"),
        (["input=a", "expected=a~("], r"^mapping expected=a~\(: '\(' is not a regular expression"),
        (["input=a", "expected={"], "^mapping expected={: unmatched '{'"),
        (["input=a", "files.../x=b"], "inside the workspace"),
    ],
)
def test_a_mapping_that_cannot_be_meant_is_refused(mapping: list[str], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        parse_mapping(mapping)
