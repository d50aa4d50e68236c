"""The house rules that a test can check: exports, imports, start-up, who may read, print and catch what."""

from __future__ import annotations

import ast
import functools
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import evalharness
from evalharness import Harness
from evalharness.cli.main import COMMANDS

REPOSITORY = Path(__file__).parents[2]
SOURCE = REPOSITORY / "src" / "evalharness"
FILES = sorted(path for path in SOURCE.rglob("*.py") if "templates" not in path.parts)  # those are given to users
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages([str(SOURCE)], "evalharness.")
    if not module.name.endswith("__main__")
)


def relative(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def dotted(node: ast.expr) -> str:
    """`os.environ`, or "" for anything that is more than a name."""
    if isinstance(node, ast.Name):
        return node.id
    before = dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{before}.{node.attr}" if before and isinstance(node, ast.Attribute) else ""


@functools.cache
def calls_in(path: Path) -> set[str]:
    """Dotted names of everything a file calls or reads."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {dotted(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name)}


def test_every_public_name_can_be_imported() -> None:
    assert evalharness.__all__ == sorted(evalharness.__all__)
    for name in evalharness.__all__:
        assert getattr(evalharness, name) is not None
    with pytest.raises(AttributeError, match="evaluat3"):
        _ = evalharness.evaluat3


# A module that is imported while it is still being imported is part of a cycle, wherever the import began.
IMPORTING = """
import builtins, importlib, sys

plain_import = builtins.__import__

def watching(name, globals=None, locals=None, fromlist=(), level=0):
    module = plain_import(name, globals, locals, fromlist, level)
    for asked in [name, *(f"{name}.{part}" for part in fromlist or ())]:
        if asked.startswith("evalharness.") and asked in sys.modules and sys.modules[asked].__spec__._initializing:
            raise ImportError(f"{globals['__name__']} imports {asked}, and {asked} imports it")
    return module

builtins.__import__ = watching
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def test_every_module_is_importable_alone_with_warnings_as_errors() -> None:
    """If there are no import cycles, a module that can be imported after others can be imported alone."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORTING, *MODULES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def imported_by(*words: str) -> set[str]:
    program = f"""
import sys
from evalharness.cli.main import run_command
run_command({list(words)!r})
print("\\n".join(sys.modules), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_help_imports_neither_pydantic_nor_the_domain() -> None:
    loaded = imported_by("--help")
    heavy = {
        "pydantic",
        "rich",
        "yaml",
        "regex",
        "aiohttp",
        "asyncio",
        "sqlite3",
        "jsonschema_rs",
        "evalharness.domain",
    }
    assert loaded & heavy == set()
    known = {"evalharness.cli.main", "evalharness.cli.process"}
    assert not [name for name in loaded if name.startswith("evalharness.cli.") and name not in known]


def test_help_of_a_command_imports_no_action() -> None:
    loaded = imported_by("run", "--help")
    assert loaded & {"pydantic", "evalharness.domain.run", "evalharness.actions", "yaml", "aiohttp"} == set()


def test_a_function_run_imports_neither_the_http_client_nor_judges(tmp_path: Path) -> None:
    loaded = imported_by("run", str(REPOSITORY / "examples/quick-start/suite.yaml"), "--store", str(tmp_path / "s.db"))
    assert "evalharness.engine.running.driver" in loaded
    assert loaded & {"aiohttp", "evalharness.graders.judges"} == set()


def test_a_comparison_of_stored_runs_loads_neither_what_runs_nor_what_reads_files(tmp_path: Path) -> None:
    place = str(tmp_path / "s.db")
    imported_by("run", str(REPOSITORY / "examples/quick-start/suite.yaml"), "--store", place)
    with Harness.open(place, to_read=True) as harness:
        (run,) = harness.runs(1)
    loaded = imported_by("compare", run.name, run.name, "--store", place)
    assert "evalharness.engine.comparing.comparison" in loaded
    assert loaded & {"evalharness.engine.running.driver", "evalharness.formats", "yaml"} == set()


DOOR = {"harness", "actions", "reports", "domain", "settings", "errors", "version"}
COMING_IN = ("cli", "server")
ROOMS = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}


def rooms_imported_by(path: Path) -> set[str]:
    """The files and folders of the package that a file imports from, anywhere in the file."""
    package = ("evalharness", *path.relative_to(SOURCE).parts[:-1])
    modules: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules += (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (above, node.module)))
            modules += (f"{module}.{name.name}" for name in node.names)
    public = [evalharness._PUBLIC.get(module.removeprefix("evalharness."), module) for module in modules]
    return {f"{module}.".split(".")[1] for module in public if module.split(".")[0] == "evalharness"}


def test_the_command_line_and_the_server_come_in_by_the_door() -> None:
    """A folder that is added later is covered, too."""
    for folder in COMING_IN:
        for path in (SOURCE / folder).rglob("*.py"):
            starts_server = {"server"} if relative(path) == "cli/serve.py" else set()
            assert rooms_imported_by(path) <= DOOR | {folder} | starts_server, path


def test_the_import_contract_of_the_door_names_every_room_behind_it() -> None:
    contracts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [door] = [contract for contract in contracts if contract["type"] == "forbidden"]
    assert set(door["source_modules"]) == {f"evalharness.{room}" for room in ROOMS.intersection(COMING_IN)}
    behind = ROOMS - DOOR - {*COMING_IN, "__init__", "__main__"}
    assert set(door["forbidden_modules"]) == {f"evalharness.{room}" for room in behind}


def test_only_settings_touches_the_environment() -> None:
    readers = {relative(path) for path in FILES if {"os.environ", "os.getenv", "os.putenv"} & calls_in(path)}
    assert readers == {"settings.py", "cli/process.py"}, "one reads it, the other sets values of flags and `.env`"


def test_optional_members_of_parts_are_declared_and_not_looked_for() -> None:
    """Optional members of graders and targets are declared by a contract, or by a class that options inherit from."""
    looking = {relative(path) for path in FILES if "getattr" in calls_in(path)}
    users_objects = {"steps/choose_scorers.py"}  # any object with a method `score` may be passed as a scorer
    assert {name for name in looking if name.split("/")[0] == "steps"} == users_objects


def test_only_the_command_line_prints() -> None:
    printers = {relative(path) for path in FILES if "print" in calls_in(path)}
    assert {name.split("/")[0] for name in printers} <= {"cli"}


NAMES_COMMANDS = {
    # Files that are written for a user, who reads them while using the command line.
    # Flags of other programs.
    "graders/function_output.py",
    "llms/local.py",
    "steps/count_changes.py",
    "sandboxes/bubblewrap.py",
    "sandboxes/nobody.py",
    "sandboxes/bubblewrap_command.py",
    "sandboxes/container_command.py",
    "sandboxes/container_files.py",
    "sandboxes/container_images.py",
    "sandboxes/container_program.py",
    "sandboxes/container_reaper.py",
    "sandboxes/container_runtime.py",
    "sandboxes/container_watcher.py",
    "sandboxes/foreign_files.py",
    "targets/docker_agent.py",
    "targets/dockerfile_images.py",
    "sandboxes/way_out.py",
    "testing/pytest_plugin.py",
}
COMMAND_OR_FLAG = re.compile(rf"(?<![\w-])--[a-z]|eval-harness ({'|'.join(COMMANDS)})\b")


def texts_in(path: Path) -> list[str]:
    """Every text of a file that is not a docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    alone = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in alone)
    return [node.value for node in constants if isinstance(node.value, str)]


def test_commands_and_flags_are_named_where_findings_are_worded() -> None:
    """Findings and hints are codes everywhere else: their readers may not have the command line.

    Pages of the server show the command that does the same.
    """
    naming = {relative(path) for path in FILES if any(map(COMMAND_OR_FLAG.search, texts_in(path)))}
    assert {name for name in naming if name.split("/")[0] not in ("cli", "reports", "server")} == NAMES_COMMANDS


def test_no_hint_that_names_a_command_or_a_flag_is_a_text() -> None:
    worded = []
    for path in (path for path in FILES if relative(path).split("/")[0] not in ("cli", "reports", "server")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                texts = [part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
                worded += [text for text in texts if isinstance(text, str) and COMMAND_OR_FLAG.search(text)]
    assert worded == []


def test_processes_are_started_only_in_sandboxes() -> None:
    starters = {
        relative(path).split("/")[0]
        for path in FILES
        if any(re.match(r"(subprocess\.\w+|os\.(system|popen|fork|exec\w*|spawn\w*|posix_spawn\w*)|"
                        r"asyncio\.create_subprocess_\w+)$", name) for name in calls_in(path))
    }  # fmt: skip
    assert starters == {"sandboxes", "runners"}, "runners are themselves run inside a sandbox"


def test_packages_contain_no_code_of_their_own() -> None:
    for path in SOURCE.rglob("*/__init__.py"):
        statements = ast.parse(path.read_text(encoding="utf-8")).body
        assert all(isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) for s in statements), path


def test_every_module_says_what_it_is_and_stays_short() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert ast.get_docstring(ast.parse(text)), f"{path} has no docstring"
        assert len(text.splitlines()) <= 500, f"{path} contains more than one concept"
        assert "TYPE_CHECKING" not in text, path


def test_no_module_is_called_a_junk_drawer() -> None:
    assert not [path for path in FILES if re.search(r"utils?|helpers?|common|manager|^base_|models", path.stem)]


def test_broad_excepts_are_few_and_known() -> None:
    found = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                caught = "everything" if node.type is None else ast.unparse(node.type)
                reraises = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
                is_runner = path.parent.name == "runners"  # generated code may raise anything
                if re.search(r"\b(Exception|BaseException|everything)\b", caught) and not reraises and not is_runner:
                    found.append(relative(path))
    assert sorted(found) == sorted(
        [
            "cli/main.py",  # the last resort: a bug ends with a message and exit code 3
            "engine/running/attempt.py",  # the only boundary between our code and a target's or grader's
            "engine/running/worker_threads.py",  # carries any exception from a thread to the awaiter
            "engine/running/time_limit.py",  # passes a cancellation on to the awaiting code
            "graders/function_output.py",  # reports for which test case somebody's own comparator raised
            "harness.py",  # carries any exception from its thread to the caller's
            "reports/report_files.py",  # a reporter may be a plug-in: its file is missing, and nothing else
            "server/job_runner.py",  # whatever becomes of one job, the others go on
            "references.py",  # the other boundary: importing somebody's module
        ]
    )


def test_every_public_function_of_actions_is_an_action() -> None:
    """`async def action(context, …)`, so that `harness.call` reaches it; what actions share is in `steps/`."""
    others = []
    for path in (SOURCE / "actions").glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                first = ast.unparse(node.args.args[0]) if node.args.args else ""
                if isinstance(node, ast.FunctionDef) or first != "context: Context":
                    others.append(f"{relative(path)}: {node.name}")
    assert others == []


def test_whatever_is_defined_is_used_by_more_than_tests() -> None:
    """By the harness itself, by a benchmark, or by readers of the docs. `testing/` is for authors of tests."""
    readers = [*FILES, *(REPOSITORY / "benchmarks").rglob("*.py"), *(REPOSITORY / "docs").glob("*.md")]
    words = Counter(word for path in readers for word in re.findall(r"\w+", path.read_text(encoding="utf-8")))
    unused = []
    for path in (path for path in FILES if path.parent.name != "testing"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            is_defined = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            if is_defined and words[node.name] == 1 and node.name != "__dir__" and not _is_called_by_a_router(node):
                unused.append(f"{relative(path)}: {node.name}")
    assert unused == []


def _is_called_by_a_router(node: ast.stmt) -> bool:
    decorators = getattr(node, "decorator_list", [])
    return any(ast.unparse(each).startswith("router.") for each in decorators)


def test_architecture_matches_the_tree() -> None:
    text = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    named = set(re.findall(r"^[├└]── ([\w./]+)", text, re.MULTILINE))
    there = {path.name + ("/" if path.is_dir() else "") for path in SOURCE.iterdir()} - {"__pycache__/", "py.typed"}
    assert named == there - {"__main__.py"}
    [roles] = re.findall(r"contracts/ .*each: (.*) …", text)
    assert set(roles.split()) <= {path.stem for path in (SOURCE / "contracts").glob("*.py")}


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_path_that_a_document_names_is_there(document: str) -> None:
    text = (REPOSITORY / document).read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./-]+(?:\.py|\.md|/))`", text))
    assert named
    places = (REPOSITORY, SOURCE, REPOSITORY / "docs", REPOSITORY / "tests" / "contract")
    assert [path for path in sorted(named) if not any((place / path).exists() for place in places)] == []


def test_every_test_of_the_tree_mirrors_something() -> None:
    """tests/unit/<folder>/test_<module>_<what of it>.py names a module of that folder, or of one inside it."""
    tests = REPOSITORY / "tests" / "unit"
    homeless = set()
    for path in tests.rglob("test_*.py"):
        folder = path.parent.relative_to(tests)
        modules = {found.stem for found in (SOURCE.glob("*") if folder == Path() else (SOURCE / folder).rglob("*"))}
        name = path.stem.removeprefix("test_")
        if not any(name == module or name.startswith(f"{module}_") for module in modules):
            homeless.add(path.relative_to(tests).as_posix())
    assert homeless == {
        "graders/test_no_code_execution.py",  # what no grader does
        "stats/test_vectors.py",  # reference values of all of them
        "test_docs.py",
        "test_documented_behaviour.py",
        "test_house.py",
        "transcripts/test_every_parser.py",
    }


def test_pinned_versions_name_no_place_to_download_from() -> None:
    lines = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"#.*|[\w.-]+==[\w.+-]+", line) for line in lines)
