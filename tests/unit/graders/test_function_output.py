"""Generated functions are judged by the data they return; what they do to their own process fails and never hangs."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from missing_parts import missing
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.services import Services
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import TargetUnavailable, Unscored, UsageError
from evalharness.sandboxes.none import NoSandbox

FACTORIAL = {
    "type": "function_output",
    "executor": "python",
    "function_name": "factorial",
    "test_cases": [{"input": [5], "output": 120}, {"input": [0], "output": 1}],
    "timeout_per_case": 5,
}
RIGHT = "def factorial(n):\n    return n * factorial(n - 1) if n else 1\n"


ENDLESS = ("while", "yes", "setrecursionlimit")


def called(code: str = "", **case: Any) -> dict[str, Any]:
    """One call; only code that never ends reaches a limit, however busy the machine is."""
    limit_s = 1 if any(word in code for word in ENDLESS) else 30
    return {"type": "function_output", "function_name": "f", "test_cases": [case], "timeout_per_case": limit_s}


def test_a_right_function_passes_with_all_its_results(grade: Callable[..., Grade]) -> None:
    verdict = grade(FACTORIAL, RIGHT)
    assert (verdict.state, verdict.score, verdict.reason) == ("pass", 1.0, "")
    assert verdict.evidence == {
        "test_results": [{"case": 0, "passed": True, "output": 120}, {"case": 1, "passed": True, "output": 1}],
        "passed_count": 2,
        "total_count": 2,
    }


def test_the_score_is_the_share_of_cases_that_pass(grade: Callable[..., Grade]) -> None:
    verdict = grade(FACTORIAL, "def factorial(n): return 120")
    assert (verdict.state, verdict.score) == ("fail", 0.5)
    assert verdict.reason == "1 of 2 test cases failed: case 1, factorial(0) gave 120, expected 1"
    assert verdict.evidence["test_results"][1] == {"case": 1, "passed": False, "output": 120, "expected": 1}


def test_the_flag_sandbox_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grade: Callable[..., Grade]
) -> None:
    """The originals ran the code in their own process, and their flag had no effect; here the run decides."""
    monkeypatch.chdir(tmp_path)
    writes = f"try:\n    open({str(tmp_path / 'ran')!r}, 'w').close()\nexcept OSError:\n    pass\n"
    assert grade({**FACTORIAL, "sandbox": False}, writes + RIGHT).passed
    assert list(tmp_path.iterdir()) == []


def test_without_a_sandbox_nothing_is_run(build: Callable[..., Grader]) -> None:
    context = GradeContext(Case(id="a", input="?"), Transcript(output=RIGHT), index=0, seed=0)
    with pytest.raises(Unscored, match="needs a sandbox"):
        asyncio.run(build(FACTORIAL).grade(context))


def test_without_isolation_the_same_runner_is_used(tmp_path: Path) -> None:
    async def ask() -> Grade:
        none, offloader = NoSandbox(), Offloader(1)
        services = Services(tmp_path, none, offloader, environment={}, isolation=none)
        try:
            context = GradeContext(Case(id="a", input="?"), Transcript(output=RIGHT), index=0, seed=0)
            return await registry.build_grader(GraderSpec.model_validate(FACTORIAL), services).grade(context)
        finally:
            offloader.close()
            await none.close()

    assert asyncio.run(ask()).passed


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def g(): return 1", "the code defines no function 'f'"),
        ("f = 1", "the code defines no function 'f'"),
        ("def f(:", "SyntaxError"),
        ("import no_such_module", "ModuleNotFoundError"),
        ("def f(): return 1 / 0", "ZeroDivisionError: division by zero (line 1 of the code)"),
        ("def f(): return f()", "RecursionError"),
        ("import sys\nsys.exit(0)", "the code called sys.exit(0)"),
        ("import os\nos._exit(0)", "ended its process (exit code 0) before the function returned"),
        ("print('ok')\nraise SystemExit", "the code called sys.exit(None)"),
        ("while True: pass", "time limit: no result within 1 s"),
        ("def f():\n    input()", "EOFError"),
        ("def f():\n    import os, signal\n    os.kill(os.getpid(), signal.SIGSEGV)", "was killed by SIGSEGV"),
        ("import os\nos.kill(os.getppid(), 9)", "the code defines no function 'f'"),
        ("def f():\n    import os\n    os.closerange(0, 100)\n    return 1", "before the function returned"),
        ("import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()", ""),
        ("def f(): return object()", "a value of type object, which JSON does not support"),
        ("def f(): return lambda: 1", "a value of type function, which JSON does not support"),
        ("def f(): return {(1, 2): 3}", "a key of type tuple, which JSON does not support"),
        ("def f():\n    a = []\n    a.append(a)\n    return a", "nested too deeply"),
        ("def f(): return 10 ** 10_000", "a number with too many digits"),
        ("def f(): return 'x' * 2_000_000", "larger than 1,048,576 bytes"),
        ("class E(Exception):\n    def __str__(self): raise self\ndef f(): raise E", "E"),
        ("import os\nos.write(3, b'nonsense\\n')", "the result cannot be read"),
        ("import os\nos.write(3, b'[' * 100_000 + b'\\n')", "the result"),
        ("open(f'/proc/{__import__(\"os\").getppid()}/fd/1', 'w')", "PermissionError"),
    ],
)
def test_whatever_code_does_is_a_failure_with_a_reason(code: str, told: str, grade: Callable[..., Grade]) -> None:
    verdict = grade(called(code, expected=1), code)
    assert (verdict.state, verdict.score) == ("fail", 0.0)
    assert told in verdict.evidence["test_results"][0]["error"]
    assert told in verdict.reason


@pytest.mark.parametrize(
    "code",
    [
        "print('noise' * 100_000)\ndef f(): return 1",
        "import sys, os\ndef f():\n    os.system('echo noise'); sys.stderr.write('noise'); return 1",
        "def f():\n    import threading\n    threading.Thread(target=threading.Event().wait).start()\n    return 1",
        "import os\nif os.fork() == 0:\n    os.setsid()\n    __import__('time').sleep(60)\ndef f(): return 1",
        "async def f(): return 1",
        "f = lambda: 1",
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\ndef f(): return P(1).x",
        "if __name__ == '__main__':\n    raise SystemExit\ndef f(): return 1",
        "import atexit, os\natexit.register(os._exit, 3)\ndef f(): return 1",
    ],
)
def test_noise_and_leftovers_are_harmless(code: str, grade: Callable[..., Grade]) -> None:
    assert grade(called(expected=1), code).passed


def test_what_is_expected_never_enters_the_sandbox(grade: Callable[..., Grade]) -> None:
    """Not even a function that looks through all memory of its process can find it."""
    code = (
        "import gc, sys\n"
        "def f():\n"
        "    frame, seen = sys._getframe(), []\n"
        "    while frame: seen.append(repr(frame.f_locals)); frame = frame.f_back\n"
        "    seen += [repr(o) for o in gc.get_objects() if isinstance(o, (dict, list))]\n"
        "    return any('gold-' + 'answer' in text for text in seen)\n"
    )
    verdict = grade(called(expected="gold-" + "answer"), code)
    assert verdict.evidence["test_results"][0]["output"] is False


def test_one_case_cannot_change_the_next(grade: Callable[..., Grade]) -> None:
    cases = [{"expected": 1}, {"expected": 1}]
    code = "count = 0\ndef f():\n    global count\n    count += 1\n    return count"
    assert grade({**called(expected=1), "test_cases": cases}, code).passed
    killer = "import os\nn = 0\ndef f(kill):\n    if kill: os.kill(os.getpid(), 9)\n    return 1"
    cases = [{"args": [True], "expected": 1}, {"args": [False], "expected": 1}]
    assert grade({**called(expected=1), "test_cases": cases}, killer).score == 0.5


def test_the_time_of_all_cases_is_bounded_by_the_case(build: Callable[..., Grader], tmp_path: Path) -> None:
    async def ask() -> Grade:
        none, offloader = NoSandbox(), Offloader(1)
        services = Services(tmp_path, none, offloader, environment={}, isolation=none)
        try:
            case = Case(id="a", input="?", timeout_seconds=1.5)
            context = GradeContext(case, Transcript(output="while True: pass"), index=0, seed=0)
            written = {**FACTORIAL, "timeout_per_case": 1}
            return await registry.build_grader(GraderSpec.model_validate(written), services).grade(context)
        finally:
            offloader.close()
            await none.close()

    results = asyncio.run(ask()).evidence["test_results"]
    assert [result["error"] for result in results] == [
        "time limit: no result within 1 s",
        "time limit: everything together took more than 1.5 s",
    ]


def test_arguments_are_data_and_never_source(grade: Callable[..., Grade]) -> None:
    """The originals pasted JSON into Python, so true, null and quotes broke the program or were run as code."""
    odd = [True, None, "'); import os; os._exit(0) #", '"""', "\\", {"a": [1.5, -0.0, "é\n"]}]
    verdict = grade(
        called(args=odd, kwargs={"key": [None]}, expected=[*odd, [None]]), "def f(*a, key): return [*a, key]"
    )
    assert verdict.passed, verdict.reason


FENCED = "Here:\n```python\ndef f(): return 1\n```\nand in use:\n```python\nprint(f())\n```\n"


@pytest.mark.parametrize("text", [FENCED, "~~~\ndef f(): return 1\n~~~", "```py\ndef f(): return 1"])
def test_code_is_taken_out_of_its_fence(text: str, grade: Callable[..., Grade]) -> None:
    assert grade(called(expected=1), text).passed


def test_your_own_comparator_sees_data_only(tmp_path: Path, grade: Callable[..., Grade]) -> None:
    (tmp_path / "compare.py").write_text(
        "def close(value, expected):\n    return abs(value - expected) < 1, f'{value} is too far'\n"
        "def odd(value, expected):\n    return 'yes'\n"
    )
    near = called(expected=3, comparator="compare.py:close")
    assert grade(near, "def f(): return 2.5").passed
    assert grade(near, "def f(): return 9").reason.endswith("f() gave 9, 9 is too far")
    with pytest.raises(Unscored, match="returned str"):
        grade(called(expected=3, comparator="compare.py:odd"), "def f(): return 1")


def test_a_raising_comparator_names_its_test_case(tmp_path: Path, grade: Callable[..., Grade]) -> None:
    (tmp_path / "compare.py").write_text("def lengths(value, expected):\n    return len(value) == expected\n")
    cases = [{"args": ["ab"], "expected": 2}, {"args": [7], "expected": 1}]
    written = {**called(expected=1), "comparator": "compare.py:lengths", "test_cases": cases}
    with pytest.raises(Unscored) as told:
        grade(written, "def f(x): return x")
    assert "compare.py:lengths (case 1, f(7) gave 7) raised TypeError: object of type 'int'" in str(told.value)
    assert str(told.value).endswith("compare.py:2")


def test_what_a_comparator_says_of_the_harness_goes_through(tmp_path: Path, grade: Callable[..., Grade]) -> None:
    source = (
        "from evalharness import TargetUnavailable\ndef asks(value, expected):\n    raise TargetUnavailable('down')\n"
    )
    (tmp_path / "compare.py").write_text(source)
    with pytest.raises(TargetUnavailable, match=r"^down$"):
        grade(called(expected=1, comparator="compare.py:asks"), "def f(): return 1")


def test_a_comparator_for_all_cases(grade: Callable[..., Grade]) -> None:
    cases = [{"expected": 1.05}, {"expected": 1, "comparator": "equals"}, {"expected": 1.01, "tolerance": 0.001}]
    written = {**called(expected=1), "comparator": "approx", "tolerance": 0.1, "test_cases": cases}
    results = grade(written, "def f(): return 1").evidence["test_results"]
    assert [result["passed"] for result in results] == [True, True, False]


SOLUTION = "class Solution:\n    offset = 1\n    def f(self, n): return n + self.offset\n"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (SOLUTION, ""),
        (f"Prose.\n```python\n{SOLUTION}```\nIn use:\n```python\nassert Solution().f(1) == 3\n```\n", ""),
        ("class Solution:\n    @staticmethod\n    def f(n): return n + 1", ""),
        ("class Solution:\n    def g(self): pass", "the code defines no function 'Solution.f'"),
        ("def f(n): return n + 1", "the code defines no function 'Solution.f'"),
        ("class Solution:\n    def __init__(self, x): pass", "missing 1 required positional argument"),
    ],
)
def test_a_method_of_a_class_is_called(code: str, told: str, grade: Callable[..., Grade]) -> None:
    verdict = grade({**called(args=[1], expected=2), "function_name": "Solution.f"}, code)
    assert verdict.passed is not bool(told), verdict.reason
    assert told in verdict.reason


@pytest.mark.parametrize(
    "code",
    [
        "class Solution { offset = 1; f(n) { return n + this.offset } }",
        "export class Solution { static f(n) { return n + 1 } }",
        "const Solution = { f: (n) => n + 1 }",
    ],
)
def test_a_method_of_a_javascript_class_is_called(code: str, grade: Callable[..., Grade]) -> None:
    if shutil.which("node") is None:
        missing("node", "apt-get install nodejs")
    written = {**called(args=[1], expected=2), "function_name": "Solution.f", "language": "javascript"}
    assert grade(written, code).reason == ""


def test_a_shell_function_may_have_a_hyphen(grade: Callable[..., Grade]) -> None:
    written = {**called(args=["a"], expected="a"), "function_name": "say-it", "language": "sh"}
    assert grade(written, "```sh\nsay-it() { echo $1; }\n```").passed


def test_a_mapping_as_input_is_one_argument(grade: Callable[..., Grade]) -> None:
    assert grade(called(input={"x": 4}, output=["x"]), "def f(mapping): return list(mapping)").passed
    assert grade(called(kwargs={"x": 4}, output=4), "def f(x): return x").passed
    told = grade(called(input={"x": 4, "y": 5}, output=9), "def f(x, y): return x + y").reason
    assert told.endswith("named arguments go into kwargs")


def test_a_wrong_case_is_not_reported_as_no_case() -> None:
    spec = GraderSpec.model_validate({**FACTORIAL, "test_cases": [{"args": [1]}]})
    with pytest.raises(ValidationError) as told:
        registry.parse_options("grader", spec)
    assert [error["loc"][:2] for error in told.value.errors()] == [("test_cases", 0)]


def test_a_comparator_that_cannot_be_had_is_refused_before_anything_runs(build: Callable[..., Grader]) -> None:
    with pytest.raises(UsageError, match="cannot be imported"):
        build(called(expected=1, comparator="nowhere.py:same")).digest()


def test_a_changed_comparator_changes_the_digest(tmp_path: Path, build: Callable[..., Grader]) -> None:
    written = called(expected=1, comparator="compare.py:same")
    (tmp_path / "compare.py").write_text("def same(value, expected): return True\n")
    before = build(written).digest()
    (tmp_path / "compare.py").write_text("def same(value, expected): return value == expected\n")
    assert build(written).digest() != before


@pytest.mark.parametrize(
    ("code", "case", "state"),
    [
        ("function f(a, b) { console.log('noise'); return a + b }", {"args": [1, 2], "expected": 3}, "pass"),
        ("const f = async (a) => new Map([['s', new Set([a])]])", {"args": [1], "expected": {"s": [1]}}, "pass"),
        ("module.exports = { f: (o) => o.key }", {"kwargs": {"key": "v"}, "expected": "v"}, "pass"),
        ("const f = () => 12345678901234567890n", {"expected": 12345678901234567890}, "pass"),
        ("const f = () => undefined", {"expected": None}, "pass"),
        ("export function f(a) { return a }", {"args": [1], "expected": 1}, "pass"),
        ("import fs from 'fs'\nconst f = () => typeof fs.readFileSync", {"expected": "function"}, "pass"),
        ("const g = () => 1\nexport { g as f }", {"expected": 1}, "pass"),
        ("export default () => 1", {"expected": 1}, "pass"),
        ("const one = await 1\nconst f = () => one", {"expected": 1}, "pass"),
        ("export default function g() { return 1 }", {"expected": 1}, "fail"),
        ("export function f( {", {"expected": 1}, "fail"),
        ("const f = () => true", {"expected": 1}, "fail"),
        ("process.exit(0)", {"expected": 1}, "fail"),
        ("while (true) {}", {"expected": 1}, "fail"),
        ("function f( {", {"expected": 1}, "fail"),
        ("const f = () => f()", {"expected": 1}, "fail"),
        ("const f = () => () => 1", {"expected": 1}, "fail"),
        ("throw null", {"expected": 1}, "fail"),
    ],
)
def test_javascript(code: str, case: Any, state: str, grade: Callable[..., Grade]) -> None:
    if shutil.which("node") is None:
        missing("node", "apt-get install nodejs")
    verdict = grade({**called(code, **case), "executor": "node"}, f"```js\n{code}\n```")
    assert verdict.state == state, verdict.reason
    assert bool(verdict.reason) == (state == "fail")


@pytest.mark.parametrize(
    ("code", "case", "state"),
    [
        ("echo noise\nf() { echo $(($1 + $2)); }", {"args": [1, 2], "expected": 3}, "pass"),
        ('f() { printf "%s|" "$@"; }', {"args": ["a b", "$(id)", "'"], "expected": "a b|$(id)|'|"}, "pass"),
        ("f() { cat; echo '[1, 2]'; }", {"expected": [1, 2]}, "pass"),
        ("f() { sleep 60 & echo 1; }", {"expected": 1}, "pass"),
        ("f() { return 4; }", {"expected": ""}, "fail"),
        ("exit 0", {"expected": ""}, "fail"),
        ("f() { exit 0; }", {"expected": ""}, "fail"),
        ("f( {", {"expected": 1}, "fail"),
        ("g() { :; }", {"expected": ""}, "fail"),
        ("while :; do :; done", {"expected": 1}, "fail"),
        ("f() { yes; }", {"expected": 1}, "fail"),
    ],
)
def test_shell(code: str, case: Any, state: str, grade: Callable[..., Grade]) -> None:
    verdict = grade({**called(code, **case), "executor": "bash"}, code)
    assert verdict.state == state, verdict.reason
    assert bool(verdict.reason) == (state == "fail")


def test_both_spellings_mean_the_same(build: Callable[..., Grader]) -> None:
    other = [{"args": [5], "kwargs": {}, "expected": 120, "comparator": "equals"}, {"args": 0, "expected": 1}]
    assert build(FACTORIAL).digest() == build({**FACTORIAL, "test_cases": other}).digest()


@pytest.mark.parametrize(
    "case",
    [
        {"args": [1, 2], "kwargs": {"c": 3}, "expected": None},
        {"expected": 1},
        {"args": [0.1], "expected": 0.3, "comparator": "approx", "tolerance": 0.1, "relative": 0.01},
        {"args": [[3, 1]], "expected": [1, 3], "comparator": "set"},
        {"args": ["x"], "expected": r"^\d+$", "comparator": "regex"},
        {"args": ["x"], "expected": 1, "comparator": "compare.py:same"},
        {"args": [], "kwargs": None, "expected": True},
    ],
)
def test_what_a_test_case_may_be(case: Any) -> None:
    assert registry.parse_options("grader", GraderSpec.model_validate({**FACTORIAL, "test_cases": [case]}))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"test_cases": []}, "test_cases"),
        ({"test_cases": [{"args": [1]}]}, "expected"),
        ({"test_cases": [{"args": [1], "input": [2], "expected": 1}]}, "input"),
        ({"test_cases": [{"args": [1], "expected": 1, "output": 2}]}, "output"),
        ({"test_cases": [{"expected": 1, "comparator": "aprox"}]}, "did you mean 'approx'"),
        ({"test_cases": [{"expected": 1, "comparator": "x.py:"}]}, "not a reference"),
        ({"test_cases": [{"expected": 1, "comparator": "set"}]}, "expects a list"),
        ({"test_cases": [{"expected": "(", "comparator": "regex"}]}, "regular expression"),
        ({"test_cases": [{"expected": 1, "comparator": "regex"}]}, "regular expression"),
        ({"test_cases": [{"expected": 1, "tolerance": 0.1}]}, "without the comparator 'approx'"),
        ({"test_cases": [{"expected": 1, "kwargs": {"a": 1}}], "executor": "bash"}, "not kwargs"),
        ({"comparator": "aprox"}, "did you mean 'approx'"),
        ({"comparator": "set"}, "expects a list"),
        ({"tolerance": 0.1}, "unless a test case has"),
        ({"expected": 1}, "belongs to a test case"),
        ({"test_cases": [{"expected": 1, "language": "node"}]}, "put language next to test_cases"),
        ({"test_cases": [{"expected": 1, "timeout": 3}]}, "put timeout_per_case next to test_cases"),
        ({"function_name": "A.b.c"}, "name of a function, or Class.method"),
        ({"function_name": "a-b"}, "name of a function"),
        ({"function_name": "f(); g"}, "name of a function"),
        ({"function_name": ""}, "name of a function"),
        ({"executor": "perl"}, "executor"),
        ({"timeout_per_case": 0}, "timeout_per_case"),
    ],
)
def test_wrong_options_are_refused(change: Any, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        registry.parse_options("grader", GraderSpec.model_validate({**FACTORIAL, **change}))
