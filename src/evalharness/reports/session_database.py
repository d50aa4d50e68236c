"""The sessions of a run as an SQLite file that session tools can open: their tables, and two of our own beside them.

`sessions` and `session_items` are as those tools know them; `eval_runs` and `eval_results` hold what they do not keep.
The harness's own store is in `stores/`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

from evalharness.documents.session_checks import eval_result
from evalharness.documents.session_results import EvalRun
from evalharness.errors import UsageError
from evalharness.redaction import Redactor
from evalharness.reports.session_files import made_up_id, make_folder, run_output
from evalharness.values.json_value import Json

TABLES = """
CREATE TABLE migrations (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, description TEXT, applied_at TEXT NOT NULL);
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    messages TEXT,
    created_at TEXT,
    tools_approved BOOLEAN DEFAULT 0,
    input_tokens INTEGER DEFAULT 0,
    output_tokens INTEGER DEFAULT 0,
    title TEXT DEFAULT '',
    cost REAL DEFAULT 0,
    send_user_message BOOLEAN DEFAULT 1,
    max_iterations INTEGER DEFAULT 0,
    working_dir TEXT DEFAULT '',
    starred BOOLEAN DEFAULT 0,
    permissions TEXT DEFAULT '',
    agent_model_overrides TEXT DEFAULT '{}',
    custom_models_used TEXT DEFAULT '[]',
    thinking BOOLEAN DEFAULT 1,
    parent_id TEXT REFERENCES sessions (id) ON DELETE CASCADE
);
CREATE INDEX idx_sessions_parent_id ON sessions (parent_id);
CREATE TABLE session_items (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    item_type TEXT NOT NULL,
    agent_name TEXT,
    message_json TEXT,
    implicit BOOLEAN DEFAULT 0,
    subsession_id TEXT REFERENCES sessions (id) ON DELETE SET NULL,
    summary_text TEXT
);
CREATE INDEX idx_session_items_session ON session_items (session_id, position);
CREATE INDEX session_items_by_type ON session_items (session_id, item_type);
CREATE TABLE eval_runs (
    name TEXT PRIMARY KEY, timestamp TEXT NOT NULL, duration_ns INTEGER NOT NULL, config TEXT, summary TEXT
);
CREATE TABLE eval_results (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_name TEXT NOT NULL REFERENCES eval_runs (name),
    session_id TEXT REFERENCES sessions (id) ON DELETE SET NULL,
    input_path TEXT,
    title TEXT,
    passed BOOLEAN NOT NULL,
    state TEXT NOT NULL,
    error TEXT NOT NULL,
    evals TEXT,
    eval_result TEXT NOT NULL,
    result TEXT NOT NULL
);
"""
MIGRATIONS = (
    "001_add_tools_approved_column",
    "002_add_usage_column",
    "003_add_output_tokens_column",
    "004_add_title_column",
    "005_add_cost_column",
    "006_add_send_user_message_column",
    "007_add_max_iterations_column",
    "008_add_working_dir_column",
    "009_add_starred_column",
    "010_add_permissions_column",
    "011_add_agent_model_overrides_column",
    "012_add_custom_models_used_column",
    "013_add_thinking_column",
    "014_normalize_session_items",
    "015_migrate_messages_to_session_items",
)
"""The steps that lead to these tables, by the names session tools know them by: they go on from here by themselves."""


def save_run_sessions(run: EvalRun, folder: Path, redactor: Redactor) -> Path:
    """`<run>.db`, written whole or not at all. A result without a session has a row in `eval_results` all the same."""
    make_folder(folder)
    path, beside = folder / f"{run.name}.db", folder / f".{run.name}.db.new"
    try:
        beside.unlink(missing_ok=True)
        with closing(sqlite3.connect(beside)) as connection, connection:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.executescript(TABLES)
            _Writing(connection, redactor).write(run)
        beside.replace(path)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error}") from None
    return path


class _Writing:
    def __init__(self, connection: sqlite3.Connection, redactor: Redactor) -> None:
        self._connection = connection
        self._redactor = redactor
        self._taken: set[str] = set()

    def write(self, run: EvalRun) -> None:
        head: dict[str, Any] = self._clean(run_output(run).model_dump(mode="json", exclude={"sessions"}))
        for number, name in enumerate(MIGRATIONS, start=1):
            self._insert("migrations", id=number, name=name, description=name, applied_at=head["timestamp"])
        duration_ns = run.model_dump(mode="json", include={"duration"})["duration"]
        self._insert(
            "eval_runs",
            name=run.name,
            timestamp=head["timestamp"],
            duration_ns=duration_ns,
            config=_text(head["config"]),
            summary=_text(head["summary"]),
        )
        for position, result in enumerate(run.results):
            session = self._clean(result.session.model_dump(mode="json")) if result.session else {}
            reported, judged = self._clean(result.model_dump(mode="json")), self._clean(eval_result(result))
            if session:
                session["id"] = self._free_id(session["id"] or made_up_id(run, position))
                self._session(session, None)
            self._insert(
                "eval_results",
                run_name=run.name,
                session_id=session.get("id"),
                input_path=reported["input_path"],
                title=reported["title"],
                passed=judged["passed"],
                state=judged["state"],
                error=reported.get("error", ""),
                evals=_text(session["evals"]) if "evals" in session else None,
                eval_result=_text(judged),
                result=_text(reported),
            )

    def _session(self, session: Mapping[str, Json], parent_id: str | None) -> None:
        self._insert(
            "sessions",
            id=session["id"],
            messages="",
            created_at=session["created_at"],
            tools_approved=session.get("tools_approved", False),
            input_tokens=session["input_tokens"],
            output_tokens=session["output_tokens"],
            title=session["title"],
            cost=session["cost"],
            send_user_message=session.get("SendUserMessage", False),
            max_iterations=session.get("max_iterations", 0),
            working_dir=session.get("working_dir", ""),
            starred=session.get("starred", False),
            permissions=_text(session["permissions"]) if "permissions" in session else "",
            agent_model_overrides=_text(session.get("agent_model_overrides", {})),
            custom_models_used=_text(session.get("custom_models_used", [])),
            parent_id=parent_id,
        )
        for position, item in enumerate(session["messages"]):
            self._item(session["id"], position, item)

    def _item(self, session_id: str, position: int, item: Mapping[str, Json]) -> None:
        place = {"session_id": session_id, "position": position}
        if "message" in item:
            entry = item["message"]
            self._insert(
                "session_items",
                **place,
                item_type="message",
                agent_name=entry["agentName"],
                message_json=_text(entry["message"]),
                implicit=entry.get("implicit", False),
            )
        elif "sub_session" in item:
            inner = {**item["sub_session"], "id": self._free_id(item["sub_session"]["id"] or session_id)}
            self._session(inner, session_id)
            self._insert("session_items", **place, item_type="subsession", subsession_id=inner["id"])
        elif "summary" in item:
            self._insert("session_items", **place, item_type="summary", summary_text=item["summary"])

    def _free_id(self, wanted: str) -> str:
        """Sessions that were not made by us may have no id, or the same."""
        names = (wanted if number == 0 else f"{wanted}-{number}" for number in count())
        free = next(name for name in names if name not in self._taken)
        self._taken.add(free)
        return free

    def _insert(self, table: str, **values: Json) -> None:
        columns, places = ", ".join(values), ", ".join("?" * len(values))
        self._connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})", tuple(values.values()))

    def _clean(self, value: Json) -> Any:
        """Without secrets, and without halves of characters, which no file can hold."""
        written = json.dumps(self._redactor.redact_value(value), ensure_ascii=False)
        return json.loads(written.encode(errors="replace"))


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
