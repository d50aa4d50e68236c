"""Maps names to parts. Built-in parts are one table of strings, so that nothing is imported before it is used.

The search order is: built-ins, then entry points (groups `evalharness.graders`, `evalharness.targets`, …). A class from
an entry point must inherit from the contract of its role, which has a default for every optional member. An unknown
name raises an error with a suggestion. Users' own functions have no name here; `references.py` finds them.
"""

from __future__ import annotations

import importlib
import sys
from abc import ABCMeta
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Literal, cast

from pydantic import ValidationError

from evalharness.contracts.executor import Executor
from evalharness.contracts.grader import Grader
from evalharness.contracts.model import Embedder, Llm
from evalharness.contracts.reporter import Reporter
from evalharness.contracts.sandbox import Sandbox
from evalharness.contracts.services import Services
from evalharness.contracts.store import Store
from evalharness.contracts.target import Target
from evalharness.domain.invalid_values import explain
from evalharness.domain.options import Options
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.errors import Hint, UnknownName, UsageError
from evalharness.values.json_value import Json

Noun = Literal[
    "grader",
    "target",
    "sandbox",
    "containers",
    "executor",
    "store",
    "reporter",
    "transcript",
    "models",
    "llm",
    "embedder",
    "exchanges",
]

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
        "includes": "evalharness.graders.text:Includes",
        "numeric": "evalharness.graders.numbers:Numeric",
        "numeric_deltas": "evalharness.graders.deltas:NumericDeltas",
        "exit_code": "evalharness.graders.numbers:ExitCode",
        "expected_patterns": "evalharness.graders.expected_patterns:ExpectedPatterns",
        "files": "evalharness.graders.files:Files",
        "tool_sequence": "evalharness.graders.tool_sequence:ToolSequence",
        "max_rounds": "evalharness.graders.tool_sequence:MaxRounds",
        "retrieval": "evalharness.graders.retrieval:Retrieval",
        "assertions": "evalharness.graders.assertions:Assertions",
        "latency": "evalharness.graders.scorers:Latency",
        "cost": "evalharness.graders.scorers:Cost",
        "tokens": "evalharness.graders.scorers:Tokens",
        "similarity": "evalharness.graders.scorers:Similarity",
        "semantic_similarity": "evalharness.graders.semantic_similarity:SemanticSimilarity",
        "scorer": "evalharness.graders.own_scorer:OwnScorer",
        "function": "evalharness.graders.function:Function",
        "function_output": "evalharness.graders.function_output:FunctionOutput",
        "container_command": "evalharness.graders.container_command:ContainerCommand",
        "code_tests": "evalharness.graders.code_tests:CodeTests",
        "size_class": "evalharness.graders.session:SizeClass",
        "tool_calls_f1": "evalharness.graders.session:ToolCallsF1",
        "relevance": "evalharness.graders.judges.relevance:Relevance",
        "session_assertions": "evalharness.graders.session:SessionAssertions",
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
        "container": "evalharness.targets.container:ContainerTarget",
        "docker-agent": "evalharness.targets.docker_agent:DockerAgentTarget",
    },
    "sandbox": {
        "bubblewrap": "evalharness.sandboxes.bubblewrap:Bubblewrap",
        "container": "evalharness.sandboxes.container:ContainerSandbox",
        "none": "evalharness.sandboxes.none:NoSandbox",
    },
    "containers": {
        "command line": "evalharness.sandboxes.container_runtime:ContainerRuntime",
    },
    "executor": {
        "local": "evalharness.engine.running.local_executor:LocalExecutor",
    },
    "store": {
        "sqlite": "evalharness.stores.sql_store:SqlStore",
    },
    "models": {
        "open": "evalharness.llms.pool:OpenModels",
        "try_judge": "evalharness.graders.judges.validation:try_judge",
    },
    "exchanges": {
        "tape": "evalharness.exchanges.tape:RecordedTape",
        "models": "evalharness.exchanges.taped_llms:TapedModels",
        "gateway": "evalharness.exchanges.gateway.server:LocalGateway",
        "files": "evalharness.exchanges.files:find_files",
        "run": "evalharness.exchanges.files:RecordedRun",
        "write_cases": "evalharness.exchanges.files:write_files",
        "write_nodes": "evalharness.exchanges.files:write_workflow_files",
        "is_logged_call": "evalharness.exchanges.gateway.logs:is_logged_call",
        "conversations": "evalharness.exchanges.gateway.logs:conversations_in",
        "recorded_conversations": "evalharness.exchanges.gateway.logs:recorded_conversations",
    },
    "reporter": {
        "terminal": "evalharness.reports.terminal.run_report:TerminalReporter",
        "json": "evalharness.reports.json_report:JsonReporter",
        "junit": "evalharness.reports.junit:JunitReporter",
        "html": "evalharness.reports.pages.html_report:HtmlReporter",
        "markdown": "evalharness.reports.markdown:MarkdownReporter",
        "github-comment": "evalharness.reports.github_comment:GithubCommentReporter",
        "csv": "evalharness.reports.table_files:CsvReporter",
        "jsonl": "evalharness.reports.table_files:JsonlReporter",
    },
    "transcript": {
        "auto": "evalharness.transcripts.auto:parse",
        "docker-agent": "evalharness.transcripts.docker_agent:parse",
        "claude-code": "evalharness.transcripts.claude_code:parse",
        "codex": "evalharness.transcripts.codex:parse",
        "codex-session": "evalharness.transcripts.codex_session:parse",
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

CONTRACTS: Mapping[Noun, type] = {
    "grader": Grader,
    "target": Target,
    "llm": Llm,
    "embedder": Embedder,
    "sandbox": Sandbox,
    "reporter": Reporter,
    "store": Store,
    "executor": Executor,
}
"""The base classes of the roles. A transcript's parser is a function."""


def names(noun: Noun) -> list[str]:
    return sorted({*BUILT_IN[noun], *(point.name for point in _plugged_in(noun))})


def load(noun: Noun, name: str) -> Any:
    """The class with this name; raises UnknownName, and UsageError for an unusable plug-in."""
    path = BUILT_IN[noun].get(name)
    if path is not None:
        return _imported(path)
    for point in _plugged_in(noun):
        if point.name == name:
            return _checked(noun, point)
    raise UnknownName(noun, name, names(noun))


def _checked(noun: Noun, point: Any) -> Any:
    """Load and check a plug-in, so that problems are reported by name before anything runs."""
    try:
        part = point.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(f"the {noun} '{point.name}' ({point.value}) cannot be imported: {error}") from error
    contract = CONTRACTS.get(noun)
    if contract is None:
        return part
    if not isinstance(part, ABCMeta) or contract not in part.__mro__:
        base = f"{contract.__module__}.{contract.__qualname__}"
        raise UsageError(
            f"the {noun} '{point.name}' ({point.value}) does not inherit from {base}",
            hint=f"write: class {point.attr}({contract.__qualname__}); see docs/plugins.md",
        )
    if missing := sorted(part.__abstractmethods__):
        raise UsageError(f"the {noun} '{point.name}' ({point.value}) lacks {', '.join(missing)}")
    return part


@cache
def _imported(path: str) -> Any:
    """Cached, because every grader of every case is looked up several times."""
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)


def parse_options(noun: Noun, spec: GraderSpec | TargetSpec) -> Options:
    """The part's checked options; raises pydantic's ValidationError with every problem."""
    return _parsed(load(noun, spec.kind), spec)


def _parsed(part: Any, spec: GraderSpec | TargetSpec) -> Options:
    options: type[Options] = part.Options
    return options.model_validate(written_options(options, spec))


def written_options(options: type[Options], spec: GraderSpec | TargetSpec) -> Json:
    """The options, with the kind as a key (`{command: [...], result: json}`) renamed to the main option."""
    written = spec.options
    if not isinstance(written, Mapping) or spec.kind not in written or spec.kind in options.known_keys():
        return written
    if options.main and (len(written) > 1 or not options.main_may_be_mapping):
        return {options.main if key == spec.kind else key: value for key, value in written.items()}
    return written


def build_grader(spec: GraderSpec, services: Services) -> Grader:
    return cast(Grader, _build("grader", spec, services))


def build_target(spec: TargetSpec, services: Services) -> Target:
    return cast(
        Target, _build("target", spec, replace(services, root=services.root / spec.root, cases_root=services.root))
    )


def build_sandbox(name: str, options: Json = None) -> Sandbox:
    """Create a sandbox; `options` are as in a file."""
    part: type[Sandbox] = load("sandbox", name)
    try:
        return part(part.Options.model_validate(options))
    except ValidationError as error:
        raise UsageError(f"sandbox {explain(error, name)}") from None


def build_reporter(name: str) -> Reporter:
    """Users choose it by a flag or key that is called format."""
    try:
        return cast(Reporter, load("reporter", name)())
    except UnknownName as error:
        raise UnknownName("format", name, error.choices) from None


def build_executor(name: str) -> Executor:
    return cast(Executor, load("executor", name)())


def reporters() -> Iterator[Reporter]:
    """Yield the reporters, built-ins first, so that a file they can write loads no plug-in."""
    for name in dict.fromkeys((*BUILT_IN["reporter"], *names("reporter"))):
        yield build_reporter(name)


def declared_tools(spec: TargetSpec) -> tuple[str, ...] | None:
    """The tools that a target declares; None if it declares none."""
    target: type[Target] = load("target", spec.kind)
    return target.declared_tools(_checked_options("target", target, spec), spec)


def _build(noun: Noun, spec: GraderSpec | TargetSpec, services: Services) -> Any:
    part = load(noun, spec.kind)
    return part(_checked_options(noun, part, spec), spec, services)


def _checked_options(noun: Noun, part: Any, spec: GraderSpec | TargetSpec) -> Options:
    """The options. Files were checked when loaded; this catches later problems: variables, flags, Python callers."""
    try:
        return _parsed(part, spec)
    except ValidationError as error:
        raise UsageError(f"{noun} {explain(error, spec.kind)}", hint=Hint("hint.other_value")) from None


def _plugged_in(noun: Noun) -> Any:
    plural = f"{noun}es" if noun.endswith("x") else f"{noun}s"
    return _entry_points(f"evalharness.{plural}", tuple(sys.path))


@cache
def _entry_points(group: str, path: tuple[str, ...]) -> Any:  # noqa: ARG001 - part of the cache key
    """Cached, because thousands of cases may use a plug-in's grader, and every lookup reads all packages' files."""
    from importlib.metadata import entry_points  # lazy: slow to load, and few runs use a plug-in

    return entry_points(group=group)
