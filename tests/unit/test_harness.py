"""The single entry point: what it offers, and that runs in one process stay separate and leave no traces."""

from __future__ import annotations

import asyncio
import copy
import gc
import importlib
import inspect
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from evalharness import (
    Answer,
    Case,
    Harness,
    HarnessError,
    Settings,
    Suite,
    SuiteConfig,
    TargetUnavailable,
    UsageError,
    evaluate,
)
from evalharness.actions.evaluate import Evaluation, evaluate_suite
from evalharness.actions.run_suite import RunRequest, plan_dry, run_suites
from evalharness.contracts.budget import Budget
from evalharness.contracts.context import Context
from evalharness.contracts.executor import Executor, ExecutorSession, RunSpec, WorkUnit
from evalharness.contracts.store import JudgeCache
from evalharness.domain.run import Run, RunOptions
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.trial import Attempt, Trial
from evalharness.engine.planning.planned_cases import PlannedCase
from evalharness.engine.running.budget import RunBudget
from evalharness.engine.running.local_executor import LocalExecutor
from evalharness.errors import StoreError, UnknownName
from evalharness.sandboxes.process_tree import adopts_orphans
from evalharness.testing.executor import FakeExecutor
from evalharness.testing.store import FakeStore

INSTALLED = (str(Path(__file__).parents[2]), sys.prefix, sys.base_prefix)
AGENT = """
def answer(question, context):
    return f"{question} {context.seed} {context.environment.get('WHO', '?')}"
"""


def suite_of(cases: int, name: str = "s", trials: int = 1) -> Suite:
    return Suite(
        name=name,
        trials=trials,
        cases=tuple(Case(id=f"c{n}", input="q", expected={"contains": "q"}) for n in range(cases)),
    )


def passes(context: Any) -> bool:
    return True


def footprint() -> dict[str, Any]:
    """Everything in a process that a library must not change."""
    return {
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "has timer": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
        "environment": dict(os.environ),
        "gc": (gc.isenabled(), gc.get_threshold()),
        "os": {name: getattr(os, name) for name in ("_exit", "fork", "kill", "environ")},
        "descriptors": sorted(str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.exists()),
        "switching": sys.getswitchinterval(),
        "streams": (sys.stdout, sys.stderr, sys.excepthook),
        "folder": Path.cwd(),
        "adopts orphans": adopts_orphans(),
        "imports": ([*sys.path], [*sys.meta_path], [*sys.path_hooks]),
        "modules": [name for name, module in sys.modules.items() if is_users_own(module)],
    }


def is_users_own(module: Any) -> bool:
    """Whether a test wrote it. Installed modules may be imported during a run, and stay."""
    file, name = getattr(module, "__file__", None), getattr(module, "__name__", "")
    return str(name).startswith("evalharness_user") or (file is not None and not str(file).startswith(INSTALLED))


def suite_folder(folder: Path, word: str, target: str = "agent.py:answer") -> Path:
    """A suite whose agent needs a module beside it, once at the start and once when it is called."""
    folder.mkdir()
    folder.joinpath("helper.py").write_text(f"WORD = {word!r}")
    folder.joinpath("late_helper.py").write_text("from helper import WORD")
    folder.joinpath("agent.py").write_text(
        "import helper\ndef answer(question):\n    import late_helper\n    return helper.WORD + late_helper.WORD\n"
        "def judge(context):\n    from helper import WORD\n    return context.text == 2 * WORD\n"
    )
    file = folder / "suite.yaml"
    file.write_text(
        f"name: {word}\ntarget: {target}\ntrials: 20\n"
        f"test_cases:\n  - {{id: a, input: q, expected: {2 * word}, graders: ['agent.py:judge']}}\n"
    )
    return file


class TestTwoRunsAtOnce:
    """Each prints the other's secret, which it need not hide, and its own, which must not be stored."""

    def settings(self, secret: str) -> Settings:
        return Settings({"API_KEY": secret, "WHO": secret[:5], "PATH": os.environ["PATH"]})

    def asked(self, name: str, meet: Any) -> Evaluation:
        async def target(question: str, context: Any) -> str:
            await meet()
            return f"q alpha-secret-1 bravo-secret-2 of {context.environment['WHO']}"

        return Evaluation(suite_of(5, name), target)

    def check(self, run: Run, own: str, other: str) -> None:
        assert (run.exit_code, len(run.trials)) == (0, 5)
        for trial in run.trials:
            assert own not in str(trial.output)
            assert "[redacted:API_KEY]" in str(trial.output)
            assert other in str(trial.output), "another run's secret is not a secret here"

    def test_in_threads(self, tmp_path: Path) -> None:
        together = threading.Barrier(2)
        ended: dict[str, Run] = {}

        def work(name: str, secret: str) -> None:
            met = False

            async def meet() -> None:
                nonlocal met
                if not met:
                    met = True
                    await asyncio.to_thread(together.wait, 30)

            with Harness.open(tmp_path / "store.db", settings=self.settings(secret)) as harness:
                ended[name] = harness.call(evaluate_suite, self.asked(name, meet))

        before = footprint()
        secrets = {"a": "alpha-secret-1", "b": "bravo-secret-2"}
        threads = [threading.Thread(target=work, args=each) for each in secrets.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert footprint() == before
        self.check(ended["a"], "alpha-secret-1", "bravo-secret-2")
        self.check(ended["b"], "bravo-secret-2", "alpha-secret-1")

    def test_in_one_loop_on_one_store(self, tmp_path: Path) -> None:
        async def both(context: Context) -> list[Run]:
            together = asyncio.Barrier(2)
            waited: set[str] = set()

            def meeting(name: str) -> Any:
                async def meet() -> None:
                    if name not in waited:
                        waited.add(name)
                        await asyncio.wait_for(together.wait(), 30)

                return meet

            contexts = [
                Context(context.store, self.settings("alpha-secret-1")),
                Context(context.store, self.settings("bravo-secret-2")),
            ]
            names = ("a", "b")
            runs = [
                evaluate_suite(each, self.asked(name, meeting(name)))
                for each, name in zip(contexts, names, strict=True)
            ]
            return await asyncio.gather(*runs)

        before = footprint()
        with Harness.open(tmp_path / "store.db", settings=Settings()) as harness:
            first, second = harness.call(both)
        assert footprint() == before
        self.check(first, "alpha-secret-1", "bravo-secret-2")
        self.check(second, "bravo-secret-2", "alpha-secret-1")

    def test_overlapping_evaluations_leave_no_trace(self) -> None:
        before = footprint()
        inside = threading.Barrier(2)
        ended: list[Run] = []

        def run_it() -> None:
            def target(question: str) -> str:
                inside.wait(30)
                return question

            ended.append(evaluate(suite_of(1), target, store=":memory:"))

        threads = [threading.Thread(target=run_it) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert footprint() == before
        assert [run.exit_code for run in ended] == [0, 0], "each met the other inside its target"

    def test_commands_leave_no_trace(self) -> None:
        before = footprint()
        run = evaluate(suite_of(3), "cmd:cat", store=":memory:")
        assert run.exit_code == 0
        assert footprint() == before


class TestUsersModules:
    """Functions by reference: each run uses the modules beside its own suite, as they are when it begins."""

    def files(self, folder: Path, target: str = "agent.py:answer") -> dict[str, Path]:
        return {word: suite_folder(folder / word, word, target) for word in ("ada", "bob")}

    def test_in_threads(self, tmp_path: Path) -> None:
        files, ended = self.files(tmp_path), {}
        before = footprint()

        def work(word: str) -> None:
            ended[word] = evaluate(files[word], store=":memory:")

        threads = [threading.Thread(target=work, args=(word,)) for word in files]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert footprint() == before
        assert {word: run.report.verdict for word, run in ended.items() if run.report} == dict.fromkeys(files, "PASSED")

    def test_in_one_loop(self, tmp_path: Path) -> None:
        files = self.files(tmp_path)

        async def both(context: Context) -> list[Run]:
            return await asyncio.gather(*(evaluate_suite(context, Evaluation(file)) for file in files.values()))

        before = footprint()
        with Harness.open(":memory:", settings=Settings()) as harness:
            runs = harness.call(both)
        assert footprint() == before
        assert [run.exit_code for run in runs] == [0, 0]

    def test_all_suites_of_one_call(self, tmp_path: Path) -> None:
        paths = tuple(map(str, self.files(tmp_path).values()))
        before = footprint()
        with Harness.open(":memory:", settings=Settings()) as harness:
            runs = harness.call(run_suites, RunRequest(suites=paths))
        assert footprint() == before
        assert [run.exit_code for run in runs] == [0, 0]

    def test_in_processes_of_their_own(self, tmp_path: Path) -> None:
        files = self.files(tmp_path, "{function: agent.py:answer, isolate: process}")
        before = footprint()
        runs = [evaluate(file, trials=1, store=":memory:") for file in files.values()]
        assert footprint() == before
        assert [run.exit_code for run in runs] == [0, 0]

    @pytest.mark.parametrize("reference", ["agent.py:answer", "agent:answer"])
    def test_what_was_edited_is_what_runs_and_what_is_locked(self, reference: str, tmp_path: Path) -> None:
        """Within the same second, and with compiled code of the same size present."""
        file, runs = suite_folder(tmp_path / "ada", "ada", reference), []
        agent = file.with_name("agent.py")
        with Harness.open(":memory:", settings=Settings()) as harness:
            for word in ("ada", "eve"):
                agent.write_text(agent.read_text().replace("helper.WORD + late", f"{word!r} + late"))
                runs.append(harness.run(file, trials=1))
                agent.write_text(agent.read_text().replace(f"{word!r} + late", "helper.WORD + late"))
        assert [run.trials[0].output for run in runs] == ["adaada", "eveada"]
        assert runs[0].lock.target != runs[1].lock.target

    def test_what_fails_before_anything_runs_leaves_nothing_either(self, tmp_path: Path) -> None:
        file = suite_folder(tmp_path / "ada", "ada")
        before = footprint()
        with Harness.open(":memory:", settings=Settings()) as harness:
            harness.call(plan_dry, RunRequest(suites=(str(file),)))
            with pytest.raises(HarnessError, match=r"unknown function 'nobody' in .*"):
                harness.run(suite_folder(tmp_path / "bob", "bob", "agent.py:nobody"))
            file.with_name("agent.py").write_text("import helper\ndef judge(context): ...\nraise ZeroDivisionError")
            with pytest.raises(HarnessError, match="ZeroDivisionError"):
                harness.run(file, "echo")
        assert footprint() == before


class TestTravel:
    def spec(self, folder: Path) -> RunSpec:
        folder.joinpath("agent.py").write_text(AGENT)
        target = TargetSpec.model_validate("agent.py:answer")
        return RunSpec(suite_of(3), target, folder, RunOptions(), environment={"WHO": "Ada"})

    def test_a_unit_gives_the_same_trial_in_a_fresh_process(self, tmp_path: Path) -> None:
        spec, unit = self.spec(tmp_path), WorkUnit("c1", 0, 42)

        async def here() -> Trial:
            async with LocalExecutor().open(spec, RunBudget()) as session:
                [trial] = [trial async for trial in session.run("run", units([unit]))]
                return trial

        program = """
import asyncio, pickle, sys
from evalharness.engine.running.local_executor import LocalExecutor
from evalharness.errors import UnknownName
from evalharness.engine.planning.planned_cases import PlannedCase
from evalharness.engine.running.budget import RunBudget

async def units(given):
    for unit in given:
        yield unit

async def main():
    spec, unit = pickle.load(sys.stdin.buffer)
    async with LocalExecutor().open(spec, RunBudget()) as session:
        [trial] = [trial async for trial in session.run("run", units([unit]))]
    sys.stdout.buffer.write(pickle.dumps(trial))

asyncio.run(main())
"""
        done = subprocess.run(
            [sys.executable, "-c", program], input=pickle.dumps((spec, unit)), capture_output=True, check=True
        )
        there: Trial = pickle.loads(done.stdout)
        at_home = asyncio.run(here())
        assert at_home.output == "q 42 Ada"
        assert there.model_copy(update={"attempts": (timeless(there.last),)}) == at_home.model_copy(
            update={"attempts": (timeless(at_home.last),)}
        )

    def test_a_bare_function_cannot_travel_and_the_message_says_how_to_name_it(self, tmp_path: Path) -> None:
        target = TargetSpec.model_validate(lambda question: question)
        with pytest.raises(UsageError, match=r"^the target .*lambda.*only in the program that created it") as refusal:
            pickle.dumps(RunSpec(suite_of(1), target, tmp_path, RunOptions()))
        assert "module:attr or file.py:attr" in refusal.value.hint

    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
    def test_a_copy_stays_in_its_program_and_may_have_any_function(
        self, tmp_path: Path, copied: Callable[[RunSpec], RunSpec]
    ) -> None:
        spec = RunSpec(suite_of(1), TargetSpec.model_validate(passes), tmp_path, RunOptions(), {"city": "Lima"})
        assert copied(spec) == spec
        assert copied(spec) is not spec

    @pytest.mark.parametrize("written", [passes, {"all_of": [passes]}, {"not": {"any_of": [passes, "exact"]}}])
    def test_a_grader_of_a_case_cannot_travel_either_and_the_message_names_both(
        self, tmp_path: Path, written: Any
    ) -> None:
        fine = Case(id="b", input="q", graders=("exact",))
        suite = Suite(name="s", cases=(fine, Case(id="a", input="q", graders=(written,))))
        with pytest.raises(UsageError, match=rf"^the grader {__name__}:passes of case a is .* only in the program"):
            pickle.dumps(RunSpec(suite, TargetSpec(kind="echo"), tmp_path, RunOptions()))

    def test_a_grader_of_the_suite_is_named(self, tmp_path: Path) -> None:
        suite = suite_of(1).model_copy(
            update={"graders": (GraderSpec.model_validate({"function": passes, "name": "n"}),)}
        )
        with pytest.raises(UsageError, match=r"^the grader n of the suite is "):
            pickle.dumps(RunSpec(suite, TargetSpec(kind="echo"), tmp_path, RunOptions()))


async def units(given: list[WorkUnit]) -> AsyncIterator[WorkUnit]:
    for unit in given:
        yield unit


def timeless(attempt: Attempt) -> Attempt:
    return attempt.model_copy(update={"duration_s": 0.0})


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("place", [":memory:", "store.db"])
def test_a_closed_harness_says_that_it_is_closed(place: str, is_new: bool, tmp_path: Path) -> None:
    file = tmp_path / place
    with Harness.open(place if place == ":memory:" else file, settings=Settings()) as harness:
        if not is_new:
            harness.run(suite_of(1), "echo")
    uses: list[Callable[[], object]] = [
        harness.runs,
        lambda: harness.run(suite_of(1), "echo"),
        lambda: harness.load_run("any"),
    ]
    for use in uses:
        with pytest.raises(StoreError, match=r"^the store .* is closed\n") as refusal:
            use()
        assert "open the Harness again" in refusal.value.hint
    assert file.exists() == (place == "store.db" and not is_new), "nothing is made after that"


def test_a_fake_store_and_a_fake_executor_carry_a_whole_run() -> None:
    executor, store = FakeExecutor(), FakeStore()
    with Harness.open(store, settings=Settings()) as harness:
        run = harness.run(suite_of(3, trials=2), "echo", executor=executor)
        assert (run.exit_code, len(run.trials), len(executor.units)) == (0, 6, 6)
        assert [unit.trial_index for unit in executor.units] == [0, 0, 0, 1, 1, 1]
        assert harness.load_run(run.name).report == run.report
        assert harness.load_run("latest").id == harness.load_run("-1").id == run.id
        harness.regrade(run.name, executor=executor)
        assert [spec.target for spec in executor.specs][1:] == [None]
        assert len(executor.units) == 12
    assert len(store.list_runs(10)) == 2, "the code that opened the store closes it"


@pytest.mark.parametrize("executor", [FakeExecutor, LocalExecutor])
def test_a_case_is_built_when_its_unit_is_pulled(executor: type[Executor]) -> None:
    """Every case was looked at before, but none was kept."""
    built: list[set[str]] = []
    elsewhere = {id(each): each for each in planned_cases()}  # kept, so that no new case can have their ids

    def answer(question: str) -> str:
        built.append({each.case.id for each in planned_cases() if id(each) not in elsewhere})
        return "wrong"

    with Harness.open(FakeStore(), settings=Settings()) as harness:
        harness.run(suite_of(20), answer, executor=executor(), max_failures=3, max_concurrency=1)
    assert built == [{"c0"}, {"c0", "c1"}, {"c0", "c1", "c2"}]


def planned_cases() -> list[PlannedCase]:
    return [each for each in gc.get_objects() if isinstance(each, PlannedCase)]


@pytest.mark.parametrize("executor", [FakeExecutor, LocalExecutor])
def test_a_case_that_cannot_be_built_is_found_before_the_first_trial(executor: type[Executor]) -> None:
    asked: list[str] = []
    last = Case(id="last", input="q", expected={"regex": "("})
    suite = suite_of(20).model_copy(update={"cases": (*suite_of(20).cases, last)})
    with Harness.open(FakeStore(), settings=Settings()) as harness:
        with pytest.raises(UsageError, match="case last: "):
            harness.run(suite, asked.append, executor=executor())
        assert (asked, harness.runs()) == ([], [])


PLUG_IN = """
from evalharness.contracts.executor import Executor
from evalharness.testing.executor import FakeExecutor
from evalharness.testing.store import FakeStore

class Shelf(FakeStore):
    places = []

    @classmethod
    def open(cls, place, settings, clock):
        cls.places.append((place, settings.environment["WHO"]))
        return super().open(place, settings, clock)

class Counting(FakeExecutor):
    built = []

    def __init__(self):
        super().__init__()
        self.built.append(self)

class Unfinished(Executor):
    pass
"""


class TestPlugIns:
    @pytest.fixture(autouse=True)
    def shelf(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        site = tmp_path / "site"
        information = site / "shelf-1.0.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: shelf\nVersion: 1.0\n")
        (information / "entry_points.txt").write_text(
            "[evalharness.stores]\nshelf = shelf_plug_in:Shelf\nodd = shelf_plug_in:Counting\n"
            "[evalharness.executors]\ncounting = shelf_plug_in:Counting\nunfinished = shelf_plug_in:Unfinished\n"
        )
        (site / "shelf_plug_in.py").write_text(PLUG_IN)
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.delitem(sys.modules, "shelf_plug_in", raising=False)
        monkeypatch.chdir(tmp_path)
        return importlib.import_module("shelf_plug_in")

    def test_a_store_is_chosen_by_name_and_place(self, shelf: Any) -> None:
        with Harness.open("shelf:third floor", settings=Settings({"WHO": "Ada"})) as harness:
            assert harness.run(suite_of(1), "echo").exit_code == 0
            assert len(harness.runs()) == 1
        assert shelf.Shelf.places == [("third floor", "Ada")]

    def test_an_executor_is_chosen_by_name(self, shelf: Any) -> None:
        with Harness.open(":memory:", settings=Settings()) as harness:
            assert harness.run(suite_of(2), "echo", executor="counting").exit_code == 0
            with pytest.raises(UnknownName, match="Did you mean 'counting'"):
                harness.run(suite_of(2), "echo", executor="countng")
        assert [len(executor.units) for executor in shelf.Counting.built] == [2]

    def test_what_is_not_such_a_part_is_refused(self) -> None:
        with pytest.raises(UnknownName, match="Did you mean 'shelf'"):
            Harness.open("shlf:third floor", settings=Settings())
        with pytest.raises(UsageError, match=r"does not inherit from evalharness.contracts.store.Store"):
            Harness.open("odd:", settings=Settings())
        with (
            Harness.open(":memory:", settings=Settings()) as harness,
            pytest.raises(UsageError, match=r"the executor 'unfinished' .* lacks open"),
        ):
            harness.run(suite_of(1), "echo", executor="unfinished")

    def test_files_are_files_with_a_colon_in_their_names_too(self, tmp_path: Path) -> None:
        for place in ("sqlite:plain.db", "./odd:name.db", "odd:name.db"):
            with Harness.open(place, settings=Settings()) as harness:
                harness.run(suite_of(1), "echo")
        assert sorted(path.name for path in tmp_path.glob("*.db")) == ["odd:name.db", "plain.db"]


class Forgetful(Executor):
    """One unit never comes back."""

    @asynccontextmanager
    async def open(
        self, spec: RunSpec, budget: Budget, judge_cache: JudgeCache | None = None
    ) -> AsyncIterator[ExecutorSession]:
        async with LocalExecutor().open(spec, budget, judge_cache) as session:
            self._whole, session.run = session.run, self._run  # type: ignore[method-assign]
            yield session

    async def _run(self, run_id: str, units: AsyncIterator[WorkUnit]) -> AsyncGenerator[Trial, None]:
        async for trial in self._whole(run_id, units):
            if trial.case_id != "c1":
                yield trial


class TestDoor:
    def test_an_executor_that_loses_units_is_at_fault_and_its_run_can_be_resumed(self, tmp_path: Path) -> None:
        with Harness.open(tmp_path / "store.db", settings=Settings()) as harness:
            with pytest.raises(HarnessError, match="the executor ended without finishing 1 trial") as fault:
                harness.run(suite_of(3), "echo", executor=Forgetful())
            assert fault.value.exit_code == 3
            [line] = harness.runs()
            assert (line.verdict, line.pending) == ("", 1)
            assert harness.run(suite_of(3), "echo", resume=line.name).report.summary.trials.pending == 0

    def test_what_is_raised_comes_without_an_unrelated_traceback(self) -> None:
        with pytest.raises(UsageError) as refusal:
            evaluate(suite_of(1), "orcale", store=":memory:")
        shown = "".join(traceback.format_exception(refusal.value))
        assert "event loop" not in shown

    @pytest.mark.parametrize(("env", "named"), [({"PORT": 1}, "'PORT'"), ({1: "x"}, "1"), ({"PORT": None}, "'PORT'")])
    def test_variables_that_are_not_text_are_named(self, env: Any, named: str) -> None:
        with pytest.raises(UsageError, match=f"cannot set the environment variable {named}: .*must be text"):
            evaluate(suite_of(1), "echo", store=":memory:", env=env)

    def test_values_of_variables_that_are_not_text_are_refused_too(self) -> None:
        with pytest.raises(UsageError, match="the value of the variable city must be text, not int"):
            evaluate(suite_of(1), "echo", store=":memory:", variables={"city": 1})  # type: ignore[dict-item]

    def test_what_is_raised_does_not_quote_a_secret(self) -> None:
        settings = Settings({"API_KEY": "sk-very-secret-123"})
        suite = suite_of(1).model_copy(update={"templated": True})
        with Harness.open(":memory:", settings=settings) as harness, pytest.raises(HarnessError) as refusal:
            harness.run(suite, "agent_{{api_key}}.py:answer")
        assert "sk-very-secret-123" not in str(refusal.value)
        assert "[redacted:API_KEY]" in refusal.value.message

    def test_a_resumed_run_keeps_the_cap_it_is_given(self, tmp_path: Path) -> None:
        asked: list[str] = []

        def target(question: str) -> Answer:
            asked.append(question)
            if len(asked) == 2:
                raise TargetUnavailable("down")
            return Answer(output="q", cost_usd=0.5)

        suite = suite_of(3).model_copy(update={"config": SuiteConfig(retries=0)})
        with Harness.open(tmp_path / "store.db", settings=Settings()) as harness:
            first = harness.run(suite, target, max_concurrency=1)
            again = harness.run(suite, target, resume=first.name, max_cost_usd=0.75)
        assert (first.exit_code, again.exit_code) == (3, 3)
        assert len(asked) == 3, "nothing is sent once the cap is reached"

    @pytest.mark.parametrize(
        ("options", "wrong"),
        [
            ({"max_concurrency": -1}, UsageError),
            ({"max_cost_usd": -5.0}, UsageError),
            ({"nonsense": 1}, TypeError),
            ({"concurrency": 1}, TypeError),
        ],
    )
    def test_wrong_options_are_refused_by_every_method(self, options: dict[str, Any], wrong: type[Exception]) -> None:
        with Harness.open(":memory:", settings=Settings()) as harness:
            run = harness.run(suite_of(1), "echo")
            with pytest.raises(wrong, match=next(iter(options))):
                harness.run(suite_of(1), "echo", **options)
            with pytest.raises(wrong, match=next(iter(options))):
                harness.regrade(run.name, **options)

    def test_a_refusal_says_in_python_too_what_to_do(self) -> None:
        with Harness.open(":memory:", settings=Settings()) as harness:
            with pytest.raises(TypeError, match=r"unknown option 'repeat'\. Did you mean 'trials'\?"):
                harness.run(suite_of(1), "echo", repeat=3)
            with pytest.raises(UsageError, match="3 is not a target: give a function, its name"):
                harness.run(suite_of(1), 3)
            with pytest.raises(UsageError) as refused:
                harness.run(suite_of(1), "ecko")
        assert any(note.startswith("known: ") for note in refused.value.__notes__), "Python prints it with the message"

    def test_what_only_the_command_line_had(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        with Harness.open(tmp_path / "store.db", settings=Settings()) as harness:
            old = harness.run(suite_of(4, trials=2), lambda question: question)
            new = harness.run(suite_of(4, trials=2), lambda question: "no")
            baseline = harness.baseline(old.name)
            comparison = harness.compare("default", new.name)
            again = harness.regrade(new.name)
            loaded = harness.load_run(new.name)
            names = [line.name for line in harness.runs()]
            suites = [listed.suite for listed in harness.suites(tmp_path)]
        assert (baseline.run_name, comparison.verdict) == (old.name, "REGRESSION")
        assert (again.regrade_of, loaded.exit_code, len(loaded.trials)) == (new.id, 1, 8)
        assert names == [again.name, new.name, old.name]
        assert "s" in suites

    def test_reports_are_written_by_ending_or_by_name(self, tmp_path: Path) -> None:
        settings = Settings({"API_KEY": "sk-very-secret-123"})
        with Harness.open(tmp_path / "store.db", settings=settings) as harness:
            run = harness.run(suite_of(2), lambda question: "q sk-very-secret-123")
            harness.write_report(run, tmp_path / "new" / "r.json")
            harness.write_report(run.name, tmp_path / "r.xml")
            harness.write_report(run.id, tmp_path / "r.txt", reporter="terminal")
            document = json.loads((tmp_path / "new" / "r.json").read_text())["eval_report"]
            assert (document["metadata"]["run_name"], len(document["trials"])) == (run.name, 2)
            assert '<testcase name="c1" classname="s"' in (tmp_path / "r.xml").read_text()
            assert "PASSED" in (tmp_path / "r.txt").read_text()
            assert not [path for path in tmp_path.rglob("r.*") if "sk-very-secret-123" in path.read_text()]
            (tmp_path / "notes.json").write_text("my notes")
            for path, name, wrong in (
                ("r.odd", None, r"^\S+r\.odd: no report format has the ending '\.odd'\n"),
                ("r.odd", "jsn", "Did you mean 'json'"),
                ("notes.json", None, "would be lost"),
            ):
                with pytest.raises(UsageError, match=wrong):
                    harness.write_report(run, tmp_path / path, name)
            with pytest.raises(UnknownName):
                harness.write_report("nobody", tmp_path / "r.json")
        assert (tmp_path / "notes.json").read_text() == "my notes"

    def test_a_run_of_another_store_is_written_with_its_trials(self, tmp_path: Path) -> None:
        run = evaluate(suite_of(2), "echo", store=":memory:")
        with Harness.open(":memory:", settings=Settings()) as harness:
            harness.write_report(run, tmp_path / "r.json")
        assert len(json.loads((tmp_path / "r.json").read_text())["eval_report"]["trials"]) == 2

    def test_every_method_says_what_it_returns(self) -> None:
        methods = [each for name, each in inspect.getmembers(Harness, callable) if not name.startswith("_")]
        assert len(methods) > 10
        vague = [each.__name__ for each in methods if "Any" in str(inspect.signature(each).return_annotation)]
        assert vague == []

    def test_runs_and_regrades_have_the_names_they_are_given(self) -> None:
        with Harness.open(":memory:", settings=Settings({"MY_TOKEN": "hunter22hunter"})) as harness:
            first = harness.run(suite_of(1), "echo", run_name="first")
            assert harness.load_run("first").id == first.id
            assert harness.regrade("first", run_name="second").name == "second"
            assert harness.run(suite_of(1), "echo", resume="first", run_name="first").name == "first"
            harness.baseline("first", "good")
            for name, why in (
                ("good", "a baseline has"),
                ("hunter22hunter", "a secret"),
                ("second", "already"),
            ):
                with pytest.raises(UsageError, match=why):
                    harness.run(suite_of(1), "echo", run_name=name)
            with pytest.raises(UsageError, match="keeps its name"):
                harness.run(suite_of(1), "echo", resume="first", run_name="third")

    def test_a_baseline_of_several_runs(self) -> None:
        with Harness.open(":memory:", settings=Settings()) as harness:
            old = [harness.run(suite_of(4, trials=2), "echo") for _ in range(3)]
            baseline = harness.baseline([run.name for run in old])
            comparison = harness.compare("default", harness.run(suite_of(4, trials=2), "echo").name)
        assert baseline.run_ids == tuple(run.id for run in old)
        assert [run.run_id for run in comparison.before] == [run.id for run in old]

    def test_settings_replace_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("EH_WHO", "the shell")
        seen: list[str | None] = []

        def target(question: str, context: Any) -> str:
            seen.append(context.environment.get("EH_WHO"))
            return question

        with Harness.open(":memory:", settings=Settings({"EH_WHO": "me"})) as harness:
            harness.run(suite_of(1), target)
            harness.run(suite_of(1), target, env={"EH_WHO": "you"})
        with Harness.open(":memory:") as harness:
            monkeypatch.setenv("EH_WHO", "too late")
            harness.run(suite_of(1), target)
        assert seen == ["me", "you", "the shell"]

    def test_a_store_is_made_by_the_first_run_and_not_by_a_look(self, tmp_path: Path) -> None:
        place = tmp_path / "new" / "store.db"
        with Harness.open(place, settings=Settings()) as harness:
            assert harness.runs() == []
            assert not place.exists()
            harness.run(suite_of(1), lambda question: question)
            assert place.exists()
        with pytest.raises(UsageError, match="there is no store"):
            Harness.open(tmp_path / "gone.db", to_read=True)

    def test_inside_a_running_loop(self) -> None:
        async def notebook() -> Run:
            return evaluate(suite_of(2), lambda question: question, store=":memory:")

        assert asyncio.run(notebook()).exit_code == 0

    @pytest.mark.usefixtures("ctrl_c")
    def test_ctrl_c_keeps_what_is_finished_and_can_be_resumed(self, tmp_path: Path) -> None:
        started = threading.Event()

        async def target(question: str, context: Any) -> str:
            if context.case.id == "c1" and not started.is_set():
                started.set()
                signal.raise_signal(signal.SIGINT)
                await asyncio.sleep(60)
            return question

        with Harness.open(tmp_path / "store.db", settings=Settings()) as harness:
            with pytest.raises(KeyboardInterrupt):
                harness.run(suite_of(3), target, max_concurrency=1)
            [line] = harness.runs()
            assert (line.counts, line.pending) == ({"passed": 1}, 2)
            resumed = harness.run(suite_of(3), target, resume=line.name)
        assert (resumed.exit_code, len(resumed.trials)) == (0, 3)
