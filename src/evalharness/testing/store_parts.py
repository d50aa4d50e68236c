"""What belongs to a FakeStore besides runs: the jobs of servers and the verdicts of judges, in dictionaries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import get_args

from pydantic_core import from_json, to_json

from evalharness.contracts.store import JobStore
from evalharness.domain.job import Job, JobState
from evalharness.domain.stored import CacheLine
from evalharness.values.json_value import Json


class FakeJobs(JobStore):
    """By run id, each job as JSON."""

    def __init__(self, jobs: dict[str, str], lock: threading.RLock, clean: Callable[[str], str]) -> None:
        self._jobs = jobs
        self._lock = lock
        self._clean = clean

    def put(self, job: Job, was: JobState | None = None) -> bool:
        with self._lock:
            found = self.find(job.run_id)
            if (found and found.state) != was:
                return False
            self._jobs[job.run_id] = self._clean(job.model_dump_json())
            return True

    def find(self, run_id: str) -> Job | None:
        body = self._jobs.get(run_id)
        return None if body is None else Job.model_validate_json(body)

    def listed(self, states: Collection[JobState] = get_args(JobState)) -> list[Job]:
        jobs = map(Job.model_validate_json, self._jobs.values())
        return [job for job in jobs if job.state in states]

    def remove(self, run_id: str) -> None:
        self._jobs.pop(run_id, None)


class FakeJudgeCache:
    """Implements `contracts.VerdictStore`: by key, the verdict as JSON and when it was first kept."""

    def __init__(
        self, verdicts: dict[str, tuple[str, str]], clean: Callable[[str], str], moment: Callable[[], str]
    ) -> None:
        self._verdicts = verdicts
        self._clean = clean
        self._moment = moment

    async def get(self, key: str) -> Json:
        return from_json(self._verdicts[key][0]) if key in self._verdicts else None

    async def set(self, key: str, value: Json) -> None:
        _, kept_at = self._verdicts.get(key, ("", self._moment()))
        self._verdicts[key] = self._clean(to_json(value).decode()), kept_at

    async def has(self, key: str) -> bool:
        return key in self._verdicts

    async def clear(self) -> None:
        self.remove()

    def remove(self, before: str = "") -> int:
        old = [key for key, (_, kept_at) in self._verdicts.items() if not before or kept_at < before]
        for key in old:
            del self._verdicts[key]
        return len(old)

    def line(self) -> CacheLine:
        size = sum(len(key) + len(body) for key, (body, _) in self._verdicts.items())
        return CacheLine(
            len(self._verdicts), size, min((kept_at for _, kept_at in self._verdicts.values()), default="")
        )
