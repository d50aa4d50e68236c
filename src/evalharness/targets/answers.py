"""What a target gave back, read: a return value, a reply or a stream of events → a transcript, or why not.

Nothing is called, started or fetched here.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ValidationError

from evalharness import registry
from evalharness.contracts.sandbox import ProcessResult
from evalharness.documents.artifact import EvalArtifact, looks_like_artifact, parse_artifact
from evalharness.documents.artifact_view import artifact_answer
from evalharness.domain.case import as_text
from evalharness.domain.transcript import ENDED_WITH_ERROR, FIGURES, Answer, Transcript, errors_of, wrong_shape
from evalharness.errors import TargetFailed, UnknownName
from evalharness.values.json_value import MISSING, Json, plain_json, step_into, steps
from evalharness.values.text import head

ResultForm = Literal["text", "json", "answer", "artifact"]
MORE_THAN_ALLOWED = {
    "memory": "memory limit: it used more memory",
    "processes": "process limit: it started more processes and threads",
    "disk": "disk limit: it wrote more to its workspace",
}
_ARTIFACT_WORDS = ('"snapshot"', '"events"')
_BEGINNING = re.compile(r'\s*\{\s*"(?:runId|run_id|caseId|case_id|snapshot|events)"\s*:')
"""Of an artifact whose end is not known."""
WHAT_TO_RETURN = "return text, a JSON value, evalharness.Answer or an artifact"


def transcript_of(returned: Any) -> Transcript:
    """What a Python target returned, as a transcript of its own that the target cannot change any more.

    What cannot be an answer fails the trial and says why.
    """
    if isinstance(returned, str):
        return Transcript.of_text(as_text(returned))
    if returned is None:
        raise TargetFailed(f"the target returned None; {WHAT_TO_RETURN}")
    if isinstance(returned, EvalArtifact):
        returned = _answer_in(returned, None)
    if isinstance(returned, Answer):
        return _transcript_of_answer(returned)
    try:
        value = plain_json(returned)
    except ValueError as problem:
        raise TargetFailed(f"the target returned {problem}; {WHAT_TO_RETURN}") from None
    if looks_like_artifact(value):
        return Transcript(**_answer_in(value, None).given())
    return Transcript(output=value)


def _transcript_of_answer(answer: Answer) -> Transcript:
    for name in ("output", "messages", "events", "snapshot"):
        problem = why_not_json(getattr(answer, name))
        if problem:
            raise TargetFailed(f"the answer's {name} contains {problem}; {WHAT_TO_RETURN}")
    checked = _checked(answer)
    for call in checked.tool_calls:
        problem = why_not_json([call.arguments, call.result])
        if problem:
            raise TargetFailed(f"the answer's call of {call.name} contains {problem}; {WHAT_TO_RETURN}")
    return checked


def _checked(answer: Answer) -> Transcript:
    """It may have been copied or put together unchecked, and have fields of its own."""
    try:
        # Not `exclude_defaults`: a value of the target's own class may say that it equals the default.
        said = answer.model_fields_set | ({"files"} if answer.files else set())
        written = answer.model_dump(include=said & Transcript.model_fields.keys(), warnings=False)
        output = as_text(answer.output) if isinstance(answer.output, str) else plain_json(answer.output)
        return Transcript.model_validate({**written, "output": output})
    except ValidationError as error:
        raise wrong_shape(error) from None
    except ValueError as error:  # what holds itself
        raise TargetFailed(f"the answer has the wrong shape: {error}") from None


def read_result(text: str, form: ResultForm, evidence: Transcript) -> Transcript:
    """A program's or a server's reply → `evidence` with its output (and, for `answer`, the rest) filled in."""
    if form == "text":
        return evidence.model_copy(update={"output": text})
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        cut = " (the output was cut)" if evidence.truncated else ""
        raise TargetFailed(f"the answer is not JSON{cut}: {error}", evidence=evidence) from None
    rest = value
    if form == "answer" and isinstance(value, dict):  # figures are refused by their fields
        rest = {key: item for key, item in value.items() if key not in FIGURES}
    problem = why_not_json(rest)  # Python's parser takes NaN and makes 1e999 infinite
    if problem:
        raise TargetFailed(f"the answer is not JSON: it contains {problem}", evidence=evidence)
    if form == "json":
        return evidence.model_copy(update={"output": value})
    if form == "artifact":
        return evidence.model_copy(update=_answer_in(value, evidence).given())
    if not isinstance(value, dict) or "output" not in value:
        raise TargetFailed("the answer is JSON but has no 'output'", evidence=evidence)
    try:
        answer = Answer.model_validate({key: value[key] for key in Answer.model_fields if key in value})
    except ValidationError as error:
        raise wrong_shape(error, evidence) from None
    return evidence.model_copy(update=answer.given())


def recognised_form(text: str, *, is_cut: bool = False) -> ResultForm | None:
    """How a reply is read that is an artifact as a whole, where no option says so; None for any other reply.

    With an `output` of its own it is an answer. Of one that was cut, its beginning shows what it was: read as such,
    it fails, where a text would pass unseen.
    """
    if not all(word in text for word in _ARTIFACT_WORDS):  # most texts need not be parsed
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "artifact" if is_cut and _BEGINNING.match(text) else None
    if not looks_like_artifact(value):
        return None
    return "answer" if "output" in value else "artifact"


def _answer_in(value: Any, evidence: Transcript | None) -> Answer:
    """What an artifact says, as an answer."""
    try:
        return artifact_answer(parse_artifact(value))
    except ValueError as error:
        raise TargetFailed(f"the answer is not an artifact: {error}", evidence=evidence) from None


def why_not_json(value: Any) -> str:
    """What keeps a value from being JSON, in words; empty when nothing does."""
    try:
        plain_json(value)
    except ValueError as problem:
        return str(problem)
    return ""


def limit_passed(result: ProcessResult, timeout_s: float) -> str:
    """Which limit ended a program, in words; empty when it ended by itself."""
    if result.ended == "timeout":
        return f"time limit: no answer within {timeout_s:g} s"
    if result.ended == "flood":
        total = max(result.stdout_total, result.stderr_total)
        return f"output limit: it wrote more than {total // 1_048_576} MiB and was killed"
    if result.ended in MORE_THAN_ALLOWED:
        return f"{MORE_THAN_ALLOWED[result.ended]} than its sandbox allows and was killed"
    return ""


def look_up(value: Json, path: str) -> Json:
    """`choices.0.message.content`, also written `$.choices[0].message.content`; LookupError names the missing step."""
    for step in steps(path):
        value = step_into(value, step, from_end=True)
        if value is MISSING:
            raise LookupError(f"no '{step}' on the path {path}")
    return value


def _is_parser(name: str) -> str:
    try:
        registry.load("transcript", name)
    except UnknownName as unknown:
        raise ValueError(f"{unknown.message} {unknown.hint}") from None
    return name


EventsOption = Annotated[str, AfterValidator(_is_parser)] | None


def refuse_both_forms(options: Any) -> None:
    if options.events and "result" in options.model_fields_set:
        raise ValueError("give either events or result, not both")


def read_events(text: str, parser: str, evidence: Transcript) -> Transcript:
    """`evidence` with all that the stream tells; a stream without any event fails the trial."""
    try:
        reported: Transcript = registry.load("transcript", parser)(text)
    except TargetFailed as failure:
        last = evidence.stderr.strip().splitlines()[-1:]
        raise TargetFailed(": ".join([str(failure), *(head(line, 300) for line in last)]), evidence=evidence) from None
    return evidence.model_copy(update={**reported.given(), "events": (*evidence.events, *reported.events)})


def fail_after_error(transcript: Transcript) -> None:
    """An error before an answer is for the graders to judge; one after it, or instead of one, is a failure."""
    errors = errors_of(transcript, ENDED_WITH_ERROR)
    if not transcript.text.strip():
        errors = errors or errors_of(transcript)
    if errors:
        raise TargetFailed(errors[-1], evidence=transcript)


def user_messages(content: Json) -> tuple[str, ...]:
    """What the user says, turn by turn; a question that is no conversation is one turn."""
    messages = content.get("messages") if isinstance(content, dict) else content
    turns = [_turn(message) for message in messages] if isinstance(messages, list | tuple) else []
    return tuple(turn for turn in turns if turn is not None) or (as_text(content),)


def _turn(message: Json) -> str | None:
    if isinstance(message, str):
        return message
    if not isinstance(message, dict) or message.get("role") != "user":
        return None
    content = message.get("content")
    if isinstance(content, list | tuple):
        return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    return as_text(content)
