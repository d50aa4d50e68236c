"""No text breaks the readers, and all JSON and YAML values are read back unchanged."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evalharness.errors import InvalidFile
from evalharness.syntax.source import parse_text, read_source
from evalharness.syntax.yaml_source import parse_yaml

ENDINGS = st.sampled_from([".yaml", ".json", ".jsonl"])
PUNCTUATION = "[]{}:,-?&*!|>'\"%@`#~\\\t\r\n \x00\x85\u2028\ufeff\ud800é"
WORDS = ["&a ", "*a", "<<: ", "a: ", "- ", '"a":', "\\u", "d800", "null", "1e3", "NaN", ".inf", "---", "...", "!!int "]
TOKENS = st.sampled_from([*PUNCTUATION, *WORDS, "9" * 25, "0x", "\n  "])
TEXTS = st.text() | st.lists(TOKENS, max_size=30).map("".join)
NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
STRINGS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | STRINGS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(STRINGS, inner, max_size=4),
    max_leaves=20,
)


class QuotingDumper(yaml.SafeDumper):
    """Quotes all text: YAML 1.1, which PyYAML writes, reads some text as plain that is a number in YAML 1.2."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


QuotingDumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


def same(one: Any, other: Any) -> bool:
    """Equality that distinguishes 1 from 1.0 and True, and -0.0 from 0.0."""
    return json.dumps(one) == json.dumps(other)


@given(TEXTS, ENDINGS)
def test_no_text_raises_anything_but_invalid_file(text: str, ending: str) -> None:
    try:
        source = parse_text(text, ending, Path("any" + ending))
    except InvalidFile as invalid:
        assert invalid.problems
        assert all(problem.line >= 1 and str(problem) for problem in invalid.problems)
    else:
        assert source.line_of(("a", 0)) >= 1
        json.dumps(source.data, allow_nan=False, ensure_ascii=False).encode("utf-8")


@given(TEXTS)
def test_the_pure_yaml_parser_is_as_safe(text: str) -> None:
    try:
        data, _ = parse_yaml(text, "any.yaml", pure=True)
    except InvalidFile as invalid:
        assert all(problem.line >= 1 for problem in invalid.problems)
    else:
        json.dumps(data, allow_nan=False, ensure_ascii=False).encode("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sources")


@given(content=st.binary(), ending=ENDINGS)
def test_no_bytes_raise_anything_but_invalid_file(folder: Path, content: bytes, ending: str) -> None:
    path = folder / f"any{ending}"
    path.write_bytes(content)
    try:
        read_source(path)
    except InvalidFile as invalid:
        assert invalid.problems


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_json_is_read_back_unchanged(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert same(parse_text(text, ".json", Path("a.json")).data, value)


@given(st.lists(VALUES, max_size=5), st.booleans())
def test_json_lines_are_read_back_unchanged(values: list[Any], ascii_only: bool) -> None:
    text = "\n".join(json.dumps(value, ensure_ascii=ascii_only) for value in values)
    assert same(parse_text(text, ".jsonl", Path("a.jsonl")).data, values)


@given(VALUES, st.booleans(), st.booleans())
def test_yaml_is_read_back_unchanged(value: Any, flow: bool, pure: bool) -> None:
    stream = io.StringIO()
    yaml.dump(value, stream, QuotingDumper, default_flow_style=flow, sort_keys=False, allow_unicode=True)
    assert same(parse_yaml(stream.getvalue(), "a.yaml", pure=pure)[0], value)


@given(VALUES)
def test_every_place_of_indented_json_has_the_line_it_is_written_on(value: Any) -> None:
    text = json.dumps(value, indent=1)
    source = parse_text(text, ".json", Path("a.json"))
    rows = text.split("\n")
    for path, expected in places(value):
        assert expected in rows[source.line_of(path) - 1]


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], str]]:
    """Each key's path with its text as JSON writes it."""
    if isinstance(value, list):
        return [place for index, item in enumerate(value) for place in places(item, (*path, index))]
    if isinstance(value, dict):
        own = [((*path, key), json.dumps(key) + ":") for key in value]
        return own + [place for key, item in value.items() for place in places(item, (*path, key))]
    return []
