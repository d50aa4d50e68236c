"""Init a project: a suite, a toy agent and a line of README that `run` passes at once. Nothing is overwritten."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.errors import UsageError

SUITE = """\
# A suite: a target, and cases with what is expected of its answers.
# Run it with:  eval-harness run suite.yaml
name: greeting
target: agent.py:answer        # any Python function; see `eval-harness run --help` for the others
trials: 3                      # each case is tried three times

test_cases:
  - id: polite
    input: Say hello to Ada
    expected: {contains: 'Hello, Ada'}

  - id: short
    input: Say hello
    graders:
      - regex: '(?i)^hello'
      - max_length: 8

  - id: sum
    input: {add: [2, 3]}       # a mapping reaches the function as a dict
    expected: 5                # a bare value means exactly this
"""

AGENT = '''\
"""A toy agent. Replace `answer` with a call of your own: it gets a case's input and returns the answer."""


def answer(question):
    if isinstance(question, dict):
        return sum(question["add"])
    name = question.removeprefix("Say hello").removeprefix(" to ").strip()
    return f"Hello, {name}!" if name else "Hello!"
'''

README = "Run the evals with `eval-harness run suite.yaml`.\n"

FILES = {"suite.yaml": SUITE, "agent.py": AGENT, "README.md": README}


@dataclass(frozen=True, slots=True)
class InitResult:
    folder: Path
    written: tuple[str, ...]
    kept: tuple[str, ...]


async def init_project(context: Context, folder: Path) -> InitResult:
    """Write what is missing; `x` mode makes sure that a file that appears meanwhile is kept as well."""
    written, kept = [], []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in FILES.items():
            try:
                with (folder / name).open("x", encoding="utf-8") as file:
                    file.write(text)
                written.append(name)
            except FileExistsError:
                kept.append(name)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror or error}") from None
    return InitResult(folder, tuple(written), tuple(kept))
