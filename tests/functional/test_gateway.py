"""The gateway with agents in any language: recorded, replayed with no server, limited, and seen by graders."""

from __future__ import annotations

import json
import shutil
import socket
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from driving import Outcome, drive, write
from missing_parts import missing
from replayed import ModelServer, model_server, same_report
from threaded_server import Reply, serving

NODE = """
const base = process.env.OPENAI_BASE_URL, key = process.env.OPENAI_API_KEY;
const question = require("fs").readFileSync(0, "utf8");
async function main() {
  const reply = await fetch(base + "/chat/completions", {
    method: "POST",
    headers: {"Content-Type": "application/json", Authorization: "Bearer " + key},
    body: JSON.stringify({model: "served", stream: true, messages: [{role: "user", content: question}]}),
  });
  let text = "", rest = "";
  for await (const chunk of reply.body) {
    rest += Buffer.from(chunk).toString();
    const lines = rest.split("\\n");
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data: ") || line.includes("[DONE]")) continue;
      text += JSON.parse(line.slice(6)).choices[0].delta.content || "";
    }
  }
  console.log(text.trim());
}
main();
"""
CURL = """
body='{"model": "served", "stream": true, "messages": [{"role": "user", "content": "hello"}]}'
curl -sN "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" \\
  -H 'Content-Type: application/json' -d "$body" | grep -o '"content": *"[^"]*"' | cut -d'"' -f4 | tr -d '\\n'
"""
OPENAI = """
import sys
from openai import OpenAI
client, question = OpenAI(), sys.stdin.read()
messages = [{"role": "user", "content": question}]
first = client.chat.completions.create(model="served", messages=messages)
messages += [{"role": "assistant", "content": first.choices[0].message.content}, {"role": "user", "content": "again"}]
text = ""
for chunk in client.chat.completions.create(model="served", messages=messages, stream=True):
    text += chunk.choices[0].delta.content or ""
print(text)
"""
AGENTS = {
    "node": ("agent.js", NODE, "node agent.js"),
    "curl": ("agent.sh", CURL, "bash agent.sh"),
    "openai": ("agent.py", OPENAI, f"{sys.executable} agent.py"),
}
SUITE = """
name: through
target: {command: COMMAND}
gateway: true
test_cases:
  - id: a
    input: hello
    graders: [{contains: reply to}]
"""


def record(folder: Path, server: ModelServer, *more: str) -> Outcome:
    return drive(folder, "run", "suite.yaml", "--mode", "record", "--json", *more, env=server.environment)


def replay(folder: Path, *more: str) -> Outcome:
    return drive(folder, "run", "suite.yaml", "--mode", "replay", "--json", *more)


def transcript(folder: Path, run: str, case: str = "a") -> dict[str, Any]:
    shown = drive(folder, "show", run, case, "--json").json
    return dict(shown["trials"][0]["trial"]["attempts"][-1]["transcript"])


@pytest.mark.parametrize("kind", AGENTS)
def test_an_agent_that_knows_nothing_of_the_harness_is_recorded_and_replayed(tmp_path: Path, kind: str) -> None:
    file, text, command = AGENTS[kind]
    if kind != "openai" and shutil.which(command.split()[0]) is None:
        missing(kind, f"apt-get install {kind}")
    write(tmp_path, suite_yaml=SUITE.replace("COMMAND", command))
    (tmp_path / file).write_text(text)
    with model_server() as server:
        recorded = record(tmp_path, server)
        assert recorded.code == 0, recorded.both
        assert len(server.requests) == (2 if kind == "openai" else 1)
    replayed = replay(tmp_path)
    assert replayed.code == 0, replayed.both
    assert same_report(replayed.report) == same_report(recorded.report)
    assert recorded.report["input_tokens"] == 10 * len(server.requests), "also where only a stream was asked for"
    kept, again = (transcript(tmp_path, run.run_name) for run in (recorded, replayed))
    assert kept["messages"] == again["messages"]
    assert [message["role"] for message in kept["messages"]] == ["user", "assistant"] * len(server.requests)


ANTHROPIC = """
import sys
from anthropic import Anthropic
client = Anthropic()
schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
tools = [{"name": "add", "description": "adds", "input_schema": schema}]
messages = [{"role": "user", "content": sys.stdin.read()}]
first = client.messages.create(model="claude-x", max_tokens=100, system="Be brief.", messages=messages, tools=tools)
call = next(block for block in first.content if block.type == "tool_use")
result = {"type": "tool_result", "tool_use_id": call.id, "content": str(call.input["a"] + 1)}
messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
asked = {"model": "claude-x", "max_tokens": 100, "system": "Be brief.", "messages": messages, "tools": tools}
with client.messages.stream(**asked) as stream:
    print("".join(stream.text_stream))
"""


def scripted(_: BaseHTTPRequestHandler, body: bytes) -> Reply:
    """Anthropic's server: a call of a tool, then a stream of text."""
    about = {"id": "m", "type": "message", "role": "assistant", "model": "claude-x", "stop_sequence": None}
    usage = {"input_tokens": 20, "output_tokens": 7}
    if not json.loads(body).get("stream"):
        call = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}}
        reply = {**about, "content": [call], "stop_reason": "tool_use", "usage": usage}
        return Reply(json.dumps(reply), content_type="application/json")
    begun = {**about, "content": [], "stop_reason": None, "usage": {"input_tokens": 20, "output_tokens": 1}}
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    events = (
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "the sum "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "is 2"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    )
    text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return Reply(text, content_type="text/event-stream")


def test_an_agent_with_the_anthropic_sdk_and_a_tool(tmp_path: Path) -> None:
    suite = SUITE.replace("COMMAND", f"{sys.executable} agent.py")
    suite = suite.replace("{contains: reply to}", "{contains: the sum is 2}")
    tool = "{tool_sequence: {calls: [{name: add, arguments: {a: 1}}]}}"
    write(tmp_path, suite_yaml=suite.replace("2}]", f"2}}, {tool}]"), agent_py=ANTHROPIC)
    with serving(scripted) as address:
        env = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "sk-ant-upstream-0123456789"}
        recorded = drive(tmp_path, "run", "suite.yaml", "--mode", "record", "--json", env=env)
    assert recorded.code == 0, recorded.both
    replayed = replay(tmp_path)
    assert same_report(replayed.report) == same_report(recorded.report)
    kept = transcript(tmp_path, recorded.run_name)
    assert [message["role"] for message in kept["messages"]] == ["system", "user", "assistant", "tool", "assistant"]
    assert kept["tool_calls"] == [{"name": "add", "arguments": {"a": 1}, "result": "2", "error": ""}]
    assert (recorded.report["input_tokens"], recorded.report["output_tokens"]) == (40, 14)


PLAIN = """
import json, os, sys, urllib.error, urllib.request

def ask(path, body, key=None, method="POST"):
    headers = {"Authorization": "Bearer " + (key or os.environ["OPENAI_API_KEY"]), "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)

def chat(model, text="hello"):
    return ask("/chat/completions", {"model": model, "messages": [{"role": "user", "content": text}]})
"""


LISTING = """
from http.client import HTTPConnection

def list_openai():
    from openai import OpenAI
    return [model.id for model in OpenAI().models.list()]

def list_anthropic():
    from anthropic import Anthropic
    return [model.id for model in Anthropic().models.list()]

def too_large():
    connection = HTTPConnection(os.environ["ANTHROPIC_BASE_URL"].removeprefix("http://"))
    connection.putrequest("POST", "/v1/messages")
    connection.putheader("x-api-key", os.environ["ANTHROPIC_API_KEY"])
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    piece = b"x" * 2**20
    try:
        for _ in range(70):
            connection.send(b"%x\\r\\n%s\\r\\n" % (len(piece), piece))
    except OSError:
        pass
    reply = connection.getresponse()
    return f"{reply.status} {json.load(reply)['error']['type']}"

"""


def test_models_paths_and_keys_that_are_not_allowed_never_leave(tmp_path: Path) -> None:
    agent = (
        LISTING
        + PLAIN
        + (
            "print(json.dumps([chat('fast')[0], chat('other'), ask('/files', {}), ask('/models', None, method='GET'),"
            " ask('/chat/completions', {'model': 'fast'}, key='sk-wrong'),"
            " ask('/responses', {'model': 'fast', 'background': True, 'input': 'x'}),"
            " [kind.__name__ for kind in (list_openai, list_anthropic) if kind() != ['fast']], too_large()]))"
        )
    )
    suite = SUITE.replace("gateway: true", "gateway: {models: {fast: openai/served}}").replace("reply to", "'200'")
    write(tmp_path, suite_yaml=suite.replace("COMMAND", f"{sys.executable} agent.py"), agent_py=agent)
    with model_server() as server:
        words = ("run", "suite.yaml", "--json", "-o", "report.html")
        done = drive(tmp_path, *words, env=server.environment)
    assert "<dt>not pinned</dt><dd>model openai/served" in (tmp_path / "report.html").read_text()
    kept = transcript(tmp_path, done.run_name)
    fine, other, files, models, wrong, background, unlisted, large = json.loads(kept["output"])
    assert fine == 200 and [each["model"] for each in server.requests] == ["served"]
    assert other[0] == 400 and "is not allowed here; allowed: fast" in other[1]["error"]["message"]
    assert files[0] == 404 and models[1]["data"][0]["id"] == "fast"
    assert wrong[0] == 401 and background[0] == 400
    assert unlisted == [] and large == "413 request_too_large"
    assert {event["path"] for event in kept["events"]} == {"/v1/chat/completions", "/v1/files", "/v1/responses"}


ODD = r"""
ask() { curl -s "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" "$@"; }
deep=$(python3 -c 'print("[" * 300 + "]" * 300)')
ask -d "{\"model\": \"served\", \"messages\": $deep}"
ask -d '{"model": "served", "temperature": NaN, "messages": []}'
ask -d '{"model": "served", "messages": [{"role": "user", "content": "\ud800"}]}'
ask -d 'not gzip' -H 'Content-Encoding: gzip'
ask -d '{"model": "served", "messages": [{"role": "user", "content": "half"}]}'
"""


def test_requests_that_could_not_be_stored_are_refused_and_such_replies_are_kept_as_far_as_they_go(
    tmp_path: Path,
) -> None:
    suite = "name: odd\ntarget: {command: sh agent.sh}\ngateway: true\n"
    case = "test_cases: [{id: a, input: hi, graders: [{contains: half a}]}]\n"
    write(tmp_path, suite_yaml=suite + case, agent_sh=ODD)
    with model_server(lambda body: "half a \ud800") as server:
        recorded = drive(tmp_path, "run", "suite.yaml", "--mode", "record", "--json", env=server.environment)
        assert [each["messages"][0]["content"] for each in server.requests] == ["half"]
    assert recorded.code == 0, recorded.both
    replayed = drive(tmp_path, "run", "suite.yaml", "--mode", "replay", "--json")
    assert replayed.code == 0, replayed.both
    shown = drive(tmp_path, "show", "latest", "a", "--json").json["trials"][0]["trial"]["attempts"][0]
    assert shown["transcript"]["output"].count("invalid_request_error") == 2 * 4, "the type and the code"


def test_a_key_works_for_its_trial_alone(tmp_path: Path) -> None:
    agent = PLAIN + (
        "open('KEYS', 'a').write(os.environ['OPENAI_API_KEY'] + chr(10))\n"
        "earlier = open('KEYS').read().split()[:-1]\n"
        "print([ask('/chat/completions', {'model': 'served', 'messages': []}, key=key)[0] for key in earlier])"
    ).replace("KEYS", str(tmp_path / "keys"))
    suite = SUITE.replace("gateway: true", "gateway: true\ntrials: 2\nconfig: {parallel: false}")
    write(tmp_path, suite_yaml=suite.replace("COMMAND", "python agent.py"), agent_py=agent)
    with model_server() as server:
        done = drive(tmp_path, "run", "suite.yaml", "-j", "1", "--json", env=server.environment)
    assert sorted(trial["output"].strip() for trial in done.report["trials"]) == ["[401]", "[]"]
    assert not server.requests


def test_a_changed_request_in_replay_is_refused_and_the_run_invalid(tmp_path: Path) -> None:
    agent = PLAIN + "print(chat('served', sys.stdin.read())[1].get('choices', 'caught the error'))"
    write(tmp_path, suite_yaml=SUITE.replace("COMMAND", "python agent.py"), agent_py=agent)
    with model_server() as server:
        record(tmp_path, server)
        write(tmp_path, suite_yaml=SUITE.replace("COMMAND", "python agent.py").replace("hello", "good day"))
        missed = drive(tmp_path, "run", "suite.yaml", "--mode", "replay", "--json", env=server.environment)
        assert len(server.requests) == 1, "nothing was sent"
    assert missed.code == 3
    assert missed.states() == {"a": ["error"]}, "though the agent went on"
    assert 'recorded "hello", now "good day"' in missed.report["why"]["text"]


def test_a_spend_cap_stops_an_agent_in_any_language(tmp_path: Path) -> None:
    agent = PLAIN + "print([chat('served', str(n))[0] for n in range(50)])"
    write(tmp_path, suite_yaml=SUITE.replace("COMMAND", "python agent.py"), agent_py=agent)
    with model_server() as server:
        done = drive(tmp_path, "run", "suite.yaml", "--max-tokens", "100", "--json", env=server.environment)
    assert done.code == 3 and "spend cap" in done.report["why"]["text"]
    assert len(server.requests) < 20


def test_a_function_and_a_server_find_the_gateway(tmp_path: Path) -> None:
    function = """
import json, urllib.request

def ask(question, context):
    url, key = context.gateway.url, context.gateway.key
    body = json.dumps({"model": "served", "messages": [{"role": "user", "content": question}]}).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(f"{url}/v1/chat/completions", body, headers)) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]
"""
    service = """
import json, sys, urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = json.dumps({"model": "served", "messages": [{"role": "user", "content": body["input"]}]}).encode()
        headers = {"Authorization": "Bearer " + self.headers["X-Key"], "Content-Type": "application/json"}
        request = urllib.request.Request(body["models"] + "/v1/chat/completions", asked, headers)
        with urllib.request.urlopen(request) as reply:
            text = json.load(reply)["choices"][0]["message"]["content"].encode()
        self.send_response(200); self.send_header("Content-Length", str(len(text))); self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_): ...

HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    served = {
        "url": f"http://127.0.0.1:{port}/",
        "headers": {"X-Key": "{{gateway_key}}"},
        "body": {"input": "{input}", "models": "{{gateway_url}}"},
        "start": f"python service.py {port}",
    }
    variants = {"function": {"function": "agent.py:ask"}, "server": {"http": served}}
    suite = {"name": "both", "gateway": True, "variants": variants}
    suite["test_cases"] = [{"id": "a", "input": "hello", "graders": [{"contains": "reply to hello"}]}]
    write(tmp_path, suite_yaml=json.dumps(suite), agent_py=function, service_py=service)
    with model_server() as server:
        recorded = record(tmp_path, server)
    assert recorded.code == 0, recorded.both
    assert len(server.requests) == 2
    replayed = replay(tmp_path)
    assert replayed.code == 0, replayed.both
    for before, after in zip(recorded.json["eval_reports"], replayed.json["eval_reports"], strict=True):
        assert before["summary"] == after["summary"] and before["cases"] == after["cases"]


def test_a_sandboxed_agent_without_a_network_reaches_the_gateway_and_nothing_else(tmp_path: Path) -> None:
    agent = PLAIN + (
        "import socket\n"
        "print(chat('served')[1]['choices'][0]['message']['content'])\n"
        "try:\n    socket.create_connection(('127.0.0.1', PORT), 2)\n    print('reached')\n"
        "except OSError as error:\n    print('refused')"
    )
    with model_server() as server:
        port = server.address.rpartition(":")[2]
        command = "{command: python3 agent.py, sandbox: true}"
        write(tmp_path, suite_yaml=SUITE.replace("{command: COMMAND}", command), agent_py=agent.replace("PORT", port))
        recorded = record(tmp_path, server)
    assert recorded.code == 0, recorded.both
    assert recorded.report["trials"][0]["output"].split("\n")[:2] == ["reply to hello", "refused"]
    replayed = replay(tmp_path)
    assert same_report(replayed.report) == same_report(recorded.report)
