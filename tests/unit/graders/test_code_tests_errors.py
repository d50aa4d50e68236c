"""Exceptions, operators, context managers and coroutines of an answer, used by tests in another process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evalharness.domain.grade import Grade

CHECK = """\
def check(candidate):
    assert candidate(1, 2) == 3
    assert all(map(lambda pair: candidate(*pair) == sum(pair), [(4, 5), (6, 7)])), "sums"
"""
ADD = {"type": "code_tests", "test": CHECK, "entry_point": "add", "timeout_seconds": 30}
SKIPPING = """\
import unittest

class Sums(unittest.TestCase):
    def test_sum(self): self.assertEqual(add(1, 2), 3)
    def test_nothing(self): pass
"""
ERRORS = """\
import json
from dataclasses import dataclass

class BankError(Exception):
    code = 7

class Overdrawn(BankError, ValueError):
    def __init__(self, missing):
        super().__init__("too little", missing)
        self.missing = missing
    @property
    def twice(self): return 2 * self.missing
    def told(self): return f"{self.missing} missing"
    def __str__(self): return f"<{self.missing}>"

class Account:
    class Closed(RuntimeError): pass
    def close(self): raise Account.Closed

@dataclass(frozen=True)
class Point:
    x: int

def withdraw(n): raise Overdrawn(n)
def lookup(key): return {}[key]
def parse(text): return json.loads(text)
def chained():
    try: withdraw(1)
    except BankError as error: raise LookupError("why") from error
def move(point): point.x = 3
def refuse(text): return ValueError(text)
def guarded(action):
    try: action()
    except Overdrawn as error: return error.missing
def retried(action, errors):
    try: return action()
    except errors: return action()
def many(): raise ExceptionGroup("all", [Overdrawn(1), KeyError("k")])
def decoded(): return b"\\xff".decode()
"""
ON_ERRORS = {
    "own class": "try:\n    withdraw(3)\n    assert False\nexcept Overdrawn as error:\n    assert str(error) == '<3>'",
    "own base": "try:\n    withdraw(3)\nexcept BankError as error:\n    assert isinstance(error, Overdrawn)",
    "built-in base": "try:\n    withdraw(3)\nexcept ValueError as error:\n    assert type(error) is Overdrawn",
    "not another": "try:\n    withdraw(3)\nexcept (OSError, Account.Closed):\n    assert 0\nexcept BankError: pass",
    "nested class": "try:\n    Account().close()\nexcept Account.Closed as error:\n    assert error.args == ()",
    "data": (
        "try:\n    withdraw(3)\nexcept Overdrawn as error:\n    assert error.args == ('too little', 3)\n"
        "    assert (error.missing, error.twice, error.told(), error.code) == (3, 6, '3 missing', 7)"
    ),
    "made by the tests": (
        "error = Overdrawn(4)\nassert error.missing == 4 and str(error) == '<4>' and isinstance(error, ValueError)\n"
        "assert error == error and error != Overdrawn(4) and Overdrawn.code == 7 and issubclass(Overdrawn, BankError)\n"
        "assert repr(BankError('x')) == \"BankError('x')\""
    ),
    "raised by the tests": "def action(): raise Overdrawn(5)\nassert guarded(action) == 5",
    "own class of the tests": (
        "class Busy(Exception): pass\nclass Idle(Overdrawn): pass\nnumbers = []\n"
        "def action():\n    numbers.append(1)\n    raise Busy('b', 2)\n"
        "try:\n    retried(action, Busy)\nexcept Busy as error:\n    assert error.args[1] == 2 and len(numbers) == 2\n"
        "def idle(): raise Idle(6)\ntry:\n    retried(idle, BankError)\nexcept Idle as error:\n    assert error.args"
    ),
    "unittest": (
        "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n"
        "        with self.assertRaises(Overdrawn) as caught: withdraw(2)\n"
        "        self.assertEqual(caught.exception.missing, 2)"
    ),
    "text of a KeyError": "try:\n    lookup('k')\nexcept KeyError as error:\n    assert str(error) == repr('k')",
    "of the library": (
        "import json\ntry:\n    parse('{')\nexcept json.JSONDecodeError as error:\n    assert error.pos == 1\n"
        "from dataclasses import FrozenInstanceError\ntry:\n    move(Point(1))\n    assert 0\n"
        "except FrozenInstanceError: pass"
    ),
    "cause": "try:\n    chained()\nexcept LookupError as error:\n    assert isinstance(error.__cause__, Overdrawn)",
    "returned": "assert isinstance(refuse('x'), ValueError) and refuse('x').args == ('x',)",
    "group": "try:\n    many()\nexcept* Overdrawn as all:\n    assert len(all.exceptions) == 1\nexcept* KeyError: 0",
    "odd arguments": "try:\n    decoded()\nexcept UnicodeDecodeError as error:\n    assert error.start == 0",
}


@pytest.mark.parametrize("test", ON_ERRORS)
def test_exceptions_of_the_answer_are_caught_by_their_class(test: str, grade: Callable[..., Grade]) -> None:
    ran = "assert False, 'came to its end'\n"
    verdict = grade({"code_tests": ON_ERRORS[test]}, ERRORS)
    assert verdict.passed, verdict.reason
    assert test == "unittest" or "to its end" in grade({"code_tests": f"{ON_ERRORS[test]}\n{ran}"}, ERRORS).reason


def test_an_exception_that_was_not_caught_is_named(grade: Callable[..., Grade]) -> None:
    verdict = grade({"code_tests": "withdraw(3)"}, ERRORS)
    assert verdict.reason == "Overdrawn: <3> at line 1 of the tests: withdraw(3)"


@pytest.mark.parametrize(
    "cheat",
    [
        "class Stop(StopIteration): pass\ndef add(a, b):\n    if a == 1: return 3\n    raise Stop",
        "from unittest import SkipTest\ndef add(a, b): raise SkipTest",
        "class Any(Exception):\n    def __eq__(self, o): return True\n    __hash__ = None\ndef add(a, b): return Any()",
        "class Any(int, BaseException): pass\ndef add(a, b): raise Any",
        "class Same(type):\n    def __eq__(self, o): return True\n    __hash__ = None\n"
        "class E(Exception, metaclass=Same): pass\ndef add(a, b): return E",
    ],
)
def test_no_exception_passes_for_an_answer(cheat: str, grade: Callable[..., Grade]) -> None:
    assert grade(ADD, cheat).state == "fail"
    assert grade({**ADD, "test": SKIPPING}, cheat.replace("if a == 1: return 3", "pass")).state == "fail"


def test_managers_coroutines_and_classes_of_the_answer(grade: Callable[..., Grade]) -> None:
    code = """\
import asyncio
from contextlib import contextmanager

class Base: pass
class Box(Base):
    def __init__(self): self.open = False
    def __enter__(self): self.open = True; return self
    def __exit__(self, kind, error, trace): self.open = False; return kind is ZeroDivisionError

@contextmanager
def lent(): yield 5

async def later(n):
    await asyncio.sleep(0)
    return n

def kind_of(value): return type(value)
def convert(value, kind): return kind(value) if isinstance(value, str) else kind
"""
    test = """\
import asyncio
with Box() as box:
    assert box.open
assert not box.open
with Box():
    1 / 0
with lent() as five:
    assert five == 5
try:
    with lent(): raise KeyError("mine")
    assert False
except KeyError: pass
assert asyncio.run(later(3)) == 3
async def both(): return await asyncio.gather(later(1), later(2))
assert asyncio.run(both()) == [1, 2]
assert issubclass(Box, Base) and not issubclass(Base, Box) and not issubclass(int, Base)
assert kind_of(3) is int and convert("3", int) == 3 and convert(3, str) is str
"""
    verdict = grade({"code_tests": test}, code)
    assert verdict.passed, verdict.reason


@pytest.mark.parametrize("body", ["assert add(1, 2) == 3", "assert add(3, 2) == 5"])
def test_no_manager_hides_that_a_test_failed(body: str, grade: Callable[..., Grade]) -> None:
    code = (
        "class Box:\n    def __enter__(self): pass\n    def __exit__(self, *raised): return True\n"
        "def add(a, b):\n    if a == 1: return 0\n    raise ValueError\n"
    )
    assert grade({"code_tests": f"with Box():\n    {body}\n"}, code).state == "fail"


def test_not_even_a_bare_except_hides_that_the_code_is_gone(grade: Callable[..., Grade]) -> None:
    test = "try:\n    add(1, 2)\nexcept:\n    pass\n"
    assert grade({"code_tests": test}, "def add(a, b): raise ValueError").passed
    assert grade({"code_tests": test}, "import os\ndef add(a, b): os._exit(0)").reason == "the code ended its process"


@pytest.mark.parametrize(
    "test",
    [
        "assert abs(f() - 3.14) < 1e-6",
        "assert abs(3.14 - f()) < 1e-6",
        "assert f() < 5 and f() > 1",
        "assert f() / 3 == 1",
        "assert f() - 3",
        "assert round(f() - 3, 2) == 0",
        "assert f() - {1, 2} == set()",
        "try:\n    f() - 1\nexcept:\n    pass",
    ],
)
def test_no_object_passes_for_the_right_number(test: str, grade: Callable[..., Grade]) -> None:
    """Whatever an operator reveals to it about the expected value."""
    of_two = ("sub", "rsub", "lt", "gt", "truediv")
    results = "0.0", "self", "set()", "True", "1"
    for result in results:
        defined = "".join(f"    def __{name}__(self, other): return {result}\n" for name in of_two)
        of_one = "    def __abs__(self): return 0.0\n    def __round__(self, n): return 0\n"
        verdict = grade({"code_tests": test}, f"class Any:\n{defined}{of_one}\ndef f(): return Any()\n")
        assert verdict.state == "fail" or (test.startswith("try") and result == "self")


def test_operators_on_objects_of_the_answer(grade: Callable[..., Grade]) -> None:
    code = """\
class Vector:
    "Two numbers."
    def __init__(self, x, y): self.x, self.y = x, y
    def __eq__(self, other): return (self.x, self.y) == (other.x, other.y)
    def __mul__(self, n): return Vector(self.x * n, self.y * n)
    __rmul__ = __mul__
    def __matmul__(self, other): return self.x * other.x + self.y * other.y
    def __abs__(self): return (self @ self) ** 0.5
    def __float__(self): return float(abs(self))
    def __round__(self, n=None): return round(self.x)
    def __lt__(self, other): return abs(self) < abs(other)
    def __format__(self, how): return format(self.x, how)
    def __reversed__(self): return iter([self.y, self.x])
"""
    test = """\
v = Vector(3, 4)
assert 2 * v == v * 2 == Vector(6, 8) and (v * 2).x == 6
assert abs(v) == 5 and float(v) == 5.0 and round(v) == 3 and v @ v == 25
assert Vector(1, 1) < v and max(v, Vector(1, 1), key=abs) is v and v * 2 > v
assert f"{v:03d}" == "003" and list(reversed(v)) == [4, 3] and Vector.__name__ == "Vector"
del v.x
assert not hasattr(v, "x") and hasattr(v, "y")
"""
    verdict = grade({"code_tests": test}, code)
    assert verdict.passed, verdict.reason
