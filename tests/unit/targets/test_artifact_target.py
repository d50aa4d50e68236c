"""The target `artifact`: which stored artifact answers which case."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from evalharness import registry
from evalharness.contracts.services import Services
from evalharness.contracts.target import Target
from evalharness.domain.case import Case
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite
from evalharness.domain.transcript import Transcript, Usage
from evalharness.engine.planning.planned_cases import PlannedCases
from evalharness.engine.running.trial_task import TrialTask
from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import TargetUnavailable, TrialSkipped, UsageError
from evalharness.sandboxes.none import NoSandbox


def artifact(text: str, **more: Any) -> dict[str, Any]:
    return {"snapshot": {"outputs": {"primaryOutput": text}}, "events": [], **more}


def linked(text: str, case_id: str, variant: str = "claude", **more: Any) -> dict[str, Any]:
    event = {"type": "recording:linked", "recordingId": f"eval__ds__{case_id}__{variant}__coder__inv0"}
    return {**artifact(text, **more), "events": [event]}


class Place:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def target(self, written: Any, file: str = "run.json", **options: Any) -> Target:
        text = written if isinstance(written, str) else json.dumps(written)
        (self.folder / file).write_text(text)
        spec = TargetSpec.model_validate({"artifact": {"file": file, **options}})
        return registry.build_target(spec, self.services())

    def services(self) -> Services:
        return Services(self.folder, NoSandbox(), Offloader(1), {})

    def answer(self, written: Any, case_id: str, index: int = 0, **options: Any) -> Transcript:
        [planned] = PlannedCases(Suite(name="s", cases=(Case(id=case_id, input="?"),)), {}, self.services()).in_turn()
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


def test_the_case_can_be_named(place: Place) -> None:
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
    for only in ({"a": artifact("only")}, artifact("only")):
        assert place.answer(only, "a").output == "only"
        with pytest.raises(TrialSkipped, match="contains only 1 artifact of case a"):
            place.answer(only, "a", 1)


def test_a_case_id_does_not_outdo_the_variant_and_the_dataset_that_recordings_name(place: Place) -> None:
    """Such an artifact used to answer for every variant."""
    written = [linked("A", "a", "big", caseId="a"), linked("B", "a", "small"), linked("C", "z", "tiny", caseId="a")]
    for variant, text in (("big", "A"), ("small", "B"), ("tiny", "C")):
        assert place.answer(written, "a", variant=variant).output == text
        with pytest.raises(TrialSkipped, match=f"1 artifact of case a and variant {variant}"):
            place.answer(written, "a", 1, variant=variant)
    with pytest.raises(TrialSkipped, match="no artifact of case a and variant huge"):
        place.answer(written, "a", variant="huge")
    with pytest.raises(TrialSkipped, match="no artifact of case a"):
        place.answer(written, "a", dataset="other")
    with pytest.raises(TrialSkipped, match="no artifact of case z"):
        place.answer(written, "z")


def test_the_run_id_of_a_failed_run_names_its_variant_too(place: Place) -> None:
    written = [artifact("A", runId="eval-ds-a-big-error"), artifact("B", runId="eval-ds-a-small", caseId="a")]
    assert place.answer([written[0]], "a", dataset="ds", variant="big").output == "A"
    assert place.answer(written, "a", dataset="ds", variant="small").output == "B"
    with pytest.raises(TrialSkipped):
        place.answer([written[1]], "a", dataset="ds", variant="big")


def test_a_run_id_full_of_dashes_is_not_a_problem(place: Place) -> None:
    with pytest.raises(TrialSkipped):
        place.answer([artifact("A", runId="eval-" + "a-" * 50_000)], "a")


def test_what_its_agents_took_is_reported(place: Place) -> None:
    event = {"type": "agent:complete", "nodeId": "a", "totalCostUsd": 0.5, "usage": {"inputTokens": 3}}
    answer = place.answer({**artifact("A"), "events": [event]}, "a")
    assert (answer.usage, answer.cost_usd, answer.events) == (Usage(input_tokens=3), 0.5, (event,))


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("", "run.json:1: is not JSON: it is empty"),
        ("[]", "run.json: contains no artifact"),
        ("{", "run.json:1: is not JSON: Expecting property name"),
        ('{\n"a": {\n"snapshot" {}}}', r"run.json:3: is not JSON: Expecting ':' delimiter \(column 12\)"),
        ('{"a": 1}', "run.json:1: case a: an artifact must be a mapping"),
        ('{"a": {"snapshot": {}, "events": []},\n "b": [\n5]}', "run.json:3: case b: an artifact must be a mapping"),
        ('{"snapshot": {}}', "run.json:1: events is missing"),
        ('{"runId": "r"}', "run.json:1: snapshot is missing; events is missing"),
        ('[\n{"snapshot":\n{}, "events": []},\n\n5]', "run.json:5: an artifact must be a mapping"),
        ('{"snapshot": {}, "events": []}\n{"snapshot": {}}\n', "run.json:2: events is missing"),
        ('{"snapshot": {}, "events": []}\nnot json\n', "run.json:2: is not JSON: Expecting value"),
        ('{"snapshot": {}, "events": {}}', "run.json:1: events must be a list"),
        ('{"snapshot": {"a": NaN}, "events": []}', "run.json:1: contains the number nan"),
        ('{"snapshot": {"a": %s}, "events": []}' % ("9" * 5000), "run.json:1: is not JSON: Exceeds the limit"),
        ("[" * 100_000, "run.json:1: is not JSON: nested too deeply"),
    ],
    ids=lambda text: text[:30],
)
def test_a_broken_file_is_reported_before_any_trial(written: str, problem: str, place: Place) -> None:
    with pytest.raises(TargetUnavailable, match=problem):
        asyncio.run(place.target(written).open())


def test_every_problem_of_a_file_is_reported_with_advice_but_not_thousands(place: Place) -> None:
    sound = json.dumps(artifact("A"))
    with pytest.raises(TargetUnavailable) as raised:
        asyncio.run(place.target(f"{sound}\n5\n{{\n{sound}\n[]", file="run.jsonl").open())
    assert [line.partition("run.jsonl")[2][:3] for line in raised.value.message.splitlines()] == [":2:", ":3:", ":5:"]
    assert "one per line" in raised.value.hint
    with pytest.raises(TargetUnavailable) as raised:
        asyncio.run(place.target("5\n" * 3000, file="run.jsonl").open())
    assert len(raised.value.message.splitlines()) == 21
    assert raised.value.message.endswith("… and 2,980 more like these")


def test_a_byte_order_mark_is_not_a_problem(place: Place) -> None:
    assert place.answer("\ufeff" + json.dumps(artifact("A")), "a").output == "A"


def test_a_missing_file_is_reported_before_any_trial(place: Place) -> None:
    target = place.target(artifact("A"))
    (place.folder / "run.json").unlink()
    with pytest.raises(TargetUnavailable, match="No such file"):
        asyncio.run(target.open())


def test_its_digest_covers_the_file(place: Place) -> None:
    assert place.target(artifact("A")).digest() == place.target(artifact("A")).digest()
    assert place.target(artifact("A")).digest() != place.target(artifact("B")).digest()


class TestWhereTheFileLies:
    """A suite may come from anywhere, so it can name only files in its own folder. Users can name any file."""

    def opened(self, root: str, file: str, suite_folder: Path) -> str:
        spec = TargetSpec(kind="artifact", options={"file": file}, root=root)
        target = registry.build_target(spec, Services(suite_folder, NoSandbox(), Offloader(1), {}))
        assert target.digest()
        asyncio.run(target.open())
        return "opened"

    @pytest.fixture
    def suite_folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "suite"
        (folder / "part").mkdir(parents=True)
        for place in (tmp_path, folder, folder / "part"):
            (place / "run.json").write_text(json.dumps(artifact("A")))
        (folder / "link.json").symlink_to(tmp_path / "run.json")
        return folder

    def test_inside(self, suite_folder: Path) -> None:
        places = [
            ("", "run.json"),
            ("", "part/run.json"),
            ("part", "../run.json"),
            ("", str(suite_folder / "run.json")),
        ]
        assert [self.opened(root, file, suite_folder) for root, file in places] == ["opened"] * 4

    @pytest.mark.parametrize(
        ("root", "file"),
        [("", "../run.json"), ("part", "../../run.json"), ("", "link.json"), ("", "{outside}/run.json")],
    )
    def test_outside(self, root: str, file: str, suite_folder: Path) -> None:
        with pytest.raises(UsageError, match="outside the suite's folder"):
            self.opened(root, file.format(outside=suite_folder.parent), suite_folder)

    def test_outside_for_a_target_that_the_user_asked_for(self, suite_folder: Path) -> None:
        assert self.opened(str(suite_folder), "../run.json", suite_folder) == "opened"
