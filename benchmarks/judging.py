"""Judges: many calls of one that takes 200 ms, compared with a bare aiohttp loop; and grading again from the cache."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp

from benchmarks.bare_loop import ask_all
from benchmarks.http_server import DELAY_S
from benchmarks.options import BenchmarkOptions
from benchmarks.question import ANSWER, QUESTION
from benchmarks.serving import served
from benchmarks.table import Row
from benchmarks.timing import Cost, cost_of, typical
from evalharness import Harness
from evalharness.actions.regrade_run import RegradeRequest, regrade_runs
from evalharness.actions.run_suite import RunRequest, run_suites
from evalharness.cli.process import signals_handled
from evalharness.contracts.execution import StopSignal
from evalharness.contracts.executor import RunSpec
from evalharness.contracts.grader import GradeContext
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.run import Run, RunOptions
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import LoadedFile, Suite
from evalharness.domain.transcript import Transcript
from evalharness.engine.running.parts import build_services, close_services
from evalharness.graders.judges.prompts import template
from evalharness.graders.judges.question import Sampling, together
from evalharness.graders.judges.reply_form import with_echo
from evalharness.graders.judges.score_sheet import ScoreSheet, Scoring
from evalharness.llms.openai_compatible import request_body
from evalharness.registry import build_grader
from evalharness.reports.words.say import say
from evalharness.settings import Settings

CALLS = 2_000
AT_ONCE = 200
MOST_RATIO = 1.3
REGRADED = 10_000
TRIALS_PER_CASE = 10
LONGEST_REGRADE_S = 3.0
JUDGE = "bench/judge"
SERVER = "benchmarks.judge_server"


def measure(options: BenchmarkOptions) -> Iterator[Row]:
    yield from _calls(options)
    yield _warm_regrade(options)


def _calls(options: BenchmarkOptions) -> Iterator[Row]:
    """Not fewer in a quick run: the number of requests starts low, and this must not weigh more than it does.

    Only the grades have a budget; the whole run also validates its judge, plans, stores and reports.
    """
    grades, runs, bare = [], [], []
    with served(SERVER, str(DELAY_S)) as url:
        for _ in range(options.rounds):
            bare.append(cost_of(lambda: asyncio.run(_bare(url))))
            grades.append(cost_of(lambda: asyncio.run(_grade(url))))
            runs.append(cost_of(lambda: _run_judged(url, CALLS)))
    yield _beside_bare("grades", typical(grades), typical(bare), MOST_RATIO)
    yield _beside_bare("trials, the whole run", typical(runs), typical(bare), None)


def _beside_bare(what: str, cost: Cost, yardstick: Cost, most: float | None) -> Row:
    ratio = cost.wall_s / yardstick.wall_s
    return Row(
        f"{CALLS:,} {what}, by a judge of {DELAY_S * 1000:.0f} ms, {AT_ONCE} at once",
        f"{cost.wall_s:.2f} s wall, {cost.cpu_s:.2f} s CPU (the waiting alone: {CALLS / AT_ONCE * DELAY_S:.1f} s)",
        f"{ratio:.2f} × bare aiohttp ({yardstick.wall_s:.2f} s; CPU {cost.cpu_s / yardstick.cpu_s:.2f} ×)",
        "" if most is None else f"≤ {most} ×",
        None if most is None else ratio <= most,
    )


async def _grade(url: str) -> None:
    """Every answer is different; verdicts are not kept."""
    suite = judged_suite(TRIALS_PER_CASE)
    options = RunOptions(max_concurrency=AT_ONCE, use_cache=False)
    environment = {**Settings.read().environment, "BENCH_BASE_URL": url}
    services = build_services(RunSpec(suite, None, Path(), options, environment=environment))
    grader = build_grader(suite.graders[0], services)

    async def grade(number: int) -> Grade:
        return await grader.grade(GradeContext(suite.cases[0], Transcript(output=f"{ANSWER} {number}"), number, number))

    try:
        with signals_handled(StopSignal()):  # as in every run
            grades = await together(grade, range(CALLS), AT_ONCE)
    finally:
        await close_services(services)
    if not all(grade.passed for grade in grades):
        raise SystemExit("a grade of the judge is not a pass")


def _warm_regrade(options: BenchmarkOptions) -> Row:
    trials = options.scaled(REGRADED)
    with served(SERVER, "0") as url, TemporaryDirectory() as folder:
        with _opened(folder) as harness:
            run = _judged_run(harness, Path(folder), url, trials)
        cost = typical(cost_of(lambda: _regrade(folder, run, url)) for _ in range(options.rounds))
    return Row(
        f"regrade of {trials:,} trials whose verdicts are in the cache",
        f"{cost.wall_s:.2f} s wall, {cost.cpu_s:.2f} s CPU",
        "",
        f"≤ {LONGEST_REGRADE_S * trials / REGRADED:g} s",
        cost.wall_s <= LONGEST_REGRADE_S * trials / REGRADED,
    )


def _run_judged(url: str, trials: int) -> None:
    with TemporaryDirectory() as folder, _opened(folder) as harness:
        _judged_run(harness, Path(folder), url, trials)


def _judged_run(harness: Harness, folder: Path, url: str, trials: int) -> Run:
    """A separate call judges every trial, so that no verdict is used twice."""
    file = LoadedFile(folder / "suite.yaml", judged_suite(trials))
    options = RunOptions(max_concurrency=AT_ONCE)
    with signals_handled(StopSignal()):
        [run] = harness.call(run_suites, RunRequest(suites=(file,), options=options, env={"BENCH_BASE_URL": url}))
    _check(run, trials, calls=trials)
    return run


def _regrade(folder: str, run: Run, url: str) -> None:
    request = RegradeRequest(run.name, env={"BENCH_BASE_URL": url})
    with _opened(folder) as harness, signals_handled(StopSignal()):
        [regrade] = harness.call(regrade_runs, request)
    _check(regrade.run, run.planned_trials, calls=0)


def _check(run: Run, trials: int, calls: int) -> None:
    report = run.report
    if report is None or not run.passed or [took.calls for took in report.judging] != [calls]:
        raise SystemExit(
            f"{trials} trials were not judged by {calls} calls: {report and (say(report.why), report.judging)}"
        )


def judged_suite(trials: int) -> Suite:
    """Cases of ten trials each; a judge that samples is asked about each of them."""
    options = {"model": JUDGE, "rubric": "Is it polite?", "temperature": 1.0}
    return Suite(
        name="judged",
        target=TargetSpec(kind="echo"),
        trials=TRIALS_PER_CASE,
        graders=(GraderSpec(kind="model", options=options),),
        cases=tuple(
            Case(id=f"case-{number}", input=f"{ANSWER} {number}") for number in range(trials // TRIALS_PER_CASE)
        ),
    )


def _opened(folder: str) -> Harness:
    return Harness.open(f"{folder}/store.db")


async def _bare(url: str) -> None:
    """Sends the same request repeatedly; reads only the verdict of the reply."""
    body = _request()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def answer(_question: str) -> str:
            async with session.post(f"{url}/chat/completions", json=body) as response:
                said = json.loads((await response.json())["choices"][0]["message"]["content"])
                return ANSWER if said["overall_score"] == 5 else ""

        await ask_all(answer, CALLS, AT_ONCE)


def _request() -> object:
    """A prompt as large as ours."""
    form = with_echo(ScoreSheet((), Scoring()).form, "0" * 32)
    reported = template("scores").filled(
        {"input": QUESTION, "output": ANSWER, "rubric": "Is it polite?", "expected": ""}
    )
    closing = template("closing").filled({"nonce": "0" * 32, "form": form.shown()})
    return request_body("judge", Sampling().request(f"{reported}\n\n{closing}", form.schema()))
