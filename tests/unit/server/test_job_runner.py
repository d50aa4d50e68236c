"""The thread of the jobs, when something goes wrong that nobody thought of."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import pytest

from evalharness.actions.launch_job import launch_job
from evalharness.actions.list_jobs import list_jobs
from evalharness.domain.job import JobRequest
from evalharness.harness import Harness
from evalharness.server.job_runner import JobRunner


class FaultyHarness(Harness):
    """Has bugs: it cannot list jobs at first, and never start the one for the suite `odd`."""

    left = 2

    def call(self, action: Any, *arguments: Any, **options: Any) -> Any:
        if action is list_jobs and arguments == ("cancelling",) and self.left:
            self.left -= 1
            raise KeyError("a bug")
        if action is launch_job and arguments[0].request.suite == "odd":
            raise RuntimeError("another bug")
        return super().call(action, *arguments, **options)


def test_a_bug_ends_neither_the_thread_nor_other_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    store = str(tmp_path / "store.db")
    with Harness.open(store) as opened, caplog.at_level(logging.ERROR, "evalharness.server"):
        runner = JobRunner(FaultyHarness(opened.context, owns_store=False), store, tmp_path, limit=2)
        runner.begin()
        try:
            odd, other = (runner.start(JobRequest(suite=suite), suite) for suite in ("odd", "nobody"))
            deadline = time.monotonic() + 60
            while (states := [getattr(runner.find(job.run_id), "state", "") for job in (odd, other)]) != [
                "interrupted",
                "ended",
            ]:
                assert time.monotonic() < deadline, states
                time.sleep(0.05)
        finally:
            runner.end()
    assert "a bug" in caplog.text
    assert "another bug" in caplog.text
