"""The public module of recorded sessions: its names, its files, and evaluating a folder."""

from __future__ import annotations

import asyncio
import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from judged import HonestLlm, SayingLlm, nonce_in, told
from recorded import AGENT, TARGET, asked, item, save, session

from evalharness import Settings, sessions
from evalharness.contracts.model import ChatRequest
from evalharness.domain.case import Case
from evalharness.domain.suite import matches_case
from evalharness.errors import (
    HarnessError,
    IncompleteVerdict,
    InvalidFile,
    NothingSelected,
    UnknownName,
    UsageError,
)
from evalharness.registry import load
from evalharness.sessions import Config, Judge, Runner, Session, evaluate_sessions

DOCUMENTED = (
    "Config", "EvalRun", "GenerateRunName", "InputSession", "Judge", "NewJudge", "RelevanceResult", "Result",
    "RunOutput", "RunOutputConfig", "Runner", "Save", "SaveRunJSON", "SaveRunSessions", "SaveRunSessionsJSON",
    "SessionFromEvents", "Summary",
)  # fmt: skip
FUNCTIONS = {name for name in DOCUMENTED if name.startswith(("Generate", "New", "Save", "SessionFrom"))}
CONFIG = (
    "AgentFilename", "EvalsDir", "JudgeModel", "Concurrency", "TTYFd", "Only", "BaseImage", "KeepContainers", "EnvVars",
    "Repeat",
)  # fmt: skip


def snake(name: str) -> str:
    """SaveRunJSON as save_run_json."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


@pytest.fixture
def evals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two sessions, and the agent that answers them beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "target.yaml").write_text(TARGET)
    return save(
        tmp_path / "evals",
        files=asked("list them", "list_directory", at=30, title="Files", evals={"size": "S"}),
        talk=session(item("user", "Hi"), item("assistant", "Hello"), item("user", "Bye"), title="Talk"),
    )


def evaluated(evals: Path, **config: Any) -> sessions.EvalRun:
    target = config.pop("agent_filename", "target.yaml")
    return evaluate_sessions(Config(agent_filename=target, evals_dir=str(evals), **config), store=":memory:")


def test_every_documented_name_is_here() -> None:
    names = {snake(name) if name in FUNCTIONS else name for name in DOCUMENTED}
    assert names <= set(sessions.__all__)
    later = {"agent_image"}  # of later versions of the document
    assert {snake(name) for name in CONFIG} | later == set(Config.model_fields)
    assert all(getattr(sessions, name) is not None for name in sessions.__all__)


def test_a_judge_answers_every_criterion_in_order_with_a_reason() -> None:
    llm = HonestLlm("Ada")
    results = asyncio.run(Judge(llm, 5).check_relevance("Hello Ada", ["is kind", "names Ada", "is kind"]))
    assert [(result.criterion, result.passed, result.reason) for result in results] == [
        ("is kind", True, "so it is"),
        ("names Ada", True, "so it is"),
        ("is kind", True, "so it is"),
    ]
    assert not any(result.passed for result in asyncio.run(Judge(llm).check_relevance("Hello Eve", ["a", "b"])))
    assert asyncio.run(Judge(llm).check_relevance("Hello", [])) == []


@pytest.mark.parametrize(("asked", "used"), [(0, 1), (-3, 1), (5, 5)])
def test_a_judge_asks_at_least_one_question_at_a_time(asked: int, used: int) -> None:
    assert sessions.new_judge("a/b", asked).concurrency == used


def test_a_judge_raises_with_every_criterion_that_has_no_answer() -> None:
    def say(request: ChatRequest) -> str:
        return HonestLlm("Ada").reply(request) if "is kind" in told(request) else "plain text"

    judge = Judge(SayingLlm(say), 2)
    with pytest.raises(IncompleteVerdict) as caught:
        asyncio.run(judge.check_relevance("Ada", ["names Ada", "is kind", "is short"]))
    assert [(result.criterion, result.passed, result.reason) for result in caught.value.results] == [
        ("is kind", True, "so it is")
    ]
    assert re.findall(r"'([\w ]+)': test/judge gave no usable reply", str(caught.value)) == ["names Ada", "is short"]


@pytest.mark.parametrize("result", [{}, {"result": ""}, {"result": None}])
def test_a_reason_without_a_result_is_a_failed_verdict(result: dict[str, Any]) -> None:
    llm = SayingLlm(lambda request: json.dumps({"nonce": nonce_in(request), "reason": "it names Bob", **result}))
    [found] = asyncio.run(Judge(llm).check_relevance("Hello Bob", ["names Ada"]))
    assert (found.passed, found.reason, len(llm.requests)) == (False, "it names Bob", 1)


@pytest.mark.parametrize("reply", [{"reason": ""}, {}, {"reason": "so", "verdict": "fail"}, {"result": "maybe"}])
def test_a_reply_without_a_reason_or_of_another_form_is_no_verdict(reply: dict[str, Any]) -> None:
    llm = SayingLlm(lambda request: json.dumps({"nonce": nonce_in(request), **reply}))
    with pytest.raises(IncompleteVerdict, match="gave no usable reply"):
        asyncio.run(Judge(llm).check_relevance("Hello Bob", ["names Ada"]))


@pytest.mark.parametrize("criteria", ["polite", ["is kind", ""], [1], None, 5, {"is kind"}, b"polite"])
def test_criteria_are_statements(criteria: Any) -> None:
    """A bare text would be sent letter by letter."""
    llm = HonestLlm("Ada")
    with pytest.raises(UsageError, match="a list of statements"):
        asyncio.run(Judge(llm).check_relevance("Ada", criteria))
    assert not llm.requests


@pytest.mark.parametrize("response", [None, 5, ["Ada"]])
def test_a_response_is_a_text(response: Any) -> None:
    llm = HonestLlm()
    with pytest.raises(UsageError, match="the response must be text"):
        asyncio.run(Judge(llm).check_relevance(response, ["is kind"]))
    assert not llm.requests


def test_a_judge_is_validated() -> None:
    asyncio.run(Judge(HonestLlm("Paris")).validate())
    with pytest.raises(UsageError, match="test/judge cannot be a judge"):
        asyncio.run(Judge(HonestLlm("London")).validate())
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        asyncio.run(Judge("openai/some-model").validate())


@pytest.mark.parametrize("concurrency", [2.7, None, "3"])
def test_a_concurrency_is_a_whole_number(concurrency: Any) -> None:
    with pytest.raises(UsageError, match="whole number"):
        Judge("openai/some-model", concurrency)


@pytest.mark.parametrize("model", [None, 3])
def test_a_judge_is_a_name_or_a_model(model: Any) -> None:
    with pytest.raises(UsageError, match="provider/model"):
        Judge(model)


def test_a_judge_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = (
        """replies: [{when: '"nonce": "(\\w+)"', object: {nonce: '{match:1}', reason: it says so, result: pass}}]"""
    )
    (tmp_path / "judge.yaml").write_text(script)
    monkeypatch.chdir(tmp_path)
    judge = Judge("scripted/judge.yaml")
    for _ in range(2):  # each time in its own event loop
        [result] = asyncio.run(judge.check_relevance("Hello", ["greets"]))
        assert (result.passed, result.reason) == (True, "it says so")


def test_run_names() -> None:
    names = [sessions.generate_run_name() for _ in range(100)]
    assert all(re.fullmatch(r"[a-z]+-[a-z]+-\d{3}", name) for name in names)
    assert len(set(names)) > 90


@pytest.mark.parametrize(
    ("patterns", "name", "is_kept"),
    [
        (["mytestsession"], "MyTestSession.json", True),
        (["TEST"], "test-session.json", True),
        (["auth*"], "auth-login.json", True),
        (["*.json"], "a.json", True),
        (["other"], "test-session.json", False),
        (["evals"], "test-session.json", False),
        ([], "test-session.json", False),
    ],
)
def test_only(patterns: list[str], name: str, is_kept: bool) -> None:
    """Texts and globs; in the original `*` matches nothing. The folder's own name says nothing about its sessions."""
    case = Case(id=Path(name).stem, input="x", metadata={"session": {"file": name}})
    assert any(matches_case(pattern, case, "evals") for pattern in patterns) is is_kept


def test_a_stream_with_unknown_events_is_read() -> None:
    stream = '{"type": "brand_new"}\n{"type": "agent_choice", "content": "Valid"}'
    assert load("transcript", "docker-agent")(stream).output == "Valid"


def test_a_session_is_rebuilt_with_an_id_and_a_time_of_its_own() -> None:
    one, two = (sessions.session_from_events([{"type": "agent_choice", "content": "Hi"}], "t", ["q"]) for _ in "ab")
    assert one.id != two.id
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", one.created_at)


def test_a_session_is_rebuilt_with_the_time_of_the_clock_that_is_passed() -> None:
    rebuilt = sessions.session_from_events([], "t", ["q"], clock=lambda: datetime(2031, 5, 4, 3, 2, 1, tzinfo=UTC))
    assert rebuilt.created_at == "2031-05-04T03:02:01Z"


def test_settings_reach_whatever_would_read_the_environment(
    evals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shell's variables are neither used nor redacted; those of the settings are."""
    monkeypatch.setenv("API_KEY", "of-the-shell")
    settings = Settings({"API_KEY": "of-the-settings", "PATH": os.environ["PATH"]})
    (evals.parent / "target.yaml").write_text("command: 'printf %s \"$API_KEY\"'\n")
    config = Config(agent_filename="target.yaml", evals_dir=str(evals), only=("talk",))
    run = Runner(config, ":memory:", settings).run()
    [result] = run.results
    assert result.response == "[redacted:API_KEY]"
    both = "of-the-shell of-the-settings"
    run = run.model_copy(update={"results": (result.model_copy(update={"response": both}),)})
    writers = (
        sessions.save_run_json,
        sessions.save_run_sessions_json,
        sessions.save_run_log,
        sessions.save_run_sessions,
    )
    saved = [write(run, tmp_path / "saved", settings=settings) for write in writers]
    session = Session.model_validate(asked(both))
    saved.append(sessions.save_session(session, "s", tmp_path / "saved", settings=settings))
    for path in saved:
        assert b"of-the-settings" not in path.read_bytes(), path
    assert b"of-the-shell" in saved[0].read_bytes() and b"of-the-shell" in saved[-1].read_bytes()


def test_a_judge_reads_the_environment_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALHARNESS_MODEL_DEADLINE", "soon")
    before, settled = Judge("openai/m"), sessions.new_judge("openai/m", settings=Settings({}))
    monkeypatch.delenv("EVALHARNESS_MODEL_DEADLINE")
    with pytest.raises(HarnessError, match="EVALHARNESS_MODEL_DEADLINE is 'soon'"):
        asyncio.run(before.validate())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-shell")
    with pytest.raises(HarnessError, match="OPENAI_API_KEY"):
        asyncio.run(settled.validate())
    assert "soon" not in repr(before)


def test_saving_a_session_never_replaces_another(tmp_path: Path) -> None:
    written = Session.model_validate(asked("hi", non_interactive=True))
    folder = tmp_path / "evals"
    saved = [sessions.save_session(written, name, folder) for name in ("name", "name", "", "name.json")]
    assert [path.name for path in saved] == ["name.json", "name_1.json", "1.json", "name_2.json"]
    text = saved[0].read_text(encoding="utf-8")
    assert json.loads(text)["evals"] == {"relevance": []}
    assert json.loads(text)["non_interactive"] is True
    assert '\n  "title"' in text


def test_criteria_that_are_there_stay_when_a_session_is_saved(tmp_path: Path) -> None:
    path = sessions.save(Session.model_validate(asked("hi", evals={"size": "S"})), "a", tmp_path)
    assert json.loads(path.read_text(encoding="utf-8"))["evals"] == {"relevance": [], "size": "S"}


@pytest.mark.parametrize("name", ["../a", "a/b", "..", "\0"])
def test_a_session_is_saved_in_its_folder_only(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be the name"):
        sessions.save_session(Session(id="1"), name, tmp_path)


def test_a_session_without_name_and_id_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        sessions.save_session(Session(), "", tmp_path)


def test_a_folder_is_evaluated(evals: Path) -> None:
    run = evaluated(evals)
    files, talk = run.results
    assert (files.title, files.question, files.response) == ("Files", "list them", "You said: list them.")
    assert (files.size, files.size_expected, files.tool_calls_score, files.tool_calls_expected) == ("S", "S", 1.0, 1.0)
    assert (files.input_path, files.error) == (str(evals / "files.json"), "")
    assert (talk.question, talk.response) == ("Hi\nBye", "You said: Hi.You said: Bye.")
    assert (talk.tool_calls_expected, talk.cost) == (0.0, 1.0)
    assert (talk.output_tokens, talk.last_message_output_tokens) == (2, 1), "in all, and of the last message"
    assert talk.session is not None
    assert [each.message.message.role for each in talk.session.messages if each.message] == [
        "user", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert "a_new_kind_of_event" in [event["type"] for event in talk.raw_output]
    assert (run.summary.total_evals, run.summary.failed_evals, run.summary.total_cost) == (2, 0, 1.5)
    assert "Total Cost: $1.500000" in sessions.summary_text(run)


def test_zero_workers_mean_as_many_as_there_are_cpus(evals: Path) -> None:
    """In the original there are none, so every eval is an empty result that passes."""
    run = evaluated(evals, concurrency=0)
    assert run.config.concurrency == os.cpu_count()
    assert all(result.response for result in run.results)


def test_repeats_come_round_by_round_with_their_number(evals: Path) -> None:
    assert [result.title for result in evaluated(evals, repeat=2).results] == [
        "Files #1",
        "Talk #1",
        "Files #2",
        "Talk #2",
    ]
    assert [result.title for result in evaluated(evals, repeat=0).results] == ["Files", "Talk"]


def test_what_breaks_is_a_result_with_an_error(evals: Path) -> None:
    (evals.parent / "target.yaml").write_text("command: 'echo no model >&2; exit 7'\nevents: docker-agent\n")
    run = evaluated(evals, only=("talk",))
    [result] = run.results
    assert "no model" in result.error
    assert (run.summary.failed_evals, result.session is not None) == (1, True)


def test_a_run_has_the_name_it_was_given(evals: Path) -> None:
    config = Config(agent_filename="oracle", evals_dir=str(evals))
    assert evaluate_sessions(config, "friday", store="store.db").name == "friday"
    assert Runner(config, store="store.db").run("saturday").name == "saturday"
    with pytest.raises(UsageError, match="there is a run named friday already"):
        evaluate_sessions(config, "friday", store="store.db")
    with pytest.raises(UsageError, match="'a/b' cannot be the name of a run"):
        evaluate_sessions(config, "a/b", store="store.db")


def test_an_error_after_the_answer_fails_the_eval(evals: Path) -> None:
    (evals.parent / "agent.py").write_text(AGENT + 'tell("error", error="out of quota")\n')
    run = evaluated(evals, only=("talk",))
    [result] = run.results
    assert (result.state, result.error) == ("failed", "out of quota")
    assert result.response == "You said: Hi.You said: Bye."
    assert run.summary.failed_evals == 1


def test_any_target_can_be_asked(evals: Path) -> None:
    (evals.parent / "mine.py").write_text("def answer(messages):\n    return messages[-1]['content'].upper()\n")
    [talk] = evaluated(evals, agent_filename="mine.py:answer", only=("talk",)).results
    assert talk.response == "BYE"
    assert talk.session is not None
    assert [each.message.message.content for each in talk.session.messages if each.message] == ["Hi", "Bye", "BYE"]


def test_the_oracle_passes_what_was_recorded(evals: Path) -> None:
    run = evaluated(evals, agent_filename="oracle", only=("files",))
    assert [(r.response, r.size, r.tool_calls_score, r.error) for r in run.results] == [("Done.", "S", 1.0, "")]


def test_a_session_with_an_image_is_skipped_and_says_why(evals: Path) -> None:
    save(evals, boxed=asked("hi", evals={"image": "debian"}))
    [result] = evaluated(evals, only=("boxed",)).results
    assert result.error == "skipped: needs containers"


def test_variables_reach_the_agent(evals: Path) -> None:
    (evals.parent / "target.yaml").write_text("command: 'printf %s \"$GREETING\"'\n")
    [result] = evaluated(evals, only=("talk",), env_vars=("GREETING=hello",)).results
    assert result.response == "hello"
    assert "GREETING" not in os.environ


def test_it_works_inside_a_running_loop(evals: Path) -> None:
    async def inside() -> int:
        return len(evaluated(evals).results)

    assert asyncio.run(inside()) == 2


def test_the_runner_reports_what_it_will_ask(evals: Path) -> None:
    found = Runner(Config(agent_filename="target.yaml", evals_dir=str(evals), repeat=2)).sessions()
    assert [(one.title, one.repeat_index) for one in found] == [
        ("Files #1", 1), ("Talk #1", 1), ("Files #2", 2), ("Talk #2", 2),
    ]  # fmt: skip
    assert found[0].source_path == str(evals / "files.json")
    assert "source_path" not in found[0].model_dump(mode="json")
    [once] = Runner(Config(evals_dir=str(evals), only=("TALK",))).sessions()
    assert (once.title, once.repeat_index) == ("Talk", 0)


def test_the_runner_runs(evals: Path) -> None:
    runner = Runner(Config(agent_filename="target.yaml", evals_dir=str(evals)), store=":memory:")
    assert [result.title for result in runner.run().results] == ["Files", "Talk"]


@pytest.mark.parametrize(
    ("config", "error", "words"),
    [
        ({"judge_model": "gpt"}, UsageError, "invalid judge model format"),
        ({"judge_model": "/gpt"}, UsageError, "invalid judge model format"),
        (
            {"base_image": "debian", "agent_filename": "gone.yaml"},
            UnknownName,
            "no agent file .*gone.yaml",
        ),
        ({"agent_filename": ""}, UsageError, "agent_filename is empty"),
        ({"only": ("nothing",)}, NothingSelected, "no case of evals"),
        ({"evals_dir": "gone"}, InvalidFile, "no such file or folder"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(
    config: dict[str, Any], error: type[Exception], words: str, evals: Path
) -> None:
    with pytest.raises(error, match=words):
        evaluate_sessions(Config(**{"agent_filename": "oracle", "evals_dir": str(evals), **config}), store=":memory:")


def test_bad_files_are_named_all_at_once(evals: Path) -> None:
    save(evals, bad="{", worse=asked("hi", evals={"sizes": "S"}))
    for ask in (evaluated, lambda folder: Runner(Config(evals_dir=str(folder))).sessions()):
        with pytest.raises(InvalidFile) as caught:
            ask(evals)
        assert {Path(problem.file).name for problem in caught.value.problems if problem.severity == "error"} == {
            "bad.json",
            "worse.json",
        }


def test_what_was_left_out_of_a_long_stream_is_in_its_session(evals: Path) -> None:
    agent = AGENT.replace('" ".join(sorted(os.listdir()))', '"x" * 1_000_000').replace(
        "sys.argv[1:]", "sys.argv[1:] * 3"
    )
    (evals.parent / "agent.py").write_text(agent)
    [result] = evaluated(evals, only=("files",)).results
    assert result.raw_output[-1]["type"] == "left_out_events"
    assert result.session is not None
    said = [each.message.message for each in result.session.messages if each.message]
    assert [len(message.tool_calls) for message in said if message.role == "assistant"] == [1, 0] * 3
    assert (result.session.cost, result.session.output_tokens) == (result.cost, result.output_tokens) == (1.5, 3)
    assert result.last_message_output_tokens == 0, "its end was not kept"


def test_a_stream_that_was_cut_is_not_judged(evals: Path) -> None:
    (evals.parent / "target.yaml").write_text(f"{TARGET}max_output_bytes: 1024\n")
    (evals.parent / "agent.py").write_text(AGENT.replace('"starting up"', '"starting up" * 1000'))
    [result] = evaluated(evals, only=("files",)).results
    assert "bytes of events, of which max_output_bytes keeps 1024 at each end" in result.error
