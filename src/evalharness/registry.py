"""Names → parts. Built-ins are one table of strings, so that nothing is imported before it is used.

Found in this order: built-ins, entry points (groups `evalharness.graders`, `evalharness.targets`, …). An unknown name
raises with a did-you-mean. Users' own functions have no name here: `references.py` finds them by reference.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal, cast

from pydantic import ValidationError

from evalharness.contracts import Grader, Services, Target
from evalharness.domain.options import Options
from evalharness.domain.record import Json
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.errors import UnknownName, UsageError

Noun = Literal["grader", "target", "sandbox", "transcript", "llm", "embedder"]

BUILT_IN: Mapping[Noun, Mapping[str, str]] = {
    "grader": {
        "exact": "evalharness.graders.text:Exact",
        "contains": "evalharness.graders.text:Contains",
        "not_contains": "evalharness.graders.text:NotContains",
        "starts_with": "evalharness.graders.text:StartsWith",
        "ends_with": "evalharness.graders.text:EndsWith",
        "max_length": "evalharness.graders.text:MaxLength",
        "regex": "evalharness.graders.patterns:Regex",
        "json_equals": "evalharness.graders.json_values:JsonEquals",
        "json_schema": "evalharness.graders.json_values:JsonSchema",
        "structural_match": "evalharness.graders.structure:StructuralMatch",
        "includes": "evalharness.graders.inclusions:Includes",
        "numeric": "evalharness.graders.numbers:Numeric",
        "numeric_deltas": "evalharness.graders.deltas:NumericDeltas",
        "exit_code": "evalharness.graders.numbers:ExitCode",
        "expected_patterns": "evalharness.graders.expected_patterns:ExpectedPatterns",
        "files": "evalharness.graders.files:Files",
        "tool_sequence": "evalharness.graders.tool_sequence:ToolSequence",
        "max_rounds": "evalharness.graders.tool_sequence:MaxRounds",
        "assertions": "evalharness.graders.assertions:Assertions",
        "latency": "evalharness.graders.scorers:Latency",
        "cost": "evalharness.graders.scorers:Cost",
        "tokens": "evalharness.graders.scorers:Tokens",
        "similarity": "evalharness.graders.scorers:Similarity",
        "semantic_similarity": "evalharness.graders.semantic_similarity:SemanticSimilarity",
        "scorer": "evalharness.graders.own_scorer:OwnScorer",
        "function": "evalharness.graders.function:Function",
        "function_output": "evalharness.graders.function_output:FunctionOutput",
        "code_tests": "evalharness.graders.code_tests:CodeTests",
        "size_class": "evalharness.graders.session:SizeClass",
        "tool_calls_f1": "evalharness.graders.session:ToolCallsF1",
        "relevance": "evalharness.graders.judges.relevance:Relevance",
        "session_assertions": "evalharness.graders.session_assertions:SessionAssertions",
        "model": "evalharness.graders.judges.rubric:Model",
        "pairwise": "evalharness.graders.judges.pairwise:Pairwise",
        "llm-judge": "evalharness.graders.judges.llm_judge:LlmJudge",
        "human": "evalharness.graders.human:Human",
        "all_of": "evalharness.graders.composite:AllOf",
        "any_of": "evalharness.graders.composite:AnyOf",
        "not": "evalharness.graders.composite:Not",
        "weighted": "evalharness.graders.composite:Weighted",
    },
    "target": {
        "function": "evalharness.targets.function:FunctionTarget",
        "command": "evalharness.targets.command:CommandTarget",
        "http": "evalharness.targets.http:HttpTarget",
        "artifact": "evalharness.targets.artifact:ArtifactTarget",
        "oracle": "evalharness.targets.oracle:OracleTarget",
        "null": "evalharness.targets.null:NullTarget",
        "empty": "evalharness.targets.null:NullTarget",
        "echo": "evalharness.targets.null:EchoTarget",
        "skill": "evalharness.targets.skill:SkillTarget",
        "chat": "evalharness.targets.chat:ChatTarget",
        "agent": "evalharness.targets.agent:AgentTarget",
    },
    "sandbox": {
        "bubblewrap": "evalharness.sandboxes.bubblewrap:Bubblewrap",
        "none": "evalharness.sandboxes.none:NoSandbox",
    },
    "transcript": {
        "auto": "evalharness.transcripts.detecting:parse",
        "docker-agent": "evalharness.transcripts.docker_agent:parse",
        "claude-code": "evalharness.transcripts.claude_code:parse",
        "codex": "evalharness.transcripts.codex:parse",
        "openai-messages": "evalharness.transcripts.openai_messages:parse",
        "otel-genai": "evalharness.transcripts.otel_genai:parse",
    },
    "llm": {
        "openai-compatible": "evalharness.llms.openai_compatible:OpenAiCompatible",
        "anthropic": "evalharness.llms.anthropic:Anthropic",
        "local": "evalharness.llms.local:Local",
        "scripted": "evalharness.llms.scripted:Scripted",
    },
    "embedder": {
        "openai-compatible": "evalharness.llms.embeddings:OpenAiEmbeddings",
        "local": "evalharness.llms.local_embeddings:LocalEmbeddings",
    },
}


def names(noun: Noun) -> list[str]:
    return sorted({*BUILT_IN[noun], *(point.name for point in _plugged_in(noun))})


def load(noun: Noun, name: str) -> Any:
    """The class behind a name."""
    path = BUILT_IN[noun].get(name)
    if path is not None:
        return _imported(path)
    for point in _plugged_in(noun):
        if point.name == name:
            return point.load()
    raise UnknownName(noun, name, names(noun))


@cache
def _imported(path: str) -> Any:
    """Remembered: every grader of every case is looked up several times."""
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)


def parse_options(noun: Noun, spec: GraderSpec | TargetSpec) -> Options:
    """The part's options, checked; raises pydantic's ValidationError with every problem."""
    options: type[Options] = load(noun, spec.kind).Options
    return options.model_validate(written_options(options, spec))


def written_options(options: type[Options], spec: GraderSpec | TargetSpec) -> Json:
    """`{command: [...], result: json}` was kept with the kind as a key: here it gets the main option's name."""
    written = spec.options
    if not isinstance(written, Mapping) or spec.kind not in written or spec.kind in options.known_keys():
        return written
    if options.main and (len(written) > 1 or not options.main_may_be_mapping):
        return {options.main if key == spec.kind else key: value for key, value in written.items()}
    return written


def build_grader(spec: GraderSpec, services: Services) -> Grader:
    return cast(Grader, _build("grader", spec, services))


def build_target(spec: TargetSpec, services: Services) -> Target:
    return cast(Target, _build("target", spec, replace(services, root=services.root / spec.root)))


def declared_tools(spec: TargetSpec) -> tuple[str, ...] | None:
    """The tools that a target says it has; None for one that does not say. Targets that others wrote need not ask."""
    ask = getattr(load("target", spec.kind), "declared_tools", None)
    declared: tuple[str, ...] | None = ask(_checked_options("target", spec), spec) if ask else spec.tools
    return declared


def _build(noun: Noun, spec: GraderSpec | TargetSpec, services: Services) -> Any:
    return load(noun, spec.kind)(_checked_options(noun, spec), spec, services)


def _checked_options(noun: Noun, spec: GraderSpec | TargetSpec) -> Options:
    """Files were checked when they were loaded; this meets what came later: variables, flags, Python callers."""
    try:
        return parse_options(noun, spec)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join([spec.kind, *(str(part) for part in first["loc"])])
        message = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
        message = message.partition(", unable to parse")[0]
        got = f", not '{first['input']}'" if isinstance(first["input"], str) and message.startswith("must ") else ""
        hint = "where a {{variable}} stands there, give it another value with --var"
        raise UsageError(f"{noun} {place}: {message}{got}", hint=hint) from None


def _plugged_in(noun: Noun) -> Any:
    return _entry_points(f"evalharness.{noun}s", tuple(sys.path))


@cache
def _entry_points(group: str, path: tuple[str, ...]) -> Any:  # noqa: ARG001 - where packages are looked for
    """Remembered: a plug-in's grader may stand in thousands of cases, and every look reads all packages' files."""
    return entry_points(group=group)
