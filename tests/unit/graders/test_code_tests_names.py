"""Modules, exceptions, base classes and comparisons that tests take from an answer: none decides the verdict."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evalharness.domain.grade import Grade

ALIASES = "def withdraw(have, n):\n    if have < 0: raise Overdrawn('below')\n    return have - n\n"
IN_UNITTEST = """\
import unittest
class T(unittest.TestCase):
    def test_it(self):
        try:
            withdraw({have}, 50)
            self.fail("must raise")
        except Overdrawn:
            pass
"""
PLAIN = (
    "try:\n    withdraw({have}, 50)\n    assert False\nexcept Overdrawn as error:\n    assert str(error) == 'below'\n"
)
CONFUSION = """\
import json, os
lines = os.fdopen(os.dup(3), "rb")
def say(**said): os.write(3, json.dumps(said).encode() + b"\\n")
def hear(): return json.loads(lines.readline())
def mine(number): return {"object": ["mine", number, "x"]}
linked = {"dict": [["_link", mine(50)]]}
error = {"object": ["error", 7, "t", {"class": ["builtins", "ValueError"]}, {"tuple": []}, linked, None]}
hear()
say(value={"dict": [["add", mine(1)]]})
while True:
    asked = hear()
    if asked["ask"] == "call" and asked["values"][0] == {"object": ["yours", 1]}:
        say(value=mine(7), changed=[[0, {"tuple": [mine(7), error]}]])
    else:
        say(value=mine(51) if asked["ask"] == "getattr" else 0)
"""


def test_a_module_that_the_code_returns_works_in_the_process_of_the_code(grade: Callable[..., Grade]) -> None:
    code = "import os\ndef machine(): return os\n"
    test = "import os\nassert machine().getpid() != os.getpid() and machine().path.join('a', 'b') == 'a/b'\n"
    verdict = grade({"code_tests": test}, code)
    assert verdict.passed, verdict.reason
    code = "import builtins\ndef machine(): return builtins\ndef program(): return 'globals().update(expected=0) or 0'"
    test = "expected = 5\nassert machine().eval(program()) == 0 and expected == 5"
    verdict = grade({"code_tests": test}, code)
    assert verdict.passed, verdict.reason


def test_an_object_never_becomes_an_exception(grade: Callable[..., Grade]) -> None:
    test = (
        "def check(candidate):\n    assert abs(candidate(2, 3) - 5) < 0.1\n    assert abs(candidate(4, 3) - 7) < 0.1\n"
    )
    written = {"type": "code_tests", "test": test, "entry_point": "add", "timeout_seconds": 30}
    assert grade(written, CONFUSION).state == "fail"
    assert grade(written, "def add(a, b): return a + b").passed


def test_an_exception_keeps_what_only_the_harness_gives_it(grade: Callable[..., Grade]) -> None:
    code = (
        "class Bad(Exception):\n    def __init__(self): self._link = self._home = 3; self.n = 4\n"
        "    def more(self): return 5\n"
    )
    verdict = grade({"code_tests": "error = Bad()\nassert error.n == 4 and error.more() == 5"}, code)
    assert verdict.passed, verdict.reason


@pytest.mark.parametrize("name", ["AssertionError", "Exception", "BaseException"])
@pytest.mark.parametrize("test", [PLAIN, IN_UNITTEST], ids=["plain", "unittest"])
@pytest.mark.parametrize("binding", ["Overdrawn = {}\n", "Overdrawn = ({}, KeyError)\n"])
def test_no_name_of_the_code_catches_a_failed_test(
    name: str, test: str, binding: str, grade: Callable[..., Grade]
) -> None:
    code = binding.format(name) + ALIASES
    assert grade({"code_tests": test.format(have=10)}, code).state == "fail"
    if name != "BaseException" and "(" not in binding:
        right = grade({"code_tests": test.format(have=-1)}, code)
        assert right.passed, right.reason
        derived = grade({"code_tests": test.format(have=-1)}, f"class Overdrawn({name}): pass\n{ALIASES}")
        assert derived.passed, derived.reason


@pytest.mark.parametrize(
    ("test", "code", "passes"),
    [
        ("assert math.isclose(f(1), 3.14)", "class math:\n    isclose = lambda *a: True\ndef f(n): return 0", False),
        ("assert math.isclose(f(1), 3.14)", "import math\ndef f(n): return 3.14", True),
        ("assert math.isclose(f(1), 3.14)", "def f(n): return 3.14", True),
        ("assert bisect([1, 2], 2) == 1", "def bisect(numbers, n): return numbers.index(n)", True),
        (
            "calendar.note('x')\nassert calendar.notes == ['x']",
            "class Calendar:\n    def __init__(self): self.notes = []\n    def note(self, n): self.notes.append(n)\n"
            "calendar = Calendar()",
            True,
        ),
        (
            "class T(unittest.TestCase):\n    def test_f(self):\n        self.assertEqual(f(1), 2)\n",
            "class unittest:\n    class TestCase: pass\ndef f(n): return 0",
            False,
        ),
    ],
)
def test_modules_of_python_are_the_tests_own(test: str, code: str, passes: bool, grade: Callable[..., Grade]) -> None:
    verdict = grade({"code_tests": test}, code)
    assert verdict.passed is passes, verdict.reason


@pytest.mark.parametrize(
    "test", ["class Dog(Animal):\n    pass\nassert Dog", "class T(Animal):\n    def test_a(self): assert 0"]
)
def test_a_class_on_one_of_the_code_is_refused_with_the_reason(test: str, grade: Callable[..., Grade]) -> None:
    verdict = grade({"code_tests": f"assert Animal\n{test}"}, "class Animal: pass")
    assert verdict.state == "fail"
    assert verdict.reason.startswith("a class of the tests cannot be derived from a class of the code")


@pytest.mark.parametrize(
    "test",
    [
        "assert len(f() ^ {1, 2}) == 0",
        "assert len({1, 2} - f()) == 0",
        "assert list(f() & {1}) == []",
        "assert f'{f() - 3.14:.3f}' == '0.000'",
    ],
)
def test_what_is_left_of_a_comparison_is_not_measured_by_the_code(test: str, grade: Callable[..., Grade]) -> None:
    code = (
        "class Any:\n    def __sub__(self, o): return self\n    __rsub__ = __xor__ = __rxor__ = __and__ = __sub__\n"
        "    def __len__(self): return 0\n    def __iter__(self): return iter([])\n"
        "    def __format__(self, how): return format(0.0, how)\ndef f(): return Any()\n"
    )
    verdict = grade({"code_tests": test}, code)
    assert verdict.reason.startswith("an operator on an object of the code and data of the tests returned data")
    own = "a, b = f(), f()\nassert len(a - b) == 0 and list(a * 1 if hasattr(a, 'x') else a) == []"
    assert grade({"code_tests": own}, code).passed
