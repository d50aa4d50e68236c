"""Results of docker-agent as the baseline of a run of recorded sessions, with the real command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driving import Outcome, drive
from recorded import AGENT, TARGET, asked, item, save, session

NO_TOOLS = AGENT.replace('tell("tool_call"', 'tell("tool_called"')


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "target.yaml").write_text(TARGET)
    said = [{"type": "contains", "value": "list them"}, {"type": "regex", "value": "^You"}]
    save(
        tmp_path / "evals",
        files=asked("list them", "list_directory", title="Files", at=30, evals={"size": "S", "assertions": said}),
        talk=session(item("user", "Hi"), item("assistant", "Hello"), title="Talk", evals={"size": "S"}),
    )
    return tmp_path


def run(project: Path, *words: str) -> Outcome:
    return drive(project, "run", "evals", "--target", "target.yaml", *words)


def saved_document(project: Path) -> Any:
    done = run(project, "--save-sessions", "out")
    assert done.code == 0, done.both
    [path] = (project / "out").glob("*-sessions.json")
    return json.loads(path.read_text())


def bare(document: Any) -> list[Any]:
    """The oldest form: sessions without results."""
    return [{name: value for name, value in each.items() if name != "eval_result"} for each in document["sessions"]]


def write(project: Path, **forms: Any) -> None:
    for name, form in forms.items():
        (project / f"{name}.json").write_text(json.dumps(form))


def check_of(done: Outcome) -> str:
    [check] = done.report["gate"]["checks"]
    return str(check["text"]["text"])


def figures_of(done: Outcome) -> dict[str, tuple[float, float]]:
    return {each["name"]: (each["before"], each["now"]) for each in done.report["session_comparison"]["figures"]}


def test_they_are_compared_by_docker_agents_own_rule(project: Path) -> None:
    """In each form that it saves: with results, without summary, and as bare sessions."""
    saved = saved_document(project)
    write(project, whole=saved, listed=saved["sessions"], bare=bare(saved))
    same = run(project, "--baseline", "whole.json", "--json")
    assert (same.code, same.report["session_comparison"]["changes"]) == (0, []), same.both
    (project / "agent.py").write_text(NO_TOOLS)
    for name in ("whole", "listed", "bare"):
        worse = run(project, "--baseline", f"{name}.json", "--json")
        assert worse.code == 1, (name, worse.both)
        assert check_of(worse).endswith(
            "as docker-agent compares: tool calls 100.0 % → 0.0 %; files.json passed before"
        )
        assert worse.report["comparison"]["verdict"], "the paired comparison is beside it"
    again = drive(project, "gate", "latest", "--baseline", "whole.json")
    assert again.code == 1, again.both
    shown = drive(project, "show", "latest", "--json")
    (project / "report.json").write_text(shown.out)
    assert drive(project, "verify", "report.json").code == 0, "and can be verified"


def test_only_what_made_it_worse_is_given_as_the_reason(project: Path) -> None:
    saved = saved_document(project)
    write(project, before=saved)
    (project / "agent.py").write_text(NO_TOOLS)
    within = run(project, "--baseline", "before.json", "--regression-tolerance", "100%", "--json")
    assert within.code == 1, "an eval that is lost counts all the same"
    assert check_of(within) == f"worse than {saved['name']}, as docker-agent compares: files.json passed before"
    beyond = run(project, "--baseline", "before.json", "--regression-tolerance", "1", "--json")
    assert check_of(beyond) == (
        f"worse than {saved['name']} by more than 1 point, as docker-agent compares: tool calls 100.0 % → 0.0 %; "
        "files.json passed before"
    )


def test_assertions_are_checked_again_where_there_are_no_results(project: Path) -> None:
    saved = saved_document(project)
    write(project, bare=bare(saved))
    assert figures_of(run(project, "--baseline", "bare.json", "--json"))["assertions"] == (1.0, 1.0)
    (project / "agent.py").write_text(AGENT.replace("You said: ", "They said: "))
    worse = run(project, "--baseline", "bare.json", "--json")
    assert (worse.code, figures_of(worse)["assertions"]) == (1, (1.0, 0.5)), worse.both
    write(project, wordless=[{**each, "messages": each["messages"][:1]} for each in bare(saved)])
    assert figures_of(run(project, "--baseline", "wordless.json", "--json"))["assertions"] == (0.0, 0.5)


@pytest.mark.parametrize(
    "written",
    [
        [],
        {"sessions": []},
        {"name": "brave-otter-042", "sessions": None, "summary": {}},
        {"name": "brave-otter-042", "timestamp": "2026-01-05T10:00:00Z", "duration": 0, "results": []},
    ],
)
def test_a_result_without_evals_is_refused(project: Path, written: Any) -> None:
    write(project, before=written)
    refused = run(project, "--baseline", "before.json")
    assert refused.code == 2, refused.both
    assert "before.json is a docker-agent result with no evals\n  give results of these sessions" in refused.err


def test_a_result_of_other_sessions_is_refused_with_some_of_their_titles(project: Path) -> None:
    saved = saved_document(project)
    titles = ["One", "Two", "Three", "Four", "Five"]
    write(project, before=[{**saved["sessions"][0], "title": title, "input_id": "x"} for title in titles])
    refused = run(project, "--baseline", "before.json")
    assert refused.code == 2, refused.both
    assert "no result of a session of suite evals, only of 'One', 'Two', 'Three' and 2 more" in refused.err


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"passed": "yes"}, "eval_result.passed: must be true or false, not 'yes'"),
        ({"passed": True, "cost": "much"}, "eval_result.cost: must be a number, not 'much'"),
        ({"passed": True, "checks": {"size": "S"}}, "eval_result.checks.size: must be a mapping, not 'S'"),
    ],
)
def test_a_result_that_cannot_be_read_is_refused_with_its_field(project: Path, wrong: Any, said: str) -> None:
    saved = saved_document(project)
    write(project, before=[{**each, "eval_result": wrong} for each in saved["sessions"]])
    refused = run(project, "--baseline", "before.json")
    assert refused.code == 2, refused.both
    assert f"before.json: session 'Files': {said}" in refused.err
