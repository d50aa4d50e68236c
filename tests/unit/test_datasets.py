"""evalharness.datasets: the documented names, the documented example, and the checks of a dataset in Python."""

from __future__ import annotations

import asyncio
import copy
import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import HonestLlm, SayingLlm
from sample_sizes import examples

from evalharness import Settings, datasets, evaluate
from evalharness.datasets import (
    DatasetIssue,
    DatasetValidationError,
    EvalArtifact,
    EvalDataset,
    Score,
    Scorer,
    create_artifact_view,
    create_cost_scorer,
    create_in_memory_cache,
    create_latency_scorer,
    create_llm_judge_scorer,
    create_similarity_scorer,
    create_tokens_scorer,
    discover_datasets,
    evaluate_assertions,
    generate_judge_cache_key,
    generate_recording_id,
    load_dataset,
    load_dataset_from_file,
    parse_recording_id,
    validate_dataset,
)
from evalharness.errors import HarnessError, UsageError
from evalharness.formats.workflow_datasets.reader import suite_of
from evalharness.tasks import EvalSuite

DOCUMENTED_NAMES = """
    load_dataset load_dataset_from_file validate_dataset discover_datasets EvalDataset EvalCase
    Assertion AssertionResult evaluate_assertions EvalArtifact RunSnapshot RuntimeEvent create_artifact_view
    Scorer Score create_latency_scorer create_cost_scorer create_tokens_scorer create_similarity_scorer
    create_llm_judge_scorer EvalVariant Variant generate_recording_id parse_recording_id
    JudgeCache create_in_memory_cache generate_judge_cache_key DatasetValidationError ValidationResult
"""
JUDGE_SCRIPT = r"""
replies:
  - when: '(?s)The statement:.*"nonce": "(\w+)"'
    object: {nonce: "{match:1}", reason: it says so, result: pass}
  - when: '"nonce": "(\w+)"'
    object: {nonce: "{match:1}", justification: fair, overall_score: 3, passed: false, specific_feedback: []}
"""
DATASET: dict[str, Any] = {
    "id": "my-workflow.v1",
    "workflowName": "my-workflow",
    "version": "1.0.0",
    "cases": [
        {
            "id": "basic-test",
            "name": "Basic functionality test",
            "input": {"task": "Say hello"},
            "assertions": [
                {"type": "behavior.no_errors"},
                {"type": "output.contains", "path": "outputs.main.text", "value": "hello"},
                {"type": "metric.latency_ms.max", "value": 30000},
            ],
            "tags": ["smoke"],
        }
    ],
}
ARTIFACT: dict[str, Any] = {
    "runId": "run-123",
    "snapshot": {"status": "complete", "outputs": {"main": {"text": "hello, world"}}, "state": {"round": 2}},
    "events": [
        {"type": "flow:start", "flowName": "my-workflow", "timestamp": 1000},
        {
            "type": "agent:complete",
            "nodeId": "main",
            "timestamp": 16000,
            "durationMs": 15000,
            "usage": {"inputTokens": 8000, "outputTokens": 4500},
            "totalCostUsd": 0.25,
        },
        {"type": "flow:complete", "flowName": "my-workflow", "status": "complete", "timestamp": 16000},
    ],
}


def test_every_name_of_the_document_is_there() -> None:
    assert set(DOCUMENTED_NAMES.split()) <= set(datasets.__all__)
    for name in datasets.__all__:
        assert getattr(datasets, name) is not None


def test_every_public_name_is_on_its_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "workflow-datasets.md").read_text(encoding="utf-8")
    results = {"ArtifactView", "DatasetIssue", "RecordingParts"}
    assert [name for name in datasets.__all__ if f"`{name}" not in page and name not in results] == []


def test_the_documents_quick_start() -> None:
    dataset = load_dataset(DATASET)
    result = validate_dataset(dataset)
    assert (result.valid, result.errors, result.warnings) == (True, (), ())

    artifact = EvalArtifact.model_validate(ARTIFACT)
    results = evaluate_assertions(artifact, dataset.cases[0].assertions)
    assert [(found.assertion.type, found.passed) for found in results] == [
        ("behavior.no_errors", True),
        ("output.contains", True),
        ("metric.latency_ms.max", True),
    ]

    scorers: list[Scorer] = [
        create_latency_scorer(max_ms=30000),
        create_cost_scorer(max_usd=1.0),
        create_tokens_scorer(max_tokens=50000),
    ]
    scores = [scorer.score(artifact) for scorer in scorers]
    assert [score.value for score in scores] == [0.5, 0.75, 0.75]
    assert sum(score.value for score in scores) / len(scores) == pytest.approx(2 / 3)


def test_a_failed_assertion_says_what_it_found() -> None:
    [found] = evaluate_assertions(
        EvalArtifact.model_validate(ARTIFACT),
        load_dataset(
            with_assertion({"type": "output.contains", "path": "outputs.main.text", "value": "goodbye"})
        ).cases[0].assertions,
    )  # fmt: skip
    assert not found.passed
    assert found.actual == "hello, world"
    assert "goodbye" in found.message


def test_a_scorer_of_your_own() -> None:
    class LengthScorer:
        name = "length"

        def score(self, artifact: EvalArtifact) -> Score:
            text = artifact.snapshot.outputs["main"]["text"]
            return Score(name=self.name, value=min(len(text) / 24, 1), raw_value=len(text), metadata={"unit": "chars"})

    own: list[Scorer] = [LengthScorer(), create_similarity_scorer("main.text", "hello", algorithm="contains")]
    assert [scorer.score(EvalArtifact.model_validate(ARTIFACT)).value for scorer in own] == [0.5, 1.0]


class Length:
    name = "length"

    def score(self, artifact: EvalArtifact) -> Score:
        text = create_artifact_view(artifact).outputs["main"]["text"]
        return Score(name=self.name, value=len(text) / 24)


def answered(task: Any) -> str:
    return "hello, world"


def test_a_loaded_dataset_can_be_run() -> None:
    run = evaluate(load_dataset(DATASET), answered, store=":memory:")
    [trial] = run.trials
    assert (run.passed, run.suite.name) == (True, "my-workflow.v1")
    assert [grade.grader for grade in trial.grades] == ["assertions", "latency", "cost", "tokens"]
    tasks = EvalSuite.model_validate({"name": "t", "tasks": [{"id": "a", "category": "bug_fix", "prompt": "?"}]})
    assert evaluate(tasks, answered, store=":memory:").passed


def test_it_can_be_run_with_scorers_of_your_own() -> None:
    asked = [Length(), Length, create_cost_scorer(max_usd=2), "tokens:max_tokens=1000", lambda artifact: 0.25]
    [trial] = evaluate(load_dataset(DATASET), answered, scorers=asked, store=":memory:").trials
    assert [(grade.kind, grade.score) for grade in trial.grades[1:]] == [
        ("scorer", 0.5), ("scorer", 0.5), ("cost", 1.0), ("tokens", 1.0), ("scorer", 0.25),
    ]  # fmt: skip
    assert [grade.grader for grade in trial.grades[1:3]] == ["length", "length"]


def test_what_cannot_be_run_is_refused_in_words() -> None:
    case = load_dataset(DATASET).cases[0]
    wrong: list[tuple[Any, str]] = [
        (DATASET, "takes a Suite, an EvalDataset, an EvalSuite, a file or a suite's name, not dict"),
        (None, "not NoneType"),
        (EvalDataset(id="d", workflow_name="w", version="1", cases=(case, case)), "case id 'basic-test' is used 2"),
    ]
    for suite, problem in wrong:
        with pytest.raises(UsageError, match=problem):
            evaluate(suite, answered, store=":memory:")


def test_recording_ids_are_public() -> None:
    written = generate_recording_id(
        dataset_id="coder-reviewer.v1",
        case_id="simple-api",
        variant_id="claude-default",
        node_id="coder",
        invocation=0,
    )
    assert written == "eval__coder-reviewer.v1__simple-api__claude-default__coder__inv0"
    parts = parse_recording_id(written)
    assert parts is not None
    assert parts.node_id == "coder"


def with_assertion(assertion: dict[str, Any]) -> dict[str, Any]:
    data = copy.deepcopy(DATASET)
    data["cases"][0]["assertions"] = [assertion]
    return data


def test_a_loaded_dataset_has_the_documented_shape() -> None:
    dataset = load_dataset(DATASET)
    assert (dataset.id, dataset.workflow_name, dataset.version) == ("my-workflow.v1", "my-workflow", "1.0.0")
    [case] = dataset.cases
    assert (case.id, case.name, case.input) == ("basic-test", "Basic functionality test", {"task": "Say hello"})
    assert (case.tags, case.assertions[1].type) == (("smoke",), "output.contains")
    assert load_dataset(dataset) == dataset
    assert load_dataset(MappingProxyType(DATASET)) == dataset


def test_a_dataset_built_in_python_is_checked_like_a_file() -> None:
    case = load_dataset(DATASET).cases[0]
    twice = EvalDataset(id="d", workflow_name="w", version="1", cases=(case, case))
    assert [str(issue) for issue in validate_dataset(twice).errors] == ["cases.1.id: is already the id of cases.0"]
    assert load_dataset(EvalDataset(id="d", workflow_name="w", version="1", cases=(case,))).cases == (case,)


def test_braces_stay_as_they_are() -> None:
    data = with_assertion({"type": "output.contains", "path": "outputs.main", "value": "{{name}}"})
    data["cases"][0]["input"] = "{{name}}"
    [case] = load_dataset(data).cases
    assert case.input == "{{name}}"
    assert case.assertions[0].model_dump()["value"] == "{{name}}"


def test_a_wrong_dataset_raises_with_every_issue() -> None:
    data = with_assertion({"type": "output.contain"})
    data["id"] = "my workflow"
    del data["workflowName"]
    with pytest.raises(DatasetValidationError) as raised:
        load_dataset(data)
    issues = raised.value.issues
    assert [issue.path for issue in issues] == ["workflowName", "id", "cases.0.assertions.0.type"]
    assert str(raised.value).splitlines() == [f"{issue.path}: {issue.message}" for issue in issues]
    assert "did you mean 'output.contains'?" in str(raised.value)
    assert isinstance(raised.value, UsageError)
    assert raised.value.exit_code == 2


def test_a_file_is_loaded_and_its_issues_know_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps(DATASET), encoding="utf-8")
    assert load_dataset_from_file(str(path)) == load_dataset(DATASET)
    path.write_text('{\n"id": "a b",\n"workflowName": "w", "version": "1",\n"cases": {}}', encoding="utf-8")
    with pytest.raises(DatasetValidationError) as raised:
        load_dataset_from_file(path)
    assert [(issue.path, issue.line) for issue in raised.value.issues] == [("id", 2), ("cases", 4)]
    assert f"{path}:4: cases: must be a list, not a mapping" in str(raised.value)


@pytest.mark.parametrize("text", ["{", "", "\udcff"])
def test_a_file_that_cannot_be_read_raises_the_same_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "dataset.json"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(DatasetValidationError):
        load_dataset_from_file(path)
    with pytest.raises(DatasetValidationError, match=r"gone\.json: cannot be read: No such file"):
        load_dataset_from_file(tmp_path / "gone.json")


def test_warnings_make_nothing_invalid() -> None:
    data = copy.deepcopy(DATASET)
    data["cases"] += [{"id": f"c{n}", "input": 1, "assertions": []} for n in range(3)]
    result = validate_dataset(data)
    assert result.valid
    assert [issue.path for issue in result.warnings] == [
        "cases.0.tags.0",
        "cases.1.assertions",
        "cases.2.assertions",
        "cases.3.assertions",
    ]


def test_a_repeated_id_is_an_error_and_listed_among_the_warnings() -> None:
    """Documented like this; where problems are printed, it is reported once."""
    data = copy.deepcopy(DATASET)
    data["cases"] *= 2
    result = validate_dataset(data)
    assert not result.valid
    assert [issue.path for issue in result.errors] == ["cases.1.id"]
    assert result.warnings == (DatasetIssue("cases.1.id", "duplicate case id: basic-test"),)


LOOP: list[Any] = []
LOOP.append(LOOP)
DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "data",
    [
        None,
        5,
        "text",
        b"bytes",
        [],
        {},
        object(),
        LOOP,
        DEEP,
        {"cases": 5},
        {"cases": "abc"},
        {"cases": {"a": 1}},
        {"cases": [None, 5, [], {}]},
        {"cases": [{"id": [], "assertions": 5, "tags": {}}]},
        {None: 1, 5: 2, "cases": []},
        {(1, 2): 3},
        {1: "a", "1": "b"},
        {**DATASET, "id": float("nan")},
        {**DATASET, "trials": 10**400},
        {**DATASET, "version": "\ud800"},
        {**DATASET, "cases": (case for case in [])},
        float("inf"),
    ],
    ids=lambda data: type(data).__name__,
)
def test_no_object_makes_the_check_raise(data: Any) -> None:
    """Cases that are not a list used to."""
    result = validate_dataset(data)
    assert not result.valid
    assert all(str(issue) for issue in result.errors)
    with pytest.raises(DatasetValidationError):
        load_dataset(data)


KEYS = st.sampled_from([*DATASET, *DATASET["cases"][0], "type", "path", "value", "nodeId", "variants", "scorers", ""])
WORDS = st.sampled_from(["output.contains", "behavior.no_errors", "latency", "a", "a b", "", "{{x}}"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | KEYS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5))


@given(st.dictionaries(KEYS, VALUES, max_size=5), st.dictionaries(KEYS, VALUES), VALUES)
@examples(150)
def test_no_mangled_dataset_makes_the_check_raise(top: Any, case: Any, assertion: Any) -> None:
    mangled = {**DATASET, "cases": [{**DATASET["cases"][0], "assertions": [assertion], **case}], **top}
    result = validate_dataset(mangled)
    assert all(issue.message for issue in (*result.errors, *result.warnings))
    if result.valid:
        assert suite_of(load_dataset(mangled)).cases, "a valid dataset can be run"


def test_datasets_are_found_in_a_folder_but_not_below_it(tmp_path: Path) -> None:
    for name in ("b.json", "a.json", "readme.md"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "c.json").write_text("{}", encoding="utf-8")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / ".hidden.json").write_text("{}")
    assert discover_datasets(str(tmp_path)) == [tmp_path / "a.json", tmp_path / "b.json"]
    assert discover_datasets(tmp_path / "missing") == []


def test_a_key_of_the_cache_distinguishes_everything() -> None:
    """The original's has 32 bits, loses a sign, and includes neither model nor prompt."""
    asked = ("outputs.main.code", "Is this good?", "Hello")
    key = generate_judge_cache_key(*asked)
    assert key.startswith("judge:")
    assert len(key) == len("judge:") + 64
    assert key == generate_judge_cache_key(*asked)
    others = [
        generate_judge_cache_key("outputs.main", *asked[1:]),
        generate_judge_cache_key(asked[0], "Is this", asked[2]),
        generate_judge_cache_key(asked[0], "Is this good?|Hello", ""),
        generate_judge_cache_key(*asked, model="a/b"),
        generate_judge_cache_key(*asked, prompt="a/b"),
        *(generate_judge_cache_key(*asked[:2], value) for value in (1, 1.5, True, "1", None, [1], {"k": 1}, "\ud800")),
    ]
    assert len({key, *others}) == len(others) + 1
    assert generate_judge_cache_key("a", "b", {"k": 1, "l": 2}) == generate_judge_cache_key("a", "b", {"l": 2, "k": 1})


def test_the_documents_example_of_a_cache() -> None:
    async def judged_once() -> Any:
        cache = create_in_memory_cache()
        key = generate_judge_cache_key("outputs.main.code", "Is this code correct?", "print(1)")
        for _ in range(2):
            if await cache.has(key):
                return await cache.get(key)
            await cache.set(key, {"score": 0.9})
        raise AssertionError("it was kept")

    assert asyncio.run(judged_once()) == {"score": 0.9}


def test_a_judge_scores_an_output() -> None:
    llm, cache = HonestLlm("hello"), create_in_memory_cache()

    def score(path: str = "main.text", **more: Any) -> Score:
        scorer = create_llm_judge_scorer(path, "Is it kind?", model=llm, cache=cache, **more)
        assert scorer.name == "llm-judge"
        return scorer.score(ARTIFACT)

    off = score()
    assert (off.value, off.metadata["enabled"], llm.requests) == (0, False, []), "as documented, and nobody is asked"
    for _ in range(2):
        found = score(enabled=True)
        assert (found.value, found.raw_value, found.metadata["model"]) == (1.0, 5, "test/judge-2026")
    assert len(llm.requests) == 1
    missing = score("x.y", enabled=True)
    assert (missing.value, missing.metadata["error"]) == (0.0, 'Path "x.y" not found')


def test_a_judge_uses_the_settings_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-shell")
    scorer = create_llm_judge_scorer("main.text", "Is it kind?", model="openai/m", enabled=True, settings=Settings({}))
    with pytest.raises(HarnessError, match="OPENAI_API_KEY"):
        asyncio.run(scorer.score(ARTIFACT))
    assert "sk-of-the-shell" not in repr(create_llm_judge_scorer("main.text", "Is it kind?"))


def test_a_judge_without_a_verdict_gives_no_score() -> None:
    def scored_by(**options: Any) -> None:
        create_llm_judge_scorer("main.text", "Is it kind?", enabled=True, **options).score(ARTIFACT)

    with pytest.raises(UsageError, match="no judge is set"):
        scored_by()
    with pytest.raises(HarnessError, match="the judge gave no verdict"):
        scored_by(model=SayingLlm(lambda _: "It is fine."))


def test_a_judge_scores_in_a_list_of_scorers_also_inside_a_loop() -> None:
    llm = HonestLlm("hello")
    judge = create_llm_judge_scorer(outputPath="main.text", criteria="Is it kind?", model=llm, enabled=True)
    scorers: list[Scorer] = [create_latency_scorer(maxMs=30000), create_cost_scorer(maxUsd=1.0), judge]

    async def scores() -> list[Score]:
        return [scorer.score(EvalArtifact.model_validate(ARTIFACT)) for scorer in scorers]

    for found in (asyncio.run(scores()), [scorer.score(EvalArtifact.model_validate(ARTIFACT)) for scorer in scorers]):
        assert [score.value for score in found] == [0.5, 0.75, 1.0]
    wrong: list[dict[str, Any]] = [{"output_path": ""}, {"enabled": "yes"}, {"outputPaths": "a"}, {"outputPath": "b"}]
    for options in wrong:
        with pytest.raises(UsageError, match=r"output_?[pP]ath|enabled"):
            create_llm_judge_scorer(**{"output_path": "a", "criteria": "Is it kind?", **options})


def test_a_dataset_is_written_and_read_in_either_spelling() -> None:
    variants = [{"id": "v", "modelByNode": {"a": "b"}, "providerTypeByNode": {"a": "c"}}]
    case = {"id": "a", "input": 1, "assertions": [{"type": "behavior.node_executed", "nodeId": "x"}]}
    dataset = load_dataset({**DATASET, "cases": [case], "variants": variants})
    documented = dataset.model_dump(mode="json", by_alias=True)
    assert documented["variants"][0] == {**variants[0], "target": None, "tags": []}
    assert documented["workflowName"] == "my-workflow"
    in_python = dataset.model_dump(mode="json")
    assert in_python["variants"][0]["model_by_node"] == {"a": "b"}
    assert load_dataset(documented) == load_dataset(in_python) == dataset
    twice = validate_dataset({**DATASET, "workflow_name": "w"})
    assert [str(issue) for issue in twice.errors] == [
        "workflow_name: is given twice, in two spellings; keep one of them"
    ]


def test_a_judge_takes_a_list_of_criteria_and_refuses_what_is_none() -> None:
    scorer = create_llm_judge_scorer("main.text", ["Is it kind?", "Is it short?"])
    assert scorer.criteria == "- Is it kind?\n- Is it short?"
    wrong: list[Any] = ["", [], 5, [1], "code_qualty", "1. **Tone** (weight: 4)\n2. **Length**"]
    for criteria in wrong:
        with pytest.raises(UsageError, match="criteria"):
            create_llm_judge_scorer("main.text", criteria)


def test_a_run_takes_a_judge_among_its_scorers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "judge.yaml").write_text(JUDGE_SCRIPT)
    monkeypatch.chdir(tmp_path)
    dataset = load_dataset(DATASET)
    on, off = (
        create_llm_judge_scorer("main.text", "Is it kind?", model="scripted/judge.yaml", enabled=enabled)
        for enabled in (True, False)
    )
    run = evaluate(dataset, lambda _: "hello", scorers=[on, off], store=":memory:")
    assert run.trials[0].score == 0.5
