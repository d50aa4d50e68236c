"""Where the cases of a suite are written, in every format: what annotations and test runners point at."""

from __future__ import annotations

import json
from pathlib import Path

from evalharness.formats.suite_files import load_file, load_with_places

SAID = {"role": "user", "content": "hello"}
SESSION = {"id": "s", "messages": [{"message": {"agentName": "", "message": SAID}}], "evals": {"size": "S"}}


def lines(path: Path, text: str) -> dict[str, int]:
    path.write_text(text)
    file = load_with_places(path)
    assert file.suite is not None, file.problems
    assert {place.file for place in file.places.values()} == {str(path)}
    assert list(file.places) == [case.id for case in file.suite.cases]
    return {case_id: place.line for case_id, place in file.places.items()}


def test_native_yaml_with_long_and_short_cases(tmp_path: Path) -> None:
    text = "name: x\ntest_cases:\n  - id: a\n    input: q\n    expected: r\n\n  - {input: q, expected: r}\n"
    assert lines(tmp_path / "x.yaml", text) == {"a": 3, "case-2": 7}


def test_rows_of_jsonl_and_csv(tmp_path: Path) -> None:
    rows = '{"id": "a", "input": "q", "expected": "r"}\n\n{"id": "b", "input": "q", "expected": "r"}\n'
    assert lines(tmp_path / "x.jsonl", rows) == {"a": 1, "b": 3}
    assert lines(tmp_path / "x.csv", 'question,answer\n"two\nlines",r\nq,r\n') == {"case-1": 2, "case-2": 4}


def test_task_suites_and_workflow_datasets(tmp_path: Path) -> None:
    tasks = [{"id": n, "category": "code_generation", "prompt": "p", "expectedPatterns": ["x"]} for n in ("t1", "t2")]
    text = json.dumps({"name": "s", "description": "d", "tasks": tasks}, indent=1)
    first = text.splitlines().index("  {") + 1
    assert lines(tmp_path / "tasks.json", text) == {"t1": first, "t2": first + 8}
    cases = [{"id": n, "input": {}, "assertions": [{"type": "behavior.no_errors"}]} for n in ("c1", "c2")]
    text = json.dumps({"id": "d", "workflowName": "w", "version": "1", "cases": cases}, indent=1)
    assert list(lines(tmp_path / "dataset.json", text)) == ["c1", "c2"]


def test_cases_of_other_files_point_at_those_files(tmp_path: Path) -> None:
    (tmp_path / "part.yaml").write_text("# a part\nname: part\ntest_cases:\n  - {id: b, input: q, expected: r}\n")
    suite = tmp_path / "suite.yaml"
    suite.write_text("eval_suite:\n  name: all\n  evals:\n    - $ref: part.yaml\n")
    file = load_with_places(suite)
    assert file.suite is not None, file.problems
    [(_, place)] = file.places.items()
    assert (Path(place.file).name, place.line) == ("part.yaml", 4)


def test_recorded_sessions_point_at_their_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps(SESSION))
    places = load_with_places(tmp_path).places
    assert {name: (Path(place.file).name, place.line) for name, place in places.items()} == {
        "one": ("one.json", 1),
        "two": ("two.json", 1),
    }


def test_lines_are_counted_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("name: x\ntest_cases: [{id: a, input: q, expected: r}]\n")
    assert load_file(path).places == {}
