"""Graders for numbers: a numeric answer within a tolerance, and the exit code of a command or of a shell call."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any, ClassVar

from pydantic import AliasChoices, Field, field_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Number, Options, Whole
from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.values.json_value import Json
from evalharness.values.text import shown

Tolerance = Annotated[Number, Field(ge=0)]

# A number is not read out of the middle of something else: 1.2.3, 3,14, v2 and 0x1F hold none. The look-arounds also
# keep the search linear: a run of digits is entered at its first digit only.
NUMBER = re.compile(
    r"(?<![\w.])(?<!\d,)[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+|(?=\.\d))(?:\.\d+)?(?:[eE][-+]?\d+)?"
    r"(?![.,]?\d|[A-Za-z][-+]?\d)"
)

SHELL_TOOLS = {
    *("shell", "bash", "sh", "terminal", "localshell", "shellcommand", "shellexec", "runshell", "runbash"),
    *("runcommand", "runterminalcmd", "execcommand", "executecommand", "executebash", "executeshell"),
}
EXIT_CODE_KEYS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status", "code")
EXIT_CODE_IN_TEXT = re.compile(r"exit(?:ed)?[ _]?(?:with )?(?:code|status)[^\w\r\n-]{0,4}(-?\d{1,10})\b", re.IGNORECASE)


class NumericOptions(Options):
    value: Number
    absolute: Tolerance = Field(default=0.0, validation_alias=AliasChoices("absolute", "tolerance"))
    relative: Tolerance = 0.0


class Numeric(Grader):
    """The answer is this number, give or take a tolerance. A text may hold words around exactly one number."""

    Options: ClassVar[type[Options]] = NumericOptions
    only_reads: ClassVar[bool] = True
    options: NumericOptions

    async def grade(self, context: GradeContext) -> Grade:
        number, problem = read_number(context.output)
        if number is None:
            return Grade.of(False, reason=f"{problem}: {shown(context.text)}")
        allowed = max(self.options.absolute, self.options.relative * abs(self.options.value))
        # Tolerances are written in decimal: 1.1 must be within 0.1 of 1.0 although binary rounding says otherwise.
        slack = 4 * math.ulp(max(abs(number), abs(self.options.value)))
        distance = abs(number - self.options.value)
        passed = distance <= allowed + (slack if allowed else 0.0)
        difference = f"{number:.15g} differs from {self.options.value:.15g} by {distance:g}, allowed {allowed:g}"
        return Grade.of(passed, reason="" if passed else difference, evidence={"actual": number})

    def normalised(self, output: Json) -> Json:
        number, _ = read_number(output)
        return super().normalised(output) if number is None else number

    def example(self) -> Example:
        value = self.options.value
        return Example(whole=int(value) if value.is_integer() else value)


class ExitCodeOptions(Options):
    value: Whole = 0

    @field_validator("value", mode="before")
    @classmethod
    def _bare_name(cls, written: Any) -> Any:
        return 0 if written is None else written


class ExitCode(Grader):
    """The command, else the last shell call, ended with this exit code (0 unless said otherwise)."""

    Options: ClassVar[type[Options]] = ExitCodeOptions
    only_reads: ClassVar[bool] = True
    options: ExitCodeOptions

    async def grade(self, context: GradeContext) -> Grade:
        actual, problem = find_exit_code(context.transcript)
        if actual is None:
            return Grade.of(False, reason=f"{problem}, expected exit code {self.options.value}")
        passed = actual == self.options.value
        return Grade.of(passed, reason="" if passed else f"exit code {actual}, expected {self.options.value}")

    def example(self) -> Example:
        return Example(exit_code=self.options.value)


def find_exit_code(transcript: Transcript) -> tuple[int | None, str]:
    """The command's exit code, else that of the last shell call, or why there is none."""
    if transcript.exit_code is not None:
        return transcript.exit_code, ""
    call = next((call for call in reversed(transcript.tool_calls) if is_shell(call)), None)
    if call is None:
        return None, "the target is not a command and made no shell call"
    code = _exit_code_in_text(call.result)
    return code, "" if code is not None else f"the last shell call, {shown(call.name)}, has no exit code"


def is_shell(call: ToolCall) -> bool:
    """`run_shell`, also spelled `runShell`, `run-shell` or `mcp__local__run_shell`."""
    return re.sub(r"[\W_]", "", re.split(r"__|[./:]", call.name)[-1]).lower() in SHELL_TOOLS


def _exit_code_in_text(result: Json) -> int | None:
    if isinstance(result, str):
        try:
            said = json.loads(result)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, Mapping):
            reported = EXIT_CODE_IN_TEXT.findall(result)
            return int(reported[-1]) if reported else None
        result = said
    if not isinstance(result, Mapping):
        return None
    codes = (result.get(key) for key in EXIT_CODE_KEYS)
    return next((code for code in codes if isinstance(code, int) and not isinstance(code, bool)), None)


def read_number(output: Json) -> tuple[float | None, str]:
    """The one number in an answer, or why there is none. Never guesses between several."""
    if isinstance(output, bool):
        return None, "true/false is not a number"
    if isinstance(output, str):
        found = [match[0] for match in islice(NUMBER.finditer(output), 2)]
        if len(found) != 1:
            return None, "more than one number found" if found else "no number found"
        output = found[0].replace(",", "").replace("−", "-")
    elif not isinstance(output, int | float):
        return None, "not a number"
    try:
        number = float(output)
    except OverflowError:
        number = math.inf
    return (number, "") if math.isfinite(number) else (None, "not a finite number")
