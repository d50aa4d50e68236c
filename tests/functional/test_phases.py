"""`eval-harness phase`: the documents' phase and trigger files end to end, in a real project with a real repository."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from driving import Outcome, drive, start, wait_until, write

DOCUMENTS = Path(__file__).parents[1] / "goldens" / "projects" / "specification"
AGENT = """
def right(question):
    return {"timeout": "expires"}.get(question, "ok")

def wrong(question):
    return {"timeout": "persists"}.get(question, "ok")
"""
SUITE = """
eval_type: capability
metadata: {name: NAME}
test_cases:
  - {id: cap-1, name: Login flow, input: login, expected: ok, tags: [critical]}
  - {id: cap-2, name: Session timeout, input: timeout, expected: expires, tags: [feature-x, slow]}
  - {id: cap-3, name: Untagged, input: other, expected: nothing of the kind}
  - {id: reg-1, name: Of another type, eval_type: regression, input: other, expected: no, tags: [critical]}
"""
GREEN = """<?xml version="1.0"?><testsuites name="all" tests="3">
<testsuite name="Unit tests" tests="2" failures="0"><testcase name="a"/><testcase name="b"/></testsuite>
<testsuite name="Integration tests" tests="1"><testcase name="c"/></testsuite></testsuites>"""
SKIPPED = '<testsuite name="Unit tests"><testcase name="a"><skipped/></testcase></testsuite>'
RED = GREEN.replace('<testcase name="b"/>', '<testcase classname="t" name="b"><failure/></testcase>')


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The documents' own files, and suites where they expect them."""
    evals = tmp_path / "evals"
    write(tmp_path, agent_py=AGENT, green_xml=GREEN, red_xml=RED, pyproject_toml="")
    evals.mkdir()
    (evals / "feature-x.yaml").write_text(SUITE.replace("NAME", "Feature X"))
    all_pass = SUITE.replace("expected: nothing of the kind", "expected: ok").replace("expected: no,", "expected: ok,")
    (evals / "auth-capability.yaml").write_text(all_pass.replace("NAME", "Authentication"))
    for name in ("phase.yaml", "eval-trigger.yaml"):
        shutil.copy(DOCUMENTS / name, tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> str:
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def phase(folder: Path, file: str, *words: str, target: str = "right", env: dict[str, str] | None = None) -> Outcome:
    return drive(folder, "phase", file, "--target", f"agent.py:{target}", *words, env=env)


def change(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))


def report_of(folder: Path, phase_id: str) -> str:
    return (folder / "eval-results" / f"phase-{phase_id}.md").read_text()


def section(report: str, heading: str) -> str:
    return report.partition(f"\n### {heading}\n")[2].partition("\n### ")[0].strip()


def eval_step(document: Any) -> Any:
    return document["phase_report"]["steps"][-1]


# The documents' phase.


def test_the_phase_of_the_document_passes(project: Path) -> None:
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "before")
    before = git(project, "rev-parse", "HEAD")
    write(project, agent_py=AGENT + "# one\n# two\n", green_xml=GREEN.replace("\n", " "))
    git(project, "commit", "-qam", "now")
    done = phase(project, "phase.yaml", "--since", before, "--tests", "green.xml")
    assert (done.code, done.err) == (0, "")
    report = report_of(project, "implement-user-authentication")
    lines = report.splitlines()
    assert lines[1] == "## Phase Completion Report"
    assert [line for line in lines if line.startswith("### ")] == [
        "### Implementation Summary",
        "### Test Results",
        "### Eval Results",
    ]
    assert "- Files modified: 2\n- Lines added: 3\n- Lines removed: 3" in section(report, "Implementation Summary")
    tests = section(report, "Test Results").splitlines()
    assert tests == ["- Unit tests: 2/2 passed", "- Integration tests: 1/1 passed"]
    evals = section(report, "Eval Results")
    assert "| Metric | Value | Threshold | Status |" in evals
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in evals.splitlines() if "|" in line]
    assert [(row[0], row[2], row[3]) for row in rows[2:]] == [
        ("pass rate", "90 %", "✓ PASS"),
        ("pass@1", "–", "–"),
        ("pass^3", "–", "–"),
    ]
    assert "Note: 3 trials per case instead of 1, because pass^3 needs them" in evals
    assert "#### Capability evals (3/3 passed)" in evals
    assert "#### Regression evals (1/1 passed)" in evals
    assert "- [x] cap-1: Login flow" in evals
    assert "| implement | Build authentication logic | not run |" in report
    assert "| test | Run unit tests | not run |" in report


def test_the_phase_of_the_document_fails(project: Path) -> None:
    done = phase(project, "phase.yaml", target="wrong")
    assert done.code == 1
    report = report_of(project, "implement-user-authentication")
    assert "| eval | Run capability evals | ✗ FAILED |" in report
    assert "- [ ] cap-2: Session timeout (FAILED 0/3)\n  - Expected: expires\n  - Actual: persists" in report
    assert "1. " in section(report, "Recommendations")
    last = done.out.strip().splitlines()
    assert any(line.startswith("FAILED   phase implement-user-authentication") for line in last[-3:])
    assert last[-3].endswith("eval 'Run capability evals' failed")
    assert "wrote    eval-results/phase-implement-user-authentication.md" in last[-2:]


@pytest.mark.parametrize(
    "not_blocking", ["blocking: false", "on_failure: {action: warn}", "on_failure: {action: continue}"]
)
def test_evals_that_do_not_block(project: Path, not_blocking: str) -> None:
    change(project, "phase.yaml", "blocking: true ", f"{not_blocking} ")
    done = phase(project, "phase.yaml", target="wrong")
    assert done.code == 0
    assert "1 eval did not pass, but does not block: Run capability evals" in done.out
    assert "✗ FAILED, does not block" in report_of(project, "implement-user-authentication")


def test_a_run_that_breaks_stays_broken_though_it_does_not_block(project: Path) -> None:
    change(project, "phase.yaml", "blocking: true ", "blocking: false ")
    write(project, agent_py="def right(question):\n    raise ConnectionError('no')\n")
    done = phase(project, "phase.yaml")
    assert done.code == 3
    assert "eval 'Run capability evals' broke" in done.out
    evals = section(report_of(project, "implement-user-authentication"), "Eval Results")
    assert "| pass rate | – | 90 % | – |" in evals, "what it was to be judged by is known, though nothing was judged"


def test_an_eval_that_fails_and_blocks_ends_the_phase(project: Path) -> None:
    second = "    - {type: eval, description: Second, config: {suite: ./evals/auth-capability.yaml}}\n"
    with (project / "phase.yaml").open("a") as file:
        file.write(second)
    done = phase(project, "phase.yaml", "--json", target="wrong")
    assert done.code == 1
    assert eval_step(done.json)["why_not_run"] == "eval 'Run capability evals' did not pass"
    passed = phase(project, "phase.yaml", "--json")
    assert [step["result"] for step in passed.json["phase_report"]["steps"]] == [
        "not run",
        "not run",
        "PASSED",
        "PASSED",
    ]
    evals = section(report_of(project, "implement-user-authentication"), "Eval Results")
    assert "#### ✓ PASSED: Second · Authentication on " in evals, "the same suite twice: which eval is which"


def test_the_run_to_look_at_is_the_one_that_decided(project: Path) -> None:
    change(project, "phase.yaml", "blocking: true ", "blocking: false ")
    with (project / "phase.yaml").open("a") as file:
        file.write("    - {type: eval, description: Second, config: {suite: ./evals/feature-x.yaml}}\n")
    done = phase(project, "phase.yaml", target="wrong")
    assert done.code == 1
    [look] = [line for line in done.out.splitlines() if line.startswith("look ")]
    runs = {run["suite_name"]: run["run_name"] for run in drive(project, "runs", "--json").json["runs"]}
    assert runs["Feature X"] in look


# The documents' trigger.


def test_the_trigger_of_the_document_passes_and_is_archived(project: Path) -> None:
    done = phase(project, "eval-trigger.yaml", "--tests", "green.xml", "--json")
    assert done.code == 0
    step = eval_step(done.json)
    [report] = step["eval_reports"]
    assert step["thresholds"] == {"pass_at_1": 0.85, "pass_hat_3": 0.7}
    assert [case["case_id"] for case in report["cases"]] == ["cap-1", "cap-2"], "both filters hold"
    assert report["metadata"]["trials_per_case"] == 3
    written = report_of(project, "feature-x")
    assert "| pass@1 | 100 % " in written
    assert "| 85 % | ✓ PASS |" in written
    [archived] = (project / "eval-results" / "archive" / "feature-x").iterdir()
    assert archived.name.endswith(f"-{report['metadata']['run_id'][-4:]}"), "apart from others of the same second"
    assert sorted(path.name for path in archived.iterdir()) == sorted(
        [f"{report['metadata']['run_name']}.json", "phase.md"]
    )
    kept = json.loads((archived / f"{report['metadata']['run_name']}.json").read_text())
    assert kept["eval_report"]["verdict"] == "PASSED"


def test_the_trigger_of_the_document_fails(project: Path) -> None:
    done = phase(project, "eval-trigger.yaml", "--tests", "green.xml", "--phase-id", "sprint-7", target="wrong")
    assert done.code == 1
    written = report_of(project, "sprint-7")
    assert "| pass@1 | 50 % " in written
    assert "| 85 % | ✗ FAIL |" in written
    assert not (project / "eval-results" / "archive").exists()
    assert "nobody was notified: the suite Feature X has no `notify:`" in done.err


def test_red_tests_keep_the_evals_from_being_run(project: Path) -> None:
    done = phase(project, "eval-trigger.yaml", "--tests", "red.xml")
    assert done.code == 1
    assert "not run: 1 of 3 tests failed" in done.out
    report = report_of(project, "feature-x")
    assert section(report, "Test Results").splitlines()[:2] == ["- Unit tests: 1/2 passed", "  - t::b (FAILED)"]
    assert section(report, "Eval Results") == "Not run: 1 of 3 tests failed"
    assert section(report, "Recommendations") == "1. Fix the failing test, then run the phase again"
    assert "no runs" in drive(project, "runs").both


def test_red_tests_do_not_fail_a_phase_whose_evals_do_not_block(project: Path) -> None:
    change(project, "eval-trigger.yaml", 'action: "block"', 'action: "warn"')
    done = phase(project, "eval-trigger.yaml", "--tests", "red.xml")
    assert done.code == 0
    assert "not run: 1 of 3 tests failed" in done.out
    quiet = " ".join(phase(project, "eval-trigger.yaml", "--tests", "red.xml", "-q").out.split())
    assert "1 eval was not run because it waits for tests that pass, but does not block: " in quiet
    assert "1 eval did not pass" not in quiet


def test_a_suite_with_enough_trials_keeps_them(project: Path) -> None:
    change(project, "evals/auth-capability.yaml", "test_cases:", "trials: 4\ntest_cases:")
    done = phase(project, "phase.yaml", "--json")
    [report] = eval_step(done.json)["eval_reports"]
    assert report["metadata"]["trials_per_case"] == 4
    assert report["notes"] == []


def test_outstanding_grades_leave_a_phase_undecided(project: Path) -> None:
    change(project, "evals/auth-capability.yaml", "test_cases:", "graders: [{human: {}}]\ntest_cases:")
    change(project, "phase.yaml", "required_pass_rate: 0.9", "")
    assert phase(project, "phase.yaml").code == 4
    change(project, "phase.yaml", "blocking: true ", "blocking: false ")
    assert phase(project, "phase.yaml").code == 0


def test_without_test_results_the_evals_are_not_run(project: Path) -> None:
    done = phase(project, "eval-trigger.yaml")
    assert done.code == 1
    assert "the evals wait for the tests to pass, and no test results were given" in done.out
    assert "--tests junit.xml" in section(report_of(project, "feature-x"), "Recommendations")
    rerun = "rerun    eval-harness phase eval-trigger.yaml --target agent.py:right --tests junit.xml"
    assert done.out.splitlines()[-1] == rerun


@pytest.mark.parametrize("content", ["<testsuites/>", SKIPPED])
def test_test_results_without_a_test_that_passed_prove_nothing(project: Path, content: str) -> None:
    write(project, green_xml=content)
    done = phase(project, "eval-trigger.yaml", "--tests", "green.xml")
    assert done.code == 1
    assert "the test results contain no test that passed" in done.out


@pytest.mark.parametrize("content", ["not XML", "<html/>", None])
def test_unreadable_test_results_are_wrong_usage(project: Path, content: str | None) -> None:
    if content is None:
        (project / "green.xml").unlink()
    else:
        write(project, green_xml=content)
    done = phase(project, "eval-trigger.yaml", "--tests", "green.xml")
    assert done.code == 2
    assert done.err.startswith("error: green.xml")
    assert not (project / "eval-results").exists()


def test_a_failure_is_told_to_whom_the_suite_names(project: Path) -> None:
    change(
        project,
        "evals/feature-x.yaml",
        "test_cases:",
        "notify: {command: 'cat > told.json', on: success}\ntest_cases:",
    )
    done = phase(project, "eval-trigger.yaml", "--tests", "red.xml")
    assert (done.code, done.err) == (1, "")
    told = json.loads((project / "evals" / "told.json").read_text())
    assert (told["verdict"], told["phase"]["id"]) == ("FAILED", "feature-x")
    assert told["why"] == "1 of 3 tests failed"


def test_each_suite_of_a_folder_tells_whom_it_names_of_its_own_runs(project: Path) -> None:
    for name in ("feature-x", "auth-capability"):
        words = f"notify: {{command: 'cat > {name}.json', on: always}}\ntest_cases:"
        change(project, f"evals/{name}.yaml", "test_cases:", words)
    change(project, "phase.yaml", "./evals/auth-capability.yaml", "./evals/")
    assert phase(project, "phase.yaml").code == 1
    told = {
        name: json.loads((project / "evals" / f"{name}.json").read_text()) for name in ("feature-x", "auth-capability")
    }
    assert {name: (each["verdict"], len(each["runs"])) for name, each in told.items()} == {
        "feature-x": ("FAILED", 1),
        "auth-capability": ("PASSED", 1),
    }


@pytest.mark.parametrize(("asked", "is_told"), [("", False), ("on_failure: {notification: true}", True)])
def test_a_suite_that_keeps_its_failures_quiet_does_so_in_a_phase(project: Path, asked: str, is_told: bool) -> None:
    quiet = "notify: {command: 'touch told'}\nreporting: {notify_on_failure: false}\ntest_cases:"
    change(project, "evals/auth-capability.yaml", "test_cases:", quiet)
    change(project, "phase.yaml", "blocking: true ", f"{asked or 'blocking: true'} ")
    assert phase(project, "phase.yaml", target="wrong").code == 1
    assert (project / "evals" / "told").exists() is is_told


def test_a_phase_may_forbid_notifications(project: Path) -> None:
    change(project, "eval-trigger.yaml", "notification: true", "notification: false")
    env = {"EVALHARNESS_NOTIFY": "cmd:touch told"}
    assert phase(project, "eval-trigger.yaml", "--tests", "red.xml", env=env).code == 1
    assert not (project / "told").exists()


# Where files go.


def test_the_report_can_be_written_elsewhere(project: Path) -> None:
    assert phase(project, "phase.yaml", "-o", "out/report.md").code == 0
    assert (project / "out" / "report.md").read_text().startswith("<!-- eval-harness phase report -->\n")
    assert not (project / "eval-results").exists()


def test_the_report_is_markdown_whatever_its_name(project: Path) -> None:
    done = phase(project, "phase.yaml", "-o", "report.json")
    assert done.code == 2
    assert "no report format has the ending '.json'" in done.err
    assert "known endings: .md, .markdown" in done.err


@pytest.mark.parametrize("phase_id", ["../../x", "a/b", ".hidden", "x" * 200, "a\nb"])
def test_an_id_cannot_lead_anywhere(project: Path, phase_id: str) -> None:
    done = phase(project, "phase.yaml", "--phase-id", phase_id)
    assert done.code == 2
    assert "cannot be the id of a phase" in done.err


def test_a_link_out_of_the_folder_is_refused_before_anything_is_run(project: Path, tmp_path_factory: Any) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (project / "eval-results").symlink_to(outside)
    done = phase(project, "phase.yaml")
    assert done.code == 2
    assert "lies outside the folder of the phase file" in done.err
    assert list(outside.iterdir()) == []


def test_an_archive_outside_of_the_folder_is_refused_before_anything_is_run(
    project: Path, tmp_path_factory: Any
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (project / "eval-results").mkdir()
    (project / "eval-results" / "archive").symlink_to(outside)
    done = phase(project, "eval-trigger.yaml", "--tests", "green.xml")
    assert done.code == 2
    assert "lies outside the folder of the phase file" in done.err
    assert list(outside.iterdir()) == []


def test_a_file_of_somebody_else_is_never_overwritten(project: Path) -> None:
    (project / "eval-results").mkdir()
    mine = project / "eval-results" / "phase-implement-user-authentication.md"
    mine.write_text("# My notes\n")
    done = phase(project, "phase.yaml")
    assert done.code == 2
    assert "contains something else, which would be lost" in done.err
    assert mine.read_text() == "# My notes\n"


# git.


def test_an_unknown_revision_is_wrong_usage(project: Path) -> None:
    git(project, "init", "-q")
    git(project, "commit", "-q", "--allow-empty", "-m", "first")
    for revision in ("nowhere", "--output=stolen", "HEAD~5"):
        done = phase(project, "phase.yaml", f"--since={revision}")
        assert done.code == 2
        assert f"git does not know the revision '{revision}'" in done.err
    assert not (project / "stolen").exists()


def test_without_git_the_summary_is_left_out(project: Path) -> None:
    assert phase(project, "phase.yaml", "--since", "HEAD").code == 0
    assert "Implementation Summary" not in report_of(project, "implement-user-authentication")


def test_without_a_revision_uncommitted_changes_are_counted(project: Path) -> None:
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "all")
    assert phase(project, "phase.yaml").code == 0
    assert "Implementation Summary" not in report_of(project, "implement-user-authentication")
    write(project, agent_py=AGENT + "# more\n")
    assert phase(project, "phase.yaml").code == 0
    assert "- Lines added: 1" in report_of(project, "implement-user-authentication")


# Ended in the middle.

WAITING = """
import time
from pathlib import Path

def right(question):
    with Path("asked").open("a") as file:
        file.write(question + "\\n")
    while question == "timeout" and Path("hold").exists():
        time.sleep(0.005)
    return {"timeout": "expires"}.get(question, "ok")
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_what_was_finished_before_an_end_is_kept(project: Path, number: signal.Signals, code: int) -> None:
    write(project, agent_py=WAITING)
    (project / "hold").touch()
    with start(project, "phase", "phase.yaml", "--target", "agent.py:right", "-j", "1") as process:
        wait_until(lambda: (project / "asked").exists() and "timeout" in (project / "asked").read_text())
        wait_until(lambda: "1 of 12 trials" in drive(project, "runs").out)
        process.send_signal(number)
        assert process.wait().code == code
    (project / "hold").unlink()
    if number == signal.SIGINT:
        assert "Why: eval 'Run capability evals' was interrupted" in report_of(project, "implement-user-authentication")
    asked = (project / "asked").read_text().splitlines()
    assert drive(project, "resume").code == 0
    again = (project / "asked").read_text().splitlines()[len(asked) :]
    assert len(again) == 11, "the one trial that was finished is not run again"
    assert phase(project, "phase.yaml").code == 0
    assert "✓ PASSED" in report_of(project, "implement-user-authentication")


# What validate and run say of the files.


def test_validate_recognises_phases(project: Path) -> None:
    done = drive(project, "validate", "phase.yaml", "eval-trigger.yaml")
    assert done.code == 0
    assert "✓ phase.yaml   phase 'Implement user authentication', 1 eval" in done.out
    shutil.rmtree(project / "evals")
    missing = drive(project, "validate", "phase.yaml")
    assert missing.code == 0
    assert "phase.yaml:12: warning: phase.steps[2].config.suite: there is no file ./evals/auth-capability.yaml" in (
        missing.out
    )
    done = phase(project, "phase.yaml")
    assert done.code == 2
    assert "phase.yaml:12: phase.steps[2].config.suite: there is no file ./evals/auth-capability.yaml" in done.err


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("required_pass_rate", "required_pass_rat", "unknown key 'required_pass_rat'"),
        ("0.9", "90", "phase.yaml:13: phase.steps[2].config.required_pass_rate: "),
        ("pass^3", "pas^3", "unknown metric 'pas^3'; did you mean 'pass^k'?"),
        ('"eval" ', '"evl" ', "phase.yaml:9: phase.steps[2].type: unknown step type 'evl'; did you mean 'eval'?"),
        ("blocking: true ", "on_failure: {action: stop} ", "allowed: block, warn, continue"),
        (
            "blocking: true ",
            "on_failure: {report_path: ../x.md} ",
            "must be a file inside the folder of the phase file",
        ),
        ("blocking: true ", "on_failure: {report_path: /x.md} ", "must be a file inside the folder of the phase file"),
        ("blocking: true ", "on_failure: {report_path: '{name}.md'} ", "unknown placeholder {name}"),
        ("blocking: true ", "thresholds: {pass_rate: 1.0} ", "pass_rate is given twice"),
        ("blocking: true ", "when: before_lunch ", "allowed: after_tests_pass, always"),
        ('suite: "./evals/auth-capability.yaml"', "", "phase.steps[2].config.suite: "),
    ],
)
def test_mistakes_are_reported_with_their_line(project: Path, old: str, new: str, problem: str) -> None:
    change(project, "phase.yaml", old, new)
    done = drive(project, "validate", "phase.yaml")
    assert done.code == 2
    assert "phase.yaml:" in done.err
    assert problem in done.err
    assert phase(project, "phase.yaml").code == 2


def test_run_says_how_to_run_a_phase(project: Path) -> None:
    done = drive(project, "run", "phase.yaml")
    assert done.code == 2
    assert "phase.yaml: is a phase, not a suite; run it with: eval-harness phase phase.yaml" in done.err


def test_a_file_that_is_no_phase(project: Path) -> None:
    done = drive(project, "phase", "evals/feature-x.yaml")
    assert done.code == 2
    assert "is not a phase: a phase file needs phase with steps, or eval_trigger" in done.err


def test_filters_that_keep_nothing_are_wrong_usage_before_anything_is_run(project: Path) -> None:
    change(project, "eval-trigger.yaml", '"critical", "feature-x"', '"nobody-has-this"')
    done = phase(project, "eval-trigger.yaml", "--tests", "green.xml")
    assert done.code == 2
    assert "nobody-has-this" in done.err
    assert "tags: critical, feature-x, slow" in done.err


def test_quiet_prints_the_verdict_alone(project: Path) -> None:
    done = phase(project, "phase.yaml", "-q")
    assert done.out == "PASSED   phase implement-user-authentication   1 eval run\n"
