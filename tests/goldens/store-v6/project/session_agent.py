"""Answers like docker-agent does, in events on stdout."""

import json
import sys
from pathlib import Path

CALL = {"id": "c1", "type": "function", "function": {"name": "list_directory", "arguments": "{}"}}


def tell(kind, **event):
    print(json.dumps({"type": kind, "timestamp": "2026-01-05T10:00:00Z", "agent_name": "root", **event}))


print("starting up")
for number, question in enumerate(sys.argv[1:], start=1):
    tell("user_message", message=question)
    tell("stream_started", session_id="s")
    if "list" in question:
        tell("tool_call", tool_call=CALL, tool_definition={"name": "list_directory"})
        tell("tool_call_response", tool_call=CALL, response=" ".join(sorted(path.name for path in Path().iterdir())))
    tell("a_new_kind_of_event")
    for piece in ("You said: ", question, "."):
        tell("agent_choice", content=piece)
    usage = {"input_tokens": 10 * number, "output_tokens": number, "cost": 0.5 * number}
    tell("token_usage", session_id="s", usage=usage)
    tell("stream_stopped", session_id="s")
