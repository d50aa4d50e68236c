"""`runs_frame` and `trials_frame`: stored runs as data frames of pandas and polars."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest

import evalharness
from evalharness import Case, Suite, UsageError, evaluate, runs_frame, trials_frame


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("frames") / "store.db"
    cases = (Case(id="a", input="1", expected="1", category="easy"), Case(id="b", input="2", expected="two"))
    evaluate(Suite(name="echo", cases=cases, trials=3), lambda text: text, store=store, run_name="first")
    evaluate(Suite(name="echo", cases=cases, trials=3), lambda text: {"said": text}, store=store, run_name="second")
    evaluate(Suite(name="other", cases=cases[:1]), lambda text: text, store=store, run_name="third")
    return store


def column(frame: Any, name: str) -> list[Any]:
    return list(frame[name].to_list())


@pytest.mark.parametrize(("library", "kind"), [("pandas", pandas.DataFrame), ("polars", polars.DataFrame)])
class TestFrames:
    def test_runs(self, store: Path, library: Any, kind: type) -> None:
        frame = runs_frame(store=store, library=library)
        assert isinstance(frame, kind)
        assert column(frame, "run_name") == ["third", "second", "first"]
        assert column(frame, "verdict") == ["PASSED", "FAILED", "FAILED"]
        assert column(frame, "pass_rate") == [1.0, 0.0, 0.5]
        assert all(low <= rate for low, rate in zip(column(frame, "pass_rate_low"), (1.0, 0.0, 0.5), strict=True))
        assert column(frame, "created_at")[0].tzinfo is not None
        assert column(runs_frame("echo", store=store, library=library, limit=1), "run_name") == ["second"]

    def test_trials(self, store: Path, library: Any, kind: type) -> None:
        frame = trials_frame("first", store=store, library=library)
        assert isinstance(frame, kind)
        assert column(frame, "case_id") == ["a"] * 3 + ["b"] * 3
        assert column(frame, "trial") == [1, 2, 3] * 2
        assert column(frame, "state") == ["passed"] * 3 + ["failed"] * 3
        assert column(frame, "category")[0] == "easy"
        assert len(trials_frame(store=store, library=library)) == 13
        both = trials_frame(suite="echo", store=store, library=library)
        assert set(column(both, "output")) == {"1", "2", '{"said":"1"}', '{"said":"2"}'}

    def test_grades(self, store: Path, library: Any, kind: type) -> None:
        frame = trials_frame("latest", what="grades", store=store, library=library)
        assert isinstance(frame, kind)
        assert (column(frame, "grader"), column(frame, "score")) == (["exact"], [1.0])

    def test_no_runs_are_an_empty_frame(self, tmp_path: Path, library: Any, kind: type) -> None:
        evaluate(Suite(name="s", cases=(Case(id="a", input="1"),)), lambda text: text, store=tmp_path / "s.db")
        frame = trials_frame(what="grades", store=tmp_path / "s.db", library=library)
        assert isinstance(frame, kind)
        assert "grader" in list(frame.columns)
        assert len(frame) == 0


def test_pandas_comes_first(store: Path) -> None:
    assert isinstance(runs_frame(store=store), pandas.DataFrame)


def test_unknown_names_are_wrong_usage(store: Path) -> None:
    with pytest.raises(UsageError, match="library must be one of pandas, polars, not 'arrow'"):
        runs_frame(store=store, library="arrow")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="what must be one of trials, grades"):
        trials_frame(store=store, what="runs")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="unknown suite 'ecko'"):
        runs_frame("ecko", store=store)


def test_without_either_the_error_names_the_command(store: Path, tmp_path: Path) -> None:
    """In a Python that has all other packages."""
    installed = Path(pandas.__file__).parents[1]
    for package in installed.iterdir():
        if not package.name.startswith(("pandas", "polars", "_polars")):
            (tmp_path / package.name).symlink_to(package)
    code = f"""
import evalharness
try:
    evalharness.runs_frame(store={str(store)!r})
except evalharness.UsageError as error:
    print(error.message, "|", error.hint)
"""
    path = os.pathsep.join([str(tmp_path), str(Path(evalharness.__file__).parents[1])])
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONPATH": path})
    assert done.stdout.strip() == "pandas and polars are not installed | pip install pandas or pip install polars"
