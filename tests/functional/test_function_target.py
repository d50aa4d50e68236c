"""Python functions as targets: everything they may return, raise or get stuck in, run by the real engine."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from evalharness import Answer, Case, Run, Suite, TargetUnavailable, ToolCall, Trial, Usage, evaluate
from evalharness.domain.suite import SuiteConfig


def run_once(target: Any, *, expected: Any = "4", retries: int = 0, limit_s: float = 60.0, **case: Any) -> Trial:
    run = run_suite(target, expected=expected, retries=retries, limit_s=limit_s, **case)
    [trial] = run.trials
    return trial


def run_suite(
    target: Any, *, expected: Any = "4", retries: int = 0, limit_s: float = 60.0, cases: int = 1, **case: Any
) -> Run:
    config = SuiteConfig(timeout_seconds=limit_s, retries=retries)
    fields = {"input": "2+2", "expected": expected, **case}
    suite = Suite(name="s", config=config, cases=tuple(Case(id=f"c{i}", **fields) for i in range(cases)))
    return evaluate(suite, target, store=":memory:")


class TestWhatIsCalled:
    def test_sync_function(self) -> None:
        assert run_once(lambda question: str(eval(question))).state == "passed"

    def test_async_function(self) -> None:
        async def answer(question: str) -> str:
            await asyncio.sleep(0)
            return "4" if question == "2+2" else "?"

        assert run_once(answer).state == "passed"

    def test_callable_object(self) -> None:
        class Agent:
            def __call__(self, question: str) -> str:
                return "4"

        assert run_once(Agent()).state == "passed"

    def test_callable_object_with_async_call(self) -> None:
        class Agent:
            async def __call__(self, question: str) -> str:
                return "4"

        assert run_once(Agent()).state == "passed"

    def test_bound_method(self) -> None:
        class Agent:
            def answer(self, question: str) -> str:
                return "4"

        assert run_once(Agent().answer).state == "passed"

    def test_lambda_that_returns_an_awaitable(self) -> None:
        async def answer(question: str) -> str:
            return "4"

        assert run_once(lambda question: answer(question)).state == "passed"  # noqa: PLW0108 - it is sync by itself

    def test_reference_to_a_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "agent.py").write_text("def answer(question):\n    return '4'\n")
        monkeypatch.chdir(tmp_path)
        assert run_once("agent.py:answer").state == "passed"

    def test_the_question_is_the_content_of_the_input(self) -> None:
        messages = [{"role": "user", "content": "hi"}]
        seen: list[Any] = []

        def answer(question: Any) -> str:
            seen.append(question)
            return "4"

        run_once(answer, input={"messages": messages})
        run_once(answer, input={"a": 1, "b": [2]})
        assert seen == [messages, {"a": 1, "b": [2]}]

    @pytest.mark.parametrize(
        ("reference", "said"),
        [
            ("agent.py:anser", "answer"),
            ("agent.py:number", "not callable"),
            ("missing.py:answer", "missing.py"),
            ("no_such_module_here:answer", "no_such_module_here"),
            ("broken.py:answer", "broken.py:2"),
        ],
    )
    def test_what_cannot_be_imported_stops_the_run_before_it_starts(
        self, reference: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "agent.py").write_text("number = 3\ndef answer(question):\n    return '4'\n")
        (tmp_path / "broken.py").write_text("import os\nraise ValueError('boom')\n")
        monkeypatch.chdir(tmp_path)
        with pytest.raises(TargetUnavailable) as raised:
            run_once(reference)
        assert said in f"{raised.value.message} {raised.value.hint}"


class TestContext:
    def test_it_holds_the_case_the_number_the_seed_and_a_workspace_with_the_files(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "beside.txt").write_text("from the suite's folder")
        monkeypatch.chdir(tmp_path)
        seen: list[dict[str, Any]] = []

        def answer(question: str, context: Any) -> str:
            folder = context.workspace
            files = {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}
            seen.append(
                {
                    "case": context.case.id,
                    "index": context.index,
                    "seed": context.seed,
                    "folder": folder,
                    "files": files,
                }
            )
            return "4"

        files = {"in/note.txt": "made here", "copy.txt": {"path": "beside.txt"}}
        suite = Suite(name="s", cases=(Case(id="one", input="2+2", expected="4", files=files),))
        run = evaluate(suite, answer, trials=2, store=":memory:")
        assert [trial.state for trial in run.trials] == ["passed", "passed"]
        seen.sort(key=lambda each: each["index"])
        assert [each["case"] for each in seen] == ["one", "one"]
        assert [each["index"] for each in seen] == [0, 1]
        assert [each["seed"] for each in seen] == [trial.seed for trial in run.trials]
        assert seen[0]["seed"] != seen[1]["seed"]
        for each in seen:
            assert each["files"] == {"in/note.txt": "made here", "copy.txt": "from the suite's folder"}
            assert not each["folder"].exists(), "the workspace is removed with its trial"
        assert seen[0]["folder"] != seen[1]["folder"]

    def test_a_second_parameter_of_any_name_gets_it_unless_it_has_a_default(self) -> None:
        def with_default(question: str, retries: int = 4) -> str:
            return str(retries)

        assert run_once(lambda question, extra: extra.case.id, expected="c0").state == "passed"
        assert run_once(with_default).state == "passed"

    def test_a_file_of_the_case_cannot_leave_the_workspace(self, tmp_path: Path) -> None:
        outside = tmp_path / "outside.txt"
        trial = run_once(lambda question, context: str(context.workspace), files={str(outside): "escaped"})
        assert trial.state == "error"
        assert "outside the workspace" in trial.reason
        assert not outside.exists()


class TestWhatIsReturned:
    @pytest.mark.parametrize("value", [{"a": [1, 2.5, None, True]}, [1, "two"], 7, 1.5, False, "text", ""])
    def test_every_json_value_is_the_output(self, value: Any) -> None:
        trial = run_once(lambda question: value, expected=None)
        assert (trial.state, trial.output, type(trial.output)) == ("passed", value, type(value))

    def test_an_answer_brings_what_led_to_it(self) -> None:
        def answer(question: str) -> Answer:
            return Answer(
                output="4",
                messages=({"role": "assistant", "content": "4"},),
                tool_calls=(ToolCall(name="add", arguments={"a": 2, "b": 2}, result=4),),
                usage=Usage(input_tokens=10, output_tokens=2),
                cost_usd=0.25,
                files={"out.txt": "4"},
                events=({"type": "thought"},),
            )

        trial = run_once(answer)
        assert trial.state == "passed"
        transcript = trial.last.transcript
        assert transcript is not None
        assert transcript.tool_calls[0].arguments == {"a": 2, "b": 2}
        assert transcript.files == {"out.txt": "4"}
        assert transcript.events == ({"type": "thought"},)
        assert (trial.cost_usd, trial.input_tokens, trial.output_tokens) == (0.25, 10, 2)

    def test_none_fails_and_says_so(self) -> None:
        trial = run_once(lambda question: None)
        assert trial.state == "failed"
        assert "returned None" in trial.reason

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            pytest.param(object(), "object", id="object"),
            pytest.param({1, 2}, "set", id="set"),
            pytest.param(b"bytes", "bytes", id="bytes"),
            pytest.param(float("nan"), "nan", id="nan"),
            pytest.param({"deep": [float("inf")]}, "inf", id="infinity"),
            pytest.param({1: "a"}, "keys", id="keys"),
            pytest.param(Answer(output={1, 2}), "set", id="answer's output"),
            pytest.param(Answer(output="4", events=({"when": object()},)), "events", id="events"),
            pytest.param(Answer(output="4", messages=({"content": b"x"},)), "messages", id="messages"),
            pytest.param(Answer(output="4", tool_calls=(ToolCall(name="add", result=object()),)), "add", id="calls"),
        ],
    )
    def test_what_json_cannot_hold_fails_and_names_it(self, value: Any, said: str) -> None:
        trial = run_once(lambda question: value)
        assert trial.state == "failed"
        assert said in trial.reason

    def test_a_value_that_holds_itself_fails(self) -> None:
        loop: list[Any] = []
        loop.append(loop)
        trial = run_once(lambda question: loop)
        assert trial.state == "failed"
        assert "nested too deeply" in trial.reason

    def test_fifty_megabytes_are_graded_in_full_and_stored_cut(self) -> None:
        size = 50_000_000
        trial = run_once(lambda question: "x" * size + "END", expected={"ends_with": "xEND"})
        assert trial.state == "passed"
        assert isinstance(trial.output, str)
        assert len(trial.output) < size / 10
        assert trial.output.startswith("xxx") and trial.output.endswith("xEND")
        assert trial.last.transcript is not None and trial.last.transcript.truncated

    def test_printing_does_not_disturb(self, capfd: pytest.CaptureFixture[str]) -> None:
        def answer(question: str) -> str:
            print("chatter")
            return "4"

        trial = run_once(answer)
        assert (trial.state, trial.output) == ("passed", "4")
        assert "chatter" in "".join(capfd.readouterr())


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

    def test_a_cancellation_nobody_asked_for_fails_the_trial_only(self) -> None:
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

    def test_a_function_that_always_hangs_holds_up_neither_the_run_nor_the_exit(self, tmp_path: Path) -> None:
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
        # Two at a time, each thread replaced once: four trials ran, the other three never had their turn.
        assert sum(line.startswith("failed | time limit") for line in trials) == 4
        assert sum(line.startswith("error | no thread is free") for line in trials) == 3
        assert exit_code == "exit code 3"


@pytest.fixture
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Functions in a file, as targets that run in processes of their own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(
        textwrap.dedent("""
        import asyncio, os, sys, threading, time
        from pathlib import Path
        from evalharness import Answer, TargetUnavailable

        def answer(question, context):
            print("chatter")
            assert context.case.id == "c0" and context.index == 0 and context.seed >= 0
            text = (context.workspace / "note.txt").read_text()
            return Answer(output=text, cost_usd=0.5, events=({"pid": os.getpid()},))

        async def async_answer(question):
            await asyncio.sleep(0)
            return {"question": question}

        def spin(question):
            Path(__file__).with_name("pid").write_text(str(os.getpid()))
            while True:
                pass

        def none(question):
            return None

        def fail(question):
            raise ValueError("no idea")

        class RateLimitError(Exception):
            pass

        def limited(question):
            raise RateLimitError("slow down")

        def refused(question):
            raise ConnectionRefusedError("nobody there")

        def unavailable(question):
            raise TargetUnavailable("the model is down")

        def leave(question):
            print("farewell", file=sys.stderr)
            sys.exit(3)

        def large(question):
            return "x" * 20_000_000 + "END"

        def leave_a_thread(question):
            threading.Thread(target=time.sleep, args=(600,)).start()
            return "4"
        """)
    )
    return {"isolate": "process"}


class TestIsolated:
    def run(self, name: str, **options: Any) -> Trial:
        return run_once({"type": "function", "function": f"agent.py:{name}", "isolate": "process"}, **options)

    def test_it_answers_from_another_process(self, isolated: Any) -> None:
        trial = self.run("answer", expected="4", files={"note.txt": "4"})
        assert trial.state == "passed", trial.reason
        transcript = trial.last.transcript
        assert transcript is not None
        assert transcript.events[0]["pid"] != os.getpid()
        assert transcript.cost_usd == 0.5
        assert "chatter" in transcript.stderr

    def test_async(self, isolated: Any) -> None:
        trial = self.run("async_answer", expected={"json_equals": {"question": "2+2"}})
        assert trial.state == "passed", trial.reason

    def test_a_busy_loop_is_killed(self, isolated: Any) -> None:
        trial = self.run("spin", limit_s=4.0)
        assert (trial.state, trial.reason) == ("failed", "time limit: no answer within 4 s")
        pid = int(Path("pid").read_text())
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    @pytest.mark.parametrize(
        ("name", "state", "said"),
        [
            ("none", "failed", "returned None"),
            ("fail", "failed", "ValueError: no idea (agent.py:"),
            ("limited", "error", "RateLimitError: slow down"),
            ("refused", "error", "ConnectionRefusedError: nobody there"),
            ("unavailable", "error", "the model is down"),
            ("leave", "failed", "exit code 3): farewell"),
        ],
    )
    def test_what_goes_wrong_there_means_the_same_as_here(
        self, isolated: Any, name: str, state: str, said: str
    ) -> None:
        trial = self.run(name)
        assert trial.state == state
        assert said in trial.reason.replace(f"{Path.cwd()}/", "")

    def test_a_large_answer_arrives_whole(self, isolated: Any) -> None:
        assert self.run("large", expected={"ends_with": "xEND"}).state == "passed"

    def test_a_thread_left_behind_does_not_hold_up_the_answer(self, isolated: Any) -> None:
        assert self.run("leave_a_thread", limit_s=30.0).state == "passed"

    def test_a_function_that_only_this_program_has_cannot_be_isolated(self) -> None:
        from evalharness import TargetSpec

        options = {"live": "here", "isolate": "process"}
        spec = TargetSpec(kind="function", options=options, function=lambda question: "4")
        with pytest.raises(TargetUnavailable, match="isolate"):
            run_once(spec)


def test_json_of_the_reason_is_plain_text() -> None:
    """Reasons reach reports as text: whatever was raised, they can be written as JSON."""

    def answer(question: str) -> str:
        raise ValueError("\ud800 \x00 \x1b[31m")

    assert json.dumps(run_once(answer).reason)
