"""What Python callers can ask of a Harness: the same as the command line, with the same answers."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalharness import (
    Answer,
    CannotResume,
    Case,
    GateOverrides,
    Harness,
    Selection,
    Settings,
    Suite,
    UsageError,
    evaluate,
    load_suite,
)
from evalharness.actions.run_suite import RunRequest, plan_dry
from evalharness.actions.show_run import show_cases
from evalharness.domain.run import EvaluateOptions
from evalharness.errors import NothingSelected
from evalharness.reports.json_report import case_data
from evalharness.reports.words.say import say
from evalharness.testing.executor import FakeExecutor

AGENT = """
def answer(question, context):
    return f"{question} {context.environment.get('WHO', '')}"
"""


@pytest.fixture
def harness() -> Iterator[Harness]:
    with Harness.open(":memory:", settings=Settings()) as opened:
        yield opened


@pytest.fixture
def suite() -> Suite:
    return Suite(
        name="s",
        cases=(
            Case(id="a", input="q", expected="q", tags=("smoke",), category="core"),
            Case(id="b", input="q", expected="q", tags=("slow",), category="core"),
            Case(id="c", input="no", expected="q", category="edge"),
        ),
    )


def ids(run: Any) -> list[str]:
    return [case.id for case in run.suite.cases]


class TestRun:
    @pytest.mark.parametrize(
        ("selection", "kept"),
        [
            (Selection(tags=("smoke", "slow")), ["a", "b"]),
            (Selection(only=("b",)), ["b"]),
            (Selection(categories=("edge",)), ["c"]),
            (Selection(categories=("core",), limit=1), ["a"]),
        ],
    )
    def test_a_selection(self, harness: Harness, suite: Suite, selection: Selection, kept: list[str]) -> None:
        assert ids(harness.run(suite, "echo", selection=selection)) == kept

    def test_what_a_selection_finds_nothing_by_is_named_without_flags(self, harness: Harness, suite: Suite) -> None:
        with pytest.raises(NothingSelected, match=r"matches the name 'x' or 'y' and the tag 'smoke'\n"):
            harness.run(suite, "echo", selection=Selection(only=("x", "y"), tags=("smoke",)))

    def test_a_gate_and_a_baseline(self, harness: Harness, suite: Suite) -> None:
        lenient = harness.run(suite, "echo", gate=GateOverrides(fail_under=0.6))
        assert lenient.report is not None
        assert (lenient.exit_code, lenient.report.gate is not None) == (0, True)
        harness.baseline(lenient.name)
        compared = harness.run(suite, lambda question: "x", gate=GateOverrides(baseline="default"))
        assert compared.report is not None and compared.report.comparison is not None
        assert (compared.exit_code, compared.report.verdict) == (1, "FAILED")

    def test_k_max_failures_and_grader_type(self, harness: Harness, suite: Suite) -> None:
        run = harness.run(suite, "echo", trials=4, k=(2, 4))
        assert run.report is not None
        assert {"pass_at_2", "pass_hat_4"} <= run.report.metrics.keys()
        stopped = harness.run(suite, lambda question: "x", max_failures=1, max_concurrency=1)
        assert len(stopped.trials) < 3
        human = harness.run(suite, "echo", grader_type="human")
        assert {trial.state for trial in human.trials} == {"awaiting"}

    def test_a_run_that_may_stop_early(self, harness: Harness) -> None:
        many = Suite(name="m", cases=tuple(Case(id=f"c{n}", input="q", expected="q") for n in range(30)))
        run = harness.run(many, "echo", sequential=0.2, gate=GateOverrides(fail_under=0.9), max_concurrency=1)
        assert run.report is not None and run.report.sequential is not None
        assert run.exit_code == 0
        assert any(trial.state == "skipped" for trial in run.trials)

    def test_only_what_failed(self, harness: Harness, suite: Suite) -> None:
        first = harness.run(suite, "echo")
        assert ids(harness.run(suite, "echo", failed_of="")) == ["c"]
        assert ids(harness.run(suite, "echo", failed_of=first.name)) == ["c"]

    @pytest.mark.parametrize(
        ("options", "wrong"),
        [
            ({"trials": 0}, "trials must be a whole number, at least 1, not 0"),
            ({"k": (0,)}, "k must be at least 1, not 0"),
            ({"max_failures": 0}, "max_failures must be a whole number, at least 1, not 0"),
            ({"grader_type": "robot"}, "grader_type must be one of code, model, human, not 'robot'"),
            ({"sequential": 10}, "sequential must be a share between 0 and 1, not 10"),
            ({"sequential": 0.1, "k": (2,)}, "a run that may stop early"),
        ],
    )
    def test_what_cannot_be_meant(self, harness: Harness, suite: Suite, options: Any, wrong: str) -> None:
        with pytest.raises(UsageError, match=wrong):
            harness.run(suite, "echo", **options)
        assert harness.runs() == []

    def test_evaluate_takes_what_run_takes(self, suite: Suite) -> None:
        taken = inspect.signature(evaluate).parameters.keys() - {"store"}
        assert taken == inspect.signature(Harness.run).parameters.keys() - {"self"}
        executor = FakeExecutor()
        run = evaluate(
            suite,
            "echo",
            store=":memory:",
            executor=executor,
            selection=Selection(limit=2),
            gate=GateOverrides(fail_under=1),
        )
        assert (run.exit_code, len(executor.units)) == (0, 2)

    def test_no_method_has_more_than_eight_parameters(self) -> None:
        methods = [each for name, each in inspect.getmembers(Harness, inspect.isfunction) if not name.startswith("_")]
        assert [each for each in (*methods, evaluate) if len(inspect.signature(each).parameters) > 9] == []


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda: Selection(tags="smoke"), "tags must be a tuple of texts, not one text"),
        (lambda: Selection(limit=0), "limit must be at least 1, not 0"),
        (lambda: GateOverrides(fail_under=90), "fail_under must be a share from 0 to 1, not 90"),
        (lambda: GateOverrides(tolerance=2), "tolerance must be a share from 0 to 1, not 2"),
        (lambda: GateOverrides(preset="strict"), "preset must be one of development, staging, production, critical"),
        (lambda: GateOverrides(inconclusive="maybe"), "inconclusive must be one of pass, fail"),
        (lambda: GateOverrides(baseline="none", strict_flips=True), "strict_flips needs a baseline"),
    ],
)
def test_a_wrong_value_is_refused_where_it_is_written(make: Any, wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong):
        make()


class TestRegrade:
    SUITE = "name: s\ntarget: agent.py:answer\ntest_cases: [{id: a, input: q, expected: {contains: '{{api_key}}'}}]\n"

    def test_with_a_secret_variable_and_an_environment(self, tmp_path: Path, harness: Harness) -> None:
        (tmp_path / "agent.py").write_text(AGENT)
        (tmp_path / "suite.yaml").write_text(self.SUITE)
        secret = "sk-very-secret-123"
        run = harness.run(tmp_path / "suite.yaml", variables={"api_key": secret}, env={"WHO": "Ada"})
        again = harness.regrade(run.name, variables={"api_key": "q"}, env={"WHO": "Bob"})
        assert (run.exit_code, again.exit_code, len(again.trials)) == (1, 0, 1)
        assert again.options.env["WHO"] == "Bob"

    def test_with_a_selection_and_a_gate(self, harness: Harness, suite: Suite) -> None:
        run = harness.run(suite, "echo")
        again = harness.regrade(run.name, selection=Selection(tags=("smoke",)), gate=GateOverrides(fail_under=0.5))
        assert again.report is not None and again.report.gate is not None
        assert (ids(again), again.exit_code) == (["a"], 0)

    def test_what_puts_it_in_doubt_is_in_its_report(self, harness: Harness, suite: Suite) -> None:
        run = harness.run(suite, lambda question: "x", max_failures=1, max_concurrency=1)
        again = harness.regrade(run.name)
        assert again.report is not None
        assert "regrade.pending" in [note.code for note in again.report.notes if note.severity == "warning"]


def test_what_would_be_run_is_data(harness: Harness, suite: Suite, tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text("name: s\ntarget: echo\ntrials: 3\ntest_cases: [{id: a, input: q, expected: q}]")
    [planned] = harness.call(plan_dry, RunRequest(suites=(str(file),)))
    assert planned.model_dump(mode="json") == {
        "suite": "s", "variant": "echo", "target": "echo", "cases": 1, "trials_per_case": 3, "trials": 3,
        "known_cost_usd": None,
    }  # fmt: skip


def test_one_case_is_data(harness: Harness, suite: Suite) -> None:
    run = harness.run(suite, "echo")
    shown = harness.call(show_cases, run, ["a"])[0]
    document = case_data(shown.case, shown.history, shown.trials)
    assert (document["case"]["id"], document["history"]["failure_count"]) == ("a", 0)
    assert [(row["state"], row["trial"]["case_id"]) for row in document["trials"]] == [("passed", "a")]


class TestResume:
    def test_a_run_that_was_stopped(self, tmp_path: Path, harness: Harness) -> None:
        (tmp_path / "agent.py").write_text("def answer(question): return 'x'")
        cases = "[{id: a, input: q, expected: q}, {id: b, input: q, expected: q}]"
        (tmp_path / "suite.yaml").write_text(f"name: s\ntarget: agent.py:answer\ntest_cases: {cases}")
        stopped = harness.run(tmp_path / "suite.yaml", max_failures=1, max_concurrency=1)
        executor = FakeExecutor()
        [by_name] = harness.resume(stopped.name, executor=executor)
        [newest] = harness.resume()
        assert (len(stopped.trials), len(by_name.trials), len(executor.units)) == (1, 2, 1)
        assert (newest.id, newest.exit_code) == (stopped.id, 1)

    def test_a_cap_is_kept(self, harness: Harness, suite: Suite) -> None:
        harness.run(suite, "echo")
        with pytest.raises(UsageError, match="max_cost_usd must be above 0, not -1"):
            harness.resume(max_cost_usd=-1)

    @pytest.mark.parametrize(
        "option", [{"gate": GateOverrides(fail_under=1)}, {"selection": Selection(limit=1)}, {"k": (2,)}]
    )
    def test_a_run_goes_on_as_it_began(self, harness: Harness, suite: Suite, option: EvaluateOptions) -> None:
        run = harness.run(suite, "echo")
        with pytest.raises(CannotResume, match=f"continues with its own {next(iter(option))}"):
            harness.run(suite, "echo", resume=run.name, **option)


class TestGate:
    def test_a_stored_run_is_judged_again_and_written(self, tmp_path: Path, harness: Harness, suite: Suite) -> None:
        run = harness.run(suite, "echo")
        judged = harness.gate(run.name, GateOverrides(fail_under=0.6))
        assert (run.exit_code, judged.report.exit_code, judged.report.verdict) == (1, 0, "PASSED")
        harness.write_report(judged, tmp_path / "gate.json")
        written = json.loads((tmp_path / "gate.json").read_text())["eval_report"]
        assert (written["verdict"], len(written["trials"])) == ("PASSED", 3)
        assert harness.gate(tmp_path / "gate.json", GateOverrides(fail_under=0.9)).report.exit_code == 1

    def test_without_any_gate(self, harness: Harness, suite: Suite) -> None:
        run = harness.run(suite, "echo")
        with pytest.raises(UsageError, match="has no gate, and none was given"):
            harness.gate(run.name)


class TestPlan:
    def test_by_the_last_run(self, harness: Harness, suite: Suite, tmp_path: Path) -> None:
        file = tmp_path / "suite.yaml"
        file.write_text("name: s\ntest_cases: [{id: a, input: q, expected: q}, {id: b, input: q, expected: q}]")
        run = harness.run(file, lambda question: Answer(output=question), trials=3)
        plan = harness.plan(file, 0.1, trials=2)
        assert (plan.run_name, plan.effect, plan.trials) == (run.name, 0.1, 2)

    @pytest.mark.parametrize(
        ("asked", "wrong"),
        [
            ({"effect": 5}, "effect must be a share above 0, at most 1, not 5"),
            ({"power": 80}, "power must be between 0.5 and 1, not 80"),
            ({"alpha": 0}, "alpha must be above 0 and below 0.25, not 0"),
            ({"trials": 0}, "trials must be at least 1, not 0"),
        ],
    )
    def test_what_cannot_be_meant(self, harness: Harness, asked: Any, wrong: str) -> None:
        with pytest.raises(UsageError, match=wrong):
            harness.plan("suite.yaml", **asked)


def test_validate(tmp_path: Path, harness: Harness) -> None:
    (tmp_path / "good.yaml").write_text("name: s\ntest_cases: [{id: a, input: q, expected: q}]")
    (tmp_path / "bad.yaml").write_text("name: s\ntest_cases: [{id: a, inputt: q}]")
    found = {file.path.name: file for file in harness.validate(tmp_path)}
    assert found["good.yaml"].suite is not None and not found["good.yaml"].problems
    assert any("inputt" in say(problem) for problem in found["bad.yaml"].problems)
    [native] = harness.validate(tmp_path / "good.yaml", format_name="native")
    assert native.format == "native"


class TestVerify:
    def test_a_run_and_its_report(self, tmp_path: Path, harness: Harness, suite: Suite) -> None:
        run = harness.run(suite, "echo")
        file = tmp_path / "r.json"
        harness.write_report(run, file)
        assert (harness.verify(run.name).differs, harness.verify(file).differs) == (False, False)
        file.write_text(file.read_text().replace('"passed": 2', '"passed": 3', 1))
        found = harness.verify(file)
        assert found.differs
        assert any("passed" in wrong.figure for wrong in found.reports[0].mismatches)

    def test_a_published_table(self, tmp_path: Path, harness: Harness) -> None:
        table = tmp_path / "table.json"
        table.write_text(json.dumps({"airline": {"pass_1": 42.0, "pass_2": 27.3, "pass_3": 22.0, "pass_4": 20.0}}))
        for tasks in (50, {"airline": 50}):
            [row] = harness.verify(table, tasks=tasks).rates
            assert row.histogram == (14, 12, 10, 4, 10)
        assert harness.verify(table, tasks=7).differs
        with pytest.raises(UsageError, match="the number of tasks must be from 1 to 1,000,000, not 0"):
            harness.verify(table, tasks=0)


@pytest.mark.parametrize("given", [3, None, [3]])
def test_runs_and_suites_are_named_by_texts(given: Any) -> None:
    with Harness.open(":memory:") as harness:
        for call in (harness.load_run, harness.baseline):
            with pytest.raises(UsageError, match="name a run by its id or its name, not"):
                call(given)
    with pytest.raises(UsageError, match="name a suite file by its path, not"):
        load_suite(given)
