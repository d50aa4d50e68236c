from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import Grader
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.errors import UnknownName, UsageError

pytestmark = pytest.mark.usefixtures("import_path")
NOUNS: tuple[registry.Noun, ...] = ("grader", "target", "sandbox", "reporter", "store", "executor", "llm", "embedder")


@pytest.mark.parametrize(("noun", "name"), [(noun, name) for noun in NOUNS for name in registry.BUILT_IN[noun]])
def test_every_name_leads_to_a_part(noun: registry.Noun, name: str) -> None:
    assert registry.CONTRACTS[noun] in registry.load(noun, name).__mro__
    assert name in registry.names(noun)


@pytest.mark.parametrize(
    ("noun", "name", "message"),
    [
        ("grader", "exat", "unknown grader 'exat'. Did you mean 'exact'?"),
        ("grader", "Contains", "unknown grader 'Contains'. Did you mean 'contains'?"),
        ("target", "htpp", "unknown target 'htpp'. Did you mean 'http'?"),
        ("grader", "zzzzzz", "unknown grader 'zzzzzz'"),
    ],
)
def test_an_unknown_name_raises_with_the_likely_one(noun: registry.Noun, name: str, message: str) -> None:
    with pytest.raises(UnknownName) as caught:
        registry.load(noun, name)
    assert caught.value.message == message
    assert caught.value.choices == registry.names(noun)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("model", {"rubric": "Kind?", "pass_score": ...}),
        ("model", {"rubric": "Kind?", "temperature": ...}),
        ("model", {"rubric": "Kind?", "scoring": {"type": "numeric", "range": [0, ...]}}),
        ("model", {"criteria": [{"name": "kind", "weight": ...}]}),
        ("pairwise", {"against": "x", "pass_score": ...}),
        ("human", {"evaluators": {"agreement_threshold": ...}}),
        ("function", {"function": "a.py:f", "threshold": ...}),
        ("function", {"function": "a.py:f", "timeout_seconds": ...}),
        ("numeric", {"value": ..., "tolerance": 0.1}),
        ("latency", {"max_ms": 100, "ideal_ms": ...}),
    ],
)
def test_numbers_among_options_are_numbers_or_what_a_variable_makes_of_them(kind: str, options: dict[str, Any]) -> None:
    def parsed(number: object) -> object:
        return registry.parse_options("grader", GraderSpec(kind=kind, options=put(options, number)))

    assert parsed("0.5") == parsed(0.5)
    for wrong in (True, "half"):
        with pytest.raises(ValidationError, match="a valid number"):
            parsed(wrong)


def put(written: Any, value: object) -> Any:
    """Puts `value` in place of `...`."""
    if isinstance(written, dict):
        return {key: put(item, value) for key, item in written.items()}
    if isinstance(written, list):
        return [put(item, value) for item in written]
    return value if written is ... else written


def test_flat_options_get_the_main_options_name() -> None:
    flat = registry.parse_options("grader", GraderSpec.model_validate({"regex": "a", "flags": ["dotall"]}))
    nested = registry.parse_options(
        "grader", GraderSpec.model_validate({"regex": {"pattern": "a", "flags": ["dotall"]}})
    )
    assert flat == nested


def test_a_part_that_cannot_be_built_says_where(build: Callable[..., object]) -> None:
    with pytest.raises(UsageError, match=r"grader numeric\.value: .*number"):
        build({"numeric": "{{still_a_variable}}"})


PLUG_IN = """
from evalharness.domain.grade import Grade
from evalharness.contracts.grader import Grader
from evalharness.graders.text import TextOptions

class Shouts(Grader):
    Options = TextOptions
    async def grade(self, context):
        return Grade.of(self.options.value.upper() in context.text, reason="too quiet")

class Mute(Grader):
    Options = TextOptions

class Stranger:
    Options = TextOptions
    type = "code"
    version = "1"
    def digest(self):
        return ""
    async def grade(self, context):
        return Grade.of(True)

def function(context):
    return True
"""


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed distribution with entry points, as pip creates it."""
    site = tmp_path / "site"
    information = site / "shouting-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[evalharness.graders]\nshouts = shouting_plug_in:Shouts\nexact = shouting_plug_in:Shouts\n"
        "mute = shouting_plug_in:Mute\nstranger = shouting_plug_in:Stranger\n"
        "function-itself = shouting_plug_in:function\n"
        "misspelt = shouting_plug_in:Shuots\nmissing = no_such_plug_in:Shouts\n"
        "[evalharness.targets]\nshouts-too = shouting_plug_in:Shouts\n"
    )
    (site / "shouting_plug_in.py").write_text(PLUG_IN)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "shouting_plug_in", raising=False)


@pytest.mark.usefixtures("plug_in")
def test_a_plug_in_is_found_by_its_name(grade: Callable[..., Grade]) -> None:
    assert "shouts" in registry.names("grader")
    assert "shouts" not in registry.names("target")
    assert grade({"shouts": "hey"}, "HEY you").passed
    assert grade({"shouts": "hey"}, "hey you").reason == "too quiet"


@pytest.mark.usefixtures("plug_in")
@pytest.mark.parametrize(
    ("noun", "name", "message"),
    [
        ("grader", "mute", "the grader 'mute' (shouting_plug_in:Mute) lacks grade"),
        ("grader", "stranger", "(shouting_plug_in:Stranger) does not inherit from evalharness.contracts.grader.Grader"),
        ("grader", "function-itself", "does not inherit from evalharness.contracts.grader.Grader"),
        ("target", "shouts-too", "does not inherit from evalharness.contracts.target.Target"),
        ("grader", "misspelt", "(shouting_plug_in:Shuots) cannot be imported"),
        ("grader", "missing", "(no_such_plug_in:Shouts) cannot be imported: No module named 'no_such_plug_in'"),
    ],
)
def test_a_plug_in_that_cannot_be_used_says_what_it_lacks(noun: registry.Noun, name: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        registry.load(noun, name)
    assert message in caught.value.message


@pytest.mark.usefixtures("plug_in")
def test_what_a_plug_in_leaves_out_has_a_default(build: Callable[..., Grader]) -> None:
    grader = build({"shouts": "hey"})
    assert (grader.type, grader.needs_sandbox, grader.is_off, grader.parts) == ("code", False, False, ())
    assert (grader.judges(), grader.embedders(), grader.example()) == ((), (), None)
    assert grader.grade_after_error("it broke").state == "unscored"
    assert build({"all_of": [{"shouts": "hey"}]}).parts[0].digest() == grader.digest()


@pytest.mark.usefixtures("plug_in")
def test_a_plug_in_is_suggested_but_never_replaces_a_built_in() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'shouts'"):
        registry.load("grader", "shoust")
    assert registry.load("grader", "exact").__name__ == "Exact"
    assert registry.names("grader").count("exact") == 1


def test_without_the_plug_in_its_name_is_unknown() -> None:
    with pytest.raises(UnknownName):
        registry.load("grader", "shouts")


def test_a_target_may_have_a_root_of_its_own(tmp_path: Path) -> None:
    spec = TargetSpec.model_validate({"kind": "function", "options": "agent.py:answer", "root": str(tmp_path)})
    assert registry.parse_options("target", spec).function == "agent.py:answer"  # type: ignore[attr-defined]
