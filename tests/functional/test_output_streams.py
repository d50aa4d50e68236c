"""Where every command's output goes: a terminal with an older encoding, and a reader that has closed the pipe."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO

import pytest
from driving import Outcome, drive, drive_fresh, start, write
from missing_parts import missing

SUITE = """
name: letters
target: echo
trials: 2
test_cases:
  - {id: é 漢, input: é 漢, expected: é 漢}
  - {id: b, input: b, expected: c}
"""
ASKED = (
    "regressions letters --run RUN",
    "plan letters",
    "gate RUN --fail-under 50",
    "gate RUN --fail-under 50 --json",
    "compare RUN RUN",
    "show RUN",
    "schema",
)


def printing_to(stream: IO[bytes], folder: Path, *words: str) -> Outcome:
    with start(folder, *words, stdout=stream.fileno()) as process:
        return process.wait()


def nobody_reads() -> IO[bytes]:
    read, written = os.pipe()
    os.close(read)
    return os.fdopen(written, "wb")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A project with a baseline and the name of a later run."""
    folder = write(tmp_path_factory.mktemp("stored"), suite_yaml=SUITE, pyproject_toml="")
    name = drive(folder, "run", "suite.yaml", "--json").run_name
    assert drive(folder, "baseline", name).code == 0
    return folder, drive(folder, "run", "suite.yaml", "--json").run_name


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("words", ASKED)
def test_an_older_encoding_stops_no_command(stored: tuple[Path, str], words: str, encoding: str) -> None:
    folder, name = stored
    asked = words.replace("RUN", name).split()
    done = drive(folder, *asked, env={"PYTHONIOENCODING": encoding})
    assert (done.code, done.out) == (0, drive(folder, *asked).out), done.err
    assert not done.out.isascii(), "the output contains characters that the encoding lacks"


@pytest.mark.parametrize("env", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}], ids=str)
@pytest.mark.parametrize("words", ["show RUN", "gate RUN --fail-under 50"])
def test_nor_one_that_an_interpreter_finds_in_its_locale(
    stored: tuple[Path, str], words: str, env: dict[str, str]
) -> None:
    """One command that opens its own stream, since it only prints, and one that uses Python's."""
    folder, name = stored
    asked = words.replace("RUN", name).split()
    done = drive_fresh(folder, *asked, env=env)
    assert (done.code, done.out) == (0, drive(folder, *asked).out), done.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("plan letters", 0),
        ("plan letters --json", 0),
        ("show RUN", 0),
        ("runs", 0),
        ("schema", 0),
        ("verify RUN", 0),
        ("compare RUN RUN", 0),
        ("compare RUN RUN --json", 0),
        ("regressions letters --run RUN", 0),
        ("baseline list", 0),
        ("verify wrong.csv", 1),
        ("verify wrong.csv --json", 1),
    ],
)
def test_a_reader_who_left_changes_nothing_where_all_is_printing(
    stored: tuple[Path, str], words: str, code: int
) -> None:
    """The exit code is the command's own, even if the output did not fit into a buffer."""
    folder, name = stored
    wrong = "\n".join(f"row {number},30,60,10" for number in range(500))
    (folder / "wrong.csv").write_text(f"model,pass^1,pass^2,tasks\n{wrong}\n")
    with nobody_reads() as stream:
        done = printing_to(stream, folder, *words.replace("RUN", name).split())
    assert (done.code, done.err) == (code, "")


@pytest.mark.parametrize(("words", "keeps"), [("run suite.yaml", True), ("plan letters", False), ("runs", False)])
def test_a_full_disk_is_reported_and_what_is_kept_by_whom_keeps_something(
    stored: tuple[Path, str], words: str, keeps: bool
) -> None:
    folder, _ = stored
    full = Path("/dev/full")
    if not full.exists():
        missing("/dev/full", "run the tests on Linux")
    with full.open("wb") as stream:
        done = printing_to(stream, folder, *words.split())
    assert (done.code, "kept in the store" in done.err) == (3, keeps), done.err


@pytest.mark.parametrize("words", ["run suite.yaml", "gate RUN --fail-under 90", "gate RUN --fail-under 90 --json"])
def test_a_reader_who_left_makes_it_3(stored: tuple[Path, str], words: str) -> None:
    """Everything is still done and written."""
    folder, name = stored
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    with nobody_reads() as stream:
        done = printing_to(stream, folder, *words.replace("RUN", name).split(), "-o", str(report))
    assert (done.code, "Traceback" in done.err) == (3, False), done.err
    assert json.loads(report.read_text())["eval_report"]["summary"]["pending"] == 0


def test_sessions_are_saved_though_nobody_reads(stored: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = stored
    with nobody_reads() as stream:
        done = printing_to(stream, folder, "run", "suite.yaml", "--save-sessions", str(tmp_path / "saved"))
    assert (done.code, "Traceback" in done.err) == (3, False), done.err
    assert sorted(path.suffix for path in (tmp_path / "saved").iterdir()) == [".db", ".json", ".json", ".log"]


PRINTING = """
import sys, threading
together = threading.Barrier(4)
def answer(text):
    together.wait()
    for _ in range(50):
        for word in ("printed", "for", text):
            sys.stdout.write(word + " ")
            sys.stderr.write(word + " ")
            together.wait()
        print()
        print(file=sys.stderr)
    print("no end of line", end="")
    return text
"""
FOUR = "target: agent.py:answer\ntest_cases:\n" + "".join(
    f"  - {{id: {name}, input: {name}, expected: {name}}}\n" for name in "abcd"
)


def test_lines_of_targets_that_print_at_the_same_time_are_whole(tmp_path: Path) -> None:
    write(tmp_path, agent_py=PRINTING, four_yaml=FOUR)
    done = drive(tmp_path, "run", "four.yaml", "-j", "4")
    assert done.code == 0
    for name in "abcd":
        assert done.err.count(f"printed for {name} \n") == 100
    assert done.err.count("no end of line\n") == 4


def test_quiet_is_the_verdict_alone_and_what_was_printed_is_in_the_store(tmp_path: Path) -> None:
    write(tmp_path, agent_py=PRINTING, four_yaml=FOUR)
    done = drive(tmp_path, "run", "four.yaml", "-j", "4", "-q")
    assert (done.code, done.err, done.out.count("\n")) == (0, "", 1)
    assert "printed for a" in drive(tmp_path, "show", done.out.split()[-1], "a").out
