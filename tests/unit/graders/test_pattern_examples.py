from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from evalharness.contracts.grader import Grader
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.graders.pattern_examples import example_of


@pytest.mark.parametrize(
    ("pattern", "example"),
    [
        (r"def\s+greet", Example(holds=("def greet",))),
        (r"\b8080\b", Example(holds=("8080",))),
        (r".*foo.*", Example(holds=("foo",))),
        (r"^error", Example(starts=("error",))),
        (r"done\.$", Example(ends=("done.",))),
        (r"^\d{3}-\d{4}$", Example(whole="000-0000")),
        (r"^$", Example(whole="")),
        (r"(yes|no){2}", Example(holds=("yesyes",))),
        (r"(?P<q>['\"])x(?P=q)", Example(holds=("'x'",))),
        (r"(a)?(?(1)b|c)", Example(holds=("c",))),
        (r"(?>ab)c++", Example(holds=("abc",))),
        (r"[^a-z0-9 ]", Example(holds=("_",))),
        (r"[^x]\D\S", Example(holds=("aaa",))),
        (r"[α-ω]", Example(holds=("α",))),
        (r"^(?!a).$|^b", Example(starts=("b",))),
    ],
)
def test_a_text_is_built_and_put_where_it_matches(pattern: str, example: Example) -> None:
    compiled = regex.compile(pattern)
    assert example_of(compiled) == example
    assert compiled.search(str(example.output))


def test_case_is_ignored_where_the_pattern_ignores_it() -> None:
    assert example_of(regex.compile("[^a-z]", regex.IGNORECASE)) == Example(holds=("0",))


@pytest.mark.parametrize("pattern", [r".*", r"\d*", r"(?:a|b)?"])
def test_where_nothing_is_enough_something_is_given(pattern: str) -> None:
    example = example_of(regex.compile(pattern))
    assert example is not None
    assert example.output


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?!)",
        r"a{1000000}",
        r"(a{1000}){1000}",
        r"^(?=.*\d)[a-z]+$",
        r"\p{Lu}",
        r"(?R)?a",
        "[\\x00-\\U0010ffff]{20000}",
    ],
)
def test_what_cannot_be_spelled_out_has_no_example(pattern: str) -> None:
    assert example_of(regex.compile(pattern)) is None


@given(st.text(alphabet=r"ab1.*+?^$|()[]\dws-{2,}", max_size=15))
def test_an_example_always_matches(pattern: str) -> None:
    try:
        compiled = regex.compile(pattern)
    except regex.error:
        return
    example = example_of(compiled)
    if example is not None:
        assert compiled.search(str(example.output), timeout=10)


@pytest.mark.parametrize("options", [r"room \d+", {"pattern": "^b$", "flags": ["multiline", "ignorecase"]}])
def test_the_oracle_knows_what_a_regex_wants(
    options: Any, build: Callable[..., Grader], grade: Callable[..., Grade]
) -> None:
    example = build({"regex": options}).example()
    assert example is not None
    assert grade({"regex": options}, example.output).passed


def test_a_forbidden_pattern_asks_for_nothing(build: Callable[..., Grader]) -> None:
    assert build({"regex": "a", "must_match": False}).example() == Example()


def test_threads_leave_the_warning_filters_of_the_program_alone() -> None:
    before, interval = list(warnings.filters), sys.getswitchinterval()
    compiled = regex.compile("[[a]b")
    threads = [threading.Thread(target=lambda: [example_of(compiled) for _ in range(300)]) for _ in range(8)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
        after = list(warnings.filters)
        warnings.filters[:] = before  # type: ignore[index]
    assert after == before
