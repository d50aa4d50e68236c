"""Jobs: runs that a server starts as processes of their own, through kills of either side."""

from __future__ import annotations

import os
import signal
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import succeed, wait_until, write
from served import Served, serving, start_server, wait_for

from evalharness.actions.cancel_job import cancel_job
from evalharness.actions.delete_run import delete_run
from evalharness.actions.list_jobs import find_job, list_jobs
from evalharness.actions.start_job import rerun_job, resume_job, start_job
from evalharness.domain.job import Job, JobRequest
from evalharness.errors import RunBusy, UnknownName, UsageError
from evalharness.harness import Harness
from evalharness.settings import Settings

AGENT = """
import pathlib, time

HERE = pathlib.Path(__file__).parent

def gated(text):
    \"\"\"Answers once there is a file that has the name of the question, or the one that opens all gates.\"\"\"
    with (HERE / "asked.txt").open("a") as asked:
        print(text, file=asked)
    for _ in range(6000):
        if (HERE / text).exists() or (HERE / "open").exists():
            return text
        time.sleep(0.01)
"""
SUITE = """
name: gates
target: agent.py:gated
config: {max_workers: 1}
test_cases: [{id: a, input: a, expected: a}, {id: b, input: b, expected: b}, {id: c, input: c, expected: c}]
"""
LEAKY = """
import os

os.write(1, os.environ["SOME_KEY"].encode() + b"\\n")

def agent(text):
    return text
"""
REQUEST = JobRequest(suite="suite.yaml")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    folder = write(tmp_path / "project", agent_py=AGENT, suite_yaml=SUITE, pyproject_toml="")
    yield folder
    open_gates(folder)  # nothing that a test has started waits any longer


def open_gates(folder: Path, *names: str) -> None:
    for name in names or ("open",):
        (folder / name).touch()


def asked(folder: Path) -> Counter[str]:
    path = folder / "asked.txt"
    return Counter(path.read_text().split()) if path.exists() else Counter()


def queue(served: Served, request: JobRequest = REQUEST) -> str:
    with served.harness() as harness:
        return harness.call(start_job, request).run_id


def job_of(served: Served, run_id: str) -> Job:
    with served.harness() as harness:
        found = harness.call(find_job, run_id)
        assert found is not None
        return found


def counts(served: Served, run_id: str) -> dict[str, int]:
    with served.harness() as harness:
        return next((line.counts for line in harness.runs() if line.id == run_id), {})


def wait_for_trials(served: Served, run_id: str, number: int) -> None:
    with served.harness() as harness:
        wait_until(lambda: sum(sum(line.counts.values()) for line in harness.runs() if line.id == run_id) >= number)


def kill(job: Job) -> None:
    assert job.process is not None
    os.kill(job.process.pid, signal.SIGKILL)


def test_a_run_has_the_id_that_the_server_chose_and_its_log_is_kept(project: Path) -> None:
    open_gates(project)
    with serving(project) as served:
        run_id = queue(served)
        job = wait_for(served, run_id, "ended")
        assert (job.exit_code, job.tries, job.suite) == (0, 1, "suite.yaml")
        assert counts(served, run_id) == {"passed": 3}
        log = project / ".evalharness" / "jobs" / f"{run_id}.log"
        assert "PASSED" in log.read_text()
        assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_no_more_runs_than_allowed_go_on_at_once_and_the_others_follow_in_order(project: Path) -> None:
    with serving(project, "--jobs", "1") as served:
        first, second, third = queue(served), queue(served), queue(served)
        wait_for(served, first, "running")
        wait_until(lambda: asked(project) == {"a": 1})
        assert [job_of(served, run_id).state for run_id in (second, third)] == ["queued", "queued"]
        with served.harness() as harness:
            assert harness.call(cancel_job, second).state == "cancelled"
            assert [job.run_id for job in harness.call(list_jobs, "queued")] == [third]
            assert [line.id for line in harness.runs()] == [first], "what was cancelled in the queue never ran"
        open_gates(project)
        for run_id in (first, third):
            assert wait_for(served, run_id, "ended").exit_code == 0
        assert job_of(served, second).state == "cancelled"


def test_a_run_that_is_cancelled_keeps_what_is_finished_and_can_be_resumed(project: Path) -> None:
    with serving(project) as served:
        open_gates(project, "a")
        run_id = queue(served)
        wait_for_trials(served, run_id, 1)
        with served.harness() as harness:
            harness.call(cancel_job, run_id)
            wait_for(served, run_id, "cancelled")
            assert counts(served, run_id) == {"passed": 1}
            with pytest.raises(UsageError, match="not being run by this server"):
                harness.call(cancel_job, run_id)
            open_gates(project)
            assert harness.call(resume_job, run_id).state == "queued"
        assert wait_for(served, run_id, "ended").exit_code == 0
        assert counts(served, run_id) == {"passed": 3}
        assert asked(project)["a"] == 1


def test_a_killed_child_is_shown_as_interrupted_and_resumed_on_request_only(project: Path) -> None:
    with serving(project) as served:
        open_gates(project, "a")
        run_id = queue(served)
        wait_for_trials(served, run_id, 1)
        kill(job_of(served, run_id))
        dead = wait_for(served, run_id, "interrupted")
        assert (dead.exit_code, dead.tries) == (-signal.SIGKILL, 1)
        later = queue(served)  # the server has looked at its queue since, and left the dead one alone
        wait_for(served, later, "running")
        assert job_of(served, run_id) == dead
        open_gates(project)
        with served.harness() as harness:
            harness.call(resume_job, harness.runs()[-1].name)
        assert wait_for(served, run_id, "ended").exit_code == 0
        assert counts(served, run_id) == {"passed": 3}


def test_a_run_outlives_a_killed_server_and_the_next_one_watches_it_again(project: Path) -> None:
    served = start_server(project)
    open_gates(project, "a")
    run_id = queue(served)
    wait_for_trials(served, run_id, 1)
    before = job_of(served, run_id)
    served.kill()
    with serving(project) as again:
        assert again.token == served.token
        open_gates(project)
        after = wait_for(again, run_id, "ended")
        assert (after.process, after.tries) == (before.process, 1), "it was the same process all the time"
        assert counts(again, run_id) == {"passed": 3}
        assert asked(project) == {"a": 1, "b": 1, "c": 1}


def test_what_died_together_with_the_server_is_resumed_once_and_what_is_queued_starts(project: Path) -> None:
    served = start_server(project, "--jobs", "1")
    open_gates(project, "a")
    run_id, queued = queue(served), queue(served)
    wait_for_trials(served, run_id, 1)
    served.kill()
    kill(job_of(served, run_id))
    with serving(project, "--jobs", "1") as again:
        wait_until(lambda: asked(project)["b"] == 2)
        second = job_of(again, run_id)
        assert (second.state, second.tries) == ("running", 2)
        again.kill()
        kill(second)
    with serving(project, "--jobs", "1") as last:
        assert wait_for(last, run_id, "interrupted").tries == 2, "it has died twice"
        open_gates(project)
        assert wait_for(last, queued, "ended").exit_code == 0
        assert counts(last, run_id) == {"passed": 1}
        with last.harness() as harness:
            harness.call(resume_job, run_id)
        assert wait_for(last, run_id, "ended").exit_code == 0
        assert counts(last, run_id) == {"passed": 3}
        assert asked(project)["a"] == 2, "once in each of the two runs"


def test_a_cancelled_run_is_not_resumed_by_the_next_server(project: Path) -> None:
    served = start_server(project)
    run_id = queue(served)
    wait_until(lambda: asked(project)["a"] == 1)
    os.kill(served.process.pid, signal.SIGSTOP)  # it cannot hear of what is asked of it
    with served.harness() as harness:
        assert harness.call(cancel_job, run_id).state == "cancelling"
    kill(job_of(served, run_id))
    served.kill()
    with serving(project) as again:
        assert wait_for(again, run_id, "cancelled").tries == 1


def test_a_run_that_has_reached_its_cap_has_ended_and_stays_so(project: Path) -> None:
    write(
        project,
        paid_py="import evalharness\ndef agent(text):\n    return evalharness.Answer(output=text, cost_usd=1.0)\n",
    )
    served = start_server(project)
    run_id = queue(served, REQUEST.model_copy(update={"target": "paid.py:agent", "max_cost_usd": 1.5}))
    assert wait_for(served, run_id, "ended").exit_code == 3
    served.kill()
    with serving(project) as again:
        open_gates(project)
        wait_for(again, queue(again), "ended")
        assert (job_of(again, run_id).state, job_of(again, run_id).tries) == ("ended", 1)


def test_a_run_can_be_run_again_whole_or_only_what_failed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)  # as the server is: what is named is named from there
    open_gates(project)
    write(project, worse_py="def agent(text):\n    return text if text != 'b' else 'wrong'\n")
    with serving(project) as served:
        first = queue(served, REQUEST.model_copy(update={"target": "worse.py:agent", "trials": 2}))
        assert wait_for(served, first, "ended").exit_code == 1
        with served.harness() as harness:
            whole = harness.call(rerun_job, first)
            failed = harness.call(rerun_job, first, only_failed=True)
        for job, expected in ((whole, {"passed": 4, "failed": 2}), (failed, {"failed": 2})):
            assert wait_for(served, job.run_id, "ended").exit_code == 1
            assert counts(served, job.run_id) == expected


def test_what_cannot_run_ends_with_its_message_in_the_log(project: Path) -> None:
    with serving(project) as served:
        run_id = queue(served, JobRequest(suite="-x.yaml", target="--help"))
        assert wait_for(served, run_id, "ended").exit_code == 2
        assert "-x.yaml" in (project / ".evalharness" / "jobs" / f"{run_id}.log").read_text()
        with served.harness() as harness:
            assert harness.call(delete_run, run_id) == run_id
            with pytest.raises(UnknownName):
                harness.call(find_job, run_id)


def test_a_job_that_no_process_can_be_given_stops_no_other(project: Path) -> None:
    open_gates(project)
    with serving(project) as served:
        with served.harness() as harness:
            impossible = Job(
                run_id="eval-20261118-203000-1f0c", suite="x", request=JobRequest(suite="\0"), queued_at=""
            )
            assert harness.context.store.jobs.put(impossible)
        wait_for(served, impossible.run_id, "interrupted")
        wait_for(served, queue(served), "ended")


def test_a_running_job_is_neither_deleted_nor_resumed(project: Path) -> None:
    with serving(project) as served:
        run_id = queue(served)
        wait_until(lambda: asked(project)["a"] == 1)
        with served.harness() as harness:
            for action in (delete_run, resume_job):
                with pytest.raises(RunBusy):
                    harness.call(action, run_id)
        open_gates(project)
        wait_for(served, run_id, "ended")
        with served.harness() as harness:
            assert harness.call(delete_run, run_id) == run_id
            assert harness.runs() == []


def test_a_run_of_the_terminal_is_resumed_as_a_job(project: Path) -> None:
    open_gates(project)
    succeed(project, "run", "suite.yaml", "--target", "agent.py:gated", "-q")
    with serving(project) as served, served.harness() as harness:
        [line] = harness.runs()
        assert harness.call(find_job, line.name) is None
        assert harness.call(resume_job, line.name).run_id == line.id
        assert wait_for(served, line.id, "ended").exit_code == 0
        with pytest.raises(UsageError, match="not being run by this server"):
            harness.call(cancel_job, line.name)


def test_a_secret_is_refused_in_a_request_and_kept_out_of_the_log(project: Path) -> None:
    write(project, leaky_py=LEAKY)
    with serving(project, env={"SOME_KEY": "correct-horse-battery"}) as served:
        run_id = queue(served, REQUEST.model_copy(update={"target": "leaky.py:agent"}))
        assert wait_for(served, run_id, "ended").exit_code == 0
        log = project / ".evalharness" / "jobs" / f"{run_id}.log"
        wait_until(lambda: "correct-horse" not in log.read_text())
        assert "[redacted:SOME_KEY]" in log.read_text()
    settings = Settings({"SOME_KEY": "correct-horse-battery"})
    with Harness.open(served.store, settings=settings) as harness, pytest.raises(UsageError, match="secret variable"):
        harness.call(start_job, JobRequest(suite="suite.yaml", variables={"x": "correct-horse-battery"}))
