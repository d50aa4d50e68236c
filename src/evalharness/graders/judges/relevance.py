"""relevance: a language model confirms statements about the answer, one call for each. All must be true."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator

from evalharness.contracts.grader import GradeContext
from evalharness.documents.session_results import RelevanceResult, SessionCheck
from evalharness.domain.case import as_text
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options, Whole
from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.errors import BadReply, ModelUnavailable
from evalharness.graders.judges.judge_part import (
    JudgeGrader,
    JudgeOptions,
    majority,
    not_blank,
    short_reason,
    undecided,
)
from evalharness.graders.judges.prompts import template
from evalharness.graders.judges.question import Asking, Question, together
from evalharness.graders.judges.reply_form import Form, OneOf, Words
from evalharness.values.json_value import Json
from evalharness.values.text import shown

LONGEST_RESPONSE_BYTES = 500
CUT = "...(truncated)"
HEADERS = ("agent", "tool", "tools")
_ENTITY = r"&(?:amp;)*(?:#[xX]?0*)?\w{1,12};?"
_MAYBE_OPENING = re.compile(rf"\[|%(?:25)*5[bB]|{_ENTITY}|[^\x00-\x7f\w]")
_CHARACTER = re.compile(rf"(?s){_ENTITY}|.")
_PADDING = re.compile(r"(?<=&)(?:amp;)+(?=[#\w])|(?<=#)0+(?=\w)|(?<=#[xX])0+(?=\w)")
_UNSEEN = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_READ_AS = str.maketrans("0134679i", "oleagtgl")
_IN_LABELS = str.maketrans({"[": "(", "]": ")", '"': "'"})


def transcript_for_judge(events: Iterable[Mapping[str, Json]]) -> str:
    """Blocks with a blank line between them. Each block of text belongs to one agent."""
    blocks: list[str] = []
    agent, said = "", ""

    def end_text() -> None:
        nonlocal said
        if said:
            blocks.append(f"[Agent {agent or 'unknown'} says]: {without_headers(said)}")
        said = ""

    for event in events:
        kind = event.get("type")
        name = _label(event.get("agent_name"))
        if kind not in ("agent_choice", "tool_call", "tool_call_response"):
            continue
        if kind != "agent_choice" or (name and name != agent):
            end_text()
        if kind != "tool_call_response":
            agent = name or agent
        if kind == "agent_choice":
            said += _text(event.get("content"))
        elif kind == "tool_call":
            function = _mapping(_mapping(event.get("tool_call")).get("function"))
            arguments = without_headers(f"{function.get('arguments', '')}")
            called = f'calls tool "{_label(function.get("name"))}" with arguments: {arguments}'
            blocks.append(f"[Agent {agent or 'unknown'} {called}]")
        else:
            blocks.append(f'[Tool "{_tool_of(event)}" returns: {without_headers(_cut(_text(event.get("response"))))}]')
    end_text()
    return "\n\n".join(blocks)


def without_headers(text: str) -> str:
    """Nothing in it looks like the beginning of a block."""

    def escaped(found: re.Match[str]) -> str:
        opening = _read(found[0])
        is_header = _is_bracket(opening[:1], "[", "Ps") and _reads_header(opening[1:], text, found.end())
        return f"\\{found[0]}" if is_header else found[0]

    return _MAYBE_OPENING.sub(escaped, text)


def _reads_header(begun: str, text: str, start: int) -> bool:
    """Whether the word `agent` or `tool` comes next, whatever that is no letter stands before, in or behind it.

    Signs of other scripts may look like any letter of these; a symbol or a `<tag>` may be read or passed over. A
    bracket ends the search: it has one of its own.
    """
    written = (each[0] for each in _CHARACTER.finditer(text, start))
    read = {(header, 0) for header in HEADERS}  # what it may be so far: so many letters of that word
    before_tag: set[tuple[str, int]] = set()
    for char in chain(begun, chain.from_iterable(map(_read, written))):
        is_symbol = char == "|" or (char > "\x7f" and unicodedata.category(char)[0] == "S")
        if is_symbol or (char.isalnum() and char not in _UNSEEN):
            longer = {(word, n + 1) for word, n in read if _looks_like(char, word[n : n + 1])}
            read = read | longer if is_symbol else longer
            if not read and not before_tag:
                return False
        elif any(n == len(word) for word, n in read):
            return True
        elif _is_bracket(char, "[", "Ps") or _is_bracket(char, "]", "Pe"):
            return False
        elif char == "<":
            before_tag |= read
        elif char == ">":
            read, before_tag = read | before_tag, set()
    return False


def _is_bracket(char: str, usual: str, kind: str) -> bool:
    return char == usual or (char > "\x7f" and unicodedata.category(char) == kind)


def _read(written: str) -> str:
    if len(written) > 1 and written[0] == "%":
        return "["
    plain = html.unescape(_PADDING.sub("", written)) if written[0] == "&" else written
    return unicodedata.normalize("NFKD", plain).casefold().translate(_READ_AS)


def _looks_like(char: str, letter: str) -> bool:
    return bool(letter) and (char == letter or not char.isascii() or char + letter == "|l")


def run_for_judge(transcript: Transcript, text: str) -> str:
    """Whatever is known of a run: its events, else its messages or its calls; else `text` alone, what it said."""
    reported = transcript_for_judge(transcript.events)
    if reported or not transcript.tool_calls:
        return reported or without_headers(text)
    return transcript_for_judge(_events(transcript, text))


def _events(transcript: Transcript, text: str) -> Iterator[dict[str, Json]]:
    """From messages in their order, if they hold the very calls that were made; else the calls, and what was said."""
    said = ""
    asked = [call for message in transcript.messages for call in _calls(message)]
    if [_mapping(call.get("function")).get("name") for call in asked] == [call.name for call in transcript.tool_calls]:
        results = iter(transcript.tool_calls)
        for message in transcript.messages:
            if message.get("role") == "assistant" and (said := _text(message.get("content"))):
                yield {"type": "agent_choice", "content": said}
            for call in _calls(message):
                yield from _call(next(results), _text(_mapping(call.get("function")).get("arguments")))
    else:
        for made in transcript.tool_calls:
            yield from _call(made, as_text(made.arguments or {}))
    if said != text:
        yield {"type": "agent_choice", "content": text}


def _calls(message: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    calls = message.get("tool_calls")
    return [_mapping(call) for call in calls] if isinstance(calls, list | tuple) else []


def _call(call: ToolCall, arguments: str) -> Iterator[dict[str, Json]]:
    function = {"function": {"name": call.name, "arguments": arguments}}
    yield {"type": "tool_call", "tool_call": function}
    if call.error or call.result is not None:
        response = call.error or as_text(call.result)
        yield {"type": "tool_call_response", "tool_call": function, "response": response}


def _label(value: Any) -> str:
    """A name, which can neither end its header nor begin another."""
    return " ".join(_text(value).split()).translate(_IN_LABELS)


def _tool_of(event: Mapping[str, Json]) -> str:
    function = _mapping(_mapping(event.get("tool_call")).get("function"))
    return _label(_mapping(event.get("tool_definition")).get("name")) or _label(function.get("name")) or "unknown"


def _cut(text: str) -> str:
    """Never in the middle of a character."""
    encoded = text.encode(errors="replace")
    if len(encoded) <= LONGEST_RESPONSE_BYTES:
        return text
    return encoded[:LONGEST_RESPONSE_BYTES].decode(errors="ignore") + CUT


def _mapping(value: Any) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


class RelevanceForm(Form):
    """A reason without a result says what is missing: it is read as a fail, and never asked for again."""

    def read(self, value: Any) -> dict[str, Json]:
        if isinstance(value, Mapping) and value.get("result") in (None, ""):
            value = {**value, "result": "fail"}
        return super().read(value)


FORM = RelevanceForm({"reason": Words("why, in one sentence", needed=True), "result": OneOf(("pass", "fail"))})
RelevanceAnswer = RelevanceResult | BadReply | ModelUnavailable


class RelevanceOptions(JudgeOptions, SessionCheck):
    main: ClassVar[str] = "criteria"

    criteria: Annotated[tuple[str, ...], Field(min_length=1)]
    concurrency: Annotated[Whole, Field(ge=1)] = 4

    @field_validator("criteria")
    @classmethod
    def _say_something(cls, criteria: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(not_blank, criteria))

    def result_fields(self, evidence: Json, called: Sequence[str]) -> Mapping[str, Any]:  # noqa: ARG002
        results = tuple(result for result in results_in(evidence) if result)
        return {
            "relevance_passed": sum(result.passed for result in results),
            "relevance_expected": len(self.criteria),
            "relevance_results": results,
        }


class Relevance(JudgeGrader):
    Options: ClassVar[type[Options]] = RelevanceOptions
    options: RelevanceOptions

    def wording(self) -> Json:
        return [template("relevance").digest, FORM.digest]

    async def judged(self, asking: Asking, context: GradeContext) -> Grade:
        response = run_for_judge(context.transcript, context.text)
        answers = await check_each(asking, response, self.options.criteria, self.options.concurrency)
        if failures := failures_in(self.options.criteria, answers):
            is_final = not any(isinstance(answer, ModelUnavailable) for answer in answers)
            reason = short_reason(f"the judge gave no verdict on {'; '.join(failures)}")
            rows = [_row(*pair) for pair in zip(self.options.criteria, answers, strict=True)]
            return Grade(state="unscored", reason=reason, evidence=rows, is_final=is_final)
        return _grade([answer for answer in answers if isinstance(answer, RelevanceResult)])

    def due(self) -> Grade:
        criteria = self.options.criteria
        reason = short_reason(f"no judge is set for: {'; '.join(criteria)}")
        return Grade(state="awaiting", reason=reason, evidence={"criteria": list(criteria)})

    def voted(self, names: Sequence[str], opinions: Sequence[Grade]) -> Grade:
        """Each statement has its own majority."""
        said_by = [found for grade in opinions if (found := results_in(grade.evidence))]
        by_statement = [[found[place] for found in said_by] for place in range(len(self.options.criteria))]
        results = [_voted([vote for vote in votes if vote], len(opinions)) for votes in by_statement]
        settled = [result for result in results if result is not None]
        if len(settled) < len(results):
            parts = [f"{name}: {grade.reason or grade.state}" for name, grade in zip(names, opinions, strict=True)]
            return undecided(names, opinions, parts)
        return _grade(settled)


async def check_each(asking: Asking, response: str, criteria: Sequence[str], at_once: int) -> list[RelevanceAnswer]:
    """What the judge says to each criterion, in their order, or why it says nothing."""

    async def check(criterion: str) -> RelevanceAnswer:
        try:
            return await ask_one(asking, response, criterion)
        except (BadReply, ModelUnavailable) as error:
            return error

    return await together(check, criteria, at_once)


async def ask_one(asking: Asking, response: str, criterion: str) -> RelevanceResult:
    question = Question(template("relevance"), FORM, {"output": ("response", response)}, {"criterion": criterion})
    said = (await asking.ask(question)).said
    return RelevanceResult(criterion=criterion, passed=said["result"] == "pass", reason=said["reason"])


def failures_in(criteria: Sequence[str], answers: Sequence[RelevanceAnswer]) -> list[str]:
    pairs = zip(criteria, answers, strict=True)
    return [f"{shown(criterion)}: {answer}" for criterion, answer in pairs if not isinstance(answer, RelevanceResult)]


def _voted(votes: Sequence[RelevanceResult], seats: int) -> RelevanceResult | None:
    """With the first reason that the majority gives; those who say nothing have a seat, too."""
    absent = [""] * (seats - len(votes))
    passed = majority([*("pass" if vote.passed else "fail" for vote in votes), *absent])
    if passed is None:
        return None
    agreeing = [vote for vote in votes if vote.passed == passed]
    return agreeing[0].model_copy(update={"reason": f"{len(agreeing)} of {seats} judges: {agreeing[0].reason}"})


def _grade(results: Sequence[RelevanceResult]) -> Grade:
    failed = [result for result in results if not result.passed]
    text = "; ".join(f"{shown(result.criterion)} is not met: {result.reason}" for result in failed)
    rows = [_row(each.criterion, each) for each in results]
    score = 1 - len(failed) / len(results)
    return Grade.of(not failed, score=score, reason=short_reason(text), evidence=rows)


def _row(criterion: str, answer: RelevanceAnswer) -> dict[str, Json]:
    """One criterion as evidence; `error` in place of a verdict says why there is none."""
    if isinstance(answer, RelevanceResult):
        return {"criterion": criterion, "passed": answer.passed, "reason": answer.reason}
    return {"criterion": criterion, "error": short_reason(str(answer))}


def results_in(evidence: Json) -> list[RelevanceResult | None]:
    """What `_row` wrote down, criterion by criterion: None where there is no verdict."""
    rows = evidence if isinstance(evidence, list) else ()
    return [RelevanceResult.model_validate(row) if "passed" in row else None for row in rows]
