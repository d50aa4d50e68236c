"""Python functions as targets: how they are found and called, and everything they may return."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from asking import run_once

from evalharness import Answer, Case, Suite, TargetUnavailable, ToolCall, Usage, UsageError, evaluate
from evalharness.reports.words.say import say


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
            ("agent.py:number", "not callable"),
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
        assert said in f"{raised.value.message} {say(raised.value.hint)}"

    def test_a_missing_file_is_wrong_usage(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(UsageError, match=r"missing\.py"):
            run_once("missing.py:answer")

    def test_a_misspelt_function_of_a_file_is_wrong_usage(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "agent.py").write_text("def answer(question):\n    return '4'\n")
        monkeypatch.chdir(tmp_path)
        with pytest.raises(UsageError, match="Did you mean 'answer'"):
            run_once("agent.py:anser")


class TestContext:
    def test_it_contains_the_case_the_number_the_seed_and_a_workspace_with_the_files(
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

        assert run_once(lambda question, extra: extra.case.id, expected="a").state == "passed"
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
    def test_what_json_cannot_represent_fails_and_names_it(self, value: Any, said: str) -> None:
        trial = run_once(lambda question: value)
        assert trial.state == "failed"
        assert said in trial.reason

    def test_a_value_that_contains_itself_fails(self) -> None:
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
