"""code_tests: the answer is source code, judged by test source that comes with the case.

Both run in a sandbox, each in a process of its own (`runners/run_tests.py`), so that the code cannot tamper with what
judges it.
"""

from __future__ import annotations

import ast
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.grade import Grade
from evalharness.domain.options import Number, Options
from evalharness.graders import sandboxed_code
from evalharness.runners import run_tests
from evalharness.values.digest import digest

PROMPT = "prompt"
CHECK = "check"
TEST = "test_"


class CodeTestsOptions(Options):
    """`prefix` is code that comes before the answer's; `prompt` means what the target was asked."""

    main: ClassVar[str] = "test"

    test: str
    language: Literal["python"] = "python"
    entry_point: str | None = None
    prefix: str = ""
    timeout_seconds: Annotated[Number, Field(gt=0)] = 10.0

    @field_validator("test")
    @classmethod
    def _tests_something(cls, test: str) -> str:
        body = _parsed(test).body
        if not body:
            raise ValueError("is empty: any answer would pass")
        called = [node for name, node in _functions(body).items() if name == CHECK or name.startswith(TEST)]
        if not any(map(_can_fail, (*called, *filter(_is_run, body)))):
            raise ValueError("runs no test: any answer would pass; write asserts, check(candidate) or test_… functions")
        return test

    @field_validator("entry_point")
    @classmethod
    def _is_name(cls, name: str | None) -> str | None:
        if name is not None and not name.isidentifier():
            hint = "; give the class alone, and let the tests create its objects" if "." in name else ""
            raise ValueError(f"must be the name of a function or a class{hint}")
        return name

    @model_validator(mode="after")
    def _arguments_are_given(self) -> CodeTestsOptions:
        functions = _functions(_parsed(self.test).body)
        if CHECK in functions and self.entry_point is None:
            raise ValueError("entry_point is missing: name the function to pass to check(candidate)")
        for name, node in functions.items():
            if name.startswith(TEST) and [arg.arg for arg in node.args.args] not in ([], ["candidate"]):
                raise ValueError(f"{name} has unknown arguments; only `candidate` is passed")
        return self


class CodeTests(Grader):
    Options: ClassVar[type[Options]] = CodeTestsOptions
    version = "2"
    needs_sandbox = True
    options: CodeTestsOptions

    async def grade(self, context: GradeContext) -> Grade:
        options = self.options
        text = context.text
        if len(text) > sandboxed_code.MOST_CODE:
            return Grade.of(False, reason=sandboxed_code.TOO_LONG)
        prefix = context.case.content_text if options.prefix == PROMPT else options.prefix
        code = sandboxed_code.code_in(text, options.language, options.entry_point)
        limit_s = min(options.timeout_seconds, context.case.timeout_seconds or options.timeout_seconds)
        token = self.services.exchanges.nonce(lambda: digest([options.test, text]))
        first = {"code": code, "prefix": prefix, "path": sandboxed_code.site_packages()}
        then = {
            "tests": options.test,
            "entry_point": options.entry_point,
            "prefix": prefix,
            "timeout_s": limit_s,
            "token": token,
        }
        replies = await sandboxed_code.ask_runner(
            self.services, run_tests, [first, then], timeout_s=limit_s + sandboxed_code.START_S
        )
        if replies.ended != "exited" or not replies.said:
            return Grade.of(False, reason=replies.why_no_more(limit_s))
        return _graded(replies.said, token)


def _graded(said: tuple[dict[str, Any], ...], token: str) -> Grade:
    """By the one verdict of the process that ran the tests: it alone got the token, after the code was started."""
    verdict = said[0]
    is_sound = len(said) == 1 and verdict.keys() == {"token", "passed", "reason"} and verdict["token"] == token
    match verdict:
        case {"passed": True} if is_sound:
            return Grade.of(True)
        case {"passed": False, "reason": str(reason)} if is_sound:
            return Grade.of(False, reason=sandboxed_code.on_one_line(reason) or "the tests did not pass")
    return Grade.of(False, reason=sandboxed_code.DISTURBED)


def _can_fail(node: ast.AST) -> bool:
    """Whether it calls, raises or asserts something; `assert True` asserts nothing."""
    return any(
        isinstance(inner, ast.Call | ast.Raise)
        or (isinstance(inner, ast.Assert) and not (isinstance(inner.test, ast.Constant) and inner.test.value))
        for inner in ast.walk(node)
    )


def _is_run(node: ast.stmt) -> bool:
    """Whether a statement of the tests does more than define something; unittest's test cases are run, too."""
    if isinstance(node, ast.ClassDef):
        return any(ast.unparse(base).endswith("TestCase") for base in node.bases)
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    defining = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Pass)
    return not isinstance(node, defining)


def _functions(body: list[ast.stmt]) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def _parsed(test: str) -> ast.Module:
    try:
        return ast.parse(test)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"is not valid Python: {error}") from None
