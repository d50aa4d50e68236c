"""A case's own tests: an answer passes only if they have run to their end, out of its reach."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.services import Services
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import Unscored
from evalharness.sandboxes.bubblewrap import Bubblewrap
from evalharness.sandboxes.none import NoSandbox

CHECK = """\
import math

def check(candidate):
    assert candidate(1, 2) == 3
    assert all(map(lambda pair: candidate(*pair) == sum(pair), [(4, 5), (6, 7)])), "sums"
    assert math.isclose(candidate(0.5, 0.25), 0.75)
"""
ADD = {"type": "code_tests", "test": CHECK, "entry_point": "add", "timeout_seconds": 30}
ASSERTS = {"type": "code_tests", "test": "assert add(1, 2) == 3\nassert add('a', 'b') == 'ab'\n"}
RIGHT = "def add(a, b):\n    return a + b\n"


@pytest.mark.parametrize("written", [ADD, ASSERTS], ids=["check", "asserts"])
def test_a_right_answer_passes(written: Any, grade: Callable[..., Grade]) -> None:
    for answer in (RIGHT, f"Here it is:\n```python\n{RIGHT}```\n", "print('noise' * 10_000)\n" + RIGHT):
        verdict = grade(written, answer)
        assert (verdict.state, verdict.score, verdict.reason) == ("pass", 1.0, "")


def test_the_reason_names_the_test_that_failed(grade: Callable[..., Grade]) -> None:
    verdict = grade(ADD, "def add(a, b): return 3")
    assert (verdict.state, verdict.score) == ("fail", 0.0)
    assert verdict.reason.startswith("AssertionError: sums at line 5 of the tests: assert all(map(")


def test_the_code_never_sees_its_tests(grade: Callable[..., Grade]) -> None:
    """Its process is forked before they are read, so even a search through its memory cannot find them."""
    code = (
        "import gc, sys\n"
        "def seen():\n"
        "    frame, found = sys._getframe(), []\n"
        "    while frame: found.append(repr(frame.f_locals)); frame = frame.f_back\n"
        "    found += [repr(o) for o in gc.get_objects() if isinstance(o, (dict, list))]\n"
        "    return any('gold' + '-answer' in text for text in found)\n"
    )
    assert grade({"code_tests": "assert seen() is False, 'gold-answer'"}, code).passed


def test_objects_of_the_answer_can_be_used(grade: Callable[..., Grade]) -> None:
    test = """\
root = Node(1)
root.left = Node(2)
assert total(root) == 3
assert isinstance(root, Node) and root.left.value == 2
assert Node(5) + Node(6) == Node(11) and Node(5) != Node(6) and Node(1) != 1
assert str(Node(7)) == "<7>" and len(root) == 2 and 2 in root and root["left"] == Node(2)
assert 3 not in root and root.left in root and Node(9) not in root and 2 in count(3) and 3 not in count(3)
numbers = [3, 1, 2]
assert sort(numbers) is None and numbers == [1, 2, 3]
assert ordered([1, 2, 3], key=lambda n: -n) == [3, 2, 1]
assert list(count(3)) == [0, 1, 2] and not list(count(0))
assert pair() == (1, {2}) and half() == Fraction(1, 2) and LIMIT == 10 and raw() == b"x"
try:
    fail()
    assert False
except ValueError as error:
    assert "why" in str(error)
"""
    code = """\
from dataclasses import dataclass
from fractions import Fraction

LIMIT = 10

@dataclass
class Node:
    value: int
    left: object = None
    def __add__(self, other): return Node(self.value + other.value)
    def __str__(self): return f"<{self.value}>"
    def __len__(self): return 2
    def __iter__(self): yield from (self.left, 2)
    def __getitem__(self, key): return getattr(self, key)

class Why(ValueError): pass

def total(node): return node.value + (total(node.left) if node.left else 0)
def sort(numbers): numbers.sort()
def ordered(numbers, key): return sorted(numbers, key=key)
def count(n): yield from range(n)
def pair(): return 1, {2}
def half(): return Fraction(1, 2)
def raw(): return b"x"
def fail(): raise Why("why")
"""
    verdict = grade({"code_tests": "from fractions import Fraction\n" + test}, code)
    assert verdict.passed, verdict.reason


def test_enums_dates_and_what_repr_says_can_be_tested(grade: Callable[..., Grade]) -> None:
    test = """\
from datetime import date, timedelta
assert favourite() is Color.RED and favourite() == Color["RED"] and favourite() != Color.BLUE
assert favourite().name == "RED" and Color(1) is Color.RED and counts()[Color.RED] == 3
assert repr(favourite()) == "<Color.RED: 1>" and str(favourite()) == "Color.RED" and favourite() != 1
assert tomorrow(date(2024, 2, 28)) == date(2024, 2, 29) and tomorrow(date.min) - date.min == timedelta(1)
assert shown(lambda: 1)
"""
    code = """\
from datetime import timedelta
from enum import Enum

class Color(Enum):
    RED = 1
    BLUE = 2

def favourite(): return Color.RED
def counts(): return {Color.RED: 3}
def tomorrow(day): return day + timedelta(1)
def shown(function): return repr(function)
"""
    verdict = grade({"code_tests": test}, code)
    assert verdict.passed, verdict.reason


def test_code_cannot_look_into_what_the_tests_hand_it(grade: Callable[..., Grade]) -> None:
    """A function can be called; anything else would give access to the tests' own names."""
    written = {"code_tests": "assert look(lambda: 1) == 1"}
    assert grade(written, "def look(f): return f()").passed
    for peek in ("f._x", "str(f)", "f.__globals__", "f == f and 1"):
        assert grade(written, f"def look(f): return {peek}").state == "fail"


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        ("    return a + b\n", True),
        ("def add(a, b): return a + b", True),
        ("```python\ndef add(a, b): return a + b\n```", True),
        ("    return 0\n", False),
        ("def twice(n): return 6\ndef add(a, b): return 3", False),
        ("import math\n\ndef add(a, b):\n    return math.fsum([a, b])\n", True),
    ],
)
@pytest.mark.parametrize("where", ["prompt", "options"])
@pytest.mark.parametrize("ending", ['\n    """The sum."""', "", "\n", "\n    # The sum:\n"])
def test_the_prompt_comes_before_the_answer(where: str, ending: str, answer: str, passes: bool, tmp_path: Path) -> None:
    """Whether the answer continues the prompt or repeats it; it cannot change what the prompt defines."""
    prompt = f"def twice(n):\n    return n + n\n\ndef add(a, b):{ending}"
    written = {
        "type": "code_tests",
        "test": "def check(candidate):\n    assert twice(candidate(1, 2)) == 6 and candidate(2, 2) == 4\n",
        "entry_point": "add",
        "prefix": "prompt" if where == "prompt" else prompt,
    }

    async def ask() -> Grade:
        isolation, offloader = Bubblewrap(), Offloader(1)
        services = Services(tmp_path, NoSandbox(), offloader, environment={}, isolation=isolation)
        try:
            context = GradeContext(Case(id="a", input=prompt), Transcript(output=answer), index=0, seed=0)
            return await registry.build_grader(GraderSpec.model_validate(written), services).grade(context)
        finally:
            offloader.close()
            await isolation.close()

    verdict = asyncio.run(ask())
    assert verdict.passed is passes, verdict.reason


def test_a_tested_function_may_have_the_name_of_a_built_in(grade: Callable[..., Grade]) -> None:
    written = {"type": "code_tests", "test": "assert sum(1, 2) == 3", "entry_point": "sum"}
    assert grade(written, "def sum(a, b): return a + b").passed


def test_without_a_sandbox_nothing_is_run(build: Callable[..., Grader]) -> None:
    context = GradeContext(Case(id="a", input="?"), Transcript(output=RIGHT), index=0, seed=0)
    with pytest.raises(Unscored, match="needs a sandbox"):
        asyncio.run(build(ADD).grade(context))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"test": ""}, "any answer would pass"),
        ({"test": "# nothing\n"}, "any answer would pass"),
        ({"test": "assert ("}, "is not valid Python"),
        ({"entry_point": None}, "entry_point is missing"),
        ({"entry_point": "a b"}, "name of a function"),
        ({"entry_point": "Solution.add"}, "let the tests create its objects"),
        ({"language": "perl"}, "language"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
    ],
)
def test_wrong_options_are_refused(change: Any, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        registry.parse_options("grader", GraderSpec.model_validate({**ADD, **change}))


PYTEST_LIKE = (
    "def test_sum():\n    assert add(1, 2) == 3\n\ndef test_text(candidate):\n    assert candidate('a', 'b') == 'ab'\n"
)
UNITTEST = (
    "import unittest\nclass Sums(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(add(1, 2), 3)\n"
)


@pytest.mark.parametrize("test", [PYTEST_LIKE, UNITTEST], ids=["functions", "unittest"])
def test_tests_that_wait_for_a_runner_are_run(test: str, grade: Callable[..., Grade]) -> None:
    written = {"type": "code_tests", "test": test, "entry_point": "add", "timeout_seconds": 30}
    assert grade(written, RIGHT).state == "pass"
    wrong = grade(written, "def add(a, b):\n    return 999\n")
    assert (wrong.state, "AssertionError" in wrong.reason) == ("fail", True)


@pytest.mark.parametrize(
    "test",
    [
        "def check(candidate):\n    pass\n",
        "def check(c):\n    '''Nothing.'''\n    return c\n",
        "assert True",
        "def test_f():\n    1\n",
        "x = 1",
        "def check_f(candidate):\n    assert candidate(1) == 1\n",
        "import math\n'a docstring'\n",
    ],
)
def test_tests_that_run_nothing_are_refused(test: str) -> None:
    spec = GraderSpec.model_validate({"type": "code_tests", "test": test, "entry_point": "f"})
    with pytest.raises(ValidationError, match="any answer would pass"):
        registry.parse_options("grader", spec)


def test_a_byte_order_mark_is_not_part_of_the_code(grade: Callable[..., Grade]) -> None:
    for answer in (f"\ufeff{RIGHT}", f"\ufeff```python\n{RIGHT}```", f"```python\n\ufeff{RIGHT}```"):
        assert grade(ADD, answer).state == "pass"


def test_an_answer_that_is_too_long_is_not_even_looked_at(grade: Callable[..., Grade]) -> None:
    verdict = grade(ADD, "x = [" + "0," * 500_000 + "]\n" + RIGHT)
    assert (verdict.state, verdict.reason.partition(" characters")[0]) == (
        "fail",
        "the answer is longer than 1,000,000",
    )


def test_an_error_that_is_hidden_does_not_hide_the_end_of_the_time(grade: Callable[..., Grade]) -> None:
    test = "for _ in range(3):\n    try:\n        add(1, 2)\n    except:\n        pass\n"
    verdict = grade({"type": "code_tests", "test": test, "timeout_seconds": 1}, "def add(a, b):\n    while True: pass")
    assert (verdict.state, verdict.reason) == ("fail", "time limit: the tests took more than 1 s")


def test_a_fence_in_a_docstring_is_not_the_code(grade: Callable[..., Grade]) -> None:
    answer = 'def add(a, b):\n    """Example:\n    ```\n    add(1, 2)\n    ```\n    """\n    return a + b\n'
    assert grade(ADD, answer).state == "pass"
