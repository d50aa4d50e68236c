"""Capture what an agent did: the question is asked again, and the tools that it called are expected again.

It was seen in a trial, in the log of a gateway or of a service in use, or in a transcript that the agent itself wrote.
What it answered becomes the reference, which is not compared.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import NAMESPACE_OID, uuid5

from evalharness import registry
from evalharness.contracts.context import Context
from evalharness.documents.session import EvalCriteria
from evalharness.domain.case import Case, as_text
from evalharness.domain.finding import Finding, finding
from evalharness.domain.suite import Suite
from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.engine.planning.planned_cases import asked_case
from evalharness.errors import Hint, TargetFailed, UnknownName, UsageError
from evalharness.formats.native.writer import case_fields, escaped_fields, file_text, suite_fields
from evalharness.formats.recorded_sessions.rebuilt_sessions import session_from_transcript
from evalharness.formats.task_suites.records import TASK_CATEGORIES, EvalSuite, EvalTask
from evalharness.graders.structure import generalised
from evalharness.steps.captured_files import (
    REDACTED,
    YAML,
    CapturedFile,
    check_cases,
    check_output,
    chosen_trial,
    moved_case,
    named_case,
    suite_beside,
    write_text,
)
from evalharness.steps.find_runs import find_run
from evalharness.syntax.limits import MAX_CHARS
from evalharness.transcripts import openai_messages
from evalharness.transcripts.auto import parse
from evalharness.transcripts.stream import Object, json_or_text, mapping, objects, read_stream
from evalharness.values.json_value import Json
from evalharness.values.variables import escape, escape_matchers, needed

ObservedAs = Literal["case", "capability", "task", "session"]
"""case: of a suite file; capability: an eval-harness file; task: a task suite; session: a recorded session."""
NOT_ASKED = ("expected", "code_check", "graders", "reference", "metadata", "eval_type", "max_rounds")
QUESTIONS = ("input", "question", "prompt", "query")
ANSWERS = ("output", "answer", "response", "completion")
NAMES = ("id", "trace_id", "request_id", "session_id")
USUAL_CATEGORY = "tool_use_sequence"
NOW = ""
"""Captured sessions have no times: they are the same whenever they are written."""


@dataclass(frozen=True, slots=True)
class ObserveRequest:
    """`source` is a run or a file; `cases` choose those of a run, and are optional for a file. `trial` counts from 1.

    `question` is what was asked, for a transcript that does not say it.
    """

    source: str
    cases: Sequence[str]
    output: Path
    kind: ObservedAs = "case"
    trial: int | None = None
    question: str = ""
    any_arguments: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Observed:
    """A case without what it expects, and what was seen of it. `filled` is the case without variables."""

    case: Case
    filled: Case
    transcript: Transcript
    unfilled: tuple[str, ...] = ()
    """Variables in the question whose values are secret."""

    @property
    def calls(self) -> list[ToolCall]:
        return [call for call in self.transcript.tool_calls if call.name]

    @property
    def questions(self) -> list[str]:
        content = self.filled.content
        if isinstance(content, list):
            return [str(turn.get("content", "")) for turn in map(mapping, content) if turn.get("role") == "user"]
        return [self.filled.content_text]


@dataclass(slots=True)
class _Seen:
    """All that was seen, with where it may be asked again."""

    suite: Suite
    cases: list[Observed] = field(default_factory=list)
    unread: int = 0


async def capture_observed(context: Context, request: ObserveRequest) -> CapturedFile:
    what = {"task": "task suites", "session": "sessions"}.get(request.kind, "suites")
    ending = YAML if request.kind in ("case", "capability") else ".json"
    check_output(request.output, what, ending, replace=request.replace)
    redact = context.settings.redactor().redact_value
    is_file = Path(request.source).is_file()
    seen = _seen_in_file(request, redact) if is_file else _seen_in_run(context, request, redact)
    write_text(request.output, _written(seen, request))
    ids = tuple(each.case.id for each in seen.cases)
    has_target = request.kind in ("case", "capability") and bool(seen.suite.target or seen.suite.variants)
    return CapturedFile(request.output, seen.suite.name, ids, tuple(_warnings(seen)), has_target)


def _warnings(seen: _Seen) -> Iterator[Finding]:
    if seen.unread:
        yield finding("capture.unread", "warning", number=seen.unread)
    for each in seen.cases:
        if not each.calls:
            yield finding("capture.nothing_expected", "warning", case=each.case.id)
        arguments = [call.arguments for call in each.calls]
        if REDACTED in json.dumps([each.case.input, arguments]):
            yield finding("capture.redacted_call", "warning", case=each.case.id, mark=REDACTED)


# Where it was seen


def _seen_in_run(context: Context, request: ObserveRequest, redact: Any) -> _Seen:
    if request.question:
        raise UsageError("the cases of a run say what was asked", hint=Hint("hint.capture_no_input"))
    store = context.store
    run = find_run(request.source, store)
    check_cases(run, request.cases)
    suite = suite_beside(run, request.output, "captured", f"What was done in run {run.name}.")
    seen = _Seen(suite)
    for case in dict.fromkeys(named_case(run, name).id for name in request.cases):
        found = named_case(run, case)
        trial = chosen_trial(list(store.trials(run.id, found.id)), run, found, request.trial)
        transcript = trial.last.transcript
        assert transcript is not None
        moved = moved_case(found, run, request.output)
        clean = Transcript.model_validate(redact(transcript.model_dump(mode="json", exclude_unset=True)))
        known = run.public_values.keys() | moved.own_values.keys()
        unfilled = sorted(needed(moved.input) - known) if run.suite.templated else ()
        seen.cases.append(Observed(moved, asked_case(run, moved), clean, tuple(unfilled)))
    return seen


def _seen_in_file(request: ObserveRequest, redact: Any) -> _Seen:
    path = Path(request.source)
    seen = _Seen(Suite(name=request.output.stem, description=f"What was seen in {path.name}."))
    found = list(_conversations(path, request, seen))
    if request.question and len(found) != 1:
        raise UsageError(f"{path} has {len(found)} conversations", hint=Hint("hint.capture_one_input"))
    ids: Counter[str] = Counter()
    for number, (name, asked, transcript) in enumerate(found, start=1):
        clean = Transcript.model_validate(redact(transcript.model_dump(mode="json", exclude_unset=True)))
        case_id = (name or (path.stem if len(found) == 1 else f"{path.stem}-{number}")).replace("{{", "{ {")
        ids[case_id] += 1
        case_id = case_id if ids[case_id] == 1 else f"{case_id}-{ids[case_id]}"
        question = request.question or asked or _question(clean)
        if not question and len(found) == 1:
            raise UsageError(f"{path}: {case_id} does not say what was asked", hint=Hint("hint.capture_input"))
        if not question:
            seen.unread += 1
            continue
        case = Case(id=case_id, input=redact(question))
        seen.cases.append(Observed(case, case, clean))
    if not seen.cases:
        raise UsageError(f"{path}: no conversation says what was asked")
    for wanted in request.cases:
        if wanted not in {each.case.id for each in seen.cases}:
            raise UnknownName(f"case in {path.name}", wanted, [each.case.id for each in seen.cases])
    seen.cases = [each for each in seen.cases if not request.cases or each.case.id in request.cases]
    return seen


def _question(transcript: Transcript) -> Json:
    """What the user said, one after the other; empty if it was nothing."""
    said = [str(message.get("content") or "") for message in transcript.messages if message.get("role") == "user"]
    asked = [text for text in said if text]
    return {"messages": [{"role": "user", "content": text} for text in asked]} if len(asked) > 1 else "".join(asked)


def _conversations(path: Path, request: ObserveRequest, seen: _Seen) -> Iterator[tuple[str, Json, Transcript]]:
    """Each with its name and its question, where the file gives them apart from what was said."""
    text = _text(path)
    try:
        stream = read_stream(text)
    except TargetFailed:
        raise UsageError(f"{path} has no JSON objects", hint="give a transcript, or a log in JSONL") from None
    rows = stream.objects
    is_call = registry.load("exchanges", "is_logged_call")
    calls = [row for row in rows if is_call(row)]
    logged = [row for row in rows if _is_logged(row)]
    if len(rows) == 1 and rows[0].keys() >= {"case", "trials", "parts"}:
        case_id, recorded = registry.load("exchanges", "recorded_conversations")(path, (request.trial or 1) - 1)
        if not recorded:
            raise UsageError(f"{path} has no calls through the gateway", hint="capture the trial from its run instead")
        yield from ((case_id if len(recorded) == 1 else "", None, each) for each in recorded)
    elif calls:
        seen.unread = stream.ignored_lines + len(rows) - len(calls)
        yield from (("", None, each) for each in registry.load("exchanges", "conversations")(calls))
    elif logged:
        seen.unread = stream.ignored_lines + len(rows) - len(logged)
        yield from ((_name(row), *_of_row(row)) for row in logged)
    else:
        seen.unread = stream.ignored_lines
        try:
            yield "", None, parse(text)
        except TargetFailed as error:
            raise UsageError(f"{path}: {error}") from None


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(text) > MAX_CHARS:
        raise UsageError(f"{path} is longer than {MAX_CHARS // 1_000_000} MB", hint="capture a part of it")
    return text


# A row of a production log: one conversation


def _is_logged(row: Object) -> bool:
    return isinstance(row.get("messages"), list) or (_first(row, QUESTIONS) is not None and "type" not in row)


def _name(row: Object) -> str:
    found = _first(row, NAMES)
    return str(found) if isinstance(found, str | int) else ""


def _of_row(row: Object) -> tuple[Json, Transcript]:
    """Its messages; else its question, the calls of tools and the answer. A question that is data stays data."""
    messages = objects(row.get("messages"))
    asked, answer, calls = _first(row, QUESTIONS), _first(row, ANSWERS), objects(row.get("tool_calls"))
    asked = mapping(asked).get("messages", asked)
    messages = messages or (objects(asked) if isinstance(asked, list) else [])
    said: list[Object] = [] if messages else [{"role": "user", "content": as_text(asked)}]
    if calls and not any(message.get("tool_calls") for message in messages):
        said.append({"role": "assistant", "content": "", "tool_calls": [*calls]})
    if answer is not None and (not messages or messages[-1].get("role") != "assistant"):
        said.append({"role": "assistant", "content": as_text(answer)})
    transcript = openai_messages.parse(json.dumps({"messages": [*messages, *said]}))
    if answer is not None:
        transcript = transcript.model_copy(update={"output": answer})
    return (asked if isinstance(asked, dict) else None), transcript


def _first(row: Object, names: Sequence[str]) -> Json:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


# What is written


def _written(seen: _Seen, request: ObserveRequest) -> str:
    if request.kind == "task":
        tasks = tuple(_task(each, any_arguments=request.any_arguments) for each in seen.cases)
        suite = EvalSuite(name=seen.suite.name, description=seen.suite.description, tasks=tasks)
        return _document(suite.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    if request.kind == "session":
        if len(seen.cases) > 1:
            raise UsageError("a file holds one session", hint="capture one case at a time")
        return _document(_session(seen.cases[0], any_arguments=request.any_arguments))
    return _suite_text(seen, request)


def _document(document: Json) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _suite_text(seen: _Seen, request: ObserveRequest) -> str:
    """Always as a file with variables: placeholders stand beside texts in which `{{` means nothing."""
    is_capability = request.kind == "capability"
    suite = seen.suite.model_copy(update={"eval_type": "capability" if is_capability else ""})
    top = suite_fields(suite)
    cases = []
    for each in seen.cases:
        nothing = {name: Case.model_fields[name].get_default(call_default_factory=True) for name in NOT_ASKED}
        asked = case_fields(each.case.model_copy(update=nothing), {})
        if is_capability:
            asked["input"] = _typed(asked["input"])
        fields = asked if suite.templated else escaped_fields(asked)
        calls = [_call(call, any_arguments=request.any_arguments, is_templated=True) for call in each.calls]
        fields["graders"] = [{"tool_sequence": {"calls": calls}}] if calls else []
        fields["reference"] = escape(each.transcript.output)
        cases.append(fields)
    return file_text(top if suite.templated else escaped_fields(top), cases, templated=True)


def _typed(written: Json) -> Json:
    if isinstance(written, str):
        return {"type": "prompt", "content": written}
    if isinstance(written, Mapping) and set(written) == {"messages"}:
        return {"type": "messages", "content": written["messages"]}
    return written


def _call(call: ToolCall, *, any_arguments: bool, is_templated: bool) -> Json:
    """A tool alone where it got no arguments."""
    given = json_or_text(call.arguments)
    arguments: Json = {}
    if isinstance(given, dict):
        literal = escape_matchers(given)
        arguments = generalised(given) if any_arguments else escape(literal) if is_templated else literal
    name = escape(call.name) if is_templated else call.name
    return {"name": name, "arguments": arguments} if arguments else name


def _task(observed: Observed, *, any_arguments: bool) -> EvalTask:
    case = observed.filled
    _check_filled(observed)
    if len(observed.questions) != 1:
        raise UsageError(
            f"{case.id} has {len(observed.questions)} questions, and a task has one",
            hint=Hint("hint.capture_as", names=["case", "session"]),
        )
    calls = [_call(call, any_arguments=any_arguments, is_templated=False) for call in observed.calls]
    return EvalTask(
        id=case.id,
        category=case.category if case.category in TASK_CATEGORIES else USUAL_CATEGORY,
        description=case.description or case.name,
        prompt=observed.questions[0],
        expected_tool_sequence=calls or None,
        files=case.files,
        reference=observed.transcript.output,
        tags=case.tags,
    )


def _session(observed: Observed, *, any_arguments: bool) -> Json:
    """Of the calls only the names will be compared."""
    case, transcript = observed.filled, observed.transcript
    _check_filled(observed)
    if case.files:
        raise UsageError(
            f"{case.id} has files, which a session cannot hold", hint=Hint("hint.capture_as", names=["case", "task"])
        )
    if any_arguments:
        raise UsageError("a session compares no arguments", hint=Hint("hint.capture_names"))
    if transcript.tool_calls and not any(message.get("tool_calls") for message in transcript.messages):
        transcript = transcript.model_copy(update={"messages": ()})
    session_id = str(uuid5(NAMESPACE_OID, _json([case.id, observed.questions])))
    session = session_from_transcript(transcript, observed.questions, session_id=session_id, now=NOW)
    return session.model_copy(update={"title": case.title, "evals": EvalCriteria()}).model_dump(mode="json")


def _check_filled(observed: Observed) -> None:
    """Only suite files have variables."""
    if observed.unfilled:
        asked = f"{observed.case.id} asks with the secret {', '.join(observed.unfilled)}"
        raise UsageError(asked, hint=Hint("hint.capture_as", names=["case"]))
