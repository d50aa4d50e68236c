from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.services import Services
from evalharness.domain.case import Case
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.engine.running.attempt import grade_once
from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import Unscored
from evalharness.graders.sandboxed_code import code_in, find_program
from evalharness.sandboxes.none import NoSandbox
from evalharness.testing.sandbox import FakeSandbox

DOCUMENTED = 'def f():\n    """As in\n    ```python\n    f()\n    ```\n    """\n    return 1\n'


@pytest.mark.parametrize(
    ("text", "language", "name", "code"),
    [
        ("def f(): pass\n", "python", "f", "def f(): pass\n"),
        ("    return 1\n", "python", "f", "    return 1\n"),
        ("Sure!\n```python\nx = 1\n```\nDone.", "python", "f", "x = 1\n"),
        ("Sure!\r\n```Python\r\nx = 1\r\n```\r\n", "python", "f", "x = 1\n"),
        ("```python title=a.py\nx = 1\n```", "python", "f", "x = 1\n"),
        ("```\nx = 1\n```\n```python\ny = 2\n```", "python", "f", "y = 2\n"),
        ("```text\nx\n```\n```\ny\n```", "python", "f", "x\n"),
        ("```js\nx\n```", "node", "f", "x\n"),
        ("```sh\nx\n```", "bash", "f", "x\n"),
        ("```python\ndef f(): 1\n```\n```python\nf()\n```", "python", "f", "def f(): 1\n"),
        ("```python\ndef f(): 1\n```\n```python\ndef f(): 2\n```", "python", "f", "def f(): 2\n"),
        ("```python\nimport a\n```\n```python\nb = a\n```", "python", "f", "import a\n\nb = a\n"),
        ("```python\nimport a\n```\n```python\nb = a\n```", "python", None, "import a\n\nb = a\n"),
        ("```python\nfoo = 1\n```\n```python\nf = 2\n```", "python", "f", "f = 2\n"),
        ("```python\nasync def f(): 1\n```\n```python\nf == 2\n```", "python", "f", "async def f(): 1\n"),
        ("```js\nconst f = 1\n```\n```js\nf(2)\n```", "node", "f", "const f = 1\n"),
        ("```bash\nf() { :; }\n```\n```bash\nf 2\n```", "bash", "f", "f() { :; }\n"),
        ("- item:\n  ```python\n  if x:\n      y\n  ```", "python", "f", "if x:\n    y\n"),
        ("````python\n```\nx\n```\n````", "python", "f", "```\nx\n```\n"),
        ("~~~python\nx = '```'\n~~~", "python", "f", "x = '```'\n"),
        ("```python\nx = 1", "python", "f", "x = 1\n"),
        ("use ```x``` inline", "python", "f", "use ```x``` inline"),
        ("", "python", "f", ""),
        ("\ufeffx = 1\n", "python", "f", "x = 1\n"),
        ("\ufeff```python\nx = 1\n```", "python", "f", "x = 1\n"),
        (DOCUMENTED, "python", "f", DOCUMENTED),
        (DOCUMENTED.replace('"""', "'''"), "python", "f", DOCUMENTED.replace('"""', "'''")),
        ('Use """ often.\n```python\nx = 1\n```', "python", "f", "x = 1\n"),
        (f'TEXT = """\n```\nx\n```\n"""\n{DOCUMENTED}', "python", "f", f'TEXT = """\n```\nx\n```\n"""\n{DOCUMENTED}'),
    ],
)
def test_the_code_of_an_answer(text: str, language: str, name: str | None, code: str) -> None:
    assert code_in(text, language, name) == code


@pytest.mark.parametrize(
    "text",
    [
        "```" + "a" * 300_000 + "`",
        "~~~" + " " * 300_000 + "`",
        "`" * 300_000 + "\n" + "a`" * 300_000,
        "```\n" * 100_000,
        "x = [" + "0," * 400_000 + "]\ndef f(): return 1\n",
        "x = " + "-" * 900_000 + "1",
    ],
)
def test_an_answer_is_only_looked_through(text: str) -> None:
    """Neither parsed nor searched repeatedly: that would take minutes, or more memory than there is."""
    tracemalloc.start()
    try:
        code_in(text, "python", "f")
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


def test_a_fault_of_the_harness_is_not_placed_in_the_users_code(build: Callable[..., Grader], tmp_path: Path) -> None:
    """So the reason does not end with empty parentheses."""
    spec = GraderSpec.model_validate({"code_tests": "assert f()"})
    context = GradeContext(Case(id="a", input="?"), Transcript(output="def f(): return 1"), index=0, seed=0)
    broken = FakeSandbox(None)  # type: ignore[arg-type] - it does not give what it should
    reason = asyncio.run(grade_once(spec, build(spec, isolation=broken), context)).reason
    assert reason.startswith("the grader raised AttributeError: ") and "()" not in reason


def test_an_interpreter_that_is_missing_is_not_a_failure(tmp_path: Path) -> None:
    services = Services(tmp_path, NoSandbox(), Offloader(1), environment={})
    with pytest.raises(Unscored, match="no-such-interpreter is not installed"):
        find_program("no-such-interpreter", services)


def test_an_interpreter_elsewhere_is_found_by_the_path_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "own-interpreter").write_text("#!/bin/sh\n")
    (tmp_path / "own-interpreter").chmod(0o755)
    services = Services(tmp_path, NoSandbox(), Offloader(1), environment={"PATH": str(tmp_path)})
    assert find_program("own-interpreter", services) == str(tmp_path / "own-interpreter")
