"""An answer is data: no grader may be able to run it. Generated code is run by runners, inside a sandbox."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import evalharness.graders

FOLDER = Path(evalharness.graders.__file__).parent
RUNNERS = FOLDER.parent / "runners"
ELSEWHERE = sorted(path for path in FOLDER.parent.rglob("*.py") if path.parent not in (FOLDER, RUNNERS))
FILES = sorted(FOLDER.rglob("*.py"))
BANNED_NAMES = {"eval", "exec", "compile", "__import__", "execfile", "globals", "locals", "breakpoint"}
BANNED_MODULES = {
    *("pickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"),
    *("code", "codeop", "runpy", "ctypes", "subprocess", "yaml", "jinja2", "sympy", "numexpr"),
}
BANNED_ATTRIBUTES = {"os.system", "os.popen", "builtins.eval", "builtins.exec", "yaml.load", "ast.literal_eval"}


def means_of_execution(source: str) -> list[str]:
    """Every banned name, import or attribute in a piece of code."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and node.id in BANNED_NAMES:
            found.append(node.id)
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in BANNED_ATTRIBUTES:
            found.append(ast.unparse(node))
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in BANNED_MODULES]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [name for name in names if name.split(".")[0] in BANNED_MODULES or name in BANNED_ATTRIBUTES]
    return found


def test_there_are_graders_to_look_at() -> None:
    assert len(FILES) > 5


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_grader_can_run_an_answer(file: Path) -> None:
    assert means_of_execution(file.read_text(encoding="utf-8")) == []


def test_only_runners_run_code() -> None:
    executing = {"eval", "exec", "compile"}
    found = {file for file in ELSEWHERE if executing & set(means_of_execution(file.read_text(encoding="utf-8")))}
    assert found == set()


def test_runners_need_nothing_of_the_harness() -> None:
    """The sandbox contains only their own folder."""
    for file in RUNNERS.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            assert not module.startswith("evalharness") or module.startswith("evalharness.runners"), file


@pytest.mark.parametrize(
    "source",
    [
        "eval(output)",
        "run = exec",
        "compile(output, '', 'eval')",
        "__import__(output)",
        "import pickle",
        "import yaml.loader",
        "from pickle import loads",
        "from yaml import load",
        "from os import system",
        "import os\nos.system(output)",
        "def f():\n    import sympy as s",
    ],
)
def test_the_look_out_sees_them_all(source: str) -> None:
    assert means_of_execution(source)


def test_the_look_out_lets_regular_expressions_be() -> None:
    assert means_of_execution("import re, regex\nre.compile('a')\nregex.compile('a')") == []
