"""The jobs of a server: starts, adopts, watches, cancels and resumes the processes of runs.

One thread does all of it; what it is to do is in the store, so that nothing is forgotten when the server dies. Trials
are written by the processes alone. `start`, `rerun`, `resume`, `cancel` and `delete` are what handlers call.
"""

from __future__ import annotations

import logging
import os
import selectors
import signal
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalharness.actions.cancel_job import cancel_job
from evalharness.actions.delete_run import delete_run
from evalharness.actions.launch_job import DetachedProcess, adopt_process, launch_job
from evalharness.actions.list_jobs import ends_of_job, find_job, list_jobs
from evalharness.actions.start_job import rerun_job, resume_job, start_job
from evalharness.domain.job import Job, JobRequest, JobState
from evalharness.errors import HarnessError, UnknownName
from evalharness.harness import Harness
from evalharness.server.job_log import JobLogs

MOST_STARTS = 2
"""How often a process is started for one wish: a run that has died twice would die again."""
SIGNALS = ((signal.SIGINT, 10.0), (signal.SIGTERM, 5.0))
"""How a process is asked to stop, and how long it is given each time; after that it is killed with all below it."""
INTERRUPTED_CODE = 130
LOOK_S = 0.2
"""How often to look where nothing reports by itself: at processes without a handle, and at those asked to stop."""
REST_S = 1.0
"""How often to look at the queue if nobody says that there is something new: other processes may add to it."""
_LOGGER = logging.getLogger("evalharness.server")


@dataclass(slots=True)
class _Running:
    job: Job
    process: DetachedProcess
    signals_sent: int = 0
    next_signal_s: float = field(default_factory=time.monotonic)


class JobRunner:
    """One for each server, and one server for each store."""

    def __init__(self, harness: Harness, store: str, logs: Path, limit: int) -> None:
        """`store` is what processes are given as their store, `logs` the folder for what they print."""
        self._harness = harness
        self._store = store
        self._logs = JobLogs(logs, harness.redact)
        self._limit = limit
        self._running: dict[str, _Running] = {}
        self._selector = selectors.DefaultSelector()
        self._wake, self._wakes = os.pipe()
        os.set_blocking(self._wakes, False)
        os.set_blocking(self._wake, False)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._is_stopping = False
        self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)

    # What handlers call

    def start(self, request: JobRequest, name: str) -> Job:
        """Queue a run of the suite of this name; it begins at once if fewer runs than allowed are under way. Its id is
        the job's `run_id`."""
        return self._noticed(self._harness.call(start_job, request, name))

    def rerun(self, reference: str, *, only_failed: bool = False) -> Job:
        """A new run of what a stored run ran."""
        return self._noticed(self._harness.call(rerun_job, reference, only_failed=only_failed))

    def resume(self, reference: str) -> Job:
        return self._noticed(self._harness.call(resume_job, reference))

    def cancel(self, reference: str) -> Job:
        return self._noticed(self._harness.call(cancel_job, reference))

    def delete(self, reference: str) -> str:
        """A run with its trials, its job and its log; returns its id."""
        run_id = self._harness.call(delete_run, reference)
        self._logs.remove(run_id)
        return run_id

    def find(self, reference: str) -> Job | None:
        """The job of a run, which may not be stored yet."""
        return self._harness.call(find_job, reference)

    def active(self) -> list[Job]:
        """What is queued, running or being cancelled, in order."""
        return self._harness.call(list_jobs, "queued", "running", "cancelling")

    def log(self, run_id: str) -> str:
        """The end of what the process of a job printed, without secrets."""
        job = self.find(run_id)
        if job is None:
            raise UnknownName("job", run_id, [])
        return self._logs.read(job.run_id)

    # The life of the runner

    def begin(self) -> None:
        """Adopt what an earlier server started, resume what has died since, and start what is queued."""
        for job in self._harness.call(list_jobs, "running", "cancelling"):
            self._try(self._adopt, job)
        self._thread.start()

    def end(self) -> int:
        """Stop watching; processes go on. Returns how many there are."""
        self._is_stopping = True
        self._look_again()
        self._thread.join()
        under_way = sum(not running.process.has_ended for running in self._running.values())
        for running in self._running.values():
            running.process.close()
        self._selector.close()
        os.close(self._wake)
        os.close(self._wakes)
        return under_way

    def _noticed(self, job: Job) -> Job:
        self._look_again()
        return job

    def _look_again(self) -> None:
        with suppress(BlockingIOError, OSError):  # full: it will look anyway
            os.write(self._wakes, b".")

    def _work(self) -> None:
        while not self._is_stopping:
            if not self._try(self._step):
                time.sleep(LOOK_S)  # what has just ended still says so, and would be looked at again at once
            self._selector.select(self._rest_s())
            with suppress(BlockingIOError):
                os.read(self._wake, 4096)

    def _try(self, step: Callable[..., Any], *of: Any) -> bool:
        """Whether it went well. Whatever becomes of one job, the others go on; later it may work."""
        try:
            return step(*of) is not False
        except (HarnessError, OSError) as error:  # the store may be locked, the disk full
            _LOGGER.error("jobs: %s", self._harness.redact(str(error)))
        except Exception as error:  # noqa: BLE001 - a bug: without this thread no run would ever begin or end again
            _LOGGER.error("jobs: %s", self._harness.redact("".join(traceback.format_exception(error))))
        return False

    def _rest_s(self) -> float:
        needs_looks = any(each.process.pidfd is None or each.signals_sent for each in self._running.values())
        return LOOK_S if needs_looks else REST_S

    def _step(self) -> bool:
        """Whether all of it went well."""
        ended = [each for each in self._running.values() if each.process.has_ended]
        tried = [self._try(self._ended, running) for running in ended]
        tried += [self._try(self._stop, job) for job in self._harness.call(list_jobs, "cancelling")]
        queued = self._harness.call(list_jobs, "queued") if len(self._running) < self._limit else []
        tried += [self._try(self._start, job) for job in queued[: self._limit - len(self._running)]]
        return all(tried)

    # Processes

    def _start(self, job: Job) -> None:
        """It is running in the store before its process is there: a server that dies in between finds it dead."""
        now = self._harness.context.timestamp
        is_resumed = job.is_resumed or self._is_stored(job)
        begun = job.model_copy(
            update={"state": "running", "is_resumed": is_resumed, "tries": job.tries + 1, "started_at": now()}
        )
        if not self._put(begun, was="queued"):
            return
        process = None
        try:
            process = self._harness.call(launch_job, begun, self._store, self._logs.path(job.run_id))
        except ValueError as error:  # a word that no program can be given
            raise HarnessError(f"job {job.run_id} cannot be started: {error}") from None
        finally:
            if process is None:
                self._put(begun.model_copy(update={"state": "interrupted", "ended_at": now()}), was="running")
        known = begun.model_copy(update={"process": process.mark})
        self._watch(known, process)
        if not self._put(known, was="running"):  # somebody has cancelled it meanwhile
            self._put(known.model_copy(update={"state": "cancelling"}), was="cancelling")

    def _adopt(self, job: Job) -> None:
        process = None if job.process is None else self._harness.call(adopt_process, job.process)
        if process is not None and not process.has_ended:
            self._watch(job, process)
            return
        if process is not None:
            process.close()
        ended = self._with_end(job, None)
        may_go_on = ended.state == "interrupted" and job.tries < MOST_STARTS
        self._put(_queued_again(ended) if may_go_on else ended, was=job.state)
        self._logs.close(job.run_id)

    def _watch(self, job: Job, process: DetachedProcess) -> None:
        self._running[job.run_id] = _Running(job, process)
        if process.pidfd is not None:
            self._selector.register(process.pidfd, selectors.EVENT_READ)

    def _unwatch(self, running: _Running) -> None:
        if running.process.pidfd is not None:
            self._selector.unregister(running.process.pidfd)
        running.process.close()
        del self._running[running.job.run_id]

    def _ask_to_stop(self, running: _Running) -> None:
        if time.monotonic() < running.next_signal_s:
            return
        if running.signals_sent == len(SIGNALS):
            running.process.kill()
            return
        number, patience_s = SIGNALS[running.signals_sent]
        running.process.send(number)
        running.signals_sent += 1
        running.next_signal_s = time.monotonic() + patience_s

    def _stop(self, job: Job) -> None:
        if job.run_id in self._running:
            self._ask_to_stop(self._running[job.run_id])
        else:  # it never had a process
            self._put(self._with_end(job, None), was="cancelling")

    def _ended(self, running: _Running) -> None:
        """It is watched until the store knows."""
        while (job := self._harness.context.store.jobs.find(running.job.run_id)) is not None and job.is_active:
            if self._put(self._with_end(job, running.process.exit_code), was=job.state):
                break
        self._unwatch(running)
        self._logs.close(running.job.run_id)

    def _with_end(self, job: Job, exit_code: int | None) -> Job:
        """How a process ended is in its exit code, if it is known and not that of a kill; else its runs say it."""
        state: JobState = "ended"
        is_orderly = exit_code is not None and exit_code >= 0 and exit_code != INTERRUPTED_CODE
        if not is_orderly and not self._came_to_an_end(job):
            state = "cancelled" if job.state == "cancelling" else "interrupted"
        update = {"state": state, "exit_code": exit_code, "ended_at": self._harness.context.timestamp()}
        return job.model_copy(update=update)

    def _came_to_an_end(self, job: Job) -> bool:
        """Whether its runs are finished, or stopped for a reason of their own, such as their spend cap."""
        ends = self._harness.call(ends_of_job, job)
        return bool(ends) and all(end.is_over for end in ends)

    def _is_stored(self, job: Job) -> bool:
        return bool(self._harness.call(ends_of_job, job))

    def _put(self, job: Job, *, was: JobState) -> bool:
        return self._harness.context.store.jobs.put(job, was=was)


def _queued_again(job: Job) -> Job:
    return job.model_copy(update={"state": "queued", "process": None, "ended_at": None})
