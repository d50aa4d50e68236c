"""The runner of `code_tests`: the code in one process, its tests in another, and only data between them.

The tests pass if they run to their end in a process that the code cannot reach. So nothing that the code does to its
own process helps it: exiting, printing, patching modules, redefining `check`, objects equal to everything. The code
never sees the tests either: its process is forked before they are read.
"""

from __future__ import annotations

import ast
import builtins
import os
import signal
import socket
import sys
from collections.abc import Iterator
from importlib import import_module
from types import CodeType, FrameType, FunctionType, ModuleType, TracebackType
from typing import Any

from evalharness.runners.call_python import FILE, LONGEST_ERROR, described, load
from evalharness.runners.channel import (
    REPLY,
    become_child,
    make_importable,
    read_frame,
    shut_out_children,
    take_stdout,
    tell,
)
from evalharness.runners.crossing import is_library
from evalharness.runners.objects import OUT_OF_TURN, Link, OtherSideEnded
from evalharness.runners.remotes import CALL, EVERYTHING

TESTS = "tests.py"
CHECK = "check"


def main() -> None:
    channel = take_stdout()
    shut_out_children()
    question = read_frame()
    make_importable(question["path"])
    tell(channel, ready=True)
    link = Link(_start_code(question["prefix"], question["code"]), serves=CALL)
    asked = read_frame()
    _end_after(asked["timeout_s"], link)
    problem = run_tests(asked, link)
    tell(channel, token=asked["token"], passed=problem is None, reason=(problem or "")[: 2 * LONGEST_ERROR])
    os._exit(0)  # nothing that the tests or the code left behind may run after the verdict


def run_tests(asked: dict[str, Any], link: Link) -> str | None:
    """Why the tests did not pass, or None."""
    entry_point = asked["entry_point"]
    try:
        tests = compile(asked["tests"], TESTS, "exec")
        known = _run_prefix(asked["prefix"])
        known = _modules_in(asked["tests"]) | known
        known |= _names_of_code(tests, entry_point, link, known)
        if entry_point and not callable(known.get(entry_point)):
            return f"the code defines no function '{entry_point}'"
        candidate = known.get(entry_point)
        exec(tests, known)
        if isinstance(check := known.get(CHECK), FunctionType):
            check(candidate)
        problem = _run_collected(known, candidate)
        return problem if link.ended is None else str(link.ended)  # a bare `except` in a test may have hidden it
    except OtherSideEnded as error:
        return str(error)
    except BaseException as error:  # noqa: BLE001 - tests that raise anything have not passed
        return _failure(error, asked["tests"])


def _run_collected(known: dict[str, Any], candidate: Any) -> str | None:
    """Run tests that need a test runner: `test_…` functions, and the methods of unittest's test cases."""
    for name, value in list(known.items()):
        if name.startswith("test_") and isinstance(value, FunctionType) and value.__code__.co_filename == TESTS:
            value(*([candidate] if value.__code__.co_argcount else []))
    unittest = sys.modules.get("unittest")
    for value in list(known.values()):
        if (
            unittest
            and isinstance(value, type)
            and issubclass(value, unittest.TestCase)
            and value.__module__ == "tests"
        ):
            result = unittest.TestResult()
            unittest.defaultTestLoader.loadTestsFromTestCase(value).run(result)
            if problems := [*result.failures, *result.errors]:
                test, trace = problems[0]
                return f"{test}: {trace.strip().splitlines()[-1]}"
            if not result.testsRun or len(result.skipped) == result.testsRun:
                return f"no test of {value.__name__} was run"
    return None


def _end_after(timeout_s: float, link: Link) -> None:
    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a handler
        link.refuse(f"time limit: the tests took more than {timeout_s:g} s")

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, timeout_s)


def _start_code(prefix: str, code: str) -> int:
    """Start the process of the code; return the socket to it."""
    ours, its = socket.socketpair()
    if os.fork() == 0:
        try:
            become_child(its.fileno())
            _serve_code(prefix, code)
        finally:
            os._exit(0)
    its.close()
    return ours.detach()


def _serve_code(prefix: str, code: str) -> None:
    names: dict[str, Any] = {}
    link = Link(REPLY, {**EVERYTHING, "names": lambda wanted: {name: names[name] for name in wanted if name in names}})
    try:
        names |= load(compiled(prefix, code, FILE))
    except BaseException as error:  # noqa: BLE001 - whatever generated code raises is its result
        link.receive()
        link.send({"ended": f"the code cannot be loaded: {described(error)}"})
    try:
        link.serve()
    except BaseException as error:  # noqa: BLE001 - anything but an Exception ends it
        link.send({"ended": described(error)})


def _run_prefix(prefix: str) -> dict[str, Any]:
    """The names that a prompt defines for its tests, taken from the prompt and not from the code."""
    known: dict[str, Any] = {"__name__": "tests"}
    try:
        exec(compile(completed(prefix), "prompt.py", "exec"), known)
    except Exception:  # noqa: BLE001 - a prompt need not be a program, and as one it may raise anything
        return {"__name__": "tests"}
    return known


def _names_of_code(tests: CodeType, entry_point: str, link: Link, known: dict[str, Any]) -> dict[str, Any]:
    """The names that the tests use from the code. It cannot replace built-ins, except the function under test."""
    wanted = {name for name in _names(tests) if name not in known and not hasattr(builtins, name)}
    wanted |= {entry_point} if entry_point else set()
    found = link.ask("names", sorted(wanted))
    if not isinstance(found, dict):
        raise OtherSideEnded(OUT_OF_TURN)
    return {name: value for name, value in found.items() if name in wanted}


def _modules_in(tests: str) -> dict[str, ModuleType]:
    """Modules of Python's library that the tests use as such (`math.isclose`), even if the code defines such a name.

    If the tests use an attribute that the module does not have, they mean the code's object.
    """
    tree = ast.parse(tests)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and is_library(node.id)]
    parts = {id(node.value): node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used: dict[str, set[str | None]] = {}
    for node in names:
        used.setdefault(node.id, set()).add(parts.get(id(node)))
    found = {name: _module(name) for name, attributes in used.items() if None not in attributes}
    return {
        name: module
        for name, module in found.items()
        if module and all(hasattr(module, attribute) for attribute in used[name] if attribute)
    }


def _module(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:  # a module of another platform
        return None


def _names(tests: CodeType) -> Iterator[str]:
    yield from tests.co_names
    for constant in tests.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _failure(error: BaseException, tests: str) -> str:
    line = _line_in_tests(error.__traceback__)
    shown = tests.split("\n")[line - 1].strip() if line else ""
    what = described(error)
    return f"{what} at line {line} of the tests: {shown}" if shown else what


def _line_in_tests(traceback: TracebackType | None) -> int:
    line = 0
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == TESTS:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


# A prefix and the code after it, as one program: the code may continue the prefix, or repeat it.


def compiled(prefix: str, code: str, file: str) -> CodeType:
    """The first reading that is valid Python; if there is none, raises the problem of the first."""
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
    """The prefix with a body for the function or class that it ends with; any other prefix unchanged."""
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
