"""Baselines on the command line: setting, listing, exporting and removing them, and comparing runs with them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from driving import drive, write
from worse_agent import AGENT, SUITE, run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path, agent_py=AGENT, suite_yaml=SUITE, pyproject_toml="")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A project with a baseline, also as base.json, and a later run that is worse. Tests must not change it."""
    folder = write(tmp_path_factory.mktemp("compared"), agent_py=AGENT, suite_yaml=SUITE, pyproject_toml="")
    good = run(folder, "good")
    assert drive(folder, "baseline", good, "-o", "base.json").code == 0
    return folder, good, run(folder, "bad")


class TestBaseline:
    def test_a_baseline_is_set_listed_replaced_and_given_up(self, project: Path) -> None:
        assert "no baselines yet" in drive(project, "baseline", "list").out
        first, second = run(project, "good"), run(project, "good")
        assert f"{first} is the baseline 'default' of capitals" in drive(project, "baseline", first).out
        moved = drive(project, "baseline", second, "--json")
        assert moved.json["baseline"]["run_name"] == second
        assert f"(previously {second})" in drive(project, "baseline", first).out
        drive(project, "baseline", second, "--name", "release")
        rows = drive(project, "baseline", "list", "--json").json["baselines"]
        assert [(row["suite_name"], row["name"], row["run_name"]) for row in rows] == [
            ("capitals", "release", second),
            ("capitals", "default", first),
        ]
        listed = drive(project, "baseline", "list").out
        assert first in listed
        assert max(map(len, listed.splitlines())) <= 80

        wrong = drive(project, "baseline", "rm", "relaese")
        assert (wrong.code, "Did you mean 'release'?" in wrong.err) == (2, True)
        assert "no longer the baseline 'release'" in drive(project, "baseline", "rm", "release").out
        assert drive(project, "show", second).code == 0, "the run is kept"

    def test_only_a_run_that_can_be_trusted_becomes_one(self, project: Path) -> None:
        broken = run(project, "unreachable")
        refused = drive(project, "baseline", broken)
        assert (refused.code, "INVALID" in refused.err, "ended in error" in refused.err) == (2, True, True)
        stopped = run(project, "bad", "--max-failures", "1", "-j", "1")
        refused = drive(project, "baseline", stopped)
        assert (refused.code, "not finished" in refused.err, f"resume {stopped}" in refused.err) == (2, True, True)
        waiting = (
            SUITE.partition("test_cases")[0] + "test_cases: [{id: a, input: Peru, expected: {relevance: [polite]}}]"
        )
        write(project, waiting_yaml=waiting)
        unjudged = drive(project, "run", "waiting.yaml", "--json").run_name
        refused = drive(project, "baseline", unjudged)
        assert (refused.code, "no judged trial" in refused.err) == (2, True)
        good = run(project, "good")
        unknown = drive(project, "baseline", good[:-1] + "x")
        assert (unknown.code, f"Did you mean '{good}'?" in unknown.err) == (2, True)
        for name in ("none", "add", "a/b", "x.json", good, "", " "):
            assert drive(project, "baseline", good, "--name", name).code == 2
        too_long = drive(project, "baseline", good, "--name", "n" * 101)
        assert "at most 100 characters, but this one has 101" in too_long.err
        assert drive(project, "baseline", "list", "--json").json == {"baselines": []}

    @pytest.mark.parametrize(
        "words", [[], ["list", "x"], ["rm"], ["add"], ["a", "b"], ["list", "--name", "x"], ["x", "--suite", "s"]]
    )
    def test_wrong_usage_is_reported(self, tmp_path: Path, words: list[str]) -> None:
        assert drive(tmp_path, "baseline", *words).code == 2

    def test_a_baseline_survives_tidying_up(self, project: Path) -> None:
        name = run(project, "good")
        drive(project, "baseline", name)
        refused = drive(project, "runs", "rm", name)
        assert (refused.code, "baseline rm default --suite capitals" in refused.err) == (2, True)
        with closing(sqlite3.connect(project / ".evalharness/store.db")) as database, database:
            database.execute("UPDATE runs SET created_at = '2020-01-01T00:00:00Z'")
        pruned = drive(project, "store", "prune", "--older-than", "1w")
        assert (pruned.code, "0 runs removed" in pruned.out, f"kept: {name}" in pruned.out) == (0, True, True)

    def test_it_may_have_several_runs_of_one_target(self, project: Path) -> None:
        a, b, c = (run(project, "good") for _ in range(3))
        assert f"{a}, {b} are the baseline 'default' of capitals" in drive(project, "baseline", a, b).out
        added = drive(project, "baseline", "add", c, "-o", "base.json")
        assert (added.code, f"{a}, {b}, {c} are the baseline" in added.out) == (0, True)
        assert [row.split()[2] for row in drive(project, "baseline", "list").out.splitlines()[1:]] == [a, b, c]
        [listed] = drive(project, "baseline", "list", "--json").json["baselines"]
        assert [listed["run_name"], *(each["run_name"] for each in listed["added"])] == [a, b, c]
        written = json.loads((project / "base.json").read_text())["eval_reports"]
        assert [report["metadata"]["run_name"] for report in written] == [a, b, c]
        for name in (a, b, c):
            assert drive(project, "runs", "rm", name).code == 2
        with closing(sqlite3.connect(project / ".evalharness/store.db")) as database, database:
            database.execute("UPDATE runs SET created_at = '2020-01-01T00:00:00Z'")
        pruned = drive(project, "store", "prune", "--older-than", "1w")
        assert ("0 runs removed" in pruned.out, pruned.out.count("kept: ")) == (True, 1)
        assert f"(previously {a}, {b}, {c})" in drive(project, "baseline", b).out

    def test_several_runs_must_fit_together(self, project: Path) -> None:
        good, other = run(project, "good"), run(project, "bad")
        early = run(project, "good", "--sequential", "--fail-under", "90", "--repeat", "10")
        regrade = drive(project, "regrade", good, "--json").run_name
        write(project, more_yaml=SUITE.replace("name: capitals", "name: cities"))
        cities = drive(project, "run", "more.yaml", "--json").run_name
        told = {
            other: "ran a different target from",
            early: "was allowed to stop early",
            regrade: "is a regrade of another run",
            cities: "is a run of cities, not of capitals",
            good: "is named twice",
        }
        drive(project, "baseline", good)
        for name, why in told.items():
            for words in ((good, name), ("add", name)):
                refused = drive(project, "baseline", *words)
                is_other_suite = name == cities and words[0] == "add"
                assert (refused.code, is_other_suite or why in refused.err) == (2, True), (words, refused.err)
        again = run(project, "good")
        unknown = drive(project, "baseline", "add", again, "--name", "defualt")
        assert (unknown.code, "Did you mean 'default'?" in unknown.err) == (2, True)
        (project / "agent.py").write_text(AGENT + "\n# changed\n")
        changed = drive(project, "baseline", "add", run(project, "good"))
        assert (changed.code, "ran a different target" in changed.err) == (2, True)
        [left] = drive(project, "baseline", "list", "--json").json["baselines"]
        assert (left["run_name"], left["added"]) == (good, [])

    def test_a_folder_for_its_file_is_made_unless_the_run_is_refused(self, project: Path) -> None:
        good, broken = run(project, "good"), run(project, "unreachable")
        assert drive(project, "baseline", broken, "-o", "new/base.json").code == 2
        assert not (project / "new").exists()
        assert drive(project, "baseline", good, "-o", "new/deep/base.json").code == 0
        assert json.loads((project / "new/deep/base.json").read_text())["eval_report"]["cases"]

    def test_a_run_that_stopped_early_becomes_one_with_a_note(self, project: Path) -> None:
        name = run(project, "good", "--sequential", "--fail-under", "90", "--repeat", "10")
        done = drive(project, "baseline", name)
        assert done.code == 0
        assert "note: this run stopped early, after 14 of 30 trials" in done.out
        assert "stopped early" in drive(project, "baseline", name, "--json").json["baseline"]["notes"][0]["text"]
        assert "note" not in drive(project, "baseline", run(project, "good")).out

    def test_a_run_without_a_pass_becomes_one_with_a_note(self, project: Path) -> None:
        (project / "agent.py").write_text("def never(country):\n    return 'no'\n")
        assert "no trial of this run passed" in drive(project, "baseline", run(project, "never")).out

    def test_a_run_with_grades_outstanding_becomes_one_with_a_note(self, project: Path) -> None:
        write(project, suite_yaml=SUITE + "  - {id: polite, input: Peru, expected: {relevance: [polite]}}\n")
        done = drive(project, "baseline", run(project, "good"))
        assert (done.code, "note: grades are pending: 4 trials of this run are not graded yet" in done.out) == (0, True)

    def test_a_file_contains_the_figures_and_no_transcripts(self, compared: tuple[Path, str, str]) -> None:
        report = json.loads((compared[0] / "base.json").read_text())["eval_report"]
        assert report["metadata"]["run_name"] == compared[1]
        assert [(case["case_id"], case["passed"], case["trials"]) for case in report["cases"]] == [
            ("france", 4, 4),
            ("peru", 4, 4),
            ("japan", 4, 4),
        ]
        assert report["measurements"]["pass_rate"]["value"] == 1
        assert "trials" not in report

    def test_only_a_baseline_is_replaced_by_one(self, project: Path) -> None:
        name = run(project, "good")
        for _ in range(2):
            assert drive(project, "baseline", name, "-o", "base.json").code == 0
        (project / "notes.json").write_text("{}")
        for file in ("notes.json", "suite.yaml", "notes.json/base.json", ""):
            assert drive(project, "baseline", name, "-o", file, "--name", "other").code == 2
        assert (project / "notes.json").read_text() == "{}"
        assert (project / "suite.yaml").read_text() == SUITE
        assert [row["name"] for row in drive(project, "baseline", "list", "--json").json["baselines"]] == ["default"]


class TestSeveralRuns:
    def test_every_command_compares_with_all_of_them(self, project: Path) -> None:
        names = [run(project, "good") for _ in range(3)]
        drive(project, "baseline", *names, "-o", "base.json")
        worse = drive(project, "run", "suite.yaml", "--target", "agent.py:bad", "--baseline", "default", "-o", "w.json")
        report = json.loads((project / "w.json").read_text())["eval_report"]
        bad = report["metadata"]["run_name"]
        assert (worse.code, "   baseline default (3 runs)" in worse.out) == (1, True)
        assert "36 trials before, 12 now" in drive(project, "show", bad, "-v").out
        checked = drive(project, "regressions", "capitals", "--json")
        assert checked.code == 1
        [regression] = checked.json["regressions"]["comparisons"]
        found = [drive(project, "compare", old, bad, "--json").json["comparison"] for old in ("default", "base.json")]
        for each in (regression, report["comparison"], *found):
            assert [before["run_name"] for before in each["before"]] == names
            assert each["differences"]["pass_rate"]["n_trials_old"] == 36
        shown = drive(project, "compare", "default", bad, "-v").out
        assert all(name in shown for name in names) and "before, now answer" not in shown
        assert "before, now" in shown, "transcripts of the baseline's runs are compared"
        assert drive(project, "gate", bad, "--baseline", "base.json").code == 1
        assert drive(project, "verify", bad).code == drive(project, "verify", "w.json").code == 0
        itself = drive(project, "regressions", "capitals", "--run", names[1])
        assert (itself.code, "is a run of the baseline" in itself.err) == (2, True)

    def test_they_are_the_old_side_only(self, project: Path) -> None:
        names = [run(project, "good") for _ in range(2)]
        drive(project, "baseline", *names, "-o", "base.json")
        for new in ("default", "base.json"):
            refused = drive(project, "compare", names[0], new)
            assert (refused.code, "name one of its runs" in refused.err) == (2, True)

    def test_a_file_of_several_targets_is_not_a_baseline(self, project: Path) -> None:
        drive(project, "run", "suite.yaml", "--target", "agent.py:good", "--target", "agent.py:bad", "-o", "both.json")
        refused = drive(project, "run", "suite.yaml", "--baseline", "both.json")
        assert (refused.code, "runs of several targets" in refused.err) == (2, True)

    def test_a_changed_row_of_any_of_them_is_noticed(self, project: Path) -> None:
        names = [run(project, "good") for _ in range(2)]
        drive(project, "baseline", *names)
        bad = run(project, "bad")
        with closing(sqlite3.connect(project / ".evalharness/store.db")) as database, database:
            database.execute("UPDATE runs SET report = NULL, cases = NULL WHERE name = ?", (names[1],))
            database.execute(
                "UPDATE trials SET state = 'failed', first_state = 'failed' WHERE case_id = 'peru' AND run_seq = "
                "(SELECT seq FROM runs WHERE name = ?)",
                (names[1],),
            )
        assert "comparison.differences.pass_rate" in drive(project, "verify", bad).out


class TestCompare:
    def test_runs_baselines_and_files_are_the_same_to_it(self, compared: tuple[Path, str, str]) -> None:
        folder, good, bad = compared
        for old, source in ((good, ""), ("default", "baseline default"), ("base.json", "base.json")):
            done = drive(folder, "compare", old, bad, "--json")
            assert done.code == 0, "it shows the difference and does not judge"
            found = done.json["comparison"]
            assert (found["verdict"], found["old"]["source"], found["old"]["run_name"]) == ("REGRESSION", source, good)
            worst = found["cases"][0]
            assert (worst["case_id"], worst["old_passed"], worst["new_passed"]) == ("peru", 4, 0)
            assert ("Cusco" in str(worst["divergence"])) is (old != "base.json"), "a file has no transcripts"

    def test_a_case_whose_target_raised_reports_why(self, project: Path) -> None:
        write(
            project,
            agent_py=AGENT + "\ndef raising(country):\n    return {'France': 'Paris', 'Japan': 'Tokyo'}[country]\n",
        )
        found = drive(project, "compare", run(project, "good"), run(project, "raising"), "--json").json["comparison"]
        told = 'answer "Lima" before, now no answer: the target raised KeyError'
        assert [case["divergence"]["text"].startswith(told) for case in found["cases"]] == [True]

    def test_it_prints_new_minus_old(self, compared: tuple[Path, str, str]) -> None:
        folder, good, bad = compared
        rates = [drive(folder, "compare", *pair, "--json").json["comparison"]["differences"]["pass_rate"]["value"]
                 for pair in ((good, bad), (bad, good))]  # fmt: skip
        assert rates == pytest.approx([-1 / 3, 1 / 3])
        shown = drive(folder, "compare", good, bad)
        assert shown.out.lstrip().startswith("REGRESSION")
        assert "peru" in shown.out

    def test_it_is_written_to_a_file_too(self, compared: tuple[Path, str, str]) -> None:
        folder, good, bad = compared
        done = drive(folder, "compare", good, bad, "-o", "compared.json")
        assert done.code == 0
        assert "REGRESSION" in done.out
        written = json.loads((folder / "compared.json").read_text(encoding="utf-8"))
        assert written == drive(folder, "compare", good, bad, "--json").json
        wrong = drive(folder, "compare", good, bad, "-o", "compared.xml")
        assert (wrong.code, "known endings: .json" in wrong.err) == (2, True)
        checked = drive(folder, "regressions", "capitals", "-o", "regressions.json")
        assert checked.code == 1
        again = drive(folder, "regressions", "capitals", "--json")
        assert json.loads((folder / "regressions.json").read_text(encoding="utf-8")) == again.json

    def test_one_with_each_of_several(self, compared: tuple[Path, str, str]) -> None:
        folder, good, bad = compared
        rows = drive(folder, "compare", good, bad, "base.json", "--json").json["comparisons"]
        assert [(row["old"]["run_name"], row["new"]["run_name"]) for row in rows] == [(good, bad), (good, good)]

    def test_flags_of_the_rule_reach_it(self, compared: tuple[Path, str, str]) -> None:
        folder, good, bad = compared
        flags = ("--alpha", "0.01", "--margin", "20", "--power", "0.9", "--regression-tolerance", "0.1")
        found = drive(folder, "compare", good, bad, *flags, "--json").json["comparison"]
        assert (found["alpha"], found["margin"], found["power"], found["tolerance"]) == (0.01, 0.2, 0.9, 0.1)
        assert drive(folder, "compare", good, bad, "--alpha", "2").code == 2

    @pytest.mark.parametrize(
        ("wrong", "told"),
        [
            ("defualt", "Did you mean 'default'?"),
            ("nowhere.json", "there is no file nowhere.json"),
            ("suite.yaml", "suite.yaml is not JSON"),
        ],
    )
    def test_what_cannot_be_found_is_reported(self, compared: tuple[Path, str, str], wrong: str, told: str) -> None:
        done = drive(compared[0], "compare", wrong, compared[2])
        assert (done.code, told in done.err) == (2, True)

    def test_a_name_that_two_suites_use_means_that_of_the_other_run(self, project: Path) -> None:
        (project / "rivers.yaml").write_text(SUITE.replace("name: capitals", "name: rivers"))
        for suite in ("suite.yaml", "rivers.yaml"):
            done = drive(project, "run", suite, "--json")
            drive(project, "baseline", done.run_name)
        bad = run(project, "bad")
        found = drive(project, "compare", "default", bad, "--json").json["comparison"]
        assert found["old"]["suite_name"] == "capitals"
        alone = drive(project, "compare", "default", "default")
        assert (alone.code, "capitals" in alone.err, "rivers" in alone.err) == (2, True, True)
        named = drive(project, "compare", "default", "default", "--suite", "rivers", "--json").json["comparison"]
        assert named["new"]["suite_name"] == "rivers"
        unclear = drive(project, "baseline", "rm", "default")
        assert (unclear.code, "--suite" in unclear.err) == (2, True)
        assert drive(project, "baseline", "rm", "default", "--suite", "rivers").code == 0


def test_a_run_compared_with_itself_is_reported(compared: tuple[Path, str, str]) -> None:
    folder, good, _ = compared
    done = drive(folder, "compare", good, good)
    assert (done.code, "this compares a run with itself" in done.out) == (0, True)
    assert "compares a run with itself" in drive(folder, "compare", "base.json", good).out
    assert "compares a run with itself" not in drive(folder, "compare", *compared[1:]).out


def test_a_baseline_of_some_cases_says_that_others_are_not_compared(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml="name: s\ntarget: echo\ntest_cases: [{id: a, input: a}, {id: b, input: b}]\n")
    drive(tmp_path, "run", "suite.yaml", "--only", "a")
    part = drive(tmp_path, "baseline", "set", "latest")
    assert "this run has only 1 of the 2 cases of its suite" in part.out
    drive(tmp_path, "run", "suite.yaml")
    assert "only" not in drive(tmp_path, "baseline", "set", "latest").out
