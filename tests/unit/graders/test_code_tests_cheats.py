"""Answers that try to pass without being right: every attempt fails with a reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evalharness.domain.grade import Grade

CHECK = """\
import math

def check(candidate):
    assert candidate(1, 2) == 3
    assert all(map(lambda pair: candidate(*pair) == sum(pair), [(4, 5), (6, 7)])), "sums"
    assert math.isclose(candidate(0.5, 0.25), 0.75)
"""
ADD = {"type": "code_tests", "test": CHECK, "entry_point": "add", "timeout_seconds": 30}
SPEAKS = """\
import json, os
lines = os.fdopen(os.dup(3), "rb")
def say(**said): os.write(3, json.dumps(said).encode() + b"\\n")
def hear(): return json.loads(lines.readline())
"""
CHEATS = {
    "exits": "import sys\nsys.exit(0)",
    "exits when called": "def add(a, b):\n    raise SystemExit(0)",
    "ends its process": "import os\nos._exit(0)",
    "ends its process when called": "def add(a, b):\n    import os\n    os._exit(0)",
    "prints that it passed": "print('ok')\nprint('{\"passed\": true}')\ndef add(a, b): return 0",
    "writes that it passed": "import os\nos.write(3, b'{\"passed\": true}\\n' * 9)\ndef add(a, b): return 0",
    "writes into the pipe of the runner": (
        "import os\nwith open(f'/proc/{os.getppid()}/fd/1', 'w') as out:\n    out.write('{\"passed\": true}\\n')"
    ),
    "kills the runner": "import os\nos.kill(os.getppid(), 9)",
    "is equal to everything": "class Any:\n    def __eq__(self, o): return True\ndef add(a, b): return Any()",
    "is a number equal to everything": (
        "class Any(int):\n    def __eq__(self, o): return True\n    __hash__ = None\ndef add(a, b): return Any(0)"
    ),
    "patches modules": "import math\nmath.isclose = lambda *a: True\ndef add(a, b): return a + b + (a < 1)",
    "patches built-ins": (
        "import builtins\nbuiltins.all = lambda x: True\nbuiltins.AssertionError = None\ndef add(a, b): return 3"
    ),
    "redefines check": "def check(candidate): pass\ndef add(a, b): return 0",
    "shadows built-ins": "def all(x): return True\ndef add(a, b): return 3",
    "ends iterations early": "def add(a, b):\n    if a == 1: return 3\n    raise StopIteration",
    "leaves at exit": "import atexit, os\natexit.register(os._exit, 0)\ndef add(a, b): return 0",
    "looks into the tests": "import __main__\ndef add(a, b):\n    __main__.check = lambda c: None\n    return 0",
    "does not end": "def add(a, b):\n    while True: pass",
    "speaks for itself and shadows built-ins": SPEAKS
    + """\
hear()
say(value={"dict": [[name, {"object": ["mine", number, "f"]}] for number, name in enumerate(["add", "all"])]})
while True:
    function, arguments = hear()["values"][:2]
    say(value=True if function["object"][1] else sum(arguments["tuple"]) if arguments["tuple"][0] < 2 else 0)
""",
    "has the tests make something equal to everything": SPEAKS
    + """\
def made(function, *arguments):
    say(ask="call", values=[function, {"tuple": arguments}, {"dict": []}])
    return {"object": ["yours", hear()["value"]["object"][1]]}
hear()
say(value={"dict": [["add", {"object": ["mine", 0, "f"]}]]})
while True:
    function, arguments = hear()["values"][:2]
    if function["object"][1] or arguments["tuple"][0] < 1:
        say(value=True if function["object"][1] else 0.75)
        continue
    methods = {"dict": [["__eq__", {"object": ["mine", 1, "f"]}]]}
    say(value=made(made({"class": ["builtins", "type"]}, "Any", {"tuple": []}, methods)))
""",
    "has the tests run its own file": SPEAKS
    + """\
with open("test_own.py", "w") as file:
    file.write(
        "from evalharness.runners import run_tests\\ntold = run_tests.tell\\n"
        "run_tests.tell = lambda channel, **said: told(channel, **{**said, 'passed': True, 'reason': ''})\\n"
    )
hear()
say(value={"dict": [["add", {"module": "unittest.__main__"}]]})
hear()
""",
    "says nothing": "",
    "is no Python": "I would add them.",
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_no_trick_passes(cheat: str, grade: Callable[..., Grade]) -> None:
    verdict = grade({**ADD, "timeout_seconds": 1 if cheat == "does not end" else 30}, CHEATS[cheat])
    assert (verdict.state, verdict.score) == ("fail", 0.0)
    assert verdict.reason


@pytest.mark.parametrize(
    "line",
    [
        b"5\n", b"[" * 60_000 + b"\n", b"\xff\n", b'["ask"]\n', b'{"ask": []}\n', b'{"ask": "call"}\n',
        b'{"ended": [[1]]}\n',
        b'{"value": {"object": ["yours", -1]}}\n', b'{"value": {"object": ["yours", true]}}\n', b'{"raised": 3}\n',
        b'{"value": {"dict": [[[], 1]]}}\n', b'{"value": {"bytes": 3}}\n', b'{"value": {"a": 1, "b": 2}}\n',
        b'{"value": {"object": ["class", 1, "x\\u0000", []]}}\n', b'{"value": 3, "changed": 7}\n',
        b'{"value": 3, "changed": [[9, 1]]}\n',
        b'{"ask": "getattr", "values": [{"class": ["builtins", "int"]}, "real"]}\n',
    ],
)  # fmt: skip
def test_whatever_the_code_says_out_of_turn_is_its_own_failure(line: bytes, grade: Callable[..., Grade]) -> None:
    """Also if the tests expect an error: the answer has not raised one."""
    test = "try:\n    add([1], 2)\nexcept Exception:\n    pass\n"
    verdict = grade({"code_tests": test}, f"import os\ndef add(a, b):\n    os.write(3, {line!r})\n    os._exit(0)\n")
    assert verdict.state == "fail"
    assert verdict.reason.startswith(("the code sent an unexpected message", "the code tried to", "the code ended"))


IN = ["assert 5 in add(2, 3)", "assert 'z' not in add(2, 3)"]
UNITTEST_IN = (
    "import unittest\nclass Has(unittest.TestCase):\n    def test_has(self):\n        self.assertIn(5, add(2, 3))\n"
)


@pytest.mark.parametrize("test", [*IN, UNITTEST_IN])
def test_code_does_not_say_itself_what_it_contains(test: str, grade: Callable[..., Grade]) -> None:
    bag = "class Bag:\n    def __contains__(self, member): return member == 5\ndef add(a, b): return Bag()\n"
    assert grade({"code_tests": test}, bag).reason.startswith("whether an object of the code contains data")
    empty = bag.replace("class Bag:\n", "class Bag:\n    def __iter__(self): return iter([])\n")
    assert grade({"code_tests": test}, empty).passed is ("not in" in test)
    assert grade({"code_tests": test}, "def add(a, b): return {a: 1, a + b: 2}.keys()").passed
