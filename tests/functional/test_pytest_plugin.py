"""The pytest plug-in, in real pytest processes: the marker, the fixture, files with one test per case."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest_plugins = ["pytester"]

AGENT = """
from evalharness import TargetUnavailable

ANSWERS = {"France": "Paris", "Australia": "Sydney", "Peru": "Lima"}


def answer(question):
    print("asked:", question)
    return next((city for country, city in ANSWERS.items() if country in question), "no idea")


def right(question):
    return {"Australia": "Canberra"}.get(question.split()[-1].strip("?")) or answer(question)


def away(question):
    raise TargetUnavailable("the server is down")
"""
SUITE = """name: capitals
target: agent.py:answer
test_cases:
  - {id: france, input: Capital of France?, expected: Paris, tags: [europe]}
  - {id: australia, input: Capital of Australia?, expected: Canberra}
  - id: peru
    input: Capital of Peru?
    expected: {contains: Lima}
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Warnings are errors and markers strict: the plug-in disturbs neither."""
    monkeypatch.delenv("CI", raising=False)  # pytest would repeat whole failures in its summary
    pytester.makeini("[pytest]\naddopts = --strict-markers --strict-config -p no:randomly\nfilterwarnings = error\n")
    pytester.path.joinpath("agent.py").write_text(AGENT)
    pytester.path.joinpath("capitals.eval.yaml").write_text(SUITE)
    return pytester


DOCS = Path(__file__).parents[2] / "docs" / "pytest.md"


def run(project: pytest.Pytester, *words: str) -> pytest.RunResult:
    return project.runpytest_subprocess(*words)


def suite(project: pytest.Pytester, name: str, text: str) -> None:
    project.path.joinpath(name).write_text(text)


# Files: one test per case.


def test_each_case_of_a_file_is_a_test_and_a_failing_one_shows_the_difference(project: pytest.Pytester) -> None:
    done = run(project, "-v")
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(
        [
            "capitals.eval.yaml::france PASSED*",
            "capitals.eval.yaml::australia FAILED*",
            "capitals.eval.yaml::peru PASSED*",
            "*exact: expected 'Canberra', got 'Sydney'",
            "*australia   0 of 1 trial passed",
            "  asked     Capital of Australia?",
            "            - Canberra",
            "            + Sydney",
            "look   eval-harness show * --store .evalharness/pytest/*",
            "asked: Capital of Australia?",
            "FAILED capitals.eval.yaml::australia - Failed: exact: expected 'Can*",
        ]
    )
    assert "Traceback" not in done.stdout.str()
    assert "pytest_cases.py" not in done.stdout.str()


def test_the_command_that_a_failing_test_names_shows_the_answer(project: pytest.Pytester) -> None:
    done = run(project)
    [look] = [line for line in done.outlines if line.startswith("look ")]
    shown = subprocess.run(
        [sys.executable, "-m", "evalharness", *look.split()[2:]], capture_output=True, text=True, check=True
    )
    assert "+ Sydney" in shown.stdout


def test_cases_are_chosen_by_name_by_tag_and_by_node_id(project: pytest.Pytester) -> None:
    run(project, "-k", "peru").assert_outcomes(passed=1, deselected=2)
    run(project, "-k", "europe").assert_outcomes(passed=1, deselected=2)
    run(project, "capitals.eval.yaml::france").assert_outcomes(passed=1)
    run(project, "-m", "not eval").assert_outcomes(deselected=3)


def test_last_failed_runs_the_failed_case_again(project: pytest.Pytester) -> None:
    run(project).assert_outcomes(passed=2, failed=1)
    again = run(project, "--lf", "-v")
    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["capitals.eval.yaml::australia FAILED*"])
    suite(project, "capitals.eval.yaml", SUITE.replace("agent.py:answer", "agent.py:right"))
    run(project, "--lf").assert_outcomes(passed=1)


def test_cases_of_one_file_spread_over_workers_that_share_a_store(project: pytest.Pytester) -> None:
    many = "".join(f"  - {{id: case-{n}, input: Capital of France?, expected: Paris}}\n" for n in range(12))
    suite(project, "many.eval.yaml", f"name: many\ntarget: agent.py:answer\ntest_cases:\n{many}")
    done = run(project, "-n", "2", "many.eval.yaml", "-v")
    done.assert_outcomes(passed=12)
    assert {"[gw0]", "[gw1]"} <= {word for line in done.outlines for word in line.split()}
    [store] = project.path.joinpath(".evalharness", "pytest").iterdir()
    listed = subprocess.run(
        [sys.executable, "-m", "evalharness", "runs", "--json", "--store", str(store)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(json.loads(listed.stdout)["runs"]) == 12


def test_a_junit_file_tells_failures_errors_and_skipped_cases_apart(project: pytest.Pytester) -> None:
    suite(
        project, "away.eval.yaml", "name: away\ntarget: agent.py:away\ntest_cases: [{id: a, input: b, expected: c}]\n"
    )
    suite(
        project,
        "people.eval.yaml",
        "name: people\ntarget: agent.py:answer\ntest_cases: [{id: tone, input: b, graders: [human]}]\n",
    )
    done = run(project, "--junitxml=out.xml", "-rs")
    done.assert_outcomes(passed=2, failed=1, errors=1, skipped=1)
    cases = {case.get("name"): case for case in ElementTree.parse(project.path / "out.xml").iter("testcase")}
    kinds = {name: [child.tag for child in case] for name, case in cases.items()}
    assert kinds == {"a": ["error"], "france": [], "australia": ["failure"], "peru": [], "tone": ["skipped"]}
    assert "the server is down" in cases["a"][0].get("message", "")
    assert "got 'Sydney'" in cases["australia"][0].get("message", "")
    done.stdout.fnmatch_lines(["SKIPPED * people.eval.yaml:3: awaiting: *"])
    done.stdout.fnmatch_lines(["*ERROR at setup of a*", "the server is down"])
    assert "pytest_cases.py" not in done.stdout.str()


def test_errors_and_skips_are_the_same_on_workers(project: pytest.Pytester) -> None:
    suite(
        project, "away.eval.yaml", "name: away\ntarget: agent.py:away\ntest_cases: [{id: a, input: b, expected: c}]\n"
    )
    run(project, "-n", "2").assert_outcomes(passed=2, failed=1, errors=1)


def test_a_broken_file_is_an_error_of_collecting_with_all_its_problems(project: pytest.Pytester) -> None:
    suite(project, "broken.eval.yaml", "name: x\ntest_cases:\n  - {id: a, inptu: b}\n  - {id: a, input: b}\n")
    done = run(project, "broken.eval.yaml")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*broken.eval.yaml:3*unknown key 'inptu'; did you mean 'input'*"])
    assert "Traceback" not in done.stdout.str()


def test_the_gate_of_a_suite_is_not_asked_about_a_single_case(project: pytest.Pytester) -> None:
    gated = SUITE.replace("test_cases:", "gate: {regression: {baseline: no-such-baseline}}\ntest_cases:")
    suite(project, "capitals.eval.yaml", gated)
    run(project, "-k", "france").assert_outcomes(passed=1, deselected=2)


def test_every_variant_of_a_suite_counts(project: pytest.Pytester) -> None:
    variants = "variants: {good: agent.py:right, bad: agent.py:answer}\n"
    suite(project, "capitals.eval.yaml", SUITE.replace("target: agent.py:answer\n", variants))
    done = run(project)
    done.assert_outcomes(passed=2, failed=1)
    assert done.stdout.str().count("0 of 1 trial passed") == 1


def test_collecting_runs_nothing_and_writes_nothing(project: pytest.Pytester) -> None:
    done = run(project, "--collect-only", "-q")
    done.stdout.fnmatch_lines(["capitals.eval.yaml::france"])
    assert not project.path.joinpath(".evalharness").exists()


def test_old_stores_are_removed_and_a_named_one_is_kept(project: pytest.Pytester) -> None:
    for _ in range(6):
        run(project, "-k", "france")
    sessions = project.path / ".evalharness" / "pytest"
    assert len(list(sessions.iterdir())) == 4, "this session and three before it"
    assert (project.path / ".evalharness" / ".gitignore").read_text() == "*\n"
    run(project, "-k", "france", "--evals-store", "kept.db")
    run(project, "-k", "france", "-o", "evals_store=kept.db")
    listed = subprocess.run(
        [sys.executable, "-m", "evalharness", "runs", "--json", "--store", "kept.db"],
        capture_output=True,
        text=True,
        check=True,
        cwd=project.path,
    )
    assert len(json.loads(listed.stdout)["runs"]) == 2
    assert len(list(sessions.iterdir())) == 4


def test_warnings_of_a_file_are_warnings_of_pytest(project: pytest.Pytester) -> None:
    text = "name: open\ntarget: agent.py:answer\ntest_cases:\n  - {id: unchecked, input: x}\n"
    (project.path / "open.eval.yaml").write_text(text)
    done = run(project, "open.eval.yaml", "-W", "always")
    done.stdout.fnmatch_lines(["*EvalWarning: open.eval.yaml:4: *nothing is checked: any answer passes*"])
    strict = run(project, "open.eval.yaml", "-W", "error")
    strict.assert_outcomes(errors=1)


# The marker.


def test_a_marked_test_fails_with_the_verdict_of_its_run_and_its_body_is_not_reached(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.eval(suite="capitals.eval.yaml", repeat=2, gate=0.9)
        def test_capitals():
            raise AssertionError("not reached")
        """
    )
    done = run(project, "-k", "test_capitals")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        ["FAILED: 1 failed, 2 passed; *", "*australia   0/2   exact", "gate  *pass rate 67 %, 90 % needed*"]
    )
    assert "not reached" not in done.stdout.str()


def test_a_marked_test_goes_on_with_the_run_if_that_passed(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_marked="""
        import pytest
        from agent import right

        @pytest.mark.eval("capitals.eval.yaml", target=right, repeat=3)
        def test_all(evals):
            [run] = evals.runs
            assert (run.pass_rate, len(run.trials)) == (1.0, 9)

        @pytest.mark.eval("capitals.eval.yaml", gate={"fail_under": 0.5})
        class TestBoth:
            @pytest.mark.eval("capitals.eval.yaml", right)
            def test_two(self, evals):
                assert [round(run.pass_rate, 2) for run in evals.runs] == [0.67, 1.0]

        @pytest.mark.eval("capitals.eval.yaml", gate=0.5)
        async def test_async_functions_are_left_to_their_plugin():
            pass
        """
    )
    done = run(project, "test_marked.py", "-k", "not async")
    done.assert_outcomes(passed=2, deselected=1)


def test_wrong_markers_and_broken_runs_are_errors_in_words(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_wrong="""
        import pytest

        @pytest.mark.eval(siute="capitals.eval.yaml")
        def test_misspelt(): pass

        @pytest.mark.eval(suite="capitals.eval.yaml", bogus=0)
        def test_bogus(): pass

        @pytest.mark.eval(target="agent.py:answer")
        def test_no_suite(): pass

        @pytest.mark.eval("capitls.eval.yaml")
        def test_no_file(): pass

        @pytest.mark.eval("capitals.eval.yaml", gate="relaxed")
        def test_no_preset(): pass

        @pytest.mark.eval("capitals.eval.yaml", gate="staging")
        def test_one_trial(): pass

        @pytest.mark.eval("capitals.eval.yaml", "agent.py:away")
        def test_away(): pass
        """
    )
    done = run(project, "test_wrong.py")
    done.assert_outcomes(errors=7)
    done.stdout.fnmatch_lines(
        [
            "@pytest.mark.eval: unknown argument 'siute'",
            "  did you mean 'suite'? Known: suite, target, repeat, gate, *",
            "@pytest.mark.eval: unknown argument 'bogus'",
            "  Known: suite, target, repeat, gate, *",
            "*mark.eval: missing 1 required positional argument: 'suite'*",
            "capitls.eval.yaml: no such file*did you mean *capitals.eval.yaml*",
            "preset must be one of development, staging, production, critical, not 'relaxed'",
            "the gate needs more trials*",
            "  set trials: 3 in the suite, or give repeat=3 to the marker or to evals.run",
            "INVALID: 3 errors;*",
            "*the server is down*",
        ]
    )
    assert "Traceback" not in done.stdout.str()


def test_a_bare_marker_is_only_a_label(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_label="""
        import pytest

        @pytest.mark.eval
        def test_own_eval(): pass

        def test_other(): pass
        """
    )
    run(project, "test_label.py", "-m", "eval").assert_outcomes(passed=1, deselected=1)


def test_no_answer_becomes_a_command_of_a_workflow(project: pytest.Pytester) -> None:
    hostile = "def answer(question):\n    return 'x\\n::set-output name=a::b\\n##[error]c'\n"
    project.path.joinpath("agent.py").write_text(hostile)
    done = project.run("env", "GITHUB_ACTIONS=true", sys.executable, "-m", "pytest")
    done.assert_outcomes(failed=3)
    assert "set-output name=a::b" in done.stdout.str()
    assert not [line for line in done.outlines if line.lstrip().startswith("::") or "##[" in line]


def test_a_run_that_awaits_people_is_skipped(project: pytest.Pytester) -> None:
    suite(
        project, "tone.yaml", "name: tone\ntarget: agent.py:answer\ntest_cases: [{id: a, input: b, graders: [human]}]\n"
    )
    project.makepyfile(
        test_tone="""
        import pytest

        @pytest.mark.eval("tone.yaml")
        def test_tone():
            raise AssertionError
        """
    )
    done = run(project, "test_tone.py", "-rs")
    done.assert_outcomes(skipped=1)
    done.stdout.fnmatch_lines(["SKIPPED * test_tone.py:*: UNDECIDED: 1 awaiting*"])


# The fixture.


def test_the_fixture_runs_suites_and_checks_them(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_fixture="""
        import pytest
        from evalharness import Case, Suite

        @pytest.fixture
        def agent():
            return lambda question: "Canberra" if "Australia" in question else "Paris"

        def test_run(evals, agent):
            run = evals.run("capitals.eval.yaml", agent, repeat=2)
            assert run.report.summary.passed == 2
            assert [failure.eval_id for failure in run.failures] == ["peru"]

        def test_suite_in_python(evals, agent):
            evals.check(evals.run(Suite(name="s", cases=[Case(input="Australia?", expected="Canberra")]), agent))

        def test_check(evals):
            evals.check(evals.run("capitals.eval.yaml", max_concurrency=1))

        def test_broken(evals):
            evals.check(evals.run("capitals.eval.yaml", "agent.py:away"))
        """
    )
    done = run(project, "test_fixture.py")
    done.assert_outcomes(passed=2, failed=1, errors=1)
    done.stdout.fnmatch_lines(["*ERROR at setup of test_broken*", "*FAILED: 1 failed, 2 passed*", "*- Canberra"])
    assert "pytest_evals.py" not in done.stdout.str()


def test_no_command_is_proposed_that_cannot_have_the_target(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_own="""
        def test_own(evals):
            evals.check(evals.run("capitals.eval.yaml", lambda question: "Rome"))

        def test_named(evals):
            evals.check(evals.run("capitals.eval.yaml", "agent.py:answer"))
        """
    )
    done = run(project, "test_own.py")
    done.assert_outcomes(failed=2)
    own, _, named = done.stdout.str().partition("test_named")
    assert "look     eval-harness show" in own
    assert "rerun " not in own
    assert "rerun    eval-harness run capitals.eval.yaml --target agent.py:answer --failed" in named


def test_a_store_that_cannot_be_written_names_the_flag_of_pytest(project: pytest.Pytester) -> None:
    project.path.joinpath("runs").write_text("no store")
    done = run(project, "--evals-store", "runs/inside.db", "-k", "france")
    done.assert_outcomes(errors=1, deselected=2)
    assert "name another store with --evals-store" in done.stdout.str()


def test_it_works_beside_a_running_event_loop(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_loop="""
        import asyncio

        def test_loop(evals):
            async def main():
                return evals.run("capitals.eval.yaml", gate=0.5)
            evals.check(asyncio.run(main()))
        """
    )
    run(project, "test_loop.py").assert_outcomes(passed=1)


def test_the_files_of_the_documentation_do_what_it_says(pytester: pytest.Pytester) -> None:
    blocks = re.findall(r"^```\w+\n# ([\w.]+)\n(.*?)^```$", DOCS.read_text(), re.MULTILINE | re.DOTALL)
    for name, text in blocks:
        pytester.path.joinpath(name).write_text(text)
    done = run(pytester, "-v", "-p", "no:randomly")
    done.assert_outcomes(passed=2, failed=2)
    done.stdout.fnmatch_lines(["test_agent.py::test_capitals FAILED*", "test_fixture.py::test_agent PASSED*"])
    assert sorted(name for name, _ in blocks) == ["agent.py", "capitals.eval.yaml", "test_agent.py", "test_fixture.py"]


# Projects that do not use it.


def test_loading_it_imports_neither_pydantic_nor_the_harness(project: pytest.Pytester) -> None:
    project.path.joinpath("capitals.eval.yaml").unlink()
    project.makepyfile(
        test_unused="""
        import sys

        def test_imports():
            heavy = ("evalharness", "pydantic", "rich", "yaml")
            ours = {name for name in sys.modules if name.partition(".")[0] in heavy}
            assert ours == {"evalharness", "evalharness.testing", "evalharness.testing.pytest_plugin"}
        """
    )
    run(project, "test_unused.py").assert_outcomes(passed=1)
    run(project, "test_unused.py", "-n", "1").assert_outcomes(passed=1)
    assert sorted(path.name for path in Path(project.path).iterdir() if path.name.startswith(".e")) == []


def test_marker_and_options_are_documented_by_pytest_itself(project: pytest.Pytester) -> None:
    run(project, "--markers").stdout.fnmatch_lines(
        ["@pytest.mark.eval(suite, target=None, *, repeat=None, gate=None)*"]
    )
    run(project, "--help").stdout.fnmatch_lines(["*--evals-store=STORE*", "*evals_store*"])
