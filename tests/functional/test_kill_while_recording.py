"""kill -9 while a run is recorded, then resume: every trial has its exchanges, each once, and the recording replays."""

from __future__ import annotations

import signal
import sqlite3
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from driving import drive, start, wait_until, write
from replayed import model_server, same_report

CASES, TRIALS, CALLS = 30, 2, 3
SUITE = f"""
name: talk
target: {{chat: {{model: openai/served}}}}
trials: {TRIALS}
config: {{max_workers: 8}}
test_cases:
"""
TURNS = ", ".join(f"{{role: user, content: turn {number}}}" for number in range(CALLS))


def stored(folder: Path) -> tuple[Counter[tuple[str, int]], set[tuple[str, int]]]:
    """How many calls each trial has in the store, and which trials are there; read without the harness."""
    with sqlite3.connect(f"file:{folder / 'store.db'}?mode=ro", uri=True) as database:
        calls = database.execute("SELECT case_id, idx FROM exchanges WHERE kind = 'chat'").fetchall()
        trials = database.execute("SELECT case_id, idx FROM trials").fetchall()
    return Counter(calls), set(trials)


def check_kills(folder: Path, kills: int, rng: Random) -> None:
    cases = "".join(
        f"  - {{id: c{number}, input: {{messages: [{TURNS}]}}, graders: [{{contains: reply}}]}}\n"
        for number in range(CASES)
    )
    write(folder, suite_yaml=SUITE + cases)

    def slow(body: dict[str, Any]) -> str:
        time.sleep(0.01)
        return f"reply to {body['messages'][-1]['content']}"

    with model_server(slow) as server:
        begun = 0
        words: tuple[str, ...] = ("run", "suite.yaml", "--mode", "record", "--store", "store.db")
        for _ in range(kills):
            before = len(server.requests)
            with start(folder, *words, env=server.environment) as started:
                goal = before + rng.randrange(1, CALLS * CASES * TRIALS // kills)
                wait_until(
                    lambda goal=goal, started=started: len(server.requests) >= goal or started.poll() is not None
                )
                if started.poll() is None:
                    started.send_signal(signal.SIGKILL)
                    begun += 1
            calls, trials = stored(folder)
            assert calls.keys() == trials, "a trial and its exchanges come together"
            assert set(calls.values()) <= {CALLS}
            words = ("resume", "--store", "store.db")
        assert begun, "some kills came in time"
        done = drive(folder, *words, "--json", env=server.environment)
    assert done.code == 0, done.both
    calls, trials = stored(folder)
    assert len(trials) == CASES * TRIALS
    assert calls == dict.fromkeys(trials, CALLS), "neither holes nor doubles"
    replayed = drive(folder, "run", "suite.yaml", "--mode", "replay", "--store", "store.db", "--json")
    assert same_report(replayed.report) == same_report(done.report)


def test_five_kills(tmp_path: Path) -> None:
    check_kills(tmp_path, 5, Random(5))


@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_a_hundred_kills(tmp_path: Path) -> None:
    for number in range(10):
        folder = tmp_path / str(number)
        folder.mkdir()
        check_kills(folder, 10, Random(number))
