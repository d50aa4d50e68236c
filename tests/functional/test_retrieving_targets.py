"""A small search over a handful of documents, run, gated, verified and tested for soundness from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driving import drive, write

SEARCH = '''
from evalharness import Answer

DOCUMENTS = {
    "returns": "Goods can be returned within 30 days.",
    "shipping": "Shipping takes 3 to 5 days.",
    "warranty": "The warranty is two years.",
    "contact": "Write to the help desk.",
}


def words(text):
    return set(text.lower().strip("?.").split())


def search(question):
    """The documents that have the most words in common with the question, the best first."""
    ranked = sorted(DOCUMENTS, key=lambda name: -len(words(question) & words(DOCUMENTS[name])))
    return [{"id": name, "text": DOCUMENTS[name]} for name in ranked[:3]]


def answer(question):
    found = search(question)
    return {"answer": found[0]["text"], "contexts": found}


def agent(question):
    found = [each["id"] for each in search(question)]
    calls = [{"name": "search", "arguments": {"query": question}, "result": found}]
    return Answer(output="done", tool_calls=calls, files={"found.json": str(found).replace("'", '"')})


def sometimes(question):
    if "warranty" in question:
        raise ValueError("the index is gone")
    return answer(question)
'''
SUITE = """
name: shop
target: shop.py:answer
test_cases:
  - id: returns
    input: Within how many days can goods be returned?
    graders: [{retrieval: returns, k: 2}, {contains: 30 days}]
  - id: days
    input: Goods returned or shipping, what takes days?
    graders: [{retrieval: {expected: {shipping: 3, returns: 1}, pass: {recall: 1}}}]
  - id: warranty
    input: How long is the warranty?
    graders: [{retrieval: warranty}]
  - id: help
    input: Is there a phone?
    graders: [{retrieval: contact, k: 3}]
"""
ELSEWHERE = """
name: elsewhere
target: shop.py:agent
test_cases:
  - {id: tool, input: How long is the warranty?, graders: [{retrieval: warranty, from: {tool: search}}]}
  - {id: files, input: How long is the warranty?, graders: [{retrieval: warranty, from: {files: "*.json"}}]}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path, shop_py=SEARCH, suite_yaml=SUITE, elsewhere_yaml=ELSEWHERE)


def reported(path: Path) -> Any:
    return json.loads(path.read_text())["eval_report"]


def test_a_run_reports_the_means_of_all_figures(project: Path) -> None:
    ran = drive(project, "run", "suite.yaml", "-o", "report.json")
    assert ran.code == 1
    assert "retrieval: expected contact is not among the 3 retrieved documents" in ran.out
    assert "retrieval   recall 75 %" in ran.out
    report = reported(project / "report.json")
    found = {name: report["metrics"][name] for name in ("hit_at_1", "hit_at_k", "recall", "mrr")}
    assert found == {"hit_at_1": 0.75, "hit_at_k": 0.75, "recall": 0.75, "mrr": 0.75}
    assert report["metrics"]["precision_at_k"] == pytest.approx((1 / 2 + 2 / 3 + 1 / 3 + 0) / 4)
    assert report["measurements"]["ndcg"]["n_cases"] == 4
    assert report["measurements"]["ndcg"]["low"] < report["metrics"]["ndcg"] < report["measurements"]["ndcg"]["high"]
    assert report["cases"][3]["figures"]["recall"] == 0
    assert report["trials"][0]["grades"][0]["figures"]["hit_at_1"] == 1
    assert (
        "figures   hit@1 0   hit@k 0   recall 0   precision@k 0   MRR 0   nDCG 0" in drive(project, "show", "help").out
    )


def test_the_index_that_is_gone_scores_0_and_is_not_left_out(project: Path) -> None:
    drive(project, "run", "suite.yaml", "--target", "shop.py:sometimes", "-o", "report.json")
    report = reported(project / "report.json")
    assert report["metrics"]["recall"] == 0.5
    assert report["cases"][2]["figures"] == dict.fromkeys(report["cases"][0]["figures"], 0.0)


@pytest.mark.parametrize("target", ["shop.py:answer", "shop.py:sometimes"])
def test_the_means_are_verified_from_trials_and_from_cases(project: Path, target: str) -> None:
    drive(project, "run", "suite.yaml", "--target", target, "-o", "report.json")
    assert drive(project, "verify", "latest").code == 0
    assert drive(project, "verify", "report.json").code == 0
    report = reported(project / "report.json")
    report["trials"][0]["grades"][0]["figures"]["mrr"] = 0.25
    assert _verified(project, report) == 1
    report["trials"] = None
    assert _verified(project, report) == 0
    report["cases"][0]["figures"]["mrr"] = 0.25
    assert _verified(project, report) == 1


def _verified(project: Path, report: Any) -> int:
    (project / "changed.json").write_text(json.dumps({"eval_report": report}))
    return drive(project, "verify", "changed.json").code


def test_a_gate_asks_for_figures(project: Path) -> None:
    suite = SUITE.replace("test_cases:", "gate: {thresholds: {MRR: 0.7, hit@k: 0.7}}\ntest_cases:")
    (project / "gated.yaml").write_text(suite)
    ran = drive(project, "run", "gated.yaml", "-o", "report.json")
    assert ran.code == 0
    assert "✓ MRR 75 %, 70 % needed" in ran.out
    (project / "gated.yaml").write_text(suite.replace("0.7", "0.8"))
    failed = drive(project, "run", "gated.yaml")
    assert failed.code == 1
    assert "✗ hit@k 75 %, 80 % needed" in failed.out


def test_a_gate_on_figures_that_no_grader_gives_cannot_be_judged(project: Path) -> None:
    text = "name: plain\ngate: {thresholds: {ndcg: 0.7}}\ntest_cases: [{id: a, input: a, expected: a}]\n"
    (project / "plain.yaml").write_text(text)
    ran = drive(project, "run", "plain.yaml", "--target", "echo")
    assert ran.code == 2
    assert "no case with a retrieval grader was judged" in ran.out + ran.err


def test_right_answers_pass_and_those_that_know_nothing_fail(project: Path) -> None:
    assert drive(project, "selftest", "suite.yaml").code == 0
    assert drive(project, "selftest", "elsewhere.yaml").code == 0
    assert drive(project, "run", "suite.yaml", "--target", "oracle").code == 0
    nothing = drive(project, "run", "suite.yaml", "--target", "null", "--json")
    assert nothing.code == 1
    assert json.loads(nothing.out)["eval_report"]["summary"]["passed"] == 0


def test_documents_come_from_a_tool_or_from_files(project: Path) -> None:
    assert drive(project, "run", "elsewhere.yaml").code == 0


def test_a_run_is_graded_again_with_another_k(project: Path) -> None:
    drive(project, "run", "suite.yaml")
    (project / "suite.yaml").write_text(SUITE.replace("k: 3", "k: 1"))
    again = drive(project, "regrade", "latest", "--suite", "suite.yaml")
    assert "expected contact is not at rank 1" in again.out


def test_a_run_that_may_stop_early_has_means_without_intervals(project: Path) -> None:
    words = ("--sequential", "--fail-under", "90", "--repeat", "3", "-o", "report.json")
    drive(project, "run", "suite.yaml", *words)
    found = reported(project / "report.json")["measurements"]["mrr"]
    assert (found["value"], found["low"], found["high"]) == (0.75, None, None)
    assert drive(project, "verify", "report.json").code == 0


def test_a_crash_counts_as_0_for_graders_inside_a_group(project: Path) -> None:
    grouped = SUITE.replace("[{retrieval: warranty}]", "[{all_of: [{retrieval: warranty}, {contains: years}]}]")
    (project / "suite.yaml").write_text(grouped)
    drive(project, "run", "suite.yaml", "--target", "shop.py:sometimes", "-o", "report.json")
    assert reported(project / "report.json")["metrics"]["recall"] == 0.5
