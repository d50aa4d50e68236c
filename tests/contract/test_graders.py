"""What every grader owes its users, whichever it is. A grader without an entry here fails the first test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from real_models import need_wordllama

from evalharness import registry
from evalharness.contracts import Grader
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.errors import Unscored

Answer = dict[str, Any]
PAYLOAD = "__import__('os').system('touch pwned')"
JUDGE = """
def has_ada(context, wanted="Ada"):
    return isinstance(context.output, str) and wanted in context.output
"""
SCORER = """
def has_ada(artifact):
    return float("Ada" in str(artifact.outputs["main"]["text"])) if "main" in artifact.outputs else 0.0


def has_eve(artifact):
    return 0.0
"""
JUDGE_SCRIPT = r"""
replies:
  - when: '(?s)response begins \w+ ---\nGladly.*"nonce": "(\w+)"'
    steps: [{object: {nonce: "{match:1}", reason: "it is kind", result: pass}}]
  - when: '(?s)The statement:.*"nonce": "(\w+)"'
    steps: [{object: {nonce: "{match:1}", reason: "it is rude", result: fail}}]
  - when: '(?s)first answer begins \w+ ---\nGladly.*"nonce": "(\w+)"'
    steps: [{object: {nonce: "{match:1}", justification: "it is kinder", winner: first}}]
  - when: '(?s)second answer begins \w+ ---\nGladly.*"nonce": "(\w+)"'
    steps: [{object: {nonce: "{match:1}", justification: "it is kinder", winner: second}}]
  - when: '(?s)first answer begins.*"nonce": "(\w+)"'
    steps: [{object: {nonce: "{match:1}", justification: "none is kind", winner: tie}}]
  - when: '(?s)answer begins \w+ ---\nGladly.*"nonce": "(\w+)"'
    steps: [{object: {nonce: "{match:1}", justification: kind, overall_score: 5, passed: true, specific_feedback: []}}]
  - when: '"nonce": "(\w+)"'
    steps: [{object: {nonce: "{match:1}", justification: rude, overall_score: 1, passed: false, specific_feedback: []}}]
"""
SCRIPTED = "scripted/judge.yaml"
HELD = {"type": "output.contains", "path": "outputs.main.text", "value": "Ada"}
EXECUTED = {"type": "behavior.node_executed", "nodeId": "coder"}


@dataclass(frozen=True)
class Entry:
    """One grader, written in two ways that mean the same, and in one that means something else."""

    short: Any
    long: dict[str, Any]
    other: dict[str, Any]
    passing: Answer
    failing: Answer
    has_example: bool = True
    awaits: bool = False
    """Somebody else gives the grade: whatever the answer, it is due."""


def said(text: Any) -> Answer:
    return {"output": text}


def took(**amounts: Any) -> Answer:
    """The answer of a workflow whose one agent took so much."""
    return {"snapshot": {"outputs": {}}, "events": ({"type": "agent:complete", "nodeId": "coder", **amounts},)}


ENTRIES = {
    "exact": Entry(
        {"exact": "Ada"},
        {"type": "exact", "value": "Ada"},
        {"type": "exact", "value": "Ada", "case_sensitive": False},
        said(" Ada\n"),
        said("ada"),
    ),
    "contains": Entry(
        {"contains": ["Ada", "Byron"]},
        {"type": "contains", "value": ["Ada", "Byron"]},
        {"type": "contains", "value": ["Ada"]},
        said("Ada Byron"),
        said("Ada"),
    ),
    "not_contains": Entry(
        {"not_contains": "sorry"},
        {"type": "not_contains", "value": "sorry"},
        {"type": "not_contains", "value": "afraid"},
        said("gladly"),
        said("I am sorry"),
    ),
    "starts_with": Entry(
        {"starts_with": "Yes"},
        {"type": "starts_with", "value": "Yes"},
        {"type": "starts_with", "value": "No"},
        said("Yes, it is"),
        said("It is, yes"),
    ),
    "ends_with": Entry(
        {"ends_with": "done."},
        {"type": "ends_with", "value": "done."},
        {"type": "ends_with", "value": "over."},
        said("All done.\n"),
        said("done. Not."),
    ),
    "max_length": Entry(
        {"max_length": 3},
        {"type": "max_length", "value": 3},
        {"type": "max_length", "value": 4},
        said("abc"),
        said("abcd"),
    ),
    "regex": Entry(
        {"regex": r"\d+"},
        {"type": "regex", "pattern": r"\d+"},
        {"type": "regex", "pattern": r"\d+", "must_match": False},
        said("room 12"),
        said("no room"),
    ),
    "json_equals": Entry(
        {"json_equals": {"a": [1, None]}},
        {"type": "json_equals", "value": {"a": [1, None]}},
        {"type": "json_equals", "value": {"a": [1]}},
        said('{"a": [1.0, null]}'),
        said({"a": [True, None]}),
    ),
    "json_schema": Entry(
        {"json_schema": {"type": "object", "required": ["a"]}},
        {"type": "json_schema", "schema": {"type": "object", "required": ["a"]}},
        {"type": "json_schema", "schema": {"type": "object"}},
        said('{"a": 1}'),
        said("{}"),
        has_example=False,
    ),
    "structural_match": Entry(
        {"structural_match": {"id": "{{any_uuid}}", "tags": ["a"]}},
        {"type": "structural_match", "value": {"id": "{{any_uuid}}", "tags": ["a"]}},
        {"type": "structural_match", "value": {"id": "{{any_uuid}}", "tags": ["a"]}, "strict": True},
        said('{"id": "123e4567-e89b-12d3-a456-426614174000", "tags": ["a"], "more": 1}'),
        said({"id": "123e4567", "tags": ["a"]}),
    ),
    "numeric_deltas": Entry(
        {"numeric_deltas": {"tone": 4.5, "length": 3}},
        {"type": "numeric_deltas", "value": {"tone": 4.5, "length": 3}},
        {
            "type": "numeric_deltas",
            "value": {"tone": 4.5, "length": 3},
            "tolerance": {"tone": {"min_delta": -0.3}},
        },
        said('{"tone": 4.5, "length": 3.0}'),
        said({"tone": 4.4, "length": 3}),
    ),
    "includes": Entry(
        {"includes": ["Ada", "Byron"]},
        {"type": "includes", "must_include": ["Ada", "Byron"]},
        {"type": "includes", "must_include": ["Ada", "Byron"], "must_not_include": ["legacy"]},
        said("ada\nBYRON"),
        said("Ada"),
    ),
    "function_output": Entry(
        {"function_output": {"function_name": "solve", "test_cases": [{"input": [1, 2], "output": 3}]}},
        {"type": "function_output", "function_name": "solve", "test_cases": [{"args": [1, 2], "expected": 3}]},
        {"type": "function_output", "function_name": "solve", "test_cases": [{"args": [1, 2], "expected": 4}]},
        said("def solve(a, b): return a + b"),
        said("def solve(a, b): return 4"),
        has_example=False,
    ),
    "code_tests": Entry(
        {"code_tests": "assert solve(1, 2) == 3"},
        {"type": "code_tests", "test": "assert solve(1, 2) == 3"},
        {"type": "code_tests", "test": "assert solve(1, 2) == 3", "entry_point": "solve"},
        said("def solve(a, b): return a + b"),
        said("def solve(a, b): return 4"),
        has_example=False,
    ),
    "model": Entry(
        {"model": SCRIPTED},
        {"type": "model", "model": SCRIPTED},
        {"type": "model", "model": SCRIPTED, "rubric": "Is it polite?"},
        said("Gladly."),
        said("No."),
        has_example=False,
    ),
    "pairwise": Entry(
        {"pairwise": "Maybe.", "model": SCRIPTED, "pass_score": 1},
        {"type": "pairwise", "against": "Maybe.", "model": SCRIPTED, "pass_score": 1},
        {"type": "pairwise", "against": "Maybe.", "model": SCRIPTED, "rubric": "It is polite."},
        said("Gladly."),
        said("No."),
        has_example=False,
    ),
    "llm-judge": Entry(
        {"llm-judge": "Is it polite?", "model": SCRIPTED, "enabled": True, "min": 0.5},
        {"type": "llm-judge", "criteria": "Is it polite?", "model": SCRIPTED, "enabled": True, "min": 0.5},
        {"type": "llm-judge", "criteria": "Is it short?", "model": SCRIPTED, "enabled": True, "min": 0.5},
        said("Gladly."),
        said("No."),
        has_example=False,
    ),
    "human": Entry(
        {"human": "Is it polite?"},
        {"type": "human", "rubric": "Is it polite?"},
        {"type": "human", "rubric": "Is it polite?", "interface": "cli"},
        said("Gladly."),
        said("No."),
        has_example=False,
        awaits=True,
    ),
    "numeric": Entry(
        {"numeric": 4.5},
        {"type": "numeric", "value": 4.5},
        {"type": "numeric", "value": 4.5, "tolerance": 1},
        said("about 4.5 metres"),
        said("4.6"),
    ),
    "exit_code": Entry(
        "exit_code",
        {"type": "exit_code", "value": 0},
        {"type": "exit_code", "value": 2},
        {"exit_code": 0},
        {"exit_code": 1},
    ),
    "assertions": Entry(
        {"assertions": [HELD, EXECUTED]},
        {"type": "assertions", "assertions": [HELD, EXECUTED]},
        {"type": "assertions", "assertions": [HELD]},
        took() | {"snapshot": {"outputs": {"main": {"text": "Ada"}}}},
        said("Ada"),
    ),
    "latency": Entry(
        {"latency": 1000, "min": 0.5},
        {"type": "latency", "max_ms": 1000, "min": 0.5},
        {"type": "latency", "max_ms": 1000},
        took(durationMs=100),
        took(durationMs=900),
    ),
    "cost": Entry(
        {"cost": 0.1, "min": 0.5},
        {"type": "cost", "maxUsd": 0.1, "min": 0.5},
        {"type": "cost", "maxUsd": 0.2, "min": 0.5},
        took(totalCostUsd=0.01),
        took(totalCostUsd=0.09),
    ),
    "tokens": Entry(
        {"tokens": 1000, "min": 0.5},
        {"type": "tokens", "max_tokens": 1000, "min": 0.5},
        {"type": "tokens", "max_tokens": 1000, "min": 0.5, "input_weight": 0.5},
        took(usage={"inputTokens": 100, "outputTokens": 20}),
        took(usage={"inputTokens": 100, "outputTokens": 800}),
    ),
    "similarity": Entry(
        {"similarity": "Lovelace", "algorithm": "levenshtein", "min": 0.8},
        {"type": "similarity", "expectedValue": "Lovelace", "algorithm": "levenshtein", "min": 0.8},
        {"type": "similarity", "expectedValue": "Lovelace", "min": 0.8},
        said("Lovelave"),
        said("Byron"),
    ),
    "semantic_similarity": Entry(
        {"semantic_similarity": "The cat sat on the mat."},
        {"type": "semantic_similarity", "value": "The cat sat on the mat.", "threshold": 0.8},
        {"type": "semantic_similarity", "value": "The cat sat on the mat.", "threshold": 0.9},
        said("A cat was sitting on the mat."),
        said("The stock market fell sharply today."),
    ),
    "scorer": Entry(
        {"scorer": "scorer.py:has_ada", "min": 1},
        {"type": "scorer", "scorer": "scorer.py:has_ada", "min": 1.0},
        {"type": "scorer", "scorer": "scorer.py:has_eve", "min": 1},
        said("Ada"),
        said("Eve"),
        has_example=False,
    ),
    "expected_patterns": Entry(
        {"expected_patterns": ["regex:\\bada\\b", "not_contains:sorry"]},
        {"type": "expected_patterns", "patterns": ["regex:\\bada\\b", "not_contains:sorry"]},
        {"type": "expected_patterns", "patterns": ["regex:\\bada\\b"]},
        said("Hello Ada"),
        said("Sorry, Ada"),
    ),
    "files": Entry(
        {"files": [{"path": "a.py", "contains": "def"}, "b.py"]},
        {"type": "files", "files": [{"path": "a.py", "shouldContain": "def"}, {"path": "b.py"}]},
        {"type": "files", "files": ["a.py"]},
        {"files": {"a.py": "def f(): ...", "b.py": ""}},
        {"files": {"a.py": "def f(): ..."}},
    ),
    "tool_sequence": Entry(
        {"tool_sequence": ["search", {"name": "read", "arguments": {"path": "a"}}]},
        {"type": "tool_sequence", "calls": [{"tool": "search"}, {"name": "read", "arguments": {"path": "a"}}]},
        {"type": "tool_sequence", "calls": ["search"], "mode": "exact"},
        {"tool_calls": [{"name": "search"}, {"name": "read", "arguments": {"path": "a", "lines": 3}}]},
        {"tool_calls": [{"name": "search"}, {"name": "read", "arguments": {"path": "b"}}]},
    ),
    "size_class": Entry(
        {"size_class": "S"},
        {"type": "size_class", "value": "S"},
        {"type": "size_class", "value": "M"},
        said("short"),
        said("x" * 500),
    ),
    "tool_calls_f1": Entry(
        {"tool_calls_f1": ["search", "read"]},
        {"type": "tool_calls_f1", "tools": ["search", "read"]},
        {"type": "tool_calls_f1", "tools": ["search"]},
        {"tool_calls": [{"name": "read"}, {"name": "search"}]},
        {"tool_calls": [{"name": "read"}]},
    ),
    "relevance": Entry(
        {"relevance": ["It is polite", "It is short"], "model": SCRIPTED},
        {"type": "relevance", "criteria": ["It is polite", "It is short"], "model": SCRIPTED},
        {"type": "relevance", "criteria": ["It is polite"], "model": SCRIPTED},
        said("Gladly, Ada."),
        said("No."),
        has_example=False,
    ),
    "session_assertions": Entry(
        {"session_assertions": [{"type": "contains", "value": "Ada"}, {"type": "ends_with", "value": "."}]},
        {
            "type": "session_assertions",
            "assertions": [{"type": "contains", "value": "Ada"}, {"type": "ends_with", "value": "."}],
        },
        {"type": "session_assertions", "assertions": [{"type": "contains", "value": "Ada"}]},
        said("Hello Ada."),
        said("Hello Ada"),
    ),
    "max_rounds": Entry(
        {"max_rounds": 1},
        {"type": "max_rounds", "value": 1},
        {"type": "max_rounds", "value": 2},
        {"tool_calls": [{"name": "search"}]},
        {"tool_calls": [{"name": "search"}, {"name": "search"}]},
    ),
    "function": Entry(
        "judge.py:has_ada",
        {"type": "function", "function": "judge.py:has_ada"},
        {"type": "function", "function": "judge.py:has_ada", "arguments": {"wanted": "Eve"}},
        said("Ada"),
        said("Eve"),
        has_example=False,
    ),
    "all_of": Entry(
        {"all_of": [{"contains": "a"}, {"contains": "b"}]},
        {"type": "all_of", "graders": [{"contains": "a"}, {"contains": "b"}]},
        {"type": "all_of", "graders": [{"contains": "a"}, {"contains": "c"}]},
        said("ab"),
        said("a"),
    ),
    "any_of": Entry(
        {"any_of": [{"contains": "a"}, {"contains": "b"}]},
        {"type": "any_of", "graders": [{"contains": "a"}, {"contains": "b"}]},
        {"type": "any_of", "graders": [{"contains": "a"}]},
        said("b"),
        said("c"),
    ),
    "not": Entry(
        {"not": {"contains": "a"}},
        {"type": "not", "grader": {"contains": "a"}},
        {"type": "not", "grader": {"contains": "b"}},
        said("b"),
        said("a"),
        has_example=False,
    ),
    "weighted": Entry(
        {"weighted": [{"contains": "a", "weight": 3}, {"contains": "b"}]},
        {"type": "weighted", "graders": [{"contains": "a", "weight": 3}, {"contains": "b"}]},
        {"type": "weighted", "graders": [{"contains": "a", "weight": 3}, {"contains": "b"}], "threshold": 0.9},
        said("a"),
        said("b"),
        has_example=False,
    ),
}


def nested_list(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


ODD: dict[str, Callable[[], Any]] = {
    "null": lambda: None,
    "empty text": lambda: "",
    "number": lambda: 5,
    "true": lambda: True,
    "empty list": lambda: [],
    "empty mapping": lambda: {},
    "the text NaN": lambda: "NaN",
    "the number NaN": lambda: float("nan"),
    "infinity in a list": lambda: [float("inf")],
    "a million letters": lambda: "x" * 10**6,
    "a million digits": lambda: "1" * 10**6,
    "a million numbers": lambda: "1 " * 500_000,
    "a million spaces": lambda: " " * 10**6,
    "half a surrogate pair": lambda: "\ud800",
    "half a surrogate pair as JSON": lambda: '"\\ud800"',
    "half a surrogate pair inside": lambda: {"\udfff": ["\ud800"]},
    "an endless beginning of JSON": lambda: "[" * 100_000,
    "JSON nested 300 deep": lambda: "[" * 300 + "]" * 300,
    "JSON nested 100,000 deep": lambda: "[" * 100_000 + "]" * 100_000,
    "a list nested 100,000 deep": lambda: nested_list(100_000),
    "a number of 400 digits": lambda: 10**400,
    "a number of 5,000 digits": lambda: 10**5000,
    "a number of 5,000 digits as text": lambda: "9" * 5000,
    "a key twice": lambda: '{"a": 1, "a": 2}',
    "not JSON at all": lambda: {1: {2, 3}},
}


def test_every_grader_is_under_this_contract() -> None:
    assert set(ENTRIES) == set(registry.names("grader"))


@pytest.mark.parametrize("kind", sorted(ENTRIES))
class TestEveryGrader:
    @pytest.fixture(autouse=True)
    def _in_a_folder_with_a_judge(self, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        if kind == "semantic_similarity":
            need_wordllama()
        (tmp_path / "judge.py").write_text(JUDGE)
        (tmp_path / "scorer.py").write_text(SCORER)
        (tmp_path / "judge.yaml").write_text(JUDGE_SCRIPT)
        monkeypatch.chdir(tmp_path)

    def test_short_and_long_form_mean_the_same(self, kind: str, build: Callable[..., Grader]) -> None:
        entry = ENTRIES[kind]
        short, long = build(entry.short), build(entry.long)
        assert GraderSpec.model_validate(entry.short).kind == kind
        assert short.digest() == long.digest()

    @pytest.mark.parametrize("form", ["short", "long"])
    def test_passes_what_it_should(self, kind: str, form: str, grade: Callable[..., Grade]) -> None:
        entry = ENTRIES[kind]
        verdict = grade(getattr(entry, form), **entry.passing)
        if entry.awaits:
            assert (verdict.state, verdict.score) == ("awaiting", None)
            return
        assert verdict.state == "pass"
        assert verdict.score is not None
        assert 0 < verdict.score <= 1

    @pytest.mark.parametrize("form", ["short", "long"])
    def test_fails_what_it_should_and_says_why(self, kind: str, form: str, grade: Callable[..., Grade]) -> None:
        entry = ENTRIES[kind]
        verdict = grade(getattr(entry, form), **entry.failing)
        if entry.awaits:
            assert (verdict.state, verdict.score) == ("awaiting", None)
            assert verdict.reason
            return
        assert verdict.state == "fail"
        assert verdict.score is not None
        assert 0 <= verdict.score < 1
        assert verdict.reason

    def test_an_unknown_option_is_refused(self, kind: str) -> None:
        spec = GraderSpec.model_validate({**ENTRIES[kind].long, "no_such_option": 1})
        with pytest.raises(ValidationError, match="no_such_option"):
            registry.parse_options("grader", spec)

    def test_digest_is_stable_and_follows_the_options(self, kind: str, build: Callable[..., Grader]) -> None:
        entry = ENTRIES[kind]
        assert build(entry.long).digest() == build(entry.long).digest()
        assert build(entry.long).digest() != build(entry.other).digest()

    def test_its_example_pleases_it(self, kind: str, build: Callable[..., Grader], grade: Callable[..., Grade]) -> None:
        entry = ENTRIES[kind]
        example = build(entry.long).example()
        assert (example is not None) == entry.has_example
        if example is not None:
            output = "" if example.output is None else example.output
            beside = ("exit_code", "files", "tool_calls", "snapshot", "events")
            assert grade(entry.long, output, **{name: getattr(example, name) for name in beside}).passed

    @pytest.mark.parametrize("output", [PAYLOAD, f'"{PAYLOAD}"', {"a": PAYLOAD}, [PAYLOAD]])
    def test_an_answer_is_never_run(self, kind: str, output: Any, grade: Callable[..., Grade], tmp_path: Path) -> None:
        possible = ("awaiting",) if ENTRIES[kind].awaits else ("pass", "fail")
        for written in (ENTRIES[kind].short, ENTRIES[kind].other):
            assert grade(written, output, exit_code=0).state in possible
        assert not (tmp_path / "pwned").exists()

    @pytest.mark.parametrize("odd", sorted(ODD))
    def test_an_odd_answer_is_graded_or_unscored(self, kind: str, odd: str, grade: Callable[..., Grade]) -> None:
        try:
            verdict = grade(ENTRIES[kind].long, ODD[odd]())
        except Unscored as unscored:
            assert str(unscored)
            return
        assert verdict.passed or verdict.reason
        assert (verdict.score is None) == (verdict.state in ("unscored", "awaiting"))
        assert len(verdict.reason) < 2000
