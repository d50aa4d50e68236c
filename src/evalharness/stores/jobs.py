"""The table of jobs. A change counts only if the job is still in the state that it was read in."""

from __future__ import annotations

from collections.abc import Collection
from typing import get_args

from evalharness.contracts.store import JobStore
from evalharness.domain.job import Job, JobState
from evalharness.redaction import Redactor
from evalharness.stores import statements
from evalharness.stores.cleaning import clean_text
from evalharness.stores.decoding import Decoder
from evalharness.stores.sqlite import Database


class StoredJobs(JobStore):
    """For one view of the store: what is kept has been redacted."""

    def __init__(self, database: Database, decoder: Decoder, redactor: Redactor) -> None:
        self._database = database
        self._decoder = decoder
        self._redactor = redactor

    def put(self, job: Job, was: JobState | None = None) -> bool:
        body = clean_text(job.model_dump_json(exclude_defaults=True), self._redactor)
        with self._database.transaction() as connection:
            if was is None:
                return connection.execute(statements.ADD_JOB, (job.run_id, job.state, body)).rowcount == 1
            return connection.execute(statements.CHANGE_JOB, (job.state, body, job.run_id, was)).rowcount == 1

    def find(self, run_id: str) -> Job | None:
        for (body,) in self._database.read(statements.FIND_JOB, (run_id,)):
            return self._decoder.job(body)
        return None

    def listed(self, states: Collection[JobState] = get_args(JobState)) -> list[Job]:
        rows = self._database.read(statements.list_jobs(len(states)), tuple(states))
        return [self._decoder.job(body) for (body,) in rows]

    def remove(self, run_id: str) -> None:
        with self._database.transaction() as connection:
            connection.execute(statements.REMOVE_JOB, (run_id,))
