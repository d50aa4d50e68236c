"""code_tests: the answer is source code, judged by test source that comes with the case.

Both run in a sandbox, each in a process of its own (`runners/run_tests.py`), so that the code cannot tamper with what
judges it.
"""

from __future__ import annotations

import ast
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from evalharness.contracts import GradeContext
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.graders import code_running
from evalharness.graders.part import CodeGrader, text_of
from evalharness.runners import run_tests

PROMPT = "prompt"
CHECK = "check"


class CodeTestsOptions(Options):
    """`prefix` is code that comes before the answer's; `prompt` means what the target was asked."""

    main: ClassVar[str] = "test"

    test: str
    language: Literal["python"] = "python"
    entry_point: str | None = None
    prefix: str = ""
    timeout_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 10.0

    @field_validator("test")
    @classmethod
    def _is_python(cls, test: str) -> str:
        if not _parsed(test).body:
            raise ValueError("is empty: any answer would pass")
        return test

    @field_validator("entry_point")
    @classmethod
    def _is_name(cls, name: str | None) -> str | None:
        if name is not None and not name.isidentifier():
            raise ValueError("must be the name of a function")
        return name

    @model_validator(mode="after")
    def _something_is_run(self) -> CodeTestsOptions:
        body = _parsed(self.test).body
        functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        if CHECK in functions and self.entry_point is None:
            raise ValueError("entry_point is missing: the function that check(candidate) is called with")
        tests = [node for name, node in functions.items() if name.startswith("test_")]
        for node in tests:
            if [arg.arg for arg in node.args.args] not in ([], ["candidate"]):
                raise ValueError(f"{node.name} asks for arguments that nobody gives; only `candidate` is known")
        if not (CHECK in functions or tests or any(map(_is_run, body))):
            raise ValueError("runs no test: any answer would pass; write asserts, check(candidate) or test_… functions")
        return self


class CodeTests(CodeGrader):
    Options: ClassVar[type[Options]] = CodeTestsOptions
    options: CodeTestsOptions

    async def grade(self, context: GradeContext) -> Grade:
        options = self.options
        prefix = context.case.content_text if options.prefix == PROMPT else options.prefix
        code = code_running.code_in(text_of(context), options.language, options.entry_point)
        limit_s = min(options.timeout_seconds, context.case.timeout_seconds or options.timeout_seconds)
        first = {"code": _joined(prefix, code), "path": code_running.site_packages()}
        then = {"tests": options.test, "entry_point": options.entry_point, "prefix": prefix, "timeout_s": limit_s}
        replies = await code_running.ask_runner(
            self.services, run_tests, [first, then], timeout_s=limit_s + code_running.START_S
        )
        verdict = next((reply for reply in replies.said if "passed" in reply), {})
        if verdict.get("passed") is True:
            return Grade.of(True)
        if replies.ended != "exited" or not verdict:
            return Grade.of(False, reason=code_running.why_ended(replies.ended, limit_s))
        return Grade.of(False, reason=code_running.on_one_line(str(verdict["reason"])))


def _joined(prefix: str, code: str) -> str:
    return f"{prefix}\n{code}" if prefix and not prefix.endswith("\n") else prefix + code


def _is_run(node: ast.stmt) -> bool:
    """Whether a statement of the tests does more than define something; unittest's test cases are run, too."""
    if isinstance(node, ast.ClassDef):
        return any(ast.unparse(base).endswith("TestCase") for base in node.bases)
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    defining = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Pass)
    return not isinstance(node, defining)


def _parsed(test: str) -> ast.Module:
    try:
        return ast.parse(test)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"is not Python: {error}") from None
