"""Recorded sessions for tests, and a program that answers like docker-agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

AGENT = """
import json, os, sys

CALL = {"id": "c1", "type": "function", "function": {"name": "list_directory", "arguments": "{}"}}


def tell(kind, **event):
    print(json.dumps({"type": kind, "timestamp": "2026-01-05T10:00:00Z", "agent_name": "root", **event}))


print("starting up")
for number, question in enumerate(sys.argv[1:], start=1):
    tell("user_message", message=question)
    tell("stream_started", session_id="s")
    if "list" in question:
        tell("tool_call", tool_call=CALL, tool_definition={"name": "list_directory"})
        tell("tool_call_response", tool_call=CALL, response=" ".join(sorted(os.listdir())))
    tell("a_new_kind_of_event")
    for piece in ("You said: ", question, "."):
        tell("agent_choice", content=piece)
    usage = {"input_tokens": 10 * number, "output_tokens": number, "cost": 0.5 * number}
    usage["last_message"] = {"OutputTokens": 1}
    tell("token_usage", session_id="s", usage=usage)
    tell("stream_stopped", session_id="s")
"""
TARGET = "command: [python, agent.py]\nevents: docker-agent\n"


def item(role: str, content: str = "", *tools: str, at: int = 0) -> dict[str, Any]:
    message: dict[str, Any] = {"role": role, "content": content, "created_at": f"2026-01-05T10:00:{at:02}Z"}
    if tools:
        message["tool_calls"] = [{"id": name, "type": "function", "function": {"name": name}} for name in tools]
    return {"message": {"agentName": "root", "message": message}}


def session(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "1", "title": "A session", "messages": list(items), **more}


def asked(question: str, *tools: str, answer: str = "Done.", at: int = 1, **more: Any) -> dict[str, Any]:
    """One question, the tools it used, one answer `at` seconds later."""
    calls = [item("assistant", "", *tools)] if tools else []
    return session(item("user", question), *calls, item("assistant", answer, at=at), **more)


def save(folder: Path, **sessions: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in sessions.items():
        text = data if isinstance(data, str) else json.dumps(data)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return folder
