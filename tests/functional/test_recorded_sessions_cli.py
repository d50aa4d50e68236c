"""Recorded sessions with the real command: an agent that prints events, files for other tools, a real sandbox."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from driving import Outcome, drive
from missing_parts import missing
from recorded import AGENT, TARGET, asked, item, save, session

JUDGE = """replies: [{when: '"nonce": "(\\w+)"', object: {nonce: '{match:1}', reason: it says so, result: pass}}]"""
COUNTING = """
count_file = pathlib.Path(__file__).with_name("count")
count = 0
if "list" in sys.argv[1]:
    count = len(count_file.read_text()) + 1 if count_file.exists() else 1
    count_file.write_text("x" * count)
if count == 2:
    tell("tool_call", tool_call=CALL, tool_definition={"name": "list_directory"})
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "target.yaml").write_text(TARGET)
    evals = save(
        tmp_path / "evals",
        files=asked("list them", "list_directory", title="Files", at=30, evals={"size": "S", "working_dir": "two"}),
        talk=session(item("user", "Hi"), item("assistant", "Hello"), item("user", "Bye"), title="Talk"),
    )
    folder = evals / "working_dirs" / "two"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    (folder / "b.txt").write_text("b")
    return tmp_path


@pytest.fixture
def bubblewrap() -> None:
    if shutil.which("bwrap") is None:
        missing("bubblewrap", "install the package bubblewrap")


def run(project: Path, *words: str) -> Outcome:
    return drive(project, "run", "evals", "--target", "target.yaml", *words)


def saved_document(folder: Path) -> Any:
    [document] = folder.glob("*-sessions.json")
    return json.loads(document.read_text())


def rows(path: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def test_sessions_are_asked_again_and_what_came_of_it_is_kept(project: Path) -> None:
    done = run(project, "--save-sessions", "out", "--repeat", "2")
    assert done.code == 0, done.both
    saved = {path.suffix: path for path in (project / "out").iterdir() if not path.stem.endswith("-sessions")}
    name = saved[".db"].stem
    assert sorted(path.name for path in (project / "out").iterdir()) == sorted(
        [f"{name}.db", f"{name}.json", f"{name}-sessions.json", f"{name}.log"]
    )
    assert f"   {name}\n" in done.out
    assert done.out.splitlines()[-4:] == [
        f"Sessions DB: out/{name}.db",
        f"Sessions JSON: out/{name}-sessions.json",
        f"Results JSON: out/{name}.json",
        f"Log: out/{name}.log",
    ]
    titles = ["Files #1", "Talk #1", "Files #2", "Talk #2"]
    assert [row["title"] for row in json.loads(saved[".json"].read_text())["results"]] == titles
    assert rows(saved[".db"], "SELECT title, input_tokens, output_tokens, cost FROM sessions ORDER BY title") == [
        ("Files #1", 10, 1, 0.5),
        ("Files #2", 10, 1, 0.5),
        ("Talk #1", 20, 2, 1.0),
        ("Talk #2", 20, 2, 1.0),
    ]
    conversation = rows(
        saved[".db"],
        "SELECT json_extract(message_json, '$.role'), json_extract(message_json, '$.content') FROM session_items i "
        "JOIN sessions s ON s.id = i.session_id WHERE s.title = 'Files #1' ORDER BY position",
    )
    assert conversation == [
        ("user", "list them"),
        ("assistant", ""),
        ("tool", "a.txt b.txt"),
        ("assistant", "You said: list them."),
    ]
    assert "Agent: target.yaml\n" in saved[".log"].read_text()
    assert "✓ Files #1 ($0.500000)\n  ✓ size S\n  ✓ tool calls\n" in saved[".log"].read_text()


@pytest.mark.parametrize("name", ["agents/fast.yml", "./target.yaml", "oracle"])
def test_the_agent_is_reported_as_the_user_named_it(project: Path, name: str) -> None:
    (project / "agents").mkdir()
    (project / "agents" / "fast.yml").write_text(f"name: speedy\n{TARGET.replace('agent.py', '../agent.py')}")
    assert drive(project, "run", "evals", "--target", name, "--save-sessions", "out").code == 0
    [document] = (project / "out").glob("*-sessions.json")
    assert json.loads(document.read_text())["config"]["agent"] == name


def test_a_run_that_is_shown_or_graded_again_can_be_saved_then(project: Path) -> None:
    name = run(project, "--json").run_name
    assert drive(project, "resume", name, "--save-sessions", "resumed").code == 0
    assert drive(project, "regrade", name, "--save-sessions", "regraded").code == 0
    for folder in ("resumed", "regraded"):
        [document] = (project / folder).glob("*-sessions.json")
        assert [one["title"] for one in json.loads(document.read_text())["sessions"]] == ["Files", "Talk"]


def test_a_run_that_is_resumed_is_saved_where_it_was_to_be(project: Path) -> None:
    line = "raise ConnectionError('down')"
    (project / "down.py").write_text(
        f"import os\ndef answer(_):\n    if not os.path.exists('up'): {line}\n    return 'hi'\n"
    )
    done = drive(project, "run", "evals", "--target", "down.py:answer", "--save-sessions", "out")
    assert (done.code, saved_document(project / "out")["summary"]["failed_evals"]) == (3, 2), done.both
    (project / "up").touch()
    resumed = drive(project, "resume", "latest", "-q")
    assert "Log: out/" in resumed.out, resumed.both
    assert saved_document(project / "out")["summary"]["failed_evals"] == 0


def test_results_above_folders_of_sessions_are_not_asked(project: Path) -> None:
    (project / "evals").rename(project / "group")
    (project / "evals").mkdir()
    (project / "group").rename(project / "evals" / "group")
    for _ in range(2):
        words = ("--format", "recorded-sessions", "--target", "oracle", "--save-sessions", "evals/results")
        done = drive(project, "run", "evals", *words)
        assert done.code == 0, done.both


def test_the_saved_files_name_the_judge(project: Path) -> None:
    (project / "judge.yaml").write_text(JUDGE)
    save(project / "evals", files=asked("list them", "list_directory", evals={"relevance": ["It lists two files"]}))
    judged = ("--judge-model", "scripted/judge.yaml", "--store", "store.db", "--save-sessions")
    name = run(project, "--json", "--store", "store.db", "--save-sessions", "open").run_name
    assert "judge_model" not in saved_document(project / "open")["config"]
    assert drive(project, "regrade", name, *judged, "regraded").code == 0
    assert run(project, *judged, "judged").code == 0
    for folder in ("regraded", "judged"):
        assert saved_document(project / folder)["config"]["judge_model"] == "scripted/judge.yaml"
        [log] = (project / folder).glob("*.log")
        assert "Judge model: scripted/judge.yaml\n" in log.read_text()


def test_verdicts_stay_where_the_judge_gives_none_on_another_criterion(project: Path) -> None:
    (project / "judge.yaml").write_text(JUDGE.replace("[", "[{when: It is BLUE, text: no idea}, ", 1))
    criteria = {"relevance": ["It lists two files", "It is BLUE"]}
    save(project / "evals", files=asked("list them", "list_directory", title="Files", evals=criteria))
    done = run(project, "--only", "files", "--judge-model", "scripted/judge.yaml", "--save-sessions", "out")
    assert done.code == 3, done.both
    [result] = json.loads(next((project / "out").glob("*[0-9].json")).read_text())["results"]
    assert "the judge gave no verdict on 'It is BLUE'" in result["error"]
    assert result["relevance_results"] == [{"criterion": "It lists two files", "passed": True, "reason": "it says so"}]


@pytest.mark.parametrize("saving", [True, False])
def test_repeats_are_diagnosed_on_the_screen_and_in_every_file(project: Path, saving: bool) -> None:
    """The second answer of `files` lists twice; the fourth costs ten times as much."""
    unreliable = AGENT.replace("import json, os, sys", "import json, os, sys, pathlib").replace(
        "\nfor number", f"{COUNTING}for number"
    )
    (project / "agent.py").write_text(unreliable.replace('"cost": 0.5', '"cost": (5.0 if count == 4 else 0.5)'))
    done = run(project, "--repeat", "5", "-j", "1", *(["--save-sessions", "out"] if saving else []))
    assert done.code == 1, done.both
    diagnosed = """
✅         pass@5: 2/2 evals passed at least once (100.0%)
❌         pass^5: 1/2 evals passed every time (50.0%)

Repeats: 1 flaky, 1 stable
  ~ Files (files.json): 4/5 passed, cost median $0.50 (range $0.50–$5.00)
      ✗ Files #2: tool calls score 0.67
      $ Files #4: $5.00, 10.0 × the median
"""
    log = "the log" if saving else "the log that --save-sessions writes"
    shown = f"{diagnosed}  … and 1 more eval ({log} has all)\n"
    assert f"{shown}\nSessions DB: out/" in done.out if saving else done.out.endswith(shown)
    if not saving:
        return
    [path] = (project / "out").glob("*.log")
    assert f"{diagnosed}  ✓ Talk (talk.json): 5/5 passed, cost median $1.0" in path.read_text()
    repeats = saved_document(project / "out")["summary"]["repeats"]
    assert (repeats["k"], repeats["pass_at_k"], repeats["pass_hat_k"]) == (5, 1.0, 0.5)
    assert repeats["evals"][0]["reasons"] == {"Files #2": ["tool calls score 0.67"]}
    assert repeats["evals"][0]["cost"]["outliers"] == [{"title": "Files #4", "cost": 5.0, "ratio": 10.0}]


def test_a_run_is_called_as_its_user_wants(project: Path) -> None:
    done = run(project, "--run-name", "nightly-7", "--save-sessions", "out", "--json")
    assert (done.code, done.run_name) == (0, "nightly-7")
    assert (project / "out" / "nightly-7.db").exists()
    assert drive(project, "show", "nightly-7").code == 0
    again = run(project, "--run-name", "nightly-7")
    assert (again.code, "there is a run named nightly-7 already" in again.err) == (2, True)


@pytest.mark.parametrize("name", ["latest", "a/b", "-1", "report.json", "eval-20260105-100000-00ff", "x" * 61, "a b"])
def test_an_unfit_name_of_a_run_is_refused_before_anything_is_run(project: Path, name: str) -> None:
    done = run(project, f"--run-name={name}")
    assert (done.code, "name of a run" in done.err) == (2, True)
    assert drive(project, "runs", "--json").json == {"runs": []}


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_of_a_run_is_refused(project: Path, name: str) -> None:
    done = run(project, "--run-name", name)
    assert (done.code, "--run-name: is empty; give a name, or leave the flag out" in done.err) == (2, True)


def test_only_a_single_run_can_be_named(project: Path) -> None:
    done = run(project, "--target", "oracle", "--run-name", "both")
    assert (done.code, "2 runs cannot all be named both" in done.err) == (2, True)


def test_an_agent_that_calls_other_tools_fails(project: Path) -> None:
    save(project / "evals", files=asked("list them", "list_directory", "read_file", title="Files"))
    done = run(project, "--only", "files.json", "--save-sessions", "out", "--json")
    assert done.code == 1
    assert done.report["failures"][0]["reason"] == "tool_calls_f1: tool calls score 0.67; called: list_directory"
    assert "Log: out/" in done.err
    [document] = (project / "out").glob("*-sessions.json")
    [saved] = json.loads(document.read_text())["sessions"]
    assert saved["eval_result"]["failures"] == ["tool calls score 0.67"]


@pytest.mark.parametrize(
    ("pattern", "asked_about"), [("TAL", ["talk"]), ("f*", ["files"]), ("*.json", ["files", "talk"])]
)
def test_only_takes_texts_and_globs_of_file_names(project: Path, pattern: str, asked_about: list[str]) -> None:
    assert sorted(run(project, "--only", pattern, "--json").states()) == asked_about


def test_criteria_without_a_judge_leave_the_run_undecided(project: Path) -> None:
    save(project / "evals", files=asked("list them", "list_directory", evals={"relevance": ["It lists two files"]}))
    done = run(project, "--json")
    assert (done.code, done.report["verdict"]) == (4, "UNDECIDED")
    assert done.states() == {"files": ["awaiting"], "talk": ["passed"]}


def test_a_session_that_needs_an_image_is_skipped(project: Path) -> None:
    save(project / "evals", talk=asked("hi", evals={"image": "debian"}))
    done = run(project, "--json", "--verbose")
    assert done.states() == {"files": ["passed"], "talk": ["skipped"]}
    assert [trial["reason"] for trial in done.report["trials"]] == ["", "needs containers"]


@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_the_setup_is_run_before_the_agent(project: Path, sandbox: str, request: pytest.FixtureRequest) -> None:
    if sandbox == "bubblewrap":
        request.getfixturevalue("bubblewrap")
    evals = {"working_dir": "two", "setup": "cp a.txt c.txt && rm b.txt"}
    save(project / "evals", files=asked("list them", "list_directory", evals=evals))
    done = run(project, "--only", "files", "--sandbox", sandbox, "--save-sessions", "out")
    assert done.code == 0, done.both
    [database] = (project / "out").glob("*.db")
    [(listed,)] = rows(database, "SELECT json_extract(message_json, '$.content') FROM session_items WHERE position = 2")
    assert listed == "a.txt c.txt"


def test_the_setup_cannot_reach_out_of_its_sandbox(project: Path, bubblewrap: None) -> None:
    save(project / "evals", files=asked("list them", evals={"setup": f"echo gone > {project}/escaped"}))
    done = run(project, "--only", "files", "--json")
    assert done.states() == {"files": ["error"]}
    assert done.report["trials"][0]["reason"].startswith("the setup failed: exit code ")
    assert not (project / "escaped").exists()


def test_a_failing_setup_is_an_error_and_is_among_what_is_saved(project: Path) -> None:
    save(project / "evals", files=asked("list them", title="Files", evals={"setup": "echo no disk >&2; exit 4"}))
    done = run(project, "--only", "files", "--sandbox", "none", "--save-sessions", "out")
    assert done.code == 3
    [document] = (project / "out").glob("*-sessions.json")
    [saved] = json.loads(document.read_text())["sessions"]
    assert saved["eval_result"]["error"] == "the setup failed: exit code 4: no disk"
    assert saved["eval_result"]["failures"] == ["the setup failed: exit code 4: no disk"]
    [database] = (project / "out").glob("*.db")
    assert rows(database, "SELECT title, error FROM eval_results") == [
        ("Files", "the setup failed: exit code 4: no disk")
    ]


def test_the_oracle_answers_as_recorded(project: Path) -> None:
    done = drive(project, "run", "evals", "--target", "oracle", "--json")
    assert done.states() == {"files": ["passed"], "talk": ["passed"]}


def test_every_broken_file_is_named(project: Path) -> None:
    save(project / "evals", bad="{", worse=asked("hi", evals={"siez": "S"}))
    done = drive(project, "validate", "evals")
    assert done.code == 2
    assert "evals/bad.json:1: " in done.err
    assert "evals/worse.json:1: evals.siez: unknown key 'siez'" in done.err
    assert "did you mean 'size'?" in done.err


def test_a_folder_of_sessions_is_listed_and_found_from_above(project: Path) -> None:
    assert "! evals   recorded-sessions suite 'evals', 2 cases" in drive(project, "validate", ".").out
    assert "evals" in drive(project, "list-suites", ".").out


def test_a_registered_folder_is_run_by_its_name(project: Path) -> None:
    assert drive(project, "run", "evals", "--target", "oracle", "--store", "store.db").code == 0
    (project / "elsewhere").mkdir()
    done = drive(project / "elsewhere", "run", "evals", "--target", "oracle", "--store", "../store.db", "--json")
    assert done.states() == {"files": ["passed"], "talk": ["passed"]}


def test_a_stored_run_is_graded_again_by_changed_sessions(project: Path) -> None:
    name = run(project, "--store", "store.db", "--json").run_name
    save(project / "evals", files=asked("list them", "read_file", title="Files", evals={"working_dir": "two"}))
    done = drive(project, "regrade", name, "--suite", "evals", "--store", "store.db", "--json")
    assert (done.code, done.states()["files"]) == (1, ["failed"])


def test_sessions_of_other_suites_can_be_saved_too(project: Path) -> None:
    (project / "suite.yaml").write_text(
        "target: echo\ntest_cases:\n  - {id: a, input: hello, expected: {size_class: S}}\n"
        "  - {id: b, input: hello, graders: [{contains: hell}, {exact: bye}]}\n"
    )
    assert drive(project, "run", "suite.yaml", "--save-sessions", "out").code == 1
    [database] = (project / "out").glob("*.db")
    assert rows(database, "SELECT title, passed FROM eval_results") == [("a", 1), ("b", 0)]
    [log] = (project / "out").glob("*.log")
    assert "✗ b ($0.000000)\n  ✗ assertion: exact (reason: " in log.read_text()


def test_a_folder_that_cannot_be_written_is_reported(project: Path) -> None:
    (project / "out").write_text("")
    done = run(project, "--save-sessions", "out", "--json")
    assert (done.code, "cannot make the folder out" in done.json["error"]["message"]) == (2, True)
