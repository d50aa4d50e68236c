"""Python functions that raise, exit or hang as targets: the trial says so, and the run continues."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from asking import run_once, run_suite

from evalharness import Case, Suite, TargetUnavailable, evaluate


class TestWhatIsRaised:
    @pytest.mark.parametrize("is_async", [False, True])
    def test_an_exception_fails_with_type_message_and_place(self, is_async: bool) -> None:
        def answer(question: str) -> str:
            raise ValueError("no idea")

        async def async_answer(question: str) -> str:
            return answer(question)

        trial = run_once(async_answer if is_async else answer)
        assert trial.state == "failed"
        line = answer.__code__.co_firstlineno + 1
        assert f"ValueError: no idea ({__file__}:{line})" in trial.reason

    @pytest.mark.parametrize("is_async", [False, True])
    def test_sys_exit_fails_the_trial_and_not_the_run(self, is_async: bool) -> None:
        def answer(question: str) -> str:
            sys.exit(0)

        async def async_answer(question: str) -> str:
            sys.exit(0)

        run = run_suite(async_answer if is_async else answer, cases=3)
        assert [trial.state for trial in run.trials] == ["failed"] * 3
        assert run.exit_code == 1
        assert "SystemExit" in run.trials[0].reason
        assert f"{__file__}:" in run.trials[0].reason

    @pytest.mark.parametrize("error", [StopIteration("odd"), KeyboardInterrupt(), GeneratorExit()], ids=repr)
    def test_exceptions_that_mean_something_to_python_fail_like_any_other(self, error: BaseException) -> None:
        def answer(question: str) -> str:
            raise error

        trial = run_once(answer)
        assert trial.state == "failed"
        assert type(error).__name__ in trial.reason

    def test_an_unrequested_cancellation_fails_the_trial_only(self) -> None:
        async def answer(question: str) -> str:
            raise asyncio.CancelledError

        run = run_suite(answer, cases=3)
        assert [trial.state for trial in run.trials] == ["failed"] * 3
        assert "CancelledError" in run.trials[0].reason

    def test_an_exception_that_cannot_be_shown_is_still_an_exception(self) -> None:
        class Unspeakable(Exception):
            def __str__(self) -> str:
                raise RuntimeError("not even its text")

        def answer(question: str) -> str:
            raise Unspeakable

        trial = run_once(answer)
        assert trial.state == "failed"
        assert "Unspeakable" in trial.reason

    def test_an_endless_message_is_cut(self) -> None:
        def answer(question: str) -> str:
            raise ValueError("x" * 1_000_000)

        assert len(run_once(answer).reason) < 5000

    class RateLimitError(Exception):
        """Named like those of well-known SDKs."""

    class Throttled(RateLimitError):
        pass

    @pytest.mark.parametrize(
        "error",
        [
            TargetUnavailable("the model is down"),
            ConnectionError("refused"),
            ConnectionResetError("reset"),
            RateLimitError("slow down"),
            Throttled("slower"),
            ExceptionGroup("group", [ConnectionError("one")]),
            ExceptionGroup("group", [ConnectionError("one"), RateLimitError("two")]),
        ],
        ids=repr,
    )
    def test_not_reaching_the_target_is_an_error_and_is_retried(self, error: Exception) -> None:
        calls: list[str] = []

        def answer(question: str) -> str:
            calls.append(question)
            raise error

        trial = run_once(answer, retries=1)
        assert trial.state == "error"
        assert [attempt.state for attempt in trial.attempts] == ["error", "error"]
        assert len(calls) == 2

    def test_a_fault_of_its_own_beside_a_lost_connection_is_a_failure(self) -> None:
        def answer(question: str) -> str:
            raise ExceptionGroup("group", [ConnectionError("one"), ValueError("two")])

        assert run_once(answer).state == "failed"

    def test_an_error_that_passes_is_forgotten(self) -> None:
        calls: list[str] = []

        def answer(question: str) -> str:
            calls.append(question)
            if len(calls) == 1:
                raise ConnectionError("hiccup")
            return "4"

        trial = run_once(answer, retries=2)
        assert [attempt.state for attempt in trial.attempts] == ["error", "passed"]
        assert trial.first_state == "passed"

    def test_the_suite_names_further_errors(self) -> None:
        class QuotaSpent(Exception):
            pass

        def answer(question: str) -> str:
            raise QuotaSpent("until tomorrow")

        case = Case(id="a", input="2+2", expected="4", retries=0)
        for listed, state in (((), "failed"), (("QuotaSpent",), "error")):
            run = evaluate(Suite(name="s", cases=(case,), infrastructure_errors=listed), answer, store=":memory:")
            assert run.trials[0].state == state

    def test_if_every_trial_ends_so_the_run_is_invalid(self) -> None:
        def answer(question: str) -> str:
            raise ConnectionError("refused")

        run = run_suite(answer, cases=2)
        assert run.report is not None
        assert (run.report.verdict, run.exit_code) == ("INVALID", 3)

    def test_characters_that_no_file_can_represent_are_replaced(self) -> None:
        def answer(question: str) -> str:
            raise ValueError("\ud800 \x00 \x1b[31m")

        run = run_suite(answer)
        [trial] = run.trials
        assert "ValueError: ? \x00 \x1b[31m (" in trial.reason
        assert run.report is not None
        written = run.report.model_dump_json().encode()
        assert json.loads(written)["failures"][0]["reason"] == trial.reason


class TestTimeLimit:
    def test_async(self) -> None:
        async def answer(question: str) -> str:
            await asyncio.sleep(600)
            return "4"

        trial = run_once(answer, limit_s=0.2)
        assert (trial.state, trial.reason) == ("failed", "time limit: no answer within 0.2 s")

    def test_sync(self) -> None:
        def answer(question: str) -> str:
            time.sleep(3)
            return "4"

        trial = run_once(answer, limit_s=0.2)
        assert (trial.state, trial.reason) == ("failed", "time limit: no answer within 0.2 s")

    def test_an_async_function_that_swallows_its_cancellation_is_late_all_the_same(self) -> None:
        async def answer(question: str) -> str:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                pass
            return "4"

        trial = run_once(answer, limit_s=0.2)
        assert (trial.state, trial.reason) == ("failed", "time limit: no answer within 0.2 s")

    def test_a_retry_loop_that_swallows_everything_comes_to_an_end(self) -> None:
        async def answer(question: str) -> str:
            for _ in range(2):
                try:
                    await asyncio.sleep(600)
                except BaseException:  # noqa: BLE001 - what careless code does
                    continue
            return "4"

        assert run_once(answer, limit_s=0.2).reason == "time limit: no answer within 0.2 s"

    def test_a_timeout_of_the_functions_own_is_its_own_failure(self) -> None:
        async def answer(question: str) -> str:
            raise TimeoutError("the tool took too long")

        trial = run_once(answer)
        assert trial.state == "failed"
        assert "TimeoutError: the tool took too long" in trial.reason

    def test_a_function_that_always_hangs_delays_neither_the_run_nor_the_exit(self, tmp_path: Path) -> None:
        program = """
            import threading
            from evalharness import Case, Suite, evaluate
            from evalharness.domain.suite import SuiteConfig

            def answer(question):
                threading.Event().wait()

            config = SuiteConfig(timeout_seconds=0.2, retries=0)
            cases = tuple(Case(id=f"c{i}", input="?", expected="4") for i in range(7))
            run = evaluate(Suite(name="s", config=config, cases=cases), answer, max_concurrency=2, store=":memory:")
            for trial in run.trials:
                print(trial.state, "|", trial.reason)
            print("exit code", run.exit_code)
        """
        (tmp_path / "hangs.py").write_text(textwrap.dedent(program))
        ended = subprocess.run(
            [sys.executable, "hangs.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        assert ended.returncode == 0, ended.stderr
        *trials, exit_code = ended.stdout.splitlines()
        assert len(trials) == 7
        # Two at a time, each thread replaced once: four trials ran, and the other three never started.
        assert sum(line.startswith("failed | time limit") for line in trials) == 4
        assert sum(line.startswith("error | no thread is free") for line in trials) == 3
        assert exit_code == "exit code 3"
