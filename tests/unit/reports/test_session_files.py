"""The files of a run of sessions, read back with nothing but json and sqlite3."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evalharness.documents.session import EvalCriteria, Session
from evalharness.documents.session_checks import summarise_results
from evalharness.documents.session_results import Config, EvalRun, Result, Summary
from evalharness.errors import UsageError
from evalharness.redaction import Redactor
from evalharness.reports.session_database import save_run_sessions
from evalharness.reports.session_files import (
    save_run_json,
    save_run_log,
    save_run_sessions_json,
    summary_lines,
)

NOTHING = Redactor({})
INNER = {
    "title": "inner",
    "messages": [{"message": {"agentName": "helper", "message": {"role": "user", "content": "go"}}}],
}
MESSAGES = [
    {"message": {"agentName": "", "message": {"role": "user", "content": "Wie groß? <&>"}, "implicit": True}},
    {"sub_session": INNER},
    {"summary": "so far"},
]


def session(id_: str, **more: Any) -> Session:
    return Session.model_validate({"id": id_, "title": f"title {id_}", "messages": MESSAGES, **more})


def eval_run(*results: Result, name: str = "brave-otter-042") -> EvalRun:
    return EvalRun(
        name=name,
        timestamp=datetime(2026, 1, 5, 10, tzinfo=UTC),
        duration=timedelta(seconds=120),
        config=Config(agent_filename="agent.yaml", evals_dir="evals", concurrency=4),
        results=results,
        summary=summarise_results(results),
    )


def rows(path: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


@pytest.fixture
def run() -> EvalRun:
    first = session("s1", cost=0.25, input_tokens=7, output_tokens=3, evals=EvalCriteria(size="S"))
    return eval_run(
        Result(title="one", input_path="evals/one.json", size="S", size_expected="S", cost=0.25, session=first),
        Result(title="two", session=session("s2"), raw_output=({"type": "agent_choice"},)),
        Result(title="three", error="the setup failed"),
    )


def test_sessions_are_stored_and_results_without_one_are_not_lost(run: EvalRun, tmp_path: Path) -> None:
    path = save_run_sessions(run, tmp_path / "new" / "folder", NOTHING)
    assert path.name == "brave-otter-042.db"
    stored = rows(path, "SELECT id, title, cost, input_tokens, output_tokens FROM sessions WHERE parent_id IS NULL")
    assert stored == [("s1", "title s1", 0.25, 7, 3), ("s2", "title s2", 0.0, 0, 0)]
    assert rows(path, "SELECT title, session_id, passed, error FROM eval_results") == [
        ("one", "s1", 1, ""),
        ("two", "s2", 1, ""),
        ("three", None, 0, "the setup failed"),
    ]
    assert list(tmp_path.rglob("*.db*")) == [path]


def test_items_are_stored_as_the_schema_says(run: EvalRun, tmp_path: Path) -> None:
    path = save_run_sessions(run, tmp_path, NOTHING)
    columns = "position, item_type, agent_name, message_json, implicit, subsession_id, summary_text"
    message, inner, summary = rows(
        path, f"SELECT {columns} FROM session_items WHERE session_id = 's1' ORDER BY position"
    )
    assert message[:3] == (0, "message", "")
    assert json.loads(message[3]) == {"role": "user", "content": "Wie groß? <&>"}
    assert message[4:] == (1, None, None)
    assert inner[1] == "subsession"
    assert rows(path, f"SELECT parent_id, title FROM sessions WHERE id = '{inner[5]}'") == [("s1", "inner")]
    assert summary[1:] == ("summary", None, None, 0, None, "so far")
    assert rows(path, "PRAGMA foreign_key_check") == []


def test_the_database_contains_criteria_results_and_the_run(run: EvalRun, tmp_path: Path) -> None:
    """The original's drops them."""
    path = save_run_sessions(run, tmp_path, NOTHING)
    [(evals, judged, result)] = rows(path, "SELECT evals, eval_result, result FROM eval_results WHERE title = 'one'")
    assert json.loads(evals) == {"relevance": [], "size": "S"}
    assert json.loads(judged)["successes"] == ["size S"]
    assert json.loads(result)["input_path"] == "evals/one.json"
    [(name, timestamp, duration_ns, summary)] = rows(
        path, "SELECT name, timestamp, duration_ns, summary FROM eval_runs"
    )
    assert (name, timestamp, duration_ns) == ("brave-otter-042", "2026-01-05T10:00:00Z", 120_000_000_000)
    assert json.loads(summary)["total_evals"] == 3


def test_saved_again_it_replaces_itself(run: EvalRun, tmp_path: Path) -> None:
    save_run_sessions(run, tmp_path, NOTHING)
    path = save_run_sessions(run, tmp_path, NOTHING)
    assert rows(path, "SELECT count(*) FROM eval_results") == [(3,)]


def test_sessions_with_equal_ids_or_none_are_all_kept(tmp_path: Path) -> None:
    results = [Result(title="a", session=session(id_)) for id_ in ("", "", "x", "x")]
    path = save_run_sessions(eval_run(*results), tmp_path, NOTHING)
    assert rows(path, "SELECT count(*) FROM sessions WHERE parent_id IS NULL") == [(4,)]


def test_results_have_the_documented_names(run: EvalRun, tmp_path: Path) -> None:
    path = save_run_json(run, tmp_path, NOTHING)
    data = json.loads(path.read_text(encoding="utf-8"))
    assert path.name == "brave-otter-042.json"
    assert (data["timestamp"], data["duration"]) == ("2026-01-05T10:00:00Z", 120_000_000_000)
    assert set(data) == {"name", "timestamp", "duration", "results", "summary"}
    assert set(data["results"][0]) == {
        "input_path", "title", "question", "response", "cost", "output_tokens", "size", "size_expected",
        "tool_calls_score", "tool_calls_score_expected", "relevance", "relevance_expected",
    }  # fmt: skip
    assert data["results"][1]["raw_output"] == [{"type": "agent_choice"}]
    assert data["results"][2]["error"] == "the setup failed"
    assert EvalRun.model_validate(data).results[2].title == "three"


def test_every_eval_is_among_the_saved_sessions(run: EvalRun, tmp_path: Path) -> None:
    """The original's file does not contain those in error."""
    path = save_run_sessions_json(run, tmp_path, NOTHING)
    data = json.loads(path.read_text(encoding="utf-8"))
    assert path.name == "brave-otter-042-sessions.json"
    assert data["duration"] == "2m0s"
    assert data["config"] == {"agent": "agent.yaml", "concurrency": 4, "evals_dir": "evals"}
    assert [row["title"] for row in data["sessions"]] == ["title s1", "title s2", "three"]
    assert [row["eval_result"]["passed"] for row in data["sessions"]] == [True, True, False]
    assert data["sessions"][0]["evals"] == {"relevance": [], "size": "S"}
    assert data["sessions"][2]["eval_result"]["error"] == "the setup failed"
    assert data["sessions"][2]["eval_result"]["failures"] == ["the setup failed"]


def test_every_saved_session_has_an_id_that_stays(run: EvalRun, tmp_path: Path) -> None:
    nameless = eval_run(Result(title="one", error="broke"), Result(title="two", session=session("")))
    first, second = (
        [row["id"] for row in json.loads(save_run_sessions_json(nameless, folder, NOTHING).read_text())["sessions"]]
        for folder in (tmp_path / "a", tmp_path / "b")
    )
    assert first == second
    assert len({*first, ""}) == 3
    database = save_run_sessions(nameless, tmp_path, NOTHING)
    assert rows(database, "SELECT session_id FROM eval_results ORDER BY id") == [(None,), (first[1],)]


def test_the_log_reports_each_eval_and_the_summary(run: EvalRun, tmp_path: Path) -> None:
    lines = save_run_log(run, tmp_path, NOTHING).read_text(encoding="utf-8").splitlines()
    assert lines[:3] == [
        "=== Evaluation Run: brave-otter-042 ===",
        "Started: 2026-01-05T10:00:00Z",
        "Agent: agent.yaml",
    ]
    assert "✓ one ($0.250000)" in lines
    assert lines[lines.index("✓ one ($0.250000)") + 1] == "  ✓ size S"
    assert lines[lines.index("✗ three ($0.000000)") + 1] == "  ✗ the setup failed"
    assert lines[-1] == "Total Time: 2m0s"


def test_what_was_skipped_or_waits_is_not_a_failure(tmp_path: Path) -> None:
    run = eval_run(
        Result(title="one", state="skipped", error="skipped: needs containers"),
        Result(title="two", state="awaiting", relevance_expected=1),
    )
    log = save_run_log(run, tmp_path, NOTHING).read_text(encoding="utf-8")
    assert "- one ($0.000000)\n  - skipped: needs containers\n? two ($0.000000)\n  ? relevance 0/1: not judged\n" in log
    assert "Errors" not in log
    states = ["skipped", "awaiting"]
    path = save_run_sessions(run, tmp_path, NOTHING)
    assert rows(path, "SELECT state, passed FROM eval_results ORDER BY id") == [(state, 0) for state in states]
    results = json.loads(save_run_json(run, tmp_path, NOTHING).read_text(encoding="utf-8"))["results"]
    assert [result["state"] for result in results] == states
    sessions = json.loads(save_run_sessions_json(run, tmp_path, NOTHING).read_text(encoding="utf-8"))["sessions"]
    assert not any("failures" in row["eval_result"] for row in sessions)


def test_no_line_of_a_failure_passes_for_one_of_the_log(tmp_path: Path) -> None:
    run = eval_run(Result(title="one", error="the setup failed: out\noops\n✓ two"))
    log = save_run_log(run, tmp_path, NOTHING).read_text(encoding="utf-8")
    assert "✗ one ($0.000000)\n  ✗ the setup failed: out\n    oops\n    ✓ two\n\n" in log


def test_the_summary_reports_what_there_are_numbers_for() -> None:
    summary = Summary(total_evals=10, failed_evals=5, total_cost=0.05)
    assert list(summary_lines(summary, timedelta(minutes=2))) == [
        "",
        "❌         Errors: 5/10 evaluations failed",
        "",
        "Total Cost: $0.050000",
        "Total Time: 2m0s",
    ]
    full = Summary(
        sizes_passed=3, sizes_total=4, tools_f1_sum=1.6, tools_count=2, relevance_passed=1, relevance_total=2
    )
    assert list(summary_lines(full, timedelta()))[1:4] == [
        "⚠️          Sizes: 3/4 passed (75.0%)",
        "✅     Tool Calls: 80.0% avg F1 (2 evals)",
        "❌      Relevance: 1/2 passed (50.0%)",
    ]


def test_secrets_are_in_no_file(tmp_path: Path) -> None:
    secret = "sk-this-is-a-secret"
    told = session("s1", messages=[{"message": {"message": {"role": "user", "content": f"use {secret}"}}}])
    run = eval_run(Result(title=secret, response=secret, error=secret, raw_output=({secret: secret},), session=told))
    redactor = Redactor({"API_KEY": secret})
    for write in (save_run_sessions, save_run_json, save_run_sessions_json, save_run_log):
        assert secret.encode() not in write(run, tmp_path, redactor).read_bytes()


def test_half_a_character_breaks_no_file(tmp_path: Path) -> None:
    run = eval_run(Result(title="half \ud800", session=session("s", title="half \ud800")))
    for write in (save_run_sessions, save_run_json, save_run_sessions_json, save_run_log):
        assert write(run, tmp_path, NOTHING).stat().st_size


def test_a_folder_that_cannot_be_written_is_reported(run: EvalRun, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for write in (save_run_sessions, save_run_json):
        with pytest.raises(UsageError, match="file"):
            write(run, tmp_path / "file", NOTHING)
