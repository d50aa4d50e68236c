"""The child that calls a Python function. It trusts nothing, and nothing it does can reach beyond its own process."""

from __future__ import annotations

import json
import os
import sys
from types import CodeType, ModuleType, TracebackType
from typing import Any

from evalharness.runners.channel import REPLY
from evalharness.runners.plain_values import NotPlain, to_plain

MODULE = "answer"
FILE = "answer.py"
LONGEST_ERROR = 500


def reply(request: dict[str, Any], case: dict[str, Any]) -> None:
    """Call the function and write what came of it; the caller ends the process."""
    unsent = memoryview(_as_json(called(request, case)) + b"\n")
    while unsent:
        unsent = unsent[os.write(REPLY, unsent) :]


def called(request: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    name = request["function_name"]
    try:
        function = find(load(request["code"]), name)
        if not callable(function):
            return {"error": f"the code defines no function '{name}'"}
        value = function(*case["args"], **case["kwargs"])
        if hasattr(value, "__await__"):
            value = awaited(value)
        return {"value": to_plain(value)}
    except NotPlain as error:
        return {"error": str(error)}
    except BaseException as error:  # noqa: BLE001 - whatever generated code raises is its result
        return {"error": described(error)}


def find(defined: dict[str, Any], name: str) -> Any:
    """The function, or of `Class.method` the method of an object made without arguments; None where there is none."""
    owner, _, method = name.partition(".")
    found = defined.get(owner)
    if not method or found is None:
        return found
    return getattr(found() if isinstance(found, type) else found, method, None)


def load(code: str | CodeType) -> dict[str, Any]:
    """The names that the code defines. It is a module of its own, not `__main__`."""
    module = ModuleType(MODULE)
    module.__file__ = FILE
    sys.modules[MODULE] = module  # dataclasses and pickle look for it there
    exec(compile(code, FILE, "exec") if isinstance(code, str) else code, module.__dict__)
    return module.__dict__


def described(error: BaseException) -> str:
    """The class, the message and the line of the code, in one bounded text."""
    if isinstance(error, SystemExit):
        return f"the code called sys.exit({error.code!r})"[:LONGEST_ERROR]
    try:
        text = f"{type(error).__name__}: {error}".rstrip(": ")
    except BaseException:  # noqa: BLE001 - so may its __str__
        text = type(error).__name__
    line = None if isinstance(error, SyntaxError) else _line(error.__traceback__)
    return text[:LONGEST_ERROR] + (f" (line {line} of the code)" if line else "")


def _line(traceback: TracebackType | None) -> int | None:
    found = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == FILE:
            found = traceback.tb_lineno
        traceback = traceback.tb_next
    return found


def awaited(value: Any) -> Any:
    """What an async function returns in the end."""
    import asyncio  # here, because hardly any answer needs it and it takes longer to import than to run most of them

    async def wait() -> Any:
        return await value

    return asyncio.run(wait())


def _as_json(replied: dict[str, Any]) -> bytes:
    try:
        return json.dumps(replied).encode()
    except ValueError:  # a whole number of more digits than Python writes
        return json.dumps({"error": "the result holds a number of too many digits"}).encode()
