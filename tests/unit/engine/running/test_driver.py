"""Driving trials: retries, stops, limits, order; and the states always add up, whatever targets do."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalharness import Answer, Harness, Settings, evaluate
from evalharness.contracts.executor import RunSpec
from evalharness.contracts.store import Store
from evalharness.domain.case import Case
from evalharness.domain.report import RunSummary
from evalharness.domain.run import Run, RunLock, RunOptions
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite, SuiteConfig
from evalharness.domain.transcript import Usage
from evalharness.domain.trial import Trial
from evalharness.engine.gating.run_verdict import run_verdict
from evalharness.engine.measuring.summary import summarise
from evalharness.engine.measuring.trial_counts import count_trials
from evalharness.engine.running.budget import RunBudget
from evalharness.engine.running.driver import MAX_BACKLOG, RunDriver, pending_units, skipped_trials
from evalharness.engine.running.local_executor import LocalExecutor
from evalharness.engine.running.trial_worker import LONGEST_PAUSE_S, pause_s
from evalharness.errors import SpendCapReached, StoreError, TargetUnavailable, TrialSkipped
from evalharness.reports.words.say import say
from evalharness.testing.store import FakeStore


@dataclass(frozen=True)
class Ended:
    """The result of a run: why it stopped, its stored trials, and what a report would say about them."""

    stopped: str
    trials: tuple[Trial, ...]
    summary: RunSummary
    verdict: str
    exit_code: int


Tell = Callable[[Trial, RunDriver], None]


def run_watched(
    suite: Suite,
    target: Callable[..., Any],
    *,
    tell: Tell | None = None,
    max_concurrency: int = 10,
    max_failures: int | None = None,
    stop_first: bool = False,
    run_ahead: int | None = None,
    store: Store | None = None,
    time_left_s: float | None = None,
) -> Ended:
    """The driver on a real store, with a callback for each trial that may stop the run."""

    async def work(store: Store) -> Ended:
        spec = TargetSpec.model_validate(target)
        options = RunOptions(max_concurrency=max_concurrency)
        budget = RunBudget()
        [run] = store.add_runs([planned_run(suite, spec)])
        driver = RunDriver(
            run_id=run.id,
            store=store,
            budget=budget,
            max_failures=max_failures,
            on_trial=lambda trial: tell(trial, driver) if tell else None,
            run_ahead=run_ahead,
        )
        if stop_first:
            driver.stop("interrupted")
        units = pending_units((case.id for case in suite.cases), suite.trials, 0, {}, {})
        async with LocalExecutor().open(RunSpec(suite, spec, Path.cwd(), options), budget) as session:
            stopped = await asyncio.wait_for(driver.drive(session, units, time_left_s), 60)
        store.flush()
        summary = summarise(suite, count_trials(suite, suite.trials, store.outcomes(run.id)))
        verdict, exit_code, _ = run_verdict(summary, suite.max_error_rate, stopped)
        return Ended(stopped, tuple(store.trials(run.id)), summary, verdict, exit_code)

    if store is not None:
        return asyncio.run(work(store))
    with Harness.open(":memory:", settings=Settings()) as harness:
        return asyncio.run(work(harness.context.store))


def planned_run(suite: Suite, target: TargetSpec) -> Run:
    lock = RunLock(harness_version="", python_version="", platform="", target="", seed=0, trials=suite.trials, cases={})
    return Run(id="", name="", matrix_id="", root="", created_at="", suite=suite, target=target, lock=lock)


def suite_of(count: int, *, trials: int = 1, expected: Any = "4", **config: Any) -> Suite:
    cases = tuple(Case(id=f"c{number}", input=f"c{number}", expected=expected) for number in range(count))
    return Suite(name="s", trials=trials, cases=cases, config=SuiteConfig(**{"retries": 0, **config}))


def stop_at_once(trial: Trial, driver: RunDriver) -> None:
    driver.stop("interrupted")


def states(run: Run | Ended) -> list[str]:
    return [trial.state for trial in run.trials]


class Answers:
    """A target that gives its answers in turn; exceptions among them are raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self, question: str) -> Any:
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        if isinstance(answer, Exception):
            raise answer
        return answer


class TestRetries:
    def test_an_error_is_repeated_as_often_as_the_suite_says(self) -> None:
        target = Answers(TargetUnavailable("down"))
        run = evaluate(suite_of(1, retries=2), target, store=":memory:")
        assert target.asked == 3
        assert [attempt.state for attempt in run.trials[0].attempts] == ["error"] * 3

    def test_a_failing_answer_is_not(self) -> None:
        target = Answers("5")
        run = evaluate(suite_of(1, retries=2), target, store=":memory:")
        assert (target.asked, states(run)) == (1, ["failed"])

    def test_the_case_knows_better_than_the_suite(self) -> None:
        for config in ({"retries": 3}, {"retry_count": 3}):
            target = Answers(TargetUnavailable("down"))
            suite = Suite(name="s", cases=(Case(id="a", input="?", retries=0),), config=SuiteConfig(**config))
            evaluate(suite, target, store=":memory:")
            assert target.asked == 1

    def test_a_grader_that_cannot_decide_is_an_error_too(self) -> None:
        target = Answers("4")
        verdicts: Iterator[Any] = iter([RuntimeError("judge is down"), True])

        def grader(context: Any) -> bool:
            verdict = next(verdicts)
            if isinstance(verdict, Exception):
                raise verdict
            return bool(verdict)

        suite = Suite(name="s", cases=(Case(id="a", input="?", graders=(grader,)),), config=SuiteConfig(retries=1))
        run = evaluate(suite, target, store=":memory:")
        [trial] = run.trials
        assert [attempt.state for attempt in trial.attempts] == ["error", "passed"]
        assert "judge is down" in trial.attempts[0].reason

    def test_retry_failed_repeats_a_failing_answer_and_keeps_the_first_state(self) -> None:
        run = evaluate(suite_of(1, retry_failed=True, retry_count=2), Answers("5", "4"), store=":memory:")
        [trial] = run.trials
        assert [attempt.state for attempt in trial.attempts] == ["failed", "passed"]
        assert (trial.state, trial.first_state) == ("passed", "failed")
        assert run.report is not None
        assert (run.exit_code, run.pass_rate, run.report.metrics["pass_at_1"]) == (0, 1.0, 0.0)

    def test_retry_failed_ends_after_the_last_attempt(self) -> None:
        target = Answers("5")
        run = evaluate(suite_of(1, retry_failed=True, retry_count=2), target, store=":memory:")
        assert (target.asked, states(run), run.exit_code) == (3, ["failed"], 1)

    def test_the_first_state_is_that_of_the_first_answer_that_could_be_judged(self) -> None:
        target = Answers(TargetUnavailable("down"), "5", "4")
        run = evaluate(suite_of(1, retry_failed=True, retry_count=2), target, store=":memory:")
        [trial] = run.trials
        assert [attempt.state for attempt in trial.attempts] == ["error", "failed", "passed"]
        assert trial.first_state == "failed"

    def test_pauses_double_with_jitter_up_to_a_bound(self) -> None:
        for attempt in range(1, 40):
            pauses = [pause_s(attempt, Random(seed)) for seed in range(50)]
            assert 0 <= min(pauses) < max(pauses) <= LONGEST_PAUSE_S
        assert max(pause_s(1, Random(seed)) for seed in range(50)) <= 0.5

    def test_a_pause_comes_before_each_further_attempt(self) -> None:
        """On a loop that records how long it is to wait, and does not wait."""
        waited_s: list[float] = []
        seeds: set[int] = set()

        async def down(question: str, context: Any) -> None:
            if not seeds:
                loop = asyncio.get_running_loop()
                later = loop.call_later
                loop.call_later = lambda delay_s, *rest, **more: waited_s.append(delay_s) or later(0, *rest, **more)
            seeds.add(context.seed)
            raise TargetUnavailable("down")

        [trial] = run_watched(suite_of(1, retries=2), down).trials
        assert len(trial.attempts) == 3
        [seed] = seeds
        pauses = [pause_s(attempts, Random(f"{seed} {attempts}")) for attempts in (1, 2)]
        assert [wait for wait in waited_s if wait in pauses] == pauses


class TestStops:
    def test_stopping_leaves_the_rest_pending(self) -> None:
        async def target(question: str) -> str:
            if question == "c2":
                await asyncio.sleep(600)
            return "4"

        def tell(trial: Trial, driver: RunDriver) -> None:
            if trial.case_id == "c1":
                driver.stop("interrupted")

        run = run_watched(suite_of(5), target, tell=tell, max_concurrency=2)
        assert (run.stopped, run.verdict, run.exit_code) == ("interrupted", "INTERRUPTED", 130)
        assert {trial.case_id for trial in run.trials} >= {"c0", "c1"}
        assert "c2" not in {trial.case_id for trial in run.trials}
        assert run.summary.trials.pending == 5 - len(run.trials)

    def test_a_target_that_swallows_the_stop_is_stopped_and_its_answer_not_counted(self) -> None:
        asked: list[str] = []

        async def target(question: str) -> str:
            asked.append(question)
            if question == "c0":
                await asyncio.sleep(0.05)
                return "4"
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                pass
            return "cut short"

        run = run_watched(suite_of(6), target, tell=stop_at_once, max_concurrency=3)
        assert [trial.case_id for trial in run.trials] == ["c0"]
        assert len(asked) <= 4, "no further trial was started"

    def test_stopping_before_the_start_begins_nothing(self) -> None:
        target = Answers("4")
        run = run_watched(suite_of(3), target, stop_first=True)
        assert (run.exit_code, run.trials, target.asked) == (130, (), 0)

    def test_a_sync_function_under_way_does_not_delay_the_stop(self) -> None:
        release = threading.Event()

        def target(question: str) -> str:
            if question == "c1":
                release.wait(60)
            return "4"

        started = time.monotonic()
        try:
            run = run_watched(suite_of(2), target, tell=stop_at_once, max_concurrency=2)
        finally:
            release.set()
        assert time.monotonic() - started < 30
        assert [trial.case_id for trial in run.trials] == ["c0"]

    def test_max_failures(self) -> None:
        asked: list[str] = []

        async def target(question: str) -> str:
            asked.append(question)
            return "4" if question in ("c0", "c2") else "5"

        run = run_watched(suite_of(10), target, max_concurrency=1, max_failures=2)
        assert asked == ["c0", "c1", "c2", "c3"]
        assert [(trial.case_id, trial.state) for trial in run.trials] == [
            ("c0", "passed"),
            ("c1", "failed"),
            ("c2", "passed"),
            ("c3", "failed"),
        ]
        assert (run.stopped, run.exit_code, run.summary.trials.pending) == ("max failures", 1, 6)

    def test_errors_are_not_failures(self) -> None:
        target = Answers(TargetUnavailable("down"))
        run = run_watched(suite_of(4), target, max_concurrency=1, max_failures=1)
        assert states(run) == ["error"] * 4

    def test_a_first_trial_without_an_answer_says_nothing_about_what_others_cost(self) -> None:
        async def target(question: str) -> Answer:
            await asyncio.sleep(0.01)
            if question == "c0":
                raise TargetUnavailable("down")
            return Answer(output="4", usage=Usage(input_tokens=390, output_tokens=10))

        run = evaluate(suite_of(50), target, max_concurrency=50, max_tokens=1000, store=":memory:")
        assert 2 <= states(run).count("passed") <= 3

    def test_the_global_time_limit_leaves_the_rest_pending_and_the_run_invalid(self) -> None:
        async def target(question: str) -> str:
            await asyncio.sleep(0 if question == "c0" else 600)
            return "4"

        run = evaluate(suite_of(4, timeout_global=0.5), target, max_concurrency=2, store=":memory:")
        assert run.report is not None
        assert [trial.case_id for trial in run.trials] == ["c0"]
        assert (run.report.verdict, run.exit_code, run.report.summary.trials.pending) == ("INVALID", 3, 3)
        assert "time limit" in say(run.report.why)

    def test_a_global_time_limit_that_is_not_reached_changes_nothing(self) -> None:
        run = evaluate(suite_of(2, timeout_global=600), Answers("4"), store=":memory:")
        assert (run.exit_code, states(run)) == (0, ["passed", "passed"])

    def test_what_breaks_the_harness_itself_ends_the_run_at_once(self) -> None:
        async def target(question: str) -> str:
            await asyncio.sleep(0 if question == "c0" else 600)
            return "4"

        def tell(trial: Trial, driver: RunDriver) -> None:
            raise StoreError("disk full")

        with pytest.raises(StoreError, match="disk full"):
            run_watched(suite_of(3), target, tell=tell, max_concurrency=3)


class TestOrder:
    def test_every_case_once_before_any_twice(self) -> None:
        seen: list[tuple[str, int]] = []

        async def target(question: str, context: Any) -> str:
            seen.append((question, context.index))
            return "4"

        evaluate(suite_of(3, trials=2), target, max_concurrency=1, store=":memory:")
        assert seen == [("c0", 0), ("c1", 0), ("c2", 0), ("c0", 1), ("c1", 1), ("c2", 1)]

    def test_what_is_done_is_not_done_again(self) -> None:
        left = pending_units(["a", "b"], 3, 0, {"a": 0b101, "b": 0b010}, {("b", 0): ()})
        assert [(unit.case_id, unit.trial_index) for unit in left] == [("b", 0), ("a", 1), ("b", 2)]

    def test_no_more_at_once_than_allowed(self) -> None:
        running = most = 0
        deadline = time.monotonic() + 30

        async def target(question: str) -> str:
            nonlocal running, most
            running += 1
            most = max(most, running)
            while most < 3 and time.monotonic() < deadline:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.01)
            running -= 1
            return "4"

        evaluate(suite_of(9), target, max_concurrency=3, store=":memory:")
        assert most == 3

    def test_the_same_trial_has_the_same_seed_in_every_run_and_its_own_in_each(self) -> None:
        runs = [evaluate(suite_of(3, trials=3), Answers("4"), store=":memory:") for _ in range(2)]
        seeds = [[trial.seed for trial in run.trials] for run in runs]
        assert seeds[0] == seeds[1]
        assert len(set(seeds[0])) == 9
        other = evaluate(suite_of(3, trials=3, seed=1), Answers("4"), store=":memory:")
        assert not set(seeds[0]) & {trial.seed for trial in other.trials}


STATE_OF = {
    "pass": "passed",
    "fail": "failed",
    "raise": "failed",
    "exit": "failed",
    "none": "failed",
    "hang": "failed",
    "late": "failed",
    "cancel": "failed",
    "refuse": "error",
    "skip": "skipped",
    "puzzle": "error",
}


async def behave(how: str) -> Any:
    match how:
        case "raise":
            raise ValueError("no idea")
        case "exit":
            raise SystemExit(0)
        case "none":
            return None
        case "hang":
            await asyncio.sleep(600)
        case "late":
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                return "4"
        case "cancel":
            raise asyncio.CancelledError
        case "refuse":
            raise ConnectionRefusedError
        case "skip":
            raise TrialSkipped("not today")
    return {"pass": "4", "fail": "5"}.get(how, how)


def four(context: Any) -> bool:
    if context.output == "puzzle":
        raise ValueError("the grader is puzzled")
    return bool(context.output == "4")


behaviours = st.lists(st.lists(st.sampled_from(sorted(STATE_OF)), min_size=2, max_size=2), min_size=1, max_size=6)


def test_where_no_time_is_left_nothing_is_begun() -> None:
    target = Answers("4")
    ended = run_watched(suite_of(3), target, time_left_s=0.0)
    assert (ended.stopped, target.asked, ended.trials) == ("time limit", 0, ())


def test_others_run_as_far_ahead_of_a_slow_trial_as_they_may_and_no_further() -> None:
    begun: list[str] = []
    meanwhile: list[str] = []

    async def target(question: str) -> str:
        begun.append(question)
        if question == "c0":
            for _ in range(200):  # as many turns of the loop as the others can use
                await asyncio.sleep(0)
            meanwhile.extend(begun)
        return "4"

    run_watched(suite_of(12), target, max_concurrency=2, run_ahead=3)
    assert meanwhile == ["c0", "c1", "c2", "c3", "c4"]
    assert len(begun) == 12


def test_a_cap_that_the_last_trial_reached_is_what_stopped_the_run(tmp_path: Path) -> None:
    """Otherwise a resume would not know that nothing more may be spent."""

    def target(question: str) -> Answer:
        return Answer(output="4", cost_usd=0.25)

    for cap, why in ((0.5, "spend cap"), (0.51, "")):
        place = tmp_path / f"{cap}.db"
        assert evaluate(suite_of(2), target, max_cost_usd=cap, store=str(place)).exit_code == 0
        with closing(sqlite3.connect(place)) as store:
            assert store.execute("SELECT stopped FROM runs").fetchall() == [(why,)]


def test_an_answer_that_is_graded_again_is_paid_for_once() -> None:
    asked: list[str] = []

    def target(question: str) -> Answer:
        asked.append(question)
        return Answer(output="4", cost_usd=0.5, usage=Usage(input_tokens=10, output_tokens=1))

    def unsteady(context: Any) -> bool:
        if len(asked) == 1:
            asked.append("graded")
            raise ConnectionError("the judge is down")
        return True

    case = Case(id="c0", input="c0", graders=(unsteady,))
    suite = Suite(name="s", cases=(case,), config=SuiteConfig(retries=1))
    run = evaluate(suite, target, store=":memory:")
    [trial] = run.trials
    assert (trial.state, len(trial.attempts), asked) == ("passed", 2, ["c0", "graded"])
    answers = [attempt.transcript for attempt in trial.attempts if attempt.transcript]
    assert [(answer.cost_usd, answer.usage is None) for answer in answers] == [(0.5, False), (None, True)]


class SlowStore(FakeStore):
    """Reports that it has fallen behind until it was asked often enough."""

    def __init__(self, patience: int) -> None:
        super().__init__()
        self.asked = 0
        self._patience = patience

    @property
    def backlog(self) -> int:
        self.asked += 1
        return MAX_BACKLOG + (self.asked < self._patience)


def test_a_store_that_falls_behind_is_waited_for() -> None:
    """Otherwise a fast target fills the memory with trials that a slow disk has not stored yet."""
    begun_while_behind: list[int] = []
    store = SlowStore(patience=20)
    begun = 0

    async def fast(question: str) -> str:
        nonlocal begun
        begun += 1
        if store.asked < 20:
            begun_while_behind.append(begun)
        return "4"

    run = run_watched(suite_of(50), fast, max_concurrency=2, store=store)
    assert states(run) == ["passed"] * 50
    assert 1 <= len(begun_while_behind) <= 6, "the running ones, those handed over, and no more"


@settings(max_examples=40)
@given(
    plan=behaviours,
    max_failures=st.none() | st.integers(1, 4),
    stop_after=st.none() | st.integers(1, 6),
    concurrency=st.integers(1, 4),
)
def test_states_always_add_up(
    plan: list[list[str]], max_failures: int | None, stop_after: int | None, concurrency: int
) -> None:
    async def target(question: int, context: Any) -> Any:
        return await behave(plan[question][context.index])

    finished: list[Trial] = []

    def tell(trial: Trial, driver: RunDriver) -> None:
        finished.append(trial)
        if len(finished) == stop_after:
            driver.stop("interrupted")

    cases = tuple(Case(id=str(number), input=number, graders=(four,)) for number in range(len(plan)))
    config = SuiteConfig(timeout_seconds=0.05, retries=0)
    suite = Suite(name="s", trials=2, cases=cases, config=config)
    run = run_watched(suite, target, tell=tell, max_concurrency=concurrency, max_failures=max_failures)

    summary = run.summary
    counts = summary.trials.model_dump()
    planned = counts.pop("planned")
    assert planned == 2 * len(plan) == sum(counts.values())
    decided = summary.passed + summary.failed + summary.errors + summary.skipped + summary.awaiting + summary.pending
    assert decided == summary.total_evals == len(plan)

    keys = [(trial.case_id, trial.index) for trial in run.trials]
    assert len(keys) == len(set(keys)) == planned - counts["pending"] == len(finished)
    for trial in run.trials:
        assert trial.state == STATE_OF[plan[int(trial.case_id)][trial.index]], trial.reason
    found = Counter(trial.state for trial in run.trials)
    assert {state: number for state, number in counts.items() if number and state != "pending"} == found
    if max_failures is None and stop_after is None:
        assert counts["pending"] == 0
    if counts["passed"] < planned:
        assert run.exit_code != 0 or counts["failed"] + counts["pending"] == 0


def test_a_slow_trial_that_cannot_be_paid_for_delays_no_other() -> None:
    """The others have run as far ahead of it as they may, and wait for it to end."""

    async def target(question: str) -> str:
        if question == "c0":
            await asyncio.sleep(0.2)
            raise SpendCapReached("nothing is left")
        return "4"

    ended = run_watched(suite_of(20), target, max_concurrency=3, run_ahead=4)
    assert ended.stopped == "spend cap"
    assert ended.trials
    assert {trial.state for trial in ended.trials} == {"passed"}


def test_trials_that_are_not_tried_share_what_became_of_them() -> None:
    """There may be a hundred thousand of them, and each has its own seed."""
    left = pending_units(["a", "b"], 2, 7, {"a": 0b01}, {})
    skipped = list(skipped_trials(left, "decided", {("a", 1)}))
    assert [(trial.case_id, trial.index, trial.reason) for trial in skipped] == [
        ("b", 0, "not needed: decided"),
        ("a", 1, "not needed: given up under way, decided"),
        ("b", 1, "not needed: decided"),
    ]
    assert len({id(trial.last) for trial in skipped}) == 2
    assert len({trial.seed for trial in skipped}) == 3
