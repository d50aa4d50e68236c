"""The command that does what a job does: shown to people, and started by the server."""

from __future__ import annotations

import os
from pathlib import Path

from evalharness.domain.job import Job, JobRequest
from evalharness.domain.run import Run

DEFAULT_SANDBOX = "bubblewrap"


def job_command(job: Job) -> list[str]:
    """The words after `eval-harness`, without the store."""
    if job.request is None or job.is_resumed:
        return ["resume", job.run_id]
    return run_command(job.request)


def process_words(job: Job, store: str) -> list[str]:
    """The same for the process that the server starts: on its store, and under the id that it has chosen."""
    command, *words = job_command(job)
    flags = [f"--store={store}", "--no-color"]
    return [command, *flags, *([] if command == "resume" else [f"--run-id={job.run_id}"]), *words]


def run_command(request: JobRequest) -> list[str]:
    """What begins with a dash is written so that it is not taken for a flag."""
    words: list[str] = []
    for flag, value in (
        ("--format", request.format_name),
        ("--target", request.target),
        ("--repeat", _written(request.trials)),
        ("--timeout", _written(request.timeout_s)),
        ("--seed", _written(request.seed)),
        ("--fail-under", _written(request.fail_under)),
        ("--baseline", request.baseline),
        ("--judge-model", request.judge_model),
        ("--sandbox", request.sandbox),
        ("--max-concurrency", _written(request.max_concurrency)),
        ("--max-cost", _written(request.max_cost_usd)),
    ):
        words += _flag(flag, value) if value else []
    for name, value in request.variables.items():
        words += _flag("--var", f"{name}={value}")
    if request.failed_of is not None:  # at the end: its value may be left out
        words += _flag("--failed", request.failed_of) if request.failed_of else ["--failed"]
    if request.suite.startswith("-"):
        return ["run", *words, "--", request.suite]
    return ["run", request.suite, *words]


def rerun_of(run: Run, failed_of: str | None = None) -> JobRequest:
    """What was run, as it was named then; its suite is empty if it cannot be named."""
    options, origin = run.options, run.options.origin
    return JobRequest(
        suite=_suite_from_here(run) if origin.has_words else "",
        format_name=origin.format_name,
        target=origin.target,
        trials=origin.trials,
        timeout_s=origin.timeout_s,
        seed=origin.seed,
        fail_under=origin.fail_under,
        baseline=origin.baseline,
        judge_model=options.judge_model,
        sandbox="" if options.sandbox == DEFAULT_SANDBOX else options.sandbox,
        variables=origin.variables,
        failed_of=failed_of,
    )


def _suite_from_here(run: Run) -> str:
    """As it was named, or its path from the current folder where that is another one than the run was started in."""
    named = Path(run.options.origin.suite)
    file = Path(run.root, named.name)
    if not file.is_file() or (named.exists() and named.samefile(file)):
        return run.options.origin.suite
    return os.path.relpath(file)


def _flag(flag: str, value: str) -> list[str]:
    return [f"{flag}={value}"] if value.startswith("-") else [flag, value]


def _written(number: float | None) -> str:
    """In full; empty for None."""
    return "" if number is None else f"{number:.15g}"
