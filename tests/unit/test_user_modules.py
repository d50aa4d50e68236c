"""Code beside a suite: what it may import, that two folders stay separate, and that nothing of it is left behind."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalharness.errors import HarnessError
from evalharness.user_modules import UserModules


@pytest.fixture
def modules() -> Iterator[UserModules]:
    with UserModules() as opened:
        yield opened


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, code in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(code)
    return folder


SAID = "next door"
NEIGHBOURS = {
    "a module": {"agent.py": "import helper\ndef answer(): return helper.SAID", "helper.py": f"SAID = {SAID!r}"},
    "a name of a module": {
        "agent.py": "from helper import SAID\ndef answer(): return SAID",
        "helper.py": f"SAID = {SAID!r}",
    },
    "only when it is called": {
        "agent.py": "def answer():\n    from helper import SAID\n    return SAID",
        "helper.py": f"SAID = {SAID!r}",
    },
    "a package": {
        "agent.py": "import tools.search.deep\ndef answer(): return tools.search.deep.SAID",
        "tools/__init__.py": "",
        "tools/search/__init__.py": "",
        "tools/search/deep.py": f"SAID = {SAID!r}",
    },
    "a module of a package by another name": {
        "agent.py": "import tools.search as s\ndef answer(): return s.SAID",
        "tools/__init__.py": "",
        "tools/search.py": f"SAID = {SAID!r}",
    },
    "a module that `from` finds in a package": {
        "agent.py": "from tools import search\ndef answer(): return search.SAID",
        "tools/__init__.py": "",
        "tools/search.py": f"SAID = {SAID!r}",
    },
    "a folder without __init__": {
        "agent.py": "from tools import search\ndef answer(): return search.SAID",
        "tools/search.py": f"SAID = {SAID!r}",
    },
    "relative to a package": {
        "agent.py": "from tools.search import SAID\ndef answer(): return SAID",
        "tools/__init__.py": "",
        "tools/search.py": "from .words import SAID",
        "tools/words.py": "import helper\nSAID = helper.SAID",
        "helper.py": f"SAID = {SAID!r}",
    },
    "relative, by the function that imports": {
        "agent.py": "import importlib\ndef answer(): return importlib.import_module('.helper', __package__).SAID",
        "helper.py": "from words import SAID",
        "words.py": f"SAID = {SAID!r}",
    },
    "each other": {
        "agent.py": f"SAID = {SAID!r}\nimport helper\ndef answer(): return helper.said()",
        "helper.py": "import agent\ndef said(): return agent.SAID",
    },
    "beside a package of the same name": {
        "agent.py": "from agent.words import SAID\ndef answer(): return SAID",
        "agent/__init__.py": "",
        "agent/words.py": f"SAID = {SAID!r}",
    },
    "a module named like one of the library": {
        "agent.py": "import json, colorsys\ndef answer(): return json.SAID + colorsys.SAID",
        "json.py": "SAID = 'next '",
        "colorsys.py": "SAID = 'door'",
    },
    "what only others have": {
        "agent.py": "import json\nfrom evalharness import Answer\ndef answer(): return json.loads('\"next door\"')",
        "pydantic/notes.txt": "a folder of data hides no package",
        "evalharness/__init__.py": "",
    },
    "dataclasses and enums": {
        "agent.py": "from helper import Said\nimport pickle\ndef answer():\n"
        "    return pickle.loads(pickle.dumps(Said('next door'))).text",
        "helper.py": "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "from typing import ClassVar\n@dataclass\nclass Said:\n    text: str\n    kind: ClassVar[str] = ''",
    },
}


@pytest.mark.parametrize("what", NEIGHBOURS)
def test_code_may_import(what: str, tmp_path: Path, modules: UserModules) -> None:
    module: Any = modules.import_file(write(tmp_path, NEIGHBOURS[what]) / "agent.py", tmp_path)
    assert module.answer() == SAID


def test_a_file_in_a_folder_of_the_suite_sees_both_folders_and_shares_their_modules(
    tmp_path: Path, modules: UserModules
) -> None:
    write(
        tmp_path,
        {
            "agents/one.py": "import near, shared\nshared.HEARD.append(near.NAME)",
            "agents/near.py": "NAME = 'near'",
            "near.py": "NAME = 'far'",
            "graders/check.py": "import shared\ndef heard(): return shared.HEARD",
            "shared.py": "HEARD = []",
        },
    )
    modules.import_file(tmp_path / "agents/one.py", tmp_path)
    grader: Any = modules.import_file(tmp_path / "graders/check.py", tmp_path)
    assert grader.heard() == ["near"]


@pytest.mark.parametrize("name", ["my-agent.py", "agent.v2.py", "class.py"])
def test_a_file_may_have_a_name_that_no_import_statement_can_say(
    name: str, tmp_path: Path, modules: UserModules
) -> None:
    write(tmp_path, {name: "import helper\nSAID = helper.SAID", "helper.py": f"SAID = {SAID!r}"})
    module: Any = modules.import_file(tmp_path / name, tmp_path)
    assert module.SAID == SAID


def test_a_module_is_looked_for_in_the_suites_folder_first(tmp_path: Path, modules: UserModules) -> None:
    write(tmp_path, {"package/__init__.py": "", "package/one.py": "from package.two import SAID"})
    write(tmp_path, {"package/two.py": f"SAID = {SAID!r}"})
    found: Any = modules.import_module("package.one", tmp_path)
    assert found.SAID == SAID
    assert modules.import_module("json.decoder", tmp_path) is sys.modules["json.decoder"]


def test_two_folders_with_modules_of_one_name_never_meet(tmp_path: Path) -> None:
    """Not even if functions import them late, on threads and in turns."""
    code = "def answer():\n    import helper\n    return helper.SAID"
    answers: dict[str, list[str]] = {"a": [], "b": []}
    both = threading.Barrier(2)

    def work(name: str) -> None:
        folder = write(tmp_path / name, {"agent.py": code, "helper.py": f"SAID = {name!r}"})
        with UserModules() as modules:
            agent: Any = modules.import_file(folder / "agent.py", folder)
            both.wait(30)
            answers[name] = [agent.answer() for _ in range(100)]
            both.wait(30)

    threads = [threading.Thread(target=work, args=(name,)) for name in answers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {name: set(said) for name, said in answers.items()} == {"a": {"a"}, "b": {"b"}}


def test_the_same_folder_at_the_same_time_is_imported_twice(tmp_path: Path) -> None:
    write(tmp_path, {"agent.py": "import helper", "helper.py": ""})
    with UserModules() as first, UserModules() as second:
        ours: Any = first.import_file(tmp_path / "agent.py", tmp_path)
        theirs: Any = second.import_file(tmp_path / "agent.py", tmp_path)
        assert ours.helper is not theirs.helper


@pytest.fixture(params=[True, False], ids=["writing bytecode", "without bytecode"])
def _bytecode(request: pytest.FixtureRequest) -> Iterator[None]:
    former, sys.dont_write_bytecode = sys.dont_write_bytecode, not request.param
    yield
    sys.dont_write_bytecode = former


@pytest.mark.usefixtures("_bytecode")
def test_code_edited_within_the_same_second_is_imported_again(tmp_path: Path) -> None:
    said = []
    for word in ("one", "two", "six"):
        write(tmp_path, {"agent.py": "import helper\nSAID = helper.SAID", "helper.py": f"SAID = {word!r}"})
        with UserModules() as modules:
            agent: Any = modules.import_file(tmp_path / "agent.py", tmp_path)
            said.append(agent.SAID)
    assert said == ["one", "two", "six"]


def test_nothing_stays_behind(tmp_path: Path) -> None:
    write(tmp_path, {"agent.py": "import helper, package.one", "helper.py": "", "package/one.py": ""})
    before, known = ([*sys.path], [*sys.meta_path]), {*sys.modules}

    def left() -> list[str]:
        """The modules of this folder; other threads may import something installed meanwhile."""
        new = [name for name in sys.modules if name not in known]
        files = [str(getattr(sys.modules[name], "__file__", "")) for name in new]
        return [each for each in (*files, *sys.path_importer_cache) if each.startswith(str(tmp_path))]

    with UserModules() as modules:
        modules.import_file(tmp_path / "agent.py", tmp_path)
        assert left()
    modules.close()
    assert left() == []
    assert ([*sys.path], [*sys.meta_path]) == before


def test_messages_name_modules_as_their_author_does(tmp_path: Path, modules: UserModules) -> None:
    write(tmp_path, {"agent.py": "from helper import nothing", "helper.py": "", "two.py": "import package.gone"})
    write(tmp_path, {"package/__init__.py": ""})
    with pytest.raises(ImportError, match=r"^cannot import name 'nothing' from 'helper' \("):
        modules.import_file(tmp_path / "agent.py", tmp_path)
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'package.gone'$"):
        modules.import_file(tmp_path / "two.py", tmp_path)


def test_code_that_evaluates_itself_when_it_is_imported_is_refused(tmp_path: Path, modules: UserModules) -> None:
    program = f"""
from evalharness import Case, Suite, evaluate
def answer(question): return question
evaluate(Suite(name="s", cases=[Case(id="a", input="x", expected="x")]), {str(tmp_path / "agent.py")!r} + ":answer",
         store=":memory:")
"""
    write(tmp_path, {"agent.py": program})
    with pytest.raises(HarnessError, match="evaluated by its own code") as refusal:
        modules.import_file(tmp_path / "agent.py", tmp_path)
    assert "__main__" in str(refusal.value.hint)
