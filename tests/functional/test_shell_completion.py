"""Completion in real shells: the printed script is sourced as the help says, words are typed, and Tab is pressed."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import LONGEST_WAIT_S, succeed, write
from missing_parts import missing
from worse_agent import AGENT, SUITE

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")
BIN = Path(sys.executable).parent
READY = "ready for words"
LONGEST_TAB_S = 30.0
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],  # without any file of the user: nothing has asked for completion yet
}
SETTINGS = {
    "bash": "bind 'set show-all-if-ambiguous on'; bind 'set page-completions off'; bind 'set completion-query-items 0'",
    "zsh": "LISTMAX=1000; unsetopt list_ambiguous",
}


class TypedShell:
    """An interactive shell in a pseudo-terminal."""

    def __init__(self, shell: str, folder: Path) -> None:
        if shutil.which(shell) is None:
            missing(shell, f"scripts/debian-packages {shell}")
        self._ours, theirs = os.openpty()
        env = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(folder), "TERM": "xterm", "COLUMNS": "120"}
        self._process = subprocess.Popen(
            SHELLS[shell], cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        self.type(f'{SETTINGS[shell]}; eval "$(eval-harness completion {shell})"; echo ready for words\n')
        self.until(READY)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def until(self, *wanted: str) -> None:
        """Reads until all of these have appeared."""
        seen = ""
        deadline_s = time.monotonic() + LONGEST_TAB_S
        while not all(text in seen for text in wanted):
            assert time.monotonic() < deadline_s, f"{wanted} did not appear, only:\n{seen}"
            if select.select([self._ours], [], [], 0.1)[0]:
                seen = ESCAPES.sub("", seen + os.read(self._ours, 65536).decode(errors="replace"))

    def tab(self, line: str, *wanted: str) -> None:
        """Each of these is offered, or completes the line. Ctrl-U empties the line again."""
        self.type(f"{line}\t")
        try:
            self.until(*wanted)
        finally:
            self.type("\x15echo ready for ''words\n")
            self.until(READY)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)


def fish(folder: Path, line: str) -> dict[str, str]:
    """What fish offers, with the descriptions beside it."""
    if shutil.which("fish") is None:
        missing("fish", "scripts/debian-packages fish")
    done = subprocess.run(
        ["fish", "--no-config", "-c", "eval-harness completion fish | source; complete -C $argv[1]", line],
        cwd=folder,
        env={"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=LONGEST_WAIT_S,
    )
    assert not done.stderr, done.stderr.decode()
    rows = (row.partition("\t") for row in done.stdout.decode().splitlines())
    return {word: about for word, _, about in rows}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write(tmp_path_factory.mktemp("typed"), agent_py=AGENT, suite_yaml=SUITE, pyproject_toml="")
    succeed(folder, "run", "suite.yaml", "--target", "agent.py:good", "--run-name", "first-one")
    succeed(folder, "baseline", "first-one", "--name", "release")
    return folder


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A project without a store."""
    return write(tmp_path, suite_yaml=SUITE, agent_py=AGENT, pyproject_toml="")


@pytest.fixture(scope="module", params=["bash", "zsh"])
def shell(request: pytest.FixtureRequest, project: Path) -> Iterator[TypedShell]:
    typed = TypedShell(request.param, project)
    yield typed
    typed.close()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("eval-harness vali", ["validate "]),
        ("eval-harness ru", ["runs"]),
        ("eval-harness run --timeo", ["--timeout "]),
        ("eval-harness compare --", ["--alpha", "--fail", "--store"]),
        ("eval-harness run su", ["suite.yaml"]),
        ("eval-harness run capi", ["capitals"]),
        ("eval-harness show ", ["latest", "first-one", "release"]),
        ("eval-harness compare first-one rel", ["release"]),
        ("eval-harness compare su", ["suite.yaml"]),
        ("eval-harness run suite.yaml --target ag", ["agent.py"]),
        ("eval-harness run suite.yaml --baseline rel", ["release"]),
        ("eval-harness completion fi", ["fish"]),
        ("eval-harness init --template jud", ["judge"]),
    ],
)
def test_bash_and_zsh_complete(shell: TypedShell, line: str, wanted: list[str]) -> None:
    shell.tab(line, *wanted)


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_bash_and_zsh_complete_without_a_store_and_make_none(bare: Path, name: str) -> None:
    typed = TypedShell(name, bare)
    try:
        typed.tab("eval-harness vali", "validate ")
        typed.tab("eval-harness run su", "suite.yaml")
        typed.tab("eval-harness show su", "suite.yaml")
    finally:
        typed.close()
    assert not (bare / ".evalharness").exists()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("eval-harness ru", {"run", "runs"}),
        ("eval-harness run --timeo", {"--timeout"}),
        ("eval-harness run su", {"suite.yaml"}),
        ("eval-harness run capi", {"capitals"}),
        ("eval-harness show ", {"latest", "first-one", "release"}),
        ("eval-harness show rel", {"release"}),
        ("eval-harness compare su", {"suite.yaml"}),
        ("eval-harness run suite.yaml --target ag", {"agent.py"}),
        ("eval-harness run suite.yaml -o su", {"suite.yaml"}),
        ("eval-harness completion fi", {"fish"}),
    ],
)
def test_fish_completes(project: Path, line: str, wanted: set[str]) -> None:
    assert set(fish(project, line)) == wanted


def test_descriptions_are_those_of_the_help_and_whole(project: Path) -> None:
    listed = fish(project, "eval-harness ")
    assert listed["compare"] == "Compare runs, baselines or JSON reports, case by case."
    assert fish(project, "eval-harness run --quie") == {"--quiet": "Print only the verdict."}


def test_fish_completes_without_a_store_and_makes_none(bare: Path) -> None:
    assert set(fish(bare, "eval-harness run su")) == {"suite.yaml"}
    assert "latest" not in fish(bare, "eval-harness show ")
    assert not (bare / ".evalharness").exists()
