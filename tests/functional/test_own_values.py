"""Trials share no mutable values, and the stored answer is the one that was graded."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking import run_once

from evalharness import Answer, Case, Run, Suite, Trial, evaluate
from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.target import Target, Task
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import Variant
from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.harness import Harness


def three_trials(target: Any, **case: Any) -> Run:
    fields = {"expected": "as it was", **case}
    return evaluate(Suite(name="s", cases=(Case(id="a", **fields),)), target, trials=3, store=":memory:")


def states(run: Run) -> list[str]:
    return [trial.state for trial in run.trials]


def said(is_as_it_was: bool) -> str:
    return "as it was" if is_as_it_was else "changed by another trial"


class TestTrialsShareNothing:
    @pytest.mark.parametrize("is_async", [False, True])
    def test_messages_that_a_target_appends_to(self, is_async: bool) -> None:
        def answer(messages: list[Any]) -> str:
            messages.append({"role": "assistant", "content": "hi"})
            messages[0]["content"] += "!"
            return said((len(messages), messages[0]["content"]) == (2, "hey!"))

        async def async_answer(messages: list[Any]) -> str:
            return answer(messages)

        asked = {"messages": [{"role": "user", "content": "hey"}]}
        assert states(three_trials(async_answer if is_async else answer, input=asked)) == ["passed"] * 3

    def test_a_mapping_that_a_target_changes(self) -> None:
        def answer(data: dict[str, Any]) -> str:
            data["deep"]["list"].append(1)
            return said(data.pop("question", None) == "why" and data["deep"] == {"list": [1]})

        assert states(three_trials(answer, input={"question": "why", "deep": {"list": []}})) == ["passed"] * 3

    @pytest.mark.parametrize(
        "change",
        [
            lambda case: case.metadata.setdefault("seen", []).append(1) or case.metadata["seen"],
            lambda case: case.metadata["kept"].append(1) or case.metadata["kept"],
            lambda case: case.reference.append(1) or case.reference,
            lambda case: case.input["list"].append(1) or case.input["list"],
            lambda case: case.files.update({f"n{len(case.files)}": "x"}) or list(case.files),
            lambda case: case.graders[0].options["value"].append(1) or case.graders[0].options["value"],
        ],
        ids=["new metadata", "metadata", "reference", "input", "files", "graders"],
    )
    def test_a_case_that_a_target_changes(self, change: Callable[[Case], list[Any]]) -> None:
        def answer(question: Any, context: Any) -> Any:
            return {"found": len(change(context.case))}

        run = three_trials(
            answer,
            input={"list": []},
            metadata={"kept": []},
            reference=[],
            expected=None,
            graders=[{"json_equals": {"value": []}, "required": False}],
        )
        assert [trial.output for trial in run.trials] == [{"found": 1}] * 3

    @pytest.mark.parametrize("part", ["graders", "variant", "environment"])
    def test_what_else_a_target_is_handed(self, part: str) -> None:
        def answer(question: str, context: Any) -> str:
            handed = getattr(context, part)
            changed = handed[0].options["value"] if part == "graders" else handed
            was = dict(changed) if isinstance(changed, dict) else list(changed)
            changed.update(new="1") if isinstance(changed, dict) else changed.append(1)
            return said("new" not in was and 1 not in was)

        graders = [{"json_equals": {"value": ["as it was"]}, "required": False}, {"exact": "as it was"}]
        case = Case.model_validate({"id": "a", "input": "x", "graders": graders})
        variants = (Variant(name="v", target=TargetSpec.model_validate(answer)),)
        run = evaluate(Suite(name="s", cases=(case,), variants=variants), answer, trials=3, store=":memory:")
        assert states(run) == ["passed"] * 3

    def test_a_grader_that_changes_the_case_changes_no_other_trial(self) -> None:
        def greedy(context: GradeContext) -> bool:
            context.case.metadata["list"].append(1)
            context.input["list"].append(1)
            return context.case.metadata["list"] == context.input["list"] == [1]

        case = {"input": {"list": []}, "metadata": {"list": []}, "expected": None, "graders": [greedy, greedy]}
        assert states(three_trials(lambda data: "x", **case)) == ["passed"] * 3

    def test_arguments_of_a_grader_that_changes_them(self, tmp_path: Path, import_path: None) -> None:
        (tmp_path / "own.py").write_text("def grade(context, seen):\n    seen.append(1)\n    return seen == [1]\n")
        grader = {"function": {"function": f"{tmp_path}/own.py:grade", "arguments": {"seen": []}}}
        assert states(three_trials(lambda text: "x", input="x", expected=None, graders=[grader])) == ["passed"] * 3

    def test_a_target_that_empties_its_case_harms_itself_alone(self) -> None:
        def answer(question: str, context: Any) -> str:
            known = context.case.id
            vars(context.case.expected).clear()
            vars(context.case).clear()
            return said(known == "a")

        assert states(three_trials(answer, input="x")) == ["passed"] * 3

    def test_one_that_needs_what_it_emptied_fails_with_a_reason(self) -> None:
        def answer(question: str, context: Any) -> str:
            vars(context.case).clear()
            return str(context.case.id)

        run = three_trials(answer, input="x")
        assert states(run) == ["failed"] * 3
        assert "AttributeError" in run.trials[0].reason

    def test_texts_are_handed_on_as_they_are(self) -> None:
        question = "a text of some length"
        seen = []
        three_trials(lambda text: seen.append(text) or "x", input=question)
        assert all(text is question for text in seen)


class OddInt(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class OddStr(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class OddFloat(float):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = float.__hash__


class OddDict(dict[str, Any]):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class OddList(list[Any]):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def kinds(value: Any) -> Any:
    """The exact type of every value inside."""
    if isinstance(value, dict):
        return dict, [(type(key), kinds(item)) for key, item in dict.items(value)]
    if isinstance(value, list | tuple):
        return type(value), [kinds(item) for item in value]
    return type(value)


class TestWhatIsStoredIsWhatWasGraded:
    def stored(self, tmp_path: Path, target: Any, *graders: Any) -> Trial:
        """The answer as a store on disk returns it."""
        case = Case.model_validate({"id": "a", "input": "x", "graders": graders})
        with Harness.open(tmp_path / "store.db") as harness:
            run = harness.run(Suite(name="s", cases=(case,)), target)
            [trial] = harness.load_run(run.name).trials
        return trial

    def test_an_output_that_the_target_changes_later(self, tmp_path: Path) -> None:
        output: dict[str, Any] = {"steps": ["one"]}
        changed = threading.Event()

        def answer(question: str) -> Any:
            return output

        def grade(context: GradeContext) -> bool:
            output["steps"].append("two")
            output["more"] = True
            changed.set()
            return bool(context.output == {"steps": ["one"]})

        trial = self.stored(tmp_path, answer, grade, {"json_equals": {"value": {"steps": ["one"]}}})
        assert changed.is_set()
        assert (trial.state, trial.output) == ("passed", {"steps": ["one"]})

    def test_all_parts_of_an_answer_that_the_target_keeps(self, tmp_path: Path) -> None:
        kept: dict[str, Any] = {"messages": [{"a": [1]}], "events": [{"b": [1]}], "snapshot": {"c": [1]}}
        call = ToolCall(name="t", arguments={"d": [1]}, result=[1])
        files = {"f.txt": "x"}

        def answer(question: str) -> Answer:
            return Answer(output=[1], files=files, tool_calls=(call,), **kept)

        def grade(context: GradeContext) -> bool:
            kept["messages"][0]["a"].append(2)
            kept["events"][0]["b"].append(2)
            kept["snapshot"]["c"].append(2)
            call.arguments["d"].append(2)
            call.result.append(2)
            files["g.txt"] = "y"
            return True

        transcript = self.stored(tmp_path, answer, grade).last.transcript
        assert transcript is not None
        assert (transcript.messages, transcript.events) == (({"a": [1]},), ({"b": [1]},))
        assert (transcript.snapshot, transcript.files) == ({"c": [1]}, {"f.txt": "x"})
        assert (transcript.tool_calls[0].arguments, transcript.tool_calls[0].result) == ({"d": [1]}, [1])

    @pytest.mark.parametrize("inside", [None, "all_of"])
    def test_an_output_that_a_grader_changes(self, tmp_path: Path, inside: str | None) -> None:
        def spoil(context: GradeContext) -> bool:
            context.output["steps"].clear()
            context.transcript.files["new.txt"] = "x"
            return True

        def look(context: GradeContext) -> bool:
            return bool(context.output == {"steps": ["one"]} and not context.transcript.files)

        graders = [GraderSpec.model_validate(each) for each in (spoil, look)]
        parts = [GraderSpec(kind=inside, options={"graders": graders})] if inside else graders
        trial = self.stored(tmp_path, lambda question: {"steps": ["one"]}, *parts)
        assert (trial.state, trial.output) == ("passed", {"steps": ["one"]}), trial.reason
        assert trial.last.transcript is not None
        assert trial.last.transcript.files == {}

    def test_evidence_that_a_grader_goes_on_writing(self, tmp_path: Path) -> None:
        seen: list[int] = []

        def grade(context: GradeContext) -> Any:
            seen.append(context.index)
            return {"passed": True, "evidence": seen}

        case = Case.model_validate({"id": "a", "input": "x", "graders": [grade]})
        with Harness.open(tmp_path / "store.db") as harness:
            run = harness.run(Suite(name="s", cases=(case,)), lambda question: "x", trials=3, max_concurrency=1)
            kept = [trial.grades[0].evidence for trial in harness.load_run(run.name).trials]
        assert sorted(map(len, kept)) == [1, 2, 3]

    def test_classes_of_the_target_are_plain_before_they_are_graded(self, tmp_path: Path) -> None:
        graded: list[Any] = []

        def answer(question: str) -> Any:
            return OddDict({OddStr("n"): OddInt(3), "l": OddList([OddStr("x"), OddFloat(0.5), (1, True, None)])})

        def grade(context: GradeContext) -> bool:
            graded.append(context.output)
            return True

        expected = {"n": 3, "l": ["x", 0.5, [1, True, None]]}
        trial = self.stored(tmp_path, answer, grade, {"json_equals": {"value": expected}})
        assert trial.state == "passed", trial.reason
        assert kinds(graded[0]) == kinds(trial.output) == kinds(expected)

    @pytest.mark.parametrize("odd", [OddInt(3), OddStr("x"), OddFloat(0.5), OddDict(a=1), OddList([1])], ids=repr)
    def test_a_value_that_equals_everything_does_not_pass(self, odd: Any) -> None:
        assert run_once(lambda question: odd, expected={"json_equals": {"value": "another"}}).state == "failed"
        assert run_once(lambda question: Answer(output=odd), expected={"exact": "another"}).state == "failed"

    def test_odd_values_anywhere_in_an_answer(self) -> None:
        def answer(question: str) -> Answer:
            call = ToolCall(name=OddStr("t"), arguments=OddDict(a=OddInt(1)), result=OddStr("r"))
            messages = (OddDict(content=OddStr("hi")),)
            return Answer(
                output=1, tool_calls=(call,), messages=messages, cost_usd=OddFloat(0.5), files={"f": OddStr("x")}
            )

        transcript = run_once(answer).last.transcript
        assert transcript is not None
        [call] = transcript.tool_calls
        assert kinds([call.name, call.arguments, call.result]) == kinds(["t", {"a": 1}, "r"])
        assert kinds(transcript.messages[0]) == kinds({"content": "hi"})
        assert kinds(transcript.files) == kinds({"f": "x"})
        assert type(transcript.cost_usd) is float


class Keeping(Target):
    """A plug-in target that returns its own class and changes the returned object later."""

    given: Transcript

    async def answer(self, task: Task) -> Transcript:
        class Sly(Transcript):
            @property
            def text(self) -> str:
                return "as it was"

        self.given = Sly(output={"n": [OddInt(1)]})
        asyncio.get_running_loop().call_soon(self.given.output["n"].append, 2)
        return self.given


class Slow(Grader):
    """A plug-in grader that looks at the answer when that has been changed."""

    async def grade(self, context: GradeContext) -> Grade:
        await asyncio.sleep(0.01)
        return Grade.of(context.text == '{"n":[1]}' and type(context.output["n"][0]) is int, reason=context.text)


@pytest.mark.usefixtures("import_path")
def test_the_transcript_of_a_plug_in_is_plain_too(tmp_path: Path) -> None:
    information = tmp_path / "odd-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    parts = f"[evalharness.targets]\nkeeping = {__name__}:Keeping\n[evalharness.graders]\nslow = {__name__}:Slow\n"
    (information / "entry_points.txt").write_text(parts)
    sys.path.append(str(tmp_path))
    case = Case.model_validate({"id": "a", "input": "x", "graders": [{"slow": {}}]})
    [trial] = evaluate(Suite(name="s", cases=(case,)), TargetSpec(kind="keeping", options={}), store=":memory:").trials
    assert (trial.state, trial.output) == ("passed", {"n": [1]}), trial.reason
