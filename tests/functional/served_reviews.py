"""A server on a store whose runs wait for people, for tests of the review page and of the API for reviewers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from driving import drive, write
from served import Answer, Served

from evalharness.actions.invite_reviewers import invite_reviewer
from evalharness.actions.oversee_reviews import oversee_reviews
from evalharness.domain.review_queue import ReviewOverview
from evalharness.harness import Harness

SECRETS = (
    "secret-suite",
    "secret-case",
    "secret_agent",
    "secret_function",
    "secret-model",
    "secret verdict",
    "secret-name",
)
"""What no reviewer may find anywhere."""
AGENT = """
from evalharness import Answer, Grade

def secret_function(question):
    return Answer(output=f"The answer to {question}.", events=({"type": "model", "model": "secret-model"},))

def verdict(context):
    return Grade.of(True, score=0.9, reason="secret verdict")
"""
LIKERT = {
    "type": "likert",
    "range": [1, 5],
    "labels": {"1": "Poor", "5": "Excellent"},
    "criteria": [{"name": "accurate", "description": "Is it right?", "indicators": "cites a source"}, "complete"],
}
OTHERS = ({"contains": "answer"}, {"function": "secret_agent.py:verdict", "name": "judged"})


def human(**options: Any) -> dict[str, Any]:
    return {"human": {"rubric": "Is it polite and **right**?", **options}}


def project(folder: Path, *graders: Mapping[str, Any], **more: Any) -> str:
    """A run of a case for each grader, all of them to be rated; returns the id of the run."""
    cases = [
        {"id": f"secret-case-{number}", "input": f"question {number}", "graders": [grader, *OTHERS]}
        for number, grader in enumerate(graders, start=1)
    ]
    suite = {"name": "secret-suite", "target": "secret_agent.py:secret_function", "test_cases": cases, **more}
    write(folder, secret_agent_py=AGENT)
    (folder / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    outcome = drive(folder, "run", "suite.json", "--run-name", "secret-name")
    assert outcome.code == 4, outcome.both
    with Harness.open(folder / ".evalharness" / "store.db") as harness:
        return harness.runs()[0].id


def invite(served: Served, *names: str) -> list[str]:
    """Their tokens."""
    with served.harness() as harness:
        return [harness.call(invite_reviewer, name).token for name in names]


def overview(served: Served, run: str) -> ReviewOverview:
    with served.harness() as harness:
        return harness.call(oversee_reviews, run)


def post(served: Served, path: str, token: str, data: Any = None) -> Answer:
    return served.ask(f"/api/eval/reviews/mine{path}", "POST", token=token, data=data)


def hits(received: Sequence[bytes], secrets: Sequence[str] = SECRETS) -> list[str]:
    return [secret for secret in secrets for body in received if secret.encode() in body]
