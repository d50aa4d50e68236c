"""`setup` and `skip` of a case: before the target is asked, or instead of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evalharness import Case, Suite, evaluate
from evalharness.contracts.sandbox import ProcessRequest, Sandbox
from evalharness.contracts.target import Target
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt
from evalharness.engine.planning.planned_cases import PlannedCase, lock_cases
from evalharness.engine.running.attempt import Attempting
from evalharness.engine.running.time_limit import LoopTime, TimeLimit
from evalharness.engine.running.trial_task import TrialTask
from evalharness.errors import SandboxUnavailable
from evalharness.sandboxes.none import NoSandbox
from evalharness.testing.sandbox import FakeSandbox, finished


class Listing(Target):
    """A target that returns which files it found, and leaves one behind."""

    def __init__(self) -> None:
        self.asked = 0

    async def answer(self, task: Any) -> Transcript:
        self.asked += 1
        found = sorted(path.name for path in task.workspace.iterdir())
        (task.workspace / "mine.txt").write_text("mine")
        return Transcript(output=found)


def attempt(
    setup: str,
    root: Path,
    *,
    sandbox: Sandbox | None = None,
    timeout_s: float = 10.0,
    target: Listing | None = None,
) -> tuple[Attempt, Listing]:
    case = Case(id="a", input="x", setup=setup, files={"a.txt": "a"})  # type: ignore[dict-item]
    planned = PlannedCase(case, (), [], timeout_s=timeout_s, retries=0)
    target = target or Listing()

    async def go() -> Attempt:
        isolation = sandbox or NoSandbox()
        limit = TimeLimit(LoopTime())
        try:
            attempting = Attempting(target, frozenset(), lambda: isolation)
            return await attempting.attempt(TrialTask(planned, 0, 1, root), planned, limit)
        finally:
            limit.close()
            await isolation.close()

    return asyncio.run(go()), target


def test_the_target_finds_what_the_setup_made_and_is_not_credited_for_it(tmp_path: Path) -> None:
    done, _ = attempt("echo hi > c.txt; rm a.txt", tmp_path)
    assert (done.state, done.transcript and done.transcript.output) == ("passed", ["c.txt"])
    assert done.transcript is not None
    assert (done.transcript.files, done.transcript.removed_files) == ({"mine.txt": "mine"}, ())


@pytest.mark.parametrize(
    ("setup", "reason"),
    [
        ("echo first; echo broken >&2; exit 3", "the setup failed: exit code 3: broken"),
        ("exit 1", "the setup failed: exit code 1"),
    ],
)
def test_a_failing_setup_is_an_error_and_the_target_is_never_asked(setup: str, reason: str, tmp_path: Path) -> None:
    done, target = attempt(setup, tmp_path)
    assert (done.state, done.reason, target.asked) == ("error", reason, 0)


def test_a_setup_has_a_time_limit(tmp_path: Path) -> None:
    done, target = attempt("sleep 60", tmp_path, timeout_s=0.2)
    assert (done.state, done.reason, target.asked) == ("error", "the setup failed: time limit of 0.2 s", 0)


def test_without_a_sandbox_it_is_not_run_at_all(tmp_path: Path) -> None:
    broken = FakeSandbox(SandboxUnavailable("no bubblewrap here", hint="install it"))
    done, target = attempt(f"touch {tmp_path}/ran", tmp_path, sandbox=broken)
    assert (done.state, done.reason, target.asked) == ("error", "no bubblewrap here", 0)
    assert not (tmp_path / "ran").exists()


class Working(Listing):
    """Starts a program in the trial's session, as an agent's tool would."""

    async def answer(self, task: Any) -> Transcript:
        session = await task.session(self.sandbox)
        assert session is await task.session(self.sandbox)
        await session.run(ProcessRequest(("make",), str(task.workspace), {}))
        assert self.sandbox.open_sessions == 1
        return Transcript(output="made")

    def __init__(self, sandbox: FakeSandbox) -> None:
        super().__init__()
        self.sandbox = sandbox


def test_the_setup_and_the_target_share_one_session_which_ends_with_the_trial(tmp_path: Path) -> None:
    sandbox = FakeSandbox()
    done, _ = attempt("./prepare", tmp_path, sandbox=sandbox, target=Working(sandbox))
    assert done.state == "passed", done.reason
    [workspace] = sandbox.workspaces
    assert [(request.argv[-1], request.cwd) for request in sandbox.requests] == [
        ("./prepare", workspace),
        ("make", workspace),
    ]
    assert sandbox.open_sessions == 0
    assert not Path(workspace).exists()


def test_each_attempt_has_a_session_of_its_own(tmp_path: Path) -> None:
    sandbox = FakeSandbox(finished(exit_code=3), finished())
    for state in ("error", "passed"):
        done, _ = attempt("./prepare", tmp_path, sandbox=sandbox)
        assert (done.state, sandbox.open_sessions) == (state, 0)
    assert len(set(sandbox.workspaces)) == 2


def test_it_knows_no_variable_of_the_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-value")
    done, _ = attempt('test -z "$OPENAI_API_KEY"', tmp_path)
    assert done.state == "passed"


def test_a_case_with_another_setup_is_another_case(tmp_path: Path) -> None:
    def locked(**more: Any) -> Any:
        plan = PlannedCase(Case(id="a", input="x", **more), (), [], timeout_s=1, retries=0)
        return lock_cases([plan], tmp_path)["a"]

    assert locked(setup="true") != locked(setup="false")
    assert locked(setup="") == locked()


def test_a_case_to_be_skipped_is_skipped_with_its_reason() -> None:
    cases = [Case(id="a", input="x", skip="needs containers"), Case(id="b", input="x")]
    run = evaluate(Suite(name="s", cases=tuple(cases)), lambda question: question, store=":memory:")
    assert [(trial.state, trial.reason) for trial in run.trials] == [("skipped", "needs containers"), ("passed", "")]
