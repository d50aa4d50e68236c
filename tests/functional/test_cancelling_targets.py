"""Targets that cancel tasks or stop the loop: their trial fails, or the run ends with a clear message."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from asking import run_suite
from driving import drive

from evalharness import Case, HarnessError, Run, Suite, evaluate
from evalharness.contracts.grader import GradeContext

AGENT = """
import asyncio

async def cancels_itself(question):
    asyncio.current_task().cancel()
    await asyncio.sleep(1)

async def cancels_all(question):
    if question == "cancel":
        for task in asyncio.all_tasks():
            task.cancel()
    await asyncio.sleep(1)

async def stops(question):
    asyncio.get_running_loop().stop()
    await asyncio.sleep(1)

async def empties(question, context):
    context.case.__dict__.clear()
    return context.case.id
"""
SUITE = """
name: rough
test_cases:
  - {id: a, input: cancel, expected: hi}
  - {id: b, input: other, expected: hi}
  - {id: c, input: other, expected: hi}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "suite.yaml").write_text(SUITE)
    return tmp_path


def own_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


async def cancels_and_waits(question: str) -> str:
    own_task().cancel()
    await asyncio.sleep(60)
    return "4"


async def cancels_and_returns(question: str) -> str:
    own_task().cancel()
    return "4"


async def cancels_often(question: str) -> str:
    task = own_task()
    for _ in range(3):
        task.cancel()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue
    task.cancel()
    await asyncio.sleep(60)
    return "4"


async def cancels_from_another_task(question: str) -> str:
    asyncio.get_running_loop().call_soon(own_task().cancel)
    await asyncio.sleep(60)
    return "4"


def failed(run: Run) -> list[str]:
    return [trial.reason for trial in run.trials if trial.state == "failed"]


@pytest.mark.parametrize(
    "target",
    [cancels_and_waits, cancels_and_returns, cancels_often, cancels_from_another_task],
    ids=lambda f: f.__name__,
)
def test_a_target_that_cancels_its_own_task_fails(target: Any) -> None:
    run = run_suite(target, cases=5)
    assert len(failed(run)) == 5
    assert "CancelledError: its task was cancelled, and not by the harness" in failed(run)[0]
    assert run.exit_code == 1


def test_the_trials_after_it_are_not_harmed() -> None:
    async def answer(question: str) -> str:
        if question == "cancel":
            return await cancels_and_returns(question)
        await asyncio.sleep(0)
        return "4"

    cases = tuple(Case(id=f"{n}", input="cancel" if n % 2 else "2+2", expected="4") for n in range(10))
    run = evaluate(Suite(name="s", cases=cases), answer, store=":memory:", max_concurrency=1)
    assert {trial.case_id: trial.state for trial in run.trials} == {
        f"{n}": "failed" if n % 2 else "passed" for n in range(10)
    }


async def in_a_group(question: str) -> None:
    async def fails() -> None:
        raise ValueError("no idea")

    async with asyncio.TaskGroup() as group:
        group.create_task(fails())
        await asyncio.sleep(60)


def test_a_task_group_with_a_child_that_fails() -> None:
    run = run_suite(in_a_group, cases=5)
    assert len(failed(run)) == 5
    assert "ValueError: no idea" in failed(run)[0]


def test_a_task_group_in_a_task_group_that_is_caught() -> None:
    async def answer(question: str) -> str:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(in_a_group(question))
                await in_a_group(question)
        except* ValueError:
            pass
        return "4"

    run = run_suite(answer, cases=5)
    assert [trial.state for trial in run.trials] == ["passed"] * 5, failed(run)


def test_a_cancellation_that_is_left_behind_does_not_matter() -> None:
    """As Python 3.11 leaves one behind."""

    async def answer(question: str) -> str:
        own_task().cancel()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "4"
        return "no"

    run = run_suite(answer, cases=5)
    assert [trial.state for trial in run.trials] == ["passed"] * 5, failed(run)


def test_a_time_limit_still_ends_one_that_cancels_itself() -> None:
    async def answer(question: str) -> str:
        while True:
            own_task().cancel()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                await asyncio.sleep(0.01)

    run = run_suite(answer, cases=2, limit_s=0.2)
    assert ["time limit" in reason for reason in failed(run)] == [True, True]


def test_a_grader_that_cancels_its_own_task_is_unscored() -> None:
    async def grade(context: GradeContext) -> bool:
        own_task().cancel()
        await asyncio.sleep(60)
        return True

    run = run_suite(lambda question: "4", cases=3, expected=None, graders=[grade])
    assert [trial.state for trial in run.trials] == ["error"] * 3
    assert "not by the harness" in run.trials[0].reason


def test_resume_has_nothing_left_to_do(folder: Path) -> None:
    done = drive(folder, "run", "suite.yaml", "--target", "agent.py:cancels_itself", "--json")
    assert done.code == 1
    assert done.states() == {"a": ["failed"], "b": ["failed"], "c": ["failed"]}
    again = drive(folder, "resume", done.run_name)
    assert again.code == 1
    assert "FAILED   3 failed" in again.out


@pytest.mark.parametrize(
    ("target", "said"), [("cancels_all", "cancelled tasks that are not its own"), ("stops", "stopped the event loop")]
)
def test_one_that_ends_the_run_is_named_in_words(folder: Path, target: str, said: str) -> None:
    done = drive(folder, "run", "suite.yaml", "--target", f"agent.py:{target}", whole_shutdown=True)
    assert done.code == 3
    assert said in done.err
    assert "internal error" not in done.both
    assert "Traceback" not in done.both
    run = str(drive(folder, "runs", "--json").json["runs"][0]["run_name"])
    assert re.search(rf"ended run {run} during cases? a\b", done.err)
    assert "finished trials are kept; fix the target and run the suite again" in done.err
    resumed = drive(folder, "resume", whole_shutdown=True)
    assert resumed.code == 3
    assert said in resumed.err
    assert f"remove this run: eval-harness runs rm {run}" in resumed.err
    assert drive(folder, "runs", "rm", run).code == 0
    assert "there is no run to resume" in drive(folder, "resume").err


def test_one_that_empties_its_case_fails_in_words(folder: Path) -> None:
    done = drive(folder, "run", "suite.yaml", "--target", "agent.py:empties", "--only", "a")
    assert done.code == 1
    assert "AttributeError" in done.out
    assert "internal error" not in done.both


@pytest.mark.parametrize("is_in_loop", [False, True])
def test_a_program_gets_the_same_words(is_in_loop: bool) -> None:
    async def answer(question: str) -> str:
        for task in asyncio.all_tasks():
            task.cancel()
        await asyncio.sleep(60)
        return "4"

    async def inside() -> None:
        run_suite(answer, cases=3)

    with pytest.raises(HarnessError, match="cancelled tasks that are not its own"):
        asyncio.run(inside()) if is_in_loop else run_suite(answer, cases=3)


def test_workers_that_are_cancelled_between_their_trials_end_the_run_in_words() -> None:
    async def answer(question: str) -> str:
        workers = [task for task in asyncio.all_tasks() if "_work" in repr(task.get_coro())]
        asyncio.get_running_loop().call_soon(lambda: [task.cancel() for task in workers])
        return "4"

    with pytest.raises(HarnessError, match="code that the run calls cancelled one of its tasks"):
        run_suite(answer, cases=3)
