"""No document, however broken, makes the loader raise; and everything it accepts can be planned."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from sample_sizes import examples

from evalharness.actions.run_suite import RunRequest, plan_runs
from evalharness.contracts.context import Context
from evalharness.domain.suite import LoadedFile
from evalharness.errors import MissingVariable, NothingSelected
from evalharness.formats.recognition import named_format
from evalharness.formats.suite_files import load_file
from evalharness.redaction import Redactor
from evalharness.settings import Settings
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
CAPABILITY: dict[str, Any] = {
    "id": "cap",
    "name": "n",
    "category": "c",
    "input": {"type": "file", "content": "note.txt", "context": {"a": 1}},
    "expected_output": {"type": "semantic", "value": {"must_include": ["x"], "must_not_include": ["y"]}},
    "grader": {"type": "code", "config": {}},
    "metadata": {"difficulty": "easy", "tags": ["t"], "timeout_seconds": 5, "retries": 1, "weight": 1.5},
}
REGRESSION: dict[str, Any] = {
    "id": "reg",
    "baseline_version": "v1",
    "baseline": {"output": {"status": 200, "body": {"id": "{{any_uuid}}", "n": 1}}, "captured_at": "2024-01-01"},
    "current": {
        "input": {"method": "GET", "endpoint": "/users", "headers": {"a": "b"}},
        "execution": {"type": "http", "base_url": "http://localhost"},
    },
    "comparison": {"type": "structural", "tolerance": {"allow_additional_fields": True}, "ignore_fields": ["a.*.b"]},
    "metadata": {"criticality": "high", "failure_count": 0},
}
SKILL: dict[str, Any] = {
    "id": "skill",
    "baseline": {"$ref": "base.json"},
    "current": {"input": {"a": 1}, "execution": {"type": "skill", "skill_name": "s", "parameters": {"b": 2}}},
    "comparison": {"type": "numeric", "tolerance": {"scores": {"min_delta": -0.3, "max_delta": None}}},
}
JSON_FORM: dict[str, Any] = {
    "schema_version": "1.0",
    "eval_type": "regression",
    "metadata": {"id": "json", "name": "n", "tags": ["t"], "criticality": "low"},
    "baseline": {"version": "v1", "response": {"status": 200, "body": {"a": []}}},
    "test_case": {
        "input": {"method": "GET", "path": "/a"},
        "comparison": {"type": "structural", "options": {"ignore_values": ["a.*"], "require_keys": ["a"]}},
    },
    "grader": {"type": "code", "config": {"method": "structural_match", "strict": False}},
}
ALTERNATIVES = {**CAPABILITY, "id": "alt", "expected_output": {"type": "exact", "value": "a", "alternatives": ["b"]}}
EVAL_SUITE: dict[str, Any] = {
    "eval_suite": {
        "name": "s",
        "target": "oracle",
        "config": {"parallel_execution": True, "max_workers": 4, "timeout_global": 60, "retry_count": 2},
        "evals": [
            {"$ref": "part.json"},
            {"$ref": "native.json"},
            ALTERNATIVES,
            {**ALTERNATIVES, "id": "named", "grader": "loose"},
            {"regression_eval": {**SKILL, "id": "inline"}},
        ],
    }
}
FORMAT = named_format("eval-harness")
EVALS: list[Any] = [
    [CAPABILITY, {"regression_eval": REGRESSION}, SKILL],
    {"capability_eval": ALTERNATIVES},
    JSON_FORM,
    EVAL_SUITE,
]
BESIDE = {
    "note.txt": "x {{ y",
    "base.json": json.dumps({"output": {"scores": {"a": 1}}}),
    "part.json": json.dumps([CAPABILITY, REGRESSION]),
    "native.json": json.dumps({**DOCUMENT, "metadata": {"id": "m"}}),
    "config/graders.yaml": "loose: {type: code, config: {case_sensitive: false}}",
    "config/thresholds.yaml": "default: {pass@1: 0.5}",
}
WORDS = ["type", "kind", "value", "options", "oracle", "exact", "contains", "regex", "command", "{{place}}", "{{gone}}"]
WORDS += ["", " ", "a", "../x", "\0", "graders", "input", "test_cases", "name", "\\{{", "json_equals", "not", "é", "("]
WORDS += ["$ref", "part.json", "evals.json", "note.txt", "config", "grader", "baseline", "loose", "regression_eval"]
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
@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_mangled_documents_are_refused_in_words_or_planned(
    folder: Path, store: SqlStore, steps: list[tuple[str, int, str, Any]]
) -> None:
    check(mangle(copy.deepcopy(DOCUMENT), steps), folder, store)


@pytest.fixture(scope="module")
def evals_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evals")
    (folder / "config").mkdir()
    for name, text in BESIDE.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("document", EVALS, ids=["list", "wrapped", "json form", "suite"])
def test_the_evals_themselves_are_valid(evals_folder: Path, store: SqlStore, document: Any) -> None:
    assert check_evals(document, evals_folder, store)


@given(which=st.sampled_from(range(len(EVALS))), steps=st.lists(STEP, min_size=1, max_size=4))
@example(which=3, steps=[("put", 0, "", None)])
@examples(200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_mangled_evals_are_refused_in_words_or_planned(
    evals_folder: Path, store: SqlStore, which: int, steps: list[tuple[str, int, str, Any]]
) -> None:
    check_evals(mangle(copy.deepcopy(EVALS[which]), steps), evals_folder, store)


def check_evals(document: Any, folder: Path, store: SqlStore) -> bool:
    path = folder / "evals.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return is_planned(load_file(path, FORMAT), store)


def check(document: Any, folder: Path, store: SqlStore) -> bool:
    path = folder / "suite.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return is_planned(load_file(path), store)


def is_planned(loaded: LoadedFile, store: SqlStore) -> bool:
    errors = [problem for problem in loaded.problems if problem.severity == "error"]
    assert bool(errors) == (loaded.suite is None)
    for problem in loaded.problems:
        assert problem.message
        assert str(problem)
    if loaded.suite is None:
        return False
    try:
        planned = asyncio.run(plan_runs(Context(store, Settings()), [loaded], RunRequest(targets=("oracle",))))
    except (MissingVariable, NothingSelected):
        return True
    assert planned[0].run.planned_trials == len(loaded.suite.cases) * loaded.suite.trials
    return True
