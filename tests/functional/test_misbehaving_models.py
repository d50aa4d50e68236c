"""A server that refuses, disconnects and replies with nonsense, as target and as judge of the real command.

No trial is lost, no verdict is wrong, and the server gets no more requests than its faults require.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from driving import drive, write
from misbehaving_server import RATES, WRONG, MisbehavingServer

CASES = 20
SUITE = """
name: rough
target: {chat: {model: acme/m}}
config: {judge_model: acme/judge, retries: 0, timeout_seconds: 100}
test_cases:
"""
CASE = "  - {id: case-%02d, input: 'Say %s %02d', graders: [{model: {rubric: 'Is it good?'}}]}\n"
HALF = {kind: rate / 2 for kind, rate in RATES.items()}
"""A call that meets four faults in a row waits for half a minute: at these rates hardly one does."""
NONCE = re.compile(r'"nonce": "([0-9a-f]{32})"')


def reply(last_message: str, body: dict[str, Any]) -> str:
    """The target repeats its question; the judge passes good answers."""
    if "response_format" not in body:
        return last_message
    nonce = NONCE.findall(last_message)[-1]
    if "result" in body["response_format"]["json_schema"]["schema"]["properties"]:
        return json.dumps({"nonce": nonce, "reason": "so", "result": "pass"})
    good = "Say good" in last_message
    verdict = {"justification": "so", "overall_score": 5 if good else 1, "passed": good, "specific_feedback": []}
    return json.dumps({"nonce": nonce, **verdict})


def written(cases: int) -> str:
    rows = (CASE % (number, "good" if number % 2 else "bad", number) for number in range(cases))
    return SUITE + "".join(rows)


def test_every_verdict_is_right_and_every_trial_accounted_for(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=written(CASES))
    server = MisbehavingServer(HALF, seed=3, answer=reply, slow_s=0.3, retry_after_s=1, latency_s=0.01)
    with server.in_thread() as url:
        env = {"ACME_BASE_URL": url, "EVALHARNESS_MODEL_DEADLINE": "90"}
        done = drive(tmp_path, "run", "suite.yaml", "-j", "20", "--json", env=env)
    states = {id_: state for id_, [state] in done.states().items()}
    assert states == {f"case-{n:02d}": "passed" if n % 2 else "failed" for n in range(CASES)}, done.both
    assert done.report["summary"]["trials"]["planned"] == CASES
    assert WRONG not in done.both
    assert server.injected_faults > 5, "it did misbehave"
    calls = 2 * CASES + 1
    """One to the target and one to the judge, and the one that validates the judge."""
    assert server.requests <= 1.1 * (calls + server.injected_faults)
    [judging] = done.report["judging"]
    assert judging["calls"] == CASES


def test_what_cannot_be_asked_in_time_is_an_error_and_never_a_failure(tmp_path: Path) -> None:
    """Every verdict but the first is refused until the deadline."""
    write(tmp_path, suite_yaml=written(6))
    refusing = {**dict.fromkeys(RATES, 0.0), "503": 1.0}
    server = MisbehavingServer(dict.fromkeys(RATES, 0.0), answer=reply)

    def spoil(last_message: str, body: dict[str, Any]) -> str:
        if "Say bad 04" in last_message and "response_format" in body:
            return json.dumps({"nonce": "0" * 32, "result": "pass", "overall_score": 5})
        if "Say good 05" in last_message:
            server._rates = refusing
        return reply(last_message, body)

    server._answer = spoil
    with server.in_thread() as url:
        env = {"ACME_BASE_URL": url, "EVALHARNESS_MODEL_DEADLINE": "4"}
        done = drive(tmp_path, "run", "suite.yaml", "-j", "1", "--json", env=env)
    assert done.code == 3
    states = {id_: state for id_, [state] in done.states().items()}
    assert states["case-04"] == "error", "a verdict without its nonce is invalid"
    assert states["case-05"] == "error", "the judge could not be asked"
    assert [states[f"case-{n:02d}"] for n in range(4)] == ["failed", "passed", "failed", "passed"]
    trials = done.report["summary"]["trials"]
    assert trials["planned"] == 6 == sum(trials[name] for name in ("passed", "failed", "error"))
