"""`load(dump(load(file)))` equals `load(file)`: for generated suites, and for a file of each format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evalharness.domain.suite import Suite
from evalharness.errors import UnknownName
from evalharness.formats.native.reader import load_native
from evalharness.formats.native.writer import dump_suite
from evalharness.formats.recognition import FORMATS, NATIVE, recognise
from evalharness.formats.suite_files import load_file
from evalharness.formats.tables.columns import parse_mapping
from evalharness.formats.tables.table_suites import suite_from_rows
from evalharness.syntax.source import parse_text
from evalharness.syntax.yaml_writer import yaml_lines

FIXTURES = Path(__file__).parents[1] / "fixtures" / "formats"
FILES = sorted(path for path in FIXTURES.iterdir() if path.suffix)
AWKWARD = [
    *("", " ", "a: b", "a #b", "- x", "? y", "[x", "{x", "x, y]", "&a", "*a", "!t", "|", ">", "%", "@", "`", "'", '"'),
    *("null", "~", "Yes", "on", "n", "1e3", "0o7", "017", "0x1F", ".5", "+1", "-1", "1_000", "1:30", "2024-01-15"),
    *("<<", "=", ".inf", "true", "FALSE", "---", "...", "a:", ":a", "#", "\\d+", "a\\", "x\ny", "x\n", "\nx", "x\n\n"),
    *("x \ny", "x\n \ny", " x\ny", "x\n\ty", "x\r\ny", "\t", "\0", "\x85", "\u2028", "\ufeff", "é", "😀", "x" * 2000),
    *("{{x}}", "\\{{x}}", "{{any_uuid}}", "key: |\n  text", "a\n# b\n- c: d\n", "2 eggs", "10 %", "café: crème"),
]
TEXTS = st.sampled_from(AWKWARD) | st.text(max_size=8) | st.text(alphabet="ab \n\t:#-'\"\\|>{}[],&*", max_size=8)
FILLED = TEXTS.filter(bool)
NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)
SHARED = st.fixed_dictionaries(
    {}, optional={"weight": st.floats(0, 9), "required": st.booleans(), "name": st.sampled_from(["g", "yes", "a: b"])}
)
GRADERS = st.one_of(
    st.builds(lambda text, rest: {"contains": text, **rest}, TEXTS, SHARED),
    st.builds(lambda text, rest: {"exact": text, "case_sensitive": False, **rest}, TEXTS, SHARED),
    st.builds(lambda text: {"type": "starts_with", "value": text}, TEXTS),
    st.builds(lambda value, rest: {"json_equals": {"value": value}, **rest}, VALUES, SHARED),
    st.builds(lambda value: {"kind": "json_equals", "options": value}, VALUES),
    st.builds(lambda items: {"all_of": [{"contains": item} for item in items]}, st.lists(TEXTS, min_size=1)),
    st.sampled_from(["exit_code", "my_module:check", {"exit_code": None, "weight": 2}, {"numeric": 5, "absolute": 1}]),
)
EXPECTED = TEXTS | NUMBERS | st.booleans() | GRADERS.filter(lambda written: not isinstance(written, str))
TARGETS = st.sampled_from(
    [
        *(
            "oracle",
            "null",
            "my_module:answer",
            "cmd:./agent --fast",
            "http://localhost:1/x",
            {"command": ["ls", "-l"]},
        ),
        *({"command": "ls", "result": "json", "name": "x"}, {"http": {"url": "http://localhost:1", "method": "PUT"}}),
        *({"kind": "echo", "tools": ["a", "b"]}, {"kind": "echo", "tools": []}, {"function": "m:f", "name": "no"}),
    ]
)
CASE = st.fixed_dictionaries(
    {"input": VALUES},
    optional={
        "name": TEXTS,
        "description": TEXTS,
        "expected": EXPECTED,
        "graders": st.lists(GRADERS, max_size=3),
        "reference": VALUES,
        "files": st.dictionaries(st.sampled_from(["a.txt", "b/c: d"]), TEXTS),
        "target": TARGETS,
        "required_tools": st.lists(TEXTS, max_size=2),
        "tags": st.lists(TEXTS, max_size=3),
        "category": TEXTS,
        "timeout_seconds": st.floats(0.001, 1e9),
        "retries": st.integers(0, 5),
        "weight": st.floats(0, 1e300),
        "criticality": st.sampled_from(["", "high", "low"]),
        "metadata": st.dictionaries(TEXTS, VALUES, max_size=2),
    },
)
SHARES = st.floats(0, 1)
MINIMA = st.dictionaries(st.sampled_from(["pass_rate", "score", "pass@3", "pass_hat_k"]), SHARES, max_size=3)
GATES = st.sampled_from(["staging", "critical"]) | st.fixed_dictionaries(
    {},
    optional={
        "preset": st.sampled_from(["development", "production"]),
        "k": st.integers(1, 9),
        "thresholds": MINIMA
        | st.fixed_dictionaries(
            {"default": MINIMA},
            optional={
                "categories": st.dictionaries(TEXTS, MINIMA, max_size=2),
                "criticality": st.dictionaries(st.sampled_from(["critical", "low"]), MINIMA),
            },
        ),
        "each_case": st.integers(1, 9) | st.sampled_from(["2 of 3", {"passed": 1, "of": 1}]),
        "required_cases": st.lists(TEXTS, max_size=2),
        "max_cost_usd": st.floats(0.001, 1e9),
        "max_latency_s": st.integers(1, 99),
        "regression": TEXTS
        | st.just(True)
        | st.fixed_dictionaries({}, optional={"tolerance": SHARES, "metrics": st.just(["cost"])}),
        "strict_flips": st.booleans(),
        "inconclusive": st.sampled_from(["pass", "fail"]),
        "quarantine": st.lists(
            st.fixed_dictionaries({"case": FILLED, "reason": FILLED, "owner": FILLED, "expires": st.dates().map(str)}),
            max_size=2,
        ),
    },
)
DOCUMENT = st.fixed_dictionaries(
    {"cases": st.lists(CASE, min_size=1, max_size=3), "ids": st.sets(FILLED, min_size=3, max_size=3)},
    optional={
        "name": FILLED,
        "version": TEXTS,
        "description": TEXTS,
        "target": TARGETS,
        "targets": st.dictionaries(FILLED, TARGETS, max_size=2),
        "variants": st.dictionaries(FILLED, TARGETS, max_size=2),
        "trials": st.integers(1, 9),
        "vars": st.dictionaries(st.sampled_from(["x", "on"]), TEXTS | st.integers(-9, 9) | st.booleans()),
        "secrets": st.lists(TEXTS, max_size=2),
        "case_threshold": st.floats(0, 1),
        "graders": st.lists(GRADERS, max_size=2),
        "config": st.fixed_dictionaries(
            {}, optional={"timeout_seconds": st.integers(1, 99), "parallel": st.booleans()}
        ),
        "metadata": st.dictionaries(TEXTS, VALUES, max_size=2)
        | st.fixed_dictionaries(
            {"category": TEXTS, "tags": st.lists(TEXTS, max_size=2)}, optional={"description": TEXTS, "name": FILLED}
        ),
        "gate": GATES,
    },
)

ROW = st.fixed_dictionaries({}, optional={"q": VALUES, "a": VALUES, "t": VALUES, "a.b": TEXTS | NUMBERS, "m": VALUES})
MAPPING = ["input={q} {{x}}", "expected=a", "expected.json_equals=q", "tags=t", "metadata.m=m", "name=a.b"]


def load(text: str, ending: str) -> Suite | None:
    return load_native(parse_text(text, ending, Path("folder") / f"suite{ending}"))[0]


def same(one: Suite, other: Suite) -> bool:
    """Equal, and also where Python finds 1, 1.0 and True equal."""
    return one == other and one.model_dump_json() == other.model_dump_json()


@given(VALUES.filter(lambda value: isinstance(value, dict | list) and bool(value)))
def test_any_data_is_read_back_as_it_was(value: Any) -> None:
    text = "\n".join(yaml_lines(value)) + "\n"
    again = parse_text(text, ".yaml", Path("x.yaml")).data
    assert json.dumps(again) == json.dumps(value)
    assert yaml.safe_load(text) == value, "a YAML 1.1 reader sees the same"


@given(DOCUMENT)
def test_generated_suites_come_back_equal(document: dict[str, Any]) -> None:
    ids = [id_ for id_ in sorted(document.pop("ids")) if "{{" not in id_]
    document["test_cases"] = [{"id": id_, **case} for id_, case in zip(ids, document.pop("cases"), strict=False)]
    suite = load(json.dumps(document), ".json")
    if suite is None:  # hypothesis wrote something that no suite may contain
        return
    text = dump_suite(suite)
    again = load(text, ".yaml")
    assert again is not None
    assert same(again, suite)
    assert dump_suite(again) == text


@given(st.lists(ROW, min_size=1, max_size=4), st.booleans())
def test_tables_become_suites_that_come_back_equal(rows: list[dict[str, Any]], with_ids: bool) -> None:
    path = Path("rows.jsonl")
    source = parse_text("\n".join(map(json.dumps, rows)), ".jsonl", path)
    mapping = [*MAPPING, *(["id=a.b"] if with_ids else [])]
    try:
        suite, findings = suite_from_rows(source, parse_mapping(mapping), name="rows")
    except UnknownName:  # no row has one of the columns
        return
    assert (suite is None) == findings.has_errors
    if suite is not None:
        again = load(dump_suite(suite), ".yaml")
        assert again is not None
        assert same(again, suite)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_of_every_format_come_back_equal(path: Path) -> None:
    suite = load_file(path).suite
    assert suite is not None
    written = parse_text(dump_suite(suite), ".yaml", path.with_suffix(".yaml"))
    assert recognise(written.data) is NATIVE
    again, findings = load_native(written)
    assert again is not None, findings.problems
    assert same(again, suite)


def test_there_is_a_file_of_every_format() -> None:
    assert {load_file(path).format for path in FILES} == {each.name for each in FORMATS}
