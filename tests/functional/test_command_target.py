"""Programs as targets: real processes, real workspaces, run by the real engine."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import asking
import pytest

from evalharness import Case, Run, Suite, TargetUnavailable, Transcript, Trial, UsageError, evaluate


@pytest.fixture(autouse=True)
def suite_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_suite(command: Any, **options: Any) -> Run:
    target = command if isinstance(command, dict) else {"command": command}
    return asking.run_suite(target, **{"input": "What is 2+2?", "expected": None, **options})


def run_once(command: Any, **options: Any) -> Trial:
    [trial] = run_suite(command, **options).trials
    return trial


def transcript_of(trial: Trial) -> Transcript:
    assert trial.last.transcript is not None
    return trial.last.transcript


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


class TestWhatIsStarted:
    def test_an_argument_list_without_a_shell(self) -> None:
        assert run_once(["echo", "$HOME; *"]).output == "$HOME; *\n"

    def test_a_line_for_the_shell(self) -> None:
        assert run_once("echo one two | tr a-z A-Z; echo $((1+1))").output == "ONE TWO\n2\n"

    def test_a_shell_line_from_the_command_line(self) -> None:
        run = evaluate(Suite(name="s", cases=(Case(id="a", input="hi"),)), "cmd:tr a-z A-Z", store=":memory:")
        assert run.trials[0].output == "HI"

    @pytest.mark.parametrize(
        "command", [["no-such-program-here"], "no-such-program-here --fast", ["/no/such/program"], "/no/such/program"]
    )
    def test_a_missing_program_stops_the_run_before_it_starts(self, command: Any) -> None:
        with pytest.raises(UsageError, match="was not found"):
            run_once(command)

    @pytest.mark.parametrize("command", [["./agnt"], "./agnt --fast"])
    def test_a_missing_program_in_a_folder_is_not_a_wrong_answer(self, command: Any) -> None:
        """A case's setup could have made it; only the trial shows that it did not."""
        run = run_suite(command, setup="true")
        assert (run.trials[0].state, run.exit_code) == ("error", 3)
        assert "./agnt" in run.trials[0].reason

    @pytest.mark.parametrize("command", [["./agnt"], "./agnt --fast"])
    def test_a_program_that_no_case_can_have_is_wrong_usage(self, command: Any) -> None:
        with pytest.raises(UsageError, match=r"agnt' was not found"):
            run_suite(command)

    def test_a_file_that_may_not_be_executed_is_named(self, suite_folder: Path) -> None:
        (suite_folder / "agent.sh").write_text("#!/bin/sh\necho 4\n")
        for command in (["./agent.sh"], "./agent.sh"):
            with pytest.raises(TargetUnavailable, match="not executable") as raised:
                run_once(command)
            assert "chmod" in raised.value.hint

    @pytest.mark.parametrize("line", ["for i in 1 2; do echo $i; done", "exit 0", "X=1 env", "(echo 4)", "! false"])
    def test_what_only_the_shell_knows_is_not_missing(self, line: str) -> None:
        assert run_once(line).state == "passed"

    def test_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FROM_OUTSIDE", "outer")
        command = {"command": "echo $FROM_OUTSIDE $FROM_SUITE", "env": {"FROM_SUITE": "inner"}}
        assert run_once(command).output == "outer inner\n"

    def test_python_is_found_without_an_activated_environment(self) -> None:
        command = {"command": "python -c 'import evalharness; print(4)'", "env": {"PATH": "/nowhere"}}
        assert run_once(command).output == "4\n"


class TestTheQuestion:
    def test_comes_on_stdin(self) -> None:
        assert run_once(["cat"]).output == "What is 2+2?"

    def test_comes_as_compact_json_if_it_is_not_text(self) -> None:
        assert run_once(["cat"], input={"a": [1, "ü"]}).output == '{"a":[1,"ü"]}'

    @pytest.mark.parametrize("command", [["echo", "-n"], "printf %s", "printf %s\n"])
    def test_comes_as_an_argument(self, command: Any) -> None:
        trial = run_once({"command": command, "input": "argument"}, input='it\'s $(id) & "more"')
        assert trial.output == 'it\'s $(id) & "more"'

    def test_does_not_come_at_all(self) -> None:
        assert run_once({"command": "cat; echo done", "input": "none"}).output == "done\n"

    def test_comes_where_the_command_says(self) -> None:
        trial = run_once(["echo", "-n", "<{input}>", "{case_id}", "{index}", "{other}"])
        assert trial.output == "<What is 2+2?> a 0 {other}"
        assert run_once(["sh", "-c", "cat; echo end", "{input}"]).output == "end\n", "then stdin is empty"

    def test_parts_of_it_come_where_the_command_says(self) -> None:
        assert run_once(["echo", "-n", "{input.user.name}"], input={"user": {"name": "Ada"}}).output == "Ada"
        missing = run_once(["echo", "{input.user.age}"], input={"user": {"name": "Ada"}})
        assert missing.state == "failed"
        assert "{input.user.age}" in missing.reason

    @pytest.mark.parametrize(
        "line", ["printf %s {input}", 'printf %s "{input}"', "printf %s '{input}'", 'X=\\"; printf %s "{input}"']
    )
    def test_the_shell_never_reads_it_as_code(self, line: str, suite_folder: Path) -> None:
        question = "$(touch {0}) `touch {0}` '; touch {0}; ' \"; touch {0}; \" *".replace(
            "{0}", str(suite_folder / "pwned")
        )
        trial = run_once(line, input=question)
        assert trial.output == question
        assert not (suite_folder / "pwned").exists()


class TestFiles:
    def test_the_workspace_contains_the_files_of_the_case_and_nothing_else(self, suite_folder: Path) -> None:
        (suite_folder / "data.csv").write_text("a,b\n")
        files = {"in/note.txt": "hello", "data.csv": {"path": "data.csv"}}
        trial = run_once(["find", ".", "-type", "f"], files=files)
        assert sorted(str(trial.output).split()) == ["./data.csv", "./in/note.txt"]

    def test_changed_files_are_captured(self) -> None:
        line = (
            "echo new > out.txt; echo more >> old.txt; mkdir sub; printf '\\000' > sub/image; ln -s /etc link; rm gone"
        )
        files = {"old.txt": "once\n", "same.txt": "same", "gone": ""}
        changed = transcript_of(run_once(line, files=files)).files
        assert changed == {"out.txt": "new\n", "old.txt": "once\nmore\n", "sub/image": "[binary file of 1 bytes]"}

    def test_what_is_captured_is_bounded(self) -> None:
        program = """
import os
for i in range(250): open(f"f{i:03}", "w").write("x")
open("a_large", "w").write("y" * 150_000)
with open("b_sparse", "w") as file: file.truncate(1 << 40)
folder = "d"
for i in range(1500):
    os.mkdir(folder); os.chdir(folder)
"""
        trial = run_once(python(program))
        assert trial.state == "passed", trial.reason
        changed = transcript_of(trial).files
        assert len(changed) == 201
        assert "more than 200" in changed["…"]
        assert changed["a_large"].endswith("…\n[50000 bytes cut]")
        assert changed["b_sparse"].startswith("[binary file of")

    def test_a_word_that_names_a_file_beside_the_suite_is_that_file(self, suite_folder: Path) -> None:
        (suite_folder / "agent.py").write_text("import os; print(os.path.basename(os.getcwd()), 4)")
        for command in (["python", "agent.py"], "python agent.py"):
            trial = run_once(command)
            assert trial.state == "passed", trial.reason
            assert str(trial.output).startswith("evalharness-"), "it runs in the workspace"
            assert str(trial.output).endswith("4\n")

    def test_words_with_spaces_and_programs_beside_the_suite(self, suite_folder: Path) -> None:
        script = suite_folder / "my agent.sh"
        script.write_text("#!/bin/sh\necho 4\n")
        script.chmod(0o755)
        assert run_once(["my agent.sh"]).output == "4\n"
        assert run_once(["sh", "my agent.sh"]).output == "4\n"

    def test_a_link_stays_the_link_it_is(self, suite_folder: Path) -> None:
        """`venv/bin/python` is a link, and it finds its packages by the location of the link."""
        script = suite_folder / "real.sh"
        script.write_text("#!/bin/sh\nbasename $0\n")
        script.chmod(0o755)
        (suite_folder / "called.sh").symlink_to(script)
        assert run_once(["./called.sh"]).output == "called.sh\n"

    def test_placeholders_and_variables_are_not_files(self, suite_folder: Path) -> None:
        (suite_folder / "input").write_text("")
        (suite_folder / "name").write_text("")
        trial = run_once("name=4; printf '%s ' {input} $name ${name}")
        assert trial.output == "What is 2+2? 4 4 "

    def test_a_program_of_the_case_can_be_run(self, suite_folder: Path) -> None:
        script = suite_folder / "solve.sh"
        script.write_text("#!/bin/sh\necho 4\n")
        script.chmod(0o755)
        files = {"bin/solve.sh": {"path": "solve.sh"}}
        assert run_once(["bin/solve.sh"], files=files).output == "4\n"
        assert run_once("bin/solve.sh", files=files).output == "4\n"


class TestHowItEnds:
    def test_an_exit_code_fails_and_the_reason_quotes_the_last_line_of_stderr(self) -> None:
        trial = run_once("echo partial; echo first >&2; echo 'no model configured' >&2; exit 3")
        assert (trial.state, trial.reason) == ("failed", "exit code 3: no model configured")
        evidence = transcript_of(trial)
        assert (evidence.exit_code, evidence.output, evidence.stderr) == (
            3,
            "partial\n",
            "first\nno model configured\n",
        )

    @pytest.mark.parametrize(
        "graders",
        [
            [{"exit_code": 3}],
            [{"any_of": [{"contains": "x"}, {"exit_code": 3}]}],
            [{"all_of": [{"not": {"exit_code": 0}}]}],
        ],
        ids=str,
    )
    def test_a_case_that_asks_for_an_exit_code_decides_itself(self, graders: Any) -> None:
        trial = run_once("exit 3", graders=graders)
        assert trial.state == "passed", trial.reason

    @pytest.mark.parametrize("grader", [{"contains": "exit_code"}, {"json_equals": {"exit_code": 3}}], ids=str)
    def test_the_words_alone_do_not_ask_for_one(self, grader: Any) -> None:
        trial = run_once("""echo '{"exit_code": 3}'; exit 3""", graders=[grader])
        assert (trial.state, trial.reason) == ("failed", "exit code 3")

    @pytest.mark.parametrize(
        ("number", "said"), [(signal.SIGKILL, "SIGKILL"), (signal.SIGSEGV, "SIGSEGV"), (40, "signal 40")]
    )
    def test_death_by_a_signal_names_it(self, number: int, said: str) -> None:
        trial = run_once(python(f"import os; os.kill(os.getpid(), {int(number)})"))
        assert (trial.state, trial.reason) == ("failed", f"it was killed by {said}")

    @pytest.mark.usefixtures("adopting")
    def test_the_time_limit_kills_the_tree_and_keeps_what_was_printed(self, suite_folder: Path) -> None:
        line = f"echo thinking; (setsid sleep 600 & echo $! > {suite_folder}/pid); sleep 600"
        trial = run_once(line, limit_s=4.0)
        assert (trial.state, trial.reason) == ("failed", "time limit: no answer within 4 s")
        assert transcript_of(trial).output == "thinking\n"
        pid = int((suite_folder / "pid").read_text())
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    def test_a_grandchild_that_keeps_the_pipe_open_does_not_delay_the_answer(self) -> None:
        started = time.monotonic()
        trial = run_once("sleep 60 & echo 4", expected="4")
        assert trial.state == "passed", trial.reason
        assert time.monotonic() - started < 30

    def test_a_flood_is_ended_and_its_beginning_kept(self) -> None:
        trial = run_once(["yes", "spam"])
        assert trial.state == "failed"
        assert trial.reason.startswith("output limit")
        evidence = transcript_of(trial)
        assert evidence.truncated
        assert str(evidence.output).startswith("spam\nspam\n")
        assert len(str(evidence.output)) < 10_000_000

    def test_long_output_keeps_head_and_tail(self) -> None:
        command = {"command": "echo head; seq 100000; echo tail", "max_output_bytes": 2000}
        trial = run_once(command, expected={"all_of": [{"starts_with": "head"}, {"contains": "tail"}]})
        assert trial.state == "passed", trial.reason
        assert transcript_of(trial).truncated
        assert "bytes cut" in str(trial.output)


class TestResult:
    def test_json_is_the_output_as_a_value(self) -> None:
        trial = run_once({"command": """echo '{"a": [1]}'""", "result": "json"})
        assert trial.output == {"a": [1]}
        assert transcript_of(trial).stdout == '{"a": [1]}\n'

    @pytest.mark.parametrize("text", ["nonsense", "", "NaN", "[1e999]", "[" * 100_000, '{"a": '])
    def test_what_is_not_json_fails_with_the_text_as_evidence(self, text: str, suite_folder: Path) -> None:
        (suite_folder / "reply").write_text(text)
        trial = run_once({"command": ["cat", "reply"], "result": "json"})
        assert trial.state == "failed"
        assert "not JSON" in trial.reason
        assert transcript_of(trial).stdout == text

    def test_an_answer_brings_what_led_to_it(self) -> None:
        answer = (
            '{"output": "4", "usage": {"input_tokens": 7}, "cost_usd": 0.5, "tool_calls": [{"name": "add"}], "x": 1}'
        )
        trial = run_once({"command": ["echo", answer], "result": "answer"}, expected="4")
        assert trial.state == "passed", trial.reason
        assert (trial.cost_usd, trial.input_tokens) == (0.5, 7)
        assert transcript_of(trial).tool_calls[0].name == "add"

    @pytest.mark.parametrize(
        ("answer", "said"),
        [('{"text": "4"}', "'output'"), ('"4"', "'output'"), ('{"output": "4", "files": 1}', "files")],
    )
    def test_an_answer_of_the_wrong_shape_fails_and_says_where(self, answer: str, said: str) -> None:
        trial = run_once({"command": ["echo", answer], "result": "answer"})
        assert trial.state == "failed"
        assert said in trial.reason
