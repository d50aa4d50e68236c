"""Agents that print events as targets: real programs and a real server, run by the real engine."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import asking
import pytest
from agent_streams import ANSWER, CLAUDE_CODE, DOCKER_AGENT, STREAMS, lines
from aiohttp import web
from driving import drive, write
from loop_server import serving

from evalharness import Run, Transcript, Trial, UsageError
from evalharness.domain.transcript import Usage

AGENT = """
import json, sys
for number, question in enumerate(sys.argv[1:]):
    print(json.dumps({"type": "user_message", "message": question}))
    print(json.dumps({"type": "agent_choice", "content": f"{number}:{question};", "agent_name": "root"}))
    print(json.dumps({"type": "stream_stopped"}))
print("stdin: " + sys.stdin.read())
"""
TALK = {
    "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hi; $(date)"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": [{"type": "text", "text": "And\nnow?"}]},
    ]
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def printing(stream: str, *, code: int = 0, complaint: str = "", first: str = "") -> list[str]:
    program = f"import sys\n{first}\nsys.stdout.write({stream!r})\nsys.stderr.write({complaint!r})\nsys.exit({code})\n"
    Path("printing.py").write_text(program)
    return ["python", "printing.py"]


def ask(command: Any, events: str | None = "docker-agent", **options: Any) -> Trial:
    spec = {"command": command, **({"events": events} if events else {}), **options.pop("target", {})}
    return asking.run_once(spec, **{"expected": None, **options})


def transcript_of(trial: Trial) -> Transcript:
    assert trial.last.transcript is not None
    return trial.last.transcript


class TestTheQuestion:
    @pytest.mark.parametrize("command", [["python", "agent.py"], "python agent.py"])
    def test_each_turn_of_the_user_is_an_argument_of_its_own(self, command: Any) -> None:
        trial = ask(command, input=TALK)
        assert trial.output == "0:Hi; $(date);1:And\nnow?;"
        assert [message["role"] for message in transcript_of(trial).messages] == ["user", "assistant"] * 2

    @pytest.mark.parametrize("given", ["How much?", {"prompt": "How much?"}])
    def test_a_single_question_is_one_argument(self, given: Any) -> None:
        assert ask(["python", "agent.py"], input=given).output == "0:How much?;"

    def test_other_data_is_one_argument_of_json(self) -> None:
        assert ask(["python", "agent.py"], input={"a": [1]}).output == '0:{"a":[1]};'

    def test_turns_follow_what_the_shell_line_already_contains(self) -> None:
        trial = ask("python agent.py {case_id} '{seed}'", input=TALK)
        assert trial.output.startswith("0:a;1:")
        assert trial.output.endswith("2:Hi; $(date);3:And\nnow?;")

    def test_a_placeholder_takes_the_place_of_the_turns(self) -> None:
        assert ask(["python", "agent.py", "Say {input}"], input="yes").output == "0:Say yes;"

    def test_stdin_when_asked_for(self) -> None:
        trial = ask(["python", "agent.py", "x"], input="yes", target={"input": "stdin"})
        assert (trial.output, transcript_of(trial).stdout.splitlines()[-1]) == ("0:x;", "stdin: yes")

    def test_other_agents_read_stdin_and_any_command_may_take_arguments(self) -> None:
        cat = [
            sys.executable,
            "-c",
            "import sys, json; print(json.dumps({'role': 'assistant', 'content': sys.stdin.read()}))",
        ]
        assert ask(cat, "openai-messages", input="yes").output == "yes"
        assert (
            ask(["printf", "%s|"], None, input=TALK, target={"input": "arguments"}).output == "Hi; $(date)|And\nnow?|"
        )


class TestTheAnswer:
    @pytest.mark.parametrize("name", sorted(STREAMS))
    @pytest.mark.parametrize("asked", ["by name", "auto"])
    def test_everything_the_stream_reports_is_in_the_transcript(self, name: str, asked: str) -> None:
        trial = ask(printing(STREAMS[name]), "auto" if asked == "auto" else name, expected={"contains": ANSWER})
        found = transcript_of(trial)
        assert trial.state == "passed"
        assert (found.exit_code, found.stdout) == (0, STREAMS[name])
        assert len(found.tool_calls) >= 2
        assert found.usage is not None

    def test_tokens_and_cost(self) -> None:
        run: Run = asking.run_suite({"command": printing(CLAUDE_CODE), "events": "claude-code"}, expected=None)
        assert transcript_of(run.trials[0]).usage == Usage(input_tokens=2112, output_tokens=77)
        assert transcript_of(run.trials[0]).cost_usd == 0.0123

    def test_tool_calls_can_be_graded(self) -> None:
        expected = {"tool_sequence": ["write_file", "shell"]}
        assert ask(printing(DOCKER_AGENT), expected=expected).state == "passed"

    def test_files_of_the_stream_are_those_of_the_workspace_where_both_have_them(self) -> None:
        program = printing(CLAUDE_CODE, first="open('notes.txt', 'w').write('really')")
        assert transcript_of(ask(program, "claude-code")).files == {"notes.txt": "really"}


class TestFailures:
    def test_an_exit_code_is_never_ignored(self) -> None:
        """The original ignored the exit code as soon as one event had arrived."""
        trial = ask(printing(DOCKER_AGENT, code=7, complaint="boom\n"))
        assert (trial.state, trial.reason) == ("failed", "exit code 7: boom")
        assert transcript_of(trial).text.endswith(ANSWER), "what it reported before is kept"

    def test_an_exit_code_that_is_graded_is_the_graders_business(self) -> None:
        assert ask(printing(DOCKER_AGENT, code=7), expected={"exit_code": 7}).state == "passed"

    def test_no_events(self) -> None:
        trial = ask(printing("", complaint="warning\nno such agent\n"))
        assert (trial.state, trial.reason) == ("failed", "no events received: no such agent")
        trial = ask(printing("", code=7, complaint="boom"))
        assert (trial.state, trial.reason) == ("failed", "exit code 7: boom")

    def test_an_error_instead_of_an_answer(self) -> None:
        """The original never failed for an error event."""
        trial = ask(printing(lines({"type": "error", "error": "model not found"})))
        assert (trial.state, trial.reason) == ("failed", "model not found")
        assert transcript_of(trial).events[0]["message"] == "model not found"

    def test_an_error_after_an_answer(self) -> None:
        """The original never failed for an error event."""
        stream = lines({"type": "agent_choice", "content": "4"}, {"type": "error", "error": "out of quota"})
        trial = ask(printing(stream), expected="4")
        assert (trial.state, trial.reason, trial.output) == ("failed", "out of quota", "4")

    def test_an_error_before_an_answer_is_graded(self) -> None:
        stream = lines({"type": "error", "error": "try again"}, {"type": "agent_choice", "content": "4"})
        assert ask(printing(stream), expected="4").state == "passed"


class TestHttp:
    def ask(self, reply: str, **target: Any) -> Trial:
        async def handler(request: web.Request) -> web.Response:
            return web.Response(text=reply)

        async def both() -> Trial:
            async with serving(handler) as base:
                spec = {"http": {"url": base, **target}}
                return await asyncio.to_thread(asking.run_once, spec, expected=None)

        return asyncio.run(both())

    @pytest.mark.parametrize("name", sorted(STREAMS))
    def test_a_reply_of_events(self, name: str) -> None:
        trial = self.ask(STREAMS[name], events=name)
        assert str(trial.output).endswith(ANSWER)
        assert transcript_of(trial).events[0] == {"type": "http", "status": 200}

    def test_events_at_a_place_of_the_reply(self) -> None:
        reply = json.dumps({"trace": {"messages": [{"role": "assistant", "content": "4"}]}})
        assert self.ask(reply, events="openai-messages", answer="trace").output == "4"

    def test_failures(self) -> None:
        assert self.ask("hello", events="codex").reason == "no events received"
        reply = lines({"type": "turn.failed", "error": {"message": "quota"}})
        assert self.ask(reply, events="codex").reason == "quota"


@pytest.mark.parametrize("kind", [{"command": ["true"]}, {"http": {"url": "http://127.0.0.1:1"}}])
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"events": "codex", "result": "json"}, "either events or result"),
        ({"events": "codx"}, "unknown transcript 'codx'. Did you mean 'codex'?"),
    ],
)
def test_wrong_options(kind: dict[str, Any], options: dict[str, Any], problem: str) -> None:
    [(name, written)] = kind.items()
    spec = {name: {**(written if isinstance(written, dict) else {name: written}), **options}}
    with pytest.raises(UsageError) as caught:
        asking.run_once(spec)
    assert problem in str(caught.value)


def test_a_target_file_from_the_command_line(folder: Path) -> None:
    suite = "name: talk\ntest_cases:\n  - {id: hi, input: Hi, expected: {contains: '0:Hi'}}\n"
    write(folder, suite_yaml=suite, agent_yaml="command: [python, agent.py]\nevents: docker-agent\n")
    outcome = drive(folder, "run", "suite.yaml", "--target", "agent.yaml", "--json")
    assert (outcome.code, outcome.states()) == (0, {"hi": ["passed"]}), outcome.both
