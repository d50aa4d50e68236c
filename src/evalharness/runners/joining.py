"""A prefix and the code after it, as one program: the code may go on where the prefix ends, or begin anew."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType


def compiled(prefix: str, code: str, file: str) -> CodeType:
    """The first of its meanings that is Python; where none is, raises what is wrong with the first."""
    problem: Exception | None = None
    for program in _meanings(prefix, code):
        try:
            return compile(program, file, "exec")
        except (SyntaxError, ValueError) as error:
            problem = problem or error
    raise problem or SyntaxError("there is no program")


def _meanings(prefix: str, code: str) -> Iterator[str]:
    yield _after(prefix, code)
    if prefix:
        yield _after(completed(prefix), code)
        yield code


def completed(prefix: str) -> str:
    """With a body for the function or class whose head the prefix ends with; any other prefix as it is."""
    last = next((line for line in reversed(prefix.splitlines()) if line.strip()), "")
    margin = last[: len(last) - len(last.lstrip())]
    for program in (prefix, _after(prefix, f"{margin}    pass\n"), _after(prefix, f"{margin}pass\n")):
        try:
            compile(program, "prefix.py", "exec")
        except (SyntaxError, ValueError):
            continue
        return program
    return prefix


def _after(prefix: str, code: str) -> str:
    return f"{prefix}\n{code}" if prefix and not prefix.endswith("\n") else prefix + code
