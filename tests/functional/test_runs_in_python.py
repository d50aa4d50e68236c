"""What Python programs and notebooks see of a run: printed, as a table, in rows, and while it is under way."""

from __future__ import annotations

import os
import pty
import re
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

from evalharness import Case, Run, Suite, TargetSpec, UsageError, evaluate, load_run
from evalharness.errors import NothingSelected

WATCHING = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR")}
CELL = """
import time
from evalharness import Case, Suite, evaluate
def answer(question):
    time.sleep(0.3)
    return question
evaluate(Suite(name="<echo>", cases=[Case(input=word, expected="1") for word in "12"]), answer, max_concurrency=1)
"""


@pytest.fixture
def echoed(tmp_path: Path) -> Run:
    cases = [Case(input="1", expected="1"), Case(id="two", input="2", expected={"contains": "<3>"})]
    return evaluate(Suite(name="echo", cases=cases), lambda text: text, trials=2, store=tmp_path / "store.db")


def test_a_printed_run_is_what_the_terminal_shows(echoed: Run) -> None:
    printed = str(echoed)
    assert "echo" in printed.splitlines()[0]
    assert "FAILED" in printed and "two" in printed and "'<3>'" in printed and echoed.name in printed
    assert "\x1b" not in printed
    assert re.fullmatch(r"<Run [\w-]+ of echo: FAILED, pass rate 50 % \(\S+ %\)>", repr(echoed))


def test_a_notebook_gets_a_table_with_what_failed_first(echoed: Run) -> None:
    table = echoed._repr_html_()  # type: ignore[attr-defined]
    assert table.index("<td>two</td>") < table.index("<td>case-1</td>")
    assert "&lt;3&gt;" in table and "<3>" not in table


def test_a_notebook_marks_cases_as_the_terminal_does() -> None:
    answers = iter("13")
    suite = Suite(name="s", cases=[Case(id="flips", input="1", expected="1")], case_threshold=0.5)
    run = evaluate(suite, lambda text: next(answers), trials=2, max_concurrency=1, store=":memory:")
    table = run._repr_html_()  # type: ignore[attr-defined]
    assert "<td>~ passed</td><td>flips</td>" in table and "counts as passed: 50 % of its trials are enough" in table
    assert re.search(r"~ flips.*\n?.*counts as passed: 50 %", str(run))


def test_a_run_has_its_trials_failures_and_rows(echoed: Run) -> None:
    assert [failure.eval_id for failure in echoed.failures] == ["two"]
    assert echoed.finished_at is not None and echoed.finished_at >= echoed.created_at
    rows = echoed.to_records()
    assert [(row["case_id"], row["trial"], row["state"]) for row in rows] == [
        ("case-1", 1, "passed"),
        ("case-1", 2, "passed"),
        ("two", 1, "failed"),
        ("two", 2, "failed"),
    ]
    assert rows[0]["output"] == "1" and rows[0]["grade.exact"] == 1.0


def test_several_grades_of_one_kind_have_columns_of_their_own(tmp_path: Path) -> None:
    case = Case(input="ab", graders=({"kind": "contains", "options": "a"}, {"kind": "contains", "options": "c"}))
    [row] = evaluate(Suite(name="s", cases=[case]), lambda text: text, store=tmp_path / "s.db").to_records()
    assert (row["grade.contains"], row["grade.contains_2"]) == (1.0, 0.0)


def test_the_newest_run_is_loaded_without_a_name(echoed: Run, tmp_path: Path) -> None:
    again = evaluate(Suite(name="other", cases=[Case(input="1")]), lambda text: text, store=tmp_path / "store.db")
    newest = load_run(store=tmp_path / "store.db")
    assert (newest.name, len(newest.trials), str(newest)) == (again.name, 1, str(again))
    assert load_run(echoed.name, store=tmp_path / "store.db").to_records() == echoed.to_records()


def test_messages_about_suites_in_python_name_no_file() -> None:
    with pytest.raises(NothingSelected, match=r"^suite empty has no cases$"):
        evaluate(Suite(name="empty", cases=()), TargetSpec(kind="null"), store=":memory:")
    with pytest.raises(UsageError, match=r"^suite nobody has no target$"):
        evaluate(Suite(name="nobody", cases=[Case(input="1")]), store=":memory:")


def test_a_given_id_may_not_be_that_of_a_position() -> None:
    with pytest.raises(UsageError, match="case id 'case-2' is used 2 times"):
        Suite(name="twice", cases=[Case(id="case-2", input="1"), Case(input="2")])


def test_a_notebook_shows_progress_and_then_the_table(tmp_path: Path) -> None:
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path), env=WATCHING)
    try:
        asked = client.execute(CELL)
        printed, shown = "", {}
        while True:
            try:
                message = client.get_iopub_msg(timeout=60)
            except Empty:
                pytest.fail("the kernel gave no answer")
            if message["parent_header"].get("msg_id") != asked:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream" and content["name"] == "stdout":
                printed += content["text"]
            elif kind == "execute_result":
                shown = content["data"]
            elif kind == "error":
                pytest.fail("\n".join(content["traceback"]))
            elif kind == "status" and content["execution_state"] == "idle":
                break
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert "0 of 2 trials" in printed and "1 of 2 trials, 1 passed" in printed
    assert printed.endswith("\r") and not printed.split("\r")[-2].strip(), "nothing stays of the progress"
    assert "&lt;echo&gt;" in shown["text/html"] and "case-2" in shown["text/html"]


def test_a_time_limit_and_a_seed_can_be_given(tmp_path: Path) -> None:
    def slow(text: str) -> str:
        time.sleep(5)
        return text

    suite = Suite(name="slow", cases=[Case(input="1", expected="1")])
    run = evaluate(suite, slow, timeout_s=0.2, seed=7, store=tmp_path / "s.db")
    assert (run.failures[0].reason.startswith("time limit"), run.lock.seed) == (True, 7)
    with pytest.raises(UsageError, match="timeout_s must be above 0"):
        evaluate(suite, slow, timeout_s=0, store=":memory:")


WATCHED = """
import time
from evalharness import Case, Suite, evaluate

def answer(text):
    time.sleep(0.3)
    return text

try:
    evaluate(Suite(name="s", cases=[Case(input=n) for n in "12345678"]), answer, max_concurrency=1, store=":memory:")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_terminal_shows_progress_which_is_gone_after_ctrl_c(tmp_path: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execve(sys.executable, [sys.executable, "-c", WATCHED], {**WATCHING, "TERM": "xterm"})
    shown, is_stopped = b"", False
    with suppress(OSError):  # the terminal is closed with its process
        while chunk := os.read(terminal, 65536):
            shown += chunk
            if b"3/8" in shown and not is_stopped:
                os.kill(pid, signal.SIGINT)
                is_stopped = True
    os.waitpid(pid, 0)
    os.close(terminal)
    assert shown.endswith(b"\r\x1b[2Kinterrupted\r\n"), shown[-300:]


def test_an_input_that_cannot_be_stored_is_refused_with_its_case() -> None:
    suite = Suite(name="s", cases=[Case(id="odd", input=object())])
    with pytest.raises(UsageError, match=r"case odd cannot be stored: .*object"):
        evaluate(suite, lambda text: text, store=":memory:")


@pytest.mark.parametrize("check", [lambda output: output.strip() == "a", lambda output: "a" in output])
def test_a_grader_written_for_the_output_alone_is_told_what_it_gets(check: Callable[[Any], bool]) -> None:
    suite = Suite(name="s", cases=[Case(input="a", graders=[check])])  # type: ignore[list-item]
    [trial] = evaluate(suite, lambda text: text, store=":memory:").trials
    assert "a grader function gets a GradeContext" in trial.reason and "context.output" in trial.reason
    assert "test_runs_in_python.py" in trial.reason
