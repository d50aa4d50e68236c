"""`eval-harness regrade --artifact`: every artifact is graded once for its case, or the report says why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driving import Outcome, drive, line_of, write

VARIANTS = [{"id": "big"}, {"id": "small", "target": "cmd:nobody-runs-this"}]


def artifact(text: str, **more: Any) -> dict[str, Any]:
    return {
        "runId": "run-1",
        "snapshot": {"status": "complete", "outputs": {"main": {"text": text}}},
        "events": [],
        **more,
    }


def recorded(text: str, case: str, variant: str, dataset: str = "greet.v1", **more: Any) -> dict[str, Any]:
    id_ = f"eval__{dataset}__{case}__{variant}__main__inv0"
    return artifact(text, events=[{"type": "recording:linked", "nodeId": "main", "recordingId": id_}], **more)


def dataset(*ids: str, **more: Any) -> str:
    says_hello = [{"type": "output.contains", "path": "outputs.main.text", "value": "hello"}]
    cases = [{"id": id_, "input": {"task": "greet"}, "assertions": says_hello} for id_ in ids]
    return json.dumps({"id": "greet.v1", "workflowName": "greet", "version": "1.0.0", "cases": cases, **more})


def grade_artifacts(folder: Path, artifacts: Any, *words: str, **more: Any) -> Outcome:
    ids = more.pop("ids", ("one", "two", "three"))
    write(folder, artifact_json=json.dumps(artifacts), dataset_json=dataset(*ids, **more))
    return drive(folder, "regrade", "--artifact", "artifact.json", "--dataset", "dataset.json", "--json", *words)


def states_by_variant(done: Outcome) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    for report in done.json.get("eval_reports") or [done.report]:
        cases = found.setdefault(report["metadata"]["variant"], {})
        for trial in report["trials"]:
            cases.setdefault(trial["case_id"], []).append(trial["state"])
    return found


def test_stored_artifacts_are_graded_and_cases_without_one_are_left_out(tmp_path: Path) -> None:
    done = grade_artifacts(tmp_path, {"one": artifact("hello you"), "three": artifact("bye")})
    assert done.code == 1, done.err
    assert done.states() == {"one": ["passed"], "three": ["failed"]}
    assert "warning: cases without an artifact, left out: two" in done.err
    assert [note["code"] for note in done.report["notes"]] == ["artifacts.missing"]
    assert "cases without an artifact, left out: two" in drive(tmp_path, "show", done.run_name).out
    assert "hello" in done.report["failures"][0]["reason"]
    [run] = drive(tmp_path, "runs", "--json").json["runs"]
    assert run["run_name"] == done.run_name
    good = grade_artifacts(tmp_path, {"one": artifact("hello you"), "three": artifact("bye")}, "--case", "one")
    assert (good.code, good.states()) == (0, {"one": ["passed"]})
    assert "warning" not in good.err, "the artifact of a case that was not selected is not reported"


def test_one_artifact_is_one_trial(tmp_path: Path) -> None:
    """If another case has more artifacts, a case with a single artifact is not judged by it again."""
    done = grade_artifacts(
        tmp_path, {"one": [artifact("hello"), artifact("bye"), artifact("hello")], "two": artifact("hello")}
    )
    assert done.states() == {"one": ["passed", "failed", "passed"], "two": ["passed", "skipped", "skipped"]}
    assert done.report["summary"]["trials"] == {
        "planned": 6, "passed": 3, "failed": 1, "error": 0, "skipped": 2, "awaiting": 0, "pending": 0,
    }  # fmt: skip
    assert done.report["measurements"]["pass_rate"]["n_trials"] == 4


def test_an_artifact_that_names_no_case_answers_only_the_one_it_is_given_for(tmp_path: Path) -> None:
    refused = grade_artifacts(tmp_path, artifact("hello"))
    assert refused.code == 2
    assert "artifact.json does not say which case it belongs to" in refused.json["error"]["message"]
    assert "one, two, three" in refused.json["error"]["hint"]
    assert grade_artifacts(tmp_path, artifact("hello"), "--case", "two").states() == {"two": ["passed"]}
    assert grade_artifacts(tmp_path, artifact("hello"), ids=("only",)).states() == {"only": ["passed"]}
    unknown = grade_artifacts(tmp_path, artifact("hello"), "--case", "tow")
    assert unknown.code == 2
    assert "Did you mean 'two'?" in unknown.json["error"]["message"]


def test_artifacts_of_variants_make_a_run_for_each_variant_they_name(tmp_path: Path) -> None:
    variants = [{"id": id_, "modelByNode": {"main": id_}} for id_ in ("big", "small", "tiny")]
    stored = [artifact("hello", runId="eval-greet.v1-one-big"), artifact("bye", runId="eval-greet.v1-one-small")]
    done = grade_artifacts(tmp_path, stored, variants=variants)
    assert done.code == 1, done.both
    assert states_by_variant(done) == {"big": {"one": ["passed"]}, "small": {"one": ["failed"]}}
    alone = grade_artifacts(tmp_path, {"one": artifact("hello")}, variants=variants)
    assert alone.states() == {"one": ["passed"]}


@pytest.mark.parametrize(("of_big", "of_small"), [("one", "one"), ("one", ""), ("", "one"), ("", "")])
def test_an_artifact_with_a_case_id_still_belongs_to_its_variant(tmp_path: Path, of_big: str, of_small: str) -> None:
    """It used to answer for every variant, which was a false pass."""
    stored = [
        recorded("hello", "one", "big", **({"caseId": of_big} if of_big else {})),
        recorded("bye", "one", "small", **({"caseId": of_small} if of_small else {})),
    ]
    done = grade_artifacts(tmp_path, stored, variants=VARIANTS)
    assert states_by_variant(done) == {"big": {"one": ["passed"]}, "small": {"one": ["failed"]}}


def test_variants_that_only_the_recordings_know_are_kept_apart_too(tmp_path: Path) -> None:
    done = grade_artifacts(tmp_path, [recorded("hello", "one", "x"), recorded("bye", "one", "y")])
    assert states_by_variant(done) == {"x": {"one": ["passed"]}, "y": {"one": ["failed"]}}


def test_recording_ids_of_other_tools_are_matched_by_the_datasets_id(tmp_path: Path) -> None:
    write(tmp_path, a_json=json.dumps([recorded("hello", "one", "big", "a__b"), recorded("bye", "two", "big", "a__b")]))
    write(tmp_path, d_json=dataset("one", "two").replace("greet.v1", "a__b"))
    done = drive(tmp_path, "regrade", "--artifact", "a.json", "--dataset", "d.json", "--json")
    assert states_by_variant(done) == {"big": {"one": ["passed"], "two": ["failed"]}}


def test_recording_ids_with_further_underscores_name_a_case_or_another_dataset(tmp_path: Path) -> None:
    stored = [recorded("hello", "my__one", "big"), recorded("bye", "two", "big", "greet.v2__x")]
    done = grade_artifacts(tmp_path, stored, ids=("my__one", "two"))
    assert states_by_variant(done) == {"big": {"my__one": ["passed"]}}
    assert "artifact.json:1 (recording eval__greet.v2__x__two__big__main__inv0)" in done.err


def test_what_is_noticed_in_a_dataset_is_told_once_and_only_of_cases_that_are_run(tmp_path: Path) -> None:
    cases = [
        {"id": "one", "assertions": [], "odd": 1},
        {"id": "two", "assertions": [{"type": "behavior.no_errors"}], "even": 2},
    ]
    written = {"id": "d", "workflowName": "w", "version": "1", "more": 3, "cases": cases, "variants": VARIANTS}
    write(tmp_path, dataset_json=json.dumps(written), artifact_json=json.dumps({"two": artifact("hello")}))
    for words in (
        ["run", "dataset.json", "./dataset.json", ".", "--target", "cmd:echo hi", "--only", "two"],
        ["regrade", "--artifact", "artifact.json", "--dataset", "dataset.json"],
    ):
        told = drive(tmp_path, *words).err
        assert (told.count("'more'"), told.count("'even'")) == (1, 1)
        assert "cases[0]" not in told
    everything = drive(tmp_path, "run", "dataset.json", "--target", "cmd:echo hi").err
    assert everything.count("cases[0].odd") == everything.count("cases[0].assertions: is empty") == 1
    assert drive(tmp_path, "validate", "dataset.json").both.count("cases[0].odd") == 1


def test_artifacts_that_belong_nowhere_are_told_with_their_place(tmp_path: Path) -> None:
    lines = [
        recorded("hello", "one", "big"),
        artifact("hello", caseId="nope"),
        recorded("hello", "one", "huge"),
        recorded("hello", "two", "big", "other"),
        artifact("hello", runId="run-7"),
        recorded("hello", "two", "big", "other", caseId="two"),
    ]
    write(
        tmp_path,
        artifact_jsonl="\n".join(map(json.dumps, lines)),
        dataset_json=dataset("one", "two", variants=VARIANTS),
    )
    done = drive(tmp_path, "regrade", "--artifact", "artifact.jsonl", "--dataset", "dataset.json", "--json")
    assert states_by_variant(done) == {"big": {"one": ["passed"]}}
    [told] = [line for line in done.err.splitlines() if "artifacts left out" in line]
    assert told == (
        "warning: 5 artifacts left out, matching no case or variant of dataset.json: artifact.jsonl:2 (caseId nope), "
        "artifact.jsonl:3 (recording eval__greet.v1__one__huge__main__inv0), "
        "artifact.jsonl:4 (recording eval__other__two__big__main__inv0), artifact.jsonl:5 (names no case), "
        "artifact.jsonl:6 (caseId two, recording eval__other__two__big__main__inv0)"
    )
    nothing = grade_artifacts(tmp_path, [artifact("hello", caseId="nope")])
    assert nothing.code == 2
    assert "artifact.json:1 (caseId nope)" in nothing.json["error"]["message"]


def test_an_artifact_without_a_variant_is_graded_in_each_run_and_reported(tmp_path: Path) -> None:
    stored = [recorded("hello", "one", "big"), recorded("hello", "one", "small"), artifact("bye", caseId="two")]
    done = grade_artifacts(tmp_path, stored, variants=VARIANTS)
    both = {"one": ["passed"], "two": ["failed"]}
    assert states_by_variant(done) == {"big": both, "small": both}
    assert "1 artifact without a variant, graded in each of 2 runs: artifact.json:1 (caseId two)" in done.err


def test_grading_an_artifact_again_does_not_count_as_another_failure(tmp_path: Path) -> None:
    write(tmp_path, artifact_json=json.dumps({"one": artifact("bye")}), dataset_json=dataset("one"))
    for _ in range(2):
        done = drive(tmp_path, "regrade", "--artifact", "artifact.json", "--dataset", "dataset.json", "--json")
        assert done.report["failures"][0]["details"] == {"failed": 1}
    write(tmp_path, agent_py="def silent(asked):\n    return None\n")
    run = drive(tmp_path, "run", "dataset.json", "--target", "agent.py:silent", "--json")
    assert run.report["failures"][0]["details"]["failure_count"] == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "artifact.json:1: is not JSON: it is empty"),
        ("{\n\n]", "artifact.json:3: is not JSON: Expecting property name"),
        ('{"runId": "r"}', "artifact.json:1: snapshot is missing; events is missing"),
        ('\n{"snapshot": {}}', "artifact.json:2: events is missing"),
        (
            '{\n"one":\n[{"snapshot": {}, "events": []},\n {"snapshot": [], "events": 5}]}',
            "artifact.json:4: case one: ",
        ),
    ],
)
def test_a_file_that_contains_no_artifact_is_refused_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    write(tmp_path, artifact_json=text, dataset_json=dataset("one"))
    done = drive(tmp_path, "regrade", "--artifact", "artifact.json", "--dataset", "dataset.json")
    assert done.code == 2
    assert problem in done.err
    assert "an artifact is {runId, snapshot, events}" in done.err
    missing = drive(tmp_path, "regrade", "--artifact", "nowhere.json", "--dataset", "dataset.json")
    assert missing.code == 2
    assert "nowhere.json: cannot be read: No such file" in missing.err


SCORERS = """
count = 5
def boom(artifact):
    raise RuntimeError("kaput")
def half(artifact):
    return 0.5
"""


def test_scorers_can_be_chosen(tmp_path: Path) -> None:
    done = grade_artifacts(tmp_path, {"one": artifact("hello")}, "--scorer", "cost", ids=("one",))
    [trial] = done.report["trials"]
    assert [grade["grader"] for grade in trial["grades"]] == ["assertions", "cost"]


def test_a_scorer_that_raises_counts_as_0_and_is_reported(tmp_path: Path) -> None:
    """It used to be left out of the mean, which raised the score without any report."""
    write(
        tmp_path,
        scorers_py=SCORERS,
        dataset_json=dataset("one", "two", target="echo", scorers=["scorers.py:boom", "scorers.py:half"]).replace(
            '{"task": "greet"}', '"hello"'
        ),
    )
    done = drive(tmp_path, "run", "dataset.json", "--json")
    assert done.code == 0, done.both
    assert [trial["score"] for trial in done.report["trials"]] == [0.25, 0.25]
    grade = done.report["trials"][0]["grades"][1]
    assert (grade["state"], grade["score"]) == ("fail", 0.0)
    assert "RuntimeError: kaput" in grade["reason"]
    alone = drive(tmp_path, "run", "dataset.json", "--scorer", "scorers.py:boom")
    assert alone.code == 0
    assert "scorers.py:boom: scored 0 in 2 trials of one, two: the grader raised RuntimeError: kaput" in alone.out
    assert "score       0 %" in alone.out
    refused = drive(tmp_path, "run", "dataset.json", "--scorer", "scorers.py:count")
    assert refused.code == 2
    assert "scorers.py:count is neither a function nor an object with a method score" in refused.err


@pytest.mark.parametrize("required", [False, True])
def test_a_path_at_which_there_is_nothing_is_reported(required: bool, tmp_path: Path) -> None:
    judge = {"name": "llm-judge", "criteria": "Is it kind?", "enabled": True, "model": "scripted/judge.yaml"}
    near = {"name": "similarity", "expectedValue": "hello"}
    scorers = [{**scorer, "outputPath": "nix.text", "required": required} for scorer in (judge, near)]
    replies = r"""replies:
  - when: '"nonce": "(\w+)"'
    object: {nonce: "{match:1}", reason: so, result: pass}
"""
    written = dataset("one", "two", target="echo", scorers=scorers).replace('{"task": "greet"}', '"hello"')
    write(tmp_path, dataset_json=written, judge_yaml=replies)
    done = drive(tmp_path, "run", "dataset.json")
    assert done.code == 0, done.both
    for scorer in ("llm-judge", "similarity"):
        assert f'{scorer}: scored 0 in 2 trials of one, two: Path "nix.text" not found' in done.out


def test_a_scorer_is_shown_to_measure_and_a_judge_that_is_off_to_be_off(tmp_path: Path) -> None:
    """They were shown as passed, in trials that failed."""
    scorers = [
        "cost",
        {"name": "latency", "min": 0.1, "required": True},
        {"name": "llm-judge", "criteria": "Is it kind?"},
    ]
    write(tmp_path, dataset_json=dataset("one", target="echo", scorers=scorers))
    done = drive(tmp_path, "run", "dataset.json", "--verbose")
    shown = drive(tmp_path, "show", line_of(done, "look").split()[3], "one")
    for text in (done.out, shown.out):
        assert "assertions: fail 0.00" in text
        assert "cost: scored 1.00" in text
        assert "latency: pass 1.00" in text
        assert "llm-judge: off" in text
    assert "includes scores of failed cases; assertions count in the pass rate" in done.out


def test_a_variant_that_only_has_an_id_is_told_to_the_target(tmp_path: Path) -> None:
    agent = "def run(task, context):\n    return 'hello ' + context.variant['id']\n"
    write(tmp_path, agent_py=agent, dataset_json=dataset("one", target="agent.py:run", variants=[{"id": "big"}]))
    done = drive(tmp_path, "run", "dataset.json", "--json")
    assert done.code == 0, done.both
    assert done.report["trials"][0]["output"] == "hello big"
    command = "cmd:sh -c 'echo hello $EVALHARNESS_VARIANT'"
    done = drive(tmp_path, "run", "dataset.json", "--target", command, "--json")
    assert "big" in done.report["trials"][0]["output"]


def test_an_artifact_outside_the_suites_folder_needs_the_users_own_target(tmp_path: Path) -> None:
    project = tmp_path / "project"
    outside = {"snapshot": {"outputs": {"primaryOutput": "private"}}, "events": []}
    write(tmp_path, private_json=json.dumps(outside))
    write(
        project,
        suite_yaml="name: s\ntarget: {artifact: ../private.json}\n"
        "test_cases: [{id: a, input: x, expected: {contains: private}}]\n",
        mine_yaml="artifact: ../private.json\n",
    )
    refused = drive(project, "run", "suite.yaml")
    assert refused.code == 2, refused.both
    assert "outside the suite's folder" in refused.both and "--target" in refused.both
    assert drive(project, "run", "suite.yaml", "--target", "mine.yaml").code == 0
