"""The target `artifact`: which stored artifact answers which case."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from evalharness import registry
from evalharness.contracts import Services, Target
from evalharness.domain.case import Case
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite
from evalharness.domain.transcript import Transcript, Usage
from evalharness.engine.offloading import Offloader
from evalharness.engine.planning import plan_cases
from evalharness.engine.preparing import TrialTask
from evalharness.errors import TargetUnavailable, TrialSkipped
from evalharness.sandboxes.none import NoSandbox


def artifact(text: str, **more: Any) -> dict[str, Any]:
    return {"snapshot": {"outputs": {"primaryOutput": text}}, "events": [], **more}


def linked(text: str, case_id: str) -> dict[str, Any]:
    event = {"type": "recording:linked", "recordingId": f"eval__ds__{case_id}__claude__coder__inv0"}
    return {**artifact(text), "events": [event]}


class Place:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def target(self, written: Any, **options: Any) -> Target:
        text = written if isinstance(written, str) else json.dumps(written)
        (self.folder / "run.json").write_text(text)
        spec = TargetSpec.model_validate({"artifact": {"file": "run.json", **options}})
        return registry.build_target(spec, self.services())

    def services(self) -> Services:
        return Services(self.folder, NoSandbox(), Offloader(1), {})

    def answer(self, written: Any, case_id: str, index: int = 0, **options: Any) -> Transcript:
        [planned] = plan_cases(Suite(name="s", cases=(Case(id=case_id, input="?"),)), {}, self.services())
        task = TrialTask(planned, index=index, seed=1, root=self.folder)

        async def ask() -> Transcript:
            target = self.target(written, **options)
            await target.open()
            return await target.answer(task)

        return asyncio.run(ask())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize(
    "written",
    [
        [artifact("A", caseId="a"), artifact("B", case_id="b")],
        {"a": artifact("A"), "b": artifact("B")},
        "\n".join(json.dumps(each) for each in (artifact("A", caseId="a"), artifact("B", caseId="b"))) + "\n",
        [artifact("A", runId="eval-ds-a-claude"), artifact("B", runId="eval-ds-b-claude")],
        [linked("A", "a"), linked("B", "b")],
    ],
    ids=["list", "by case", "lines", "run ids", "recordings"],
)
def test_every_form_of_file(written: Any, place: Place) -> None:
    assert place.answer(written, "a").output == "A"
    assert place.answer(written, "b").output == "B"
    with pytest.raises(TrialSkipped, match="no artifact of case c"):
        place.answer(written, "c")


def test_one_alone_that_names_no_case_answers_whatever_is_asked(place: Place) -> None:
    assert place.answer(artifact("A", runId="run-7"), "anything").output == "A"
    assert place.answer([artifact("A")], "anything").output == "A"
    for other in (artifact("A", caseId="b"), artifact("A", runId="eval-ds-b-claude"), linked("A", "b")):
        with pytest.raises(TrialSkipped):
            place.answer(other, "a")
    with pytest.raises(TrialSkipped):
        place.answer([artifact("A"), artifact("B")], "a")


def test_the_case_can_be_told(place: Place) -> None:
    assert place.answer(artifact("A", runId="eval-ds-b-claude"), "a", case="a").output == "A"
    with pytest.raises(TrialSkipped):
        place.answer(artifact("A"), "b", case="a")


def test_run_ids_that_can_be_read_in_several_ways_are_not_guessed_at(place: Place) -> None:
    written = [artifact("A", runId="eval-ds-api-claude"), artifact("B", runId="eval-ds-simple-api-claude")]
    with pytest.raises(TrialSkipped, match="several artifacts"):
        place.answer(written, "api")
    assert place.answer(written, "api", dataset="ds").output == "A"
    assert place.answer(written, "simple-api").output == "B"
    variants = [artifact("A", runId="eval-ds-api-claude"), artifact("B", runId="eval-ds-api-other")]
    with pytest.raises(TrialSkipped, match="several artifacts"):
        place.answer(variants, "api", dataset="ds")
    assert place.answer(variants, "api", variant="other").output == "B"


def test_several_artifacts_of_a_case_are_those_of_its_trials(place: Place) -> None:
    two = {"a": [artifact("first"), artifact("second")]}
    assert [place.answer(two, "a", index).output for index in (0, 1)] == ["first", "second"]
    with pytest.raises(TrialSkipped, match="2 artifacts"):
        place.answer(two, "a", 2)
    assert place.answer({"a": artifact("only")}, "a", 5).output == "only"


def test_what_its_agents_took_is_reported(place: Place) -> None:
    event = {"type": "agent:complete", "nodeId": "a", "totalCostUsd": 0.5, "usage": {"inputTokens": 3}}
    answer = place.answer({**artifact("A"), "events": [event]}, "a")
    assert (answer.usage, answer.cost_usd, answer.events) == (Usage(input_tokens=3), 0.5, (event,))


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("", "is empty"),
        ("[]", "is empty"),
        ("{", "line 1 is not JSON"),
        ('{"a": 1}', "case a: an artifact is a mapping"),
        ('{"snapshot": {}}', "it: events is missing"),
        ('[{"snapshot": {}, "events": []}, 5]', "element 1: an artifact is a mapping"),
        ('{"snapshot": {}, "events": []}\n{"snapshot": {}}\n', "line 2: events is missing"),
        ('{"snapshot": {"a": NaN}, "events": []}', "nan"),
        ("[" * 100_000, "holds no artifacts"),
    ],
)
def test_a_broken_file_is_told_before_any_trial(written: str, problem: str, place: Place) -> None:
    with pytest.raises(TargetUnavailable, match=problem):
        asyncio.run(place.target(written).open())


def test_a_missing_file_is_told_before_any_trial(place: Place) -> None:
    target = place.target(artifact("A"))
    (place.folder / "run.json").unlink()
    with pytest.raises(TargetUnavailable, match="No such file"):
        asyncio.run(target.open())


def test_its_digest_covers_the_file(place: Place) -> None:
    assert place.target(artifact("A")).digest() == place.target(artifact("A")).digest()
    assert place.target(artifact("A")).digest() != place.target(artifact("B")).digest()
