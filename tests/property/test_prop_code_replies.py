"""Whatever nonsense comes out of the sandbox of generated code, the answer has failed: never a pass, never an error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalharness import registry
from evalharness.contracts.grader import GradeContext
from evalharness.contracts.sandbox import Ended
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.testing.sandbox import FakeSandbox, finished
from evalharness.testing.services import fake_services

READY = b'{"ready": true}\n'
TESTS = {"type": "code_tests", "test": "assert add(2, 3) == 5"}
CASES: list[dict[str, Any]] = [{"args": [2, 3], "expected": 5}, {"args": [0, 0], "expected": [{"a": 0}]}]
CALLS = {"type": "function_output", "function_name": "add", "test_cases": CASES}
WORDS = [
    "passed",
    "reason",
    "token",
    "case",
    "reply",
    "error",
    "signal",
    "ready",
    "value",
    "dict",
    "set",
    "float",
    "int",
]
ENDINGS: list[Ended] = ["exited", "timeout", "flood", "memory", "processes", "disk"]

leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([*WORDS, "\ud800"])
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3)
)
deep = st.sampled_from([b"[" * 60_000, b"[" * 300 + b"]" * 300, b'{"passed":' * 5_000])
written = st.builds(lambda value: json.dumps(value).encode(), values)
replies = st.builds(lambda case, text: json.dumps({"case": case, "reply": text}).encode(), st.integers(0, 2), st.text())
results = st.builds(
    lambda case, value: json.dumps({"case": case, "reply": json.dumps({"value": value})}).encode(),
    st.integers(0, 1),
    values | st.sampled_from([json.loads("[" * depth + "]" * depth) for depth in (90, 150, 300, 450)]),
)
lines = st.lists(written | deep | st.binary(max_size=20) | replies | results, max_size=4).map(b"\n".join)
endings: st.SearchStrategy[Ended] = st.sampled_from(ENDINGS)


def graded(spec: dict[str, Any], stdout: bytes, ended: Ended) -> Grade:
    async def ask() -> Grade:
        services = fake_services(sandbox=FakeSandbox(finished(stdout, ended=ended)))
        context = GradeContext(Case(id="a", input="?"), Transcript(output="def add(a, b): return 0"), 0, 0)
        return await registry.build_grader(GraderSpec.model_validate(spec), services).grade(context)

    return asyncio.run(ask())


@pytest.mark.parametrize("spec", [TESTS, CALLS], ids=["code_tests", "function_output"])
@given(said=lines, newline=st.sampled_from([b"", b"\n"]), ended=endings)
def test_nonsense_is_a_failure(spec: dict[str, Any], said: bytes, newline: bytes, ended: Ended) -> None:
    verdict = graded(spec, READY + said + newline, ended)
    assert verdict.state == "fail" and verdict.reason
    verdict.model_dump_json().encode()  # it can be stored


@pytest.mark.parametrize("ended", ENDINGS)
def test_a_right_result_does_not_excuse_a_limit_that_was_passed(ended: Ended) -> None:
    right = [{"case": n, "reply": json.dumps({"value": v})} for n, v in enumerate([5, [{"dict": {"a": 0}}]])]
    verdict = graded(CALLS, READY + _joined(right), ended)
    assert (verdict.state, verdict.score) == (("pass", 1.0) if ended == "exited" else ("fail", 0.5))


@pytest.mark.parametrize(
    "said", [[{"passed": True}], [{"token": "", "passed": True, "reason": ""}], [{"passed": True}] * 2]
)
def test_a_verdict_needs_the_token(said: Sequence[Any]) -> None:
    assert "interfered with its runner" in graded(TESTS, READY + _joined(said), "exited").reason


def _joined(said: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in said)
