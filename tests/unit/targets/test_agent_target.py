"""agent: a language model with tools, called in a loop until it answers."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from missing_parts import missing
from pydantic import ValidationError
from talking import Asked, Talking, ask, called, requested, said

from evalharness import registry
from evalharness.contracts.model import ChatReply, ChatRequest
from evalharness.contracts.services import Services
from evalharness.domain.case import Case
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite
from evalharness.engine.planning.planned_cases import PlannedCases
from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import ModelUnavailable, SandboxUnavailable, TargetUnavailable, UsageError
from evalharness.sandboxes.none import NoSandbox

FILES = "agent:test/model"
TOOLS = """
from pathlib import Path

def shout(text: str, times: int = 1, context=None) -> str:
    '''Say it loudly.'''
    (context.workspace / "heard.txt").write_text(text)
    return text.upper() * times

async def whisper(text: str):
    return {"quiet": text.lower()}

def breaks():
    raise LookupError("the line is dead")

def strange():
    return {1, 2}

def rambles():
    return "x" * 30_000

NUMBER = 5
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    if shutil.which("bwrap") is None:
        missing("bubblewrap", "apt-get install bubblewrap")
    (tmp_path / "tools.py").write_text(TOOLS)
    return tmp_path


def case(max_rounds: int | None = None, **files: str) -> Case:
    written = {name.replace("_", "."): text for name, text in files.items()}
    return Case.model_validate(
        {"id": "a", "input": "Do it", "expected": "done", "files": written, "max_rounds": max_rounds}
    )


def run_shell(root: Path, command: str, **options: Any) -> dict[str, Any]:
    """What the model sees of a command's result."""
    llm = Talking(called("run_shell", command=command), said("done"))
    asked = ask(root, llm, {"agent": {"model": "test/m", **options}}, case(note_txt="hello"))
    result: dict[str, Any] = asked.transcript.tool_calls[0].result
    return result


def test_tools_are_called_until_there_is_an_answer(root: Path) -> None:
    llm = Talking(
        called("read_file", path="greeting.txt"),
        called("write_file", path="bonjour.txt", content="Bonjour\n"),
        said("It says bonjour."),
    )
    asked = ask(root, llm, FILES, case(greeting_txt="Good morning\n"))
    transcript = asked.transcript
    assert transcript.output == "It says bonjour."
    assert asked.files == {"bonjour.txt": "Bonjour\n"}
    assert [(call.name, call.arguments) for call in transcript.tool_calls] == [
        ("read_file", {"path": "greeting.txt"}),
        ("write_file", {"path": "bonjour.txt", "content": "Bonjour\n"}),
    ]
    assert transcript.tool_calls[0].result == "Good morning\n"
    roles = ["system", "user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert [message["role"] for message in transcript.messages] == roles
    assert transcript.messages[3] == {"role": "tool", "tool_call_id": "call_1", "content": "Good morning\n"}
    assert transcript.cost_usd == 0.75
    assert llm.told == ["Good morning\n", "wrote 8 bytes to bonjour.txt"]


def test_the_model_is_offered_every_tool_unless_some_are_chosen(root: Path) -> None:
    for target, names in [
        (FILES, ["read_file", "write_file", "edit_file", "list_files", "search", "run_shell"]),
        ({"agent": {"model": "test/m", "tools": ["search", "tools.py:shout"]}}, ["search", "shout"]),
        ({"agent": "test/m", "tools": ["read_file"]}, ["read_file"]),
        ({"agent": {"model": "test/m", "tools": []}}, []),
    ]:
        llm = Talking(said("done"))
        ask(root, llm, target)
        assert [tool.name for tool in llm.requests[0].tools] == names


def test_several_calls_at_once_are_made_in_their_order(root: Path) -> None:
    both = said(
        tool_requests=(
            requested("write_file", '{"path": "a.txt", "content": "1"}', "1"),
            requested("read_file", '{"path": "a.txt"}', "2"),
        )
    )
    llm = Talking(both, said("done"))
    asked = ask(root, llm, FILES)
    assert asked.transcript.tool_calls[1].result == "1"
    assert [message.answers_request for message in llm.requests[1].messages[-2:]] == ["1", "2"]


def test_calls_of_a_reply_that_was_cut_off_are_not_run(root: Path) -> None:
    half = requested("write_file", '{"path": "a.txt", "content": "half"}')
    llm = Talking(said(tool_requests=(half,), finish_reason="length"), said("done"))
    asked = ask(root, llm, FILES)
    assert asked.files == {}
    assert llm.told == ["error: not run: the reply was cut off by max_tokens"]
    assert asked.transcript.output == "done"


def test_a_flood_of_calls_is_stemmed(root: Path) -> None:
    flood = said(tool_requests=tuple(requested("list_files", "{}", str(number)) for number in range(60)))
    asked = ask(root, Talking(flood, said("done")), FILES)
    errors = [call.error for call in asked.transcript.tool_calls if call.error]
    assert len(asked.transcript.tool_calls) == 60 and len(errors) == 10
    assert "at most 50 calls at once" in errors[0]


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (requested("raed_file", "{}"), "unknown tool 'raed_file'. Did you mean 'read_file'? known: read_file"),
        (requested("read_file", "{path: a}"), "the arguments are not JSON"),
        (requested("read_file", '{"path": 5}'), "the arguments do not match the schema: path"),
        (requested("read_file", '{"path": "../../etc/passwd"}'), "is outside the workspace"),
        (requested("read_file", '{"path": "none.txt"}'), "none.txt does not exist"),
        (requested("run_shell", '{"command": "echo \\u0000"}'), "NUL"),
        (requested("run_shell", '{"command": "' + "x" * 200_000 + '"}'), "100000 bytes"),
        (requested("breaks", "{}"), "LookupError: the line is dead"),
        (requested("strange", "{}"), "a value of type set"),
    ],
)
def test_what_a_model_does_wrong_is_reported_to_it_and_it_may_go_on(root: Path, request_: Any, told: str) -> None:
    llm = Talking(said(tool_requests=(request_,)), said("done"))
    tools = ["read_file", "run_shell", "tools.py:breaks", "tools.py:strange"]
    asked = ask(root, llm, {"agent": {"model": "test/m", "tools": tools}})
    assert asked.transcript.output == "done"
    [call] = asked.transcript.tool_calls
    assert told in call.error and call.result is None
    assert llm.told[0].startswith("error: ") and told in llm.told[0]


def test_users_functions_are_tools(root: Path) -> None:
    llm = Talking(called("shout", text="hi", times=2), called("whisper", text="HUSH"), said("done"))
    tools = ["tools.py:shout", "tools.py:whisper"]
    asked = ask(root, llm, {"agent": {"model": "test/m", "tools": tools}})
    assert [call.result for call in asked.transcript.tool_calls] == ["HIHI", {"quiet": "hush"}]
    assert llm.told == ["HIHI", '{"quiet":"hush"}']
    assert asked.files == {"heard.txt": "hi"}


def test_a_long_result_is_cut_and_says_so(root: Path) -> None:
    llm = Talking(called("rambles"), said("done"))
    ask(root, llm, {"agent": {"model": "test/m", "tools": ["tools.py:rambles"], "max_result_chars": 1000}})
    assert llm.told == ["x" * 1000 + "…\n[cut here: 29,000 more characters]"]


@pytest.mark.parametrize(("option", "of_the_case", "most"), [(20, 2, 2), (1, None, 1), (5, 0, 0), (0, None, 0)])
def test_rounds_are_counted_and_end_the_trial(root: Path, option: int, of_the_case: int | None, most: int) -> None:
    llm = Talking(called("list_files"))
    asked = ask(root, llm, {"agent": {"model": "test/m", "max_rounds": option}}, case(max_rounds=of_the_case))
    assert asked.failure == f"no answer within {most} round{'' if most == 1 else 's'} of tool calls"
    assert len(asked.transcript.tool_calls) == most, "everything done until then is kept"
    assert len(llm.requests) == most + 1


def test_an_answer_in_the_last_round_counts(root: Path) -> None:
    llm = Talking(called("list_files"), called("list_files"), said("done"))
    assert ask(root, llm, FILES, case(max_rounds=2)).transcript.output == "done"


def test_a_conversation_with_an_agent_is_held_turn_by_turn(root: Path) -> None:
    llm = Talking(called("list_files"), said("one file"), called("read_file", path="a.txt"), said("it says hi"))
    asked = ask(
        root,
        llm,
        FILES,
        Case.model_validate({"id": "a", "input": {"messages": ["1?", "2?"]}, "files": {"a.txt": "hi"}}),
    )
    assert asked.transcript.output == "it says hi"
    assert [call.name for call in asked.transcript.tool_calls] == ["list_files", "read_file"]


def test_the_shell_works_in_the_workspace_and_reports_its_exit_code(root: Path) -> None:
    assert run_shell(root, "cat note.txt; echo oops >&2; exit 3") == {
        "exit_code": 3,
        "stdout": "hello",
        "stderr": "oops\n",
    }


def test_the_shell_finds_no_secrets_and_no_network(root: Path) -> None:
    told = run_shell(
        root, "env; cat /proc/*/environ | tr '\\0' '\\n'; ls /sys/class/net /proc/net/dev; cat /proc/net/route"
    )
    assert "canary" not in str(told)
    assert "eth0" not in str(told)
    said_of_network = run_shell(
        root, "python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80), timeout=5)\""
    )
    assert said_of_network["exit_code"] != 0 and "nreachable" in said_of_network["stderr"]


def test_the_shell_sees_nothing_but_the_workspace(root: Path) -> None:
    told = run_shell(root, f"cat {root}/tools.py; echo pwned > {root}/tools.py; ls {root.parent}")
    assert told["stdout"] == "" and told["exit_code"] != 0
    assert (root / "tools.py").read_text() == TOOLS


def test_a_command_that_takes_too_long_is_ended_and_the_model_goes_on(root: Path) -> None:
    told = run_shell(root, "echo begun; sleep 60", shell_timeout_seconds=2)
    assert told == {
        "exit_code": None,
        "stdout": "begun\n",
        "stderr": "",
        "ended": "it took longer than 2 s and was ended",
    }


def test_a_flood_of_output_is_cut(root: Path) -> None:
    told = run_shell(root, "yes | head -c 3000000; yes no | head -c 3000000 >&2", max_result_chars=8000)
    assert 1000 < len(told["stdout"]) < 3000 and 1000 < len(told["stderr"]) < 3000
    assert "bytes" in told["stdout"], "it says what is missing"


def test_a_program_that_takes_too_much_is_ended_and_the_model_goes_on(root: Path) -> None:
    told = run_shell(root, "head -c 20000000 /dev/zero > big; sleep 60", limits={"disk_bytes": 10_000_000})
    assert told["ended"] == "it wrote too much to the workspace and was ended"


def test_a_link_made_by_the_shell_leads_no_tool_out(root: Path) -> None:
    script = (
        "ln -s /etc/passwd p; ln -s / slash; ln -s /tmp/pwned-by-agent w; mkfifo pipe; "
        "ln -s ../.. up; chmod 000 note.txt; head -c 100 /dev/zero > zeros"
    )
    reads = [requested("read_file", f'{{"path": "{name}"}}') for name in ("p", "slash/etc/passwd", "pipe", "zeros")]
    writes = [requested("write_file", f'{{"path": "{name}", "content": "x"}}') for name in ("p", "w", "pipe", "up/x")]
    others = [requested("list_files", '{"path": "slash"}'), requested("search", '{"pattern": "root", "path": "slash"}')]
    llm = Talking(
        called("run_shell", command=script),
        said(tool_requests=(*reads, *writes, *others)),
        called("search", pattern="root:"),
        said("done"),
    )
    asked = ask(root, llm, FILES, case(note_txt="hello"))
    assert asked.transcript.output == "done"
    first, *refused, found = asked.transcript.tool_calls
    assert first.result["exit_code"] == 0
    assert all(call.error and call.result is None for call in refused)
    assert "root:x" not in str(found.result)
    assert not Path("/tmp/pwned-by-agent").exists()


def test_a_model_cannot_make_its_failure_an_error_of_the_harness(root: Path) -> None:
    """A folder in which nothing can be started, a command with half a character, one that kills everything it can."""
    half = requested("run_shell", '{"command": "echo \\ud83d"}')
    llm = Talking(
        called("run_shell", command="chmod 000 ."),
        called("run_shell", command="echo still here"),
        said(tool_requests=(half,)),
        called("run_shell", command="kill -9 -1; kill -9 1"),
        called("run_shell", command="rm -rf . ../* note.txt; echo gone"),
        said("done"),
    )
    asked = ask(root, llm, FILES, case(note_txt="hello"))
    assert asked.transcript.output == "done"
    calls = asked.transcript.tool_calls
    assert calls[1].result["stdout"] == "still here\n"
    assert calls[2].error
    assert calls[4].result["stdout"] == "gone\n"


def test_files_of_the_shell_and_of_the_tools_are_the_same(root: Path) -> None:
    llm = Talking(
        called("write_file", path="run.sh", content="echo one > made.txt"),
        called("run_shell", command="sh run.sh && echo two >> made.txt && chmod 755 run.sh"),
        called("edit_file", path="made.txt", old_text="two", new_text="three"),
        called("run_shell", command="cat made.txt && rm note.txt && ./run.sh"),
        said("done"),
    )
    asked = ask(root, llm, FILES, case(note_txt="hello"))
    assert asked.transcript.tool_calls[3].result == {"exit_code": 0, "stdout": "one\nthree\n", "stderr": ""}
    assert asked.files["made.txt"] == "one\n"


async def never(_request: ChatRequest) -> ChatReply:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize("last", [never, called("run_shell", command="sleep 60")])
def test_the_time_limit_covers_the_whole_loop(root: Path, last: Any) -> None:
    asked = ask(root, Talking(called("write_file", path="a.txt", content="kept"), last), FILES, timeout_s=2.0)
    assert asked.failure == "time limit: no answer within 2 s"
    assert asked.transcript.tool_calls[0].name == "write_file"
    assert asked.files == {"a.txt": "kept"}


def test_a_model_that_goes_away_is_not_the_targets_fault(root: Path) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        ask(root, Talking(called("list_files"), ModelUnavailable("gone")), FILES)
    assert len(caught.value.evidence.tool_calls) == 1


def test_without_a_sandbox_nothing_is_asked(root: Path) -> None:
    class NoneHere(NoSandbox):
        async def open(self) -> None:
            raise SandboxUnavailable("bubblewrap is not installed")

    llm = Talking(said("done"))
    with pytest.raises(SandboxUnavailable):
        ask(root, llm, FILES, sandbox=NoneHere)
    assert ask(root, llm, {"agent": "test/m", "tools": ["read_file"]}, sandbox=NoneHere).transcript.output == "done"


@pytest.mark.parametrize(
    ("tools", "error", "told"),
    [
        (["tools.py:whsper"], UsageError, "whisper"),
        (["nothing.py:tool"], UsageError, "nothing.py"),
        (["tools.py:NUMBER"], UsageError, "not a function"),
        (["broken.py:tool"], TargetUnavailable, "ZeroDivisionError"),
    ],
)
def test_a_tool_that_cannot_be_had_is_reported_before_anything_is_asked(
    root: Path, tools: list[str], error: type[Exception], told: str
) -> None:
    (root / "broken.py").write_text("1 / 0")
    llm = Talking(said("done"))
    with pytest.raises(error, match=told):
        ask(root, llm, {"agent": {"model": "test/m", "tools": tools}})
    assert llm.requests == []


@pytest.mark.parametrize(
    "tools", [["raed_file"], ["read_file", "read_file"], ["read_file", "a.py:read_file"], ["a.py:"], ["a.py:naïve"]]
)
def test_what_cannot_be_a_tool_is_refused(tools: list[str]) -> None:
    with pytest.raises(ValidationError):
        registry.parse_options("target", TargetSpec(kind="agent", options={"model": "test/m", "tools": tools}))


def services(root: Path) -> Services:
    return Services(root, NoSandbox(), Offloader(1), {})


@pytest.mark.parametrize(
    ("target", "lacking"),
    [
        (FILES, ""),
        ({"agent": {"model": "test/m", "tools": ["search"]}}, "the target lacks the required tool read_file"),
        ({"agent": "test/m", "tools": ["search"]}, "the target lacks the required tool read_file"),
        ({"agent": {"model": "test/m", "tools": ["mine.py:search", "mine.py:read_file"]}}, ""),
        ("chat:test/model", ""),
    ],
)
def test_a_case_is_skipped_where_the_agent_lacks_a_tool(root: Path, target: Any, lacking: str) -> None:
    needing = Case(id="a", input="?", expected="4", required_tools=("search", "read_file"))
    spec = TargetSpec.model_validate(target)
    [planned] = PlannedCases(Suite(name="s", cases=(needing,)), {}, services(root), target=spec).in_turn()
    assert planned.skip == lacking


def test_a_changed_tool_changes_the_digest(root: Path) -> None:
    spec = TargetSpec(kind="agent", options={"model": "test/m", "tools": ["tools.py:shout"]})
    before = registry.build_target(spec, services(root)).digest()
    (root / "tools.py").write_text(TOOLS + "# changed\n")
    assert registry.build_target(spec, services(root)).digest() != before


def test_the_exit_code_of_the_last_command_can_be_judged(root: Path, grade: Any) -> None:
    asked: Asked = ask(root, Talking(called("run_shell", command="exit 3"), said("done")), FILES)
    assert grade({"exit_code": 3}, "", tool_calls=asked.transcript.tool_calls).passed
    assert not grade({"exit_code": 0}, "", tool_calls=asked.transcript.tool_calls).passed
