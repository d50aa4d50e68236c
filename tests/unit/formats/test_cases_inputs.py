"""Inputs that are files or HTTP requests."""

from __future__ import annotations

from pathlib import Path

import pytest
from eval_files import one_case, put, told

from evalharness.values.variables import fill


def asking(written: str) -> str:
    return f"{{id: a, input: {written}, expected_output: x}}"


def test_a_file_is_read_when_the_suite_is_loaded(tmp_path: Path) -> None:
    text = "Zeile 1 – ünïcode\n{{not a variable}} \\{{ {{name}}\n"
    put(tmp_path, {"docs/question.md": text})
    case = one_case(tmp_path, asking("{type: file, content: docs/question.md, context: {a: 1}}"))
    assert case.context == {"a": 1}
    assert case.input == {"type": "prompt", "content": case.content, "context": {"a": 1}}
    assert fill(case.content, {"name": "filled"}) == text, "braces in a file are never variables"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("missing.md", "there is no file missing.md"),
        ("../outside.md", "is outside the suite's folder"),
        ("/etc/hostname", "must be a relative path"),
        ("latin.txt", "is not UTF-8 text"),
        ("large.txt", "is larger than 10 MB"),
        (".", "is not a regular file"),
        ("5", "must be the path of a file"),
        ("'{{file}}'", "must not contain {{"),
    ],
)
def test_files_that_cannot_be_read_are_reported(tmp_path: Path, content: str, message: str) -> None:
    put(tmp_path, {"outside.md": "secret"})
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "latin.txt").write_bytes(b"\xe9")
    (suite / "large.txt").write_bytes(b"x" * 10_000_001)
    [line] = told(suite, asking(f"{{type: file, content: {content}}}"))
    assert line.startswith("evals.yaml:1: input.content: ")
    assert message in line


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("{type: file}", "is missing"),
        ("{type: prompt, context: {a: 1}}", "is missing"),
        ("{type: api_call}", "is missing"),
        ("{type: prompt, contents: hi}", "is missing; it is spelled 'contents'"),
    ],
)
def test_an_input_of_a_type_has_a_content(tmp_path: Path, written: str, problem: str) -> None:
    assert told(tmp_path, asking(written)) == [f"evals.yaml:1: input.content: {problem}"]


def test_in_native_files_only_a_type_alone_lacks_a_content(tmp_path: Path) -> None:
    native = "test_cases: [{id: a, input: %s, expected: x}]"
    assert told(tmp_path, native % "{type: file}") == ["evals.yaml:1: test_cases[0].input.content: is missing"]
    assert one_case(tmp_path, native % "{type: file, name: a.txt}").content == {"type": "file", "name": "a.txt"}


def test_the_method_of_a_request_may_be_a_variable(tmp_path: Path) -> None:
    case = one_case(tmp_path, asking("{type: api_call, content: {method: '{{how}}', path: /a}}"))
    assert case.content["method"] == "{{how}}"


def test_a_request_is_kept_in_one_form(tmp_path: Path) -> None:
    written = "{type: api_call, content: {method: put, endpoint: /a, headers: {x: 1}, body: {b: 2}}, context: c}"
    case = one_case(tmp_path, asking(written))
    assert case.input == {
        "type": "api_call",
        "content": {"method": "PUT", "path": "/a", "headers": {"x": "1"}, "body": {"b": 2}, "answer": "body"},
        "context": "c",
    }
    assert case.target is not None
    assert case.target.options == {"url": "{{api_base_url}}"}
    case = one_case(tmp_path, asking("{type: api_call, content: {url: '{{base}}/a', answer: response}}"))
    assert case.content == {"method": "GET", "path": "/a", "answer": "response"}
    assert case.target is not None
    assert case.target.options == {"url": "{{base}}"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x", "an api_call must be a mapping"),
        ("{path: 5}", "must be text, not 5"),
        ("{path: /a, headers: x}", "must be a mapping"),
        ("{path: /a, answer: all}", "'all' is not allowed"),
        ("{path: /a, pth: /b}", "did you mean 'path'?"),
        ("{path: /a, method: fetch}", "content.method: 'fetch' is not an HTTP method; write GET, POST"),
        ("{path: /a, url: /b}", "is given twice, in two spellings"),
    ],
)
def test_requests_that_cannot_be_sent_are_reported(tmp_path: Path, content: str, message: str) -> None:
    lines = told(tmp_path, asking(f"{{type: api_call, content: {content}}}"))
    assert len(lines) == 1, lines
    assert lines[0].startswith("evals.yaml:1: ")
    assert message in lines[0]
