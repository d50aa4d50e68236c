"""The contract of every grader. A grader without an entry here fails the first test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError
from real_models import need_wordllama

from evalharness import registry
from evalharness.contracts.containers import BindMount, ContainerRequest
from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.services import Services
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import Unscored
from evalharness.llms.pool import OpenModels
from evalharness.sandboxes.bubblewrap import Bubblewrap
from evalharness.sandboxes.none import NoSandbox
from evalharness.testing.containers import FakeContainers, FakeEndState
from evalharness.testing.grader import FakeGrader
from evalharness.testing.grader_contract import GraderContract, fake_services
from evalharness.testing.sandbox import finished

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
    """The answer of a workflow with one agent that took this time, cost and tokens."""
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
    "retrieval": Entry(
        {"retrieval": ["doc-2", "doc-7"]},
        {"type": "retrieval", "expected": {"doc-2": 1, "doc-7": 1.0}, "from": "answer", "pass": {"recall": 1}},
        {"type": "retrieval", "expected": ["doc-2", "doc-7"], "k": 5},
        said(["doc-7", "doc-1", "doc-2"]),
        said({"answer": "Ada", "contexts": [{"id": "doc-7"}, {"id": "doc-1"}]}),
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


def test_every_grader_is_under_this_contract() -> None:
    assert {*ENTRIES, "container_command"} == set(registry.names("grader"))


@pytest.mark.parametrize("kind", sorted(ENTRIES))
class TestEveryGrader(GraderContract):
    @pytest.fixture(autouse=True)
    def _in_a_folder_with_a_judge(
        self, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, import_path: None
    ) -> None:
        if kind == "semantic_similarity":
            need_wordllama()
        self.entry = ENTRIES[kind]
        self.passing, self.failing = self.entry.passing, self.entry.failing
        self.awaits, self.has_example = self.entry.awaits, self.entry.has_example
        (tmp_path / "judge.py").write_text(JUDGE)
        (tmp_path / "scorer.py").write_text(SCORER)
        (tmp_path / "judge.yaml").write_text(JUDGE_SCRIPT)
        monkeypatch.chdir(tmp_path)

    def build(self, services: Services) -> Grader:
        return registry.build_grader(GraderSpec.model_validate(self.entry.long), services)

    def build_other(self, services: Services) -> Grader:
        return registry.build_grader(GraderSpec.model_validate(self.entry.other), services)

    @asynccontextmanager
    async def services(self, root: Path) -> AsyncIterator[Services]:
        offloader, isolation, models = Offloader(4), Bubblewrap(), OpenModels({}, root, concurrency=4)
        try:
            yield Services(root, NoSandbox(), offloader, environment={}, isolation=isolation, models=models)
        finally:
            offloader.close()
            await isolation.close()
            await models.close()

    def test_the_short_form_means_the_same(
        self, kind: str, build: Callable[..., Grader], grade: Callable[..., Grade]
    ) -> None:
        assert GraderSpec.model_validate(self.entry.short).kind == kind
        assert build(self.entry.short).digest() == build(self.entry.long).digest()
        for answer, state in ((self.passing, "pass"), (self.failing, "fail")):
            assert grade(self.entry.short, **answer).state == ("awaiting" if self.awaits else state)

    def test_an_unknown_option_is_refused(self) -> None:
        spec = GraderSpec.model_validate({**self.entry.long, "no_such_option": 1})
        with pytest.raises(ValidationError, match="no_such_option"):
            registry.parse_options("grader", spec)

    @pytest.mark.parametrize("output", [PAYLOAD, f'"{PAYLOAD}"', {"a": PAYLOAD}, [PAYLOAD]])
    def test_an_answer_is_never_run(self, output: Any, grade: Callable[..., Grade], tmp_path: Path) -> None:
        possible = ("awaiting",) if self.awaits else ("pass", "fail")
        for written in (self.entry.short, self.entry.other):
            assert grade(written, output, exit_code=0).state in possible
        assert not (tmp_path / "pwned").exists()


class TestContainerCommand(GraderContract):
    """Not the answer decides, but the exit code of a command: `exit_code` says it here."""

    passing: ClassVar[dict[str, Any]] = {"exit_code": 0}
    failing: ClassVar[dict[str, Any]] = {"exit_code": 3}
    has_example = False

    def build(self, services: Services) -> Grader:
        return registry.build_grader(GraderSpec.model_validate({"container_command": "test -e /state/a"}), services)

    def build_other(self, services: Services) -> Grader:
        other = {"container_command": {"command": ["./a"], "in": "end_state"}}
        return registry.build_grader(GraderSpec.model_validate(other), services)

    def graded(self, root: Path, transcript: Mapping[str, Any]) -> Grade:
        return self.looked_at(root, transcript, self.build)[0]

    def looked_at(
        self, root: Path, transcript: Mapping[str, Any], build: Callable[[Services], Grader]
    ) -> tuple[Grade, ContainerRequest]:
        async def look() -> tuple[Grade, ContainerRequest]:
            containers = FakeContainers(finished(exit_code=transcript.get("exit_code", 1), stderr=b"no\nnot there\n"))
            services = replace(fake_services(root), containers=containers)
            context = GradeContext(
                Case(id="a", input="?"), Transcript(**transcript), index=0, seed=0, end_state=FakeEndState(root)
            )
            grade = await build(services).grade(context)
            assert containers.left == set()
            return grade, containers.requests[0]

        return asyncio.run(look())

    def test_where_it_looks(self, tmp_path: Path) -> None:
        grade, clean = self.looked_at(tmp_path, self.failing, self.build)
        assert grade.reason == "exit code 3: not there"
        assert (clean.image, clean.mounts, clean.network) == ("image-1", (BindMount(str(tmp_path), "/state"),), False)
        grade, again = self.looked_at(tmp_path, self.passing, self.build_other)
        assert grade.reason == "exit code 0: not there (it ran files that the agent could change)"
        assert (again.image, again.cwd, again.entrypoint) == ("image-1-changed", "/workspace", "./a")


class TestTheFake(GraderContract):
    passing = said("Ada")
    failing = said("Eve")
    has_example = True

    def build(self, services: Services) -> Grader:
        return FakeGrader("Ada", services=services)

    def build_other(self, services: Services) -> Grader:
        return FakeGrader("Eve", services=services)

    def test_it_records_what_it_was_shown_and_may_raise(self) -> None:
        context = GradeContext(Case(id="a", input="?"), Transcript(output="Ada"), index=0, seed=0)
        grader = FakeGrader("Ada", raises=Unscored("too dark"))
        with pytest.raises(Unscored, match="too dark"):
            asyncio.run(grader.grade(context))
        assert grader.contexts == [context]
