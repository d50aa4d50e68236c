from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pytest

from evalharness.documents.scores import Score
from evalharness.domain.specification import function_name
from evalharness.domain.transcript import Answer
from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import ImportFailed, UsageError
from evalharness.graders.function import as_grade
from evalharness.graders.own_scorer import as_score
from evalharness.references import call_function, code_of, function_source, import_reference, split_reference
from evalharness.targets.agent_tools import Returned
from evalharness.targets.answers import transcript_of
from evalharness.user_modules import UserModules


@pytest.fixture
def modules() -> Iterator[UserModules]:
    with UserModules() as opened:
        yield opened


@pytest.mark.parametrize(
    ("reference", "halves"),
    [
        ("agent:answer", ("agent", "answer")),
        ("a.b:c.d", ("a.b", "c.d")),
        ("agents/one.py:answer", ("agents/one.py", "answer")),
        ("odd:name.py:answer", ("odd:name.py", "answer")),
    ],
)
def test_a_reference_has_two_halves(reference: str, halves: tuple[str, str]) -> None:
    assert split_reference(reference) == halves


@pytest.mark.parametrize("reference", ["agent", ":answer", "agent:", "agent:1st", "agent:answer()", "", "a b"])
def test_what_is_not_a_reference_is_refused(reference: str) -> None:
    with pytest.raises(UsageError, match="not a reference"):
        split_reference(reference)


def test_a_file_reference_is_relative_to_the_root(tmp_path: Path, modules: UserModules) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "one.py").write_text("class Agent:\n    def answer(): return 'one'\n")
    found = import_reference("agents/one.py:Agent.answer", tmp_path, modules)
    assert found() == "one"
    assert import_reference("agents/one.py:Agent.answer", tmp_path, modules) is found


def test_files_of_one_name_in_two_folders_are_two_modules(tmp_path: Path, modules: UserModules) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.py").write_text(f"NAME = {name!r}")
    found = [import_reference("agent.py:NAME", tmp_path / name, modules) for name in ("a", "b")]
    assert found == ["a", "b"]


def test_a_module_reference(tmp_path: Path, modules: UserModules) -> None:
    assert import_reference("json.decoder:JSONDecoder.decode", tmp_path, modules).__name__ == "decode"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("agent.py:answr", "unknown function 'answr' in agent.py. Did you mean 'answer'?"),
        ("agent.py:answer.deeper", "unknown function 'deeper' in agent.py"),
        ("missing.py:answer", "no file"),
        ("folder.py:answer", "no file"),
        ("./agent.txt:answer", "{root}/agent.txt is not a Python file"),
    ],
)
def test_a_reference_to_nothing_says_so(reference: str, message: str, tmp_path: Path, modules: UserModules) -> None:
    (tmp_path / "agent.py").write_text("def answer(): ...\n_hidden = 1\n")
    (tmp_path / "agent.txt").write_text("def answer(): ...")
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(UsageError) as caught:
        import_reference(reference, tmp_path, modules)
    assert caught.value.message.startswith(message.format(root=tmp_path))


@pytest.mark.parametrize("raised", ["ZeroDivisionError", "SystemExit", "KeyboardInterrupt"])
def test_a_file_that_raises_is_not_left_half_imported(raised: str, tmp_path: Path, modules: UserModules) -> None:
    file = tmp_path / "agent.py"
    file.write_text(f"def answer(): return 1\nraise {raised}")
    for _ in range(2):
        with pytest.raises((ImportFailed, KeyboardInterrupt)) as caught:
            import_reference("agent.py:answer", tmp_path, modules)
        assert raised in repr(caught.value)
    file.write_text("def answer(): return 'mended'")
    assert import_reference("agent.py:answer", tmp_path, modules)() == "mended"


def test_a_name_that_a_module_cannot_make_fails_the_import(tmp_path: Path, modules: UserModules) -> None:
    (tmp_path / "agent.py").write_text("def __getattr__(name): import no_such_module_at_all")
    with pytest.raises(ImportFailed, match="no_such_module_at_all"):
        import_reference("agent.py:answer", tmp_path, modules)


def judge(context: object) -> bool:
    return context is not None


class Judge:
    def __call__(self, context: object) -> bool:
        return context is None


def test_the_source_of_a_function_is_what_decides_its_answers() -> None:
    assert "context is not None" in function_source(judge)
    assert "context is None" in function_source(Judge())
    assert "context is not None" in function_source(lru_cache(judge))
    assert function_source(len) == function_name(len) == "builtins:len"
    assert function_source(partial(judge)) == function_source(judge)


@pytest.mark.parametrize(
    ("reference", "file"),
    [
        ("agents/one.py:answer", "agents/one.py"),
        ("package_of_agents.one:answer", "package_of_agents/one.py"),
        ("package_of_agents.sub:answer", "package_of_agents/sub/__init__.py"),
        ("module_of_agents:answer", "module_of_agents.py"),
    ],
)
def test_the_code_of_a_reference_is_its_whole_file_and_is_not_run(reference: str, file: str, tmp_path: Path) -> None:
    for name in (file, "package_of_agents/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("raise SystemExit")
    before = code_of(None, reference, tmp_path)
    assert before is not None
    (tmp_path / file).write_text("raise SystemExit  # changed")
    assert code_of(None, reference, tmp_path) not in (None, before)


@pytest.mark.parametrize("reference", ["", "missing.py:answer", "no_such_module_at_all:answer", "sys:exit"])
def test_where_no_code_can_be_found_there_is_none(reference: str, tmp_path: Path) -> None:
    assert code_of(None, reference, tmp_path) is None


def test_the_code_of_a_function_that_was_handed_in_is_its_source(tmp_path: Path) -> None:
    assert code_of(judge, "", tmp_path) == function_source(judge)


def sync_caller(**keywords: Any) -> tuple[str, Any]:
    return threading.current_thread().name, keywords


async def async_caller(**keywords: Any) -> tuple[str, Any]:
    return sync_caller(**keywords)


def sync_caller_of_async(**keywords: Any) -> Any:
    return async_caller(**keywords)


class AsyncCaller:
    async def __call__(self, **keywords: Any) -> tuple[str, Any]:
        return sync_caller(**keywords)


@pytest.mark.parametrize(
    ("function", "on_loop"),
    [
        (sync_caller, False),
        (async_caller, True),
        (AsyncCaller(), True),
        (partial(async_caller), True),
        (sync_caller_of_async, True),
    ],
)
def test_an_async_function_runs_on_the_loop_and_a_sync_one_on_a_thread(
    function: Callable[..., Any], on_loop: bool
) -> None:
    in_thread = Offloader(1)
    try:
        thread, keywords = asyncio.run(call_function(in_thread, tuple, function, a=1))
    finally:
        in_thread.close()
    assert keywords == {"a": 1}
    assert (thread == threading.current_thread().name) is on_loop


@pytest.mark.parametrize(
    ("returned", "read", "kept"),
    [
        ({}, transcript_of, lambda answer: answer.output["seen"]),
        (Answer(output={}), transcript_of, lambda answer: answer.output["seen"]),
        ({}, Returned.of, lambda returned: returned.value["seen"]),
        ({"passed": True, "evidence": {}}, partial(as_grade, threshold=1.0), lambda grade: grade.evidence["seen"]),
        ({"value": 1, "metadata": {}}, partial(as_score, name="s"), lambda score: score.metadata["seen"]),
        (Score(name="s", value=1, metadata={}), partial(as_score, name="s"), lambda score: score.metadata["seen"]),
    ],
    ids=["target", "answer", "tool", "grader", "scorer", "score"],
)
def test_what_is_returned_again_and_again_is_read_before_the_next_call(
    returned: Any, read: Callable[[Any], Any], kept: Callable[[Any], Any]
) -> None:
    """One thread hands the results of many calls back together."""
    fields = returned if isinstance(returned, dict) else vars(returned)
    inner = next((value for value in fields.values() if isinstance(value, dict)), fields)

    def function(number: int) -> Any:
        inner["seen"] = [number]
        return returned

    async def called() -> list[Any]:
        in_thread = Offloader(1)
        try:
            return await asyncio.gather(*(call_function(in_thread, read, function, number) for number in range(40)))
        finally:
            in_thread.close()

    assert [kept(found) for found in asyncio.run(called())] == [[number] for number in range(40)]
