"""How runs are named on the command line: id, name, latest and -N, baselines, files."""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import drive, succeed, write
from worse_agent import AGENT, SUITE, run

OTHER = "name: rivers\ntarget: echo\ntest_cases: [{id: nile, input: Nile, expected: Nile}]\n"


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str, str]:
    """Two runs of one suite, then one of another, then a regrade, which does not count. Tests must not add runs."""
    folder = write(
        tmp_path_factory.mktemp("three"), agent_py=AGENT, suite_yaml=SUITE, other_yaml=OTHER, pyproject_toml=""
    )
    good, bad = run(folder, "good"), run(folder, "bad")
    newest = drive(folder, "run", "other.yaml", "--json").run_name
    succeed(folder, "regrade", bad, code=1)
    succeed(folder, "baseline", good, "--name", "release")
    return folder, good, bad, newest


def shown(folder: Path, reference: str) -> str:
    return succeed(folder, "show", reference, "--json").run_name


def test_latest_and_minus_n_count_back_from_the_newest_run(three: tuple[Path, str, str, str]) -> None:
    folder, good, bad, newest = three
    assert [shown(folder, name) for name in ("latest", "-1", "-2", "-3")] == [newest, newest, bad, good]
    assert [shown(folder, name) for name in ("latest:capitals", "latest:rivers")] == [bad, newest]
    assert shown(folder, "release") == good, "a baseline is a run, too"


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("-4", "there is no run -4"),
        ("-0", "-1 is the newest run"),
        ("latest:capitls", "Did you mean 'capitals'?"),
        ("lates", "unknown run or case 'lates'"),
    ],
)
def test_what_names_no_run_is_refused(three: tuple[Path, str, str, str], reference: str, said: str) -> None:
    refused = drive(three[0], "show", reference)
    assert (refused.code, said in refused.err) == (2, True), refused.err


def test_an_empty_store_has_no_latest_run(tmp_path: Path) -> None:
    refused = drive(tmp_path, "show", "latest")
    assert (refused.code, "there are no runs yet" in refused.err) == (2, True)


def test_runs_are_named_alike_by_every_command(three: tuple[Path, str, str, str], tmp_path: Path) -> None:
    folder, good, bad, newest = three
    compared = succeed(folder, "compare", "-3", "-2", "--json").json["comparison"]
    assert (compared["old"]["run_name"], compared["new"]["run_name"]) == (good, bad)
    named = succeed(folder, "compare", "release", "latest:capitals", "--json").json["comparison"]
    assert (named["old"]["run_name"], named["new"]["run_name"]) == (good, bad)
    gated = drive(folder, "gate", "-2", "--baseline", "-3", "--json").json["gate_report"]
    assert gated["metadata"]["run_name"] == bad
    assert gated["comparison"]["old"]["run_name"] == good
    assert newest in succeed(folder, "resume", "-1").out
    assert succeed(folder, "verify", "-1", "--json").json["verified"][0]["source"] == f"run {newest}"
    captured = tmp_path / "evals.yaml"
    succeed(folder, "capture", "-1", "nile", "-o", str(captured))
    assert "Nile" in captured.read_text()
    planned = succeed(folder, "plan", "suite.yaml", "--run", "-2", "--json").json["plan"]
    assert bad in str(planned)
    dry = succeed(folder, "run", "suite.yaml", "--failed", "-2", "--dry-run", "--json").json["dry_run"]
    assert [plan["cases"] for plan in dry] == [1], "only the one that failed in that run"


def test_flags_stay_flags_and_values_stay_values(three: tuple[Path, str, str, str]) -> None:
    folder = three[0]
    unknown = drive(folder, "show", "-1", "-z")
    assert (unknown.code, "-z" in unknown.err) == (2, True)
    negative = drive(folder, "run", "suite.yaml", "--repeat", "-1")
    assert (negative.code, "--repeat" in negative.err, "\0" in negative.err) == (2, True, False)
    extra = drive(folder, "gate", "-1", "-2")
    assert (extra.code, "-2" in extra.err, "\0" in extra.err) == (2, True, False)


def test_runs_can_be_set_as_a_baseline_and_removed_by_number(tmp_path: Path) -> None:
    write(tmp_path, agent_py=AGENT, suite_yaml=SUITE, pyproject_toml="")
    first, second = run(tmp_path, "good"), run(tmp_path, "good")
    assert succeed(tmp_path, "baseline", "set", "-2", "--json").json["baseline"]["run_name"] == first
    added = succeed(tmp_path, "baseline", "add", "latest", "--json").json["baseline"]
    assert [each["run_name"] for each in added["added"]] == [second]
    several = drive(tmp_path, "show", "default")
    assert (several.code, f"name one of them: {first}, {second}" in several.err) == (2, True)
    third = run(tmp_path, "good")
    assert third in succeed(tmp_path, "runs", "rm", "-1").out
    assert shown(tmp_path, "latest") == second


def test_latest_as_a_baseline_is_the_run_before_the_one_that_starts(tmp_path: Path) -> None:
    write(tmp_path, agent_py=AGENT, suite_yaml=SUITE, pyproject_toml="")
    before = run(tmp_path, "good")
    judged = drive(tmp_path, "run", "suite.yaml", "--target", "agent.py:bad", "--baseline", "latest", "--json")
    assert judged.report["comparison"]["old"]["run_name"] == before
    again = drive(tmp_path, "resume", "-1", "--json")
    assert again.report["comparison"]["old"]["run_name"] == before


@pytest.mark.parametrize(
    "name", ["latest", "latest:capitals", "set", "brave-otter-042", "eval-20260101-120000-abcd", "-1"]
)
def test_a_baseline_may_not_be_called_like_a_run(three: tuple[Path, str, str, str], name: str) -> None:
    folder = three[0]
    refused = drive(folder, "baseline", "-3", f"--name={name}")
    assert (refused.code, "cannot be the name of a baseline" in refused.err) == (2, True)
