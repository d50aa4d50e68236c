"""Suites found by name: registered by running or listing them, ready-made suites, and suites whose files have moved."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from driving import Outcome, drive, write

from evalharness import Case, Suite, UsageError, evaluate

SUITE = """
name: greetings
target: agent.py:answer
test_cases:
  - {id: hello, input: hi, expected: hello}
  - {id: bye, input: so long, expected: bye}
"""
AGENT = "def answer(text):\n    return {'hi': 'hello', 'so long': 'bye'}.get(text, '?')\n"
CATEGORIES = (
    "bug_fix",
    "code_generation",
    "code_review",
    "file_operation",
    "refactoring",
    "search_retrieval",
    "shell_command",
    "tool_use_sequence",
)
READY_MADE = [f"ready/{category.replace('_', '-')}" for category in CATEGORIES]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(tmp_path, pyproject_toml="")
    return write(tmp_path / "evals", suite_yaml=SUITE, agent_py=AGENT).parent


def listed(folder: Path, *words: str, where: str = "registered") -> list[dict[str, Any]]:
    return [row for row in drive(folder, "list-suites", *words, "--json").json["suites"] if row["where"] == where]


def cases_run(done: Outcome) -> list[str]:
    assert done.code == 0, done.both
    return list(done.states())


def test_descriptions_are_listed(project: Path) -> None:
    write(project / "evals", described_yaml=SUITE.replace("greetings", "described") + "description: Says\n  hello\n")
    write(project / "evals", **{".hidden_yaml": SUITE})
    drive(project, "list-suites", "--register")
    (project / "elsewhere").mkdir()
    for folder, where in ((project / "evals", "file"), (project / "elsewhere", "registered")):
        rows = {row["suite"]: row["description"] for row in listed(folder, where=where)}
        assert rows == {"described": "Says hello", "greetings": ""}
    text = drive(project, "list-suites").out
    assert re.search(r"^  described .* Says hello$", text, re.M)
    assert re.search(r"^  ready/bug-fix .* Code with one mistake", text, re.M)


def test_a_suite_that_was_run_is_found_by_its_name_from_another_folder(project: Path) -> None:
    assert cases_run(drive(project, "run", "evals/suite.yaml", "--only", "hello", "--json")) == ["hello"]
    elsewhere = project / "notes"
    elsewhere.mkdir()
    [row] = listed(elsewhere)
    assert (row["suite"], row["cases"], row["file"]) == ("greetings", 2, str(project / "evals" / "suite.yaml"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]+Z", row["registered"])
    assert cases_run(drive(elsewhere, "run", "greetings", "--json")) == ["bye", "hello"], "the whole suite"
    assert cases_run(drive(elsewhere, "run", "--suite", "greetings", "--limit", "1", "--json")) == ["hello"]
    dry = drive(elsewhere, "run", "greetings", "--dry-run", "--json").json["dry_run"]
    assert [(row["suite"], row["cases"]) for row in dry] == [("greetings", 2)]


def test_listing_registers_when_asked_and_only_then(project: Path) -> None:
    write(project, broken_yaml="test_cases: 5")
    assert listed(project, "evals", where="file")[0]["registered"] == ""
    assert listed(project / "evals") == []
    assert not (project / ".evalharness").exists(), "listing leaves nothing behind"
    done = drive(project, "list-suites", ".", "--register")
    assert done.code == 2, "not all of them could be registered"
    assert "registered 1 suite: greetings\n" in done.err
    assert "some are broken and not registered" in done.err
    assert re.search(r"^✗ \(broken\) +broken.yaml$", done.out, re.M)
    assert re.search(r"^  greetings +2 cases +evals/suite.yaml +agent.py:answer$", done.out, re.M)
    assert "eval-harness validate ." in done.err
    other = project / "other"
    other.mkdir()
    assert [row["suite"] for row in listed(other)] == ["greetings"]
    assert cases_run(drive(other, "run", "greetings", "--json")) == ["bye", "hello"]


def test_a_name_that_two_suites_have_is_reported(project: Path) -> None:
    write(project / "evals", a_yaml=SUITE, ready_yaml=SUITE.replace("greetings", "ready/bug-fix"))
    done = drive(project, "list-suites", "evals", "--register")
    assert done.code == 0
    assert done.err.splitlines() == [
        "evals/a.yaml: warning: the suite 'greetings' is also in evals/suite.yaml and is registered from there",
        "evals/ready.yaml: warning: 'ready/bug-fix' is also the name of a ready-made suite, "
        "which cannot be run while this one is registered",
        "registered 2 suites: greetings, ready/bug-fix",
    ]
    rows = {row["file"]: row["registered"] != "" for row in listed(project, "evals", where="file")}
    assert rows == {"evals/a.yaml": False, "evals/ready.yaml": True, "evals/suite.yaml": True}
    again = drive(project, "list-suites", "evals", "--register", "--json")
    assert again.json["registered"] == ["greetings", "ready/bug-fix"]
    assert again.err.count("warning") == 2
    own = drive(project, "run", "ready/bug-fix", "--json")
    assert cases_run(own) == ["bye", "hello"]
    assert "ready/bug-fix: warning: 'ready/bug-fix' is also the name of a ready-made suite" in own.err


def test_the_file_counts_as_it_is_now_and_once_it_is_gone_what_was_stored(project: Path) -> None:
    drive(project, "list-suites", "--register")
    file = project / "evals" / "suite.yaml"
    file.write_text(SUITE + "  - {id: third, input: hi, expected: hello}\n")
    now = drive(project, "run", "greetings", "--json")
    assert (cases_run(now), now.err) == (["bye", "hello", "third"], "")

    for text, why in ((SUITE.replace("input", "inptu"), "no longer contains"), ("name: x\n" + SUITE[17:], "no longer")):
        file.write_text(text)
        then = drive(project, "run", "greetings", "--json")
        assert cases_run(then) == ["bye", "hello", "third"]
        assert f"evals/suite.yaml: warning: {why}" in then.err
    file.unlink()
    gone = drive(project, "run", "greetings", "--json")
    assert cases_run(gone) == ["bye", "hello", "third"], "agent.py is still found in the suite's former folder"
    assert "was removed" in gone.err
    file.write_text(SUITE)
    assert cases_run(drive(project, "run", "greetings", "--json")) == ["bye", "hello"], "the file is back"


def test_a_value_that_was_too_secret_to_store_is_asked_for(project: Path) -> None:
    secret = "vars: {api_key: hunter2-hunter2}\ntarget: echo\ntest_cases: [{id: a, input: '{{api_key}}', graders: []}]"
    write(project, secret_yaml=secret)
    assert drive(project, "list-suites", "--register").code == 0
    assert b"hunter2" not in (project / ".evalharness" / "store.db").read_bytes()
    (project / "secret.yaml").unlink()
    done = drive(project, "run", "secret")
    assert (done.code, "--var api_key=…" in done.err) == (2, True)
    assert drive(project, "run", "secret", "--var", "api_key=another-value").code == 0


def test_an_unknown_name_gets_a_guess(project: Path) -> None:
    drive(project, "list-suites", "--register")
    for name, meant in (
        ("greeting", "greetings"),
        ("ready/bug-fixes", "ready/bug-fix"),
        ("evals/sute.yaml", "evals/suite.yaml"),
    ):
        done = drive(project, "run", name, "greetings")
        assert done.code == 2
        assert done.err.splitlines()[0].startswith(f"error: {name}: no such file or folder, and no suite of this name")
        assert done.err.splitlines()[0].endswith(f"did you mean '{meant}'?")
    nothing = drive(project, "run", "zzz", "--json")
    assert (nothing.code, nothing.json["error"]["problems"][0]["suggestion"]) == (2, "")
    assert drive(project, "runs", "--json").json == {"runs": []}


def test_a_path_comes_before_a_name(project: Path) -> None:
    drive(project, "list-suites", "--register")
    write(project / "greetings", own_yaml="target: oracle\ntest_cases: [{id: own, input: a, expected: b}]")
    assert cases_run(drive(project, "run", "greetings", "--json")) == ["own"]


class TestPython:
    def test_a_suite_built_in_python_is_registered_and_found(self, tmp_path: Path) -> None:
        store = str(tmp_path / "store.db")
        suite = Suite(name="made/here", cases=(Case(id="a", input="x", expected="x"),))
        assert evaluate(suite, lambda text: text, store=store).passed
        assert evaluate("made/here", "echo", store=store).passed
        assert evaluate("ready/code-review", "null", store=store).pass_rate == 0
        [row] = [row for row in listed(tmp_path, "--store", store) if row["suite"] == "made/here"]
        assert row["file"] == ""
        with pytest.raises(UsageError, match="did you mean 'made/here'"):
            evaluate("made/her", "echo", store=store)

    def test_what_only_its_program_has_is_reported_in_words(self, tmp_path: Path) -> None:
        store = str(tmp_path / "store.db")
        suite = Suite(name="own", cases=(Case(id="a", input="x", graders=[bool]),))
        evaluate(suite, "echo", store=store)
        done = drive(tmp_path, "run", "own", "--target", "echo", "--store", "store.db")
        assert done.code in (2, 3)
        assert "only in the program that created it" in done.err


class TestReadyMade:
    def test_there_is_one_suite_for_each_category(self, tmp_path: Path) -> None:
        rows = listed(tmp_path, where="ready-made")
        assert [(row["suite"], row["category"], row["cases"]) for row in rows] == [
            (name, category, 3) for name, category in zip(READY_MADE, CATEGORIES, strict=True)
        ]

    def test_each_can_be_passed_but_not_by_a_target_that_does_nothing(self, tmp_path: Path) -> None:
        targets = [word for name in ("oracle", "null", "echo") for word in ("--target", name)]
        done = drive(tmp_path, "run", *READY_MADE, *targets, "--json")
        assert done.err == "", "they load without a warning"
        found = {}
        for report in done.json["eval_reports"]:
            name, on = report["metadata"]["suite_name"], report["metadata"]["variant"]
            found[name, on] = report["summary"]["passed"], report["summary"]["total_evals"]
            assert report["summary"]["skipped"] == report["summary"]["errors"] == 0, (name, on)
        passed = {"oracle": 3, "null": 0, "echo": 0}
        assert found == {(name, on): (number, 3) for name in READY_MADE for on, number in passed.items()}

    def test_running_one_does_not_register_it(self, tmp_path: Path) -> None:
        write(tmp_path, pyproject_toml="")
        assert drive(tmp_path, "run", READY_MADE[0], "--target", "null").code == 1
        assert listed(tmp_path) == []


def test_a_store_that_does_not_exist_yet_is_no_obstacle_to_a_name(tmp_path: Path) -> None:
    done = drive(tmp_path, "run", "ready/bug-fix", "--target", "null", "--store", "new.db")
    assert done.code == 1, done.both
    assert (tmp_path / "new.db").exists()
    shutil.rmtree(tmp_path / ".evalharness", ignore_errors=True)
    memory = drive(tmp_path, "run", "ready/bug-fix", "--target", "null", "--store", ":memory:")
    assert memory.code == 1
    assert not (tmp_path / ".evalharness").exists()
