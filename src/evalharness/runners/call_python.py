"""The child process that calls a Python function. The code is untrusted, and can affect only this process."""

from __future__ import annotations

import json
import math
import os
import sys
from types import CodeType, ModuleType, TracebackType
from typing import Any

from evalharness.runners.channel import REPLY

MODULE = "answer"
FILE = "answer.py"
LONGEST_ERROR = 500


def reply(request: dict[str, Any], case: dict[str, Any]) -> None:
    """Call the function and write the result; the caller ends the process."""
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
    """The function, or the method of a new object for `Class.method`; None if there is none."""
    owner, _, method = name.partition(".")
    found = defined.get(owner)
    if not method or found is None:
        return found
    return getattr(found() if isinstance(found, type) else found, method, None)


def load(code: str | CodeType) -> dict[str, Any]:
    """The names that the code defines. It runs as its own module, not as `__main__`."""
    module = ModuleType(MODULE)
    module.__file__ = FILE
    sys.modules[MODULE] = module  # dataclasses and pickle look it up there
    exec(compile(code, FILE, "exec") if isinstance(code, str) else code, module.__dict__)
    return module.__dict__


def described(error: BaseException) -> str:
    """The class, the message and the line of the code, in one text of limited length."""
    if isinstance(error, SystemExit):
        return f"the code called sys.exit({error.code!r})"[:LONGEST_ERROR]
    try:
        text = f"{type(error).__name__}: {error}".rstrip(": ")
    except BaseException:  # noqa: BLE001 - its __str__ may raise too
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
    """The result of an async function."""
    import asyncio  # lazy: rarely needed, and slower to import than most code is to run

    async def wait() -> Any:
        return await value

    return asyncio.run(wait())


def _as_json(replied: dict[str, Any]) -> bytes:
    try:
        return json.dumps(replied).encode()
    except ValueError:  # an integer with more digits than Python converts
        return json.dumps({"error": "the result contains a number with too many digits"}).encode()


# The result of a function as JSON. Mappings are tagged, to distinguish sets from lists and mappings.
#
# null, true, 1, 1.5, "text", [...]   themselves; a tuple is a list
# {"dict": {key: value}}              a mapping; other keys than texts are converted to text as in JSON
# {"set": [...]}                      a set or a frozen set
# {"float": "nan" | "inf" | "-inf"}   a float that JSON does not have

TOO_DEEP = "the result is nested too deeply, or contains itself"


class NotPlain(Exception):
    """The value cannot be written as JSON; the message says why."""


def to_plain(value: Any) -> Any:
    try:
        return _plain(value)
    except RecursionError:
        raise NotPlain(TOO_DEEP) from None


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(float(value))}
    if isinstance(value, int | float):
        return int(value) if isinstance(value, int) else float(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return {"set": [_plain(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": {_key(key): _plain(item) for key, item in value.items()}}
    if hasattr(type(value), "tolist"):  # arrays and scalars of numeric packages
        return _plain(value.tolist())
    raise NotPlain(f"the result contains a value of type {type(value).__name__}, which JSON does not support")


def _key(key: Any) -> str:
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, str | int | float):
        return str(key)
    raise NotPlain(f"the result has a key of type {type(key).__name__}, which JSON does not support")
