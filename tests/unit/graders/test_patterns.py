from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import Unscored

Grading = Callable[..., Grade]

CATASTROPHIC = {
    r"(a+)+$": "a" * 5000 + "!",
    r"^(a*)*$": "a" * 5000 + "!",
    r"^(a|aa)+$": "a" * 5000 + "!",
    r"^(a|a)*$": "a" * 5000 + "!",
    r"(x+x+)+y": "x" * 5000,
    r"^(.*?,){30}P": "1," * 5000,
    r"^(\w+\s?)*$": "word " * 2000 + "!",
    r"^(?=(a+)+$)": "a" * 5000 + "!",
    r"^(.+)+\1$": "ab" * 3000 + "!",
    r"(.*)\1\1\1\1x": "a" * 5000,
    r"\s+$": " " * 100_000 + "x",
    r"(?:a?){5000}a{5000}": "a" * 5000,
    r"(?R)?a(?R)?b": "a" * 3000,
    r"(?b)(?:abcdefgh){e<=7}": "qwertyuiop" * 3000,
    r"^([a-z0-9]+[._-]?)+@([a-z0-9]+\.)+[a-z]{2,}$": "a" * 5000 + "!",
}


def test_no_pattern_outlives_its_time_limit(build: Callable[..., Grader]) -> None:
    """All fifteen at once: each is answered, or given up at the limit."""

    async def outcome(pattern: str, text: str, offloader: Offloader) -> str:
        context = GradeContext(Case(id="a", input="?"), Transcript(output=text), index=0, seed=0)
        try:
            return (await build({"regex": pattern}, offloader).grade(context)).state
        except Unscored as reason:
            return str(reason)

    async def outcomes() -> list[str]:
        offloader = Offloader(4)
        asked = [outcome(pattern, text, offloader) for pattern, text in CATASTROPHIC.items()]
        try:
            return await asyncio.wait_for(asyncio.gather(*asked), timeout=120)
        finally:
            offloader.close()

    found = dict(zip(CATASTROPHIC, asyncio.run(outcomes()), strict=True))
    given_up = {pattern for pattern, said in found.items() if said not in ("pass", "fail")}
    assert len(found) == 15
    assert all(found[pattern].startswith("regex time limit") for pattern in given_up)
    assert r"(x+x+)+y" in given_up


@pytest.mark.parametrize(
    ("options", "output", "passes"),
    [
        (r"\d{3}", "room 101", True),
        (r"^\d{3}$", "room 101", False),
        ({"pattern": "^b", "flags": ["multiline"]}, "a\nb", True),
        ({"pattern": "ADA", "flags": ["ignorecase"]}, "ada", True),
        ({"pattern": "a.b", "flags": ["dotall"]}, "a\nb", True),
        ("a.b", "a\nb", False),
        ({"pattern": "^B.$", "flags": ["multiline", "ignorecase", "dotall"]}, "a\nb\n", True),
        ({"value": "a"}, "a", True),
        (r'"n":4', {"n": 4}, True),
    ],
)
def test_search(options: Any, output: Any, passes: bool, grade: Grading) -> None:
    assert grade({"regex": options}, output).passed is passes


@pytest.mark.parametrize(("output", "passes"), [("all well", True), ("an error", False)])
def test_a_forbidden_pattern_scores_as_it_passes(output: str, passes: bool, grade: Grading) -> None:
    verdict = grade({"regex": "error", "must_match": False}, output)
    assert verdict.passed is passes
    assert verdict.score == float(passes)


def test_reasons_distinguish_a_missing_match_from_a_forbidden_one(grade: Grading) -> None:
    assert grade({"regex": "b"}, "a").reason == "no match for /b/ in 'a'"
    assert grade({"regex": "a", "must_match": False}, "a").reason == "forbidden match of /a/ in 'a'"


@pytest.mark.parametrize(
    ("pattern", "names", "captures"),
    [
        (r"(?P<year>\d+)-(?P<month>\d+)", ["month", "year"], {"month": "02", "year": "2024"}),
        (r"(\d+)-(\d+)", ["year", "month"], {"year": "2024", "month": "02"}),
        (r"(\d+)-(\d+)", ["year", "month", "day"], {"year": "2024", "month": "02", "day": None}),
        (r"\d+", ["year"], {"year": None}),
        (r"(\d+)(x)?", ["year", "rest"], {"year": "2024", "rest": None}),
        (r"(?P<year>\d+)(?P<rest>x)?", ["rest"], {"rest": None}),
    ],
)
def test_captures_by_name_or_by_position(
    pattern: str, names: list[str], captures: dict[str, Any], grade: Grading
) -> None:
    verdict = grade({"regex": pattern, "capture_groups": names}, "on 2024-02")
    assert verdict.passed
    assert verdict.evidence["captures"] == captures


def test_no_captures_without_a_match(grade: Grading) -> None:
    verdict = grade({"regex": "(x)", "capture_groups": ["a"]}, "y")
    assert verdict.state == "fail"
    assert "captures" not in verdict.evidence


@pytest.mark.parametrize(
    "options",
    ["(", "[a-", "a{99999999999999999999}", "(?:" * 3000 + "a" + ")" * 3000, {"pattern": "a", "flags": ["verbose"]}],
    ids=lambda options: str(options)[:20],
)
def test_a_broken_pattern_is_refused(options: Any) -> None:
    with pytest.raises(ValidationError):
        registry.parse_options("grader", GraderSpec(kind="regex", options=options))
