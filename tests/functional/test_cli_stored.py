"""The commands for stored runs: listing, showing and pruning them."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
from driving import drive, write

SMALL = "target: oracle\ntest_cases: [{id: a, name: The First, input: hi, expected: hello}]\n"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder with three runs, oldest first."""
    folder = tmp_path_factory.mktemp("stored")
    write(folder, suite_yaml=SMALL, pyproject_toml="", broken_yaml="test_cases: 5", notes_yaml="a: 1")
    names = []
    for target in ("oracle", "null", "echo"):
        done = drive(folder, "run", "suite.yaml", "--target", target, "--json")
        names.append(done.run_name)
    return folder, names


def test_listing_suites_and_runs(stored: tuple[Path, list[str]]) -> None:
    folder, names = stored
    suites = drive(folder, "list-suites", "--json").json["suites"]
    assert [(row["suite"], row["cases"], row["file"]) for row in suites if row["where"] == "file"] == [
        ("(broken)", None, "broken.yaml"),
        ("suite", 1, "suite.yaml"),
    ]
    listed = drive(folder, "list-suites")
    assert re.search(r"^  suite +1 case +suite.yaml +oracle$", listed.out, re.M)
    assert "\n✗ (broken) " in f"\n{listed.out}"
    assert "eval-harness validate" in listed.err
    assert drive(folder, "list-suites", "nowhere").code == 2

    rows = drive(folder, "runs", "--json").json["runs"]
    assert [row["run_name"] for row in rows] == names[::-1], "newest first"
    assert [row["states"] for row in rows] == [{"failed": 1}, {"failed": 1}, {"passed": 1}]
    assert drive(folder, "runs", "--limit", "1").out.splitlines()[1:] == ["2 more; list them all: --limit 3"]


def test_showing_a_run_and_a_case(stored: tuple[Path, list[str]]) -> None:
    folder, (good, bad, _) = stored
    whole = drive(folder, "show", bad)
    assert whole.code == 0
    assert re.search(r"^✗ a   exact\n      - hello\n      \+ \(empty\)$", whole.out, re.M)
    assert "FAILED   1 failed " in whole.out
    assert re.search(rf"^look +eval-harness show {bad} a$", whole.out, re.M)

    run_id = drive(folder, "show", good, "--json").report["metadata"]["run_id"]
    by_id, by_name = drive(folder, "show", run_id, "a"), drive(folder, "show", good, "The First")
    assert by_id.out == by_name.out
    for text in ("case a", "The First", "asked: hi", "answer: hello", "trial 1: passed", "exact: pass 1.00"):
        assert text in by_id.out
    data = drive(folder, "show", good, "a", "--json").json
    assert data["trials"][0]["trial"]["attempts"][0]["transcript"]["output"] == "hello"

    wrong_run = drive(folder, "show", good[:-1] + "x")
    assert (wrong_run.code, f"Did you mean '{good}'?" in wrong_run.err) == (2, True)
    wrong_case = drive(folder, "show", good, "A")
    assert (wrong_case.code, "Did you mean 'a'?" in wrong_case.err) == (2, True)


def test_tidying_up(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SMALL, pyproject_toml="")
    names = [drive(tmp_path, "run", "--json").run_name for _ in range(3)]
    with sqlite3.connect(tmp_path / ".evalharness" / "store.db") as store:
        store.execute("UPDATE runs SET created_at = '2020-01-01T00:00:00Z' WHERE name = ?", (names[0],))
    store.close()

    assert f"removed {names[1]}" in drive(tmp_path, "runs", "rm", names[1]).out
    again = drive(tmp_path, "runs", "rm", names[1])
    assert (again.code, "unknown run" in again.err) == (2, True)
    assert "1 run would be removed" in drive(tmp_path, "store", "prune", "--older-than", "30d", "--dry-run").out
    pruned = drive(tmp_path, "store", "prune", "--older-than", "30d")
    assert f"removed {names[0]}" in pruned.out
    assert [row["run_name"] for row in drive(tmp_path, "runs", "--json").json["runs"]] == [names[2]]
    for age in ("soon", "800000d", "999999w"):
        wrong = drive(tmp_path, "store", "prune", "--older-than", age)
        assert (wrong.code, "30d" in wrong.err) == (2, True), age
    assert "0 runs" in drive(tmp_path, "store", "prune", "--older-than", "600000d").out
    assert len(drive(tmp_path, "runs", "--json").json["runs"]) == 1, "the year 384 was long ago"
