"""A run in a terminal: what did not pass, figures, verdict and next commands that fit; a line of progress that goes."""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import re
import struct
import termios
from pathlib import Path
from typing import IO, Any

import pytest
from driving import Started, drive, start, write
from rich.cells import cell_len

AGENT = r"""
import os, threading, time
lock = threading.Lock()
asked = {}
def answer(text):
    with lock:
        asked[text] = asked.get(text, 0) + 1
        number = asked[text]
    return {"Australia": "Sydney", "Peru": "Lima" if number % 2 else "Cusco"}.get(text, text)
def rude(text):
    return "\x1b]0;pwned\x07\x1b[5m" + text
def prints(text):
    print("asked for", text)
    os.write(2, b"straight to stderr\n")
    print("half a line ", end="", flush=True)
    print("and the rest")
    while "HOLD" in os.environ and not os.path.exists("seen"):
        time.sleep(0.01)
    return text
def away(text):
    raise ConnectionError("no route")
"""
SUITE = """
name: capitals
target: agent.py:answer
trials: 4
test_cases:
  - {id: australia, input: Australia, expected: Canberra}
  - {id: peru, input: Peru, expected: {contains: Lima}}
  - {id: france, input: France, expected: France}
"""
MANY = "name: many\ntarget: echo\ntest_cases:\n" + "".join(
    f"  - id: a-rather-long-name-of-a-case-number-{number}\n    input: 京都 is not it\n"
    f"    expected: the long answer that was expected of number {number}, which is 東京\n"
    for number in range(12)
)
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
ERASE = "\r\x1b[2K"
COMMAND_LINE = re.compile(r"^[a-z]+ +\S*eval-harness ")


class Terminal:
    """A pseudo-terminal of some columns, and what it received."""

    def __init__(self, columns: int) -> None:
        self._ours, self.theirs = os.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.received = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a character may come in two pieces

    def press_ctrl_c(self) -> None:
        """The terminal shows `^C` where its cursor is."""
        os.write(self._ours, b"\x03")

    def read_all(self, on_text: Any = None) -> None:
        os.close(self.theirs)
        while True:
            try:
                chunk = os.read(self._ours, 65536)
            except OSError:  # Linux ends a pseudo-terminal with EIO
                break
            if not chunk:
                break
            self.received += self._decoder.decode(chunk)
            if on_text is not None:
                on_text(self.received)
        os.close(self._ours)

    @property
    def lines(self) -> list[str]:
        """What is left to be seen at the end."""
        rows = self.received.replace("\r\n", "\n").split("\n")
        return [ESCAPES.sub("", row.rpartition(ERASE)[2]).replace("\r", "") for row in rows]


def watch(
    folder: Path,
    columns: int,
    *words: str,
    env: dict[str, str] | None = None,
    out: IO[bytes] | None = None,
    on_text: Any = None,
) -> tuple[int, Terminal]:
    """Runs the command in a pseudo-terminal. Its stdout goes to `out` instead, if given."""
    terminal = Terminal(columns)
    theirs = terminal.theirs
    streams = {"stdin": theirs, "stdout": out.fileno() if out else theirs, "stderr": theirs}
    with start(folder, *words, env={"TERM": "xterm-256color", **(env or {})}, **streams) as process:
        terminal.read_all(on_text and (lambda text: on_text(process, text)))
        return process.wait().code, terminal


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path, agent_py=AGENT, suite_yaml=SUITE, many_yaml=MANY, pyproject_toml="")


def test_the_answer_why_how_sure_and_what_next(project: Path) -> None:
    code, terminal = watch(project, 80, "run", "suite.yaml")
    text = re.sub(r"\d\S* m?s   [a-z]+-[a-z]+-\d+", "16 ms   NAME", "\n".join(terminal.lines))
    assert code == 1
    assert re.sub(r"show [a-z]+-[a-z]+-\d+", "show NAME", text) == (
        "capitals · agent.py:answer · 3 cases × 4 trials\n\n"
        "✗ australia   0/4   exact\n"
        "                    - Canberra\n"
        "                    + Sydney\n"
        "~ peru        2/4   contains: 'Lima' not in 'Cusco' (trials 2, 4)\n"
        "✓ 1 case passed every trial\n\n"
        "pass rate   50 %  ·├───────●───────┤·  8–92 %   3 cases are too few to say more\n"
        "pass^3      33 %  (1–89)\n\n"
        "FAILED   2 failed (1 flaky), 1 passed   16 ms   NAME\n"
        "look     eval-harness show NAME australia\n"
        "rerun    eval-harness run suite.yaml --failed\n"
    )
    for colour in ("\x1b[31m✗", "\x1b[33m~", "\x1b[32m✓", "\x1b[1;31mFAILED"):
        assert colour in terminal.received


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(
    "words",
    [
        ("suite.yaml",),
        ("suite.yaml", "-vv"),
        ("many.yaml", "-v"),
        ("many.yaml", "--fail-under", "90"),
        ("suite.yaml", "--target", "agent.py:away"),
        ("suite.yaml", *(word for name in ("answer", "rude", "away") for word in ("--target", f"agent.py:{name}"))),
    ],
    ids=["plain", "every trial", "long texts", "gate", "errors", "matrix"],
)
def test_everything_fits_and_no_word_is_split(project: Path, columns: int, words: tuple[str, ...]) -> None:
    kept_nowhere = ("--store", ":memory:")  # or the second run would report what the first one found
    _, terminal = watch(project, columns, "run", *words, *kept_nowhere)
    plain = drive(project, "run", *words, *kept_nowhere).out.split()
    for line in terminal.lines:
        assert cell_len(line) <= columns or COMMAND_LINE.match(line), line
        for word in line.split():
            is_cut = "…" in word or word in ("·", "├", "┤") or re.search(r"\d", word)
            assert is_cut or word in plain, (word, line)


def test_prompts_and_targets_with_long_names_are_told_apart_in_80_columns(project: Path) -> None:
    (project / "prompts.yaml").write_text("""
prompts: {very-short-and-formal: 'Q: {{input}}', quite-long-and-friendly: 'Please: {{input}}'}
targets: {a-model-with-a-long-name-small: echo, a-model-with-a-long-name-large: echo}
test_cases: [{id: greeting, input: hello, expected: 'Q: hello'}]
""")
    code, terminal = watch(project, 80, "run", "prompts.yaml")
    assert code == 1
    assert all(cell_len(line) <= 80 for line in terminal.lines if not COMMAND_LINE.match(line))
    first = next(n for n, line in enumerate(terminal.lines) if line.startswith("pass rate"))
    prompts, targets = (line.split() for line in terminal.lines[first - 2 : first])
    assert [name.rpartition("-")[2] for name in prompts] == ["formal", "friendly", "formal", "friendly"]
    assert [name.rpartition("-")[2] for name in targets] == ["small", "small", "large", "large"]


def test_ten_failures_are_enough_and_all_are_there_on_request(project: Path) -> None:
    done = drive(project, "run", "many.yaml")
    assert done.out.count("✗ ") == 10
    assert "  2 more did not pass (-v)\n" in done.out
    assert drive(project, "run", "many.yaml", "-v").out.count("\n✗ ") == 12


def test_a_small_suite_in_which_all_passes_is_listed_and_a_large_one_counted(project: Path) -> None:
    few = drive(project, "run", "suite.yaml", "--target", "oracle")
    assert few.code == 0
    assert "✓ australia   4/4\n✓ peru        4/4\n✓ france      4/4\n" in few.out
    many = drive(project, "run", "many.yaml", "--target", "oracle")
    assert "\n\n✓ 12 cases passed\n\n" in many.out


def test_how_much_is_told_is_up_to_the_user(project: Path) -> None:
    usual, more, all_, less = (
        drive(project, "run", "suite.yaml", *words).out for words in ((), ("-v",), ("-vv",), ("-q",))
    )
    assert "trial 2 " not in usual and "bootstrap" not in usual
    assert more.count("✗ trial ") == all_.count("✗ trial ") == 6
    assert more.count("✓ trial ") == 0 and all_.count("✓ trial ") == 6
    assert "design effect" in more and "in 2 tries" in more and "\nadvice" in more and "\nslowest" in more
    assert re.fullmatch(r"FAILED   2 failed \(1 flaky\), 1 passed   \d\S* m?s   \S+\n", less)
    assert drive(project, "run", "suite.yaml", env={"EVALHARNESS_VERBOSE": "true"}).out.count("✗ trial ") == 6
    name = less.split()[-1]
    for command in ("show", "resume", "regrade"):
        quiet = drive(project, command, name, "-q").out
        assert re.fullmatch(r"FAILED   2 failed \(1 flaky\), 1 passed   \d\S* m?s   \S+\n", quiet), command
        assert "design effect" in drive(project, command, name, "-v").out, command
    gate = ("gate", name, "--fail-under", "90")
    assert drive(project, *gate, "-q").out.startswith("FAILED   2 failed")
    assert "bootstrap" in drive(project, *gate, "-v").out and "bootstrap" not in drive(project, *gate).out
    both = drive(project, "run", "suite.yaml", "-q", "-v")
    assert (both.code, "-q and -v cannot be used together" in both.err) == (2, True)


@pytest.mark.parametrize("columns", [60, 120])
def test_one_line_of_progress_that_is_gone_at_the_end(project: Path, columns: int) -> None:
    code, terminal = watch(project, columns, "run", "suite.yaml", "--target", "agent.py:prints", "-j", "1")
    assert code == 1
    frames = [ESCAPES.sub("", frame) for frame in re.findall(r"\r\x1b\[2K([^\r\n]+)", terminal.received)]
    drawn = [frame for frame in frames if re.match(r"\d+/12 ", frame)]
    assert drawn, "there is a line of progress"
    assert not [frame for frame in drawn if len(frame) >= columns]
    assert not [line for line in terminal.lines if "/12 " in line], "and it is never left behind"


def test_what_a_target_prints_is_above_the_line_and_whole(project: Path) -> None:
    _, terminal = watch(project, 80, "run", "suite.yaml", "--target", "agent.py:prints", "-j", "1")
    for text in ("straight to stderr", "half a line and the rest", "asked for Peru"):
        assert terminal.lines.count(text) == (4 if "Peru" in text else 12), text
    assert terminal.lines[-2].startswith("rerun")


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_leaves_no_progress_behind(project: Path, presses: int) -> None:
    sent = []

    def interrupt(process: Started, text: str) -> None:
        if "asked for" in text and len(sent) < presses:
            sent.append(1)
            process.send_signal(2)

    words = ("run", "suite.yaml", "--target", "agent.py:prints", "-j", "1")
    code, terminal = watch(project, 80, *words, env={"HOLD": "1"}, on_text=interrupt)
    assert code == 130
    assert not [line for line in terminal.lines if "/12 " in line]


def rows_of(received: str, columns: int) -> list[str]:
    """What a terminal of so many columns shows: longer lines wrap, and only the row of the cursor is erased."""
    rows, column = [""], 0
    for piece in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[^\x1b]", received):
        if piece == "\x1b[2K":
            rows[-1] = ""
        elif piece == "\r":
            column = 0
        elif piece == "\n":
            rows.append("")
            column = 0
        elif len(piece) == 1:
            if column == columns:
                rows.append("")
                column = 0
            rows[-1] = rows[-1][:column].ljust(column) + piece + rows[-1][column + 1 :]
            column += 1
    return rows


@pytest.mark.parametrize("presses", [1, 2])
def test_the_ctrl_c_that_a_terminal_shows_does_not_leave_progress_behind(project: Path, presses: int) -> None:
    terminal = Terminal(80)
    sent = []
    theirs = terminal.theirs
    words = ("run", "suite.yaml", "--target", "agent.py:prints", "-j", "1")
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with start(project, *words, env={"TERM": "xterm-256color", "HOLD": "1"}, **streams) as process:

        def interrupt(text: str) -> None:
            drawn = ESCAPES.sub("", text.rpartition(ERASE)[2])
            if "and the rest" in text and drawn.startswith("0/12 ") and not sent:
                for _ in range(presses):
                    sent.append(1)
                    terminal.press_ctrl_c()
                for _ in range(presses):
                    process.send_signal(2)

        terminal.read_all(interrupt)
        assert process.wait().code == 130
    assert "^C" in terminal.received
    assert not [row for row in rows_of(terminal.received, 80) if "/12 " in row]


def test_a_targets_escape_sequences_do_not_reach_the_terminal(project: Path) -> None:
    _, terminal = watch(project, 80, "run", "suite.yaml", "--target", "agent.py:rude")
    assert "\x1b]" not in terminal.received
    assert "\x1b[5m" not in terminal.received


@pytest.mark.parametrize("variable", ["NO_COLOR", "CI"])
def test_plain_lines_for_those_who_ask_for_them(project: Path, variable: str) -> None:
    code, terminal = watch(project, 80, "run", "suite.yaml", "--trials", "1", env={variable: "1"})
    assert code == 1
    assert "\x1b" not in terminal.received
    assert sum(line.startswith("capitals · ") for line in terminal.lines) == 1


def test_with_json_progress_is_on_stderr(project: Path) -> None:
    with (project / "out.json").open("wb") as out:
        code, terminal = watch(project, 80, "run", "suite.yaml", "--json", "--target", "agent.py:prints", out=out)
    assert code == 1
    assert re.search(r"\d+/12 ", terminal.received)
    assert "eval_report" not in terminal.received
    assert "straight to stderr" in terminal.lines
    assert list(json.loads((project / "out.json").read_text())) == ["eval_report"]


@pytest.mark.parametrize("suites", [1, 2])
def test_runs_can_be_pasted_and_their_targets_told_apart_in_80_columns(project: Path, suites: int) -> None:
    (project / "agent.py").write_text("def before(text): return text\ndef after(text): return 'Lima'\n")
    for number in range(suites):
        file = f"{number}.yaml"
        (project / file).write_text(SUITE.replace("name: capitals", f"name: capitals-of-continent-number-{number}"))
        for name in ("before", "after"):
            drive(project, "run", file, "--target", f"agent.py:{name}", "--fail-under", "20")
    names = [row["run_name"] for row in drive(project, "runs", "--json").json["runs"]]
    _, terminal = watch(project, 80, "runs")
    lines = [line for line in terminal.lines if line]
    assert all(cell_len(line) <= 80 for line in lines)
    assert [next(word for word in line.split() if word in names) for line in lines] == names
    assert [re.findall(r"y:(before|after)\b", line) for line in lines] == [["after"], ["before"]] * suites
