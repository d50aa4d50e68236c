"""Targets that could cost the run its verdict: they block, exit, or close descriptors that are not theirs."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest
from driving import COMMAND, clean_environment, drive, drive_fresh, start, wait_until

from evalharness import Case, HarnessError, Suite, UsageError, evaluate

AGENT = """
import asyncio, os, sys, time

async def blocks(question):
    if question == "block":
        time.sleep(4)
    else:
        await asyncio.sleep(0.05)
    return "hi"

async def blocks_for_ever(question):
    open("blocked", "w").close()
    time.sleep(600)

def leaves(question):
    os._exit(0)

async def leaves_later(question):
    async def later():
        sys.exit(0)
    asyncio.create_task(later())
    await asyncio.sleep(5)

def closes(question):
    sys.stdout.close()
    return "hi"

def forks(question):
    pid = os.fork()
    if not pid:
        os._exit(7)
    return str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
SUITE = """
name: stubborn
config: {timeout_seconds: 2}
test_cases:
  - {id: waits, input: wait, expected: hi}
  - {id: blocks, input: block, expected: hi}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "suite.yaml").write_text(SUITE)
    return tmp_path


def shell(folder: Path, words: list[str], redirection: str) -> subprocess.CompletedProcess[str]:
    line = f"{shlex.join([*COMMAND, *words])} {redirection}"
    return subprocess.run(
        line, shell=True, cwd=folder, env=clean_environment(folder), capture_output=True, text=True, check=False
    )


def test_a_target_that_blocks_the_loop_fails_alone(folder: Path) -> None:
    words = ("run", "suite.yaml", "--target", "agent.py:blocks", "--json")
    done = drive(folder, *words, whole_shutdown=True)
    assert done.states() == {"waits": ["passed"], "blocks": ["failed"]}
    assert done.code == 1


def test_a_target_that_blocks_for_ever_is_ended(folder: Path) -> None:
    words = ("run", "suite.yaml", "--target", "agent.py:blocks_for_ever", "--only", "waits")
    done = drive(folder, *words, whole_shutdown=True)
    assert done.code == 1
    assert "time limit" in done.out


def test_one_interrupt_is_enough_although_the_loop_is_blocked(folder: Path) -> None:
    words = ("run", "suite.yaml", "--target", "agent.py:blocks_for_ever", "--only", "waits")
    with start(folder, *words) as process:
        wait_until((folder / "blocked").exists)
        process.send_signal(signal.SIGINT)
        done = process.wait()
    assert done.code == 130
    assert "1 pending" in done.out


@pytest.mark.parametrize(
    ("target", "code", "said"), [("leaves", 1, "SystemExit(0)"), ("leaves_later", 3, "sys.exit(0)")]
)
def test_leaving_never_looks_like_success(folder: Path, target: str, code: int, said: str) -> None:
    done = drive(folder, "run", "suite.yaml", "--target", f"agent.py:{target}", whole_shutdown=True)
    assert done.code == code
    assert said in done.out + done.err


def test_a_child_of_a_target_may_leave_as_usual(folder: Path) -> None:
    done = drive(folder, "run", "suite.yaml", "--target", "agent.py:forks", "--only", "waits", "--json")
    assert [trial["output"] for trial in done.report["trials"]] == ["7"]


def test_output_that_cannot_be_written_costs_the_verdict_but_not_the_results(folder: Path) -> None:
    for flags in ([], ["--json"]):
        with Path("/dev/full").open("wb") as full:
            words = ("run", "suite.yaml", "--target", "echo", *flags)
            with start(folder, *words, stdout=full.fileno()) as process:
                done = process.wait()
        assert done.code == 3
        assert "No space left" in done.err
        assert "Traceback" not in done.err
    assert len(drive(folder, "runs", "--json").json["runs"]) == 2


def test_a_closed_stdout_is_no_reason_to_crash(folder: Path) -> None:
    for target, code in (("echo", 1), ("agent.py:closes", 0)):
        for redirection in (">&-", "> out"):
            done = shell(folder, ["run", "suite.yaml", "--target", target], redirection)
            assert "Traceback" not in done.stderr
            assert done.returncode == code
    assert "PASSED" in (folder / "out").read_text()


class TestPythonCallers:
    suite = Suite(name="s", cases=(Case(id="a", input="x", expected="x"),))

    def test_wrong_arguments_are_reported_in_words(self) -> None:
        for wrong in ({"trials": 0}, {"max_concurrency": -1}):
            with pytest.raises(UsageError, match="at least"):
                evaluate(self.suite, "echo", store=":memory:", **wrong)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="42 is not a target"):
            evaluate(self.suite, 42, store=":memory:")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=r"nope\.yaml: cannot be read|no such file"):
            evaluate("nope.yaml", store=":memory:")

    def test_a_task_left_behind_cannot_end_the_caller(self) -> None:
        async def leaves(question: str) -> str:
            async def later() -> None:
                raise SystemExit(0)

            self.task = asyncio.create_task(later())
            await asyncio.sleep(5)
            return question

        with pytest.raises(HarnessError, match=r"sys\.exit\(0\)"):
            evaluate(self.suite, leaves, store=":memory:")
        with pytest.raises(SystemExit):
            self.task.result()

    @pytest.mark.usefixtures("ctrl_c")
    def test_an_interrupt_inside_a_running_loop_stops_at_once_and_keeps_what_is_done(self, tmp_path: Path) -> None:
        asked = 0

        async def slow(question: str) -> str:
            nonlocal asked
            asked += 1
            if asked == 3:
                os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0.1)
            return question

        async def notebook_cell() -> None:
            suite = self.suite.model_copy(update={"trials": 600})
            evaluate(suite, slow, store=str(tmp_path / "store.db"), max_concurrency=1)

        with pytest.raises(KeyboardInterrupt):
            asyncio.run(notebook_cell())
        run = evaluate(self.suite, slow, store=str(tmp_path / "store.db"))
        assert run.passed


def test_a_timer_of_the_caller_is_left_alone() -> None:
    def answer(question: str) -> str:
        return question

    rang: list[int] = []
    former = signal.signal(signal.SIGALRM, lambda number, _: rang.append(number))
    former_timer = signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        assert evaluate(TestPythonCallers.suite, answer, store=":memory:").passed
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
        assert signal.getsignal(signal.SIGALRM) is not None
        signal.raise_signal(signal.SIGALRM)
        assert rang == [signal.SIGALRM]
    finally:
        signal.signal(signal.SIGALRM, former)
        signal.setitimer(signal.ITIMER_REAL, *former_timer)


JAMMED = """
from pathlib import Path
from evalharness.domain.transcript import Transcript
from evalharness.errors import UsageError
from evalharness.contracts.target import Target
from evalharness.domain.options import NoOptions

class Jammed(Target):
    Options = NoOptions

    async def open(self):
        if self.spec.variant["id"] == Path("broken").read_text():
            raise UsageError("there is no such door")

    async def answer(self, task):
        return Transcript(output="hi")

    async def close(self):
        with open("closed", "a") as closed:
            closed.write(self.spec.variant["id"] + " ")
        raise RuntimeError("the door is jammed")
"""


@pytest.mark.parametrize(("broken", "told"), [("", "the door is jammed"), ("c", "there is no such door")])
def test_all_are_closed_though_none_closes_well(tmp_path: Path, broken: str, told: str) -> None:
    information = tmp_path / "site" / "jammed-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: jammed\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[evalharness.targets]\njammed = jammed_plug_in:Jammed\n")
    (tmp_path / "site" / "jammed_plug_in.py").write_text(JAMMED)
    (tmp_path / "broken").write_text(broken)
    (tmp_path / "suite.yaml").write_text(
        "target: jammed\nvariants: [{id: a}, {id: b}, {id: c}]\ntest_cases: [{id: x, input: x, expected: hi}]\n"
    )
    done = drive_fresh(tmp_path, "run", "suite.yaml", env={"PYTHONPATH": str(tmp_path / "site")})
    assert done.code == (2 if broken else 3)
    assert told in done.err
    assert sorted((tmp_path / "closed").read_text().split()) == ["a", "b", "c"]
