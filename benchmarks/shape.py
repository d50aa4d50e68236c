"""The shape people use: many cases of one trial each, from a file to the verdict, as processes; and calls of a model.

Each size runs beside a bare loop and peers in the same run. Suites are JSON files: YAML has a row in `loading.py`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from urllib.request import urlopen

from benchmarks.options import BenchmarkOptions
from benchmarks.peer_costs import NO_TELEMETRY, is_installed
from benchmarks.process_cost import HARNESS, ProcessCost, cost_of_process, typical_process
from benchmarks.question import ANSWER, QUESTION, WANTED
from benchmarks.serving import served
from benchmarks.table import Row

AGENT = f"""\
async def answer(question):
    return {ANSWER!r}


async def echo(question):
    return question
"""
STORE = ".evalharness"
OWN = "ours, each case with its own expected text"
FIRST, SECOND, LARGE = 1_000, 10_000, 100_000
CASE_BUDGET_US = 150
PEAK_BUDGET_MB, CASE_BUDGET_KB = 90, 2.5
LARGE_RUN_BUDGET, LARGE_SHOW_BUDGET = (16.0, 300), (1.0, 150)
ONE_CASE_BUDGET_S = 0.35
ROUNDS_OF_STARTS = 9
STORED_RUNS = 1_000
STORE_BUDGET = 1.05
CALL_BUDGET_MS = 0.9
REGRADED, REGRADE_BUDGET_S = 10_000, 2.0


@dataclass(frozen=True, slots=True)
class Calls:
    calls: int
    at_once: int
    most_ratio: float
    in_flight: int = 0
    """How many calls must be under way at the same time at some moment; 0 where nothing is promised."""


CALLS = (Calls(2_000, 200, 1.3), Calls(2_000, 1_000, 1.6, 900), Calls(10_000, 1_000, 1.6, 900))


def measure(options: BenchmarkOptions) -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        Path(folder, "agent.py").write_text(AGENT, encoding="utf-8")
        cost_of_process([*HARNESS, "run", written_suite(folder, 1)], folder)  # compiles modules
        yield from _one_case(folder, options)
        yield from _cases(folder, options)
        yield from _growth(folder, options)
        yield _full_store(folder, options)


def measure_calls(options: BenchmarkOptions) -> Iterator[Row]:
    with TemporaryDirectory() as folder, served("benchmarks.chat_server") as server:
        for calls in CALLS:
            yield from _calls(folder, f"{server}/v1", calls, options)


def measure_regrade(options: BenchmarkOptions) -> Iterator[Row]:
    """The whole command; every verdict is in the cache."""
    trials = options.scaled(REGRADED)
    with TemporaryDirectory() as folder, served("benchmarks.judge_server", "0") as url:
        given = {"BENCH_BASE_URL": url}
        cost_of_process([*HARNESS, "run", _judged_suite(folder, trials), "-j", "100"], folder, given)
        costs = [cost_of_process([*HARNESS, "regrade", "latest"], folder, given) for _ in range(options.rounds)]
    cost, budget_s = typical_process(costs), REGRADE_BUDGET_S
    what = f"`eval-harness regrade` of {trials:,} trials whose verdicts are in the cache"
    yield Row(what, cost.shown(), "", f"≤ {budget_s:g} s", cost.wall_s <= budget_s)


def written_suite(folder: str, cases: int, trials: int = 1, *, own: bool = False) -> str:
    """The name of a suite file with this many cases, each with its own question; `own`: and its own expected text."""
    evals = [
        {
            "id": f"case-{number}",
            "input": f"{QUESTION} ({number})",
            "expected": {"contains": f"({number})" if own else WANTED},
        }
        for number in range(cases)
    ]
    name, target = f"shape-{cases}-{trials}{'-own' * own}", "agent.py:echo" if own else "agent.py:answer"
    return _written(folder, {"name": name, "target": target, "trials": trials, "test_cases": evals})


def _judged_suite(folder: str, trials: int) -> str:
    judge = {"model": "bench/judge", "rubric": "Is it polite?"}
    cases = [{"id": f"case-{number}", "input": f"{ANSWER} {number}"} for number in range(trials)]
    suite = {"name": "judged", "target": {"echo": {}}, "graders": [{"model": judge}], "test_cases": cases}
    return _written(folder, suite)


def _written(folder: str, suite: dict[str, object]) -> str:
    name = f"{suite['name']}.json"
    Path(folder, name).write_text(json.dumps(suite, indent=1), encoding="utf-8")
    return name


def _run(folder: str, suite: str, *more: str, keeps: bool = False) -> ProcessCost:
    """In a store of its own, unless `keeps`."""
    if not keeps:
        rmtree(Path(folder, STORE), ignore_errors=True)
    return cost_of_process([*HARNESS, "run", suite, *more], folder)


def _one_case(folder: str, options: BenchmarkOptions) -> Iterator[Row]:
    suite, rounds = written_suite(folder, 1), 3 if options.quick else ROUNDS_OF_STARTS
    nothing, ours, theirs = [], [], []
    peer = _peer(options)
    for _ in range(rounds):
        nothing.append(cost_of_process([sys.executable, "-c", "pass"], folder))
        ours.append(_run(folder, suite, keeps=True))
        if peer:
            theirs.append(cost_of_process([*peer, "1"], folder))
    yardstick, cost = typical_process(nothing), typical_process(ours)
    yield Row(
        "`eval-harness run suite.json`, one case", cost.shown(),
        f"{cost.wall_s / yardstick.wall_s:.1f} × `python -c pass` ({yardstick.wall_s:.3f} s)",
        f"≤ {ONE_CASE_BUDGET_S} s", cost.wall_s <= ONE_CASE_BUDGET_S,
    )  # fmt: skip
    if theirs:
        peers = typical_process(theirs)
        yield Row("pydantic-evals, one case", peers.shown(), f"{peers.wall_s / cost.wall_s:.1f} × ours")


def _cases(folder: str, options: BenchmarkOptions) -> Iterator[Row]:
    """What each further case costs, from 1,000 to 10,000: start-up takes no part in it."""
    commands = {
        "ours": [*HARNESS, "run"],
        OWN: [*HARNESS, "run"],
        "bare": [sys.executable, "-m", "benchmarks.bare_run"],
    }
    if peer := _peer(options):
        commands["pydantic-evals"] = [*peer]
    found: dict[tuple[str, int], list[ProcessCost]] = {}
    sizes = (FIRST, SECOND)
    suites = {(name, cases): written_suite(folder, cases, own=name == OWN) for name in ("ours", OWN) for cases in sizes}
    for _ in range(options.rounds):
        for cases in sizes:
            for name, command in commands.items():
                rmtree(Path(folder, STORE), ignore_errors=True)
                words = [*command, suites.get((name, cases), str(cases))]
                found.setdefault((name, cases), []).append(cost_of_process(words, folder))
    costs = {key: typical_process(taken) for key, taken in found.items()}
    slopes = {name: _slope(costs[name, FIRST], costs[name, SECOND]) for name in commands}
    bare_us, case_us = slopes["bare"][0], slopes["ours"][0]
    for name, (cpu_us, kilobytes) in slopes.items():
        is_ours = name == "ours"
        yield Row(
            f"{name}: each case from {FIRST:,} to {SECOND:,}", f"{cpu_us:.0f} µs CPU, {kilobytes:.1f} kB",
            f"{cpu_us / bare_us:.1f} × bare loop, {cpu_us / case_us:.1f} × ours",
            f"≤ {CASE_BUDGET_US} µs, ≤ {CASE_BUDGET_KB} kB" if is_ours else "",
            cpu_us <= CASE_BUDGET_US and kilobytes <= CASE_BUDGET_KB if is_ours else None,
        )  # fmt: skip
        peak = costs[name, SECOND].peak_mb
        yield Row(
            f"{name}: {SECOND:,} cases", costs[name, SECOND].shown(), "",
            f"≤ {PEAK_BUDGET_MB} MB" if is_ours else "", peak <= PEAK_BUDGET_MB if is_ours else None,
        )  # fmt: skip


def _slope(less: ProcessCost, more: ProcessCost) -> tuple[float, float]:
    cases = SECOND - FIRST
    return (more.cpu_s - less.cpu_s) / cases * 1e6, (more.peak_mb - less.peak_mb) / cases * 1024


def _growth(folder: str, options: BenchmarkOptions) -> Iterator[Row]:
    """Nothing may grow faster than linearly: the cost of a trial, start-up included, must not rise with size."""
    per_trial_us = 0.0
    for cases, trials in ((FIRST, 1), (SECOND, 1), (LARGE, 1), (SECOND, 100)):
        number = options.scaled(cases)
        cost = _run(folder, written_suite(folder, number, trials))
        each_us, each_kb = cost.cpu_s / number / trials * 1e6, cost.peak_mb / number / trials * 1024
        what = f"{number:,} cases × {trials}"
        per_case = f", {_each(each_us, each_kb, trials)} a case" if trials > 1 else ""
        within = cases != LARGE or _is_within(cost, LARGE_RUN_BUDGET)
        limit = f"≤ {LARGE_RUN_BUDGET[0]:g} s, ≤ {LARGE_RUN_BUDGET[1]} MB; " if cases == LARGE else ""
        grows = per_trial_us and each_us > 1.1 * per_trial_us
        yield Row(
            what, cost.shown(), f"{_each(each_us, each_kb, 1)} a trial{per_case}",
            f"{limit}a trial costs no more than in the row above" if per_trial_us else "",
            within and not grows if per_trial_us else None,
        )  # fmt: skip
        per_trial_us = each_us if trials == 1 else per_trial_us
        if cases == LARGE:
            shown = typical_process(
                cost_of_process([*HARNESS, "show", "latest"], folder) for _ in range(options.rounds)
            )
            yield Row(
                f"`eval-harness show RUN` of {what}", shown.shown(), "",
                f"≤ {LARGE_SHOW_BUDGET[0]:g} s, ≤ {LARGE_SHOW_BUDGET[1]} MB", _is_within(shown, LARGE_SHOW_BUDGET),
            )  # fmt: skip


def _each(cpu_us: float, kilobytes: float, times: int) -> str:
    return f"{cpu_us * times:,.0f} µs CPU and {kilobytes * times:.2f} kB"


def _is_within(cost: ProcessCost, budget: tuple[float, int]) -> bool:
    return cost.wall_s <= budget[0] and cost.peak_mb <= budget[1]


def _full_store(folder: str, options: BenchmarkOptions) -> Row:
    """A run of 1,000 cases in a store that has many runs, beside one in a store that has a single run."""
    small, suite, runs = written_suite(folder, 1), written_suite(folder, FIRST), options.scaled(STORED_RUNS)
    with TemporaryDirectory() as other:
        Path(other, "agent.py").write_text(AGENT, encoding="utf-8")
        written_suite(other, FIRST)
        _run(folder, small)
        for done in range(1, runs, LOT := 100):  # one process stores many runs: a suite on many targets is a matrix
            targets = [word for _ in range(min(LOT, runs - done)) for word in ("--target", "agent.py:answer")]
            cost_of_process([*HARNESS, "run", small, *targets], folder)
        full, empty = [], []
        for _ in range(max(3, options.rounds)):
            empty.append(_run(other, suite))
            full.append(_run(folder, suite, keeps=True))
    taken, before = typical_process(full), typical_process(empty)
    ratio = taken.cpu_s / before.cpu_s
    return Row(
        f"{FIRST:,} cases × 1 in a store with {runs:,} runs", taken.shown(),
        f"{ratio:.2f} × the CPU in an empty store", f"≤ {STORE_BUDGET} ×", ratio <= STORE_BUDGET,
    )  # fmt: skip


def _calls(folder: str, url: str, asked: Calls, options: BenchmarkOptions) -> Iterator[Row]:
    cases = [{"id": f"case-{number}", "input": f"{QUESTION} ({number})", "expected": {"contains": WANTED}}
             for number in range(asked.calls)]  # fmt: skip
    suite = _written(folder, {"name": "chat", "target": {"chat": {"model": "bench/m"}}, "test_cases": cases})
    at_once, given = str(asked.at_once), {"BENCH_BASE_URL": url}
    bare, ours, most = [], [], []
    for _ in range(options.rounds):
        bare.append(cost_of_process(
            [sys.executable, "-m", "benchmarks.bare_run", str(asked.calls), url, at_once], folder))  # fmt: skip
        _most(url)
        ours.append(cost_of_process([*HARNESS, "run", suite, "-j", at_once], folder, given))
        most.append(_most(url))
    cost, yardstick = typical_process(ours), typical_process(bare)
    ratio, call_ms = cost.wall_s / yardstick.wall_s, cost.cpu_s / asked.calls * 1000
    what = f"{asked.calls:,} calls of 200 ms, {asked.at_once:,} at once"
    yield Row(
        f"`chat` target, {what}", f"{cost.shown()}, {call_ms:.2f} ms CPU a call, {min(most)} in flight",
        f"{ratio:.2f} × bare aiohttp ({yardstick.wall_s:.2f} s, {yardstick.cpu_s / asked.calls * 1000:.2f} ms a call)",
        f"≤ {asked.most_ratio} ×, ≤ {CALL_BUDGET_MS} ms" + (f", ≥ {asked.in_flight}" if asked.in_flight else ""),
        ratio <= asked.most_ratio and call_ms <= CALL_BUDGET_MS and min(most) >= asked.in_flight,
    )  # fmt: skip
    if is_installed("lm_eval", options.peer_python) and not options.quick:
        words = [options.peer_python, "-m", "benchmarks.peers.lm_eval_chat_run", str(asked.calls), url, at_once]
        theirs = cost_of_process(words, folder, {**NO_TELEMETRY, "OPENAI_API_KEY": "none"})
        yield Row(f"lm-eval, {what}", theirs.shown(), f"{theirs.wall_s / cost.wall_s:.1f} × ours")


def _most(url: str) -> int:
    with urlopen(f"{url}/most") as reply:
        return int(json.load(reply))


def _peer(options: BenchmarkOptions) -> Sequence[str]:
    """Empty where pydantic-evals is not installed."""
    if not is_installed("pydantic_evals", options.peer_python):
        return ()
    return (options.peer_python, "-m", "benchmarks.peers.pydantic_evals_run")
