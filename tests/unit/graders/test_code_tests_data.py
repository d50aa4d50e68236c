"""Data of an answer's own classes: it is compared as data, and its methods run in the answer's process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evalharness.domain.grade import Grade

CODE = """\
import math
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

class LRUCache(OrderedDict):
    def __init__(self, size):
        super().__init__()
        self.size = size
    def get(self, key):
        if key not in self: return -1
        self.move_to_end(key)
        return self[key]
    def put(self, key, value):
        self[key] = value
        self.move_to_end(key)
        if len(self) > self.size: self.popitem(last=False)

class Stack(list):
    def push(self, item): self.append(item); return self
    def peek(self): return self[-1]

class Name(str):
    def shout(self): return self.upper() + "!"
class Celsius(float):
    def fahrenheit(self): return self * 9 / 5 + 32
class Record(dict):
    __getattr__ = dict.__getitem__
class Ring(list):
    def __getitem__(self, at): return list.__getitem__(self, at % len(self))
class Vector(NamedTuple):
    x: int
    y: int
    def __add__(self, other): return Vector(self.x + other.x, self.y + other.y)
class Level(IntEnum):
    LOW = 1

Item = namedtuple("Item", "name count")
def groups(numbers):
    found = defaultdict(list)
    for number in numbers: found[number % 2].append(number)
    return found
def squares(): return defaultdict(lambda: 7, {1: 1})
def counted(text): return Counter(text)
def grow(stack): stack.append(9)
def fill(groups): groups["a"].append(1)
def factorial(n): return math.factorial(n)
def bits(n): return n.bit_length()
def queue(items): return deque(items, 2)
def numbers(n): return range(n)
def below(folder): return Path(folder) / "b"
"""
TESTS = {
    "mapping": (
        "c = LRUCache(2)\nc.put(1, 1)\nc.put(2, 2)\nassert c.get(1) == 1\nc.put(3, 3)\n"
        "assert c.get(2) == -1 and c == {1: 1, 3: 3} and len(c) == 2 and list(c) == [1, 3] and 2 not in c\n"
        "c[4] = 4\nassert c[4] == 4 and c.size == 2 and dict(c) == {1: 1, 3: 3, 4: 4}\ndel c[4]\nassert 4 not in c\n"
        "assert isinstance(c, LRUCache) and isinstance(c, dict)"
    ),
    "list": (
        "s = Stack()\ns.push(1)\nassert s.push(2) is s\nassert s.peek() == 2 and len(s) == 2 and s.pop() == 2\n"
        "s += [5, 6]\nassert s == [1, 5, 6] and [1, 5, 6] == s and s != [1] and s[1:] == [5, 6] and s and sorted(s)\n"
        "s.note = 'n'\nassert s.note == 'n' and not hasattr(s, 'none') and not Stack()\n"
        "grow(s)\nassert s == [1, 5, 6, 9] and s + [1] == [1, 5, 6, 9, 1] and s.count(9) == 1\n"
        "import copy\nassert copy.deepcopy([s]) == [[1, 5, 6, 9]]"
    ),
    "own index": "assert Ring([1, 2, 3])[4] == 2",
    "text": "n = Name('a')\nassert n.shout() == 'A!' and n == 'a' and n + 'b' == 'ab' and {n: 1}['a'] == 1",
    "number": "c = Celsius(100)\nassert c.fahrenheit() == 212 and c == 100.0 and abs(c - 100.5) < 1 and c > 99",
    "attributes": "assert Record(a=1).a == 1 and Record(a=1) == {'a': 1}",
    "named tuple": (
        "v = Vector(1, 2)\nassert v.x == 1 and v == (1, 2) and v + Vector(3, 4) == (4, 6) and v._asdict()['y'] == 2\n"
        "a, b = v\nassert (a, b) == (1, 2) and repr(v) == 'Vector(x=1, y=2)' and v in {(1, 2)}\n"
        "assert Item('i', 3).count == 3 and v.count(2) == 1 and v._replace(x=5) == (5, 2)"
    ),
    "enumeration": "assert Level.LOW.name == 'LOW' and Level.LOW == 1 and Level(1) is Level.LOW",
    "counter": "assert counted('aab').most_common(1) == [('a', 2)] and counted('aab') == {'a': 2, 'b': 1}",
    "default": "assert groups([1, 2, 3]) == {1: [1, 3], 0: [2]} and groups([1])[5] == [] and squares()[3] == 7",
    "changed default": "from collections import defaultdict\nd = defaultdict(list)\nfill(d)\nassert d == {'a': [1]}",
    "large number": (
        "import math\nassert factorial(2000) == math.factorial(2000) and factorial(5) == 120\n"
        "assert bits(10**5000) == 16610 and bits(-(10**5000)) == 16610"
    ),
    "queue": "from collections import deque\nassert queue([1, 2, 3]) == deque([2, 3]) and queue([1]).maxlen == 2",
    "range": "assert numbers(3) == range(3) and len(numbers(10**6)) == 10**6",
    "path": "from pathlib import Path\nassert below('a') == Path('a/b')",
}


@pytest.mark.parametrize("test", TESTS)
def test_data_of_its_own_classes_is_data_that_does_more(test: str, grade: Callable[..., Grade]) -> None:
    verdict = grade({"code_tests": TESTS[test]}, CODE)
    assert verdict.passed, verdict.reason
    assert "to its end" in grade({"code_tests": f"{TESTS[test]}\nassert 0, 'came to its end'"}, CODE).reason


LIES = "".join(
    f"    def __{name}__(self, *o): return {result}\n"
    for name, result in {
        **dict.fromkeys(("eq", "lt", "gt", "le", "ge", "contains", "bool"), True),
        **dict.fromkeys(("ne",), False),
        **dict.fromkeys(("sub", "rsub", "xor", "rxor", "and", "rand", "mod", "abs"), "type(self)()"),
        **dict.fromkeys(("len", "hash", "int", "float", "round"), 0),
    }.items()
)


@pytest.mark.parametrize("kind", ["int", "float", "str", "tuple", "frozenset", "list", "dict", "set"])
def test_no_class_lies_about_what_its_data_equals(kind: str, grade: Callable[..., Grade]) -> None:
    wanted = {"int": "3", "float": "2.5", "str": "'a'", "dict": "{1: 2}"}.get(kind, f"{kind}([1, 2])")
    code = f"class Any({kind}):\n{LIES}    def count(self, *o): return 1\ndef f(): return Any()\n"
    tests = [f"assert f() == {wanted}", f"assert {wanted} == f()", f"assert not f() != {wanted}"]
    if kind in ("int", "float"):
        tests += [f"assert abs(f() - {wanted}) < 0.1", f"assert abs({wanted} - f()) < 0.1", f"assert f() > {wanted}"]
    elif kind in ("set", "frozenset"):
        tests += [f"assert not (f() ^ {wanted})", f"assert len(f() & {wanted}) == 2", f"assert not {wanted} - f()"]
    else:
        tests += ["assert 1 in f()" if kind != "str" else "assert 'a' in f()"]
    for test in tests:
        assert grade({"code_tests": test}, code).state == "fail", test
