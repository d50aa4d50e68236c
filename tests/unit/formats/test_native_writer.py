"""A dumped suite is short and readable, and means the same. A property test checks that it loads back equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalharness.domain.case import Case
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite
from evalharness.errors import UsageError
from evalharness.formats.native.reader import load_native
from evalharness.formats.native.writer import dump_suite
from evalharness.syntax.source import parse_text
from evalharness.values.variables import fill


def load(text: str) -> Suite:
    suite, findings = load_native(parse_text(text, ".yaml", Path("suite.yaml")))
    assert suite is not None, findings.problems
    return suite


def dumped_case(**fields: Any) -> str:
    """The lines of one case, after its id and input."""
    text = dump_suite(Suite(name="s", cases=[Case.model_validate({"id": "a", "input": "q", **fields})]))
    return text.partition("    input: q\n")[2]


def test_a_whole_suite_as_people_would_write_it() -> None:
    text = """\
schema_version: "1.0"
name: support-bot
description: |-
  Answers of the bot,
  in two lines
target: agent.py:answer
targets:
  fast:
    command: ./agent --fast
    result: json
variants:
  one: fast
  two: "null"
trials: 3
vars:
  product: Widget
graders:
  - not_contains: [TODO, as an AI]
config:
  timeout_seconds: 60
metadata:
  category: tone
test_cases:
  - id: greeting
    input: Say hello to Ada
    expected:
      contains: Ada
      weight: 2
    tags: [smoke]

  - id: price
    input:
      prompt: What does a {{product}} cost?
    expected: "9.99"
    graders:
      - exit_code
      - checks:is_polite
      - numeric: 9.99
        absolute: 0.005
        required: false
    files:
      a.txt: |
        one
        two
    category: facts
    timeout_seconds: 0.5
"""
    assert dump_suite(load(text)) == text


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ({"expected": "yes"}, '    expected: "yes"\n'),
        ({"expected": {"exact": 5}}, "    expected:\n      exact: 5\n"),
        ({"expected": {"exit_code": None}}, "    expected:\n      exit_code: null\n"),
        ({"graders": []}, "    graders: []\n"),
        ({"graders": ["exit_code"]}, "    graders: [exit_code]\n"),
        ({"graders": [{"kind": "type", "options": 1}]}, "    graders:\n      - kind: type\n        options: 1\n"),
        ({"files": ["a.txt", "b.txt"]}, "    files: [a.txt, b.txt]\n"),
        ({"files": {"a.txt": {"path": "b.txt"}}}, "    files:\n      a.txt:\n        path: b.txt\n"),
        ({"target": "http://localhost:1"}, "    target: http://localhost:1\n"),
        ({"target": {"kind": "echo", "tools": ["a"]}}, "    target:\n      echo: null\n      tools: [a]\n"),
        ({"timeout_seconds": 30.0, "weight": 2.0}, "    timeout_seconds: 30\n    weight: 2\n"),
        ({"reference": 5.0}, "    reference: 5.0\n"),
    ],
)
def test_short_forms(fields: dict[str, Any], lines: str) -> None:
    assert dumped_case(**fields) == lines


def test_what_a_case_does_not_inherit_is_said() -> None:
    metadata = {"category": "all", "tags": ["t"], "description": "of the metadata"}
    cases = [Case(id="a", input="q", category="all", tags=["t"]), Case(id="b", input="q", tags=["t", "own"])]
    suite = Suite(name="s", metadata=metadata, cases=cases)
    text = dump_suite(suite)
    assert load(text) == suite
    assert 'category: ""' in text
    assert text.count("all") == 1, "what all cases share is written once"


def test_tags_of_the_metadata_that_a_case_lacks_cannot_be_written() -> None:
    with pytest.raises(UsageError, match=r"metadata\.tags apply to every case, but those of case 'a'"):
        dump_suite(Suite(name="s", metadata={"tags": ["t"]}, cases=[Case(id="a", input="q")]))


def test_braces_of_a_suite_without_variables_are_escaped() -> None:
    suite = Suite(name="s {{n}}", cases=[Case(id="a", input="{{x}} \\{{y}}", metadata={"{{k}}": 1})])
    again = load(dump_suite(suite))
    assert again.name == "s {{n}}"
    filled = fill(again.cases[0].model_dump(mode="json"), {"x": "no", "y": "no", "k": "no"})
    assert Case.model_validate(filled) == suite.cases[0]


@pytest.mark.parametrize(
    "prompts",
    [
        ["Say {{x}}", [{"role": "user", "content": "{{x}}"}]],
        {"plain": "Say {{x}}", "like a file": {"text": "notes.txt"}, "escaped": "\\{{x}} {{x}}"},
    ],
)
def test_prompts_are_written_as_they_are(prompts: Any) -> None:
    suite = Suite(name="s", prompts=prompts, cases=[Case(id="a", vars={"x": "literal {{y}}", "n": 1})])
    again = load(dump_suite(suite))
    assert again.prompts == suite.prompts
    assert again.cases == suite.cases


def test_what_a_file_cannot_represent_is_refused_in_words() -> None:
    case = Case(id="a", input="q")
    live = TargetSpec.model_validate(len)
    for suite, match in [
        (Suite(name="s", target=live, cases=[case]), "Python function"),
        (Suite(name="s", cases=[Case(id="a", input="q", graders=[len])]), "Python function"),
        (Suite(name="s", cases=[Case(id="{{a}}", input="q")]), "case id"),
        (Suite(name="s", cases=[Case(id="a", input="\ud800")]), "surrogate"),
    ]:
        with pytest.raises(UsageError, match=match):
            dump_suite(suite)
