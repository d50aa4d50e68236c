"""function_output: the answer is a function's source code, judged by what the function returns.

The code runs in a sandbox, each test case in a process of its own (`runners/run_cases.py`). What a call should return
never enters the sandbox: the comparison happens here, on data.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import regex
from pydantic import AliasChoices, Field, field_validator, model_validator

from evalharness.contracts import GradeContext
from evalharness.domain.case import as_text
from evalharness.domain.digest import digest
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.domain.record import Json, Record
from evalharness.errors import Unscored, UsageError, closest
from evalharness.graders import code_running
from evalharness.graders.comparing import NoResult, approximately, equals, read_reply, same_members, storable
from evalharness.graders.part import CodeGrader, shown, text_of
from evalharness.graders.patterns import search
from evalharness.references import call_function, code_of, import_reference, split_reference

COMPARATORS = ("equals", "approx", "set", "regex")
OWN_COMPARATOR_S = 60.0
RELATIVE = 1e-6
ABSOLUTE = 1e-12
LONGEST_KEPT = 2000
LONGEST_SHOWN = 60
SIGKILL = 9
Tolerance = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class FunctionCase(Record):
    """One call and what it must return. `input` and `output` are other spellings of `args` and `expected`."""

    args: tuple[Json, ...] = Field(default=(), validation_alias=AliasChoices("args", "input"))
    kwargs: dict[str, Json] = Field(default_factory=dict)
    expected: Json = Field(validation_alias=AliasChoices("expected", "output"))
    comparator: str = "equals"
    absolute: Tolerance | None = Field(default=None, validation_alias=AliasChoices("absolute", "tolerance"))
    relative: Tolerance | None = None

    @field_validator("args", mode="before")
    @classmethod
    def _one_argument(cls, written: Any) -> Any:
        return written if isinstance(written, list | tuple) else (written,)

    @field_validator("kwargs", mode="before")
    @classmethod
    def _none_is_empty(cls, written: Any) -> Any:
        return {} if written is None else written

    @field_validator("comparator")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name in COMPARATORS:
            return name
        if ":" not in name:
            meant = closest(name, COMPARATORS)
            guess = f"did you mean '{meant}'? " if meant else ""
            raise ValueError(f"unknown comparator '{name}'; {guess}known: {', '.join(COMPARATORS)}, file.py:function")
        try:
            split_reference(name)
        except UsageError as error:
            raise ValueError(f"{error.message}; {error.hint}") from None
        return name

    @model_validator(mode="after")
    def _comparable(self) -> FunctionCase:
        if self.comparator == "set" and not isinstance(self.expected, list | tuple):
            raise ValueError("the comparator 'set' expects a list")
        if self.comparator != "approx" and (self.absolute is not None or self.relative is not None):
            raise ValueError("a tolerance is for the comparator 'approx'")
        if self.comparator == "regex":
            try:
                regex.compile(self.expected)
            except (regex.error, TypeError, RecursionError, OverflowError) as error:
                raise ValueError(f"the comparator 'regex' expects a regular expression: {error}") from None
        return self

    @property
    def tolerances(self) -> dict[str, float]:
        """Where one is given, the other is none."""
        if self.absolute is None and self.relative is None:
            return {"absolute": ABSOLUTE, "relative": RELATIVE}
        return {"absolute": self.absolute or 0.0, "relative": self.relative or 0.0}


class FunctionOutputOptions(Options):
    main: ClassVar[str] = "test_cases"

    test_cases: Annotated[tuple[FunctionCase, ...], Field(min_length=1)]
    function_name: str
    executor: Literal["python", "node", "bash"] = "python"
    timeout_per_case: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 5.0
    sandbox: bool = True

    @field_validator("function_name")
    @classmethod
    def _is_name(cls, name: str) -> str:
        if not name.isidentifier():
            raise ValueError("must be the name of a function")
        return name

    @model_validator(mode="after")
    def _shell_has_no_keywords(self) -> FunctionOutputOptions:
        if self.executor == "bash" and any(case.kwargs for case in self.test_cases):
            raise ValueError("a shell function takes words, no kwargs")
        return self


class Outcome(NamedTuple):
    """What came of one test case. `error` says why there is no result, or why it is not the right one."""

    passed: bool
    output: Json = None
    has_output: bool = False
    error: str = ""


class FunctionOutput(CodeGrader):
    Options: ClassVar[type[Options]] = FunctionOutputOptions
    version: ClassVar[str] = "2"
    options: FunctionOutputOptions

    @cached_property
    def _own_comparators(self) -> dict[str, Callable[..., Any]]:
        names = {case.comparator for case in self.options.test_cases} - set(COMPARATORS)
        return {name: self._imported(name) for name in sorted(names)}

    def _imported(self, reference: str) -> Callable[..., Any]:
        try:
            found = import_reference(reference, self.services.root)
        except UsageError as error:
            raise UsageError(f"the comparator {reference} cannot be imported: {error.message}", hint=error.hint) from error
        if not callable(found):
            raise UsageError(f"the comparator {reference} is not callable")
        return found  # type: ignore[no-any-return]

    def digest(self) -> str:
        """Comparators that cannot be had are refused before anything runs; without any, the options say it all."""
        if not self._own_comparators:
            return super().digest()
        return digest([super().digest(), [code_of(None, name, self.services.root) for name in self._own_comparators]])

    async def grade(self, context: GradeContext) -> Grade:
        text = text_of(context)
        replies = await self._replies(code_running.code_in(text, self.options.executor, self.options.function_name), context)
        outcomes = []
        for number, case in enumerate(self.options.test_cases):
            outcomes.append(await self._outcome(case, replies[number]))
        passed = sum(outcome.passed for outcome in outcomes)
        total = len(outcomes)
        evidence = {
            "test_results": [self._kept(number, outcome) for number, outcome in enumerate(outcomes)],
            "passed_count": passed,
            "total_count": total,
        }
        reason = "" if passed == total else f"{total - passed} of {total} test cases failed: {self._first(outcomes)}"
        return Grade.of(passed == total, score=passed / total, reason=reason, evidence=evidence)

    async def _replies(self, code: str, context: GradeContext) -> list[dict[str, Any]]:
        """One reply per test case; those that the runner did not come to say why."""
        options = self.options
        program = self._program()
        cases = [{"args": case.args, "kwargs": case.kwargs, "words": self._words(case)} for case in options.test_cases]
        question = {
            "code": code,
            "function_name": options.function_name,
            "cases": cases,
            "timeout_s": options.timeout_per_case,
            "program": program,
            "asks_json": options.executor != "bash",
            "path": code_running.site_packages(),
        }
        limit_s = options.timeout_per_case * len(cases) + code_running.START_S
        if context.case.timeout_seconds is not None:
            limit_s = min(limit_s, context.case.timeout_seconds)
        replies = await code_running.ask_runner(
            self.services, "run_cases", [question], timeout_s=limit_s, readable=program[:1]
        )
        found = {reply["case"]: reply for reply in replies.said if "case" in reply}
        if replies.ended == "memory":
            found = {number: _told_of_memory(reply) for number, reply in found.items()}
        return [found.get(number) or {"error": why_ended(replies.ended, limit_s)} for number in range(len(cases))]

    def _program(self) -> list[str]:
        """The command that calls the function; the runner itself is in Python and needs none for that."""
        match self.options.executor:
            case "node":
                node = code_running.find_program("node", self.services)
                return [node, "--max-old-space-size=256", str(code_running.RUNNERS / "call_node.js")]
            case "bash":
                bash = code_running.find_program("bash", self.services)
                return [bash, "--noprofile", "--norc", str(code_running.RUNNERS / "call_bash.sh")]
        return []

    def _words(self, case: FunctionCase) -> list[str]:
        return [as_text(argument) for argument in case.args] if self.options.executor == "bash" else []

    async def _outcome(self, case: FunctionCase, reply: dict[str, Any]) -> Outcome:
        try:
            value = self._value(case, reply)
        except NoResult as error:
            return Outcome(False, error=shown_error(str(error)))
        try:
            passed, why = await self._compare(value, case)
        except RecursionError:
            return Outcome(False, error="the result is nested too deeply")
        return Outcome(passed, value, has_output=True, error=why)

    def _value(self, case: FunctionCase, reply: dict[str, Any]) -> Any:
        if "error" in reply:
            raise NoResult(reply["error"])
        if self.options.executor != "bash":
            return read_reply(reply["reply"])
        printed = reply["reply"].removesuffix("\n")
        return printed if isinstance(case.expected, str) else _as_value(printed)

    async def _compare(self, value: Any, case: FunctionCase) -> tuple[bool, str]:
        match case.comparator:
            case "equals":
                return equals(value, case.expected), ""
            case "approx":
                return approximately(value, case.expected, **case.tolerances), ""
            case "set":
                return same_members(value, case.expected), ""
            case "regex":
                text = as_text(storable(value))
                compiled = regex.compile(case.expected)
                return await search(compiled, text, case.expected, self.services.in_thread) is not None, ""
        return await self._compare_by(case.comparator, value, case.expected)

    async def _compare_by(self, name: str, value: Any, expected: Json) -> tuple[bool, str]:
        limit = asyncio.timeout(OWN_COMPARATOR_S)
        try:
            async with limit:
                returned = await call_function(self.services.in_thread, self._own_comparators[name], value, expected)
        except TimeoutError:
            if not limit.expired():  # the comparator's own
                raise
            raise Unscored(f"the comparator {name} took more than {OWN_COMPARATOR_S:g} s") from None
        passed, why = returned if isinstance(returned, tuple) and len(returned) == 2 else (returned, "")
        if not isinstance(passed, bool):
            raise Unscored(f"the comparator {name} returned {type(passed).__name__}; return True, False or (False, reason)")
        return passed, "" if passed else str(why)

    def _kept(self, number: int, outcome: Outcome) -> dict[str, Json]:
        kept: dict[str, Json] = {"case": number, "passed": outcome.passed}
        if outcome.has_output:
            kept["output"] = _bounded(storable(outcome.output))
        if not outcome.passed and outcome.has_output:
            kept["expected"] = self.options.test_cases[number].expected
        if outcome.error:
            kept["error"] = outcome.error
        return kept

    def _first(self, outcomes: list[Outcome]) -> str:
        number, outcome = next((number, outcome) for number, outcome in enumerate(outcomes) if not outcome.passed)
        case = self.options.test_cases[number]
        words = [*map(_brief, case.args), *(f"{name}={_brief(value)}" for name, value in case.kwargs.items())]
        call = f"case {number}, {self.options.function_name}({', '.join(words)})"
        if not outcome.has_output:
            return f"{call}: {outcome.error}"
        wanted = f"expected {'/' if case.comparator == 'regex' else ''}{_brief(case.expected)}"
        return f"{call} gave {_brief(storable(outcome.output))}, {outcome.error or wanted}"


def why_ended(ended: str, limit_s: float) -> str:
    """Why a runner had nothing more to say."""
    reasons = {
        "timeout": f"time limit: all together took more than {limit_s:g} s",
        "memory": "memory limit: the code used up its memory",
        "disk": "disk limit: the code wrote too much",
        "flood": "output limit: the code printed too much",
    }
    return reasons.get(ended, "the code ended the process that ran it")


def shown_error(text: str) -> str:
    return shown(text, 500)[1:-1]


def _told_of_memory(reply: dict[str, Any]) -> dict[str, Any]:
    return {**reply, "error": why_ended("memory", 0)} if reply.get("signal") == SIGKILL else reply
