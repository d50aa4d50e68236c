"""The documentation matches the code: every name a user can type is in it, and every example is valid."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import evalharness
from evalharness import registry
from evalharness.cli.main import ALIASES, cli
from evalharness.domain.report import PRECEDENCE
from evalharness.domain.suite import SuiteConfig
from evalharness.engine.running.attempt import INFRASTRUCTURE_ERRORS
from evalharness.formats.native.suite_fields import SUITE_KEYS
from evalharness.formats.native.written_evals import CASE_KEYS
from evalharness.formats.recognition import NATIVE, recognise
from evalharness.syntax.source import parse_text
from evalharness.targets.http import NOT_THE_TARGETS_FAULT

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SETTINGS = ROOT / "src" / "evalharness" / "settings.py"
LINKING = [
    path
    for path in (ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md")))
    if path.exists()
]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """The text under a heading, up to the next heading of any level."""
    _, _, rest = text.partition(f"\n{heading}\n")
    assert rest, f"no heading '{heading}'"
    return re.split(r"^#+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def commands(group: click.Group = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        words = (*path, name)
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield " ".join(words), command
        if isinstance(command, click.Group):
            yield from commands(command, words)


def flags() -> Iterator[tuple[str, click.Option, str]]:
    for name, command in commands():
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                for flag in (*option.opts, *option.secondary_opts):
                    if flag.startswith("--") and flag != "--help":
                        yield name, option, flag


def blocks(language: str, *, unchecked: str = "") -> list[object]:
    found: list[object] = []
    for path in LINKING:
        for number, block in enumerate(FENCE.finditer(path.read_text(encoding="utf-8")), start=1):
            if block[1] == language and unchecked in block[2]:
                found.append(pytest.param(path, block[2], id=f"{path.name}-{number}"))
    return found


def anchors(path: Path) -> set[str]:
    """The anchors of a page, made from headings as GitHub makes them."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_command_is_documented() -> None:
    text = page("running.md")
    missing = [name for name, _ in commands() if f"`eval-harness {name}" not in text]
    missing += [alias for alias in ALIASES if f"alias `{alias}`" not in text]
    assert not missing


def test_every_flag_is_documented_with_its_commands() -> None:
    rows = [line for line in section(page("running.md"), "## Flags").splitlines() if line.startswith("| `--")]
    missing = []
    for command, _, flag in flags():
        row = next((row for row in rows if re.search(rf"`{re.escape(flag)}[` \[]", row.split(" | ")[0] + " ")), None)
        users = row.rsplit("|", 2)[1].strip().split(", ") if row else []
        if command not in users and users != ["all"]:
            missing.append(f"{command} {flag}")
    assert not missing


def test_every_flag_is_documented_with_its_variable() -> None:
    text = section(page("running.md"), "## Flags")
    missing = []
    for command, option, flag in flags():
        variables = [option.envvar] if isinstance(option.envvar, str) else list(option.envvar or ())
        assert variables, f"{command} {flag} has no variable"
        missing += [variable for variable in variables if f"`{variable}`" not in text]
    assert not missing


def test_no_flag_is_documented_that_does_not_exist() -> None:
    rows = [line for line in section(page("running.md"), "## Flags").splitlines() if line.startswith("| `--")]
    documented = {flag for row in rows for flag in re.findall(r"`(--[\w-]+)", row.split(" | ")[0])}
    assert documented == {flag for _, _, flag in flags()}


def test_every_setting_is_documented() -> None:
    names = set(re.findall(r"EVALHARNESS_[A-Z_]*[A-Z]", SETTINGS.read_text(encoding="utf-8")))
    assert names, "settings.py names its variables"
    assert not [name for name in names if f"`{name}`" not in page("running.md")]


def test_every_exit_code_is_documented() -> None:
    text = section(page("running.md"), "## Exit codes")
    assert set(re.findall(r"^\| (\d+) \|", text, re.MULTILINE)) == {str(code) for code in PRECEDENCE}
    assert ", ".join(str(code) for code in PRECEDENCE) in " ".join(text.split())


@pytest.mark.parametrize(
    ("heading", "keys"),
    [
        ("## Suite keys", SUITE_KEYS),
        ("## Config keys", set(SuiteConfig.model_fields)),
        ("## Case keys", CASE_KEYS),
    ],
)
def test_every_key_of_a_suite_file_is_documented(heading: str, keys: set[str]) -> None:
    rows = [line for line in section(page("suite-files.md"), heading).splitlines() if line.startswith("| `")]
    documented = {key for row in rows for key in re.findall(r"`(\w+)`", row.split(" | ")[0])}
    assert keys - documented == set()
    assert documented - keys <= {"parallel_execution"}


@pytest.mark.parametrize(("noun", "name"), [("grader", "graders.md"), ("target", "targets.md")])
def test_every_grader_and_target_is_documented_with_its_options(noun: registry.Noun, name: str) -> None:
    text = page(name)
    missing = []
    for kind in registry.BUILT_IN[noun]:
        options = registry.load(noun, kind).Options.model_fields
        names = {(field.serialization_alias or option) for option, field in options.items()} - {"live"}
        missing += [f"{kind}.{option}" for option in names if f"`{option}`" not in text]
        if f"`{kind}`" not in text:
            missing.append(kind)
    assert not missing


def test_what_is_not_the_targets_fault_is_documented() -> None:
    text = page("targets.md")
    missing = [str(status) for status in NOT_THE_TARGETS_FAULT if not re.search(rf"\b{status}\b", text)]
    missing += [name for name in INFRASTRUCTURE_ERRORS if f"`{name}`" not in text]
    assert not missing


@pytest.mark.parametrize(("path", "text"), blocks("yaml", unchecked="test_cases"))
def test_every_suite_in_the_docs_is_valid(path: Path, text: str) -> None:
    source = parse_text(text, ".yaml", path.with_suffix(".yaml"))
    suite, findings = (recognise(source.data) or NATIVE).load(source)
    errors = [problem.message for problem in findings.problems if problem.severity == "error"]
    assert [message for message in errors if not message.endswith("does not exist")] == []
    assert errors or (suite is not None and suite.cases)


def test_every_public_name_and_every_method_of_the_harness_is_documented() -> None:
    _, _, listed = page("python.md").rpartition("The names of the package: ")
    assert re.findall(r"`(\w+)`", listed) == evalharness.__all__
    table = section(page("python.md"), "## Harness")
    methods = [name for name, each in inspect.getmembers(evalharness.Harness, callable) if not name.startswith("_")]
    assert [name for name in methods if not re.search(rf"\b{name}\(", table)] == []


def test_every_fake_and_every_contract_test_is_documented_for_authors_of_plug_ins() -> None:
    text = page("plugins.md")
    sources = "".join(path.read_text(encoding="utf-8") for path in (SETTINGS.parent / "testing").glob("*.py"))
    offered = set(re.findall(r"^class (Fake\w+|\w+Contract)\b", sources, re.MULTILINE))
    parts = {
        name
        for name in offered
        if re.search(r"(Session|JudgeCache|Jobs|Options|Reviews|Book)$|\w+(Store|Pages)Contract$", name)
    }
    assert [name for name in sorted(offered - parts) if name not in text] == []
    nouns = set(registry.CONTRACTS) - {"llm", "embedder"}  # providers are named in suites, not plugged in
    groups = [f"evalharness.{noun}{'es' if noun.endswith('x') else 's'}" for noun in sorted(nouns)]
    assert [group for group in groups if group not in text] == []


@pytest.mark.parametrize(("path", "text"), blocks("python"))
def test_every_python_example_compiles(path: Path, text: str) -> None:
    assert compile(text, str(path), "exec").co_code


@pytest.mark.parametrize("path", LINKING, ids=lambda path: path.name)
def test_every_local_link_leads_somewhere(path: Path) -> None:
    broken = []
    for target in LINK.findall(FENCE.sub("", path.read_text(encoding="utf-8"))):
        if re.match(r"\w+:", target):
            continue
        place, _, anchor = target.partition("#")
        file = (path.parent / place) if place else path
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert not broken


def test_the_readme_is_short() -> None:
    """One screen, and 120 lines."""
    _, _, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition("$ make test ")
    assert 0 < len(rest.splitlines()) <= 122


def test_pictures_load_nothing_from_elsewhere() -> None:
    pictures = sorted((DOCS / "images").glob("*.svg"))
    assert pictures
    for path in pictures:
        found = set(re.findall(r"\w+://[^\s\"')]+", path.read_text(encoding="utf-8")))
        assert found <= {"http://www.w3.org/2000/svg"}, path.name


def test_there_is_a_picture_of_every_scene_width_and_theme() -> None:
    scenes = ("compare", "error", "fail", "flaky", "matrix", "pass", "progress", "validate")
    wanted = {
        f"terminal-{scene}-{width}-{theme}" for scene in scenes for width in (80, 120) for theme in ("dark", "light")
    }
    assert {path.stem for path in (DOCS / "images").glob("terminal-*")} == wanted
    pages = ("home", "suite", "run", "trial", "compare", "matrix", "review", "reviews")
    served = {
        f"served-{page}-{width}-{theme}" for page in pages for width in (390, 1280) for theme in ("dark", "light")
    }
    assert {path.stem for path in (DOCS / "images").glob("served-*")} == served
