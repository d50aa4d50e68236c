from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from math import log2
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import GradeContext
from evalharness.domain.case import Case
from evalharness.domain.example import merge_examples
from evalharness.domain.grade import Grade
from evalharness.domain.invalid_values import explain
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.errors import Unscored
from evalharness.graders.retrieval import Retrieval
from evalharness.testing.services import fake_services

Grading = Callable[..., Grade]


def built(written: Any, root: Path) -> Any:
    return registry.build_grader(GraderSpec.model_validate({"retrieval": written}), fake_services(root))


@pytest.fixture
def grade(tmp_path: Path) -> Grading:
    def graded(written: Any, output: Any = "", **answer: Any) -> Grade:
        context = GradeContext(Case(id="a", input="?"), Transcript(output=output, **answer), index=0, seed=0)
        return asyncio.run(built(written, tmp_path).grade(context))

    return graded


def called(*results: Any, name: str = "search") -> tuple[ToolCall, ...]:
    return tuple(ToolCall(name=name, result=result) for result in results)


# What passes, and what it scores.


def test_by_default_every_expected_document_must_be_retrieved(grade: Grading) -> None:
    assert grade(["a", "b"], ["x", "b", "a"]).passed
    half = grade(["a", "b"], ["x", "b"])
    assert (half.state, half.score) == ("fail", 0.5)


def test_figures_go_by_rank(grade: Grading) -> None:
    found = grade("c", ["a", "b", "c"])
    assert found.figures == {
        "hit_at_1": 0.0,
        "hit_at_k": 1.0,
        "recall": 1.0,
        "precision_at_k": pytest.approx(1 / 3),
        "mrr": pytest.approx(1 / 3),
        "ndcg": pytest.approx(1 / log2(4)),
    }


def test_only_the_first_k_count(grade: Grading) -> None:
    assert grade({"expected": "c", "k": 3}, ["a", "b", "c"]).passed
    late = grade({"expected": "c", "k": 2}, ["a", "b", "c"])
    assert (late.passed, late.score, late.figures["mrr"]) == (False, 0.0, 0.0)
    assert late.evidence["ranks"] == {"c": 3}


def test_gains_decide_the_ndcg_alone(grade: Grading) -> None:
    found = grade({"expected": {"best": 3, "good": 1}}, ["good", "best"])
    assert found.passed
    assert found.figures["ndcg"] == pytest.approx((1 + 3 / log2(3)) / (3 + 1 / log2(3)))
    assert found.figures["recall"] == 1.0


@pytest.mark.parametrize(
    ("rule", "passed", "score"),
    [
        ({"recall": 0.5}, True, 0.5),
        ({"recall": 0.6}, False, 0.5),
        ({"mrr": 0.5}, True, 0.5),
        ({"hit@1": 1}, False, 0.0),
        ({"hit_at_k": 1}, True, 1.0),
        ({"precision@k": 0.25, "recall": 0.5}, True, 0.375),
        ({"precision_at_k": 0.5, "hit@k": 1}, False, 0.625),
    ],
)
def test_the_score_is_the_mean_of_the_figures_that_decide(
    rule: dict[str, float], passed: bool, score: float, grade: Grading
) -> None:
    found = grade({"expected": ["b", "z"], "k": 4, "pass": rule}, ["a", "b", "c", "d"])
    assert (found.passed, found.score) == (passed, pytest.approx(score))


def test_a_document_retrieved_again_counts_at_its_first_rank_and_takes_up_a_place(grade: Grading) -> None:
    found = grade({"expected": ["a", "b"], "k": 3}, ["a", "a", "b"])
    assert found.evidence["ranks"] == {"a": 1, "b": 3}
    assert found.figures["precision_at_k"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("output", [[], {"contexts": []}, "", None, "[]"])
def test_nothing_retrieved_fails_with_0(output: Any, grade: Grading) -> None:
    found = grade(["a"], output)
    assert (found.state, found.score) == ("fail", 0.0)
    assert set(found.figures.values()) == {0.0}
    assert found.reason.endswith("; expected a")


# Reasons.


@pytest.mark.parametrize(
    ("written", "output", "reason"),
    [
        (
            {"expected": ["doc-2", "doc-7"], "k": 5},
            ["x", "y", "doc-2", "z", "w", "v"],
            "expected doc-7 is not among the first 5; doc-2 is at rank 3",
        ),
        (["a", "b", "c"], ["x", "c"], "expected a and b are not among the 2 retrieved documents; c is at rank 2"),
        ({"expected": "a", "k": 1}, ["x", "a"], "a is not at rank 1 but at rank 2"),
        ({"expected": "a", "k": 9}, ["x"], "expected a is not among the 1 retrieved document"),
        ({"expected": "a", "pass": {"mrr": 0.5}}, ["x", "y", "a"], "MRR 0.33 < 0.5; a is at rank 3"),
        (
            {"expected": ["a", "b"], "pass": {"recall": 0.8}},
            ["a"],
            "recall 0.5 < 0.8; expected b is not among the 1 retrieved document; a is at rank 1",
        ),
        (
            [f"doc-{number}" for number in range(8)],
            ["x"],
            "expected doc-0, doc-1, doc-2, doc-3, doc-4 and 3 more are not among the 1 retrieved document",
        ),
        ("a", [], "nothing was retrieved; expected a"),
        ("a", "", "the answer is empty; expected a"),
        ("a", "It is in a.", "the answer is not a list of documents and does not contain one; expected a"),
        ("a", 7, "the answer is not a list of documents and does not contain one; expected a"),
        ({"expected": "a", "from": {"path": "x.y"}}, {"x": 1}, "the answer has nothing at x.y; expected a"),
        ({"expected": "a", "from": {"tool": "search"}}, "a", "search was not called; expected a"),
        ({"expected": "a", "from": {"files": "out/*.json"}}, "a", "no file matches out/*.json; expected a"),
    ],
)
def test_the_reason_says_what_is_missing_and_where_the_rest_is(
    written: Any, output: Any, reason: str, grade: Grading
) -> None:
    found = grade(written, output)
    assert not found.passed
    assert found.reason == reason


def test_an_answer_without_a_known_field_says_how_to_name_one(grade: Grading) -> None:
    assert "`from: {path: …}`" in grade("a", {"answer": "yes", "things": ["a"]}).reason


# Where documents are.


@pytest.mark.parametrize(
    "output",
    [
        ["x", "a"],
        '["x", "a"]',
        '```json\n["x", "a"]\n```',
        {"answer": "yes", "contexts": ["x", "a"]},
        {"retrievedDocs": ["x", "a"]},
        {"source_documents": [{"page_content": "…"}, {"page_content": "…", "metadata": {"source": "a"}}]},
        {"hits": {"total": 2, "hits": [{"_id": "x"}, {"_id": "a", "_source": {}}]}},
        {"source_nodes": [{"node": {"id": "x"}, "score": 0.9}, {"node": {"id": "a"}, "score": 0.8}]},
        {"status": 200, "headers": {}, "body": {"documents": [{"id": "x"}, {"id": "a"}]}},
        [{"id": "x"}, {"docId": "a"}],
        [{"id": 1, "text": "x"}, {"id": 2, "text": " a\n"}],
    ],
    ids=str,
)
def test_a_usual_shape_needs_no_options(output: Any, grade: Grading) -> None:
    found = grade("a", output)
    assert found.passed
    assert found.evidence["ranks"] == {"a": 2}


def test_numbers_are_ids(grade: Grading) -> None:
    assert grade([7, "8"], [{"id": "7"}, {"id": 8}]).passed
    assert not grade(1, [True]).passed


def test_a_path_leads_to_the_documents_and_a_field_to_their_id(grade: Grading) -> None:
    output = {"contexts": ["x"], "response": {"hits": [{"id": "x", "meta": {"file": "a"}}]}}
    written = {"expected": "a", "from": {"path": "$.response.hits"}, "field": "meta.file"}
    assert grade(written, output).passed
    assert not grade(written | {"field": "id"}, output).passed


def test_results_of_a_tool_count_in_the_order_of_its_calls(grade: Grading) -> None:
    calls = called([{"id": "x"}, {"id": "b"}], '{"results": [{"id": "a"}]}', "a text", None, {"id": "c"})
    found = grade({"expected": ["a", "b", "c"], "from": {"tool": "search"}}, "done", tool_calls=calls)
    assert found.evidence["ranks"] == {"a": 3, "b": 2, "c": 5}
    assert found.evidence["retrieved"] == ["x", "b", "a", "a text", "c"]
    others = called(["a"], name="open")
    assert not grade({"expected": "a", "from": {"tool": "search"}}, "done", tool_calls=others).passed


def test_results_of_a_tool_by_path(grade: Grading) -> None:
    written = {"expected": "a", "from": {"tool": "search", "path": "data.found"}}
    assert grade(written, tool_calls=called({"error": "none"}, {"data": {"found": ["a"]}})).passed
    nothing = grade(written, tool_calls=called({"error": "none"}))
    assert nothing.reason == "no result of search has anything at data.found; expected a"


def test_files_count_in_the_order_of_their_numbers(grade: Grading) -> None:
    files = {
        "out/10.json": '["c"]',
        "out/2.jsonl": '{"id": "a"}\n\n{"id": "b"}\n',
        "out/deep/1.json": '["d"]',
        "x.json": "[]",
    }
    found = grade({"expected": ["a", "b", "c"], "from": {"files": "out/*.json*"}}, files=files)
    assert found.evidence["ranks"] == {"a": 1, "b": 2, "c": 3}
    assert grade({"expected": "d", "from": {"files": "out/**/*.json"}}, files=files).passed


def test_a_file_that_is_no_json_is_one_document(grade: Grading) -> None:
    files = {"found/1.txt": "Shipping takes\n3 days.", "found/2.md": "Goods can be returned."}
    assert grade({"expected": ["Shipping takes 3 days."], "from": {"files": "found/*"}}, files=files).passed
    assert grade({"expected": ["found/2.md"], "from": {"files": "found/*"}}, files=files).passed


def test_a_file_that_was_not_kept_whole_decides_nothing(grade: Grading) -> None:
    written = {"expected": "a", "from": {"files": "*.json"}}
    with pytest.raises(Unscored, match=r"only part of a.json was kept"):
        grade(written, files={"a.json": '["x"\n[… 900 bytes cut …]'})
    with pytest.raises(Unscored, match="not all files were kept"):
        grade(written, files={"b.json": "[]", "…": "3 more files"})
    assert grade(written, files={"b.json": '["a"]', "…": "3 more files"}).passed


def test_a_broken_file_fails(grade: Grading) -> None:
    broken = grade({"expected": "a", "from": {"files": "*.json"}}, files={"a.json": "[oops"})
    assert broken.reason.startswith("a.json is not JSON (")


# How documents are recognised.


def test_an_expected_text_may_be_a_part_of_a_retrieved_one(grade: Grading) -> None:
    output = [{"id": "doc-10", "text": "Shipping takes\n  3 to 5 days in Europe."}]
    assert grade({"expected": "Shipping takes 3 to 5 days", "match": "contains"}, output).passed
    assert not grade("Shipping takes 3 to 5 days", output).passed
    assert not grade({"expected": "doc-1", "match": "contains"}, output).passed, "an id is no text"


def test_one_text_may_contain_all_that_is_expected(grade: Grading) -> None:
    found = grade({"expected": ["one", "two"], "match": "contains", "k": 1}, ["one and two"])
    assert found.passed
    assert (found.figures["recall"], found.figures["precision_at_k"], found.figures["ndcg"]) == (1, 1, 1)


def test_many_documents_are_compared_up_to_a_limit(grade: Grading) -> None:
    many = [str(number) for number in range(20_000)]
    with pytest.raises(Unscored, match="20000 retrieved documents are too many to compare: at most 10000"):
        grade("5", many)
    assert grade({"expected": "5", "k": 10}, many).passed


# What a file may say.


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ({"expected": []}, "is empty; list at least one document"),
        ({"expected": {}}, "is empty; list at least one document"),
        ({"expected": [" "]}, "must have text or a number for each document"),
        ({"expected": [["a"]]}, "must have text or a number for each document"),
        ({"expected": {"a": 0}}, "gains above 0; the gain of 'a' is 0"),
        ({"expected": {"a": "much"}}, "gains above 0; the gain of 'a' is 'much'"),
        ({"k": 3}, "is missing"),
        ({"expected": "a", "k": 0}, "at least 1"),
        ({"expected": "a", "from": "tool"}, "must be answer, {path: PATH}, {tool: NAME} or {files: GLOB}"),
        ({"expected": "a", "from": {"tool": "s", "files": "x"}}, "names both a tool and files"),
        ({"expected": "a", "from": {"files": "/etc/*"}}, "a relative path inside the workspace"),
        ({"expected": "a", "pass": {}}, "is empty; name at least one of"),
        ({"expected": "a", "pass": {"recall": 0}}, "greater than 0"),
        (
            {"expected": ["a", "b"], "k": 1},
            "can never pass: with k = 1 and 2 documents expected, recall is at most 0.5",
        ),
        ({"expected": "a", "k": 4, "pass": {"precision@k": 0.5}}, "precision@k is at most 0.25"),
    ],
)
def test_what_makes_no_sense_is_refused(written: Any, problem: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Retrieval.Options.model_validate(written)
    assert problem in explain(refused.value)


# What the oracle answers.


@pytest.mark.parametrize(
    "written",
    [
        "a",
        ["a", "b"],
        {"expected": {"a": 1, "b": 3}, "pass": {"ndcg": 1}},
        {"expected": ["a", "b"], "from": {"path": "response.contexts"}, "field": "meta.id"},
        {"expected": ["a", "b"], "from": {"tool": "search"}},
        {"expected": ["a", "b"], "from": {"tool": "search", "path": "data"}, "k": 2},
        {"expected": ["a", "b"], "from": {"files": "out/**/*.json"}},
        {"expected": ["a", "b"], "from": {"files": "out/found.jsonl"}},
        {"expected": ["one", "two", "three"], "match": "contains", "k": 2},
    ],
    ids=str,
)
def test_the_example_passes(written: Any, tmp_path: Path, grade: Grading) -> None:
    example = built(written, tmp_path).example()
    assert example is not None
    answer = example.answer
    assert grade(written, answer.output, tool_calls=answer.tool_calls, files=answer.files).score == 1.0


@pytest.mark.parametrize(
    "written",
    [
        {"expected": "a", "from": {"path": "choices.0.contexts"}},
        {"expected": "a", "from": {"files": "out/*.txt"}},
        {"expected": "a", "from": {"files": "out/[ab].json"}},
        {"expected": "a", "field": "ids.0"},
    ],
    ids=str,
)
def test_where_an_example_cannot_be_built_there_is_none(written: Any, tmp_path: Path) -> None:
    assert built(written, tmp_path).example() is None


def test_the_example_leaves_room_for_what_the_answer_must_say(tmp_path: Path) -> None:
    text = registry.build_grader(GraderSpec.model_validate({"contains": "30 days"}), fake_services(tmp_path))
    merged = merge_examples([built(["a"], tmp_path).example(), text.example()])
    assert merged is not None
    assert merged.output == {"answer": "30 days", "retrieved": ["a"]}
    other = built(["b"], tmp_path).example()
    assert merge_examples([merged, other]) is None, "two lists of one name"


def test_other_documents_make_no_other_answer(tmp_path: Path) -> None:
    grader = built(["a", "b"], tmp_path)
    assert grader.normalised(["a", "x", "b"]) == grader.normalised({"contexts": ["b", "a"]})
    assert grader.normalised(["a"]) != grader.normalised(["a", "b"])
    assert grader.normalised("Yes") == "yes"


def test_a_group_of_graders_keeps_the_figures_of_its_parts(tmp_path: Path) -> None:
    spec = GraderSpec.model_validate({"all_of": [{"retrieval": "b"}, {"contains": "b"}]})
    grader = registry.build_grader(spec, fake_services(tmp_path))
    context = GradeContext(Case(id="a", input="?"), Transcript(output=["a", "b"]), index=0, seed=0)
    assert asyncio.run(grader.grade(context)).figures["mrr"] == 0.5


def test_long_names_and_lists_are_shortened_in_the_evidence(grade: Grading) -> None:
    found = grade("a", ["word " * 100] * 30)
    assert len(found.evidence["retrieved"]) == 20
    assert len(json.dumps(found.evidence)) < 3000
