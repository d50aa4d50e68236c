"""Python functions in their own processes as targets: the same answers and failures, and they cannot hang a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from asking import run_once

from evalharness import TargetSpec, TargetUnavailable, Trial

AGENT = """
import asyncio, os, sys, threading, time
from pathlib import Path
from evalharness import Answer, TargetUnavailable

def answer(question, context):
    print("chatter")
    assert context.case.id == "a" and context.index == 0 and context.seed >= 0
    text = (context.workspace / "note.txt").read_text()
    return Answer(output=text, cost_usd=0.5, events=({"pid": os.getpid()},))

async def async_answer(question):
    await asyncio.sleep(0)
    return {"question": question}

def spin(question):
    Path(__file__).with_name("pid").write_text(str(os.getpid()))
    while True:
        pass

def none(question):
    return None

def fail(question):
    raise ValueError("no idea")

class RateLimitError(Exception):
    pass

def limited(question):
    raise RateLimitError("slow down")

def refused(question):
    raise ConnectionRefusedError("nobody there")

def unavailable(question):
    raise TargetUnavailable("the model is down")

def leave(question):
    print("farewell", file=sys.stderr)
    sys.exit(3)

def large(question):
    return "x" * 20_000_000 + "END"

def leave_a_thread(question):
    threading.Thread(target=time.sleep, args=(600,)).start()
    return "4"
"""


@pytest.fixture(autouse=True)
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT)


def run_isolated(name: str, **options: Any) -> Trial:
    return run_once({"type": "function", "function": f"agent.py:{name}", "isolate": "process"}, **options)


def test_it_answers_from_another_process() -> None:
    trial = run_isolated("answer", expected="4", files={"note.txt": "4"})
    assert trial.state == "passed", trial.reason
    transcript = trial.last.transcript
    assert transcript is not None
    assert transcript.events[0]["pid"] != os.getpid()
    assert transcript.cost_usd == 0.5
    assert "chatter" in transcript.stderr


def test_async() -> None:
    trial = run_isolated("async_answer", expected={"json_equals": {"question": "2+2"}})
    assert trial.state == "passed", trial.reason


def test_a_busy_loop_is_killed() -> None:
    trial = run_isolated("spin", limit_s=4.0)
    assert (trial.state, trial.reason) == ("failed", "time limit: no answer within 4 s")
    pid = int(Path("pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    ("name", "state", "said"),
    [
        ("none", "failed", "returned None"),
        ("fail", "failed", "ValueError: no idea (agent.py:"),
        ("limited", "error", "RateLimitError: slow down"),
        ("refused", "error", "ConnectionRefusedError: nobody there"),
        ("unavailable", "error", "the model is down"),
        ("leave", "failed", "exit code 3): farewell"),
    ],
)
def test_what_goes_wrong_there_means_the_same_as_here(name: str, state: str, said: str) -> None:
    trial = run_isolated(name)
    assert trial.state == state
    assert said in trial.reason.replace(f"{Path.cwd()}/", "")


def test_a_large_answer_arrives_whole() -> None:
    size = [{"max_length": 20_000_003}, {"not": {"max_length": 20_000_002}}]
    whole = {"all_of": [{"starts_with": "xxx"}, {"ends_with": "xEND"}, *size]}
    assert run_isolated("large", expected=whole).state == "passed"


def test_a_thread_left_behind_does_not_delay_the_answer() -> None:
    assert run_isolated("leave_a_thread", limit_s=30.0).state == "passed"


def test_a_function_that_only_this_program_has_cannot_be_isolated() -> None:
    options = {"live": "here", "isolate": "process"}
    spec = TargetSpec(kind="function", options=options, function=lambda question: "4")
    with pytest.raises(TargetUnavailable, match="isolate"):
        run_once(spec)
