"""No document, however mangled, makes the loader raise; and what it accepts can be planned."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from evalharness.actions.run_suite import RunRequest, plan_runs
from evalharness.errors import MissingVariable, NothingSelected
from evalharness.formats.loading import load_file
from evalharness.redaction import Redactor
from evalharness.stores.sql_store import SqlStore

DOCUMENT: dict[str, Any] = {
    "schema_version": "1.0",
    "name": "sample",
    "description": "d",
    "target": "agent.py:answer",
    "targets": {"fast": {"command": ["ls", "-l"], "result": "json"}, "posted": {"http": {"url": "http://localhost"}}},
    "variants": {"one": "oracle", "two": {"function": "agent:answer"}},
    "trials": 2,
    "vars": {"place": "Rome", "number": 5},
    "secrets": ["place"],
    "case_threshold": 0.5,
    "max_error_rate": 0.1,
    "graders": [{"not_contains": "x"}],
    "config": {"timeout_seconds": 5, "retries": 1, "parallel": True, "max_workers": 2, "seed": 7},
    "metadata": {"category": "c", "tags": ["t"]},
    "test_cases": [
        {"id": "a", "input": "hi {{place}}", "expected": "hello", "tags": ["u"], "files": {"a.txt": "text"}},
        {"id": "b", "input": {"prompt": "x"}, "expected": {"contains": ["y", "z"]}, "reference": "y z", "weight": 2},
        {"input": {"a": [1, None]}, "expected": {"type": "json_equals", "value": {"a": 1}}, "criticality": "high"},
        {
            "id": "d",
            "input": {"messages": [{"role": "user", "content": "hi"}]},
            "timeout_seconds": 1,
            "retries": 0,
            "graders": [
                {"regex": "a+", "weight": 2, "required": False, "name": "r"},
                {"numeric": {"value": 5, "tolerance": 0.1}},
                {"all_of": [{"starts_with": "a"}, {"not": {"contains": "z"}}]},
                {"weighted": {"graders": [{"ends_with": "b"}], "threshold": 0.5}},
                {"json_schema": {"type": "object"}},
                {"exit_code": 0},
            ],
        },
        {"id": "e", "input": "q", "expected": "w", "grader": {"type": "code", "config": {"method": "exact_match"}}},
    ],
}
WORDS = ["type", "kind", "value", "options", "oracle", "exact", "contains", "regex", "command", "{{place}}", "{{gone}}"]
WORDS += ["", " ", "a", "../x", "\0", "graders", "input", "test_cases", "name", "\\{{", "json_equals", "not", "é", "("]
TEXTS = st.sampled_from(WORDS) | st.text(max_size=5)
SCALARS = st.none() | st.booleans() | st.integers(-3, 2**63) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=5
)
STEP = st.tuples(st.sampled_from(["put", "delete", "rename", "add", "double"]), st.integers(0, 10_000), TEXTS, VALUES)


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) below a node."""
    for key, value in list(node.items() if isinstance(node, dict) else enumerate(node)):
        yield node, key
        if isinstance(value, dict | list):
            yield from places(value)


def mangle(document: Any, steps: list[tuple[str, int, str, Any]]) -> Any:
    for kind, number, word, value in steps:
        found = list(places(document))
        if not found:
            return value
        container, key = found[number % len(found)]
        if kind == "put":
            container[key] = value
        elif kind == "delete":
            del container[key]
        elif kind == "double" and isinstance(container, list):
            container.append(copy.deepcopy(container[key]))
        elif kind == "rename" and isinstance(container, dict):
            container[word] = container.pop(key)
        elif kind == "add" and isinstance(container[key], dict):
            container[key][word] = value
    return document


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mangled")


@pytest.fixture(scope="module")
def store() -> Iterator[SqlStore]:
    opened = SqlStore(":memory:", redactor=Redactor.none())
    yield opened
    opened.close()


def test_the_document_itself_is_valid(folder: Path, store: SqlStore) -> None:
    assert check(DOCUMENT, folder, store)


@given(steps=st.lists(STEP, min_size=1, max_size=4))
@example(steps=[("put", 0, "", None)])
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_mangled_documents_are_refused_in_words_or_planned(
    folder: Path, store: SqlStore, steps: list[tuple[str, int, str, Any]]
) -> None:
    check(mangle(copy.deepcopy(DOCUMENT), steps), folder, store)


def check(document: Any, folder: Path, store: SqlStore) -> bool:
    path = folder / "suite.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    loaded = load_file(path)
    errors = [problem for problem in loaded.problems if problem.severity == "error"]
    assert bool(errors) == (loaded.suite is None)
    for problem in loaded.problems:
        assert problem.message
        assert str(problem)
    if loaded.suite is None:
        return False
    try:
        planned = plan_runs([loaded], RunRequest(targets=("oracle",)), store)
    except (MissingVariable, NothingSelected):
        return True
    assert planned[0].run.planned_trials == len(loaded.suite.cases) * loaded.suite.trials
    return True
