"""function_output: the answer is a function's source code, judged by what the function returns.

The code runs in a sandbox, each test case in a process of its own (`runners/run_cases.py`). What a call should return
never enters the sandbox: the comparison happens here, on data.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.case import as_text
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.errors import HarnessError, Unscored, UsageError, raised_at
from evalharness.graders import sandboxed_code
from evalharness.graders.function_cases import COMPARATORS, FunctionCase, FunctionOutputOptions
from evalharness.graders.patterns import search_within_limit
from evalharness.graders.returned_values import (
    NoResult,
    approximately,
    as_value,
    is_equal,
    read_reply,
    same_members,
    storable,
)
from evalharness.references import call_function, code_of, import_reference
from evalharness.runners import run_cases
from evalharness.values.digest import digest
from evalharness.values.json_value import Json
from evalharness.values.pattern import compile_pattern
from evalharness.values.text import head, shown

OWN_COMPARATOR_S = 60.0
LONGEST_KEPT = 2000
LONGEST_SHOWN = 60
SIGKILL = 9
ONE_MAPPING = "; a mapping is one argument, named arguments go into kwargs"


class CallOutcome(NamedTuple):
    """What came of one test case. `error` says why there is no result, or why it is not the right one."""

    passed: bool
    output: Json = None
    has_output: bool = False
    error: str = ""


class FunctionOutput(Grader):
    Options: ClassVar[type[Options]] = FunctionOutputOptions
    version = "3"
    needs_sandbox = True
    options: FunctionOutputOptions

    @cached_property
    def _own_comparators(self) -> dict[str, Callable[..., Any]]:
        return {name: self._imported(name) for name in self.options.own_functions}

    def _imported(self, reference: str) -> Callable[..., Any]:
        try:
            found = import_reference(reference, self.services.root, self.services.modules)
        except UsageError as error:
            raise UsageError(
                f"the comparator {reference} cannot be imported: {error.message}", hint=error.hint
            ) from error
        if not callable(found):
            raise UsageError(f"the comparator {reference} is not callable")
        return found  # type: ignore[no-any-return]

    def digest(self) -> str:
        """Comparators that cannot be had are refused before anything runs; without any, the options say it all."""
        if not self._own_comparators:
            return super().digest()
        return digest([super().digest(), [code_of(None, name, self.services.root) for name in self._own_comparators]])

    async def grade(self, context: GradeContext) -> Grade:
        text = context.text
        if len(text) > sandboxed_code.MOST_CODE:
            replies = [{"error": sandboxed_code.TOO_LONG}] * len(self.options.test_cases)
        else:
            replies = await self._replies(sandboxed_code.code_in(text, self.options.executor, self._defined), context)
        outcomes = []
        for number, case in enumerate(self.options.test_cases):
            outcomes.append(await self._outcome(number, case, replies[number]))
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
        total_s = options.timeout_per_case * len(options.test_cases) + sandboxed_code.START_S
        total_s = min(total_s, context.case.timeout_seconds or total_s)
        cases = [{"args": case.args, "kwargs": case.kwargs, "words": self._words(case)} for case in options.test_cases]
        question = {
            "code": code,
            "function_name": options.function_name,
            "cases": cases,
            "timeout_s": options.timeout_per_case,
            "total_s": total_s,
            "program": program,
            "asks_json": options.executor != "bash",
            "path": sandboxed_code.site_packages(),
        }
        replies = await sandboxed_code.ask_runner(
            self.services, run_cases, [question], timeout_s=total_s + sandboxed_code.START_S, readable=program[:1]
        )
        if len(replies.said) > len(cases) or not all(map(_is_reply, replies.said, range(len(cases)))):
            return [{"error": sandboxed_code.DISTURBED}] * len(cases)
        heard = [_with_memory_limit(reply) if replies.ended == "memory" else reply for reply in replies.said]
        if replies.ended != "exited":  # a limit was passed, at the latest in the last of them
            heard = heard[: len(cases) - 1]
        return heard + [{"error": replies.why_no_more(total_s)}] * (len(cases) - len(heard))

    def _program(self) -> list[str]:
        """The command that calls the function; the runner itself is in Python and needs none for that."""
        match self.options.executor:
            case "node":
                node = sandboxed_code.find_program("node", self.services)
                return [node, "--max-old-space-size=256", str(sandboxed_code.RUNNERS / "call_node.js")]
            case "bash":
                bash = sandboxed_code.find_program("bash", self.services)
                script = (sandboxed_code.RUNNERS / "call_bash.sh").read_text(encoding="utf-8")
                return [bash, "--noprofile", "--norc", "-c", script, "answer.sh"]
        return []

    def _words(self, case: FunctionCase) -> list[str]:
        return [as_text(argument) for argument in case.args] if self.options.executor == "bash" else []

    async def _outcome(self, number: int, case: FunctionCase, reply: dict[str, Any]) -> CallOutcome:
        try:
            value = self._value(case, reply)
        except NoResult as error:
            return CallOutcome(False, error=sandboxed_code.on_one_line(str(error)))
        try:
            if case.comparator in COMPARATORS:
                passed, why = await self._compare(value, case), ""
            else:
                passed, why = await self._compare_by(number, case, value)
        except RecursionError:
            return CallOutcome(False, error="the result is nested too deeply")
        return CallOutcome(passed, value, has_output=True, error=why)

    def _value(self, case: FunctionCase, reply: dict[str, Any]) -> Any:
        if "error" in reply:
            raise NoResult(reply["error"])
        if self.options.executor != "bash":
            return read_reply(reply["reply"])
        printed = reply["reply"].removesuffix("\n")
        return printed if isinstance(case.expected, str) else as_value(printed)

    async def _compare(self, value: Any, case: FunctionCase) -> bool:
        match case.comparator:
            case "approx":
                return approximately(value, case.expected, **case.tolerances)
            case "set":
                return same_members(value, case.expected)
            case "regex":
                text = as_text(storable(value))
                compiled = compile_pattern(case.expected)
                return await search_within_limit(compiled, text, case.expected, self.services.in_thread) is not None
        return is_equal(value, case.expected)

    async def _compare_by(self, number: int, case: FunctionCase, value: Any) -> tuple[bool, str]:
        """By somebody's own function. What it raises is reported with the test case it was called for."""
        place = f"the comparator {case.comparator} ({self._call(number)} gave {_brief(storable(value))})"
        limit = asyncio.timeout(OWN_COMPARATOR_S)
        compare = self._own_comparators[case.comparator]
        try:
            async with limit:
                returned = await call_function(self.services.in_thread, _judgement, compare, value, case.expected)
        except HarnessError:
            raise
        except Exception as error:
            if limit.expired():
                raise Unscored(f"{place} took more than {OWN_COMPARATOR_S:g} s") from None
            raise Unscored(f"{place} raised {type(error).__name__}: {error} at {raised_at(error)}") from error
        passed, why = returned
        if not isinstance(passed, bool):
            raise Unscored(f"{place} returned {type(passed).__name__}; return True, False or (False, reason)")
        return passed, "" if passed else why

    def _kept(self, number: int, outcome: CallOutcome) -> dict[str, Json]:
        kept: dict[str, Json] = {"case": number, "passed": outcome.passed}
        if outcome.has_output:
            kept["output"] = _bounded(storable(outcome.output))
        if not outcome.passed and outcome.has_output:
            kept["expected"] = self.options.test_cases[number].expected
        if outcome.error:
            kept["error"] = outcome.error
        return kept

    def _first(self, outcomes: list[CallOutcome]) -> str:
        number, outcome = next((number, outcome) for number, outcome in enumerate(outcomes) if not outcome.passed)
        case = self.options.test_cases[number]
        call = self._call(number)
        if not outcome.has_output:
            hint = ONE_MAPPING if len(case.args) == 1 and isinstance(case.args[0], Mapping) else ""
            return f"{call}: {outcome.error}{hint if 'positional argument' in outcome.error else ''}"
        wanted = f"expected {'/' if case.comparator == 'regex' else ''}{_brief(case.expected)}"
        return f"{call} gave {_brief(storable(outcome.output))}, {outcome.error or wanted}"

    def _call(self, number: int) -> str:
        case = self.options.test_cases[number]
        words = [*map(_brief, case.args), *(f"{name}={_brief(value)}" for name, value in case.kwargs.items())]
        return f"case {number}, {self.options.function_name}({', '.join(words)})"

    @property
    def _defined(self) -> str:
        """The name that the code defines: of a method, its class's."""
        name = self.options.function_name
        return name if self.options.executor == "bash" else name.partition(".")[0]


def _judgement(returned: Any) -> tuple[Any, str]:
    """What a comparator returned: whether the value passes, and why not."""
    passed, why = returned if isinstance(returned, tuple) and len(returned) == 2 else (returned, "")
    return passed, str(why)


def _is_reply(said: dict[str, Any], number: int) -> bool:
    """Whether a runner says such things: a result or the reason why there is none."""
    match said:
        case {"case": int(case), "reply": str()} if len(said) == 2:
            return case == number
        case {"case": int(case), "error": str(), **more}:
            return case == number and more.keys() <= {"signal"} and isinstance(more.get("signal", 0), int)
    return False


def _with_memory_limit(reply: dict[str, Any]) -> dict[str, Any]:
    """The kernel kills without giving its reason."""
    return {**reply, "error": sandboxed_code.why_ended("memory")} if reply.get("signal") == SIGKILL else reply


def _bounded(value: Json) -> Json:
    text = as_text(value)
    return value if len(text) <= LONGEST_KEPT else head(text, LONGEST_KEPT)


def _brief(value: Json) -> str:
    text = as_text(value)
    return shown(text, LONGEST_SHOWN) if isinstance(value, str) else shown(text, LONGEST_SHOWN)[1:-1]
