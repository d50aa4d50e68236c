"""Grades that only a judge or a person can give are reported as outstanding, with the command that gets them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from driving import Outcome, drive, printed_name, write

JUDGED = "{id: m, input: hello, expected: {any_of: [{exact: bye}, {model: {rubric: Is it kind?}}]}}"
RATED = "{id: h, input: hello, graders: [human]}"
RANKED = "{id: r, input: hello, graders: [{human: {rating_scale: {type: ranking}}}]}"
SURE = "{id: s, input: hello, expected: hello}"


def run(folder: Path, *cases: str, flags: tuple[str, ...] = ()) -> Outcome:
    write(folder, suite_yaml=f"name: due\ntarget: echo\ntest_cases: [{', '.join(cases)}]\n")
    return drive(folder, "run", "suite.yaml", *flags)


def test_a_model_that_has_to_grade_is_asked_for(tmp_path: Path) -> None:
    done = run(tmp_path, JUDGED, SURE)
    assert done.code == 4
    assert re.search(rf"^grade +.* regrade {printed_name(done)} --judge-model PROVIDER/MODEL$", done.out, re.MULTILINE)
    assert "a person's" not in done.out


def test_a_person_who_has_to_grade_is_asked_for(tmp_path: Path) -> None:
    done = run(tmp_path, RATED, SURE)
    assert done.code == 4
    assert "a person's grade is pending" in done.out
    assert "--judge-model" not in done.out


def test_a_ranking_needs_answers_of_several_targets(tmp_path: Path) -> None:
    """The run that was first has nothing to rank until the others are done."""
    alone = run(tmp_path, RANKED)
    assert "1 case with fewer than 2 answers to rank" in alone.out
    both = run(tmp_path, RANKED, flags=("--target", "echo", "--target", "null"))
    assert re.search(r"^rate +.* reviewers invite NAME$", both.out, re.MULTILINE)
    assert "regrade" not in alone.out + both.out


@pytest.mark.parametrize("flags", [(), ("--store", ":memory:")], ids=["stored", "nothing kept"])
def test_nothing_is_outstanding_or_can_be_regraded(flags: tuple[str, ...], tmp_path: Path) -> None:
    """A run without outstanding grades does not mention them; a run that was not stored cannot be graded later."""
    done = run(tmp_path, JUDGED if flags else SURE, flags=flags)
    assert done.code == (4 if flags else 0)
    assert "regrade" not in done.out
